"""What grows: memory of the process, objects by type, entries of containers by attribute."""

import gc
import os
import sys
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import FunctionType, MethodType, ModuleType
from typing import Any, NamedTuple

import msgspec

_OURS = ("bot.", "strategies.", "tests.day.")
_CONTAINERS = (list, tuple, set, frozenset, deque)
_PLAIN = (str, bytes, int, float, bytearray)
_SKIPPED = (type, ModuleType, FunctionType)


def resident_bytes() -> int:
    """Memory of this process that is in use, after a collection."""
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def objects_by_type() -> Counter[str]:
    """Objects that the collector knows, by type; what holds no other object is not among them."""
    kinds = (type(each) for each in gc.get_objects())
    return Counter(f"{kind.__module__}.{kind.__qualname__}" for kind in kinds)


class Held(NamedTuple):
    """What can be reached from an object, by class and attribute of ours."""

    entries: Counter[str]
    bytes: Counter[str]


def held_by(root: object) -> Held:
    """Entries of containers, and the bytes of everything, down from `root`.

    What stands in a container of containers counts for the attribute that holds the outermost; an
    object is counted once, where it is reached first.
    """
    held = Held(Counter(), Counter())
    seen: set[int] = set()
    waiting: deque[tuple[str, Any]] = deque([("", root)])
    while waiting:
        at, value = waiting.popleft()
        if value is None or isinstance(value, _SKIPPED) or id(value) in seen:
            continue
        seen.add(id(value))
        held.bytes[at] += sys.getsizeof(value)
        if isinstance(value, _PLAIN):
            continue
        if isinstance(value, MethodType):
            waiting.append((at, value.__self__))
        elif isinstance(value, dict):
            held.entries[at] += len(value)
            waiting.extend((at, each) for pair in value.items() for each in pair)
        elif isinstance(value, _CONTAINERS):
            held.entries[at] += len(value)
            waiting.extend((at, each) for each in value)
        elif type(value).__module__.startswith(_OURS):
            name = type(value).__qualname__
            waiting.extend((f"{name}.{key}", each) for key, each in _attributes(value))
    return held


class Counts(msgspec.Struct, frozen=True):
    """What there was at one moment: objects by type, entries and bytes by attribute."""

    objects: dict[str, int]
    entries: dict[str, int]
    bytes: dict[str, int]


def counted(root: object) -> Counts:
    """Count everything, in a copy of the process: counting takes memory that would stay with it."""
    reads, writes = os.pipe()
    child = os.fork()
    if not child:
        try:
            held = held_by(root)
            found = Counts(objects_by_type(), held.entries, held.bytes)
            with os.fdopen(writes, "wb") as pipe:
                pipe.write(msgspec.msgpack.encode(found))
        finally:
            os._exit(0)
    os.close(writes)
    with os.fdopen(reads, "rb") as pipe:
        told = pipe.read()
    os.waitpid(child, 0)
    return msgspec.msgpack.decode(told, type=Counts)


def _attributes(value: object) -> Iterator[tuple[str, Any]]:
    yield from getattr(value, "__dict__", {}).items()
    kind = type(value)
    if isinstance(value, msgspec.Struct):
        names = list(kind.__struct_fields__)  # type: ignore[attr-defined]
    else:
        names = [
            # A private slot is stored under its class's name.
            f"_{each.__name__.lstrip('_')}{name}" if name.startswith("__") else name
            for each in kind.__mro__
            for name in _named(each.__dict__.get("__slots__", ()))
        ]
    for name in names:
        if name != "__weakref__" and hasattr(value, name):
            yield name, getattr(value, name)


def _named(slots: str | Iterable[str]) -> tuple[str, ...]:
    return (slots,) if isinstance(slots, str) else tuple(slots)


def grown(
    before: Mapping[str, int], after: Mapping[str, int], most: int
) -> list[tuple[str, int, int]]:
    """What has grown most: name, count before and after."""
    rows = [(name, before.get(name, 0), count) for name, count in after.items()]
    rows.sort(key=lambda row: row[1] - row[2])
    return [row for row in rows if row[2] > row[1]][:most]


def slope(points: list[tuple[float, float]]) -> float:
    """The rise of y for each unit of x, least squares; 0 for fewer than two points."""
    if len(points) < 2:
        return 0.0
    mean_x = sum(x for x, _ in points) / len(points)
    mean_y = sum(y for _, y in points) / len(points)
    spread = sum((x - mean_x) ** 2 for x, _ in points)
    rise = sum((x - mean_x) * (y - mean_y) for x, y in points)
    return rise / spread if spread else 0.0
