"""Claims about `bot backtest`: what it prints, and how it ends."""

import errno
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from bot.io.state import atomic_file as whole
from bot.lab.evaluate import timeout as patience
from tests.builders.backtest.made import book, configured, trade, written
from tests.builders.io.commands import invoke, json_of
from tests.builders.speaks import SPEAKS
from tests.builders.strategies.strategy_file import strategy_file

RECORDS = [
    *[book(second / 2, [[40, 30]], [[60, 50]]) for second in range(40)],
    trade(21, 38, 5, "no"),
    book(22, [[40, 30]], [[60, 50]]),
]

INTERRUPTS = """self.calls += 1
        if self.calls == 2:
            with suppress(FileExistsError):
                os.mkdir({once!r})
                os.kill(os.{whose}(), signal.SIGINT)
        return {{}}"""
"""Its second call sends Ctrl-C, once, to this process or to the one that started it."""


def write_interrupting(folder: Path, whose: str) -> None:
    """Write `stops.py`. whose: `getpid`, or `getppid` where the run has a process of its own."""
    quote = INTERRUPTS.format(once=str(folder / "once"), whose=whose)
    strategy_file(folder / "stops.py", quote)


@pytest.fixture
def folder(tmp_path):
    return written(tmp_path / "tape", RECORDS)


def backtest(folder, config, *options):
    options = ("--jobs", "1", "--data", str(folder), "--config", str(config), *options)
    return invoke("backtest", *options)


def without_cpu_time(told):
    """An answer without what differs from one run of the same to the next."""
    if isinstance(told, dict):
        return {key: without_cpu_time(value) for key, value in told.items() if key != "cpu_s"}
    return [without_cpu_time(each) for each in told] if isinstance(told, list) else told


def test_the_json_has_a_result_for_each_queue_model(tmp_path, folder):
    done = backtest(folder, configured(tmp_path, "fixed_spread"), "--json")
    assert done.exit_code == 0
    told = json.loads(done.stdout)
    assert told["whole"] is True
    assert [row["bound"] for row in told["results"]] == ["pessimistic", "expected", "optimistic"]
    assert all(row["settled"] == "outcome" for row in told["results"])


def test_several_processes_give_the_same_figures_as_one(tmp_path, folder):
    config = configured(tmp_path, "fixed_spread")
    found = []
    for jobs in ("1", "2"):
        kept, page = tmp_path / f"{jobs}.json", tmp_path / f"{jobs}.html"
        files = ("--save", str(kept), "--html", str(page))
        done = backtest(folder, config, "--jobs", jobs, "--faults", "0.2", "--json", *files)
        assert done.exit_code == 0, done.stderr
        told = [json.loads(done.stdout), json.loads(kept.read_text())]
        assert page.stat().st_size
        found.append(without_cpu_time(told))
    assert found[0] == found[1]


def test_the_table_has_a_row_for_each_queue_model_and_warns_about_market_impact(tmp_path, folder):
    done = backtest(folder, configured(tmp_path, "fixed_spread"))
    assert done.exit_code == 0
    lines = done.stdout.splitlines()
    read = [["tape", "pessimistic"], ["tape", "expected"], ["tape", "optimistic"]]
    assert [line.split()[:2] for line in lines[1:4]] == read
    assert "tape: replayed history does not react to us: no result about size" in lines


def test_ctrl_c_exits_with_4_and_the_partial_result(tmp_path, folder):
    write_interrupting(tmp_path, "getpid")
    done = backtest(folder, configured(tmp_path, "./stops.py"), "--json")
    assert done.exit_code == 4
    told = json.loads(done.stdout)
    assert told["whole"] is False
    (row,) = told["results"]
    assert not row["whole"]
    assert 0 < row["records"] < len(RECORDS)


@pytest.fixture
def interrupted(tmp_path, folder):
    """A backtest of which the last of three plays was never begun."""
    write_interrupting(tmp_path, "getppid")
    save, page = tmp_path / "kept.json", tmp_path / "page.html"
    files = ("--save", str(save), "--html", str(page))
    done = backtest(folder, configured(tmp_path, "./stops.py"), "--jobs", "2", *files)
    assert done.exit_code == 4, done.output
    return done, save, page


