"""A start that keeps an order of an earlier run, on an account with a long past."""

from bot.core import messages as m
from bot.core.settings import StartSettings, Strangers
from tests.builders.bot.thin import EVENT, START_NS, FixedQuotes, Thin
from venue.wire import instant, model
from venue.wire.instant import NS_PER_MS, NS_PER_SECOND
from venue.wire.money import Cents, Outcome, Price, Qty, Side
from venue.wire.names import ClientOrderId, OrderId

KEPT = OrderId("777")


class Past(Thin):
    """A start that keeps a bid with ten shares left and four filled, after the fills of so many
    closed orders, each of four shares. The list of fills is answered `fills_ns` late."""

    def __init__(self, earlier: int, fills_ns: int = 0, filled_as: OrderId = KEPT) -> None:
        """filled_as: the id that the order had when it filled."""
        super().__init__([50], FixedQuotes, start=StartSettings(strangers=Strangers.ADOPT))
        self.fills_ns = fills_ns
        self.filled_as = filled_as
        self.late: list[tuple[int, m.Response]] = []
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

    def begin_kept(self, seconds: float = 20, *, undecided: bool = False) -> None:
        """Start with the journaled order and quote for a while. undecided: the journal has
        its id from before an amend without a response."""
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
