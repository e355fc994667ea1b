"""Claims about fills around the opening: later reads tell how many of them it held."""

import msgspec
import pytest

from tests.bot.made import LAG_NS, MARKET, T0
from tests.bot.test_bot_booking import AHEAD_NS, SOON_NS, dated, opened
from tests.bot.test_bot_ledgers import Books
from venue.wire import model
from venue.wire.instant import NS_PER_SECOND
from venue.wire.money import Outcome
from venue.wire.names import MarketId

QUIET_NS = T0 + 30 * NS_PER_SECOND


def compared(
    books: Books, total_cents: int, held: dict[Outcome, int], at_ns: int, *rows: model.Fill
) -> None:
    """A balance and positions that are read among no fills, and a walk of the fills after them."""
    books.of.series_read(at_ns + 4 * NS_PER_SECOND)
    books.balance(total_cents, at_ns)
    books.positions(held, at_ns)
    books.fills(at_ns + 5 * NS_PER_SECOND, *rows)


TRADED = (dated(3, 1, -NS_PER_SECOND), dated(2, 1, NS_PER_SECOND), dated(1, 1, 3 * NS_PER_SECOND))
"""Purchases of others around the opening, newest first, 43 cents each with their fees: the first is
not of before by its time."""


@pytest.mark.parametrize("ahead_ns", [AHEAD_NS, None], ids=["known clock", "unknown clock"])
@pytest.mark.parametrize("held", [0, 1, 2, 3])
def test_the_next_balance_tells_how_many_fills_around_the_opening_it_held(held, ahead_ns):
    books = opened({}, ahead_ns)
    books.fills(SOON_NS, *TRADED)
    total_cents = 10_000 + sum(
        books.of.book.cash_of_order(each.order_id) for each in TRADED[:-held]
    )
    if not held:
        total_cents = 10_000 + books.of.book.cash_flow_cents
    compared(books, total_cents, {Outcome.YES: 3}, QUIET_NS, *TRADED)
    assert books.of.difference_cents == 0
    assert books.out.findings == {}


def paid(total_cents: int, *rows: model.Fill) -> Books:
    """Books whose first balance after the opening shows what their rung has paid, too."""
    books = opened({})
    books.fills(SOON_NS, *rows)
    books.positions({Outcome.YES: 3}, SOON_NS)
    books.of.settling.resolved(MARKET, SOON_NS)
    books.positions({}, SOON_NS + 2 * LAG_NS)
    compared(books, total_cents, {}, QUIET_NS, *rows)
    return books


@pytest.mark.parametrize("won", [True, False])
def test_a_rung_settles_by_a_balance_that_shows_besides_that_the_opening_held_more(won):
    """By its time the newest is not of before; the opening held all three."""
    books = paid(10_000 + 300 * won, *TRADED)
    assert books.of.book.winner(MARKET) is (Outcome.YES if won else Outcome.NO)
    assert books.of.difference_cents == 0
    assert books.out.findings == {}


def test_a_rung_does_not_settle_where_what_the_opening_held_would_say_who_won():
    """It held the older one, and YES has paid 400, or both, and NO has paid 100."""
    older, newer = dated(1, 1, 0, outcome=Outcome.NO), dated(2, 4, -NS_PER_SECOND)
    newer = msgspec.structs.replace(newer, outcome_price=74, trade_price=74, fee_cents=4)
    books = paid(10_000 - 43 - 300 + 443, newer, older)
    assert books.of.book.winner(MARKET) is None
    assert books.of.holdings(MARKET) == (4, 1)


def test_cash_that_no_fill_around_the_opening_explains_is_told():
    books = opened({})
    books.fills(SOON_NS, *TRADED)
    compared(books, 9_999, {Outcome.YES: 3}, QUIET_NS, *TRADED)
    assert "cash_differs" in books.out.findings


