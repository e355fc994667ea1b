"""Account-wide risk: several series, payouts before the start, fills that are not booked yet."""

from types import SimpleNamespace

import msgspec
import pytest

from bot.core.orders.transitions import State
from bot.core.report import Phase
from bot.core.risk.buying_power import AccountRisk
from bot.core.risk.exposure import Exposure
from bot.core.trader import Trader
from bot.lab.exchange.exchange import MAKER
from bot.lab.sim.scenario import SECOND
from bot.lab.sim.world import SimulatedWorld
from tests.builders.bot import made
from tests.builders.bot.engines import engine, event
from tests.builders.bot.made import MARKET
from tests.builders.bot.worlds import calm, make_of, opened, quoting
from venue.engine import messages as v
from venue.wire.money import Cents, Outcome, Price, Qty, Side
from venue.wire.names import ClientOrderId
from venue.wire.requests import QtyOrder, TimeInForce


def test_losses_of_the_other_series_add_up_without_our_own() -> None:
    account = AccountRisk()
    losses = [300, 50, 0]
    numbers = [account.join(lambda at=at: Cents(losses[at])) for at in range(3)]
    assert numbers == [0, 1, 2]
    assert [account.others_loss_cents(number) for number in numbers] == [50, 300, 350]
    assert account.loss_cents() == 350
    losses[2] = 1_000
    assert account.others_loss_cents(0) == 1_050


def test_a_single_trader_has_its_own_account_risk() -> None:
    one, two = quoting(), quoting()
    first, second = (world.process.trader.quoting.weighing.account for world in (one, two))
    assert first is not second
    assert first.others_loss_cents(0) == 0
    assert first.loss_cents() == one.process.trader.quoting.weighing.worst_case_cents > 0


def with_account(world: SimulatedWorld, account: AccountRisk, loss_cents: int) -> Trader:
    """The world's trader, made again with an account limit and the account's other series."""
    settings = world.process.settings
    risk = msgspec.structs.replace(settings.risk, account_loss_cents=Cents(loss_cents))
    world.process.settings = msgspec.structs.replace(settings, risk=risk)
    trader = Trader(world.process.settings, make_of(world), account_risk=account)
    world.process.trader = trader
    return trader


def test_the_possible_loss_of_another_series_reduces_our_limits() -> None:
    account = AccountRisk()
    other_may_lose = [0]
    account.opened(account.join(lambda: Cents(other_may_lose[0])))
    world = opened(calm())
    trader = with_account(world, account, 25_000)

    def limits() -> list[int]:
        return [
            trader.quoting.weighing.bounds(ladder).loss_cents for ladder in trader.quoting.ladders
        ]

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


def test_two_traders_together_stay_within_their_account_limit() -> None:
    account = AccountRisk()
    worlds = [opened(calm(seed=seed, dead_rung=True)) for seed in (1, 2)]
    limit = 900
    for world in worlds:
        with_account(world, account, limit)
        world.start_process(world.process)
    used = []
    for _ in range(60):
        for world in worlds:
            world.driver.run_until(world.now_ns + SECOND // 10)
            used.append(account.loss_cents())
    assert max(used) <= limit
    assert max(used) > limit // 2
    assert all(world.process.trader.quoting.weighing.worst_case_cents > 0 for world in worlds)


def test_no_exposure_may_grow_while_another_series_has_not_opened_its_books() -> None:
    world = opened(calm(variants={"strangers": "adopt"}))
    world.start_process(world.process)
    first = world.process
    assert world.driver.run_until(world.now_ns + 8 * SECOND, first.trader.quoting.all_two_sided)
    kept = {order.order_id for order in world.auditor.truth.resting()}
    # The process begins anew, and another series of it has not opened its books yet.
    account = AccountRisk()
    other = account.join(lambda: Cents(0))
    world.replace(first, SECOND // 20, None)
    trader = with_account(world, account, 60_000)
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


@pytest.mark.parametrize("name", ["loss_cents", "drawdown_cents"])
def test_shares_that_are_marked_down_trip_a_breaker_though_nothing_was_sold(name):
    world = quoting()
    trader = world.process.trader
    guard, rung = trader.guard, trader.quoting.active_rungs()[0]
    guard.breakers.limits = msgspec.structs.replace(guard.breakers.limits, **{name: 300})
    trader.ledgers.book.take_over(rung.market_id, rung.market.event_ticker, Outcome.YES, 100)
    guard.breakers.rearm()
    reasons = []
    for at, mark in enumerate([80.0, 80.0, 77.1, 76.9]):
        rung.fair = SimpleNamespace(value_cents=mark)
        guard.judge_due_ns = 0
        reasons.append(guard.judge(world.now_ns + at, opened=True))
    assert reasons[:3] == ["", "", ""]
    assert reasons[3].startswith(f"{name}: 310, at most 300")


def exposure_once_quoting(world: SimulatedWorld) -> tuple[Exposure, int]:
    """The exposure of the first event once the trader quotes, and the cash of its fills."""
    world.start_process(world.process)
    trader = world.process.trader
    assert world.driver.run_until(world.now_ns + 8 * SECOND, lambda: trader.phase is Phase.QUOTING)
    ladder = trader.quoting.ladders[0]
    cash = trader.ledgers.book.event_cash_cents(ladder.event.event_ticker)
    return trader.quoting.weighing.exposure(ladder), cash


@pytest.mark.parametrize("winner", list(Outcome))
def test_shares_paid_out_before_the_start_pay_in_no_outcome_again(winner: Outcome) -> None:
    world = opened()
    exchange = world.exchange
    rung = next(exchange.all_markets())
    order = QtyOrder(
        rung,
        Outcome.YES,
        Side.BUY,
        Price(99),
        Qty(5),
        TimeInForce.IOC,
        ClientOrderId("of an earlier run"),
    )
    bought = exchange.execute(v.PlaceOrder(MAKER, order), world.now_ns)
    assert isinstance(bought, v.Placed)
    assert bought.order.filled_qty == 5
    exchange.execute(v.ResolveMarket(rung, winner), world.now_ns)
    world.driver.run_until(world.now_ns + 3 * SECOND)
    exposure, spent = exposure_once_quoting(world)
    assert spent == 0  # cost and payout are history that no journal has
    assert set(exposure.outcome_cents) == {spent}


def test_a_round_trip_of_unbooked_fills_counts_its_loss() -> None:
    series, _ = engine(event(1))
    (ladder,) = series.ladders
    bid = made.own(State.OPEN, price=60, number=1)
    sale = made.own(State.OPEN, side=Side.SELL, price=40, qty=5, number=2)
    series.desk.add_order(bid)
    series.desk.add_order(sale)
    bid.on_fills_shown(made.shown(bid, filled=5))
    series.orders_changed(MARKET)
    series.weighing.exposure(ladder)
    # Five more are bought, and five sold: as many shares are held as before.
    bid.on_fills_shown(made.shown(bid, filled=10))
    sale.on_fills_shown(made.shown(sale, filled=5))
    series.orders_changed(MARKET)
    assert series.ledgers.holdings(MARKET) == (5, 0)
    # 10 x 60 and 5 x 40 cents, and a cent of fee for each of the fifteen shares
    assert series.weighing.exposure(ladder).outcome_cents == (-415, 85)
