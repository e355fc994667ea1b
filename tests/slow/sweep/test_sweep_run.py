"""Sweeps over a planted world: found sooner than by chance, resumed, broken off, and not fooled."""

import json
import math
import sys
from contextlib import nullcontext

import msgspec
import pytest

from bot.lab.evaluate.results import RunStore
from bot.lab.pool import in_order
from bot.lab.sweep.output import markdown
from bot.lab.sweep.sweep import Findings, Split, findings, splits_of
from bot.lab.sweep.trials import (
    IN_WORLDS,
    CaseResult,
    ClusterFault,
    Job,
    TrialConfig,
    code_of,
    run_job,
    seeded,
)
from tests.builders.sweep.planted import (
    BEST,
    CONFIG,
    DIMENSIONS,
    LOT,
    SMALL,
    found_at,
    planted,
    run,
    told,
)

PLANTED = "tests.builders.sweep.planted"
MOST = 24
"""Trials of the sweep that most of this is said of."""


class Counting:
    """Carries out jobs here and counts them."""

    def __init__(self, most=10**9):
        self.jobs = []
        self._most = most

    def wanted(self):
        return len(self.jobs) < self._most

    def __call__(self, items, wanted):
        for job, outcome in in_order(run_job, items, 1, wanted):
            self.jobs.append(job)
            yield job, outcome


def report_of(sweep, dimensions=(), whole=True):
    return findings(sweep, dimensions, how="grid", where="planted", whole=whole)


@pytest.fixture(scope="module")
def done():
    sweep = planted()
    assert run(sweep, most=MOST)
    return sweep


def test_every_trial_runs_the_cases_of_the_base_configuration(done):
    assert [case.name for case in done.cases] == [str(seed) for seed in range(1, 9)]
    assert {len(trial.values) for trial in done.trials} == {8}
    assert (done.trials[0].number, done.trials[0].settings) == (0, {})


def test_an_interrupted_sweep_resumes_without_repeating_runs(done, tmp_path):
    path = tmp_path / "results.jsonl"
    first = planted(results=path)
    half = Counting(most=100)
    assert not run(first, nullcontext(half), most=MOST, wanted=half.wanted)
    assert told(first) == told(done)[: len(first.trials)]
    path.write_bytes(path.read_bytes()[:-30])
    rest, second = Counting(), planted(results=path)
    assert run(second, nullcontext(rest), most=MOST)
    assert told(second) == told(done)
    assert len(half.jobs) + len(rest.jobs) == (MOST + 1) * 8 + 1
    assert all("key" in json.loads(line) for line in path.read_bytes().splitlines()[-50:])


def test_trials_of_all_sweeps_in_a_results_file_are_counted(tmp_path):
    path = tmp_path / "results.jsonl"
    first = planted(results=path, seeds="1-4")
    run(first, how="random", most=10)
    assert first.trials_ever == 10
    second = planted(results=path, seeds="1-4")
    run(second, how="random", most=6, seed=2)
    assert 11 <= second.trials_ever <= 16
    assert report_of(second).deflated.trials == second.trials_ever


def test_saved_results_are_not_reused_for_other_code(tmp_path):
    path = tmp_path / "results.jsonl"
    run(planted(results=path, seeds="1-2"), most=2)
    text = path.read_text()
    path.write_text(text.replace(planted().code, "0" * 12))
    again = Counting()
    run(planted(results=path, seeds="1-2"), nullcontext(again), most=2)
    assert len(again.jobs) == 6


