"""The strategy contract: a view of one event in, wanted quotes out; pure, canonical YES, no orders.

A strategy knows nothing of orders, NO shares, reserves or rate limits. It is one class with a
`Params` schema and a `quote` method:

    class Mine(Strategy):
        class Params(Strategy.Params):
            half_spread_cents: int = Field(2, ge=1, le=49)

        def quote(self, view: EventView) -> Quotes: ...

It is found by name (`strategies/<name>.py`, the class named in its `STRATEGY`, or the entry point
of an installed package), by dotted path (`package.module:Class`) or by file path (`./mine.py`).
If it raises, or its answer is invalid, the quotes of its event are cancelled and others continue.
"""

import math
import re
from collections.abc import Iterable, Mapping
from numbers import Integral, Real
from typing import Any, ClassVar, Final, Self, cast

import msgspec
import pydantic

from venue.wire.money import BookSide, FeeRate, Price, Qty, is_price
from venue.wire.names import MarketId, Ticker

_BID: Final = BookSide.BID
_ASK: Final = BookSide.ASK

__all__ = [
    "ComingDate",
    "EventView",
    "ImpliedView",
    "Intensity",
    "Memory",
    "OwnFill",
    "OwnQuote",
    "Print",
    "Quote",
    "Quotes",
    "Resting",
    "RungView",
    "Strategy",
    "StrategyAnswer",
    "Take",
]

Levels = tuple[tuple[Price, Qty], ...]

FLOW_HALF_LIFE_S: Final = 60.0
"""A trade counts half in the taker flow after this long (judgement)."""

Memory = Mapping[str, int | float | str | bool]
"""Named values that a strategy wants to have again in its next view."""


class Print(msgspec.Struct, frozen=True):
    """A trade on a rung, canonical YES. taker: BID when its taker bought YES, else ASK."""

    price: Price
    qty: Qty
    taker: BookSide
    age_s: float


class OwnFill(msgspec.Struct, frozen=True):
    """One of our fills: BID if it made us longer YES, at a canonical YES price."""

    side: BookSide
    price: Price
    qty: Qty
    age_s: float


