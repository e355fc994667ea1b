"""One trial: a configuration with some of its keys set otherwise, and what it comes to in a case.

The file's text is changed, not what was made of it: a trial is refused for whatever the file would
be refused for, and defaults follow as they would. What it comes to is a pure function of the job,
the same in this process, in another one and on a cluster.
"""

import copy
import hashlib
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from functools import lru_cache, partial
from pathlib import Path
from types import ModuleType
from typing import Any, Final

import msgspec

from bot.config.bot_config import BotConfig, ConfigFault, draft_of, finish, read_draft
from bot.config.strategies import Makers
from bot.core.fault_text import named
from bot.core.messages import StrategyChoice
from bot.core.settings import CurfewSettings, TraderSettings
from bot.io.settings.plugins import StrategyFault, module_of
from bot.io.settings.strict_yaml import Plain, YamlText
from bot.lab import pool
from bot.lab.backtest.guard import watched
from bot.lab.backtest.run import Backtest
from bot.lab.backtest.tapes import Tape, winners
from bot.lab.evaluate.draws import draw
from bot.lab.evaluate.life import AVERAGED, live, settings_for
from bot.lab.evaluate.patience import Stalled
from bot.lab.evaluate.results import code_digest, sources_of
from bot.lab.evaluate.worlds import World
from bot.lab.sim.venue.simulated import SERIES
from bot.lab.sweep.cases import Case, WorldCase, cut, data_digest
from bot.lab.sweep.space import Dimension, Settings, SpaceFault
from venue.crowd.tape import TapeFault, closes_ns, read_tape

SCORE: Final = "score"
"""What a function's number is called."""

IN_WORLDS: Final = ("net", *(name for name in AVERAGED if name not in ("cpu_s", "errors")))
_COUNTED: Final = ("fills", "maker_qty", "taker_qty", "printed_qty", "held_qty", "decisions")
ON_TAPES: Final = ("net", "fees", "worst", "requests", *_COUNTED)

_LARGEST: Final = 1e100
"""Of a function's numbers: sums of their squares are finite still."""

_SHOWN_MAX: Final = 300
_ROOT: Final = Path(__file__).parents[3]
_CODE: Final = (
    "bot/lab/backtest",
    "bot/lab/calibrate/calibrate.py",  # how the rungs of a tape ended
    "bot/lab/sweep/cases.py",
    "bot/lab/sweep/trials.py",
    "venue/crowd",
)
_ONE: Final = threading.Lock()
"""A worker of a cluster may have several threads; `watched` watches for all of them."""


class TrialFault(Exception):
    """Settings that the configuration cannot take; the text says which and what is accepted."""


class ClusterFault(Exception):
    """A cluster cannot be used: no scheduler answers, or a worker has another program."""


class RunnerFault(Exception):
    """Jobs can no longer be carried out; the text says why. Results that were kept stay."""


# --- a configuration and its trials ---------------------------------------------------------------


class Setup(msgspec.Struct, frozen=True):
    """All that a life depends on, except its case. folder: what paths of strategies start from."""

    trader: TraderSettings
    choice: StrategyChoice
    folder: str

    @property
    def digest(self) -> str:
        """Twelve hex digits that name the trader's settings and its strategy."""
        return _digest(self.trader, self.choice)


class TrialConfig:
    """A configuration file, and what becomes of it under other settings. Raises ConfigFault when
    the file as it stands is at fault."""

    def __init__(self, path: Path, world: World | None) -> None:
        """world: where it is to be lived; None: on tapes."""
        self._world = world
        draft = read_draft(path)
        self._source: YamlText = draft.source
        self.base = self._setup(finish(draft))

    def at(self, settings: Settings) -> Setup:
        """The setup with these settings. Another strategy than the file names takes nothing of the
        file's parameters. Raises TrialFault."""
        content = copy.deepcopy(self._source.content)
        strategy, name = content.get("strategy"), settings.get("strategy.name")
        if name is not None and isinstance(strategy, dict) and strategy.get("name") != name:
            strategy["params"] = {}
        for key, value in settings.items():
            _set_key(content, key, value)
        source = msgspec.structs.replace(self._source, content=content)
        try:
            return self._setup(finish(draft_of(source)))
        except ConfigFault as fault:
            # The line of the file does not say what is wrong.
            lines = [line.removeprefix(f"{source.path}:") for line in fault.faults]
            text = "; ".join(line.partition(": ")[2] for line in lines)
            raise TrialFault(text[:_SHOWN_MAX]) from None

    def _setup(self, config: BotConfig) -> Setup:
        trader = config.trader if self._world is None else in_world(config.trader, self._world)
        fresh = TraderSettings(series_ticker=SERIES, risk=trader.risk)
        # A lone account on a tape or in a world takes no notice of these.
        trader = msgspec.structs.replace(
            trader, series_ticker=SERIES, start=fresh.start, keys=fresh.keys, beside=()
        )
        return Setup(trader, config.choice, str(self._source.path.parent.absolute()))

    def probe(self, dimensions: Sequence[Dimension], *, is_lived: bool) -> None:
        """Try each key by itself. Raises SpaceFault for a key of which no value is accepted, or,
        where lives are lived, of which no value changes a life."""
        chosen = any(each.key == "strategy.name" for each in dimensions)
        for each in dimensions:
            if chosen and each.key.startswith("strategy.params."):
                continue  # it depends on the strategy that is chosen
            found, text = [], ""
            for value in each.ends:
                try:
                    found.append(self.at({each.key: value}).digest)
                except TrialFault as fault:
                    text = text or str(fault)
            if not found:
                raise SpaceFault(f"--over {each.key}: no value is accepted: {text}")
            # A single value may be the one that the file has.
            if is_lived and len(found) > 1 and set(found) == {self.base.digest}:
                where = "in worlds" if self._world is not None else "on tapes"
                raise SpaceFault(f"--over {each.key}: nothing that is lived {where} hangs on it")


