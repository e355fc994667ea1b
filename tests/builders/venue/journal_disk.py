"""The disk under a state directory, with a crash at a chosen call, and what a power cut leaves.

A crash comes `before`, `within` (a write) or `after` a call that changes the disk, with all that
was written until then; or as a `power cut` before it, which takes everything that was not synced:
contents since the file's last sync, names since the directory's.
"""

import contextlib
import os
import shutil
import stat
from itertools import count
from pathlib import Path

CALLS = ("pwrite", "fsync", "fdatasync", "ftruncate", "rename", "unlink", "mkdir")
KINDS = ("before", "within", "after", "power cut")


class Crash(BaseException):
    """The process is gone. No handler of errors sees it."""


class Synced:
    """What is durable: for each directory its names, for each file its content."""

    def __init__(self):
        self._fresh = count()
        self._number = {}
        self._names = {}
        self._content = {}

    def created(self, place):
        """A new file, by its handle, or a new directory; its inode may be one that was used
        before."""
        self._number[os.stat(place).st_ino] = next(self._fresh)

    def synced(self, handle):
        """A file or a directory has been synced."""
        status = os.fstat(handle)
        if stat.S_ISDIR(status.st_mode):
            with os.scandir(handle) as entries:
                names = {entry.name: self._numbered(entry.inode()) for entry in entries}
            self._names[self._numbered(status.st_ino)] = names
        else:
            # By the descriptor's own name: it may be open for writing only.
            content = Path(f"/proc/self/fd/{handle}").read_bytes()
            self._content[self._numbered(status.st_ino)] = content

    def cut_power(self, folder):
        """Leave of a directory what is durable of it."""
        if not folder.exists():
            return
        number = self._numbered(folder.stat().st_ino)
        above = self._names.get(self._numbered(folder.parent.stat().st_ino), {})
        shutil.rmtree(folder)
        if folder.name not in above:
            return
        folder.mkdir(0o700)
        for name, file in self._names.get(number, {}).items():
            (folder / name).write_bytes(self._content.get(file, b""))
            (folder / name).chmod(0o600)

    def _numbered(self, inode):
        if inode not in self._number:
            self._number[inode] = next(self._fresh)
        return self._number[inode]


class Disk:
    """The calls that change the disk, watched, with a crash at one of them."""

    def __init__(self, monkeypatch):
        self._left = None
        self._kind = ""
        self._synced = Synced()
        for name in CALLS:
            monkeypatch.setattr(os, name, self._failing(name, getattr(os, name)))
        monkeypatch.setattr(os, "open", self._opening(os.open))

    def crash_at(self, number, kind):
        """Crash at the call of this number, in this way."""
        self._left, self._kind = number, kind

    def trust(self, folder):
        """Take a directory as it is for durable, names and contents."""
        for path in (*folder.iterdir(), folder, folder.parent):
            handle = os.open(path, os.O_RDONLY)
            self._synced.synced(handle)
            os.close(handle)

    def go_on(self, folder):
        """After a crash: what it left, with nothing open. Whether there was one."""
        crashed, self._left = self._left is not None and self._left <= 0, None
        _let_go(folder)
        if crashed and self._kind == "power cut":
            self.cut_power(folder)
        return crashed

    def cut_power(self, folder):
        """Cut the power while nothing is open in a directory: what is left of it is durable."""
        self._synced.cut_power(folder)
        if folder.exists():
            self.trust(folder)

    def _is_last(self):
        if self._left is None:
            return False
        self._left -= 1
        if self._left < 0:
            raise Crash
        return self._left == 0

    def _failing(self, name, real):
        def call(*arguments, **named):
            last = self._is_last()
            if name in ("fsync", "fdatasync") and (not last or self._kind == "after"):
                # Nothing is asked of the real disk: it would only take its time.
                self._synced.synced(arguments[0])
            elif not last:
                done = real(*arguments, **named)
                if name == "mkdir":
                    self._synced.created(arguments[0])
                return done
            if not last:
                return None
            if self._kind == "within" and name == "pwrite":
                handle, data, offset = arguments
                real(handle, data[: len(data) // 2], offset)
            elif self._kind == "after" and name not in ("fsync", "fdatasync"):
                real(*arguments, **named)
            raise Crash

        return call

    def _opening(self, real):
        def call(path, flags, *arguments, **named):
            if flags & os.O_CREAT and self._is_last():
                if self._kind == "after":
                    os.close(real(path, flags, *arguments, **named))
                raise Crash
            handle = real(path, flags, *arguments, **named)
            if flags & os.O_EXCL:
                self._synced.created(handle)
            return handle

        return call


def _let_go(folder):
    """Close what is still open below a folder, as the end of a process does."""
    for handle in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError):
            if os.readlink(f"/proc/self/fd/{handle}").startswith(str(folder)):
                os.close(int(handle))


def crashes(disk, folder, act, check, template=None):
    """Let `act` crash in every way at every call in turn, and `check` what is left; how often.

    template: a directory that each turn begins with a durable copy of.
    """
    crashed = 0
    for kind in KINDS:
        for number in range(1, 1_000):
            path = folder / f"{kind}-{number}"
            if template is not None:
                shutil.copytree(template, path)
                disk.trust(path)
            disk.crash_at(number, kind)
            with contextlib.suppress(Crash):
                act(path)
            if not disk.go_on(path):
                check(path)
                break
            check(path)
            crashed += 1
        else:
            raise AssertionError("never came to an end")
    return crashed
