"""Claims about the arbitrage strategy in the whole trader: the orders of a contradiction."""

import itertools

import msgspec
import pytest

from bot.core import messages as m
from bot.core.orders.order import OwnOrder
from strategies.arb import Arb
from tests.builders.bot import made
from tests.builders.bot.thin import Thin
from venue.wire import instant, model
from venue.wire.instant import NS_PER_SECOND
from venue.wire.money import Cents, Outcome, Price, Qty, Side
from venue.wire.names import OrderId
from venue.wire.requests import QtyOrder, TimeInForce


class Crossed(Thin):
    """Two rungs whose books contradict each other until the first trade; takes fill whole, in the
    rungs that are `open_at`."""

    def __init__(self, open_at: tuple[int, ...] = (0, 1)) -> None:
        super().__init__([50, 70], lambda: Arb(Arb.Params()))
        self.open_at = open_at
        self.taken: list[QtyOrder] = []
        self.booked: list[model.Fill] = []

    def answer(self, request: m.Request) -> m.Answer:
        if isinstance(request, m.Create):
            self.taken.append(request.order)
            return m.Ok(m.OrderBody(self._carried_out(request.order)))
        if isinstance(request, m.ReadFills):
            return m.Ok(m.FillsBody(tuple(reversed(self.booked)), ""))
        if isinstance(request, m.ReadBalance):
            spent = sum(fill.qty * fill.outcome_price for fill in self.booked)
            cash = Cents(10**9 - spent)
            return m.Ok(m.BalanceBody(model.Balance(cash, Cents(0), cash)))
        if isinstance(request, m.ReadPositions):
            held = tuple(
                model.Position(ticker=fill.ticker, outcome=fill.outcome, qty=fill.qty)
                for fill in self.booked
            )
            return m.Ok(m.PositionsBody(held, ""))
        return super().answer(request)

    def _carried_out(self, order: QtyOrder) -> model.Order:
        at = instant.from_ns(self.now_ns)
        index = [market.market_id for market in self.markets].index(order.market_id)
        filled = order.qty if index in self.open_at else Qty(0)
        number = len(self.taken)
        shown = model.Order(
            order_id=OrderId(str(700 + number)),
            ticker=self.markets[index].ticker,
            market_id=order.market_id,
            event_ticker=self.markets[index].event_ticker,
            outcome=model.ShownOutcome(order.outcome.value),
            side=model.ShownSide(order.side.value),
            price=order.price,
            qty=order.qty,
            remaining_qty=Qty(0),
            filled_qty=filled,
            status=model.OrderStatus.FILLED if filled else model.OrderStatus.CANCELED,
            time_in_force=model.ShownTimeInForce(order.time_in_force.value),
            created_at=at,
            updated_at=at,
        )
        if filled:
            own = OwnOrder(order, self.now_ns, "take")
            own.order_id = shown.order_id
            row = made.fill(own, number, filled)
            self.booked.append(
                msgspec.structs.replace(row, created_at=at, ticker=self.markets[index].ticker)
            )
            self.mids = [50, 40]
        return shown


def orders_of_half_a_minute(
    venue: Crossed,
) -> list[tuple[str, Side, Outcome, Price, Qty, TimeInForce]]:
    """The orders of half a minute: market's last digit and all that matters of the order."""
    venue.start()

    depths = itertools.count(100)  # a book that says nothing new asks nobody

    def shown() -> None:
        for index in range(2):
            venue.give(venue.book(index, depth=next(depths)))

    venue.run(30, shown, NS_PER_SECOND // 2)
    assert venue.trader.out.findings == {}
    return [
        (each.market_id[-1], each.side, each.outcome, each.price, each.qty, each.time_in_force)
        for each in venue.taken
    ]


def test_the_trader_buys_the_cheap_rung_fok_then_sells_the_dear_one_ioc_with_slippage() -> None:
    # Both touches hold more than the cap of 50, and as much: then the purchase goes first.
    # YES of the higher strike is sold at 68 by buying NO at 32; 33 with the slack.
    assert orders_of_half_a_minute(Crossed()) == [
        ("0", Side.BUY, Outcome.YES, 52, 50, TimeInForce.FOK),
        ("1", Side.BUY, Outcome.NO, 33, 50, TimeInForce.IOC),
    ]


def test_both_legs_are_halved_once_in_the_last_day() -> None:
    venue = Crossed()
    venue.ends_ns = venue.now_ns + 12 * 3_600 * NS_PER_SECOND
    assert [(market, qty) for market, _, _, _, qty, _ in orders_of_half_a_minute(venue)] == [
        ("0", 25),
        ("1", 25),
    ]


def test_an_unfilled_second_leg_is_not_retried() -> None:
    orders = orders_of_half_a_minute(Crossed(open_at=(0,)))
    assert [(market, qty) for market, _, _, _, qty, _ in orders] == [("0", 50), ("1", 50)]


def test_an_unfilled_first_leg_is_retried_only_after_the_wait() -> None:
    orders = orders_of_half_a_minute(Crossed(open_at=()))
    assert {market for market, *_ in orders} == {"0"}
    assert 2 <= len(orders) <= 4


class Printing(Crossed):
    """As `Crossed`, with touches that a leg clears; each take is shown as a print, before or after
    it is answered."""

    def __init__(self, *, is_print_first: bool) -> None:
        super().__init__()
        self.is_print_first = is_print_first
        self.left_ns: list[int] = []

    def book(self, index: int, ts_ns: int | None = None, depth: int = 50) -> m.BookUpdate:
        return super().book(index, ts_ns, depth)

    def ask(self, send: m.Send) -> None:
        if not isinstance(send.request, m.Create):
            super().ask(send)
            return
        order, answer = send.request.order, self.answer(send.request)
        self.left_ns.append(self.now_ns)
        is_first = len(self.left_ns) == 1
        self.mids = [50, 70] if is_first else [50, 40]
        price = Price(52) if is_first else Price(68)
        name, bought_yes = f"take-{len(self.left_ns)}", order.outcome is Outcome.YES
        shown = m.Trade(order.market_id, self.now_ns, name, price, order.qty, bought_yes)
        replied = m.Response(send.request_id, answer, 500)
        for event in (shown, replied) if self.is_print_first else (replied, shown):
            self.give(event)


@pytest.mark.parametrize("is_print_first", [True, False])
def test_the_print_of_our_first_leg_does_not_delay_the_second(
    is_print_first: bool,
) -> None:
    venue = Printing(is_print_first=is_print_first)
    venue.start()
    venue.run(3)
    assert [order.qty for order in venue.taken] == [50, 50]
    assert venue.left_ns[1] - venue.left_ns[0] < NS_PER_SECOND
