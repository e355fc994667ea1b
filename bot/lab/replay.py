"""Replays journalled runs: a fresh trader gets the same events, and its effects must be the same
bytes.

Series of one process share a request budget and a loss limit, so they are replayed together. The
loop takes turns, each ended by a `Tick`; the instants of all ticks are the order of all turns.
"""

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, Final, cast

import msgspec

from bot.core import messages as m
from bot.core.reconfigure import Remake
from bot.core.recorder import TapeRecorder
from bot.core.trader import Trader
from bot.io.journal.records import Entry, JournalFault, entry_of
from bot.io.run.watchdog import Retold, interruptions
from bot.lab.session import (
    EVENTS,
    TO_THE_END,
    Place,
    Placed,
    Run,
    Step,
    Until,
    beside_of,
    is_recording,
    must_be_of_this_version,
    payloads_of,
    runs,
    version_of,
)
from bot.strategy.api import Strategy
from venue.wire.instant import NS_PER_SECOND
from venue.wire.names import MarketId, Ticker

MakeStrategy = Callable[[], Strategy]
Payload = tuple[str, int, bytes]  # an entry as bytes: segment, number there from 1, content
_Event = tuple[str, int, Entry, int]  # segment, number there, entry, number among the events
_EVENTS_SHOWN: Final = 5
_TOLD_EVERY: Final = 500  # events between two calls for the progress
_FRAMES: Final = frozenset((m.BookUpdate, m.Trade, m.ImpliedValueSeen))
_SHADOW_NOTES: Final = frozenset(("shadow_quotes", "shadow_stopped"))
_ENCODER: Final = msgspec.msgpack.Encoder()
_WAKE: Final = b"\xa4type\xa6WakeAt"
_WAKE_AT: Final = slice(11, 11 + len(_WAKE))
"""Where a `WakeAt` shows its kind, after an instant of nine bytes. Every tick has one, and it is
not compared."""


class Difference(msgspec.Struct, frozen=True):
    nth: int  # of those of its event, from 1
    then: m.Effect | None  # as the journal has it
    now: m.Effect | None  # as it is made again; None on the side that has no more
    raised: str  # the trader's exception now, else empty
    fields: tuple[str, ...]  # the paths in which the two differ
    frame: Placed | None  # the newest that had arrived, of its market where the effect is about one
    before: tuple[Placed, ...]  # the last events, that of the effect at the end


class DifferenceFault(JournalFault):
    def __init__(self, run: Run, difference: Difference) -> None:
        super().__init__(
            f"{run.paths[0].parent}: with this program the run takes another course, from event "
            f"{difference.before[-1].number} on (`bot replay` shows where); use the program that "
            "wrote it"
        )
        self.difference = difference


class Replayed(msgspec.Struct, frozen=True):
    nonce: str
    segments: tuple[str, ...]
    version: int  # of its journal
    events: int  # events, effects: compared and found equal, up to `until_ns`
    effects: int
    until_ns: int
    cpu_s: float  # processor time of it
    phase: str
    ended: bool  # True if the run had come to its end
    notes: bool  # True if they were compared
    unwritten: int  # effects of the last event that the journal does not hold
    damage: str  # why the journal could not be read any further, else empty
    difference: Difference | None

    @property
    def events_per_second(self) -> int:
        return round(self.events / self.cpu_s) if self.cpu_s else 0


