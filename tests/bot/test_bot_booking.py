"""Claims about pages of fills: booked as they come, and read no further back than need be."""

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.core.account.fillids import FILL_IDS_KEPT, FILL_IDS_KEPT_NS
from bot.core.orders.order import OwnOrder, State
from tests.bot import made
from tests.bot.made import EVENT, LAG_NS, MARKET, T0
from tests.bot.test_bot_ledgers import Books
from venue.wire import model
from venue.wire.instant import NS_PER_SECOND, from_ns
from venue.wire.money import Outcome, Side

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


def test_a_fill_that_no_whole_walk_before_it_had_shown_tells_that_somebody_trades():
    books = Books()
    own = made.own()
    first, second = made.fill(own, 1, 2), made.fill(own, 2, 3)
    books.fills(T0, first)
    books.fills(T0 + LAG_NS, first)
    assert books.of.booking.traded_ns == 0
    books.fills(T0 + 2 * LAG_NS, first, second)
    books.fills(T0 + 3 * LAG_NS, first, second, made.fill(own, 3, 1))
    assert books.of.booking.traded_ns == T0 + 2 * LAG_NS


# --- fills of before the opening that the list shows late -----------------------------------------

AHEAD_NS = 7_200 * NS_PER_SECOND
"""Of the venue's clock before ours."""

SOON_NS = T0 + 2 * NS_PER_SECOND


def opened(held: dict[Outcome, int], ahead_ns: int | None = AHEAD_NS) -> Books:
    """Books opened at T0 with shares that no fill explains."""
    books = Books()
    books.fills(T0 - LAG_NS)
    books.balance(10_000, T0)
    books.positions(held, T0)
    books.of.open_books(ahead_ns)
    return books


def dated(number: int, qty: int, ago_ns: int = 5 * NS_PER_SECOND, **wanted) -> model.Fill:
    """A fill so long before the opening, by the venue's clock."""
    shown = made.fill(made.own(number=number, **wanted), number, qty, fee_cents=3)
    return msgspec.structs.replace(shown, created_at=from_ns(T0 + AHEAD_NS - ago_ns))


def agree(books: Books, held: dict[Outcome, int], *rows: model.Fill) -> None:
    """Nothing differs from what the venue shows when all has been quiet for long."""
    at_ns = T0 + 30 * NS_PER_SECOND
    books.of.series_read(at_ns + 4 * NS_PER_SECOND)
    books.balance(10_000, at_ns)
    books.positions(held, at_ns)
    books.fills(at_ns + 5 * NS_PER_SECOND, *rows)
    assert books.of.compared_since(at_ns - 2 * LAG_NS)
    assert books.of.difference_cents == 0
    assert books.out.findings == {}


@pytest.mark.parametrize(
    ("ago_ns", "ahead_ns", "since_ns"),
    [
        (LAG_NS, AHEAD_NS, T0 - LAG_NS),
        (LAG_NS, None, 0),  # the venue's clock is not known
        (-LAG_NS, AHEAD_NS, 0),  # it went ahead: nothing has traded yet then
    ],
)
def test_the_newest_fill_of_a_first_walk_tells_since_when_the_account_is_to_be_read(
    ago_ns, ahead_ns, since_ns
):
    """A balance that was read before it may lack what the walk has shown."""
    books = Books()
    books.balance(10_000, T0 - 9 * NS_PER_SECOND)
    books.fills(T0, dated(1, 4), dated(2, 4, ago_ns))
    assert books.of.booking.traded_by(T0, ahead_ns) == since_ns


def test_fills_whose_shares_the_opening_took_over_do_not_count_twice():
    held = {Outcome.YES: 7, Outcome.NO: 2}
    books = opened(held)
    rows = (dated(1, 4), dated(2, 3), dated(3, 2, outcome=Outcome.NO))
    assert books.fills(SOON_NS, *rows) == [MARKET]
    assert books.fills(SOON_NS + LAG_NS, *rows) == []
    assert books.of.holdings(MARKET) == (7, 2)
    assert books.of.booking.fresh_fills == []
    agree(books, held, *rows)


