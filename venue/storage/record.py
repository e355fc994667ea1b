"""Command log and snapshots as bytes. A segment is a header and frames. A frame is length (u32),
CRC-32 (u32) over length and payload, and MessagePack of (sequence of the first command, at_ns,
commands), little endian. One append is one frame, written only when the one before is on disk: only
the very end of a file may be the torn tail of a crash."""

import struct
import zlib
from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from venue.engine.messages import AccessCommand, Command

FORMAT_VERSION: Final = 1
STATE_ID_BYTES: Final = 8
FRAME_BYTES_MAX: Final = 64 * 1024 * 1024
"""More than any opening comes to; a longer length is damage."""

SNAPSHOT_VERSION: Final = 1
SNAPSHOT_NAMES: Final = ("snapshot-", ".snap")
"""Beginning and end of a snapshot's file name; names sort by sequence."""

_MAGIC: Final = b"VENUELOG"
_SNAPSHOT_MAGIC: Final = b"VENUESNP"
_HEADER: Final = struct.Struct(f"<8sB{STATE_ID_BYTES}sQ")
_CRC: Final = struct.Struct("<I")
_LENGTH: Final = struct.Struct("<I")
HEADER_BYTES: Final = _HEADER.size + _CRC.size
_LEAD_BYTES: Final = _LENGTH.size + _CRC.size
_PAYLOAD_STARTS: Final = b"\x93"
"""MessagePack of an array of three: what every payload begins with."""


class StateFault(Exception):
    """The state on disk cannot be used; the text says what, where, and what to do."""


class LogRecord(msgspec.Struct, frozen=True):
    """A command of the log. sequence: from 1, without gaps. at_ns: the instant it is applied at."""

    sequence: int
    at_ns: int
    command: Command | AccessCommand


class _Append(msgspec.Struct, frozen=True, array_like=True):
    first_sequence: int
    at_ns: int
    commands: tuple[Command | AccessCommand, ...]


_DECODER: Final = msgspec.msgpack.Decoder(_Append)
_ENCODER: Final = msgspec.msgpack.Encoder()


def header(state_id: bytes, first_sequence: int) -> bytes:
    """The header of a segment. state_id: 8 bytes that tie it to its directory's keys."""
    plain = _HEADER.pack(_MAGIC, FORMAT_VERSION, state_id, first_sequence)
    return plain + _CRC.pack(zlib.crc32(plain))


def frame(first_sequence: int, at_ns: int, commands: Sequence[Command | AccessCommand]) -> bytes:
    """An append as bytes. Raises ValueError for more than FRAME_BYTES_MAX, OverflowError for an
    integer beyond 64 bits."""
    payload = _ENCODER.encode(_Append(first_sequence, at_ns, tuple(commands)))
    if len(payload) > FRAME_BYTES_MAX:
        raise ValueError(f"an append of {len(payload)} bytes; at most {FRAME_BYTES_MAX}")
    length = _LENGTH.pack(len(payload))
    return length + _CRC.pack(zlib.crc32(payload, zlib.crc32(length))) + payload


def is_torn_creation(data: bytes) -> bool:
    """True if a segment's data is what a crash leaves between making the file and its header."""
    return len(data) < HEADER_BYTES or (len(data) == HEADER_BYTES and not any(data))


