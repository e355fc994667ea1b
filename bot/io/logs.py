"""Logs of the bot's process: secrets masked, no control characters. One JSON object a line for
programs, or a line in human units for a person at a terminal.

A thread writes the lines, so that a full pipe or a slow disk does not hold up the trader: they wait
in a bounded queue, and overflow is counted. The newest are kept for the status page."""

import contextlib
import json
import logging
import os
import queue
import re
import sys
import threading
from abc import abstractmethod
from collections import deque
from collections.abc import Iterable, Mapping, MutableMapping
from enum import StrEnum
from pathlib import Path
from typing import Any, Final, TextIO

import msgspec
import structlog

from bot.io.client.answers import plain
from bot.io.secret import MASK, Secret
from bot.io.state.atomic_file import write_all
from venue.wire.instant import NS_PER_MS, NS_PER_SECOND, from_ns
from venue.wire.money import dollars

TAIL_MAX: Final = 200
ALERTS_MAX: Final = 50
"""Warnings and errors are kept apart, so that a busy log does not push them out."""

_TEXT_MAX: Final = 600
_NOT_TEXT: Final = frozenset({"timestamp", "level", "event", "exception"})
_CALM: Final = ("debug", "info")


class LogForm(StrEnum):
    """How lines are written. AUTO: TEXT to a terminal, JSON to anything else."""

    AUTO = "auto"
    JSON = "json"
    TEXT = "text"


class LogLine(msgspec.Struct, frozen=True):
    """number: counts the lines of this process. at: the instant as text."""

    number: int
    at: str
    level: str
    name: str
    text: str


class LogTail(logging.Handler):
    """Keeps the newest lines for the status page. It needs the formatter of the log."""

    def __init__(self) -> None:
        super().__init__()
        self._count = 0
        self._lines: deque[LogLine] = deque(maxlen=TAIL_MAX)
        self._alerts: deque[LogLine] = deque(maxlen=ALERTS_MAX)

    def emit(self, record: logging.LogRecord) -> None:
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


# --- lines for people -----------------------------------------------------------------------------

_WALL_NS_MIN: Final = 10**17
"""Nanoseconds from here on are an instant since 1970, not a duration."""

_INSTANT: Final = re.compile(r"(\d{4}-\d\d-\d\d)T(\d\d:\d\d:\d\d)(?:\.\d+)?Z", re.ASCII)
_UNITS: Final = {"_ns": 1, "_us": 1_000, "_ms": NS_PER_MS, "_s": NS_PER_SECOND}
_UNITS_OF_TIME: Final = {**_UNITS, "_seconds": NS_PER_SECOND}


def text_line(entry: Mapping[str, Any]) -> str:
    """A line for a person: clock time in UTC, level, name, fields in dollars and seconds."""
    at = str(entry.get("timestamp", ""))
    day, _, clock = at.partition("T")
    fields = [
        _field(name, value, day)
        for name, value in entry.items()
        if name not in _NOT_TEXT and value not in (None, "")
    ]
    name = plain(str(entry.get("event", "")), None)
    head = f"{clock[:12]}Z {entry.get('level', ''):<7} {name}"
    lines = [" ".join((head, *fields))]
    lines += [plain(line, None) for line in str(entry.get("exception", "")).splitlines()]
    return "\n".join(lines)


def _field(name: str, value: object, day: str) -> str:
    """A field with the unit of its name in its value. day: of the line, not repeated in a time."""
    if isinstance(value, bool):
        return f"{name}={'yes' if value else 'no'}"
    if isinstance(value, int | float):
        for unit, ns in _UNITS_OF_TIME.items():
            if name.endswith(unit):
                return f"{name.removesuffix(unit)}={time_text(round(value * ns))}"
        if name.endswith("_cents"):
            return f"{name.removesuffix('_cents')}={dollars(round(value))}"
    text = _INSTANT.sub(
        lambda found: f"{found[2]}Z" if found[1] == day else found[0], plain(str(value), None)
    )
    return f"{name}={text}"


