"""Views of an event for the strategy tests: by hand, and drawn by hypothesis."""

from hypothesis import strategies as st

from bot.strategy.api import EventView, Levels, Quote, Quotes, RungView
from venue.wire.money import BookSide, FeeRate, Price, Qty
from venue.wire.names import MarketId, Ticker

FREE = FeeRate.parse("0")
QUARTER_S = 90 * 86_400.0


def rung(
    index: int,
    fair: float | None,
    *,
    sd: float | None = 0.0,
    bid: int | None = None,
    ask: int | None = None,
    micro: float | None = None,
    net: int = 0,
    rate: FeeRate = FREE,
) -> RungView:
    """One rung; `net` shares are held of YES, or of NO when below zero."""
    return RungView(
        market_id=MarketId(f"m{index}"),
        ticker=Ticker(f"E-{index}"),
        strike=100.0 + index,
        bids=_side(bid),
        asks=_side(ask),
        microprice_cents=micro,
        last_price=None,
        yes_qty=Qty(max(0, net)),
        no_qty=Qty(max(0, -net)),
        maker_fee_rate=rate,
        taker_fee_rate=rate,
        fair_cents=fair,
        fair_sd_cents=None if fair is None else sd,
        quotable=True,
    )


def _side(price: int | None) -> Levels:
    return () if price is None else ((Price(price), Qty(10)),)


def view(*rungs: RungView, seconds: float = QUARTER_S, limit: int | None = None) -> EventView:
    """An event of these rungs, which may lose `limit` cents."""
    return EventView(Ticker("E"), len(rungs) > 1, seconds, None, rungs, loss_limit_cents=limit)


def prices(quotes: Quotes, index: int, side: BookSide) -> list[int]:
    wanted: tuple[Quote, ...] = quotes.get(MarketId(f"m{index}"), ())
    return [quote.price for quote in wanted if quote.side is side]


@st.composite
def views(draw: st.DrawFn) -> EventView:
    """Any event a strategy may meet: fair values in order, books and holdings of any kind."""
    fairs = sorted(draw(st.lists(st.floats(0.5, 99.5), min_size=1, max_size=8)), reverse=True)
    rungs = []
    for index, fair in enumerate(fairs):
        bid = draw(st.one_of(st.none(), st.integers(1, 98)))
        low = 1 if bid is None else bid + 1
        ask = draw(st.one_of(st.none(), st.integers(low, 99)))
        known = draw(st.integers(0, 5)) > 0
        micro = None if bid is None or ask is None else (bid + ask) / 2
        rungs.append(
            rung(
                index,
                fair if known else None,
                sd=draw(st.floats(0.1, 20)),
                bid=bid,
                ask=ask,
                micro=micro,
                net=draw(st.integers(-2_000, 2_000)),
                rate=FeeRate.parse(draw(st.sampled_from(["0", "0.0175", "0.07", "1"]))),
            )
        )
    return view(
        *rungs,
        seconds=draw(st.sampled_from([0.0, 60.0, 86_400.0, QUARTER_S])),
        limit=draw(st.sampled_from([None, 0, 3_000, 20_000])),
    )


def ladder(rungs: int, values: list[float], known: list[int]) -> EventView:
    """An event of so many rungs, of which the fair values of some are known."""
    fairs: list[float | None] = [None] * rungs
    for at, value in zip(known, values, strict=True):
        fairs[at] = value
    return view(*(rung(at, fair) for at, fair in enumerate(fairs)))


@st.composite
def ladder_lives(draw: st.DrawFn) -> list[EventView]:
    """Views of one event over time. Few different values, so that they often repeat while the
    rungs change."""
    lives = []
    for _ in range(draw(st.integers(2, 8))):
        rungs = draw(st.integers(1, 5))
        known = sorted(draw(st.sets(st.integers(0, rungs - 1))))
        lives.append(ladder(rungs, [60.0, 40.0, 30.0, 20.0, 10.0][: len(known)], known))
    return lives
