"""A backtest of a series that two settings quote in turns."""

from bot.config.bot_config import finish, read_draft
from bot.lab.backtest.run import Backtest, text
from bot.lab.exchange.assumptions import Latency, Terms
from bot.lab.exchange.queue_model import QueueModel
from tests.builders.house.tree import ROOT
from venue.crowd.tape import read_tape
from venue.wire.instant import NS_PER_MS

TERMS = Terms(latency=Latency(50 * NS_PER_MS))
RECORDS = 900
"""A quarter of the tape."""


def test_a_backtest_attributes_its_fills_to_the_settings_and_shows_their_markouts():
    config = finish(read_draft(ROOT / "configs/split.yaml"))
    tape = read_tape(ROOT / "bot/starter/tape")
    model = QueueModel.OPTIMISTIC
    run = Backtest(tape, config.trader, config.make_strategy, model, TERMS)
    came = run.run(lambda records: records < RECORDS).result(None)
    fills = {row.name: row.fills for row in came.by["strategy"]}
    assert fills.keys() == {"ladder_joint", "narrow"}
    assert min(fills.values()) > 5
    assert came.profit is not None
    assert sum(fills.values()) == came.profit.fills
    rows = [line.split() for line in text([came]).splitlines()]
    assert ["by", "narrow", f"{fills['narrow']:,}"] in [row[:3] for row in rows]
