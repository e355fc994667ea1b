"""Counts rows as they pass and reports progress now and then; and parses whole numbers."""

from collections.abc import Callable, Iterable, Iterator
from typing import Final, TypeVar

Progress = Callable[[int], None]  # called with how many rows have passed by now
EVERY: Final = 1_000  # rows between two words
_Row = TypeVar("_Row")


def no_progress(_rows: int) -> None:
    """Progress without an observer."""


class Counted:
    """Counts over any number of passes. progress: called every `EVERY` rows."""

    def __init__(self, progress: Progress = no_progress) -> None:
        self._progress = progress
        self._passed = 0

    def count(self, rows: Iterable[_Row]) -> Iterator[_Row]:
        for row in rows:
            yield row
            self._passed += 1
            if self._passed % EVERY == 0:
                self._progress(self._passed)


_DIGITS_MAX: Final = 18
"""Longer numbers are no valid count, place or seed; Python refuses to parse thousands of digits."""


def is_whole(text: str) -> bool:
    """True if a text is made of the digits 0 to 9, one at least and 18 at most."""
    return text.isascii() and text.isdecimal() and len(text) <= _DIGITS_MAX
