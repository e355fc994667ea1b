"""Claims about the command line: exit codes, whole runs on an embedded venue, and sudden death."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import get_args

import pytest
from typer.testing import CliRunner

from bot.cli.main import app
from bot.config.bot_config import finish, read_draft
from bot.core import messages as m
from bot.core.trader import Trader
from bot.io.journal.journal import read_journal, segments
from bot.io.run.embedded import EmbeddedVenue, VenueFault
from bot.io.secret import SecretFault, from_file

ROOT = Path(__file__).resolve().parents[3]
DEMO = ROOT / "configs" / "demo.yaml"
PATIENCE_S = 90
DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def invoke(*arguments: str):
    return CliRunner().invoke(app, list(arguments))


def test_the_version_is_printed():
    done = invoke("version")
    assert done.exit_code == 0
    assert [line.split()[0] for line in done.stdout.splitlines()] == ["bot", "python", "journal"]


@pytest.mark.parametrize("duration", ["60", "0s", "-1s", "1d", "1.5s", "s"])
def test_a_time_that_is_none_is_refused(duration):
    done = invoke("run", str(DEMO), "--for", duration)
    assert done.exit_code == 2
    assert "such as 60s" in done.stderr


def test_a_wrong_configuration_ends_with_2_and_every_fault_on_stderr(tmp_path):
    path = tmp_path / "x.yaml"
    path.write_text(DEMO.read_text().replace("order_qty: 100", "order_qty: 0\n  oops: 1"))
    for command in ("run", "check"):
        done = invoke(command, str(path))
        assert done.exit_code == 2
        assert "risk.order_qty: '0'" in done.stderr
        assert "risk.oops: no such key" in done.stderr
        assert done.stdout == ""


@pytest.mark.parametrize(
    "words",
    ["run", "record", "reaper", "plan", "pnl", "statement", "pause", "cancel-all", "reset"],
)
def test_a_state_directory_without_a_name_is_no_folder_that_one_happens_to_stand_in(words):
    done = invoke(words, str(DEMO), "--state-dir", "")
    assert done.exit_code == 2
    assert "'--state-dir': blank" in done.stderr


def test_a_run_closes_the_folder_that_one_stands_in_to_nobody(tmp_path, monkeypatch):
    here = tmp_path / "project"
    here.mkdir(mode=0o755)
    (here / "notes").write_text("mine")
    monkeypatch.chdir(here)
    done = invoke("run", str(DEMO), "--for", "1s", "--status-port", "0", "--state-dir", ".")
    assert done.exit_code == 3
    assert "name a folder of its own" in done.stderr
    assert here.stat().st_mode & 0o777 == 0o755


def test_a_sighup_before_anything_was_read_does_not_end_the_bot(tmp_path):
    path = tmp_path / "x.yaml"
    os.mkfifo(path)
    command = [sys.executable, "-m", "bot", "run", str(path)]
    with subprocess.Popen(command, stderr=subprocess.PIPE) as bot:
        with path.open("w") as config:  # opens once the bot reads
            bot.send_signal(signal.SIGHUP)
            config.write("nothing: true\n")
        _, told = bot.communicate(timeout=PATIENCE_S)
    assert bot.returncode == 2
    assert b"nothing: no such key" in told


EXTERNAL = """\
series: X
venue: {{base_url: "http://127.0.0.1:{port}/v1", key_file: maker.key}}
strategy: {{name: fixed_spread}}
risk: {{event_loss_cents: 1, series_loss_cents: 1, rung_position_qty: 1, order_qty: 1}}
"""


def external(folder: Path, port: int) -> Path:
    path = folder / "outside.yaml"
    path.write_text(EXTERNAL.format(port=port))
    return path


def test_a_missing_key_file_ends_with_3_and_says_where_it_was_looked_for(tmp_path):
    done = invoke("check", str(external(tmp_path, 1)))
    assert done.exit_code == 3
    assert "maker.key" in done.stderr


def test_a_venue_that_is_not_there_ends_with_3_and_what_to_look_at(tmp_path):
    (tmp_path / "maker.key").write_text("lm_canary")
    (tmp_path / "maker.key").chmod(0o600)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        done = invoke("check", str(external(tmp_path, taken.getsockname()[1])))
    assert done.exit_code == 3
    assert "see whether the venue runs" in done.stderr
    assert "canary" not in done.output


def test_a_tape_is_refused_where_the_venue_is_not_our_own(tmp_path):
    state = str(tmp_path / "s")
    path = str(external(tmp_path, 1))
    done = invoke("run", path, "--tape", str(tmp_path), "--state-dir", state)
    assert done.exit_code == 2
    assert "--tape" in done.stderr


def test_an_embedded_venue_that_cannot_open_tells_the_end_of_its_log(tmp_path):
    venue = EmbeddedVenue.start_child(tmp_path / "none.yaml", tmp_path)
    with pytest.raises(VenueFault, match=r"none\.yaml"):
        venue.ready()
    venue.stop_child()


def test_a_file_named_like_a_module_where_the_bot_was_started_is_no_part_of_the_embedded_venue(
    tmp_path, monkeypatch
):
    (tmp_path / "secrets.py").write_text("raise SystemExit('not of the venue')", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    venue = EmbeddedVenue.start_child(DEMO.with_name("venue.yaml"), tmp_path)
    try:
        assert venue.ready().base_url
    finally:
        venue.stop_child()


def test_an_embedded_venue_that_cannot_write_why_it_ends_makes_think_of_the_disk(tmp_path):
    log = tmp_path / "venue.log"
    log.touch()
    command = [sys.executable, "-c", "raise SystemExit(74)"]
    child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    venue = EmbeddedVenue(child, log)
    with pytest.raises(VenueFault, match="is the disk full"):
        venue.ready()
    venue.stop_child()


@pytest.mark.parametrize("command", ["run", "check"])
def test_a_fault_in_the_embedded_venue_s_file_is_one_of_the_configuration(tmp_path, command):
    path = tmp_path / "demo.yaml"
    path.write_text(DEMO.read_text().replace("port: 8090", "port: 0"))
    opening = DEMO.with_name("venue.yaml").read_text()
    (tmp_path / "venue.yaml").write_text(opening.replace("lag_ms: 5 ", "lag_ms: x "))
    state = ("--state-dir", str(tmp_path / "state")) if command == "run" else ()
    done = invoke(command, str(path), *state)
    assert done.exit_code == 2
    assert done.stderr.startswith(f"{tmp_path}/venue.yaml:5: venue.projection_lag_ms: 'x'")


@pytest.mark.parametrize("command", ["run", "check", "plan", "record"])
def test_an_embedded_venue_s_file_that_is_not_there_is_told_by_the_key_that_names_it(
    tmp_path, command
):
    path = tmp_path / "demo.yaml"
    path.write_text(DEMO.read_text().replace("port: 8090", "port: 0"))
    state = () if command == "check" else ("--state-dir", str(tmp_path / "state"))
    done = invoke(command, str(path), *state)
    assert done.exit_code == 2
    assert f"{path}:9: venue.embedded: no file {tmp_path}/venue.yaml; accepted" in done.stderr


@pytest.mark.parametrize("command", ["run", "record"])
@pytest.mark.parametrize("seed", ["-1", str(2**63)])
def test_a_seed_that_no_crowd_may_have_is_refused(tmp_path, command, seed):
    state = str(tmp_path / "state")
    done = invoke(command, str(DEMO), "--seed", seed, "--for", "1s", "--state-dir", state)
    assert done.exit_code == 2
    assert "--seed" in done.stderr
    assert not (tmp_path / "state").exists()


def test_a_tape_that_is_not_there_is_an_option_at_fault(tmp_path):
    state = str(tmp_path / "state")
    done = invoke("run", str(DEMO), "--tape", str(tmp_path / "none"), "--state-dir", state)
    assert done.exit_code == 2


def test_a_keys_file_without_the_makers_key_is_told(tmp_path):
    (tmp_path / "keys.json").write_text('{"somebody": "lm_x"}')
    with pytest.raises(SecretFault, match="no JSON object with a key named 'maker'"):
        from_file(tmp_path / "keys.json", "maker")


# --- whole runs -----------------------------------------------------------------------------------


@contextmanager
def started(state: Path, *more: str) -> "Iterator[subprocess.Popen[str]]":
    """A run of the demo in a process of its own, which does not outlive the block."""
    command = [sys.executable, "-m", "bot", "run", str(DEMO), "--json", "--status-port", "0"]
    with subprocess.Popen(
        [*command, "--state-dir", str(state), *more],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def page_of(process: "subprocess.Popen[str]") -> str:
    """Where the status page of a run is, which it says first."""
    assert process.stderr is not None
    for line in process.stderr:
        if line.startswith("status page: "):
            return line.removeprefix("status page: ").strip()
    raise AssertionError("no status page was named")


def until(true, what: str) -> None:
    ends = time.monotonic() + PATIENCE_S
    while not true():
        assert time.monotonic() < ends, what
        time.sleep(0.05)


def asked(address: str) -> tuple[int, bytes]:
    try:
        with DIRECT.open(address, timeout=5) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as refused:
        refused.close()
        return refused.code, b""


def replayed(state: Path) -> int:
    """Give a run's events to a second trader: it must wish for the same, entry by entry."""
    config = finish(read_draft(DEMO))
    trader = Trader(config.trader, config.make_strategy)
    wished: list[m.Effect] = []
    entries = list(read_journal(segments(state)[-1]))
    for number, entry in enumerate(entries):
        if isinstance(entry.message, get_args(m.Event)):
            assert wished == [], f"entry {number}"
            wished = trader.receive(entry.message, entry.at_ns)
        else:
            assert wished.pop(0) == entry.message, f"entry {number}"
    return len(entries)


