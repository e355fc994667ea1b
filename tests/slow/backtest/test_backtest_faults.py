"""Claims about what befalls requests of a backtest: the trader lives with it, and it is counted."""

import pytest

from bot.config.bot_config import finish, read_draft
from bot.core import messages as m
from bot.lab.backtest.run import Backtest
from bot.lab.backtest.tapes import winners
from bot.lab.exchange.assumptions import OF_BACKTESTS, REFUSALS, TIMEOUT_NS, Faults, Latency, Terms
from bot.lab.exchange.exchange import buy_order
from bot.lab.exchange.queue_model import QueueModel
from tests.builders.backtest.made import Counter, book, configured, trade, written
from venue.crowd.tape import read_tape
from venue.wire.instant import NS_PER_MS
from venue.wire.money import Outcome
from venue.wire.requests import TimeInForce

ASKS = [[60, 50]]
RECORDS = [
    row
    for second in range(60)
    for row in (
        book(second, [[40 - second % 3, 30]], ASKS),
        trade(second + 0.5, 38, 5, "no"),
    )
]


def ran(tmp_path, faults):
    folder = written(tmp_path / "t", RECORDS)
    tape = read_tape(folder)
    settings = finish(read_draft(configured(tmp_path, "fixed_spread")))
    terms = Terms(latency=Latency(5 * NS_PER_MS), feed_ns=NS_PER_MS, faults=faults)
    run = Backtest(
        tape, settings.trader, settings.make_strategy, QueueModel.PESSIMISTIC, terms
    ).run()
    return run.result(winners(tape, folder))


def test_a_backtest_with_every_kind_of_fault_still_reconciles(tmp_path):
    came = ran(tmp_path, faults=0.3)
    assert set(came.faults) == set(OF_BACKTESTS)
    share = sum(came.faults.values()) / sum(came.requests.values())
    assert 0.15 < share < 0.45
    assert came.maker_qty > 0


def test_a_fault_rate_of_zero_injects_no_fault(tmp_path):
    assert ran(tmp_path, faults=0.0).faults == {}


class Fixed(Faults):
    """The same fault each time."""

    def __init__(self, name):
        super().__init__(0.0, 1)
        self._dice = self
        self.roll = lambda: name


@pytest.mark.parametrize("name", OF_BACKTESTS)
def test_each_fault_answers_and_acts_as_its_name_says(tmp_path, name):
    counter = Counter(written(tmp_path / "t", RECORDS))
    counter.play(0)
    order = buy_order(counter.market, Outcome.YES, 30, 5, TimeInForce.GTC, "once")
    request = m.Create(order, False)
    send = m.Send(m.RequestId(1), request, "asked for", m.Key.TRADE)
    came = Fixed(name).answer_or_fault(counter.venue.exchange, send, counter.began_ns)
    assert isinstance(came.answer, m.Rejected) is (name in REFUSALS)
    assert isinstance(came.answer, m.Unknown) is (name not in REFUSALS)
    assert came.waited_ns == (TIMEOUT_NS if name.startswith("lost") else 0)
    carried_out = any(price == 30 for price, _ in counter.shown[0])
    assert carried_out is name.endswith("after")
