"""Texts of faults of a strategy: the line in its file, and the same text each time."""

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
    try:
        call(*arguments)
    except Exception as fault:  # noqa: BLE001 - whatever it is
        # As the bot meets it: the frame that asked is the bot's own, not this file's.
        return fault.with_traceback(fault.__traceback__.tb_next)
    raise AssertionError("nothing was raised")


def test_the_text_of_a_fault_names_the_innermost_line_of_its_file(mine):
    said = "mine.py:6: ZeroDivisionError: division by zero"
    assert fault_text(raised(mine.quote, 0)) == said


def test_a_fault_in_our_code_names_the_line_of_the_strategy_that_called_it(mine):
    assert place_of(raised(mine.listed, 0)) == "mine.py:14"


class Mute(Exception):
    def __str__(self):
        return self.missing


@pytest.mark.parametrize(
    ("fault", "text"),
    [
        (ValueError("none"), "ValueError: none"),
        (ValueError("gr\xf6\xdfe \ud800"), "ValueError: gr\xf6\xdfe \\ud800"),
        (
            ValueError("bad \x1b[2J\a\r\nok \x9b31m \u202e"),
            r"ValueError: bad \x1b[2J\x07 ok \x9b31m \u202e",
        ),
        (Mute(), "Mute: its text cannot be had, AttributeError"),
    ],
    ids=["no place", "a surrogate", "control characters", "no text"],
)
def test_the_text_of_a_fault_is_one_printable_line(fault, text):
    assert fault_text(fault) == text


def test_an_endless_recursion_names_its_first_line(mine):
    assert place_of(raised(mine.first, 0)) == "mine.py:18"
    assert place_of(raised(mine.second, 0)) == "mine.py:22"


@pytest.mark.parametrize(("answer", "got"), [([], "list"), (None, "None"), (7, "int")])
def test_an_answer_that_is_no_mapping_is_rejected_with_its_type(answer, got):
    with pytest.raises(NonsenseQuotes) as raised_:
        mapped(answer)
    assert str(raised_.value) == f"wanted a mapping of market_id to quotes, got {got}"


def test_two_takes_of_a_side_are_rejected_as_two_takes():
    seen = view(rung(0, 50.0))
    takes = (Take(BookSide.BID, Price(52), Qty(1)), Take(BookSide.BID, Price(51), Qty(1)))
    with pytest.raises(NonsenseQuotes, match="two takes of the bid side on E-0"):
        split({seen.rungs[0].market_id: takes}, seen)
