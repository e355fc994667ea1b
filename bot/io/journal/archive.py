"""A closed segment of the journal as a small archive, and back to the byte.

Blocks of whole frames are packed one by one, so that damage stays within its block; the columns of
a block are packed with LZMA. Run as `python -m bot.io.journal.archive SEGMENT`, at the lowest
priority, outside the trader's process."""

import lzma
import mmap
import os
import struct
import sys
import zlib
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any, Final, NamedTuple, cast

import msgspec

from bot.core import messages as m
from bot.io.journal.records import (
    FRAME,
    MAGIC,
    OPENING,
    VERSION,
    Entry,
    JournalFault,
    entry_of,
    frame_of,
    payload_at,
    payload_of_then,
)
from bot.io.state.atomic_file import replace_file
from venue.wire.money import Price, Qty
from venue.wire.names import MarketId

ARCHIVE_MAGIC: Final = b"LMKA"
ARCHIVE_VERSION: Final = 1
SUFFIX: Final = ".arc"
FIRST_BLOCK_BYTES: Final = 64 * 1024
"""The first block is small: finding where runs begin unpacks no more."""

BLOCK_BYTES: Final = 8 * 1024 * 1024

_HEAD: Final = struct.Struct("<4sBQ5s")
_BLOCK: Final = struct.Struct("<III")
_CRC: Final = struct.Struct("<I")
_COLUMNS: Final = struct.Struct("<7I")
_WINDOW_BYTES: Final = 4 * 1024 * 1024
_ENCODER: Final = msgspec.msgpack.Encoder()
_TWO: Final = b"\x92"
_U64: Final = 0xCF
_US: Final = 1_000
_PLACES: Final = 128
"""Prices below this one fit into a byte with their side."""

_AS_IT_IS, _BODY, _TICK, _WAKE, _BOOK = range(5)
_TICK_BODY: Final = _ENCODER.encode(m.Tick())


class Restored(NamedTuple):
    """The bytes of a segment. whole: they are all those that were archived; damaged blocks are
    zeros."""

    data: bytes
    whole: bool


# --- columns --------------------------------------------------------------------------------------


class _Columns:
    """The columns of a block, each with a read position. raw: whole payloads, and bodies without
    their time, each after its length."""

    def __init__(self, parts: tuple[bytes, ...] = (b"",) * 7) -> None:
        self.parts = [bytearray(part) for part in parts]
        self.kinds, self.times, self.stamps, self.names, self.sides, self.sizes, self.raw = (
            self.parts
        )
        self._at = [0] * len(self.parts)

    def next_number(self, column: int) -> int:
        part, at = self.parts[column], self._at[column]
        value = shift = 0
        while True:
            byte = part[at]
            at += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                self._at[column] = at
                return value
            shift += 7

    def next_byte(self, column: int) -> int:
        self._at[column] += 1
        return self.parts[column][self._at[column] - 1]

    def next_text(self, column: int) -> bytes:
        length = self.next_number(column)
        at = self._at[column]
        self._at[column] = at + length
        return bytes(self.parts[column][at : at + length])


_KINDS, _TIMES, _STAMPS, _NAMES, _SIDES, _SIZES, _RAW = range(7)


def _put(part: bytearray, value: int) -> None:
    """A number from 0 on, seven bits a byte, the lowest first."""
    while value > 0x7F:
        part.append(value & 0x7F | 0x80)
        value >>= 7
    part.append(value)


def _put_text(part: bytearray, text: bytes) -> None:
    _put(part, len(text))
    part += text


def _folded(value: int) -> int:
    """A signed number as one from 0 on, small ones small."""
    return 2 * value if value >= 0 else -2 * value - 1


def _unfolded(value: int) -> int:
    return value // 2 if value % 2 == 0 else -(value + 1) // 2


