"""What chance allows in one session: markouts with bootstrap intervals, and two runs in pairs.

Fills close together meet the same move, so stretches of time are drawn again, never single fills: a
stretch as long as the horizon, as in `bot.core.profit.markouts`. Drawing is seeded: the same
session gives the same page.
"""

from bisect import bisect_right
from collections.abc import Sequence
from typing import Final

import msgspec
import numpy as np

from bot.core.profit.markouts import HORIZONS_S, MILLI
from bot.core.report import Against
from bot.lab.evaluate.statistics import (
    CASES_MIN,
    Floats,
    Interval,
    interval,
    mean_difference,
    resamples,
)
from bot.lab.report.session import Fill, Mode, Moment, Session
from venue.wire.instant import NS_PER_SECOND

DRAWN: Final = 1_000
_AT_ONCE: Final = 50
"""So many draws stand in memory together: stretches of a second are many in a day."""

_BLOCKS_MIN, _BLOCKS_MAX = 8, 60
_BLOCK_NS: Final = 10 * NS_PER_SECOND
"""No block of a comparison is shorter: quotes live longer than that."""

_SAME_SHARE: Final = 0.9
_STRETCHES_MIN: Final = 3


class Point(msgspec.Struct, frozen=True):
    """The mean markout after `horizon_s`, cents a share weighted by shares; low, high: its 95 %
    interval, None with fewer than CASES_MIN stretches. fills, qty, stretches: what it is the mean
    of."""

    horizon_s: int
    against: Against
    fills: int
    qty: int
    stretches: int
    mean_cents: float
    low_cents: float | None
    high_cents: float | None


def markout_cents(fill: Fill, value_millicents: int) -> float:
    """How far a value lies in favour of a fill, cents a share."""
    return fill.sign * (value_millicents - fill.price * MILLI) / MILLI


def markouts(fills: Sequence[Fill], against: Against) -> list[Point]:
    """The curve over the horizons that have fills."""
    return [
        point
        for horizon_s in HORIZONS_S
        if (point := _point(fills, against, horizon_s)) is not None
    ]


def _point(fills: Sequence[Fill], against: Against, horizon_s: int) -> Point | None:
    stretches: dict[int, list[int]] = {}
    count = 0
    for fill in fills:
        for value in fill.values:
            if value.horizon_s == horizon_s and value.against == against:
                key = fill.at_ns // (horizon_s * NS_PER_SECOND)
                row = stretches.setdefault(key, [0, 0])
                row[0] += fill.sign * (value.value_millicents - fill.price * MILLI) * fill.qty
                row[1] += fill.qty
                count += 1
    if not stretches:
        return None
    table = np.array(list(stretches.values()), dtype=np.float64)
    moved, qty = table[:, 0], table[:, 1]
    total = int(qty.sum())
    mean = float(moved.sum()) / total / MILLI
    found = interval(mean, _drawn(moved, qty), len(table))
    return Point(horizon_s, against, count, total, len(table), mean, found.least, found.most)


def _drawn(moved: Floats, qty: Floats) -> Floats:
    """What moved by qty is where stretches are drawn again; nothing of too few of them."""
    drawn: list[float] = []
    if len(qty) < CASES_MIN:
        return np.array(drawn)
    for at in range(DRAWN // _AT_ONCE):
        places = resamples(len(qty), _AT_ONCE, seed=at)
        drawn += (moved[places].sum(axis=1) / qty[places].sum(axis=1) / MILLI).tolist()
    return np.array(drawn)


# --- two runs -------------------------------------------------------------------------------------


class Paired(msgspec.Struct, frozen=True):
    """What the second run earned more than the first in the time that both lived, dollars. blocks:
    stretches of that time, of `block_s` seconds each, drawn again for the interval; both runs
    lived each of them. interval: None with too few."""

    seconds: float
    blocks: int
    block_s: float
    difference_dollars: float
    interval: Interval | None


def same_market(first: Session, second: Session) -> str:
    """Why two runs cannot be paired; empty when both met the same market: the same tape under the
    same bound, or the same prints in nine of ten stretches of ten seconds that both saw whole."""
    if first.mode is not second.mode:
        return "one is a journal and the other a backtest"
    if first.mode is Mode.BACKTEST:
        one, other = first.result, second.result
        assert one is not None and other is not None
        if (one.tape, one.event, one.bound) != (other.tape, other.event, other.bound):
            return "they are of different tapes, or under different bounds"
        return ""
    if first.run == second.run:
        return ""
    both = sorted(first.prints.keys() & second.prints.keys())[1:-1]
    if len(both) < _STRETCHES_MIN:
        return "they have no time with prints in common"
    same = sum(first.prints[each] == second.prints[each] for each in both)
    if same < _SAME_SHARE * len(both):
        return f"in {len(both) - same} of {len(both)} stretches of time they saw other prints"
    return ""


def paired(first: Session, second: Session) -> Paired | None:
    """The difference of two runs that met the same market; None where they have no time in
    common, or no moments."""
    begun_ns = max(first.begun_ns, second.begun_ns)
    until_ns = min(first.until_ns, second.until_ns)
    if until_ns <= begun_ns or not first.moments or not second.moments:
        return None
    apart_ns = max(_BLOCK_NS, first.every_ns, second.every_ns)
    blocks = max(1, min(_BLOCKS_MAX, (until_ns - begun_ns) // apart_ns))
    edges = [begun_ns + (until_ns - begun_ns) * n // blocks for n in range(blocks + 1)]
    gains = [np.diff([_profit(each.moments, at) for at in edges]) for each in (second, first)]
    difference = float(gains[0].sum() - gains[1].sum())
    interval = None
    if blocks >= _BLOCKS_MIN:
        mean = mean_difference(gains[0], gains[1], resamples(blocks))
        interval = Interval(mean.value * blocks, mean.low * blocks, mean.high * blocks, mean.p)
    seconds = (until_ns - begun_ns) / NS_PER_SECOND
    return Paired(seconds, blocks, seconds / blocks, difference, interval)


def _profit(moments: Sequence[Moment], at_ns: int) -> float:
    """The profit at the newest moment that is not later, dollars; 0 before the first."""
    place = bisect_right(moments, at_ns, key=lambda moment: moment.at_ns) - 1
    return moments[place].profit_millicents / (100 * MILLI) if place >= 0 else 0.0
