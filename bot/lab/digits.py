"""Whether a text that somebody typed is a whole number that can be meant."""

from typing import Final

_DIGITS_MAX: Final = 18
"""More is no count, place or seed of anything, and thousands of them no number to Python at all."""


def is_whole(text: str) -> bool:
    """Whether a text is made of the digits 0 to 9, one at least and 18 at most."""
    return text.isascii() and text.isdecimal() and len(text) <= _DIGITS_MAX
