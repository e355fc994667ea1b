"""The plugin contract: a view of one event in, wanted quotes out; pure, canonical YES, no orders.

A strategy knows nothing of orders, NO, fees in flight or rate limits. It is one class with a
`Params` schema and a `quote` method:

    class Mine(Strategy):
        class Params(Strategy.Params):
            half_spread_cents: int = Field(2, ge=1, le=49)

        def quote(self, view: EventView) -> Quotes: ...

It is found by name (`strategies/<name>.py`, the class named in its `STRATEGY`), by dotted path
(`package.module:Class`) or by file path (`./mine.py:Class`).
If it raises, or returns what cannot be a quote, its event is pulled and the rest goes on.
"""

from collections.abc import Mapping
from typing import Any, ClassVar

import msgspec
import pydantic

from venue.wire.money import BookSide, FeeRate, Price, Qty, is_price
from venue.wire.names import MarketId, Ticker

__all__ = ["EventView", "ImpliedView", "Quote", "Quotes", "RungView", "Strategy"]

Levels = tuple[tuple[Price, Qty], ...]


class RungView(msgspec.Struct, frozen=True):
    """One rung as a strategy may see it; our own resting size is taken out of the book.

    strike: the number on the label, None on a binary market. bids, asks: canonical YES, best
    first. microprice_cents: size-weighted mid, None unless both sides are there.
    yes_qty, no_qty: shares held, fills not yet booked included. fair_cents (0.5..99.5) and
    fair_sd_cents: the fitted curve at this rung, None while it cannot be known.
    quotable: whether anything quoted here can be sent now.
    """

    market_id: MarketId
    ticker: Ticker
    strike: float | None
    bids: Levels
    asks: Levels
    microprice_cents: float | None
    last_price: Price | None
    yes_qty: Qty
    no_qty: Qty
    maker_fee_rate: FeeRate
    taker_fee_rate: FeeRate
    fair_cents: float | None
    fair_sd_cents: float | None
    quotable: bool

    @property
    def net_qty(self) -> int:
        """YES shares less NO shares: what the rung's outcome is worth to us, per dollar."""
        return self.yes_qty - self.no_qty

    @property
    def best_bid(self) -> Price | None:
        """The best bid of others, or None."""
        return self.bids[0][0] if self.bids else None

    @property
    def best_ask(self) -> Price | None:
        """The best ask of others, or None."""
        return self.asks[0][0] if self.asks else None


class ImpliedView(msgspec.Struct, frozen=True):
    """The newest implied value of the company: dollars, confidence 0..1, age in seconds."""

    value_dollars: float
    confidence: float
    age_s: float


class EventView(msgspec.Struct, frozen=True):
    """One event as a strategy may see it; `rungs` in strike order, lowest first."""

    event_ticker: Ticker
    is_ladder: bool
    seconds_to_resolution: float
    implied: ImpliedView | None
    rungs: tuple[RungView, ...]


class Quote(msgspec.Struct, frozen=True):
    """A wish to have `qty` shares resting at a canonical YES price on one side.

    limit: the boldest price (highest bid, lowest ask) at which they would still be worth having:
    an order that stands between it and `price` is left where it is, for the sake of its place in
    the queue. None is `price` itself.
    """

    side: BookSide
    price: Price
    qty: Qty
    limit: Price | None = None


Quotes = Mapping[MarketId, tuple[Quote, ...]]
"""Wanted quotes per rung; a rung left out is a rung with nothing wanted."""


class Strategy:
    """Base of every strategy. One instance serves one event for the life of the run."""

    class Params(pydantic.BaseModel):
        """Parameters with defaults, ranges and units; unknown names are refused."""

        model_config = pydantic.ConfigDict(frozen=True, extra="forbid")

    name: ClassVar[str] = ""

    def __init__(self, params: Any) -> None:
        self.params = params

    def quote(self, view: EventView) -> Quotes:
        """The quotes wanted now. Must be a pure function of `view` and of earlier views."""
        raise NotImplementedError


class NonsenseQuotes(Exception):
    """A strategy returned what cannot be quoted."""


def checked(quotes: Quotes, view: EventView) -> dict[MarketId, tuple[Quote, ...]]:
    """The quotes, proven sane. Raises NonsenseQuotes naming the first thing wrong.

    Sane: known rungs; integer prices of 1..99, each at most once per side; whole sizes >= 1;
    every bid of a rung below every ask of it.
    """
    known = {rung.market_id for rung in view.rungs}
    out: dict[MarketId, tuple[Quote, ...]] = {}
    for market_id, wanted in quotes.items():
        if market_id not in known:
            raise NonsenseQuotes(f"unknown rung {market_id!r}")
        seen: set[tuple[BookSide, int]] = set()
        for quote in wanted:
            if type(quote.price) is not int or not is_price(quote.price):
                raise NonsenseQuotes(f"price {quote.price!r} on {market_id}")
            if type(quote.qty) is not int or quote.qty < 1:
                raise NonsenseQuotes(f"qty {quote.qty!r} on {market_id}")
            if quote.limit is not None and not _is_bolder(quote):
                raise NonsenseQuotes(f"limit {quote.limit!r} of {quote.price} on {market_id}")
            if (quote.side, quote.price) in seen:
                raise NonsenseQuotes(f"{quote.side} {quote.price} twice on {market_id}")
            seen.add((quote.side, quote.price))
        bids = [quote.price for quote in wanted if quote.side is BookSide.BID]
        asks = [quote.price for quote in wanted if quote.side is BookSide.ASK]
        if bids and asks and max(bids) >= min(asks):
            raise NonsenseQuotes(f"bid {max(bids)} not below ask {min(asks)} on {market_id}")
        out[market_id] = tuple(wanted)
    return out


def _is_bolder(quote: Quote) -> bool:
    """Whether a limit is a price at or beyond the wanted one, toward the other side."""
    limit: object = quote.limit
    if type(limit) is not int or not is_price(limit):
        return False
    return limit >= quote.price if quote.side is BookSide.BID else limit <= quote.price
