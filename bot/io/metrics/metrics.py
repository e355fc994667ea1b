"""The metrics of the bot as Prometheus reads them: what the tables name, for each of its series.

The tables are `metrics_table` and `metrics_money` (read off the newest report) and
`metrics_counted` (along the way, by `metrics_tally`); docs/metrics.md is generated from them. Every
sample of a trader carries the label `series`, so that one process may trade several.
"""

import importlib.metadata
import os
import platform
import time
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import accumulate
from pathlib import Path
from typing import Any, Final, Protocol, TypeVar, get_args

import msgspec
from prometheus_client import CollectorRegistry, ProcessCollector, generate_latest
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.registry import Collector

from bot.core import messages as m
from bot.core.orders.outbox import kind_of
from bot.core.report import Report
from bot.io.metrics.table import (
    FEED,
    NOTES,
    ORDERS,
    PROFIT,
    QUOTES,
    RISK,
    STATE,
    Family,
    Sample,
    named,
    one,
    rungs,
)
from bot.io.state.heartbeat import REAPER, HeartbeatRecord, HeartbeatWatcher, read_pulse
from venue.wire.errors import CODES
from venue.wire.instant import NS_PER_SECOND
from venue.wire.money import BookSide

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


NOTES_MAX: Final = 200
REAPER_SILENT_NS_MAX: Final = 10 * NS_PER_SECOND
"""A reaper that was not heard for so long does not count as there."""

_WATCHED_NS_MAX: Final = 3 * NS_PER_SECOND
"""Between two pictures further apart nobody watched: that time counts neither way."""

_TICK_NS_MAX: Final = NS_PER_SECOND
"""News that no strategy was asked about for so long is not what its next answer follows from."""

_REQUEST_S: Final = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10)
_THOUGHT_S: Final = (0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1)
_TICK_S: Final = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2)

_WRITES: Final = tuple(each.__name__ for each in get_args(m.Write))
_READS: Final = tuple(each.__name__ for each in get_args(m.Read))
_KINDS: Final = ("create", "amend", "cancel", "read")
_NOT_SENT: Final = "not_sent"
_OTHER: Final = "other"
_TIMED_ANSWERS: Final = (
    *((name, answer.__name__) for name in _WRITES for answer in get_args(m.Answer)),
    *((name, m.Ok.__name__) for name in _READS),
)
"""A read that is not answered as it should be has times of its own only from then on."""

_ANSWERS: Final = tuple(
    (kind, code, outcome.__name__.lower())
    for kind in _KINDS
    for outcome, codes in (
        (m.Ok, ("ok",)),
        (m.Rejected, (*(code.value for code in CODES), _NOT_SENT, _OTHER)),
        (m.Unknown, ("no_answer",)),
    )
    for code in codes
)

TIMED: Final = {
    timed.name: timed
    for timed in (
        Timed(
            "request_seconds",
            "From a request's sending to its answer.",
            ("kind", "answer"),
            _REQUEST_S,
            _TIMED_ANSWERS,
        ),
        Timed(
            "decision_seconds",
            "One decision of the trader, from what it believes to the requests it wants.",
            (),
            _THOUGHT_S,
        ),
        Timed("strategy_seconds", "One call of a strategy.", (), _THOUGHT_S),
        Timed(
            "tick_to_order_seconds",
            "From the oldest news that a decision had to go on to each of its writes leaving.",
            ("kind",),
            _TICK_S,
            tuple((kind,) for kind in _KINDS if kind != "read"),
        ),
    )
}


class JournalLike(Protocol):
    """What is asked of a journal."""

    @property
    def waiting_bytes(self) -> int:
        """What is not on disk yet."""
        ...

    def lag_s(self) -> float:
        """How long the disk has had what it was given and has not taken."""
        ...


class Surroundings(msgspec.Struct, frozen=True):
    """What stands around a trader on its host; None is not there, and has no metric.

    asked: how often a strategy was asked. state: the state directory. reaper: whether one is
    expected to watch. unheard: whether the heartbeat cannot be written. now_ns: the bot's clock.
    dropped: `ConflatingQueue.dropped`.
    """

    now_ns: Callable[[], int]
    journal: JournalLike | None = None
    asked: Callable[[], int] | None = None
    state: Path | None = None
    reaper: bool = False
    unheard: Callable[[], bool] | None = None
    dropped: Callable[[], Mapping[str, int]] | None = None


