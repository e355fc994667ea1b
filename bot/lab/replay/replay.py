"""Lives a journalled run again: the same events through a fresh trader, its effects compared.

The journal holds every event of a run, so the trader that they make is the one that lived then, to
the byte. Candidates may run beside it that did not run then: they change nothing of it. Of a run
that goes on all is retold that has reached the disk. Where an effect is another one than then, the
answers that follow are answers to something else: there the retelling ends, with a fault.
"""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, cast

import msgspec

from bot.core import messages as m
from bot.core.desk.spend import Purse
from bot.core.reconfigure import Remake
from bot.core.settings import BudgetSettings, Candidate, TraderSettings
from bot.core.strategy import Strategy
from bot.core.trader import Trader
from bot.io.journal.journal import (
    read_segment,
)
from bot.io.journal.records import JournalFault, entry_of
from bot.io.run.watched import Retold, interruptions
from bot.lab.session import (
    EVENTS,
    Placed,
    Run,
    Step,
    is_recording,
    must_be_of_this_version,
    placed_entries,
    turns,
)
from bot.lab.shadow.shadow import shadow_of
from venue.wire.names import Ticker

MakeStrategy = Callable[[], Strategy]


class Relived:
    """A run that is being lived again, by the trader that lived it. finished: whether its end was
    met in the journal."""

    def __init__(
        self,
        run: Run,
        settings: TraderSettings,
        make_strategy: MakeStrategy,
        candidates: Sequence[Candidate] = (),
        *,
        remake: Remake | None = None,
        purse_of: Callable[[BudgetSettings], Purse] | None = None,
        around: Callable[[Strategy], Strategy] = lambda strategy: strategy,
        first: Trader | None = None,
        others: Callable[[int], bool] | None = None,
    ) -> None:
        """settings, make_strategy: what it was made with, where its journal does not say so itself
        or there is no `remake`. remake: makes the strategies that the journal names. purse_of:
        makes one that behaves as the trader's own would. around: what each strategy is wrapped in,
        which must answer as the strategy does. first: the trader whose purses and account this one
        shares. others: lives the other series of the process up to an instant, and tells whether
        their journals reach so far (`bot.lab.replay.together`). Raises JournalFault as `steps`
        does, when the strategy that it was made with cannot be made, and for a run of an earlier
        version."""
        self.run = run
        self.others = others
        self.finished = False
        self._step: Step | None = None
        self._made: deque[m.Effect] = deque()
        interrupted, asked_for = _known_ahead(run.paths)
        calls: dict[Ticker, int] = {}

        def retold(make: MakeStrategy) -> MakeStrategy:
            return lambda: around(Retold(make, interrupted, calls))

        configured = run.started.configured
        if is_recording(run):
            raise JournalFault(f"{run.paths[0].parent}: a recording: nothing was traded in it")
        must_be_of_this_version(run)
        if configured is not None and remake is not None:
            settings = configured.settings
            make_strategy = _made_again(remake, configured.strategy)
        series = settings.series_ticker if asked_for is None else asked_for
        self.settings = msgspec.structs.replace(settings, series_ticker=series)
        purse = None if purse_of is None else purse_of(settings.budget)
        self.trader = Trader(
            self.settings,
            retold(make_strategy),
            purse if first is None else first.out.purse_of(m.Key.TRADE),
            None if first is None else first.out.purse_of(m.Key.READ),
            None if first is None else first.quoting.weighing.account,
            shadow_of(candidates),
            None if remake is None else lambda choice: retold(remake(choice)),
            None if first is None else first.out.purse_of(m.Key.STANDBY),
        )

    def steps(self, last: int | None = None) -> Iterator[Step]:
        """The events, in order, each once its effects were found to be those of then. When one is
        given out, the trader has taken it in and nothing after it. last: the event of that number
        ends it, whatever came of it then.

        Raises JournalFault when the journal cannot be read, and when the run had another
        configuration or another program.
        """
        for placed in self._entries():
            message = placed.entry.message
            if type(message) in EVENTS:
                if self.finished:
                    break  # answers after the end are kept by the loop and not given to the trader
                if self._step is not None:
                    yield self._step
                self.happens(placed)
                if placed.number == last:
                    break
            else:
                self.follows(placed)
                self.finished = self.finished or isinstance(message, m.Finished)
        if self._step is not None:
            yield self._step

    def _entries(self) -> Iterator[Placed]:
        """Those of the run, each once the other series have done what they did before it."""
        entries = placed_entries(self.run.paths)
        if self.others is None:
            yield from entries
            return
        for at_ns, turn in turns(entries):
            if not self.others(at_ns):
                return
            yield from turn

    def happens(self, placed: Placed) -> None:
        """Let the trader take in the next event of the run."""
        effects = self._receive(cast(m.Event, placed.entry.message), placed.entry.at_ns)
        self._made = deque(each for each in effects if not isinstance(each, _TELLING))
        self._step = Step(placed, tuple(effects))

    def follows(self, placed: Placed) -> None:
        """Compare the next effect of then. Raises JournalFault when it is another one now."""
        message = placed.entry.message
        if not isinstance(message, _TELLING) and (
            not self._made or self._made.popleft() != message
        ):
            raise JournalFault(
                f"{self.run.paths[0].parent}: with this configuration or program the run takes "
                f"another course, from event {placed.number} on; name the configuration that "
                "it had, or use the program that wrote it"
            )

    def _receive(self, event: m.Event, at_ns: int) -> list[m.Effect]:
        """The effects of an event. Where the trader raised then, it raises now: of that nothing was
        kept, and the run went on."""
        try:
            return self.trader.receive(event, at_ns)
        except Exception:  # noqa: BLE001 - the boundary that the loop had then
            return []


def no_strategy() -> Strategy:
    """For a run whose journal names its strategy: never asked."""
    raise JournalFault("no strategy is known")


def _made_again(remake: Remake, choice: m.StrategyChoice) -> MakeStrategy:
    try:
        return remake(choice)
    except Exception as fault:  # noqa: BLE001 - the plugin boundary: whatever finding one raises
        # As the file of its configuration has it, which the journal does not name.
        is_path = ".py" in choice.name and not Path(choice.name).is_absolute()
        where = (
            "; its path starts from the configuration's folder: ask from there, or name that file "
            "(--config)"
        )
        raise JournalFault(
            f"the run had strategy {choice.name}, which cannot be made: "
            f"{type(fault).__name__}: {fault}{where if is_path else ''}"
        ) from None


_TELLING: Final = (m.Noted, m.Finished)
"""Effects that no answer hangs on: notes, and the end, which the loop may write down by itself."""


# --- the runs of a state directory ----------------------------------------------------------------


_OVERRAN: Final = m.StrategyOverran.__name__.encode()
_READS_SERIES: Final = m.ReadSeries.__name__.encode()


def _known_ahead(paths: Sequence[Path]) -> tuple[dict[Ticker, frozenset[int]], Ticker | None]:
    """What the trader of a run is made with, from one walk through its journal, of which few
    entries are decoded: the calls of strategies that were interrupted, by event, and the series
    that it asked for, if it asked for one: a tape brings its own."""
    found: list[m.Event | m.Effect] = []
    with suppress(JournalFault):
        for path in paths:
            segment = read_segment(path)
            for payload in segment.payloads():
                if _OVERRAN in payload or _READS_SERIES in payload:
                    found.append(entry_of(payload, path.name).message)
            if segment.damaged_at is not None:
                break
    sent = [each.request for each in found if isinstance(each, m.Send)]
    asked = [each.series_ticker for each in sent if isinstance(each, m.ReadSeries)]
    return interruptions(found), asked[0] if asked else None
