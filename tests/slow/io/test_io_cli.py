"""Claims about `bot run` and `bot check`: options, exit codes, and the embedded venue."""

import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from bot.io.run.embedded import EmbeddedVenue, VenueFault
from tests.builders.e2e.runs import TWO_SIDED_S, wait_until
from tests.builders.io.commands import DEMO, demo_copy, finished, invoke


@pytest.mark.parametrize("duration", ["60", "0s", "-1s", "1d", "1.5s", "s"])
def test_a_duration_that_is_none_is_refused(duration):
    done = invoke("run", str(DEMO), "--for", duration)
    assert done.exit_code == 2
    assert "such as 60s" in done.stderr


def test_a_configuration_with_faults_ends_with_2_and_lists_them_all(tmp_path):
    path = tmp_path / "x.yaml"
    path.write_text(DEMO.read_text().replace("order_qty: 100", "order_qty: 0\n  oops: 1"))
    for command in (["run"], ["check"], ["config", "show"]):
        done = invoke(*command, path)
        assert done.exit_code == 2
        assert "risk.order_qty: '0'" in done.stderr
        assert "risk.oops: no such key" in done.stderr
        assert done.stdout == ""


@pytest.mark.parametrize(
    "words",
    ["run", "record", "reaper", "plan", "pnl", "statement", "pause", "cancel-all", "reset"],
)
def test_a_blank_state_directory_is_refused(words):
    done = invoke(words, str(DEMO), "--state-dir", "")
    assert done.exit_code == 2
    assert "'--state-dir': blank" in done.stderr


def test_a_run_refuses_a_folder_with_other_files_and_keeps_its_mode(tmp_path, monkeypatch):
    here = tmp_path / "project"
    here.mkdir(mode=0o755)
    (here / "notes").write_text("mine")
    monkeypatch.chdir(here)
    done = invoke("run", str(DEMO), "--for", "1s", "--status-port", "0", "--state-dir", ".")
    assert done.exit_code == 3
    assert "name a folder of its own" in done.stderr
    assert here.stat().st_mode & 0o777 == 0o755


def test_a_sighup_while_the_configuration_is_read_does_not_end_the_bot(tmp_path):
    path = tmp_path / "x.yaml"
    os.mkfifo(path)
    command = [sys.executable, "-m", "bot", "run", str(path)]
    with subprocess.Popen(command, stderr=subprocess.PIPE) as bot:
        with path.open("w") as config:  # opens once the bot reads
            bot.send_signal(signal.SIGHUP)
            config.write("nothing: true\n")
        _, told = bot.communicate(timeout=TWO_SIDED_S)
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


def test_a_missing_key_file_ends_with_3_and_is_named(tmp_path):
    done = invoke("check", str(external(tmp_path, 1)))
    assert done.exit_code == 3
    assert "maker.key" in done.stderr


def test_an_unreachable_venue_ends_with_3_and_says_what_to_do(tmp_path):
    (tmp_path / "maker.key").write_text("lm_canary")
    (tmp_path / "maker.key").chmod(0o600)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        done = invoke("check", str(external(tmp_path, taken.getsockname()[1])))
    assert done.exit_code == 3
    assert "see whether the venue runs" in done.stderr
    assert "canary" not in done.output


def test_an_embedded_venue_that_cannot_open_shows_the_end_of_its_log(tmp_path):
    venue = EmbeddedVenue.start_child(tmp_path / "none.yaml", tmp_path)
    with pytest.raises(VenueFault, match=r"none\.yaml"):
        venue.ready()
    venue.stop_child()


