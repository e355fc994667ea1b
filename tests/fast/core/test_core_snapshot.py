"""Claims: an engine and keys restored from a snapshot cannot be told from those it was made of."""

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.builders.core.dump import dump_of
from tests.builders.core.histories import History, uuid
from tests.builders.core.world import IOC, NO, YES, M, World
from venue.engine import messages as m
from venue.engine.access import Access, AccessSnapshot
from venue.engine.engine import Engine
from venue.engine.snapshot import EngineSnapshot
from venue.wire.errors import Code
from venue.wire.limits import ACTIVE_KEYS_PER_USER_MAX
from venue.wire.model import VenueState
from venue.wire.money import BookSide, FeeUnits
from venue.wire.routes import KeyScope, TokenScope

KEY = b"a key for the tests"
SEEDS = range(24)
BEFORE, AFTER = 700, 300


def through_bytes(snapshot):
    """The snapshot as it comes back from a file."""
    return msgspec.msgpack.decode(msgspec.msgpack.encode(snapshot), type=type(snapshot))


def copied(engine):
    """The engine as another process would have it."""
    return Engine.from_snapshot(KEY, through_bytes(engine.to_snapshot()))


def test_a_snapshot_comes_back_from_bytes_as_it_was():
    world = World(("0.01", "0.02"))
    world.give("a", YES, 5)
    world.sell("a", YES, 60, 2)
    snapshot = world.engine.to_snapshot()
    assert isinstance(snapshot, EngineSnapshot)
    assert through_bytes(snapshot) == snapshot


@pytest.mark.parametrize("seed", SEEDS)
def test_a_restored_engine_goes_on_as_the_first_one_does(seed):
    first, other, history = Engine(KEY), None, History(seed, BEFORE + AFTER)
    cut = BEFORE - 25 * seed
    for now_ns, command in enumerate(history):
        if now_ns == cut:
            other = copied(first)
            assert other.state_hash() == first.state_hash()
        answer, events = first.apply(command, now_ns)
        history.learn(events)
        if other is not None:
            assert other.apply(command, now_ns) == (answer, events), command
    assert other.state_hash() == first.state_hash()
    assert dump_of(other) == dump_of(first)
    assert copied(other).to_snapshot() == first.to_snapshot()


def test_an_order_that_has_ended_makes_another_state():
    world = World()
    before = world.engine.state_hash()
    world.cancel(world.buy("a", YES, 40, 1))
    assert world.engine.state_hash() != before


@pytest.mark.parametrize("state", VenueState)
def test_a_stop_of_the_venue_is_in_the_snapshot(state):
    world = World()
    world.engine.apply(m.SetVenueState(state), 1)
    assert copied(world.engine).state_hash() == world.engine.state_hash()


@settings(max_examples=25, deadline=None, derandomize=True)
@given(seed=st.integers(1_000, 2_000), cut=st.integers(0, 250))
def test_whatever_rests_or_has_ended_is_answered_the_same_wherever_the_cut_is(seed, cut):
    first, history, commands, orders = Engine(KEY), History(seed, 250), [], []
    for now_ns, command in enumerate(history):
        if now_ns == cut:
            break
        answer, events = first.apply(command, now_ns)
        history.learn(events)
        commands.append(command)
        if isinstance(answer, m.Placed):
            orders.append(answer.order)
    other = copied(first)
    again = [command for command in commands if isinstance(command, m.PlaceOrder)]
    again += [m.CancelOrder(order.user_id, order.order_id) for order in orders]
    again += [m.ResolveMarket(market_id, YES) for market_id in first.market_ids]
    for command in again:
        assert other.apply(command, 10**6) == first.apply(command, 10**6), command
    for order in orders:
        assert other.order(order.order_id) == first.order(order.order_id)


def test_a_restored_engine_knows_whose_each_symbol_is_now():
    world = World()
    world.do(m.ArchiveCompany(uuid(1)))
    world.do(m.ListCompany(uuid(2), "Other", "ACME"))
    other = copied(world.engine)
    answer, _ = other.apply(m.ListCompany(uuid(3), "Third", "ACME"), world.now_ns)
    assert answer.code is Code.INVALID_REQUEST
    assert other.apply(m.ListCompany(uuid(2), "Other", "NEW"), world.now_ns)[0] == m.Accepted()
    assert other.apply(m.ListCompany(uuid(3), "Third", "ACME"), world.now_ns)[0] == m.Accepted()


def test_a_snapshot_does_not_change_with_the_engine_it_was_taken_of():
    world = World()
    placed = world.buy("a", YES, 40, 10)
    snapshot = world.engine.to_snapshot()
    before = through_bytes(snapshot)
    world.cancel(placed)
    world.buy("b", NO, 40, 10, IOC)
    assert snapshot == before


def test_a_restored_engine_does_not_change_with_the_first():
    world = World()
    placed = world.buy("a", YES, 40, 10)
    other = Engine.from_snapshot(KEY, world.engine.to_snapshot())
    before = other.state_hash()
    world.cancel(placed)
    assert other.state_hash() == before


