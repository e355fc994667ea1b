"""Claims about the page as a file: its size is bounded and it names no address; a sweep's plot."""

import json
import re

import msgspec
import pytest
from msgspec import structs

from bot.commands.report import _text as in_words
from bot.lab.evaluate.results import Lines
from bot.lab.report.compare import differences
from bot.lab.report.film import film
from bot.lab.report.gathered import report
from bot.lab.report.sensitivity import sensitivity_of
from bot.lab.report.session import Uptime
from bot.lab.report.watch import MOMENTS_MAX, PICTURES_MAX
from bot.lab.sweep.sweep import Kept
from bot.lab.sweep.trials import Outcome
from tests.report.lived import invoke
from tests.report.made import fill, moment, picture, session
from venue.wire.instant import NS_PER_SECOND

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
        pictures=[picture(n * HOURS_S // PICTURES_MAX) for n in range(PICTURES_MAX)],
    )
    made.uptime = [(Uptime(HOURS_S * NS_PER_SECOND, 1, 1), Uptime(1, 1, 1)) for _ in made.rungs]
    return report([made])


def test_the_page_of_six_hours_is_bounded_and_says_what_is_thinned(text):
    assert len(text.encode()) < PAGE_BYTES_MAX
    assert "Drawn are 2000 of 10800 fills" in text
    assert "the last 200 of 10800" in text
    assert "Sampled: profit" in text


def test_the_last_quotes_are_those_of_the_ladder_that_is_shown():
    quoted = picture(1, rungs=4)
    gone = [msgspec.structs.replace(each, own_bid=None, own_ask=None) for each in quoted.levels[:3]]
    resolved = msgspec.structs.replace(quoted, levels=(*gone, quoted.levels[3]))
    made = session(pictures=[quoted, resolved], moments=[moment(1, rungs=4)], rungs=4)
    made.rungs[3].event_ticker = "ACME-VAL-27Q2"
    text = report([made])
    assert "max='1' value='0'" in text
    assert "91 x 110" in text


def test_a_worst_case_is_told_beside_every_limit_that_there_was():
    tightened = msgspec.structs.replace(moment(2), limit_cents=5_000)
    text = report([session(moments=[moment(1), tightened, moment(3)])])
    assert "At most $0.00 of $50.00 to $400.00 could have been lost" in text
    assert "At most $0.00 of $400.00 could" in report([session(moments=[moment(1), moment(2)])])


def _at_fault(times: int):
    made = session()
    made.closing = msgspec.structs.replace(made.closing, strategy_errors=times)
    return made


@pytest.mark.parametrize(("times", "told"), [(1, "once"), (1_200, "1,200 times")])
def test_a_strategy_that_was_at_fault_is_told_above_all_figures(times, told):
    text = report([_at_fault(times)])
    assert f"the strategy was at fault {told}: its event was pulled each time" in text
    assert "was at fault" not in report([_at_fault(0)])


def test_two_sessions_beside_each_other_tell_how_often_their_strategies_were_at_fault():
    text = differences(_at_fault(2), _at_fault(5))
    row = re.search(r"strategy errors.*?</tr>", text)
    assert row is not None
    assert re.findall(r">([+\d]+)<", row.group()) == ["2", "5", "+3"]


def test_the_words_of_a_report_tell_it_too():
    assert "\n  the strategy was at fault 3 times" in in_words(_at_fault(3))
    assert "at fault" not in in_words(_at_fault(0))


def test_the_page_names_no_address(text):
    assert re.findall(r"(?:https?:)?//[\w.]+|url\(|@import|<link|<img|<iframe", text) == [
        "http://www.w3.org"
    ]  # the name of SVG in the script, which nothing is fetched by
    assert re.findall(r"(?:src|href)='(?!#)", text) == []


def test_the_film_shows_a_rung_that_was_listed_later_at_its_place_on_the_ladder():
    whole = picture(2, rungs=3)
    between = structs.replace(whole, levels=tuple(whole.levels[place] for place in (0, 2, 1)))
    lived = session(pictures=[picture(1, rungs=2), between], rungs=3)
    for rung, strike in zip(lived.rungs, (100, 120, 110), strict=True):
        rung.ticker = f"ACME-VAL-27Q1-{strike}B"
    (drawn,) = film([lived], "g0")
    told = json.loads(re.findall(r"<script type='application/json'>(.*?)</script>", drawn)[0])
    assert told["rungs"] == ["100B", "110B", "120B"]
    assert [[row and row[0] for row in rows] for _, _, rows in told["pictures"]] == [
        [97.1, None, 92.1],
        [97.1, 87.1, 92.1],
    ]


@pytest.fixture
def swept(tmp_path):
    """A file of results: six trials of two keys over three cases; one trial lacks a case, and one
    was lived by an earlier program before."""
    path = tmp_path / "sweep.jsonl"
    lines = Lines(path, Kept)
    for case in range(3):
        settings = {"strategy.params.levels": "1", "strategy.name": "calm"}
        lines.put(Kept(f"1calm/world/{case}/earlier", settings, Outcome({"net": 999.0})))
    for levels in (1, 2, 3):
        for name in ("calm", "bold"):
            for case in range(3):
                if (levels, name, case) != (3, "bold", 2):
                    settings = {"strategy.params.levels": str(levels), "strategy.name": name}
                    outcome = Outcome({"net": float(10 * levels + case)})
                    key = f"{levels}{name}/world/{case}/code of {name}"
                    lines.put(Kept(key, settings, outcome))
    return path


def test_a_sweeps_results_are_drawn_key_by_key(tmp_path, swept):
    result = tmp_path / "saved.json"
    saved = {"saved": "laddermaker backtest 1", "whole": True, "results": [], "sessions": []}
    saved["sessions"] = [msgspec.to_builtins(session())]
    result.write_text(json.dumps(saved))
    html = tmp_path / "page.html"
    done = invoke("report", result, "--sweep", swept, "--html", html)
    assert done.exit_code == 0, done.output
    text = html.read_text()
    assert "5 trials of sweep.jsonl" in text
    assert "1 trials lack a case" in text
    rows = re.findall(r"<th scope='row'>(\d)</th><td>(\d)</td><td>([\d.]+)</td>", text)
    assert rows == [("1", "2", "11.000"), ("2", "2", "21.000"), ("3", "1", "31.000")]


def test_a_trial_that_was_scored_by_a_function_is_not_drawn_with_a_profit_of_zero(swept):
    lines = Lines(swept, Kept)
    for case in range(3):
        settings = {"strategy.params.levels": "1", "strategy.name": "calm"}
        lines.put(Kept(f"scored/world/{case}/code", settings, Outcome({"score": 4.0})))
    found = sensitivity_of(swept)
    assert [each.mean for each in found.tried] == [11.0, 11.0, 21.0, 21.0, 31.0]
    assert (found.number, found.left_out) == ("net", 2)


def test_a_result_that_another_version_saved_ends_with_3_and_says_so(tmp_path):
    result = tmp_path / "saved.json"
    saved = {"saved": "laddermaker backtest 2", "whole": True, "results": []}
    result.write_text(json.dumps(saved | {"sessions": [msgspec.to_builtins(session())]}))
    done = invoke("report", result)
    assert done.exit_code == 3
    assert "saved.json: a result of another version: " in done.stderr
    assert "laddermaker backtest 2" in done.stderr


def test_a_file_that_holds_no_trial_ends_with_2(tmp_path):
    empty = tmp_path / "none.jsonl"
    empty.write_text("{}\n")
    result = tmp_path / "saved.json"
    result.write_text(
        json.dumps({"whole": True, "results": [], "sessions": [msgspec.to_builtins(session())]})
    )
    done = invoke("report", result, "--sweep", empty)
    assert done.exit_code == 2
    assert "none.jsonl" in done.stderr
