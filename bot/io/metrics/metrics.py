"""The metrics of one trader: the tables of `bot.io.metrics.table`, and durations.

The trader reads no clock, so this host's times are measured here, around it.
"""

import importlib.metadata
import os
import platform
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, get_args

import msgspec
from prometheus_client import CollectorRegistry, Histogram, ProcessCollector, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector
from prometheus_client.samples import Sample

from bot.core import messages as m
from bot.core.orders.outbox import kind_of
from bot.core.report import Move, Reaction, Report
from bot.io.metrics.table import (
    FEED,
    NOTES,
    ORDERS,
    PROFIT,
    QUOTES,
    RISK,
    STATE,
    Family,
    by_name,
    counter,
    gauge,
    rungs,
    seconds,
)
from bot.io.state.heartbeat import REAPER, HeartbeatRecord, HeartbeatWatcher, read_pulse
from venue.wire.errors import CODES
from venue.wire.instant import NS_PER_SECOND
from venue.wire.money import BookSide

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
PREFIX: Final = "laddermaker_"
SERIES: Final = "series"
"""The label that every metric of a trader has after its own."""

FAMILIES: Final[tuple[Family[Report], ...]] = (*STATE, *FEED, *QUOTES, *ORDERS, *RISK, *PROFIT)
BUILD: Final = (
    "build_info",
    "Always 1; the version, and a hash of the configuration in force.",
)
STARTED: Final = ("process_start_time_seconds", "When the bot started.")

NOTES_MAX: Final = 200
REAPER_SILENT_NS_MAX: Final = 10 * NS_PER_SECOND
"""A reaper that was silent for longer does not count as watching."""

_REPORT_GAP_NS_MAX: Final = 3 * NS_PER_SECOND
"""Time between two reports further apart counts neither as on target nor as open."""

_TICK_NS_MAX: Final = NS_PER_SECOND
"""A frame that no strategy was asked about for so long is not the cause of the next order."""

_STARTED_S: Final = time.time()
_VERSION: Final = importlib.metadata.version("laddermaker")
_PROCESS: Final = ProcessCollector(registry=CollectorRegistry())

_KINDS: Final = ("create", "amend", "cancel", "read")
_NONE: Final[Mapping[m.RequestId, Reaction]] = {}
_NOT_SENT: Final = "not_sent"
_OTHER: Final = "other"
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

# --- durations ------------------------------------------------------------------------------------

Labels = tuple[str, ...]

_REQUEST_S: Final = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10)
_CALL_S: Final = (0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1)
_TICK_S: Final = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2)


class Timed(msgspec.Struct, frozen=True):
    """One histogram. known: the label values that are shown before their first duration."""

    name: str
    help: str
    labels: Labels
    buckets_s: tuple[float, ...]
    known: tuple[Labels, ...] = ((),)


_TIMED: Final = (
    Timed(
        "request_seconds",
        "Latency of a request, from its sending to its answer.",
        ("kind", "answer"),
        _REQUEST_S,
        (
            *((w.__name__, a.__name__) for w in get_args(m.Write) for a in get_args(m.Answer)),
            *((read.__name__, m.Ok.__name__) for read in get_args(m.Read)),
        ),
    ),
    Timed("decision_seconds", "One decision, from a tick to the requests.", (), _CALL_S),
    Timed("strategy_seconds", "One call of a strategy.", (), _CALL_S),
    Timed(
        "tick_to_order_seconds",
        "Latency from the oldest frame of a decision to each of its writes.",
        ("kind",),
        _TICK_S,
        tuple((kind,) for kind in _KINDS if kind != "read"),
    ),
    Timed(
        "reaction_seconds",
        "Latency from the frame that calls for it to the write that moves an order: adverse, back "
        "or away, as it is bolder than its quotes allow; favourable, toward the touch.",
        ("move",),
        _TICK_S,
        tuple((move.value,) for move in Move),
    ),
)
TIMED: Final = {timed.name: timed for timed in _TIMED}


