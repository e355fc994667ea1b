"""Claims about where a fill belongs, however little it tells, and about fees that none has."""

import msgspec
import pytest

from bot.core.account.fillids import UnbookableFill
from bot.core.account.portfolio import Portfolio
from bot.core.orders.order import OwnOrder, State
from tests.bot import made
from tests.bot.made import EVENT, LAG_NS, MARKET, T0
from tests.bot.test_bot_ledgers import FILL, RATE, Books, market
from tests.bot.test_bot_portfolio import M1, M2, MAKER, TAKER, fill, portfolio
from venue.wire import model
from venue.wire.money import Cents, Outcome, Qty
from venue.wire.names import MarketId, OrderId, Ticker

NEW = MarketId("aaaaaaaa-0000-4000-8000-000000000009")
RUNG = market(NEW, 9)


def of_new(**other: object) -> model.Fill:
    """Five YES at 40 of a rung that is not listed yet, for 3 cents."""
    told = {"market_id": NEW, "ticker": RUNG.ticker, "event_ticker": EVENT, **other}
    return msgspec.structs.replace(FILL, order_id="77", **told)


def listed_after(*fills: model.Fill) -> Books:
    """Books that read these fills before the rung is listed."""
    books = Books()
    books.fills(T0, *fills)
    books.of.list_market(RUNG, RATE, RATE)
    return books


@pytest.mark.parametrize(
    "told",
    [
        {},
        {"event_ticker": EVENT.lower()},
        {"event_ticker": ""},
        {"event_ticker": "QUITE-ANOTHER-27Q1"},
        {"market_id": ""},
        {"market_id": "", "ticker": RUNG.ticker.lower(), "event_ticker": ""},
    ],
    ids=["whole", "event in lower case", "no event", "another event", "no market", "ticker alone"],
)
def test_a_fill_read_before_its_rung_is_listed_counts_for_it_from_then_on(told):
    books = listed_after(of_new(**told))
    assert books.of.holdings(NEW) == (5, 0)
    assert books.of.event_cash_cents(EVENT, [NEW]) == -203
    assert books.of.book.own_cash_cents == books.of.book.cash_flow_cents == -203
    assert (books.of.book.fees_cents, books.of.book.own_fills) == (3, 1)


def test_a_fill_that_was_placed_anew_is_not_booked_again():
    books = listed_after(of_new(market_id=""))
    assert books.fills(T0 + LAG_NS, of_new(market_id="")) == []
    assert books.of.holdings(NEW) == (5, 0)


def test_fills_read_before_and_after_their_rung_was_listed_add_up():
    books = listed_after(of_new(market_id=""))
    books.fills(T0 + LAG_NS, of_new(market_id="", fill_id="later"))
    assert books.of.holdings(NEW) == (10, 0)
    assert books.of.event_cash_cents(EVENT, [NEW]) == -406


def test_fills_of_other_rungs_without_a_market_do_not_move_along():
    books = listed_after(of_new(market_id=""), of_new(market_id="", ticker="Z-1", fill_id="z"))
    assert books.of.holdings(NEW) == (5, 0)


def nameless(own: OwnOrder) -> model.Fill:
    """Five shares of an order, and nothing that tells its market."""
    shown = made.fill(own, 1, 5, fee_cents=3)
    return msgspec.structs.replace(shown, market_id="", ticker="", event_ticker="")


def test_a_fill_without_market_and_ticker_is_of_the_rung_of_its_order():
    books, own = Books().opened(), made.own(State.OPEN)
    books.desk.add(own)
    assert books.fills(T0 + LAG_NS, nameless(own)) == [MARKET]
    assert books.of.holdings(MARKET) == (5, 0)


def test_a_fill_of_a_create_whose_answer_is_awaited_waits_for_the_id_of_its_order():
    books, own = Books().opened(), made.own(State.SENT)
    books.desk.add(own)
    filled = nameless(made.own(State.OPEN))
    assert books.fills(T0 + LAG_NS, filled) == []
    assert "fill_unreadable" in books.out.findings
    own.shown_by_write(made.shown(own, filled=5), T0 + LAG_NS)
    books.desk.add(own)
    assert books.fills(T0 + 2 * LAG_NS, filled) == [MARKET]
    assert books.of.holdings(MARKET) == (5, 0)
    assert "fill_unreadable" not in books.out.findings


