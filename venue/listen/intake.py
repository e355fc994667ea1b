"""What a peer sends, cut into pieces that the HTTP parser can take as the interface means them.

The parser knows some thirty methods and gives up at any other word; and it takes a request that
offers another protocol for the end of HTTP, and its body for the next request. So no piece goes
beyond the end of a request, where the next method stands at the beginning of a piece and can be
replaced by one of no route; and an offer that nobody here takes up goes by another name.

Cutting never changes what is said: a piece too many costs a call of the parser. Where a request
ends is for the parser alone to say.

Source: RFC 9110, 7.8 (a server may ignore an offer) and 9.1.
"""

import enum
import re
from collections.abc import Iterable
from typing import Final

from venue.listen import limits

_START: Final = re.compile(rb"([\r\n]*)([!#$%&'*+.^_`|~0-9A-Za-z-]*)")
"""Empty lines, which belong to no request, and a method as RFC 9110 spells it."""
_HANDED_ON: Final = frozenset({b"GET", b"HEAD", b"POST", b"PUT", b"DELETE"})
"""Methods of routes, and the one whose answers have no body."""
_OF_NO_ROUTE: Final = b"PATCH"
_SPACE: Final = ord(" ")
_EMPTY_LINE: Final = b"\n\r\n"
"""Ends a head, and a body in chunks."""
_LAST_EMPTY_LINE: Final = re.compile(rb"\n\r\n(?![\r\n]|\Z)")
"""The same before anything that is no such line."""
_OFFER_NAME: Final = b"upgrade:"
_LINE_OF_OFFER: Final = b"\n" + _OFFER_NAME[:-1]
_IGNORED_OFFER: Final = re.compile(rb"\nupgrade:(?![ \t]*websocket\r)", re.IGNORECASE)
_IGNORED: Final = b"\nignored:"


class Stage(enum.Enum):
    """Where in a request the parser is."""

    START = enum.auto()  # before its first byte; empty lines may come
    HEAD = enum.auto()
    BODY = enum.auto()


class Intake:
    """The bytes of one connection between the socket and the parser."""

    def __init__(self) -> None:
        self._data = b""
        self._at = 0
        """How much of the data was given out."""
        self._before = b""
        """The last two bytes that were given out, if there were as many."""
        self._body_given: int | None = None
        """Bytes of the body under way that were given out; None outside of a body."""
        self._body_length: int | None = None

    @property
    def is_empty(self) -> bool:
        """Whether nothing waits."""
        return self._at == len(self._data)

    def add(self, data: bytes) -> None:
        """Take in what came."""
        self._data = data if self.is_empty else self._data[self._at :] + data
        self._at = 0

    def drop(self) -> bytes:
        """Give out whatever waits, and forget it: no parser of HTTP will read it."""
        dropped = self._data[self._at :]
        self._data, self._at = b"", 0
        return dropped

    def piece(self, stage: Stage, headers: Iterable[tuple[bytes, bytes]]) -> bytes:
        """The next bytes for the parser; empty when more has to come first.

        headers: of the request under way, names in lower case; looked at in a body only.
        """
        if stage is Stage.BODY:
            return self._given(self._end_in_body(headers))
        self._body_given = None
        if stage is Stage.START:
            match = _START.match(self._data, self._at)
            assert match is not None, "it matches nothing at all"
            if match[1]:
                return self._given(match.end(1))
            if not self._begin(match[2], match.end()):
                return b""
        before = self._before[-1:]
        return _without_offers(before, self._given(self._end_in_head()))

    def _begin(self, method: bytes, end: int) -> bool:
        """Whether a method is there whole, or is none; one of no route has been replaced."""
        if end == len(self._data):
            return not method or len(method) > limits.HEAD_LINE_BYTES_MAX
        if method and self._data[end] == _SPACE and method not in _HANDED_ON:
            self._data, self._at = _OF_NO_ROUTE + self._data[end:], 0
        return True

    def _end_in_head(self) -> int:
        """Behind the head; as long as it is not whole, before a line that may be an offer."""
        data = self._data
        end = self._behind_seam()
        if end is None:
            at = data.find(_EMPTY_LINE, self._at)
            end = None if at < 0 else at + len(_EMPTY_LINE)
        if end is not None:
            return end
        begin = data.rfind(b"\n", self._at) + 1
        if begin == 0:
            if not self._before.endswith(b"\n"):
                return len(data)
            begin = self._at
        line = data[begin : begin + len(_OFFER_NAME)].lower()
        is_long = len(data) - begin > limits.HEAD_LINE_BYTES_MAX
        return len(data) if is_long or not _may_be_offer(line) else begin

    def _end_in_body(self, headers: Iterable[tuple[bytes, bytes]]) -> int:
        """Behind the body, or before what may be behind it."""
        data = self._data
        if self._body_given is None:
            self._body_given, self._body_length = 0, _declared_length(headers)
        given, length = self._body_given, self._body_length
        end: int | None = None
        if length is not None:
            # A body that goes on beyond its length is for the parser to judge.
            if given < length:
                end = min(len(data), self._at + length - given)
        else:
            # However much of it came: by its marks alone it may be longer than any body read.
            end = self._behind_seam()
            if end is None:
                match = _LAST_EMPTY_LINE.search(data, self._at)
                end = None if match is None else match.end()
        end = len(data) if end is None else end
        self._body_given = given + end - self._at
        return end

    def _behind_seam(self) -> int | None:
        """Behind an empty line of which some was given out before the rest came, if there is."""
        before, data, at = self._before, self._data, self._at
        if at or not before:
            return None  # what was given out before was so with this in view
        seam = (before + data[:2]).find(_EMPTY_LINE)
        return None if seam < 0 else seam + len(_EMPTY_LINE) - len(before)

    def _given(self, end: int) -> bytes:
        data, at = self._data, self._at
        piece = data[at:end]
        self._at = end
        self._before = piece[-2:] if len(piece) > 1 else (self._before + piece)[-2:]
        return piece


def _without_offers(before: bytes, piece: bytes) -> bytes:
    """A piece of a head, in which offers of other protocols than the channel's are renamed.

    before: the byte before it, if there was one.
    """
    text = before + piece
    if _LINE_OF_OFFER not in text.lower():
        return piece
    return _IGNORED_OFFER.sub(_IGNORED, text)[len(before) :]


def _may_be_offer(line: bytes) -> bool:
    """Whether a line that begins so may come to be an offer. line: in lower case."""
    return line != b"" and line == _OFFER_NAME[: len(line)]


def _declared_length(headers: Iterable[tuple[bytes, bytes]]) -> int | None:
    """The Content-Length that the parser has found good; None of a body in chunks."""
    for name, value in headers:
        if name == b"content-length":
            return int(value)
    return None
