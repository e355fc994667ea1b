"""Claims about several series in one process: they share account, page and request bucket."""

import json
import shutil
import signal
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest

from bot.config.strategies import Makers
from bot.core import messages as m
from bot.io.journal.journal import read_journal
from bot.io.journal.records import OPENING, Entry, Head, framed
from bot.lab.replay import replayer_of
from bot.lab.session import newest_run
from tests.builders.e2e.runs import (
    CONFIG,
    LOG_SHOWN,
    TWO_SIDED_S,
    Venue,
    no_bot_outlives,
    running_venue,
    start_bot,
    summary_of,
    wait_until,
)
from tests.builders.io.commands import invoke
from venue.wire.instant import NS_PER_SECOND

pytestmark = pytest.mark.xdist_group("series_again")

SERIES = {"aurelia": "AURELIA-VAL", "quillon": "QUILLON-VAL"}
STRATEGY = "strategy:\n  name: ladder_joint\n"
NARROW = STRATEGY + "budget:\n  rate_per_second: 60\n  burst: 200\n  reserve: 40\n"
"""A bucket that two series empty: what one has had, the other does not get."""


def config(venue: Venue, folder: Path, name: str, series: str, **changes: str) -> Path:
    """A configuration of its own state directory. changes: texts to put in place of others."""
    key_file = folder / "maker.key"
    if not key_file.exists():
        key_file.write_text(venue.keys["maker"])
        key_file.chmod(0o400)
    text = CONFIG.format(base_url=venue.base_url, key_file=key_file, state=folder / name)
    text = text.replace("series: AURELIA-VAL", f"series: {series}")
    for before, after in changes.items():
        assert before in text
        text = text.replace(before, after)
    path = folder / f"{name}.yaml"
    path.write_text(text)
    return path


class TwoSeries(NamedTuple):
    """A run of two series that is over. shown: the series that each file's status was about."""

    folder: Path
    code: int
    summaries: dict[str, dict[str, Any]]
    shown: list[str]
    resting: list[dict[str, Any]]


@pytest.fixture(scope="module")
def traded(tmp_path_factory) -> TwoSeries:
    folder = tmp_path_factory.mktemp("traded")
    log = folder / "bot.err"
    with no_bot_outlives(), running_venue(folder, seed=3) as venue:
        files = [
            config(venue, folder, name, series, **{STRATEGY: NARROW})
            for name, series in SERIES.items()
        ]
        bot = start_bot("run", *map(str, files), "--json", folder=folder)
        wait_until(
            lambda: log.read_text().count("two_sided_everywhere") == 2,
            TWO_SIDED_S,
            lambda: log.read_text()[-LOG_SHOWN:],
        )
        asked = [json.loads(invoke("status", each, "--json").stdout) for each in files]
        bot.send_signal(signal.SIGINT)
        summaries = summary_of(bot, TWO_SIDED_S)["series"]
        resting = venue.orders("resting")
    shown = [each["report"]["series_ticker"] for each in asked]
    return TwoSeries(folder, bot.returncode, summaries, shown, resting)


def test_one_process_quotes_two_series_and_ends_flat_of_orders(traded):
    assert traded.code == 0
    assert set(traded.summaries) == set(SERIES.values())
    for each in traded.summaries.values():
        assert each["first_two_sided_s"] is not None
        assert each["ledger_difference_cents"] == 0
        assert each["findings"] == []
        assert each["resting_after"] == each["unknown_open"] == each["rate_limited"] == 0
    assert traded.resting == []


def test_the_status_of_each_series_is_asked_by_its_own_file_at_the_one_page(traded):
    assert traded.shown == list(SERIES.values())


@pytest.mark.parametrize(
    ("series", "changes", "said"),
    [
        ("AURELIA-VAL", {}, "series: AURELIA-VAL"),
        ("QUILLON-VAL", {"127.0.0.1": "127.0.0.2"}, "not the venue and the key"),
        ("QUILLON-VAL", {"maker.key": "other.key"}, "not the venue and the key"),
    ],
)
def test_series_of_other_accounts_are_refused_before_the_run_begins(
    tmp_path, series, changes, said
):
    venue = Venue("http://127.0.0.1:9/v1", {"maker": "k" * 40})
    (tmp_path / "other.key").write_text("o" * 40)
    (tmp_path / "other.key").chmod(0o400)
    first = config(venue, tmp_path, "first", "AURELIA-VAL")
    second = config(venue, tmp_path, "second", series, **changes)
    run = invoke("run", first, second, "--json")
    assert run.exit_code == 2, run.output
    assert said in run.stderr
    assert not json.loads(run.stdout or "null")


def journal(state: Path) -> Path:
    return state / "journal-00000001.log"


def sent(state: Path) -> int:
    return sum(isinstance(each.message, m.Send) for each in read_journal(journal(state)))


