"""Claims about `bot what-if`: what it shows, and how it ends where there is nothing to compare."""

import re
from pathlib import Path

import msgspec
import pytest
from click.testing import Result

from bench.simulated_journals import STRATEGY_FAULTS
from bot.core import messages as m
from bot.io.journal.journal import read_journal
from bot.io.journal.records import Entry
from bot.lab.sim.scenario import draw, narrowed, often
from tests.builders.io.commands import invoke, json_of
from tests.builders.record.made import damage, segment_file
from tests.builders.replay.recorded import recorded
from tests.builders.strategies.strategy_file import strategy_file
from tests.builders.what_if.made import calm, run_of
from venue.wire.instant import NS_PER_SECOND

CONFIG = """
series: ACME-VAL
venue:
  embedded: venue.yaml
strategy:
  name: ladder_joint
risk:
  series_loss_cents: 40000
  rung_position_qty: 300
  order_qty: 100
"""


def assert_exits_with_3(done: Result, reason: str) -> None:
    assert done.exit_code == 3
    assert reason in done.stderr


def figures(path: Path, *options: object, model: str = "pessimistic") -> dict:
    """What is told as JSON of a comparison under one queue model."""
    return json_of("what-if", path, "--queue-model", model, *options, "--quiet")


@pytest.fixture(scope="module")
def state(tmp_path_factory) -> Path:
    return calm(tmp_path_factory.mktemp("what-if") / "state", seconds=3)


@pytest.fixture(scope="module")
def entries(state) -> list[Entry]:
    return list(read_journal(run_of(state).paths[0]))


def test_what_if_prints_both_bounds_the_real_session_and_the_model_error(state):
    done = invoke("what-if", state, "--set", "throttle.dwell_ms=100")
    assert done.exit_code == 0, done.output
    for word in (
        "changed  throttle.dwell_ms: 500 -> 100",
        "under pessimistic",
        "under expected",
        "happened",
        "model error",
        "difference",
        "the model on the unchanged configuration",
        "worst case $",
        "requests: create",
        "quotes, pessimistic",
    ):
        assert word in done.stdout


def test_the_json_has_the_same_figures_for_every_side(state):
    told = figures(state, "--set", "risk.order_qty=5", model="expected")
    assert [played["reading"] for played in told["played"]] == ["expected"]
    for played in told["played"]:
        assert played["unchanged"].keys() == played["changed"].keys() == told["happened"].keys()
        for name in ("unchanged", "changed"):
            rungs = [(row["ticker"], row["side"]) for row in played[name]["quotes"]]
            assert rungs == [(row["ticker"], row["side"]) for row in told["happened"]["quotes"]]
    assert told["short_qty"] == 0
    assert told["changed"][0]["key"] == "risk.order_qty"


def test_the_real_figures_match_the_journal(state, entries):
    told = figures(state, model="expected")
    sent = [each.message.request for each in entries if isinstance(each.message, m.Send)]
    assert told["happened"]["requests"]["create"] == sum(isinstance(s, m.Create) for s in sent)
    assert told["happened"]["requests"]["cancel"] == sum(
        isinstance(s, m.CancelResting) for s in sent
    )
    assert told["played"][0]["changed"] is None
    events = [each for each in entries if isinstance(each.message, m.Event)]
    assert told["happened"]["events"] == len(events)


def test_a_strategy_fault_is_reported_with_its_first_exception(state, tmp_path):
    path = strategy_file(tmp_path / "faulty.py", 'raise ValueError("no idea")')
    asked = (state, "--set", f"strategy.name={path}")
    assert re.search(
        r"^pessimistic, changed: \d+ strategy errors, the first: .*ValueError: no idea",
        invoke("what-if", *asked, "--queue-model", "pessimistic").stdout,
        re.MULTILINE,
    )
    (played,) = figures(*asked)["played"]
    assert played["changed"]["strategy_errors"] > 0
    assert played["unchanged"]["strategy_errors"] == 0


def test_no_strategy_fault_is_reported_without_one(state):
    assert "strategy errors" not in invoke("what-if", state, "--queue-model", "pessimistic").stdout