def time_text(ns: int) -> str:
    """A duration such as 350 ms, 2.5 s, 3 min 5 s; of an instant since 1970 its clock time."""
    if ns >= _WALL_NS_MIN:
        return f"{from_ns(ns).partition('T')[2][:12]}Z"
    if abs(ns) < NS_PER_SECOND:
        return f"{ns / NS_PER_MS:.3g} ms"
    if abs(ns) < 60 * NS_PER_SECOND:
        return f"{ns / NS_PER_SECOND:.3g} s"
    minutes, seconds = divmod(round(ns / NS_PER_SECOND), 60)
    if minutes < 60:
        return f"{minutes} min {seconds} s"
    return f"{minutes // 60} h {minutes % 60} min"


# --- writing --------------------------------------------------------------------------------------

LINES_MAX: Final = 10_000
"""Lines that may wait; a minute of a very talkative bot."""

CLOSE_S: Final = 2.0
"""Timeout for the lines that wait at the end."""


class _Writer(logging.Handler):
    """A handler whose `emit` never waits. dropped: lines that did not fit, in all. form: of the
    line that reports them."""

    def __init__(self, lines_max: int = LINES_MAX, form: LogForm = LogForm.JSON) -> None:
        super().__init__()
        self._form = form
        self._lines: queue.Queue[str | None] = queue.Queue(lines_max)
        self.dropped = 0
        self._told = 0
        self._thread = threading.Thread(target=self._write_all, name="log", daemon=True)
        self._thread.start()

    def emit(self, record: logging.LogRecord) -> None:
        try:
            self._lines.put_nowait(self.format(record) + "\n")
        except queue.Full:
            self.dropped += 1
        except Exception:  # noqa: BLE001 - as every handler: a line that cannot be formatted is reported
            self.handleError(record)

    def close(self) -> None:
        """Write the waiting lines, within `CLOSE_S`, and end."""
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
                text = text_line(lost) if self._form is LogForm.TEXT else json.dumps(lost)
                self._write_line(text + "\n")
            self._write_line(line)

    def _write_line(self, text: str) -> None:
        with contextlib.suppress(OSError, ValueError):  # nobody is there to read it, or to keep it
            self._put(text.encode("utf-8", "backslashreplace"))

    @abstractmethod
    def _put(self, line: bytes) -> None:
        """Write a line, in the thread. Raises OSError and ValueError."""


class LineWriter(_Writer):
    def __init__(
        self, stream: TextIO, lines_max: int = LINES_MAX, form: LogForm = LogForm.JSON
    ) -> None:
        self._stream = stream
        super().__init__(lines_max, form)

    def _put(self, line: bytes) -> None:
        # Past Python's buffer: a write that hangs would hold its lock, and the process not end.
        write_all(self._stream.fileno(), line)


class FileWriter(_Writer):
    """A full file becomes `<file>.1`, that one `.2`, and so on; `kept` of them stay."""

    def __init__(
        self,
        file: Path,
        bytes_max: int,
        kept: int,
        lines_max: int = LINES_MAX,
        form: LogForm = LogForm.JSON,
    ) -> None:
        """Raises OSError where the file cannot be opened, or made with mode 0600."""
        self._path = file
        self._bytes_max = bytes_max
        self._kept = kept
        self._handle = self._opened()
        self._size = os.fstat(self._handle).st_size
        super().__init__(lines_max, form)

    def _opened(self) -> int:
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
        return os.open(self._path, flags, 0o600)

    def _put(self, line: bytes) -> None:
        if self._size and self._size + len(line) > self._bytes_max:
            self._size = 0  # where no other can be begun it goes on in this one
            with contextlib.suppress(OSError):
                self._put_aside()
        write_all(self._handle, line)
        self._size += len(line)

    def _put_aside(self) -> None:
        for number in range(self._kept - 1, -1, -1):
            with contextlib.suppress(FileNotFoundError):
                self._aside(number).replace(self._aside(number + 1))
        full, self._handle = self._handle, self._opened()
        os.close(full)

    def close(self) -> None:
        super().close()
        if self._handle >= 0 and not self._thread.is_alive():
            os.close(self._handle)
            self._handle = -1

    def _aside(self, number: int) -> Path:
        """The path of the file that was full so many times ago; 0 is the present one."""
        return self._path.with_name(f"{self._path.name}.{number}") if number else self._path


