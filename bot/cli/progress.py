"""How far long work is, on stderr: a bar where a person looks, a line now and then where none
does.
"""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

import typer

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

_LINE_S: Final = 30.0
"""Between two lines in a log."""


class Meter:
    """Is told how far the work is. This one says nothing of it."""

    def told(self, done: int, what: str = "", total: int | None = None) -> None:
        """done: how much of it is done by now. what: what is being done, empty for what it was.
        total: how much there is, where it is another than before."""


class _Lines(Meter):
    """A line of text now and then; the first when a first while is over."""

    def __init__(self, unit: str, total: int | None, clock_s: Callable[[], float]) -> None:
        self._unit = unit
        self._total = total
        self._what = ""
        self._clock_s = clock_s
        self._begun_s = self._said_s = clock_s()

    def told(self, done: int, what: str = "", total: int | None = None) -> None:
        now_s = self._clock_s()
        self._what = what or self._what
        if total is not None and total != self._total:
            self._total, self._begun_s = total, now_s
        if now_s - self._said_s < _LINE_S:
            return
        self._said_s = now_s
        far = f"{done:,} {self._unit}"
        if self._total:
            far = f"{done:,} of {self._total:,} {self._unit}"
            if 0 < done < self._total:
                left_s = (now_s - self._begun_s) * (self._total - done) / done
                far += f", about {_spoken(left_s)} left"
        typer.echo(f"{self._what}: {far}" if self._what else far, err=True)


class _Bar(Meter):
    """One row of a bar that is redrawn."""

    def __init__(self, bar: "Progress", row: "TaskID") -> None:
        self._bar = bar
        self._row = row

    def told(self, done: int, what: str = "", total: int | None = None) -> None:
        self._bar.update(self._row, completed=done, total=total, description=what or None)


def is_watched() -> bool:
    """Whether stderr is a terminal: what a person alone would want need not be counted else."""
    return sys.stderr.isatty()


@contextmanager
def progress(
    unit: str,
    total: int | None = None,
    *,
    quiet: bool = False,
    clock_s: Callable[[], float] = time.monotonic,
) -> Iterator[Meter]:
    """What is told how far the work is while it goes on.

    unit: what is counted, in the plural. total: how many there are, None where nobody knows yet.
    quiet: nothing is said. clock_s: seconds of a clock that only goes forward.
    """
    if quiet:
        yield Meter()
    elif not is_watched():
        yield _Lines(unit, total, clock_s)
    else:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

        console = Console(stderr=True)
        columns = ("{task.description}", BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        with Progress(*columns, console=console, transient=True) as bar:
            yield _Bar(bar, bar.add_task(unit, total=total))


def _spoken(seconds: float) -> str:
    """A length of time in the one unit that says it: 40 s, 12 min, 3.5 h."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6_000 else f"{seconds / 3_600:.1f} h"