def test_until_compares_only_the_first_part_of_a_session(state):
    told = figures(state, "--until", "2s")
    assert told["cut"] == "as asked for"
    assert (told["ended_ns"] - told["begun_ns"]) / 1e9 == pytest.approx(2, abs=0.2)


@pytest.mark.parametrize(
    "options",
    [
        ("--set", "strategy.params.levls=3"),
        ("--set", "throttle.dwell_ms=0"),
        ("--queue-model", "optimistic"),
        ("--read-lag", "5"),
        ("--until", "soon"),
        ("--config", "nowhere.yaml"),
    ],
)
def test_what_if_rejects_invalid_options_with_exit_code_2(state, options):
    assert invoke("what-if", state, *options).exit_code == 2


def test_what_if_accepts_another_configuration_file(state, tmp_path):
    (tmp_path / "other.yaml").write_text(CONFIG)
    assert figures(state, "--config", tmp_path / "other.yaml")["changed"]


# --- where there is nothing to compare ------------------------------------------------------------


def test_a_missing_journal_exits_with_3(tmp_path):
    (tmp_path / "empty").mkdir()
    for name in ("empty", "none", "journal-00000001.log"):
        assert invoke("what-if", tmp_path / name).exit_code == 3


def test_a_run_without_its_first_segment_exits_with_3(entries, tmp_path):
    segment_file(tmp_path / "journal-00000002.log", entries[200:])
    assert_exits_with_3(invoke("what-if", tmp_path), "no longer kept")


def test_a_damaged_journal_exits_with_3(entries, tmp_path):
    path = segment_file(tmp_path / "journal-00000001.log", entries)
    damage(path)
    assert_exits_with_3(invoke("what-if", path), "journal damaged at byte")


def test_a_journal_of_another_program_version_exits_with_3(entries, tmp_path):
    at = next(
        n
        for n, each in enumerate(entries)
        if isinstance(each.message, m.Send) and isinstance(each.message.request, m.Create)
    )
    path = segment_file(tmp_path / "journal-00000001.log", [*entries[:at], *entries[at + 1 :]])
    assert_exits_with_3(invoke("what-if", path), "this program decides otherwise")


def changed(entries: list[Entry], **fields: object) -> list[Entry]:
    (at,) = [n for n, each in enumerate(entries) if isinstance(each.message, m.Started)]
    started = msgspec.structs.replace(entries[at].message, **fields)
    return [Entry(entries[at].at_ns, started), *entries[at + 1 :]]


def test_a_run_that_shared_its_rate_limit_with_another_series_exits_with_3(entries, tmp_path):
    (started,) = [each.message for each in entries if isinstance(each.message, m.Started)]
    configured = started.configured
    settings = msgspec.structs.replace(configured.settings, other_series=("OTHER-VAL",))
    configured = msgspec.structs.replace(configured, settings=settings)
    path = segment_file(tmp_path / "journal-00000001.log", changed(entries, configured=configured))
    assert_exits_with_3(invoke("what-if", path), "shared its request bucket with OTHER-VAL")


def test_the_newest_run_is_used_unless_another_is_named(entries, tmp_path):
    segment_file(tmp_path / "journal-00000001.log", entries)
    segment_file(tmp_path / "journal-00000002.log", entries)
    named = tmp_path / "journal-00000001.log"
    for path, name in ((tmp_path, "journal-00000002.log"), (named, named.name)):
        assert figures(path, "--until", "1s")["segments"] == [name]


def test_the_json_lists_only_the_assumptions_that_were_used(state):
    terms = figures(state, "--read-lag", "5ms", "--seed", 3)["terms"]
    assert terms == {"read_lag_ns": 5_000_000, "power": 3.0, "seed": 3}


def test_a_rejection_without_a_code_is_named_as_in_the_summary(tmp_path):
    odds = narrowed(draw(62, "calm"), without=STRATEGY_FAULTS, until_ns=2 * NS_PER_SECOND)
    world = recorded(often(odds, ("not_connected",)), tmp_path / "state")
    summed = world.processes[-1].trader.out.counters.refused
    assert summed["not_connected"] > 0
    assert figures(tmp_path / "state")["happened"]["refused"] == summed
