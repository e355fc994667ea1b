"""Claims about what the simulation found in the books and the limits: each broke once."""

import msgspec
import pytest

from bot.lab.sim.odds import SECOND
from tests.bot.made import EVENT, LAG_NS, MARKET, T0
from tests.bot.test_bot_ledgers import FILL, Books
from tests.bot.test_bot_trader import quoting
from venue.wire import model
from venue.wire.money import BookSide

PAID_CENTS = 500


def test_a_rung_settles_where_either_winner_pays_the_same():
    books = Books().opened()
    other = msgspec.structs.replace(FILL, fill_id="the other", outcome=model.ShownOutcome.NO)
    books.fills(T0 + LAG_NS, FILL, other)
    books.of.settling.resolved(MARKET, 0)
    books.positions({}, T0 + 3 * LAG_NS)
    books.fills(T0 + 5 * LAG_NS)
    flow_cents = books.of.book.cash_flow_cents
    books.balance(10_000 + flow_cents + PAID_CENTS, T0 + 7 * LAG_NS)
    books.fills(T0 + 9 * LAG_NS)
    assert books.of.difference_cents == 0
    assert books.of.holdings(MARKET) == (0, 0)


def test_a_rung_that_settles_is_told_like_one_with_a_new_fill():
    books = Books().opened()
    books.fills(T0 + LAG_NS, FILL)
    books.of.settling.resolved(MARKET, 0)
    books.positions({}, T0 + 3 * LAG_NS)
    books.fills(T0 + 5 * LAG_NS)
    books.balance(10_000 - 203 + PAID_CENTS, T0 + 7 * LAG_NS)
    assert books.fills(T0 + 9 * LAG_NS) == [MARKET]


def test_a_new_difference_in_cash_has_every_fill_read_once_more():
    books = Books().opened()
    books.fills(T0 + LAG_NS, FILL)
    books.balance(9_000, T0 + 5 * LAG_NS)
    books.fills(T0 + 7 * LAG_NS)
    assert not books.may_end(FILL)
    books.fills(T0 + 8 * LAG_NS)
    assert books.may_end(FILL)
    books.balance(9_000, T0 + 12 * LAG_NS)
    books.fills(T0 + 14 * LAG_NS)
    assert books.may_end(FILL)


def test_what_parks_a_side_for_another_reason_outlives_a_change_of_funds():
    world = quoting()
    trader = world.process.trader
    own = next(own for own in trader.desk.all_live() if own.side is BookSide.BID)
    rung = next(
        r for each in trader.quoting.ladders for r in each.rungs if r.market_id == own.market_id
    )
    now_ns = world.now_ns
    trader.quoting.parking.side(own, "invalid_request", 60 * SECOND, now_ns)
    trader.quoting.parking.for_funds(own, "insufficient_balance", now_ns + SECOND)
    trader.quoting.parking.funds_changed()
    assert rung.side_parked(BookSide.BID, now_ns + 59 * SECOND)
    assert not rung.side_parked(BookSide.BID, now_ns + 61 * SECOND)


@pytest.mark.parametrize("unseen", [False, True])
def test_a_side_refused_often_waits_for_no_change_but_the_end_of_an_order_that_nobody_knew_of(
    unseen,
):
    world = quoting()
    trader = world.process.trader
    own = next(own for own in trader.desk.all_live() if own.side is BookSide.BID)
    rung = next(
        r for each in trader.quoting.ladders for r in each.rungs if r.market_id == own.market_id
    )
    now_ns = world.now_ns
    trader.quoting.parking.side(own, "invalid_request", 30 * SECOND, now_ns)
    for often in (False, True):
        trader.quoting.parking.for_funds(own, "insufficient_shares", now_ns, often=often)
    trader.quoting.parking.funds_changed(unseen=unseen)
    assert rung.side_parked(BookSide.BID, now_ns + 29 * SECOND)
    assert rung.side_parked(BookSide.BID, now_ns + 59 * SECOND) is not unseen


@pytest.mark.parametrize("paid_cents", [0, PAID_CENTS])
def test_cash_that_comes_early_is_told_from_what_differed_long_before_it(paid_cents):
    books = Books().opened()
    books.fills(T0 + LAG_NS, FILL)
    cash_cents = 10_000 - 203 + 70  # of which seventy came from nowhere, an hour ago
    books.balance(cash_cents, T0 + 5 * LAG_NS)
    books.fills(T0 + 7 * LAG_NS)
    resolved_ns = T0 + 3_600 * LAG_NS
    books.balance(cash_cents + paid_cents, resolved_ns)
    books.fills(resolved_ns + 2 * LAG_NS)
    books.of.settling.resolved(MARKET, resolved_ns + 3 * LAG_NS)
    books.positions({}, resolved_ns + 4 * LAG_NS)
    books.fills(resolved_ns + 6 * LAG_NS)
    books.balance(cash_cents + paid_cents, resolved_ns + 8 * LAG_NS)
    books.fills(resolved_ns + 10 * LAG_NS)
    assert books.of.holdings(MARKET) == (0, 0)
    assert books.of.event_cash_cents(EVENT, [MARKET]) == paid_cents - 203
    assert books.of.difference_cents == 70
