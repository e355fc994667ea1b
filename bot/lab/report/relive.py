"""Makes sessions: of the newest run in a state directory, lived again, and of files of
backtests.
"""

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from bot.core import messages as m
from bot.core.messages import StrategyChoice
from bot.core.reconfigure import Remake
from bot.core.trader import Trader
from bot.io.journal.records import JournalFault
from bot.lab.backtest.run import Result
from bot.lab.backtest.tables import LIMITS as TAPE_LIMITS
from bot.lab.exchange.recorded import Kind
from bot.lab.replay.together import relived
from bot.lab.report.session import Answers, Closing, Mode, Saved, Session
from bot.lab.report.watch import Watch
from bot.lab.session import runs_meant

if TYPE_CHECKING:
    from bot.config import BotConfig

Told = Callable[[int], None]
"""Told now and then how many events are through."""

_TOLD_EVERY: Final = 500

_JOURNAL_LIMITS: Final = (
    "What the bot believed and did, event by event; what others thought it cannot show.",
    "Between the first and the last moment only what reached the bot is known: a fill counts from "
    "when it could first have been heard of.",
    "Markouts against fair use the bot's own fair value, which its own orders may have moved.",
    "One session is one draw of luck: an interval here is of this session, not of the strategy.",
)
_BACKTEST_LIMITS: Final = (
    "Recorded history does not react to us: nothing here is said of larger sizes.",
    "Between `averse` and `kind`, the bounds of the queue, lies what cannot be known; `likely` is "
    "a guess between them, and a profit under it alone is none.",
    "Time between records is made up of turns of the trader.",
)


_BROKEN_OFF: Final = "the backtest was ended early: plays that it had not begun are missing"


class ReportFault(Exception):
    """What was asked for cannot be told; the text names the file or the option."""


class NoSource(ReportFault):
    """Neither a state directory, nor a journal, nor a backtest's result; the text says which."""


def session_of(
    path: Path,
    remake: Remake,
    watching: Callable[[Trader], Watch] = Watch,
    told: Told = lambda _events: None,
) -> Session:
    """The newest run in a state directory, or the run that a segment belongs to, lived again.

    watching: what samples it. A run that cannot be lived to its end gives what came before, and why
    in `damage`. Raises JournalFault when there is none, and when it cannot be lived again at all.
    """
    (run,) = runs_meant(path, every=False)
    again = relived(run, remake)
    watch = watching(again.trader)
    damage = ""
    try:
        for step in again.steps():
            event = step.placed.entry.message
            assert isinstance(event, m.Event)
            watch.saw(event, step.effects, step.at_ns)
            if step.placed.number % _TOLD_EVERY == 0:
                told(step.placed.number)
    except JournalFault as fault:
        if watch.events == 0:
            raise
        damage = str(fault)
    said = run.started.configured
    return watched(
        watch,
        name=_name(path),
        mode=Mode.JOURNAL,
        series=again.trader.series_ticker,
        run=run.started.boot_nonce,
        strategy="" if said is None else _strategy(said.strategy),
        limits=list(_JOURNAL_LIMITS),
        damage=damage,
        ended=again.finished,
    )


def _name(path: Path) -> str:
    """That of the state directory, also where it is the folder that the command was given in."""
    there = Path(os.path.abspath(path))  # noqa: PTH100 - a link keeps its own name
    return there.name if path.is_dir() else there.parent.name


def _strategy(choice: StrategyChoice) -> str:
    return f"{choice.name} {choice.params_json}"


def watched(
    watch: Watch,
    *,
    name: str,
    mode: Mode,
    series: str,
    run: str,
    strategy: str,
    limits: list[str],
    damage: str = "",
    ended: bool = True,
) -> Session:
    """The session that was watched; ends the watching."""
    closing = watch.close()
    profit = closing.profit
    return Session(
        name=name,
        mode=mode,
        series=series,
        run=run,
        strategy=strategy,
        begun_ns=watch.begun_ns,
        until_ns=watch.until_ns,
        events=watch.events,
        rungs=watch.rungs,
        moments=watch.moments.kept,
        pictures=watch.pictures.kept,
        every_ns=watch.moments.every_ns,
        picture_ns=watch.pictures.every_ns,
        fills=watch.fills,
        uptime=watch.uptime,
        stays=watch.stays,
        answers=watch.answers,
        refused=dict(watch.refused),
        unsampled=0 if profit is None else profit.unsampled,
        prints=watch.prints,
        closing=closing,
        limits=limits,
        damage=damage,
        ended=ended,
    )


