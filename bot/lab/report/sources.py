"""Makes sessions: from a replayed run, from backtests, or from a saved file."""

import os
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Final

import msgspec

from bot.config.bot_config import BotConfig, finish, read_draft
from bot.core import messages as m
from bot.core.reconfigure import Remake
from bot.core.trader import Trader
from bot.io.journal.journal import number_of
from bot.io.journal.records import JournalFault
from bot.lab.backtest.lookahead import watched
from bot.lab.backtest.run import LIMITS as TAPE_LIMITS
from bot.lab.backtest.run import Progress, Result, Winners, backtest, distinct
from bot.lab.exchange.assumptions import Terms
from bot.lab.exchange.queue_model import QueueModel
from bot.lab.exchange.recorded import Kind
from bot.lab.exchange.trader_run import Observer
from bot.lab.pool import in_order
from bot.lab.replay import replayer_of
from bot.lab.report.sampler import Sampler
from bot.lab.report.session import Saved, Session
from bot.lab.session import runs_meant
from venue.crowd.tape import Tape

_TOLD_EVERY: Final = 500
_SEGMENTS: Final = (".log", ".arc")

_JOURNAL_LIMITS: Final = (
    "What the bot believed and did, event by event; what others thought it cannot show.",
    "Between the first and the last moment only what reached the bot is known: a fill counts from "
    "when it could first have been heard of.",
    "Markouts against fair use the bot's own fair value, which its own orders may have moved.",
    "One session is one draw of luck: an error here is of this session, not of the strategy.",
)
_BACKTEST_LIMITS: Final = (
    "Recorded history does not react to us: nothing here is said of larger sizes.",
    "Between `pessimistic` and `optimistic` lies what cannot be known; `expected` is "
    "a guess between them, and a profit under it alone is none.",
    "Time between records is made up of turns of the trader.",
)
_BROKEN_OFF: Final = "the backtest was ended early: plays that it had not begun are missing"


class ReportFault(Exception):
    """The report cannot be made; the text names the file or the option."""


class NoSource(ReportFault):
    """Neither a state directory, nor a journal, nor a backtest's result."""


def sessions_of(
    source: Path,
    remake: Remake,
    progress: Callable[[int], None] = lambda _events: None,
    every_s: float | None = None,
) -> list[Session]:
    """The sessions of a state directory, a journal or a backtest's result. every_s: seconds between
    moments of a journal; None: a bounded number of moments. Raises JournalFault for a journal that
    cannot be replayed, and NoSource for anything else."""
    try:
        is_folder = source.is_dir()
    except OSError as fault:  # such as in the folder of another user
        raise NoSource(f"{source}: {fault.strerror}") from None
    if is_folder or source.suffix in _SEGMENTS or number_of(source) >= 0:
        return [_replayed(source, remake, progress, every_s)]
    found = _saved(source)
    if not found:
        raise NoSource(f"{source}: a backtest without any result")
    return found


def _replayed(
    path: Path, remake: Remake, progress: Callable[[int], None], every_s: float | None
) -> Session:
    (run,) = runs_meant(path, every=False)
    again = replayer_of(run, remake)
    trader = again.trader
    sampler = Sampler(trader) if every_s is None else Sampler(trader, most=None, every_s=every_s)
    damage = ""
    try:
        for step in again.steps():
            event = step.placed.entry.message
            assert isinstance(event, m.Event)
            sampler.on_event(event, step.effects, step.at_ns)
            if step.placed.number % _TOLD_EVERY == 0:
                progress(step.placed.number)
    except JournalFault as fault:
        if sampler.session.events == 0:
            raise
        damage = str(fault)
    session, configured = sampler.close(), run.started.configured
    there = Path(os.path.abspath(path))  # noqa: PTH100 - a link keeps its own name
    session.name = there.name if path.is_dir() else there.parent.name
    session.series, session.run = trader.series_ticker, run.started.boot_nonce
    session.strategy = "" if configured is None else _strategy(configured.strategy)
    session.limits, session.damage = list(_JOURNAL_LIMITS), damage
    session.ended = again.finished
    return session


def _strategy(choice: m.StrategyChoice) -> str:
    return f"{choice.name} {choice.params_json}"


def _saved(path: Path) -> list[Session]:
    try:
        content = path.read_bytes()
    except OSError as fault:
        raise NoSource(f"{path}: {fault.strerror}") from None
    try:
        head = msgspec.json.decode(content)
    except (msgspec.DecodeError, UnicodeDecodeError):
        head = None
    if not isinstance(head, dict) or "sessions" not in head:
        raise NoSource(
            f"{path}: neither a state directory, nor a journal, nor a file of `bot backtest --save`"
        )
    try:
        kept = msgspec.convert(head, Saved, str_keys=True)
    except msgspec.ValidationError as fault:
        raise NoSource(f"{path}: a result of another version: {fault}") from None
    sessions = [_renamed(each) for each in kept.sessions]
    return sessions if kept.whole else broken_off(sessions)


