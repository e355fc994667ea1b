"""Claims about snapshots of the views: whole, plain, independent, and places that stay good."""

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.builders.core.histories import USERS, History
from tests.builders.venue.rest_bench import (
    ACME,
    BINARY,
    BOLT,
    LOW,
    T0,
    TICKERS,
    fill,
    level,
    opening,
    order,
    printed,
)
from venue.engine import messages as m
from venue.engine.engine import Engine
from venue.views.account import Scope
from venue.views.catalog import EventFilter, MarketFilter
from venue.views.directory import Unresolvable
from venue.views.projector import Views, ViewsSnapshot
from venue.wire.limits import DIRECTORY_REFRESH_NS
from venue.wire.model import STATUS_GROUPS, CandleInterval, MarketState, OrderStatus
from venue.wire.money import BookSide, Outcome

STEP_NS = 7_000_000_000
EVERYTHING = STATUS_GROUPS["all"]


def told(seed: int, length: int) -> list[list[m.Event]]:
    """What the engine tells of a seeded history, command by command, some seconds apart."""
    engine, history, events = Engine(b"key"), History(seed, length), []
    for number, command in enumerate(history):
        _, after = engine.apply(command, T0 + number * STEP_NS)
        history.learn(after)
        events.append(after)
    return events


def over_the_wire(snapshot: ViewsSnapshot) -> ViewsSnapshot:
    return msgspec.msgpack.decode(msgspec.msgpack.encode(snapshot), type=ViewsSnapshot)


def walk(read, start=None):
    """Every row of a paged list, seven at a time, and every place given out on the way."""
    rows, place = read(start, 7)
    yield rows, place
    while place is not None:
        rows, place = read(place, 7)
        yield rows, place


def public_reads(views: Views, end_ns: int):
    """The answer to every kind of public read."""
    catalog, market = views.catalog, views.market
    ids = catalog.matching_markets(MarketFilter("ac"))
    yield list(walk(catalog.active_markets, -1))
    yield list(walk(lambda after, limit: catalog.events(EventFilter(), after, limit), -1))
    found = catalog.matching_markets(MarketFilter(series_ticker="acm"))
    yield [catalog.market(market_id) for market_id in found]
    yield catalog.company("00000000-0000-4000-8000-000000000001")
    for market_id in ids:
        ticker, _ = catalog.market_tickers(market_id)
        yield catalog.find_market(ticker.lower()), catalog.directory.resolve_ticker(ticker, end_ns)
        yield catalog.directory.resolve_ticker(ticker, T0)
        yield market.ladders(market_id), market.orderbook(market_id), market.stats(market_id)
        yield market.last_trade(market_id)
        for interval in CandleInterval:
            yield market.candles(market_id, interval, T0, end_ns)
        for span in ((None, None), (T0 + 500 * STEP_NS, T0 + 900 * STEP_NS)):
            yield list(walk(lambda b, n, s=span, i=market_id: market.trades(i, s, b, n)))
    yield (
        catalog.directory.resolve_symbol("ACME", end_ns),
        catalog.directory.resolve_symbol("ACME", T0),
    )


def private_reads(views: Views, user: str):
    """The answer to every kind of read of one user's own."""
    account = views.account
    markets, _ = views.catalog.active_markets(-1, 3)
    scopes = [Scope(), Scope(event_ticker="ACM-26Q1"), *(Scope(k.market_id) for k in markets)]
    yield account.balance(user)
    orders = [row for rows, _ in walk(orders_of(account, user)) for row in rows]
    for shown in orders:
        yield account.order(user, shown.order_id)
        yield list(walk(fills_of(account, user, Scope(), shown.order_id)))
    for scope in scopes:
        for statuses in (*STATUS_GROUPS.values(), frozenset({OrderStatus.EXPIRED})):
            yield list(walk(orders_of(account, user, scope, statuses)))
        yield list(walk(fills_of(account, user, scope)))
        yield list(walk(lambda a, n, s=scope: account.positions(user, s, a or "", n)))
    for known in markets:
        yield account.market_positions(user, known.market_id)
        resting = account.resting_orders(user, known.market_id)
        yield resting.rows(0, len(resting))


def orders_of(account, user, scope=Scope(), statuses=EVERYTHING):  # noqa: B008 - frozen
    return lambda before, limit: account.orders(user, scope, statuses, before, limit)


def fills_of(account, user, scope, order_id=None):
    return lambda before, limit: account.fills(user, scope, order_id, before, limit)


def everything(views: Views, end_ns: int) -> bytes:
    """Every read there is, as bytes; a place in it is what a cursor would carry."""
    reads = [list(public_reads(views, end_ns))]
    reads += [list(private_reads(views, user)) for user in (*USERS, "nobody")]
    return msgspec.json.encode(reads)


@pytest.mark.parametrize("seed", [1, 2])
def test_restored_views_answer_every_read_alike_then_and_after_more_events(seed):
    batches = told(seed, 1_200)
    end_ns = T0 + len(batches) * STEP_NS
    views = Views()
    for events in batches[:900]:
        for event in events:
            views.apply(event)
    snapshot = views.snapshot()
    before = msgspec.msgpack.encode(snapshot)
    restored = Views.restored(over_the_wire(snapshot))
    assert everything(restored, end_ns) == everything(views, end_ns)
    for events in batches[900:]:
        for event in events:
            views.apply(event)
            restored.apply(event)
    assert everything(restored, end_ns) == everything(views, end_ns)
    assert msgspec.msgpack.encode(snapshot) == before
    assert restored.snapshot() == views.snapshot() != snapshot
    after = [msgspec.msgpack.encode(each.snapshot()) for each in (restored, views)]
    assert after[0] == after[1]