def test_a_fill_of_an_id_that_an_amend_changed_is_of_the_rung_of_its_order():
    books, own = Books().opened(), made.own(State.OPEN)
    filled = nameless(own)
    own.renamed(msgspec.structs.replace(made.shown(own), order_id=OrderId("88")))
    books.desk.add(own)
    assert books.fills(T0 + LAG_NS, filled) == [MARKET]


def test_a_fill_without_a_name_of_an_order_that_is_none_of_ours_is_booked_all_the_same():
    books = Books().opened()
    stranger = msgspec.structs.replace(nameless(made.own(State.OPEN)), order_id="99")
    books.fills(T0 + LAG_NS, stranger)
    assert books.of.book.cash_flow_cents == -203
    assert books.of.holdings(MARKET) == (0, 0)


def test_a_position_read_before_its_rung_is_listed_is_its_position():
    books = Books()
    row = model.Position(ticker=RUNG.ticker, outcome=model.ShownOutcome.YES, qty=Qty(7))
    books.balance(10_000, T0)
    books.of.positions_read([row], T0, T0)
    books.of.list_market(RUNG, RATE, RATE)
    books.of.open_books()
    assert books.of.holdings(NEW) == (7, 0)


def test_a_rung_that_names_its_event_in_another_case_is_of_that_event():
    books = Books()
    books.of.list_market(
        msgspec.structs.replace(RUNG, event_ticker=Ticker(EVENT.lower())), RATE, RATE
    )
    books.fills(T0, of_new())
    assert books.of.event_cash_cents(EVENT, [NEW]) == -203


def test_the_case_of_an_event_ticker_means_nothing():
    book = Portfolio()
    book.list_market(M1, Ticker("e"), MAKER, TAKER)
    book.book_fill(fill("a", 10, 40))
    assert book.event_cash_cents(Ticker("E")) == book.event_cash_cents(Ticker("e")) == -400
    book.forget_event(Ticker("E"))
    assert book.event_cash_cents(Ticker("e")) == 0
    assert (book.holdings(M1), book.own_cash_cents) == ((0, 0), -400)


def test_an_event_in_another_case_is_forgotten_whole():
    books = listed_after(of_new())
    books.of.settling.resolved(NEW, T0)
    lower = model.Event(
        event_ticker=Ticker(EVENT.lower()),
        series_ticker=Ticker("ACME-VAL"),
        project_market_id="",
        project_id="",
        title="",
        category="",
        status=model.EventStatus.SETTLED,
        mutually_exclusive=False,
        resolution_date=made.INSTANT,
        markets=(RUNG,),
    )
    books.of.forget(lower)
    assert not books.of.settling.is_listed(NEW)
    assert books.of.book.holdings(NEW) == (0, 0)


def test_listing_a_rung_again_under_another_event_moves_nothing():
    book = portfolio()
    book.book_fill(fill("a", 10, 40))
    book.list_market(M1, Ticker("OTHER"), MAKER, TAKER)
    assert book.event_cash_cents(Ticker("E")) == -400


def test_what_is_booked_under_a_stand_in_of_a_settled_market_is_paid_at_once():
    book = portfolio()
    stand_in = MarketId("E-1")
    book.book_fill(fill("a", 10, 40, market_id=stand_in))
    book.settle(M2, Outcome.YES)
    book.same_market(stand_in, M2)
    assert (book.holdings(M2), book.holdings(stand_in)) == ((0, 0), (0, 0))
    assert book.cash_flow_cents == book.event_cash_cents(Ticker("E")) == 600


@pytest.mark.parametrize("fee", [-401, 1_001, -(10**8), 10**8])
def test_a_fill_with_a_fee_that_no_trade_has_is_refused_by_name(fee):
    book = portfolio()
    with pytest.raises(UnbookableFill, match=f"fill a: a fee of {fee} cents"):
        book.book_fill(fill("a", 10, 40, fee=fee))
    assert (book.cash_flow_cents, book.fees_cents, book.holdings(M1)) == (0, 0, (0, 0))


