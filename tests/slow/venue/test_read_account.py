"""Claims about private state: orders, fills, positions, balance; and about the projector."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.builders.venue.rest_bench import (
    BINARY,
    HIGH,
    LOW,
    T0,
    fill,
    opened_views,
    opening,
    order,
    position,
)
from venue.engine import messages as m
from venue.views.account import Scope
from venue.views.projector import Projector, Views
from venue.wire.model import RESTING, STATUS_GROUPS, OrderStatus
from venue.wire.money import FeeRate, Outcome

ALL = STATUS_GROUPS["all"]
EVERYTHING = Scope()


def changed(views, *orders):
    for each in orders:
        views.apply(m.OrderChanged(T0, each))


def ids(views, scope=EVERYTHING, statuses=ALL, user="anna", limit=100):
    found, before = [], None
    while True:
        rows, before = views.account.orders(user, scope, statuses, before, limit)
        found += [row.order_id for row in rows]
        if before is None:
            return found


# --- orders --------------------------------------------------------------------------------------


def test_orders_are_listed_newest_first_after_later_changes(views):
    changed(views, order(3), order(1), order(2))
    changed(views, order(3, filled_qty=1, remaining_qty=9, status=OrderStatus.PARTIALLY_FILLED))
    assert ids(views) == ["2", "1", "3"]


def test_an_order_id_with_a_leading_zero_is_another_id(views):
    changed(views, order(7))
    views.apply(fill(1, order_id="7"))
    assert views.account.order("anna", "007") is None
    assert views.account.fills("anna", Scope(), "007", None, 10) == ((), None)


@pytest.mark.parametrize("limit", [1, 2, 3, 6, 7])
@pytest.mark.parametrize("statuses", [ALL, RESTING])
def test_a_walk_lists_every_order_once_while_orders_come_and_fill(views, limit, statuses):
    changed(views, *(order(number) for number in range(6)))
    seen, before, extra = [], None, 100
    while True:
        rows, before = views.account.orders("anna", Scope(), statuses, before, limit)
        seen += [row.order_id for row in rows]
        if before is None:
            break
        changed(views, order(extra), order(extra, status=OrderStatus.FILLED))
        extra += 1
    assert seen == ["5", "4", "3", "2", "1", "0"]


def test_a_list_of_resting_orders_does_not_change_while_it_is_read(views):
    changed(views, *(order(number) for number in range(5)))
    resting = views.account.resting_orders("anna", LOW)
    changed(views, order(2, status=OrderStatus.FILLED), order(5))
    shown = resting.rows(0, 2) + resting.rows(2, 9)
    assert [row.order_id for row in shown] == ["4", "3", "2", "1", "0"]
    assert {row.status for row in shown} == {"open"}
    assert len(resting) == 5


def test_every_order_and_fill_is_kept(views):
    total = 25_000
    for number in range(total):
        changed(views, order(number, status=OrderStatus.FILLED))
        views.apply(fill(number))
    assert ids(views, limit=1000) == [str(number) for number in range(total - 1, -1, -1)]
    assert views.account.order("anna", "0").status == "filled"
    found, before = [], None
    while found == [] or before is not None:
        rows, before = views.account.fills("anna", Scope(), None, before, 1000)
        found += [row.fill_id for row in rows]
    assert found == [f"f{number}" for number in range(total - 1, -1, -1)]


MARKETS = (LOW, HIGH, BINARY)
changes = st.lists(
    st.tuples(st.integers(0, 12), st.sampled_from(sorted(ALL)), st.sampled_from(MARKETS)),
    max_size=40,
)
scopes = st.sampled_from(
    [EVERYTHING, *(Scope(each) for each in MARKETS), Scope(event_ticker="ACME-VAL-26Q4")]
)


@given(changes, st.frozensets(st.sampled_from(sorted(ALL))), scopes, st.integers(1, 5))
@settings(max_examples=150, deadline=None)
def test_every_filter_lists_the_matching_orders_newest_first(made, statuses, scope, limit):
    views, known = opened_views(), {}
    for number, status, market in made:
        market = known[number].market_id if number in known else market
        known[number] = order(number, market=market, status=status)
        changed(views, known[number])
    passing = [
        each.order_id
        for each in reversed(known.values())
        if each.status in statuses
        and scope.market_id in (None, each.market_id)
        and scope.event_ticker in (None, each.event_ticker)
    ]
    assert ids(views, scope, statuses, limit=limit) == passing


# --- fills and positions -------------------------------------------------------------------------


@pytest.mark.parametrize("limit", [1, 2, 4, 5, 100])
def test_a_walk_lists_every_fill_once_while_more_come(views, limit):
    for number in range(5):
        views.apply(fill(number))
    seen, before, extra = [], None, 100
    while True:
        rows, before = views.account.fills("anna", Scope(), None, before, limit)
        seen += [row.fill_id for row in rows]
        if before is None:
            break
        views.apply(fill(extra))
        extra += 1
    assert seen == ["f4", "f3", "f2", "f1", "f0"]


@pytest.mark.parametrize("limit", [1, 2, 3, 4])
def test_the_fills_of_an_order_are_listed_newest_first(views, limit):
    for number in range(9):
        views.apply(fill(number, order_id=str(number % 2)))
        changed(views, order(number % 2))
    found, before = [], None
    for _ in range(9):
        rows, before = views.account.fills("anna", Scope(LOW), "1", before, limit)
        found += [row.fill_id for row in rows]
        if before is None:
            break
    assert found == ["f7", "f5", "f3", "f1"]
    assert views.account.fills("anna", Scope(HIGH), "1", None, 10) == ((), None)


@pytest.mark.parametrize(
    ("before", "wanted"),
    [(9, ["f4", "f2", "f0"]), (5, ["f4", "f2", "f0"]), (3, ["f2", "f0"]), (1, ["f0"]), (0, [])],
)
def test_a_walk_of_an_order_s_fills_continues_from_any_cursor(views, before, wanted):
    for number in range(5):
        views.apply(fill(number, order_id=str(number % 2)))
        changed(views, order(number % 2))
    rows, after = views.account.fills("anna", EVERYTHING, "0", before, 10)
    assert ([row.fill_id for row in rows], after) == (wanted, None)


def shown_positions(views, scope=EVERYTHING, limit=100):
    found, after = [], ""
    while after is not None:
        rows, after = views.account.positions("anna", scope, after, limit)
        found += rows
    return found


def test_positions_of_both_outcomes_are_listed_and_empty_ones_are_not(views):
    views.apply(position(3, 100))
    views.apply(position(2, 90, Outcome.NO))
    assert [(p.outcome, p.qty) for p in shown_positions(views)] == [("no", 2), ("yes", 3)]
    views.apply(position(0, 0))
    assert [(p.outcome, p.qty) for p in views.account.market_positions("anna", LOW)] == [("no", 2)]


@pytest.mark.parametrize(
    ("qty", "cost", "average"),
    [(2, 3, 2), (3, 4, 1), (3, 5, 2), (4, 10, 3), (1, 99, 99), (7, 0, 0)],
)
def test_the_average_entry_price_is_rounded_half_up(views, qty, cost, average):
    views.apply(position(qty, cost))
    (shown,) = shown_positions(views)
    assert (shown.avg_entry_price, shown.cost_basis, shown.realized_pnl) == (average, cost, -7)


def test_paging_does_not_slow_down_with_the_number_of_positions(views):
    for number in range(20_000):
        listed = m.ListMarket(
            market_id=f"{number:08}-0000-4000-8000-000000000000",
            ticker=f"ACME-VAL-26Q4-{number}C",
            event_ticker="ACME-VAL-26Q4",
            name="name",
            outcome_label="label",
            maker_fee_rate=FeeRate.parse("0"),
            taker_fee_rate=FeeRate.parse("0"),
            strike_value=str(number + 1),
        )
        views.apply(m.MarketListed(T0, listed))
        views.apply(m.PositionChanged(T0, "anna", listed.market_id, Outcome.YES, 1, 1, 0))
    begun = time.process_time()
    assert len(shown_positions(views)) == 20_000
    assert time.process_time() - begun < 1.5


def test_positions_are_listed_in_order_after_changes(views):
    for market, outcome, qty in (
        (LOW, Outcome.YES, 3),
        (HIGH, Outcome.YES, 2),
        (LOW, Outcome.NO, 1),
        (HIGH, Outcome.YES, 0),
        (HIGH, Outcome.YES, 0),
        (LOW, Outcome.YES, 5),
        (HIGH, Outcome.NO, 4),
    ):
        views.apply(position(qty, 10, outcome, market=market))
    for each in (views, Views.restored(views.snapshot())):
        rows = [(p.market_id, p.outcome, p.qty) for p in shown_positions(each, limit=1)]
        tickers = [p.ticker for p in shown_positions(each)]
        assert tickers == sorted(tickers)
        assert sorted(rows) == sorted([(LOW, "no", 1), (LOW, "yes", 5), (HIGH, "no", 4)])


# --- the projector -------------------------------------------------------------------------------


def test_events_become_visible_in_order_after_the_lag():
    projector = Projector(Views(), lag_ns=5)
    events = opening()
    assert projector.next_due_ns() is None
    projector.publish(events[:3], 100)
    projector.publish(events[3:], 101)
    assert (projector.advance(104), projector.next_due_ns()) == ([], 105)
    assert projector.views.catalog.event("ACME-VAL-26Q4") is None
    assert (projector.advance(105), projector.next_due_ns()) == (events[:3], 106)
    assert projector.views.catalog.event("ACME-VAL-26Q4").markets == ()
    assert (projector.advance(500), projector.next_due_ns()) == (events[3:], None)
