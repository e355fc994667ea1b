"""The journal's file format: a head, then length + CRC32 frames; written whole, read tolerantly.

A segment begins with four magic bytes, one version byte, and a head frame: the creates that earlier
segments leave without a definite answer. Then one frame per entry, in order. A frame is its
payload's length and CRC32, four bytes each, little endian, and the payload, msgpack.

Source: design, law 7; reliability, rows 59, 60, 67.
"""

import struct
import zlib
from collections.abc import Iterator
from typing import Final, TypeVar

import msgspec

from bot.core import messages as m
from bot.io.faults import ShellFault

MAGIC: Final = b"LMKJ"
VERSION: Final = 1
_T = TypeVar("_T")

OPENING: Final = MAGIC + bytes([VERSION])
PAYLOAD_BYTES_MAX: Final = 64 * 1024 * 1024
_FRAME: Final = struct.Struct("<II")


class JournalFault(ShellFault):
    """A journal cannot be read or written; the text says what to do."""


class Head(msgspec.Struct, frozen=True, array_like=True):
    """What a segment begins with. opened_ns: on the bot's clock."""

    opened_ns: int
    open_intents: tuple[m.OpenIntent, ...]


class Entry(msgspec.Struct, frozen=True, array_like=True):
    """One event with the time it arrived, or one effect with the time of its event."""

    at_ns: int
    message: m.Event | m.Effect


_ENCODER: Final = msgspec.msgpack.Encoder()
_HEADS: Final = msgspec.msgpack.Decoder(Head)
_ENTRIES: Final = msgspec.msgpack.Decoder(Entry)


def framed(value: Head | Entry) -> bytes:
    """The frame of a head or an entry."""
    payload = _ENCODER.encode(value)
    return _FRAME.pack(len(payload), zlib.crc32(payload)) + payload


def _payload_at(data: memoryview, at: int) -> memoryview | None:
    """The payload of the frame at `at`, or None when it is cut or damaged."""
    if len(data) - at < _FRAME.size:
        return None
    length, crc = _FRAME.unpack_from(data, at)
    payload = data[at + _FRAME.size : at + _FRAME.size + length]
    if length > PAYLOAD_BYTES_MAX or len(payload) < length or zlib.crc32(payload) != crc:
        return None
    return payload


class Segment:
    """A segment's bytes: its head, its entries, and how much of it is whole.

    Raises JournalFault for another version or another kind of file. `head` is None when the file
    ends before its head does: nothing was ever journalled in it.
    """

    def __init__(self, data: bytes, name: str) -> None:
        self._data = memoryview(data)
        self._name = name
        self.head: Head | None = None
        self.whole_bytes = 0
        self._first = len(OPENING)
        if not data.startswith(OPENING):
            if OPENING.startswith(data):
                return
            raise JournalFault(_strange(data, name))
        payload = _payload_at(self._data, len(OPENING))
        if payload is not None:
            self.head = self._decode(_HEADS, payload)
            self._first += _FRAME.size + len(payload)
            self.whole_bytes = self._first

    def _decode(self, decoder: msgspec.msgpack.Decoder[_T], payload: memoryview) -> _T:
        try:
            return decoder.decode(payload)
        except msgspec.DecodeError as fault:
            text = f"{self._name}: a whole record that cannot be read ({fault}); move it away"
            raise JournalFault(text) from None

    def entries(self) -> Iterator[Entry]:
        """The entries in order, up to the first cut or damaged one; `whole_bytes` grows along."""
        at = self._first
        while self.head is not None:
            payload = _payload_at(self._data, at)
            if payload is None:
                return
            at += _FRAME.size + len(payload)
            entry = self._decode(_ENTRIES, payload)
            self.whole_bytes = at
            yield entry


def _strange(data: bytes, name: str) -> str:
    if data.startswith(MAGIC):
        return (
            f"{name}: journal version {data[4]}, this program reads version {VERSION}; "
            "run the program that wrote it, or choose another state directory"
        )
    return f"{name}: not a journal; move it out of the state directory"