class Segment:
    """One segment's data, checked while it is read. is_last: whether a torn tail may end it. After
    `entries`, `whole_bytes` is where the last whole frame ends, `last_frame_at` where it begins
    (None without frames), `next_sequence` what comes next."""

    def __init__(self, data: bytes, name: str, state_id: bytes, is_last: bool) -> None:
        """Raises StateFault for a header that is not one of this version and directory."""
        self._data = data
        self._name = name
        self._is_last = is_last
        self.first_sequence = self._read_header(state_id)
        self.next_sequence = self.first_sequence
        self.whole_bytes = HEADER_BYTES
        self.last_frame_at: int | None = None

    @property
    def torn_bytes(self) -> int:
        """Bytes behind the last whole frame, once `entries` has come to its end."""
        return len(self._data) - self.whole_bytes

    def entries(self) -> Iterator[LogRecord]:
        """Every command, in order. Raises StateFault, naming file and offset, at any damage."""
        self.whole_bytes, self.last_frame_at = HEADER_BYTES, None
        self.next_sequence = self.first_sequence
        while self.whole_bytes < len(self._data):
            start = self.whole_bytes
            end = self._frame_end(start)
            if end is None:
                self._allow_torn(start)
                return
            append = self._decoded(start, end)
            self.whole_bytes, self.last_frame_at = end, start
            sequence = self.next_sequence
            self.next_sequence += len(append.commands)
            for command in append.commands:
                yield LogRecord(sequence, append.at_ns, command)
                sequence += 1

    def _read_header(self, state_id: bytes) -> int:
        data = self._data
        if len(data) < HEADER_BYTES or not data.startswith(_MAGIC):
            raise self._fault(0, "is no segment of a command log")
        version = data[len(_MAGIC)]
        if version != FORMAT_VERSION:
            raise self._fault(
                len(_MAGIC),
                f"is of format version {version}, and this program reads version "
                f"{FORMAT_VERSION} only; use the program that wrote it",
            )
        plain, crc = data[: _HEADER.size], data[_HEADER.size : HEADER_BYTES]
        if _CRC.pack(zlib.crc32(plain)) != crc:
            raise self._fault(0, "has a damaged header; restore the directory from a copy")
        _, _, written_under, first_sequence = _HEADER.unpack(plain)
        if written_under != state_id:
            raise self._fault(
                len(_MAGIC) + 1,
                "belongs to another state directory; keys, log and snapshots go together",
            )
        return int(first_sequence)

    def _frame_end(self, start: int) -> int | None:
        """Where the frame that begins at `start` ends, or None when no whole frame begins there."""
        data, payload_at = self._data, start + _LEAD_BYTES
        if payload_at >= len(data):
            return None
        (length,) = _LENGTH.unpack_from(data, start)
        end = payload_at + int(length)
        if not 1 <= length <= FRAME_BYTES_MAX or end > len(data):
            return None
        (crc,) = _CRC.unpack_from(data, start + _LENGTH.size)
        seed = zlib.crc32(data[start : start + _LENGTH.size])
        return end if zlib.crc32(memoryview(data)[payload_at:end], seed) == crc else None

    def _allow_torn(self, start: int) -> None:
        """Nothing when the rest may be the torn tail of a crash. Raises StateFault when not."""
        if not self._is_last:
            raise self._fault(start, "is damaged; restore the directory from a copy")
        at = self._data.find(_PAYLOAD_STARTS, start + _LEAD_BYTES + 1)
        while at >= 0:
            if self._frame_end(at - _LEAD_BYTES) is not None:
                raise self._fault(
                    start, "is damaged, and whole records follow; restore the directory from a copy"
                )
            at = self._data.find(_PAYLOAD_STARTS, at + 1)

    def _decoded(self, start: int, end: int) -> _Append:
        try:
            append = _DECODER.decode(memoryview(self._data)[start + _LEAD_BYTES : end])
        except (msgspec.MsgspecError, ValueError, RecursionError):
            raise self._fault(start, "holds a record that this program does not know") from None
        if append.first_sequence != self.next_sequence or not append.commands:
            raise self._fault(
                start,
                f"goes on with sequence {append.first_sequence} instead of {self.next_sequence}",
            )
        return append

    def _fault(self, offset: int, what: str) -> StateFault:
        return StateFault(f"{self._name}, byte {offset}: {what}")


# The header of a snapshot is that of a segment but for its magic; its CRC covers the payload, too.


def snapshot_name(sequence: int) -> str:
    return f"{SNAPSHOT_NAMES[0]}{sequence:020d}{SNAPSHOT_NAMES[1]}"


def seal(state_id: bytes, sequence: int, payload: bytes) -> bytes:
    plain = _HEADER.pack(_SNAPSHOT_MAGIC, SNAPSHOT_VERSION, state_id, sequence)
    return plain + _CRC.pack(zlib.crc32(payload, zlib.crc32(plain))) + payload


def unseal(data: bytes, where: str, state_id: bytes) -> tuple[int, bytes]:
    """The last sequence in a snapshot's file, and its payload. Raises StateFault when it is
    damaged, of another version or directory."""
    if len(data) < HEADER_BYTES or not data.startswith(_SNAPSHOT_MAGIC):
        raise StateFault(f"{where}: is no snapshot")
    plain, crc = data[: _HEADER.size], data[_HEADER.size : HEADER_BYTES]
    _, version, written_under, sequence = _HEADER.unpack(plain)
    if version != SNAPSHOT_VERSION:
        raise StateFault(
            f"{where}: is of format version {version}, and this program reads version "
            f"{SNAPSHOT_VERSION} only"
        )
    payload = data[HEADER_BYTES:]
    if _CRC.pack(zlib.crc32(payload, zlib.crc32(plain))) != crc:
        raise StateFault(f"{where}: is damaged")
    if written_under != state_id:
        raise StateFault(f"{where}: belongs to another state directory")
    return int(sequence), payload
