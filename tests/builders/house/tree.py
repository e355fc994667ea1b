"""The source tree as the house tests see it: files, their text and their syntax trees."""

import ast
import os
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
SHIPPED = ("bot", "laddermaker", "strategies", "venue")
PURE = ("bot/core", "bot/strategy", "venue/engine", "venue/wire")
_TEXT_ENDINGS = {".py", ".md", ".txt", ".toml", ".yaml", ".yml", ".lock", ".html", ".cfg", ".sh"}
_TEXT_NAMES = {"Dockerfile", "Makefile", "run", ".gitignore", ".dockerignore"}
_OWN_DOT_FOLDERS = {".ci", ".github"}


def python_files(*folders: str) -> list[Path]:
    """Every Python file below these folders, in order of path."""
    return sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py"))


def text_files() -> list[Path]:
    """Every text file of the project itself: no caches, no environment, no state."""
    found = []
    for folder, below, names in os.walk(ROOT):
        below[:] = [
            name
            for name in below
            if name not in ("__pycache__", "dist")
            and not (name == "state" and Path(folder) == ROOT)
            and (not name.startswith(".") or name in _OWN_DOT_FOLDERS)
        ]
        paths = [Path(folder, name) for name in names]
        found += [p for p in paths if p.suffix in _TEXT_ENDINGS or p.name in _TEXT_NAMES]
    return sorted(found)


def shown(path: Path) -> str:
    """A path as a reader of a failure wants it: relative to the project."""
    return path.relative_to(ROOT).as_posix()


def of_each(paths: Sequence[Path]) -> Callable[[Callable[[Path], None]], Callable[[], None]]:
    """Make one test of a claim about every one of these files, which names all that break it."""

    def made(claim: Callable[[Path], None]) -> Callable[[], None]:
        def test() -> None:
            broken = []
            for path in paths:
                try:
                    claim(path)
                except AssertionError as wrong:
                    broken.append(f"{shown(path)}: {wrong}")
            assert paths
            assert not broken, "\n".join(broken)

        return test

    return made


@cache
def text(path: Path) -> str:
    """The text of a file."""
    return path.read_text(encoding="utf-8")


@cache
def tree(path: Path) -> ast.Module:
    """The syntax tree of a Python file."""
    return ast.parse(text(path), filename=str(path))


def module_name(path: Path) -> str:
    """The dotted name of a Python file."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports(path: Path) -> list[tuple[int, str]]:
    """(line, dotted name) of everything a file imports; `from a import b` gives `a.b`."""
    found = []
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Import):
            found += [(node.lineno, alias.name) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            prefix = "." * node.level + (node.module or "")
            found += [(node.lineno, f"{prefix}.{alias.name}") for alias in node.names]
    return found
