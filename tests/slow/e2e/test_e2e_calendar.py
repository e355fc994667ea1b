"""Claim about a date of the calendar with real processes: smaller orders, further away."""

import datetime
import signal
from statistics import median
from typing import Any

import httpx
import pytest

from tests.builders.e2e.runs import (
    TWO_SIDED_S,
    Venue,
    assert_clean,
    config_for,
    running_venue,
    start_bot,
    summary_of,
    wait_until,
)

pytestmark = pytest.mark.xdist_group("calendar")

HALF_SPREAD_CENTS, LOT_QTY, DIVISOR, WIDTH_PCT = 4, 8, 4, 300
STRATEGY = f"""\
  name: fixed_spread
  params: {{half_spread_cents: {HALF_SPREAD_CENTS}, lot_qty: {LOT_QTY}}}
"""
DATED = f"""\
calendar:
  - at: {{at}}
    name: index day
    before_ms: 0
    after_ms: 10000
    state: reduced
    size_divisor: {DIVISOR}
    width_pct: {WIDTH_PCT}
"""


def event_of(page: str) -> dict[str, Any]:
    """The first event that the bot shows; one without rungs while there is none yet."""
    report = httpx.get(f"{page}status.json", trust_env=False).json()["report"]
    events = [] if report is None else report["events"]
    return events[0] if events else {"rungs": []}


def restricted_by(page: str) -> list[tuple[str, str]]:
    restrictions = event_of(page).get("restrictions", ())
    return [(each["source"], each["state"]) for each in restrictions]


def resting(venue: Venue, page: str) -> tuple[int, float]:
    """Of the event's orders as the venue lists them: the largest quantity, and the median distance
    from the fair value that the page shows, in cents."""
    fairs = {each["market_id"]: each["fair_cents"] for each in event_of(page)["rungs"]}
    qtys, distances = [0], [0.0]
    for order in venue.orders("resting"):
        if (fair := fairs.get(order["market_id"])) is not None:
            level = order["price"] if order["outcome"] == "yes" else 100 - order["price"]
            qtys.append(order["remaining_qty"])
            distances.append(abs(level - fair))
    return max(qtys), median(distances)


def test_around_a_date_orders_are_smaller_and_further_away_and_then_as_before(tmp_path):
    with running_venue(tmp_path, seed=43) as venue:
        config = config_for(venue, tmp_path)
        text = config.read_text().replace("  name: ladder_joint\n", STRATEGY)
        config.write_text(text)
        bot = start_bot("run", str(config), "--json", folder=tmp_path)
        log = tmp_path / "bot.err"
        wait_until(lambda: "status page: " in log.read_text(), TWO_SIDED_S)
        page = log.read_text().partition("status page: ")[2].split()[0]

        def is_usual() -> bool:
            qty, cents = resting(venue, page)
            return qty == LOT_QTY and cents < 2 * HALF_SPREAD_CENTS

        def is_dated() -> bool:
            qty, cents = resting(venue, page)
            return qty == LOT_QTY // DIVISOR and cents > (WIDTH_PCT - 50) * HALF_SPREAD_CENTS / 100

        wait_until(is_usual, TWO_SIDED_S)
        at = datetime.datetime.now(datetime.UTC) + datetime.timedelta(seconds=1)
        config.write_text(text + DATED.format(at=at.isoformat()))
        bot.send_signal(signal.SIGHUP)
        wait_until(is_dated, 30)
        wait_until(lambda: restricted_by(page) == [("calendar", "reduced")], 30)
        wait_until(is_usual, 30)
        wait_until(lambda: restricted_by(page) == [], 30)
        bot.send_signal(signal.SIGINT)
        assert_clean(summary_of(bot, TWO_SIDED_S))
