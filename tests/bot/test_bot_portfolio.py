"""Shares, cash and fees out of fills, to the cent, in any order."""

import itertools
import random
from fractions import Fraction
from math import ceil

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.core.account.fillids import FillIds, UnbookableFill
from bot.core.account.portfolio import Portfolio
from venue.wire import model
from venue.wire.instant import from_ns
from venue.wire.money import Cents, FeeRate, Outcome, Price, Qty, complement
from venue.wire.names import MarketId, OrderId, Ticker

MAKER, TAKER = FeeRate.parse("0.0175"), FeeRate.parse("0.0700")
M1, M2, EVENT = MarketId("m1"), MarketId("m2"), Ticker("E")


def portfolio(ids_kept: int = 1_000, kept_ns: int = 0, ids_max: int | None = None) -> Portfolio:
    book = Portfolio(FillIds(ids_kept, kept_ns, ids_kept if ids_max is None else ids_max))
    for market_id in (M1, M2):
        book.list_market(market_id, EVENT, MAKER, TAKER)
    return book


def fill(
    fill_id: str,
    qty: int,
    price: int,
    *,
    side: str = "buy",
    outcome: str = "yes",
    fee: int | None = 0,
    market_id: MarketId = M1,
    order_id: str = "1",
    at_ns: int = 1,
    liquidity: model.Liquidity = model.Liquidity.MAKER,
) -> model.Fill:
    own = Price(price)
    return model.Fill(
        fill_id=fill_id,
        trade_id=f"t{fill_id}",
        order_id=OrderId(order_id),
        ticker=Ticker("E-1"),
        market_id=market_id,
        event_ticker=EVENT,
        outcome=model.ShownOutcome(outcome),
        side=model.ShownSide(side),
        outcome_price=own,
        trade_price=own if outcome == "yes" else complement(own),
        qty=Qty(qty),
        fee_cents=None if fee is None else Cents(fee),
        liquidity=liquidity,
        created_at=from_ns(at_ns),
    )


def state(book: Portfolio) -> tuple[object, ...]:
    return (
        book.holdings(M1),
        book.holdings(M2),
        book.event_cash_cents(EVENT),
        book.cash_flow_cents,
        book.fees_cents,
        book.fill_count,
        book.filled_qty(OrderId("1")),
        book.cash_of_order(OrderId("1")),
    )


def test_a_purchase_costs_price_and_fee_and_brings_shares() -> None:
    book = portfolio()
    assert book.book_fill(fill("a", 10, 40, fee=5))
    assert book.holdings(M1) == (10, 0)
    assert book.cash_flow_cents == book.event_cash_cents(EVENT) == -405
    assert (book.fees_cents, book.fill_count) == (5, 1)


def test_a_sale_brings_its_price_less_the_fee() -> None:
    book = portfolio()
    book.book_fill(fill("a", 10, 40, outcome="no"))
    book.book_fill(fill("b", 4, 45, outcome="no", side="sell", fee=2))
    assert book.holdings(M1) == (0, 6)
    assert book.cash_flow_cents == -400 + 180 - 2


def test_cash_is_reckoned_in_the_price_of_the_own_outcome() -> None:
    book = portfolio()
    book.book_fill(fill("a", 1, 97, outcome="no"))
    assert book.cash_flow_cents == -97


def test_a_fill_is_booked_once() -> None:
    book = portfolio()
    assert book.book_fill(fill("a", 10, 40))
    before = state(book)
    assert not book.book_fill(fill("a", 10, 40))
    assert state(book) == before
    assert book.ids.has(fill("a", 10, 40))
    assert not book.ids.has(fill("b", 10, 40))


@settings(deadline=None)
@given(st.permutations(range(6)))
def test_the_order_of_pages_does_not_matter(order: list[int]) -> None:
    fills = [
        fill("0", 10, 40, fee=None, at_ns=1),
        fill("1", 7, 60, fee=None, outcome="no", at_ns=2),
        fill("2", 4, 55, fee=1, side="sell", at_ns=3),
        fill("3", 3, 41, fee=None, at_ns=4, liquidity=model.Liquidity.TAKER),
        fill("4", 2, 9, fee=None, market_id=M2, order_id="2", at_ns=5),
        fill("5", 1, 40, fee=3, at_ns=6),
    ]
    straight, shuffled = portfolio(), portfolio()
    for each in fills:
        straight.book_fill(each)
    for index in order:
        shuffled.book_fill(fills[index])
    assert state(shuffled) == state(straight)


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(1, 9), st.integers(1, 99)), min_size=1, max_size=12))
def test_missing_fees_of_an_order_add_up_to_one_rounding_of_their_sum(
    fills: list[tuple[int, int]],
) -> None:
    book = portfolio()
    for number, (qty, price) in enumerate(fills):
        book.book_fill(fill(str(number), qty, price, fee=None))
    exact = sum(Fraction(175, 10_000) * q * p * (100 - p) / 100 for q, p in fills)
    assert book.fees_cents == ceil(exact)