@pytest.mark.parametrize(
    ("named", "made"),
    [
        ("part.py", "from part import FACTOR\ndef score(job):\n    return FACTOR\n"),
        ("mine.py", "import part\n@part.kept\ndef score(job):\n    return 1\n"),
    ],
)
def test_the_code_key_of_an_objective_covers_its_file_and_imports(
    monkeypatch, tmp_path, named, made
):
    setup, codes = TrialConfig(CONFIG, SMALL).base, []
    for folder, more in (("a", ""), ("b", ""), ("c", "TIMES = 2\n")):
        place = tmp_path / folder
        place.mkdir()
        (place / "part.py").write_text(
            "import functools\nFACTOR = 1\n\n\ndef score(job):\n    return 1\n\n\n"
            "def kept(f):\n    return functools.wraps(f)(lambda job: f(job))\n"
        )
        (place / "mine.py").write_text(made)
        (place / named).write_text((place / named).read_text() + more)
        monkeypatch.syspath_prepend(place)
        sys.modules.pop("part", None)
        inside = msgspec.structs.replace(setup, folder=str(place))
        codes.append(code_of(inside, "./mine.py:score"))
    assert codes[0] == codes[1] != codes[2]


def test_a_worker_with_other_code_is_rejected():
    setup, (case,) = TrialConfig(CONFIG, SMALL).base, seeded(SMALL, range(1, 2))
    with pytest.raises(ClusterFault):
        run_job(Job(setup, {}, case, "", "another"))


def test_a_run_in_a_world_is_deterministic_and_depends_on_the_settings():
    configured = TrialConfig(CONFIG, SMALL)
    (case,) = seeded(SMALL, range(3, 4))
    setups = [configured.base, configured.base, configured.with_settings({LOT: "40"})]
    jobs = [Job(setup, {}, case, "", code_of(setup, "")) for setup in setups]
    first, again, other = (run_job(job) for job in jobs)
    assert [*first.values] == [*IN_WORLDS, "latched"]
    assert first.values["filled_qty"] > 0
    assert first.values["net"] == pytest.approx(
        first.values["spread"] + first.values["inventory"] - first.values["fees"]
    )
    assert first.values == again.values != other.values


def test_a_failed_trial_is_reported_with_its_settings_and_the_sweep_continues():
    sweep = planted(seeds="1-2", function="tests.builders.sweep.planted:sometimes")
    assert run(sweep, how="grid", over=(f"{LOT}=2,3,4,5,0",))
    report = report_of(sweep)
    assert [row.settings[LOT] for row in report.rows] == ["5", "2"]
    assert [each.settings[LOT] for each in report.failed] == ["3", "4", "0"]
    reasons = (
        "1: ZeroDivisionError: lots of three (and 1 more)",
        "is no number up to",
        "at least 1",
    )
    for each, reason in zip(report.failed, reasons, strict=True):
        assert reason in each.fault


def test_an_unprintable_fault_is_reported_in_one_row(tmp_path):
    results = tmp_path / "sweep.jsonl"
    sweep = planted(seeds="1-2", function=f"{PLANTED}:unsayable", results=results)
    assert run(sweep, how="grid", over=(f"{LOT}=2,3,5",))
    report = report_of(sweep)
    assert [row.settings[LOT] for row in report.rows] == ["5"]
    rows = markdown(report).split("### Trials that failed")[1].splitlines()[4:]
    assert rows == [
        r"| 1 | lot_qty 2 | 1: ValueError: half of a pair: \ud800 (and 1 more) |",
        "| 2 | lot_qty 3 | 1: ValueError: one line and / another (and 1 more) |",
    ]
    assert len(RunStore(results, CaseResult).results) == 2 * 4


def test_a_score_too_large_to_compute_with_fails_the_trial():
    sweep = planted(seeds="1-2", function=f"{PLANTED}:beyond")
    assert run(sweep, how="grid", over=(f"{LOT}=2,5",))
    faults = [trial.fault for trial in sweep.trials]
    assert faults[0] == ""
    assert all("1e+200 is no number up to 1e+100" in fault for fault in faults[1:])


def test_a_fault_of_the_host_is_retried_by_the_next_sweep(monkeypatch, tmp_path):
    kept = {"seeds": "1-2", "results": tmp_path / "kept.jsonl", "function": f"{PLANTED}:exhausted"}
    sweep = planted(**kept)
    assert run(sweep, how="grid", over=(f"{LOT}=2,5",))
    assert ["Too many open files" in trial.fault for trial in sweep.trials] == [False, True, True]
    monkeypatch.setattr(f"{PLANTED}.GIVEN", [True])
    again = planted(**kept)
    assert run(again, how="grid", over=(f"{LOT}=2,5",))
    assert [trial.fault for trial in again.trials] == ["", "", ""]