class OwnQuote(msgspec.Struct, frozen=True):
    """Our resting orders at one price of one side: shares left, the estimated shares of others
    ahead of the first order, and the age of the oldest one in seconds."""

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
    """One market of the event; our own resting size is not in the book.

    strike: the number on the label, None for a binary market. bids, asks: canonical YES, best
    first. microprice_cents: size-weighted mid, None if a side is empty.
    yes_qty, no_qty: inventory, with unbooked fills. fair_cents (0.5..99.5) and
    fair_sd_cents: the fitted curve, None while unknown and once the market is over or decided.
    quotable: True if a quote here can be sent now.
    book_age_s: since the book was last confirmed. volatility_cents: of the fair value, cents per
    sqrt(second). adverse_bid_cents, adverse_ask_cents: the learned move of the fair value against
    our fills on that side, None until learned.
    traded_flow_qty: the taker flow right after the newest trade of others, flow_age_s ago.
    prints, fills: since the last call of the strategy, oldest first. own: our resting orders.
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
    traded_flow_qty: float = 0.0
    flow_age_s: float = 0.0

    @classmethod
    def example(cls, ticker: str = "KX-1-T50", **fields: Any) -> Self:
        """A rung for the tests of a strategy: 100 shares bid at 40 and offered at 60, no inventory,
        no fees. fields: others than these. The microprice, and a fair value in the middle, follow
        from the book unless they are given. Raises TypeError for an unknown field."""
        bids: Levels = fields.get("bids", ((Price(40), Qty(100)),))
        asks: Levels = fields.get("asks", ((Price(60), Qty(100)),))
        micro = mid = None
        if bids and asks:
            (bid, bid_qty), (ask, ask_qty) = bids[0], asks[0]
            micro = (bid * ask_qty + ask * bid_qty) / (bid_qty + ask_qty)
            mid = (bid + ask) / 2
        usual = cls(
            market_id=MarketId(f"id-of-{ticker}"),
            ticker=Ticker(ticker),
            strike=50.0,
            bids=bids,
            asks=asks,
            microprice_cents=micro,
            last_price=None,
            yes_qty=Qty(0),
            no_qty=Qty(0),
            maker_fee_rate=FeeRate(0),
            taker_fee_rate=FeeRate(0),
            fair_cents=mid,
            fair_sd_cents=None if mid is None else 1.0,
            quotable=True,
        )
        return msgspec.structs.replace(usual, **fields)

    @property
    def net_qty(self) -> int:
        """YES shares less NO shares."""
        return self.yes_qty - self.no_qty

    @property
    def taker_flow_qty(self) -> float:
        """Shares of YES that takers bought less those that they sold, fading with
        `FLOW_HALF_LIFE_S`. Our takes are left out; a taker who fills an order of ours counts."""
        return faded_flow(self.traded_flow_qty, self.flow_age_s)

    @property
    def book_lean(self) -> float | None:
        """From -1 to 1: see `lean_of`."""
        return lean_of(self.bids, self.asks)

    @property
    def best_bid(self) -> Price | None:
        """The best bid of others, or None."""
        return self.bids[0][0] if self.bids else None

    @property
    def best_ask(self) -> Price | None:
        """The best ask of others, or None."""
        return self.asks[0][0] if self.asks else None


def faded_flow(qty: float, age_s: float) -> float:
    """What is left of a taker flow of `qty` shares after this long."""
    left: float = 0.5 ** (age_s / FLOW_HALF_LIFE_S)
    return qty * left


def lean_of(bids: Levels, asks: Levels) -> float | None:
    """The best bid's shares less the best ask's, divided by both: above 0 more is bid for than
    offered. None where a side is empty."""
    if not bids or not asks:
        return None
    bid_qty, ask_qty = bids[0][1], asks[0][1]
    return (bid_qty - ask_qty) / (bid_qty + ask_qty)


class ImpliedView(msgspec.Struct, frozen=True):
    """The newest implied value of the company: dollars, confidence 0..1, age in seconds."""

    value_dollars: float
    confidence: float
    age_s: float


class ComingDate(msgspec.Struct, frozen=True):
    """A date of the calendar before the event resolves, in `in_s` seconds. variance_s: the seconds
    of ordinary time that would bring as much variance of the value as the date does."""

    name: str
    in_s: float
    variance_s: float


def variance_seconds(seconds: float, dates: Iterable[ComingDate]) -> float:
    """The ordinary time that brings the variance of the next `seconds`: they themselves, and what
    the dates in them are worth."""
    return seconds + sum([each.variance_s for each in dates if each.in_s <= seconds])


class EventView(msgspec.Struct, frozen=True):
    """One event; `rungs` in strike order, lowest first.

    now_s: seconds since the run began, monotonic. cash_cents: free for new orders at the last
    balance read, None before. loss_limit_cents: the highest exposure of the event, None without a
    limit. intensity: of fills, pooled over the markets; None while unknown. size_part: the divisor
    of sizes in the answer, 2 near the end. memory: of the newest answer of this strategy that
    had one, also of an earlier run; empty before the first. dates: of the calendar, still to come.
    unix_s: seconds since 1970 by the bot's clock.
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
    memory: Memory = {}
    dates: tuple[ComingDate, ...] = ()
    unix_s: float = 0.0

    def variance_s(self, within_s: float = math.inf) -> float:
        """The ordinary time, in seconds, that brings the variance of the value until the event
        resolves, or of the next `within_s` if that is sooner. Where the coming dates are worth
        nothing it is the time itself."""
        return variance_seconds(min(within_s, max(0.0, self.seconds_to_resolution)), self.dates)

    @classmethod
    def example(cls, *rungs: RungView, **fields: Any) -> Self:
        """An event for the tests of a strategy, a day before it resolves, of these rungs or of
        `RungView.example()`. fields: others than these. Raises TypeError for an unknown field."""
        usual = cls(
            event_ticker=Ticker("KX-1"),
            is_ladder=True,
            seconds_to_resolution=86_400.0,
            implied=None,
            rungs=rungs or (RungView.example(),),
            cash_cents=1_000_000,
            loss_limit_cents=100_000,
        )
        return msgspec.structs.replace(usual, **fields)

    @property
    def taker_flow_qty(self) -> float:
        """The taker flow of all rungs together: above 0 takers bet on a higher value, for YES of
        any rung pays above its strike."""
        return sum(rung.taker_flow_qty for rung in self.rungs)

    @property
    def book_lean(self) -> float | None:
        """The mean of the leans of the rungs that have one, each counting the same; None where none
        has one."""
        leans = [lean for rung in self.rungs if (lean := rung.book_lean) is not None]
        return sum(leans) / len(leans) if leans else None