def test_a_missing_fee_without_a_role_is_charged_at_the_dearer_rate() -> None:
    book = portfolio()
    book.book_fill(fill("a", 100, 50, fee=None, liquidity=model.Liquidity.UNKNOWN))
    assert book.fees_cents == 175


@pytest.mark.parametrize(
    "bad",
    [
        fill("a", 1, 40, outcome="unknown"),
        fill("a", 1, 40, side="unknown"),
        fill("a", 0, 40),
        fill("a", 1, 101),
        fill("a", 1, 40, fee=None, market_id=MarketId("never listed")),
    ],
    ids=["outcome", "side", "no shares", "price", "fee of an unlisted market"],
)
def test_a_fill_that_cannot_be_read_is_refused_by_name_and_changes_nothing(
    bad: model.Fill,
) -> None:
    book = portfolio()
    before = state(book)
    with pytest.raises(UnbookableFill, match="fill a"):
        book.book_fill(bad)
    assert state(book) == before
    assert not book.ids.has(fill("a", 1, 40))


def test_a_fill_of_an_unlisted_market_with_its_fee_is_booked() -> None:
    book = Portfolio()
    assert book.book_fill(fill("a", 2, 30, fee=1))
    assert (book.holdings(M1), book.event_cash_cents(EVENT)) == ((2, 0), -61)


@pytest.mark.parametrize(("winner", "payout"), [(Outcome.YES, 1_000), (Outcome.NO, 300)])
def test_settling_pays_a_dollar_a_winning_share_and_ends_the_position(
    winner: Outcome, payout: int
) -> None:
    book = portfolio()
    book.book_fill(fill("a", 10, 40))
    book.book_fill(fill("b", 3, 50, outcome="no"))
    assert book.settle(M1, winner) == payout
    assert book.holdings(M1) == (0, 0)
    assert book.cash_flow_cents == -550 + payout
    assert book.winner(M1) is winner


def test_the_first_settlement_stands() -> None:
    book = portfolio()
    book.book_fill(fill("a", 10, 40))
    book.settle(M1, Outcome.YES)
    assert book.settle(M1, Outcome.NO) == 0
    assert book.cash_flow_cents == 600


@pytest.mark.parametrize("winner", list(Outcome))
def test_fills_read_after_the_settlement_come_to_the_same(winner: Outcome) -> None:
    fills = [
        fill("a", 10, 40),
        fill("b", 4, 45, side="sell"),
        fill("c", 3, 50, outcome="no"),
    ]
    ends = []
    for cut in range(4):
        book = portfolio()
        for each in fills[:cut]:
            book.book_fill(each)
        book.settle(M1, winner)
        for each in fills[cut:]:
            book.book_fill(each)
        ends.append(state(book))
    assert all(end == ends[0] for end in ends)


def test_profit_is_cash_and_shares_at_their_marks() -> None:
    book = portfolio()
    book.book_fill(fill("a", 10, 40, fee=5))
    book.book_fill(fill("b", 4, 30, outcome="no", market_id=M2))
    assert book.value_cents({M1: 50.25, M2: 60.0}) == round(502.5) + 160
    assert book.pnl_cents({M1: 50.25, M2: 60.0}) == -405 - 120 + 502 + 160


def test_without_a_mark_a_pair_counts_at_a_dollar_and_the_rest_at_nothing() -> None:
    book = portfolio()
    book.book_fill(fill("a", 10, 40))
    book.book_fill(fill("b", 4, 50, outcome="no"))
    assert book.value_cents({}) == 400


def test_the_balance_expected_is_the_opening_and_every_flow() -> None:
    book = portfolio()
    book.book_fill(fill("a", 10, 40, fee=5))
    book.settle(M1, Outcome.YES)
    assert book.expected_cash(Cents(10_000)) == 10_000 - 405 + 1_000


