"""Claims about pages of fills: booked as they come, and read no further back than need be."""

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.core.portfolio import FILL_IDS_KEPT, FILL_IDS_KEPT_NS
from tests.bot import made
from tests.bot.made import EVENT, MARKET, T0
from tests.bot.test_bot_ledgers import Books
from venue.wire import model
from venue.wire.instant import NS_PER_SECOND, from_ns
from venue.wire.money import Side

UNREADABLE = msgspec.structs.replace(made.fill(made.own(), 1, 5), fee_cents=None, qty=0)
MANY = 4 * FILL_IDS_KEPT + 500
BACK = FILL_IDS_KEPT_NS // NS_PER_SECOND // 500 + 1  # pages of one fill a second above the floor
OLD_NS = T0 - FILL_IDS_KEPT_NS - MANY * NS_PER_SECOND


def fill(number: int, at_ns: int) -> model.Fill:
    """A fill of one share at an instant, its fee a cent."""
    shown = made.fill(made.own(), 0, 1, fee_cents=1)
    return msgspec.structs.replace(shown, fill_id=f"n{number}", created_at=from_ns(at_ns))


HISTORY = tuple(fill(number, OLD_NS + number * NS_PER_SECOND) for number in range(MANY, 0, -1))
"""Newest first."""


def pages(rows: tuple[model.Fill, ...], size: int) -> list[tuple[model.Fill, ...]]:
    """The rows, page by page."""
    return [rows[at : at + size] for at in range(0, len(rows), size)]


def walk(books: Books, rows: tuple[model.Fill, ...], at_ns: int, size: int = 500) -> int:
    """Read the list until it may end, as of an instant. How many pages that took."""
    kept: list[model.Fill] = []
    read = 0
    for page in pages(rows, size):
        shown, may_end = books.of.booking.page(page, at_ns)
        kept.extend(shown)
        read += 1
        if may_end:
            break
    books.of.fills_read(kept, at_ns, at_ns, [])
    return read


def test_before_the_books_are_open_a_page_is_booked_as_it_comes_and_none_of_it_is_kept():
    books = Books()
    kept, may_end = books.of.booking.page(HISTORY[:7], T0)
    assert (tuple(kept), may_end) == ((), False)
    assert books.of.holdings(MARKET) == (7, 0)


def test_once_the_books_are_open_a_page_keeps_what_is_not_booked_to_the_end_of_the_walk():
    books = Books()
    walk(books, HISTORY[2:9], T0)
    books.opened()
    kept, _ = books.of.booking.page(HISTORY[:9], T0)
    assert tuple(kept) == HISTORY[:2]
    assert books.of.holdings(MARKET) == (7, 0)
    books.of.fills_read(kept, T0, T0, [])
    assert books.of.holdings(MARKET) == (9, 0)


def test_fills_booked_before_a_page_that_failed_are_not_booked_again_by_the_next_walk():
    books = Books()
    books.of.booking.page(HISTORY[:500], T0)
    walk(books, HISTORY, T0)
    assert books.of.book.fill_count == MANY


def test_rungs_of_a_walk_that_failed_are_told_by_the_next():
    books = Books()
    books.of.booking.page(HISTORY[:3], T0)
    assert books.of.fills_read((), T0, T0, []) == [MARKET]
    assert books.of.fills_read((), T0, T0, []) == []


def test_a_whole_history_is_read_once_before_the_books_are_open_and_then_back_to_the_floor():
    books = Books()
    whole = len(pages(HISTORY, 500))
    assert walk(books, HISTORY, T0) == whole
    assert walk(books, HISTORY, T0) == BACK


def test_a_doubted_history_is_read_back_to_the_floor_and_not_to_the_first_fill_that_is_known():
    books = Books()
    walk(books, HISTORY, T0)
    books.opened()
    assert walk(books, HISTORY, T0) == 1
    books.out.find("fills_missing", "of an order")
    assert walk(books, HISTORY, T0) == BACK


def test_a_fill_that_was_passed_over_above_the_floor_is_booked_when_the_history_is_doubted():
    books = Books()
    walk(books, HISTORY[:600] + HISTORY[601:], T0)
    books.opened()
    walk(books, HISTORY, T0)
    assert books.of.book.fill_count == MANY - 1
    books.out.find("position_differs", "by one")
    walk(books, HISTORY, T0)
    assert books.of.book.fill_count == MANY


def test_a_list_that_does_not_come_newest_first_is_read_to_its_end_when_it_is_doubted():
    books = Books()
    walk(books, HISTORY, T0)
    books.opened()
    books.out.find("position_differs", "by one")
    new = fill(MANY + 1, T0)
    assert walk(books, (*reversed(HISTORY), new), T0) == len(pages(HISTORY, 500)) + 1
    assert books.of.book.fill_count == MANY + 1


def test_a_fill_that_cannot_be_read_has_the_whole_history_read():
    books = Books()
    walk(books, HISTORY, T0)
    books.opened()
    walk(books, (UNREADABLE, *HISTORY), T0)
    assert walk(books, (UNREADABLE, *HISTORY), T0, 501) == len(pages(HISTORY, 501))


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.integers(1, 40), min_size=1, max_size=30),
    st.integers(1, 9),
    st.lists(st.integers(0, 8), max_size=4),
)
def test_the_sums_are_the_same_whatever_the_pages_and_however_often_a_walk_broke_off(
    prices, size, broken_after
):
    own = made.own()
    rows = tuple(
        msgspec.structs.replace(
            made.fill(own, number, number % 5 + 1),
            outcome_price=price,
            side=model.ShownSide(Side.SELL if number % 3 == 0 else Side.BUY),
            fee_cents=None,
            order_id=f"order {number % 4}",
        )
        for number, price in enumerate(prices)
    )
    at_once, by_pages = Books(), Books()
    walk(at_once, rows, T0, len(rows))
    for pages_read in broken_after:
        for page in pages(rows, size)[:pages_read]:
            by_pages.of.booking.page(page, T0)
    walk(by_pages, rows, T0, size)
    assert by_pages.of.book.cash_flow_cents == at_once.of.book.cash_flow_cents
    assert by_pages.of.book.fees_cents == at_once.of.book.fees_cents
    assert by_pages.of.book.holdings(MARKET) == at_once.of.book.holdings(MARKET)
    assert by_pages.of.event_cash_cents(EVENT, [MARKET]) == at_once.of.event_cash_cents(
        EVENT, [MARKET]
    )
