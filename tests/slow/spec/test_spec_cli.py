"""Claims about the judge's command line: what it judges, what it says, how it ends."""

import json
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import httpx
import pytest
from typer.testing import CliRunner

from venue.cli.main import app
from venue.conformance.bench import Bench
from venue.conformance.operator import Operator


class Judged(NamedTuple):
    """How the judge ended, and what it printed."""

    returncode: int
    stdout: str
    stderr: str


def judge(*options):
    command = [sys.executable, "-m", "venue", "check", *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    return Judged(done.returncode, done.stdout, done.stderr)


def refused(*options):
    """As `judge`, for options with which no check begins."""
    done = CliRunner().invoke(app, ["check", *options])
    return Judged(done.exit_code, done.stdout, done.stderr)


def key_file(folder, text, name="key"):
    """A file for its owner alone that holds a key."""
    path = folder / name
    path.touch(0o600)
    path.write_text(text)
    return path


def control_of(site):
    where = ["--url", site.base_url, "--control", site.control]
    return [*where, "--token-file", str(site.token_file)]


def controlled(site, *options):
    return judge(*control_of(site), *options)


def test_check_exits_0_when_every_statement_holds(site):
    done = controlled(site, "--only", "a_budget", "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    report = json.loads(done.stdout)
    assert (report["failed"], report["skipped"]) == (0, 0)
    assert report["passed"] == len(report["checks"]) > 5
    assert {row["verdict"] for row in report["checks"]} == {"passed"}


def test_check_without_json_prints_a_table_and_a_summary(site):
    done = controlled(site, "--only", "a_budget", "--no-readings")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "rests on S35" in " ".join(done.stdout.split())
    assert "0 failed, 2 skipped" in done.stdout


def test_check_exits_1_when_a_statement_does_not_hold(site):
    # One path segment short of the version, so this one statement does not hold.
    root = site.base_url.removesuffix("/v1") + "/v1/"
    control = ["--control", site.control, "--token-file", str(site.token_file)]
    good = judge("--url", root, *control, "--only", "the_version_is_in_the_path")
    assert good.returncode == 0, good.stdout + good.stderr
    # The channel at a wrong place breaks every statement about it.
    stream = site.stream_url.removesuffix("stream") + "nothing"
    only = ["--stream", stream, "--only", "the_channel_needs_no_credential", "--json"]
    bad = judge("--url", site.base_url, *control, *only)
    assert bad.returncode == 1
    assert json.loads(bad.stdout)["failed"] == 1


def test_check_with_a_key_alone_skips_what_needs_control(site, bench, tmp_path):
    options = ["--url", site.base_url, "--only", "user", "--json"]
    for name in ("--key-file", "--other-key-file"):
        options += [name, str(key_file(tmp_path, bench.key(bench.user())["key"], name))]
    for _ in range(2):  # with the same keys: nothing may hang on names used before
        done = judge(*options)
        report = json.loads(done.stdout)
        assert (done.returncode, report["failed"]) == (0, 0), done.stdout
    assert report["passed"] >= 2
    assert report["skipped"] >= 2
    reasons = {row["reason"] for row in report["checks"] if row["verdict"] == "skipped"}
    assert all("control" in reason or "key" in reason for reason in reasons)


@pytest.mark.parametrize("scopes", [None, ["read"], ["trade"]])
def test_check_rejects_a_key_without_read_and_trade_scopes(site, bench, tmp_path, scopes):
    key = "lm_unknown" if scopes is None else bench.key(bench.user(), scopes)["key"]
    path = key_file(tmp_path, key)
    done = judge("--url", site.base_url, "--key-file", str(path))
    assert (done.returncode, done.stdout) == (2, "")
    answered = {None: "GET /portfolio/balance with this key is answered 401"}
    answered |= {("read",): "DELETE /orders/1 with this key is answered 403"}
    answered |= {("trade",): "GET /portfolio/balance with this key is answered 403"}
    wanted = answered[None if scopes is None else tuple(scopes)]
    assert done.stderr == f"{path}: {wanted}; wanted is one of scopes read and trade\n"


@pytest.mark.parametrize(
    ("cents", "state", "code"),
    [(0, "open", "insufficient_balance"), (1000, "halted", "venue_halted")],
)
def test_check_skips_what_the_key_cannot_place_now(site, bench, tmp_path, cents, state, code):
    path = key_file(tmp_path, bench.key(bench.user(cents))["key"])
    only = ["--only", "client_order_ids_have_1_to_64", "--json"]
    with bench.venue_state(state):
        done = judge("--url", site.base_url, "--key-file", str(path), *only)
    (row,) = json.loads(done.stdout)["checks"]
    assert (done.returncode, row["verdict"]) == (0, "skipped"), row
    assert row["reason"] == f"nothing can be placed with this key now: {code}"


def test_check_skips_market_checks_of_a_venue_without_an_active_market(tmp_path):
    with served(tmp_path, "127.0.0.1:0", "--no-crowd") as ready:
        token = Path(ready["control_token_file"]).read_text(encoding="utf-8").strip()
        operator = Operator(ready["control"], token)
        bench = Bench(ready["base_url"], ready["stream_url"], operator, [])
        path = key_file(tmp_path, bench.key(bench.user())["key"])
        for market in bench.reader.get("/markets")["markets"]:
            bench.set_market(market, "halt")
        bench.close()
        only = ["--only", "tickers_are_case_insensitive", "--json"]
        done = judge("--url", ready["base_url"], "--key-file", str(path), *only)
    (row,) = json.loads(done.stdout)["checks"]
    assert (done.returncode, row["verdict"]) == (0, "skipped"), row
    assert row["reason"] == "the venue lists no active market"


def test_check_rejects_one_key_given_twice(site, tmp_path):
    options = ["--url", site.base_url]
    for name in ("--key-file", "--other-key-file"):
        options += [name, str(key_file(tmp_path, "lm_lent\n", name))]
    done = refused(*options)
    assert (done.returncode, done.stdout) == (2, ""), done.stderr
    assert done.stderr == f"{options[-1]}: the key of --key-file; wanted is another user's\n"


@pytest.mark.parametrize(
    "stream", ["venue.example/stream", "http://127.0.0.1:9/v1", "ws://", "ws://h:x"]
)
def test_check_rejects_an_invalid_channel_address(site, stream):
    done = refused(
        *control_of(site), "--stream", stream, "--only", "the_channel_needs_no_credential"
    )
    assert (done.returncode, done.stdout) == (2, ""), done.stderr
    assert done.stderr == f"--stream {stream}: wanted is ws:// or wss:// and a host\n"


def test_check_restores_the_venue_when_it_is_ended_by_sigterm(site):
    operator = Operator(site.control, site.token_file.read_text(encoding="utf-8").strip())
    before = operator.status()["projection_lag_ms"]
    control = ["--control", site.control, "--token-file", str(site.token_file)]
    only = ["--only", "reads_may_lag_a_write_and_then_catch_up"]
    command = [sys.executable, "-m", "venue", "check", "--url", site.base_url, *control, *only]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        while operator.status()["projection_lag_ms"] == before:
            assert process.poll() is None, "the check was over before its lag was seen"
            time.sleep(0.005)
        process.terminate()
        process.communicate(timeout=20)
    after = operator.status()["projection_lag_ms"]
    operator.done("PUT", "/projection", {"lag_ms": before})
    operator.close()
    assert (process.returncode, after) == (143, before)


@pytest.mark.parametrize(
    ("options", "code"),
    [
        (["--url", "http://127.0.0.1:9/v1"], 2),
        (["--url", "http://127.0.0.1:9/v1", "--key-file", "missing"], 2),
        (["--url", "http://127.0.0.1:9/v1", "--key-file", "FILE", "--only", "zzz"], 2),
        (["--url", "http://127.0.0.1:9/v1", "--key-file", "FILE"], 3),
        (["--url", "not an address", "--key-file", "FILE"], 3),
        (["--url", "http://127.0.0.1:9/\udcff", "--key-file", "FILE"], 3),
    ],
)
def test_check_exits_2_for_bad_options_and_3_for_an_absent_venue(tmp_path, options, code):
    path = str(key_file(tmp_path, "nobody"))
    done = refused(*(path if option == "FILE" else option for option in options))
    assert done.returncode == code, done.stdout + done.stderr
    assert done.stderr.strip()


@pytest.mark.parametrize("address", ["127.0.0.1:x", "http://[::", "127.0.0.1\udcff:8091"])
def test_check_exits_3_for_an_invalid_control_address(site, address):
    control = ["--control", address, "--token-file", str(site.token_file)]
    done = refused("--url", site.base_url, *control)
    assert done.returncode == 3, done.stdout + done.stderr
    assert "no address that can be asked" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    "address",
    ["192.0.2.1:8091", "http://venue.example:8091", "http://localhost.example", "[2001:db8::1]:1"],
)
def test_check_sends_the_token_to_no_other_machine_in_the_clear(site, address):
    control = ["--control", address, "--token-file", str(site.token_file)]
    done = refused("--url", site.base_url, *control)
    assert done.returncode == 2, done.stdout + done.stderr
    assert "goes to no other machine in the clear" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("url", ["http://192.0.2.1:8080/v1", "http://venue.example/v1"])
def test_check_sends_a_key_to_no_other_machine_in_the_clear(tmp_path, url):
    path = key_file(tmp_path, "lm_lent")
    done = refused("--url", url, "--key-file", str(path))
    assert (done.returncode, done.stdout) == (2, ""), done.stderr
    assert done.stderr.startswith(f"{url}: accepted with keys is a loopback address")


@pytest.mark.parametrize("url", ["127.0.0.1:9/v1", "http://", "not an address"])
def test_check_names_an_invalid_venue_address(tmp_path, url):
    path = key_file(tmp_path, "lm_lent")
    done = refused("--url", url, "--key-file", str(path))
    assert (done.returncode, done.stderr) == (3, f"{url!r}: no address that can be asked\n")


@pytest.mark.parametrize("option", ["--key-file", "--token-file"])
@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o601])
def test_check_rejects_a_key_file_that_others_can_read(site, tmp_path, option, mode):
    path = tmp_path / "file"
    path.write_text("lm_raw_key_of_a_test")
    path.chmod(mode)
    control = ["--control", site.control] if option == "--token-file" else []
    only = ["--only", "tickers_are_case_insensitive"]
    done = refused("--url", site.base_url, *control, option, str(path), *only)
    assert done.returncode == 2, done.stdout + done.stderr
    assert done.stderr == f"{path}: others can read it; run chmod 600 {path}\n"


