"""Shapes of tickers, handles, UUIDs and order ids; case folding. Every check is an ASCII full match
before any folding: `$` matches before a newline, `\\d` takes full-width digits, and the Kelvin sign
folds to k. Reading: docs/assumptions.md#S45."""

import re
from typing import Final, NewType

from venue.wire.limits import CLIENT_ORDER_ID_LENGTH_MAX

ID_LENGTH_MAX: Final = 128
"""Characters of an id that anybody shows us: we keep them, in memory and on disk."""

MarketId = NewType("MarketId", str)
"""The UUID of a market (one rung or the binary market), lower case."""

Ticker = NewType("Ticker", str)
"""A series, event or market ticker as the venue writes it: upper case, dots significant."""

ProjectId = NewType("ProjectId", str)
"""The UUID of a company, lower case."""

OrderId = NewType("OrderId", str)
"""Decimal digits, 1 to 20; may exceed 2**53 and is never a number."""

ClientOrderId = NewType("ClientOrderId", str)
"""The caller's idempotency key: 1 to 64 printable ASCII characters; case matters."""

UserId = NewType("UserId", str)
"""An account holder; never shown on any public surface."""

MARKET_PATH_PATTERN: Final = "^[A-Za-z0-9.](?:[A-Za-z0-9.-]*[A-Za-z0-9.])?$"
ORDER_ID_PATTERN: Final = "^[0-9]{1,20}$"
CLIENT_ORDER_ID_PATTERN: Final = r"^[\x20-\x7e]{1,64}$"

_MARKET_PATH: Final = re.compile(MARKET_PATH_PATTERN[1:-1], re.ASCII)
_ORDER_ID: Final = re.compile(ORDER_ID_PATTERN[1:-1], re.ASCII)
_UUID: Final = re.compile(r"[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}", re.ASCII)
_HANDLE: Final = re.compile(r"[A-Za-z0-9.-]+", re.ASCII)
_DOTS_ONLY: Final = re.compile(r"\.+", re.ASCII)


def is_market_path(text: str) -> bool:
    """True if `text` may stand in a path as market_id: a ticker or a UUID by shape."""
    return _MARKET_PATH.fullmatch(text) is not None


def is_uuid(text: str) -> bool:
    """True if `text` is a UUID in its usual 36-character form, any case."""
    return _UUID.fullmatch(text) is not None


def is_order_id(text: str) -> bool:
    return _ORDER_ID.fullmatch(text) is not None


def is_client_order_id(text: str) -> bool:
    """True if `text` is 1 to 64 printable ASCII characters; the space is one of them."""
    # The pattern above in half the time: printable and ASCII is space to tilde.
    return text.isascii() and text.isprintable() and 1 <= len(text) <= CLIENT_ORDER_ID_LENGTH_MAX


def is_path_segment(text: str) -> bool:
    """True if a client may put `text` into a path: URL libraries fold dot segments away."""
    return is_market_path(text) and _DOTS_ONLY.fullmatch(text) is None


HANDLE_LENGTH_MAX: Final = 64
"""No ticker and no symbol is listed that is longer."""


def fold_handle(text: str) -> str | None:
    """A handle trimmed of ASCII white space and in upper case, or None when it has a forbidden
    character."""
    trimmed = text.strip(" \t\r\n\f\v")
    return trimmed.upper() if _HANDLE.fullmatch(trimmed) is not None else None


def fold_ticker(text: str) -> Ticker:
    """A ticker in upper case. ASCII alone is folded: some other letters have an ASCII capital."""
    return Ticker(text.upper() if text.isascii() else text)


def fold_uuid(text: str) -> str:
    return text.lower()
