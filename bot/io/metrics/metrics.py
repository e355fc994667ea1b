"""The metrics of the bot as Prometheus reads them: what the tables name, for each of its series.

The tables are `metrics_table` and `metrics_money` (read off the newest report) and
`metrics_counted` (along the way, by `metrics_tally`); docs/metrics.md is generated from them. Every
sample of a trader carries the label `series`, so that one process may trade several.
"""

import importlib.metadata
import platform
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, TypeVar

from prometheus_client import CollectorRegistry, ProcessCollector, generate_latest
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.registry import Collector

from bot.core import messages as m
from bot.core.report import Report
from bot.io.metrics.counted import COUNTED
from bot.io.metrics.money import PROFIT, RISK
from bot.io.metrics.table import FEED, ORDERS, QUOTES, STATE, Family
from bot.io.metrics.tally import TIMED, RuntimeMetrics, Surroundings

__all__ = [
    "CONTENT_TYPE",
    "COUNTED",
    "FAMILIES",
    "PREFIX",
    "SERIES",
    "TIMED",
    "Metrics",
    "pieces_of",
    "text_of",
]

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
PREFIX: Final = "laddermaker_"
SERIES: Final = "series"
"""The label that every metric of a trader has behind its own."""

_T = TypeVar("_T")
_STARTED_S: Final = time.time()
_VERSION: Final = importlib.metadata.version("laddermaker")
_PROCESS: Final = ProcessCollector(registry=CollectorRegistry())

FAMILIES: Final[tuple[Family[Report], ...]] = (*STATE, *FEED, *QUOTES, *ORDERS, *RISK, *PROFIT)

BUILD: Final = (
    "build_info",
    "Always 1; the version, and a hash of the configuration that is in force.",
)
STARTED: Final = ("process_start_time_seconds", "When the bot started.")


class Metrics:
    """What is counted and read of one trader."""

    def __init__(
        self,
        latest: Callable[[], Report | None],
        series: str = "",
        around: Surroundings | None = None,
    ) -> None:
        """latest: the newest report, None before there is one. series: its name until then.
        around: what else there is to be read on this host."""
        self._latest = latest
        self._series = series
        self.tally = RuntimeMetrics(Surroundings(time.monotonic_ns) if around is None else around)
        self.beside: Callable[[], Iterable[tuple[Family[Any], Any]]] = tuple
        """What stands beside the trader: each family, and what it is read off."""
        self.config_hash = ""
        """Of the configuration in force; empty where there is no file."""

    def did(self, effect: m.Effect, at_ns: int) -> None:
        """Count an effect of the trader."""
        self.tally.did(effect, at_ns)

    def saw(self, event: m.Event, at_ns: int, took_ns: int = 0) -> None:
        """Count an event of the trader; took_ns: how long it thought about it."""
        self.tally.saw(event, at_ns, took_ns)

    def families(self) -> Iterator[Metric]:
        """Every family of this trader that can be read now."""
        report = self._latest()
        series = self._series if report is None else str(report.series_ticker)
        build = GaugeMetricFamily(
            PREFIX + BUILD[0], BUILD[1], labels=("version", "python", "config", SERIES)
        )
        config = "" if report is None else report.config.digest
        build.add_metric((_VERSION, platform.python_version(), config, series), 1)
        yield build
        for timed in TIMED.values():
            shown = HistogramMetricFamily(
                PREFIX + timed.name, timed.help, labels=(*timed.labels, SERIES)
            )
            self.tally.histograms[timed.name].add_to(shown, (series,))
            yield shown
        for counted in COUNTED:
            yield _family(counted, self.tally, series)
        for family in FAMILIES if report is not None else ():
            assert report is not None
            yield _family(family, report, series)

        for other, source in self.beside():
            yield _family(other, source, series)

    def text(self) -> bytes:
        """All of it in the text format, with what is of the process."""
        return text_of((self,))


def _family(family: Family[_T], source: _T, series: str) -> Metric:
    kind = CounterMetricFamily if family.is_total else GaugeMetricFamily
    shown = kind(PREFIX + family.name, family.help, labels=(*family.labels, SERIES))
    for labels, value in family.values(source):
        shown.add_metric((*labels, series), value)
    return shown


class _Alone(Collector):
    """One family that was read before."""

    def __init__(self, family: Metric) -> None:
        self._family = family

    def collect(self) -> Iterator[Metric]:
        """What the registry asks for."""
        yield self._family


def pieces_of(parts: Iterable[Metrics]) -> Iterator[bytes]:
    """The metrics of several traders in the text format, with those of the process they share, in
    pieces: each family once, with the samples of all.

    Each piece is made when it is asked for, in a millisecond or two: all of a trader is read at
    once, and an empty piece follows; then comes one family at a time. The whole takes ten and more.
    """
    started = GaugeMetricFamily(PREFIX + STARTED[0], STARTED[1])
    started.add_metric((), _STARTED_S)
    merged: dict[str, Metric] = {started.name: started}
    for part in parts:
        for family in part.families():
            merged.setdefault(family.name, family)
            if merged[family.name] is not family:
                merged[family.name].samples.extend(family.samples)
        yield b""
    for family in (*merged.values(), *_PROCESS.collect()):
        registry = CollectorRegistry(auto_describe=False)
        registry.register(_Alone(family))
        yield generate_latest(registry)


def text_of(parts: Iterable[Metrics]) -> bytes:
    """All pieces of `pieces_of` at once."""
    return b"".join(pieces_of(parts))
