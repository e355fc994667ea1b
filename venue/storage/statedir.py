"""A state directory: keys, snapshots and the command log of one venue. `open` is the server's, with
a lock. `open_sealed` is for compacting meanwhile: it reads all segments but the last, to which
nobody writes any more, under a lock of its own."""

import contextlib
import itertools
import os
import secrets
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Final, Self

import msgspec

from venue.storage.folder import Folder, unfinished_names
from venue.storage.log import (
    SEGMENT_BYTES,
    SEGMENT_RECORDS,
    CommandLog,
    check_newest,
    open_segment,
    segments,
)
from venue.storage.record import (
    SNAPSHOT_NAMES,
    STATE_ID_BYTES,
    LogRecord,
    StateFault,
    is_torn_creation,
    seal,
    snapshot_name,
    unseal,
)

LOCK_FILE: Final = "lock"
COMPACT_LOCK_FILE: Final = "compact.lock"
SNAPSHOTS_KEPT: Final = 2
KEYS_FILE: Final = "keys"
KEY_BYTES: Final = 32

_KEYS_MAGIC: Final = b"VENUEKEY"
_KEYS_VERSION: Final = 1
_KEYS: Final = struct.Struct(f"<8sB{STATE_ID_BYTES}s{KEY_BYTES}s{KEY_BYTES}s")
_CRC: Final = struct.Struct("<I")


class Keys(msgspec.Struct, frozen=True):
    """The secrets that ids and cursors depend on, and the id in every file: a log replayed under
    other keys would give other ids."""

    state_id: bytes
    order_id_key: bytes
    cursor_key: bytes

    def __repr__(self) -> str:
        return f"Keys(state_id={self.state_id.hex()}, order_id_key=***, cursor_key=***)"

    __str__ = __repr__


def read_keys(folder: Folder) -> Keys:
    """The keys of a directory. Raises StateFault when they are missing, damaged, or others may read
    them."""
    where = folder.path / KEYS_FILE
    data = folder.read(KEYS_FILE, secret=True)
    plain, crc = data[: _KEYS.size], data[_KEYS.size :]
    if len(plain) < _KEYS.size or _CRC.pack(zlib.crc32(plain)) != crc:
        raise StateFault(f"{where}: is damaged; restore it from a copy, it cannot be made again")
    magic, version, state_id, order_id_key, cursor_key = _KEYS.unpack(plain)
    if magic != _KEYS_MAGIC or version != _KEYS_VERSION:
        raise StateFault(
            f"{where}: is of format version {version}, and this program reads version "
            f"{_KEYS_VERSION} only"
        )
    return Keys(state_id, order_id_key, cursor_key)


def make_keys(folder: Folder) -> Keys:
    """New keys, on disk on return. Raises StateFault when they cannot be written."""
    keys = Keys(
        secrets.token_bytes(STATE_ID_BYTES),
        secrets.token_bytes(KEY_BYTES),
        secrets.token_bytes(KEY_BYTES),
    )
    plain = _KEYS.pack(
        _KEYS_MAGIC, _KEYS_VERSION, keys.state_id, keys.order_id_key, keys.cursor_key
    )
    folder.write_whole(KEYS_FILE, plain + _CRC.pack(zlib.crc32(plain)))
    return keys


