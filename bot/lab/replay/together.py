"""Replays a run that traded together with other series of its process: all of them, in one order.

Series of one process spend from one request bucket and share one limit of loss, so that what one
of them may do hangs on what the others had done by then. Each has a journal of its own. The loop
takes turns: a turn is a batch of events and the `Tick` behind it, nothing runs in between, and the
instant of the `Tick` is read within it. So the instants of their beats are the order in which the
turns of all series were taken, and with it every journal of them is replayed.
"""

from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

from bot.core.reconfigure import Remake
from bot.core.trader import Trader
from bot.io.journal.records import JournalFault
from bot.lab.replay.replay import DifferenceFault, Replayer
from bot.lab.session import Run, beside_of, runs
from bot.strategy.api import Strategy
from venue.wire.instant import NS_PER_SECOND
from venue.wire.names import Ticker

_BEGAN_WITHIN_NS: Final = 10 * NS_PER_SECOND
"""Series of one process begin together: their runs began no further apart than this."""


def replayer_of(
    run: Run,
    remake: Remake,
    *,
    notes: bool = False,
    around: Callable[[Strategy], Strategy] = lambda strategy: strategy,
) -> Replayer:
    """A run, ready to be replayed, together with those of the other series of its process.

    The arguments and what is raised are those of `Replayer`; besides, JournalFault is raised when
    the journal of one of the other series is not found beside that of the run.
    """
    if not beside_of(run):
        return Replayer(run, remake, notes=notes, around=around)
    others = _Others()
    first: Trader | None = None
    for each in sorted((run, *_runs_beside(run)), key=lambda run: run.begun_ns):
        if each is run:
            made = found = Replayer(
                run,
                remake,
                notes=notes,
                around=around,
                first=first,
                others=others.live_until,
            )
        else:
            made = Replayer(each, remake, first=first)
            others.add(made)
        first = first or made.trader
    return found


# --- the other runs -------------------------------------------------------------------------------


def _runs_beside(run: Run) -> list[Run]:
    """The runs of the other series of its process. Raises JournalFault naming those not found."""
    state = run.paths[0].absolute().parent
    try:
        folders = sorted(each for each in state.parent.iterdir() if each != state)
    except OSError as fault:
        raise JournalFault(f"{state.parent}: {fault.strerror}") from None
    own, together = _series_of(run)
    found: dict[Ticker, Run] = {}
    for folder in folders:
        for each in _runs_in(folder):
            series, all_of_its = _series_of(each)
            if series != own and all_of_its == together:
                nearest = min(found.get(series, each), each, key=lambda one: _apart_ns(one, run))
                if _apart_ns(nearest, run) <= _BEGAN_WITHIN_NS:
                    found[series] = nearest
    missing = [ticker for ticker in beside_of(run) if ticker not in found]
    if missing:
        raise JournalFault(
            f"{run.paths[0]}: this run shared its request bucket with {', '.join(beside_of(run))}, "
            "so it is replayed together with them; no journal of "
            f"{', '.join(missing)} from then is in a folder of {state.parent}"
        )
    return list(found.values())


def _runs_in(folder: Path) -> list[Run]:
    """The runs of a state directory; none where it is no such, or of another version."""
    with suppress(JournalFault):
        return list(runs(folder))
    return []


def _series_of(run: Run) -> tuple[Ticker, frozenset[Ticker]]:
    """The series of a run, and all series of its process."""
    configured = run.started.configured
    if configured is None:
        return Ticker(""), frozenset()
    series = configured.settings.series_ticker
    return series, frozenset((series, *configured.settings.other_series))


def _apart_ns(one: Run, other: Run) -> int:
    return abs(one.begun_ns - other.begun_ns)


# --- turn by turn ---------------------------------------------------------------------------------


class _Others:
    """The other series of a process, the turns of all of them in one order."""

    def __init__(self) -> None:
        self._series: list[Replayer] = []
        self._turns: list[Iterator[int]] = []
        self._next_ns: list[int | None] = []

    def add(self, one: Replayer) -> None:
        """Another series, from its first turn on."""
        self._series.append(one)
        self._turns.append(one.turns())
        self._next_ns.append(next(self._turns[-1], None))

    def live_until(self, at_ns: int) -> bool:
        """Take every turn before an instant. False where the journal of one ends before it without
        an end of the run: what it had done by then is not known.

        Raises JournalFault as `Replayer.steps` does.
        """
        while True:
            waiting = [
                (next_ns, place)
                for place, next_ns in enumerate(self._next_ns)
                if next_ns is not None and next_ns < at_ns
            ]
            if not waiting:
                break
            _, place = min(waiting)
            try:
                self._next_ns[place] = next(self._turns[place], None)
            except DifferenceFault as fault:  # the difference is none of the run that is asked for
                raise JournalFault(str(fault)) from None
        return all(
            next_ns is not None or one.finished
            for next_ns, one in zip(self._next_ns, self._series, strict=True)
        )
