"""Claims about a bot short of cash among a crowd in the real engine: it quotes, unrefused."""

from collections import Counter
from pathlib import Path

import pytest

from bench.brackets import CROWDS
from bench.crowded import RESOLUTION_NS, CrowdedMarket, clock
from bot.config.bot_config import finish, read_draft
from bot.core.orders.order import State
from bot.lab.backtest.run import Backtest
from bot.lab.exchange.assumptions import Terms
from bot.lab.exchange.queue_model import QueueModel
from venue.wire.instant import NS_PER_SECOND
from venue.wire.money import BookSide, Cents, FeeRate

pytestmark = pytest.mark.xdist_group("crowded")

WHOLE_CENTS = 10_000  # about what the whole ladder of the demonstration locks
FEES = {"maker_rate": FeeRate.parse("0.0100"), "taker_rate": FeeRate.parse("0.0175")}


def run_with_cash(cash_cents: int, seconds: int = 60):
    """A run of the demonstration's configuration, and the part of the time that each side of a rung
    was quoted, after ten seconds."""
    config = finish(read_draft(Path("configs/demo.yaml")))
    ticking = clock(1, seconds)
    terms = Terms(cash_cents=Cents(cash_cents), **FEES)
    crowd = CROWDS["ten makers a rung"].model_copy(update={"seed": 1})
    venue = CrowdedMarket(ticking, crowd, terms)
    run = Backtest(
        ticking,
        config.trader,
        config.make_strategy,
        QueueModel.PESSIMISTIC,
        terms,
        RESOLUTION_NS,
        venue,
    )
    quoted: Counter = Counter()
    looks = 0

    def look(_event, _effects, now_ns):
        nonlocal looks
        if now_ns > ticking.start_ts + 10 * NS_PER_SECOND:
            looks += 1
            for market in venue.markets:
                live = run.trader.desk.live(market)
                sides = {
                    own.book_side
                    for own in live
                    if own.state in (State.OPEN, State.PENDING_REPLACE)
                }
                quoted.update((market, side) for side in sides)

    run.observed(look).run()
    parts = [quoted[market, side] / looks for market in venue.markets for side in BookSide]
    return run, parts


@pytest.mark.parametrize("pct", [5, 20, 50])
def test_with_scarce_cash_all_sides_are_quoted_without_a_rejection(pct):
    run, parts = run_with_cash(WHOLE_CENTS * pct // 100)
    assert "insufficient_balance" not in run.venue.exchange.refused
    assert run.trader.report(run.recorded_ns).counters.held_back["cash"] > 0
    assert sum(parts) / len(parts) > 0.9
    assert min(parts) > 0.7


def test_with_enough_cash_no_order_is_held_back():
    run, _ = run_with_cash(10 * WHOLE_CENTS, 20)
    assert "cash" not in run.trader.report(run.recorded_ns).counters.held_back
