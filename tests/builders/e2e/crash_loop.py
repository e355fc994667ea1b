"""A bot that is killed again and again until it stays down, and what rests at the venue after that.

`python -m tests.builders.e2e.crash_loop --rounds 50 --every 15` prints a line for each round, with
and without a reaper in turn, and a summary. A supervisor starts `bot run` and kills it
(SIGKILL) after so many seconds, until a start ends by itself. Ten seconds
later the venue is asked what rests. The exit line, `bot check` and `bot reset` must say the same.
"""

import argparse
import contextlib
import json
import random
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

from tests.builders.e2e.runs import (
    BOT,
    ROOT,
    Venue,
    config_for,
    no_bot_outlives,
    running_venue,
    start_bot,
    wait_until,
)

REAPER = """\
reaper:
  key_file: {key_file}
"""
SETTLE_S = 10.0
KILLS_MAX = 10
QUOTES = '"event": "quoting"'
PROVED = "nothing of ours rests, as a list at "


Live = Callable[["subprocess.Popen[bytes]"], bool]
"""Waits as long as a bot is to live. False: it ended by itself."""


class Round(NamedTuple):
    """kills: before it stayed down. at_last_kill, at_exit, later: orders of the account that rest.
    code: of the last start. said: its last line."""

    kills: int
    at_last_kill: int
    at_exit: int
    later: int
    code: int
    exit_s: float
    said: str


def crash_loop(
    folder: Path, venue: Venue, live: Live, *, reaper: bool, settle_s: float = SETTLE_S
) -> Round:
    """One round in an empty folder. Raises AssertionError where anything rests in the end, or the
    commands do not say the same."""
    config = config_for(venue, folder)
    with ExitStack() as until, no_bot_outlives():
        if reaper:
            key_file = folder / "reaper.key"
            key_file.write_text(venue.keys["reaper"])
            key_file.chmod(0o400)
            config.write_text(config.read_text() + REAPER.format(key_file=key_file))
            (folder / "reaper").mkdir()
            watching = start_bot("reaper", str(config), folder=folder / "reaper")
            until.callback(watching.communicate, timeout=20)
            until.callback(watching.send_signal, signal.SIGTERM)
        kills = at_last_kill = 0
        while True:
            began_s = time.monotonic()
            bot = start_bot("run", str(config), folder=folder)
            if not live(bot):
                break
            assert kills < KILLS_MAX, "it never stays down"
            bot.kill()
            bot.communicate(timeout=10)
            kills += 1
            at_last_kill = len(venue.orders("resting"))
        bot.communicate(timeout=10)
        exit_s = time.monotonic() - began_s
        at_exit = len(venue.orders("resting"))
        said = (folder / "bot.err").read_text().strip().splitlines()[-1]
        _all_say(config, said)
        time.sleep(settle_s)
        later = len(venue.orders("resting"))
    found = Round(kills, at_last_kill, at_exit, later, bot.returncode, exit_s, said)
    assert said.startswith(PROVED), found
    assert (found.code, at_exit, later) == (3, 0, 0), found
    return found


def _all_say(config: Path, said: str) -> None:
    """`bot check` and `bot reset` say what the exit line says."""
    check = subprocess.run(
        [*BOT, "check", str(config)], cwd=ROOT, capture_output=True, text=True, timeout=60,
        check=False,
    )  # fmt: skip
    assert check.returncode == 3, check
    assert "FAIL latch: latched since" in check.stderr, check
    assert f"ok   what rests: {said}" in check.stdout, check
    reset = subprocess.run(
        [*BOT, "reset", str(config), "--yes", "--json"], cwd=ROOT, capture_output=True, text=True,
        timeout=60, check=True,
    )  # fmt: skip
    told = json.loads(reset.stdout)
    assert (told["by"], told["rests"]) == ("crash-loop", said), told


def until_it_quotes(folder: Path, venue: Venue, least: int = 20) -> Live:
    """A bot lives until it quotes and so many orders rest."""
    log = folder / "bot.err"

    def live(bot: "subprocess.Popen[bytes]") -> bool:
        before = log.read_text().count(QUOTES)
        wait_until(lambda: log.read_text().count(QUOTES) > before or bot.poll() is not None, 60)
        if bot.poll() is None:
            wait_until(lambda: len(venue.orders("resting")) >= least, 60)
        return bot.poll() is None

    return live


def for_so_long(seconds: float) -> Live:
    def live(bot: "subprocess.Popen[bytes]") -> bool:
        with contextlib.suppress(subprocess.TimeoutExpired):
            bot.wait(seconds)
        return bot.poll() is None

    return live


def _main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=50, help="of each kind")
    parser.add_argument("--every", type=float, default=15.0, help="seconds from start to kill")
    parser.add_argument("--seed", type=int, default=random.randrange(2**31))
    options = parser.parse_args()
    print(f"seed {options.seed}", flush=True)
    slowest_s = 0.0
    for number in range(options.rounds):
        for reaper in (False, True):
            with tempfile.TemporaryDirectory(prefix="crash-loop-") as name:
                folder = Path(name)
                with running_venue(folder, options.seed + number) as venue:
                    found = crash_loop(folder, venue, for_so_long(options.every), reaper=reaper)
            slowest_s = max(slowest_s, found.exit_s)
            with_it = "with a reaper" if reaper else "without a reaper"
            print(
                f"round {number + 1} {with_it}: {found.kills} kills, {found.at_last_kill} orders "
                f"rest after the last, {found.at_exit} at exit {found.code} after "
                f"{found.exit_s:.1f} s, {found.later} ten seconds later: {found.said}",
                flush=True,
            )
    print(
        f"{options.rounds} rounds with and {options.rounds} without a reaper: nothing rests after "
        f"any of them; the start that stays down took {slowest_s:.1f} s at most"
    )


if __name__ == "__main__":
    _main()
