"""Claims about how far quotes lean: a strategy asked again from the state it was in."""

import threading

import msgspec
import pytest

from bot.lab.explain.asked import KEPT_MAX, Asked, Askers, without_shares
from bot.strategy.api import EventView, Quote, Quotes, RungView, Strategy
from venue.wire.money import BookSide, FeeRate, Price, Qty
from venue.wire.names import MarketId, Ticker

RUNG = MarketId("r")
FREE = FeeRate.parse("0")


def view(net: int, fair: float = 50.0, at: int = 0) -> EventView:
    """A view of one rung with so many shares held."""
    yes, no = (net, 0) if net >= 0 else (0, -net)
    rung = RungView(
        RUNG, Ticker("T"), None, (), (), None, None, Qty(yes), Qty(no), FREE, FREE, fair, 1.0, True
    )
    return EventView(Ticker("E"), False, 60.0, None, (rung,), now_s=float(at))


class Counting(Strategy):
    """Its bid falls a cent a share held, and rises a cent each time it is asked."""

    name = "counting"

    def __init__(self, params: object) -> None:
        super().__init__(params)
        self.asked = 0

    def quote(self, view: EventView) -> Quotes:
        self.asked += 1
        (rung,) = view.rungs
        if rung.fair_cents == 13:
            raise ValueError("not this one")
        price = 40 + self.asked % 50 - rung.net_qty
        return {RUNG: (Quote(BookSide.BID, Price(price), Qty(5)),)}


class Locked(Counting):
    """One that cannot be copied."""

    def __init__(self, params: object) -> None:
        super().__init__(params)
        self.lock = threading.Lock()


@pytest.mark.parametrize("calls", [1, 2, KEPT_MAX, KEPT_MAX + 1, 2 * KEPT_MAX + 7])
def test_it_is_asked_again_in_the_state_it_was_in_however_often_it_was_asked(calls):
    asked = Asked(Counting(None))
    for at in range(calls):
        answer = asked.quote(view(3, at=at))
    (lean,), fault = asked.leans(RUNG)
    assert fault == ""
    assert lean.price == answer[RUNG][0].price == 40 + calls % 50 - 3
    assert (lean.free_price, lean.cents) == (lean.price + 3, -3)


def test_asking_again_changes_nothing_of_it():
    inner = Counting(None)
    asked = Asked(inner)
    asked.quote(view(3))
    assert asked.leans(RUNG) == asked.leans(RUNG)
    assert inner.asked == 1


def test_calls_that_raised_raise_again_on_the_way():
    asked = Asked(Counting(None))
    asked.quote(view(1))
    with pytest.raises(ValueError, match="not this one"):
        asked.quote(view(1, fair=13.0))
    asked.quote(view(2))
    (lean,), fault = asked.leans(RUNG)
    assert (fault, lean.price, lean.cents) == ("", 41, -2)


def test_of_an_answer_that_was_an_exception_it_says_so():
    asked = Asked(Counting(None))
    with pytest.raises(ValueError, match="not this one"):
        asked.quote(view(1, fair=13.0))
    rows, fault = asked.leans(RUNG)
    assert rows == ()
    assert "ValueError: not this one" in fault


def test_of_a_strategy_that_cannot_be_copied_it_says_so_and_asks_it_all_the_same():
    asked = Asked(Locked(None))
    assert asked.quote(view(1))[RUNG][0].price == 40
    rows, fault = asked.leans(RUNG)
    assert rows == ()
    assert "cannot be copied" in fault


def test_of_one_that_was_never_asked_it_says_so():
    assert Asked(Counting(None)).leans(RUNG) == ((), "the strategy was not asked yet")


def test_a_view_without_shares_is_the_same_in_all_else():
    held = view(7)
    nothing = without_shares(held)
    assert nothing.rungs[0].net_qty == 0
    back = msgspec.structs.replace(nothing.rungs[0], yes_qty=Qty(7))
    assert msgspec.structs.replace(nothing, rungs=(back,)) == held


def test_levels_that_only_one_of_the_two_answers_has_lean_by_nothing_known():
    class Short(Counting):
        def quote(self, view: EventView) -> Quotes:
            lots = [Quote(BookSide.ASK, Price(60), Qty(1)), Quote(BookSide.ASK, Price(61), Qty(2))]
            return {RUNG: tuple(lots[: 1 if view.rungs[0].net_qty else 2])}

    asked = Asked(Short(None))
    asked.quote(view(4))
    first, second = asked.leans(RUNG)[0]
    assert (first.price, first.cents) == (60, 0)
    assert (second.price, second.free_price, second.cents) == (None, 61, None)


def test_the_strategy_of_an_event_is_found_by_what_it_was_asked_about():
    askers = Askers()
    first, second = askers.around(Counting(None)), askers.around(Counting(None))
    first.quote(view(0))
    assert askers.of(Ticker("E")) is first
    second.quote(view(0))
    assert askers.of(Ticker("E")) is second
    assert askers.of(Ticker("other")) is None
