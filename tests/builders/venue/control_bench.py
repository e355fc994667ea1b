"""A small venue served for real: its REST interface and its control interface, in a thread."""

import asyncio
import contextlib
import hashlib
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import uvloop

from tests.builders.venue.small_venue import ANNA, OPENING
from venue.admin.app import make_control
from venue.admin.listener import control_listener
from venue.engine.messages import AddKey
from venue.listen import make_server
from venue.rest.app import make_app
from venue.server import VenueServer
from venue.wire.routes import KeyScope

TICKER = "LINDEN-26Q4-1B"
TOKEN = "a-token-of-the-tests"
KEY = "anna-raw-key-of-the-tests"
START_S = 10
DRAIN_S = 1


class Served:
    """A venue in its thread. `control` and `rest` are clients of its two interfaces."""

    def __init__(self, address: str) -> None:
        self.listener = control_listener(address)
        self.rest_listener = socket.create_server(("127.0.0.1", 0))
        self.rest_listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.rest_port: int = self.rest_listener.getsockname()[1]
        name = self.listener.getsockname()
        self.address = f"unix:{name}" if isinstance(name, str) else f"127.0.0.1:{name[1]}"
        self._up = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self.venue: VenueServer

    def start(self) -> None:
        """Return once both interfaces answer."""
        self._thread.start()
        assert self._up.wait(START_S)

    def stop(self) -> None:
        """End the thread."""
        self.loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(START_S)
        assert not self._thread.is_alive()

    def client(self, token: str | None = TOKEN, **headers: str) -> httpx.Client:
        """A client of the control interface."""
        if token is not None:
            headers["Authorization"] = f"Bearer {token}"
        if self.address.startswith("unix:"):
            path = self.address.removeprefix("unix:")
            transport = httpx.HTTPTransport(uds=path, verify=False)
            return httpx.Client(transport=transport, base_url="http://venue", headers=headers)
        return plain_client(f"http://{self.address}", headers)

    def rest(self, key: str = KEY) -> httpx.Client:
        """A client of the REST interface."""
        return plain_client(f"http://127.0.0.1:{self.rest_port}/v1", {"X-API-KEY": key})

    def _run(self) -> None:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(self._serve())

    async def _serve(self) -> None:
        self.loop = asyncio.get_running_loop()
        self._stop = asyncio.Event()
        self.venue = VenueServer(0, 5)
        sha256_hex = hashlib.sha256(KEY.encode()).hexdigest()
        both = (KeyScope.READ, KeyScope.TRADE)
        self.venue.open_with([*OPENING, AddKey(sha256_hex, KEY[:6], ANNA, both)])
        control: Any = make_control(self.venue, hashlib.sha256(TOKEN.encode()).digest())
        apps = [(control, self.listener), (make_app(self.venue), self.rest_listener)]
        servers = [make_server(app, DRAIN_S) for app, _ in apps]
        async with asyncio.TaskGroup() as tasks:
            running = tasks.create_task(self.venue.run())
            serving = [
                tasks.create_task(server.serve([listener]))
                for server, (_, listener) in zip(servers, apps, strict=True)
            ]
            for server in servers:
                await server.listening.wait()
            self._up.set()
            await self._stop.wait()
            for server in servers:
                server.should_exit = True
            await asyncio.gather(*serving)
            running.cancel()


@contextlib.contextmanager
def served(address: str = "127.0.0.1:0") -> Iterator[Served]:
    """A venue with anna's money in it, for one test."""
    made = Served(address)
    made.start()
    try:
        yield made
    finally:
        made.stop()


def plain_client(url: str, headers: dict[str, str]) -> httpx.Client:
    """A client that does not load certificates, which takes longer than any claim here."""
    return httpx.Client(base_url=url, headers=headers, trust_env=False, verify=False)


def ask(client: httpx.Client, method: str, path: str, body: Any = None) -> httpx.Response:
    """One request under /control/v1."""
    return client.request(method, f"/control/v1/{path}", json=body)


def done(client: httpx.Client, method: str, path: str, body: Any = None) -> Any:
    """The body of a reply that must be a success."""
    reply = ask(client, method, path, body)
    assert reply.status_code == 200, reply.text
    return reply.json()


def refused(client: httpx.Client, method: str, path: str, body: Any = None) -> tuple[int, str, str]:
    """Status, code and text of a reply that must be a whole failure."""
    reply = ask(client, method, path, body)
    said = reply.json()
    assert set(said) <= {"code", "error", "details"}
    assert reply.headers["content-type"] == "application/json"
    return reply.status_code, said["code"], said["error"]


def event(company: str, series: str, **more: Any) -> dict[str, Any]:
    """The body of a new event of 26Q4."""
    return {
        "company": company, "series_ticker": series, "quarter": "26Q4", "title": "What it is worth",
        "category": "valuation", **more,
    }  # fmt: skip


def market(event_ticker: str, label: str, **more: Any) -> dict[str, Any]:
    """The body of a new market."""
    rates = {"maker_fee_rate": "0.01", "taker_fee_rate": "0.0175"}
    return {"event_ticker": event_ticker, "label": label, **rates, **more}


def socket_path(folder: Path) -> str:
    """A unix address in a folder."""
    return f"unix:{folder / 'control.sock'}"
