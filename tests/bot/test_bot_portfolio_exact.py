"""The books at their edges: what is unheard of, listed anew, settled twice, or just forgotten."""

import msgspec
import pytest

from bot.core.account.fillids import UnbookableFill
from bot.core.account.portfolio import Portfolio
from bot.core.sane import QTY_MAX
from tests.bot.test_bot_portfolio import EVENT, M1, M2, MAKER, TAKER, fill, portfolio
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


# --- what stands beside the fills -----------------------------------------------------------------


def elsewhere(fill_id: str, market_id: str, event: str, qty: int = 2, **more: object) -> model.Fill:
    """A fill of a market of another event."""
    made = fill(fill_id, qty, 30, market_id=MarketId(market_id), **more)
    return msgspec.structs.replace(made, event_ticker=Ticker(event))


def test_shares_of_fills_that_were_taken_over_count_once_and_their_order_has_them() -> None:
    book = portfolio(ids_kept=1, ids_max=1_000)
    book.take_over(M1, Outcome.YES, 7)
    book.book_fill(fill("a", 3, 40, order_id="7", at_ns=5))
    book.book_fill(fill("b", 4, 40, order_id="7", at_ns=3))
    assert (book.taken_over(M1), book.holdings(M1)) == ((7, 0), (14, 0))
    book.take_over(M1, Outcome.YES, -7)
    assert book.filled_qty(OrderId("7")) == 7
    assert (book.taken_over(M1), book.holdings(M1), book.fill_count) == ((0, 0), (7, 0), 2)
    assert (book.taken_over(UNHEARD), book.held_qty(M1, Outcome.YES)) == ((0, 0), 7)
    assert not book.book_fill(fill("a", 3, 40, order_id="7", at_ns=9))
    book.order_over(OrderId("7"))
    book.book_fill(fill("c", 1, 40, at_ns=4))
    book.book_fill(fill("d", 1, 40, at_ns=6))
    book.trim(())  # the floor is the time of the newest of its order
    assert book.filled_qty(OrderId("7")) == 0


def test_an_order_whose_newest_fill_is_above_the_floor_keeps_its_tally() -> None:
    book = portfolio(ids_kept=1, ids_max=1_000)
    book.book_fill(fill("a", 3, 40, order_id="7", at_ns=8))
    book.book_fill(fill("b", 4, 40, order_id="7", at_ns=3))
    book.order_over(OrderId("7"))
    book.book_fill(fill("c", 1, 40, at_ns=4))
    book.trim(())
    assert book.ids.is_below_floor(4)
    assert book.filled_qty(OrderId("7")) == 7


def test_shares_that_paid_before_the_opening_are_written_off_and_no_others() -> None:
    book = portfolio()
    book.book_fill(fill("a", 3, 40))
    book.book_fill(fill("b", 2, 40, outcome="no"))
    book.book_fill(fill("c", 5, 40, market_id=M2))
    book.write_off(M1)
    book.write_off(UNHEARD)
    assert (book.holdings(M1), book.holdings(M2)) == ((0, 0), (5, 0))
    assert book.held_markets() == [M2]
    assert book.cash_of_market(M1) == -200


def test_a_winner_is_told_where_the_payout_tells_it() -> None:
    book = portfolio()
    book.book_fill(fill("a", 3, 40))
    book.book_fill(fill("b", 2, 40, market_id=M2))
    book.book_fill(fill("c", 2, 40, market_id=M2, outcome="no"))
    assert book.told_winner(M1) is book.told_winner(UNHEARD) is None
    book.settle(M1, Outcome.NO)
    book.settle(M2, Outcome.YES)  # pairs pay the same by either
    assert (book.winner(M1), book.told_winner(M1)) == (Outcome.NO, Outcome.NO)
    assert (book.winner(M2), book.told_winner(M2)) == (Outcome.YES, None)


