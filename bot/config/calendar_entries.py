"""The calendar of the configuration: its dated entries, and the events of its .ics files (RFC 5545,
single events with a time)."""

import datetime
import re
import zoneinfo
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from bot.config.diff import KeyRow
from bot.config.secrets import file_in
from bot.config.sections import LIVE, CalendarPart, CalendarState
from bot.config.strict_yaml import Fault, YamlText
from bot.core.settings import NS_PER_HOUR, CalendarEntry
from bot.core.trading_state import NORMAL_WIDTH_PCT, TradingState
from bot.io.state.atomic_file import FILE_BYTES_MAX
from venue.wire import instant
from venue.wire.instant import NS_PER_MS
from venue.wire.names import fold_ticker, is_path_segment

NAME_MAX: Final = 80
"""Characters of an entry's name."""

INSTANT: Final = "an instant of RFC 3339, such as 2027-01-28T21:00:00Z"
_START: Final = "a date and time, in UTC (20270128T210000Z) or with a TZID"
_SHOWN_MAX: Final = 60

_FOLD: Final = re.compile(r"[ \t]")
_PROPERTY: Final = re.compile(r'([A-Za-z0-9-]+)((?:;(?:"[^"]*"|[^":])*)?):(.*)', re.ASCII)
_ZONE: Final = re.compile(r';TZID="?([^";:,]+)"?', re.ASCII | re.IGNORECASE)
_TIME: Final = re.compile(r"[0-9]{8}T[0-9]{6}(Z?)", re.ASCII)
_ESCAPED: Final = re.compile(r"\\([\\;,nN])")
_REPEATS: Final = ("RRULE", "RDATE")


class CalendarContent(msgspec.Struct, frozen=True):
    """The entries in the order of the file. rows: a row for each event of an .ics file, for the
    digest and for comparisons."""

    entries: tuple[CalendarEntry, ...] = ()
    rows: tuple[KeyRow, ...] = ()


class IcsEvent(NamedTuple):
    """A single event of an .ics file."""

    at_ns: int
    name: str


def read_calendar(
    parts: Sequence[CalendarPart], source: YamlText
) -> tuple[CalendarContent, list[Fault]]:
    """The calendar of a checked file, its .ics files read; and all faults."""
    entries: list[CalendarEntry] = []
    rows: list[KeyRow] = []
    faults: list[Fault] = []
    for number, part in enumerate(parts):
        wrong = list(_faults_of(part))
        events: list[IcsEvent] = []
        if part.file is not None and part.at is None:
            events, unread = _read_file(file_in(source.path.parent, part.file))
            wrong += [("file", f"{part.file!r}{text}") for text in unread]
            line = source.line_of(("calendar", number, "file"))
            rows += [
                KeyRow(
                    f"calendar.{number}.file.{place}",
                    f"{instant.second_of(at_ns)} {name}",
                    line,
                    LIVE,
                )
                for place, (at_ns, name) in enumerate(events)
            ]
        elif part.at is not None and not wrong:
            events = [IcsEvent(instant.to_ns(part.at), part.name or "")]
        for key, text in wrong:
            line = source.line_of(("calendar", number, key))
            faults.append(Fault(line, f"calendar.{number}.{key}: {text}"))
        if not wrong:
            entries += [_entry(part, event) for event in events]
    return CalendarContent(tuple(entries), tuple(rows)), faults


def _entry(part: CalendarPart, event: IcsEvent) -> CalendarEntry:
    return CalendarEntry(
        at_ns=event.at_ns,
        name=event.name,
        event_ticker=None if part.event is None else fold_ticker(part.event),
        before_ns=part.before_ms * NS_PER_MS,
        after_ns=part.after_ms * NS_PER_MS,
        state=TradingState(part.state.value),
        size_divisor=part.size_divisor,
        width_pct=part.width_pct,
        variance_ns=part.variance_hours * NS_PER_HOUR,
    )


def _faults_of(part: CalendarPart) -> Iterator[tuple[str, str]]:
    """The key of each fault, and its text."""
    if (part.at is None) == (part.file is None):
        yield "at", "exactly one of at and file is wanted"
    elif part.at is not None:
        if not is_instant(part.at):
            yield "at", f"{part.at[:_SHOWN_MAX]!r}; accepted: {INSTANT}"
        name = part.name or ""
        if not name.strip() or not name.isprintable() or len(name) > NAME_MAX:
            shown = repr(name[:_SHOWN_MAX]) if part.name is not None else "missing"
            yield "name", f"{shown}; accepted: 1 to {NAME_MAX} characters on one line"
    elif part.name is not None:
        yield "name", "not with file, whose events have their own"
    if part.event is not None and not is_path_segment(part.event):
        yield "event", f"{part.event[:_SHOWN_MAX]!r}; accepted: letters, digits, dots and hyphens"
    if part.variance_hours:
        return
    if not part.before_ms and not part.after_ms:
        yield "after_ms", "0, and before_ms too: it would never restrict; accepted: one above 0"
    elif part.state is CalendarState.ACTIVE and part.width_pct == NORMAL_WIDTH_PCT:
        accepted = "another, or a width_pct above 100, or variance_hours above 0"
        yield "state", f"'active': it would change nothing; accepted: {accepted}"


