"""What one command log comes to: the exchange, who may act, and what the outside may see.

A snapshot is taken by whoever replays sealed segments, never by the process that serves: traders
have no pause, and every snapshot has proved that the log replays.
"""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import msgspec

from venue.engine.access import Access, AccessSnapshot
from venue.engine.engine import Engine
from venue.engine.messages import (
    AccessCommand,
    AddKey,
    AddToken,
    Answer,
    Command,
    Event,
    FillBooked,
    RevokeKey,
    TradePrinted,
)
from venue.engine.snapshot import EngineSnapshot
from venue.storage.record import LogRecord, StateFault
from venue.storage.statedir import StateDir
from venue.views.projector import Views, ViewsSnapshot

PAYLOAD_VERSION: Final = 1
"""First byte of a snapshot's payload; raise it when a snapshot Struct changes its meaning."""

_ACCESS_COMMANDS: Final = (AddKey, RevokeKey, AddToken)


class RecoveredVenue(msgspec.Struct, eq=False):
    """The state after the command with this sequence, carried out at this instant.

    printed_ns: the instant of the newest print, 0 before the first.
    """

    engine: Engine
    access: Access
    views: Views
    sequence: int
    at_ns: int
    printed_ns: int = 0

    def carry_out(
        self, command: Command | AccessCommand, now_ns: int
    ) -> tuple[Answer, list[Event]]:
        """Apply the next command of the log; its events are not in the views yet."""
        self.sequence += 1
        self.at_ns = now_ns
        if isinstance(command, _ACCESS_COMMANDS):
            return self.access.apply(command, now_ns), []
        answer, events = self.engine.apply(command, now_ns)
        if events and isinstance(events[0], TradePrinted):
            events = self._with_instants_of_their_own(events)
        return answer, events

    def _with_instants_of_their_own(self, events: list[Event]) -> list[Event]:
        """Events that begin with prints, each of which comes a nanosecond or more after the last.

        One order may match many, and commands of one batch have one instant: by that alone nobody
        could tell which print came first. The two fills of a match have the instant of its print.
        """
        told: list[Event] = []
        for event in events:
            if isinstance(event, TradePrinted):
                self.printed_ns = max(event.at_ns, self.printed_ns + 1)
            if isinstance(event, TradePrinted | FillBooked) and event.at_ns != self.printed_ns:
                event = msgspec.structs.replace(event, at_ns=self.printed_ns)
            told.append(event)
        return told


class Compacted(msgspec.Struct, frozen=True):
    """What compacting came to.

    sequence: the last command that the newest snapshot includes, 0 without one. replayed:
    commands replayed for it, 0 when there was nothing new. snapshot_bytes, state_hash: of the
    snapshot written, 0 and None when none was. notices: sentences about what was passed over.
    """

    sequence: int
    replayed: int
    snapshot_bytes: int
    state_hash: str | None
    notices: tuple[str, ...]


class _Payload(msgspec.Struct, frozen=True):
    """An exchange as plain values, after the version byte; the sequence is the snapshot's."""

    at_ns: int
    engine: EngineSnapshot
    access: AccessSnapshot
    views: ViewsSnapshot


class _UnknownPayload(Exception):
    """A payload that this program does not know."""


_ENCODER: Final = msgspec.msgpack.Encoder()
_DECODER: Final = msgspec.msgpack.Decoder(_Payload)


def fresh(order_id_key: bytes) -> RecoveredVenue:
    """The state before any command. order_id_key: see `Engine`."""
    return RecoveredVenue(Engine(order_id_key), Access(), Views(), 0, 0)


def rehearsal(exchange: RecoveredVenue) -> RecoveredVenue:
    """A copy of a state to try an opening on: without views, and without the orders that have
    ended, which no command of an opening can meet."""
    stands = msgspec.structs.replace(exchange.engine.snapshot(), ended={})
    return RecoveredVenue(
        Engine.restored(b"rehearsal", stands),
        Access.restored(exchange.access.snapshot()),
        Views(),
        exchange.sequence,
        exchange.at_ns,
        exchange.printed_ns,
    )


def replay(exchange: RecoveredVenue, entries: Iterable[LogRecord]) -> None:
    """Apply entries that follow on what `exchange` includes."""
    apply_to_views = exchange.views.apply
    for entry in entries:
        _, events = exchange.carry_out(entry.command, entry.at_ns)
        for event in events:
            apply_to_views(event)


