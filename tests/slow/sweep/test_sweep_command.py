"""`bot sweep` as a user meets it: worlds, tapes and functions, findings in three forms, faults."""

import json
import re
import sys

import pytest

from bot.lab.evaluate.results import NotKept
from bot.lab.sweep.trials import cut
from tests.builders.backtest.made import book, configured, trade, written
from tests.builders.io.commands import invoke
from tests.builders.strategies.strategy_file import strategy_file
from tests.builders.sweep.planted import CONFIG, INTERRUPTED, LOT, OVER, SCORE
from venue.crowd.tape import read_tape

WORLD = ("--config", str(CONFIG), "--world", "independent-base")
SCORED = (*WORLD, "--objective", SCORE)


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path, monkeypatch):
    """Results are kept in ./state."""
    monkeypatch.chdir(tmp_path)


def swept(*arguments):
    return invoke("sweep", "--jobs", "1", *arguments)


def keys(*texts):
    return [part for text in texts for part in ("--over", text)]


def test_sweep_prints_a_grid_as_one_line_of_json():
    over = keys("strategy.params.levels=1,2")
    result = swept(*SCORED, *over, "--seeds", "1-2", "--json")
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert len(result.stdout.splitlines()) == 1
    assert sorted(row["settings"]["strategy.params.levels"] for row in found["rows"]) == ["1", "2"]
    assert found["where"].startswith("independent-base/7x200")


def test_a_recorded_event_is_cut_into_pieces_in_time_order(tmp_path):
    records = [book(second, [[40, 50]], [[60, 50]]) for second in range(1, 21)]
    records += [trade(second + 0.5, 60, 3, "yes") for second in range(1, 21)]
    records.sort(key=lambda row: row["ts"])
    tape = written(tmp_path / "tape", records)
    path = configured(tmp_path, "fixed_spread")
    over = keys("strategy.params.half_spread_cents=1,5")
    kept = tmp_path / "kept.jsonl"
    arguments = ("--data", tape, "--config", path, *over, "--pieces", 2, "--results", kept)
    result = swept(*arguments, "--json")
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert found["cases"] == ["KX-1 1/2", "KX-1 2/2"]
    assert {each["past"] for each in found["followed"]} == {"KX-1 1/2"}
    assert len({row["score"] for row in found["rows"]}) == 2
    again = kept.read_bytes()
    assert swept(*arguments, "--json").stdout == result.stdout
    assert kept.read_bytes() == again


def test_a_strategy_that_reads_the_tape_at_import_gets_no_result(tmp_path):
    tape = written(tmp_path / "tape", [book(second, [[40, 50]], [[60, 50]]) for second in (1, 9)])
    reads = f"with open({str(tape / 'tape.jsonl.gz')!r}, 'rb') as file:\n    file.read()"
    strategy_file(tmp_path / "mine.py", "return {}", before=reads)
    path = configured(tmp_path, "./mine.py")
    result = swept("--data", tape, "--config", path, *keys("risk.order_qty=100,200"))
    assert result.exit_code == 4
    assert result.stdout == ""
    assert "tape.jsonl.gz was opened while the strategy was loaded" in result.stderr


def test_a_piece_begins_with_the_books_of_its_start(tmp_path):
    still = book(0.5, [[20, 50]], [[30, 40]]) | {"ticker": "KX-1-60"}
    moving = [
        book(second, [[50 - second % 2, 50]], [[60, 50]]) | {"ticker": "KX-1-50"}
        for second in range(20)
    ]
    lines = sorted([still, *moving], key=lambda row: row["ts"])
    whole = read_tape(written(tmp_path / "tape", lines, rungs={"50": "yes", "60": "no"}))
    part = cut(whole, 1, 2, records=3)
    records = part.records
    begins_ns = whole.start_ts + (whole.end_ts - whole.start_ts + 1) // 2
    assert [(each.ticker, each.ts) for each in records[:2]] == [
        ("KX-1-50", begins_ns),
        ("KX-1-60", begins_ns),
    ]
    assert records[1].yes == ((20, 50),)
    assert records[1].no == ((70, 40),)
    assert records[2:] == whole.records[11:14]


RAISES = """from pydantic import Field
from bot.strategy.api import Strategy


class Mine(Strategy):
    class Params(Strategy.Params):
        bad: int = Field({bad}, description='raises')

    def quote(self, view):
        if self.params.bad:
            raise ValueError('bad')
        return {{}}
"""


