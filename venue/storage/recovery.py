"""What a command log comes to, in memory or recovered. Only the process that compacts sealed
segments takes snapshots: no trader waits for one, and each proves that the log replays."""

import secrets
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import msgspec

from venue.engine import messages as m
from venue.engine.access import Access, AccessSnapshot
from venue.engine.engine import Engine
from venue.engine.snapshot import EngineSnapshot
from venue.storage.log import CommandLog
from venue.storage.record import LogRecord, StateFault
from venue.storage.statedir import KEY_BYTES, StateDir
from venue.views.projector import Views, ViewsSnapshot

PAYLOAD_VERSION: Final = 1
"""First byte of a snapshot's payload; raise it when a snapshot Struct changes its meaning."""

_ACCESS_COMMANDS: Final = (m.AddKey, m.RevokeKey, m.AddToken)
_OF_A_MATCH: Final = (m.TradePrinted, m.FillBooked)


class RecoveredVenue(msgspec.Struct, eq=False):
    """The state after command `sequence`, applied at `at_ns`. printed_ns: of the newest print, 0
    before the first."""

    engine: Engine
    access: Access
    views: Views
    sequence: int
    at_ns: int
    printed_ns: int = 0

    def apply_command(self, command: m.Command | m.AccessCommand, now_ns: int) -> m.Applied:
        """Apply the next command of the log. The caller hands its events to the views."""
        self.sequence += 1
        self.at_ns = now_ns
        if isinstance(command, _ACCESS_COMMANDS):
            return self.access.apply_command(command, now_ns), []
        answer, events = self.engine.apply(command, now_ns)
        if events and isinstance(events[0], m.TradePrinted):
            events = self._with_unique_print_instants(events)
        return answer, events

    def _with_unique_print_instants(self, events: list[m.Event]) -> list[m.Event]:
        """The events, each print with its fills at least a nanosecond after the one before:
        commands of one batch share an instant, which would hide the order of prints."""
        stamped: list[m.Event] = []
        for event in events:
            if isinstance(event, m.TradePrinted):
                self.printed_ns = max(event.at_ns, self.printed_ns + 1)
            if isinstance(event, _OF_A_MATCH) and event.at_ns != self.printed_ns:
                event = msgspec.structs.replace(event, at_ns=self.printed_ns)
            stamped.append(event)
        return stamped


class OpenedState(msgspec.Struct):
    exchange: RecoveredVenue
    cursor_key: bytes
    log: CommandLog | None = None
    """None in memory."""
    path: Path | None = None
    """None in memory."""
    notices: tuple[str, ...] = ()

    @property
    def is_new(self) -> bool:
        """True if no command was ever applied: the venue is still to be opened."""
        return self.exchange.sequence == 0


def open_in_memory() -> OpenedState:
    exchange = fresh(secrets.token_bytes(KEY_BYTES))
    return OpenedState(exchange, secrets.token_bytes(KEY_BYTES))


def open_directory(path: Path) -> OpenedState:
    """The state in a directory, which is made if it is missing. Raises StateFault."""
    # Stays open, and locked, for as long as the process lives.
    state = StateDir.open(path)
    exchange, log = recover(state), state.log()
    return OpenedState(exchange, state.keys.cursor_key, log, path, tuple(state.notices))


class Compacted(msgspec.Struct, frozen=True):
    sequence: int
    """The last command that the newest snapshot includes, 0 without one."""
    replayed: int
    """Commands replayed for it, 0 when there was nothing new."""
    snapshot_bytes: int
    """Of the snapshot written, 0 when none was."""
    state_hash: str | None
    notices: tuple[str, ...]


class _Payload(msgspec.Struct, frozen=True):
    """An exchange as plain values, after the version byte; the file's header has the sequence."""

    at_ns: int
    engine: EngineSnapshot
    access: AccessSnapshot
    views: ViewsSnapshot


class _UnknownPayload(Exception):
    """This program does not know the payload."""


_ENCODER: Final = msgspec.msgpack.Encoder()
_DECODER: Final = msgspec.msgpack.Decoder(_Payload)


