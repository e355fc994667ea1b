"""Claims about `bot incident` with real processes: a bot that runs, one that was killed, a dead
venue."""

import json
import re
import signal
from pathlib import Path

import pytest

from tests.builders.e2e.runs import Venue, config_for, running_venue, start_bot, wait_until
from tests.builders.io.commands import finished

pytestmark = pytest.mark.xdist_group("incident")  # one night for all of its claims

DEADLINE_S = 60


@pytest.fixture(scope="module")
def night(tmp_path_factory):
    """The reports of one night, the orders before and after that of the killed bot, and a text."""
    folder = tmp_path_factory.mktemp("night")
    with running_venue(folder, seed=44) as venue:
        config = config_for(venue, folder)
        bot = start_bot("run", str(config), folder=folder)
        wait_until(lambda: len(venue.orders("resting")) > 10, DEADLINE_S)
        bot.send_signal(signal.SIGUSR1)
        wait_until(lambda: venue.orders("resting") == [], DEADLINE_S)
        found = {"paused": reported(config)}
        bot.send_signal(signal.SIGUSR2)
        wait_until(lambda: len(venue.orders("resting")) > 10, DEADLINE_S)
        bot.kill()
        bot.communicate(timeout=30)
        before = listed(venue)
        found["killed"] = reported(config)
        after = listed(venue)
        text = finished("bot", "incident", config).stdout
        found["key refused"] = reported(with_a_refused_key(venue, config))
    found["venue dead"] = reported(config)
    return found, (before, after), text


def with_a_refused_key(venue: Venue, config: Path) -> Path:
    """The same bot with a trade key that the venue does not know, and a reaper's key that works."""
    for name, key in (("wrong", "lm_wrong"), ("reaper", venue.keys["reaper"])):
        (config.parent / f"{name}.key").write_text(key)
        (config.parent / f"{name}.key").chmod(0o400)
    text = config.read_text().replace("maker.key", "wrong.key")
    other = config.with_name("refused.yaml")
    other.write_text(f"{text}reaper:\n  key_file: {config.parent / 'reaper.key'}\n")
    return other


def listed(venue: Venue) -> set[str]:
    return {each["order_id"] for each in venue.orders("resting")}


def reported(config: Path) -> tuple[int, dict]:
    done = finished("bot", "incident", config, "--json")
    assert done.stdout, done.stderr
    return done.returncode, json.loads(done.stdout)


def test_a_running_bot_and_the_venue_are_both_asked_what_rests(night):
    code, report = night[0]["paused"]
    assert report["unread"] == []
    assert report["bot"]["state"] == "paused"
    assert (report["bot"]["orders"], report["venue"]["orders"]) == ([], [])
    held = bool(report["venue"]["shares"])
    assert (code, report["flat"]) == ((4, False) if held else (0, True))


def test_the_orders_of_a_killed_bot_are_those_that_the_venue_lists(night):
    found, (before, after), _ = night
    code, report = found["killed"]
    assert (code, report["flat"]) == (4, False)
    # The crowd goes on trading with them.
    assert after <= {order["order_id"] for order in report["venue"]["orders"]} <= before
    assert {cause["runbook"] for cause in report["causes"]} == {"BotDown"}


def test_the_report_tells_who_did_what_in_its_order(night):
    timeline = night[0]["killed"][1]["journal"]["timeline"]
    assert [(each["who"], each["what"].partition(":")[0]) for each in timeline] == [
        ("bot", "started"),
        ("operator", "pause"),
        ("operator", "resume"),
    ]


def test_with_the_key_of_the_bot_refused_the_account_is_read_with_that_of_the_reaper(night):
    code, report = night[0]["key refused"]
    assert (code, report["flat"]) == (4, False)
    assert report["venue"]["orders"]
    assert report["venue"]["refused_keys"] == ["trade key: 401 unauthenticated"]
    assert {cause["runbook"] for cause in report["causes"]} == {"BotDown", "KeyRefused"}


def test_with_bot_and_venue_dead_the_journal_says_what_may_rest(night):
    found, (_, after), _ = night
    code, report = found["venue dead"]
    assert (code, report["flat"]) == (4, False)
    assert [part.partition(":")[0] for part in report["unread"]] == ["the bot's page", "the venue"]
    assert len(report["journal"]["may_rest"]) >= len(after)
    assert {cause["runbook"] for cause in report["causes"]} == {"BotDown", "VenueDown"}


def test_the_text_answers_first_whether_everything_is_flat(night):
    text = night[2]
    assert (
        text.index("Is everything flat? NO") < text.index("Who did what") < text.index("What to do")
    )
    assert re.search(r"^  venue: \d+ orders rest", text, re.MULTILINE)
    assert "bot cancel-all CONFIG --verify" in text
