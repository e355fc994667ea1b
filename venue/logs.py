"""Logging of the venue's process and of its libraries: structlog on stderr, JSON unless it is a
terminal, no secrets."""

import contextlib
import logging
import os
import re
import sys
from collections.abc import MutableMapping
from typing import Any, Final, TextIO, cast

import structlog

_SECRET_NAMES: Final = frozenset({"key", "keys", "token", "secret", "authorization", "x_api_key"})
_GENERATED_KEY: Final = re.compile(r"lm_[A-Za-z0-9_-]{16,}", re.ASCII)
MASK: Final = "[masked]"


class _Stderr:
    """The stream of the log. A line that cannot be written is lost, and nothing else is."""

    def write(self, text: str) -> int:
        rest = memoryview(text.encode("utf-8", "backslashreplace"))
        with contextlib.suppress(OSError, ValueError):
            # Past Python's own buffer: what it could not write would be tried once more at the very
            # end, and give the process another exit code.
            while rest:
                rest = rest[os.write(sys.stderr.fileno(), rest) :]
        return len(text)

    def flush(self) -> None:
        """As of any text stream; nothing waits."""


def masked(
    _logger: object, _method: str, entry: MutableMapping[str, Any]
) -> MutableMapping[str, Any]:
    """A log entry without secrets: fields named like one, and generated keys inside any text."""
    for name, value in entry.items():
        if name.lower().replace("-", "_") in _SECRET_NAMES:
            entry[name] = MASK
        elif isinstance(value, str):
            entry[name] = _GENERATED_KEY.sub(MASK, value)
    return entry


def configure_logs() -> None:
    shared: list[structlog.typing.Processor] = [
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    terminal = sys.stderr.isatty()
    last: list[structlog.typing.Processor] = (
        [masked, structlog.dev.ConsoleRenderer()]
        if terminal
        # A traceback becomes text before masking, so nothing passes the mask by.
        else [structlog.processors.format_exc_info, masked, structlog.processors.JSONRenderer()]
    )
    formatter = structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=shared,
        processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *last],
    )
    handler = logging.StreamHandler(_Stderr())
    handler.setFormatter(formatter)
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(logging.WARNING)
    structlog.configure(
        processors=[*shared, *last],
        logger_factory=structlog.PrintLoggerFactory(cast(TextIO, _Stderr())),
        wrapper_class=structlog.make_filtering_bound_logger(logging.INFO),
        cache_logger_on_first_use=True,
    )