class Quote(msgspec.Struct, frozen=True, cache_hash=True):
    """`qty` shares to rest at a canonical YES price on one side.

    limit: the boldest acceptable price (highest bid, lowest ask). An order that rests between it
    and `price` stays there, to keep its queue place, while its edge to the fair value is not below
    zero. None means `price` itself.
    """

    side: BookSide
    price: Price
    qty: Qty
    limit: Price | None = None


class Take(msgspec.Struct, frozen=True):
    """An order to trade now, up to `qty` shares at a canonical YES price or better.

    side: BID buys YES (or sells held NO), ASK sells held YES (or buys NO). whole: True for fill or
    kill, else immediate or cancel. A take is sent once per answer: the same one in the next answer
    is a new order.
    """

    side: BookSide
    price: Price
    qty: Qty
    whole: bool = False


Quotes = Mapping[MarketId, tuple["Quote | Take", ...]]
"""Wanted quotes and takes per market; a market that is left out has none."""

Resting = Mapping[MarketId, tuple[Quote, ...]]
"""The quotes of an answer, without its takes."""


class StrategyAnswer(msgspec.Struct, frozen=True):
    """Quotes, with what else a strategy says.

    diagnostics: finite numbers by name, for the journal, the status page, the report and
    dataframes; `DIAGNOSTICS_MAX` at most. memory: handed back as `EventView.memory`, after a
    restart too; None leaves the one before. Finite numbers, texts and truth values by name,
    `MEMORY_MAX` at most. Names have letters, digits and _ . : / -, `NAME_MAX` characters at most, a
    text `TEXT_MAX`. quoted_by: by market the name, such as that of a mode of the strategy, to which
    the profit of its orders is attributed; without one it is the strategy's own. again_s: after so
    many seconds, above 0, the strategy is asked again though nothing has changed; None leaves it to
    changes.
    """

    quotes: Quotes
    diagnostics: Mapping[str, float] = {}
    memory: Memory | None = None
    quoted_by: Mapping[MarketId, str] = {}
    again_s: float | None = None


DIAGNOSTICS_MAX: Final = 64
MEMORY_MAX: Final = 64
QUOTED_BY_MAX: Final = 1_000
NAME_MAX: Final = 64
TEXT_MAX: Final = 100


class Strategy:
    """Base of every strategy. One instance serves one event for the whole run."""

    class Params(pydantic.BaseModel):
        """Parameters with defaults, ranges and units; unknown names are refused."""

        model_config = pydantic.ConfigDict(frozen=True, extra="forbid")

    name: ClassVar[str] = ""

    def __init__(self, params: Any) -> None:
        self.params = params

    def quote(self, view: EventView) -> Quotes | StrategyAnswer:
        """The quotes wanted now: a pure function of `view` and of earlier views."""
        raise NotImplementedError


def name_of(strategy: Strategy | type[Strategy]) -> str:
    """For a person, and for the attribution of profit."""
    kind = strategy if isinstance(strategy, type) else type(strategy)
    return strategy.name or kind.__name__


class NonsenseQuotes(Exception):
    """A strategy's answer is invalid."""


class ValidatedQuotes(msgspec.Struct, frozen=True):
    """A valid answer: the quotes of each market, and the takes of those that have any."""

    resting: dict[MarketId, tuple[Quote, ...]]
    takes: dict[MarketId, tuple[Take, ...]]


class OutputCheck(msgspec.Struct, frozen=True):
    """What came with the quotes of an answer, validated. memory: None leaves the one before."""

    diagnostics: dict[str, float]
    memory: dict[str, int | float | str | bool] | None
    quoted_by: dict[MarketId, str]
    again_s: float | None


def quotes_of(answer: Quotes | StrategyAnswer) -> Quotes:
    """The quotes of an answer, not validated."""
    return answer.quotes if isinstance(answer, StrategyAnswer) else answer


_NAME: Final = re.compile(rf"[\w.:/-]{{1,{NAME_MAX}}}", re.ASCII)
_INT_MAX: Final = 2**63


def checked_output(answer: StrategyAnswer) -> OutputCheck:
    """What came with the quotes of an answer. Raises NonsenseQuotes naming the first fault."""
    diagnostics = {
        _named("diagnostics", key): _number("diagnostics", key, value)
        for key, value in _entries("diagnostics", answer.diagnostics, DIAGNOSTICS_MAX)
    }
    memory = None
    if answer.memory is not None:
        memory = {
            _named("memory", key): _remembered(key, value)
            for key, value in _entries("memory", answer.memory, MEMORY_MAX)
        }
    quoted_by = {
        MarketId(str(key)): _named("quoted_by", name)
        for key, name in _entries("quoted_by", answer.quoted_by, QUOTED_BY_MAX)
    }
    again_s = answer.again_s
    if again_s is not None:
        again_s = _number("again_s", "it is", again_s)
        if again_s <= 0:
            raise NonsenseQuotes(f"again_s: {again_s:g}; wanted more than 0 seconds, or None")
    return OutputCheck(diagnostics, memory, quoted_by, again_s)


