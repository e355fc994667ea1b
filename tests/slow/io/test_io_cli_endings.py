"""Claims about the end of a program that nobody reads, that cannot write, or that Ctrl-C meets."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from functools import partial
from types import SimpleNamespace

import pytest
import typer
from typer.testing import CliRunner

import bot.__main__
import bot.cli.main
import venue.__main__
from bot.cli.run import summary_text
from bot.io.state.kill_switch_file import KillSwitchFile
from tests.builders.house.tree import ROOT
from venue.cli.groups import CommandGroup

WORDS = [
    ("bot", "--help"),
    ("bot", "strategies"),
    ("bot", "config", "schema"),
    ("venue", "--help"),
    ("venue", "market", "--help"),
]


def ended(words, stdout) -> tuple[int, str]:
    """The exit code of a program that writes there, and what it says on stderr."""
    done = subprocess.run(
        [sys.executable, "-m", *words],
        cwd=ROOT,
        stdout=stdout,
        stderr=subprocess.PIPE,
        text=True,
        timeout=60,
        check=False,
    )
    return done.returncode, done.stderr


@pytest.mark.parametrize("words", WORDS, ids=" ".join)
def test_output_that_nobody_reads_any_more_ends_it_quietly(words):
    reads, writes = os.pipe()
    os.close(reads)
    try:
        assert ended(words, writes) == (141, "")
    finally:
        os.close(writes)


@pytest.mark.parametrize("words", WORDS, ids=" ".join)
def test_output_that_a_full_disk_refuses_is_told_in_one_line(words):
    with open("/dev/full", "wb") as full:
        code, told = ended(words, full)
    assert code == 74
    assert told == "the output cannot be written: No space left on device\n"


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
def test_a_table_that_nobody_takes_ends_as_every_other_output(how):
    words = [sys.executable, *how, SHOWS_A_TABLE]
    reads, writes = os.pipe()
    os.close(reads)
    closed = subprocess.run(words, cwd=ROOT, stdout=writes, timeout=60, check=False)
    os.close(writes)
    with open("/dev/full", "wb") as full:
        refused = subprocess.run(words, cwd=ROOT, stdout=full, timeout=60, check=False)
    assert (closed.returncode, refused.returncode) == (141, 74)


PAPER = "configs/paper.yaml"


@pytest.mark.parametrize(
    ("files", "words"),
    [
        (16, ("bot", "run", "configs/demo.yaml", "--for", "1s")),
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
def test_too_few_files_that_may_be_open_are_told_in_one_line(tmp_path, files, words):
    shutil.copytree(ROOT / "configs", tmp_path / "configs")
    keyed = (tmp_path / PAPER).read_text().replace("key_file: ../state/", "key_file: ./")
    (tmp_path / "configs/keyed.yaml").write_text(keyed)
    (tmp_path / "configs/venue-keys.json").write_text('{"maker": "a", "reaper": "b"}')
    done = subprocess.run(
        ["bash", "-c", f'ulimit -n {files}; exec "$@"', "-", sys.executable, "-m", *words],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr.splitlines()[-1].startswith(f"{files} files may be open at once: at least ")
    assert "Traceback" not in done.stderr


def test_what_a_file_refuses_is_not_taken_for_output_that_cannot_be_written():
    app = typer.Typer(cls=CommandGroup, pretty_exceptions_enable=False)

    @app.callback()
    def about() -> None:
        """A group."""

    @app.command()
    def read() -> None:
        (ROOT / "no such file").read_bytes()

    assert isinstance(CliRunner().invoke(app, ["read"]).exception, FileNotFoundError)


def test_that_orders_are_left_is_told_though_the_summary_cannot_be(monkeypatch):
    def refuses(text: str) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("bot.cli.run.run_all", lambda *_: (4, {}))
    monkeypatch.setattr(typer, "echo", refuses)
    done = CliRunner().invoke(bot.cli.main.app, ["run", str(ROOT / "configs/demo.yaml")])
    assert done.exit_code == 4


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


def test_how_a_run_ended_is_told_though_no_thread_can_be_begun_to_close_its_loop(tmp_path):
    words = ("run", "configs/demo.yaml", "--for", "1s", "--json", "--status-port", "0")
    done = subprocess.run(
        [sys.executable, "-c", NO_LAST_THREAD, *words, "--state-dir", str(tmp_path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=90,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert json.loads(done.stdout.splitlines()[-1])["exit_code"] == 0


@pytest.mark.parametrize(
    ("words", "begun", "number"),
    [
        (("run", "--status-port", "0"), "quoting", signal.SIGINT),
        (("run", "--status-port", "0"), "quoting", signal.SIGTERM),
        (("run", "--status-port", "0"), "quoting", signal.SIGHUP),
        (("run", "--status-port", "0"), "quoting", signal.SIGUSR1),
        (("run", "second.yaml", "--status-port", "0"), "quoting", signal.SIGTERM),
        (("record",), "recording", signal.SIGTERM),
    ],
    ids=str,
)
def test_signals_after_the_first_change_nothing_up_to_the_very_end(tmp_path, words, begun, number):
    more = ("configs/demo.yaml", "--json", "--state-dir", "state")
    command = [sys.executable, "-m", "bot", *words, *more]
    demo = shutil.copytree(ROOT / "configs", tmp_path / "configs") / "demo.yaml"
    second = demo.read_text().replace("AURELIA-VAL", "QUILLON-VAL")
    (tmp_path / "second.yaml").write_text(second.replace("venue.yaml", "configs/venue.yaml"))
    with subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    ) as run:  # fmt: skip
        assert run.stdout is not None
        assert run.stderr is not None
        for line in run.stderr:
            if f'"event": "{begun}"' in line:
                break
        drained = threading.Thread(target=run.stderr.read)
        drained.start()
        until_s = time.monotonic() + 30
        run.send_signal(signal.SIGTERM)
        while run.poll() is None and time.monotonic() < until_s:
            run.send_signal(number)
            time.sleep(0.0005)  # so that one comes between any two handlers of it
        assert run.wait(10) == 0
        summary = json.loads(run.stdout.read())
        runs = list(summary.get("series", {"": summary}).values())
        assert len(runs) == words.count("second.yaml") + 1
        assert all(each["seconds"] > 0 for each in runs)
        drained.join()


def without(number, *words) -> "subprocess.CompletedProcess[str]":
    """A program that is started with one of its standard streams closed."""
    return subprocess.run(
        [sys.executable, "-m", *words],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        preexec_fn=partial(os.close, number),
    )


def test_a_run_whose_output_was_closed_before_it_began_ends_as_asked(tmp_path):
    words = ("run", "configs/demo.yaml", "--for", "1s", "--status-port", "0")
    done = without(1, "bot", *words, "--state-dir", str(tmp_path))
    assert done.returncode == 0, done.stderr[-2000:]


def test_a_reset_whose_input_is_closed_has_nobody_to_ask(tmp_path):
    KillSwitchFile(tmp_path).set("loss_cents", "breaker", 1)
    done = without(0, "bot", "reset", "configs/demo.yaml", "--state-dir", str(tmp_path))
    assert done.returncode == 2
    assert done.stderr.startswith("nobody to ask here")


def test_a_venue_whose_stderr_is_closed_says_what_is_wrong_by_its_code(tmp_path):
    missing = str(tmp_path / "none.yaml")
    assert without(2, "venue", "serve", "--port", "0", "--config", missing).returncode == 2


@pytest.mark.parametrize("words", [("check",), ("plan", "--cold", "--wait", "60s")], ids=" ".join)
def test_a_look_ended_by_sigterm_leaves_nothing_of_its_venue_behind(tmp_path, words):
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
def test_ctrl_c_while_a_program_loads_is_quiet(monkeypatch, program, name):
    def interrupted() -> None:
        raise KeyboardInterrupt

    monkeypatch.setitem(sys.modules, name, SimpleNamespace(main=interrupted))
    with pytest.raises(SystemExit) as end:
        program.main()
    assert end.value.code == 130


def test_an_operators_address_that_is_taken_ends_the_venue_as_its_own_does(tmp_path):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        control = f"127.0.0.1:{taken.getsockname()[1]}"
        words = ("venue", "serve", "--port", "0", "--control", control, "--no-crowd")
        files = ("--keys-file", str(tmp_path / "k"), "--control-token-file", str(tmp_path / "t"))
        code, told = ended((*words, *files), subprocess.DEVNULL)
    assert code == 3
    assert "cannot be bound" in told
    assert "try another port" in told


def test_the_summary_for_a_person_has_no_line_without_anything_in_it():
    summary = {
        "fills": 0,
        "latched": "",
        "refused": {},
        "first_two_sided_s": None,
        "profit": {"a": 1},
    }
    assert summary_text(summary) == "fills: 0"
    assert summary_text(summary | {"latched": "loss"}) == "fills: 0\nlatched: loss"