class _PendingRequest(msgspec.Struct, frozen=True):
    """A request without an answer. tick_ns: when the news came that it follows from."""

    name: str
    kind: str
    key: m.Key
    at_ns: int
    tick_ns: int | None


class RuntimeMetrics:
    """The counts of one trader. Everything happens on the event loop. seen: the newest picture."""

    def __init__(self, around: Surroundings) -> None:
        self.around = around
        self.histograms = {name: Histogram(timed) for name, timed in TIMED.items()}
        self.notes: dict[tuple[str, str], int] = dict.fromkeys(NOTES, 0)
        self.answers: dict[tuple[str, str, str], int] = dict.fromkeys(_ANSWERS, 0)
        self.venue_tokens: dict[str, int] = {}
        self.retry_after_ns = 0
        self.on_target_ns: dict[tuple[str, str], int] = {}
        self.open_ns: dict[str, int] = {}
        self.lag_ns: dict[str, int] = {}
        self._newest_ns: dict[str, int] = {}
        self._sent: dict[m.RequestId, _PendingRequest] = {}
        self._tick_ns: int | None = None
        self._asked = 0
        self.seen: Report | None = None
        self._silence = HeartbeatWatcher()
        self._reaper: HeartbeatRecord | None = None
        self._reaper_silent_ns: int | None = None
        self._called_ns: int | None = None

    # --- what happened ----------------------------------------------------------------------------

    def did(self, effect: m.Effect, at_ns: int) -> None:
        """An effect of the trader is about to be carried out."""
        if isinstance(effect, m.Send):
            kind = kind_of(effect.request)
            tick_ns = self._tick_ns if kind != "read" and self._is_deciding() else None
            name = type(effect.request).__name__
            self._sent[effect.request_id] = _PendingRequest(name, kind, effect.key, at_ns, tick_ns)
        elif isinstance(effect, m.Noted):
            note = (effect.level, effect.name)
            if note in self.notes or len(self.notes) < NOTES_MAX:
                self.notes[note] = self.notes.get(note, 0) + 1

    def left(self, request_id: m.RequestId, at_ns: int) -> None:
        """A request is given to the connection: what had to be on disk before it is there."""
        sent = self._sent.get(request_id)
        if sent is not None and sent.tick_ns is not None:
            self.histograms["tick_to_order_seconds"].took(at_ns - sent.tick_ns, (sent.kind,))

    def asked(self, took_ns: int) -> None:
        """A strategy was asked, and took so long."""
        self.histograms["strategy_seconds"].took(took_ns)

    def saw(self, event: m.Event, at_ns: int, took_ns: int = 0) -> None:
        """The trader has taken an event in; took_ns: the time that it needed."""
        if isinstance(event, m.BookUpdate | m.Trade):
            self._tick_ns = at_ns if self._tick_ns is None else self._tick_ns
            self._heard(event.market_id, event.ts_ns, at_ns)
        elif isinstance(event, m.Tick):
            self._beaten(at_ns, took_ns)
        elif isinstance(event, m.Response):
            self._answered(event, at_ns)
        elif isinstance(event, m.FeedClosed):
            self._newest_ns.clear()
            self.lag_ns.clear()

    def _is_deciding(self) -> bool:
        return self.around.asked is None or self.around.asked() != self._asked

    def _beaten(self, at_ns: int, took_ns: int) -> None:
        if self._is_deciding():
            self._asked = 0 if self.around.asked is None else self.around.asked()
            self._tick_ns = None
            self.histograms["decision_seconds"].took(took_ns)
        elif self._tick_ns is not None and at_ns - self._tick_ns > _TICK_NS_MAX:
            self._tick_ns = None

    def _heard(self, market_id: str, ts_ns: int, at_ns: int) -> None:
        """How late a frame came, by the two clocks. The first of a rung may be as old as its last
        change, and one that is shown again is no news: both say nothing."""
        before_ns = self._newest_ns.get(market_id)
        if before_ns is not None and ts_ns > before_ns:
            self.lag_ns[market_id] = at_ns - ts_ns
        if before_ns is None or ts_ns > before_ns:
            self._newest_ns[market_id] = ts_ns

    def _answered(self, event: m.Response, at_ns: int) -> None:
        sent = self._sent.pop(event.request_id, None)
        if sent is None:
            return
        answer = event.answer
        took_ns = at_ns - sent.at_ns
        self.histograms["request_seconds"].took(took_ns, (sent.name, type(answer).__name__))
        key = (sent.kind, _code_of(answer), type(answer).__name__.lower())
        self.answers[key] = self.answers.get(key, 0) + 1
        if event.tokens_left is not None:
            self.venue_tokens[sent.key.value] = event.tokens_left
        self.retry_after_ns += event.retry_after_ns or 0

    # --- what is looked at now and then -----------------------------------------------------------

    def watched(self, report: Report) -> None:
        """A picture was drawn: the time since the one before counts as that one showed it."""
        before, self.seen = self.seen, report
        shown = {rung.market_id for rung in rungs(report)}
        for gone in [key for key in self._newest_ns if key not in shown]:
            del self._newest_ns[gone]
            self.lag_ns.pop(gone, None)
        if self.around.reaper and self.around.state is not None:
            self._look_for_reaper(self.around.state, report.now_ns)
        took_ns = 0 if before is None else report.now_ns - before.now_ns
        if before is None or not 0 < took_ns <= _WATCHED_NS_MAX:
            return
        for rung in rungs(before):
            if rung.state == "active":
                self.open_ns[rung.ticker] = self.open_ns.get(rung.ticker, 0) + took_ns
                for side in BookSide:
                    place = (rung.ticker, side.value)
                    rested_ns = took_ns if side in rung.on_target else 0
                    self.on_target_ns[place] = self.on_target_ns.get(place, 0) + rested_ns
        self._forget_rungs(report)

    def _forget_rungs(self, report: Report) -> None:
        """A rung that has left the series has no metric any more."""
        tickers = {rung.ticker for rung in rungs(report)}
        for gone in [ticker for ticker in self.open_ns if ticker not in tickers]:
            del self.open_ns[gone]
            for side in BookSide:
                self.on_target_ns.pop((gone, side.value), None)

    def _look_for_reaper(self, state: Path, now_ns: int) -> None:
        pulse = read_pulse(state, REAPER)
        mark = None if pulse is None else f"{pulse.boot} {pulse.beat}"
        silent_ns = self._silence.look(mark, now_ns)
        self._reaper_silent_ns = silent_ns if self._silence.heard else None
        self._reaper = pulse if self._silence.heard else None

    def reaper_called(self) -> None:
        """A reaper that shares no folder has looked at the status page."""
        self._called_ns = self.around.now_ns()

    @property
    def _is_called(self) -> bool:
        since_ns = self._called_ns
        return since_ns is not None and self.around.now_ns() - since_ns <= REAPER_SILENT_NS_MAX

    @property
    def reaper_watches(self) -> bool:
        """Whether a reaper was heard of late, and has not said that it ended."""
        if self._is_called:
            return True
        silent_ns = self._reaper_silent_ns
        there = silent_ns is not None and silent_ns <= REAPER_SILENT_NS_MAX
        return there and self._reaper is not None and not self._reaper.ended

    @property
    def reaper_key_works(self) -> bool:
        """Whether the reaper says that its key can cancel; one that watches the page says nothing
        of it, and it tried its key before it began."""
        if self._reaper is None:
            return self._is_called
        return not self._reaper.plea


