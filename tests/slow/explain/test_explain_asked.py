"""Claims about the skew of quotes: a strategy asked again from the state it was in."""

import threading

import msgspec
import pytest

from bot.lab.explain import RecordedStrategy, StrategyRecorder, without_shares
from bot.strategy.api import EventView, Quote, Quotes, RungView, Strategy
from venue.wire.money import BookSide, FeeRate, Price, Qty
from venue.wire.names import MarketId, Ticker

RUNG = MarketId("r")
FREE = FeeRate.parse("0")


def view(net: int, fair: float = 50.0, at: int = 0) -> EventView:
    yes, no = (net, 0) if net >= 0 else (0, -net)
    rung = RungView(
        RUNG, Ticker("T"), None, (), (), None, None, Qty(yes), Qty(no), FREE, FREE, fair, 1.0, True
    )
    return EventView(Ticker("E"), False, 60.0, None, (rung,), now_s=float(at))


class Held(Strategy):
    """Its bid falls a cent a share held."""

    name = "held"

    def __init__(self, params: object) -> None:
        super().__init__(params)
        self.asked = 0

    def quote(self, view: EventView) -> Quotes:
        self.asked += 1
        (rung,) = view.rungs
        if rung.fair_cents == 13:
            raise ValueError("not this one")
        price = 40 - rung.net_qty
        return {RUNG: (Quote(BookSide.BID, Price(price), Qty(5)),)}


class Locked(Held):
    def __init__(self, params: object) -> None:
        super().__init__(params)
        self.lock = threading.Lock()


def test_the_skew_of_a_quote_is_its_distance_from_that_without_inventory():
    asked = RecordedStrategy(Held(None))
    answer = asked.quote(view(3))
    (lean,), fault = asked.leans(RUNG)
    assert fault == ""
    assert lean.price == answer[RUNG][0].price == 37
    assert (lean.free_price, lean.cents) == (40, -3)


def test_asking_a_recorded_strategy_again_does_not_change_it():
    inner = Held(None)
    asked = RecordedStrategy(inner)
    asked.quote(view(3))
    assert asked.leans(RUNG) == asked.leans(RUNG)
    assert inner.asked == 1


def test_a_strategy_that_gave_no_answer_has_no_skew():
    asked = RecordedStrategy(Held(None))
    with pytest.raises(ValueError, match="not this one"):
        asked.quote(view(1, fair=13.0))
    assert asked.leans(RUNG) == ((), "the strategy gave no answer")
    assert RecordedStrategy(Held(None)).leans(RUNG) == ((), "the strategy gave no answer")


def test_a_strategy_that_cannot_be_copied_is_asked_but_has_no_skew():
    asked = RecordedStrategy(Locked(None))
    assert asked.quote(view(1))[RUNG][0].price == 39
    rows, fault = asked.leans(RUNG)
    assert rows == ()
    assert "cannot pickle" in fault


def test_a_view_without_inventory_is_otherwise_unchanged():
    held = view(7)
    nothing = without_shares(held)
    assert nothing.rungs[0].net_qty == 0
    back = msgspec.structs.replace(nothing.rungs[0], yes_qty=Qty(7))
    assert msgspec.structs.replace(nothing, rungs=(back,)) == held


def test_a_level_in_only_one_of_the_two_answers_has_no_skew():
    class Short(Held):
        def quote(self, view: EventView) -> Quotes:
            lots = [Quote(BookSide.ASK, Price(60), Qty(1)), Quote(BookSide.ASK, Price(61), Qty(2))]
            return {RUNG: tuple(lots[: 1 if view.rungs[0].net_qty else 2])}

    asked = RecordedStrategy(Short(None))
    asked.quote(view(4))
    first, second = asked.leans(RUNG)[0]
    assert (first.price, first.cents) == (60, 0)
    assert (second.price, second.free_price, second.cents) == (None, 61, None)


def test_the_strategy_of_an_event_is_the_last_one_asked_about_it():
    askers = StrategyRecorder()
    first, second = askers.around(Held(None)), askers.around(Held(None))
    first.quote(view(0))
    assert askers.strategy_of(Ticker("E")) is first
    second.quote(view(0))
    assert askers.strategy_of(Ticker("E")) is second
    assert askers.strategy_of(Ticker("other")) is None
