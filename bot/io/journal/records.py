"""The journal's file format: a head, then length + CRC32 frames; written whole, read tolerantly.

A segment begins with four magic bytes, one version byte, and a head frame: what earlier segments
leave open. Integers are four bytes, little endian; payloads are msgpack. A new kind of entry, a
field that an older program would misread, and another behaviour of the trader are a new version.
Older versions are read for what they left open, and not replayed.
"""

import re
import struct
import zlib
from collections.abc import Callable, Iterator
from typing import BinaryIO, Final, TypeVar

import msgspec

from bot.core import messages as m
from bot.io.faults import OperatorError
from venue.wire.money import Cents, Outcome
from venue.wire.names import MarketId, Ticker

MAGIC: Final = b"LMKJ"
VERSION: Final = 8
READABLE: Final = (1, 2, 3, 4, 5, 6, 7, 8)
_T = TypeVar("_T")
_B = TypeVar("_B", bytes, memoryview)

OPENING: Final = MAGIC + bytes([VERSION])
PAYLOAD_BYTES_MAX: Final = 64 * 1024 * 1024
FRAME: Final = struct.Struct("<II")
_ENTRY_BEGINS: Final = b"\x92"
"""The first byte of every entry's payload: msgpack for an array of two."""


class JournalFault(OperatorError):
    """A journal cannot be read or written; the text says what to do."""


class Head(msgspec.Struct, frozen=True, array_like=True):
    """The state that a new run needs from the segments before this one.

    opened_ns: on the bot's clock. under_way: writes in flight of the run that goes on in this
    segment. winners and what follows: as in `Started`. A head of version 1 has creates alone.
    """

    opened_ns: int
    open_intents: tuple[m.UnconfirmedCreate, ...]
    working: tuple[m.JournaledOrder, ...] = ()
    under_way: tuple[m.Send, ...] = ()
    winners: tuple[tuple[MarketId, Outcome], ...] = ()
    complete_fill: m.FillMark | None = None
    event_cash: tuple[tuple[Ticker, Cents], ...] = ()
    fills_since: tuple[m.FillMark, ...] = ()
    memories: tuple[m.StrategyMemory, ...] = ()
    losses: m.LossRecord | None = None
    transfers_cents: Cents = Cents(0)


class Entry(msgspec.Struct, frozen=True, array_like=True):
    """One event with its time of arrival, or one effect with the time of its event."""

    at_ns: int
    message: m.Event | m.Effect


_ENCODER: Final = msgspec.msgpack.Encoder()
_HEADS: Final = msgspec.msgpack.Decoder(Head)
_ENTRIES: Final = msgspec.msgpack.Decoder(Entry)
_UNREAD: Final = msgspec.msgpack.Decoder(tuple[int, msgspec.Raw])
_UNKNOWN_KIND: Final = re.compile(r"Invalid value '\w+' - at `\$\[1\]\.([a-z_]+\.)*type`")


def framed(value: Head | Entry) -> bytes:
    return frame_of(_ENCODER.encode(value))


def frame_of(payload: bytes) -> bytes:
    return FRAME.pack(len(payload), zlib.crc32(payload)) + payload


def payload_at(data: _B, at: int) -> _B | None:
    """The payload of the frame at `at`, or None when it is cut or damaged."""
    if len(data) - at < FRAME.size:
        return None
    length, crc = FRAME.unpack_from(data, at)
    payload = data[at + FRAME.size : at + FRAME.size + length]
    # A stretch of zeros, as a power cut leaves it, is no frame although its checksum fits.
    if not 0 < length <= PAYLOAD_BYTES_MAX or len(payload) < length:
        return None
    return payload if zlib.crc32(payload) == crc else None


def entry_of(payload: bytes, name: str) -> Entry:
    """Raises JournalFault, with the segment's name, for no entry."""
    try:
        return _ENTRIES.decode(payload)
    except (msgspec.DecodeError, UnicodeDecodeError) as fault:
        raise JournalFault(f"{name}: a whole record that cannot be read ({fault})") from None