def _entries(what: str, values: object, most: int) -> list[tuple[object, object]]:
    if not isinstance(values, Mapping):
        raise NonsenseQuotes(f"{what}: wanted a mapping of names, got {_kind(values)}")
    if len(values) > most:
        raise NonsenseQuotes(f"{what}: {len(values)} names; wanted {most} at most")
    return list(values.items())


def _named(what: str, name: object) -> str:
    if type(name) is not str or _NAME.fullmatch(name) is None:
        raise NonsenseQuotes(
            f"{what}: name {str(name)[:NAME_MAX]!r}; wanted 1 to {NAME_MAX} letters, digits and "
            "_ . : / -"
        )
    return name


def _number(what: str, name: object, value: object) -> float:
    """A float, or what numpy and others have for one."""
    try:
        number = float(value) if isinstance(value, Real) else math.nan
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise NonsenseQuotes(f"{what}: {name} {_said(value)}; wanted a finite number")
    return number


def _remembered(name: object, value: object) -> int | float | str | bool:
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and len(value) <= TEXT_MAX:
        return str(value)
    if isinstance(value, Integral) and abs(int(value)) < _INT_MAX:
        return int(value)
    if isinstance(value, Real) and not isinstance(value, Integral):
        return _number("memory", name, value)
    wanted = f"a finite number, True, False or a text of {TEXT_MAX} characters at most"
    raise NonsenseQuotes(f"memory: {name} {_said(value)}; wanted {wanted}")


def _said(value: object) -> str:
    return repr(value)[:60]


def mapped(answer: object) -> Quotes:
    """The answer, if it is a mapping. Raises NonsenseQuotes if it is none."""
    # The check for dict is fast; the one for an abstract class is not.
    if type(answer) is not dict and not isinstance(answer, Mapping):
        raise NonsenseQuotes(f"wanted a mapping of market_id to quotes, got {_kind(answer)}")
    return answer


_ROWS: Final[tuple[type, ...]] = (tuple, list)


def _kind(answer: object) -> str:
    return "None" if answer is None else type(answer).__name__


def checked(quotes: Quotes, view: EventView) -> dict[MarketId, tuple[Quote, ...]]:
    """The quotes of an answer, all of which is validated. Raises as `split` does."""
    return split(quotes, view).resting


def split(quotes: Quotes, view: EventView) -> ValidatedQuotes:
    """The quotes and the takes, validated. Raises NonsenseQuotes naming the first fault.

    Valid: known markets; integer prices of 1..99; whole sizes >= 1; each price at most once per
    side; at most one take per side of a market. Every bid of a market, to rest or to take, is below
    every ask of it: else the answer would trade with itself.
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
        is_plain = True
        for wish in wanted:
            _check_wish(wish, market_id, view)
            is_plain &= type(wish) is Quote
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
        if not is_plain:
            # A strategy's own subclass may change in place, and have no hash.
            wanted = tuple(
                Quote(wish.side, wish.price, wish.qty, wish.limit)
                for wish in wanted
                if isinstance(wish, Quote)
            )
        resting[market_id] = cast("tuple[Quote, ...]", tuple(wanted))
    return ValidatedQuotes(resting, takes)


def _check_wish(wish: Quote | Take, market_id: MarketId, view: EventView) -> None:
    """Raise NonsenseQuotes unless it is a quote or take with a legal price and size."""
    # A tuple, because this is hot: a union would be built at each call.
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
    """A fault in a market of the view. accepted: what would be valid."""
    ticker = next(rung.ticker for rung in view.rungs if rung.market_id == market_id)
    return NonsenseQuotes(f"{what} on {ticker}" + (f"; wanted {accepted}" if accepted else ""))


def _is_bolder(quote: Quote) -> bool:
    """True if the limit is a price at or beyond the wanted one, toward the other side."""
    limit: object = quote.limit
    if type(limit) is not int or not is_price(limit):
        return False
    return limit >= quote.price if quote.side is _BID else limit <= quote.price
