"""What a place in a queue is worth, in cents: expected fills over a horizon times the edge of one.

What trades at a price over the horizon is taken to be exponential with the mean
m = rate x horizon x exp(-decay x ticks behind the touch). Of an order of z shares with Q shares
before it there then fill, on average,

    fills(m, Q, z) = m (exp(-Q / m) - exp(-(Q + z) / m))

so a place is worth  edge x (fills with Q as estimated - fills at the back), staying at a price is
worth  edge there x fills there, and a move gains  edge x fills at the back of the new price  less
that. Rates come from the rung's own prints, older ones fading, on a prior for a rung that has not
traded. The edge of a wanted price is its distance from the fair value, at least half a cent because
the strategy wants it; a tick bolder is a cent less. Constants marked (judgement) were not measured.

Floats live here; nothing is sent or decided here, except which of two prices is worth more.

Formulas: docs/pricing.md#section-1e.
"""

import math
from typing import Final

import msgspec

from bot.core.market_data.book import size_at
from bot.core.market_data.queue_position import Queues
from bot.core.orders.order import OwnOrder
from bot.core.settings import PaceSettings
from bot.strategy.api import Levels
from venue.wire.instant import NS_PER_SECOND
from venue.wire.money import BookSide, Price

_BID: Final = BookSide.BID

INTENSITY_DECAY: Final = 0.6
"""By how much the log of the traded volume falls per tick behind the touch (judgement)."""

EDGE_MIN_CENTS: Final = 0.5
"""What a wanted price gives at least: the strategy knows more than the distance to fair value."""

RISK_CENTS: Final = 1.0
"""What taking a share off the book is worth that is no longer wanted there (judgement)."""

REQUEST_MIN: Final = 0.001
"""Cents: no request is for nothing, even where a share of it need not gain anything."""

_PRIOR_SHARES: Final = 1.0
_PRIOR_S: Final = 120.0
"""A side that never traded is taken to trade a share in two minutes (judgement)."""

_HALF_LIFE_S: Final = 600.0
_HALF_LIFE_NS: Final = _HALF_LIFE_S * NS_PER_SECOND
_MEAN_LIFE_S: Final = _HALF_LIFE_S / math.log(2)

_MILLICENTS: Final = 1_000.0


def fills(volume: float, ahead: float, qty: float) -> float:
    """Shares of an order that fill on average: 0..qty.

    volume: mean of what trades at its price over the horizon, shares, >= 0. ahead: shares before
    it, >= 0. qty: its own, >= 0.
    """
    if volume <= 0:
        return 0.0
    # Not as a difference of two: that would leave too few digits of a small order.
    return volume * math.exp(-ahead / volume) * -math.expm1(-qty / volume)


class TradeRates:
    """Shares a second that trade against one side of a rung: prints, older ones fading."""

    def __init__(self) -> None:
        self._shares = 0.0
        self._seconds = 0.0
        self._now_ns: int | None = None

    def watched(self, now_ns: int) -> None:
        """From now on its silence tells something, too; so does a print. Only the first counts."""
        if self._now_ns is None:
            self._now_ns = now_ns

    def printed(self, size: int, now_ns: int) -> None:
        """A print of `size` shares arrived now."""
        self._shares, self._seconds = self._faded(now_ns)
        self._shares += size
        self._now_ns = now_ns if self._now_ns is None else max(now_ns, self._now_ns)

    def per_second(self, now_ns: int) -> float:
        """The rate now, above 0: what was seen on a prior of a few shares. Asking changes
        nothing."""
        shares, seconds = self._faded(now_ns)
        return (shares + _PRIOR_SHARES) / (seconds + _PRIOR_S)

    def _faded(self, now_ns: int) -> tuple[float, float]:
        """Shares and seconds as they count now."""
        if self._now_ns is None or now_ns <= self._now_ns:
            return self._shares, self._seconds
        kept = 0.5 ** ((now_ns - self._now_ns) / _HALF_LIFE_NS)
        return self._shares * kept, self._seconds * kept + _MEAN_LIFE_S * (1 - kept)


