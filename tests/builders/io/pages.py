"""A status page over pictures that a test makes up, in the process or on a real socket."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import httpx

from bot.core import messages as m
from bot.core.report import Phase, Report
from bot.io.logs import LogTail
from bot.io.metrics.metrics import Metrics
from bot.io.secret import Secret
from bot.io.status.control import Control
from bot.io.status.serving import Streams, address, listen, serve
from bot.io.status.snapshot import Snapshot, StatusSource
from bot.io.status.status import StatusApp
from tests.builders.io.samples import report
from venue.wire.names import Ticker

SERIES = Ticker("X")
TOKEN = "a-token-of-forty-three-characters-or-so-xyz"
SECOND = 10**9
Look = Callable[[], Snapshot | None]


def seen(shown: Report | None = None, phase: Phase = Phase.QUOTING, age_ns: int = 0) -> Snapshot:
    now_ns = 100 * SECOND
    return Snapshot(now_ns, now_ns - age_ns, shown or report(phase, now_ns))


class EventLog:
    def __init__(self) -> None:
        self.events: list[m.Event] = []

    def __call__(self, event: m.Event) -> None:
        self.events.append(event)


def shown_by(
    look: Look, event_log: EventLog | None = None, state: Path | None = None
) -> StatusSource:
    return StatusSource(look, Metrics(lambda: None), list, event_log or EventLog(), state)


def app_of(
    look: Look,
    allowed: tuple[str, ...] = (),
    *,
    event_log: EventLog | None = None,
    state: Path | None = None,
    control: bool = False,
    tail: LogTail | None = None,
    streams: Streams | None = None,
) -> StatusApp:
    """The page of one series, its controls open with TOKEN if wanted."""
    shown = {SERIES: shown_by(look, event_log, state)}
    door = Control(Secret(TOKEN), shown) if control else None
    return StatusApp(shown, allowed, control=door, tail=tail, streams=streams)


def client_of(app: StatusApp) -> httpx.AsyncClient:
    """A client of an app in this process, at http://localhost."""
    return httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost")


@asynccontextmanager
async def served(
    app: StatusApp, stuck_ms: int = 10_000, silent_ms: int = 10_000
) -> AsyncIterator[str]:
    """The app on a socket of loopback; its address."""
    listener = listen("127.0.0.1", 0, stuck_ms)
    serving = asyncio.ensure_future(serve(app, listener, silent_ms))
    try:
        yield address(listener)
    finally:
        serving.cancel()
        await asyncio.wait([serving])
