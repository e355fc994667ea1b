"""How long work will take, and how far it is, on stderr: a bar on a terminal, a line every half
minute in a log."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Final

import typer

from bot.cli.common import interruptible
from bot.lab.progress import Console, ShowProgress

_LINE_S: Final = 30.0
_ANNOUNCED_S: Final = 120.0


class Terminal(Console):
    """Progress on stderr, and Ctrl-C. quiet: show no progress. shorter: how to make the work
    shorter; empty: say nothing of how long it takes."""

    def __init__(self, *, quiet: bool = False, shorter: str = "") -> None:
        self._quiet = quiet
        self._shorter = shorter

    @property
    def is_watched(self) -> bool:
        return is_watched() and not self._quiet

    def progress(self, unit: str, total: int | None = None) -> AbstractContextManager[ShowProgress]:
        return progress(unit, total, quiet=self._quiet)

    def announce(self, seconds: float) -> None:
        if self._shorter and not self._quiet:
            announce(seconds, self._shorter)

    def interruptible(self, text: str = "") -> AbstractContextManager[Callable[[], bool]]:
        return interruptible(text)


def announce(seconds: float, shorter: str) -> None:
    """Print how long the work will take, if it is more than two minutes. seconds: an estimate for
    one usual machine. shorter: how to make it shorter."""
    if seconds > _ANNOUNCED_S:
        typer.echo(f"about {_duration(seconds)}; shorter: {shorter}", err=True)


def is_watched() -> bool:
    return sys.stderr.isatty()


@contextmanager
def progress(
    unit: str,
    total: int | None = None,
    *,
    quiet: bool = False,
    clock_s: Callable[[], float] = time.monotonic,
) -> Iterator[ShowProgress]:
    """Show progress within the block. unit: a plural. total: None while it is unknown. clock_s:
    seconds of a monotonic clock."""
    if quiet:
        yield lambda done, what="", total=None: None
    elif not is_watched():
        yield _lines(unit, total, clock_s)
    else:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

        console = Console(stderr=True)
        columns = ("{task.description}", BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        with Progress(*columns, console=console, transient=True) as bar:
            row = bar.add_task(unit, total=total)
            yield lambda done, what="", total=None: bar.update(
                row, completed=done, total=total, description=what or None
            )


def _lines(unit: str, total: int | None, clock_s: Callable[[], float]) -> ShowProgress:
    part = ""
    begun_s = printed_s = clock_s()

    def show(done: int, what: str = "", new_total: int | None = None) -> None:
        nonlocal part, total, begun_s, printed_s
        now_s = clock_s()
        part = what or part
        if new_total is not None and new_total != total:
            total, begun_s = new_total, now_s
        if now_s - printed_s < _LINE_S:
            return
        printed_s = now_s
        far = f"{done:,} {unit}"
        if total:
            far = f"{done:,} of {total:,} {unit}"
            if 0 < done < total:
                left_s = (now_s - begun_s) * (total - done) / done
                far += f", about {_duration(left_s)} left"
        typer.echo(f"{part}: {far}" if part else far, err=True)

    return lambda done, what="", total=None: show(done, what, total)


def _duration(seconds: float) -> str:
    """In one unit: 40 s, 12 min, 3.5 h."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6_000 else f"{seconds / 3_600:.1f} h"
