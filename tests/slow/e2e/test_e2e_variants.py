"""A bot in another process quotes one series with two settings, which are compared."""

import json
import shutil

import pytest

from tests.builders.house.tree import ROOT
from tests.builders.io.commands import finished, invoke

pytestmark = pytest.mark.xdist_group("variants")


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """The shipped example, fifteen seconds of it; its configuration and state directory."""
    folder = tmp_path_factory.mktemp("variants")
    shutil.copytree(ROOT / "configs", folder / "configs")
    words = ("run", "configs/split.yaml", "--status-port", 0, "--for", "15s")
    done = finished("bot", *words, cwd=folder)
    assert done.returncode == 0, done.stderr
    return folder / "configs/split.yaml", folder / "state/split"


def test_the_profit_of_a_run_is_attributed_to_each_setting(run):
    config, state = run
    done = invoke("pnl", config, "--state-dir", state, "--by", "strategy", "--json")
    profit = json.loads(done.stdout)["profit"]
    rows = {row["name"]: row for row in profit["by"]["strategy"]}
    assert rows.keys() == {"ladder_joint", "narrow"}
    assert sum(row["fills"] for row in rows.values()) == profit["total"]["fills"]


def test_the_split_settings_are_compared_from_the_records(run):
    config, state = run
    done = invoke("compare", config, "--state-dir", state, "--json")
    assert done.exit_code == 0, done.output
    (found,) = json.loads(done.stdout)["variants"]
    assert (found["variant"], found["base"], found["split"]) == ("narrow", "ladder_joint", "rungs")
    assert found["worth"]["1"]["pairs"] >= 1
    assert all(count > 0 for count in found["fills"])


def test_the_example_of_compare_works_as_printed(run):
    config, _ = run
    done = finished("bot", "compare", "configs/split.yaml", cwd=config.parents[1])
    assert done.returncode == 0, done.stderr
    assert "narrow against ladder_joint, split by rungs, " in done.stdout


def test_a_replay_of_the_run_makes_the_same_orders(run):
    config, state = run
    done = invoke("replay", state, "--config", config)
    assert done.exit_code == 0, done.output