def _histogram(timed: Timed) -> Histogram:
    made = Histogram(
        PREFIX + timed.name, timed.help, timed.labels, buckets=timed.buckets_s, registry=None
    )
    for labels in timed.known if timed.labels else ():
        made.labels(*labels)
    return made


# --- counting -------------------------------------------------------------------------------------


class _PendingRequest(msgspec.Struct, frozen=True):
    """tick_ns: when the frame arrived that the request follows from."""

    name: str
    kind: str
    key: m.Key
    at_ns: int
    tick_ns: int | None
    reaction: Reaction | None


class Metrics:
    """The metrics of one trader. Label sets are closed or capped, so nothing here grows."""

    def __init__(
        self,
        latest: Callable[[], Report | None],
        series: str = "",
        *,
        now_ns: Callable[[], int] = time.monotonic_ns,
        journal: Any = None,
        strategy_calls: Callable[[], int] | None = None,
        state: Path | None = None,
        expects_reaper: bool = False,
        heartbeat_fails: Callable[[], bool] | None = None,
        dropped: Callable[[], Mapping[str, int]] | None = None,
    ) -> None:
        """None and absent sources have no metric.

        latest: the newest report, None before there is one. series: its name until then. now_ns:
        the bot's clock. strategy_calls: how many there were. dropped: as `ConflatingQueue.dropped`.
        """
        self._latest = latest
        self._series = series
        self._now_ns = now_ns
        self.journal = journal
        self._strategy_calls = strategy_calls
        self.state: Path | None = state
        self.expects_reaper: bool = expects_reaper
        self.heartbeat_fails: Callable[[], bool] | None = heartbeat_fails
        self.dropped: Callable[[], Mapping[str, int]] | None = dropped
        self.sidecar_families: Callable[[], Iterable[tuple[Family[Any], Any]]] = tuple
        """The families of what runs with the trader, each with the object it is read from."""

        self._histograms = {name: _histogram(timed) for name, timed in TIMED.items()}
        self._cells: dict[tuple[str, ...], Histogram] = {}
        self.notes: dict[tuple[str, str], int] = dict.fromkeys(NOTES, 0)
        self.answers: dict[tuple[str, str, str], int] = dict.fromkeys(_ANSWERS, 0)
        self.venue_tokens: dict[str, int] = {}
        self.retry_after_ns: int = 0
        self.on_target_ns: dict[tuple[str, str], int] = {}
        self.open_ns: dict[str, int] = {}
        self.lag_ns: dict[str, int] = {}
        self.newest: Report | None = None
        self._newest_frame_ns: dict[str, int] = {}
        self._pending: dict[m.RequestId, _PendingRequest] = {}
        self._tick_ns: int | None = None
        self._counted_calls = 0
        self._reaper_silence = HeartbeatWatcher()
        self._reaper: HeartbeatRecord | None = None
        self._reaper_silent_ns: int | None = None
        self._reaper_visit_ns: int | None = None

    def _observe(self, name: str, took_ns: int, *labels: str) -> None:
        key = (name, *labels)
        if key not in self._cells:
            histogram = self._histograms[name]
            self._cells[key] = histogram.labels(*labels) if labels else histogram
        self._cells[key].observe(took_ns / NS_PER_SECOND)

    def on_effect(
        self, effect: m.Effect, at_ns: int, reactions: Mapping[m.RequestId, Reaction] = _NONE
    ) -> None:
        """reactions: of the trader's newest requests to moves of the market."""
        if isinstance(effect, m.Send):
            kind = kind_of(effect.request)
            tick_ns = self._tick_ns if kind != "read" and self._is_deciding() else None
            name = type(effect.request).__name__
            reaction = reactions.get(effect.request_id)
            pending = _PendingRequest(name, kind, effect.key, at_ns, tick_ns, reaction)
            self._pending[effect.request_id] = pending
        elif isinstance(effect, m.Noted):
            note = (effect.level, effect.name)
            if note in self.notes or len(self.notes) < NOTES_MAX:
                self.notes[note] = self.notes.get(note, 0) + 1

    def on_request_sent(self, request_id: m.RequestId, at_ns: int) -> None:
        """The connection has the request; its journal entry is on disk."""
        pending = self._pending.get(request_id)
        if pending is None:
            return
        if pending.tick_ns is not None:
            self._observe("tick_to_order_seconds", at_ns - pending.tick_ns, pending.kind)
        if pending.reaction is not None:
            took_ns = at_ns - pending.reaction.since_ns
            self._observe("reaction_seconds", took_ns, pending.reaction.move.value)

    def on_strategy_call(self, took_ns: int) -> None:
        self._observe("strategy_seconds", took_ns)

    def on_event(self, event: m.Event, at_ns: int, took_ns: int = 0) -> None:
        if isinstance(event, m.BookUpdate | m.Trade):
            self._tick_ns = at_ns if self._tick_ns is None else self._tick_ns
            self._on_frame(event.market_id, event.ts_ns, at_ns)
        elif isinstance(event, m.Tick):
            self._on_tick(at_ns, took_ns)
        elif isinstance(event, m.Response):
            self._on_response(event, at_ns)
        elif isinstance(event, m.FeedClosed):
            self._newest_frame_ns.clear()
            self.lag_ns.clear()

    def _is_deciding(self) -> bool:
        return self._strategy_calls is None or self._strategy_calls() != self._counted_calls

    def _on_tick(self, at_ns: int, took_ns: int) -> None:
        if self._is_deciding():
            self._counted_calls = 0 if self._strategy_calls is None else self._strategy_calls()
            self._tick_ns = None
            self._observe("decision_seconds", took_ns)
        elif self._tick_ns is not None and at_ns - self._tick_ns > _TICK_NS_MAX:
            self._tick_ns = None

    def _on_frame(self, market_id: str, ts_ns: int, at_ns: int) -> None:
        """The first frame of a rung may be as old as its last change, and a repeated one is not
        new: neither shows the latency of the feed."""
        before_ns = self._newest_frame_ns.get(market_id)
        if before_ns is not None and ts_ns > before_ns:
            self.lag_ns[market_id] = at_ns - ts_ns
        if before_ns is None or ts_ns > before_ns:
            self._newest_frame_ns[market_id] = ts_ns

    def _on_response(self, event: m.Response, at_ns: int) -> None:
        pending = self._pending.pop(event.request_id, None)
        if pending is None:
            return
        answer = event.answer
        outcome = type(answer).__name__
        self._observe("request_seconds", at_ns - pending.at_ns, pending.name, outcome)
        key = (pending.kind, _code_of(answer), outcome.lower())
        self.answers[key] = self.answers.get(key, 0) + 1
        if event.tokens_left is not None:
            self.venue_tokens[pending.key.value] = event.tokens_left
        self.retry_after_ns += event.retry_after_ns or 0

    def on_report(self, report: Report) -> None:
        """Count the time since the report before as that one showed it."""
        before, self.newest = self.newest, report
        shown = {rung.market_id for rung in rungs(report)}
        for gone in [key for key in self._newest_frame_ns if key not in shown]:
            del self._newest_frame_ns[gone]
            self.lag_ns.pop(gone, None)
        if self.expects_reaper and self.state is not None:
            self._read_reaper_heartbeat(self.state, report.now_ns)
        took_ns = 0 if before is None else report.now_ns - before.now_ns
        if before is None or not 0 < took_ns <= _REPORT_GAP_NS_MAX:
            return
        for rung in rungs(before):
            if rung.state == "active":
                self.open_ns[rung.ticker] = self.open_ns.get(rung.ticker, 0) + took_ns
                for side in BookSide:
                    key = (rung.ticker, side.value)
                    rested_ns = took_ns if side in rung.on_target else 0
                    self.on_target_ns[key] = self.on_target_ns.get(key, 0) + rested_ns
        tickers = {rung.ticker for rung in rungs(report)}
        for ticker in [each for each in self.open_ns if each not in tickers]:
            del self.open_ns[ticker]
            for side in BookSide:
                self.on_target_ns.pop((ticker, side.value), None)

    # --- the reaper -------------------------------------------------------------------------------

    def _read_reaper_heartbeat(self, state: Path, now_ns: int) -> None:
        pulse = read_pulse(state, REAPER)
        mark = None if pulse is None else f"{pulse.boot} {pulse.beat}"
        silent_ns = self._reaper_silence.measure_silence(mark, now_ns)
        self._reaper_silent_ns = silent_ns if self._reaper_silence.heard else None
        self._reaper = pulse if self._reaper_silence.heard else None

    def on_reaper_visit(self) -> None:
        """A reaper on another host has looked at the status page."""
        self._reaper_visit_ns = self._now_ns()

    @property
    def _is_visited(self) -> bool:
        visit_ns = self._reaper_visit_ns
        return visit_ns is not None and self._now_ns() - visit_ns <= REAPER_SILENT_NS_MAX

    @property
    def is_reaper_watching(self) -> bool:
        """True if the reaper's heartbeat or visit is recent, and the reaper has not ended."""
        if self._is_visited:
            return True
        silent_ns = self._reaper_silent_ns
        beats = silent_ns is not None and silent_ns <= REAPER_SILENT_NS_MAX
        return beats and self._reaper is not None and not self._reaper.ended

    @property
    def does_reaper_key_work(self) -> bool | None:
        """True if the reaper says that its key can cancel, False if the venue refuses it, None if
        the reaper's last try reached nobody. One that only visits the page tried its key before it
        began."""
        if self._reaper is None:
            return self._is_visited
        if self._reaper.plea:
            return False
        return True if self._reaper.key_known else None

    # --- for Prometheus ---------------------------------------------------------------------------

    def families(self) -> Iterator[Metric]:
        report = self._latest()
        series = self._series if report is None else str(report.series_ticker)
        build = GaugeMetricFamily(
            PREFIX + BUILD[0], BUILD[1], labels=("version", "python", "config", SERIES)
        )
        config = "" if report is None else report.config.digest
        build.add_metric((_VERSION, platform.python_version(), config, series), 1)
        yield build
        for histogram in self._histograms.values():
            yield from _labelled(histogram, series)
        tables: list[tuple[Family[Any], Any]] = [(each, self) for each in COUNTED]
        tables += [] if report is None else [(each, report) for each in FAMILIES]
        for family, source in (*tables, *self.sidecar_families()):
            kind = CounterMetricFamily if family.is_total else GaugeMetricFamily
            shown = kind(PREFIX + family.name, family.help, labels=(*family.labels, SERIES))
            for labels, value in family.samples(source):
                shown.add_metric((*labels, series), value)
            yield shown

    def text(self) -> bytes:
        """All of it in the text format, with the metrics of the process."""
        return text_of((self,))