def test_of_such_fills_no_more_shares_than_were_taken_over_are_passed_over():
    books = opened({Outcome.YES: 7})
    books.fills(SOON_NS, dated(1, 4), dated(2, 4), dated(3, 2, side=Side.SELL))
    assert books.of.holdings(MARKET) == (9, 0)


def test_the_cash_of_a_round_trip_of_before_that_is_shown_late_is_in_the_opening():
    books = opened({})
    rows = (dated(1, 4), dated(2, 4, 4 * NS_PER_SECOND, side=Side.SELL, price=43))
    books.fills(SOON_NS, *rows)
    assert books.of.holdings(MARKET) == (0, 0)
    agree(books, {}, *rows)


def test_an_order_that_was_over_at_the_opening_is_settled_by_the_fill_that_is_shown_late():
    books = Books()
    own = made.own()
    books.desk.add(own)
    books.desk.merge_read(
        own, made.over(own, model.OrderStatus.FILLED, 10), T0 - LAG_NS, T0 - LAG_NS, by_id=True
    )
    books.balance(10_000, T0)
    books.positions({Outcome.YES: 10}, T0)
    books.of.open_books(AHEAD_NS)
    books.fills(SOON_NS, dated(1, 10))
    assert books.of.holdings(MARKET) == (10, 0)
    assert books.desk.forget_settled(books.of.booked_qty, T0) == [own.order_id]


def test_what_was_traded_since_the_opening_is_booked_whoever_placed_the_order():
    books = opened({Outcome.YES: 7})
    books.fills(SOON_NS, dated(1, 5, -NS_PER_SECOND))
    assert books.of.holdings(MARKET) == (12, 0)


def test_a_fill_of_an_order_that_is_live_is_booked_whatever_its_date():
    books = opened({Outcome.YES: 7})
    books.desk.add(made.own())
    books.fills(SOON_NS, dated(1, 5))
    assert books.of.holdings(MARKET) == (12, 0)


def test_a_fill_that_may_be_of_a_create_without_an_answer_is_booked_whatever_its_date():
    books = opened({Outcome.YES: 7})
    books.desk.add(made.own(State.LOST, number=8))
    books.fills(SOON_NS, dated(1, 5))
    assert books.of.holdings(MARKET) == (12, 0)


@pytest.mark.parametrize(
    "elsewhere",
    [{"outcome": Outcome.NO}, {"side": Side.SELL}, {"price": 39}],
    ids=["the other outcome", "a sale", "a better limit"],
)
def test_a_create_without_an_answer_tells_nothing_of_what_another_order_has_traded(elsewhere):
    books = opened({Outcome.YES: 7})
    books.desk.add(made.own(State.LOST, number=8, **elsewhere))
    books.fills(SOON_NS, dated(1, 5))
    assert books.of.holdings(MARKET) == (7, 0)


def test_a_create_without_an_answer_has_not_traded_before_what_the_first_walk_showed():
    books = Books()
    books.fills(T0, dated(2, 3))
    books.balance(10_000, T0)
    books.positions({Outcome.YES: 7}, T0)
    books.of.open_books(AHEAD_NS)
    books.desk.add(made.own(State.LOST, number=8))
    books.fills(SOON_NS, dated(2, 3), dated(1, 4, 6 * NS_PER_SECOND))
    assert books.of.holdings(MARKET) == (7, 0)


def test_once_the_venue_s_clock_is_known_a_fill_of_before_does_not_count_twice():
    books = opened({Outcome.YES: 7}, None)
    rows = (dated(1, 7),)
    books.of.booking.clock_told(AHEAD_NS)
    books.fills(SOON_NS, *rows)
    assert books.of.holdings(MARKET) == (7, 0)
    agree(books, {Outcome.YES: 7}, *rows)


def test_the_venue_s_clock_as_it_was_known_first_tells_what_was_before():
    books = opened({Outcome.YES: 7})
    books.of.booking.clock_told(AHEAD_NS + 3_600 * NS_PER_SECOND)
    books.fills(SOON_NS, dated(1, 5, -NS_PER_SECOND))
    assert books.of.holdings(MARKET) == (12, 0)


