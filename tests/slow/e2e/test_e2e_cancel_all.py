"""Claims about `bot cancel-all` against a real venue: throttled, halted, unknown, refused, raced.

Orders are placed in raw HTTP with the maker's key on a venue without a crowd, whose operator's
interface makes it fail.
"""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from bot.io.secret import Secret
from bot.io.state.locks import AccountLock
from tests.builders import ctrl_c
from tests.builders.e2e.runs import BOT, ROOT, Venue, config_for

pytestmark = pytest.mark.xdist_group("cancel-all")


class Operated(Venue):
    """A venue that nobody trades on, with its operator's interface."""

    def __init__(self, ready: dict, token: str) -> None:
        super().__init__(ready["base_url"], json.loads(Path(ready["keys_file"]).read_text()))
        self._control = f"http://{ready['control']}/control/v1/"
        self._token = token
        self._placed = 0
        self.market = self.get("/markets", series_ticker="AURELIA-VAL")["markets"][0]
        self.other = self.get("/markets", series_ticker="QUILLON-VAL")["markets"][0]

    def operate(self, method: str, path: str, **body: object) -> None:
        httpx.request(
            method,
            self._control + path,
            json=body,
            headers={"Authorization": f"Bearer {self._token}"},
            trust_env=False,
        ).raise_for_status()

    def place(self, count: int, market: dict | None = None) -> None:
        headers = {"X-API-KEY": self.keys["maker"]}
        with httpx.Client(base_url=self.base_url, headers=headers, trust_env=False) as client:
            for _ in range(count):
                self._placed += 1
                order = {
                    "market_id": (market or self.market)["market_id"],
                    "outcome": "yes",
                    "side": "buy",
                    "price": 1 + self._placed % 30,
                    "qty": 1,
                    "client_order_id": f"by-hand-{os.getpid()}-{self._placed}",
                }
                while client.post("/orders", json=order).status_code == 429:
                    time.sleep(0.1)


@pytest.fixture(scope="module")
def venue(tmp_path_factory) -> Iterator[Operated]:
    folder = tmp_path_factory.mktemp("venue")
    command = [sys.executable, "-m", "venue", "serve", "--config", "configs/venue.yaml"]
    command += ["--port", "0", "--keys-file", str(folder / "keys.json"), "--no-crowd", "--json"]
    command += ["--exit-with-stdin", "--control", "127.0.0.1:0"]
    command += ["--control-token-file", str(folder / "token")]
    with (folder / "venue.log").open("wb") as log:
        process = subprocess.Popen(
            command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log
        )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        ready = json.loads(process.stdout.readline())
        yield Operated(ready, (folder / "token").read_text().strip())
    finally:
        process.stdin.close()
        process.wait(10)
        process.stdout.close()


