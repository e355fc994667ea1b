"""`bot evaluate`: small but whole, from seeds to tables; what may not be looked at is refused."""

import json
import re
from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest
from click.testing import Result
from msgspec.structs import replace

from bot.config.plugins import StrategyFault, find_strategy
from bot.lab.evaluate import page
from bot.lab.evaluate.compare import Comparison, compare
from bot.lab.evaluate.entries import ABLATIONS, ENTRIES, Contender, entries_named
from bot.lab.evaluate.results import NotKept, RunStore, Task, code_digest, run_tasks, tasks_of
from bot.lab.evaluate.run import RunMetrics
from bot.lab.evaluate.scenarios import Scenario, SeedFault, blocks_named, log_opening, seeds_named
from tests.builders.house.tree import ROOT
from tests.builders.io.commands import invoke

pytestmark = pytest.mark.xdist_group("evaluate")

Store = RunStore[RunMetrics]
SMALL = Scenario(steps=24, rungs=3)
PAIR = (
    Contender("narrow", "fixed_spread", {"half_spread_cents": 2}, "max_position_qty", (10, 40)),
    Contender("wide", "fixed_spread", {"half_spread_cents": 4}, "max_position_qty", (40,)),
    Contender("do_nothing", ""),
    Contender(
        "narrow_budget5",
        "fixed_spread",
        {"half_spread_cents": 2},
        "max_position_qty",
        (10, 40),
        500,
    ),
)


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Results are kept in ./state."""
    monkeypatch.chdir(tmp_path)


def missing(store: Store, tasks: dict[str, Task]) -> list[Task]:
    return [task for key, task in tasks.items() if key not in store.results]


def run_missing(
    store: Store, entries: Sequence[Contender], worlds: Sequence[Scenario], seeds: range
) -> None:
    for _ in run_tasks(store, missing(store, tasks_of(entries, worlds, seeds)), 1):
        pass


@pytest.fixture(scope="module")
def small_results(tmp_path_factory: pytest.TempPathFactory) -> tuple[Store, Path]:
    path = tmp_path_factory.mktemp("runs") / "results.jsonl"
    results = RunStore(path, RunMetrics)
    run_missing(results, PAIR, (SMALL,), range(1, 5))
    return results, path


def test_saved_runs_are_not_repeated(small_results: tuple[Store, Path]) -> None:
    _, path = small_results
    again = RunStore(path, RunMetrics)
    assert missing(again, tasks_of(PAIR, (SMALL,), range(1, 5))) == []
    assert len(missing(again, tasks_of(PAIR, (SMALL,), range(1, 6)))) == 5


def test_truncated_or_unreadable_result_lines_are_ignored(tmp_path: Path) -> None:
    path = tmp_path / "runs.jsonl"
    for key in "abc":
        RunStore(path, RunMetrics).put(key, RunMetrics())
    path.write_bytes(path.read_bytes().replace(b'{"key":"b"', b'{"key":"\xff"')[:-5])
    store = RunStore(path, RunMetrics)
    assert store.results == {"a": RunMetrics()}
    store.put("d", RunMetrics())
    assert list(RunStore(path, RunMetrics).results) == ["a", "d"]


def test_evaluate_refuses_to_append_to_a_file_without_results(tmp_path: Path) -> None:
    other = tmp_path / "page.html"
    other.write_text("<!doctype html>\n", encoding="utf-8")
    came = evaluated(tmp_path, "return {}", "--results", str(other))
    assert came.exit_code == 2
    assert came.stderr == f"{other}: holds something else than results that were kept\n"
    assert other.read_text(encoding="utf-8") == "<!doctype html>\n"


def test_a_comparison_uses_only_the_report_seeds(small_results: tuple[Store, Path]) -> None:
    found = compare(small_results[0], PAIR, (SMALL,), range(3, 5), range(1, 3), ROOT)
    assert (found.seeds, found.tuned_on) == ("3-4", "1-2")
    assert all(point.seeds == 2 for line in found.lines for point in line.points)
    assert [claim.rival for claim in found.claims] == ["wide", "do_nothing"]
    assert found.variants == 6


def test_tables_and_page_show_every_entry_and_replace_only_their_section(
    small_results: tuple[Store, Path], tmp_path: Path
) -> None:
    found = compare(small_results[0], PAIR, (SMALL,), range(1, 5), None, ROOT)
    text = page.markdown(found)
    assert "chosen on the very seeds reported" in text
    for entry in PAIR:
        assert f"| {entry.name}" in text
    assert "What a budget does" in text
    document = tmp_path / "strategies.md"
    document.write_text(f"before\n{page.BEGIN}\nold\n{page.END}\nafter\n", encoding="utf-8")
    page.write_into(document, found)
    written = document.read_text(encoding="utf-8")
    assert written.startswith("before\n")
    assert written.endswith("\nafter\n")
    assert text in written
    assert "old" not in written
    shown = page.page(found)
    assert shown.count("<svg") == 2
    assert "<script" not in shown


WORLDS = (SMALL, *(Scenario(steps=24, rungs=3, fees=fees) for fees in (2, 4)))


@pytest.fixture(scope="module")
def results_of_worlds(small_results: tuple[Store, Path]) -> Store:
    run_missing(small_results[0], PAIR, WORLDS, range(1, 5))
    return small_results[0]


def test_the_overall_gain_is_the_mean_over_the_worlds(results_of_worlds: Store) -> None:
    found = compare(results_of_worlds, PAIR, WORLDS, range(1, 5), None, ROOT)
    assert [each.rival for each in found.overall] == ["wide", "do_nothing"]
    for each in found.overall:
        gains = [claim.gain for claim in found.claims if claim.rival == each.rival]
        assert len(gains) == 3
        assert each.gain.value == pytest.approx(sum(gain.value for gain in gains) / 3)
        assert each.gain.low <= each.gain.high
        assert each.above == sum(gain.low > 0 for gain in gains)
        assert each.below == sum(gain.high < 0 for gain in gains)


def test_four_seeds_leave_every_comparison_open(
    results_of_worlds: Store,
) -> None:
    found = compare(results_of_worlds, PAIR, WORLDS, range(1, 5), None, ROOT)
    assert {claim.p for claim in found.claims} == {1.0}
    assert not any(claim.holds or claim.is_worse for claim in found.claims)
    assert {(each.above, each.below) for each in found.overall} == {(0, 0)}
    assert "[-inf, +inf] | 1.0000 | open |" in page.markdown(found)
    assert "inf" not in page.page(found).partition("<table>")[0]
    assert msgspec.json.decode(msgspec.json.encode(found), type=Comparison) == found


def test_a_gain_without_an_interval_is_drawn_at_its_value(
    results_of_worlds: Store,
) -> None:
    found = compare(results_of_worlds, PAIR, (SMALL,), range(1, 5), None, ROOT)
    gains = [-20.0, 40.0]
    claims = [
        replace(claim, gain=replace(claim.gain, value=value))
        for claim, value in zip(found.claims, gains, strict=True)
    ]
    drawn = page.page(replace(found, claims=claims)).split("<svg ")[2]
    low, high = (float(at) for at in re.findall(r"<circle [^>]*cx='([\d.]+)'", drawn))
    ((left, width),) = re.findall(r"<rect class='area' x='([\d.]+)' [^>]*width='([\d.]+)'", drawn)
    assert float(left) < low < high < float(left) + float(width)
    (zero,) = re.findall(r"<line class='zero' x1='([\d.]+)'", drawn)
    assert (high - float(zero)) / (float(zero) - low) == pytest.approx(2, abs=0.05)


def test_identical_worlds_do_not_narrow_the_interval(results_of_worlds: Store) -> None:
    found = compare(results_of_worlds, PAIR, (SMALL,) * 3, range(1, 5), None, ROOT)
    for each in found.overall:
        alone = next(claim.gain for claim in found.claims if claim.rival == each.rival)
        assert (each.gain.value, each.gain.low, each.gain.high) == pytest.approx(
            (alone.value, alone.low, alone.high)
        )


def test_a_summary_table_is_shown_from_three_worlds_on(
    results_of_worlds: Store,
) -> None:
    text = page.markdown(compare(results_of_worlds, PAIR, WORLDS, range(1, 5), None, ROOT))
    assert "| world | wide | do_nothing |" in text
    assert "| mean of the worlds | " in text
    assert "| worlds above, around, below zero | " in text
    few = compare(results_of_worlds, PAIR, WORLDS[:2], range(1, 5), None, ROOT)
    assert "mean of the worlds" not in page.markdown(few)


def test_holdout_seeds_need_the_holdout_flag() -> None:
    for text in ("9001-9002", "9500", "1-99999"):
        with pytest.raises(SeedFault, match="--holdout"):
            blocks_named(text, "", holdout=False)
    assert blocks_named("9001-9002", "", holdout=True) == (range(9001, 9003), None)
    assert blocks_named("1-1999", "", holdout=False) == (range(1, 2000), None)


@pytest.mark.parametrize("text", ["", "5-1", "0-3", "a-b", "1-2-3", "-4", "9" * 5_000])
def test_an_invalid_seed_range_is_rejected(text: str) -> None:
    with pytest.raises(SeedFault):
        seeds_named(text)


def test_each_use_of_the_holdout_is_logged(tmp_path: Path) -> None:
    log = tmp_path / "holdout.md"
    for day in ("2027-01-01", "2027-02-01"):
        log_opening(log, day, range(9001, 9010), "ladder_joint", "base", "abc")
    lines = log.read_text(encoding="utf-8").splitlines()
    assert lines[0] == "# Openings of the holdout"
    assert lines[-1] == "| 2027-02-01 | 9001-9009 | ladder_joint | base | abc |"
    assert sum(line.startswith("| 2027") for line in lines) == 2


def test_every_entry_and_ablation_has_valid_parameters() -> None:
    for entry in (*ENTRIES, *ABLATIONS):
        for params in entry.settings() if entry.plugin else ():
            assert entry.maker(params, ROOT)() is not None


def test_baselines_are_included_unless_excluded() -> None:
    names = [entry.name for entry in entries_named("ladder_joint,ladder_joint@30")]
    assert names[:2] == ["ladder_joint", "ladder_joint_budget30"]
    assert {"do_nothing", "pure_mm", "no_skew", "per_rung", "queue_touch"} <= set(names)
    assert len(entries_named("glft", baselines=False)) == 1


def test_an_entry_with_a_budget_of_zero_is_rejected() -> None:
    with pytest.raises(StrategyFault, match="no strategy 'glft@0'"):
        entries_named("glft@0", baselines=False)


def test_an_entry_can_be_named_at_one_value_of_its_risk_parameter() -> None:
    (plain, under) = entries_named("lot_30:0.6,lot_30:0.6@30", baselines=False)
    assert (plain.name, plain.values, plain.budget_cents) == ("lot_30_0.6", (0.6,), None)
    assert (under.name, under.values) == ("lot_30_0.6_budget30", (0.6,))
    assert under.budget_cents == 3_000
    for name, said in (("lot_30:7", "evaluated at 0.3, 0.6, 1.2"), ("arb:1", "it has one setting")):
        with pytest.raises(StrategyFault, match=said):
            entries_named(name)


def test_the_key_of_a_run_contains_the_code_of_its_strategy() -> None:
    assert code_digest("fixed_spread", folder=ROOT) != code_digest("ladder_joint", folder=ROOT)
    assert code_digest("fixed_spread", folder=ROOT) == code_digest("fixed_spread", folder=ROOT)


def changed_code(folder: Path) -> str:
    code_digest.cache_clear()
    return code_digest("./mine.py", folder=folder)


def test_the_key_of_a_run_contains_the_code_that_its_strategy_imports(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    package = tmp_path / "kit_of_mine"
    package.mkdir()
    for name, text in (
        ("__init__", "PART = 1\n"),
        ("lots", "from . import sizes\ndef lot():\n    return sizes.LOT\n"),
        ("sizes", "LOT = 1\n"),
        ("unused", "LOT = 1\n"),
    ):
        (package / f"{name}.py").write_text(text)
    (tmp_path / "mine.py").write_text(
        "import json, numpy\nfrom bot.strategy.api import Strategy\n"
        "from kit_of_mine.lots import lot\nclass Mine(Strategy): pass\nSTRATEGY = Mine\n"
    )
    names = {changed_code(tmp_path)}
    for name in ("__init__", "lots", "sizes"):
        with (package / f"{name}.py").open("a") as file:
            file.write("# another line\n")
        names.add(changed_code(tmp_path))
    assert len(names) == 4
    (package / "unused.py").write_text("LOT = 2\n")
    assert changed_code(tmp_path) in names


def test_computing_the_key_of_a_run_executes_no_code_that_the_strategy_does_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "parts_of_mine" / "deep").mkdir(parents=True)
    (tmp_path / "parts_of_mine" / "deep" / "sizes.py").write_text("LOT = 1\n")
    kit = tmp_path / "absent_kit"
    kit.mkdir()
    (kit / "__init__.py").write_text("raise RuntimeError('no such device')\n")
    (kit / "fast.py").write_text("LOT = 1\n")
    (tmp_path / "torn_of_mine.py").write_text("def (\n")
    (tmp_path / "script_of_mine.py").write_text("raise SystemExit(7)\n")
    (tmp_path / "mine.py").write_text(
        "from bot.strategy.api import Strategy\n"
        "try:\n    from absent_kit.fast import LOT\nexcept RuntimeError:\n    LOT = 2\n"
        "try:\n    import torn_of_mine\nexcept SyntaxError:\n    pass\n"
        "class Mine(Strategy):\n"
        "    def later(self):\n        from parts_of_mine.deep import sizes\n"
        "STRATEGY = Mine\n"
        "if __name__ == '__main__':\n    from script_of_mine import main\n"
    )
    names = {changed_code(tmp_path)}
    for changed in ("absent_kit/fast.py", "torn_of_mine.py", "parts_of_mine/deep/sizes.py"):
        with (tmp_path / changed).open("a") as file:
            file.write("# another line\n")
        names.add(changed_code(tmp_path))
    assert len(names) == 4


def test_two_strategy_files_of_the_same_name_have_different_keys(tmp_path: Path) -> None:
    for cents in ("1", "2"):
        (tmp_path / cents).mkdir()
        (tmp_path / cents / "alike.py").write_text(
            "from bot.strategy.api import Strategy\n"
            f"class Alike(Strategy):\n    cents = {cents}\n"
            "STRATEGY = Alike\n"
        )
    names = ("./1/alike.py", "./2/alike.py")
    for name in names:
        find_strategy(name, tmp_path)  # both are known before either is asked about
    assert len({code_digest(name, folder=tmp_path) for name in names}) == 2


def test_a_budget_of_an_entry_without_edge_keeps_zero_edge(tmp_path: Path) -> None:
    idle = Contender("idle", "fixed_spread", {"half_spread_cents": 49}, "max_position_qty", (1,))
    pair = (idle, msgspec.structs.replace(idle, name="idle_budget5", budget_cents=500))
    kept = RunStore(tmp_path / "idle.jsonl", RunMetrics)
    run_missing(kept, pair, (SMALL,), range(1, 6))
    (line,) = compare(kept, pair, (SMALL,), range(1, 6), None, ROOT).budgets
    kept_share = line.edge_kept
    assert (line.edge_before, kept_share.value, kept_share.low, kept_share.high) == (0, 0, 0, 0)


def test_evaluate_prints_and_saves_the_comparison_as_json(tmp_path: Path) -> None:
    arguments = [
        *("evaluate", "--strategies", "fixed_spread,do_nothing", "--worlds", "theme-thin"),
        *("--seeds", "1-3", "--steps", "40", "--no-baselines", "--jobs", "1", "--json"),
        *("--html", str(tmp_path / "page.html"), "--save", str(tmp_path / "found.json")),
    ]
    came = invoke(*arguments)
    assert came.exit_code == 0, came.output
    told = json.loads(came.stdout)
    assert (came.stdout.count("\n"), told["worlds"]) == (1, ["theme-thin"])
    assert json.loads((tmp_path / "found.json").read_bytes()) == told
    assert [line["entry"] for line in told["lines"]] == ["fixed_spread", "do_nothing"]
    assert (tmp_path / "page.html").read_text(encoding="utf-8").startswith("<!doctype html>")


@pytest.mark.parametrize(
    ("option", "value", "said"),
    [
        ("--seeds", "9001-9003", "--holdout"),
        ("--worlds", "mars", "no world"),
        ("--strategies", "nothing_like_it", "no strategy"),
        ("--tune", "90-120", "--tune 90-120 shares seeds with --seeds 1-100"),
    ],
)
def test_evaluate_rejects_invalid_options_with_exit_code_2(
    option: str, value: str, said: str
) -> None:
    came = invoke("evaluate", option, value)
    assert came.exit_code == 2
    assert said in came.output


MINE = """
from bot.strategy.api import Strategy

