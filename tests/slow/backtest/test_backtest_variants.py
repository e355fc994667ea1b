"""A backtest of a series that two settings quote in turns."""

from bot.config.bot_config import finish, read_draft
from bot.lab.backtest.run import backtest, text
from bot.lab.exchange.assumptions import Latency, Terms
from bot.lab.exchange.queue_model import QueueModel
from tests.builders.house.tree import ROOT
from venue.crowd.tape import read_tape
from venue.wire.instant import NS_PER_MS

TERMS = Terms(latency=Latency(50 * NS_PER_MS))


def test_a_backtest_attributes_its_fills_to_the_settings_and_shows_their_markouts():
    config = finish(read_draft(ROOT / "configs/split.yaml"))
    tape = read_tape(ROOT / "bot/starter/tape")
    came = backtest(tape, config.trader, config.make_strategy, QueueModel.OPTIMISTIC, TERMS)
    fills = {row.name: row.fills for row in came.by["strategy"]}
    assert fills.keys() == {"ladder_joint", "narrow"}
    assert min(fills.values()) > 10
    assert sum(fills.values()) == came.fills
    rows = [line.split() for line in text([came]).splitlines()]
    assert ["by", "narrow", f"{fills['narrow']:,}"] in [row[:3] for row in rows]
