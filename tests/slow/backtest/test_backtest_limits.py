"""Claims about the worst case that a run reports: no limit counts as passed that was not."""

from pathlib import Path

import msgspec

from bot.config.bot_config import finish, read_draft
from bot.core.settings import LossBudgetSettings
from bot.lab.backtest.run import Backtest
from bot.lab.exchange.assumptions import Latency, Terms
from bot.lab.exchange.queue_model import QueueModel
from venue.crowd.tape import read_tape
from venue.wire.instant import NS_PER_MS
from venue.wire.money import Cents

STARTER = Path(__file__).parents[3] / "bot" / "starter"


LIMIT_CENTS = 600
LATENCY_NS = 50 * NS_PER_MS


def test_fills_of_the_shipped_tape_never_show_a_loss_limit_as_passed():
    config = finish(read_draft(STARTER / "bot.yaml"))
    settings, limit = config.trader, Cents(LIMIT_CENTS)
    risk = msgspec.structs.replace(settings.risk, event_loss_cents=limit, series_loss_cents=limit)
    terms = Terms(
        latency=Latency(LATENCY_NS),
        feed_ns=LATENCY_NS,
        read_lag_ns=500 * NS_PER_MS,
    )
    run = Backtest(
        read_tape(STARTER / "tape"),
        msgspec.structs.replace(settings, risk=risk),
        config.make_strategy,
        QueueModel.OPTIMISTIC,
        terms,
    ).run()
    came = run.result(None)
    assert came.fills > 100
    assert LIMIT_CENTS * 0.9 < came.worst_case_max_cents <= LIMIT_CENTS


def test_a_spent_loss_budget_latches_a_backtest_and_no_fill_follows():
    config = finish(read_draft(STARTER / "bot.yaml"))
    budgets = LossBudgetSettings(day_cents=Cents(20), from_high_water=True)
    settings = msgspec.structs.replace(config.trader, loss_budgets=budgets)
    came = Backtest(
        read_tape(STARTER / "tape"),
        settings,
        config.make_strategy,
        QueueModel.OPTIMISTIC,
        Terms(latency=Latency(LATENCY_NS)),
    ).run().result(None)  # fmt: skip
    assert came.latched.startswith("lost $0.2")
    assert came.fills < 100
