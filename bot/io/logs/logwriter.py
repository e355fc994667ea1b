"""Writes log lines in a thread of its own: a reader or a disk that stops holds nothing up.

A pipe that nobody empties is full after some hundred lines, a disk may stand still, and whoever
writes into either stands still too. The trader must not: its lines wait in a queue with an end, and
what does not fit is counted.
"""

import contextlib
import json
import logging
import os
import queue
import threading
from abc import abstractmethod
from pathlib import Path
from typing import Final, TextIO

LINES_MAX: Final = 10_000
"""Lines that may wait; a minute of a very talkative bot."""

CLOSE_S: Final = 2.0
"""So long the lines that wait at the end have to be written."""


class _Writer(logging.Handler):
    """A handler whose `emit` never waits. dropped: lines that did not fit, in all."""

    def __init__(self, lines_max: int = LINES_MAX) -> None:
        super().__init__()
        self._lines: queue.Queue[str | None] = queue.Queue(lines_max)
        self.dropped = 0
        self._told = 0
        self._thread = threading.Thread(target=self._write_all, name="log", daemon=True)
        self._thread.start()

    def emit(self, record: logging.LogRecord) -> None:
        """Have a record written, in its turn."""
        try:
            self._lines.put_nowait(self.format(record) + "\n")
        except queue.Full:
            self.dropped += 1
        except Exception:  # noqa: BLE001 - as every handler: what cannot be formatted is told of
            self.handleError(record)

    def close(self) -> None:
        """Write what waits, within `CLOSE_S`, and end."""
        try:
            self._lines.put(None, timeout=CLOSE_S)
        except queue.Full:
            pass
        else:
            self._thread.join(CLOSE_S)
        super().close()

    def _write_all(self) -> None:
        while (line := self._lines.get()) is not None:
            if self.dropped != self._told:
                count, self._told = self.dropped - self._told, self.dropped
                lost = {"count": count, "event": "log_lines_dropped", "level": "warning"}
                self._write(json.dumps(lost) + "\n")
            self._write(line)

    def _write(self, text: str) -> None:
        with contextlib.suppress(OSError, ValueError):  # nobody is there to read it, or to keep it
            self._put(text.encode("utf-8", "backslashreplace"))

    @abstractmethod
    def _put(self, line: bytes) -> None:
        """Write a line, in the thread. Raises OSError and ValueError."""


def _write_all(handle: int, line: bytes) -> None:
    """Past Python's own buffer: its lock, held by a write that never ends, would not let the
    process end either."""
    rest = memoryview(line)
    while rest:
        rest = rest[os.write(handle, rest) :]


class LineWriter(_Writer):
    """One over a stream."""

    def __init__(self, stream: TextIO, lines_max: int = LINES_MAX) -> None:
        self._stream = stream
        super().__init__(lines_max)

    def _put(self, line: bytes) -> None:
        _write_all(self._stream.fileno(), line)


class FileWriter(_Writer):
    """One into a file. When that is full it is put aside as `<file>.1`, the one before as `.2`, and
    so on; `kept` of them stay."""

    def __init__(self, file: Path, bytes_max: int, kept: int, lines_max: int = LINES_MAX) -> None:
        """Raises OSError where the file cannot be opened, or made with mode 0600."""
        self._path = file
        self._bytes_max = bytes_max
        self._kept = kept
        self._handle = self._opened()
        self._size = os.fstat(self._handle).st_size
        super().__init__(lines_max)

    def _opened(self) -> int:
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
        return os.open(self._path, flags, 0o600)

    def _put(self, line: bytes) -> None:
        if self._size and self._size + len(line) > self._bytes_max:
            self._size = 0  # where no other can be begun it goes on in this one
            with contextlib.suppress(OSError):
                self._put_aside()
        _write_all(self._handle, line)
        self._size += len(line)

    def _put_aside(self) -> None:
        for number in range(self._kept - 1, -1, -1):
            with contextlib.suppress(FileNotFoundError):
                self._aside(number).replace(self._aside(number + 1))
        full, self._handle = self._handle, self._opened()
        os.close(full)

    def close(self) -> None:
        """Write what waits, within `CLOSE_S`, and end; the file is let go of where all was."""
        super().close()
        if self._handle >= 0 and not self._thread.is_alive():
            os.close(self._handle)
            self._handle = -1

    def _aside(self, number: int) -> Path:
        """Where the file stands that was full so many times ago; 0 is the one that is written."""
        return self._path.with_name(f"{self._path.name}.{number}") if number else self._path
