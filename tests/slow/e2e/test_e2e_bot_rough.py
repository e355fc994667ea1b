"""Claims about a real bot that is stopped in its tracks, and on a network that half opens."""

import signal
import time

from tests.builders.e2e.rough import RoughProxy
from tests.builders.e2e.runs import (
    Venue,
    config_for,
    running_venue,
    start_bot,
    summary_of,
    wait_until,
)


def assert_exact(summary: dict, said: str) -> None:
    """What must hold at the end of every run."""
    assert summary["unknown_open"] == 0, said
    assert summary["resting_after"] == 0, said
    assert summary["self_trades"] == 0, said
    assert summary["ledger_difference_cents"] == 0, said


def test_a_bot_that_is_paused_and_goes_on_pulls_what_is_old_and_ends_well(tmp_path):
    with running_venue(tmp_path, seed=41) as venue:
        bot = start_bot("run", str(config_for(venue, tmp_path)), "--json", folder=tmp_path)
        wait_until(lambda: bool(venue.orders("resting")), 30)
        for pause_s in (0.4, 3.0):
            bot.send_signal(signal.SIGSTOP)
            time.sleep(pause_s)
            bot.send_signal(signal.SIGCONT)
            time.sleep(1.0)
        wait_until(lambda: bool(venue.orders("resting")), 30)
        bot.send_signal(signal.SIGTERM)
        summary = summary_of(bot, 30)
        said = (tmp_path / "bot.err").read_text()[-3000:]
        assert bot.returncode == 0, said
        assert_exact(summary, said)
        assert venue.orders("resting") == []


def test_answers_that_never_come_and_a_channel_half_open_cost_no_order(tmp_path):
    with running_venue(tmp_path, seed=42) as venue:
        real_port = int(venue.base_url.split(":")[2].split("/")[0])
        with RoughProxy(real_port, 42) as proxy:
            broken = venue.base_url.replace(str(real_port), str(proxy.port))
            config = config_for(Venue(broken, venue.keys), tmp_path)
            bot = start_bot("run", str(config), "--json", folder=tmp_path)
            wait_until(lambda: proxy.seen["silenced"] == 1, 40)
            wait_until(lambda: proxy.seen["channels"] >= 2, 20)
            proxy.heal()
            time.sleep(6.0)
            bot.send_signal(signal.SIGTERM)
            summary = summary_of(bot, 40)
        said = (tmp_path / "bot.err").read_text()[-3000:]
        assert proxy.seen["silenced"] == 1
        assert proxy.seen["channels"] >= 2, "a channel that fell silent is given up for another"
        assert proxy.seen["held_after"] + proxy.seen["held_before"] > 0
        assert bot.returncode == 0, said
        assert_exact(summary, said)
        assert venue.orders("resting") == []
