"""Lives that were lived: run in several processes, kept in a file, never lived twice.

A life is named by strategy, parameters, world, seed and the code that it hangs on; a broken-off
evaluation goes on where it stopped, and a changed line of code makes everything new.
"""

import hashlib
import itertools
import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache, partial
from pathlib import Path
from types import ModuleType
from typing import Any, Final, Generic, Protocol, TypeVar

import msgspec
import numpy as np

from bot.core.strategy import Strategy
from bot.io.settings.plugins import StrategyFault, find_strategy, module_of
from bot.lab.evaluate.draws import Draws, draw
from bot.lab.evaluate.life import Lived, live
from bot.lab.evaluate.lineup import Entry, short_hash
from bot.lab.evaluate.patience import Stalled
from bot.lab.evaluate.sources import sources_of
from bot.lab.evaluate.worlds import World
from bot.lab.pool import in_order

_ROOT: Final = Path(__file__).parents[3]
CODE: Final = (
    "bot/core",
    "bot/lab/driver.py",
    "bot/lab/evaluate",
    "bot/lab/exchange",
    "bot/lab/sim",
    "venue/core",
    "venue/read",
    "venue/wire",
)
"""Where all code stands that a life runs through, but for its strategy."""

_NOT_LIVED: Final = (
    "page.py",
    "tables.py",
    "statistics.py",
    "seeds.py",
    "results.py",
    "compare.py",
    "sources.py",
)


class Task(msgspec.Struct, frozen=True):
    """One life to be lived."""

    entry: Entry
    params: dict[str, Any]
    world: World
    seed: int

    @property
    def setting(self) -> str:
        """What names the strategy and its parameters."""
        return f"{self.entry.plugin}:{short_hash(self.params, self.entry.budget_cents)}"


class Kept(msgspec.Struct, frozen=True):
    """A life that was lived, with its name."""

    key: str
    lived: Lived


class NotKept(Exception):
    """A result could not be written to its file; the text says which file, and why."""


_BEGINS: Final = b'{"key":'
"""Every line that is kept; of one that was torn off, as much as there is."""


_SUM_BEGINS: Final = b',"crc32":"'
_SUM_LENGTH: Final = len(_SUM_BEGINS) + 8 + len(b'"}')


class Keyed(Protocol):
    """Something that has a name."""

    @property
    def key(self) -> str:
        """Its name."""


T = TypeVar("T", bound=Keyed)


class Lines(Generic[T]):
    """What was kept by name, in memory and in a file that only grows: a line of JSON each.

    path None: in memory alone. A line that is none of `kind` is passed over: the last one of a run
    that was killed, or of other code. So is one that is not as it was written, by the checksum at
    its end; a line of before there was one has none, and is believed.

    damaged: the numbers of the lines that are not as they were written, but for a last one that was
    torn off.
    """

    def __init__(self, path: Path | None, kind: type[T]) -> None:
        """Raises ValueError for a file that holds something else: it is not to be added to."""
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
        """What to tell a person about damaged lines of the file; empty where there are none."""
        if not self.damaged:
            return ""
        more = f", and {len(self.damaged) - 1} more" if len(self.damaged) > 1 else ""
        return f"line {self.damaged[0]}{more}: damaged, and taken for nothing"

    def put(self, one: T) -> None:
        """Keep one more, or another one of a name. Raises NotKept where the file takes no more."""
        self.kept[one.key] = one
        if self._path is not None:
            try:
                with self._path.open("ab") as file:
                    file.write(b"\n" * self._is_torn + _summed(msgspec.json.encode(one)) + b"\n")
            except OSError as fault:
                raise NotKept(f"{self._path}: {fault.strerror}") from None
            self._is_torn = False


def _summed(line: bytes) -> bytes:
    """An object's line with the checksum of it as its last field."""
    return line[:-1] + _sum(line)


def _checked(line: bytes) -> bytes:
    """A line without its checksum. Raises DecodeError where it is not that of the line."""
    tail = line[-_SUM_LENGTH:]
    if not tail.startswith(_SUM_BEGINS):
        return line
    whole = line[:-_SUM_LENGTH] + b"}"
    if tail != _sum(whole):
        raise msgspec.DecodeError("another checksum")
    return whole


def _sum(line: bytes) -> bytes:
    return b'%b%08x"}' % (_SUM_BEGINS, zlib.crc32(line))


NOTHING: Final = Lived(
    net=0,
    spread=0.0,
    inventory=0.0,
    fees=0,
    adverse=0.0,
    drift=0.0,
    held_variance=0.0,
    edge_by_gain=0.0,
    gain_mean=0.0,
    early=0.0,
    drawdown=0.0,
    minute_ratio=0.0,
    worst_max=0,
    worst_mean=0.0,
    locked=0.0,
    uptime=0.0,
    touch_share=0.0,
    quoted_spread=0.0,
    fills=0,
    filled_qty=0,
    taken_qty=0,
    noise_qty=0,
    noise_share=0.0,
    requests=0,
    writes=0,
    refused_for_pace=0,
    waste=0.0,
    decisions=0,
    errors=0,
    latched="",
    markouts=[],
)
"""What doing nothing comes to, in every world."""


