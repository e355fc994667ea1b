"""Progress of long work; whole numbers in options."""

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Final, Protocol, TypeVar

from venue.wire.instant import NS_PER_MS, NS_PER_SECOND

STEP_S: Final = 0.005
"""How long one core takes for a step of a simulation of an evaluation or a sweep."""

RECORD_S: Final = 1 / 600
"""For a record of a tape of books, under one queue model."""

_REPLAYED_BYTES_PER_S: Final = {".log": 3e6, ".arc": 100e3}
"""Of segments, plain and archived (docs/lab.md#the-journal-on-disk), by one core."""


def replay_s(segments: Iterable[Path]) -> float:
    """About how many seconds a replay of these segments takes, by their sizes."""
    return sum(path.stat().st_size / _REPLAYED_BYTES_PER_S[path.suffix] for path in segments)


Progress = Callable[[int], None]  # called with how many rows have passed by now
EVERY: Final = 1_000  # rows between two words
_Row = TypeVar("_Row")


def no_progress(_rows: int) -> None:
    pass


_DURATION: Final = re.compile(r"([0-9]{1,9})(ms|s|m|h)", re.ASCII)
_UNITS_NS: Final = {
    "ms": NS_PER_MS,
    "s": NS_PER_SECOND,
    "m": 60 * NS_PER_SECOND,
    "h": 3600 * NS_PER_SECOND,
}


def duration_of(text: str) -> int:
    """Nanoseconds of a text such as 60s. Raises ValueError for anything else."""
    found = _DURATION.fullmatch(text)
    if found is None or int(found[1]) == 0:
        raise ValueError(f"{text}: a number and ms, s, m or h, such as 60s")
    return int(found[1]) * _UNITS_NS[found[2]]


class ShowProgress(Protocol):
    """Called as work goes on. done: how much of it is done. what: the current part of it; empty for
    the one before. total: how much there is, if that changed."""

    def __call__(self, done: int, what: str = "", total: int | None = None) -> None: ...


class Console:
    """Where long work shows how far it is, and by which a person ends it early. This one shows
    nothing, and nobody ends its work."""

    @property
    def is_watched(self) -> bool:
        """True if it is worth some work to know how far it is."""
        return False

    def progress(self, unit: str, total: int | None = None) -> AbstractContextManager[ShowProgress]:
        """Show progress within the block. unit: a plural. total: None while it is unknown."""
        return nullcontext(_show_nothing)

    def announce(self, seconds: float) -> None:
        """Say about how long the work will take on a usual machine."""

    def interruptible(self, text: str = "") -> AbstractContextManager[Callable[[], bool]]:
        """Gives a function that is True until a person asks for an early end. text: what is shown
        then."""
        return nullcontext(lambda: True)


def _show_nothing(done: int, what: str = "", total: int | None = None) -> None:
    pass


QUIET: Final = Console()


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
