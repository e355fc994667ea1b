"""The value of an order in a queue: the chance that it fills in time against being run over.

Formulas: docs/pricing.md#section-1e.
"""

import math
from typing import Final

import msgspec

from bot.strategy.api import Levels, Print
from venue.wire.money import BookSide

_POWER_FROM: Final = 1e12
"""Ratio of trades to cancels of a share above which cancels are ignored."""

_STIRLING_FROM: Final = 1e4
"""Above this, a difference of log gammas is computed by their series: subtracting the two, each
many times larger, would leave too few digits."""


class QueueRates(msgspec.Struct, frozen=True):
    """How one touch moves, events per second, each 0 or more.

    trades_per_s: shares that trade there. cancels_per_s: of each share resting there. away_per_s:
    how often the price leaves it unfilled. through_per_s: how often the price comes through it.
    """

    trades_per_s: float
    cancels_per_s: float
    away_per_s: float
    through_per_s: float


def fill_chance(ahead_qty: float, rates: QueueRates) -> float:
    """The chance, 0..1, to fill before the price moves, with `ahead_qty` shares (>= 0) ahead; 1 if
    the price never moves."""
    trades, cancels = rates.trades_per_s, rates.cancels_per_s
    moves = rates.away_per_s + rates.through_per_s
    if moves <= 0:
        return 1.0
    if trades <= 0:
        return 0.0
    if cancels * _POWER_FROM <= trades:
        return float((trades / (trades + moves)) ** (ahead_qty + 1))
    filled, all_of_it = trades / cancels, (trades + moves) / cancels
    steps = ahead_qty + 1
    return math.exp(_log_rise(filled, steps) - _log_rise(all_of_it, steps))


def _log_rise(low: float, steps: float) -> float:
    """ln(gamma(low + steps) / gamma(low)), low and steps above 0."""
    high = low + steps
    if low < _STIRLING_FROM:
        return math.lgamma(high) - math.lgamma(low)
    rise = (low - 0.5) * math.log1p(steps / low) + steps * (math.log(high) - 1)
    return rise + (1 / high - 1 / low) / 12


def queue_value(ahead_qty: float, rates: QueueRates, edge_cents: float, loss_cents: float) -> float:
    """The value of an order in cents a share, with `ahead_qty` shares of others ahead.

    edge_cents: the gain of a fill. loss_cents: how far the value has moved once the price has come
    through it. Below zero the order should be cancelled.
    """
    chance = fill_chance(ahead_qty, rates)
    moves = rates.away_per_s + rates.through_per_s
    run_over = (1 - chance) * rates.through_per_s / moves if moves > 0 else 0.0
    return chance * edge_cents - run_over * (loss_cents - edge_cents)


class TouchRates:
    """The rates of one side's touch, learned from its views on top of a prior.

    The prior weighs as much as `prior_s` of observation; observations fade by half every
    `half_life_s`.
    """

    def __init__(
        self, side: BookSide, prior: QueueRates, prior_s: float, half_life_s: float
    ) -> None:
        """prior_s, half_life_s: seconds, above 0."""
        self._side = side
        self._prior = prior
        self._prior_s = prior_s
        self._half_life_s = half_life_s
        self._seconds = 0.0
        self._share_seconds = 0.0
        self._traded = 0.0
        self._cancelled = 0.0
        self._away = 0.0
        self._through = 0.0
        self._price: int | None = None
        self._size = 0
        self._now_s: float | None = None

    def on_view(self, levels: Levels, prints: tuple[Print, ...], now_s: float) -> None:
        """levels: of others on this side, best first. prints: since the last view.

        An empty side gives no information, and the view after it starts again.
        """
        taker = self._side.other
        traded = sum(each.qty for each in prints if each.taker is taker)
        if self._now_s is not None and self._price is not None:
            elapsed_s = max(0.0, now_s - self._now_s)
            kept = 0.5 ** (elapsed_s / self._half_life_s)
            self._seconds = self._seconds * kept + elapsed_s
            self._share_seconds = self._share_seconds * kept + elapsed_s * self._size
            self._traded = self._traded * kept + traded
            self._cancelled *= kept
            self._away *= kept
            self._through *= kept
            if levels:
                self._on_touch(levels, traded)
        self._now_s = now_s
        self._price, self._size = levels[0] if levels else (None, 0)

    def _on_touch(self, levels: Levels, traded: int) -> None:
        price, size = levels[0]
        before = self._price
        if before is None or price == before:
            self._cancelled += max(0, self._size - size - traded)
        elif (price > before) == (self._side is BookSide.BID):
            # The touch improved: an order at the old price is no longer at the touch.
            self._away += 1
        else:
            self._through += 1

    def current(self) -> QueueRates:
        prior, weight = self._prior, self._prior_s
        seconds = self._seconds + weight
        # The prior of the cancels weighs as much as one share observed for `prior_s`.
        share_seconds = self._share_seconds + weight
        return QueueRates(
            (self._traded + prior.trades_per_s * weight) / seconds,
            (self._cancelled + prior.cancels_per_s * weight) / share_seconds,
            (self._away + prior.away_per_s * weight) / seconds,
            (self._through + prior.through_per_s * weight) / seconds,
        )
