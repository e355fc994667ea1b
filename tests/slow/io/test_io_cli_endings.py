"""Claims about the end of a program that nobody reads, that cannot write, or that Ctrl-C meets."""

import itertools
import json
import os
import resource
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from functools import partial
from types import SimpleNamespace

import pytest
import typer
from typer.testing import CliRunner

import bot.__main__
import venue.__main__
from bot.cli.run import summary_text
from bot.io.state.kill_switch_file import KillSwitchFile
from tests.builders.house.tree import ROOT
from tests.builders.io.commands import demo_with_strategy, finished, invoke
from venue.cli.groups import CommandGroup

WORDS = [
    ("bot", "--help"),
    ("bot", "config", "schema"),
    ("venue", "--help"),
    ("venue", "market", "--help"),
]


@contextmanager
def closed_pipe():
    """The writing end of a pipe that nobody reads."""
    reads, writes = os.pipe()
    os.close(reads)
    try:
        yield writes
    finally:
        os.close(writes)


@pytest.mark.parametrize("words", WORDS, ids=" ".join)
def test_a_program_ends_quietly_when_its_output_is_closed_and_with_a_line_on_a_full_disk(words):
    with closed_pipe() as output:
        done = finished(*words, stdout=output)
    assert (done.returncode, done.stderr) == (141, "")
    with open("/dev/full", "wb") as full:
        done = finished(*words, stdout=full)
    said = "the output cannot be written: No space left on device\n"
    assert (done.returncode, done.stderr) == (74, said)


SHOWS_A_TABLE = """
import typer
from venue.cli.check import _show
from venue.cli.groups import CommandGroup
app = typer.Typer(cls=CommandGroup)
app.callback()(lambda: None)
app.command("show")(lambda: _show([]))
app(["show"])
"""


@pytest.mark.parametrize("how", [("-c",), ("-u", "-c")], ids=" ".join)
def test_a_table_that_cannot_be_written_ends_as_every_other_output(how):
    with closed_pipe() as output:
        closed = finished(*how, SHOWS_A_TABLE, stdout=output)
    with open("/dev/full", "wb") as full:
        refused = finished(*how, SHOWS_A_TABLE, stdout=full)
    assert (closed.returncode, refused.returncode) == (141, 74)


PAPER = "configs/paper.yaml"


@pytest.mark.parametrize(
    ("files", "words"),
    [
        (32, ("bot", "run", "configs/demo.yaml", "--for", "1s")),
        (16, ("bot", "record", PAPER)),
        (12, ("bot", "check", PAPER)),
        (12, ("bot", "plan", "configs/demo.yaml", "--cold")),
        (12, ("bot", "cancel-all", "configs/keyed.yaml")),
        (12, ("venue", "serve", "--port", "0")),
        (16, ("venue", "serve", "--port", "0")),
    ],
    ids=str,
)
def test_too_low_a_limit_of_open_files_is_reported_in_one_line(tmp_path, files, words):
    shutil.copytree(ROOT / "configs", tmp_path / "configs")
    keyed = (tmp_path / PAPER).read_text().replace("key_file: ../state/", "key_file: ./")
    (tmp_path / "configs/keyed.yaml").write_text(keyed)
    (tmp_path / "configs/venue-keys.json").write_text('{"maker": "a", "reaper": "b"}')

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))

    done = finished(*words, cwd=tmp_path, preexec_fn=limit)
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr.splitlines()[-1].startswith(f"{files} files may be open at once: at least ")
    assert "Traceback" not in done.stderr


def test_an_unreadable_file_is_not_mistaken_for_unwritable_output():
    app = typer.Typer(cls=CommandGroup, pretty_exceptions_enable=False)

    @app.callback()
    def about() -> None:
        """A group."""

    @app.command()
    def read() -> None:
        (ROOT / "no such file").read_bytes()

    assert isinstance(CliRunner().invoke(app, ["read"]).exception, FileNotFoundError)


def test_the_exit_code_says_that_orders_are_left_although_the_summary_cannot_be_printed(
    monkeypatch,
):
    def refuses(text: str) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("bot.cli.run.run_all", lambda *_: (4, {}))
    monkeypatch.setattr(typer, "echo", refuses)
    assert invoke("run", ROOT / "configs/demo.yaml").exit_code == 4


NO_LAST_THREAD = """
import sys, threading
start = threading.Thread.start
def refuses(thread):
    if "shutdown" in getattr(thread._target, "__name__", ""):
        raise RuntimeError("can't start new thread")
    start(thread)
threading.Thread.start = refuses

import bot.cli.main
sys.argv[0] = "bot"
bot.cli.main.main()
"""


def test_a_run_prints_its_summary_although_no_thread_can_be_started_at_its_end(tmp_path):
    words = ("run", "configs/demo.yaml", "--for", "1s", "--json", "--status-port", "0")
    done = finished("-c", NO_LAST_THREAD, *words, "--state-dir", tmp_path)
    assert done.returncode == 0, done.stderr[-2000:]
    assert json.loads(done.stdout.splitlines()[-1])["exit_code"] == 0


