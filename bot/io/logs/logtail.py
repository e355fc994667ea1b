"""The newest log lines, kept in memory for the status page: what was written, secrets masked."""

import logging
from collections import deque
from collections.abc import Iterable
from typing import Any, Final

import msgspec

LINES_MAX: Final = 200
ALERTS_MAX: Final = 50
"""Warnings and errors are kept apart, so that a busy log does not push them out."""

_TEXT_MAX: Final = 600
_NOT_TEXT: Final = frozenset({"timestamp", "level", "event", "exception"})
_CALM: Final = ("debug", "info")


class LogLine(msgspec.Struct, frozen=True):
    """One line. number: counts the lines of this process. at: the instant as text."""

    number: int
    at: str
    level: str
    name: str
    text: str


class LogTail(logging.Handler):
    """Give it the formatter of the log: it keeps what that writes, as JSON objects."""

    def __init__(self) -> None:
        super().__init__()
        self._count = 0
        self._lines: deque[LogLine] = deque(maxlen=LINES_MAX)
        self._alerts: deque[LogLine] = deque(maxlen=ALERTS_MAX)

    def emit(self, record: logging.LogRecord) -> None:
        """Keep a line; one that is no JSON object is kept as its text."""
        written = self.format(record)
        try:
            entry = msgspec.json.decode(written, type=dict[str, Any])
        except msgspec.DecodeError:
            entry = {"level": record.levelname.lower(), "event": written}
        self._count += 1
        line = LogLine(
            self._count,
            str(entry.get("timestamp", "")),
            str(entry.get("level", "error")),
            str(entry.get("event", ""))[:_TEXT_MAX],
            _text(entry)[:_TEXT_MAX],
        )
        self._lines.append(line)
        if line.level not in _CALM:
            self._alerts.append(line)

    def since(self, number: int) -> list[LogLine]:
        """The lines kept that came after the one with this number, oldest first."""
        return self._after(number, self._lines)

    def alerts_since(self, number: int) -> list[LogLine]:
        """The warnings and errors among them, which are kept for longer."""
        return self._after(number, self._alerts)

    def _after(self, number: int, lines: Iterable[LogLine]) -> list[LogLine]:
        # Other threads log too, and a deque must not change while it is read.
        self.acquire()
        try:
            return [line for line in lines if line.number > number]
        finally:
            self.release()


def _text(entry: dict[str, Any]) -> str:
    words = [f"{key}={value}" for key, value in entry.items() if key not in _NOT_TEXT]
    trace = str(entry.get("exception", "")).rstrip()
    if trace:
        words.append(trace.rpartition("\n")[2])
    return " ".join(words)