def in_world(settings: TraderSettings, world: World) -> TraderSettings:
    """A configuration's settings in a world: its own limits, pace, budget, news and breakers.

    A world's clock goes in steps: an event is decided once a step at most, and how long the trader
    trusts its data is the world's. A life covers the whole of its event, so there is no curfew.
    """
    theirs = settings_for(world, None)
    pace = msgspec.structs.replace(
        settings.pace,
        decide_ns=max(settings.pace.decide_ns, theirs.pace.decide_ns),
        dwell_ns=max(settings.pace.dwell_ns, theirs.pace.dwell_ns),
    )
    return msgspec.structs.replace(
        theirs,
        risk=settings.risk,
        pace=pace,
        budget=settings.budget,
        news=settings.news,
        breakers=settings.breakers,
        curfew=CurfewSettings(halve_ns=0, reduce_ns=0),
    )


def _set_key(content: dict[str, Plain], key: str, value: str) -> None:
    """Set a dotted key of a file's text. Raises TrialFault where the file has a list or block
    there."""
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
    """One life to be lived. settings: what the trial sets otherwise than the file. function: what
    scores it instead, as `package.module:function` or `./file.py:function`; empty for none. code:
    names the program that made the job."""

    setup: Setup
    settings: Settings
    case: Case
    function: str
    code: str

    @property
    def trial(self) -> str:
        """What names the trial in a file of results. A function may look at the settings as they
        were written."""
        return _digest(self.setup.digest, self.settings) if self.function else self.setup.digest

    @property
    def key(self) -> str:
        """What names the life in a file of results."""
        return f"{self.trial}/{self.case.key}/{self.code}"


class Outcome(msgspec.Struct, frozen=True):
    """What a life came to: numbers by name, money in dollars; or a fault, which is the trial's own.

    lasting: True if the same job would come to the same again, so that it may be kept.
    """

    values: dict[str, float]
    fault: str = ""
    lasting: bool = True


class _StrategyRaised(Exception):
    """The strategy raised while it was asked for quotes."""


def run_job(job: Job) -> Outcome:
    """Carry a job out. Raises ClusterFault; everything else that goes wrong is the trial's."""
    here = code_of(job.setup, job.function)
    if here != job.code:
        raise ClusterFault(f"this program is {here}, the sweep's is {job.code}")
    try:
        with _ONE:
            return Outcome(_scored(job) if job.function else measure(job))
    except _StrategyRaised as raised:
        return Outcome({}, str(raised))
    except Stalled as stalled:
        # How long it took depends on the host: another time it may come back.
        return Outcome({}, str(stalled), lasting=False)
    except Exception as raised:  # noqa: BLE001 - a trial's fault ends that trial, never the sweep
        # What the host could not give now (a file, memory) it may give another time.
        lasting = not isinstance(raised, OSError | MemoryError | TapeFault)
        return Outcome({}, named(raised), lasting)