def _stamp(value: int) -> int:
    """A difference of two times; most are whole microseconds."""
    if value % _US == 0:
        return 2 * _folded(value // _US) + 1
    return 2 * _folded(value)


def _unstamp(value: int) -> int:
    plain = _unfolded(value // 2)
    return plain * _US if value % 2 else plain


# --- books ----------------------------------------------------------------------------------------


_Sizes = dict[Price, Qty]


class _Books:
    """The newest book of each market: by side, sizes by price."""

    def __init__(self) -> None:
        self.number: dict[str, int] = {}
        self.names: list[str] = []
        self.sides: list[tuple[_Sizes, _Sizes]] = []
        self.shown: list[list[m.Levels]] = []
        self.ts_ns = 0

    def add_market(self, name: str) -> int:
        self.number[name] = len(self.names)
        self.names.append(name)
        self.sides.append(({}, {}))
        self.shown.append([(), ()])
        return len(self.names) - 1


def _sorted(sizes: _Sizes, side: int) -> m.Levels:
    return tuple(sorted(sizes.items(), reverse=side == 0))


def _put_book(columns: _Columns, books: _Books, seen: m.BookUpdate) -> bool:
    """Put a book as changes of the last one. False, and nothing put, if it would not come out
    unchanged."""
    fresh = (dict(seen.bids), dict(seen.asks))
    for side, levels in enumerate((seen.bids, seen.asks)):
        if _sorted(fresh[side], side) != levels:
            return False
        if not all(0 < price < _PLACES and size > 0 for price, size in levels):
            return False
    known = books.number.get(seen.market_id)
    if known is None:
        known = books.add_market(seen.market_id)
        _put(columns.names, known)
        _put_text(columns.names, seen.market_id.encode())
    else:
        _put(columns.names, known)
    _put(columns.stamps, _stamp(seen.ts_ns - books.ts_ns))
    books.ts_ns = seen.ts_ns
    changed: list[tuple[int, int]] = []
    for side, (old, new) in enumerate(zip(books.sides[known], fresh, strict=True)):
        changed += [(price << 1 | side, new.get(price, 0))
                    for price in sorted(old.keys() | new.keys())
                    if old.get(price) != new.get(price)]  # fmt: skip
    books.sides[known] = fresh
    _put(columns.sides, len(changed))
    for place, size in changed:
        columns.sides.append(place)
        _put(columns.sizes, size)
    return True


def _book(columns: _Columns, books: _Books) -> m.BookUpdate:
    known = columns.next_number(_NAMES)
    if known == len(books.names):
        books.add_market(columns.next_text(_NAMES).decode())
    books.ts_ns += _unstamp(columns.next_number(_STAMPS))
    sides, shown = books.sides[known], books.shown[known]
    touched = [False, False]
    for _ in range(columns.next_number(_SIDES)):
        place = columns.next_byte(_SIDES)
        side, size = place & 1, columns.next_number(_SIZES)
        touched[side] = True
        if size:
            sides[side][Price(place >> 1)] = Qty(size)
        else:
            del sides[side][Price(place >> 1)]
    for side in (0, 1):
        if touched[side]:
            shown[side] = _sorted(sides[side], side)
    bids, asks = shown
    return m.BookUpdate(MarketId(books.names[known]), books.ts_ns, bids, asks)


# --- blocks ---------------------------------------------------------------------------------------


def _packed(payloads: list[bytes], name: str, version: int) -> bytes:
    """The body of a block. version: of the segment; frames of older ones stay whole."""
    columns, books, last_ns = _Columns(), _Books(), 0
    for payload in payloads:
        at_ns, body = _time_and_body(payload) if version == VERSION else (0, None)
        kind = _AS_IT_IS
        if body is not None:
            kind = _BODY
            if body == _TICK_BODY:
                kind = _TICK
            elif b"BookUpdate" in body[:16] or b"WakeAt" in body[:16]:
                entry = entry_of(payload, name)
                message = entry.message
                if _ENCODER.encode(entry) != payload:
                    pass
                elif isinstance(message, m.WakeAt):
                    kind = _WAKE
                    _put(columns.stamps, _stamp(message.at_ns - at_ns))
                elif isinstance(message, m.BookUpdate) and _put_book(columns, books, message):
                    kind = _BOOK
        columns.kinds.append(kind)
        if body is None:
            _put_text(columns.raw, payload)
            continue
        _put(columns.times, _folded(at_ns - last_ns))
        last_ns = at_ns
        if kind == _BODY:
            _put_text(columns.raw, body)
    filters = _filters(sum(map(len, payloads)))
    parts = [lzma.compress(part, lzma.FORMAT_RAW, filters=filters) if part else b""
             for part in columns.parts]  # fmt: skip
    return _COLUMNS.pack(*map(len, parts)) + b"".join(parts)


def _time_and_body(payload: bytes) -> tuple[int, bytes | None]:
    """The time of an entry and the rest; None for a head, and for another encoding."""
    if len(payload) < 11 or payload[:1] != _TWO or payload[1] != _U64:
        return 0, None
    return int.from_bytes(payload[2:10], "big"), payload[10:]


def _filters(size: int) -> list[dict[str, Any]]:
    window = min(max(size, 4096), _WINDOW_BYTES)
    return [{"id": lzma.FILTER_LZMA2, "preset": 6, "dict_size": window}]


def _unpacked(body: bytes, size: int, version: int) -> Iterator[bytes]:
    """The payloads of a block whose checksum held. size: of its frames. version: of the segment."""
    tick = payload_of_then(_TICK_BODY, version)
    parts, at, filters = [], _COLUMNS.size, _filters(size)
    for length in _COLUMNS.unpack_from(body):
        part = body[at : at + length]
        parts.append(lzma.decompress(part, lzma.FORMAT_RAW, None, filters) if part else b"")
        at += length
    columns, books, last_ns = _Columns(tuple(parts)), _Books(), 0
    for kind in columns.kinds:
        if kind == _AS_IT_IS:
            yield columns.next_text(_RAW)
            continue
        at_ns = last_ns = last_ns + _unfolded(columns.next_number(_TIMES))
        if kind == _BOOK:
            payload = _ENCODER.encode(Entry(at_ns, _book(columns, books)))
            yield payload_of_then(payload, version)
        elif kind == _WAKE:
            wake = m.WakeAt(at_ns + _unstamp(columns.next_number(_STAMPS)))
            yield _ENCODER.encode(Entry(at_ns, wake))
        else:
            rest = tick if kind == _TICK else columns.next_text(_RAW)
            yield _TWO + bytes((_U64,)) + at_ns.to_bytes(8, "big") + rest


def _frames(data: bytes | mmap.mmap) -> Iterator[tuple[int, bytes]]:
    """Where each frame of a whole segment ends, and its payload. Raises JournalFault where it is
    not whole."""
    at = len(OPENING)
    while at < len(data):
        payload = payload_at(cast("bytes", data), at)
        if payload is None:
            raise JournalFault("not whole: it stays as it is")
        at += FRAME.size + len(payload)
        yield at, payload


def archived(data: bytes | mmap.mmap, name: str) -> bytes:
    """A whole segment as an archive. Raises JournalFault for a cut or damaged one."""
    if data[: len(MAGIC)] != MAGIC or len(data) <= len(OPENING):
        raise JournalFault(f"{name}: no segment with a head")
    opening = data[: len(OPENING)]
    out = [_checked(_HEAD.pack(ARCHIVE_MAGIC, ARCHIVE_VERSION, len(data), opening))]
    payloads: list[bytes] = []
    begun, full = len(OPENING), FIRST_BLOCK_BYTES
    try:
        for end, payload in _frames(data):
            payloads.append(payload)
            if end - begun >= full or end == len(data):
                body = _packed(payloads, name, opening[-1])
                out += [_checked(_BLOCK.pack(end - begun, len(body), zlib.crc32(body))), body]
                begun, full, payloads = end, BLOCK_BYTES, []
    except JournalFault as fault:
        raise JournalFault(f"{name}: {fault}") from None
    return b"".join(out)


def _checked(header: bytes) -> bytes:
    return header + _CRC.pack(zlib.crc32(header))


def _holds(data: bytes, at: int, size: int) -> bool:
    header = data[at : at + size]
    return data[at + size : at + size + _CRC.size] == _CRC.pack(zlib.crc32(header))


def is_archive(data: bytes) -> bool:
    return data.startswith(ARCHIVE_MAGIC)


def plain_bytes(head: bytes, name: str) -> int:
    """The size of the segment, from the first `HEAD_BYTES` of its archive. Raises JournalFault for
    another version, and for a damaged head."""
    if len(head) < HEAD_BYTES or not is_archive(head):
        raise JournalFault(f"{name}: not an archive of a journal; move it away")
    if head[4] != ARCHIVE_VERSION:
        raise JournalFault(
            f"{name}: archive version {head[4]}, this program reads {ARCHIVE_VERSION}; run the "
            "program that wrote it, or choose another state directory"
        )
    if not _holds(head, 0, _HEAD.size):
        raise JournalFault(f"{name}: the head of the archive is damaged; move it away")
    size: int = _HEAD.unpack_from(head)[2]
    return size


HEAD_BYTES: Final = _HEAD.size + _CRC.size
"""The head of an archive, before its blocks."""


def restored(data: bytes, name: str, blocks: int | None = None) -> Restored:
    """The segment in an archive. blocks: only the first so many. A damaged block comes out as
    zeros.

    Raises JournalFault as `plain_bytes` does.
    """
    size = plain_bytes(data[:HEAD_BYTES], name)
    opening: bytes = _HEAD.unpack_from(data)[3]
    out, whole = [opening], True
    for piece, is_whole in islice(_pieces(data, size, opening[-1]), blocks):
        out.append(piece)
        whole = whole and is_whole
    return Restored(b"".join(out), whole)


def _pieces(data: bytes, size: int, version: int) -> Iterator[tuple[bytes, bool]]:
    """The content of each block, and True if it is whole."""
    at, done = HEAD_BYTES, len(OPENING)
    while done < size:
        if not _holds(data, at, _BLOCK.size):
            # Where the next block begins is not known any more.
            yield bytes(size - done), False
            return
        plain, length, crc = _BLOCK.unpack_from(data, at)
        at += _BLOCK.size + _CRC.size
        body = data[at : at + length]
        at += length
        if zlib.crc32(body) != crc:
            yield bytes(plain), False
        else:
            payloads = _unpacked(body, plain, version)
            yield b"".join(map(frame_of, payloads)), True
        done += plain


# --- files ----------------------------------------------------------------------------------------


def archive_of(segment: Path) -> Path:
    return segment.with_suffix(SUFFIX)


def archive(segment: Path) -> tuple[int, int]:
    """Replace a closed segment by its archive; returns its bytes before and after. At least one of
    the two is always whole.

    Raises OSError, and JournalFault for a damaged segment, which stays for a person to look at.
    """
    size, small = _small(segment)
    replace_file(archive_of(segment), small)
    segment.unlink(missing_ok=True)
    return size, len(small)


def _small(segment: Path) -> tuple[int, bytes]:
    """The size of a segment, and its archive, which was compared with it."""
    with os.fdopen(os.open(segment, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC), "rb") as file:
        size = os.fstat(file.fileno()).st_size
        if not size:
            raise JournalFault(f"{segment}: no segment with a head")
        # Mapped and not read: a large segment must not cost its size in memory.
        with mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ) as data:
            small = archived(data, str(segment))
            if not _is_same(small, data):
                raise JournalFault(f"{segment}: is another one out of its archive; it stays")
    return size, small


def _is_same(small: bytes, data: mmap.mmap) -> bool:
    at = len(OPENING)
    for piece, _ in _pieces(small, len(data), data[len(MAGIC)]):
        if data[at : at + len(piece)] != piece:
            return False
        at += len(piece)
    return at == len(data)


def main(arguments: list[str]) -> int:
    os.nice(19)
    for argument in arguments:
        try:
            archive(Path(argument))
        except (JournalFault, OSError) as fault:
            sys.stderr.write(f"{fault}\n")
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