def test_the_embedded_venue_imports_nothing_from_the_working_folder(tmp_path, monkeypatch):
    (tmp_path / "secrets.py").write_text("raise SystemExit('not of the venue')", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    venue = EmbeddedVenue.start_child(DEMO.with_name("venue.yaml"), tmp_path)
    try:
        assert venue.ready().base_url
    finally:
        venue.stop_child()


def test_an_embedded_venue_that_ends_without_a_word_suggests_a_full_disk(tmp_path):
    log = tmp_path / "venue.log"
    log.touch()
    command = [sys.executable, "-c", "raise SystemExit(74)"]
    child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    venue = EmbeddedVenue(child, log)
    with pytest.raises(VenueFault, match="is the disk full"):
        venue.ready()
    venue.stop_child()


def test_a_tape_that_is_missing_or_for_another_venue_is_refused(tmp_path):
    for config, tape, said in (
        (external(tmp_path, 1), tmp_path, "--tape"),
        (DEMO, tmp_path / "none", "none/catalog.json: cannot be read"),
    ):
        done = invoke("run", config, "--tape", tape, "--state-dir", tmp_path / "s")
        assert done.exit_code == 2
        assert said in done.stderr


@pytest.mark.parametrize("command", ["run", "check", "plan", "record"])
def test_a_missing_or_wrong_file_of_the_embedded_venue_is_a_fault_of_the_configuration(
    tmp_path, command
):
    path = tmp_path / "demo.yaml"
    path.write_text(DEMO.read_text().replace("port: 8090", "port: 0"))
    state = () if command == "check" else ("--state-dir", tmp_path / "state")
    done = invoke(command, path, *state)
    assert done.exit_code == 2
    assert f"{path}:9: venue.embedded: no file {tmp_path}/venue.yaml; accepted" in done.stderr
    opening = DEMO.with_name("venue.yaml").read_text()
    (tmp_path / "venue.yaml").write_text(opening.replace("lag_ms: 5 ", "lag_ms: x "))
    done = invoke(command, path, *state)
    assert done.exit_code == 2
    assert done.stderr.startswith(f"{tmp_path}/venue.yaml:5: venue.projection_lag_ms: 'x'")


@pytest.mark.parametrize("command", ["run", "record"])
@pytest.mark.parametrize("seed", ["-1", str(2**63)])
def test_a_seed_out_of_range_is_refused(tmp_path, command, seed):
    state = str(tmp_path / "state")
    done = invoke(command, str(DEMO), "--seed", seed, "--for", "1s", "--state-dir", state)
    assert done.exit_code == 2
    assert "--seed" in done.stderr
    assert not (tmp_path / "state").exists()


# --- whole runs -----------------------------------------------------------------------------------


def test_a_series_unknown_to_the_embedded_venue_ends_a_run_with_3(tmp_path):
    path = demo_copy(tmp_path, ("series: AURELIA-VAL", "series: NOPE-VAL"))
    words = ("run", path, "--for", "60s", "--status-port", "0", "--state-dir", tmp_path / "s")
    done = finished("bot", *words)
    assert done.returncode == 3
    assert "404 market_not_found; look up the series ticker" in done.stderr


def test_a_check_of_the_demo_passes_every_finding():
    done = invoke("check", DEMO, "--json")
    found = json.loads(done.stdout)
    assert done.exit_code == 0, found
    names = ["configuration", "read scope", "trade scope", "series", "orders", "fills"]
    names += ["positions", "order book", "channel"]
    assert [each["name"] for each in found["findings"]] == names


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


STARTS_A_VENUE = """
import sys, time
from pathlib import Path
from bot.io.run.embedded import EmbeddedVenue
EmbeddedVenue.start_child(Path(sys.argv[1]), Path(sys.argv[2])).ready()
print("ready", flush=True)
time.sleep(60)
"""


@pytest.mark.skipif(not Path("/proc/self/cmdline").exists(), reason="needs /proc")
def test_the_embedded_venue_of_a_killed_bot_ends(tmp_path):
    command = [sys.executable, "-c", STARTS_A_VENUE, DEMO.with_name("venue.yaml"), tmp_path]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as bot:
        assert bot.stdout is not None
        assert bot.stdout.readline() == "ready\n"
        assert len(venues_of(tmp_path)) == 1
        bot.kill()
    wait_until(lambda: venues_of(tmp_path) == [], TWO_SIDED_S)