@pytest.mark.parametrize("option", ["--key-file", "--token-file"])
@pytest.mark.parametrize(
    "content",
    [
        b'{\n "maker": "lm_raw_key_of_a_test"\n}\n', b"lm_raw_key_of_a_test\nlm_another\n",
        b"lm_raw key_of_a_test", "lm_raw_k\u00e9y_of_a_test".encode(), b"\xfflm_raw", b" \n",
    ],
)  # fmt: skip
def test_check_rejects_a_file_without_a_single_key_and_does_not_show_it(
    site, tmp_path, option, content
):
    path = tmp_path / "file"
    path.touch(0o600)
    path.write_bytes(content)
    control = ["--control", site.control] if option == "--token-file" else []
    only = ["--only", "tickers_are_case_insensitive"]
    done = refused("--url", site.base_url, *control, option, str(path), *only)
    assert done.returncode == 2, done.stdout + done.stderr
    assert "lm_raw" not in done.stdout + done.stderr
    assert f"{path}: holds no single key" in done.stderr


@contextmanager
def served(folder, control, *options):
    """The ready line of a venue that lives until the block ends."""
    folder.chmod(0o700)
    config = Path(__file__).parents[3] / "configs" / "venue.yaml"
    command = [sys.executable, "-m", "venue", "serve", "--config", str(config), "--port", "0"]
    command += ["--keys-file", str(folder / "keys.json"), "--json", "--exit-with-stdin", *options]
    command += ["--control", control, "--control-token-file", str(folder / "token")]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        yield json.loads(process.stdout.readline())
        process.stdin.close()
        assert process.wait(20) == 0