_SECRET_NAMES: Final = frozenset(
    {"key", "api_key", "token", "secret", "authorization", "x_api_key", "password"}
)
_FILE_BYTES: Final = 10 * 1024 * 1024
_FILES: Final = 3
_FIELD_MAX: Final = 2_000
"""Characters of a field: as many as the trader keeps of a refused configuration."""
_OWN_FIELDS: Final = {
    "event": "event_ticker",
    "level": "level_",
    "timestamp": "timestamp_",
    "exc_info": "exc_info_",
}
"""Fields that a log line has anyway, and what a note's field of that name is called in it."""
_LEVELS: Final = {
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "warning": logging.WARNING,
    "error": logging.ERROR,
}


class SecretRedactor:
    def __init__(self) -> None:
        self._secrets: list[Secret] = []

    def learn(self, secret: Secret) -> None:
        self._secrets.append(secret)

    def __call__(
        self, _logger: object, _method: str, entry: MutableMapping[str, Any]
    ) -> MutableMapping[str, Any]:
        for name, value in entry.items():
            if name.lower().replace("-", "_") in _SECRET_NAMES:
                entry[name] = MASK
            elif not isinstance(value, int | float | bool | None):
                entry[name] = self.masked(str(value))
        return entry

    def masked(self, text: str) -> str:
        for secret in self._secrets:
            text = text.replace(secret.reveal(), MASK)
        return text


def configure_logs(
    masker: SecretRedactor,
    file: Path | None = None,
    stream: TextIO | None = None,
    tail: LogTail | None = None,
    form: LogForm = LogForm.AUTO,
) -> None:
    """Log to `stream`, else to `file`, rotated, else to stderr; and to `tail`. form: of the lines.

    Raises OSError where the file cannot be opened.
    """
    if form is LogForm.AUTO:
        target = stream or (sys.stderr if file is None else None)
        form = LogForm.TEXT if target is not None and target.isatty() else LogForm.JSON
    handler: logging.Handler
    if stream is not None:
        handler = logging.StreamHandler(stream)
    elif file is None:
        handler = LineWriter(sys.stderr, form=form)
    else:
        handler = FileWriter(file, _FILE_BYTES, _FILES, form=form)
    shared: list[structlog.typing.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    handler.setFormatter(_formatter(masker, shared, form))
    logging.captureWarnings(True)
    root = logging.getLogger()
    for old in root.handlers:
        old.close()
    root.handlers = [handler]
    if tail is not None:
        tail.setFormatter(_formatter(masker, shared, LogForm.JSON))
        root.handlers.append(tail)
    root.setLevel(logging.WARNING)
    logging.getLogger("bot").setLevel(logging.INFO)
    # At their most talkative these write headers and frames.
    for noisy in ("httpx", "httpcore", "websockets", "uvicorn", "asyncio"):
        logging.getLogger(noisy).setLevel(logging.WARNING)
    structlog.configure(
        processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=False,
    )


def _formatter(
    masker: SecretRedactor, shared: list[structlog.typing.Processor], form: LogForm
) -> logging.Formatter:
    # A traceback becomes text before masking, so nothing passes the mask by.
    render: structlog.typing.Processor = structlog.processors.JSONRenderer()
    if form is LogForm.TEXT:
        render = lambda _logger, _method, entry: text_line(entry)  # noqa: E731
    return structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=shared,
        processors=[
            structlog.stdlib.ProcessorFormatter.remove_processors_meta,
            structlog.processors.format_exc_info,
            masker,
            render,
        ],
    )


def log_note(level: str, name: str, fields: dict[str, str | int]) -> None:
    """Log a note of the trader; an unknown level counts as an error."""
    shown = {
        _OWN_FIELDS.get(key, key): plain(value, _FIELD_MAX) if isinstance(value, str) else value
        for key, value in fields.items()
    }
    structlog.stdlib.get_logger("bot").log(_LEVELS.get(level, logging.ERROR), name, **shown)
