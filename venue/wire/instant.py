"""RFC3339 nanosecond text, UTC, to and from integer nanoseconds since the Unix epoch. datetime
keeps microseconds only, so the fraction is handled here."""

import datetime
import re
from functools import lru_cache
from typing import Final, NewType

Instant = NewType("Instant", str)
"""RFC3339 text with nanoseconds and the suffix Z, as the venue emits it."""

NS_PER_SECOND: Final = 1_000_000_000
NS_PER_MS: Final = 1_000_000

ZERO: Final = Instant("0001-01-01T00:00:00Z")
"""The book that never traded reports this: no information, not an old book."""

_TEXT: Final = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})[Tt]([0-9]{2}):([0-9]{2}):([0-9]{2})"
    r"(?:\.([0-9]{1,9}))?(?:([Zz])|([+-])([0-9]{2}):([0-9]{2}))",
    re.ASCII,
)
_EMITTED: Final = len("0001-01-01T00:00:00.000000000Z")
_EPOCH: Final = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)


@lru_cache(maxsize=256)
def _seconds_text(seconds: int) -> str:
    moment = _EPOCH + datetime.timedelta(seconds=seconds)
    return (
        f"{moment.year:04d}-{moment.month:02d}-{moment.day:02d}"
        f"T{moment.hour:02d}:{moment.minute:02d}:{moment.second:02d}"
    )


def from_ns(ns: int) -> Instant:
    """The text of an instant: nine decimal places and Z. ns: years 1 to 9999; raises OverflowError
    outside."""
    seconds, fraction = divmod(ns, NS_PER_SECOND)
    return Instant(f"{_seconds_text(seconds)}.{fraction:09d}Z")


def second_of(ns: int) -> str:
    """The text of the second of an instant, for people. Raises OverflowError as `from_ns`."""
    return f"{_seconds_text(ns // NS_PER_SECOND)}Z"


def to_ns(text: str) -> int:
    """The nanoseconds since 1970 of an RFC3339 text, any offset, 0 to 9 decimal places; negative
    for the zero instant. Raises ValueError."""
    if len(text) == _EMITTED and text[19] == "." and text[29] == "Z":
        # As `from_ns` writes it, and every venue of the contract: the same seconds over and over.
        fraction = text[20:29]
        if fraction.isdigit() and fraction.isascii():
            try:
                return _seconds_of(text[:19]) * NS_PER_SECOND + int(fraction)
            except ValueError:
                return _read(text)  # which names the whole text in its fault
    return _read(text)


@lru_cache(maxsize=256)
def _seconds_of(text: str) -> int:
    """Whole seconds of a text of date and time alone, in UTC. Raises ValueError for another."""
    return _read(text + "Z") // NS_PER_SECOND


def _read(text: str) -> int:
    match = _TEXT.fullmatch(text)
    if match is None:
        raise ValueError(f"not an RFC3339 instant: {text!r}")
    year, month, day, hour, minute, second = (int(match[i]) for i in range(1, 7))
    moment = datetime.datetime(year, month, day, hour, minute, second, tzinfo=datetime.UTC)
    seconds = (moment - _EPOCH) // datetime.timedelta(seconds=1)
    if match[8] is None:
        offset_hours, offset_minutes = int(match[10]), int(match[11])
        if offset_hours > 23 or offset_minutes > 59:
            raise ValueError(f"not an RFC3339 instant: {text!r}")
        offset = offset_hours * 3600 + offset_minutes * 60
        seconds -= offset if match[9] == "+" else -offset
    return seconds * NS_PER_SECOND + int((match[7] or "0").ljust(9, "0"))


def is_zero(text: str) -> bool:
    """True if `text` names the zero instant, however many decimal places it is written with."""
    try:
        return to_ns(text) == _ZERO_NS
    except ValueError:
        return False


_ZERO_NS: Final = to_ns(ZERO)