def is_instant(text: str) -> bool:
    """True for a text that INSTANT describes."""
    try:
        instant.from_ns(instant.to_ns(text))
    except (ValueError, OverflowError):
        return False
    return True


# --- .ics -----------------------------------------------------------------------------------------


def _read_file(path: Path) -> tuple[list[IcsEvent], list[str]]:
    """The events of an .ics file, and its faults, each as the end of a text that names the file."""
    try:
        with path.open("rb") as file:
            raw = file.read(FILE_BYTES_MAX + 1)
    except OSError as fault:
        return [], [f" cannot be read: {fault.strerror}"]
    if len(raw) > FILE_BYTES_MAX:
        return [], [f" is longer than {FILE_BYTES_MAX} bytes"]
    try:
        events, faults = read_ics(raw.decode("utf-8-sig"))
    except UnicodeDecodeError as fault:
        events, faults = [], [Fault(1 + raw.count(b"\n", 0, fault.start), "not UTF-8 text")]
    return events, [f", line {fault.line}: {fault.text}" for fault in faults]


class _Property(NamedTuple):
    line: int
    params: str
    value: str


def read_ics(text: str) -> tuple[list[IcsEvent], list[Fault]]:
    """The single events of an .ics file, but for cancelled ones; and all faults. A day without a
    time and an event that repeats are faults: neither says when to stop quoting."""
    events: list[IcsEvent] = []
    faults: list[Fault] = []
    inside: list[str] = []
    properties: dict[str, _Property] = {}
    for line, content in _unfolded(text):
        match = _PROPERTY.fullmatch(content)
        name, value = ("", "") if match is None else (match[1].upper(), match[3])
        if match is None or (not inside and (name, value.upper()) != ("BEGIN", "VCALENDAR")):
            accepted = "BEGIN:VCALENDAR" if not inside else "NAME:VALUE"
            return [], [Fault(line, f"{content[:_SHOWN_MAX]!r}; accepted: {accepted}")]
        if name == "BEGIN":
            inside.append(value.upper())
            if value.upper() == "VEVENT":
                properties = {}
        elif name == "END":
            began = inside.pop()
            if value.upper() != began:
                return [], [Fault(line, f"{content[:_SHOWN_MAX]!r}; accepted: END:{began}")]
            if began == "VEVENT":
                _add_event(properties, line, events, faults)
        elif inside[-1] == "VEVENT":
            properties[name] = _Property(line, match[2], value)
    if inside or not text.strip():
        missing = f"END:{inside[-1]}" if inside else "BEGIN:VCALENDAR"
        faults.append(Fault(1 + text.count("\n"), f"ends here; accepted: {missing} before"))
    return events, faults


def _unfolded(text: str) -> Iterator[tuple[int, str]]:
    """Each content line with the number of its first line; blank ones are left out."""
    began, content = 1, ""
    for number, line in enumerate(re.split(r"\r?\n", text), 1):
        if _FOLD.match(line):
            content += line[1:]
            continue
        if content:
            yield began, content
        began, content = number, line
    if content:
        yield began, content


def _add_event(
    properties: dict[str, _Property], end: int, events: list[IcsEvent], faults: list[Fault]
) -> None:
    """Add a VEVENT that ends on this line, or its fault."""
    status = properties.get("STATUS")
    if status is not None and status.value.upper() == "CANCELLED":
        return
    for name in _REPEATS:
        if name in properties:
            text = f"{name}: the event repeats; accepted: single events"
            faults.append(Fault(properties[name].line, text))
            return
    start = properties.get("DTSTART")
    if start is None:
        faults.append(Fault(end, f"DTSTART: missing; accepted: {_START}"))
        return
    at_ns = _start_ns(start)
    if at_ns is None:
        shown = f"{start.params}:{start.value}"[:_SHOWN_MAX]
        faults.append(Fault(start.line, f"DTSTART{shown}; accepted: {_START}"))
        return
    summary = properties.get("SUMMARY")
    events.append(IcsEvent(at_ns, _summary("" if summary is None else summary.value)))


def _start_ns(start: _Property) -> int | None:
    """The instant of a DTSTART; None for one that is not one instant, or of an unknown zone."""
    match, zone = _TIME.fullmatch(start.value), _ZONE.search(start.params)
    if match is None or bool(match[1]) is (zone is not None):
        return None
    try:
        local = datetime.datetime.strptime(start.value[:15], "%Y%m%dT%H%M%S")
        tz = datetime.UTC if zone is None else zoneinfo.ZoneInfo(zone[1])
        in_utc = local.replace(tzinfo=tz).astimezone(datetime.UTC)
    except (ValueError, OverflowError, OSError, zoneinfo.ZoneInfoNotFoundError):
        return None
    return instant.to_ns(in_utc.isoformat())


def _summary(text: str) -> str:
    """A SUMMARY as a name on one line."""
    plain = _ESCAPED.sub(lambda found: " " if found[1] in "nN" else found[1], text)
    shown = "".join(each if each.isprintable() else " " for each in plain)
    return " ".join(shown.split())[:NAME_MAX] or "event without a summary"
