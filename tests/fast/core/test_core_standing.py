"""Claims about what stands, told as events: views made of them alone show what the others show."""

import pytest

from tests.builders.core.histories import USERS, History, uuid
from tests.builders.core.world import World
from venue.engine import messages as m
from venue.engine.engine import Engine
from venue.views.account import Scope
from venue.views.directory import Unresolvable
from venue.views.projector import Views
from venue.wire.model import STATUS_GROUPS, MarketState

KEY = b"a key for the tests"
LENGTH = 600


def lived(seed):
    """An engine with a history behind it, and the views that saw all of it."""
    engine, views, history = Engine(KEY), Views(), History(seed, LENGTH)
    for now_ns, command in enumerate(history):
        _, events = engine.apply(command, now_ns)
        history.learn(events)
        for event in events:
            views.apply(event)
    return engine, views


def joined(engine):
    """Views that were told of nothing but what stands."""
    views = Views()
    for event in engine.snapshot_events(LENGTH + 1_000):
        views.apply(event)
    return views


@pytest.mark.parametrize("seed", range(8))
def test_a_newcomer_sees_every_book_balance_position_and_resting_order(seed):
    engine, views = lived(seed)
    late = joined(engine)
    for market_id in engine.market_ids:
        seen, known = late.market.ladders(market_id), views.market.ladders(market_id)
        assert (seen.yes, seen.no) == (known.yes, known.no)
        assert late.catalog.market(market_id).state is views.catalog.market(market_id).state
        if views.catalog.market(market_id).state is MarketState.RESOLVED:
            continue
        for user in USERS:
            assert late.account.market_positions(user, market_id) == (
                views.account.market_positions(user, market_id)
            )
    for user in engine.users:
        assert late.account.balance(user) == views.account.balance(user)
        resting = views.account.orders(user, Scope(), STATUS_GROUPS["resting"], None, 1_000)[0]
        told = late.account.orders(user, Scope(), STATUS_GROUPS["resting"], None, 1_000)[0]
        assert {order.order_id: order for order in told} == {
            order.order_id: order for order in resting
        }


def test_a_newcomer_knows_that_a_company_is_archived():
    world = World()
    world.do(m.ArchiveCompany(uuid(1)))
    late = joined(world.engine)
    assert late.catalog.directory.resolve_symbol("ACME", 10**12) is Unresolvable.ARCHIVED


def test_a_newcomer_to_an_empty_exchange_is_told_its_state_only():
    assert [type(event).__name__ for event in Engine(KEY).snapshot_events(1)] == [
        "VenueStateChanged"
    ]
