"""Account truth: fills booked once, openings, audits, transfers, contradictions."""

import msgspec
import pytest

from bot.core import messages as m
from bot.core.orders.order import State
from tests.builders.bot import made
from tests.builders.bot.books import Books
from tests.builders.bot.made import EVENT, MARKET
from venue.wire import model
from venue.wire.money import BookSide, Cents, Outcome, Price, Qty, Side

YES, NO = Outcome.YES, Outcome.NO
OWN = made.own(State.OPEN)  # bids 40 for YES


def fill(number: int, qty: int = 5, **changed: object) -> model.Fill:
    """A fill of that order; the higher its number, the later it happened."""
    return msgspec.structs.replace(made.fill(OWN, number, qty, fee_cents=3), **changed)


FILL = fill(1)  # five YES at 40 cents, and three of fees


def test_a_fill_listed_twice_is_booked_once():
    books = Books().opened()
    books.trade(FILL)
    books.listed.append(FILL)
    assert books.walk().markets == (MARKET,)
    assert books.walk().fills == ()
    assert books.of.holdings(MARKET) == (5, 0)
    assert books.of.event_cash_cents(EVENT, [MARKET]) == -203


def test_unbooked_fills_of_an_order_count_at_its_limit_and_fee():
    books = Books().opened()
    own = made.own(State.OPEN)
    own.on_fills_shown(made.shown(own, filled=4))
    books.desk.add_order(own)
    assert books.of.holdings(MARKET) == (4, 0)
    # 4 x 40, and 4 x ceil(0.07 x 0.4 x 0.6 dollars) = 4 x 2 cents
    assert books.of.event_cash_cents(EVENT, [MARKET]) == -168


def test_an_unbooked_sale_reduces_the_holdings():
    books = Books().opened()
    books.trade(FILL)
    books.walk()
    sale = made.own(State.OPEN, side=Side.SELL, price=60, number=2)
    sale.on_fills_shown(made.shown(sale, filled=2))
    books.desk.add_order(sale)
    assert books.of.holdings(MARKET) == (3, 0)


def test_a_read_of_fills_ends_at_a_page_whose_last_fill_is_booked():
    books = Books().opened()
    for number in range(1, 10):
        books.trade(fill(number, 1))
    books.walk(size=3)
    books.trade(fill(10, 1))
    _, may_end = books.of.on_fills_page(tuple(books.listed[:3]), books.now_ns)
    assert may_end


@pytest.mark.parametrize(
    "wrong",
    [
        {"trade_price": Price(60)},
        {"qty": Qty(50)},
        {"side": model.ShownSide.SELL},
        {"outcome": model.ShownOutcome.UNKNOWN},
        {"qty": Qty(0)},
        {"fee_cents": Cents(10**9)},
        {"created_at": "soon"},
    ],
)
def test_a_fill_that_contradicts_itself_is_not_booked_and_stops_the_bot_if_it_persists(wrong):
    books = Books().opened()
    books.desk.add_order(made.own(State.OPEN))
    books.trade(fill(1, 1))
    books.walk()
    books.listed.insert(0, fill(2, **wrong))
    books.walk()
    assert books.of.holdings(MARKET) == (1, 0)
    assert books.blocked
    assert "fill_unreadable" in books.out.findings
    for _ in range(30):
        books.walk()
    assert books.stopped == "fill_contradicts_itself"


def test_a_fill_that_a_later_list_corrects_is_booked_and_clears_the_sign():
    books = Books().opened()
    books.trade(fill(1, 1))
    books.walk()
    books.listed.insert(0, fill(2, 4, trade_price=Price(60)))
    books.walk()
    books.listed[0] = fill(2, 4)
    books.walk()
    assert books.of.holdings(MARKET) == (5, 0)
    assert not books.blocked
    assert not books.out.findings


def test_a_trade_price_that_never_matched_is_ignored():
    books = Books().opened()
    books.listed = [fill(2, 1, trade_price=Price(60)), fill(1, 1, trade_price=Price(60))]
    books.walk()
    books.walk()
    assert books.of.holdings(MARKET) == (2, 0)
    assert len(books.noted("trade_price_ignored")) == 1
    assert not books.blocked


def test_a_booked_fill_missing_from_complete_lists_stops_the_bot():
    books = Books().opened()
    books.trade(FILL)
    books.walk()
    books.walk()
    books.listed.clear()
    books.walk()
    assert books.blocked
    books.listed = [FILL]
    books.walk()
    assert not books.blocked
    books.listed.clear()
    for _ in range(30):
        books.walk()
    assert books.stopped == "fill_missing"


def test_a_fill_stamped_earlier_than_the_last_is_booked_and_no_sign():
    books = Books().opened()
    books.trade(fill(30))
    books.walk()
    books.trade(fill(9))  # the venue's clock has stepped back
    for _ in range(30):
        books.walk(size=1)
    assert books.of.holdings(MARKET) == (10, 0)
    assert not books.blocked


def test_without_a_journal_older_fills_belong_to_the_opening_and_are_never_booked():
    books = Books()
    books.trade(fill(1))
    books.opened()
    books.trade(fill(2, 2))
    books.audit()
    assert books.of.holdings(MARKET) == (7, 0)
    assert books.of.event_cash_cents(EVENT, [MARKET]) == -83
    assert books.of.difference_cents == 0


def test_fills_newer_than_the_journal_are_booked_at_the_start():
    of_before = m.FillMark("f2", fill(2).created_at)
    started = m.Started("0" * 20, (), complete_fill=of_before, event_cash=((EVENT, Cents(-500)),))
    books = Books(started)
    for number in (1, 2, 3):
        books.trade(fill(number))
    change = books.opened().audit()
    assert change.fills == ()
    assert books.of.holdings(MARKET) == (15, 0)
    assert books.of.event_cash_cents(EVENT, [MARKET]) == -703
    assert books.of.book.taken_over(MARKET) == (10, 0)
    assert books.of.fills == 0
    assert books.of.difference_cents == 0