def test_where_the_venue_s_clock_is_not_known_every_fill_is_booked():
    books = opened({Outcome.YES: 7}, None)
    books.fills(SOON_NS, dated(1, 5))
    assert books.of.holdings(MARKET) == (12, 0)


def test_long_after_the_opening_every_fill_is_booked():
    books = opened({Outcome.YES: 7})
    books.fills(T0 + 90 * NS_PER_SECOND, dated(1, 5))
    assert books.of.holdings(MARKET) == (12, 0)


def test_a_late_fill_that_cannot_be_read_is_told():
    books = opened({Outcome.YES: 7})
    books.fills(SOON_NS, msgspec.structs.replace(dated(1, 5), outcome_price=101))
    assert "fill_unreadable" in books.out.findings
    books.fills(SOON_NS + LAG_NS, dated(1, 5))
    assert books.of.holdings(MARKET) == (7, 0)
    assert books.out.findings == {}


@pytest.mark.parametrize("is_over", [False, True], ids=["kept", "over"])
def test_what_an_order_of_an_earlier_run_had_filled_under_another_id_counts_once(is_over):
    """Its id shows what it had filled before an amend gave it that; the fills have an earlier one
    (S13), which nobody knows any more."""
    books = Books()
    shown = made.shown(made.own(number=8), filled=3, remaining=7)
    own = OwnOrder.found_resting(shown, T0)
    if is_over:
        books.desk.add(own)
        status = model.OrderStatus.CANCELED
        ended = msgspec.structs.replace(shown, status=status, remaining_qty=0)
        books.desk.merge_read(own, ended, T0, T0, by_id=True)
    books.fills(T0 - LAG_NS, dated(1, 3))
    books.balance(10_000, T0)
    books.positions({Outcome.YES: 3}, T0)
    books.of.open_books(AHEAD_NS)
    books.desk.opens([] if is_over else [own], books.of.booked_qty)
    if not is_over:
        books.desk.add(own)
    assert books.of.holdings(MARKET) == (3, 0)
    assert own.may_fill == (0 if is_over else 7)
    books.desk.forget_settled(books.of.booked_qty, T0 + 3_600 * NS_PER_SECOND)
    assert books.out.findings == {}
    if not is_over:
        books.desk.merge_read(
            own, made.shown(made.own(number=8), filled=5, remaining=5), T0 + LAG_NS, T0 + LAG_NS
        )
        assert books.of.holdings(MARKET) == (5, 0)


def test_while_an_order_is_over_once_its_fills_are_read_a_walk_goes_on_behind_those_it_knows():
    """Pages of one walk may lag unequally: what falls between them no later walk would show."""
    books = opened({})
    walk(books, HISTORY[:1], T0 + LAG_NS)
    whole_ns = books.of.booking.whole_ns
    assert walk(books, HISTORY[:3], SOON_NS, 1) == 1
    assert books.of.booking.whole_ns == whole_ns
    own = made.own(State.LOST)
    own.note_evidence(unlisted_ns=T0)
    books.desk.add(own)
    assert walk(books, HISTORY[:3], SOON_NS, 1) == 3
    assert books.of.booking.whole_ns == SOON_NS
    assert books.of.holdings(MARKET) == (3, 0)


def test_where_no_older_page_can_be_read_the_newest_fills_are_booked_while_an_order_is_awaited():
    books = opened({})
    walk(books, HISTORY[:1], T0 + LAG_NS)
    own = made.own(State.LOST)
    own.note_evidence(unlisted_ns=T0)
    books.desk.add(own)
    for at_s in (0, 10, 19):
        assert not books.of.booking.page(HISTORY[:1], SOON_NS + at_s * NS_PER_SECOND)[1]
    for at_s in (20, 30):
        at_ns = SOON_NS + at_s * NS_PER_SECOND
        assert walk(books, HISTORY[:2], at_ns, 1) == 1
        assert books.of.booking.whole_ns == at_ns
