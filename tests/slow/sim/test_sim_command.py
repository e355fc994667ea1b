"""Claims about `bot simulate`: the same to the byte in any process, and what it says."""

import json
import os
import re

import pytest
from click.testing import Result

from bot.lab.sim.run import run
from bot.lab.sim.scenario import draw
from tests.builders.io.commands import finished, invoke, json_of
from tests.builders.strategies.strategy_file import strategy_file

SHORT = ("--seed", "11", "--until", "3s")


def simulate(*words: object) -> Result:
    return invoke("simulate", *words)


def test_the_effect_log_is_the_same_under_three_hash_seeds():
    done = [
        finished("bot", "simulate", *SHORT, env={**os.environ, "PYTHONHASHSEED": seed})
        for seed in ("0", "1", "2")
    ]
    assert [each.returncode for each in done] == [0, 0, 0], done
    logs = {re.search(r"effect log ([0-9a-f]{32})", each.stdout)[1] for each in done}
    assert len(logs) == 1


def test_a_seed_gives_the_same_simulation_twice():
    odds = draw(7)
    first, second = run(odds), run(odds)
    assert first.driver.steps == second.driver.steps
    assert first.effect_log() == second.effect_log()
    assert first.auditor.truth == second.auditor.truth


def test_simulate_prints_the_scenario_first_and_the_catalogue_rows_last():
    done = simulate(*SHORT)
    lines = done.stdout.splitlines()
    assert lines[0] == "seed 11"
    assert lines[1] == "  seed = 11"
    assert "rows of the failure catalogue met:" in done.stdout
    assert "1 seeds, " in lines[-1]


def test_a_quiet_simulation_prints_one_line_if_every_invariant_holds():
    done = simulate(*SHORT, "--quiet")
    [line] = done.stdout.splitlines()
    assert line.startswith("1 seeds, ")


def test_simulate_prints_json_on_stdout_and_the_scenario_on_stderr():
    done = simulate(*SHORT, "--json")
    told = json.loads(done.stdout)
    assert told["seeds"] == 1
    assert told["broken"] == []
    assert told["events"] > 0
    assert "seed 11" in done.stderr


OCCASIONAL_FAULTS = """self.calls += 1
        if self.calls == 3:
            raise ValueError("no idea")
        bid, ask = (Quote(side, Price(50), Qty(1)) for side in BookSide)
        return {view.rungs[0].market_id: (bid, ask)} if self.calls == 6 else {}"""
SMALL = """\
from pydantic import Field

from bot.strategy.api import Quote, Strategy
from venue.wire.money import BookSide, Price, Qty


class Small(Strategy):
    class Params(Strategy.Params):
        lot_qty: int = Field(1, ge=1, le=2)

    def quote(self, view):
        lot = Qty(self.params.lot_qty)
        return {rung.market_id: (Quote(BookSide.BID, Price(2), lot),) for rung in view.rungs}


STRATEGY = Small
"""


def test_strategy_faults_are_reported_even_if_all_invariants_hold(tmp_path):
    path = strategy_file(tmp_path / "occasional.py", OCCASIONAL_FAULTS)
    asked = ("--seed", "8", "--profile", "calm", "--strategy", path, "--quiet")
    done = simulate(*asked)
    assert done.exit_code == 0, done.stdout
    told = r"broken: 0; the strategy was at fault (\d+) times, first .*ValueError: no idea$"
    found = re.search(told, done.stdout, re.MULTILINE)
    assert found is not None
    assert int(found[1]) >= 2
    plain = json_of("simulate", *asked)
    assert plain["strategy_errors"] == int(found[1])
    assert "no idea" in plain["strategy_fault"]


def test_a_drawn_size_outside_a_parameter_range_leaves_the_default(tmp_path):
    path = tmp_path / "small.py"
    path.write_text(SMALL)
    done = simulate(*SHORT, "--strategy", path, "--quiet")
    assert done.exit_code == 0, done.stdout + done.stderr


NEEDS_MORE = """
from pydantic import model_validator
from bot.strategy.api import Strategy

class Mine(Strategy):
    class Params(Strategy.Params):
        half: int = 0

        @model_validator(mode="after")
        def is_wide(self):
            if self.half < 1:
                raise ValueError("half is 1 or more")
            return self

    def quote(self, view):
        return {}

STRATEGY = Mine
"""


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (NEEDS_MORE, "half is 1 or more"),
        (NEEDS_MORE.replace(": int = 0", ": int"), "half: Field required"),
    ],
)
def test_a_strategy_with_invalid_defaults_is_rejected_in_one_line(tmp_path, text, said):
    path = tmp_path / "mine.py"
    path.write_text(text)
    done = simulate(*SHORT, "--strategy", path)
    assert (done.exit_code, done.stderr) == (2, f"--strategy {path}: {said}\n")
    done = invoke("evaluate", "--strategies", path, "--tune", "1-1", "--seeds", "2-2")
    assert (done.exit_code, done.stderr) == (2, f"{path}: {said}\n")


def test_injected_strategy_faults_are_not_counted_as_its_own():
    drawn = draw(11, "brutal")
    assert "tantrum" in drawn.rates
    assert run(drawn).coverage.own_faults == 0


def test_two_processes_give_the_same_results_as_one():
    asked = ("simulate", "--seeds", "1-2", "--until", "1s")
    one, two = json_of(*asked), json_of(*asked, "--jobs", 2)
    del one["events_per_second"], two["events_per_second"]
    assert one == two


def test_a_simulation_runs_until_the_requested_events():
    asked = ("--seed", "11", "--until", "2s", "--events", "12_000")
    assert json_of("simulate", *asked)["events"] >= 12_000


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--profile", "mild"), "calm, swarm, brutal"),
        (("--without", "rain"), "there are "),
        (("--without", "rain"), ", market_halt, "),
        (("--seeds", "9-3"), "0-99"),
        (("--seeds", "9" * 5_000), "accepted: a whole number"),
        (("--seed", "1", "--seeds", "1-2"), "one of them"),
        (("--events", "many"), "--events 'many': accepted: a whole number, such as 1_000_000"),
        (("--until", "soon"), "--until"),
        (("--rungs", "3,0"), "rungs of an event: accepted: 1 to 100"),
    ],
)
def test_simulate_rejects_invalid_options_with_exit_code_2(words, said):
    done = simulate(*words)
    assert done.exit_code == 2
    assert said in done.stderr


def test_a_dead_worker_process_is_not_a_broken_invariant(tmp_path):
    path = strategy_file(tmp_path / "dies.py", "os._exit(1)")
    done = simulate("--seeds", "0-1", "--jobs", "2", "--strategy", path, "--json")
    assert done.exit_code == 4
    assert "ended early: a process died" in done.stderr
    assert json.loads(done.stdout)["seeds"] == 0
