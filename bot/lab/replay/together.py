"""Lives a run again that traded beside other series of its process: all of them, in one order.

Series of one process spend from one request bucket and share one limit of loss, so that what one
of them may do hangs on what the others had done by then. Each has a journal of its own. The loop
takes turns: a turn is a batch of events and the `Beat` behind it, nothing runs in between, and the
instant of the `Beat` is read within it. So the instants of their beats are the order in which the
turns of all series were taken, and with it every journal of them is lived again.
"""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final

import msgspec

from bot.core import messages as m
from bot.core.desk.spend import Purse
from bot.core.reconfigure import Remake
from bot.core.settings import BudgetSettings, Candidate, TraderSettings
from bot.core.strategy import Strategy
from bot.core.trader import Trader
from bot.io.journal.records import JournalFault
from bot.lab.replay.replay import MakeStrategy, Relived, no_strategy
from bot.lab.session import EVENTS, Placed, Run, beside_of, newest_run, placed_entries, runs, turns
from venue.wire.instant import NS_PER_SECOND
from venue.wire.names import Ticker

_BEGAN_WITHIN_NS: Final = 10 * NS_PER_SECOND
"""Series of one process begin together: their runs began no further apart than this."""


class Retelling(msgspec.Struct, frozen=True):
    """A run lived again, up to `until_ns`."""

    trader: Trader
    until_ns: int
    events: int


def retell(
    state: Path,
    settings: TraderSettings,
    make_strategy: MakeStrategy,
    candidates: Sequence[Candidate] = (),
    remake: Remake | None = None,
) -> Retelling:
    """The newest run in this state directory; the other arguments as those of `relived`.

    Raises JournalFault when there is none, when its beginning is no longer kept, when the journal
    cannot be read, and when the run had another configuration or another program.
    """
    again = relived(newest_run(state), settings, make_strategy, candidates, remake=remake)
    until_ns = events = 0
    for step in again.steps():
        until_ns = max(until_ns, step.at_ns)
        events = step.placed.number
    return Retelling(again.trader, until_ns, events)


def relived(
    run: Run,
    settings: TraderSettings,
    make_strategy: MakeStrategy,
    candidates: Sequence[Candidate] = (),
    *,
    remake: Remake | None = None,
    purse_of: Callable[[BudgetSettings], Purse] | None = None,
    around: Callable[[Strategy], Strategy] = lambda strategy: strategy,
) -> Relived:
    """A run, ready to be lived again, together with those of the series that it traded beside.

    The arguments and what is raised are those of `Relived`; besides, JournalFault is raised when
    the journal of one of the other series is not found beside that of the run.
    """
    alone = beside_of(run) == ()
    fellows: list[_Fellow] = []
    others = _Others(fellows)
    first: Trader | None = None
    for each in [run] if alone else sorted((run, *_runs_beside(run)), key=_begun_ns):
        purse = None if purse_of is None or first is not None else purse_of
        if each is run:
            made = found = Relived(
                run,
                settings,
                make_strategy,
                candidates,
                remake=remake,
                purse_of=purse,
                around=around,
                first=first,
                others=None if alone else others.live_until,
            )
        else:
            assert each.started.configured is not None
            had = each.started.configured.settings
            made = Relived(each, had, no_strategy, remake=remake, purse_of=purse, first=first)
            fellows.append(_Fellow(made))
        first = first or made.trader
    return found


def _begun_ns(run: Run) -> int:
    return run.begun_ns


# --- the other runs -------------------------------------------------------------------------------


def _runs_beside(run: Run) -> list[Run]:
    """The runs of the other series of its process. Raises JournalFault naming those not found."""
    state = run.paths[0].absolute().parent
    wanted: dict[Ticker, list[Run]] = {ticker: [] for ticker in beside_of(run)}
    try:
        folders = sorted(each for each in state.parent.iterdir() if each != state)
    except OSError as fault:
        raise JournalFault(f"{state.parent}: {fault.strerror}") from None
    for folder in folders:
        for each in _together_with(run, folder):
            configured = each.started.configured
            assert configured is not None
            wanted[configured.settings.series_ticker].append(each)
    missing = [ticker for ticker, found in wanted.items() if not found]
    if missing:
        raise JournalFault(
            f"{run.paths[0]}: this run shared its request bucket with {', '.join(beside_of(run))}, "
            "so it is lived again together with them; no journal of "
            f"{', '.join(missing)} from then is in a folder of {state.parent}"
        )
    return [min(found, key=lambda each: _apart_ns(each, run)) for found in wanted.values()]


def _together_with(run: Run, folder: Path) -> Iterator[Run]:
    """The runs in a folder that may have been of the same process."""
    try:
        kept = list(runs(folder))
    except JournalFault:
        return  # not a state directory, or of another version: then it is told as missing
    mine = run.started.configured
    assert mine is not None
    series = {mine.settings.series_ticker, *mine.settings.beside}
    for each in kept:
        its = each.started.configured
        if (
            its is not None
            and its.settings.series_ticker != mine.settings.series_ticker
            and {its.settings.series_ticker, *its.settings.beside} == series
            and _apart_ns(each, run) <= _BEGAN_WITHIN_NS
        ):
            yield each


def _apart_ns(one: Run, other: Run) -> int:
    return abs(one.begun_ns - other.begun_ns)


# --- turn by turn ---------------------------------------------------------------------------------


class _Fellow:
    """Another series, lived again turn by turn. next_ns: of its next turn; None: there is none."""

    def __init__(self, one: Relived) -> None:
        self._one = one
        self._turns = turns(placed_entries(one.run.paths))
        self._turn: list[Placed] = []
        self._finished = False
        self.next_ns: int | None = 0
        self._look_ahead()

    @property
    def is_cut(self) -> bool:
        """Whether its journal ends, as far as it is kept, before the run had come to its end."""
        return self.next_ns is None and not self._finished

    def live_turn(self) -> None:
        """Its next turn. Raises JournalFault as `Relived.steps` does."""
        for placed in self._turn:
            if self._finished:
                break  # answers after the end are kept by the loop and not given to the trader
            message = placed.entry.message
            if type(message) in EVENTS:
                self._one.happens(placed)
            else:
                self._one.follows(placed)
                self._finished = isinstance(message, m.Finished)
        self._look_ahead()

    def _look_ahead(self) -> None:
        self.next_ns, self._turn = next(self._turns, (None, []))


class _Others:
    """The other series of a process, the turns of all of them in one order."""

    def __init__(self, fellows: Sequence[_Fellow]) -> None:
        self._fellows = fellows

    def live_until(self, at_ns: int) -> bool:
        """Live every turn before an instant. False where the journal of one does not reach so far:
        what it had done by then is not known.

        Raises JournalFault as `Relived.steps` does.
        """
        while True:
            waiting = [
                (each.next_ns, number)
                for number, each in enumerate(self._fellows)
                if each.next_ns is not None and each.next_ns < at_ns
            ]
            if not waiting:
                return not any(each.is_cut for each in self._fellows)
            self._fellows[min(waiting)[1]].live_turn()
