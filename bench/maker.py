"""The makers that the benches compare among a crowd, and the true order of every queue. No bench.

`traded` runs the whole trader. `renewed` is the maker that most peers are: it believes and decides
like the trader, by the same code, and once a second cancels all it has and creates all it wants.
"""

from collections.abc import Callable
from functools import partial
from typing import Final

from bench.crowded import BEAT_NS, RESOLUTION_NS, START_NS, CrowdedMarket
from bot.core import messages as m
from bot.core.settings import RiskSettings, TraderSettings
from bot.core.trader import Trader
from bot.lab.backtest.run import Backtest
from bot.lab.driver import Driver
from bot.lab.exchange.assumptions import Latency, Terms
from bot.lab.exchange.exchange import MAKER, buy_order
from bot.lab.exchange.queue_model import QueueModel
from bot.strategy.api import Strategy
from venue.crowd.settings import CrowdSettings
from venue.crowd.tape import Tape
from venue.engine import messages as v
from venue.wire import model
from venue.wire.instant import NS_PER_MS, NS_PER_SECOND
from venue.wire.money import (
    BookSide,
    Cents,
    FeeRate,
    Outcome,
    Price,
    Qty,
    book_side,
    canonical,
)
from venue.wire.names import MarketId, OrderId
from venue.wire.requests import TimeInForce, keeps_priority

_ONE_WAY_NS: Final = 5 * NS_PER_MS
TERMS: Final = Terms(
    latency=Latency(2 * _ONE_WAY_NS, 0.1),  # else requests of one decision share an instant
    feed_ns=_ONE_WAY_NS,
    read_lag_ns=_ONE_WAY_NS,
    maker_rate=FeeRate.parse("0.0100"),
    taker_rate=FeeRate.parse("0.0175"),
    cash_cents=Cents(100_000_000),
)
RISK: Final = RiskSettings(
    event_loss_cents=Cents(50_000_000),
    series_loss_cents=Cents(50_000_000),
    rung_position_qty=Qty(1_000_000),
    order_qty=Qty(10_000),
)

Slot = tuple[MarketId, BookSide, Price]


def slot(order: v.OrderState) -> Slot:
    side = book_side(order.outcome, order.side)
    return order.market_id, side, canonical(order.outcome, order.price)


class TrueQueues:
    """The order of every queue, from the engine's events alone: neither the engine nor the trader
    is asked about it."""

    def __init__(self) -> None:
        self._at: dict[Slot, dict[OrderId, v.OrderState]] = {}
        self._orders: dict[OrderId, v.OrderState] = {}

    def on_order(self, order: v.OrderState) -> None:
        before = self._orders.pop(order.order_id, None)
        works = order.status in model.RESTING
        if before is not None:
            keeps = keeps_priority(
                before.price, before.remaining_qty, order.price, order.remaining_qty
            )
            if not (works and keeps):
                del self._at[slot(before)][order.order_id]
        if works:
            self._orders[order.order_id] = order
            self._at.setdefault(slot(order), {})[order.order_id] = order

    def ahead(self, order_id: OrderId) -> tuple[int, int] | None:
        """Shares of others before an order, and all of others there; None when it does not rest."""
        order = self._orders.get(order_id)
        if order is None:
            return None
        before, total, is_before = 0, 0, True
        for each in self._at[slot(order)].values():
            if each.order_id == order_id:
                is_before = False
            elif each.user_id != order.user_id:
                total += each.remaining_qty
                before += each.remaining_qty if is_before else 0
        return before, total

    def others_at(self, at: Slot) -> int:
        return sum(
            each.remaining_qty for each in self._at.get(at, {}).values() if each.user_id != MAKER
        )

    def ours(self) -> list[v.OrderState]:
        return [order for order in self._orders.values() if order.user_id == MAKER]


