"""What an order in a queue is worth: the chance that it fills in time against being run over.

A touch trades at a rate, each share before the order is cancelled at a rate, and the price leaves
it or comes through it at rates. With Q shares before it the order is filled in time with the
chance

    a(Q) = product over j = 0..Q of (t + j c) / (t + j c + s),   s = away + through,

and run over with the chance (1 - a) * through / s. What it is worth is a * edge less the second
chance times what is lost beyond the edge. Both are the closed form of the step by step recursion;
the product is a ratio of gamma functions.

Formulas: docs/pricing.md#section-1e.
"""

import math
from typing import Final

import msgspec

from bot.strategy.api import Levels, Print
from venue.wire.money import BookSide

_POWER_FROM: Final = 1e12
"""Trades to cancels of a share, from which on the cancels count for nothing."""

_STIRLING_FROM: Final = 1e4
"""From here on a difference of log gammas is taken by their series: of the two alone, each many
times larger, too few digits would be left."""


class QueueRates(msgspec.Struct, frozen=True):
    """How one touch moves, events per second, each 0 or more.

    trades_per_s: shares that trade there. cancels_per_s: of each share resting there. away_per_s:
    how often the price leaves it unfilled. through_per_s: how often it comes through it.
    """

    trades_per_s: float
    cancels_per_s: float
    away_per_s: float
    through_per_s: float


def fill_chance(ahead_qty: float, rates: QueueRates) -> float:
    """The chance, 0..1, to be filled before the price moves, `ahead_qty` shares (>= 0) before it;
    1 where the price never moves."""
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
    """Cents a share that an order is worth with `ahead_qty` shares of others before it.

    edge_cents: what a fill gains. loss_cents: how far the value has moved when the price has come
    through it. Below zero: it is better not to stand there.
    """
    chance = fill_chance(ahead_qty, rates)
    moves = rates.away_per_s + rates.through_per_s
    run_over = (1 - chance) * rates.through_per_s / moves if moves > 0 else 0.0
    return chance * edge_cents - run_over * (loss_cents - edge_cents)


class TouchRates:
    """The rates of one side's touch, learned from what is seen of it on top of a prior.

    The prior counts as if it had been watched for `prior_s`; what was seen fades by half every
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

    def saw(self, levels: Levels, prints: tuple[Print, ...], now_s: float) -> None:
        """The side of others stands like this now, best first; `prints` came since the last look.

        An empty side says nothing, and the look after it starts anew.
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
                self._moved(levels, traded)
        self._now_s = now_s
        self._price, self._size = levels[0] if levels else (None, 0)

    def _moved(self, levels: Levels, traded: int) -> None:
        price, size = levels[0]
        before = self._price
        if before is None or price == before:
            self._cancelled += max(0, self._size - size - traded)
        elif (price > before) == (self._side is BookSide.BID):
            # The touch improved: an order that stood at the old one is no longer at the touch.
            self._away += 1
        else:
            self._through += 1

    def read(self) -> QueueRates:
        """The rates now."""
        prior, weight = self._prior, self._prior_s
        seconds = self._seconds + weight
        # A share watched for the time of the prior is what the prior of the cancels weighs.
        share_seconds = self._share_seconds + weight
        return QueueRates(
            (self._traded + prior.trades_per_s * weight) / seconds,
            (self._cancelled + prior.cancels_per_s * weight) / share_seconds,
            (self._away + prior.away_per_s * weight) / seconds,
            (self._through + prior.through_per_s * weight) / seconds,
        )