def swept_where_bad_raises(folder, bad: int):
    """A sweep over both values of a key, 1 of which makes the strategy raise. bad: its default."""
    tape = written(folder / "tape", [book(second, [[40, 50]], [[60, 50]]) for second in (1, 9)])
    (folder / "mine.py").write_text(RAISES.format(bad=bad))
    path = configured(folder, "./mine.py:Mine")
    return swept("--data", tape, "--config", path, *keys("strategy.params.bad=0,1"))


def test_a_raising_strategy_fails_only_its_trial(tmp_path):
    result = swept_where_bad_raises(tmp_path, 0)
    assert result.exit_code == 0, result.output
    assert "### Trials that failed" in result.stdout
    why = r"KX-1: the strategy raised [1-9]\d* times, first mine.py:11: ValueError: bad"
    assert re.search(rf"\| 2 \| bad 1 \| {why} \|", result.stdout)


def test_a_configuration_whose_strategy_always_fails_ends_the_sweep_with_exit_code_3(tmp_path):
    result = swept_where_bad_raises(tmp_path, 1)
    assert result.exit_code == 3
    assert "the base configuration: KX-1: the strategy raised " in result.stderr


def test_the_html_page_is_self_contained_and_shows_every_key(tmp_path):
    page = tmp_path / "page.html"
    over = (*keys(f"{LOT}=1:20", "strategy.params.adverse_probit=0.01:0.9:log"),)
    over += (*keys("strategy.params.rule=cara,quad"),)
    how = ("--how", "bayes", "--trials", "12", "--html", page)
    result = swept(*SCORED, *over, *how)
    assert result.exit_code == 0, result.output
    html = page.read_text()
    for title in ("Trials", LOT, "log10 of strategy.params.adverse_probit", "Gains of the best"):
        assert title in html
    assert "What followed each choice" in html
    assert re.findall(r"(?:src|href)=(?!'#)|@import|url\(|<script|https?://", html) == []


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (keys("risk.ordr_qty=1,2"), "did you mean order_qty"),
        (keys("status.port=1,2"), "nothing that is lived in worlds hangs on it"),
        (keys("risk.order_qty=9:1"), "LOW below HIGH"),
        ([*keys(LOT + "=1,2"), "--how", "best"], "grid, random or bayes"),
        ([*keys(LOT + "=1,2"), "--objective", "nett"], "--objective nett: net, spread"),
        ([*keys(LOT + "=1,2"), "--objective", "nowhere:f"], "cannot be imported"),
        ([*keys(LOT + "=1,2"), "--objective", "sys:exit"], "sys is in no file"),
        ([*keys(LOT + "=1,2"), "--seeds", "8990-9001"], "nothing is ever tuned on them"),
        ([*keys(LOT + "=1,2"), "--seeds", "9999"], "nothing is ever tuned on them"),
        ([*keys(LOT + "=1,2"), "--cv-blocks", "30"], "20 cases allow 10"),
        ([*keys(LOT + "=1,2"), "--trials", "1"], "the grid has 2"),
        ([*keys(LOT + "=1,2"), "--data", "x"], "exactly one of --data and --world"),
        (keys(LOT + "=0.5:3.0"), "has no grid"),
        ([*keys(LOT + "=1,2"), "--results", "nowhere/x.jsonl"], "no file can be written here"),
        ([*keys(LOT + "=1,2"), "--results", "/proc/x.jsonl"], "no file can be written here"),
    ],
)
def test_sweep_rejects_invalid_options_with_exit_code_2(arguments, told):
    result = swept(*WORLD, *arguments)
    assert result.exit_code == 2
    assert told in result.stderr


@pytest.mark.parametrize(
    ("library", "arguments"),
    [("optuna", ["--how", "bayes"]), ("distributed", ["--cluster", "tcp://127.0.0.1:1"])],
)
def test_sweep_names_the_missing_library_with_exit_code_2(monkeypatch, library, arguments):
    monkeypatch.setitem(sys.modules, library, None)
    result = swept(*SCORED, *keys(LOT + "=1,2"), *arguments)
    assert result.exit_code == 2
    assert "pip install laddermaker[lab]" in result.stderr


