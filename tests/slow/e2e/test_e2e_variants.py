"""A bot in another process quotes one series with three settings, of which two are compared."""

import json

import pytest

from tests.builders.io.commands import demo_copy, finished, invoke

pytestmark = pytest.mark.xdist_group("variants")
VARIANTS = """  variants:
    - {name: tails, strategy: fixed_spread, rungs: [175B, "2?0B"], params: {half_spread_cents: 4}}
    - {name: narrow, params: {intensity_per_cent: 2}, split: rungs, block_ms: 2000, seed: 3}

risk:"""


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A run of fifteen seconds; its configuration and state directory."""
    folder = tmp_path_factory.mktemp("variants")
    config, state = demo_copy(folder, ("\nrisk:", VARIANTS)), folder / "state"
    done = finished("bot", "run", config, "--state-dir", state, "--status-port", 0, "--for", "15s")
    assert done.returncode == 0, done.stderr
    return config, state


def test_the_profit_of_a_run_is_attributed_to_each_setting(run):
    config, state = run
    done = invoke("pnl", config, "--state-dir", state, "--by", "strategy", "--json")
    profit = json.loads(done.stdout)["profit"]
    rows = {row["name"]: row for row in profit["by"]["strategy"]}
    assert {"ladder_joint", "narrow"} <= rows.keys() <= {"ladder_joint", "narrow", "tails"}
    assert sum(row["fills"] for row in rows.values()) == profit["total"]["fills"]


def test_the_split_settings_are_compared_from_the_records(run):
    config, state = run
    done = invoke("compare", config, "--state-dir", state, "--json")
    assert done.exit_code == 0, done.output
    (found,) = json.loads(done.stdout)["variants"]
    assert (found["variant"], found["base"], found["split"]) == ("narrow", "ladder_joint", "rungs")
    assert found["worth"]["1"]["pairs"] >= 1
    assert all(count > 0 for count in found["fills"])
    text = invoke("compare", config, "--state-dir", state).stdout
    assert f"narrow against ladder_joint, split by rungs, {found['fills'][0]} and" in text


def test_a_replay_of_the_run_makes_the_same_orders(run):
    config, state = run
    done = invoke("replay", state, "--config", config)
    assert done.exit_code == 0, done.output
