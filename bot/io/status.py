"""The status page: one page for a person, JSON, metrics and health, on loopback unless told else.

Raw ASGI: four fixed paths, GET only, nothing read from the caller but the path and the Host, which
must be one of ours (a page elsewhere could otherwise point its own name at this address).

Source: design, The bot, item 10; reliability, row 106.
"""

import asyncio
import contextlib
import socket
from collections.abc import Awaitable, Callable, Iterator, MutableMapping
from importlib import resources
from typing import Any, Final

import msgspec
import uvicorn

from bot.io.faults import ShellFault
from bot.io.metrics import CONTENT_TYPE, Metrics
from bot.io.snapshot import Snapshot

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Message, Receive, Send], Awaitable[None]]

BEAT_HEADER: Final = "x-laddermaker-beat"
"""When the trader last decided, on its own clock: a number that changes as long as it lives."""

_LOOPBACK_HOSTS: Final = ("localhost", "127.0.0.1", "[::1]")
_CONNECTIONS_MAX: Final = 64
_POLICY: Final = (
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_HEADERS: Final = (
    (b"cache-control", b"no-store"),
    (b"content-security-policy", _POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
)


class StatusFault(ShellFault):
    """The status page cannot listen; the text says what to do."""


def make_app(
    look: Callable[[], Snapshot | None], metrics: Metrics, allowed_hosts: tuple[str, ...]
) -> App:
    """The ASGI application. look: the newest picture, None before the run has begun."""
    page = (resources.files("bot.io") / "page.html").read_bytes()
    hosts = frozenset(host.lower() for host in (*_LOOPBACK_HOSTS, *allowed_hosts))

    def answer(path: str) -> tuple[int, str, bytes]:
        if path == "/":
            return 200, "text/html; charset=utf-8", page
        if path == "/metrics":
            return 200, CONTENT_TYPE, metrics.text()
        snapshot = look()
        if path == "/status.json":
            return 200, "application/json", _status_json(snapshot)
        if path == "/healthz":
            why = "starting" if snapshot is None else snapshot.unhealthy()
            return 503 if why else 200, "text/plain; charset=utf-8", (why or "ok").encode() + b"\n"
        return 404, "text/plain; charset=utf-8", b"no such page\n"

    async def app(scope: Message, _receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        if _host(scope) not in hosts:
            status, kind, body = 421, "text/plain; charset=utf-8", b"not a name of this host\n"
        elif scope["method"] not in ("GET", "HEAD"):
            status, kind, body = 405, "text/plain; charset=utf-8", b"GET only\n"
        else:
            status, kind, body = answer(scope["path"])
        headers = [(b"content-type", kind.encode()), (b"content-length", b"%d" % len(body))]
        if (snapshot := look()) is not None:
            headers.append((BEAT_HEADER.encode(), b"%d" % snapshot.decided_ns))
        await send(
            {"type": "http.response.start", "status": status, "headers": [*headers, *_HEADERS]}
        )
        await send({"type": "http.response.body", "body": body})

    return app


def _host(scope: Message) -> str:
    """The Host header without its port, lower case; "" when there is none or more than one."""
    found = [value for name, value in scope["headers"] if name == b"host"]
    if len(found) != 1:
        return ""
    text = str(found[0].decode("latin-1")).lower()
    return text if text.endswith("]") else text.rpartition(":")[0] or text


def _status_json(snapshot: Snapshot | None) -> bytes:
    if snapshot is None:
        return b'{"age_ms":null,"unhealthy":"starting","report":null}'
    return msgspec.json.encode(
        {
            "age_ms": snapshot.age_ms,
            "unhealthy": snapshot.unhealthy(),
            "report": snapshot.report,
        }
    )


def listen(host: str, port: int) -> socket.socket:
    """A listening socket for the page. Raises StatusFault when the address cannot be had."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        # From here on a browser waits instead of being turned away while the bot starts.
        listener.listen()
    except OSError as fault:
        listener.close()
        raise StatusFault(
            f"status page: {host}:{port} cannot be bound: {fault.strerror}; "
            "try --status-port 0 or another port"
        ) from None
    return listener


def address(listener: socket.socket) -> str:
    """Where a browser on this machine finds the page."""
    host, port = listener.getsockname()[:2]
    if host in ("0.0.0.0", "::"):  # noqa: S104 - compared, not bound
        host = "localhost"
    return f"http://[{host}]:{port}/" if ":" in host else f"http://{host}:{port}/"


class _Server(uvicorn.Server):
    """Uvicorn that leaves the signals to the process."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Capture nothing: the runner owns the signals."""
        yield


async def serve(app: App, listener: socket.socket) -> None:
    """Serve until cancelled."""
    config = uvicorn.Config(
        app,
        loop="none",
        http="httptools",
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        limit_concurrency=_CONNECTIONS_MAX,
        timeout_graceful_shutdown=1,
    )
    server = _Server(config)
    serving = asyncio.ensure_future(server.serve([listener]))
    try:
        await asyncio.shield(serving)
    except asyncio.CancelledError:
        # A cancelled server would leave its sockets open.
        server.should_exit = True
        await serving
        raise