def test_a_run_quotes_both_sides_drains_on_a_signal_and_balances_to_the_cent(tmp_path):
    with started(tmp_path / "s", "--seed", "7") as process:
        page = page_of(process)
        until(lambda: asked(f"{page}healthz")[0] == 200, "healthy")

        def both_sides() -> bool:
            report = json.loads(asked(f"{page}status.json")[1])["report"]
            return report["first_two_sided_ns"] is not None

        until(both_sides, "two-sided")
        second = invoke("run", str(DEMO), "--state-dir", str(tmp_path / "s"))
        assert second.exit_code == 3
        assert "another bot is running on it" in second.stderr
        assert b"laddermaker_resting_orders" in asked(f"{page}metrics")[1]
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0, err
    told = json.loads(out.splitlines()[-1])
    assert told["resting_after"] == told["unknown_open"] == told["self_trades"] == 0
    assert told["ledger_difference_cents"] == 0
    assert told["worst_case_loss_cents_max"] <= told["worst_case_limit_cents"]
    assert told["requests"]["create"] >= 2 * told["rungs"]
    assert replayed(tmp_path / "s") > 100
    keys = json.loads((tmp_path / "s" / "venue-keys.json").read_text())
    written = b"".join(path.read_bytes() for path in (tmp_path / "s").glob("journal-*"))
    assert keys["maker"].encode() not in written
    assert keys["maker"] not in out + err


