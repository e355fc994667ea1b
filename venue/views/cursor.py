"""Page cursors: the place of the last row, in the clear, and a MAC over everything that the page
depended on. Nothing is stored: a token survives a restart that keeps the key
(docs/assumptions.md#S37)."""

import base64
import binascii
import hashlib
import hmac
from typing import Final

import msgspec

from venue.wire.codec import Refusal
from venue.wire.errors import Code
from venue.wire.names import UserId
from venue.wire.routes import API_PREFIX

_MAC_BYTES: Final = 16
_TOKEN_LENGTH_MAX: Final = 512
"""Longer than any token issued here: a place is a number or a ticker and an outcome."""


class Listing(msgspec.Struct, frozen=True):
    """What a cursor is bound to. filters: any text that is equal exactly when the filters are."""

    user_id: UserId
    route: str
    filters: str


class Cursors:
    """Issues and opens the cursors of one venue. `key`: 16 to 64 secret bytes."""

    def __init__(self, key: bytes) -> None:
        self._key = key

    def issue(self, listing: Listing, place: str) -> str:
        """A token for the page after the row at `place` (not empty)."""
        raw = self._mac(listing, place) + place.encode()
        return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()

    def open_cursor(self, listing: Listing, token: str) -> str:
        """The place that `issue` put into this token for the same listing. Raises
        Refusal(invalid_cursor) for every other text."""
        raw = _decoded(token)
        if raw is not None:
            try:
                place = raw[_MAC_BYTES:].decode()
            except UnicodeDecodeError:
                place = ""
            if place and hmac.compare_digest(raw[:_MAC_BYTES], self._mac(listing, place)):
                return place
        raise Refusal(Code.INVALID_CURSOR, "cursor: not one that this list has given out")

    def _mac(self, listing: Listing, place: str) -> bytes:
        # JSON keeps the parts apart whatever characters they hold.
        parts = (API_PREFIX, listing.user_id, listing.route, listing.filters, place)
        return hashlib.blake2b(
            msgspec.json.encode(parts), key=self._key, digest_size=_MAC_BYTES
        ).digest()


def _decoded(token: str) -> bytes | None:
    if not token.isascii() or len(token) > _TOKEN_LENGTH_MAX:
        return None
    try:
        raw = base64.urlsafe_b64decode(token + "=" * (-len(token) % 4))
    except (binascii.Error, ValueError):
        return None
    # The decoder skips foreign characters and ignores spare bits: one token has one spelling.
    return raw if base64.urlsafe_b64encode(raw).rstrip(b"=").decode() == token else None