def recover(state: StateDir) -> RecoveredVenue:
    """The state that a directory holds: the newest snapshot that can be used, then the log.

    Every event is in the views. A snapshot that cannot be used is passed over, with a notice in
    `state.notices`, while the log goes back far enough. Raises StateFault when it does not, and
    for any damage of the log.
    """
    exchange = _newest_usable(state)
    replay(exchange, state.entries(exchange.sequence))
    return exchange


def snapshot_of(exchange: RecoveredVenue) -> bytes:
    """The payload of a snapshot of an exchange whose events are all in the views."""
    payload = _Payload(
        exchange.at_ns,
        exchange.engine.snapshot(),
        exchange.access.snapshot(),
        exchange.views.snapshot(),
    )
    return bytes([PAYLOAD_VERSION]) + _ENCODER.encode(payload)


def compact(path: Path) -> Compacted:
    """Write a snapshot of the end of the sealed log and remove what is then not needed any more.

    May run beside a server: only segments that nobody writes to any more are read. Raises
    StateFault when the directory cannot be used, is being compacted already, or the snapshot
    would not restore to the state that it was taken of; nothing is removed then.
    """
    with StateDir.beside(path) as state:
        exchange = _newest_usable(state)
        before = exchange.sequence
        replay(exchange, state.entries(before))
        if exchange.sequence == before:
            return Compacted(before, 0, 0, None, _told(state))
        payload = snapshot_of(exchange)
        state_hash = exchange.engine.state_hash()
        again = _restored(state.order_id_key, exchange.sequence, payload)
        if snapshot_of(again) != payload or again.engine.state_hash() != state_hash:
            raise StateFault(
                f"{path}: a snapshot of sequence {exchange.sequence} does not restore to the same "
                "state; none was written, and the log stays whole"
            )
        state.write_snapshot(exchange.sequence, payload)
        state.prune()
        replayed = exchange.sequence - before
        return Compacted(exchange.sequence, replayed, len(payload), state_hash, _told(state))


def compact_command(path: Path, as_json: bool) -> str:
    """`venue compact`: what to print after compacting a state directory. Raises StateFault."""
    done = compact(path)
    if as_json:
        return json.dumps(msgspec.to_builtins(done))
    if not done.sequence:
        said = "nothing to do: no segment of the log is sealed yet"
    elif not done.replayed:
        said = f"nothing to do: the newest snapshot includes sequence {done.sequence}"
    else:
        said = (
            f"snapshot of sequence {done.sequence} written: {done.replayed} commands replayed, "
            f"{done.snapshot_bytes} bytes, state {done.state_hash}"
        )
    return "\n".join([*done.notices, said])


def _told(state: StateDir) -> tuple[str, ...]:
    """Each notice once: what is damaged is met by reading and by pruning."""
    return tuple(dict.fromkeys(state.notices))


def _newest_usable(state: StateDir) -> RecoveredVenue:
    """The newest snapshot that this program knows, or the state before the log's first command."""
    for sequence, payload in state.snapshots():
        try:
            return _restored(state.order_id_key, sequence, payload)
        except _UnknownPayload as fault:
            state.notices.append(f"snapshot of sequence {sequence}: {fault}; passed over")
    first = state.first_sequence()
    if first > 1:
        reasons = "; ".join(state.notices) or "there is none"
        raise StateFault(
            f"{state.path}: the log begins with sequence {first}, and no snapshot can be used "
            f"({reasons}); restore the directory from a copy, or use the program that wrote it"
        )
    return fresh(state.order_id_key)


def _restored(order_id_key: bytes, sequence: int, payload: bytes) -> RecoveredVenue:
    """The exchange that a payload tells of. Raises _UnknownPayload."""
    version = payload[0] if payload else 0
    if version != PAYLOAD_VERSION:
        raise _UnknownPayload(
            f"of payload version {version}, and this program knows {PAYLOAD_VERSION} only"
        )
    try:
        known = _DECODER.decode(memoryview(payload)[1:])
    except (msgspec.MsgspecError, ValueError, RecursionError) as fault:
        raise _UnknownPayload(f"not as this program writes it ({fault})") from None
    views = Views.restored(known.views)
    return RecoveredVenue(
        Engine.restored(order_id_key, known.engine),
        Access.restored(known.access),
        views,
        sequence,
        known.at_ns,
        views.market.printed_ns,
    )
