"""The makers that the benches compare on a `Stand`. No bench itself.

`traded` runs the whole trader. `renewed` is the maker that most peers are: it believes and decides
like the trader, by the same code, and once a second cancels all it has and creates all it wants.
"""

from collections.abc import Callable

from bench.crowded import BEAT_NS
from bench.stand import Stand, slot
from bot.core import messages as m
from bot.core.settings import RiskSettings, TraderSettings
from bot.core.trader import Trader
from bot.strategy.api import Strategy
from venue.views.catalog import EventFilter
from venue.wire import codec
from venue.wire.instant import NS_PER_SECOND
from venue.wire.money import BookSide, Cents, Outcome, Price, Qty, Side, canonical
from venue.wire.names import ClientOrderId
from venue.wire.requests import QtyOrder, TimeInForce

RENEW_NS = NS_PER_SECOND


def settings(stand: Stand) -> TraderSettings:
    risk = RiskSettings(
        event_loss_cents=Cents(50_000_000),
        series_loss_cents=Cents(50_000_000),
        rung_position_qty=Qty(1_000_000),
        order_qty=Qty(10_000),
    )
    return TraderSettings(series_ticker=stand.series_ticker, risk=risk)


def traded(
    stand: Stand,
    make_strategy: Callable[[], Strategy],
    seconds: float,
    each_beat: Callable[[Trader], None],
) -> Trader:
    trader = Trader(settings(stand), make_strategy)

    def give(event: m.Event) -> None:
        for effect in trader.receive(event, stand.now_ns):
            if isinstance(effect, m.Send):
                request_id = effect.request_id
                stand.send(
                    effect.request,
                    lambda answer, request_id=request_id: give(  # type: ignore[misc]
                        m.Response(request_id, answer, 500)
                    ),
                )
            elif isinstance(effect, m.SubscribeTo):
                give(m.SubscriptionAccepted())
                for market_id in effect.rungs:
                    give(stand.book(market_id))

    def beat() -> None:
        give(m.FeedAlive())
        give(m.Tick())
        each_beat(trader)

    stand.hears = give
    stand.run(1, lambda: None)
    give(m.Started("0" * 20, (), new_account=True))
    give(m.FeedOpened())
    stand.run(seconds, beat)
    return trader


def renewed(
    stand: Stand,
    make_strategy: Callable[[], Strategy],
    seconds: float,
    each_beat: Callable[[Trader], None],
) -> Trader:
    """Run the maker that cancels and creates everything each second. Returned, and given to
    `each_beat`, is the trader that believes and decides for it; that one sends nothing."""
    mind = Trader(settings(stand), make_strategy)
    quoting = mind.quoting
    made = 0
    due_ns = 0

    def hear(event: m.Event) -> None:
        if isinstance(event, m.BookUpdate):
            quoting.on_market_data(_without_ours(stand, event), stand.now_ns)
        elif isinstance(event, m.Trade):
            quoting.on_market_data(event, stand.now_ns)

    def renew() -> None:
        nonlocal made
        for mine in stand.queue.mine():
            stand.send(m.CancelResting(mine.order_id), lambda _: None)
        for ladder in quoting.ladders:
            for rung in ladder.rungs:
                for quote in rung.wanted:
                    made += 1
                    is_bid = quote.side is BookSide.BID
                    outcome = Outcome.YES if is_bid else Outcome.NO
                    order = QtyOrder(
                        rung.market_id,
                        outcome,
                        Side.BUY,
                        canonical(outcome, quote.price),
                        quote.qty,
                        TimeInForce.GTC,
                        ClientOrderId(f"renewed-{made}"),
                    )
                    body = codec.encode_new_order(order)
                    stand.send(m.Create(order, body, False), lambda _: None)

    def beat() -> None:
        nonlocal due_ns
        quoting.feed.on_feed_alive(stand.now_ns)
        quoting.feed.watch(stand.now_ns)
        mind.out.effects = []
        if stand.now_ns % NS_PER_SECOND < BEAT_NS:
            for ladder in quoting.ladders:
                for rung in ladder.rungs:
                    hear(stand.book(rung.market_id))
        quoting.decide(True, stand.now_ns)
        if stand.now_ns >= due_ns:
            due_ns = stand.now_ns + RENEW_NS
            renew()
        each_beat(mind)

    stand.hears = hear
    stand.run(1, lambda: None)
    listed, _ = stand.views.views.catalog.events(EventFilter(), -1, 10)
    quoting.take_series(listed, stand.now_ns, stand.now_ns)
    quoting.feed.on_feed_opened(stand.now_ns)
    stand.run(seconds, beat)
    return mind


def _without_ours(stand: Stand, seen: m.BookUpdate) -> m.BookUpdate:
    ours: dict[tuple[BookSide, Price], int] = {}
    for order in stand.queue.mine():
        market_id, side, price = slot(order)
        if market_id == seen.market_id:
            ours[side, price] = ours.get((side, price), 0) + order.remaining_qty
    bids = tuple(
        (price, Qty(size - ours.get((BookSide.BID, price), 0)))
        for price, size in seen.bids
        if size > ours.get((BookSide.BID, price), 0)
    )
    asks = tuple(
        (price, Qty(size - ours.get((BookSide.ASK, price), 0)))
        for price, size in seen.asks
        if size > ours.get((BookSide.ASK, price), 0)
    )
    return m.BookUpdate(seen.market_id, seen.ts_ns, bids, asks)