class Replayer:
    def __init__(
        self,
        run: Run,
        remake: Remake,
        *,
        notes: bool = False,
        around: Callable[[Strategy], Strategy] = lambda strategy: strategy,
        first: Trader | None = None,
        others: Callable[[int], bool] | None = None,
    ) -> None:
        """notes: True to compare them, too. around: wraps each strategy. first: the trader whose
        budgets and account this one shares. others: takes the turns of the other series before an
        instant; False where their journals end earlier. Raises JournalFault for an earlier version,
        and when the strategy cannot be made."""
        configured = run.started.configured
        if not is_recording(run):
            must_be_of_this_version(run)
        if configured is None:
            raise JournalFault(f"{run.paths[0]}: does not say what its run was configured with")
        self.run = run
        self.events = self.effects = 0  # compared so far
        self.until_ns = 0  # the latest instant of them
        self.entries = 0  # read so far
        self.finished = False  # True once the journal has shown the end of the run
        self.notes = notes
        self._others = others
        self._begun = False
        self._at_ns = 0
        self._event: _Event | None = None  # the newest, and what the trader made of it
        self._effects: list[m.Effect] = []
        self._left_out = frozenset((m.WakeAt,) if notes else (m.WakeAt, m.Noted))
        self._made: list[m.Effect] = []  # of them those that are compared
        self._compared = 0
        self._raised = ""
        self._before: deque[_Event] = deque(maxlen=_EVENTS_SHOWN)
        self._newest: _Event | None = None
        self._books: dict[MarketId, _Event] = {}
        self.lives: TapeRecorder | Trader
        if is_recording(run):
            self.lives = TapeRecorder(configured.settings)
            return
        interrupted, asked_for = _known_ahead(run.paths)
        calls: dict[Ticker, int] = {}

        def retold(make: MakeStrategy) -> MakeStrategy:
            return lambda: around(Retold(make, interrupted, calls))

        settings = configured.settings
        out = None if first is None else first.out
        self.lives = Trader(
            msgspec.structs.replace(settings, series_ticker=asked_for or settings.series_ticker),
            retold(strategy_of(remake, configured.strategy)),
            None if out is None else out.purse_of(m.Key.TRADE),
            None if out is None else out.purse_of(m.Key.READ),
            None if first is None else first.quoting.weighing.account,
            lambda choice: retold(remake(choice)),
            None if out is None else out.purse_of(m.Key.STANDBY),
        )

    @property
    def trader(self) -> Trader:
        """The trader of the run. Raises JournalFault for a recording, which had none."""
        if isinstance(self.lives, TapeRecorder):
            raise JournalFault(f"{self.run.paths[0].parent}: a recording: nothing was traded in it")
        return self.lives

    @property
    def unwritten(self) -> int:
        return len(self._made) - self._compared

    def steps(self, until: Until = TO_THE_END) -> Iterator[Step]:
        """The events in order, each after its effects were compared and before the trader receives
        a later one. Raises DifferenceFault, and JournalFault for a damaged journal."""
        for event in self.events_compared(until):
            yield Step(_placed(event), tuple(self._effects))

    def events_compared(self, until: Until = TO_THE_END) -> Iterator[_Event]:
        """As `steps`, and faster."""
        ends = until is not TO_THE_END
        for segment, number, payload in self._payloads():
            self.entries += 1
            if payload[_WAKE_AT] == _WAKE:
                continue
            entry = self._entry(segment, payload)
            if entry is None:
                continue
            is_past = ends and until.has_passed(
                entry.at_ns, self.events + 1, Place(segment, number)
            )
            if self.finished or is_past:
                self._made, self._compared = [], 0
                break
            if self._event is not None:
                yield self._event
            self._receive(segment, number, entry)
        if self._event is not None:
            yield self._event

    def turns(self) -> Iterator[int]:
        """Take the turns of the loop; yields the instant of each before. Raises JournalFault."""
        for at_ns, turn in turns_of(payloads_of(self.run.paths)):
            yield at_ns
            for segment, number, payload in turn:
                entry = self._entry(segment, payload)
                if entry is not None and not self.finished:
                    self._receive(segment, number, entry)

    def _payloads(self) -> Iterator[Payload]:
        payloads = payloads_of(self.run.paths)
        if self._others is None:
            yield from payloads
            return
        for at_ns, turn in turns_of(payloads):
            if not self._others(at_ns):
                return
            yield from turn

    def _entry(self, segment: str, payload: bytes) -> Entry | None:
        """The entry of an event; None for an effect, which is compared. Raises DifferenceFault."""
        # Compared as bytes: an effect is decoded only where it differs.
        if self._compared < len(self._made) and payload == _ENCODER.encode(
            Entry(self._at_ns, self._made[self._compared])
        ):
            self._count()
            return None
        entry = entry_of(payload, segment)
        message = entry.message
        self._begun = self._begun or type(message) is m.Started
        if not self._begun:
            return None
        if type(message) in EVENTS:
            if self.unwritten:
                raise self._differs(None)
            return entry
        self._compare(cast(m.Effect, message))
        return None

    def _receive(self, segment: str, number: int, entry: Entry) -> None:
        event, at_ns = cast(m.Event, entry.message), entry.at_ns
        self._at_ns = at_ns
        self.events += 1
        self.until_ns = max(self.until_ns, at_ns)
        self._event = here = (segment, number, entry, self.events)
        self._before.append(here)
        if type(event) in _FRAMES:
            self._newest = here
            if type(event) is m.BookUpdate:
                self._books[event.market_id] = here
        self._compared, self._raised = 0, ""
        try:
            self._effects = self.lives.receive(event, at_ns)
        except Exception as fault:  # noqa: BLE001 - the boundary that the loop had then
            self._effects, self._raised = [], f"{type(fault).__name__}: {fault}"
        left_out = self._left_out
        self._made = [x for x in self._effects if type(x) not in left_out]

    def _count(self) -> None:
        self.finished = self.finished or type(self._made[self._compared]) is m.DrainComplete
        self._compared += 1
        self.effects += 1

    def _compare(self, then: m.Effect) -> None:
        """An effect that is not written byte for byte as it is now. Raises DifferenceFault."""
        if isinstance(then, m.WakeAt):
            return
        if isinstance(then, m.Noted) and (not self.notes or then.name in _SHADOW_NOTES):
            return
        if self.unwritten:
            # A field that was added since within this version is not a difference.
            if _ENCODER.encode(then) != _ENCODER.encode(self._made[self._compared]):
                raise self._differs(then)
            self._count()
        # A drain that took too long: the loop gave up and wrote what the trader had left.
        elif then == self.lives.left_over():
            self.finished = True
        else:
            raise self._differs(then)

    def _differs(self, then: m.Effect | None) -> DifferenceFault:
        now = self._made[self._compared] if self.unwritten else None
        about = {_market_of(each) for each in (then, now)} - {None}
        frame = self._newest
        if len(about) == 1:
            frame = self._books.get(cast(MarketId, about.pop()), frame)
        difference = Difference(
            self._compared + 1,
            then,
            now,
            self._raised,
            _differing(then, now),
            None if frame is None else _placed(frame),
            tuple(map(_placed, self._before)),
        )
        return DifferenceFault(self.run, difference)