def _renamed(session: Session) -> Session:
    """With the current name of the queue model: version 0.1 had others."""
    result, bound = session.result, QueueModel(session.bound).value
    if result is not None:
        result = msgspec.structs.replace(result, bound=bound)
    return msgspec.structs.replace(session, bound=bound, result=result)


def broken_off(sessions: Sequence[Session]) -> list[Session]:
    return [msgspec.structs.replace(each, damage=each.damage or _BROKEN_OFF) for each in sessions]


# --- plays of a backtest --------------------------------------------------------------------------


class BacktestRun(msgspec.Struct, frozen=True):
    """A tape under a queue model."""

    tape: Tape
    winners: Winners | None  # what its rungs paid, None where that is not known
    reading: QueueModel
    same: tuple[QueueModel, ...]  # the queue models with the same result
    terms: Terms
    records_max: int | None  # of its records the first so many, None for all
    reports: bool  # True to sample a session

    @property
    def records(self) -> int:
        return len(self.tape.records[: self.records_max])


class BacktestOutcome(msgspec.Struct, frozen=True):
    """By queue model in `BacktestRun.same`."""

    results: tuple[Result, ...]
    sessions: tuple[Session, ...]  # empty where no report was wanted
    opened: tuple[str, ...] = ()  # recorded files opened meanwhile, in a process of its own


def backtest_runs(
    tapes: Sequence[tuple[Tape, Winners | None]],
    readings: Sequence[QueueModel],
    terms: Terms,
    records_max: int | None,
    *,
    reports: bool,
) -> list[BacktestRun]:
    """Every tape under every queue model that makes a difference to it."""
    return [
        BacktestRun(tape, winners, reading, same, terms, records_max, reports)
        for tape, winners in tapes
        for reading, same in distinct(tape, readings).items()
    ]


def played(play: BacktestRun, config: BotConfig, progress: Progress) -> BacktestOutcome:
    """progress: as of `Backtest.run`. Raises Stalled and DoesNotClose."""
    samplers: list[Sampler] = []

    def observing(trader: Trader) -> Observer:
        samplers.append(Sampler(trader))
        return samplers[0].on_event

    most = play.records_max
    came = backtest(
        play.tape,
        config.trader,
        config.make_strategy,
        play.reading,
        play.terms,
        play.winners,
        lambda through: progress(through) and (most is None or through < most),
        observing if play.reports else None,
    )
    came = msgspec.structs.replace(came, asked=most)
    results = [msgspec.structs.replace(came, bound=other.value) for other in play.same]
    if not samplers:
        return BacktestOutcome(tuple(results), ())
    whole = _closed(samplers[0], came, _strategy(config.choice))
    sessions = [msgspec.structs.replace(whole, bound=one.bound, result=one) for one in results]
    return BacktestOutcome(tuple(results), tuple(sessions))


def _closed(sampler: Sampler, result: Result, strategy: str) -> Session:
    session = sampler.close()
    session.name, session.series = f"{result.tape} {result.event}", result.event
    session.bound, session.result, session.strategy = result.bound, result, strategy
    befallen = sum(result.faults.values())
    session.limits = [
        *_BACKTEST_LIMITS,
        f"Faults befell {befallen:,} requests." if befallen else "No faults were injected.",
        f"Recorded: {TAPE_LIMITS[Kind(result.recorded)]}.",
    ]
    if result.settled == "mid":
        session.limits.append("No known outcome, or not played whole: marked at the last middle.")
    if result.settled == "part":
        session.limits.append("Rungs without a known outcome are marked at the last middle.")
    if result.ended_early:
        session.damage = "ended early: these are the figures up to there"
    elif not result.whole:
        session.limits.append(f"The first {result.asked} records, as asked for.")
    believed = 0 if session.profit is None else session.profit.total.profit_millicents
    session.unsettled_millicents = result.net_millicents - believed
    return session


def run_backtests_apart(
    plays: Sequence[BacktestRun],
    config: Path,
    data: Sequence[Path],
    jobs: int,
    wanted: Callable[[], bool],
    sets: tuple[str, ...] = (),
) -> Iterator[tuple[BacktestRun, BacktestOutcome]]:
    """Run these in processes, in order, until no more is wanted. data: where no file may be opened
    meanwhile. sets: keys set over the file. Raises what `played` does, and BrokenProcessPool."""
    work = partial(_played_alone, config=config, data=tuple(data), sets=sets)
    yield from in_order(work, plays, jobs, wanted)


def _played_alone(
    play: BacktestRun, config: Path, data: tuple[Path, ...], sets: tuple[str, ...]
) -> BacktestOutcome:
    with watched(data, config) as opened:
        came = played(play, finish(read_draft(config, sets=sets)), lambda _records: True)
    return msgspec.structs.replace(came, opened=tuple(opened))