def test_a_fill_that_the_last_run_missed_is_booked_at_the_next_start():
    complete, since = (m.FillMark(f"f{n}", fill(n).created_at) for n in (1, 3))
    books = Books(m.Started("0" * 20, (), complete_fill=complete, fills_since=(since,)))
    for number in (1, 2, 3, 4):
        books.trade(fill(number))
    books.opened().audit()
    # f2 and f4 are booked, f1 is history, f3 was booked before
    assert books.of.event_cash_cents(EVENT, [MARKET]) == -406
    assert books.of.book.taken_over(MARKET) == (10, 0)
    assert books.of.difference_cents == 0


def test_an_audit_that_agrees_notes_the_newest_booked_fill():
    books = Books().opened()
    books.trade(fill(1))
    books.walk()
    assert [note["fill_id"] for note in books.noted("fills_complete")] == [""]
    books.audit()
    assert [note["fill_id"] for note in books.noted("fills_complete")] == ["", "f1"]


def test_a_start_reads_fills_only_to_the_newest_in_the_journal():
    started = m.Started("0" * 20, (), complete_fill=m.FillMark("f9", fill(9).created_at))
    books = Books(started)
    books.listed = [fill(number) for number in range(30, 0, -1)]
    _, may_end = books.of.on_fills_page(tuple(books.listed[:10]), books.now_ns)
    assert not may_end
    kept, may_end = books.of.on_fills_page(tuple(books.listed[20:25]), books.now_ns)
    assert may_end
    assert [row.fill_id for row in kept] == ["f10"]


def test_reopened_books_take_the_venues_positions_and_book_no_fill_twice():
    books = Books().opened()
    books.trade(FILL)
    books.audit()
    books.trade(fill(2), listed=False)
    books.audit(8)
    assert books.stopped == "shares_differ"
    books.out.inconsistencies.reset()
    books.of.reopen(books.now_ns)
    assert not books.of.is_open
    books.opened()
    books.audit(2)
    assert books.of.holdings(MARKET) == (10, 0)
    assert books.of.difference_cents == 0
    assert not books.blocked


def test_reads_around_a_booked_fill_are_not_audited():
    books = Books().opened()
    books.walk()
    books.read()
    books.cents -= 1_000
    books.read()
    books.trade(FILL)
    books.walk()
    assert books.of.difference_cents == 0
    assert not books.out.findings


def test_a_fill_missed_between_two_pages_is_found_by_the_next_read():
    books = Books().opened()
    for number in range(1, 8):
        books.trade(fill(number, 1))
    hidden = books.listed.pop(5)
    books.audit()
    assert "position_differs" in books.out.findings
    assert books.blocked
    books.listed.insert(5, hidden)
    books.audit()
    assert not books.blocked
    assert not books.out.findings
    assert books.of.holdings(MARKET) == (7, 0)


def test_a_position_difference_allows_only_reductions_and_stops_the_bot_if_it_persists():
    books = Books().opened()
    books.trade(FILL)
    books.audit()
    books.trade(fill(2), listed=False)
    books.audit()
    assert books.of.shrink_room(MARKET, BookSide.ASK) == 5
    assert books.of.shrink_room(MARKET, BookSide.BID) == 0
    assert not books.stopped
    first_ns = books.now_ns
    while not books.stopped:
        books.audit()
    assert books.stopped == "shares_differ"
    assert books.now_ns - first_ns < 60 * 10**9


def test_a_cash_difference_no_larger_than_the_fills_stops_the_bot():
    books = Books().opened()
    books.trade(FILL)
    books.cents -= 77
    books.audit()
    assert books.of.difference_cents == -77
    assert books.out.findings["cash_differs"].startswith("the venue has 77 cents less")
    assert books.blocked
    books.audit(8)
    assert books.stopped == "cash_differs"


@pytest.mark.parametrize("cents", [200_000, -9_000])
@pytest.mark.parametrize("trades", [False, True])
def test_a_deposit_or_withdrawal_is_a_transfer_and_blocks_nothing(cents, trades):
    books = Books().opened()
    if trades:
        books.trade(FILL)
    books.cents += cents
    books.audit()
    assert not books.noted("account_transfer")
    books.audit()
    assert books.noted("account_transfer") == [{"cents": cents}]
    assert books.of.transfers_cents == cents
    assert books.of.difference_cents == 0
    assert not books.blocked
    assert books.of.book.cash_flow_cents == (-203 if trades else 0)


def test_cash_that_changes_at_every_audit_stops_the_bot():
    books, first_ns = Books().opened(), 0
    while not books.stopped:
        books.cents += 1_000
        books.audit()
        assert books.blocked
        first_ns = first_ns or books.now_ns
    assert books.stopped == "cash_differs"
    assert books.now_ns - first_ns < 60 * 10**9


def test_fees_rounded_up_by_fill_are_booked_as_fees():
    books = Books().opened()
    for number in (1, 2, 3):
        books.trade(fill(number, 1, fee_cents=None))
    books.cents -= 3 * 2  # three times ceil(1.68); together we computed ceil(5.04)
    books.audit()
    assert books.of.fee_difference_cents == 0
    for number in (4, 5):
        books.trade(fill(number, 1, fee_cents=None))
    books.cents -= 2 * 2  # together we compute ceil(8.4), three more
    books.audit()
    assert books.of.fee_difference_cents == 1
    assert books.noted("fees_differ") == [{"cents": 1}]
    assert books.of.difference_cents == 0
    assert not books.blocked
