"""Orders that a start or a stop finds, and a venue in cancel-only."""

from collections.abc import Callable

import msgspec
import pytest

from bot.core import messages as m
from bot.core.report import Phase
from bot.strategy.api import EventView, Quote, Quotes, Strategy
from tests.builders.bot.thin import EVENT, FAR_LIMITS, Thin
from venue.wire import instant, model
from venue.wire.instant import NS_PER_SECOND
from venue.wire.money import BookSide, Outcome, Price, Qty, Side
from venue.wire.names import ClientOrderId, MarketId, OrderId
from venue.wire.requests import QtyOrder, TimeInForce


class Both(Strategy):
    """Three quotes on either side of the middle, ten shares each."""

    def quote(self, view: EventView) -> Quotes:
        out = {}
        for rung in view.rungs:
            if rung.best_bid is not None and rung.best_ask is not None:
                mid = (rung.best_bid + rung.best_ask) // 2
                bids = [Quote(BookSide.BID, Price(mid - away), Qty(10)) for away in (3, 4, 5)]
                asks = [Quote(BookSide.ASK, Price(mid + away), Qty(10)) for away in (3, 4, 5)]
                out[rung.market_id] = (*bids, *asks)
        return out


class Venue(Thin):
    """Records how runs end, and answers requests as `says` does."""

    def __init__(self) -> None:
        risk = msgspec.structs.replace(FAR_LIMITS, resting_orders=20)
        super().__init__([30, 50, 70], lambda: Both(None), risk=risk)
        self.says: Callable[[m.Request], m.Answer | None] = lambda _: None
        self.finished: list[m.DrainComplete] = []
        self.unreadable: list[model.Order] = []

    def on_effect(self, effect: m.Effect) -> None:
        if isinstance(effect, m.DrainComplete):
            self.finished.append(effect)

    def answer(self, request: m.Request) -> m.Answer:
        said = self.says(request) or super().answer(request)
        if isinstance(request, m.ReadResting) and isinstance(said.body, m.OrdersBody):
            return m.Ok(m.OrdersBody((*said.body.orders, *self.unreadable), ""))
        return said

    def begin_with(self, *intents: m.UnconfirmedCreate) -> None:
        """Start on an account with a past and run for eight seconds."""
        self.begin(8, m.Started("0" * 20, intents))

    def unknown_order(self, number: int, **other: object) -> model.Order:
        """An order in the first rung that this run did not place."""
        at = instant.from_ns(self.now_ns)
        order = model.Order(
            order_id=OrderId(str(9_000 + number)),
            ticker=self.markets[0].ticker,
            market_id=self.markets[0].market_id,
            event_ticker=EVENT,
            outcome=model.ShownOutcome.YES,
            side=model.ShownSide.BUY,
            price=Price(1 + number % 20),
            qty=Qty(1),
            remaining_qty=Qty(1),
            filled_qty=Qty(0),
            status=model.OrderStatus.OPEN,
            time_in_force=model.ShownTimeInForce.GTC,
            created_at=at,
            updated_at=at,
        )
        return msgspec.structs.replace(order, **other)


@pytest.mark.parametrize("count", [60, 61, 300])
def test_a_start_cancels_any_number_of_unknown_orders_without_tripping_a_breaker(count):
    venue = Venue()
    for number in range(count):
        order = venue.unknown_order(number)
        venue.orders[order.order_id] = order
    venue.begin_with()
    assert (venue.trader.guard.latched, venue.trader.phase) == ("", Phase.QUOTING)
    assert len(venue.orders) == 18, "our own alone, three on each side of three rungs"


def test_an_unconfirmed_create_in_an_unlisted_market_does_not_hold_up_the_start():
    venue = Venue()
    elsewhere = MarketId("bbbbbbbb-0000-4000-8000-000000000001")
    name = ClientOrderId("1" * 20 + "-1")
    order = QtyOrder(elsewhere, Outcome.YES, Side.BUY, Price(40), Qty(5), TimeInForce.GTC, name)
    venue.begin_with(m.UnconfirmedCreate(order))
    assert all(each.market_id != elsewhere for each in venue.orders.values())
    assert venue.trader.phase is Phase.QUOTING


@pytest.mark.parametrize("code", ["insufficient_balance", "insufficient_shares"])
def test_an_unconfirmed_create_rejected_for_lack_of_funds_suspends_no_side(code):
    venue = Venue()
    venue.says = lambda request: (
        m.Rejected(422, code, "") if isinstance(request, m.Create) and request.again else None
    )
    first, name = venue.markets[0].market_id, ClientOrderId("1" * 20 + "-1")
    order = QtyOrder(first, Outcome.NO, Side.SELL, Price(60), Qty(5), TimeInForce.GTC, name)
    venue.begin_with(m.UnconfirmedCreate(order))
    venue.run(8)
    assert venue.trader.phase is Phase.QUOTING
    assert len(venue.orders) == 18


UNREADABLE = [{"outcome": model.ShownOutcome.UNKNOWN}, {"side": model.ShownSide.UNKNOWN}]


@pytest.mark.parametrize("field", UNREADABLE)
def test_a_stop_names_an_unreadable_order_as_left(field):
    venue = Venue()
    venue.start()
    venue.unreadable = [venue.unknown_order(1, **field)]
    venue.give(m.StopRequested("SIGTERM"))
    venue.run(8)
    assert [each.left for each in venue.finished] == [("9001",)]


def test_a_latched_bot_reports_an_unreadable_order_as_resting():
    venue = Venue()
    venue.start()
    venue.unreadable = [venue.unknown_order(1, **UNREADABLE[0])]
    venue.give(m.LatchSet("a person"))
    venue.run(12)
    findings = venue.trader.out.findings
    assert "9001" in findings["latched_not_flat"]
    assert "9001" in findings["order_unreadable"]
    venue.unreadable = []
    venue.run(12)
    assert list(findings) == ["latched"]


def test_a_stop_cancels_orders_that_others_placed_after_a_latch_was_cleared():
    venue = Venue()
    venue.start()
    venue.give(m.LatchSet("a person"))
    venue.run(8)
    venue.give(m.PauseRequested("not yet"))
    venue.give(m.LatchCleared("looked"))
    venue.run(8)
    stranger = venue.unknown_order(1)
    venue.orders[stranger.order_id] = stranger
    venue.give(m.StopRequested("SIGTERM"))
    venue.run(8)
    assert venue.finished == [m.DrainComplete((), ())]
    assert not venue.orders


def test_a_successful_cancel_does_not_end_cancel_only():
    venue = Venue()
    venue.start()
    refused = m.Rejected(409, "venue_cancel_only", "")
    adds = (m.Create, m.AmendResting)
    venue.says = lambda request: refused if isinstance(request, adds) else None

    def step() -> None:
        for index, mid in enumerate(venue.mids):
            venue.mids[index] = mid + (4 if venue.now_ns // NS_PER_SECOND % 2 else -4)
            venue.show(index)
        for own in list(venue.trader.desk.live_orders)[:1]:
            own.cancel_requested = True
            venue.trader.quoting.orders_changed(own.market_id)

    venue.run(2, step, NS_PER_SECOND)
    from_ns = venue.now_ns
    venue.run(10, step, NS_PER_SECOND)
    later = venue.writes(from_ns)
    assert sum(isinstance(each, m.CancelResting) for each in later) >= 9
    assert sum(isinstance(each, adds) for each in later) <= 2, "one probe in five seconds"
