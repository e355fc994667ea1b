"""Claims about the judge of the loss breaker, which goes by the venue's own account."""

from types import SimpleNamespace

import pytest

from bot.core.settings import BreakerSettings, RiskSettings, TraderSettings
from bot.lab.sim.judge.broken import Broken
from bot.lab.sim.judge.losses import Losses
from bot.lab.sim.judge.truth import Truth
from bot.lab.sim.odds import SECOND
from bot.lab.sim.seen import Seen
from bot.lab.sim.venue.simulated import SERIES, market_id
from venue.wire.money import Cents, Outcome, Qty

MARKET = market_id(0, 0)
RISK = RiskSettings(series_loss_cents=Cents(900), rung_position_qty=Qty(50), order_qty=Qty(10))


@pytest.mark.parametrize(
    ("fair", "seconds", "is_over"), [(45, 20, True), (47, 20, False), (45, 3, False)]
)
def test_a_loss_beyond_its_limit_that_lasts_wants_the_latch(fair, seconds, is_over):
    breakers = BreakerSettings(loss_cents=30)
    settings = TraderSettings(series_ticker=SERIES, risk=RISK, breakers=breakers)
    judge = Losses(settings, Truth(held={(MARKET, Outcome.YES): 10}), Seen())
    value = SimpleNamespace(value_cents=50)
    rung = SimpleNamespace(market_id=MARKET, fair=value)
    trader = SimpleNamespace(
        ledgers=SimpleNamespace(is_open=True, book=None),
        quoting=SimpleNamespace(ladders=[SimpleNamespace(rungs=[rung])]),
    )
    for second in range(20):
        judge.look(trader, second * SECOND)
    value.value_cents = fair
    for second in range(20, 20 + seconds):
        judge.look(trader, second * SECOND)
    assert bool(judge.over) is is_over
    judge.stands("loss_cents: 50, at most 30")
    if is_over:
        with pytest.raises(Broken, match="no latch"):
            judge.stands("")
