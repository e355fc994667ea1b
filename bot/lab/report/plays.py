"""The plays of a backtest: each tape under each reading, here or in processes of this machine."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

import msgspec

from bot.config import BotConfig, finish, read_draft
from bot.core.trader import Trader
from bot.lab.backtest.guard import watched
from bot.lab.backtest.run import Result, Told, Winners, backtest, distinct
from bot.lab.exchange.queue_model import QueueModel
from bot.lab.exchange.terms import Terms
from bot.lab.exchange.trader_run import Observer
from bot.lab.pool import in_order
from bot.lab.report.relive import watched_played
from bot.lab.report.session import Session
from bot.lab.report.watch import Watch
from venue.crowd.tape import Tape


class Play(msgspec.Struct, frozen=True):
    """A tape under a reading. winners: what its rungs paid, None where that is not known. same: the
    readings that it answers for. records_max: of its records the first so many, None for all.
    reports: whether all is kept that a report needs."""

    tape: Tape
    winners: Winners | None
    reading: QueueModel
    same: tuple[QueueModel, ...]
    terms: Terms
    records_max: int | None
    reports: bool

    @property
    def records(self) -> int:
        """How many records it has to play."""
        return len(self.tape.lines[: self.records_max])


class Played(msgspec.Struct, frozen=True):
    """What came of a play, by the readings that it answers for. sessions: empty where no report was
    wanted. opened: the recorded files that were opened meanwhile in a process of its own."""

    results: tuple[Result, ...]
    sessions: tuple[Session, ...]
    opened: tuple[str, ...] = ()


def plays_of(
    tapes: Sequence[tuple[Tape, Winners | None]],
    readings: Sequence[QueueModel],
    terms: Terms,
    records_max: int | None,
    *,
    reports: bool,
) -> list[Play]:
    """Every tape under every reading that makes a difference to it."""
    return [
        Play(tape, winners, reading, same, terms, records_max, reports)
        for tape, winners in tapes
        for reading, same in distinct(tape, readings).items()
    ]


def played(play: Play, config: BotConfig, told: Told) -> Played:
    """Play it here. told: as of `Backtest.run`. Raises Stalled, and DoesNotClose."""
    watches: list[Watch] = []

    def observing(trader: Trader) -> Observer:
        watches.append(Watch(trader))
        return watches[0].saw

    most = play.records_max
    came = backtest(
        play.tape,
        config.trader,
        config.make_strategy,
        play.reading,
        play.terms,
        play.winners,
        lambda through: told(through) and (most is None or through < most),
        observing if play.reports else None,
    )
    came = msgspec.structs.replace(came, asked=most)
    results = [msgspec.structs.replace(came, bound=other.value) for other in play.same]
    sessions = watched_played(watches[0], results, config) if play.reports else []
    return Played(tuple(results), tuple(sessions))


def played_apart(
    plays: Sequence[Play],
    config: Path,
    data: Sequence[Path],
    jobs: int,
    wanted: Callable[[], bool],
) -> Iterator[tuple[Play, Played]]:
    """Play them in so many processes, in their order, until no more is wanted: what was begun is
    played to its end. config: the file, which each process reads for itself. data: where nothing
    may be opened meanwhile. Raises what `played` does, and BrokenProcessPool."""
    work = partial(_played_alone, config=config, data=tuple(data))
    yield from in_order(work, plays, jobs, wanted)


def _played_alone(play: Play, config: Path, data: tuple[Path, ...]) -> Played:
    """In a process of a pool."""
    with watched(data, config) as opened:
        came = played(play, finish(read_draft(config)), lambda _records: True)
    return msgspec.structs.replace(came, opened=tuple(opened))
