"""Every metric of the venue in one table, and what counts them. Labels come from closed sets (else
`other`): never an order, a user, a market or an address."""

import itertools
import math
import platform
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, Literal, get_args

import msgspec
from prometheus_client import (
    CollectorRegistry,
    GCCollector,
    ProcessCollector,
    generate_latest,
)
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.registry import Collector
from prometheus_client.utils import floatToGoString

from venue.wire.errors import CODES
from venue.wire.routes import ROUTES

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
OTHER: Final = "other"
SUCCESS: Final = "ok"
_PREFIX: Final = "venue_"

AppendRefusal = Literal["full", "broken"]
"""Why the log took nothing: no room (nothing is on disk), or not known whether it is on disk."""


class Family(msgspec.Struct, frozen=True):
    """One metric. A new one is a row here, and a method that counts or a reading of its name."""

    name: str
    kind: Literal["counter", "gauge", "histogram"]
    """A counter's name gets `_total` when it is shown."""
    help: str
    labels: tuple[str, ...] = ()
    buckets: tuple[float, ...] = ()
    read: bool = False
    """Someone else keeps the figure, and we ask for it when it is shown; so with every gauge."""


_REQUEST_S: Final = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5)
_APPLY_S: Final = (0.00001, 0.00002, 0.00005, 0.0001, 0.0002, 0.0005, 0.001, 0.005, 0.02, 0.1)
_APPEND_S: Final = (0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.5, 2.0)
_BATCH: Final = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0)

FAMILIES: Final[tuple[Family, ...]] = (
    Family(
        "http_requests", "counter", "Requests answered.", ("route", "status", "code")
    ),
    Family(
        "http_request_seconds", "histogram", "From a request's head to its answer.",
        ("route",), _REQUEST_S,
    ),
    Family(
        "engine_apply_seconds", "histogram", "One command carried out.", ("command",), _APPLY_S
    ),
    Family("batch_commands", "histogram", "Commands carried out in one batch.", (), _BATCH),
    Family("log_append_seconds", "histogram", "One batch written and synced.", (), _APPEND_S),
    Family("log_entries", "counter", "Commands written to the log."),
    Family("log_written_bytes", "counter", "Bytes written to the log."),
    Family("log_refusals", "counter", "Batches that the log did not take.", ("reason",)),
    Family(
        "readers_cut", "counter", "Readers of the channel cut off for being too slow.", read=True
    ),
    Family("queue_commands", "gauge", "Commands that wait to be carried out."),
    Family("sequence", "gauge", "Commands carried out since the venue was first opened."),
    Family("log_writable", "gauge", "1 while the log takes commands."),
    Family("projection_lag_seconds", "gauge", "Age of the oldest event that reads do not show."),
    Family("subscribers", "gauge", "Readers of the channel."),
    Family("connections_open", "gauge", "Connections that are open."),
    Family("build_info", "gauge", "Always 1; the version.", ("version", "python")),
)  # fmt: skip


Readings = dict[str, Callable[[], float | None]]
"""By the name of the metric. None as an answer leaves it out: a venue in memory has no log."""

_ROUTES: Final = frozenset(route.name for route in ROUTES)
_STATUS_AND_CODE: Final = frozenset(
    [("200", SUCCESS), ("201", SUCCESS)]
    + [(str(row.status), code.value) for code, row in CODES.items()]
)


class Count:
    """A counter that the event loop alone counts up."""

    __slots__ = ("value",)

    def __init__(self) -> None:
        self.value = 0


class Buckets:
    """A histogram, filled by the event loop alone: prometheus_client's own takes two locks and ten
    calls for an observation, and every write makes several."""

    __slots__ = ("_bounds", "_counts", "_sum")

    def __init__(self, bounds: tuple[float, ...]) -> None:
        """bounds: rising; the bucket of all that is more comes by itself."""
        self._bounds = bounds
        self._counts = [0] * (len(bounds) + 1)
        self._sum = 0.0

    def add_value(self, value: float) -> None:
        self._counts[bisect_left(self._bounds, value)] += 1
        self._sum += value

    def shown(self) -> tuple[list[tuple[str, float]], float]:
        """Each bound and how many values it includes, as shown; the sum of all values."""
        bounds = map(floatToGoString, (*self._bounds, math.inf))
        return list(zip(bounds, itertools.accumulate(self._counts), strict=True)), self._sum


