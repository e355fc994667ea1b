"""Claims about an order kept from an earlier run, on an account with a long past."""

import pytest

from bot.core import messages as m
from bot.core.settings import RiskSettings, StartSettings, Strangers, TraderSettings
from bot.core.trader import Trader
from bot.strategy.api import EventView, Quote, Quotes, Strategy
from tests.builders.bot.thin import EVENT, SERIES, START_NS, Thin
from venue.wire import instant, model
from venue.wire.instant import NS_PER_MS, NS_PER_SECOND
from venue.wire.money import BookSide, Cents, Outcome, Price, Qty, Side
from venue.wire.names import ClientOrderId, OrderId

KEPT = OrderId("777")
RISK = RiskSettings(
    event_loss_cents=Cents(10_000_000),
    series_loss_cents=Cents(10_000_000),
    rung_position_qty=Qty(100_000),
    order_qty=Qty(1_000),
)


class Both(Strategy):
    """Ten shares on either side of fifty."""

    def quote(self, view: EventView) -> Quotes:
        bid = Quote(BookSide.BID, Price(45), Qty(10))
        ask = Quote(BookSide.ASK, Price(55), Qty(10))
        return {rung.market_id: (bid, ask) for rung in view.rungs}


class Past(Thin):
    """A start that keeps a bid of ten shares, of which four have filled, after the fills of so many
    orders that are over, each of which bought four shares or sold those. The list of fills is
    answered `fills_ns` late."""

    def __init__(self, earlier: int, fills_ns: int = 0, filled_as: OrderId = KEPT) -> None:
        """filled_as: the id that the order had when it filled."""
        super().__init__([50], lambda: Both(None))
        self.fills_ns = fills_ns
        self.filled_as = filled_as
        self.late: list[tuple[int, m.Response]] = []
        start = StartSettings(strangers=Strangers.ADOPT)
        settings = TraderSettings(series_ticker=SERIES, risk=RISK, start=start)
        self.trader = Trader(settings, lambda: Both(None))
        self.rung_shown = self.markets[0]
        self.fills = [self._fill(0, filled_as, model.ShownSide.BUY)]
        for number in range(1, earlier + 1):
            side = model.ShownSide.SELL if number % 2 else model.ShownSide.BUY
            self.fills.append(self._fill(number, OrderId(str(1_000 + number)), side))
        at = instant.from_ns(START_NS - 100 * NS_PER_SECOND)
        self.orders[KEPT] = model.Order(
            order_id=KEPT,
            ticker=self.rung_shown.ticker,
            market_id=self.rung_shown.market_id,
            event_ticker=EVENT,
            outcome=model.ShownOutcome.YES,
            side=model.ShownSide.BUY,
            price=Price(45),
            qty=Qty(14),
            remaining_qty=Qty(10),
            filled_qty=Qty(4),
            status=model.OrderStatus.PARTIALLY_FILLED,
            time_in_force=model.ShownTimeInForce.GTC,
            created_at=at,
            updated_at=at,
        )

    def _fill(self, number: int, order_id: OrderId, side: model.ShownSide) -> model.Fill:
        return model.Fill(
            fill_id=f"f{number}",
            trade_id=f"t{number}",
            order_id=order_id,
            ticker=self.rung_shown.ticker,
            market_id=self.rung_shown.market_id,
            event_ticker=EVENT,
            outcome=model.ShownOutcome.YES,
            side=side,
            outcome_price=Price(45),
            trade_price=Price(45),
            qty=Qty(4),
            fee_cents=Cents(0),
            liquidity=model.Liquidity.MAKER,
            created_at=instant.from_ns(START_NS - (50 + number) * NS_PER_SECOND),
        )

    def begin(self, seconds: float = 20, *, undecided: bool = False) -> None:
        """Start, with what the journal knows of the order, and quote for a while. undecided: it has
        the id of before an amend without an answer."""
        known = m.JournaledOrder(
            ClientOrderId("earlier-1"),
            self.filled_as if undecided else KEPT,
            self.rung_shown.market_id,
            Outcome.YES,
            Side.BUY,
            Price(45),
            Qty(10),
            Qty(4),
            START_NS - 100 * NS_PER_SECOND,
            settled=not undecided,
            previous_ids=() if undecided or self.filled_as == KEPT else ((self.filled_as, Qty(0)),),
        )
        self.give(m.Started("0" * 20, (), working=(known,)))
        self.give(m.FeedOpened())
        self.show(0)
        self.run(seconds, self._answer_late, 10 * NS_PER_MS)

    def _answer_late(self) -> None:
        while self.late and self.now_ns >= self.late[0][0]:
            self.give(self.late.pop(0)[1])

    def ask(self, send: m.Send) -> None:
        if isinstance(send.request, m.ReadFills):
            reply = m.Response(send.request_id, self.answer(send.request), 500)
            self.late.append((self.now_ns + self.fills_ns, reply))
        else:
            super().ask(send)

    def answer(self, request: m.Request) -> m.Answer:
        if isinstance(request, m.ReadFills):
            return m.Ok(m.FillsBody(tuple(self.fills), ""))
        if isinstance(request, m.ReadPositions):
            held = model.Position(
                ticker=self.rung_shown.ticker,
                market_id=self.rung_shown.market_id,
                outcome=model.ShownOutcome.YES,
                qty=Qty(4),
            )
            return m.Ok(m.PositionsBody((held,), ""))
        return super().answer(request)


def test_what_filled_of_a_kept_order_counts_once_after_the_fills_of_however_many_others():
    of = Past(earlier=12)
    of.begin()
    assert KEPT in of.orders
    assert of.trader.ledgers.holdings(of.rung_shown.market_id) == (4, 0)
    assert not of.trader.out.findings


def test_fills_that_the_list_keeps_with_an_earlier_id_of_a_kept_order_count_once():
    of = Past(earlier=12, filled_as=OrderId("770"))
    of.begin()
    assert KEPT in of.orders
    assert of.trader.ledgers.holdings(of.rung_shown.market_id) == (4, 0)
    assert not of.trader.out.findings


def test_fills_of_an_order_that_an_amend_without_an_answer_gave_another_id_count_once():
    of = Past(earlier=0, filled_as=OrderId("770"))
    of.begin(undecided=True)
    assert KEPT not in of.orders
    assert of.trader.ledgers.holdings(of.rung_shown.market_id) == (4, 0)
    assert not of.trader.desk.unsettled


@pytest.mark.slow
def test_a_kept_order_keeps_its_place_where_the_fills_are_the_last_that_comes_before_quoting():
    for fills_ms in range(0, 3_000, 250):
        of = Past(earlier=1, fills_ns=fills_ms * NS_PER_MS)
        of.begin()
        assert KEPT in of.orders, fills_ms