def test_the_places_in_a_queue_are_kept():
    world = World()
    first = world.buy("a", YES, 40, 5)
    world.buy("b", YES, 40, 5)
    world.amend(first, qty=9)
    world.engine = copied(world.engine)
    world.buy("c", NO, 60, 5)
    assert [change.order.user_id for change in world.told(m.OrderChanged)] == ["c", "b"]


@pytest.mark.parametrize("seed", range(2_000, 2_004))
def test_what_is_refused_or_has_no_events_leaves_no_trace_in_the_state(seed):
    engine, history = Engine(KEY), History(seed, 200)
    before, refused = engine.to_snapshot(), 0
    for now_ns, command in enumerate(history):
        answer, events = engine.apply(command, now_ns)
        history.learn(events)
        after = engine.to_snapshot()
        if isinstance(answer, m.Refused):
            refused += 1
            assert events == []
        if not events:
            assert after == before, (command, answer)
        before = after
    assert refused > 10


def test_holders_are_paid_out_in_the_order_in_which_they_first_held():
    world = World()
    for user in ("c", "a", "b"):
        world.buy("d", NO, 50, 1)
        world.buy(user, YES, 50, 1)
    world.sell("c", YES, 50, 1)
    world.buy("d", YES, 50, 1)
    world.engine = copied(world.engine)
    world.do(m.ResolveMarket(M, YES))
    told = [(change.user_id, change.outcome) for change in world.told(m.PositionChanged)]
    assert told == [("a", YES), ("b", YES), ("d", YES), ("d", NO)]


def test_exact_fees_beyond_64_bits_survive():
    world = World(("0.01", "0.02"))
    placed = world.buy("a", YES, 40, 5)
    fees = FeeUnits(2**63 + 12_345)
    world.engine._orders.resting[placed.order.order_id].fees = fees
    other = copied(world.engine)
    assert dump_of(other)["orders"][placed.order.order_id][2] == str(fees)
    assert other.state_hash() == world.engine.state_hash()


def test_another_key_gives_the_orders_of_a_snapshot_no_new_ids():
    world = World()
    placed = world.buy("a", YES, 40, 5)
    other = Engine.from_snapshot(b"another key", world.engine.to_snapshot())
    assert other.order(placed.order.order_id) == placed.order


def test_what_is_permanent_about_tickers_is_kept():
    world = World()
    world.engine = copied(world.engine)
    taken = m.ListCompany(uuid(5), "Other", "OTHER")
    world.do(taken)
    listed = world.engine._listings.events["ACM-26Q1"].listing
    other = msgspec.structs.replace(
        listed, project_id=uuid(5), event_ticker="ACM-27Q1", project_market_id=uuid(77)
    )
    assert isinstance(world.do(other), m.Refused)


def test_depth_after_a_restart_is_the_depth_before():
    world = World()
    for price, qty in ((40, 1), (42, 2), (42, 3)):
        world.buy("a", YES, price, qty)
    world.engine = copied(world.engine)
    assert world.engine.depth(M, BookSide.BID) == [(42, 5), (40, 1)]


# --- keys and tokens ------------------------------------------------------------------------------


def hashed(number):
    return f"{number:064x}"


def opened():
    """Keys of two users, one revoked, one misconfigured, and a token."""
    access = Access()
    for number, user in ((2, "ann"), (1, "bob"), (3, None), (4, "ann")):
        access.apply_command(m.AddKey(hashed(number), f"pm_{number}", user, (KeyScope.READ,)), 1)
    access.apply_command(m.RevokeKey(hashed(4)), 2)
    token = m.AddToken(hashed(9), "app", "ann", (TokenScope.MARKETS_READ,), 1_000)
    access.apply_command(token, 3)
    return access


def test_keys_are_listed_as_they_were_added_with_their_prefixes():
    known = opened().keys()
    told = [(key.sha256_hex, key.prefix, key.user_id, key.revoked) for key in known]
    assert told == [
        (hashed(2), "pm_2", "ann", False),
        (hashed(1), "pm_1", "bob", False),
        (hashed(3), "pm_3", None, False),
        (hashed(4), "pm_4", "ann", True),
    ]


def test_restored_keys_and_tokens_are_those_of_the_snapshot():
    first = opened()
    other = Access.from_snapshot(through_bytes(first.to_snapshot()))
    assert isinstance(first.to_snapshot(), AccessSnapshot)
    assert other.keys() == first.keys()
    for number in range(10):
        assert other.key(hashed(number)) == first.key(hashed(number))
        for now_ns in (999, 1_000):
            assert other.token(hashed(number), now_ns) == first.token(hashed(number), now_ns)
    assert other.to_snapshot() == first.to_snapshot()


def test_a_restored_holder_may_have_as_many_keys_as_before_and_no_more():
    first = opened()
    other = Access.from_snapshot(through_bytes(first.to_snapshot()))
    for number in range(ACTIVE_KEYS_PER_USER_MAX + 2):
        command = m.AddKey(hashed(100 + number), "pm", "ann", (KeyScope.READ,))
        assert other.apply_command(command, 5) == first.apply_command(command, 5)
    assert other.keys() == first.keys()
