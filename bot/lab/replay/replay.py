"""Lives a journalled run again: the same events through a fresh trader, its effects compared.

The journal holds every event of a run, so the trader that they make is the one that lived then, to
the byte. Candidates may run beside it that did not run then: they change nothing of it. Of a run
that goes on all is retold that has reached the disk. Where an effect is another one than then, the
answers that follow are answers to something else: there the retelling ends, with a fault.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, cast, get_args

import msgspec

from bot.core import messages as m
from bot.core.desk.spend import Purse
from bot.core.observer import RECORDING
from bot.core.reconfigure import Remake
from bot.core.settings import BudgetSettings, Candidate, TraderSettings
from bot.core.strategy import Strategy
from bot.core.trader import Trader
from bot.io.journal.archive import ARCHIVE_MAGIC
from bot.io.journal.journal import (
    first_entries,
    number_of,
    read_journal,
    read_segment,
    segments,
    version_in,
)
from bot.io.journal.records import MAGIC, READABLE, VERSION, Entry, JournalFault, entry_of
from bot.io.run.watched import Retold, interruptions
from bot.lab.shadow.shadow import shadow_of
from venue.wire.names import Ticker

_BEGINS_WITHIN: Final = 64
"""A run begins a segment of its own: its `Started` is among the first entries there."""

EVENTS: Final = frozenset(get_args(m.Event))
"""The kinds of what the trader takes in: to look a kind up is ten times cheaper than to compare it
with each of them."""

MakeStrategy = Callable[[], Strategy]


class Run(msgspec.Struct, frozen=True):
    """One run whose beginning the journal keeps. paths: its segments, the oldest first."""

    paths: tuple[Path, ...]
    started: m.Started
    begun_ns: int


class Place(msgspec.Struct, frozen=True):
    """Where in the journal an entry stands: its segment, and its number there, from 1."""

    segment: str
    entry: int


class Placed(msgspec.Struct, frozen=True):
    """An entry and its place. number: of the run's events up to it, itself included."""

    place: Place
    entry: Entry
    number: int


class Step(msgspec.Struct, frozen=True):
    """One event of a run that was lived again. effects: what the trader wished for, notes too."""

    placed: Placed
    effects: tuple[m.Effect, ...]

    @property
    def at_ns(self) -> int:
        """When the event arrived, on the bot's clock."""
        return self.placed.entry.at_ns


def must_be_segment(path: Path) -> None:
    """Look at the first bytes of a file of any name. Raises JournalFault for what is no journal,
    and OSError."""
    with path.open("rb") as file:
        if file.read(len(MAGIC)) not in (MAGIC, ARCHIVE_MAGIC):
            raise JournalFault(
                f"{path}: not a journal; wanted is the state directory of a run, or a segment in "
                "it, such as journal-00000001.log"
            )


def is_recording(run: Run) -> bool:
    """Whether an observer had the run, which trades nothing, and no trader."""
    configured = run.started.configured
    return configured is not None and configured.strategy.name == RECORDING


def must_be_of_this_version(run: Run) -> None:
    """Raises JournalFault where an earlier trader had the run: this one would decide otherwise."""
    version = version_in(run.paths[0])
    if version != VERSION:
        raise JournalFault(
            f"{run.paths[0]}: journal version {version}: an earlier trader made this run, and this "
            f"program lives runs of version {VERSION} again; use the program that wrote it "
            "(`bot version` says which versions a program has)"
        )


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


def newest_run(state: Path) -> Run:
    """The newest run in a state directory.

    Raises JournalFault when there is none, when its beginning is no longer kept, and when the
    journal cannot be read.
    """
    run = next(runs(state), None)
    if run is None:
        refuse_blank(segments(state))
        raise JournalFault(
            f"{state}: the beginning of the newest run is no longer kept; the status page of a "
            "running bot has its account"
        )
    return run


def refuse_blank(paths: Iterable[Path]) -> None:
    """Raises JournalFault where one of these segments, of which no beginning of a run is found,
    does not even hold its own: nobody took that away, it was lost there."""
    for path in paths:
        if read_segment(path).head is None:
            raise JournalFault(
                f"{path}: holds nothing whole: it was emptied, or a crash or a full disk left it so"
            )


def runs(state: Path, named: Path | None = None) -> Iterator[Run]:
    """The runs of a state directory whose beginning is kept, the newest first.

    named: the segment that is sought; what a later program wrote behind it is no part of its run,
    for a run is of one program, and is passed over. Raises JournalFault when there is no journal at
    all, and when one cannot be read.
    """
    try:
        paths = segments(state)
    except OSError as fault:
        raise JournalFault(f"{state}: {fault.strerror}") from None
    if not paths:
        raise JournalFault(f"{state}: no journal here; name the state directory of a run")
    end = len(paths)
    for place in reversed(range(len(paths))):
        is_behind = named is not None and number_of(paths[place]) > number_of(named)
        if is_behind and version_in(paths[place]) > READABLE[-1]:
            end = place
            continue
        for entry in first_entries(paths[place], _BEGINS_WITHIN):
            if isinstance(entry.message, m.Started):
                yield Run(tuple(paths[place:end]), entry.message, entry.at_ns)
                end = place
                break


def placed_entries(paths: Sequence[Path], *, from_the_start: bool = True) -> Iterator[Placed]:
    """The entries of a run with their places, from its beginning; of one whose beginning is no
    longer kept all of them, if that is wanted."""
    begun, number = not from_the_start, 0
    for path in paths:
        for at, entry in enumerate(read_journal(path), 1):
            begun = begun or isinstance(entry.message, m.Started)
            if begun:
                number += type(entry.message) in EVENTS
                yield Placed(Place(path.name, at), entry, number)


def entries_ahead(paths: Sequence[Path]) -> Iterator[Placed]:
    """As `placed_entries`, up to the first damage: for what has to be known of a run before it is
    lived again, which comes to the damage by itself."""
    with suppress(JournalFault):
        yield from placed_entries(paths)


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


def turns(entries: Iterator[Placed]) -> Iterator[tuple[int, list[Placed]]]:
    """Entries by the turns of the loop, each with the instant of the `Beat` that ends it; what
    stands behind the last one comes with the instant of its last entry."""
    turn: list[Placed] = []
    for placed in entries:
        turn.append(placed)
        if type(placed.entry.message) is m.Beat:
            yield placed.entry.at_ns, turn
            turn = []
    if turn:
        yield turn[-1].entry.at_ns, turn
