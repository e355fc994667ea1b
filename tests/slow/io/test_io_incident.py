"""Claims about `bot incident` on a journal that holds a night, and about its runbooks."""

import json
import re
from pathlib import Path

import pytest

from bot.core import messages as m
from bot.io.journal.records import OPENING, Entry, Head, framed
from bot.io.metrics.table import FINDINGS
from bot.io.state.kill_switch_file import KillSwitchFile
from bot.io.state.locks import StateDirectory
from bot.lab.incident import runbook_of
from tests.builders.deploy import rules
from tests.builders.e2e.runs import CONFIG
from tests.builders.io.commands import demo_copy, invoke
from venue.wire.instant import NS_PER_SECOND, to_ns

BEGUN = to_ns("2026-11-21T21:00:00Z")
FINDING = re.compile(r'finding(=~|!~|=)"([^"]+)"')
NIGHT: tuple[tuple[int, m.Event | m.Effect], ...] = (
    (0, m.Started("a" * 20, ())),
    (1, m.FeedOpened()),
    (5, m.PauseRequested("the venue behaves oddly")),
    (6, m.Response(m.RequestId(1), m.Rejected(400, "insufficient_funds", ""))),
    (7, m.Response(m.RequestId(2), m.Rejected(400, "insufficient_funds", ""))),
    (8, m.Response(m.RequestId(3), m.Unknown("no answer in time"))),
    (40, m.FeedAlive()),
    (41, m.Noted("error", "foreign_orders", {"text": "2 orders \x1b[2J of somebody else"})),
    (42, m.Noted("error", "unknown_old", {"text": "one order"})),
    (43, m.Noted("info", "unknown_old_cleared", {})),
    (45, m.LatchSet("reaper: no heartbeat for 10000 ms")),
    (46, m.LatchCleared("looked at it")),
)


def night(folder: Path, entries=NIGHT, tail: bytes = b"") -> Path:
    """A configuration on the embedded venue, with a state directory that holds this journal."""
    config = demo_copy(folder)
    state = folder / "state"
    state.mkdir(mode=0o700)
    rows = [framed(Entry(BEGUN + at * NS_PER_SECOND, what)) for at, what in entries]
    content = OPENING + framed(Head(BEGUN, ())) + b"".join(rows) + tail
    (state / "journal-00000001.log").write_bytes(content)
    return config


def asked(config: Path, *words: str):
    """The report where no bot answers, whatever else runs on this machine."""
    state = config.parent / "state"
    nobody = "http://127.0.0.1:1"
    return invoke("incident", config, "--state-dir", state, "--status", nobody, *words)


@pytest.fixture
def journal(tmp_path):
    done = asked(night(tmp_path), "--json")
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)["journal"]


def test_every_person_and_process_that_acted_is_named(journal):
    assert [(each["who"], each["what"]) for each in journal["timeline"]] == [
        ("bot", "started"),
        ("operator", "pause: the venue behaves oddly"),
        ("reaper", "latch: reaper: no heartbeat for 10000 ms"),
        ("operator", "reset: looked at it"),
    ]


def test_a_silent_channel_is_a_gap_from_the_last_sign_to_the_next(journal):
    (gap,) = journal["silent"]
    assert gap["what"] == "channel"
    assert (gap["until_ns"] - gap["from_ns"]) // NS_PER_SECOND == 39


def test_refusals_are_counted_by_code_and_findings_are_those_still_open(journal):
    assert (journal["refused"], journal["unanswered"]) == ({"insufficient_funds": 2}, 1)
    assert [each["name"] for each in journal["findings"]] == ["foreign_orders"]
    assert [each["name"] for each in journal["notes"]] == ["foreign_orders", "unknown_old"]


def test_what_came_before_the_time_named_is_left_out(tmp_path):
    done = asked(night(tmp_path), "--json", "--since", "2026-11-21T21:00:30Z")
    journal = json.loads(done.stdout)["journal"]
    assert [each["who"] for each in journal["timeline"]] == ["reaper", "operator"]
    assert journal["refused"] == {}


def test_the_text_names_the_runbooks_and_carries_no_terminal_codes(tmp_path):
    config = night(tmp_path)
    KillSwitchFile(tmp_path / "state").set("creates_per_minute: 31", "breaker", BEGUN)
    text = asked(config).stdout
    assert "docs/runbooks/ForeignOrders.md: foreign_orders: 2 orders" in text
    assert "docs/runbooks/BotLatched.md: latched by breaker: creates_per_minute: 31" in text
    assert "\x1b" not in text


def test_a_damaged_journal_is_reported_up_to_the_damage_with_3(tmp_path):
    cut = framed(Entry(BEGUN, m.Tick()))[:-1] + b"\x00"
    config = night(tmp_path, tail=cut + framed(Entry(BEGUN + 47 * NS_PER_SECOND, m.FeedAlive())))
    done = asked(config)
    assert done.exit_code == 3
    assert "not read: " in done.stdout
    assert "pause: the venue behaves oddly" in done.stdout


def test_without_a_journal_the_rest_is_reported_with_3(tmp_path):
    done = asked(demo_copy(tmp_path))
    assert done.exit_code == 3
    assert "not read: the journal" in done.stdout
    assert "Is everything flat?" in done.stdout


def test_a_bot_that_runs_and_does_not_answer_is_not_shown_as_flat(tmp_path):
    config = night(tmp_path)
    held = StateDirectory.open(tmp_path / "state")
    try:
        done = asked(config, "--json")
    finally:
        held.close()
    assert done.exit_code == 3
    report = json.loads(done.stdout)
    assert (report["flat"], report["causes"][0]["runbook"]) == (None, "BotDown")


@pytest.mark.parametrize(
    ("traded", "why"),
    [
        ("paper at http://127.0.0.1:1/v1", None),
        ("http://127.0.0.1:2/v1", "the last run traded at http://127.0.0.1:2/v1, the file says"),
        ("http://127.0.0.1:1/v1", "not reached"),
    ],
)
def test_the_venue_is_asked_only_where_the_last_run_traded_there(tmp_path, traded, why):
    night(tmp_path)
    (tmp_path / "state/venue-address").write_text(f"{traded}\n")
    (tmp_path / "maker.key").write_text("lm_maker")
    (tmp_path / "maker.key").chmod(0o400)
    config = tmp_path / "bot.yaml"
    url, key_file, state = "http://127.0.0.1:1/v1", tmp_path / "maker.key", tmp_path / "state"
    config.write_text(CONFIG.format(base_url=url, key_file=key_file, state=state))
    venue = json.loads(asked(config, "--json").stdout)["venue"]
    assert venue is None if why is None else venue["why"].startswith(why)


def test_a_time_that_is_none_ends_with_2(tmp_path):
    done = asked(night(tmp_path), "--since", "yesterday")
    assert done.exit_code == 2
    assert "--since yesterday" in done.stderr


@pytest.mark.parametrize("finding", FINDINGS)
def test_a_finding_leads_to_the_runbook_of_an_alert_on_it(finding):
    page = runbook_of(finding)
    assert page in rules.pages()
    named = {
        alert.name
        for alert in rules.alerts()
        for how, pattern in FINDING.findall(alert.expr)
        if bool(re.fullmatch(pattern, finding)) is (how != "!~")
    }
    assert page in named or finding in ("latched", "inconsistency", "strategy_at_fault", *OTHERS)


OTHERS = ("unknown_old", "cash_differs", "foreign_spend")
"""Findings whose alert has a metric of its own."""