def test_views_of_nothing_restore_to_views_of_nothing():
    snapshot = Views().snapshot()
    assert over_the_wire(snapshot) == snapshot
    assert Views.restored(snapshot).catalog.active_markets(-1, 10) == ((), None)


def test_handles_resolve_alike_after_a_rename_an_archiving_and_a_halt():
    views = Views()
    for event in [
        *opening(),
        m.CompanyListed(T0 + 5, m.ListCompany(ACME, "Acme Robotics", "ACM")),
        m.CompanyListed(T0 + 6, m.ListCompany(BOLT, "Bolt", "ACME")),
        m.CompanyArchived(T0 + 7, BOLT),
        m.MarketStateChanged(T0 + 8, LOW, MarketState.HALTED),
    ]:
        views.apply(event)
    restored = Views.restored(over_the_wire(views.snapshot()))
    for now_ns in (T0 + 9, T0 + DIRECTORY_REFRESH_NS):
        for symbol in ("ACME", "ACM", "BOLT"):
            resolved = restored.catalog.directory.resolve_symbol(symbol, now_ns)
            assert resolved == views.catalog.directory.resolve_symbol(symbol, now_ns)
        for ticker in (*TICKERS.values(), "ACME-VAL", "ACME-VAL-26Q4"):
            resolved = restored.catalog.directory.resolve_ticker(ticker, now_ns)
            assert resolved == views.catalog.directory.resolve_ticker(ticker, now_ns)
    assert (
        restored.catalog.directory.resolve_ticker(TICKERS[BINARY], T0 + 9) is Unresolvable.ARCHIVED
    )


@pytest.mark.parametrize("kind", ["orders", "fills", "prints"])
def test_a_place_given_out_before_a_snapshot_goes_on_after_it_and_after_more_rows(kind):
    views = Views()
    for event in opening():
        views.apply(event)

    def add(numbers):
        for number in numbers:
            views.apply(m.OrderChanged(T0, order(number)))
            views.apply(fill(number))
            views.apply(printed(T0 + number, 40))

    def read(before, limit):
        if kind == "orders":
            return views.account.orders("anna", Scope(), EVERYTHING, before, limit)
        if kind == "fills":
            return views.account.fills("anna", Scope(), None, before, limit)
        return views.market.trades(LOW, (None, None), before, limit)

    add(range(10))
    first, place = read(None, 4)
    views = Views.restored(over_the_wire(views.snapshot()))
    add(range(10, 20))
    rest, end = read(place, 100)
    newest, _ = read(None, 100)
    assert (*first, *rest) == newest[10:]
    assert (len(rest), end) == (6, None)


def test_a_fill_told_before_its_order_is_found_by_it_also_across_a_snapshot():
    views = Views()
    for event in opening():
        views.apply(event)
    views.apply(fill(1, order_id="77"))
    views = Views.restored(over_the_wire(views.snapshot()))
    views.apply(m.OrderChanged(T0, order(77)))
    views.apply(fill(2, order_id="77"))
    rows, _ = views.account.fills("anna", Scope(), "77", None, 10)
    assert [row.fill_id for row in rows] == ["f2", "f1"]


@given(
    st.lists(
        st.tuples(st.sampled_from(BookSide), st.integers(1, 99), st.integers(0, 10**6)),
        max_size=30,
    )
)
@settings(max_examples=50, deadline=None)
def test_any_depth_restores(levels):
    views = Views()
    for event in [*opening(), *(level(*each) for each in levels)]:
        views.apply(event)
    restored = Views.restored(over_the_wire(views.snapshot()))
    assert restored.market.ladders(LOW) == views.market.ladders(LOW)


@given(
    st.builds(
        order,
        st.integers(0, 2**64 - 1),
        outcome=st.sampled_from(Outcome),
        price=st.integers(1, 99),
        qty=st.integers(0, 10**6),
        remaining_qty=st.integers(0, 10**6),
        filled_qty=st.integers(0, 10**6),
        reserved_cents=st.integers(0, 2 * 10**8),
        status=st.sampled_from(sorted(EVERYTHING)),
        updated_ns=st.integers(0, 2**62),
    )
)
@settings(max_examples=100, deadline=None)
def test_any_order_reads_back_as_it_was_told(state):
    views = Views()
    for event in opening():
        views.apply(event)
    views.apply(m.OrderChanged(T0, msgspec.structs.replace(state, created_ns=T0)))
    shown = Views.restored(over_the_wire(views.snapshot())).account.order("anna", state.order_id)
    assert shown == views.account.order("anna", state.order_id)
    kept = (shown.outcome, shown.side, shown.price, shown.qty, shown.remaining_qty)
    assert kept == (state.outcome, state.side, state.price, state.qty, state.remaining_qty)
    assert (shown.filled_qty, shown.status) == (state.filled_qty, state.status)
    assert shown.reserved_cents == state.reserved_cents
