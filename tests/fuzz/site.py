"""A venue process to fuzz: started on loopback without a crowd, with something to trade against."""

import contextlib
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import msgspec

ROOT = Path(__file__).parents[2]
CONFIG = Path(__file__).with_name("venue.yaml")
DEPTH = 1_000_000
TRADED = 10_000
RESTING = 24

Json = dict[str, Any]


class Site(msgspec.Struct, frozen=True, kw_only=True):
    """Where the venue answers, the file of its keys, what it lists, and orders that rest."""

    base_url: str
    stream_url: str
    keys_file: str
    markets: tuple[str, ...]
    market_ids: tuple[str, ...]
    halted: tuple[str, ...]
    project_ids: tuple[str, ...]
    events: tuple[str, ...]
    series: tuple[str, ...]
    orders: tuple[str, ...]

    def keys(self) -> dict[str, str]:
        """Raw keys by name."""
        raw: dict[str, str] = json.loads(Path(self.keys_file).read_text(encoding="utf-8"))
        return raw


@contextlib.contextmanager
def served(folder: Path) -> Iterator[tuple[Site, subprocess.Popen[str]]]:
    """A venue with depth on both sides, prints, fills and positions; ended with its block."""
    log = folder / "venue.log"
    command = [sys.executable, "-m", "venue", "serve", "--config", str(CONFIG), "--port", "0"]
    command += ["--keys-file", str(folder / "keys.json"), "--no-crowd", "--json"]
    with log.open("w", encoding="utf-8") as errors:
        process = subprocess.Popen(
            [*command, "--exit-with-stdin"],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        )
    with process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            assert line, f"the venue did not become ready:\n{log.read_text(encoding='utf-8')}"
            yield _stocked(json.loads(line)), process
        finally:
            process.kill()


def _stocked(ready: dict[str, str]) -> Site:
    keys = json.loads(Path(ready["keys_file"]).read_text(encoding="utf-8"))
    with httpx.Client(base_url=ready["base_url"], trust_env=False, timeout=10) as http:

        def ask(method: str, path: str, key: str, body: object = None) -> Json:
            reply = http.request(method, path, json=body, headers={"X-API-KEY": keys[key]})
            assert reply.status_code in (200, 201), reply.text
            answer: Json = reply.json()
            return answer

        def buy(key: str, ticker: str, outcome: str, price: int, qty: int) -> str:
            body = {"ticker": ticker, "outcome": outcome, "side": "buy", "price": price}
            body |= {"qty": qty, "client_order_id": f"stock {ticker} {outcome} {price} {qty}"}
            order_id: str = ask("POST", "/orders", key, body)["order_id"]
            return order_id

        events = ask("GET", "/events", "maker")["events"]
        markets = [market for event in events for market in event["markets"]]
        resting = []
        for ticker in (market["ticker"] for market in markets if market["state"] == "active"):
            buy("maker", ticker, "yes", 40, DEPTH)
            buy("maker", ticker, "no", 45, DEPTH)
            buy("fuzz-1", ticker, "yes", 55, TRADED)
            buy("fuzz-1", ticker, "no", 60, TRADED)
            resting += [buy("fuzz-1", ticker, "yes", p, TRADED) for p in range(1, RESTING + 1)]
    return Site(
        base_url=ready["base_url"],
        stream_url=ready["stream_url"],
        keys_file=ready["keys_file"],
        markets=tuple(market["ticker"] for market in markets),
        market_ids=tuple(market["market_id"] for market in markets),
        halted=tuple(m["ticker"] for m in markets if m["state"] == "halted"),
        project_ids=tuple({event["project_id"]: None for event in events}),
        events=tuple(event["event_ticker"] for event in events),
        series=tuple({event["series_ticker"]: None for event in events}),
        orders=tuple(resting),
    )
