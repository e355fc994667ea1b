"""The plugin contract: a view of one event in, wanted quotes out; pure, canonical YES, no orders.

A strategy knows nothing of orders, NO, fees in flight or rate limits. It is one class with a
`Params` schema and a `quote` method:

    class Mine(Strategy):
        class Params(Strategy.Params):
            half_spread_cents: int = Field(2, ge=1, le=49)

        def quote(self, view: EventView) -> Quotes: ...

It is found by name (`strategies/<name>.py`, the class named in its `STRATEGY`, or the entry point
of an installed package), by dotted path (`package.module:Class`) or by file path (`./mine.py`).
If it raises, or returns what cannot be a quote, its event is pulled and the rest goes on.
"""

from collections.abc import Mapping
from typing import Any, ClassVar, Final, cast

import msgspec
import pydantic

from venue.wire.money import BookSide, FeeRate, Price, Qty, is_price
from venue.wire.names import MarketId, Ticker

_BID: Final = BookSide.BID
_ASK: Final = BookSide.ASK

__all__ = [
    "EventView",
    "ImpliedView",
    "Intensity",
    "OwnFill",
    "OwnQuote",
    "Print",
    "Quote",
    "Quotes",
    "Resting",
    "RungView",
    "Strategy",
    "Take",
]

Levels = tuple[tuple[Price, Qty], ...]


class Print(msgspec.Struct, frozen=True):
    """A trade on a rung, canonical YES. taker: BID when its taker bought YES, else ASK."""

    price: Price
    qty: Qty
    taker: BookSide
    age_s: float


class OwnFill(msgspec.Struct, frozen=True):
    """A fill of ours: BID when it made us longer YES, at a canonical YES price."""

    side: BookSide
    price: Price
    qty: Qty
    age_s: float


class OwnQuote(msgspec.Struct, frozen=True):
    """What rests of ours at one price of one side: shares left, an estimate of the shares of
    others ahead of the first of them, and the age of the oldest order in seconds."""

    side: BookSide
    price: Price
    qty: Qty
    ahead_qty: float
    age_s: float


class Intensity(msgspec.Struct, frozen=True):
    """Fills per second at a distance of d cents from fair: amplitude_per_s * exp(-d *
    decay_per_cent), of one rung and side; `prints` it was learned from, 0 for the prior."""

    amplitude_per_s: float
    decay_per_cent: float
    prints: int


