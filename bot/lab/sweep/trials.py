"""One trial: a configuration with changed keys, and its result in a case (a world's seed or a
recorded event).

The file's text is changed and checked as the file is. The result depends on the job alone, in this
process, in another one and on a cluster.
"""

import copy
import itertools
import re
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, Final

import msgspec

from bot.config.bot_config import BotConfig, ConfigFault, draft_of, finish, read_draft
from bot.config.plugins import StrategyFault, module_of
from bot.config.strategies import Makers
from bot.config.strict_yaml import Plain, YamlText
from bot.core.fault_text import named
from bot.core.messages import StrategyChoice
from bot.core.settings import KeySettings, StartSettings, TraderSettings
from bot.lab import pool
from bot.lab.backtest.lookahead import watched
from bot.lab.backtest.run import Backtest
from bot.lab.backtest.tapes import Tape, read_tapes, tape_folders, winners
from bot.lab.evaluate.results import code_digest, digest_of, random_inputs_of
from bot.lab.evaluate.run import AVERAGED, run_strategy, settings_for
from bot.lab.evaluate.scenarios import Scenario, SeedFault, is_held_out, span
from bot.lab.evaluate.timeout import Stalled
from bot.lab.exchange.assumptions import Terms
from bot.lab.exchange.queue_model import QueueModel
from bot.lab.sim.venue import SERIES
from bot.lab.sweep.space import Dimension, Settings, SpaceFault
from venue.crowd.tape import (
    BookRecord,
    Record,
    TapeFault,
    TopRecord,
    TradeRecord,
    closes_ns,
)

SCORE: Final = "score"  # what a function's number is called
IN_WORLDS: Final = ("net", *(name for name in AVERAGED if name not in ("cpu_s", "errors")))
_COUNTED: Final = ("fills", "maker_qty", "taker_qty", "printed_qty", "held_qty", "decisions")
ON_TAPES: Final = ("net", "fees", "worst", "requests", *_COUNTED)

_LARGEST: Final = 1e100  # of a function's numbers: sums of their squares are finite still
_SHOWN_MAX: Final = 300
_ONE: Final = threading.Lock()
"""A worker of a cluster may have several threads; `watched` watches for all of them."""


class TrialFault(Exception):
    """Settings that the configuration cannot take; the text names them and the accepted values."""


class StrategyFailed(Exception):
    """The strategy of the base configuration failed at every decision of every run."""


class ClusterFault(Exception):
    """A cluster cannot be used: no scheduler answers, or a worker has another program."""


class RunnerFault(Exception):
    """Jobs can no longer be carried out; the text says why. Results that were kept stay."""


# --- cases ----------------------------------------------------------------------------------------


class WorldCase(msgspec.Struct, frozen=True):
    """A seed of a world."""

    world: Scenario
    seed: int
    name: str  # for people
    key: str  # in a file of results


class TapeCase(msgspec.Struct, frozen=True, kw_only=True):
    """A recorded event, or one of the equal pieces in which its time is cut. folders: of the tape,
    then of what it may have been made from; nobody but the harness may open them while a strategy
    is loaded or runs."""

    name: str  # name, key: as of `WorldCase`
    key: str
    folders: tuple[str, ...]
    event: str
    piece: int  # from 0
    pieces: int
    records: int | None  # the first so many of the piece, None for all
    reading: QueueModel
    terms: Terms
    data: str  # names the recorded bytes
    lines: int  # records that it plays


Case = WorldCase | TapeCase


def seeded(world: Scenario, seeds: range) -> tuple[Case, ...]:
    if is_held_out(seeds):
        raise SeedFault(
            f"seeds {span(seeds)}: 9001-9999 are the holdout of `bot evaluate`; "
            "nothing is ever tuned on them"
        )
    return tuple(WorldCase(world, seed, str(seed), f"{world.size_key}/{seed}") for seed in seeds)


