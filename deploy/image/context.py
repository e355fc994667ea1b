"""The build context: the files of the project that .dockerignore does not exclude.

The last pattern that matches a path or a folder above it decides; one that begins with an
exclamation mark includes again.

Source: the reference of .dockerignore.
"""

import re
from pathlib import Path, PurePosixPath
from typing import NamedTuple


class Pattern(NamedTuple):
    """One line. includes: True if it begins with an exclamation mark."""

    expression: re.Pattern[str]
    includes: bool


def read_patterns(path: Path) -> tuple[Pattern, ...]:
    """The patterns of a .dockerignore, in order."""
    lines = (line.strip() for line in path.read_text(encoding="utf-8").splitlines())
    return tuple(_pattern(line) for line in lines if line and not line.startswith("#"))


def is_shown(patterns: tuple[Pattern, ...], path: PurePosixPath) -> bool:
    """True if a file is part of the context. path: from the project's own folder."""
    names = [str(path), *(str(above) for above in path.parents if str(above) != ".")]
    hidden = False
    for pattern in patterns:
        if any(pattern.expression.fullmatch(name) for name in names):
            hidden = not pattern.includes
    return not hidden


def shown_files(root: Path, patterns: tuple[Pattern, ...], source: str) -> list[PurePosixPath]:
    """The files that a COPY of `source`, a file or a folder, takes from the project, sorted."""
    start = root / source
    found = [start] if start.is_file() else [each for each in start.rglob("*") if each.is_file()]
    paths = (PurePosixPath(each.relative_to(root).as_posix()) for each in found)
    return sorted(path for path in paths if is_shown(patterns, path))


def _pattern(line: str) -> Pattern:
    includes = line.startswith("!")
    text = line.removeprefix("!").strip("/")
    parts: list[str] = []
    for piece in re.split(r"(\*\*/|\*\*|\*|\?)", text):
        match piece:
            case "**/":
                parts.append("(?:.*/)?")
            case "**":
                parts.append(".*")
            case "*":
                parts.append("[^/]*")
            case "?":
                parts.append("[^/]")
            case _:
                parts.append(re.escape(piece))
    return Pattern(re.compile("".join(parts)), includes)
