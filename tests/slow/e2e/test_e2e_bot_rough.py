"""Claim about a real bot on a network that drops, holds and half-opens connections."""

import signal
import time

from tests.builders.e2e.proxy import Proxy
from tests.builders.e2e.runs import (
    Venue,
    config_for,
    running_venue,
    start_bot,
    summary_of,
    wait_until,
)


def test_no_order_is_lost_when_responses_never_arrive_and_the_channel_is_half_open(tmp_path):
    with running_venue(tmp_path, seed=42) as venue:
        real_port = int(venue.base_url.split(":")[2].split("/")[0])
        with Proxy(real_port, 42) as proxy:
            lossy = venue.base_url.replace(str(real_port), str(proxy.port))
            config = config_for(Venue(lossy, venue.keys), tmp_path)
            bot = start_bot("run", str(config), "--json", folder=tmp_path)
            wait_until(lambda: proxy.seen["silenced"] == 1, 40)
            wait_until(lambda: proxy.seen["channels"] >= 2, 20)
            proxy.heal()
            time.sleep(6.0)
            bot.send_signal(signal.SIGTERM)
            summary = summary_of(bot, 40)
        said = (tmp_path / "bot.err").read_text()[-3000:]
        assert proxy.seen["silenced"] == 1
        assert proxy.seen["channels"] >= 2, "a silent channel is replaced by another"
        assert proxy.seen["held_after"] + proxy.seen["held_before"] > 0
        assert bot.returncode == 0, said
        for figure in ("unknown_open", "resting_after", "self_trades", "ledger_difference_cents"):
            assert summary[figure] == 0, said
        assert venue.orders("resting") == []