_RENAMED: Final = {
    "Beat": "Tick",
    "BookSeen": "BookUpdate",
    "TradeSeen": "Trade",
    "FrameGarbled": "MalformedFrame",
    "FeedHeard": "FeedAlive",
    "Replied": "Response",
    "Done": "Ok",
    "Refused": "Rejected",
    "OrderShown": "OrderBody",
    "CancelShown": "CancelBody",
    "OrdersShown": "OrdersBody",
    "FillsShown": "FillsBody",
    "PositionsShown": "PositionsBody",
    "BalanceShown": "BalanceBody",
    "SeriesShown": "SeriesBody",
    "BookShown": "BookBody",
    "IntentSettled": "CreateResolved",
    "TakenOver": "OrdersAdopted",
    "Finished": "DrainComplete",
}
"""Kinds of entries as versions up to 6 wrote them, and as they are now."""


def _tag(name: str) -> bytes:
    """A kind as msgpack writes it: its key, the length of a short text, the text."""
    return b"\xa4type" + bytes([0xA0 | len(name)]) + name.encode()


_NOW: Final = {_tag(old): _tag(new) for old, new in _RENAMED.items()}
_THEN: Final = {new: old for old, new in _NOW.items()}
_OLD_TAGS: Final = re.compile(b"|".join(map(re.escape, _NOW)))
_NEW_TAGS: Final = re.compile(b"|".join(map(re.escape, _THEN)))
_RENAMED_IN: Final = 7


def payload_of_now(payload: bytes, version: int) -> bytes:
    """A payload with the present names of its kinds. version: of its segment."""
    if version >= _RENAMED_IN:
        return payload
    return _OLD_TAGS.sub(lambda found: _NOW[found[0]], payload)


def payload_of_then(payload: bytes, version: int) -> bytes:
    """The inverse of `payload_of_now`."""
    if version >= _RENAMED_IN:
        return payload
    return _NEW_TAGS.sub(lambda found: _THEN[found[0]], payload)


def _earlier_entry(payload: bytes) -> Entry:
    """An entry of an earlier version; a note in place of one whose kind is gone."""
    try:
        return _ENTRIES.decode(payload)
    except msgspec.ValidationError as fault:
        if not _UNKNOWN_KIND.fullmatch(str(fault)):
            raise
        at_ns, _ = _UNREAD.decode(payload)
        return Entry(at_ns, m.Noted("debug", "entry_of_an_earlier_program", {"text": str(fault)}))


class Stream:
    """A segment read while it may still grow.

    head, first: None and 0 while the head is not whole. Raises JournalFault for another version or
    kind of file.
    """

    def __init__(self, file: BinaryIO, name: str) -> None:
        self._file = file
        self._version = VERSION
        self.head: Head | None = None
        self.first = 0
        version = _version_of(file.read(len(OPENING)), name)
        if version is None:
            return
        self._version = version
        for payload, after in self.payloads(len(OPENING)):
            self.head = _HEADS.decode(payload)
            self.first = after
            return

    def payloads(self, at: int) -> Iterator[tuple[bytes, int]]:
        """The whole frames from byte `at` on, each with where the next begins."""
        self._file.seek(at)
        while True:
            framing = self._file.read(FRAME.size)
            if len(framing) < FRAME.size:
                return
            length, crc = FRAME.unpack(framing)
            if not 0 < length <= PAYLOAD_BYTES_MAX:
                return
            payload = self._file.read(length)
            if len(payload) < length or zlib.crc32(payload) != crc:
                return
            at += FRAME.size + length
            yield payload_of_now(payload, self._version), at