def rewritten(state: Path, entries: Iterable[Entry]) -> None:
    """Put a journal of these entries in the place of the one there."""
    journal(state).write_bytes(b"".join((OPENING, framed(Head(0, ())), *map(framed, entries))))


def copied(folder: Path, to: Path) -> Path:
    for name in SERIES:
        shutil.copytree(folder / name, to / name)
    return to


@pytest.mark.parametrize("name", SERIES)
def test_each_series_of_a_process_replays_without_a_difference(traded, name):
    folder = traded.folder
    done = invoke("replay", folder / name, "--json", "--quiet")
    assert done.exit_code == 0, done.stdout + done.stderr
    found = json.loads(done.stdout)
    assert found["ended"]
    assert found["difference"] is None
    assert found["events"] > 100


def test_a_replay_takes_the_tokens_of_both_series_from_one_bucket(traded):
    folder = traded.folder
    run = newest_run(folder / "aurelia")
    again = replayer_of(run, Makers(Path()))
    list(again.steps())
    own, others = sent(folder / "aurelia"), sent(folder / "quillon")
    assert own + others // 2 < again.trader.out.purse.spent <= own + others


@pytest.mark.parametrize(("name", "series"), SERIES.items())
def test_the_profit_of_a_replay_is_that_of_the_summary(traded, name, series):
    folder, summaries = traded.folder, traded.summaries
    done = invoke("pnl", folder / f"{name}.yaml", "--json")
    assert done.exit_code == 0, done.stderr
    assert json.loads(done.stdout)["pnl_cents"] == summaries[series]["pnl_cents"]


def test_a_report_covers_one_of_several_series(traded, tmp_path):
    folder = traded.folder
    done = invoke("report", folder / "quillon", "--html", str(tmp_path / "page"), "--quiet")
    assert done.exit_code == 0, done.stderr
    assert "QUILLON-VAL" in (tmp_path / "page").read_text()


def test_an_order_of_one_of_several_series_is_explained_with_its_token(traded):
    folder = traded.folder
    listed = json.loads(invoke("explain", folder / "aurelia.yaml", "--json").stdout)
    order = listed[-1]["client_order_id"]
    done = invoke("explain", folder / "aurelia.yaml", order, "--json")
    assert done.exit_code == 0, done.stdout + done.stderr
    (first, *_) = json.loads(done.stdout)["decisions"]
    assert first["decision"]["token"]["lane"] == "create"


def test_what_if_plays_one_series_alone_and_names_the_other(traded):
    folder = traded.folder
    done = invoke(
        "what-if", folder / "aurelia", "--queue-model", "pessimistic", "--json", "--quiet"
    )
    assert done.exit_code == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["beside"] == ["QUILLON-VAL"]
    quotes = found["played"][0]["unchanged"]["quotes"]
    assert quotes
    assert all(each["ticker"].startswith("AURELIA-VAL") for each in quotes)


def test_a_replay_without_the_journal_of_the_other_series_is_refused_by_name(traded, tmp_path):
    folder = traded.folder
    shutil.copytree(folder / "aurelia", tmp_path / "aurelia")
    done = invoke("replay", tmp_path / "aurelia")
    assert done.exit_code == 3
    assert "no journal of QUILLON-VAL from then" in done.stderr


def test_a_journal_of_the_other_series_from_another_time_is_not_used(traded, tmp_path):
    state = copied(traded.folder, tmp_path) / "quillon"
    rewritten(
        state,
        [
            msgspec.structs.replace(each, at_ns=each.at_ns + 60 * NS_PER_SECOND)
            for each in read_journal(journal(state))
        ],
    )
    done = invoke("replay", tmp_path / "aurelia")
    assert done.exit_code == 3
    assert "no journal of QUILLON-VAL from then" in done.stderr


def test_a_replay_ends_where_the_journal_of_the_other_series_ends(traded, tmp_path):
    state = copied(traded.folder, tmp_path) / "quillon"
    entries = list(read_journal(journal(state)))
    rewritten(state, entries[: len(entries) // 2])
    cut_ns = entries[len(entries) // 2].at_ns
    done = invoke("replay", tmp_path / "aurelia", "--json", "--quiet")
    assert done.exit_code == 0, done.stdout + done.stderr
    found = json.loads(done.stdout)
    assert not found["ended"]
    assert 0 < found["until_ns"] <= cut_ns


def test_damage_in_the_journal_of_the_other_series_is_reported_with_its_file(traded, tmp_path):
    state = copied(traded.folder, tmp_path) / "quillon"
    data = bytearray(journal(state).read_bytes())
    data[len(data) // 2] ^= 0xFF
    journal(state).write_bytes(data)
    done = invoke("replay", tmp_path / "aurelia", "--quiet")
    assert done.exit_code == 3
    assert f"{journal(state)}: journal damaged at byte" in done.stdout
