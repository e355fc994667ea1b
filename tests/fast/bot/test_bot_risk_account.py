"""Several series on one account: their losses add up, and no room is given away twice."""

from dataclasses import replace

import msgspec
import pytest

from bot.core.report import Phase
from bot.core.risk.buying_power import AccountRisk
from bot.core.settings import BreakerSettings
from bot.core.trader import Trader
from bot.lab.sim.scenario import SECOND
from bot.lab.sim.world import SimulatedWorld
from tests.fast.bot.test_bot_latch import calm, make_of, quoting
from venue.wire.money import Cents, Outcome


def test_the_losses_of_the_others_add_up_and_our_own_is_left_out() -> None:
    account = AccountRisk()
    losses = [300, 50, 0]
    numbers = [account.join(lambda at=at: Cents(losses[at])) for at in range(3)]
    assert numbers == [0, 1, 2]
    assert [account.others_loss_cents(number) for number in numbers] == [50, 300, 350]
    assert account.loss_cents() == 350
    losses[2] = 1_000
    assert account.others_loss_cents(0) == 1_050


def test_a_trader_without_company_has_an_account_of_its_own() -> None:
    one, two = quoting(), quoting()
    first, second = (world.process.trader.quoting.weighing.account for world in (one, two))
    assert first is not second
    assert first.others_loss_cents(0) == 0
    assert first.loss_cents() == one.process.trader.quoting.weighing.worst_case_cents > 0


def test_what_another_series_may_lose_is_taken_off_what_ours_may_send() -> None:
    account = AccountRisk()
    other_may_lose = [0]
    account.opened(account.join(lambda: Cents(other_may_lose[0])))
    world = SimulatedWorld(replace(calm(), series_loss_cents=0))
    settings = world.process.settings
    risk = msgspec.structs.replace(settings.risk, account_loss_cents=Cents(25_000))
    settings = msgspec.structs.replace(settings, risk=risk)
    world.process.settings = settings
    make = make_of(world)
    world.process.trader = Trader(settings, make, account_risk=account)
    trader = world.process.trader

    def limits() -> list[int]:
        return [
            trader.quoting.weighing.bounds(ladder).loss_cents for ladder in trader.quoting.ladders
        ]

    world.crowd.place_floors(world.now_ns)
    world.driver.run_until(world.now_ns + SECOND)
    world.start_process(world.process)
    assert world.driver.run_until(world.now_ns + 8 * SECOND, lambda: trader.quoting.all_two_sided())
    assert limits() == [20_000, 20_000]
    # The other one is filled until it may lose 24,000: a thousand is left for both our events.
    other_may_lose[0] = 24_000
    ours = trader.quoting.weighing.worst_case_cents
    assert all(limit <= 1_000 for limit in limits())
    for ladder in trader.quoting.ladders:
        ladder.needs_decision = True
    world.driver.run_until(world.now_ns + 5 * SECOND)
    assert trader.quoting.weighing.worst_case_cents <= min(ours, 1_000)
    other_may_lose[0] = 0
    for ladder in trader.quoting.ladders:
        ladder.needs_decision = True
    assert world.driver.run_until(world.now_ns + 8 * SECOND, lambda: trader.quoting.all_two_sided())


def test_two_traders_never_fill_the_room_of_their_account_twice() -> None:
    account = AccountRisk()
    worlds = [SimulatedWorld(replace(calm(), seed=seed)) for seed in (1, 2)]
    limit = 900
    for world in worlds:
        settings = world.process.settings
        risk = msgspec.structs.replace(settings.risk, account_loss_cents=Cents(limit))
        settings = msgspec.structs.replace(settings, risk=risk)
        world.process.settings = settings
        world.process.trader = Trader(settings, make_of(world), account_risk=account)
        world.crowd.place_floors(world.now_ns)
        world.driver.run_until(world.now_ns + SECOND)
        world.start_process(world.process)
    used = []
    for _ in range(60):
        for world in worlds:
            world.driver.run_until(world.now_ns + SECOND // 10)
            used.append(account.loss_cents())
    assert max(used) <= limit
    assert max(used) > limit // 2
    assert all(world.process.trader.quoting.weighing.worst_case_cents > 0 for world in worlds)


def test_a_series_whose_books_are_not_open_leaves_the_others_no_room_to_grow() -> None:
    world = SimulatedWorld(replace(calm(), series_loss_cents=0, variants={"strangers": "adopt"}))
    world.crowd.place_floors(world.now_ns)
    world.driver.run_until(world.now_ns + SECOND)
    world.start_process(world.process)
    first = world.process
    assert world.driver.run_until(world.now_ns + 8 * SECOND, first.trader.quoting.all_two_sided)
    kept = {order.order_id for order in world.auditor.truth.resting()}
    # The process begins anew, and another series of it has not opened its books yet.
    account = AccountRisk()
    other = account.join(lambda: Cents(0))
    world.replace(first, SECOND // 20, None)
    settings = world.process.settings
    risk = msgspec.structs.replace(settings.risk, account_loss_cents=Cents(60_000))
    settings = msgspec.structs.replace(settings, risk=risk)
    world.process.settings = settings
    trader = world.process.trader = Trader(settings, make_of(world), account_risk=account)
    weighing = trader.quoting.weighing
    assert world.driver.run_until(world.now_ns + 10 * SECOND, lambda: trader.phase is Phase.QUOTING)
    assert account.all_opened is False
    for ladder in trader.quoting.ladders:
        assert weighing.bounds(ladder).loss_cents == -weighing.worst_cents(ladder)
    world.driver.run_until(world.now_ns + SECOND)
    assert {order.order_id for order in world.auditor.truth.resting()} == kept
    account.opened(other)
    world.driver.run_until(world.now_ns + SECOND)
    for ladder in trader.quoting.ladders:
        assert weighing.bounds(ladder).loss_cents == 20_000


# --- kill on drawdown -----------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["loss_cents", "drawdown_cents"])
def test_shares_that_are_marked_down_kill_though_nothing_was_sold(name: str) -> None:
    world = quoting()
    trader = world.process.trader
    limits = BreakerSettings(**{name: 300})
    trader.guard.breakers.limits = msgspec.structs.replace(
        trader.guard.breakers.limits, **{name: getattr(limits, name)}
    )
    rung = trader.quoting.active_rungs()[0]
    marked = [80.0, 80.0, 77.1, 76.9]
    trader.ledgers.book.take_over(rung.market_id, rung.market.event_ticker, Outcome.YES, 100)
    told = []
    for at, mark in enumerate(marked):
        trader.guard._quoting = _Marked(rung.market_id, mark)  # type: ignore[assignment]
        trader.guard.judge_due_ns = 0
        told.append(trader.guard.judge(world.now_ns + at, opened=True))
    assert told[:3] == ["", "", ""]
    assert told[3].startswith(f"{name}: 310, at most 300")


class _Marked:
    """A series of which one rung is believed to be worth so much."""

    def __init__(self, market_id: str, cents: float) -> None:
        fair = type("Fair", (), {"value_cents": cents})
        told = {"market_id": market_id, "fair": fair, "book": None, "decided": None}
        rung = type("Rung", (), told)
        self.ladders = [type("Ladder", (), {"rungs": [rung]})]
        self.rung = {market_id: rung}.get
