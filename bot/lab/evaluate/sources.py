"""The files that code of somebody's own is made of: its own, and those that it imports.

Found in the source, by its imports at any place: what a module has loaded in one process it need
not have loaded in another. Nothing is run for it: what a strategy tries to import, or imports in
some cases only, may fail or act when it is. What is imported by a name that is made up while it
runs is not found. The program itself and installed libraries are left out, but for the package that
the code is of.
"""

import ast
import sys
import sysconfig
from collections.abc import Iterator
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Final

_OURS: Final = frozenset(("bot", "venue"))
"""Packages of the program: what of them is lived through is named otherwise."""

_LIBRARIES: Final = tuple(
    Path(sysconfig.get_path(name)).resolve()
    for name in ("stdlib", "platstdlib", "purelib", "platlib")
)


def sources_of(module: str, file: Path) -> list[Path]:
    """The files of a module, its own first, in an order that hangs on them alone. module: its name
    as it was loaded; file: its own."""
    loaded = sys.modules.get(module)
    package = "" if loaded is None else loaded.__package__ or ""
    own = (package or module).partition(".")[0]
    found = {file.resolve(): package}
    left = [file.resolve()]
    while left:
        path = left.pop(0)
        for name in _imported(path, found[path]):
            spec = None if name.partition(".")[0] in _OURS else _spec(name)
            origin = Path(spec.origin).resolve() if spec is not None and spec.origin else None
            if spec is None or origin is None or origin in found:
                continue
            if origin.suffix != ".py" or not origin.is_file():
                continue
            if name.partition(".")[0] == own or not _is_library(origin):
                found[origin] = spec.parent or ""
                left.append(origin)
    return [*found]


def _imported(path: Path, package: str) -> Iterator[str]:
    """Names that may be of modules, as a file imports them; none where it is no Python."""
    try:
        tree = ast.parse(path.read_bytes())
    except (SyntaxError, ValueError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for each in node.names:
                yield from _with_packages(each.name)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                above = package.split(".")[: len(package.split(".")) - node.level + 1]
                base = ".".join([*above, base] if base else above)
            yield from _with_packages(base)
            yield from (f"{base}.{each.name}" for each in node.names)


def _with_packages(name: str) -> Iterator[str]:
    """A name and those of the packages that it is in, which are run before it."""
    parts = name.split(".")
    return (".".join(parts[: place + 1]) for place in range(len(parts)))


def _spec(name: str) -> ModuleSpec | None:
    """Where a module is; None where it is none, such as a name that a module defines."""
    spec: ModuleSpec | None = None
    places: list[str] | None = None
    for part in _with_packages(name):
        if spec is not None and places is None:
            return None  # a module, of which nothing is a part
        spec = _looked_up(part, places)
        if spec is None:
            return None
        within = spec.submodule_search_locations
        places = None if within is None else [*within]
    return spec


def _looked_up(name: str, places: list[str] | None) -> ModuleSpec | None:
    """A module in these folders, those of its package; None: where all modules are."""
    for finder in sys.meta_path:
        try:
            spec = finder.find_spec(name, places)
        except (ImportError, KeyError, ValueError, AttributeError):
            continue  # KeyError: a folder without __init__.py in one that was not imported
        if spec is not None:
            return spec
    leaf = name.rpartition(".")[2]
    folders = [str(each) for place in places or () if (each := Path(place, leaf)).is_dir()]
    if not (folders and leaf):
        return None
    spec = ModuleSpec(name, None, is_package=True)
    spec.submodule_search_locations = folders
    return spec


def _is_library(path: Path) -> bool:
    return any(path.is_relative_to(folder) for folder in _LIBRARIES)
