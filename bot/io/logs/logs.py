"""Logging of the bot's process: structlog, one JSON object a line, no secrets, no control signs.

Lines go to stderr, or to a bounded file in the state directory while a live table has the terminal.
Third-party loggers of the standard library go the same way. Nothing below a warning of theirs is
kept, and whatever is written passes the mask: fields named like a secret, and the key itself
wherever it may stand in a text.
"""

import logging
import sys
from collections.abc import MutableMapping
from pathlib import Path
from typing import Any, Final, TextIO

import structlog

from bot.io.client.answers import plain
from bot.io.logs.logtail import LogTail
from bot.io.logs.logwriter import FileWriter, LineWriter
from bot.io.secret import MASK, Secret

_SECRET_NAMES: Final = frozenset(
    {"key", "api_key", "token", "secret", "authorization", "x_api_key", "password"}
)
_FILE_BYTES: Final = 10 * 1024 * 1024
_FILES: Final = 3
_FIELD_MAX: Final = 2_000
"""Signs of a text of a note: as many as the trader keeps of what is wrong with a configuration."""
_OWN_FIELDS: Final = frozenset({"event", "level", "timestamp", "exc_info"})
_LEVELS: Final = {
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "warning": logging.WARNING,
    "error": logging.ERROR,
}


class SecretRedactor:
    """A processor that takes secrets out of an entry; `learn` it every key that is used."""

    def __init__(self) -> None:
        self._secrets: list[Secret] = []

    def learn(self, secret: Secret) -> None:
        """Mask this text from here on."""
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
        """The text without any known secret."""
        for secret in self._secrets:
            text = text.replace(secret.reveal(), MASK)
        return text


def configure_logs(
    masker: SecretRedactor,
    file: Path | None = None,
    stream: TextIO | None = None,
    tail: LogTail | None = None,
) -> None:
    """Send every log line to `stream`, else to `file`, rotated, else to stderr, and to `tail`.
    Nobody waits for the disk, or for whoever reads stderr. Raises OSError where the file cannot be
    opened."""
    handler: logging.Handler
    if stream is not None:
        handler = logging.StreamHandler(stream)
    elif file is None:
        handler = LineWriter(sys.stderr)
    else:
        handler = FileWriter(file, _FILE_BYTES, _FILES)
    shared: list[structlog.typing.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    # A traceback becomes text before masking, so nothing passes the mask by.
    last: list[structlog.typing.Processor] = [
        structlog.processors.format_exc_info,
        masker,
        structlog.processors.JSONRenderer(),
    ]
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *last],
        )
    )
    root = logging.getLogger()
    for old in root.handlers:
        old.close()
    root.handlers = [handler]
    if tail is not None:
        tail.setFormatter(handler.formatter)
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


def log_note(level: str, name: str, fields: dict[str, str | int]) -> None:
    """Write down what the trader noted; an unknown level counts as an error."""
    shown = {
        f"{key}_" if key in _OWN_FIELDS else key: (
            plain(value, _FIELD_MAX) if isinstance(value, str) else value
        )
        for key, value in fields.items()
    }
    structlog.stdlib.get_logger("bot").log(_LEVELS.get(level, logging.ERROR), name, **shown)