def cancel_all(
    venue: Venue, folder: Path, *options: str, runtime: Path | None = None
) -> "subprocess.CompletedProcess[str]":
    """The command's run to its end, on a configuration that is made once a folder."""
    config = folder / "bot.yaml"
    if not config.exists():
        config_for(venue, folder)
    return subprocess.run(
        [*BOT, "cancel-all", str(config), *options],
        cwd=ROOT,
        env=os.environ if runtime is None else {**os.environ, "XDG_RUNTIME_DIR": str(runtime)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@contextmanager
def fault(venue: Operated, **rule: object) -> Iterator[None]:
    venue.operate("POST", "faults", **rule)
    try:
        yield
    finally:
        venue.operate("DELETE", "faults")


def test_two_hundred_orders_are_gone_and_proved_gone_whatever_a_tenth_of_the_answers_is(
    venue, tmp_path
):
    venue.place(200)
    with fault(venue, kind="result_unknown_after", share="0.1", seed=5, verbs=["cancel"]):
        done = cancel_all(venue, tmp_path, "--verify", "--json")
    told = json.loads(done.stdout)
    assert done.returncode == 0, done.stderr
    assert told["verified"] is True
    assert told["left"] == []
    assert venue.orders("resting") == []
    assert venue.keys["maker"] not in done.stdout + done.stderr


def test_without_verify_it_says_that_it_did_not_look_again(venue, tmp_path):
    venue.place(3)
    done = cancel_all(venue, tmp_path)
    assert done.returncode == 0
    assert "3 orders cancelled; not verified" in done.stdout
    assert venue.orders("resting") == []


def test_one_order_is_told_as_one(venue, tmp_path):
    venue.place(1)
    assert "; 1 order cancelled" in cancel_all(venue, tmp_path, "--verify").stdout


def test_of_one_series_it_leaves_the_orders_of_the_other_alone(venue, tmp_path):
    venue.place(2)
    venue.place(1, venue.other)
    done = cancel_all(venue, tmp_path, "--verify", "--series", "--json")
    assert json.loads(done.stdout)["cancelled"] == 2
    assert [row["ticker"] for row in venue.orders("resting")] == [venue.other["ticker"]]
    assert cancel_all(venue, tmp_path).returncode == 0
    assert venue.orders("resting") == []


def test_a_halted_venue_makes_it_end_with_4_and_every_order_by_name(venue, tmp_path):
    venue.place(3)
    resting = {row["order_id"] for row in venue.orders("resting")}
    venue.operate("PUT", "venue-state", state="halted")
    try:
        done = cancel_all(venue, tmp_path, "--verify", "--deadline", "1s", "--json")
    finally:
        venue.operate("PUT", "venue-state", state="open")
    told = json.loads(done.stdout)
    assert done.returncode == told["exit_code"] == 4
    assert {row["order_id"] for row in told["left"]} == resting
    assert "venue_halted" in {row["why"] for row in told["left"]}
    assert cancel_all(venue, tmp_path).returncode == 0


def test_ctrl_c_on_the_way_says_that_orders_may_rest(venue, tmp_path):
    venue.place(1)
    config_for(venue, tmp_path)
    venue.operate("PUT", "venue-state", state="halted")
    try:
        process = ctrl_c.started([*BOT, "cancel-all", str(tmp_path / "bot.yaml")], ROOT)
        assert process.stderr is not None
        while "the venue is halted" not in process.stderr.readline():
            assert process.poll() is None
        process.send_signal(signal.SIGINT)
        _, stderr = process.communicate(timeout=30)
    finally:
        venue.operate("PUT", "venue-state", state="open")
    assert process.returncode == 130
    assert stderr == "interrupted: orders may rest, and cancels may be in flight; run it again\n"
    assert cancel_all(venue, tmp_path).returncode == 0


def test_a_key_that_may_not_cancel_ends_with_3_and_the_reapers_key_helps(venue, tmp_path):
    venue.place(2)
    reader = Operated.__new__(Operated)
    reader.base_url, reader.keys = venue.base_url, {"maker": venue.keys["reader"]}
    done = cancel_all(reader, tmp_path, "--verify", "--json")
    assert done.returncode == 3
    assert json.loads(done.stdout)["refused"] == "403 forbidden_scope"
    config = tmp_path / "bot.yaml"
    (tmp_path / "reaper.key").write_text(venue.keys["reaper"])
    config.write_text(f"{config.read_text()}reaper: {{key_file: {tmp_path / 'reaper.key'}}}\n")
    done = cancel_all(reader, tmp_path, "--reaper-key")
    assert done.returncode == 0, done.stderr
    assert venue.orders("resting") == []


def test_a_reapers_key_that_is_refused_is_told_as_such_and_not_advised(venue, tmp_path):
    venue.place(1)
    config_for(venue, tmp_path)
    config = tmp_path / "bot.yaml"
    (tmp_path / "reaper.key").write_text(venue.keys["reader"])
    config.write_text(f"{config.read_text()}reaper: {{key_file: {tmp_path / 'reaper.key'}}}\n")
    done = cancel_all(venue, tmp_path, "--verify", "--reaper-key")
    assert done.returncode == 3
    assert "the venue refuses the reaper's key: 403 forbidden_scope" in done.stderr
    assert "see --reaper-key" not in done.stderr
    assert cancel_all(venue, tmp_path).returncode == 0


def test_a_bot_that_holds_the_account_is_named_with_the_signal_that_pauses_it(venue, tmp_path):
    """It is a warning: whoever cancels everything in a hurry is not refused."""
    config_for(venue, tmp_path)
    held = AccountLock.acquire(venue.base_url, Secret(venue.keys["maker"]), tmp_path / "state")
    try:
        done = cancel_all(venue, tmp_path)
    finally:
        held.close()
    assert done.returncode == 0
    assert f"pause it with: kill -USR1 {os.getpid()}" in done.stderr
    assert str(tmp_path / "state") in done.stderr


def test_a_place_for_locks_that_cannot_be_used_stands_in_no_ones_way(venue, tmp_path):
    venue.place(1)
    (tmp_path / "laddermaker").write_text("a file where the folder should be")
    done = cancel_all(venue, tmp_path, runtime=tmp_path)
    assert done.returncode == 0
    assert "cannot see if a bot trades this account" in done.stderr
    assert venue.orders("resting") == []