def test_an_interrupted_backtest_is_marked_incomplete_everywhere(interrupted):
    done, save, page = interrupted
    assert re.search(r"^ended early: [12] of 3 runs had begun$", done.stdout, re.MULTILINE)
    why = "the backtest was ended early: plays that it had not begun are missing"
    assert why in page.read_text()
    reported = invoke("report", save)
    assert reported.exit_code == 0
    assert why in reported.stdout
    assert {each["damage"] for each in json_of("report", save)["sessions"]} == {why}


def test_the_prints_of_a_strategy_go_to_stderr(tmp_path, folder):
    (tmp_path / "speaks.py").write_text(SPEAKS)
    done = backtest(folder, configured(tmp_path, "./speaks.py"), "--json")
    assert done.exit_code == 0, done.stderr
    assert json.loads(done.stdout)["whole"] is True
    assert {"loaded", "asked"} <= set(done.stderr.splitlines())


@pytest.mark.parametrize("guard", [(), ("--guard",)], ids=["plain", "guard"])
def test_configuration_and_strategy_can_be_in_the_data_folder(folder, guard):
    (folder / "speaks.py").write_text(SPEAKS)
    done = backtest(folder, configured(folder, "./speaks.py"), "--json", *guard)
    assert done.exit_code == 0, done.stderr
    assert json.loads(done.stdout)["whole"] is True


@pytest.mark.parametrize("options", [(), ("--jobs", "2")], ids=["one process", "two"])
def test_a_strategy_that_opens_the_data_gets_no_result(tmp_path, folder, options):
    path = folder / "tape.jsonl.gz"
    strategy_file(tmp_path / "peeks.py", f"open({str(path)!r}).close(); return {{}}")
    done = backtest(folder, configured(tmp_path, "./peeks.py"), *options, "--json")
    assert (done.exit_code, done.stdout) == (4, "")
    assert f"no result: {path} was opened while the strategy ran" in done.stderr


@pytest.mark.parametrize("options", [("--jobs", "2"), ("--guard",)], ids=["jobs", "guard"])
def test_a_strategy_that_kills_its_worker_process_gets_no_result(tmp_path, folder, options):
    strategy_file(tmp_path / "dies.py", "os._exit(1)")
    done = backtest(folder, configured(tmp_path, "./dies.py"), *options, "--json")
    assert (done.exit_code, done.stdout) == (4, "")
    assert "no result: a process died; is there enough memory for so many?" in done.stderr


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--latency", "fast"), "--latency fast: want whole milliseconds, such as 30ms, or"),
        (("--latency", "fast"), "or empirical:FILE"),
        (
            ("--feed-latency", "1s"),
            "--feed-latency 1s: want whole milliseconds, 0ms to 999999ms, such as 30ms",
        ),
        (("--read-lag", "-1ms"), "--read-lag -1ms: want whole milliseconds"),
        (("--maker-fee", "7%"), "--maker-fee not a fee rate: '7%' (a decimal fraction of 0 to 1"),
        (("--taker-fee", "2"), "--taker-fee not a fee rate: '2' (a decimal fraction of 0 to 1"),
        (("--queue-model", "averse,bold"), "averse,bold: some of pessimistic, expected"),
        (("--html", "nowhere/x.html"), "nowhere/x.html: no file can be written here"),
        (("--html", "x" * 300), "x: no file can be written here: File name too long"),
    ],
)
def test_backtest_rejects_invalid_options_with_exit_code_2(tmp_path, folder, options, said):
    done = backtest(folder, configured(tmp_path, "fixed_spread"), *options)
    assert done.exit_code == 2
    assert said in done.stderr


def test_backtest_rejects_one_file_for_two_outputs_before_it_runs(tmp_path, folder):
    config = configured(tmp_path, "fixed_spread")
    both = str(tmp_path / "x")
    done = backtest(folder, config, "--html", both, "--save", both)
    assert (done.exit_code, done.stdout) == (2, "")
    assert f"{both}: named twice: one would overwrite the other" in done.stderr
    before = config.read_bytes()
    done = backtest(folder, config, "--save", str(config))
    assert (done.exit_code, done.stdout, config.read_bytes()) == (2, "", before)


def test_a_full_disk_leaves_the_previous_results_file_intact(tmp_path, folder, monkeypatch):
    def full(_handle):
        raise OSError(errno.ENOSPC, "No space left on device")

    kept = tmp_path / "kept.json"
    kept.write_text("of before")
    monkeypatch.setattr(whole.os, "fsync", full)
    done = backtest(folder, configured(tmp_path, "fixed_spread"), "--save", str(kept))
    assert done.exit_code == 2
    assert f"{kept}: No space left on device" in done.stderr
    assert kept.read_text() == "of before"
    assert [path for path in tmp_path.iterdir() if path.suffix == ".new"] == []


