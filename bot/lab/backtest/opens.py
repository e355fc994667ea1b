"""Who opens the recorded data while a strategy may be running: nobody should.

An audit hook of the interpreter sees every file that Python code opens, or gives another name or
place to open it by, whoever does it and by whatever name. What a C library or another program opens
by itself it does not see. The configuration and the code of a strategy may stand in the very folder
of the data: they are none.
"""

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

_OPENS: Final = frozenset({"open", "os.link", "os.rename"})
"""Events that begin with the path of what is opened, or can be by another name from then on."""


class _Watching:
    """The one hook of the process: a hook cannot be taken away again."""

    def __init__(self) -> None:
        self.folders: tuple[str, ...] = ()
        self.config = ""
        self.opened: list[str] = []
        self.is_hooked = False

    def heard(self, event: str, arguments: tuple[object, ...]) -> None:
        """An audit event."""
        if event not in _OPENS or not self.folders:
            return
        named = arguments[0]
        if not isinstance(named, str | bytes | os.PathLike):
            return
        path = os.path.realpath(os.fsdecode(named))
        if path == self.config or _is_code(path):
            return
        # By a folder that is open what is in it can be opened without its path.
        if f"{path}{os.sep}".startswith(self.folders) and path not in self.opened:
            self.opened.append(path)


def _is_code(path: str) -> bool:
    return path.endswith(".py") or f"{os.sep}__pycache__{os.sep}" in path


_WATCHING = _Watching()


@contextmanager
def watched(folders: Sequence[Path], config: Path | None = None) -> Iterator[list[str]]:
    """The files under these folders that are opened meanwhile; the list grows. config: the file
    that is read meanwhile to know the strategy."""
    if not _WATCHING.is_hooked:
        sys.addaudithook(_WATCHING.heard)
        _WATCHING.is_hooked = True
    _WATCHING.opened = []
    _WATCHING.config = "" if config is None else os.path.realpath(config)
    _WATCHING.folders = tuple(os.path.realpath(folder) + os.sep for folder in folders)
    try:
        yield _WATCHING.opened
    finally:
        _WATCHING.folders = ()