def fresh(order_id_key: bytes) -> RecoveredVenue:
    return RecoveredVenue(Engine(order_id_key), Access(), Views(), 0, 0)


def rehearsal_copy(exchange: RecoveredVenue) -> RecoveredVenue:
    """A copy on which to try an opening, without views and ended orders."""
    snapshot = msgspec.structs.replace(exchange.engine.to_snapshot(), ended={})
    return RecoveredVenue(
        Engine.from_snapshot(b"rehearsal", snapshot),
        Access.from_snapshot(exchange.access.to_snapshot()),
        Views(),
        exchange.sequence,
        exchange.at_ns,
        exchange.printed_ns,
    )


def replay(exchange: RecoveredVenue, entries: Iterable[LogRecord]) -> None:
    apply_to_views = exchange.views.apply
    for entry in entries:
        _, events = exchange.apply_command(entry.command, entry.at_ns)
        for event in events:
            apply_to_views(event)


def recover(state: StateDir) -> RecoveredVenue:
    """The newest usable snapshot of a directory, then its log. An unusable snapshot is passed over,
    with a notice, while the log goes back far enough. Raises StateFault otherwise, and for damage
    of the log."""
    exchange = _newest_usable(state)
    replay(exchange, state.entries(exchange.sequence))
    return exchange


def snapshot_of(exchange: RecoveredVenue) -> bytes:
    """The payload of a snapshot of an exchange whose events are all in the views."""
    payload = _Payload(
        exchange.at_ns,
        exchange.engine.to_snapshot(),
        exchange.access.to_snapshot(),
        exchange.views.snapshot(),
    )
    return bytes([PAYLOAD_VERSION]) + _ENCODER.encode(payload)


def compact(path: Path) -> Compacted:
    """Write a snapshot of the end of the sealed log, then remove what it makes needless. A server
    may append meanwhile. Raises StateFault, with nothing removed, when the directory cannot be
    used, is being compacted, or the snapshot would not restore to the same state."""
    with StateDir.open_sealed(path) as state:
        exchange = _newest_usable(state)
        before = exchange.sequence
        replay(exchange, state.entries(before))
        if exchange.sequence == before:
            return Compacted(before, 0, 0, None, _unique_notices(state))
        payload = snapshot_of(exchange)
        state_hash = exchange.engine.state_hash()
        again = _restored_exchange(state.keys.order_id_key, exchange.sequence, payload)
        if snapshot_of(again) != payload or again.engine.state_hash() != state_hash:
            raise StateFault(
                f"{path}: a snapshot of sequence {exchange.sequence} does not restore to the same "
                "state; none was written, and the log stays whole"
            )
        state.write_snapshot(exchange.sequence, payload)
        state.prune()
        replayed = exchange.sequence - before
        size, notices = len(payload), _unique_notices(state)
        return Compacted(exchange.sequence, replayed, size, state_hash, notices)


def _unique_notices(state: StateDir) -> tuple[str, ...]:
    """Each notice once: reading and pruning meet the same damage."""
    return tuple(dict.fromkeys(state.notices))


def _newest_usable(state: StateDir) -> RecoveredVenue:
    """The newest snapshot that this program knows, or the state before the log's first command."""
    for sequence, payload in state.snapshots():
        try:
            return _restored_exchange(state.keys.order_id_key, sequence, payload)
        except _UnknownPayload as fault:
            state.notices.append(f"snapshot of sequence {sequence}: {fault}; passed over")
    first = state.first_sequence()
    if first > 1:
        reasons = "; ".join(state.notices) or "there is none"
        raise StateFault(
            f"{state.path}: the log begins with sequence {first}, and no snapshot can be used "
            f"({reasons}); restore the directory from a copy, or use the program that wrote it"
        )
    return fresh(state.keys.order_id_key)


def _restored_exchange(order_id_key: bytes, sequence: int, payload: bytes) -> RecoveredVenue:
    """The exchange of a payload. Raises _UnknownPayload."""
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
        Engine.from_snapshot(order_id_key, known.engine),
        Access.from_snapshot(known.access),
        views,
        sequence,
        known.at_ns,
        views.market.printed_ns,
    )
