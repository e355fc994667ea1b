"""Claims about the report of a backtest: the same page from the run and from what it saved."""

import re

import pytest

from tests.builders.backtest.made import book, configured, trade, written
from tests.builders.io.commands import invoke, json_of

pytestmark = pytest.mark.xdist_group("report_backtest")
RECORDS = [
    *[book(second / 2, [[40, 30]], [[60, 50]]) for second in range(40)],
    trade(21, 38, 50, "no"),
    *[book(22 + second / 2, [[40, 30]], [[60, 50]]) for second in range(8)],
]


@pytest.fixture(scope="module")
def backtest_runs(tmp_path_factory):
    """The folder of a backtest, and what it said."""
    folder = tmp_path_factory.mktemp("backtest")
    tape = written(folder / "tape", RECORDS)
    config = configured(folder, "fixed_spread")
    files = ("--html", folder / "page.html", "--save", folder / "result.json")
    arguments = ("backtest", "--data", tape, "--config", config)
    return folder, json_of(*arguments, *files)["results"], json_of(*arguments)["results"]


def test_a_report_does_not_overwrite_its_source(backtest_runs):
    folder, _, _ = backtest_runs
    kept = (folder / "result.json").read_bytes()
    done = invoke("report", folder / "result.json", "--html", folder / "result.json")
    assert done.exit_code == 2
    assert "result.json: named twice" in done.stderr
    assert (folder / "result.json").read_bytes() == kept


def test_a_circular_link_is_reported_as_source_and_as_page(backtest_runs):
    circle = backtest_runs[0] / "circle"
    circle.symlink_to(circle)
    read, written = invoke("report", circle), invoke("report", backtest_runs[0], "--html", circle)
    assert (read.exit_code, written.exit_code) == (3, 2)
    assert read.stderr == f"{circle}: Too many levels of symbolic links\n"
    assert written.stderr.startswith(f"{circle}: no file can be written here: Too many levels")


def test_making_a_page_does_not_change_the_backtest(backtest_runs):
    _, watched, alone = backtest_runs
    for each in (*watched, *alone):
        each.pop("cpu_s")
    assert watched == alone
    assert sum(each["fills"] for each in watched) > 0


def test_the_page_of_a_saved_result_is_the_same(backtest_runs):
    folder, _, _ = backtest_runs
    again = folder / "again.html"
    assert invoke("report", folder / "result.json", "--html", again).exit_code == 0
    assert again.read_text() == (folder / "page.html").read_text()


def test_the_report_has_the_profit_requests_and_rejects_of_the_result(backtest_runs):
    folder, results, _ = backtest_runs
    sessions = json_of("report", folder / "result.json")["sessions"]
    assert [each["bound"] for each in sessions] == [each["bound"] for each in results]
    for told, result in zip(sessions, results, strict=True):
        assert told["sources_cents"]["profit"] == round(result["net_millicents"] / 1_000)
        parts = dict(told["sources_cents"])
        assert parts.pop("profit") == sum(parts.values())
        assert told["requests"] == result["requests"]
        assert told["refused"] == result["refused"]
        assert told["fills"] == result["fills"]


def test_queue_models_with_equal_results_are_drawn_once(backtest_runs):
    folder, results, _ = backtest_runs
    text = (folder / "page.html").read_text()
    heads = re.findall(r"<section class='head' aria-label='queue ([\w, ]+)'", text)
    shown = [bound for head in heads for bound in head.split(", ")]
    assert shown == [result["bound"] for result in results]
    assert len(heads) == 1


def test_two_configurations_on_one_tape_are_compared_by_queue_model(backtest_runs):
    folder, results, _ = backtest_runs
    files = folder / "result.json"
    pairs = json_of("report", "--compare", files, files)["pairs"]
    assert len(pairs) == len(results)
    assert {pair["unpaired"] for pair in pairs} == {""}


def test_a_backtest_of_some_records_did_not_end_early(tmp_path):
    tape = written(tmp_path / "tape", RECORDS)
    config, saved = configured(tmp_path, "fixed_spread"), tmp_path / "result.json"
    arguments = ("--data", tape, "--config", config, "--records", 10, "--save", saved)
    assert invoke("backtest", *arguments).exit_code == 0
    sessions = json_of("report", saved)["sessions"]
    assert {each["damage"] for each in sessions} == {""}
    for each in sessions:
        assert "The first 10 records, as asked for." in each["limits"]


@pytest.mark.parametrize("rate", [0.0, 0.3])
def test_the_page_says_whether_faults_were_injected(tmp_path, rate):
    tape, page = written(tmp_path / "tape", RECORDS), tmp_path / "page.html"
    asked = ("--data", tape, "--config", configured(tmp_path, "fixed_spread"), "--html", page)
    model = ("--queue-model", "pessimistic", "--faults", rate)
    (result,) = json_of("backtest", *asked, *model)["results"]
    befallen = sum(result["faults"].values())
    assert (befallen > 0) is (rate > 0)
    said = f"Faults befell {befallen} requests." if rate else "No faults were injected."
    assert f"<li>{said}</li>" in page.read_text()
