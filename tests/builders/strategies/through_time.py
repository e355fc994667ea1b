"""Strategies with a memory: one rung through time, and whole runs of views drawn by a seed."""

import random
from collections.abc import Sequence

import msgspec
from hypothesis import strategies as st

from bot.strategy.api import (
    ComingDate,
    EventView,
    Intensity,
    OwnFill,
    OwnQuote,
    Print,
    Quote,
    Quotes,
    RungView,
    Strategy,
    Take,
)
from tests.builders.strategies.views import QUARTER_S, rung, view
from venue.wire.money import BookSide, FeeRate, Price, Qty
from venue.wire.names import MarketId

BID, ASK = BookSide.BID, BookSide.ASK
RICH_CENTS = 1_000_000


def fill(side: BookSide, price: int, qty: int) -> OwnFill:
    """A fill of ours just now."""
    return OwnFill(side, Price(price), Qty(qty), 0.0)


def trade(price: int, qty: int = 1, taker: BookSide = BID) -> Print:
    """A trade of others just now."""
    return Print(Price(price), Qty(qty), taker, 0.0)


def resting(side: BookSide, price: int, qty: int) -> OwnQuote:
    """An order of ours at the front of its queue."""
    return OwnQuote(side, Price(price), Qty(qty), 0.0, 1.0)


class Scene:
    """One strategy and one rung of it, asked again and again at later times."""

    def __init__(self, strategy: Strategy, fair: float | None = 50.0) -> None:
        self.strategy = strategy
        self.fair = fair
        self.answer: Quotes = {}

    def at(
        self,
        now_s: float,
        *fills: OwnFill,
        bid: int | None = None,
        ask: int | None = None,
        net: int = 0,
        cash: int | None = RICH_CENTS,
        prints: Sequence[Print] = (),
        own: Sequence[OwnQuote] = (),
        volatility: float = 0.0,
        intensity: Intensity | None = None,
        left_s: float = QUARTER_S,
        book_age_s: float = 0.0,
        size_part: int = 1,
        dates: tuple[ComingDate, ...] = (),
    ) -> list[tuple[BookSide, int, int]]:
        """(side, price, shares) of the quotes wanted at this time, best first."""
        seen = msgspec.structs.replace(
            rung(0, self.fair, bid=bid, ask=ask, net=net),
            fills=fills,
            prints=tuple(prints),
            own=tuple(own),
            volatility_cents=volatility,
            book_age_s=book_age_s,
        )
        event = msgspec.structs.replace(
            view(seen, seconds=left_s),
            now_s=now_s,
            cash_cents=cash,
            intensity=intensity,
            size_part=size_part,
            dates=dates,
        )
        self.answer = self.strategy.quote(event)
        return [(q.side, q.price, q.qty) for q in self._wanted() if isinstance(q, Quote)]

    def takes(self) -> list[tuple[BookSide, int, int]]:
        """(side, price, shares) of what the last answer wants to take."""
        return [(t.side, t.price, t.qty) for t in self._wanted() if isinstance(t, Take)]

    def _wanted(self) -> list[Quote | Take]:
        wanted = list(self.answer.get(MarketId("m0"), ()))
        bids = sorted((w for w in wanted if w.side is BID), key=lambda w: -w.price)
        return [*bids, *sorted((w for w in wanted if w.side is ASK), key=lambda w: w.price)]


def _rung_of(rng: random.Random, index: int, fair: float) -> RungView:
    """A rung with a book, holdings, trades, fills and orders of ours of any kind."""
    bid = rng.choice([None, rng.randint(1, 98)])
    low = 1 if bid is None else bid + 1
    ask = rng.choice([None, rng.randint(low, 99)])
    known = rng.random() < 0.8

    def some(most: int) -> range:
        return range(rng.randint(0, most))

    def side() -> BookSide:
        return rng.choice([BID, ASK])

    def at() -> tuple[int, int]:
        return rng.randint(1, 99), rng.randint(1, 40)

    seen = rung(
        index,
        fair if known else None,
        sd=rng.uniform(0.1, 20),
        bid=bid,
        ask=ask,
        micro=None if bid is None or ask is None else (bid + ask) / 2,
        net=rng.choice([0, rng.randint(-2_000, 2_000)]),
        rate=FeeRate.parse(rng.choice(["0", "0.0175", "0.07", "1"])),
    )
    return msgspec.structs.replace(
        seen,
        last_price=rng.choice([None, Price(rng.randint(1, 99))]),
        prints=tuple(trade(*at(), side()) for _ in some(3)),
        fills=tuple(fill(side(), *at()) for _ in some(2)),
        own=tuple(resting(side(), *at()) for _ in some(2)),
        volatility_cents=rng.choice([0.0, 0.02, 1.0, 50.0]),
        book_age_s=rng.choice([0.0, 5.0]),
    )


def _run_of(seed: int) -> list[EventView]:
    rng = random.Random(seed)
    now_s, out = 0.0, []
    for _ in range(rng.randint(1, 6)):
        now_s += rng.choice([0.0, 0.05, 1.0, 31.0, 61.0, 2_000.0])
        fairs = sorted((rng.uniform(0.5, 99.5) for _ in range(rng.randint(1, 5))), reverse=True)
        rungs = [_rung_of(rng, index, value) for index, value in enumerate(fairs)]
        learned = Intensity(rng.uniform(1e-4, 10), rng.uniform(0.1, 3), rng.choice([0, 500]))
        out.append(
            msgspec.structs.replace(
                view(*rungs, seconds=rng.choice([0.0, 60.0, 86_400.0, QUARTER_S])),
                now_s=now_s,
                cash_cents=rng.choice([None, 0, rng.randint(0, RICH_CENTS)]),
                intensity=rng.choice([None, learned]),
            )
        )
    return out


def runs() -> st.SearchStrategy[list[EventView]]:
    """Views of an event one after the other, with everything that a strategy may be told. Drawn
    by a seed: to draw each number by itself takes longer than all that is tested with it."""
    return st.integers(0, 2**32).map(_run_of)


def touches(seen: EventView, quotes: dict[MarketId, tuple[Quote, ...]]) -> list[Quote]:
    """The resting quotes that would trade with the book of others."""
    out = []
    for each in seen.rungs:
        for quote in quotes.get(each.market_id, ()):
            if quote.side is BID and each.best_ask is not None and quote.price >= each.best_ask:
                out.append(quote)
            if quote.side is ASK and each.best_bid is not None and quote.price <= each.best_bid:
                out.append(quote)
    return out
