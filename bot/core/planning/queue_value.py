"""The value of a queue position, in cents: expected fills over a horizon times the edge of a fill.

The volume that trades at a price over the horizon is taken to be exponential with the mean
m = rate x horizon x exp(-decay x ticks behind the touch). Of an order of z shares with Q shares
before it there then fill, on average,

    fills(m, Q, z) = m (exp(-Q / m) - exp(-(Q + z) / m))

so a queue position is worth  edge x (fills with Q as estimated - fills at the back),  an order that
stays gains  edge there x fills there,  and a move gains  edge x fills at the back of the new price
less that. Rates come from the market's own trades, older ones fading, on a prior for a market
without trades. The edge of a wanted price is its distance from the fair value, at least half a
cent because the strategy wants it; a tick bolder is a cent less. Constants marked (judgement) were
not measured.

Formulas: docs/pricing.md#section-1e.
"""

import math
from typing import Final

import msgspec

from bot.core.market_data.queue_position import Queues, size_at
from bot.core.orders.order import OwnOrder
from bot.core.settings import PaceSettings
from bot.strategy.api import Levels
from venue.wire.instant import NS_PER_SECOND
from venue.wire.money import BookSide, Price

_BID: Final = BookSide.BID

INTENSITY_DECAY: Final = 0.6
"""By how much the log of the traded volume falls per tick behind the touch (judgement)."""

EDGE_MIN_CENTS: Final = 0.5
"""The least edge of a wanted price: the strategy knows more than the distance to fair value."""

RISK_CENTS: Final = 1.0
"""The gain per share of cancelling an order that is not wanted any more (judgement)."""

REQUEST_MIN: Final = 0.001
"""Cents: no request is for nothing, even where a share of it need not gain anything."""

_PRIOR_SHARES: Final = 1.0
_PRIOR_S: Final = 120.0
"""A side without trades is taken to trade a share in two minutes (judgement)."""

_HALF_LIFE_S: Final = 600.0
_HALF_LIFE_NS: Final = _HALF_LIFE_S * NS_PER_SECOND
_MEAN_LIFE_S: Final = _HALF_LIFE_S / math.log(2)

_MILLICENTS: Final = 1_000.0


def fills(volume: float, ahead: float, qty: float) -> float:
    """Shares of an order that fill on average: 0..qty.

    volume: mean of the shares that trade at its price over the horizon, >= 0. ahead: shares before
    it, >= 0. qty: its own, >= 0.
    """
    if volume <= 0:
        return 0.0
    # Not as a difference of two: that would leave too few digits of a small order.
    return volume * math.exp(-ahead / volume) * -math.expm1(-qty / volume)


def loses(side: BookSide, price: Price, fair_cents: float) -> bool:
    """True if a share filled at this price loses by the fair value: its edge is below zero."""
    return price > fair_cents if side is _BID else price < fair_cents


class TradeRates:
    """Trades against one side of a market, older ones fading."""

    def __init__(self) -> None:
        self.shares = 0.0
        self.seconds = 0.0
        self.now_ns: int | None = None

    def watch_from(self, now_ns: int) -> None:
        """Count the time without trades from now on. Only the first call, or trade, counts."""
        if self.now_ns is None:
            self.now_ns = now_ns

    def on_trade(self, size: int, now_ns: int) -> None:
        """A trade of `size` shares arrived now."""
        self.shares, self.seconds = _faded(self, now_ns)
        self.shares += size
        self.now_ns = now_ns if self.now_ns is None else max(now_ns, self.now_ns)

    def per_second(self, now_ns: int) -> float:
        """Shares that trade in a second."""
        shares, seconds = _faded(self, now_ns)
        return (shares + _PRIOR_SHARES) / (seconds + _PRIOR_S)


def _faded(rates: TradeRates, now_ns: int) -> tuple[float, float]:
    """Shares and seconds as they count now."""
    if rates.now_ns is None or now_ns <= rates.now_ns:
        return rates.shares, rates.seconds
    left = 0.5 ** ((now_ns - rates.now_ns) / _HALF_LIFE_NS)
    return rates.shares * left, rates.seconds * left + _MEAN_LIFE_S * (1 - left)


