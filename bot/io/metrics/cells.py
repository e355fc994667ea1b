"""Histograms as they are counted: a list of counts and a sum, made into a family only when asked.

Counting one duration takes a third of what a Prometheus object takes, and nothing is locked: all of
it happens on the event loop.
"""

from bisect import bisect_left
from itertools import accumulate
from typing import Final

import msgspec
from prometheus_client.core import HistogramMetricFamily

from venue.wire.instant import NS_PER_SECOND

Labels = tuple[str, ...]
Cell = list[float]
"""One count per bucket, one beyond the last, and the sum."""

SERIES_MAX: Final = 256
"""Label sets of one histogram: more than its closed sets make, so that only a bug gets there."""


class Timed(msgspec.Struct, frozen=True):
    """One histogram of durations. buckets_s: upper bounds in seconds. known: the values of its
    labels that are there from the start; others come with what is first counted for them."""

    name: str
    help: str
    labels: Labels
    buckets_s: tuple[float, ...]
    known: tuple[Labels, ...] = ((),)


class Histogram:
    """The counts of one `Timed`."""

    def __init__(self, timed: Timed) -> None:
        self.timed = timed
        self._cells: dict[Labels, Cell] = {each: self._empty() for each in timed.known}

    def _empty(self) -> Cell:
        return [0] * (len(self.timed.buckets_s) + 2)

    def took(self, took_ns: int, labels: Labels = ()) -> None:
        """Count a duration; a set of labels beyond the bound is left out."""
        cell = self._cells.get(labels)
        if cell is None:
            if len(self._cells) >= SERIES_MAX:
                return
            cell = self._cells[labels] = self._empty()
        seconds = took_ns / NS_PER_SECOND
        cell[bisect_left(self.timed.buckets_s, seconds)] += 1
        cell[-1] += seconds

    def add_to(self, family: HistogramMetricFamily, more: Labels) -> None:
        """Put what was counted into a family. more: values of the labels that follow ours."""
        bounds = [*map(repr, self.timed.buckets_s), "+Inf"]
        for labels, cell in sorted(self._cells.items()):
            counts = map(float, accumulate(cell[:-1]))
            family.add_metric(
                (*labels, *more), list(zip(bounds, counts, strict=True)), float(cell[-1])
            )
