"""Claims about an account that trades two series: what both share is judged for both together."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

from bot.core import messages as m
from bot.core.settings import BudgetSettings
from bot.lab.sim.judge.broken import Broken
from bot.lab.sim.judge.together import Account, Bucket
from bot.lab.sim.odds import MS, SECOND, draw, narrowed
from bot.lab.sim.run import run
from bot.lab.sim.second import SERIES, account_loss_cents, second_of, series_of
from bot.lab.sim.seen import Seen
from tests.mutants import hunt as bugs
from venue.wire.names import OrderId

BOTH = replace(narrowed(draw(5), without=("transfer",)), variants={"second_series": "60"})
"""A seed in which both series trade."""


@pytest.fixture(scope="module")
def world():
    return run(BOTH, replays=True)


def test_both_series_trade_on_one_account_in_one_process(world):
    first, second = world.together
    assert all(each.auditor.truth.fills for each in (first, second))
    assert first.process.trader.out.purse is second.process.trader.out.purse
    moved = sum(each.auditor.truth.flow_cents for each in (first, second))
    assert first.account.available_cents == BOTH.cash_cents + moved
    assert world.seen.counts["replayed"] == len(first.lives) == len(second.lives)


def test_one_ends_with_the_other_and_a_crash_is_that_of_both(world):
    for of_one, of_other in zip(*(each.lives for each in world.together), strict=True):
        assert of_one.clock is of_other.clock
        ended = (of_one.finished is None, of_other.finished is None)
        assert len(set(ended)) == 1 or not of_one.alive


def test_the_second_series_has_streams_of_its_own_and_shares_what_the_process_has():
    second = second_of(BOTH)
    assert second is not None
    assert (series_of(BOTH), series_of(second)) == (
        (SERIES[0], SERIES[1:]),
        (SERIES[1], SERIES[:1]),
    )
    assert second.seed != BOTH.seed
    assert (second.budget, second.cash_cents) == (BOTH.budget, BOTH.cash_cents)
    assert second_of(second) is None


def test_the_account_may_lose_a_part_of_what_its_series_may():
    second = second_of(BOTH)
    assert second is not None
    both = BOTH.series_loss_cents + second.series_loss_cents
    assert account_loss_cents(BOTH) == account_loss_cents(second) == both * 60 // 100
    assert account_loss_cents(replace(BOTH, variants={"second_series": "0"})) == 0
    assert account_loss_cents(replace(BOTH, variants={})) == 0


# --- the judge ------------------------------------------------------------------------------------


def member(loses: int = 0, strange: int = 0, locks: int = 0, orders: tuple[str, ...] = ()):
    """A series that may lose so much, and so on."""
    return SimpleNamespace(
        loses_cents=lambda: loses,
        strange_cents=lambda: strange,
        locks_cents=lambda: locks,
        live_count=lambda: len(orders),
        has_order=lambda order_id: order_id in orders,
    )


def account(*members, limit: int = 1_000, cash: int = 500) -> Account:
    made = Account(limit)
    made.available_cents = cash
    for each in members:
        made.joins(each)
    return made


def test_all_series_together_lose_no_more_than_the_account_may():
    account(member(600), member(400)).within_loss()
    account(member(600), member(500, strange=100)).within_loss()
    account(member(600), member(9_000), limit=0).within_loss()
    with pytest.raises(Broken, match="B3: all series may lose 1001 together, at most 1000"):
        account(member(600), member(401)).within_loss()


def test_what_stood_above_the_limit_when_it_was_learned_of_may_not_grow():
    parts = [member(600), member(500)]
    judged = account(*parts)
    judged.learns()
    judged.within_loss()
    parts[0].loses_cents = lambda: 601
    with pytest.raises(Broken, match="B3"):
        judged.within_loss()


def test_all_series_together_lock_no_more_than_the_cash_that_is_there():
    account(member(locks=300), member(locks=200)).within_cash()
    short = account(member(locks=300), member(locks=201))
    with pytest.raises(Broken, match="B3: 501 cents are to be locked, 500 are there"):
        short.within_cash()
    short.spent_beside = True
    short.within_cash()


def test_a_series_writes_about_no_order_of_another():
    one, other = member(orders=("1",)), member(orders=("2",))
    judged = account(one, other)
    judged.leaves_alone(one, m.CancelResting(OrderId("1")))
    judged.leaves_alone(one, m.CancelResting(OrderId("3")))
    with pytest.raises(Broken, match="B6"):
        judged.leaves_alone(one, m.CancelResting(OrderId("2")))


def test_all_orders_of_an_account_are_cancelled_from_one_bucket():
    bucket = Bucket(BudgetSettings(rate_per_second=10, burst=20, reserve=5), Seen(), 0)
    judged = account(member(orders=("1",) * 12), member(orders=("2",) * 10))
    assert judged.orders() == 22
    bucket.can_be_flat(judged.orders(), 200 * MS)
    with pytest.raises(Broken, match="B3"):
        bucket.can_be_flat(judged.orders() + 1, 200 * MS)
    for _ in range(20):
        bucket.spent(m.ReadBalance(), SECOND)
    with pytest.raises(Broken, match="B5: more than burst"):
        bucket.spent(m.ReadBalance(), SECOND)


@pytest.mark.parametrize(
    "name",
    ["account-limit-of-each-series", "tokens-of-each-series"],
)
def test_what_is_counted_for_each_series_apart_is_found(name):
    bug = bugs.named(name)
    assert bugs.hunt(bug).invariant in bug.breaks
