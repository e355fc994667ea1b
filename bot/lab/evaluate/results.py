"""The results of runs: made in several processes, kept in a file, never made twice.

The key of a result names strategy, parameters, world, seed and the code that it depends on: an
evaluation that was broken off goes on where it stopped, and a changed line of code makes all of it
new. Code is what a strategy's file imports, at any place, found without running any of it; of what
is installed, the package of the strategy alone.
"""

import ast
import hashlib
import sys
import sysconfig
import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, Final, Generic, Protocol, TypeVar

import msgspec
import numpy as np

from bot.io.settings.plugins import StrategyFault, find_strategy, module_of
from bot.lab.evaluate.draws import Draws, draw
from bot.lab.evaluate.life import RunMetrics, live
from bot.lab.evaluate.lineup import Entry, short_hash
from bot.lab.evaluate.patience import Stalled
from bot.lab.evaluate.worlds import World
from bot.lab.pool import in_order
from bot.strategy.api import Strategy

_ROOT: Final = Path(__file__).parents[3]
CODE: Final = (
    "bot/core",
    "bot/io/client/answers.py",
    "bot/io/client/normalize_ids.py",
    "bot/lab/driver.py",
    "bot/lab/evaluate",
    "bot/lab/exchange",
    "bot/lab/sim",
    "venue/engine",
    "venue/views",
    "venue/wire",
)
"""All code that a run passes through, but for its strategy."""

_NOT_RUN: Final = ("page.py", "statistics.py", "seeds.py", "results.py", "compare.py")
_OURS: Final = ("bot", "venue")
_LIBRARIES: Final = tuple(
    Path(sysconfig.get_path(name)).resolve()
    for name in ("stdlib", "platstdlib", "purelib", "platlib")
)


class Task(msgspec.Struct, frozen=True):
    """One run to be made."""

    entry: Entry
    params: dict[str, Any]
    world: World
    seed: int


class Kept(msgspec.Struct, frozen=True):
    """A result with its key."""

    key: str
    metrics: RunMetrics


class NotKept(Exception):
    """A result could not be written to its file; the text says which file, and why."""


_BEGINS: Final = b'{"key":'
_SUM_BEGINS: Final = b',"crc32":"'
_SUM_LENGTH: Final = len(_SUM_BEGINS) + 8 + len(b'"}')


class Keyed(Protocol):
    @property
    def key(self) -> str: ...


T = TypeVar("T", bound=Keyed)


class Lines(Generic[T]):
    """Results by key, in memory and in a file that only grows: a line of JSON each, its checksum at
    the end. path None: in memory alone.

    A line of another kind, as of other code, is passed over. damaged: the numbers of the lines that
    are not as they were written, but for a last one that was torn off.
    """

    def __init__(self, path: Path | None, kind: type[T]) -> None:
        """Raises ValueError for a file that holds something else."""
        self.kept: dict[str, T] = {}
        self.damaged: list[int] = []
        self._path = path
        self._is_torn = False
        if path is not None and path.is_file():  # a pipe has nothing from before
            text = path.read_bytes()
            first = text[: len(_BEGINS)]
            if first != _BEGINS[: len(first)]:
                raise ValueError(f"{path}: holds something else than results that were kept")
            self._is_torn = bool(text) and not text.endswith(b"\n")
            decoder = msgspec.json.Decoder(kind)
            for number, line in enumerate(text.splitlines(), 1):
                try:
                    one = decoder.decode(_checked(line))
                except msgspec.ValidationError:
                    continue
                except (msgspec.DecodeError, UnicodeDecodeError):
                    self.damaged.append(number)
                    continue
                self.kept[one.key] = one
            if self._is_torn and self.damaged[-1:] == [number]:
                self.damaged.pop()

    @property
    def damage(self) -> str:
        """The damaged lines in words; empty where there are none."""
        if not self.damaged:
            return ""
        more = f", and {len(self.damaged) - 1} more" if len(self.damaged) > 1 else ""
        return f"line {self.damaged[0]}{more}: damaged, and taken for nothing"

    def put(self, one: T) -> None:
        """Keep one more, or another one of a key. Raises NotKept where the file takes no more."""
        self.kept[one.key] = one
        if self._path is not None:
            try:
                with self._path.open("ab") as file:
                    file.write(b"\n" * self._is_torn + _with_sum(msgspec.json.encode(one)) + b"\n")
            except OSError as fault:
                raise NotKept(f"{self._path}: {fault.strerror}") from None
            self._is_torn = False


def _with_sum(line: bytes) -> bytes:
    return line[:-1] + b'%b%08x"}' % (_SUM_BEGINS, zlib.crc32(line))


def _checked(line: bytes) -> bytes:
    """A line without its checksum. Raises DecodeError where it is not that of the line."""
    whole = line[:-_SUM_LENGTH] + b"}"
    if line != _with_sum(whole):
        raise msgspec.DecodeError("another checksum")
    return whole


# --- the code that a run depends on ---------------------------------------------------------------


def code_digest(plugin: str = "", folder: Path = _ROOT) -> str:
    """The digest of the code that a run of a strategy depends on; without its strategy if empty."""
    digest = hashlib.blake2b(_shared_code(), digest_size=6)
    if plugin:
        found = find_strategy(plugin, folder)
        # The base of all is of the shared code, and what that is made from comes with Python.
        names = [each.__module__ for each in found.__mro__[: found.__mro__.index(Strategy)]]
        names.append(module_of(plugin, folder).__name__)
        files = (path for name in names for path in sources_of(name, _file_of(name)))
        for path in dict.fromkeys(files):
            digest.update(path.read_bytes())
    return digest.hexdigest()


