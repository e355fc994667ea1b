"""What only the shell can count: durations, answers, how late news comes, the disk, the reaper.

The trader reads no clock, so whatever is a time on this host is measured here, around it. Nothing
here is asked of the trader, and nothing that is counted may grow: label sets are closed or capped.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final, Protocol, get_args

import msgspec

from bot.core import messages as m
from bot.core.orders.outbox import kind_of
from bot.core.report import Report
from bot.io.metrics.cells import Histogram, Timed
from bot.io.metrics.notes import NOTES
from bot.io.metrics.table import rungs
from bot.io.state.heartbeat import REAPER, HeartbeatRecord, HeartbeatWatcher, read_pulse
from venue.wire.errors import CODES
from venue.wire.instant import NS_PER_SECOND
from venue.wire.money import BookSide

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
