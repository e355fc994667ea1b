"""Claim about a loss budget with real processes, by raw reads of the account."""

import json
import signal
import subprocess
from pathlib import Path
from typing import Any

from tests.builders.e2e.runs import (
    BOT,
    ROOT,
    config_for,
    running_venue,
    start_bot,
    summary_of,
    wait_until,
)


def ask(config: Path, *words: str) -> Any:
    done = subprocess.run(
        [*BOT, words[0], str(config), *words[1:], "--json"],
        cwd=ROOT, capture_output=True, check=True, timeout=30,
    )  # fmt: skip
    return json.loads(done.stdout)


def test_a_loss_while_a_killed_bot_was_down_keeps_the_next_one_from_quoting_until_raised(tmp_path):
    with running_venue(tmp_path, seed=43) as venue:
        config = config_for(venue, tmp_path)
        config.write_text(
            config.read_text() + "  control: true\nloss_budgets:\n  day_cents: 2000\n"
        )
        first = start_bot("run", str(config), "--json", folder=tmp_path)
        wait_until(lambda: len(venue.orders("resting")) > 8, 60)
        wait_until(lambda: ask(config, "budget") != [], 30)
        first.kill()
        first.communicate(timeout=30)
        venue.operate("user", "withdraw", "maker", "6000")
        placed = len(venue.orders("all"))  # those, too, that were on their way

        second = start_bot("run", str(config), "--json", folder=tmp_path)
        wait_until(lambda: any(row["lost_cents"] > 2_000 for row in ask(config, "budget")), 60)
        wait_until(lambda: venue.orders("resting") == [], 30)
        assert len(venue.orders("all")) == placed, "not one more order"
        ask(config, "budget", "--raise", "day", "--by", "9000", "--reason", "moved to the bank")
        ask(config, "reset", "--yes")
        wait_until(lambda: len(venue.orders("resting")) > 8, 60)
        second.send_signal(signal.SIGTERM)
        summary_of(second, 60)
    (used,) = ask(config, "budget")
    assert [each["reason"] for each in used["raises"]] == ["moved to the bank"]
