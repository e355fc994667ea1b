"""Claims about the reaper with real processes: a bot killed, frozen, stopped, and one too many.

The venue and its crowd run throughout; what rests is read raw, with the bot's key.
"""

import json
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.builders.e2e.runs import BOT, Venue, config_for, running_venue, start_bot, wait_until

pytestmark = pytest.mark.xdist_group("reaper")

AFTER_S = 1.0
"""The shortest silence that is worth a test; ten seconds are usual."""

REAPER = """\
reaper:
  key_file: {key_file}
  after_ms: 1000
"""


@pytest.fixture(scope="module")
def venue(tmp_path_factory) -> Iterator[Venue]:
    with running_venue(tmp_path_factory.mktemp("venue"), seed=61) as running:
        yield running


def configured(venue: Venue, folder: Path, key: str = "reaper") -> Path:
    config = config_for(venue, folder)
    key_file = folder / "reaper.key"
    key_file.write_text(venue.keys[key])
    key_file.chmod(0o400)
    config.write_text(config.read_text() + REAPER.format(key_file=key_file))
    return config


@contextmanager
def started(folder: Path, *arguments: str) -> Iterator["subprocess.Popen[bytes]"]:
    """A process of ours, its stderr in `<command>.err`; it does not outlive the block."""
    place = folder / arguments[0]
    place.mkdir(exist_ok=True)
    process = start_bot(*arguments, folder=place)
    try:
        yield process
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGCONT)
            process.kill()
        process.communicate(timeout=10)


def log_of(folder: Path, command: str) -> str:
    return (folder / command / "bot.err").read_text()


def watching(folder: Path) -> bool:
    return '"phase": "watching"' in log_of(folder, "reaper")


def nothing_rests(venue: Venue) -> bool:
    return venue.orders("resting") == []


@contextmanager
def bot_and_reaper(venue: Venue, folder: Path, *more: str) -> Iterator[tuple]:
    """A bot that quotes and a reaper that watches it."""
    config = str(configured(venue, folder))
    with (
        started(folder, "run", config, "--json") as bot,
        started(folder, "reaper", config, "--json", *more) as reaper,
    ):
        wait_until(lambda: len(venue.orders("resting")) >= 20 and watching(folder), 30)
        yield bot, reaper


def test_the_reaper_cancels_the_orders_of_a_killed_bot_and_the_next_start_is_latched(
    venue, tmp_path
):
    with bot_and_reaper(venue, tmp_path) as (bot, reaper):
        bot.kill()
        killed = time.monotonic()
        assert not nothing_rests(venue), "the venue cancels nothing by itself"
        wait_until(lambda: nothing_rests(venue), 20)
        assert time.monotonic() - killed < AFTER_S + 5
        wait_until(lambda: '"event": "reaped"' in log_of(tmp_path, "reaper"), 10)
        latch = json.loads((tmp_path / "state" / "latch.json").read_text())
        assert latch["by"] == "reaper"
        assert "no heartbeat" in latch["reason"]
        reaper.send_signal(signal.SIGTERM)
        out, _ = reaper.communicate(timeout=10)
        assert reaper.returncode == 0, log_of(tmp_path, "reaper")[-2000:]
        assert json.loads(out) == {"exit_code": 0, "phase": "reaping", "clean": True}
    config = str(tmp_path / "bot.yaml")
    (tmp_path / "run" / "bot.err").unlink()
    with started(tmp_path, "run", config, "--for", "2s", "--json") as again:
        again.communicate(timeout=30)
    assert again.returncode == 3
    assert '"event": "latched"' in log_of(tmp_path, "run")
    assert '"event": "quoting"' not in log_of(tmp_path, "run")
    assert nothing_rests(venue)


def test_a_bot_that_resumes_after_the_reaper_acted_leaves_no_order_resting(venue, tmp_path):
    with bot_and_reaper(venue, tmp_path) as (bot, _):
        bot.send_signal(signal.SIGSTOP)
        wait_until(lambda: '"event": "reaped"' in log_of(tmp_path, "reaper"), 20)
        before = {order["order_id"] for order in venue.orders("all")}
        bot.send_signal(signal.SIGCONT)
        time.sleep(1.5)
        wait_until(lambda: nothing_rests(venue), 10)
        later = [row for row in venue.orders("all") if row["order_id"] not in before]
        # What had left the process before it was frozen may still land; nothing is decided anew.
        time.sleep(0.5)
        assert len([r for r in venue.orders("all") if r["order_id"] not in before]) == len(later)
        assert nothing_rests(venue)
        assert bot.poll() is None


def test_a_second_bot_is_refused_and_the_reaper_does_not_act_after_a_clean_stop(venue, tmp_path):
    with bot_and_reaper(venue, tmp_path) as (bot, reaper):
        other = str(tmp_path / "another-state")
        second = subprocess.run(
            [*BOT, "run", str(tmp_path / "bot.yaml"), "--state-dir", other, "--status-port", "0"],
            capture_output=True,
            text=True,
            timeout=20,
            check=False,
        )
        assert second.returncode == 3
        assert f"process id {bot.pid}" in second.stderr
        assert str(tmp_path / "state") in second.stderr
        bot.send_signal(signal.SIGTERM)
        bot.communicate(timeout=20)
        assert bot.returncode == 0
        time.sleep(AFTER_S + 0.6)
        assert '"phase": "waiting"' in log_of(tmp_path, "reaper").splitlines()[-1]
        assert not (tmp_path / "state" / "latch.json").exists()
        reaper.send_signal(signal.SIGTERM)
        assert reaper.wait(10) == 0


@pytest.mark.parametrize(
    ("key", "code", "advice"),
    [
        ("maker", 2, "its key is the bot's own"),
        ("reader", 3, "it needs the scopes read and trade"),
    ],
)
def test_a_reaper_whose_key_cannot_cancel_ends_at_once(venue, tmp_path, key, code, advice):
    config = configured(venue, tmp_path, key)
    with started(tmp_path, "reaper", str(config)) as reaper:
        reaper.communicate(timeout=20)
        assert reaper.returncode == code
        assert advice in log_of(tmp_path, "reaper")
        assert venue.keys[key] not in log_of(tmp_path, "reaper")


def test_a_reaper_started_with_now_latches_before_its_first_request(venue, tmp_path):
    config = configured(venue, tmp_path)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        silent.settimeout(30)
        elsewhere = f"http://127.0.0.1:{silent.getsockname()[1]}/v1"
        config.write_text(config.read_text().replace(venue.base_url, elsewhere))
        with started(tmp_path, "reaper", str(config), "--now"):
            connection, _ = silent.accept()
            with connection:
                assert (tmp_path / "state" / "latch.json").exists()


def test_the_reaper_ignores_hangup_and_signals_meant_for_the_bot(venue, tmp_path):
    with started(tmp_path, "reaper", str(configured(venue, tmp_path)), "--json") as reaper:
        wait_until(lambda: "key_tried" in log_of(tmp_path, "reaper"), 20)
        for number in (signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2):
            reaper.send_signal(number)
        with pytest.raises(subprocess.TimeoutExpired):
            reaper.wait(1)
        until_s = time.monotonic() + 10
        while reaper.poll() is None and time.monotonic() < until_s:
            reaper.send_signal(signal.SIGTERM)  # the first counts, the others change nothing
            time.sleep(0.005)
        assert reaper.returncode == 0
