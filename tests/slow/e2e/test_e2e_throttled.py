"""A 429 with real processes: it costs its Retry-After, and no more."""

import signal
import time
from datetime import datetime

from tests.builders.e2e.runs import (
    Venue,
    config_for,
    running_venue,
    start_bot,
    summary_of,
    wait_until,
)

RETRY_AFTER_S = 3.0
STRUCK_WITHIN_S = 1.0
"""A bot that quotes sends a request within that time, so that the fault strikes it."""


def created(venue: Venue, since_s: float) -> list[float]:
    """When the orders made since were created, in seconds of the machine's clock."""
    stamps = [datetime.fromisoformat(row["created_at"]).timestamp() for row in venue.orders("all")]
    return sorted(stamp for stamp in stamps if stamp >= since_s)


def test_one_429_with_retry_after_3_has_quotes_back_within_4_seconds(tmp_path):
    with running_venue(tmp_path, seed=43) as venue:
        config = config_for(venue, tmp_path)
        config.write_text(config.read_text() + "jump_guard:\n  jump_cents: 0\n  print_qty: 0\n")
        bot = start_bot("run", str(config), "--json", folder=tmp_path)
        wait_until(lambda: len(venue.orders("resting")) > 20, 60)
        venue.fault("rate_limited", "--retry-after", "3")
        struck_s = time.time()
        time.sleep(STRUCK_WITHIN_S)
        wait_until(lambda: bool(created(venue, struck_s + STRUCK_WITHIN_S)), 10)
        first_s = created(venue, struck_s + STRUCK_WITHIN_S)[0]
        bot.send_signal(signal.SIGTERM)
        summary = summary_of(bot, 60)
        assert summary["rate_limited"] == 1
        assert "foreign_spend" not in (tmp_path / "bot.err").read_text()
        assert RETRY_AFTER_S - 1 < first_s - struck_s < RETRY_AFTER_S + 1 + STRUCK_WITHIN_S
