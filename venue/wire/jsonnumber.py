"""Numbers of JSON as a caller wrote them: what one comes to is reckoned only when asked for, as a
body may hold thousands (docs/assumptions.md#S55)."""

import enum
from decimal import Decimal, InvalidOperation
from typing import Final

import msgspec

_DIGITS_MAX: Final = 40
_BEYOND: Final = 10**_DIGITS_MAX


class WrittenInteger(msgspec.Struct, frozen=True, gc=False):
    """Digits, after a minus or not."""

    text: str


class WrittenOtherwise(msgspec.Struct, frozen=True, gc=False):
    """A number with a point, an exponent or both."""

    text: str


class NoInteger(enum.Enum):
    """A number that is not written as an integer; nothing here wants one."""

    PART = enum.auto()  # between two integers
    OTHER = enum.auto()


def integer_of(text: str) -> int:
    """An integer; one of absurd length is as far beyond every bound, and cheaper."""
    if len(text) <= _DIGITS_MAX:
        return int(text)
    return -_BEYOND if text.startswith("-") else _BEYOND


def no_integer_of(text: str) -> NoInteger:
    """What a number with a point or an exponent is; its value decides, however it is written."""
    try:
        exact = Decimal(text)
    except InvalidOperation:  # an exponent beyond all bounds
        return NoInteger.OTHER
    return NoInteger.OTHER if exact == exact.to_integral_value() else NoInteger.PART
