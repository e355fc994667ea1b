"""Claims about the page as a file: its size is bounded and it names no address."""

import json
import re

import msgspec
import pytest

from bot.cli.report import session_text as in_words
from bot.core.outcome_risk import risk_of
from bot.lab.report.page import differences, report
from bot.lab.report.sampler import MOMENTS_MAX
from bot.lab.report.session import HeldRisk, Uptime
from tests.builders.io.commands import invoke
from tests.builders.report.made import fill, moment, session
from venue.wire.instant import NS_PER_SECOND
from venue.wire.money import Cents

pytestmark = pytest.mark.xdist_group("report_page")
HOURS_S = 6 * 3_600
PAGE_BYTES_MAX = 5_000_000


@pytest.fixture(scope="module")
def text():
    """The page of six hours at seventeen rungs with a fill each two seconds."""
    apart = HOURS_S // MOMENTS_MAX
    made = session(
        seconds=HOURS_S,
        fills=[fill(n, [(h, 50_000 + n) for h in (1, 10, 60, 300)]) for n in range(0, HOURS_S, 2)],
        moments=[moment(n * apart, n) for n in range(MOMENTS_MAX)],
    )
    made.uptime = [(Uptime(HOURS_S * NS_PER_SECOND, 1, 1), Uptime(1, 1, 1)) for _ in made.rungs]
    return report([made])


def test_the_page_of_six_hours_is_bounded_and_says_what_was_sampled(text):
    assert len(text.encode()) < PAGE_BYTES_MAX
    assert "Drawn are 1800 of 10800 fills" in text
    assert "the last 200 of 10800" in text
    assert "Sampled every 1 s: profit" in text


def test_the_last_quotes_are_those_of_the_ladder_shown():
    quoted = moment(1, rungs=4)
    gone = [msgspec.structs.replace(each, own_bid=None, own_ask=None) for each in quoted.levels[:3]]
    resolved = msgspec.structs.replace(moment(2, rungs=4), levels=(*gone, quoted.levels[3]))
    made = session(moments=[quoted, resolved], rungs=4)
    made.rungs[3].event_ticker = "ACME-VAL-27Q2"
    text = report([made])
    assert "3 of 4 rungs, after 1 s" in text
    assert "91 x 110" in text


def test_the_fair_curve_of_every_event_is_drawn():
    run = session(moments=[moment(1, rungs=9), moment(2, rungs=9)], rungs=9)
    for place, rung in enumerate(run.rungs):
        rung.event_ticker = f"ACME-VAL-27Q{1 + place % 3 // 2}"
    captions = re.findall(
        r"data-plot='curve' data-state='drawn'><figcaption>([^<]+)<", report([run])
    )
    title = "Fair curve and quotes, as quoted last: ACME-VAL-27Q"
    assert captions == [f"{title}1", f"{title}2"]


def test_the_risk_of_what_was_held_is_a_table_below_the_worst_case():
    risk = risk_of((-500, 300), (0.25, 0.75), Cents(400))
    made = session(moments=[moment(1), moment(2)])
    made.risks = [HeldRisk("X-26Q4", risk, 900)]
    text = report([made])
    row = re.search(r"<tr[^>]*><th[^>]*>X-26Q4</th>(.*?)</tr>", text)
    cells = re.findall(r"<td[^>]*>([^<]*)</td>", row[1])
    assert cells == ["$1.00", "$5.00", "$5.00", "$9.00", "25.0% of $4.00"]


def test_the_worst_case_is_shown_with_every_limit_in_force():
    tightened = msgspec.structs.replace(moment(2), limit_cents=5_000)
    text = report([session(moments=[moment(1), tightened, moment(3)])])
    assert "At most $0.00 of $50.00 to $400.00 could have been lost" in text
    assert "At most $0.00 of $400.00 could" in report([session(moments=[moment(1), moment(2)])])


def _at_fault(times: int):
    made = session()
    made.strategy_errors = times
    return made


@pytest.mark.parametrize(("times", "told"), [(1, "once"), (1_200, "1,200 times")])
def test_a_faulty_strategy_is_reported_above_all_figures(times, told):
    text = report([_at_fault(times)])
    assert f"the strategy was at fault {told}: its event was pulled each time" in text
    assert "was at fault" not in report([_at_fault(0)])


def test_a_comparison_shows_the_strategy_errors_of_both():
    text = differences(_at_fault(2), _at_fault(5))
    row = re.search(r"strategy errors.*?</tr>", text)
    assert row is not None
    assert re.findall(r">([+\d]+)<", row.group()) == ["2", "5", "+3"]


def test_the_text_of_a_report_shows_strategy_errors():
    assert "\n  the strategy was at fault 3 times" in in_words(_at_fault(3))
    assert "at fault" not in in_words(_at_fault(0))


def test_the_report_refers_to_no_address(text):
    assert not re.findall(r"(?:https?:)?//[\w.]+|url\(|@import|<link|<img|<iframe|<script", text)
    assert re.findall(r"(?:src|href)='(?!#)", text) == []


def test_a_result_of_another_version_ends_with_3(tmp_path):
    result = tmp_path / "saved.json"
    saved = {"saved": "laddermaker backtest 1", "whole": True}
    result.write_text(json.dumps(saved | {"sessions": [msgspec.to_builtins(session())]}))
    done = invoke("report", result)
    assert done.exit_code == 3
    assert "saved.json: a result of another version: " in done.stderr
    assert "laddermaker backtest 1" in done.stderr
