"""Claims about the recorded tapes: each plays through the whole trader, by every reading."""

import gzip
import json
import shutil

import pytest

from bot.config.bot_config import finish, read_draft
from bot.lab.backtest.run import backtest
from bot.lab.backtest.tapes import winners
from bot.lab.exchange.assumptions import Terms
from bot.lab.exchange.queue_model import QueueModel
from tests.builders.backtest.made import configured
from tests.builders.scale import cases
from tests.builders.venue.crowd_tapes import recorded
from venue.crowd.tape import read_tapes
from venue.wire.instant import NS_PER_SECOND

TAPES = ("inxd-23apr10", "inxd-23apr13", "kxhighny-25dec20", "kxhighny-25dec21", "kxinxu-2026-01")


def ending(folder, into, seconds):
    """The last so many seconds of a recorded tape alone: that is what is paid for."""
    into.mkdir()
    shutil.copy(folder / "catalog.json", into)
    with gzip.open(folder / "tape.jsonl.gz") as file:
        lines = file.readlines()
    since_ns = json.loads(lines[-1])["ts"] - seconds * NS_PER_SECOND
    if json.loads(lines[0])["ts"] < since_ns:
        lines = [
            line
            for line in lines[-cases(len(lines), quick=100) :]
            if json.loads(line)["ts"] >= since_ns
        ]
    with gzip.open(into / "tape.jsonl.gz", "wb", compresslevel=1) as file:
        file.writelines(lines)
    return into


@pytest.mark.parametrize("name", TAPES)
def test_each_recorded_tape_settles_and_reconciles_with_the_venue(tmp_path, name):
    folder = ending(recorded(name), tmp_path / name, cases(3600, quick=120))
    config = finish(read_draft(configured(tmp_path, "fixed_spread")))
    for tape in read_tapes(folder):
        for bound in QueueModel:
            ends = winners(tape, folder)
            # It raises unless fills and payouts are what the venue's ledger gained.
            came = backtest(tape, config.trader, config.make_strategy, bound, Terms(), ends)
            assert came.events > len(tape.records)
            assert came.strategy_errors == 0
            assert (came.whole, came.settled) == (True, "outcome")
            booked = 0 if came.profit is None else came.profit.fills
            assert [sum(row.fills for row in rows) for rows in came.by.values()] == 3 * [booked]
