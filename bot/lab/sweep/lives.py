"""One life of a trial: a pure function of the job, the same wherever it is carried out."""

import hashlib
import importlib
import importlib.util
import math
import re
import threading
import time
from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import Any, Final

import msgspec

from bot.core.fault_text import named
from bot.lab.backtest.opens import watched
from bot.lab.backtest.run import Backtest
from bot.lab.backtest.tapes import Tape, winners
from bot.lab.evaluate.draws import Draws, draw
from bot.lab.evaluate.life import AVERAGED, live
from bot.lab.evaluate.patience import Stalled
from bot.lab.evaluate.results import code_digest, sources_of
from bot.lab.evaluate.worlds import World
from bot.lab.sweep.cases import Case, Recorded, Seeded, cut, data_digest, folders_of
from bot.lab.sweep.setup import Setup
from bot.lab.sweep.space import Settings
from venue.crowd.tape import TapeFault, closes_ns, read_tape

SCORE: Final = "score"
"""What a function's number is called."""

LARGEST: Final = 1e100
"""Of a function's numbers: sums of their squares are finite still, and so is all that is told."""

IN_WORLDS: Final = ("net", *(name for name in AVERAGED if name not in ("cpu_s", "errors")))
ON_TAPES: Final = (
    *("net", "fees", "fills", "maker_qty", "taker_qty", "printed_qty", "held_qty", "requests"),
    *("decisions", "worst"),
)

_ROOT: Final = Path(__file__).parents[3]
_PARTS: Final = ("bot/lab/backtest", "venue/crowd")
_OTHERS: Final = ("bot/lab/calibrate/calibrate.py",)
"""Where how a tape's rungs ended is read."""

_OWN: Final = ("lives.py", "setup.py", "cases.py", "configured.py")
_ONE: Final = threading.Lock()
"""A worker of a cluster may have several threads; who opens a tape is watched for all of them."""

_DOTTED: Final = re.compile(r"([A-Za-z_][A-Za-z0-9_.]*|.+\.py):([A-Za-z_][A-Za-z0-9_]*)", re.ASCII)


class Job(msgspec.Struct, frozen=True):
    """One life to be lived. settings: what the trial sets otherwise than the file. function: what
    scores it instead, as `package.module:function` or `./file.py:function`; empty for none. code:
    what named the program where the job was made."""

    setup: Setup
    settings: Settings
    case: Case
    function: str
    code: str

    @property
    def key(self) -> str:
        """What names it in a file of results."""
        name = self.setup.digest if not self.function else _named(self.setup, self.settings)
        return f"{name}/{self.case.key}/{self.code}"

    @property
    def trial(self) -> str:
        """What names the trial in a file of results."""
        return self.key.partition("/")[0]


class Outcome(msgspec.Struct, frozen=True):
    """What came of it: numbers by name, money in dollars; or a fault, which is the trial's own.

    lasting: whether the same job would come to the same again, so that it may be kept.
    """

    values: dict[str, float]
    fault: str = ""
    lasting: bool = True
    cpu_s: float = 0.0


class FunctionFault(ValueError):
    """There is no such function to score by; the text says why."""


class OtherCode(Exception):
    """The program that was asked to live a job is another one than made it."""


def lived(job: Job) -> Outcome:
    """Carry a job out. Raises OtherCode; everything else that goes wrong is the trial's."""
    here = code_of(job.setup, job.function)
    if here != job.code:
        raise OtherCode(f"this program is {here}, the sweep's is {job.code}")
    began_s = time.thread_time()
    values: dict[str, float] = {}
    fault = first = ""
    lasting = True
    try:
        with _ONE:
            if job.function:
                values = scored(job)
            else:
                values, first = _came(job)
    except Stalled as stalled:
        # How long it took hangs on the host: another time it may come back.
        fault, lasting = str(stalled), False
    except Exception as raised:  # noqa: BLE001 - a trial's fault ends that trial, never the sweep
        # What the host could not give now (a file, memory) it may give another time.
        lasting = not isinstance(raised, OSError | MemoryError | TapeFault)
        fault = named(raised)
    errors = values.pop("errors", 0)
    if errors:
        fault = f"the strategy raised {errors:.0f} times" + (f", first {first}" if first else "")
    return Outcome({} if fault else values, fault, lasting, cpu_s=time.thread_time() - began_s)


def measured(job: Job) -> dict[str, float]:
    """Live it and say what came of it, by name; `errors` counts what the strategy raised.

    In worlds the names are IN_WORLDS, on tapes ON_TAPES; both have `latched`, 1 where a breaker
    ended it. Raises StrategyFault, TapeFault, DoesNotClose, and ValueError where the strategy
    opened the tape.
    """
    return _came(job)[0]


def _came(job: Job) -> tuple[dict[str, float], str]:
    """What `measured` says, and what the strategy raised first; empty where it raised nothing."""
    case = job.case
    if isinstance(case, Seeded):
        return _in_world(job.setup, case)
    return _on_tape(job.setup, case)


def _in_world(setup: Setup, case: Seeded) -> tuple[dict[str, float], str]:
    draws = _draws(case.world, case.seed)
    came = live(case.world, draws, setup.makers(), settings=setup.trader)
    values = {name: came.figure(name) for name in IN_WORLDS}
    ended = {"errors": float(came.errors), "latched": float(bool(came.latched))}
    return values | ended, came.fault