class StateDir:
    """An open state directory. notices: for people. segment_records, segment_bytes: size of a log
    segment."""

    def __init__(
        self,
        folder: Folder,
        lock: int,
        keys: Keys,
        sealed_only: bool,
        segment_records: int = SEGMENT_RECORDS,
        segment_bytes: int = SEGMENT_BYTES,
    ) -> None:
        self._folder = folder
        self._lock = lock
        self.keys = keys
        self._sealed_only = sealed_only
        self._segment_records = segment_records
        self._segment_bytes = segment_bytes
        self.notices: list[str] = []

    @classmethod
    def open(
        cls,
        path: Path,
        *,
        segment_records: int = SEGMENT_RECORDS,
        segment_bytes: int = SEGMENT_BYTES,
    ) -> Self:
        """The directory for this process alone; made when not there. Raises StateFault when it
        cannot be used, another process uses it, the end of its log is missing, or a log has no
        keys."""
        folder = Folder.open(path, create=True)
        with contextlib.ExitStack() as undo:
            undo.callback(folder.close)
            lock = folder.lock(LOCK_FILE, "in use")
            undo.callback(os.close, lock)
            folder.hold("in use")
            if folder.exists(KEYS_FILE):
                keys = read_keys(folder)
            elif segments(folder) or folder.names(*SNAPSHOT_NAMES):
                raise StateFault(f"{path / KEYS_FILE}: is missing; restore it from a copy")
            else:
                keys = make_keys(folder)
            check_newest(folder)
            undo.pop_all()
        return cls(folder, lock, keys, False, segment_records, segment_bytes)

    @classmethod
    def open_sealed(cls, path: Path) -> Self:
        """The sealed part of a directory that a server may be using. Raises StateFault when it
        cannot be used or is being compacted by another process."""
        folder = Folder.open(path, create=False)
        with contextlib.ExitStack() as undo:
            undo.callback(folder.close)
            lock = folder.lock(COMPACT_LOCK_FILE, "being compacted")
            undo.callback(os.close, lock)
            keys = read_keys(folder)
            undo.pop_all()
        return cls(folder, lock, keys, True)

    def __repr__(self) -> str:
        return f"StateDir({str(self._folder.path)!r})"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        os.close(self._lock)
        self._folder.close()

    @property
    def path(self) -> Path:
        return self._folder.path

    def first_sequence(self) -> int:
        """The sequence of the oldest command still in the log, or of the one to come."""
        found = segments(self._folder)
        return found[0][1] if found else 1

    def entries(self, after_sequence: int) -> Iterator[LogRecord]:
        """Every command after this sequence, one segment in memory at a time. A torn tail of the
        last segment ends the stream. Raises StateFault, naming file and offset, when the log is
        damaged, has a gap, begins too late or ends too early."""
        expected: int | None = None
        before = ""
        for name, first, is_last in self._needed(after_sequence):
            where = str(self._folder.path / name)
            if expected is None and first > after_sequence + 1:
                raise StateFault(
                    f"{where}: the log begins with sequence {first}, and "
                    f"{after_sequence + 1} is needed; restore the directory from a copy"
                )
            if expected is not None and first != expected:
                raise StateFault(
                    f"{before}: ends with sequence {expected - 1}, and the next segment, {name}, "
                    f"begins with {first}; restore the directory from a copy"
                )
            data = self._folder.read(name)
            before = f"{where}, byte {len(data)}"
            if is_last and is_torn_creation(data):
                expected = first
                break
            segment = open_segment(data, where, self.keys.state_id, first, is_last=is_last)
            for entry in segment.entries():
                if entry.sequence > after_sequence:
                    yield entry
            expected = segment.next_sequence
        if expected is None and self._sealed_only:
            return
        if (expected or 1) <= after_sequence:
            raise StateFault(
                f"{self._folder.path}: the log ends with sequence {(expected or 1) - 1}, and a "
                f"snapshot includes {after_sequence}; restore the directory from a copy"
            )

    def _needed(self, after_sequence: int) -> list[tuple[str, int, bool]]:
        found = segments(self._folder)
        ends = [first for _, first in found[1:]]
        needed = [
            (name, first, False)
            for (name, first), end in zip(found, ends, strict=False)
            if end > after_sequence + 1
        ]
        if found and not self._sealed_only:
            needed.append((*found[-1], True))
        return needed

    def log(self) -> CommandLog:
        """The log, open for appending, an unfinished end cut off. Raises StateFault."""
        assert not self._sealed_only, "a server may be appending"
        log = CommandLog(
            self._folder,
            self.keys.state_id,
            segment_records=self._segment_records,
            segment_bytes=self._segment_bytes,
        )
        if log.cut is not None:
            self.notices.append(log.cut)
        return log

    def snapshots(self) -> Iterator[tuple[int, bytes]]:
        """Every undamaged snapshot, newest first. A damaged one is passed over with a notice."""
        for name in reversed(self._folder.names(*SNAPSHOT_NAMES)):
            where = str(self._folder.path / name)
            try:
                sequence, payload = unseal(self._folder.read(name), where, self.keys.state_id)
            except StateFault as fault:
                self.notices.append(f"{fault}; passed over")
                continue
            if name != snapshot_name(sequence):
                self.notices.append(f"{where}: includes sequence {sequence}; misnamed, passed over")
                continue
            yield sequence, payload

    def write_snapshot(self, sequence: int, payload: bytes) -> None:
        """Write a snapshot that includes every command up to `sequence`, whole or not at all; what
        killed writers left is removed first. Raises StateFault."""
        self._remove(self._folder.names(*unfinished_names(*SNAPSHOT_NAMES)))
        sealed = seal(self.keys.state_id, sequence, payload)
        self._folder.write_whole(snapshot_name(sequence), sealed)

    def prune(self) -> None:
        """Remove all but the two newest undamaged snapshots, and segments that neither needs;
        nothing while there are fewer. Raises StateFault."""
        kept = [sequence for sequence, _ in itertools.islice(self.snapshots(), SNAPSHOTS_KEPT)]
        if len(kept) < SNAPSHOTS_KEPT:
            return
        oldest = kept[-1]
        found = segments(self._folder)
        gone = [
            name
            for (name, _), (_, next_first) in itertools.pairwise(found)
            if next_first <= oldest + 1
        ]
        names = self._folder.names(*SNAPSHOT_NAMES)
        gone += [name for name in names if name < snapshot_name(oldest)]
        self._remove(gone)

    def _remove(self, names: list[str]) -> None:
        """Remove files, the first one first. Raises StateFault when one cannot be removed."""
        if not names:
            return
        try:
            # Oldest first: a crash in between leaves a log without gaps.
            for name in names:
                self._folder.remove(name)
            self._folder.sync()
        except OSError as fault:
            raise StateFault(f"{self._folder.path}: cannot be pruned: {fault.strerror}") from None
