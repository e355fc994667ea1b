"""Lives journalled runs again and stops at the first effect that is another one than then.

The trader is a pure function of its events, so its effects must be those in the journal, to the
byte: requests and timers, notes and the end. Where one is not, the program is another one than
wrote the journal, or something read a clock, drew a random number, or went through a set.

Of a journal of an earlier version the notes are not compared: no answer hangs on them, and another
release may word them otherwise. What a journal cannot tell apart is not called a difference:
effects of the last event that a crash left unwritten; answers that came after the end, which the
loop keeps without giving them to the trader; notes of candidates in the shadow, which change
nothing and are not lived again.
"""

import time
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any, Final, cast

import msgspec

from bot.core import messages as m
from bot.core.observer import Observer
from bot.core.reconfigure import Remake
from bot.core.settings import TraderSettings
from bot.core.trader import Trader
from bot.io.journal.records import Entry, JournalFault, entry_of
from bot.lab.replay.replay import MakeStrategy, no_strategy
from bot.lab.replay.together import relived
from bot.lab.session import (
    EVENTS,
    TO_THE_END,
    Place,
    Run,
    Until,
    is_recording,
    must_be_of_this_version,
    payloads_of,
    version_of,
)
from venue.wire.names import MarketId

EVENTS_SHOWN: Final = 5

TOLD_EVERY: Final = 2_000
"""Entries between two words of how far it is."""

_FRAMES: Final = (m.BookSeen, m.TradeSeen, m.ImpliedValueSeen)
_SHADOW_NOTES: Final = frozenset(("shadow_quotes", "shadow_stopped"))
_ENCODER: Final = msgspec.msgpack.Encoder()


class Happened(msgspec.Struct, frozen=True):
    """An event of the run: where it stands, its number among the events, when it arrived."""

    place: Place
    number: int
    at_ns: int
    event: m.Event


class Difference(msgspec.Struct, frozen=True):
    """The first effect that is another one. nth: of those of its event, from 1. then: as the
    journal has it; now: as it is made again; None on the side that has no more. raised: what the
    trader raised now, else empty. fields: the paths in which the two differ. frame: the newest that
    had arrived, of its market where the effect is about one. before: the last events, that of the
    effect at the end."""

    nth: int
    then: m.Effect | None
    now: m.Effect | None
    raised: str
    fields: tuple[str, ...]
    frame: Happened | None
    before: tuple[Happened, ...]


class Replayed(msgspec.Struct, frozen=True):
    """What came of a run. version: of its journal. events, effects: compared and found equal, up to
    `until_ns`. cpu_s: processor time of it. ended: whether the run had come to its end. notes:
    whether they were compared. unwritten: effects of the last event that the journal does not hold.
    damage: why the journal could not be read any further, else empty."""

    nonce: str
    segments: tuple[str, ...]
    version: int
    events: int
    effects: int
    until_ns: int
    cpu_s: float
    phase: str
    ended: bool
    notes: bool
    unwritten: int
    damage: str
    difference: Difference | None

    @property
    def events_per_second(self) -> int:
        """Events a second of processor time."""
        return round(self.events / self.cpu_s) if self.cpu_s else 0


# --- the runs that are meant ----------------------------------------------------------------------


_BEAT: Final = m.Beat.__name__.encode()


def _entry(payload: tuple[str, int, bytes]) -> Entry:
    return entry_of(payload[2], payload[0])


def _beat_ns(payload: tuple[str, int, bytes]) -> int | None:
    """The instant of a `Beat`, with which a turn of the loop ends; None for any other entry."""
    if _BEAT not in payload[2]:
        return None
    entry = _entry(payload)
    return entry.at_ns if isinstance(entry.message, m.Beat) else None


# --- one run --------------------------------------------------------------------------------------


