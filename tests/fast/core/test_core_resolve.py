"""Claims about resolution: who is paid, what expires, what happens only once (S21, S22, S33)."""

import pytest

from tests.builders.core.histories import listing, uuid
from tests.builders.core.world import CASH, NO, SECOND, YES, M, World
from venue.engine import messages as m
from venue.wire.errors import Code
from venue.wire.model import EventStatus, MarketState, OrderStatus

EVENT = "ACM-26Q1"


@pytest.mark.parametrize(("winner", "a", "d"), [(YES, 500, -500), (NO, -500, 500)])
def test_a_winning_share_pays_a_dollar_and_a_losing_one_nothing(winner, a, d):
    world = World(rates=("0", "0"))
    world.give("a", YES, 10)
    world.do(m.ResolveMarket(M, winner))
    assert (world.balance("a")[0] - CASH, world.balance("d")[0] - CASH) == (a, d)


def test_settlement_takes_no_fee():
    world = World(rates=("0.08", "0.08"))
    world.give("a", YES, 10)
    fees = world.engine.fees_cents
    world.do(m.ResolveMarket(M, YES))
    assert world.engine.fees_cents == fees


def test_positions_and_open_interest_are_gone():
    world = World()
    world.give("a", YES, 10)
    world.do(m.ResolveMarket(M, YES))
    assert [e.open_interest for e in world.told(m.OpenInterestChanged)] == [0]
    assert {(e.user_id, e.qty, e.cost_basis_cents) for e in world.told(m.PositionChanged)} == {
        ("a", 0, 0),
        ("d", 0, 0),
    }


def test_the_payout_less_the_cost_is_realized():
    world = World()
    world.give("a", YES, 10, price=30)
    world.do(m.ResolveMarket(M, YES))
    realized = {e.user_id: e.realized_pnl_cents for e in world.told(m.PositionChanged)}
    assert realized == {"a": 700, "d": -700}


def test_resting_orders_expire_and_release_cash_and_shares():
    world = World()
    world.give("a", YES, 10)
    before = world.balance("a")
    sell, buy = world.sell("a", YES, 60, 10), world.buy("a", YES, 40, 5)
    world.do(m.ResolveMarket(M, NO))
    assert world.now(sell).status is world.now(buy).status is OrderStatus.EXPIRED
    assert world.now(buy).reserved_cents == world.now(sell).remaining_qty == 0
    assert world.balance("a") == before
    assert world.bids() == world.asks() == []


def test_orders_of_other_markets_stay():
    world = World()
    other = world.buy("a", YES, 40, 5, market=SECOND)
    world.do(m.ResolveMarket(M, NO))
    assert world.now(other).status is OrderStatus.OPEN


def test_a_halted_market_can_be_resolved():
    world = World()
    world.do(m.HaltMarket(M))
    assert world.do(m.ResolveMarket(M, YES)) == m.Accepted()


def test_resolving_again_the_same_way_changes_nothing():
    world = World()
    world.give("a", YES, 10)
    world.do(m.ResolveMarket(M, YES))
    before = world.engine.state_hash()
    assert world.do(m.ResolveMarket(M, YES)) == m.Accepted()
    assert world.events == []
    assert world.engine.state_hash() == before


def test_resolving_again_the_other_way_is_refused():
    world = World()
    world.do(m.ResolveMarket(M, YES))
    assert world.do(m.ResolveMarket(M, NO)).code is Code.INVALID_REQUEST


@pytest.mark.parametrize("command", [m.HaltMarket(M), m.ResumeMarket(M)])
def test_a_resolved_market_stays_resolved(command):
    world = World()
    world.do(m.ResolveMarket(M, YES))
    assert world.do(command).code is Code.MARKET_RESOLVED


def test_an_unknown_market_is_not_found():
    assert World().do(m.ResolveMarket(uuid(7), YES)).code is Code.MARKET_NOT_FOUND


def test_the_event_closes_with_the_first_market_and_settles_with_the_last():
    world = World()
    world.do(m.ResolveMarket(M, YES))
    assert [e.status for e in world.told(m.EventStatusChanged)] == [EventStatus.CLOSED]
    world.do(m.ResolveMarket(SECOND, NO))
    assert [e.status for e in world.told(m.EventStatusChanged)] == [EventStatus.SETTLED]


def test_an_event_that_the_operator_closed_is_not_closed_again():
    world = World()
    world.do(m.SetEventStatus(EVENT, EventStatus.CLOSED))
    world.do(m.ResolveMarket(M, YES))
    assert world.told(m.EventStatusChanged) == []


def test_the_other_markets_of_a_closed_event_go_on_trading():
    world = World()
    world.do(m.ResolveMarket(M, YES))
    assert world.buy("a", YES, 40, 1, market=SECOND).order.status is OrderStatus.OPEN


@pytest.mark.parametrize("status", [EventStatus.UNOPENED, EventStatus.OPEN])
def test_an_event_with_a_resolved_market_does_not_open_again(status):
    world = World()
    world.do(m.ResolveMarket(M, YES))
    assert world.do(m.SetEventStatus(EVENT, status)).code is Code.INVALID_REQUEST


def test_a_settled_event_takes_no_more_markets():
    world = World()
    for market in (M, SECOND):
        world.do(m.ResolveMarket(market, YES))
    assert world.do(listing(103, EVENT)).code is Code.INVALID_REQUEST


def test_the_market_is_told_resolved_once_and_last_of_all_but_its_event():
    world = World()
    world.give("a", YES, 1)
    world.do(m.ResolveMarket(M, YES))
    kinds = [type(event) for event in world.events]
    assert kinds[-2:] == [m.MarketStateChanged, m.EventStatusChanged]
    assert world.told(m.MarketStateChanged)[0].state is MarketState.RESOLVED