def test_a_search_learns_only_scores_of_past_cases():
    told_of = []

    class Listening:
        """Proposes two lots and listens."""

        def round_size(self, cases):
            return 2

        def __init__(self):
            self.left = [{LOT: "1"}, {LOT: "2"}]

        def propose(self, count):
            out, self.left = self.left, []
            return out

        def learn(self, settings, score):
            told_of.append((settings[LOT], score))

    sweep = planted(function="tests.builders.sweep.planted:fooled")
    sweep.run(Listening(), 2, Counting(), lambda: True, lambda _more: None)
    assert told_of == [("1", 1.0), ("2", 0.0)]


def test_a_choice_is_reported_on_cases_it_was_not_made_by():
    sweep = planted(splits=2, function="tests.builders.sweep.planted:fooled")
    run(sweep, how="grid", over=(f"{LOT}=1,2",))
    report = report_of(sweep)
    assert [(each.past, each.after) for each in report.followed] == [
        ("1..4", "5..6"),
        ("1..6", "7..8"),
    ]
    first = report.followed[0]
    assert (first.settings[LOT], first.past_score, first.score) == ("1", 1.0, 0.0)
    assert report.followed_gain.value == 0.0


@pytest.mark.parametrize(
    ("cases", "wanted", "expected"),
    [
        (8, None, [(4, 5), (5, 6), (6, 7), (7, 8)]),
        (20, 2, [(10, 15), (15, 20)]),
        (3, None, [(2, 3)]),
        (1, None, []),
        (9, 0, []),
    ],
)
def test_walk_forward_splits_follow_the_first_half_in_blocks(cases, wanted, expected):
    assert splits_of(cases, wanted) == tuple(Split(*each) for each in expected)


def test_the_findings_contain_the_best_settings_marginals_and_overfitting(done):
    report = report_of(done, DIMENSIONS)
    assert report.best.settings == BEST
    assert report.best.gain.low > 0
    assert report.trace == sorted(report.trace)
    assert report.trials_ever == len(report.rows) == MOST
    assert report.overfitting.blocks == 8
    assert [each.key for each in report.marginals] == [each.key for each in DIMENSIONS]
    assert found_at(done) <= MOST


def test_the_findings_survive_a_json_round_trip():
    sweep = planted("1-10")
    assert run(sweep, most=4)
    report = report_of(sweep)
    assert msgspec.json.decode(msgspec.json.encode(report), type=Findings) == report


@pytest.mark.parametrize(("seeds", "is_told"), [("1-4", False), ("1-5", True)])
def test_a_gain_has_an_interval_only_from_five_cases_on(seeds, is_told):
    sweep = planted(seeds)
    assert run(sweep, most=2)
    told_of = report_of(sweep)
    assert all(math.isfinite(row.gain.low) is is_told for row in told_of.rows)
    assert is_told or {row.p for row in told_of.rows} == {1.0}


@pytest.mark.parametrize(("seeds", "is_told"), [("1-1", False), ("1-2", True)])
def test_a_deviation_is_shown_only_from_two_cases_on(seeds, is_told):
    sweep = planted(seeds)
    assert run(sweep, most=2)
    table = markdown(report_of(sweep)).partition("### Trials\n\n")[2].splitlines()
    head, _, base = ([cell.strip() for cell in row.split("|")] for row in table[:3])
    assert (base[head.index("sd")] != "") is is_told


@pytest.mark.parametrize(("seeds", "is_told"), [("1-8", False), ("1-10", True)])
def test_a_followed_gain_has_an_interval_only_from_five_cases_on(seeds, is_told):
    sweep = planted(seeds)
    assert run(sweep, most=2)
    gain = report_of(sweep).followed_gain
    assert math.isfinite(gain.low) is math.isfinite(gain.high) is is_told
    assert is_told or gain.p == 1.0
