"""Runs tasks in several processes and keeps their results in a file, so that none runs twice.

A result's key names strategy, parameters, world, seed and code.
"""

import ast
import hashlib
import sysconfig
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import lru_cache
from importlib.machinery import PathFinder
from importlib.util import resolve_name
from pathlib import Path
from typing import Any, Final, Generic, TypeVar

import msgspec
import numpy as np

from bot.config.plugins import StrategyFault, class_source, module_of
from bot.lab.evaluate.entries import Contender
from bot.lab.evaluate.run import RunMetrics, run_strategy
from bot.lab.evaluate.scenarios import RandomInputs, Scenario, draw
from bot.lab.evaluate.timeout import Stalled
from bot.lab.pool import in_order

T = TypeVar("T")

_ROOT: Final = Path(__file__).parents[3]
_OURS: Final = ("bot", "venue")
_STDLIB: Final = Path(sysconfig.get_path("stdlib")).resolve()
_INSTALLED: Final = {"site-packages", "dist-packages"}


class NotKept(Exception):
    """A result could not be written; the text names the file."""


class _StoredRun(msgspec.Struct, frozen=True):
    key: str
    result: msgspec.Raw


class RunStore(Generic[T]):
    """Results by key, in memory and, unless the path is None, as lines of JSON in a file.
    Unreadable lines are skipped."""

    def __init__(self, path: Path | None, kind: type[T]) -> None:
        """Raises ValueError for a file that holds something else."""
        self.results: dict[str, T] = {}
        self._path = path
        self._ends = b""
        if path is None or not path.is_file():  # a pipe has nothing from before
            return
        text, begins = path.read_bytes(), b'{"key":'
        if not text.startswith(begins[: len(text)]):
            raise ValueError(f"{path}: holds something else than results that were kept")
        if text and not text.endswith(b"\n"):
            self._ends = b"\n"
        for line in text.splitlines():
            with suppress(msgspec.DecodeError, UnicodeDecodeError):
                row = msgspec.json.decode(line, type=_StoredRun)
                self.results[row.key] = msgspec.json.decode(row.result, type=kind)

    def put(self, key: str, result: T) -> None:
        """Raises NotKept."""
        self.results[key] = result
        if self._path is not None:
            line = msgspec.json.encode({"key": key, "result": result})
            try:
                with self._path.open("ab") as file:
                    file.write(self._ends + line + b"\n")
            except OSError as fault:
                raise NotKept(f"{self._path}: {fault.strerror}") from None
            self._ends = b""


def digest_of(*parts: Any) -> str:
    text = msgspec.json.encode(parts, order="deterministic")
    return hashlib.blake2b(text, digest_size=6).hexdigest()


# --- the code that a run depends on ---------------------------------------------------------------


@lru_cache(maxsize=64)
def code_digest(*plugins: str, folder: Path = _ROOT) -> str:
    """Of this program and of `plugins` with every file they import. Raises StrategyFault."""
    digest = hashlib.blake2b(_program(), digest_size=6)
    for plugin in filter(None, plugins):
        if (source := class_source(plugin)) is not None:
            digest.update(source)
            continue
        module = module_of(plugin, folder)
        file = getattr(module, "__file__", None)
        if file is None:
            raise StrategyFault(f"{plugin}: {module.__name__} is in no file")
        for path in _sources_of(module.__name__, module.__package__ or "", Path(file)):
            digest.update(path.read_bytes())
    return digest.hexdigest()


@lru_cache(maxsize=1)
def _program() -> bytes:
    # Another release of numpy may draw otherwise from the same seed (NEP 19).
    digest = hashlib.blake2b(np.__version__.encode(), digest_size=16)
    for path in sorted(path for part in _OURS for path in (_ROOT / part).rglob("*.py")):
        digest.update(path.relative_to(_ROOT).as_posix().encode())
        digest.update(path.read_bytes())
    return digest.digest()


