"""Claims about the lab from Python: evaluate, sweep, replay and what-if are the commands."""

import json
from pathlib import Path

import msgspec
import pytest

from bot.lab.session import UntilFault
from bot.strategy.api import EventView, Quotes, Strategy
from laddermaker import lab
from tests.builders.io.commands import json_of
from tests.builders.what_if.made import calm

ROOT = Path(__file__).resolve().parents[3]
pytestmark = pytest.mark.xdist_group("lab-from-python")


class Silent(Strategy):
    def quote(self, view: EventView) -> Quotes:
        return {}


@pytest.fixture(scope="module")
def state(tmp_path_factory) -> Path:
    return calm(tmp_path_factory.mktemp("lab") / "state", seconds=3)


def command(*arguments) -> dict:
    """The JSON that a command prints, without processor times."""
    return comparable(json_of(*arguments))


def comparable(found: object) -> dict:
    plain = json.loads(msgspec.json.encode(found))
    return {key: value for key, value in plain.items() if key not in ("cpu_s", "code")} | (
        {"played": without_cpu(plain["played"])} if "played" in plain else {}
    )


def without_cpu(rows):
    return [{key: each for key, each in row.items() if key != "cpu_s"} for row in rows]


def test_an_evaluation_from_python_is_the_commands(monkeypatch, tmp_path):
    monkeypatch.chdir(ROOT)
    few = {"seeds": "1-2", "steps": 40, "baselines": False}
    found = lab.evaluate(["fixed_spread", "glft:0.01"], "theme-thin", **few)
    printed = command(
        *("evaluate", "--strategies", "fixed_spread,glft:0.01", "--seeds", "1-2"),
        *("--worlds", "theme-thin", "--steps", 40, "--no-baselines", "--jobs", 1),
        *("--results", tmp_path / "evaluate.jsonl"),
    )
    for line in (*printed["lines"], *(plain := comparable(found.found))["lines"]):
        for point in line["points"]:
            del point["means"]["cpu_s"]
    assert plain == printed
    frame = found.frame()
    assert set(frame["strategy"]) == {"fixed_spread", "glft_0.01"}
    assert list(frame["mean"]) == [p.mean for line in found.found.lines for p in line.points]


def test_a_class_is_evaluated_beside_a_named_strategy(monkeypatch):
    monkeypatch.chdir(ROOT)
    few = {"seeds": "1-1", "steps": 40, "baselines": False}
    found = lab.evaluate([Silent, "fixed_spread"], "theme-thin", **few)
    means = found.frame().groupby("strategy")["mean"].first()
    assert means[f"{Silent.__module__}:Silent"] == 0.0
    assert "fixed_spread" in str(found)


def test_a_sweep_from_python_is_the_commands(tmp_path):
    config = ROOT / "configs/demo.yaml"
    world = {"seeds": "1-1", "steps": 40, "cv_blocks": 0}
    found = lab.sweep(
        None, None, config, {"risk.order_qty": [20, 40]}, world="independent-base", options=world
    )
    printed = command(
        *("sweep", "--config", config, "--world", "independent-base", "--seeds", "1-1"),
        *("--steps", 40, "--cv-blocks", 0, "--over", "risk.order_qty=20,40"),
        *("--results", tmp_path / "sweep.jsonl"),
    )
    assert comparable(found.found) == printed
    frame = found.frame()
    assert list(frame["score"])[1:] == [row.score for row in found.found.rows]
    assert set(frame["risk.order_qty"].dropna()) == {"20", "40"}


def test_a_sweep_takes_a_class_and_a_set_key():
    config = ROOT / "configs/demo.yaml"
    found = lab.sweep(
        Silent, None, config, ["risk.order_qty=20,40"], world="independent-base",
        options={"seeds": "1-1", "steps": 40}, throttle__dwell_ms=500,
    )  # fmt: skip
    assert [row.score for row in found.found.rows] == [0.0, 0.0]


def test_a_replay_from_python_is_the_commands(state):
    printed = command("replay", state, "--quiet")
    found = lab.replay(state)
    assert found.difference is None
    del printed["events_per_second"]
    assert comparable(found) == printed
    assert lab.replay(state, until="20").events == 20
    with pytest.raises(UntilFault, match="sometime: 90s after the start"):
        lab.replay(state, until="sometime")


def test_what_if_from_python_is_the_commands(state):
    found = lab.what_if(state, queue_models=["expected"], risk__order_qty=1)
    printed = command(
        *("what-if", state, "--queue-model", "expected", "--set", "risk.order_qty=1"),
    )
    assert comparable(found.found) == printed
    frame = found.frame()
    assert list(frame["what"]) == ["happened", "unchanged", "changed"]
    assert frame["fills"][0] == found.found.happened.fills