def test_the_tally_of_an_order_that_is_over_goes_with_the_ids_of_its_fills() -> None:
    book = portfolio(ids_kept=2, ids_max=1_000)
    book.book_fill(fill("a", 10, 40, at_ns=1))
    assert (book.filled_qty(OrderId("1")), book.cash_of_order(OrderId("1"))) == (10, -400)
    book.order_over(OrderId("1"))
    for number in range(2, 6):
        assert book.filled_qty(OrderId("1")) == 10
        book.book_fill(fill(str(number), 1, 40, order_id=str(number), at_ns=number))
        book.trim(())
    assert book.filled_qty(OrderId("1")) == 0
    assert [book.filled_qty(OrderId(str(number))) for number in range(2, 6)] == [1, 1, 1, 1]
    assert book.cash_flow_cents == -400 - 160


def test_the_tally_of_an_order_that_is_over_stays_while_a_fill_of_it_is_told_by_its_id() -> None:
    book = portfolio(ids_kept=2, ids_max=1_000)
    for number in range(1, 6):
        order_id = "1" if number in (1, 5) else str(number)
        book.book_fill(fill(str(number), 1, 40, order_id=order_id, at_ns=number))
    book.order_over(OrderId("1"))
    book.order_over(OrderId("2"))
    book.trim(())
    assert (book.filled_qty(OrderId("1")), book.filled_qty(OrderId("2"))) == (2, 0)


def test_an_order_that_is_asked_about_again_after_its_end_keeps_its_tally() -> None:
    book = portfolio(ids_kept=2, ids_max=1_000)
    for number in range(1, 6):
        book.book_fill(fill(str(number), 1, 40, order_id=str(number), at_ns=number))
    book.order_over(OrderId("1"))
    book.trim([OrderId("1")])
    assert book.filled_qty(OrderId("1")) == 1


def test_fills_of_the_last_half_hour_are_told_by_their_ids_however_many_they_are() -> None:
    book = portfolio(ids_kept=10, kept_ns=100, ids_max=1_000)
    for number in range(500):
        book.book_fill(fill(str(number), 1, 40, at_ns=number))
        book.trim(())
    assert not book.ids.has(fill("late", 1, 40, at_ns=400))
    assert book.ids.has(fill("late", 1, 40, at_ns=250))
    assert 100 <= book.ids.count <= 2 * 100


def test_no_more_ids_are_kept_than_the_bound_however_fast_fills_come() -> None:
    book = portfolio(ids_kept=10, kept_ns=10_000, ids_max=50)
    for number in range(500):
        book.book_fill(fill(str(number), 1, 40, at_ns=number))
        book.trim(())
        assert book.ids.count <= 2 * 50
    assert book.fill_count == 500


def test_a_fill_from_the_future_does_not_make_the_others_repeats() -> None:
    book = portfolio(ids_kept=10, kept_ns=100, ids_max=1_000)
    for number in range(30):
        book.book_fill(fill(str(number), 1, 40, at_ns=number))
    book.book_fill(fill("ahead", 1, 40, at_ns=10**15))
    book.trim(())
    assert not book.ids.has(fill("late", 1, 40, at_ns=25))
    assert book.ids.has(fill("late", 1, 40, at_ns=20))


@pytest.mark.parametrize("seed", range(5))
def test_ids_are_bounded_and_no_fill_is_ever_booked_twice_or_missed(seed: int) -> None:
    rng = random.Random(seed)
    book = portfolio(ids_kept=10)
    history: list[model.Fill] = []
    for walk in range(40):
        for _ in range(rng.randrange(12)):
            number = len(history)
            # Several fills share an instant, as those of one sweep do.
            history.append(fill(str(number), 1, 40, at_ns=walk * 10 + rng.randrange(3)))
        for each in reversed(history):
            if not book.book_fill(each) and rng.random() < 0.5:
                break
        for each in reversed(history):
            book.book_fill(each)
        book.trim(())
        assert book.fill_count == len(history)
        assert book.ids.count <= 2 * 10 + 12
    assert book.holdings(M1) == (len(history), 0)


def test_a_first_walk_longer_than_the_memory_is_booked_whole() -> None:
    book = portfolio(ids_kept=10)
    newest_first = [fill(str(n), 1, 40, at_ns=1_000 - n) for n in range(500)]
    assert all(itertools.starmap(book.book_fill, ((each,) for each in newest_first)))
    book.trim(())
    assert not any(book.book_fill(each) for each in newest_first)
    assert book.fill_count == 500


def test_trimming_keeps_the_tallies_of_live_orders() -> None:
    book = portfolio(ids_kept=2)
    for number in range(10):
        book.book_fill(fill(str(number), 1, 40, order_id=str(number)))
    book.trim([OrderId("3")])
    assert book.filled_qty(OrderId("3")) == 1
    assert book.filled_qty(OrderId("4")) == 0