class Again:
    """One run, lived again and compared. Make it, then `live` once."""

    def __init__(
        self,
        run: Run,
        settings: TraderSettings | None,
        make_strategy: MakeStrategy | None,
        remake: Remake | None,
        *,
        notes: bool = True,
    ) -> None:
        """settings, make_strategy: what the run was made with, where its journal does not say so;
        None: not known. remake: makes the strategies that the journal names. notes: whether they
        are compared, too.

        Raises JournalFault for a run of an earlier version, when it is not known what the run was
        made with, when that cannot be made, and when a journal of the series that it traded beside
        is missing.
        """
        if not is_recording(run):
            must_be_of_this_version(run)
        configured = run.started.configured
        if configured is not None and remake is not None:
            settings = configured.settings
        if settings is None or (make_strategy is None and (configured is None or remake is None)):
            raise JournalFault(
                f"{run.paths[0]}: a journal of version {version_of(run)} that does not say what "
                "its run was configured with; name the file with --config"
            )
        self._run = run
        self._notes = notes
        self._lives: Observer | Trader
        self._others: Callable[[int], bool] | None = None
        if is_recording(run):
            self._lives = Observer(settings)
        else:
            again = relived(run, settings, make_strategy or no_strategy, remake=remake)
            self._lives = again.trader
            self._others = again.others
        self._made: list[m.Effect] = []
        self._at = 0
        self._raised = ""
        self._ended = False
        self._events = self._effects = self._until_ns = 0
        self._before: deque[Happened] = deque(maxlen=EVENTS_SHOWN)
        self._newest: Happened | None = None
        self._frames: dict[MarketId, Happened] = {}

    @property
    def trader(self) -> Trader:
        """The trader that lives it. Raises JournalFault for a recording, which had none."""
        if isinstance(self._lives, Observer):
            raise JournalFault(
                f"{self._run.paths[0].parent}: a recording: nothing was traded in it"
            )
        return self._lives

    def live(
        self, until: Until = TO_THE_END, told: Callable[[int], None] = lambda _entries: None
    ) -> Replayed:
        """Live it, up to the first difference at most. told: now and then how many entries are
        done. Raises nothing: damage is told in the answer."""
        began_s = time.process_time()
        difference, damage = None, ""
        try:
            difference = self._compare(until, told)
        except JournalFault as fault:
            damage = str(fault)
        return Replayed(
            self._run.started.boot_nonce,
            tuple(path.name for path in self._run.paths),
            version_of(self._run),
            self._events,
            self._effects,
            self._until_ns,
            time.process_time() - began_s,
            str(self._lives.phase),
            self._ended,
            self._notes,
            len(self._made) - self._at if difference is None and not self._ended else 0,
            damage,
            difference,
        )

    def _compare(self, until: Until, told: Callable[[int], None]) -> Difference | None:
        """Every entry, in order; the first difference, or None."""
        encode, at_ns, begun = _ENCODER.encode, 0, False
        for done, (name, number, whole) in enumerate(self._payloads()):
            if done % TOLD_EVERY == 0:
                told(done)
            # Compared as bytes: an effect is decoded only where it is another one.
            if self._at < len(self._made) and whole == encode(Entry(at_ns, self._made[self._at])):
                self._same()
                continue
            entry = entry_of(whole, name)
            message = entry.message
            begun = begun or type(message) is m.Started
            if not begun:
                continue
            if type(message) not in EVENTS:
                if not self._is_same(cast(m.Effect, message)):
                    return self._difference(cast(m.Effect, message))
                continue
            # Answers after the end are kept by the loop and not given to the trader.
            if self._at < len(self._made) and not (self._ended and not self._at):
                return self._difference(None)
            place = Place(name, number)
            if until.has_passed(entry.at_ns, self._events + 1, place):
                self._made, self._at = [], 0
                return None
            at_ns = entry.at_ns
            self._receive(Happened(place, self._events + 1, at_ns, cast(m.Event, message)))
        return None

    def _payloads(self) -> Iterator[tuple[str, int, bytes]]:
        """The entries of the run, each once the other series of its process have done what they did
        before it; to where the journals of all of them reach."""
        payloads = payloads_of(self._run.paths)
        if self._others is None:
            yield from payloads
            return
        turn: list[tuple[str, int, bytes]] = []
        for payload in payloads:
            turn.append(payload)
            beat_ns = _beat_ns(payload)
            if beat_ns is not None:
                if not self._others(beat_ns):
                    return
                yield from turn
                turn = []
        if turn and self._others(_entry(turn[-1]).at_ns):
            yield from turn

    def _receive(self, happened: Happened) -> None:
        self._events = happened.number
        self._until_ns = max(self._until_ns, happened.at_ns)
        self._before.append(happened)
        event = happened.event
        if isinstance(event, _FRAMES):
            self._newest = happened
            if isinstance(event, m.BookSeen):
                self._frames[event.market_id] = happened
        self._at, self._raised = 0, ""
        try:
            self._made = self._lives.receive(event, happened.at_ns)
        except Exception as fault:  # noqa: BLE001 - the boundary that the loop had then
            self._made, self._raised = [], f"{type(fault).__name__}: {fault}"
        if not self._notes:
            self._made = [each for each in self._made if not isinstance(each, m.Noted)]

    def _same(self) -> None:
        self._ended = self._ended or type(self._made[self._at]) is m.Finished
        self._at += 1
        self._effects += 1

    def _is_same(self, then: m.Effect) -> bool:
        """Whether an effect that is not written byte for byte as it is now is still the same."""
        if isinstance(then, m.Noted) and (not self._notes or then.name in _SHADOW_NOTES):
            return True
        if self._at < len(self._made):
            # A field that an earlier version did not write is not a difference.
            if _ENCODER.encode(then) == _ENCODER.encode(self._made[self._at]):
                self._same()
                return True
            return False
        # A drain that took too long: the loop gave up and wrote what the trader had left.
        left = self._lives.left_over()
        if then in (left, msgspec.structs.replace(left, unshown=False)):  # as earlier versions did
            self._ended = True
            return True
        return False

    def _difference(self, then: m.Effect | None) -> Difference:
        now = self._made[self._at] if self._at < len(self._made) else None
        about = {_market_of(each) for each in (then, now)} - {None}
        frame = self._newest
        if len(about) == 1:
            (market_id,) = about
            assert market_id is not None
            frame = self._frames.get(market_id, frame)
        return Difference(
            self._at + 1,
            then,
            now,
            self._raised,
            differing(then, now),
            frame,
            tuple(self._before),
        )


def _market_of(effect: m.Effect | None) -> MarketId | None:
    """The market of a create or a read of a book; None of all else."""
    if isinstance(effect, m.Send):
        if isinstance(effect.request, m.Create):
            return effect.request.order.market_id
        if isinstance(effect.request, m.ReadBook):
            return effect.request.market_id
    return None


def differing(then: m.Effect | None, now: m.Effect | None) -> tuple[str, ...]:
    """The paths of the fields in which two effects differ, with both values; empty when one of them
    is not there."""
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
