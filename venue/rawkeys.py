"""Raw keys and tokens: how one is made, and what may be known of it."""

import hashlib
import secrets
from typing import Final

import msgspec

_LEAD: Final = "lm_"
"""By this the log's mask knows a made key inside any text."""

_RANDOM_BYTES: Final = 32
_PREFIX_LENGTH: Final = 6


class Fingerprint(msgspec.Struct, frozen=True):
    """What may be known of a credential: its SHA-256 in hex and its first characters."""

    sha256_hex: str
    prefix: str


def made() -> str:
    """A new raw key or token: 256 random bits as text."""
    return f"{_LEAD}{secrets.token_urlsafe(_RANDOM_BYTES)}"


def fingerprint(raw: str) -> Fingerprint:
    return Fingerprint(hashlib.sha256(raw.encode()).hexdigest(), raw[:_PREFIX_LENGTH])
