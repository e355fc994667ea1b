"""Claims about the demo as a real process: it trades, follows its file, and ends flat of orders."""

import json
import re
import signal
import time
from pathlib import Path
from typing import Any

import httpx
import pytest
from click.testing import Result

from tests.builders.e2e.runs import (
    TWO_SIDED_S,
    assert_clean,
    no_bot_outlives,
    start_bot,
    summary_of,
    wait_until,
)
from tests.builders.io.commands import demo_copy, invoke

pytestmark = pytest.mark.xdist_group("demo")


class DemoRun:
    """A run of the demo that is over: its log, what it served, and its summary."""

    def __init__(self, folder: Path) -> None:
        self.state = folder / "state"
        config = demo_copy(folder, ("port: 8090", "port: 0"))
        text, log = config.read_text(), folder / "bot.err"
        words = ("run", str(config), "--json", "--seed", "11", "--state-dir", str(self.state))
        process = start_bot(*words, folder=folder)

        def logged(event: str) -> None:
            wait_until(lambda: f'"event": "{event}"' in log.read_text(), TWO_SIDED_S)

        wait_until(lambda: "status page: " in log.read_text(), TWO_SIDED_S)
        page = log.read_text().partition("status page: ")[2].split()[0]
        with httpx.Client(base_url=page, trust_env=False) as client:
            wait_until(lambda: client.get("healthz").status_code == 200, TWO_SIDED_S)
            logged("two_sided_everywhere")
            self.second: Result = invoke("run", config, "--state-dir", self.state)
            config.write_text(text.replace("decide_ms: 50", "decide_ms: 60"))
            logged("config_applied")
            config.write_text(text.replace("decide_ms: 50", "decide_ms: 0"))
            process.send_signal(signal.SIGHUP)
            logged("config_refused")
            filled = re.compile(r"^laddermaker_fills_total\S* ([0-9.]+)$", re.MULTILINE)
            wait_until(lambda: float(filled.search(client.get("metrics").text)[1]) > 0, TWO_SIDED_S)
        process.send_signal(signal.SIGINT)
        time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        self.summary = summary_of(process, TWO_SIDED_S)
        self.code, self.log = process.returncode, log.read_text()

    def lines(self, event: str) -> list[dict[str, Any]]:
        """The lines of the log about an event."""
        lines = [line for line in self.log.splitlines() if line.startswith("{")]
        return [each for each in map(json.loads, lines) if each["event"] == event]


@pytest.fixture(scope="module")
def demo(tmp_path_factory) -> DemoRun:
    with no_bot_outlives():
        return DemoRun(tmp_path_factory.mktemp("demo"))


def test_the_demo_quotes_every_rung_trades_and_ends_flat_of_orders_when_interrupted_twice(demo):
    assert demo.code == 0, demo.log[-2000:]
    assert_clean(demo.summary)
    assert demo.summary["died"] == []
    assert demo.summary["first_two_sided_s"] is not None
    assert demo.summary["rungs"] >= 8
    assert demo.summary["fills"] > 0
    assert demo.summary["requests"]["create"] >= 2 * demo.summary["rungs"]


def test_a_second_bot_on_the_same_state_directory_is_refused(demo):
    assert demo.second.exit_code == 3
    assert "another bot is running on it" in demo.second.stderr


def test_a_running_bot_applies_a_change_of_its_file_and_refuses_a_fault(demo):
    [applied] = demo.lines("config_applied")
    assert applied["changed"] == "throttle.decide_ms: 50 -> 60"
    [refused] = demo.lines("config_refused")
    assert "throttle.decide_ms: '0'; accepted" in refused["why"]


def test_the_journal_of_the_demo_replays_without_a_difference(demo):
    done = invoke("replay", demo.state, "--json", "--quiet")
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["difference"] is None


def test_the_key_is_in_neither_the_journal_nor_the_log(demo):
    key = json.loads((demo.state / "venue-keys.json").read_text())["maker"]
    written = b"".join(path.read_bytes() for path in demo.state.glob("journal-*"))
    assert key.encode() not in written
    assert key not in demo.log + json.dumps(demo.summary)
