"""Claims about an account that trades two series: what both share is judged for both together."""

from dataclasses import replace

import pytest

from bot.lab.sim.run import run
from bot.lab.sim.scenario import SERIES, account_loss_cents, draw, narrowed, second_of, series_of
from tests.mutants import hunt as bugs

BOTH = replace(narrowed(draw(5), without=("transfer",)), variants={"second_series": "60"})
"""A seed in which both series trade."""


@pytest.fixture(scope="module")
def world():
    return run(BOTH, replays=True)


def test_two_series_trade_on_one_account_in_one_process(world):
    first, second = world.worlds
    assert all(each.auditor.truth.fills for each in (first, second))
    assert first.process.trader.out.purse is second.process.trader.out.purse
    moved = sum(sum(each.auditor.truth.cash.values()) for each in (first, second))
    assert first.account.available_cents == BOTH.cash_cents + moved
    assert world.coverage.counts["replayed"] == len(first.processes) == len(second.processes)


def test_both_series_stop_and_crash_together(world):
    for of_one, of_other in zip(*(each.processes for each in world.worlds), strict=True):
        assert of_one.clock is of_other.clock
        ended = (of_one.finished is None, of_other.finished is None)
        assert len(set(ended)) == 1 or not of_one.alive


def test_the_second_series_has_its_own_random_streams_and_shares_the_budget():
    second = second_of(BOTH)
    assert second is not None
    assert (series_of(BOTH), series_of(second)) == (
        (SERIES[0], SERIES[1:]),
        (SERIES[1], SERIES[:1]),
    )
    assert second.seed != BOTH.seed
    assert (second.budget, second.cash_cents) == (BOTH.budget, BOTH.cash_cents)
    assert second_of(second) is None


def test_the_account_loss_limit_is_a_share_of_the_series_loss_limits():
    second = second_of(BOTH)
    assert second is not None
    both = BOTH.series_loss_cents + second.series_loss_cents
    assert account_loss_cents(BOTH) == account_loss_cents(second) == both * 60 // 100
    assert account_loss_cents(replace(BOTH, variants={"second_series": "0"})) == 0
    assert account_loss_cents(replace(BOTH, variants={})) == 0


@pytest.mark.parametrize(
    "name",
    ["account-limit-of-each-series", "tokens-of-each-series"],
)
def test_limits_counted_per_series_instead_of_per_account_are_detected(name):
    bug = bugs.named(name)
    assert bugs.hunt(bug).invariant in bug.breaks