class QuoteEconomics(msgspec.Struct, eq=False):
    """The value of prices and queue positions on one market, as of one instant."""

    fair_cents: float | None
    """Its fair value; None while unknown."""
    volumes: tuple[float, float]
    """Shares expected to trade over the horizon against the touch of the bids, and of the asks."""
    bids: Levels
    """The book without our own orders."""
    asks: Levels
    queues: Queues | None
    move_cents: float
    """The least gain of one request about one share."""
    capital_cents: float
    """The gain of freeing a share from a pair that is locked until the event resolves."""

    def edge(self, side: BookSide, price: Price) -> float:
        """Cents that a share filled at a wanted price gains, half a cent at least."""
        if self.fair_cents is None:
            return EDGE_MIN_CENTS
        away = self.fair_cents - price if side is _BID else price - self.fair_cents
        return away if away > EDGE_MIN_CENTS else EDGE_MIN_CENTS

    def joining(self, side: BookSide, price: Price, qty: int, edge: float) -> float:
        """Cents that `qty` shares at the back of a price gain over the horizon, at `edge` each."""
        volume, others = self._volume_and_others(side, price)
        return edge * fills(volume, others, qty)

    def staying(self, own: OwnOrder, edge: float) -> float:
        """Cents that an order gains at its price, at `edge` cents (any sign) a share."""
        volume, others = self._volume_and_others(own.book_side, own.yes_price)
        return edge * fills(volume, self._ahead(own, others), own.remaining)

    def queue_value_cents(self, own: OwnOrder, edge: float) -> float:
        """The value of an order's queue position: its fills less those at the back, >= 0."""
        volume, others = self._volume_and_others(own.book_side, own.yes_price)
        at_back = fills(volume, others, own.remaining)
        gained = edge * (fills(volume, self._ahead(own, others), own.remaining) - at_back)
        return gained if gained > 0 else 0.0

    def request_cents(self, qty: int) -> float:
        """The least gain of one request about `qty` shares, cents."""
        return max(self.move_cents * qty, REQUEST_MIN)

    def _volume_and_others(self, side: BookSide, price: Price) -> tuple[float, int]:
        """Shares expected to trade at a price over the horizon, fewer behind the others' touch, and
        shares of others there: a new order is behind them."""
        book = self.bids if side is _BID else self.asks
        behind = 0
        if book:
            behind = book[0][0] - price if side is _BID else price - book[0][0]
        volume = self.volumes[0 if side is _BID else 1]
        if behind > 0:
            volume *= math.exp(-INTENSITY_DECAY * behind)
        return volume, size_at(book, price)

    def _ahead(self, own: OwnOrder, others: int) -> float:
        """Shares of others before an order; unknown counts as all that are there."""
        queue = None if self.queues is None else self.queues.queue_of(own)
        return others if queue is None else queue.likely


NOTHING_KNOWN: Final = QuoteEconomics(None, (0.0, 0.0), (), (), None, 0.0, 0.0)
"""Of a market of which nothing is known: every queue position is worth nothing."""


def quote_economics(
    fair_cents: float | None,
    rates: tuple[TradeRates, TradeRates],
    book: tuple[Levels, Levels],
    queues: Queues,
    pace: PaceSettings,
    seconds_left: float,
    now_ns: int,
) -> QuoteEconomics:
    """The economics of a market now. rates, book: bids' first. seconds_left: until it resolves."""
    horizon_s = pace.place_horizon_ns / NS_PER_SECOND
    bid_shares, bid_seconds = _faded(rates[0], now_ns)
    ask_shares, ask_seconds = _faded(rates[1], now_ns)
    return QuoteEconomics(
        fair_cents,
        (
            (bid_shares + _PRIOR_SHARES) / (bid_seconds + _PRIOR_S) * horizon_s,
            (ask_shares + _PRIOR_SHARES) / (ask_seconds + _PRIOR_S) * horizon_s,
        ),
        book[0],
        book[1],
        queues,
        pace.move_millicents / _MILLICENTS,
        # A pair of YES and NO locks a dollar until the event resolves.
        pace.capital_millicents / _MILLICENTS * (seconds_left / 86_400),
    )
