"""Strategies with a memory: one rung through time."""

from collections.abc import Sequence

import msgspec

from bot.strategy.api import (
    ComingDate,
    EventView,
    Intensity,
    OwnFill,
    OwnQuote,
    Print,
    Quote,
    Quotes,
    Strategy,
    Take,
)
from tests.builders.strategies.views import QUARTER_S, rung, view
from venue.wire.money import BookSide, Price, Qty
from venue.wire.names import MarketId

BID, ASK = BookSide.BID, BookSide.ASK
RICH_CENTS = 1_000_000


def trade(price: int, qty: int = 1, taker: BookSide = BID) -> Print:
    return Print(Price(price), Qty(qty), taker, 0.0)


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
