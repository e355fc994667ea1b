"""Progress of long work by rows; whole numbers in options."""

from collections.abc import Callable, Iterable, Iterator
from typing import Final, TypeVar

Progress = Callable[[int], None]  # called with how many rows have passed by now
EVERY: Final = 1_000  # rows between two words
_Row = TypeVar("_Row")


def no_progress(_rows: int) -> None:
    pass


class Counted:
    def __init__(self, progress: Progress = no_progress) -> None:
        self._progress = progress
        self._passed = 0

    def count(self, rows: Iterable[_Row]) -> Iterator[_Row]:
        for row in rows:
            yield row
            self._passed += 1
            if self._passed % EVERY == 0:
                self._progress(self._passed)


def is_whole(text: str) -> bool:
    """True for 1 to 18 digits 0 to 9: Python refuses to parse thousands of digits."""
    return text.isascii() and text.isdecimal() and len(text) <= 18
