"""Writes log lines in a thread of its own: a reader that is slow, or that stops, holds nothing up.

A pipe that nobody empties is full after some hundred lines, and whoever writes into it stands
still. The trader must not: its lines wait in a queue with an end, and what does not fit is counted.

Source: design, law 6; reliability, row 9, B13.
"""

import json
import logging
import os
import queue
import threading
from typing import Final, TextIO

LINES_MAX: Final = 10_000
"""Lines that may wait; a minute of a very talkative bot."""

CLOSE_S: Final = 2.0
"""So long the lines that wait at the end have to be written."""


class LineWriter(logging.Handler):
    """A handler over a stream whose `emit` never waits. dropped: lines that did not fit, in all."""

    def __init__(self, stream: TextIO, lines_max: int = LINES_MAX) -> None:
        super().__init__()
        self._stream = stream
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
        try:
            # Past Python's own buffer: its lock, held by a write that never ends, would not let
            # the process end either.
            rest = memoryview(text.encode("utf-8", "backslashreplace"))
            while rest:
                rest = rest[os.write(self._stream.fileno(), rest) :]
        except (OSError, ValueError):
            pass  # nobody is there to read it
