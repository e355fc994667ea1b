"""A venue with a crowd, ended and started again on its state: it goes on where it was."""

import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from venue.engine.messages import OrderChanged
from venue.storage.recovery import recover
from venue.storage.statedir import StateDir

ROOT = Path(__file__).parents[3]


@contextmanager
def served(folder: Path, how: signal.Signals, config: Path) -> Iterator[dict[str, Any]]:
    command = [sys.executable, "-m", "venue", "serve", "--config", str(config), "--port", "0"]
    command += ["--keys-file", str(folder / "keys.json"), "--state", str(folder / "state")]
    command += ["--control", "127.0.0.1:0", "--control-token-file", str(folder / "token")]
    process = subprocess.Popen([*command, "--json"], cwd=ROOT, stdout=subprocess.PIPE)
    assert process.stdout is not None
    try:
        line = process.stdout.readline()
        assert line, "the venue did not become ready"
        yield json.loads(line)
    finally:
        process.send_signal(how)
        process.wait(10)
        process.stdout.close()


def read(ready: dict[str, Any], key: str, path: str, **query: str) -> Any:
    headers = {"X-API-KEY": key}
    answer = httpx.get(ready["base_url"] + path, headers=headers, params=query, trust_env=False)
    return answer.raise_for_status().json()


def resting_orders(folder: Path) -> int:
    """How many orders rest in the state on disk."""
    with StateDir.open(folder / "state") as state:
        standing = recover(state).engine.snapshot_events(0)
    return sum(isinstance(event, OrderChanged) for event in standing)


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_the_crowd_keeps_its_orders_over_a_restart_of_the_venue(
    tmp_path: Path, how: signal.Signals
) -> None:
    config = ROOT / "configs" / "venue.yaml"
    with served(tmp_path, how, config):
        time.sleep(4)
    first = resting_orders(tmp_path)
    # Two makers with a bid and an ask on each of 26 rungs, but for those that are away.
    assert first > 40
    with served(tmp_path, signal.SIGTERM, config) as ready:
        assert ready["series"] == ["AURELIA-VAL", "QUILLON-IPO", "QUILLON-VAL"]
        time.sleep(4)
    # A crowd that did not know its orders would rest another set beside them.
    assert 0.6 * first < resting_orders(tmp_path) < 1.5 * first


def test_a_restart_lists_added_markets_and_keeps_the_others(tmp_path: Path) -> None:
    text = (ROOT / "configs" / "venue.yaml").read_text()
    config = tmp_path / "venue.yaml"
    config.write_text(text)
    with served(tmp_path, signal.SIGTERM, config) as ready:
        keys = (tmp_path / "keys.json").read_text()
        key = json.loads(keys)["maker"]
        before = read(ready, key, "/markets", limit="1000")["markets"]
    more = "- {label: 250B, strike_value: 250}\n              - {label: 300B, strike_value: 300}"
    config.write_text(text.replace("- {label: 250B, strike_value: 250}", more, 1))
    with served(tmp_path, signal.SIGTERM, config) as ready:
        after = read(ready, key, "/markets", limit="1000")["markets"]
    assert (tmp_path / "keys.json").read_text() == keys
    added = {m["ticker"] for m in after} - {m["ticker"] for m in before}
    assert [ticker.rsplit("-", 1)[1] for ticker in added] == ["300B"]
    created = {market["ticker"]: market["created_at"] for market in before}
    assert {m["ticker"]: m["created_at"] for m in after if m["ticker"] in created} == created
