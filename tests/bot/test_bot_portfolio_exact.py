"""The books at their edges: what is unheard of, listed anew, settled twice, or just forgotten."""

import msgspec
import pytest

from bot.core.account.fillids import UnbookableFill
from bot.core.account.portfolio import Portfolio
from tests.bot.test_bot_portfolio import EVENT, M1, MAKER, TAKER, fill, portfolio
from venue.wire import model
from venue.wire.money import FeeRate, Outcome
from venue.wire.names import MarketId, OrderId, Ticker

UNHEARD = MarketId("unheard of")


def test_what_is_unheard_of_has_no_shares_no_cash_and_no_winner() -> None:
    book = portfolio()
    assert book.holdings(UNHEARD) == (0, 0)
    assert book.winner(UNHEARD) is None
    assert book.filled_qty(OrderId("9")) == 0
    assert book.cash_of_order(OrderId("9")) == 0
    assert book.event_cash_cents(Ticker("OTHER")) == 0
    assert book.settle(UNHEARD, Outcome.YES) == 0
    book.order_over(OrderId("9"))
    assert (book.cash_flow_cents, book.fill_count) == (0, 0)


def test_a_market_has_no_winner_before_it_settles() -> None:
    assert portfolio().winner(M1) is None


def test_listing_a_market_again_changes_its_rates_from_now_on_and_nothing_else() -> None:
    book = portfolio()
    book.book_fill(fill("a", 100, 50, fee=None))
    book.list_market(M1, EVENT, FeeRate.parse("0.01"), FeeRate.parse("0.02"))
    assert (book.holdings(M1), book.fees_cents) == ((100, 0), 44)
    book.book_fill(fill("b", 100, 50, fee=None, order_id="2"))
    book.book_fill(
        fill("c", 100, 50, fee=None, order_id="3", liquidity=model.Liquidity.TAKER),
    )
    assert book.fees_cents == 44 + 25 + 50


@pytest.mark.parametrize(("maker", "taker"), [(MAKER, TAKER), (TAKER, MAKER)])
def test_a_missing_fee_is_charged_at_the_rate_of_its_role(maker: FeeRate, taker: FeeRate) -> None:
    fees = []
    for liquidity in (model.Liquidity.MAKER, model.Liquidity.TAKER, model.Liquidity.UNKNOWN):
        book = Portfolio()
        book.list_market(M1, EVENT, maker, taker)
        book.book_fill(fill("a", 100, 50, fee=None, liquidity=liquidity))
        fees.append(book.fees_cents)
    assert fees == ([44, 175, 175] if maker is MAKER else [175, 44, 175])


def test_a_fill_told_with_its_fee_does_not_list_its_market() -> None:
    book = Portfolio()
    book.book_fill(fill("a", 2, 30, fee=1))
    with pytest.raises(UnbookableFill, match="fill b: no fee, and its market is not listed"):
        book.book_fill(fill("b", 2, 30, fee=None))
    assert book.fill_count == 1
    book.list_market(M1, EVENT, MAKER, TAKER)
    assert book.book_fill(fill("b", 2, 30, fee=None))
    assert (book.holdings(M1), book.fees_cents) == ((4, 0), 2)


@pytest.mark.parametrize(("price", "cash"), [(0, 0), (100, -300)])
def test_a_fill_at_the_very_ends_of_the_scale_is_booked(price: int, cash: int) -> None:
    book = portfolio()
    assert book.book_fill(fill("a", 3, price))
    assert book.cash_flow_cents == cash


@pytest.mark.parametrize("price", [-1, 101])
def test_a_fill_beyond_the_scale_is_refused(price: int) -> None:
    with pytest.raises(UnbookableFill, match=f"fill a: 3 shares at {price} cents"):
        portfolio().book_fill(fill("a", 3, price))


def test_a_fill_whose_time_cannot_be_read_is_refused_by_name() -> None:
    book = portfolio()
    bad = msgspec.structs.replace(fill("a", 1, 40), created_at="yesterday")
    for ask in (book.book_fill, book.ids.has):
        with pytest.raises(UnbookableFill, match="fill a"):
            ask(bad)
    assert book.fill_count == 0


def test_settling_again_changes_neither_the_winner_nor_what_late_fills_come_to() -> None:
    book = portfolio()
    book.book_fill(fill("a", 10, 40))
    assert book.settle(M1, Outcome.YES) == 1_000
    assert book.settle(M1, Outcome.NO) == 0
    assert book.winner(M1) is Outcome.YES
    book.book_fill(fill("b", 3, 40))
    assert book.cash_flow_cents == 600 - 120 + 300
    assert book.holdings(M1) == (0, 0)


def numbered(book: Portfolio, count: int) -> None:
    """Fills 1 to `count`, one of an order of its own at each nanosecond."""
    for number in range(1, count + 1):
        book.book_fill(fill(str(number), 1, 40, order_id=str(number), at_ns=number))


def test_nothing_is_forgotten_before_more_than_twice_what_is_kept_has_gathered() -> None:
    book = portfolio(ids_kept=2)
    numbered(book, 4)
    book.trim(())
    assert not book.ids.has(fill("late", 1, 40, at_ns=1))
    assert [book.filled_qty(OrderId(str(number))) for number in range(1, 5)] == [1, 1, 1, 1]


def test_a_trim_puts_its_floor_just_below_the_newest_that_are_kept() -> None:
    book = portfolio(ids_kept=2)
    numbered(book, 5)
    book.trim([OrderId("2")])
    assert book.ids.has(fill("late", 1, 40, at_ns=3))
    assert not book.ids.has(fill("late", 1, 40, at_ns=4))
    assert book.ids.has(fill("4", 1, 40, at_ns=4))
    assert sorted(book.ids._booked) == ["4", "5"]
    assert [book.filled_qty(OrderId(str(number))) for number in range(1, 6)] == [0, 1, 0, 0, 0]


def test_a_mark_counts_on_the_surplus_and_the_no_shares_at_the_dollar() -> None:
    book = portfolio()
    book.book_fill(fill("a", 10, 40))
    book.book_fill(fill("b", 4, 50, outcome="no"))
    assert book.value_cents({M1: 30.0}) == 400 + 180
    assert book.value_cents({M1: 0.0}) == 400
    assert book.value_cents({M1: 100.0}) == 1_000


def test_a_sale_read_before_its_purchase_counts_at_nothing_without_a_mark() -> None:
    book = portfolio()
    book.book_fill(fill("a", 4, 40, side="sell"))
    book.book_fill(fill("b", 9, 40, outcome="no"))
    assert book.holdings(M1) == (-4, 9)
    assert book.value_cents({}) == 0