def test_sweep_names_the_file_when_the_disk_is_full(monkeypatch):
    over = keys("strategy.params.levels=1,2")
    page = swept(*SCORED, *over, "--seeds", "1-2", "--html", "/dev/full")
    assert (page.exit_code, page.stderr) == (2, "/dev/full: No space left on device\n")

    def full(*_: object) -> None:
        raise NotKept("lives.jsonl: No space left on device")

    monkeypatch.setattr("bot.lab.evaluate.results.RunStore.put", full)
    kept = swept(*SCORED, *over, "--seeds", "3-4")
    assert (kept.exit_code, kept.stderr) == (2, "lives.jsonl: No space left on device\n")


def test_sweep_refuses_to_append_to_a_file_without_results(tmp_path):
    mine = tmp_path / "mine.yaml"
    mine.write_text("series: ACME-VAL\n", encoding="utf-8")
    result = swept(*SCORED, *keys(LOT + "=1,2"), "--seeds", "1-2", "--results", mine)
    assert result.exit_code == 2
    assert result.stderr == f"{mine}: holds something else than results that were kept\n"
    assert mine.read_text(encoding="utf-8") == "series: ACME-VAL\n"


def test_a_long_sweep_says_how_long_it_takes_before_it_begins(tmp_path):
    function = tmp_path / "mine.py"
    function.write_text("import signal\ndef f(job):\n    signal.raise_signal(signal.SIGINT)\n")
    long = ("--steps", 1_000, "--seeds", "1-20", "--objective", f"{function}:f")
    result = swept(*WORLD, *long, *keys(LOT + "=1,2"))
    assert result.exit_code == 4
    assert result.stderr.startswith("about 5 min; shorter: fewer --seeds")


def test_sweeps_of_one_configuration_in_one_world_keep_their_results_in_one_file(tmp_path):
    over = keys("strategy.params.levels=1,2")
    assert swept(*SCORED, *over, "--seeds", "1-2").exit_code == 0
    [kept] = (tmp_path / "state").iterdir()
    assert kept.name == f"sweep-{CONFIG.stem}-independent-base.jsonl"


def test_ctrl_c_exits_with_4_and_a_second_sweep_resumes(tmp_path):
    kept = tmp_path / "kept.jsonl"
    asked = (*keys(*OVER), "--seeds", "1-4", "--how", "random", "--results", kept, "--trials", 3)
    arguments = (*WORLD, "--objective", "tests.builders.sweep.planted:interrupted", *asked)
    INTERRUPTED.clear()
    result = swept(*arguments)
    assert result.exit_code == 4
    assert "Ended early: these are the trials so far." in result.stdout
    assert "| 0 | base |" in result.stdout
    assert len(kept.read_bytes().splitlines()) == 4 + 3 + 3 + 1  # one lot of seed 3
    assert swept(*arguments).exit_code == 0
    assert len(kept.read_bytes().splitlines()) == 4 + 3 * 4


@pytest.mark.parametrize(
    ("text", "exit_code", "reason"),
    [
        (
            "import signal\ndef f(job):\n    signal.raise_signal(signal.SIGINT)\n    return 1\n",
            4,
            "before the configuration itself had run",
        ),
        ("def f(job):\n    return 'good'\n", 2, "the base configuration: 1: ValueError"),
        (
            "import sys\ndef f(job):\n    sys.exit(3)\n",
            2,
            "would end the program: SystemExit: 3",
        ),
        ("import sys\n\nsys.exit(3)\n", 2, "cannot be imported: mine.py:3: SystemExit: 3"),
    ],
    ids=["Ctrl-C", "no number", "exit", "exit at import"],
)
def test_an_objective_that_fails_on_the_base_configuration_ends_the_sweep(
    tmp_path, text, exit_code, reason
):
    function = tmp_path / "mine.py"
    function.write_text(text)
    arguments = ("--objective", f"{function}:f", *keys(LOT + "=1,2"), "--seeds", "1-4")
    result = swept(*WORLD, *arguments)
    assert result.exit_code == exit_code
    assert reason in result.stderr


@pytest.mark.parametrize("risk", ["inf", "nan", "1e308"])
def test_sweep_rejects_an_infinite_risk_weight(risk):
    over = keys("strategy.params.levels=1,2")
    result = swept(*SCORED, *over, "--seeds", "1-2", "--lambda", risk)
    assert result.exit_code == 2
    assert "--lambda" in result.output


def test_sweep_rejects_an_unknown_queue_model(tmp_path):
    over = keys("strategy.params.levels=1,2")
    result = swept("--config", CONFIG, "--data", tmp_path, *over, "--queue-model", "avers")
    assert result.exit_code == 2
    assert "--queue-model avers: some of pessimistic, expected, optimistic" in result.output
