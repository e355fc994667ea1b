"""Claims that a real Prometheus proves over a running bot and a running venue.

Every expression of every dashboard and rule is asked of it, and alerts fire by what they are about.
"""

import os
import signal
import time

import pytest

from bot.io.state.kill_switch_file import KillSwitchFile
from tests.builders.deploy import four_boards, rules
from tests.builders.deploy.site import running, small_disk, until
from tests.builders.scale import FULL

pytestmark = pytest.mark.xdist_group("prometheus")

SERIES_MAX = 2_000
"""Of one bot."""

ABOUT_PACE = {
    *("BookStale", "BudgetStarved", "DecisionsSlow", "FeedLate", "FeedStale", "JournalLate"),
    *("QuotesMissing", "RateLimited", "UptimeLow", "VenueBehind"),
}
"""Alerts that a slow machine may cause in a run in which all is well."""

QUIET = {
    f"{board.uid}: {panel.title}"
    for board in four_boards.BOARDS
    for _, row in board.rows
    for panel in row
    if panel.quiet
}


def may_be_empty(where: str) -> bool:
    """Whether a panel may be without data in a run in which nothing of its kind happens."""
    return where.rpartition(": ")[0] in QUIET


def test_prometheus_has_data_for_every_panel_and_rule_and_alerts_fire(
    tmp_path,
):
    need_data = {each.where: each.expr for each in rules.shown() if not may_be_empty(each.where)}
    for rule in rules.rules("recording.yaml"):
        need_data |= {f"{rule['record']}: expr": rule["expr"], rule["record"]: rule["record"]}
    with running(tmp_path, 8) as site:
        until(site.is_scraped, 60, "Prometheus has scraped both")
        # Each once: a scrape that a busy machine makes late leaves a second without any data.
        missing = set(need_data)

        def all_there() -> bool:
            missing.difference_update([where for where in missing if site.query(need_data[where])])
            return not missing

        try:
            until(all_there, 120, "data for every panel and recording rule")
        finally:
            assert missing == set()
        for each in rules.shown():
            site.query(each.expr)
        for alert in rules.alerts():
            site.query(alert.expr)
        most = site.query('max_over_time(count({job="bot"})[1m:1s])')
        assert int(most[0]["value"][1]) <= SERIES_MAX
        # No reaper was started, and but for how fast the machine is that is all that is wrong.
        site.fires("ReaperAbsent", 30)
        until(
            lambda: site.firing() <= {"ReaperAbsent"} | ABOUT_PACE,
            30,
            "no alert about anything else",
        )
        site.signal("bot", signal.SIGKILL)
        site.fires("BotDown", 40)


TINY = {"risk": {"event_loss_cents": 3_000, "series_loss_cents": 3_000}}
"""Less than what is wanted may lose."""

STARVED = {
    "budget": {"rate_per_second": 2, "burst": 64, "reserve": 60},
    "risk": {"resting_orders": 50},
}
"""Hardly a token beside the reserve."""

at_length = pytest.mark.skipif(
    os.environ.get(FULL) != "1", reason=f"takes a minute; {FULL}=1 runs it"
)


@at_length
def test_alerts_about_books_keys_and_venue_fire(tmp_path):
    with running(tmp_path, 1) as site:
        until(site.is_scraped, 30, "Prometheus has scraped both")
        until(lambda: bool(site.query("laddermaker_resting_orders > 50")), 30, "quotes")
        site.venue("user", "deposit", "maker", "777")
        site.fires("ReconcileDifference", 40)

        rung = site.query("laddermaker_rung_quotable")[0]["metric"]["rung"]
        order = {"ticker": rung, "outcome": "yes", "side": "buy", "price": 1, "qty": 1}
        order |= {"client_order_id": "somebody-else", "time_in_force": "gtc"}
        site.ask("POST", "/orders", order)
        site.fires("ForeignOrders", 30)

        KillSwitchFile(site.state).set("a test pulled it", "person", time.time_ns())
        site.fires("BotLatched", 10)

        raw = site.keys["maker"]
        keys = site.venue("key", "list")["keys"]
        own = next(key for key in keys if raw.startswith(key["prefix"]))
        site.venue("key", "revoke", own["key_id"])
        site.fires("KeyRefused", 30)

        site.signal("venue", signal.SIGSTOP)
        site.fires("VenueDown", 20)
        site.fires("FeedStale", 40)


@at_length
def test_alerts_about_quotes_orders_and_breakers_fire(
    tmp_path,
):
    with running(tmp_path, 8, keys=TINY, fault="engine_unavailable") as site:
        until(site.is_scraped, 30, "Prometheus has scraped both")
        site.fires("QuotesMissing", 60)
        site.fires("NothingQuoted", 60)
        site.venue("fault", "clear")
        site.ceases("NothingQuoted", 60)

        assert "UnknownOrderOld" not in site.firing()
        site.creates_meet("drop_after")
        site.fires("UnknownOrderOld", 120)

        assert "BotLatched" not in site.firing()
        site.reconfigure({"breakers": {"creates_per_minute": 1}})
        site.fires("BotLatched", 60)
        assert site.query('laddermaker_breaker_trips_total{breaker="creates_per_minute"} > 0')


@at_length
def test_only_inventory_near_the_loss_limit_is_an_alert(tmp_path):
    with running(tmp_path, 8, keys=TINY) as site:
        until(site.is_scraped, 30, "Prometheus has scraped both")
        until(lambda: bool(site.query("laddermaker_held_worst_case_cents > 100")), 120, "fills")
        until(lambda: bool(site.query("series:laddermaker_worst_case:ratio > 0.8")), 60, "quotes")
        assert "WorstCaseHigh" not in site.firing()
        site.reconfigure({"risk": {"event_loss_cents": 100, "series_loss_cents": 100}})
        site.fires("WorstCaseHigh", 60)


SOURCES = {
    "fair_value": {"sources": [{"name": "model", "file": "model.json", "poll_ms": 100}]},
    "loss_budgets": {"from_high_water": True},
    "status": {"port": 0, "control": True},
}
"""A file next to the configuration states values, any fall counts, and the page takes commands."""


@at_length
def test_alerts_about_loss_budget_and_outside_value_fire_and_clear(tmp_path):
    (tmp_path / "model.json").write_text("half a fi")
    with running(tmp_path, 8, keys=SOURCES) as site:
        until(site.is_scraped, 30, "Prometheus has scraped both")
        site.fires("OutsideValueUnused", 30)
        (tmp_path / "model.json").write_text('{"values": []}')
        site.ceases("OutsideValueUnused", 30)

        assert "LossBudgetUsed" not in site.firing()
        until(lambda: bool(site.query("laddermaker_loss_budget_lost_cents > 0")), 60, "a loss")
        site.reconfigure({"loss_budgets": {"day_cents": 1}})
        site.fires("LossBudgetUsed", 30)
        site.fires("BotLatched", 30)
        site.bot("budget", "--raise", "day", "--by", "1000000", "--reason", "a test lowered it")
        site.ceases("LossBudgetUsed", 30)


@at_length
def test_alerts_about_request_budget_and_disk_fire(tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    try:
        with (
            small_disk(disk),
            running(tmp_path, 1, keys=STARVED, state=disk / "state") as site,
        ):
            until(site.is_scraped, 30, "Prometheus has scraped both")
            site.fires("DiskLow", 30)
            site.fires("BudgetStarved", 90)
    except PermissionError as fault:
        pytest.skip(str(fault))