def recorded(
    data: Path,
    reading: QueueModel,
    terms: Terms,
    *,
    events: int,
    pieces: int = 1,
    records: int | None = None,
) -> tuple[Case, ...]:
    """The first `events` events of each tape by time, each in so many pieces of equal time; empty
    pieces are left out. Raises TapeFault."""
    under = digest_of(reading, records, terms)
    found: list[tuple[int, str, TapeCase]] = []
    for folder in tape_folders(data):
        folders = tuple(dict.fromkeys(str(each.absolute()) for each in (folder, data)))
        for tape in itertools.islice(read_tapes(folder), events):
            digest = digest_of(tape, winners(tape, folder))
            for piece in range(pieces):
                part = cut(tape, piece, pieces, records)
                if part is None:
                    continue
                case = TapeCase(
                    name=tape.event + (f" {piece + 1}/{pieces}" if pieces > 1 else ""),
                    key=f"{digest}/{piece}of{pieces}/{under}",
                    folders=folders,
                    event=tape.event,
                    piece=piece,
                    pieces=pieces,
                    records=records,
                    reading=reading,
                    terms=terms,
                    data=digest,
                    lines=len(part.records),
                )
                found.append((part.records[0].ts, case.key, case))
    return tuple(case for _, _, case in sorted(found, key=lambda row: row[:2]))


def cut(tape: Tape, piece: int, pieces: int, records: int | None = None) -> Tape | None:
    """A piece of a tape's time, its first `records`; None if it is empty. It begins with the books
    and best prices from before."""
    if pieces == 1 and records is None:
        return tape
    first_ns = tape.records[0].ts
    span_ns = tape.end_ts - first_ns + 1
    low_ns = first_ns + span_ns * piece // pieces
    high_ns = first_ns + span_ns * (piece + 1) // pieces
    before: dict[str, BookRecord | TopRecord] = {}
    inside: list[Record] = []
    for record in tape.records:
        if low_ns <= record.ts < high_ns:
            inside.append(record)
        elif record.ts < low_ns and not isinstance(record, TradeRecord):
            before[record.ticker] = record
    if not inside:
        return None
    opening = (msgspec.structs.replace(each, ts=low_ns) for each in before.values())
    played = (*opening, *inside[:records])
    return msgspec.structs.replace(
        tape,
        records=played,
        start=0,
        start_ts=played[0].ts,
        end_ts=played[-1].ts,
    )


# --- a configuration and its trials ---------------------------------------------------------------


class Setup(msgspec.Struct, frozen=True):
    """All that a life depends on, except its case."""

    trader: TraderSettings
    choice: StrategyChoice
    folder: str  # what paths of strategies start from

    @property
    def digest(self) -> str:
        """Twelve hex digits that name the trader's settings and its strategy."""
        return digest_of(self.trader, self.choice)


class TrialConfig:
    """A configuration file and its variants. Raises ConfigFault if the file is at fault."""

    def __init__(self, path: Path, world: Scenario | None, sets: Sequence[str] = ()) -> None:
        """world: where it is to be lived; None: on tapes. sets: keys set over the file."""
        self._world = world
        draft = read_draft(path, sets=sets)
        self._source: YamlText = draft.source
        self.base = self._setup(finish(draft))

    def with_settings(self, settings: Settings) -> Setup:
        """The setup with these settings. Another strategy than the file's takes none of its
        parameters and variants. Raises TrialFault."""
        content = copy.deepcopy(self._source.content)
        strategy, name = content.get("strategy"), settings.get("strategy.name")
        if name is not None and isinstance(strategy, dict) and strategy.get("name") != name:
            strategy["params"], strategy["variants"] = {}, []
        for key, value in settings.items():
            _set_key(content, key, value)
        source = msgspec.structs.replace(self._source, content=content)
        try:
            return self._setup(finish(draft_of(source)))
        except ConfigFault as fault:
            # The line of the file does not help.
            lines = [line.removeprefix(f"{source.path}:") for line in fault.faults]
            text = "; ".join(re.sub(r"^(--set |[0-9]+: )", "", line) for line in lines)
            raise TrialFault(text[:_SHOWN_MAX]) from None

    def _setup(self, config: BotConfig) -> Setup:
        """A world brings its own staleness settings and decision interval, and needs no wind-down
        and no calendar; limits, budget, guards and breakers are the configuration's."""
        # A lone account on a tape or in a world takes no notice of these.
        trader = msgspec.structs.replace(
            config.trader,
            series_ticker=SERIES,
            start=StartSettings(),
            keys=KeySettings(),
            other_series=(),
        )
        if self._world is not None:
            theirs, pace = settings_for(self._world, None), trader.pace
            pace = msgspec.structs.replace(
                pace,
                decide_ns=max(pace.decide_ns, theirs.pace.decide_ns),
                dwell_ns=max(pace.dwell_ns, theirs.pace.dwell_ns),
            )
            trader = msgspec.structs.replace(
                trader, staleness=theirs.staleness, pace=pace, curfew=theirs.curfew, calendar=()
            )
        return Setup(trader, config.choice, str(self._source.path.parent.absolute()))

    def probe(self, dimensions: Sequence[Dimension], *, has_runs: bool) -> None:
        """Try each key alone. Raises SpaceFault if no value is accepted or, where runs follow, if
        no value changes anything."""
        chosen = any(each.key == "strategy.name" for each in dimensions)
        for each in dimensions:
            if chosen and each.key.startswith("strategy.params."):
                continue  # it depends on the strategy that is chosen
            found, text = [], ""
            for value in each.ends:
                try:
                    found.append(self.with_settings({each.key: value}).digest)
                except TrialFault as fault:
                    text = text or str(fault)
            if not found:
                raise SpaceFault(f"--over {each.key}: no value is accepted: {text}")
            # A single value may be the one that the file has.
            if has_runs and len(found) > 1 and set(found) == {self.base.digest}:
                where = "in worlds" if self._world is not None else "on tapes"
                raise SpaceFault(f"--over {each.key}: nothing that is lived {where} hangs on it")