def _file_of(module: str) -> Path:
    return Path(sys.modules[module].__file__ or "")


@lru_cache(maxsize=1)
def _shared_code() -> bytes:
    digest = hashlib.blake2b(digest_size=16)
    # Another release may draw otherwise from the same seed: NEP 19 of the library.
    digest.update(np.__version__.encode())
    for part in CODE:
        place = _ROOT / part
        for path in [place] if place.is_file() else sorted(place.rglob("*.py")):
            if path.name not in _NOT_RUN or path.parent.name != "evaluate":
                digest.update(path.relative_to(_ROOT).as_posix().encode())
                digest.update(path.read_bytes())
    return digest.digest()


def sources_of(module: str, file: Path) -> list[Path]:
    """The files of a module: its own first, then what it imports, in an order that depends on them
    alone. module: its name as it was loaded."""
    file = file.resolve()
    *above, _ = parts = module.split(".")
    above = parts if file.name == "__init__.py" else above
    own = file.parents[len(above)] / parts[0] if above else None
    found = {file: above}
    for path in (left := [file]):
        for name in _imported(path, found[path]):
            for each, package in _files_of(name, own):
                if each not in found:
                    found[each] = package
                    left.append(each)
    return left


def _imported(path: Path, package: list[str]) -> Iterator[list[str]]:
    """The parts of names that may be of modules; none where the file is no Python."""
    try:
        tree = ast.parse(path.read_bytes())
    except (SyntaxError, ValueError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (each.name.split(".") for each in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) + 1 - node.level] if node.level else []
            base = base + (node.module.split(".") if node.module else [])
            yield from ([*base, each.name] for each in node.names)


def _files_of(parts: list[str], own: Path | None) -> Iterator[tuple[Path, list[str]]]:
    """The file of a module and those of the packages around it, each with the name of its package.
    own: the folder of the package whose files count wherever they are."""
    if parts[0] in _OURS:
        return
    for root in (*([own.parent] if own else ()), *map(Path, sys.path)):
        top = (root / parts[0]).resolve()
        if not (top.exists() or top.with_suffix(".py").is_file()):
            continue
        is_library = any(top.is_relative_to(folder) for folder in _LIBRARIES)
        if top != own and (is_library or "site-packages" in top.parts):
            return
        place = root.resolve()
        for depth, part in enumerate(parts, 1):
            place = place / part
            if (init := place / "__init__.py").is_file():
                yield init, parts[:depth]
            elif (file := place.with_suffix(".py")).is_file():
                yield file, parts[: depth - 1]
        return


# --- runs -----------------------------------------------------------------------------------------


def tasks_of(entries: Sequence[Entry], worlds: Sequence[World], seeds: Iterable[int]) -> list[Task]:
    """Every run of an evaluation, seed by seed, so that what is there early is balanced."""
    return [
        Task(entry, params, world, seed)
        for seed in seeds
        for world in worlds
        for entry in entries
        if entry.plugin
        for params in entry.settings()
    ]


class Results:
    """Results by task. damage: as of `Lines`."""

    def __init__(self, path: Path | None, folder: Path = _ROOT) -> None:
        """Raises ValueError for a file that holds something else."""
        self._folder = folder
        self._lines = Lines(path, Kept)
        self.damage = self._lines.damage
        self._digests: dict[str, str] = {}

    def key(self, task: Task) -> str:
        """The key of a result."""
        entry = task.entry
        digest = self._digests.get(entry.plugin)
        if digest is None:
            digest = self._digests[entry.plugin] = code_digest(entry.plugin, self._folder)
        setting = f"{entry.plugin}:{short_hash(task.params, entry.budget_cents)}"
        return f"{setting}/{task.world.key}/{task.seed}/{digest}"

    def get(self, task: Task) -> RunMetrics | None:
        """What came of a run, None when it was not made yet."""
        if not task.entry.plugin:
            return RunMetrics()
        kept = self._lines.kept.get(self.key(task))
        return None if kept is None else kept.metrics

    def put(self, task: Task, metrics: RunMetrics) -> None:
        """Keep what came of a run."""
        self._lines.put(Kept(self.key(task), metrics))

    def missing(self, tasks: Iterable[Task]) -> list[Task]:
        """The runs that are still to be made, each once."""
        wanted = {self.key(task): task for task in tasks if self.get(task) is None}
        return list(wanted.values())

    def live_through(
        self, tasks: Sequence[Task], jobs: int, wanted: Callable[[], bool] = lambda: True
    ) -> Iterator[Task]:
        """Make these runs in `jobs` processes until no more is wanted; yields each task once its
        result is kept. What has begun is run to its end.

        Raises as `run_of` does, NotKept, and BrokenProcessPool.
        """
        for task, metrics in in_order(partial(run_of, folder=self._folder), tasks, jobs, wanted):
            self.put(task, metrics)
            yield task


@lru_cache(maxsize=4)
def _draws(world: World, seed: int) -> Draws:
    return draw(world, seed)


def run_of(task: Task, folder: Path = _ROOT) -> RunMetrics:
    """Make one run. Raises DoesNotClose, and StrategyFault for a strategy that there is not or that
    does not come back."""
    draws = _draws(task.world, task.seed)
    began_s = time.process_time()
    entry = task.entry
    entry.make(task.params, folder)  # a wrong parameter is refused before anything is run
    try:
        came = live(task.world, draws, lambda: entry.make(task.params, folder), entry.budget_cents)
    except Stalled as fault:
        where = f"{task.world.name} seed {task.seed}"
        raise StrategyFault(f"{entry.name}: {where}: {fault}") from None
    return msgspec.structs.replace(came, cpu_s=time.process_time() - began_s)