ASKED = []

class Mine(Strategy):
    name = "mine"

    def quote(self, view):
        {does}


STRATEGY = Mine
"""


def test_the_holdout_is_not_used_when_its_log_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(SeedFault, match="cannot be written from here"):
        log_opening(tmp_path / "docs" / "log.md", "d", range(9001, 9002), "a", "base", "x")


@pytest.mark.parametrize("option", ["--save", "--html", "--markdown", "--results"])
def test_evaluate_rejects_an_unwritable_output_file_before_any_run(
    tmp_path: Path, option: str
) -> None:
    path = str(tmp_path / "nope" / "x")
    came = evaluated(tmp_path, "return {}", option, path)
    assert came.exit_code == 2
    assert path in came.stderr
    assert " simulations" not in came.stderr


@pytest.mark.parametrize("option", ["--save", "--html"])
def test_evaluate_names_the_file_when_the_disk_is_full(tmp_path: Path, option: str) -> None:
    came = evaluated(tmp_path, "return {}", option, "/dev/full")
    assert came.exit_code == 2
    assert came.stderr.endswith("/dev/full: No space left on device\n")


def test_evaluate_names_the_results_file_when_a_run_cannot_be_saved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = RunStore(tmp_path / "gone" / "lives.jsonl", RunMetrics)
    with pytest.raises(NotKept, match=r"lives\.jsonl: No such file"):
        store.put("a life", RunMetrics())

    def full(*_: object) -> None:
        raise NotKept("lives.jsonl: No space left on device")

    monkeypatch.setattr("bot.lab.evaluate.results.RunStore.put", full)
    came = evaluated(tmp_path, "return {}")
    assert came.exit_code == 2
    assert came.stderr.endswith("lives.jsonl: No space left on device\n")


def test_evaluate_rejects_a_document_without_markers_before_any_run(
    tmp_path: Path,
) -> None:
    document = tmp_path / "text.md"
    document.write_text("nothing\n", encoding="utf-8")
    came = evaluated(tmp_path, "return {}", "--markdown", str(document))
    assert came.exit_code == 2
    assert "to put the tables between" in came.stderr
    assert " simulations" not in came.stderr


INTERRUPTS = (
    "import os, signal; ASKED or os.kill(os.getpid(), signal.SIGINT); ASKED.append(1); return {}"
)
"""Sends Ctrl-C when it is called first."""


def test_ctrl_c_saves_the_finished_runs_and_exits_with_4(tmp_path: Path) -> None:
    kept = tmp_path / "results.jsonl"
    few = ("--seeds", "1-3", "--results", str(kept))
    came = evaluated(tmp_path, INTERRUPTS, *few)
    assert came.exit_code == 4
    assert f"1 of 3 simulations ran and are saved in {kept}" in came.stderr
    assert evaluated(tmp_path, INTERRUPTS, *few).exit_code == 0


def test_ctrl_c_prints_the_tables_of_the_complete_seeds(tmp_path: Path) -> None:
    came = evaluated(tmp_path, INTERRUPTS, "--seeds", "1-3")
    assert came.exit_code == 4
    assert came.stdout.startswith("Seeds 1-1")
    assert "tables are of the complete seeds" in came.stderr


def test_results_are_kept_without_being_asked_for(tmp_path: Path) -> None:
    assert evaluated(tmp_path, "return {}").exit_code == 0
    assert "1 simulations, 1 of them saved before" in evaluated(tmp_path, "return {}").stderr


def test_results_that_cannot_be_kept_are_announced_and_the_evaluation_runs(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("a file")
    came = evaluated(tmp_path, "return {}")
    assert came.exit_code == 0
    assert came.stderr.startswith("results are not saved: state/evaluate.jsonl: ")


def test_a_long_evaluation_says_how_long_it_takes_before_it_begins(tmp_path: Path) -> None:
    came = evaluated(tmp_path, INTERRUPTS, "--seeds", "1-999", "--steps", "100")
    assert came.exit_code == 4
    announced = "about 8 min; shorter: --quick, fewer --seeds or --steps, more --jobs"
    assert announced in came.stderr.splitlines()[:2]


def test_a_quick_evaluation_has_six_seeds() -> None:
    few = ("--strategies", "arb", "--worlds", "theme-thin", "--no-baselines", "--jobs", "1")
    came = invoke("evaluate", *few, "--steps", "40", "--quick")
    assert came.exit_code == 0, came.stderr
    assert came.stdout.startswith("Seeds 1-6")


def evaluated(folder: Path, does: str, *options: str) -> Result:
    (folder / "mine.py").write_text(MINE.format(does=does), encoding="utf-8")
    arguments = ["evaluate", "--strategies", str(folder / "mine.py"), "--worlds", "theme-thin"]
    few = ["--seeds", "1-1", "--steps", "40", "--no-baselines", "--jobs", "1"]
    return invoke(*arguments, *few, *options)


@pytest.mark.parametrize(
    ("does", "said"),
    [
        ("raise ValueError('of mine')", "mine.py:10: ValueError: of mine"),
        ("return [view]", "wanted a mapping of market_id to quotes, got list"),
    ],
)
def test_a_strategy_that_always_fails_is_reported_above_the_tables_with_exit_code_3(
    tmp_path: Path, does: str, said: str
) -> None:
    came = evaluated(tmp_path, does)
    assert came.exit_code == 3
    first = came.stdout.splitlines()[0]
    assert first.startswith("**")
    assert "its strategy was at fault " in first
    assert ", at every decision, first " in first
    assert said in first
    assert said in came.stderr


def test_a_strategy_that_fails_now_and_then_ends_an_evaluation_with_exit_code_2(
    tmp_path: Path,
) -> None:
    came = evaluated(tmp_path, "ASKED.append(1); return {} if len(ASKED) > 1 else {}[0]")
    assert came.exit_code == 2
    assert "at every decision" not in came.stderr