def _code_of(answer: m.Answer) -> str:
    """The code of an answer, out of a closed set."""
    if isinstance(answer, m.Ok):
        return "ok"
    if isinstance(answer, m.Unknown):
        return "no_answer"
    if not answer.status:
        return _NOT_SENT
    return answer.code if answer.code in CODES else _OTHER


def _lags(tally: RuntimeMetrics) -> list[Sample]:
    """How late the newest news of every rung came that the newest picture shows."""
    shown = () if tally.seen is None else rungs(tally.seen)
    found = [(rung.ticker, tally.lag_ns.get(rung.market_id)) for rung in shown]
    return [((ticker,), lag_ns / NS_PER_SECOND) for ticker, lag_ns in found if lag_ns is not None]


def _in_seconds(counts: Iterable[tuple[tuple[str, ...], int]]) -> list[Sample]:
    return [(labels, value / NS_PER_SECOND) for labels, value in sorted(counts)]


def _disk(tally: RuntimeMetrics) -> os.statvfs_result | None:
    if tally.around.state is None:
        return None
    try:
        return os.statvfs(tally.around.state)
    except OSError:
        return None  # what a disk like that does to the journal is told elsewhere


def _disk_bytes(tally: RuntimeMetrics, *, free: bool) -> float | None:
    disk = _disk(tally)
    if disk is None:
        return None
    return float(disk.f_frsize * (disk.f_bavail if free else disk.f_blocks))


