"""The end of a journal for a person: who did what, what was noted and refused, what was silent."""

from pathlib import Path
from typing import Final

import msgspec

from bot.core import messages as m
from bot.core.report import FEED_SILENT_NS
from bot.io.journal.journal import first_entries, left_in, read_segment
from bot.io.journal.records import Entry, JournalFault
from bot.io.metrics.table import FINDINGS
from bot.lab.session import segments_meant
from venue.wire.instant import NS_PER_SECOND

WINDOW_NS: Final = 3_600 * NS_PER_SECOND
"""How much of the end of a journal is looked at unless a time is named."""

_HEARD: Final = (m.FeedOpened, m.FeedAlive, m.SubscriptionAccepted, m.BookUpdate, m.Trade)
_TEXTS: Final = ("text", "why", "reason")
_LEVELS: Final = ("warning", "error")


class TimelineEntry(msgspec.Struct, frozen=True):
    """who: operator, reaper, or bot, which acts by itself."""

    at_ns: int
    who: str
    what: str


class NoteCount(msgspec.Struct):
    """Notes of one name at level warning or error. text: of the newest."""

    name: str
    level: str
    count: int
    first_ns: int
    last_ns: int
    text: str


class SilentPeriod(msgspec.Struct, frozen=True):
    """A time without a sign of life. what: `channel`, or `bot` between two runs."""

    what: str
    from_ns: int
    until_ns: int


class OpenFinding(msgspec.Struct, frozen=True):
    name: str
    since_ns: int
    text: str


class JournalHistory(msgspec.Struct, kw_only=True):
    """A journal from `since_ns` to its last entry. refused: rejections by code. unanswered:
    requests that ended without a definite answer. findings: noted since then and open at the end.
    may_rest: orders that rest as far as the journal knows, and creates without an answer. ended:
    the newest run stopped in good order. damage: what could not be read."""

    since_ns: int
    until_ns: int = 0
    timeline: list[TimelineEntry] = []
    notes: list[NoteCount] = []
    refused: dict[str, int] = {}
    unanswered: int = 0
    silent: list[SilentPeriod] = []
    findings: list[OpenFinding] = []
    may_rest: list[str] = []
    starts: int = 0
    ended: bool = False
    damage: list[str] = []


def read_history(state: Path, since_ns: int | None = None) -> JournalHistory:
    """The journal of a state directory; changes nothing. since_ns: None for the last hour of it.

    Raises JournalFault when there is no journal. Damage is reported in the history.
    """
    paths = segments_meant(state)
    reader = _HistoryReader(_end_of(paths) - WINDOW_NS if since_ns is None else since_ns)
    for path in _since(paths, reader.history.since_ns):
        reader.read(path)
    reader.close()
    try:
        left = left_in(state)
    except JournalFault as fault:
        reader.history.damage.append(str(fault))
        return reader.history
    orders = [f"order {order.order_id}" for order in left.working]
    creates = [f"create {each.order.client_order_id}" for each in left.open_intents]
    reader.history.may_rest = orders + creates
    return reader.history


def _end_of(paths: list[Path]) -> int:
    """Time of the last entry; 0 without one."""
    for path in reversed(paths):
        at_ns = 0
        try:
            for entry in read_segment(path).entries():
                at_ns = entry.at_ns
        except JournalFault:
            continue
        if at_ns:
            return at_ns
    return 0


def _since(paths: list[Path], since_ns: int) -> list[Path]:
    """The segments that hold entries from then on, oldest first."""
    for place in range(len(paths) - 1, 0, -1):
        try:
            first = next(iter(first_entries(paths[place], 1)), None)
        except JournalFault:
            continue
        if first is not None and first.at_ns <= since_ns:
            return paths[place:]
    return paths