@pytest.mark.parametrize(
    ("words", "begun", "numbers"),
    [
        (
            ("run", "second.yaml", "--status-port", "0"),
            "quoting",
            (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1),
        ),
        (("record",), "recording", (signal.SIGTERM,)),
    ],
    ids=["run", "record"],
)
def test_signals_after_the_first_change_nothing_up_to_the_very_end(tmp_path, words, begun, numbers):
    more = ("configs/demo.yaml", "--json", "--state-dir", "state")
    command = [sys.executable, "-m", "bot", *words, *more]
    demo = shutil.copytree(ROOT / "configs", tmp_path / "configs") / "demo.yaml"
    second = demo.read_text().replace("AURELIA-VAL", "QUILLON-VAL")
    (tmp_path / "second.yaml").write_text(second.replace("venue.yaml", "configs/venue.yaml"))
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=tmp_path, stdout=pipe, stderr=pipe, text=True) as run:
        assert run.stdout is not None
        assert run.stderr is not None
        for line in run.stderr:
            if f'"event": "{begun}"' in line:
                break
        drained = threading.Thread(target=run.stderr.read)
        drained.start()
        until_s = time.monotonic() + 30
        run.send_signal(signal.SIGTERM)
        in_turn = itertools.cycle(numbers)
        while run.poll() is None and time.monotonic() < until_s:
            run.send_signal(next(in_turn))
            time.sleep(0.0005)  # so that one comes between any two handlers of it
        assert run.wait(10) == 0
        summary = json.loads(run.stdout.read())
        runs = list(summary.get("series", {"": summary}).values())
        assert len(runs) == words.count("second.yaml") + 1
        assert all(each["seconds"] > 0 for each in runs)
        drained.join()


DEMO_STATE = ("configs/demo.yaml", "--state-dir", "{folder}")


@pytest.mark.parametrize(
    ("closed", "words", "code", "said"),
    [
        (1, ("bot", "run", *DEMO_STATE, "--for", "1s", "--status-port", "0"), 0, None),
        (0, ("bot", "reset", *DEMO_STATE), 2, "nobody to ask"),
        (2, ("venue", "serve", "--port", "0", "--config", "{folder}/none.yaml"), 2, None),
    ],
    ids=["stdout", "stdin", "stderr"],
)
def test_a_program_started_with_a_closed_stream_ends_with_its_usual_code(
    tmp_path, closed, words, code, said
):
    if "reset" in words:
        KillSwitchFile(tmp_path).set("loss_cents", "breaker", 1)
    words = [each.format(folder=tmp_path) for each in words]
    done = finished(*words, preexec_fn=partial(os.close, closed))
    assert done.returncode == code, done.stderr
    assert said is None or done.stderr.startswith(said)


def test_a_taken_control_address_ends_the_venue_with_3(tmp_path):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        control = f"127.0.0.1:{taken.getsockname()[1]}"
        words = ("venue", "serve", "--port", "0", "--control", control, "--no-crowd")
        files = ("--keys-file", tmp_path / "k", "--control-token-file", tmp_path / "t")
        done = finished(*words, *files)
    assert done.returncode == 3
    assert "cannot be bound" in done.stderr
    assert "try another port" in done.stderr


@pytest.mark.parametrize("words", [("check",), ("plan", "--cold", "--wait", "60s")], ids=" ".join)
def test_a_check_or_plan_ended_by_sigterm_leaves_no_venue_behind(tmp_path, words):
    command = [sys.executable, "-m", "bot", words[0], "configs/demo.yaml", *words[1:]]
    with subprocess.Popen(
        command, cwd=ROOT, env={**os.environ, "TMPDIR": str(tmp_path)}, stderr=subprocess.PIPE
    ) as look:
        until_s = time.monotonic() + 30
        while not list(tmp_path.glob("bot-*/venue-keys.json")) and time.monotonic() < until_s:
            time.sleep(0.01)
        assert len(list(tmp_path.iterdir())) == 1
        look.terminate()
        _, told = look.communicate(timeout=30)
    assert (look.returncode, told) == (143, b"")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("program", "name"),
    [(bot.__main__, "bot.cli.main"), (venue.__main__, "venue.cli.main")],
    ids=["bot", "venue"],
)
def test_ctrl_c_while_a_program_loads_ends_it_quietly(monkeypatch, program, name):
    def interrupted() -> None:
        raise KeyboardInterrupt

    monkeypatch.setitem(sys.modules, name, SimpleNamespace(main=interrupted))
    with pytest.raises(SystemExit) as end:
        program.main()
    assert end.value.code == 130


def test_the_summary_for_a_person_leaves_out_empty_lines():
    summary = {
        "fills": 0,
        "latched": "",
        "refused": {},
        "first_two_sided_s": None,
        "profit": {"a": 1},
    }
    assert summary_text(summary) == "fills: 0"
    assert summary_text(summary | {"latched": "loss"}) == "fills: 0\nlatched: loss"


def test_a_run_whose_strategy_fails_at_every_decision_ends_with_exit_code_3(tmp_path):
    raises = (
        "from bot.strategy.api import Strategy\n\n\n"
        "class Mine(Strategy):\n"
        "    name = 'mine'\n\n"
        "    def quote(self, view):\n"
        "        raise ValueError('bad')\n\n\n"
        "STRATEGY = Mine\n"
    )
    config = demo_with_strategy(tmp_path, raises, "fails")
    done = finished(
        "bot", "run", config, "--for", "8s", "--json", "--state-dir", tmp_path / "state"
    )
    summary = json.loads(done.stdout)
    assert done.returncode == summary["exit_code"] == 3, done.stderr
    assert summary["strategy_failed"]
    assert (summary["died"], summary["latched"]) == ([], "")
