"""Claims about an exit of an event of the demo, asked for from the command line."""

import json
import signal
import time
from pathlib import Path
from typing import Any

import httpx
import pytest
from click.testing import Result

from tests.builders.e2e.runs import (
    TWO_SIDED_S,
    no_bot_outlives,
    start_bot,
    summary_of,
    wait_until,
)
from tests.builders.io.commands import demo_copy, invoke

pytestmark = pytest.mark.xdist_group("exit")

MOST_CENTS = 100_000
CONTROL = ("  port: 8090", "  control: true\n  port: 0")


class ExitRun:
    """A run of the demo in which one event was exited, over now."""

    def __init__(self, folder: Path) -> None:
        self.state = folder / "state"
        self.config = demo_copy(folder, CONTROL)
        self.log = folder / "bot.err"
        words = ("run", str(self.config), "--json", "--seed", "11", "--state-dir", str(self.state))
        process = start_bot(*words, folder=folder)
        wait_until(lambda: "status page: " in self.log.read_text(), TWO_SIDED_S)
        page = self.log.read_text().partition("status page: ")[2].split()[0]
        with httpx.Client(base_url=page, trust_env=False) as client:
            self.client = client
            wait_until(lambda: self._held() > 0, TWO_SIDED_S)
            event = self._event()["event_ticker"]
            words = ("exit", self.config, event, "--within", "4s", "--max-cost", MOST_CENTS)
            words = (*words, "--state-dir", self.state)
            self.preview = invoke(*words, "--preview")
            self.unasked = invoke(*words)
            self.done = invoke(*words, "--yes", "--wait", "--json")
            time.sleep(0.5)
            self.after = self._event()
            self.resumed: Result = invoke(
                "resume", self.config, "--event", event, "--state-dir", self.state
            )
            wait_until(lambda: self._event()["state"] == "active", TWO_SIDED_S)
        process.send_signal(signal.SIGINT)
        self.summary = summary_of(process, TWO_SIDED_S)
        self.code = process.returncode

    def _event(self) -> dict[str, Any]:
        report = self.client.get("status.json").json()["report"]
        return {} if report is None or not report["events"] else report["events"][0]

    def _held(self) -> int:
        return sum(abs(rung["yes_qty"] - rung["no_qty"]) for rung in self._event().get("rungs", ()))


@pytest.fixture(scope="module")
def exited(tmp_path_factory) -> ExitRun:
    with no_bot_outlives():
        return ExitRun(tmp_path_factory.mktemp("exit"))


def test_a_preview_shows_a_table_and_asks_nothing_of_the_bot(exited):
    assert exited.preview.exit_code == 0, exited.preview.output
    assert "exit within 4s at a cost of $1,000.00 at most" in exited.preview.stdout
    assert "expected: cost " in exited.preview.stdout


def test_without_a_terminal_an_exit_needs_yes(exited):
    assert exited.unasked.exit_code == 2
    assert "give --yes once you have seen the preview" in exited.unasked.stderr


def test_an_exit_ends_flat_within_its_cost_and_nothing_rests_there(exited):
    assert exited.done.exit_code == 0, exited.done.output
    done = json.loads(exited.done.stdout)
    assert (done["done"], done["exit"]["over"], done["exit"]["left_qty"]) == ("exit", "flat", 0)
    assert done["exit"]["cost_cents"] <= MOST_CENTS
    assert done["exit"]["start_qty"] == sum(abs(r["net_qty"]) for r in done["preview"]["rungs"]) > 0
    assert exited.after["state"] == "halted"
    assert [rung["orders"] for rung in exited.after["rungs"] if rung["orders"]] == []
    assert "exit is over (flat): 0 left" in exited.after["restrictions"][0]["why"]


def test_after_a_resume_the_event_is_quoted_again_and_the_journal_replays(exited):
    assert exited.resumed.exit_code == 0, exited.resumed.output
    assert exited.code == 0
    lines = [json.loads(each) for each in exited.log.read_text().splitlines() if each[:1] == "{"]
    names = [line["event"] for line in lines]
    assert [name for name in names if name.startswith("exit")] == [
        *("exiting", "exit_began", "exit_over")
    ]
    replayed = invoke("replay", exited.state, "--json", "--quiet")
    assert json.loads(replayed.stdout)["difference"] is None
