"""Claims about living again what several series of one process did, whose bucket was one."""

import json
import shutil
import signal
from collections.abc import Iterable
from pathlib import Path

import msgspec
import pytest
from click.testing import Result
from typer.testing import CliRunner

from bot.cli.main import app
from bot.config.strategies import Makers
from bot.core import messages as m
from bot.io.journal.journal import read_journal
from bot.io.journal.records import OPENING, Entry, Head, framed
from bot.lab.replay import replayer_of
from bot.lab.session import newest_run
from tests.builders.e2e.runs import (
    LOG_SHOWN,
    TWO_SIDED_S,
    Venue,
    running_venue,
    start_bot,
    summary_of,
    wait_until,
)
from tests.slow.series.test_series_together import config
from venue.wire.instant import NS_PER_SECOND

pytestmark = pytest.mark.xdist_group("series_again")

SERIES = {"aurelia": "AURELIA-VAL", "quillon": "QUILLON-VAL"}
STRATEGY = "strategy:\n  name: ladder_joint\n"
NARROW = STRATEGY + "budget:\n  rate_per_second: 60\n  burst: 200\n  reserve: 40\n"
"""A bucket that two series empty: what one has had, the other does not get."""


ORDERS = 10
"""So many orders of each series rest before the process is told to stop."""


@pytest.fixture(scope="module")
def traded(tmp_path_factory):
    """A folder with the state directories of a process that traded two series, and what it told."""
    folder = tmp_path_factory.mktemp("traded")
    with running_venue(folder, seed=3) as venue:
        files = [
            config(venue, folder, name, series, **{STRATEGY: NARROW})
            for name, series in SERIES.items()
        ]
        bot = start_bot("run", *map(str, files), "--json", folder=folder)
        wait_until(
            lambda: all(orders(venue, each) >= ORDERS for each in SERIES.values()),
            TWO_SIDED_S,
            lambda: (folder / "bot.err").read_text()[-LOG_SHOWN:],
        )
        bot.send_signal(signal.SIGINT)
        summary = summary_of(bot, TWO_SIDED_S)
    return folder, summary["series"]


def orders(venue: Venue, series: str) -> int:
    """How many orders rest in the events of a series."""
    return sum(each["ticker"].startswith(series) for each in venue.orders("resting"))


def told(command: str, of: Path, *options: str) -> Result:
    """What a command makes of a state directory or a configuration."""
    return CliRunner().invoke(app, [command, str(of), *options])


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
def test_each_series_of_a_process_is_lived_again_without_a_difference(traded, name):
    folder, _ = traded
    done = told("replay", folder / name, "--json", "--quiet")
    assert done.exit_code == 0, done.stdout + done.stderr
    found = json.loads(done.stdout)
    assert found["ended"]
    assert found["difference"] is None
    assert found["events"] > 100


def test_the_tokens_of_both_are_taken_from_one_bucket_again(traded):
    folder, _ = traded
    run = newest_run(folder / "aurelia")
    again = replayer_of(run, Makers(Path()))
    list(again.steps())
    own, others = sent(folder / "aurelia"), sent(folder / "quillon")
    assert own + others // 2 < again.trader.out.purse.spent <= own + others


@pytest.mark.parametrize(("name", "series"), SERIES.items())
def test_profit_told_again_is_that_of_the_summary(traded, name, series):
    folder, summaries = traded
    done = told("pnl", folder / f"{name}.yaml", "--json")
    assert done.exit_code == 0, done.stderr
    assert json.loads(done.stdout)["pnl_cents"] == summaries[series]["pnl_cents"]


def test_a_report_is_drawn_of_one_of_several_series(traded, tmp_path):
    folder, _ = traded
    done = told("report", folder / "quillon", "--html", str(tmp_path / "page"), "--quiet")
    assert done.exit_code == 0, done.stderr
    assert "QUILLON-VAL" in (tmp_path / "page").read_text()


def test_an_order_of_one_of_several_series_is_explained_with_its_token(traded):
    folder, _ = traded
    listed = json.loads(told("explain", folder / "aurelia.yaml", "--json").stdout)
    order = listed[-1]["client_order_id"]
    done = told("explain", folder / "aurelia.yaml", order, "--json")
    assert done.exit_code == 0, done.stdout + done.stderr
    (first, *_) = json.loads(done.stdout)["decisions"]
    assert first["decision"]["token"]["lane"] == "create"


def test_what_if_plays_the_series_alone_and_says_whom_it_leaves_out(traded):
    folder, _ = traded
    done = told("what-if", folder / "aurelia", "--queue-model", "pessimistic", "--json", "--quiet")
    assert done.exit_code == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["beside"] == ["QUILLON-VAL"]
    quotes = found["played"][0]["unchanged"]["quotes"]
    assert quotes
    assert all(each["ticker"].startswith("AURELIA-VAL") for each in quotes)


def test_without_the_journal_of_the_other_it_is_refused_by_name(traded, tmp_path):
    folder, _ = traded
    shutil.copytree(folder / "aurelia", tmp_path / "aurelia")
    done = told("replay", tmp_path / "aurelia")
    assert done.exit_code == 3
    assert "no journal of QUILLON-VAL from then" in done.stderr


def test_a_run_of_the_other_from_another_time_is_not_taken_for_it(traded, tmp_path):
    state = copied(traded[0], tmp_path) / "quillon"
    rewritten(
        state,
        [
            msgspec.structs.replace(each, at_ns=each.at_ns + 60 * NS_PER_SECOND)
            for each in read_journal(journal(state))
        ],
    )
    done = told("replay", tmp_path / "aurelia")
    assert done.exit_code == 3
    assert "no journal of QUILLON-VAL from then" in done.stderr


def test_where_the_journal_of_the_other_breaks_off_it_ends_without_a_difference(traded, tmp_path):
    state = copied(traded[0], tmp_path) / "quillon"
    entries = list(read_journal(journal(state)))
    rewritten(state, entries[: len(entries) // 2])
    cut_ns = entries[len(entries) // 2].at_ns
    done = told("replay", tmp_path / "aurelia", "--json", "--quiet")
    assert done.exit_code == 0, done.stdout + done.stderr
    found = json.loads(done.stdout)
    assert not found["ended"]
    assert 0 < found["until_ns"] <= cut_ns


def test_damage_in_the_journal_of_the_other_is_told_by_its_name(traded, tmp_path):
    state = copied(traded[0], tmp_path) / "quillon"
    data = bytearray(journal(state).read_bytes())
    data[len(data) // 2] ^= 0xFF
    journal(state).write_bytes(data)
    done = told("replay", tmp_path / "aurelia", "--quiet")
    assert done.exit_code == 3
    assert f"{journal(state)}: journal damaged at byte" in done.stdout
