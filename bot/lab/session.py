"""Reads journals: their runs, and the entries of a run with their places.

A run begins a segment with its `Started` and has every segment up to the next run's. Old segments
may be gone, and with them the beginning of a run.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple, get_args

import msgspec

from bot.core import messages as m
from bot.core.recorder import RECORDING
from bot.io.journal.archive import ARCHIVE_MAGIC
from bot.io.journal.journal import (
    first_entries,
    number_of,
    read_journal,
    read_segment,
    segments,
    stands_at,
    version_in,
)
from bot.io.journal.records import MAGIC, READABLE, VERSION, Entry, JournalFault, entry_of
from bot.lab.progress import duration_of, is_whole
from venue.wire.instant import to_ns
from venue.wire.names import Ticker

EVENTS: Final = frozenset(get_args(m.Event))  # a lookup here is ten times cheaper than isinstance

UNCAUSED: Final = (
    m.FeedOpened,
    m.FeedClosed,
    m.FeedAlive,
    m.ImpliedValueSeen,
    m.MalformedFrame,
    m.StopRequested,
    m.PauseRequested,
    m.FlattenRequested,
    m.ReduceRequested,
    m.ExitRequested,
    m.ResumeRequested,
    m.LatchSet,
    m.LatchCleared,
    m.Reconfigured,
    m.OutsideValue,
    m.OutsideValueCleared,
    m.OutsideSourceRead,
)
"""Events that no request of ours caused, without the frames of the market."""

_BEGINS_WITHIN: Final = 64  # the `Started` of a run is among so many first entries of a segment
_FOREVER_NS: Final = 2**63 - 1


_PLACE: Final = re.compile(r"(journal-[0-9]{8,18}\.(?:log|arc)):([0-9]{1,12})", re.ASCII)

UNTIL_HELP: Final = (
    "90s after the start, a time such as 2026-11-21T21:38:43Z, the number of an event, or an entry "
    "such as journal-00000003.log:1234."
)


class UntilFault(ValueError):
    """A text that says no place to stop at."""


class Run(msgspec.Struct, frozen=True):
    paths: tuple[Path, ...]  # its segments, the oldest first
    started: m.Started
    begun_ns: int


class Place(msgspec.Struct, frozen=True):
    """An entry of the journal: its segment, and its number there, from 1."""

    segment: str
    entry: int


class Placed(msgspec.Struct, frozen=True):
    place: Place
    entry: Entry
    number: int  # of the run's events up to it, itself included


class Step(msgspec.Struct, frozen=True):
    placed: Placed
    effects: tuple[m.Effect, ...]  # notes too

    @property
    def at_ns(self) -> int:
        return self.placed.entry.at_ns


class Until(NamedTuple):
    """Where to stop: after the last event that is within all of these."""

    at_ns: int = _FOREVER_NS  # on the bot's clock
    number: int = _FOREVER_NS  # of the run's events, from 1
    place: Place | None = None  # an entry of a segment

    def has_passed(self, at_ns: int, number: int, place: Place) -> bool:
        if self.place is not None:
            here, last = number_of(Path(place.segment)), number_of(Path(self.place.segment))
            if (here, place.entry) > (last, self.place.entry):
                return True
        return at_ns > self.at_ns or number > self.number


TO_THE_END: Final = Until()


# --- the runs of a state directory ----------------------------------------------------------------


def until_named(text: str, run: Run, meant: Sequence[Run] = ()) -> Until:
    """Where to stop, by a text of `UNTIL_HELP`; empty for the end. Raises UntilFault for another
    form, and for a segment that neither the run nor any of `meant` has."""
    if not text:
        return TO_THE_END
    named = _PLACE.fullmatch(text)
    if named is not None:
        paths = [path for each in (meant or (run,)) for path in each.paths]
        if number_of(Path(named[1])) not in [number_of(path) for path in paths]:
            some = f"{paths[0].name} to {paths[-1].name}"
            raise UntilFault(f"{text}: no such segment; replayed are {some}")
        return Until(place=Place(named[1], int(named[2])))
    if is_whole(text):
        return Until(number=int(text))
    try:
        if text[-1:] in "smh" and "T" not in text:
            return Until(at_ns=run.begun_ns + duration_of(text))
        with suppress(ValueError):
            return Until(at_ns=to_ns(text))
    except ValueError as fault:
        raise UntilFault(str(fault)) from None
    raise UntilFault(f"{text}: {UNTIL_HELP}")


def runs(state: Path, named: Path | None = None) -> Iterator[Run]:
    """The runs of a state directory whose beginning is kept, the newest first. named: a segment;
    segments of a later version after it are skipped. Raises JournalFault when there is no readable
    journal."""
    try:
        paths = segments(state)
    except OSError as fault:
        raise JournalFault(f"{state}: {fault.strerror}") from None
    if not paths:
        raise JournalFault(f"{state}: no journal here; name the state directory of a run")
    end = len(paths)
    for place in reversed(range(len(paths))):
        is_behind = named is not None and number_of(paths[place]) > number_of(named)
        if is_behind and version_in(paths[place]) > READABLE[-1]:
            end = place
            continue
        for entry in first_entries(paths[place], _BEGINS_WITHIN):
            if isinstance(entry.message, m.Started):
                yield Run(tuple(paths[place:end]), entry.message, entry.at_ns)
                end = place
                break


def newest_run(state: Path) -> Run:
    """Raises JournalFault when there is none, its beginning is no longer kept, or the journal
    cannot be read."""
    run = next(runs(state), None)
    if run is None:
        refuse_blank(segments(state))
        raise JournalFault(
            f"{state}: the beginning of the newest run is no longer kept; the status page of a "
            "running bot has its account"
        )
    return run


def runs_meant(path: Path, *, every: bool) -> list[Run]:
    """The runs to replay, the oldest first: of a state directory the newest or `every` one; of a
    segment the one it belongs to. Raises JournalFault when there is none or it cannot be read."""
    try:
        is_folder, is_there = path.is_dir(), stands_at(path) is not None
    except OSError as fault:  # such as in the folder of another user
        raise JournalFault(f"{path}: {fault.strerror}") from None
    if is_folder:
        # Where there is none, `newest_run` says so.
        every_one = [*reversed([*runs(path)])] if every else []
        return every_one or [newest_run(path)]
    if number_of(path) < 0:
        return [_alone(path)]
    if not is_there:
        raise JournalFault(f"{path}: no such journal")
    for run in runs(path.parent, path):
        if number_of(path) in [number_of(each) for each in run.paths]:
            return [run]
    refuse_blank([path])
    raise JournalFault(f"{path}: the beginning of its run is no longer kept")


def _alone(path: Path) -> Run:
    if not path.is_file():
        raise JournalFault(f"{path}: neither a state directory nor a journal")
    must_be_segment(path)
    for _, _, payload in payloads_of((path,)):
        entry = entry_of(payload, str(path))
        if isinstance(entry.message, m.Started):
            return Run((path,), entry.message, entry.at_ns)
    raise JournalFault(f"{path}: no run begins here")


def segments_meant(path: Path) -> list[Path]:
    """The segments of a state directory, oldest first, or the one that is named. Raises
    JournalFault when there is none."""
    try:
        found = segments(path) if path.is_dir() else [path]
        there = bool(found) and stands_at(found[0]) is not None
        if there and number_of(found[0]) < 0:
            must_be_segment(path)
    except OSError as fault:  # such as in the folder of another user
        raise JournalFault(f"{path}: {fault.strerror}") from None
    if not there:
        raise JournalFault(f"{path}: no journal here; name the state directory of a run")
    return found


def must_be_segment(path: Path) -> None:
    """Raises JournalFault if the first bytes are not a journal's, and OSError."""
    with path.open("rb") as file:
        if file.read(len(MAGIC)) not in (MAGIC, ARCHIVE_MAGIC):
            raise JournalFault(
                f"{path}: not a journal; wanted is the state directory of a run, or a segment in "
                "it, such as journal-00000001.log"
            )