def code_digest(plugin: str = "", folder: Path = _ROOT) -> str:
    """What names the code that a life of a strategy hangs on; of all but the strategy if empty."""
    digest = hashlib.blake2b(_shared_code(), digest_size=6)
    if plugin:
        found = find_strategy(plugin, folder)
        digest.update(_source(found, module_of(plugin, folder)))
    return digest.hexdigest()


@lru_cache(maxsize=1)
def _shared_code() -> bytes:
    digest = hashlib.blake2b(digest_size=16)
    # Another release may draw otherwise from the same seed: NEP 19 of the library.
    digest.update(np.__version__.encode())
    for part in CODE:
        place = _ROOT / part
        for path in [place] if place.is_file() else sorted(place.rglob("*.py")):
            if path.name not in _NOT_LIVED or path.parent.name != "evaluate":
                digest.update(path.relative_to(_ROOT).as_posix().encode())
                digest.update(path.read_bytes())
    return digest.digest()


def _source(found: type[Strategy], named: ModuleType) -> bytes:
    """The files of its class and of every class that it is made from, of the module that names it,
    and what those import."""
    import inspect

    # The base of all is of the shared code, and what that is made from comes with Python.
    classes = found.__mro__[: found.__mro__.index(Strategy)]
    made_of = [sources_of(each.__module__, Path(inspect.getfile(each))) for each in classes]
    made_of.append(sources_of(named.__name__, Path(inspect.getfile(named))))
    files = dict.fromkeys(itertools.chain.from_iterable(made_of))
    return b"".join(file.read_bytes() for file in files)


def tasks_of(entries: Sequence[Entry], worlds: Sequence[World], seeds: Iterable[int]) -> list[Task]:
    """Every life of an evaluation, seed by seed, so that what is there early is balanced."""
    return [
        Task(entry, params, world, seed)
        for seed in seeds
        for world in worlds
        for entry in entries
        if entry.plugin
        for params in entry.settings()
    ]


class Results:
    """Lives by name, in memory and in a file that only grows. path None: in memory alone. damage:
    what to tell of lines that are not as they were written; empty where there are none."""

    def __init__(self, path: Path | None, folder: Path = _ROOT) -> None:
        """Raises ValueError for a file that holds something else."""
        self._folder = folder
        self._lines = Lines(path, Kept)
        self.damage = self._lines.damage
        self._digests: dict[str, str] = {}

    def key(self, task: Task) -> str:
        """The name of a life."""
        digest = self._digests.get(task.entry.plugin)
        if digest is None:
            digest = self._digests[task.entry.plugin] = code_digest(task.entry.plugin, self._folder)
        return f"{task.setting}/{task.world.key}/{task.seed}/{digest}"

    def get(self, task: Task) -> Lived | None:
        """What came of a life, None when it was not lived yet."""
        if not task.entry.plugin:
            return NOTHING
        kept = self._lines.kept.get(self.key(task))
        return None if kept is None else kept.lived

    def put(self, task: Task, lived: Lived) -> None:
        """Keep what came of a life."""
        self._lines.put(Kept(self.key(task), lived))

    def missing(self, tasks: Iterable[Task]) -> list[Task]:
        """The lives that are still to be lived, each once."""
        wanted = {self.key(task): task for task in tasks if self.get(task) is None}
        return list(wanted.values())

    def live_through(
        self, tasks: Sequence[Task], jobs: int, wanted: Callable[[], bool] = lambda: True
    ) -> Iterator[Task]:
        """Live the lives that are missing, in `jobs` processes, until no more is wanted; each task
        is told once its life is kept. What has begun is lived to its end.

        Raises as `lived` does, NotKept, and BrokenProcessPool.
        """
        for task, came in in_order(partial(lived, folder=self._folder), tasks, jobs, wanted):
            self.put(task, came)
            yield task


@lru_cache(maxsize=4)
def _draws(world: World, seed: int) -> Draws:
    return draw(world, seed)


def lived(task: Task, folder: Path = _ROOT) -> Lived:
    """Live one life. Raises DoesNotClose, and StrategyFault for a strategy that there is not or
    that does not come back."""
    draws = _draws(task.world, task.seed)
    began_s = time.process_time()
    entry = task.entry
    entry.make(task.params, folder)  # a wrong parameter is told before anything is lived
    try:
        came = live(task.world, draws, lambda: entry.make(task.params, folder), entry.budget_cents)
    except Stalled as fault:
        where = f"{task.world.name} seed {task.seed}"
        raise StrategyFault(f"{entry.name}: {where}: {fault}") from None
    return msgspec.structs.replace(came, cpu_s=time.process_time() - began_s)