def _set_key(content: dict[str, Plain], key: str, value: str) -> None:
    """Raises TrialFault where the file has a list or block there."""
    *blocks, last = key.split(".")
    for name in blocks:
        inner = content.setdefault(name, {})
        if not isinstance(inner, dict):
            raise TrialFault(f"{key}: {name} is no block of keys")
        content = inner
    if isinstance(content.get(last), list):
        raise TrialFault(f"{key}: a list, and lists are not swept over")
    if isinstance(content.get(last), dict):
        raise TrialFault(f"{key}: a block or a list; name a key in it")
    content[last] = value


# --- a life ---------------------------------------------------------------------------------------


class Job(msgspec.Struct, frozen=True):
    """One life to be lived. function: what scores it instead, as `package.module:function` or
    `./file.py:function`; empty for none."""

    setup: Setup
    settings: Settings  # the trial's changes to the file
    case: Case
    function: str
    code: str  # names the program that made the job

    @property
    def trial(self) -> str:
        """Names the trial in a file of results. A function may read the settings as they were
        written."""
        return digest_of(self.setup.digest, self.settings) if self.function else self.setup.digest

    @property
    def result_key(self) -> str:
        return f"{self.trial}/{self.case.key}/{self.code}"


class CaseResult(msgspec.Struct, frozen=True):
    """The result of a run: numbers by name, money in dollars; or a fault, which is the trial's own.
    lasting: True if the same job would come to the same again, so that it may be kept. failed: True
    if the strategy failed at every decision."""

    values: dict[str, float]
    fault: str = ""
    lasting: bool = True
    failed: bool = False


class _StrategyRaised(Exception):
    """The strategy raised while it was asked for quotes."""

    def __init__(self, errors: int, answers: int, first: str) -> None:
        text = f", first {first}" if first else ""
        super().__init__(f"the strategy raised {errors} times{text}")
        self.failed = not answers


def run_job(job: Job) -> CaseResult:
    """Carry a job out. Raises ClusterFault; everything else that goes wrong is the trial's."""
    here = code_of(job.setup, job.function)
    if here != job.code:
        raise ClusterFault(f"this program is {here}, the sweep's is {job.code}")
    try:
        with _ONE:
            return CaseResult(_scored(job) if job.function else measure(job))
    except _StrategyRaised as raised:
        return CaseResult({}, str(raised), failed=raised.failed)
    except Stalled as stalled:
        # How long it took depends on the host: another time it may come back.
        return CaseResult({}, str(stalled), lasting=False)
    except Exception as raised:  # noqa: BLE001 - a trial's fault ends that trial, never the sweep
        # What the host could not give now (a file, memory) it may give another time.
        lasting = not isinstance(raised, OSError | MemoryError | TapeFault)
        return CaseResult({}, named(raised), lasting)