class Segment:
    """A segment's bytes: its head and its entries.

    head: None when the file ends before its head does, or when that is damaged. whole_bytes: up to
    the first cut or damaged frame, as far as `entries` was read. damaged_at: where damage begins,
    once `entries` has ended. Raises JournalFault for another version or kind of file.
    """

    def __init__(self, data: bytes, name: str, *, cut: bool = True) -> None:
        """cut: a cut frame at the end may have been torn off by a crash; in an archive it is
        damage."""
        self._cut = cut
        self._bytes = data
        self._data = memoryview(data)
        self.name = name
        self.head: Head | None = None
        self._version = data[len(MAGIC)] if len(data) > len(MAGIC) else VERSION
        self._entry = _earlier_entry if self._version < VERSION else _ENTRIES.decode
        self.whole_bytes = 0
        self.damaged_at: int | None = None
        self._first = len(OPENING)
        self._resumes_at: int | None = None
        if _version_of(data[: len(OPENING)], name) is None:
            return
        payload = payload_at(self._data, len(OPENING))
        if payload is None:
            self._look_past(len(OPENING))
            return
        self.head = self._decoded(_HEADS.decode, payload)
        self._first += FRAME.size + len(payload)
        self.whole_bytes = self._first

    def _decoded(self, decode: Callable[[_B], _T], payload: _B) -> _T:
        try:
            return decode(payload)
        except (msgspec.DecodeError, UnicodeDecodeError) as fault:
            text = f"{self.name}: a whole record that cannot be read ({fault}); move it away"
            raise JournalFault(text) from None

    def payloads(self) -> Iterator[bytes]:
        # As `payload_at`, without a call for each frame.
        data, at, is_now = self._bytes, self._first, self._version >= _RENAMED_IN
        unpack, size, crc32, end = FRAME.unpack_from, FRAME.size, zlib.crc32, len(self._bytes)
        while self.head is not None and at + size <= end:
            length, crc = unpack(data, at)
            payload = data[at + size : at + size + length]
            is_whole = 0 < length <= PAYLOAD_BYTES_MAX and len(payload) == length
            if not is_whole or crc32(payload) != crc:
                break
            self.whole_bytes = at = at + size + length
            yield payload if is_now else payload_of_now(payload, self._version)
        if self.head is not None:
            self._look_past(at)

    def entries(self) -> Iterator[Entry]:
        """The entries in order, up to the first cut or damaged one."""
        for payload in self.payloads():
            yield self._decoded(self._entry, payload)

    def salvaged(self) -> Iterator[Entry]:
        """The entries after damage, in order; empty before `entries` has ended."""
        at = self._resumes_at
        while at is not None:
            payload = payload_at(self._bytes, at)
            if payload is None:
                at = self._next_whole(at + 1)
                continue
            yield self._decoded(self._entry, payload_of_now(payload, self._version))
            at += FRAME.size + len(payload)

    def _look_past(self, at: int) -> None:
        """Only damage has whole frames after it; a torn tail has none."""
        self._resumes_at = self._next_whole(at + 1)
        torn = self._resumes_at is None and (self._cut or at >= len(self._data))
        self.damaged_at = None if torn else at

    def _next_whole(self, at: int) -> int | None:
        """The first whole frame at or after `at`, None without one."""
        begins = self._bytes.find(_ENTRY_BEGINS, at + FRAME.size)
        while begins >= 0:
            if payload_at(self._data, begins - FRAME.size) is not None:
                return begins - FRAME.size
            begins = self._bytes.find(_ENTRY_BEGINS, begins + 1)
        return None


def _version_of(opening: bytes, name: str) -> int | None:
    """The version of a segment that begins so; None where it ends before that. Raises JournalFault
    for another version or kind of file."""
    if len(opening) < len(OPENING) and MAGIC.startswith(opening[: len(MAGIC)]):
        return None
    if not opening.startswith(MAGIC):
        raise JournalFault(f"{name}: not a journal; move it out of the state directory")
    version = opening[-1]
    if version not in READABLE:
        raise JournalFault(
            f"{name}: journal version {version}, this program reads versions {READABLE[0]} to "
            f"{READABLE[-1]}; run the program that wrote it, or choose another state directory"
        )
    return version
