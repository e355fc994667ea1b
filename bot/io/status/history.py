"""Profit over time by its sources, sampled off the pictures: evenly, from the start until now.

A run of months fits: when the samples are as many as may be kept, every second one goes and from
then on they are taken half as often.
"""

from typing import Final

import msgspec

from bot.core.report import Report
from venue.wire.instant import NS_PER_SECOND

POINTS_MAX: Final = 480
FIRST_STEP_NS: Final = 2 * NS_PER_SECOND


class HistorySample(msgspec.Struct, frozen=True, array_like=True):
    """One sample: thousandths of a cent but for the fees and the worst case, which are cents."""

    at_ns: int
    profit_millicents: int
    spread_millicents: int
    adverse_millicents: int
    drift_millicents: int
    fees_cents: int
    worst_case_cents: int


class History:
    """The samples of one run, oldest first. version: changes with every sample."""

    def __init__(self, points_max: int = POINTS_MAX, step_ns: int = FIRST_STEP_NS) -> None:
        self._points_max = points_max
        self._step_ns = step_ns
        self._moments: list[HistorySample] = []
        self.version = 0

    @property
    def moments(self) -> tuple[HistorySample, ...]:
        """What is kept, oldest first."""
        return tuple(self._moments)

    def take(self, report: Report) -> None:
        """Sample a picture, if the last sample is long enough ago and there is a profit to tell."""
        if report.profit is None:
            return
        if self._moments and report.now_ns - self._moments[-1].at_ns < self._step_ns:
            return
        total = report.profit.total
        self._moments.append(
            HistorySample(
                report.now_ns,
                total.profit_millicents,
                total.spread_millicents,
                total.adverse_millicents,
                total.drift_millicents,
                total.fees_cents,
                report.worst_case_cents,
            )
        )
        self.version += 1
        if len(self._moments) > self._points_max:
            # The first stays: it is where the curves begin.
            del self._moments[1::2]
            self._step_ns *= 2