@pytest.mark.parametrize("fee", [-400, 1_000])
def test_a_fee_may_give_back_what_was_paid_or_take_a_dollar_a_share(fee):
    book = portfolio()
    assert book.book_fill(fill("a", 10, 40, fee=fee))
    assert book.fees_cents == fee


def test_a_fill_of_a_size_that_none_has_is_refused_by_name():
    with pytest.raises(UnbookableFill, match="fill a: 1000000001 shares"):
        portfolio().book_fill(fill("a", 10**9 + 1, 40))


def test_a_fee_that_no_trade_has_is_a_finding_and_leaves_the_loss_limit_as_it_was():
    books = Books().opened()
    assert books.fills(T0 + LAG_NS, msgspec.structs.replace(FILL, fee_cents=Cents(-(10**8)))) == []
    assert "fill_unreadable" in books.out.findings
    assert books.of.event_cash_cents(EVENT, [MARKET]) == 0


@pytest.mark.parametrize("mark", [float("nan"), float("inf"), float("-inf")])
def test_a_mark_that_is_no_finite_number_is_none(mark):
    book = portfolio()
    book.book_fill(fill("a", 10, 40))
    book.book_fill(fill("b", 4, 50, outcome="no"))
    assert book.value_cents({M1: mark}) == book.value_cents({}) == 400
    assert book.pnl_cents({M1: mark}) == -200


UNREADABLE = msgspec.structs.replace(FILL, outcome=model.ShownOutcome.UNKNOWN)


def test_a_fill_that_a_later_walk_shows_readably_is_booked_and_its_finding_is_over():
    books = Books().opened()
    books.fills(T0 + LAG_NS, UNREADABLE)
    assert "fill_unreadable" in books.out.findings
    assert books.fills(T0 + 2 * LAG_NS, FILL) == [MARKET]
    assert "fill_unreadable" not in books.out.findings
    assert books.of.holdings(MARKET) == (5, 0)


def test_an_unreadable_fill_stays_a_finding_for_as_long_as_no_walk_shows_it_readably():
    books = Books().opened()
    other = msgspec.structs.replace(UNREADABLE, fill_id="other")
    books.fills(T0 + LAG_NS, UNREADABLE, other)
    assert books.out.findings["fill_unreadable"].endswith(", and 1 more")
    books.fills(T0 + 2 * LAG_NS, FILL)
    assert books.out.findings["fill_unreadable"].startswith("fill other: ")
    books.fills(T0 + 3 * LAG_NS)
    assert "fill_unreadable" in books.out.findings


def test_a_fill_that_is_unreadable_for_the_first_time_has_every_fill_read_once_more():
    books = Books().opened()
    books.fills(T0 + LAG_NS, FILL, UNREADABLE)
    books.fills(T0 + 2 * LAG_NS, FILL, msgspec.structs.replace(UNREADABLE, fill_id="other"))
    assert not books.may_end(FILL)
    books.fills(T0 + 3 * LAG_NS, FILL, msgspec.structs.replace(UNREADABLE, fill_id="other"))
    assert books.may_end(FILL)


def test_a_fill_that_was_unreadable_when_the_books_were_opened_does_not_count_twice():
    books = Books()
    books.fills(T0, UNREADABLE)
    books.balance(9_797, T0)
    books.positions({Outcome.YES: 5}, T0)
    books.of.open_books()
    assert books.fills(T0 + 2 * LAG_NS, FILL) == []
    assert books.of.holdings(MARKET) == (5, 0)
    assert (books.of.fills, books.of.booking.fresh_fills) == (0, [])
    books.balance(9_797, T0 + 4 * LAG_NS)
    books.positions({Outcome.YES: 5}, T0 + 4 * LAG_NS)
    books.fills(T0 + 6 * LAG_NS, FILL)
    assert books.out.findings == {}