def replay(
    lived: Replayer,
    until: Until = TO_THE_END,
    progress: Callable[[int], None] = lambda _entries: None,
) -> Replayed:
    """Replay a run up to the first difference. progress: called with the entries done."""
    began_s = time.process_time()
    difference, damage = None, ""
    try:
        for event in lived.events_compared(until):
            if event[-1] % _TOLD_EVERY == 0:
                progress(lived.entries)
    except DifferenceFault as fault:
        difference = fault.difference
    except JournalFault as fault:
        damage = str(fault)
    return Replayed(
        lived.run.started.boot_nonce,
        tuple(path.name for path in lived.run.paths),
        version_of(lived.run),
        lived.events,
        lived.effects,
        lived.until_ns,
        time.process_time() - began_s,
        str(lived.lives.phase),
        lived.finished,
        lived.notes,
        lived.unwritten if difference is None and not lived.finished else 0,
        damage,
        difference,
    )


def _placed(event: _Event) -> Placed:
    segment, at, entry, number = event
    return Placed(Place(segment, at), entry, number)


_BEAT: Final = m.Tick.__name__.encode()


def turns_of(payloads: Iterable[Payload]) -> Iterator[tuple[int, list[Payload]]]:
    """Entries by turns of the loop, each with the instant of its last entry, a `Tick`."""
    turn: list[Payload] = []
    for payload in payloads:
        turn.append(payload)
        if _BEAT in payload[2]:
            entry = entry_of(payload[2], payload[0])
            if type(entry.message) is m.Tick:
                yield entry.at_ns, turn
                turn = []
    if turn:
        yield entry_of(turn[-1][2], turn[-1][0]).at_ns, turn


def strategy_of(remake: Remake, choice: m.StrategyChoice) -> MakeStrategy:
    """The maker of a run's strategy. Raises JournalFault when there is none."""
    try:
        return remake(choice)
    except Exception as fault:  # noqa: BLE001 - the plugin boundary: whatever finding one raises
        text = (
            f"the run had strategy {choice.name}, which cannot be made: "
            f"{type(fault).__name__}: {fault}"
        )
        # A path is as the configuration has it, whose folder the journal does not name.
        if ".py" in choice.name and not Path(choice.name).is_absolute():
            text += (
                "; its path starts from the configuration's folder: ask from there, or name that "
                "file (--config)"
            )
        raise JournalFault(text) from None


_OVERRAN: Final = m.StrategyOverran.__name__.encode()
_READS_SERIES: Final = m.ReadSeries.__name__.encode()


def _known_ahead(paths: Sequence[Path]) -> tuple[dict[Ticker, frozenset[int]], Ticker | None]:
    """The interrupted strategy calls by event, and the series that the run asked for, if any (a
    tape brings its own)."""
    found: list[m.Event | m.Effect] = []
    with suppress(JournalFault):  # up to damage, to which the replay comes by itself
        for segment, _, payload in payloads_of(paths):
            if _OVERRAN in payload or _READS_SERIES in payload:
                found.append(entry_of(payload, segment).message)
    sent = [each.request for each in found if isinstance(each, m.Send)]
    asked = [each.series_ticker for each in sent if isinstance(each, m.ReadSeries)]
    return interruptions(found), asked[0] if asked else None


