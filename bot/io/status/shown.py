"""One series of this process as the status page, the metrics and the terminal see and reach it."""

from collections.abc import Callable
from pathlib import Path

import msgspec

from bot.core import messages as m
from bot.io.metrics.metrics import Metrics
from bot.io.status.snapshot import Snapshot


class StatusSource(msgspec.Struct, frozen=True):
    """look: the newest picture, None before the first decision. tell: gives its trader an event.
    state: its state directory, None when it keeps none. plan: what would be sent now, as something
    that JSON can hold; None where that is not told."""

    look: Callable[[], Snapshot | None]
    metrics: Metrics
    last_notes: Callable[[], list[str]]
    tell: Callable[[m.Event], None]
    state: Path | None = None
    plan: Callable[[], object] | None = None