def judged(ready, *options):
    control = ["--control", ready["control"], "--token-file", ready["control_token_file"]]
    return refused("--url", ready["base_url"], *control, *options)


def test_check_refuses_a_venue_with_a_crowd(tmp_path):
    with served(tmp_path, f"unix:{tmp_path / 'control'}") as ready:
        done = judged(ready)
    assert done.returncode == 2
    assert "--no-crowd" in done.stderr


def test_check_refuses_a_venue_with_faults_or_a_stopped_state_and_changes_nothing(tmp_path):
    with served(tmp_path, "127.0.0.1:0", "--no-crowd") as ready:
        token = Path(ready["control_token_file"]).read_text().strip()
        with httpx.Client(
            base_url=f"http://{ready['control']}/control/v1",
            headers={"Authorization": f"Bearer {token}"},
            trust_env=False,
        ) as operator:
            operator.post("/faults", json={"kind": "market_data_down"}).raise_for_status()
            done = judged(ready, "--only", "the_version_is_in_the_path")
            assert (done.returncode, "market_data_down" in done.stderr) == (2, True)
            operator.delete("/faults").raise_for_status()
            operator.put("/venue-state", json={"state": "cancel_only"}).raise_for_status()
            done = judged(ready, "--only", "the_version_is_in_the_path")
            assert (done.returncode, "cancel_only" in done.stderr) == (2, True)
            assert operator.get("/status").json()["venue_state"] == "cancel_only"


def test_check_reaches_control_at_the_address_of_the_ready_line(tmp_path):
    with served(tmp_path, "127.0.0.1:0", "--no-crowd") as ready:
        done = judged(ready, "--only", "the_version_is_in_the_path")
    assert done.returncode == 0, done.stdout + done.stderr