def venues_of(state: Path) -> list[int]:
    """Processes of the embedded venue that were started for a state directory."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().split(b"\0")
        except OSError:
            continue
        if b"venue" in words and str(state / "venue-keys.json").encode() in words:
            found.append(int(path.parent.name))
    return found


@pytest.mark.skipif(not Path("/proc/self/cmdline").exists(), reason="needs /proc")
def test_when_the_bot_is_killed_its_venue_ends_and_the_state_can_be_used_again(tmp_path):
    with started(tmp_path / "s") as process:
        page_of(process)
        assert len(venues_of(tmp_path / "s")) == 1
        os.kill(process.pid, signal.SIGKILL)
        process.communicate(timeout=PATIENCE_S)
    until(lambda: venues_of(tmp_path / "s") == [], "the venue ended")
    with started(tmp_path / "s", "--for", "100ms") as again:
        out, err = again.communicate(timeout=PATIENCE_S)
    assert again.returncode == 0, err
    assert json.loads(out.splitlines()[-1])["exit_code"] == 0


def test_a_series_that_the_embedded_venue_has_not_ends_with_3_at_once(tmp_path):
    path = tmp_path / "x.yaml"
    text = DEMO.read_text().replace("series: AURELIA-VAL", "series: NOPE-VAL")
    path.write_text(text.replace("embedded: venue.yaml", f"embedded: {DEMO.parent}/venue.yaml"))
    command = [sys.executable, "-m", "bot", "run", str(path), "--for", "60s"]
    done = subprocess.run(
        [*command, "--status-port", "0", "--state-dir", str(tmp_path / "s")],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert done.returncode == 3
    assert "404 market_not_found; look up the series ticker" in done.stderr


def test_a_check_of_the_demo_finds_everything_well():
    done = subprocess.run(
        [sys.executable, "-m", "bot", "check", str(DEMO), "--json"],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    found = json.loads(done.stdout)
    assert done.returncode == 0, found
    assert [each["name"] for each in found["findings"]] == [
        "configuration",
        "read scope",
        "trade scope",
        "series",
        "orders",
        "fills",
        "positions",
        "order book",
        "channel",
    ]