# --- backtests ------------------------------------------------------------------------------------


def watched_played(
    watch: Watch, results: Sequence[Result], configured: "BotConfig"
) -> list[Session]:
    """The session of a backtest that was watched, for each reading of the queue that comes to the
    same; ends the watching."""
    whole = played(watch, results[0], _strategy(configured.choice))
    return [msgspec.structs.replace(whole, bound=result.bound, result=result) for result in results]


def played(watch: Watch, result: Result, strategy: str) -> Session:
    """The session of a backtest that was watched, with what its end brought beyond the trader's
    last belief."""
    limits = [*_limits(result), f"Recorded: {TAPE_LIMITS[Kind(result.recorded)]}."]
    if result.settled == "mid":
        limits.append("No known outcome, or not played whole: marked at the last middle.")
    if result.settled == "part":
        limits.append("Rungs without a known outcome are marked at the last middle.")
    if not (result.whole or result.ended_early):
        limits.append(f"The first {result.asked} records, as asked for.")
    session = watched(
        watch,
        name=f"{result.tape} {result.event}",
        mode=Mode.BACKTEST,
        series=result.event,
        run="",
        strategy=strategy,
        limits=limits,
        damage="ended early: these are the figures up to there" if result.ended_early else "",
    )
    session.bound, session.result = result.bound, result
    profit = session.closing.profit
    believed = 0 if profit is None else profit.total.profit_millicents
    session.closing = msgspec.structs.replace(
        session.closing, unsettled_millicents=result.net_millicents - believed
    )
    return session


def _limits(result: Result) -> list[str]:
    """What no backtest can show, and what befell the requests of this one."""
    befallen = sum(result.faults.values())
    faults = f"Faults befell {befallen:,} requests." if befallen else "No faults were injected."
    return [*_BACKTEST_LIMITS, faults]


def bare(result: Result) -> Session:
    """A result without a session: totals alone."""
    answers = {kind: Answers(sent=count) for kind, count in result.requests.items()}
    return Session(
        name=f"{result.tape} {result.event}",
        mode=Mode.BACKTEST,
        series=result.event,
        run="",
        bound=result.bound,
        begun_ns=0,
        until_ns=round(result.hours * 3600 * 10**9),
        events=result.events,
        rungs=[],
        moments=[],
        pictures=[],
        every_ns=0,
        picture_ns=0,
        fills=[],
        uptime=[],
        stays=[],
        answers=answers,
        refused=result.refused,
        unsampled=0,
        prints={},
        closing=Closing(
            phase="",
            pnl_cents=round(result.net_millicents / 1000),
            fees_cents=result.fees_cents,
            ledger_difference_cents=result.ledger_difference_cents,
            worst_max_cents=result.worst_case_max_cents,
            decisions=result.decisions,
            strategy_errors=result.strategy_errors,
            self_trades=0,
            latched=result.latched,
            profit=None,
        ),
        limits=[*_limits(result), "Totals alone: `bot backtest --save FILE` keeps the rest."],
        result=result,
    )


def broken_off(sessions: Sequence[Session]) -> list[Session]:
    """The sessions of a backtest that was ended early: each says so."""
    return [msgspec.structs.replace(each, damage=each.damage or _BROKEN_OFF) for each in sessions]


class _Line(msgspec.Struct):
    """What `bot backtest --json` prints, of which the results are taken."""

    results: list[Result]
    whole: bool = True


def saved(path: Path) -> list[Session]:
    """The sessions in a file that `bot backtest --save` wrote, or `--json` printed: the latter
    holds totals alone.

    Raises NoSource when it cannot be read or is neither.
    """
    try:
        content = path.read_bytes()
    except OSError as fault:
        raise NoSource(f"{path}: {fault.strerror}") from None
    try:
        head = msgspec.json.decode(content)
    except (msgspec.DecodeError, UnicodeDecodeError):
        head = None
    if not isinstance(head, dict) or "results" not in head:
        raise NoSource(
            f"{path}: neither a state directory, nor a journal, nor a result of `bot backtest`"
        )
    try:
        if "sessions" in head:
            kept = msgspec.convert(head, Saved, str_keys=True)
            return kept.sessions if kept.whole else broken_off(kept.sessions)
        line = msgspec.convert(head, _Line)
        told = [bare(each) for each in line.results]
        return told if line.whole else broken_off(told)
    except msgspec.ValidationError as fault:
        raise NoSource(f"{path}: a result of another version: {fault}") from None
