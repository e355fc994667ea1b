"""Counts rows as they pass, and tells now and then how many did, for who waits for the work."""

from collections.abc import Callable, Iterable, Iterator
from typing import Final, TypeVar

Told = Callable[[int], None]
"""Is told how many rows have passed by now."""

EVERY: Final = 1_000
"""Rows between two words."""

_Row = TypeVar("_Row")


def untold(_rows: int) -> None:
    """Where nobody waits."""


class Counted:
    """Counts over any number of passes. told: is told every `EVERY` rows."""

    def __init__(self, told: Told = untold) -> None:
        self._told = told
        self._passed = 0

    def of(self, rows: Iterable[_Row]) -> Iterator[_Row]:
        """The rows as they are. Each is counted once whoever takes it has asked for the next."""
        for row in rows:
            yield row
            self._passed += 1
            if self._passed % EVERY == 0:
                self._told(self._passed)