class Among:
    """A crowd, or a tape that is played, with one maker in it.

    ticking: of `bench.crowded`. own: called with every change of an order of the maker's.
    """

    def __init__(self, ticking: Tape, crowd: CrowdSettings, tape: Tape | None = None) -> None:
        self.ticking = ticking
        self.venue = CrowdedMarket(ticking, crowd, TERMS, tape)
        self.venue.heard = self._hear
        self.queues = TrueQueues()
        self.own: Callable[[v.OrderState], None] = lambda _: None
        self.now_ns = START_NS
        self.writes = 0

    def _hear(self, events: list[v.Event], now_ns: int) -> None:
        self.now_ns = now_ns
        for event in events:
            if isinstance(event, v.OrderChanged):
                self.queues.on_order(event.order)
                if event.order.user_id == MAKER:
                    self.own(event.order)


def traded(
    among: Among, make_strategy: Callable[[], Strategy], each_beat: Callable[[Trader], None]
) -> None:
    settings = TraderSettings(series_ticker=among.ticking.series, risk=RISK)  # type: ignore[arg-type]
    run = Backtest(
        among.ticking,
        settings,
        make_strategy,
        QueueModel.PESSIMISTIC,
        TERMS,
        RESOLUTION_NS,
        among.venue,
    )

    def beat(_records: int) -> bool:
        each_beat(run.trader)
        return True

    requests = run.run(beat).result(None).requests
    among.writes = sum(requests.get(kind, 0) for kind in ("create", "amend", "cancel"))


def renewed(
    among: Among, make_strategy: Callable[[], Strategy], each_beat: Callable[[Trader], None]
) -> None:
    """Run the maker that cancels and creates everything each second. Given to `each_beat` is the
    trader that believes and decides for it; that one sends nothing."""
    venue, driver = among.venue, Driver(START_NS)
    settings = TraderSettings(series_ticker=among.ticking.series, risk=RISK)  # type: ignore[arg-type]
    mind = Trader(settings, make_strategy)
    quoting = mind.quoting

    def hear(event: m.BookUpdate | m.Trade) -> None:
        quoting.on_market_data(event, driver.now_ns)

    def show(event: m.Event) -> None:
        if isinstance(event, m.BookUpdate):
            event = m.BookUpdate(event.market_id, event.ts_ns, *venue.others(event.market_id))
        if isinstance(event, m.BookUpdate | m.Trade):
            driver.schedule_after(_ONE_WAY_NS, partial(hear, event))

    def send(request: m.Write) -> None:
        among.writes += 1
        driver.schedule_after(_ONE_WAY_NS, partial(arrive, request))

    def arrive(request: m.Write) -> None:
        venue.exchange.perform(request, driver.now_ns)

    def renew() -> None:
        for mine in among.queues.ours():
            send(m.CancelResting(mine.order_id))
        for rung in (rung for ladder in quoting.ladders for rung in ladder.rungs):
            for quote in rung.wanted:
                outcome = Outcome.YES if quote.side is BookSide.BID else Outcome.NO
                price, name = canonical(outcome, quote.price), f"renewed-{among.writes}"
                order = buy_order(rung.market_id, outcome, price, quote.qty, TimeInForce.GTC, name)
                send(m.Create(order, False))

    listed = venue.exchange.perform(m.ReadSeries(settings.series_ticker, ""), START_NS)
    assert isinstance(listed, m.Ok)
    assert isinstance(listed.body, m.SeriesBody)
    quoting.take_series(listed.body.events, START_NS, START_NS)
    quoting.feed.on_feed_opened(START_NS)
    for place, record in enumerate(among.ticking.records):
        driver.reach(record.ts)
        venue.play(place)
        is_second = record.ts % NS_PER_SECOND < BEAT_NS
        books = venue.book_frames(record.ts) if is_second else []
        for event in (*venue.frames(record.ts), *books):
            show(event)
        quoting.feed.on_feed_alive(record.ts)
        quoting.feed.watch(record.ts)
        mind.out.effects = []
        quoting.decide(record.ts)
        if is_second:
            renew()
        each_beat(mind)