_Labels = tuple[str, ...]


class VenueMetrics(Collector):
    def __init__(self, version: str, command_kinds: Iterable[str], readings: Readings) -> None:
        build = (version, platform.python_version())
        self._readings: Readings = {**readings, "build_info": lambda: 1.0}
        self._labels_read = {"build_info": build}
        self._registry = CollectorRegistry(auto_describe=False)
        read = {row.name for row in FAMILIES if row.read or row.kind == "gauge"}
        assert read == self._readings.keys(), "one reading per row"
        self._requests: dict[_Labels, Count] = {}
        self._request_seconds: dict[_Labels, Buckets] = {}
        self._by_request: dict[tuple[str | None, int, str | None], tuple[Count, Buckets]] = {}
        self._log_entries, self._log_bytes = Count(), Count()
        self._refusals: dict[_Labels, Count] = {
            (each,): Count() for each in (*get_args(AppendRefusal), OTHER)
        }
        self._batches, self._append_seconds = Buckets(_BATCH), Buckets(_APPEND_S)
        self._apply_seconds = {kind: Buckets(_APPLY_S) for kind in (*command_kinds, OTHER)}
        self._counts: dict[str, dict[_Labels, Count]] = {
            "http_requests": self._requests,
            "log_entries": {(): self._log_entries},
            "log_written_bytes": {(): self._log_bytes},
            "log_refusals": self._refusals,
        }
        self._histograms: dict[str, dict[_Labels, Buckets]] = {
            "http_request_seconds": self._request_seconds,
            "engine_apply_seconds": {(kind,): each for kind, each in self._apply_seconds.items()},
            "batch_commands": {(): self._batches},
            "log_append_seconds": {(): self._append_seconds},
        }
        self._registry.register(self)
        ProcessCollector(registry=self._registry)
        GCCollector(registry=self._registry)

    def request(
        self, route_name: str | None, code: str | None, status: int, seconds: float
    ) -> None:
        """A request was answered. route_name: None for an unknown path. code: None for success."""
        key = (route_name, status, code)
        count, buckets = self._by_request.get(key) or self._request_children(key)
        count.value += 1
        buckets.add_value(seconds)

    def _request_children(self, key: tuple[str | None, int, str | None]) -> tuple[Count, Buckets]:
        route, status, code = key
        name = route if route in _ROUTES else OTHER
        labels = (str(status), code or SUCCESS)
        is_known = labels in _STATUS_AND_CODE
        if not is_known:
            name, labels = OTHER, ("0", OTHER)
        children = (
            self._requests.setdefault((name, *labels), Count()),
            self._request_seconds.setdefault((name,), Buckets(_REQUEST_S)),
        )
        if is_known and (route is None or route in _ROUTES):
            self._by_request[key] = children
        return children

    def applied(self, kind: str, seconds: float) -> None:
        (self._apply_seconds.get(kind) or self._apply_seconds[OTHER]).add_value(seconds)

    def batch(self, commands: int) -> None:
        self._batches.add_value(commands)

    def appended(self, count: int, size_bytes: int, seconds: float) -> None:
        self._log_entries.value += count
        self._log_bytes.value += size_bytes
        self._append_seconds.add_value(seconds)

    def append_refused(self, reason: AppendRefusal) -> None:
        (self._refusals.get((reason,)) or self._refusals[OTHER,]).value += 1

    def exposition(self) -> bytes:
        return generate_latest(self._registry)

    def collect(self) -> Iterator[Metric]:
        for row in FAMILIES:
            name = _PREFIX + row.name
            if row.kind == "histogram":
                histogram = HistogramMetricFamily(name, row.help, labels=row.labels)
                for labels, buckets in self._histograms[row.name].items():
                    histogram.add_metric(labels, *buckets.shown())
                yield histogram
                continue
            kind: Any = CounterMetricFamily if row.kind == "counter" else GaugeMetricFamily
            metric = kind(name, row.help, labels=row.labels)
            if row.name in self._counts:
                for labels, count in self._counts[row.name].items():
                    metric.add_metric(labels, float(count.value))
                yield metric
                continue
            read: Callable[[], float | None] = self._readings[row.name]
            value = read()
            if value is not None:
                metric.add_metric(self._labels_read.get(row.name, ()), float(value))
                yield metric
