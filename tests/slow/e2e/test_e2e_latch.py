"""Claim about a tripped breaker with real processes, by raw reads of the account."""

import json
import signal
import subprocess
from pathlib import Path

from bot.io.state.kill_switch_file import KillSwitchFile
from tests.builders.e2e.runs import (
    BOT,
    ROOT,
    config_for,
    running_venue,
    start_bot,
    summary_of,
    wait_until,
)


def reset(config: Path) -> dict:
    done = subprocess.run(
        [*BOT, "reset", str(config), "--yes", "--json"],
        cwd=ROOT, capture_output=True, check=True, timeout=30,
    )  # fmt: skip
    told: dict = json.loads(done.stdout)
    return told


def test_a_tripped_breaker_stays_tripped_over_a_restart_until_a_person_resets_it(tmp_path):
    with running_venue(tmp_path, seed=42) as venue:
        config = config_for(venue, tmp_path)
        config.write_text(config.read_text() + "breakers:\n  creates_per_minute: 30\n")
        latch = KillSwitchFile(tmp_path / "state")
        first = start_bot("run", str(config), "--json", folder=tmp_path)
        wait_until(lambda: latch.read_latch() is not None, 60)
        # Creates that were on their way when it tripped may come after the first cancels.
        wait_until(lambda: len(venue.orders("all")) == 30 and venue.orders("resting") == [], 9)
        first.kill()
        first.communicate(timeout=30)

        second = start_bot("run", str(config), "--for", "3s", "--json", folder=tmp_path)
        summary = summary_of(second, 60)
        assert second.returncode == 3
        assert "creates_per_minute: 31, at most 30" in summary["latched"]
        assert len(venue.orders("all")) == 30, "not one more order"

        assert reset(config)["was_latched"] is True
        third = start_bot("run", str(config), "--json", folder=tmp_path)
        wait_until(lambda: len(venue.orders("all")) > 30, 60)
        third.send_signal(signal.SIGTERM)
        summary_of(third, 60)
        assert venue.orders("resting") == []
