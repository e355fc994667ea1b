"""The process as a parent sees it: ready line, exit codes, a calm end, no secret in any stream."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from typer.testing import CliRunner
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from tests.builders.venue.crowd_tapes import book, rung, write
from venue.cli.main import app

ROOT = Path(__file__).parents[3]
CONFIG = ROOT / "configs" / "venue.yaml"


def command(keys, *more, config=CONFIG):
    return [
        *(sys.executable, "-m", "venue", "serve", "--config", str(config)),
        *("--port", "0", "--keys-file", str(keys), *more),
    ]


@contextmanager
def served(keys, *more):
    pipe = subprocess.PIPE
    process = subprocess.Popen(
        command(keys, "--json", "--exit-with-stdin", *more),
        stdin=pipe,
        stdout=pipe,
        stderr=pipe,
        text=True,
    )
    with process:
        assert process.stdout is not None
        try:
            yield process, json.loads(process.stdout.readline())
        finally:
            process.kill()


def run_to_end(*arguments, **options):
    usual = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.run(arguments, **{**usual, **options}, timeout=20, check=False)


def stop(process):
    """End a venue; its log."""
    process.send_signal(signal.SIGTERM)
    _, log = process.communicate(timeout=8)
    assert process.returncode == 0
    return log


def balance_status(ready, key):
    url = f"{ready['base_url']}/portfolio/balance"
    return httpx.get(url, headers={"X-API-KEY": key}, timeout=5, trust_env=False).status_code


def test_the_ready_line_has_the_addresses_and_the_keys_file(tmp_path):
    with served(tmp_path / "keys.json", "--no-crowd") as (process, ready):
        assert ready.keys() == {"ready", "base_url", "stream_url", "series", "keys_file", "pid"}
        assert ready["ready"] is True
        assert ready["pid"] == process.pid
        assert ready["series"] == ["AURELIA-VAL", "QUILLON-IPO", "QUILLON-VAL"]
        keys = json.loads(Path(ready["keys_file"]).read_text())
        assert balance_status(ready, keys["maker"]) == 200


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT, "stdin"])
def test_a_stopping_venue_closes_channels_with_1012(tmp_path, how):
    with served(tmp_path / "keys.json", "--no-crowd") as (process, ready):
        with connect(ready["stream_url"], proxy=None, compression=None) as stream:
            if how == "stdin":
                assert process.stdin is not None
                process.stdin.close()
            else:
                process.send_signal(how)
            with pytest.raises(ConnectionClosed):
                stream.recv(timeout=5)
            assert stream.close_code == 1012
        assert process.wait(timeout=8) == 0


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
def test_repeated_signals_do_not_disturb_the_stop(tmp_path, how):
    with served(tmp_path / "keys.json", "--no-crowd") as (process, _):
        until_s = time.monotonic() + 30
        while process.poll() is None and time.monotonic() < until_s:
            process.send_signal(how)
            time.sleep(0.0005)
        assert process.wait(timeout=8) == 0


def test_the_output_of_the_process_shows_no_key(tmp_path):
    with served(tmp_path / "keys.json", "--no-crowd") as (process, ready):
        keys = json.loads(Path(ready["keys_file"]).read_text())
        for key in keys.values():
            httpx.get(ready["base_url"] + "/nothing", headers={"X-API-KEY": key}, trust_env=False)
        process.send_signal(signal.SIGTERM)
        process.wait(timeout=8)
        assert process.stdout is not None
        assert process.stderr is not None
        said = process.stdout.read() + process.stderr.read() + json.dumps(ready)
        assert not [name for name, key in keys.items() if key in said]


@pytest.mark.parametrize(("length_s", "ends"), [(1, True), (3_600, False)])
def test_status_shows_a_crowd_until_the_tape_has_ended(tmp_path, length_s, ends):
    rungs = {"ROAD-1": [rung("ROAD-1-A", "10")]}
    books = [book(at_s, "ROAD-1-A", [[40, 5]], [[50, 5]]) for at_s in (0, length_s)]
    tape, token = write(tmp_path, rungs, books), tmp_path / "token"
    control = ("--control", "127.0.0.1:0", "--control-token-file", str(token))
    with served(tmp_path / "keys.json", "--tape", str(tape), *control) as (_, ready):
        url = f"http://{ready['control']}/control/v1/status"
        headers = {"Authorization": f"Bearer {token.read_text().strip()}"}

        def has_crowd():
            return bool(httpx.get(url, headers=headers, trust_env=False).json()["crowd"])

        # How soon it is asked for the first time nobody knows: the short one may be over.
        end_s = time.monotonic() + 20
        while ends and has_crowd():
            assert time.monotonic() < end_s
            time.sleep(0.05)
        assert has_crowd() is not ends


def test_a_crowd_makes_two_sided_books_within_seconds(tmp_path):
    with served(tmp_path / "keys.json", "--seed", "3") as (_, ready):
        keys = json.loads(Path(ready["keys_file"]).read_text())
        rest = httpx.Client(
            base_url=ready["base_url"], headers={"X-API-KEY": keys["reader"]}, trust_env=False
        )
        with rest, connect(ready["stream_url"], proxy=None, compression=None) as stream:
            event = rest.get("/events/AURELIA-VAL").json()["events"][0]
            targets = [
                {"target": "event-market", "data": {"eventMarketId": row["market_id"]}}
                for row in event["markets"]
            ]
            stream.send(json.dumps({"type": "subscribe", "data": {"targets": targets}}))
            two_sided: set[str] = set()
            deadline_s = time.monotonic() + 10
            while len(two_sided) < 9:
                assert time.monotonic() < deadline_s, len(two_sided)
                data = json.loads(stream.recv(timeout=5)).get("data", {})
                if data.get("type") == "prediction-orderbook" and data["yes"] and data["no"]:
                    two_sided.add(data["ticker"])


def test_an_empty_venue_takes_no_configuration(tmp_path):
    result = run_to_end(*command(tmp_path / "keys.json", "--empty"))
    assert result.returncode == 2
    assert result.stderr == "--empty: not with --config or --tape\n"


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ("taker_rate", "takes_rate", ":11: fees.takes_rate: unknown key"),
        ("\ncrowd:", "\ncrowd: {speed: fast}\n#", "crowd."),
        ("\ncrowd:", "\ncrowd: {pace: 3}\n#", "crowd."),
    ],
)
def test_a_bad_configuration_exits_2_and_names_the_fault(tmp_path, old, new, fault):
    bad = tmp_path / "bad.yaml"
    head, _, tail = CONFIG.read_text().partition(old)
    bad.write_text(head + new + (tail if old == "taker_rate" else ""))
    result = run_to_end(*command(tmp_path / "keys.json", "--no-crowd", config=bad))
    assert result.returncode == 2
    assert str(bad) in result.stderr
    assert fault in result.stderr
    assert "Traceback" not in result.stderr
    assert not (tmp_path / "keys.json").exists()


def test_a_missing_tape_exits_2(tmp_path):
    result = run_to_end(*command(tmp_path / "keys.json", "--tape", str(tmp_path / "none")))
    assert result.returncode == 2
    assert "none" in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize("keys", [".", "/"])
def test_a_keys_file_without_a_name_exits_2(keys):
    result = run_to_end(*command(Path(), "--no-crowd", "--keys-file", keys))
    assert result.returncode == 2
    assert "a file is wanted" in result.stderr
    assert "Traceback" not in result.stderr


def test_a_taken_port_exits_3(tmp_path):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        result = run_to_end(*command(tmp_path / "keys.json", "--port", port))
    assert result.returncode == 3
    assert f"127.0.0.1:{port} cannot be bound" in result.stderr


@pytest.mark.parametrize("option", ["--port", "--control"])
def test_a_port_taken_while_the_venue_opens_exits_3(tmp_path, option):
    config = tmp_path / "venue.yaml"
    os.mkfifo(config)
    with socket.socket() as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        other.bind(("127.0.0.1", 0))
        port = str(other.getsockname()[1])
        address = port if option == "--port" else f"127.0.0.1:{port}"
        more = (option, address, "--control-token-file", str(tmp_path / "token"), "--no-crowd")
        process = subprocess.Popen(
            command(tmp_path / "keys.json", *more, config=config),
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        with process:
            try:
                # The venue has bound the port when it asks for its configuration.
                with config.open("w") as file:
                    other.listen()
                    file.write(CONFIG.read_text())
                said, why = process.communicate(timeout=20)
            finally:
                process.kill()
    assert process.returncode == 3
    assert f"127.0.0.1:{port} cannot be bound: Address already in use" in why
    assert "Traceback" not in why
    assert said == ""
    # The one that was faster may have written its own there by then.
    assert not (tmp_path / "keys.json").exists()


def test_a_venue_in_memory_keeps_the_keys_file_of_a_durable_venue(tmp_path):
    keys, kept = tmp_path / "keys.json", tmp_path / "keys.json.1"
    with served(keys, "--no-crowd", "--state", str(tmp_path / "state")) as (_, ready):
        raw = json.loads(keys.read_text())["reader"]
        with served(keys, "--no-crowd") as (other, _):
            assert json.loads(keys.read_text())["reader"] != raw
            log = stop(other)
        assert "keys_kept" in log
        assert str(kept) in log
        assert balance_status(ready, json.loads(kept.read_text())["reader"]) == 200


@pytest.mark.parametrize("state", [(), ("--state", "state")])
def test_a_rejected_opening_leaves_the_keys_file_of_another_venue(tmp_path, state):
    keys, config = tmp_path / "keys.json", tmp_path / "venue.yaml"
    keys.write_text("of another venue")
    keys.chmod(0o400)
    text = CONFIG.read_text()
    config.write_text(text.replace("deposit_cents: 10000000", f"deposit_cents: {10**16}"))
    done = run_to_end(*command(keys, "--no-crowd", *state, config=config), cwd=tmp_path)
    assert done.returncode == 2
    assert "Deposit maker was refused" in done.stderr
    assert keys.read_text() == "of another venue"
    assert not (tmp_path / "keys.json.1").exists()


def test_a_state_whose_keys_file_was_moved_names_the_new_place(tmp_path):
    keys, kept = tmp_path / "keys.json", tmp_path / "keys.json.1"
    state = ("--no-crowd", "--state", str(tmp_path / "state"))
    for options in (state, ("--no-crowd",)):
        with served(keys, *options) as (process, _):
            stop(process)
    with served(keys, *state) as (process, ready):
        assert ready["keys_file"] == str(kept)
        assert balance_status(ready, json.loads(kept.read_text())["reader"]) == 200
        assert f"{keys} has keys of another venue" in stop(process)
    kept.unlink()
    with served(keys, *state) as (process, ready):
        assert ready["keys_file"] is None
        stop(process)


def test_a_state_whose_keys_came_from_files_misses_none_at_a_later_start(tmp_path):
    text = (ROOT / "deploy" / "venue.yaml").read_text()
    config = tmp_path / "venue.yaml"
    config.write_text(text.replace("/run/secrets/", f"{tmp_path}/"))
    for name in ("maker_key", "reaper_key"):
        (tmp_path / name).write_text(name * 4)
        (tmp_path / name).chmod(0o600)
    state = ("--config", str(config), "--no-crowd", "--state", str(tmp_path / "state"))
    for _ in range(2):
        with served(tmp_path / "keys.json", *state) as (process, _):
            log = stop(process)
    assert "keys_elsewhere" not in log


def test_a_venue_stopped_before_its_crowd_begins_ends_cleanly(tmp_path):
    words = command(tmp_path / "keys.json", "--exit-with-stdin", "--state", str(tmp_path / "state"))
    for _ in range(2):
        done = run_to_end(*words, stdin=subprocess.DEVNULL)
        assert done.returncode == 0
        events = [json.loads(line)["event"] for line in done.stderr.splitlines()]
        assert events == ["draining", "stopped"]


def test_a_state_opened_again_names_its_keys_file_only_where_it_exists(tmp_path):
    options = ("--no-crowd", "--state", str(tmp_path / "state"))
    keys, other = tmp_path / "keys.json", tmp_path / "other.json"
    for path, named in ((keys, str(keys)), (keys, str(keys)), (other, None)):
        with served(path, *options) as (process, ready):
            assert ready["keys_file"] == named
            stop(process)
    assert not other.exists()
    words, pipe = command(other, "--exit-with-stdin", *options), subprocess.PIPE
    with subprocess.Popen(words, stdin=pipe, stdout=pipe, stderr=pipe, text=True) as process:
        lines = [process.stdout.readline() for _ in range(2)]
        process.communicate(timeout=20)
    assert lines[0].startswith("venue ready at ")
    assert lines[1] == f"state in {tmp_path / 'state'}\n"


def test_a_closed_output_exits_141(tmp_path):
    pipe = subprocess.PIPE
    with subprocess.Popen(command(tmp_path / "keys.json"), stdout=pipe, stderr=pipe) as venue:
        assert venue.stdout is not None
        venue.stdout.close()
        _, log = venue.communicate(timeout=20)
    assert (venue.returncode, log) == (141, b"")


def test_a_ready_line_that_cannot_be_written_exits_74(tmp_path):
    words = command(tmp_path / "keys.json", "--json", "--state", str(tmp_path / "state"))
    with Path("/dev/full").open("w") as full:
        done = run_to_end(*words, stdout=full)
    assert done.returncode == 74
    assert done.stderr.splitlines() == ["the output cannot be written: No space left on device"]


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "example.org"])
def test_a_host_that_is_not_loopback_is_rejected(tmp_path, host):
    result = CliRunner().invoke(app, command(tmp_path / "keys.json", "--host", host)[3:])
    assert result.exit_code == 2
    assert "--allow-remote" in result.stderr


def test_version_and_help_need_no_configuration():
    version = run_to_end(sys.executable, "-m", "venue", "version")
    assert version.returncode == 0
    assert version.stdout.startswith("venue ")
    helped = CliRunner().invoke(app, ["serve", "--help"])
    assert helped.exit_code == 0
    assert "Example: venue serve" in helped.stdout


def test_a_venue_ends_when_its_parent_is_killed(tmp_path):
    # The parent starts the venue with a pipe as its stdin and is killed without warning.
    child = command(tmp_path / "keys.json", "--json", "--no-crowd", "--exit-with-stdin")
    code = (
        "import subprocess, sys, time\n"
        f"child = subprocess.Popen({child!r}, stdin=subprocess.PIPE, start_new_session=True)\n"
        "time.sleep(60)\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, text=True
    ) as parent:
        assert parent.stdout is not None
        assert json.loads(parent.stdout.readline())["ready"] is True
        parent.kill()
        # The venue holds the other end of this pipe: the pipe ends with the venue.
        assert parent.stdout.read() == ""