def refuse_blank(paths: Iterable[Path]) -> None:
    """Raises JournalFault if one of these segments without a run's beginning lacks its head."""
    for path in paths:
        if read_segment(path).head is None:
            raise JournalFault(
                f"{path}: holds nothing whole: it was emptied, or a crash or a full disk left it so"
            )


def version_of(run: Run) -> int:
    return version_in(run.paths[0])


def is_recording(run: Run) -> bool:
    """True if the run only recorded and had no trader."""
    configured = run.started.configured
    return configured is not None and configured.strategy.name == RECORDING


def beside_of(run: Run) -> tuple[Ticker, ...]:
    configured = run.started.configured
    return () if configured is None else configured.settings.other_series


def must_be_of_this_version(run: Run) -> None:
    """Raises JournalFault where an earlier trader had the run: this one would decide otherwise."""
    version = version_in(run.paths[0])
    if version != VERSION:
        raise JournalFault(
            f"{run.paths[0]}: journal version {version}: an earlier trader made this run, and this "
            f"program replays version {VERSION}; use the program that wrote it (`bot version` says "
            "which versions a program has), or compare the writes: `bot replay --writes`"
        )


def entries_of(run: Run) -> int:
    return sum(sum(1 for _ in read_segment(path).payloads()) for path in run.paths)


def payloads_of(paths: Sequence[Path]) -> Iterator[tuple[str, int, bytes]]:
    """Segment, number in it from 1, and payload. Raises JournalFault when one cannot be read, and,
    after the entries before it, for damage."""
    for path in paths:
        segment, name = read_segment(path), path.name
        for number, payload in enumerate(segment.payloads(), 1):
            yield name, number, payload
        if segment.damaged_at is not None:
            raise JournalFault(f"{path}: journal damaged at byte {segment.damaged_at}")


def placed_entries(paths: Sequence[Path], *, from_the_start: bool = True) -> Iterator[Placed]:
    """from_the_start: False for a run whose beginning is no longer kept."""
    begun, number = not from_the_start, 0
    for path in paths:
        for at, entry in enumerate(read_journal(path), 1):
            begun = begun or isinstance(entry.message, m.Started)
            if begun:
                number += type(entry.message) in EVENTS
                yield Placed(Place(path.name, at), entry, number)