def measure(job: Job) -> dict[str, float]:
    """Run a job: IN_WORLDS or ON_TAPES by name, and `latched`, 1 if a breaker ended it. Raises what
    a strategy, tape or account raises, and ValueError if the strategy opened the tape."""
    case, trader = job.case, job.setup.trader
    make = Makers(Path(job.setup.folder))(job.setup.choice)
    if isinstance(case, WorldCase):
        life = run_strategy(
            case.world, random_inputs_of(case.world, case.seed), make, settings=trader
        )
        if life.errors:
            raise _StrategyRaised(life.errors, life.answers, life.fault)
        values = {name: life.figure(name) for name in IN_WORLDS}
        return values | {"latched": float(bool(life.latched))}
    whole, won = _tape(Path(case.folders[0]), case.event, case.data)
    part = _part(whole, case.piece, case.pieces, case.records)
    assert part is not None, "a piece without records is no case"
    is_end = part.records[-1] is whole.records[-1]
    with watched([*map(Path, case.folders)]) as opened:
        run = Backtest(part, trader, make, case.reading, case.terms, closes_ns(whole)).run()
        result = run.result(won if is_end else None)
    if opened:
        raise ValueError(f"no result: {Path(opened[0]).name} was opened while the strategy ran")
    if result.strategy_errors:
        errors, answers = result.strategy_errors, result.strategy_answers
        raise _StrategyRaised(errors, answers, result.strategy_fault)
    return {
        "net": result.net_millicents / 100_000,
        "fees": result.fees_cents / 100,
        "worst": result.worst_case_max_cents / 100,
        "requests": float(sum(result.requests.values())),
        "latched": float(bool(result.latched)),
        **{name: float(getattr(result, name)) for name in _COUNTED},
    }


@lru_cache(maxsize=4)
def _tape(folder: Path, event: str, data: str) -> tuple[Tape, Any]:
    """A tape and its winners, which no trader sees. Raises TapeFault, also if it is not the tape
    that `data` names."""
    tape = next((each for each in read_tapes(folder) if each.event == event), None)
    if tape is None:
        raise TapeFault(f"{folder}: no records of event {event}")
    won = winners(tape, folder)
    if digest_of(tape, won) != data:
        raise TapeFault(f"{folder}: another tape than the sweep began with")
    return tape, won


_part = lru_cache(maxsize=4)(cut)  # a piece is one tape for all trials


def _scored(job: Job) -> dict[str, float]:
    """What the job's function returns. Raises what it raises, StrategyFault if there is none, and
    ValueError for no usable number."""
    function = job.function
    found = getattr(module_of(function, Path(job.setup.folder)), function.rpartition(":")[2], None)
    if not callable(found):
        raise StrategyFault(f"{function}: no function there")
    try:
        value = found(job)
    except SystemExit as fault:
        raise ValueError(f"{function}: would end the program: {named(fault)}") from None
    if not isinstance(value, int | float) or not abs(value) <= _LARGEST:
        raise ValueError(f"{function}: {value!r} is no number up to {_LARGEST}")
    return {SCORE: float(value)}


def code_of(setup: Setup, function: str) -> str:
    """Twelve hex digits that name all the code that a life depends on. Raises StrategyFault."""
    return code_digest(setup.choice.name, function, folder=Path(setup.folder))


# --- who carries jobs out -------------------------------------------------------------------------


Runner = Callable[..., Iterator[tuple[Job, CaseResult]]]
"""Of jobs and `wanted`: each job with its outcome, in their order, until no more is wanted."""


@contextmanager
def processes(count: int) -> Iterator[Runner]:
    """This process, or several on this machine. The block raises RunnerFault when one dies."""
    with pool.processes(count) as executor:
        try:
            yield partial(pool.in_order, run_job, jobs=count, executor=executor)
        except BrokenProcessPool:
            raise RunnerFault("a process died; is there enough memory for so many?") from None


@contextmanager
def cluster(address: str) -> Iterator[Runner]:
    """The workers of a Dask scheduler, such as tcp://127.0.0.1:8786; each needs this program, and
    tapes at the same path. Raises ClusterFault when nobody answers, ImportError without
    distributed, and RunnerFault when the scheduler or a worker dies."""
    from distributed import Client, KilledWorker

    connect: Any = Client  # the library has no types for it
    try:
        client = connect(address, timeout=5, set_as_default=False)
    except (OSError, ValueError, AssertionError) as fault:
        raise ClusterFault(f"{address}: no Dask scheduler: {fault}") from None
    with client:
        threads = max(1, sum(client.nthreads().values()))
        executor = client.get_executor(pure=False)
        try:
            yield partial(pool.in_order, run_job, jobs=threads, executor=executor)
        except KilledWorker:
            raise RunnerFault(f"{address}: a worker died; has it enough memory?") from None
        except (OSError, CancelledError) as fault:
            raise RunnerFault(f"{address}: the scheduler is gone: {fault}") from None