def _market_of(effect: m.Effect | None) -> MarketId | None:
    """The market of a create or a read of a book; None of all else."""
    if isinstance(effect, m.Send):
        if isinstance(effect.request, m.Create):
            return effect.request.order.market_id
        if isinstance(effect.request, m.ReadBook):
            return effect.request.market_id
    return None


def _differing(then: m.Effect | None, now: m.Effect | None) -> tuple[str, ...]:
    """The paths of the fields in which two effects differ, with both values; empty if one is
    missing."""
    if then is None or now is None:
        return ()
    return tuple(_unlike("", msgspec.to_builtins(then), msgspec.to_builtins(now)))


def _unlike(path: str, then: Any, now: Any) -> Iterator[str]:
    if isinstance(then, dict) and isinstance(now, dict):
        for key in dict.fromkeys((*then, *now)):
            yield from _unlike(f"{path}.{key}".lstrip("."), then.get(key), now.get(key))
        if then == now and list(then) != list(now):
            yield f"{path or 'fields'}: in another order"
    elif then != now:
        yield f"{path}: {then!r} -> {now!r}"


_BEGAN_WITHIN_NS: Final = 10 * NS_PER_SECOND  # runs of one process began no further apart


def replayer_of(
    run: Run,
    remake: Remake,
    *,
    notes: bool = False,
    around: Callable[[Strategy], Strategy] = lambda strategy: strategy,
) -> Replayer:
    """A run and the other series of its process, ready to be replayed. Arguments and faults as of
    `Replayer`; also raises JournalFault when the journal of another series is not found."""
    if not beside_of(run):
        return Replayer(run, remake, notes=notes, around=around)
    others: list[_OtherSeries] = []
    first: Trader | None = None
    for each in sorted((run, *_runs_beside(run)), key=lambda run: run.begun_ns):
        if each is run:
            take_turns = partial(_take_turns, others)
            made = found = Replayer(
                run, remake, notes=notes, around=around, first=first, others=take_turns
            )
        else:
            made = Replayer(each, remake, first=first)
            others.append(_OtherSeries(made))
        first = first or made.trader
    return found


def _runs_beside(run: Run) -> list[Run]:
    state = run.paths[0].absolute().parent
    try:
        folders = sorted(each for each in state.parent.iterdir() if each != state)
    except OSError as fault:
        raise JournalFault(f"{state.parent}: {fault.strerror}") from None

    def apart_ns(other: Run) -> int:
        return abs(other.begun_ns - run.begun_ns)

    own, together = _series_of(run)
    found: dict[Ticker, Run] = {}
    for folder in folders:
        with suppress(JournalFault):  # no state directory, or of another version
            for each in list(runs(folder)):
                series, all_of_its = _series_of(each)
                is_near = apart_ns(each) <= _BEGAN_WITHIN_NS
                if series != own and all_of_its == together and is_near:
                    found[series] = min(found.get(series, each), each, key=apart_ns)
    missing = [ticker for ticker in beside_of(run) if ticker not in found]
    if missing:
        raise JournalFault(
            f"{run.paths[0]}: this run shared its request bucket with {', '.join(beside_of(run))}, "
            "so it is replayed together with them; no journal of "
            f"{', '.join(missing)} from then is in a folder of {state.parent}"
        )
    return list(found.values())


def _series_of(run: Run) -> tuple[Ticker, frozenset[Ticker]]:
    configured = run.started.configured
    if configured is None:
        return Ticker(""), frozenset()
    series = configured.settings.series_ticker
    return series, frozenset((series, *configured.settings.other_series))


class _OtherSeries:
    """Another series of the process, and the instant of its next turn."""

    def __init__(self, series: Replayer) -> None:
        self.series = series
        self.turns = series.turns()
        self.next_ns = next(self.turns, None)


def _take_turns(others: Sequence[_OtherSeries], at_ns: int) -> bool:
    """Take every turn before an instant, in order. False if a journal ends before it without an end
    of its run. Raises JournalFault."""
    while waiting := [
        (each.next_ns, place)
        for place, each in enumerate(others)
        if each.next_ns is not None and each.next_ns < at_ns
    ]:
        each = others[min(waiting)[1]]
        try:
            each.next_ns = next(each.turns, None)
        except DifferenceFault as fault:  # the difference is none of the run that is asked for
            raise JournalFault(str(fault)) from None
    return all(each.next_ns is not None or each.series.finished for each in others)