def test_the_cash_of_a_market_is_what_its_fills_and_payouts_came_to() -> None:
    book = portfolio()
    book.book_fill(fill("a", 3, 40, fee=1))
    book.book_fill(fill("b", 2, 30, market_id=M2))
    assert (book.cash_of_market(M1), book.cash_of_market(M2)) == (-121, -60)
    assert book.cash_of_market(UNHEARD) == 0
    book.settle(M1, Outcome.YES)
    assert book.cash_of_market(M1) == 179


def test_shares_of_markets_that_are_not_listed_are_told_and_have_no_value_of_ours() -> None:
    book = portfolio()
    book.book_fill(fill("a", 3, 40))
    book.book_fill(fill("b", 3, 40, market_id=M2, outcome="no"))
    book.book_fill(elsewhere("c", "x1", "OTHER"))
    book.book_fill(elsewhere("d", "x2", "OTHER", outcome="no"))
    book.book_fill(elsewhere("e", "x3", "OTHER"))
    book.book_fill(elsewhere("f", "x3", "OTHER", side="sell"))
    assert book.unlisted_holdings() == ["x1", "x2"]
    assert book.held_markets() == [M1, M2, "x1", "x2"]
    marks = dict.fromkeys((M1, M2, MarketId("x1"), MarketId("x2"), MarketId("x3")), 50.0)
    assert book.value_cents(marks) == 300


def test_what_was_booked_under_another_event_moves_to_the_one_that_lists_its_market() -> None:
    book = portfolio()
    book.book_fill(elsewhere("a", "x", "OTHER", fee=2))
    assert (book.event_cash_cents(Ticker("OTHER")), book.own_fills) == (-62, 0)
    book.list_market(MarketId("x"), EVENT, MAKER, TAKER)
    assert (book.event_cash_cents(Ticker("OTHER")), book.event_cash_cents(EVENT)) == (0, -62)
    assert (book.own_cash_cents, book.own_fills) == (-62, 1)
    book.book_fill(elsewhere("b", "x", "OTHER", fee=2))
    assert (book.event_cash_cents(EVENT), book.own_fills) == (-124, 2)


def test_what_a_stand_in_held_is_of_the_market_that_it_stood_for() -> None:
    book = portfolio()
    book.book_fill(elsewhere("a", "x", "OTHER"))
    book.book_fill(elsewhere("b", "x", "OTHER", qty=1, outcome="no"))
    book.same_market(MarketId("x"), M1)
    assert book.holdings(M1) == (2, 1)
    assert book.holdings(MarketId("x")) == (0, 0)
    assert (book.cash_of_market(M1), book.event_cash_cents(EVENT)) == (-90, -90)
    book.same_market(MarketId("x"), M1)
    assert book.holdings(M1) == (2, 1)


def test_what_a_stand_in_held_is_paid_where_the_market_has_settled_meanwhile() -> None:
    book = portfolio()
    book.settle(M1, Outcome.NO)
    book.book_fill(elsewhere("a", "x", "OTHER"))
    book.book_fill(elsewhere("b", "x", "OTHER", qty=1, outcome="no"))
    book.same_market(MarketId("x"), M1)
    assert (book.holdings(M1), book.cash_of_market(M1)) == ((0, 0), 100 - 90)


def test_an_event_of_others_is_forgotten_without_a_trace_and_one_of_ours_stays_counted() -> None:
    book = portfolio()
    book.book_fill(elsewhere("a", "x", "OTHER"))
    book.forget_event(Ticker("OTHER"))
    book.forget_event(Ticker("NEVER"))
    assert book.own_cash_cents == 0
    book.book_fill(fill("b", 1, 40))
    book.forget_event(EVENT)
    assert (book.own_cash_cents, book.own_fills, book.holdings(M1)) == (-40, 1, (0, 0))


def test_a_fill_of_as_many_shares_as_there_can_be_is_booked() -> None:
    book = portfolio()
    assert book.book_fill(fill("a", QTY_MAX, 1))
    assert book.holdings(M1) == (QTY_MAX, 0)