def measure(job: Job) -> dict[str, float]:
    """Live a job and return its numbers by name: in worlds IN_WORLDS, on tapes ON_TAPES, and
    `latched`, 1 where a breaker ended it.

    Raises what a strategy, a tape or an account that does not close raises, and ValueError where
    the strategy opened the tape.
    """
    case, trader = job.case, job.setup.trader
    make = Makers(Path(job.setup.folder))(job.setup.choice)
    if isinstance(case, WorldCase):
        life = live(case.world, _draws(case.world, case.seed), make, settings=trader)
        _raise_of_strategy(life.errors, life.fault)
        values = {name: life.figure(name) for name in IN_WORLDS}
        return values | {"latched": float(bool(life.latched))}
    whole, won = _tape(Path(case.folders[0]), case.event, case.data)
    part = cut(whole, case.piece, case.pieces, case.records)
    assert part is not None, "a piece without records is no case"
    is_end = part.lines[-1] is whole.lines[-1]
    with watched([*map(Path, case.folders)]) as opened:
        run = Backtest(part, trader, make, case.reading, case.terms, closes_ns(whole)).run()
        result = run.result(won if is_end else None)
    if opened:
        raise ValueError(f"no result: {Path(opened[0]).name} was opened while the strategy ran")
    _raise_of_strategy(result.strategy_errors, result.strategy_fault)
    return {
        "net": result.net_millicents / 100_000,
        "fees": result.fees_cents / 100,
        "worst": result.worst_case_max_cents / 100,
        "requests": float(sum(result.requests.values())),
        "latched": float(bool(result.latched)),
        **{name: float(getattr(result, name)) for name in _COUNTED},
    }


def _raise_of_strategy(errors: int, first: str) -> None:
    if errors:
        text = f", first {first}" if first else ""
        raise _StrategyRaised(f"the strategy raised {errors} times{text}")


_draws = lru_cache(maxsize=16)(draw)


@lru_cache(maxsize=4)
def _tape(folder: Path, event: str, data: str) -> tuple[Tape, Any]:
    """A tape and how its rungs ended, which no trader is shown. Raises TapeFault, also where it is
    not the one that `data` names: its results are kept under that name."""
    tape = read_tape(folder, event)
    won = winners(tape, folder)
    if data_digest(folder) != data:
        raise TapeFault(f"{folder}: another tape than the sweep began with")
    return tape, won


def _scored(job: Job) -> dict[str, float]:
    """What the job's function says of it: a number, `score`; or numbers by name, that among them.

    Raises what the function raises, StrategyFault where there is none, and ValueError for what is
    no number, or none that a table or file takes.
    """
    found = _function(job.function, job.setup.folder)[0]
    try:
        said = found(job)
    except SystemExit as fault:
        raise ValueError(f"{job.function}: would end the program: {named(fault)}") from None
    values = dict(said) if isinstance(said, Mapping) else {SCORE: said}
    for name, value in values.items():
        if not (isinstance(name, str) and name.isprintable()):
            raise ValueError(f"{job.function}: {name!r} is no name of a number")
        if not isinstance(value, int | float) or not abs(value) <= _LARGEST:
            raise ValueError(f"{job.function}: {name}: {value!r} is no number up to {_LARGEST}")
    if SCORE not in values:
        raise ValueError(f"{job.function}: no {SCORE} among {', '.join(values)}")
    return {name: float(value) for name, value in values.items()}


def _function(text: str, folder: str) -> tuple[Callable[[Job], Any], ModuleType]:
    """The function that a text names, and the module that it is named in. Raises StrategyFault."""
    module = module_of(text, Path(folder))
    found = getattr(module, text.rpartition(":")[2], None)
    if not callable(found):
        raise StrategyFault(f"{text}: no function there")
    return found, module


def _digest(*parts: Any) -> str:
    return hashlib.blake2b(msgspec.json.encode(parts), digest_size=6).hexdigest()


def code_of(setup: Setup, function: str) -> str:
    """Twelve hex digits that name all the code that a life depends on. Raises StrategyFault."""
    return _code(setup.choice.name, setup.folder, function)


@lru_cache(maxsize=64)
def _code(strategy: str, folder: str, function: str) -> str:
    digest = hashlib.blake2b(digest_size=6)
    digest.update(code_digest(strategy, Path(folder)).encode())
    places = [_ROOT / part for part in _CODE]
    files = [path for place in places for path in sorted(place.rglob("*.py")) or [place]]
    if function:
        module = _function(function, folder)[1]
        path = getattr(module, "__file__", None)
        if path is None:
            raise StrategyFault(f"{function}: {module.__name__} is in no file")
        files += sources_of(module.__name__, Path(path))
    for file in files:
        digest.update(file.read_bytes())
    return digest.hexdigest()


# --- who carries jobs out -------------------------------------------------------------------------


Runner = Callable[..., Iterator[tuple[Job, Outcome]]]
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
    """The workers of a Dask scheduler, such as tcp://127.0.0.1:8786. Each needs this program, and
    tapes at the same path.

    Raises ClusterFault when nobody answers there within seconds, ImportError without distributed;
    the block raises RunnerFault when the scheduler goes, or a worker dies as often as it allows.
    """
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