class QuoteEconomics(msgspec.Struct, eq=False):
    """What prices and places of one rung are worth, as of one instant.

    fair_cents: its fair value, None while unknown. volumes: shares expected to trade over the
    horizon against the touch of the bids, and of the asks. bids, asks: the book without our own.
    move_cents: what one request about one share must gain. capital_cents: what a share of each
    outcome, freed from a pair that is locked until the event resolves, is worth.
    """

    fair_cents: float | None
    volumes: tuple[float, float]
    bids: Levels
    asks: Levels
    queues: Queues | None
    move_cents: float
    capital_cents: float

    def edge(self, side: BookSide, price: Price) -> float:
        """Cents that a share filled at a wanted price gives, half a cent at least."""
        if self.fair_cents is None:
            return EDGE_MIN_CENTS
        away = self.fair_cents - price if side is _BID else price - self.fair_cents
        return away if away > EDGE_MIN_CENTS else EDGE_MIN_CENTS

    def volume(self, side: BookSide, price: Price) -> float:
        """Shares expected to trade at a price over the horizon: fewer behind the others' touch."""
        if side is _BID:
            volume = self.volumes[0]
            behind = self.bids[0][0] - price if self.bids else 0
        else:
            volume = self.volumes[1]
            behind = price - self.asks[0][0] if self.asks else 0
        return volume * math.exp(-INTENSITY_DECAY * behind) if behind > 0 else volume

    def others_at(self, side: BookSide, price: Price) -> int:
        """Shares of others at a price: what a new order stands behind."""
        book = self.bids if side is _BID else self.asks
        return size_at(book, price)

    def joining(self, side: BookSide, price: Price, qty: int, edge: float) -> float:
        """Cents that `qty` shares at the back of a price give over the horizon, at `edge` each."""
        return edge * fills(self.volume(side, price), self.others_at(side, price), qty)

    def staying(self, own: OwnOrder, edge: float) -> float:
        """Cents that an order gives where it stands, at `edge` cents (any sign) a share."""
        return edge * fills(
            self.volume(own.book_side, own.yes_price), self._ahead(own), own.remaining
        )

    def place_cents(self, own: OwnOrder, edge: float) -> float:
        """What the place of an order is worth: its fills there less those at the back, >= 0."""
        volume = self.volume(own.book_side, own.yes_price)
        at_back = fills(volume, self.others_at(own.book_side, own.yes_price), own.remaining)
        gained = edge * (fills(volume, self._ahead(own), own.remaining) - at_back)
        return gained if gained > 0 else 0.0

    def request_cents(self, qty: int) -> float:
        """What one request about `qty` shares must gain, cents."""
        return max(self.move_cents * qty, REQUEST_MIN)

    def _ahead(self, own: OwnOrder) -> float:
        """Shares of others before an order; unknown counts as all that are there."""
        queue = None if self.queues is None else self.queues.of(own)
        return self.others_at(own.book_side, own.yes_price) if queue is None else queue.likely


NOTHING_KNOWN: Final = QuoteEconomics(None, (0.0, 0.0), (), (), None, 0.0, 0.0)
"""The worth of a rung of which nothing is known: every place is worth nothing."""


def worth_of(
    fair_cents: float | None,
    flows: tuple[TradeRates, TradeRates],
    book: tuple[Levels, Levels],
    queues: Queues,
    pace: PaceSettings,
    seconds_left: float,
    now_ns: int,
) -> QuoteEconomics:
    """The worth of a rung now. flows, book: bids' first. seconds_left: until the event resolves."""
    horizon_s = pace.place_horizon_ns / NS_PER_SECOND
    return QuoteEconomics(
        fair_cents,
        (flows[0].per_second(now_ns) * horizon_s, flows[1].per_second(now_ns) * horizon_s),
        book[0],
        book[1],
        queues,
        pace.move_millicents / _MILLICENTS,
        # A pair of YES and NO locks a dollar until the event resolves.
        pace.capital_millicents / _MILLICENTS * (seconds_left / 86_400),
    )
