"""Who opens the recorded data while a strategy may be running: nobody should.

An audit hook of the interpreter sees every file that Python code opens, whoever does it and by
whatever name. What a C library opens by itself it does not see.
"""

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path


class _Watching:
    """The one hook of the process: a hook cannot be taken away again."""

    def __init__(self) -> None:
        self.folders: tuple[str, ...] = ()
        self.opened: list[str] = []
        self.is_hooked = False

    def heard(self, event: str, arguments: tuple[object, ...]) -> None:
        """An audit event."""
        if event != "open" or not self.folders or not isinstance(arguments[0], str | bytes):
            return
        path = os.path.realpath(os.fsdecode(arguments[0]))
        if path.startswith(self.folders) and path not in self.opened:
            self.opened.append(path)


_WATCHING = _Watching()


@contextmanager
def watched(folders: Sequence[Path]) -> Iterator[list[str]]:
    """The files under these folders that are opened meanwhile; the list grows."""
    if not _WATCHING.is_hooked:
        sys.addaudithook(_WATCHING.heard)
        _WATCHING.is_hooked = True
    _WATCHING.opened = []
    _WATCHING.folders = tuple(os.path.realpath(folder) + os.sep for folder in folders)
    try:
        yield _WATCHING.opened
    finally:
        _WATCHING.folders = ()