@pytest.mark.parametrize(
    ("name", "reason"), [("x" * 300, "x: File name too long"), ("", "no tape here")]
)
def test_backtest_rejects_a_folder_that_is_unreadable_or_without_tapes(tmp_path, name, reason):
    done = backtest(tmp_path / name, configured(tmp_path, "fixed_spread"))
    assert done.exit_code == 2
    assert reason in done.stderr


def test_a_backtest_of_the_first_records_is_marked_at_the_last_mid(tmp_path, folder):
    done = backtest(folder, configured(tmp_path, "fixed_spread"), "--records", "10", "--json")
    rows = json.loads(done.stdout)["results"]
    assert [(row["records"], row["settled"]) for row in rows] == [(10, "mid")] * 3


def test_the_output_names_the_fee_rates_used(tmp_path, folder):
    config = configured(tmp_path, "fixed_spread")
    done = backtest(folder, config, "--maker-fee", "0.01", "--queue-model", "pessimistic")
    assert "fees as given, not as recorded: maker 0.0100, taker 0.0700" in done.stdout
    done = backtest(folder, config, "--json", "--queue-model", "pessimistic")
    (row,) = json.loads(done.stdout)["results"]
    assert (row["maker_rate"], row["taker_rate"]) == ("0.0000", "0.0700")


def test_a_requested_number_of_records_is_not_reported_as_an_early_end(tmp_path, folder):
    done = backtest(folder, configured(tmp_path, "fixed_spread"), "--records", "10")
    assert done.exit_code == 0
    assert "tape: the first 10 records of each event, as asked for" in done.stdout
    assert "ended early" not in done.stdout


def test_a_hanging_strategy_exits_with_2_and_its_line(tmp_path, folder, monkeypatch):
    monkeypatch.setattr(patience, "LOOK_S", 0.05)
    strategy_file(tmp_path / "hangs.py", "while True: pass")
    done = backtest(folder, configured(tmp_path, "./hangs.py"))
    assert done.exit_code == 2
    assert done.stderr == "no result: the strategy was not back after 0.5 s, at hangs.py:9\n"


def test_the_first_exception_of_a_strategy_is_reported_with_file_and_line(tmp_path, folder):
    strategy_file(tmp_path / "raises.py", "return self.params.missing")
    done = backtest(folder, configured(tmp_path, "./raises.py"), "--queue-model", "pessimistic")
    assert " strategy errors, the first: raises.py:9: AttributeError" in done.stdout
    assert done.exit_code == 3
    why = "the strategy failed at every decision, so nothing was quoted: raises.py:9: Attribute"
    assert done.stderr.startswith(why)


def test_a_strategy_that_fails_once_still_has_a_result(tmp_path, folder):
    body = "self.asked = getattr(self, 'asked', 0) + 1; return {} if self.asked > 1 else {}[0]"
    strategy_file(tmp_path / "raises.py", body)
    done = backtest(folder, configured(tmp_path, "./raises.py"), "--queue-model", "pessimistic")
    assert " strategy errors, the first: raises.py:9: KeyError" in done.stdout
    assert done.exit_code == 0


def test_sigterm_removes_the_temporary_files(tmp_path, folder):
    strategy_file(tmp_path / "terminates.py", "os.kill(os.getppid(), signal.SIGTERM); return {}")
    config = configured(tmp_path, str(tmp_path / "terminates.py"))
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    options = ("--guard", "--data", str(folder), "--config", str(config))
    ended = subprocess.run(
        [sys.executable, "-m", "bot", "backtest", *options],
        cwd=Path(__file__).parents[3],
        env={**os.environ, "TMPDIR": str(scratch)},
        capture_output=True,
        check=False,
        timeout=60,
    )
    assert ended.returncode == 128 + signal.SIGTERM
    assert not list(scratch.iterdir())


REFUSED = """
import os, signal, time
from bot.cli.common import cleanup_on_sigterm

def refuses():
    raise OSError(30, "Read-only file system")

try:
    with cleanup_on_sigterm(refuses):
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(30)
except OSError:
    print("lost")
"""


def test_sigterm_ends_the_command_even_if_the_cleanup_fails():
    ended = subprocess.run([sys.executable, "-c", REFUSED], capture_output=True, timeout=60)
    assert (ended.returncode, ended.stdout) == (128 + signal.SIGTERM, b"")
