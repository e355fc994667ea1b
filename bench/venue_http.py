"""Durable writes over HTTP: one server process, every create on disk before its reply.

64 keep-alive connections send creates as fast as they are answered, over forty keys so that no
token bucket is in the way; then 2,000 a second for the latencies. Anchor in the same run: the same
server, protocol and settings with a handler that reads the body and answers the same length, and
does nothing. Rates are replies per CPU second of the server process, for the load shares the
machine; the wall time is printed too.
"""

import asyncio
import contextlib
import json
import multiprocessing
import socket
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Final

import httpx
import uvloop

from bench.load import Result, send_load

_CONNECTIONS: Final = 64
_USERS: Final = 4
_KEYS_EACH: Final = 10
_WHOLE: Final = 20_000
_QUICK: Final = 4_000
_ROUNDS: Final = 3
_RATE: Final = 2_000
_BODY_BYTES: Final = 420
"""About what the reply to a create weighs."""

_CONFIG: Final = """\
fees: {{maker_rate: 0.0100, taker_rate: 0.0175}}
companies:
  - name: Acme Robotics
    symbol: ACME
    series:
      - ticker: ACME-VAL
        category: valuation
        events:
          - quarter: 0
            title: Acme Robotics, {{quarter}}
            strike_unit: USD billions
            rungs: [{rungs}]
users: [{users}]
"""


def _config() -> str:
    rungs = ", ".join(f"{{label: {n}B, strike_value: {n}}}" for n in range(100, 109))
    users = []
    for user in range(_USERS):
        keys = ", ".join(
            f"{{name: key-{user}-{n}, scopes: [read, trade], generate: true}}"
            for n in range(_KEYS_EACH)
        )
        users.append(f"{{name: user-{user}, deposit_cents: 100000000000, keys: [{keys}]}}")
    return _CONFIG.format(rungs=rungs, users=", ".join(users))


@contextlib.contextmanager
def _venue(folder: Path) -> Iterator[tuple[int, int, list[str], list[str]]]:
    config = folder / "venue.yaml"
    config.write_text(_config(), encoding="utf-8")
    command = [sys.executable, "-m", "venue", "serve", "--config", str(config), "--port", "0"]
    command += ["--keys-file", str(folder / "keys.json"), "--state", str(folder / "state")]
    command += ["--no-crowd", "--json", "--exit-with-stdin"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            ready: dict[str, Any] = json.loads(process.stdout.readline())
            keys = list(json.loads((folder / "keys.json").read_text(encoding="utf-8")).values())
            listed = httpx.get(
                f"{ready['base_url']}/markets", headers={"X-API-KEY": keys[0]}, trust_env=False
            ).json()["markets"]
            port = int(ready["base_url"].split(":")[2].split("/")[0])
            yield process.pid, port, keys, [market["ticker"] for market in listed]
        finally:
            process.stdin.close()


def _create(keys: list[str], tickers: list[str], salt: str, place: int, number: int) -> bytes:
    fields = {
        "ticker": tickers[number % len(tickers)],
        "outcome": "yes" if number % 2 else "no",
        "side": "buy",
        "price": 20 + number % 25,
        "qty": 1 + number % 50,
        "client_order_id": f"{salt}-{number}",
    }
    body = json.dumps(fields).encode()
    head = (
        "POST /v1/orders HTTP/1.1\r\nhost: 127.0.0.1\r\n"
        f"x-api-key: {keys[place % len(keys)]}\r\ncontent-length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


def _serve_nothing(parent: Connection) -> None:
    """The anchor: the same server around a handler that does nothing."""
    from venue.listen import make_server

    answer = b"0" * _BODY_BYTES
    headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % _BODY_BYTES)]

    async def app(scope: Any, receive: Any, send: Any) -> None:
        more = True
        while more:
            more = (await receive()).get("more_body", False)
        await send({"type": "http.response.start", "status": 201, "headers": headers})
        await send({"type": "http.response.body", "body": answer})

    listener = socket.create_server(("127.0.0.1", 0))
    parent.send(listener.getsockname()[1])
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(make_server(app, 1).serve([listener]))


@contextlib.contextmanager
def _anchor() -> Iterator[tuple[int, int]]:
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_serve_nothing, args=(theirs,), daemon=True)
    process.start()
    try:
        port = ours.recv()
        assert process.pid is not None
        yield process.pid, port
    finally:
        process.kill()
        process.join()


def _load(
    server: tuple[int, int],
    total: int,
    keys: list[str],
    tickers: list[str],
    salt: str,
    per_second: int = 0,
) -> Result:
    pid, port = server

    def request(place: int, number: int) -> bytes:
        return _create(keys, tickers, salt, place, number)

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(send_load(port, pid, _CONNECTIONS, total, request, per_second))


def run(quick: bool) -> list[tuple[str, str]]:
    total = _QUICK if quick else _WHOLE
    with tempfile.TemporaryDirectory() as scratch, _venue(Path(scratch)) as venue:
        pid, port, keys, tickers = venue
        with _anchor() as idle_server:
            ours, idle = [], []
            for turn in range(_ROUNDS):
                ours.append(_load((pid, port), total, keys, tickers, f"round-{turn}"))
                idle.append(_load(idle_server, total, keys, tickers, "idle"))
        paced = _load((pid, port), _RATE * (2 if quick else 5), keys, tickers, "paced", _RATE)
    for result in (*ours, paced):
        assert set(result.statuses) == {201}, result.statuses
    rate = statistics.median(result.count / result.cpu_s for result in ours)
    wall = statistics.median(result.count / result.wall_s for result in ours)
    anchor = statistics.median(result.count / result.cpu_s for result in idle)
    anchor_wall = statistics.median(result.count / result.wall_s for result in idle)
    return [
        ("http: durable creates", f"{rate:,.0f} per CPU second, {wall:,.0f}/s by the wall"),
        (
            "http: handler that does nothing (anchor)",
            f"{anchor:,.0f} per CPU second, {anchor_wall:,.0f}/s by the wall; "
            f"ours is {rate / anchor:.0%} of it",
        ),
        (
            f"http: latency at {_RATE:,}/s",
            f"p50 {paced.latency_ms(0.5):.1f} ms, p99 {paced.latency_ms(0.99):.1f} ms "
            f"over {paced.count:,}, {paced.cpu_s / paced.wall_s:.0%} of a core",
        ),
    ]