def _on_tape(setup: Setup, case: Recorded) -> tuple[dict[str, float], str]:
    folder = Path(case.folder)
    whole, won = _tape(folder, case.event, case.data)
    part = cut(whole, case.piece, case.pieces, case.records)
    assert part is not None, "a piece without records is no case"
    is_end = part.lines[-1] is whole.lines[-1]
    make = setup.makers()
    with watched(folders_of(case)) as opened:
        run = Backtest(part, setup.trader, make, case.reading, case.terms, closes_ns(whole)).run()
        came = run.result(won if is_end else None)
    if opened:
        raise ValueError(f"no result: {Path(opened[0]).name} was opened while the strategy ran")
    values = {
        "net": came.net_millicents / 100_000,
        "fees": came.fees_cents / 100,
        "worst": came.worst_case_max_cents / 100,
        "requests": float(sum(came.requests.values())),
        "errors": float(came.strategy_errors),
        "latched": float(bool(came.latched)),
        **{
            name: float(getattr(came, name))
            for name in ("fills", "maker_qty", "taker_qty", "printed_qty", "held_qty", "decisions")
        },
    }
    return values, came.strategy_fault


@lru_cache(maxsize=16)
def _draws(world: World, seed: int) -> Draws:
    return draw(world, seed)


@lru_cache(maxsize=4)
def _tape(folder: Path, event: str, data: str) -> tuple[Tape, Any]:
    """A tape and how its rungs ended, which no trader is told. Raises TapeFault, also where it is
    not the one that `data` names: what comes of it is kept under that name."""
    tape = read_tape(folder, event)
    won = winners(tape, folder)
    if data_digest(folder) != data:
        raise TapeFault(f"{folder}: another tape than the sweep began with")
    return tape, won


# --- a function of somebody's own -----------------------------------------------------------------


def scored(job: Job) -> dict[str, float]:
    """What the job's function says of it: a number, `score`; or numbers by name, that among them.

    Raises what the function raises, FunctionFault, and ValueError for what is no finite number, or
    one beyond LARGEST, and for a name that cannot be shown.
    """
    function = function_named(job.function, Path(job.setup.folder))
    try:
        found = function(job)
    except SystemExit as fault:
        raise ValueError(f"{job.function}: would end the program: {named(fault)}") from None
    values = dict(found) if isinstance(found, Mapping) else {SCORE: found}
    for name, value in values.items():
        if not (isinstance(name, str) and name.isprintable()):
            raise ValueError(f"{job.function}: {name!r} is no name of a number")
        if not isinstance(value, int | float) or not math.isfinite(value):
            raise ValueError(f"{job.function}: {name}: {value!r} is no finite number")
        if abs(value) > LARGEST:
            raise ValueError(f"{job.function}: {name}: {value!r} is beyond {LARGEST}")
    if SCORE not in values:
        raise ValueError(f"{job.function}: no {SCORE} among {', '.join(values)}")
    return {name: float(value) for name, value in values.items()}


def function_named(text: str, folder: Path) -> Callable[[Job], Any]:
    """The function of a text such as `package.module:function`, or `./file.py:function` from a
    folder. Raises FunctionFault."""
    return _named_in(text, folder)[0]


def _named_in(text: str, folder: Path) -> tuple[Callable[[Job], Any], ModuleType]:
    """The same with the module that the text names, wherever the function was made."""
    parts = _DOTTED.fullmatch(text)
    if parts is None:
        raise FunctionFault(f"{text[:80]!r}: package.module:function, or ./file.py:function")
    try:
        if parts[1].endswith(".py"):
            module = _from_file(folder / parts[1])
        else:
            module = importlib.import_module(parts[1])
    except (Exception, SystemExit) as fault:  # noqa: BLE001 - a module may raise anything meanwhile
        raise FunctionFault(f"{text}: cannot be imported: {named(fault)}") from None
    found = getattr(module, parts[2], None)
    if not callable(found):
        raise FunctionFault(f"{text}: {parts[2]} is no function there")
    function: Callable[[Job], Any] = found
    return function, module


@lru_cache(maxsize=8)
def _from_file(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"score_{path.stem}", path)
    if spec is None or spec.loader is None or not path.is_file():
        raise FileNotFoundError(f"{path}: no such Python file")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


# --- what names the program -----------------------------------------------------------------------


def code_of(setup: Setup, function: str) -> str:
    """What names all the code that a life hangs on. Raises StrategyFault and FunctionFault."""
    return _code(setup.choice.name, setup.folder, function)


@lru_cache(maxsize=64)
def _code(strategy: str, folder: str, function: str) -> str:
    digest = hashlib.blake2b(digest_size=6)
    digest.update(code_digest(strategy, Path(folder)).encode())
    digest.update(_lab())
    if function:
        module = _named_in(function, Path(folder))[1]
        path = getattr(module, "__file__", None)
        if path is None:
            raise FunctionFault(f"{function}: {module.__name__} is in no file")
        for file in sources_of(module.__name__, Path(path)):
            digest.update(file.read_bytes())
    return digest.hexdigest()


@lru_cache(maxsize=1)
def _lab() -> bytes:
    digest = hashlib.blake2b(digest_size=16)
    own = [Path(__file__).with_name(name) for name in _OWN]
    for path in [
        *(_ROOT / name for name in _OTHERS),
        *own,
        *(path for part in _PARTS for path in sorted((_ROOT / part).rglob("*.py"))),
    ]:
        digest.update(path.read_bytes())
    return digest.digest()


def _named(setup: Setup, settings: Settings) -> str:
    """A function may look at the settings as they were written."""
    content = msgspec.json.encode((setup.digest, settings))
    return hashlib.blake2b(content, digest_size=6).hexdigest()