class RungView(msgspec.Struct, frozen=True):
    """One rung as a strategy may see it; our own resting size is taken out of the book.

    strike: the number on the label, None on a binary market. bids, asks: canonical YES, best
    first. microprice_cents: size-weighted mid, None unless both sides are there.
    yes_qty, no_qty: the inventory, fills not yet booked included. fair_cents (0.5..99.5) and
    fair_sd_cents: the fitted curve at this rung, None while it cannot be known and once it is over
    or decided.
    quotable: whether anything quoted here can be sent now.
    book_age_s: since the book was last confirmed. volatility_cents: cents per sqrt(second) that
    the fair value moves. adverse_bid_cents, adverse_ask_cents: how far the fair value has moved
    against a fill of ours on that side, learned, None while nothing is.
    prints, fills: since the strategy was last asked, oldest first. own: what rests of ours.
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
    book_age_s: float = 0.0
    volatility_cents: float = 0.0
    adverse_bid_cents: float | None = None
    adverse_ask_cents: float | None = None
    prints: tuple[Print, ...] = ()
    fills: tuple[OwnFill, ...] = ()
    own: tuple[OwnQuote, ...] = ()

    @property
    def net_qty(self) -> int:
        """The inventory, YES shares less NO shares: what the outcome is worth to us, per dollar."""
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
    """One event as a strategy may see it; `rungs` in strike order, lowest first.

    now_s: seconds since the run began; it never steps back. cash_cents: free for new orders when
    the balance was read last, None before. loss_limit_cents: what the event may lose at worst, None
    without a limit. intensity: how often a quote of ours would fill, pooled over the rungs; None
    while unknown. size_part: what the sizes of the answer are divided by, 2 near the end.
    """

    event_ticker: Ticker
    is_ladder: bool
    seconds_to_resolution: float
    implied: ImpliedView | None
    rungs: tuple[RungView, ...]
    now_s: float = 0.0
    cash_cents: int | None = None
    loss_limit_cents: int | None = None
    intensity: Intensity | None = None
    size_part: int = 1


class Quote(msgspec.Struct, frozen=True, cache_hash=True):
    """A wish to have `qty` shares resting at a canonical YES price on one side.

    limit: the boldest price (highest bid, lowest ask) at which they would still be worth having:
    an order that rests between it and `price` stays there and keeps its queue position. None is
    `price` itself.
    """

    side: BookSide
    price: Price
    qty: Qty
    limit: Price | None = None


class Take(msgspec.Struct, frozen=True):
    """A wish to trade now, up to `qty` shares at a canonical YES price or better, and rest nothing.

    side: BID buys YES (or sells NO held), ASK sells YES held (or buys NO). whole: all of it or
    nothing (fill or kill), else what there is (immediate or cancel). A take is wished for once per
    answer of the strategy: the same one in the next answer is a new wish.
    """

    side: BookSide
    price: Price
    qty: Qty
    whole: bool = False


Quotes = Mapping[MarketId, tuple["Quote | Take", ...]]
"""Wanted quotes and takes per rung; a rung left out is a rung with nothing wanted."""

Resting = Mapping[MarketId, tuple[Quote, ...]]
"""Of an answer, what shall rest."""


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


class ValidatedQuotes(msgspec.Struct, frozen=True):
    """An answer of a strategy, proven sane: what shall rest on each rung, and what shall be taken
    now on those rungs where anything is."""

    resting: dict[MarketId, tuple[Quote, ...]]
    takes: dict[MarketId, tuple[Take, ...]]


def mapped(answer: object) -> Quotes:
    """An answer of a strategy, if it is a mapping. Raises NonsenseQuotes where it is none."""
    if type(answer) is not dict and not isinstance(answer, Mapping):
        raise NonsenseQuotes(f"wanted a mapping of market_id to quotes, got {_kind(answer)}")
    return answer


_ROWS: Final[tuple[type, ...]] = (tuple, list)


def _kind(answer: object) -> str:
    return "None" if answer is None else type(answer).__name__


def checked(quotes: Quotes, view: EventView) -> dict[MarketId, tuple[Quote, ...]]:
    """What of an answer shall rest; all of it is proven. Raises as `split` does."""
    return split(quotes, view).resting


def split(quotes: Quotes, view: EventView) -> ValidatedQuotes:
    """The quotes and the takes, proven sane. Raises NonsenseQuotes naming the first thing wrong.

    Sane: known rungs; integer prices of 1..99; whole sizes >= 1. Of the quotes each price at most
    once per side; of the takes at most one per side of a rung. Every bid of a rung, to rest or to
    take, is below every ask of it: else the answer would trade with itself.
    """
    if not quotes:
        return ValidatedQuotes({}, {})
    known = {rung.market_id for rung in view.rungs}
    resting: dict[MarketId, tuple[Quote, ...]] = {}
    takes: dict[MarketId, tuple[Take, ...]] = {}
    for market_id, wanted in quotes.items():
        if market_id not in known:
            raise NonsenseQuotes(f"unknown rung {market_id!r}; wanted a market_id of the view")
        if not isinstance(wanted, _ROWS):
            raise _nonsense(market_id, view, _kind(wanted), "a tuple of quotes")
        slots: set[tuple[BookSide, int]] = set()
        bids: list[Price] = []
        asks: list[Price] = []
        taken: list[Take] = []
        for wish in wanted:
            _check_wish(wish, market_id, view)
            slot = (wish.side, 0 if isinstance(wish, Take) else wish.price)
            if slot in slots:
                what = f"{wish.side} {wish.price} twice"
                if isinstance(wish, Take):
                    what = f"two takes of the {wish.side} side"
                raise _nonsense(market_id, view, what)
            slots.add(slot)
            (bids if wish.side is _BID else asks).append(wish.price)
            if isinstance(wish, Take):
                taken.append(Take(wish.side, wish.price, wish.qty, bool(wish.whole)))
        if bids and asks and max(bids) >= min(asks):
            raise _nonsense(market_id, view, f"bid {max(bids)} not below ask {min(asks)}")
        if taken:
            takes[market_id] = tuple(taken)
        if any(type(wish) is not Quote for wish in wanted):
            # One of a class of the strategy's own may change in place, and have no hash.
            wanted = tuple(
                Quote(wish.side, wish.price, wish.qty, wish.limit)
                for wish in wanted
                if isinstance(wish, Quote)
            )
        resting[market_id] = cast("tuple[Quote, ...]", tuple(wanted))
    return ValidatedQuotes(resting, takes)


def _check_wish(wish: Quote | Take, market_id: MarketId, view: EventView) -> None:
    """Raise NonsenseQuotes unless it is one of the two, of a legal price and size."""
    # A tuple, for this is hot: Python would build a union for every wish.
    if not isinstance(wish, (Quote, Take)):
        raise _nonsense(market_id, view, f"a {type(wish).__name__}", "quotes and takes")
    if not isinstance(wish.side, BookSide):
        raise _nonsense(market_id, view, f"side {wish.side!r}", "a BookSide")
    if type(wish.price) is not int or not is_price(wish.price):
        raise _nonsense(market_id, view, f"price {wish.price!r}", "an int of 1 to 99 cents")
    if type(wish.qty) is not int or wish.qty < 1:
        raise _nonsense(market_id, view, f"qty {wish.qty!r}", "an int of 1 share or more")
    if isinstance(wish, Quote) and wish.limit is not None and not _is_bolder(wish):
        what = f"limit {wish.limit!r} of {wish.side} {wish.price}"
        raise _nonsense(market_id, view, what, "that price or a bolder one")


def _nonsense(
    market_id: MarketId, view: EventView, what: str, accepted: str = ""
) -> NonsenseQuotes:
    ticker = next(rung.ticker for rung in view.rungs if rung.market_id == market_id)
    return NonsenseQuotes(f"{what} on {ticker}" + (f"; wanted {accepted}" if accepted else ""))


def _is_bolder(quote: Quote) -> bool:
    """Whether a limit is a price at or beyond the wanted one, toward the other side."""
    limit: object = quote.limit
    if type(limit) is not int or not is_price(limit):
        return False
    return limit >= quote.price if quote.side is _BID else limit <= quote.price
