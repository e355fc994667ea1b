"""Claims about resolution: who is paid, what expires, what happens only once (S21, S22, S33)."""

import pytest

from tests.builders.core.histories import listing, uuid
from tests.builders.core.world import NO, SECOND, YES, M, World
from venue.engine import messages as m
from venue.wire.errors import Code
from venue.wire.model import EventStatus, MarketState

EVENT = "ACM-26Q1"


def test_a_resolution_realizes_payout_minus_cost():
    world = World()
    world.give("a", YES, 10, price=30)
    world.do(m.ResolveMarket(M, YES))
    realized = {e.user_id: e.realized_pnl_cents for e in world.events_of(m.PositionChanged)}
    assert realized == {"a": 700, "d": -700}


def test_a_halted_market_can_be_resolved():
    world = World()
    world.do(m.HaltMarket(M))
    assert world.do(m.ResolveMarket(M, YES)) == m.Accepted()


def test_resolving_a_market_again_the_same_way_changes_nothing():
    world = World()
    world.give("a", YES, 10)
    world.do(m.ResolveMarket(M, YES))
    before = world.engine.state_hash()
    assert world.do(m.ResolveMarket(M, YES)) == m.Accepted()
    assert world.events == []
    assert world.engine.state_hash() == before


def test_resolving_a_market_again_the_other_way_is_rejected():
    world = World()
    world.do(m.ResolveMarket(M, YES))
    assert world.do(m.ResolveMarket(M, NO)).code is Code.INVALID_REQUEST


@pytest.mark.parametrize("command", [m.HaltMarket(M), m.ResumeMarket(M)])
def test_a_resolved_market_stays_resolved(command):
    world = World()
    world.do(m.ResolveMarket(M, YES))
    assert world.do(command).code is Code.MARKET_RESOLVED


def test_resolving_an_unknown_market_is_not_found():
    assert World().do(m.ResolveMarket(uuid(7), YES)).code is Code.MARKET_NOT_FOUND


def test_a_resolution_does_not_close_a_closed_event_again():
    world = World()
    world.do(m.SetEventStatus(EVENT, EventStatus.CLOSED))
    world.do(m.ResolveMarket(M, YES))
    assert world.events_of(m.EventStatusChanged) == []


@pytest.mark.parametrize("status", [EventStatus.UNOPENED, EventStatus.OPEN])
def test_an_event_with_a_resolved_market_cannot_be_reopened(status):
    world = World()
    world.do(m.ResolveMarket(M, YES))
    assert world.do(m.SetEventStatus(EVENT, status)).code is Code.INVALID_REQUEST


def test_a_settled_event_takes_no_more_markets():
    world = World()
    for market in (M, SECOND):
        world.do(m.ResolveMarket(market, YES))
    assert world.do(listing(103, EVENT)).code is Code.INVALID_REQUEST


def test_the_resolved_event_of_a_market_follows_its_payouts():
    world = World()
    world.give("a", YES, 1)
    world.do(m.ResolveMarket(M, YES))
    kinds = [type(event) for event in world.events]
    assert kinds[-2:] == [m.MarketStateChanged, m.EventStatusChanged]
    assert world.events_of(m.MarketStateChanged)[0].state is MarketState.RESOLVED