def _journal_lag_s(tally: RuntimeMetrics) -> float | None:
    journal = tally.around.journal
    return None if journal is None else journal.lag_s()


def _of_reaper(tally: RuntimeMetrics, value: bool) -> list[Sample]:
    return one(float(value)) if tally.around.reaper else []


COUNTED: Final[tuple[Family[RuntimeMetrics], ...]] = (
    Family(
        "notes",
        "Things noted, by level and name.",
        ("level", "name"),
        lambda t: [(note, float(count)) for note, count in sorted(t.notes.items())],
        True,
    ),
    Family(
        "answers",
        "Answers to requests by kind, code and outcome: done, refused or unknown.",
        ("kind", "code", "outcome"),
        lambda t: [(key, float(count)) for key, count in sorted(t.answers.items())],
        True,
    ),
    Family(
        "venue_tokens",
        "Requests that the venue said it would take at once, by key.",
        ("key",),
        lambda t: named(t.venue_tokens),
    ),
    Family(
        "retry_after_seconds",
        "Time that the venue asked to wait, added up.",
        (),
        lambda t: one(t.retry_after_ns / NS_PER_SECOND),
        True,
    ),
    Family(
        "rung_feed_lag_seconds",
        "How late the newest news of the rung came, by the venue's clock and ours.",
        ("rung",),
        _lags,
    ),
    Family(
        "rung_on_target_seconds",
        "Time in which all that was wanted on a side of a rung rested there, within "
        "pace.tolerance_ticks and pace.resize_pct.",
        ("rung", "side"),
        lambda t: _in_seconds(t.on_target_ns.items()),
        True,
    ),
    Family(
        "rung_open_seconds",
        "Time in which the rung's market took orders.",
        ("rung",),
        lambda t: _in_seconds(((ticker,), value) for ticker, value in t.open_ns.items()),
        True,
    ),
    Family(
        "journal_lag_seconds",
        "How long the disk has had entries of the journal that it was given and has not taken.",
        (),
        lambda t: one(_journal_lag_s(t)),
    ),
    Family(
        "journal_waiting_bytes",
        "What of the journal is not on disk yet.",
        (),
        lambda t: one(None if t.around.journal is None else t.around.journal.waiting_bytes),
    ),
    Family(
        "inbox_dropped",
        "What the far end sent and nobody read: a book that a newer one took the place of before "
        "it was looked at (ordinary), a print beyond the cap, word of a frame of no use.",
        ("kind",),
        lambda t: [] if t.around.dropped is None else named(t.around.dropped()),
        True,
    ),
    Family(
        "state_free_bytes",
        "Room on the disk of the state directory.",
        (),
        lambda t: one(_disk_bytes(t, free=True)),
    ),
    Family(
        "state_size_bytes",
        "Size of the disk of the state directory.",
        (),
        lambda t: one(_disk_bytes(t, free=False)),
    ),
    Family(
        "heartbeat_failing",
        "1 while the heartbeat cannot be written, which a reaper takes for silence.",
        (),
        lambda t: one(None if t.around.unheard is None else float(t.around.unheard())),
    ),
    Family(
        "reaper_watching",
        "1 while a reaper is heard beside this bot; absent where none can be.",
        (),
        lambda t: _of_reaper(t, t.reaper_watches),
    ),
    Family(
        "reaper_key_works",
        "1 while the reaper says that its key can cancel; absent where none can be.",
        (),
        lambda t: _of_reaper(t, t.reaper_key_works),
    ),
)

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
