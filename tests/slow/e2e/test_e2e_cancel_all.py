"""Claims about `bot cancel-all` against a real venue: throttled, halted, unknown, refused, raced.

Orders are placed in raw HTTP with the maker's key on a venue without a crowd, whose operator's
interface makes it fail.
"""

import json
import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from click.testing import Result

from bot.io.secret import Secret
from bot.io.state.locks import AccountLock
from tests.builders import ctrl_c
from tests.builders.e2e.runs import BOT, ROOT, Venue, config_for, running_venue
from tests.builders.io.commands import invoke

pytestmark = pytest.mark.xdist_group("cancel-all")


class Operated(Venue):
    """A venue that nobody trades on, with its operator's interface."""

    def __init__(self, running: Venue) -> None:
        super().__init__(running.base_url, running.keys, running.control)
        _, address, _, token_file = running.control
        self._operator = httpx.Client(
            base_url=f"http://{address}/control/v1/",
            headers={"Authorization": f"Bearer {Path(token_file).read_text().strip()}"},
            trust_env=False,
        )
        self._placed = 0
        self.market = self.get("/markets", series_ticker="AURELIA-VAL")["markets"][0]
        self.other = self.get("/markets", series_ticker="QUILLON-VAL")["markets"][0]

    def operate(self, method: str, path: str, **body: object) -> None:
        self._operator.request(method, path, json=body).raise_for_status()

    def close(self) -> None:
        self._operator.close()

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
    with running_venue(tmp_path_factory.mktemp("venue"), 1, "--no-crowd") as running:
        operated = Operated(running)
        yield operated
        operated.close()


def cancel_all(venue: Venue, folder: Path, *options: str, runtime: Path | None = None) -> Result:
    """The command, on a configuration that is made once a folder."""
    config = folder / "bot.yaml"
    if not config.exists():
        config_for(venue, folder)
    env = None if runtime is None else {"XDG_RUNTIME_DIR": str(runtime)}
    return invoke("cancel-all", config, *options, env=env)


@contextmanager
def fault(venue: Operated, **rule: object) -> Iterator[None]:
    venue.operate("POST", "faults", **rule)
    try:
        yield
    finally:
        venue.operate("DELETE", "faults")


def test_cancel_all_proves_that_200_orders_are_gone_although_a_tenth_of_the_responses_is_unknown(
    venue, tmp_path
):
    venue.place(200)
    with fault(venue, kind="result_unknown_after", share="0.1", seed=5, verbs=["cancel"]):
        done = cancel_all(venue, tmp_path, "--verify", "--json")
    result = json.loads(done.stdout)
    assert done.exit_code == 0, done.stderr
    assert result["verified"] is True
    assert result["left"] == []
    assert venue.orders("resting") == []
    assert venue.keys["maker"] not in done.stdout + done.stderr


def test_cancel_all_without_verify_says_that_it_did_not_verify(venue, tmp_path):
    venue.place(3)
    done = cancel_all(venue, tmp_path)
    assert done.exit_code == 0
    assert "3 orders cancelled; not verified" in done.stdout
    assert venue.orders("resting") == []


def test_cancel_all_of_one_series_leaves_the_orders_of_the_other(venue, tmp_path):
    venue.place(2)
    venue.place(1, venue.other)
    done = cancel_all(venue, tmp_path, "--verify", "--series", "--json")
    assert json.loads(done.stdout)["cancelled"] == 2
    assert [row["ticker"] for row in venue.orders("resting")] == [venue.other["ticker"]]
    assert cancel_all(venue, tmp_path).exit_code == 0
    assert venue.orders("resting") == []


def test_cancel_all_at_a_halted_venue_ends_with_4_and_names_every_order(venue, tmp_path):
    venue.place(3)
    resting = {row["order_id"] for row in venue.orders("resting")}
    venue.operate("PUT", "venue-state", state="halted")
    try:
        done = cancel_all(venue, tmp_path, "--verify", "--deadline", "1s", "--json")
    finally:
        venue.operate("PUT", "venue-state", state="open")
    result = json.loads(done.stdout)
    assert done.exit_code == result["exit_code"] == 4
    assert {row["order_id"] for row in result["left"]} == resting
    assert "venue_halted" in {row["why"] for row in result["left"]}
    assert cancel_all(venue, tmp_path).exit_code == 0


def test_ctrl_c_during_cancel_all_says_that_orders_may_rest(venue, tmp_path):
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
    assert cancel_all(venue, tmp_path).exit_code == 0


def test_cancel_all_works_with_the_reapers_key_where_the_bots_key_is_refused(venue, tmp_path):
    venue.place(2)
    reader = Operated.__new__(Operated)
    reader.base_url, reader.keys = venue.base_url, {"maker": venue.keys["reader"]}
    done = cancel_all(reader, tmp_path, "--verify", "--json")
    assert done.exit_code == 3
    assert json.loads(done.stdout)["refused"] == "403 forbidden_scope"
    config = tmp_path / "bot.yaml"
    (tmp_path / "reaper.key").write_text(venue.keys["reaper"])
    config.write_text(f"{config.read_text()}reaper: {{key_file: {tmp_path / 'reaper.key'}}}\n")
    done = cancel_all(reader, tmp_path, "--reaper-key")
    assert done.exit_code == 0, done.stderr
    assert venue.orders("resting") == []


def test_a_refused_key_of_the_reaper_is_named_and_not_advised(venue, tmp_path):
    venue.place(1)
    config_for(venue, tmp_path)
    config = tmp_path / "bot.yaml"
    (tmp_path / "reaper.key").write_text(venue.keys["reader"])
    config.write_text(f"{config.read_text()}reaper: {{key_file: {tmp_path / 'reaper.key'}}}\n")
    done = cancel_all(venue, tmp_path, "--verify", "--reaper-key")
    assert done.exit_code == 3
    assert "the venue refuses the reaper's key: 403 forbidden_scope" in done.stderr
    assert "see --reaper-key" not in done.stderr
    assert cancel_all(venue, tmp_path).exit_code == 0


def test_cancel_all_warns_of_a_bot_on_the_account_and_names_the_signal_that_pauses_it(
    venue, tmp_path
):
    config_for(venue, tmp_path)
    held = AccountLock.acquire(venue.base_url, Secret(venue.keys["maker"]), tmp_path / "state")
    try:
        done = cancel_all(venue, tmp_path)
    finally:
        held.close()
    assert done.exit_code == 0
    assert f"pause it with: kill -USR1 {os.getpid()}" in done.stderr
    assert str(tmp_path / "state") in done.stderr


def test_cancel_all_works_where_locks_cannot_be_made(venue, tmp_path):
    venue.place(1)
    (tmp_path / "laddermaker").write_text("a file where the folder should be")
    done = cancel_all(venue, tmp_path, runtime=tmp_path)
    assert done.exit_code == 0
    assert "cannot see if a bot trades this account" in done.stderr
    assert venue.orders("resting") == []