class _HistoryReader:
    def __init__(self, since_ns: int) -> None:
        self.history = JournalHistory(since_ns=since_ns)
        self._notes: dict[str, NoteCount] = {}
        self._findings: dict[str, OpenFinding] = {}
        self._heard_ns: int | None = None

    def read(self, path: Path) -> None:
        damage = self.history.damage
        try:
            segment = read_segment(path)
            for entry in segment.entries():
                self._follow(entry)
            for entry in segment.salvaged():
                self._follow(entry)
        except JournalFault as fault:
            damage.append(str(fault))
            return
        if segment.damaged_at is not None:
            damage.append(f"{path}: journal damaged at byte {segment.damaged_at}")

    def close(self) -> None:
        history = self.history
        if self._heard_ns is not None and not history.ended:
            self._silence("channel", self._heard_ns, history.until_ns)
        history.notes = sorted(self._notes.values(), key=lambda each: each.last_ns)
        history.findings = [*self._findings.values()]

    def _follow(self, entry: Entry) -> None:
        message, history, at_ns = entry.message, self.history, entry.at_ns
        if isinstance(message, m.Started):
            if history.until_ns:
                self._silence("bot", history.until_ns, at_ns)
            self._heard_ns = None
            self._findings.clear()
            history.ended = False
            history.starts += at_ns >= history.since_ns
        elif isinstance(message, _HEARD):
            if self._heard_ns is not None:
                self._silence("channel", self._heard_ns, at_ns)
            self._heard_ns = at_ns
        elif isinstance(message, m.Noted):
            self._on_note(message, at_ns)
        elif isinstance(message, m.DrainComplete):
            history.ended = not (message.left or message.unknown or message.unshown)
        history.until_ns = at_ns
        if at_ns < history.since_ns:
            return
        if isinstance(message, m.Response):
            if isinstance(message.answer, m.Rejected):
                code = message.answer.code or "not sent"
                history.refused[code] = history.refused.get(code, 0) + 1
            history.unanswered += isinstance(message.answer, m.Unknown)
        elif (deed := _deed_of(message)) is not None:
            history.timeline.append(TimelineEntry(at_ns, *deed))

    def _silence(self, what: str, from_ns: int, until_ns: int) -> None:
        if until_ns - from_ns > FEED_SILENT_NS and until_ns >= self.history.since_ns:
            self.history.silent.append(SilentPeriod(what, from_ns, until_ns))

    def _on_note(self, note: m.Noted, at_ns: int) -> None:
        text = note_text(note)
        self._findings.pop(note.name.removesuffix("_cleared"), None)
        if note.name in FINDINGS:
            self._findings[note.name] = OpenFinding(note.name, at_ns, text)
        if note.level not in _LEVELS or at_ns < self.history.since_ns:
            return
        count = self._notes.setdefault(
            note.name, NoteCount(note.name, note.level, 0, at_ns, at_ns, text)
        )
        count.count += 1
        count.last_ns, count.text, count.level = at_ns, text, note.level


def note_text(note: m.Noted) -> str:
    """What a note says, without its name."""
    fields = note.fields
    said = next((str(fields[name]) for name in _TEXTS if fields.get(name)), "")
    return said or " ".join(f"{name}={value}" for name, value in fields.items())


def _deed_of(message: m.Event | m.Effect) -> tuple[str, str] | None:
    """Who did what, of an entry that somebody's decision made."""
    match message:
        case m.Started(latched=latched):
            return "bot", f"started, latched: {latched}" if latched else "started"
        case m.StopRequested(reason=reason):
            return "operator", f"stop: {reason}"
        case m.PauseRequested(reason=reason):
            return "operator", f"pause: {reason}"
        case m.FlattenRequested(reason=reason):
            return "operator", f"flatten: {reason}"
        case m.ReduceRequested(reason=reason, size_divisor=divisor):
            return "operator", f"reduce sizes to 1/{divisor}: {reason}"
        case m.ExitRequested(event=event, reason=reason):
            return "operator", f"exit {event}: {reason}"
        case m.ResumeRequested(reason=reason):
            return "operator", f"resume: {reason}" if reason else "resume"
        case m.LatchSet(reason=reason):
            who = "reaper" if reason.startswith("reaper:") else "operator"
            return who, f"latch: {reason}"
        case m.LatchCleared(looked=True, reason=reason):
            return "operator", f"reset: {reason}" if reason else "reset"
        case m.LatchCleared():
            return "bot", "the latch file can be read again: nothing is latched"
        case m.Latched(reason=reason, by=by):
            return "bot", f"latched by {by.value}: {reason}"
        case m.Reconfigured(number=number, changed=changed):
            return "operator", f"configuration {number}: {', '.join(changed) or 'nothing changed'}"
        case m.ConfigRefused(why=why):
            return "operator", f"configuration refused: {why}"
        case m.JournalFailed(reason=reason):
            return "bot", f"no new orders, the journal fails: {reason}"
        case m.DrainComplete(left=left, unknown=unknown) if left or unknown:
            return "bot", f"stopped with orders left: {', '.join((*left, *unknown))}"
        case m.DrainComplete(unshown=True):
            return "bot", "stopped, and no list shows that nothing rests"
        case m.DrainComplete():
            return "bot", "stopped, nothing rests"
        case _:
            return None