def _sources_of(module: str, package: str, file: Path) -> list[Path]:
    """The files of a module and of all that it imports, found without running any, without
    installed packages but the module's own."""
    own = module.partition(".")[0]
    found = {file.resolve(): package}
    for path in (left := [*found]):
        for name in _imported(path, found[path]):
            for each, around in _files_of(name, own):
                if each not in found:
                    found[each] = around
                    left.append(each)
    return left


def _imported(path: Path, package: str) -> Iterator[str]:
    """Names that may be of modules; none of a file that is no Python."""
    with suppress(SyntaxError, ValueError):
        for node in ast.walk(ast.parse(path.read_bytes())):
            if isinstance(node, ast.Import):
                yield from (each.name for each in node.names)
            elif isinstance(node, ast.ImportFrom):
                with suppress(ImportError):  # beyond its package
                    base = resolve_name("." * node.level + (node.module or ""), package)
                    yield from (f"{base}.{each.name}" for each in node.names)


def _files_of(name: str, own: str) -> Iterator[tuple[Path, str]]:
    """The files of a module and of the packages around it, each with its package."""
    top, places, package = name.partition(".")[0], None, ""
    for part in () if top in _OURS else name.split("."):
        spec = PathFinder.find_spec(part, places)
        if spec is None:
            return
        places = spec.submodule_search_locations
        inside = f"{package}.{part}".lstrip(".")
        if spec.has_location and spec.origin is not None:
            file = Path(spec.origin).resolve()
            is_library = file.is_relative_to(_STDLIB) or _INSTALLED & {*file.parts}
            if is_library and top != own:
                return
            yield file, package if places is None else inside
        if places is None:
            return
        package = inside


# --- runs -----------------------------------------------------------------------------------------


class Task(msgspec.Struct, frozen=True):
    entry: Contender
    params: dict[str, Any]
    world: Scenario
    seed: int
    folder: Path = _ROOT  # what the path of a strategy starts from

    @property
    def result_key(self) -> str:
        plugin, budget_cents = self.entry.plugin, self.entry.budget_cents
        advice = () if self.entry.advice is None else (self.entry.advice,)
        setting = digest_of(plugin, self.params, budget_cents, *advice)
        code = code_digest(plugin, folder=self.folder)
        return f"{setting}/{self.world.size_key}/{self.seed}/{code}"


def tasks_of(
    entries: Sequence[Contender],
    worlds: Sequence[Scenario],
    seeds: Iterable[int],
    folder: Path = _ROOT,
) -> dict[str, Task]:
    """Runs by key, seed by seed, so that early results are balanced."""
    tasks = (
        Task(entry, params, world, seed, folder)
        for seed in seeds
        for world in worlds
        for entry in entries
        if entry.plugin
        for params in entry.settings()
    )
    return {task.result_key: task for task in tasks}


def run_tasks(
    store: RunStore[RunMetrics],
    tasks: Iterable[Task],
    jobs: int,
    wanted: Callable[[], bool] = lambda: True,
) -> Iterator[Task]:
    """Yields each task once its result is stored, until no more is wanted. Raises as `run_of` does,
    NotKept, and BrokenProcessPool."""
    for task, metrics in in_order(run_of, tasks, jobs, wanted):
        store.put(task.result_key, metrics)
        yield task


@lru_cache(maxsize=16)
def random_inputs_of(world: Scenario, seed: int) -> RandomInputs:
    return draw(world, seed)


def run_of(task: Task) -> RunMetrics:
    """Raises DoesNotClose, and StrategyFault for a strategy that is unknown or does not return."""
    entry, draws, began_s = task.entry, random_inputs_of(task.world, task.seed), time.process_time()
    try:
        came = run_strategy(
            task.world,
            draws,
            entry.maker(task.params, task.folder),
            entry.budget_cents,
            advice=entry.advice,
            seed=task.seed,
        )
    except Stalled as fault:
        where = f"{task.world.name} seed {task.seed}"
        raise StrategyFault(f"{entry.name}: {where}: {fault}") from None
    return msgspec.structs.replace(came, cpu_s=time.process_time() - began_s)
