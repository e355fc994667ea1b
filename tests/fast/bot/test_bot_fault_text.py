"""Claims about how a strategy's fault is told: where in its file, and the same again each time."""

import importlib.util

import pytest

from bot.core.fault_text import fault_text, place_of
from bot.strategy.api import NonsenseQuotes, Take, mapped, split
from tests.builders.strategies.views import rung, view
from venue.wire.money import BookSide, Price, Qty

MINE = """
from bot.strategy.api import mapped


def divided(view):
    return 1 / view


def quote(view):
    return divided(view)


def listed(view):
    return mapped([view])


def first(depth):
    return second(depth)


def second(depth):
    return first(depth)
"""


@pytest.fixture
def mine(tmp_path):
    """A file of somebody's own, as a module."""
    path = tmp_path / "mine.py"
    path.write_text(MINE)
    spec = importlib.util.spec_from_file_location("mine", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def raised(call, *arguments):
    """What a call raises."""
    try:
        call(*arguments)
    except Exception as fault:  # noqa: BLE001 - whatever it is
        # As the bot meets it: the frame that asked is the bot's own, not this file's.
        return fault.with_traceback(fault.__traceback__.tb_next)
    raise AssertionError("nothing was raised")


def test_a_fault_is_told_with_the_innermost_line_of_its_file_and_no_folder(mine):
    said = "mine.py:6: ZeroDivisionError: division by zero"
    assert fault_text(raised(mine.quote, 0)) == said


def test_what_our_code_raises_for_a_strategy_is_told_where_the_strategy_called_it(mine):
    assert place_of(raised(mine.listed, 0)) == "mine.py:14"


def test_a_fault_that_no_file_of_a_strategy_raised_has_no_place():
    assert fault_text(ValueError("none")) == "ValueError: none"


def test_a_recursion_without_end_is_told_by_its_first_line_however_deep_it_came(mine):
    assert place_of(raised(mine.first, 0)) == "mine.py:18"
    assert place_of(raised(mine.second, 0)) == "mine.py:22"


@pytest.mark.parametrize(("answer", "got"), [([], "list"), (None, "None"), (7, "int")])
def test_an_answer_that_is_no_mapping_says_what_was_wanted_and_what_came(answer, got):
    with pytest.raises(NonsenseQuotes) as told:
        mapped(answer)
    assert str(told.value) == f"wanted a mapping of market_id to quotes, got {got}"


def test_the_text_of_a_fault_can_be_written_whatever_characters_the_strategy_put_into_it():
    assert fault_text(ValueError("gr\xf6\xdfe \ud800")) == "ValueError: gr\xf6\xdfe \\ud800"


def test_what_a_strategy_said_is_one_line_that_steers_no_terminal():
    said = ValueError("bad \x1b[2J\a\r\nok \x9b31m \u202e")
    assert fault_text(said) == r"ValueError: bad \x1b[2J\x07 ok \x9b31m \u202e"


def test_a_fault_whose_text_raises_is_told_all_the_same():
    class Mute(Exception):
        def __str__(self):
            return self.missing

    assert fault_text(Mute()) == "Mute: its text cannot be had, AttributeError"


def test_two_takes_of_a_side_are_told_as_two_and_not_as_one_price_twice():
    seen = view(rung(0, 50.0))
    takes = (Take(BookSide.BID, Price(52), Qty(1)), Take(BookSide.BID, Price(51), Qty(1)))
    with pytest.raises(NonsenseQuotes, match="two takes of the bid side on E-0"):
        split({seen.rungs[0].market_id: takes}, seen)