def test_a_fill_of_a_later_time_explains_nothing_once_a_balance_has_agreed():
    books = opened({})
    books.fills(SOON_NS, *TRADED)
    total_cents = 10_000 + books.of.book.cash_of_order(TRADED[0].order_id)
    compared(books, total_cents, {Outcome.YES: 3}, QUIET_NS, *TRADED)
    assert books.out.findings == {}
    compared(books, 10_000, {Outcome.YES: 3}, QUIET_NS + 30 * NS_PER_SECOND, *TRADED)
    assert "cash_differs" in books.out.findings


def test_what_others_traded_long_after_the_opening_was_no_part_of_it():
    """As another series of the account does; then the venue is set back."""
    books = opened({})
    later = dated(1, 1, -12 * NS_PER_SECOND)
    books.fills(T0 + 12 * NS_PER_SECOND, later)
    compared(books, 10_000, {Outcome.YES: 1}, QUIET_NS, later)
    assert "cash_differs" in books.out.findings


@pytest.mark.parametrize("held", [1, 2, 3])
def test_the_next_positions_tell_how_many_fills_the_shares_taken_over_were_of(held):
    """The venue's clock is not known: by their times none is of before."""
    books = opened({Outcome.YES: held}, None)
    books.fills(SOON_NS, *TRADED)
    assert books.of.holdings(MARKET) == (3 + held, 0)
    total_cents = 10_000 + books.of.book.cash_flow_cents
    compared(books, total_cents, {Outcome.YES: 3}, QUIET_NS, *TRADED)
    assert books.of.holdings(MARKET) == (3, 0)
    assert books.out.findings == {}


def test_a_fill_that_was_passed_over_is_booked_where_positions_show_that_it_was_another():
    books = opened({Outcome.YES: 1})
    books.fills(SOON_NS, TRADED[1])
    assert books.of.holdings(MARKET) == (1, 0)
    compared(books, 10_000 - 43, {Outcome.YES: 2}, QUIET_NS, TRADED[1])
    assert books.of.holdings(MARKET) == (2, 0)
    assert books.of.difference_cents == 0
    assert books.out.findings == {}


def test_shares_that_no_fill_around_the_opening_explains_are_told():
    books = opened({Outcome.YES: 2}, None)
    books.fills(SOON_NS, TRADED[1])
    compared(books, 10_000 - 43, {Outcome.YES: 5}, QUIET_NS, TRADED[1])
    assert "position_differs" in books.out.findings


def test_what_traded_while_the_account_was_read_may_be_missing_in_the_opening():
    books = Books()
    books.fills(T0 - 3 * LAG_NS)
    books.balance(10_000, T0 - 2 * LAG_NS)
    books.positions({Outcome.YES: 7}, T0 - 2 * LAG_NS)
    books.fills(T0, TRADED[2])
    books.of.open_books(AHEAD_NS)
    assert books.of.holdings(MARKET) == (7, 0)
    total_cents = 10_000 + books.of.book.cash_flow_cents
    compared(books, total_cents, {Outcome.YES: 8}, QUIET_NS, TRADED[2])
    assert books.of.holdings(MARKET) == (8, 0)
    assert books.of.difference_cents == 0
    assert books.out.findings == {}


def test_what_the_newest_fills_of_a_first_walk_cost_may_be_missing_in_the_opening():
    """The venue's clock is not known, so that nothing tells that they have just happened."""
    books = Books()
    books.balance(10_000, T0)
    books.positions({}, T0)
    books.fills(T0, *TRADED)
    books.of.open_books(None)
    cents = [books.of.book.cash_of_order(each.order_id) for each in TRADED]
    compared(books, 10_000 + cents[0] + cents[1], {Outcome.YES: 3}, QUIET_NS, *TRADED)
    assert books.of.difference_cents == 0
    assert books.out.findings == {}


def test_shares_that_positions_lack_of_what_traded_while_they_were_read_have_not_been_paid():
    books = Books()
    books.fills(T0 - 3 * LAG_NS)
    books.balance(10_000, T0 - 2 * LAG_NS)
    books.positions({}, T0 - 2 * LAG_NS)
    elsewhere = msgspec.structs.replace(TRADED[2], market_id=MarketId("another"))
    books.fills(T0, elsewhere)
    books.of.open_books(AHEAD_NS)
    assert books.of.holdings(MarketId("another")) == (1, 0)