def _labelled(histogram: Histogram, series: str) -> Iterator[Metric]:
    """A histogram with the label `series`, and without the instants at which it was made."""
    for family in histogram.collect():
        family.samples = [
            Sample(each.name, {**each.labels, SERIES: series}, each.value)
            for each in family.samples
            if not each.name.endswith("_created")
        ]
        yield family


class _SingleFamily(Collector):
    def __init__(self, family: Metric) -> None:
        self._family = family

    def collect(self) -> Iterator[Metric]:
        yield self._family


def pieces_of(parts: Iterable[Metrics]) -> Iterator[bytes]:
    """The metrics of several traders and of their process in the text format: each family once.

    The whole takes ten milliseconds and more; each piece takes one or two, so that the traders can
    run between them. An empty piece follows the reading of each trader.
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
        yield generate_latest(_SingleFamily(family))


def text_of(parts: Iterable[Metrics]) -> bytes:
    """All pieces of `pieces_of` at once."""
    return b"".join(pieces_of(parts))


def _code_of(answer: m.Answer) -> str:
    if isinstance(answer, m.Ok):
        return "ok"
    if isinstance(answer, m.Unknown):
        return "no_answer"
    if not answer.status:
        return _NOT_SENT
    return answer.code if answer.code in CODES else _OTHER


def _disk_bytes(metrics: Metrics, *, free: bool) -> float | None:
    if metrics.state is None:
        return None
    try:
        disk = os.statvfs(metrics.state)
    except OSError:
        return None  # the journal reports such a disk
    return float(disk.f_frsize * (disk.f_bavail if free else disk.f_blocks))


COUNTED: Final[tuple[Family[Metrics], ...]] = (
    counter(
        "notes",
        "Things noted, by level and name.",
        lambda t: [(note, float(count)) for note, count in sorted(t.notes.items())],
        "level name",
    ),
    counter(
        "answers",
        "Answers to requests by kind, code and outcome: ok, rejected or unknown.",
        lambda t: [(key, float(count)) for key, count in sorted(t.answers.items())],
        "kind code outcome",
    ),
    gauge(
        "venue_tokens",
        "Tokens left by the venue's headers, by key.",
        lambda t: by_name(t.venue_tokens),
        "key",
    ),
    counter(
        "retry_after_seconds",
        "Sum of waits that the venue asked for.",
        lambda t: seconds(t.retry_after_ns),
    ),
    gauge(
        "rung_feed_lag_seconds",
        "Latency of the rung's newest frame, by the venue's clock and ours.",
        lambda t: [
            ((rung.ticker,), t.lag_ns[rung.market_id] / NS_PER_SECOND)
            for rung in (() if t.newest is None else rungs(t.newest))
            if rung.market_id in t.lag_ns
        ],
        "rung",
    ),
    counter(
        "rung_on_target_seconds",
        "Time with all targets of the side resting, within throttle.tolerance_ticks and "
        "throttle.resize_pct.",
        lambda t: [(key, ns / NS_PER_SECOND) for key, ns in sorted(t.on_target_ns.items())],
        "rung side",
    ),
    counter(
        "rung_open_seconds",
        "Time in which the market took orders.",
        lambda t: by_name({rung: ns / NS_PER_SECOND for rung, ns in t.open_ns.items()}),
        "rung",
    ),
    gauge(
        "journal_lag_seconds",
        "Time that the disk has been writing pending journal entries.",
        lambda t: None if t.journal is None else t.journal.lag_s(),
    ),
    gauge(
        "journal_waiting_bytes",
        "Bytes of the journal that are not on disk yet.",
        lambda t: None if t.journal is None else t.journal.waiting_bytes,
    ),
    counter(
        "inbox_dropped",
        "Unread channel events: a book replaced by a newer one (ordinary), a print or malformed "
        "frame beyond its cap.",
        lambda t: [] if t.dropped is None else by_name(t.dropped()),
        "kind",
    ),
    gauge(
        "state_free_bytes",
        "Room on the disk of the state directory.",
        lambda t: _disk_bytes(t, free=True),
    ),
    gauge(
        "state_size_bytes",
        "Size of the disk of the state directory.",
        lambda t: _disk_bytes(t, free=False),
    ),
    gauge(
        "heartbeat_failing",
        "1 while the heartbeat cannot be written; a reaper sees silence.",
        lambda t: None if t.heartbeat_fails is None else t.heartbeat_fails(),
    ),
    gauge(
        "reaper_watching",
        "1 while a reaper watches; absent where none can.",
        lambda t: t.is_reaper_watching if t.expects_reaper else None,
    ),
    gauge(
        "reaper_key_works",
        "1 while the reaper's key can cancel, 0 while it is refused; absent while not known.",
        lambda t: t.does_reaper_key_work if t.expects_reaper else None,
    ),
)
