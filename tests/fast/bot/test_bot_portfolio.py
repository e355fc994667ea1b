"""Shares, cash and fees out of fills, to the cent, in any order."""

import random
from fractions import Fraction
from math import ceil

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.core.account.portfolio import Portfolio, UnbookableFill
from tests.builders.bot import made
from tests.builders.bot.made import EVENT, MARKET
from venue.wire import model
from venue.wire.instant import from_ns
from venue.wire.money import Cents, FeeRate, Outcome, Price, Qty
from venue.wire.names import OrderId, Ticker

MAKER, TAKER = FeeRate.parse("0.0175"), FeeRate.parse("0.0700")


def listed() -> Portfolio:
    book = Portfolio()
    book.list_market(MARKET, EVENT, MAKER, TAKER)
    return book


def fill(number: int, **changed: object) -> model.Fill:
    shown = msgspec.structs.replace(made.fill(made.own(), 1, 5), fill_id=str(number))
    return msgspec.structs.replace(shown, created_at=from_ns(number), **changed)


_FILLS = st.lists(
    st.builds(
        lambda outcome, side, price, qty, liquidity, order: {
            "outcome": outcome,
            "side": side,
            "outcome_price": Price(price),
            "qty": Qty(qty),
            "liquidity": liquidity,
            "order_id": OrderId(str(order)),
            "fee_cents": None,
        },
        st.sampled_from([model.ShownOutcome.YES, model.ShownOutcome.NO]),
        st.sampled_from([model.ShownSide.BUY, model.ShownSide.SELL]),
        st.integers(1, 99),
        st.integers(1, 50),
        st.sampled_from(model.Liquidity),
        st.integers(1, 3),
    ),
    max_size=20,
)


@settings(max_examples=100, deadline=None)
@given(fills=_FILLS, seed=st.integers(0, 99), winner=st.sampled_from([None, *Outcome]))
def test_cash_shares_and_fees_are_exact_in_any_order_of_fills_and_payout(fills, seed, winner):
    rows = [fill(number, **each) for number, each in enumerate(fills)]
    random.Random(seed).shuffle(rows)
    book, at = listed(), len(rows) // 2
    for number, row in enumerate(rows):
        if number == at and winner is not None:
            book.settle(MARKET, winner)
        book.book_fill(row)
    if winner is not None:
        book.settle(MARKET, winner)
    rates = {model.Liquidity.MAKER: Fraction(175, 10_000)}
    units: dict[str, Fraction] = {}
    cash, held = 0, {"yes": 0, "no": 0}
    for row in rows:
        sign = 1 if row.side is model.ShownSide.BUY else -1
        held[row.outcome.value] += sign * row.qty
        cash -= sign * row.qty * row.outcome_price
        chance = Fraction(row.outcome_price, 100)
        rate = rates.get(row.liquidity, Fraction(7, 100))
        fee = 100 * rate * row.qty * chance * (1 - chance)
        units[row.order_id] = units.get(row.order_id, Fraction(0)) + fee
    cash -= sum(ceil(each) for each in units.values())
    if winner is not None:
        cash += 100 * held[winner.value]
        held = {"yes": 0, "no": 0}
    assert book.holdings(MARKET) == (held["yes"], held["no"])
    assert book.cash_flow_cents == book.event_cash_cents(EVENT) == cash
    assert book.cash_of_market(MARKET) == cash


@pytest.mark.parametrize(
    "wrong",
    [
        {"outcome": model.ShownOutcome.UNKNOWN},
        {"side": model.ShownSide.UNKNOWN},
        {"outcome_price": Price(101)},
        {"outcome_price": Price(-1)},
        {"qty": Qty(0)},
        {"fee_cents": Cents(501)},
        {"fee_cents": Cents(-201)},
        {"created_at": "yesterday"},
    ],
)
def test_an_unbookable_fill_is_rejected_and_changes_nothing(wrong):
    book = listed()
    with pytest.raises(UnbookableFill, match="fill 1"):
        book.book_fill(msgspec.structs.replace(fill(1), **wrong))
    assert book.holdings(MARKET) == (0, 0)
    assert book.cash_flow_cents == 0


def test_a_shown_fee_counts_and_one_at_an_unknown_rate_is_zero():
    book = listed()
    assert book.book_fill(fill(1, fee_cents=Cents(7))).fee_cents == 7
    elsewhere = fill(2, market_id="elsewhere", fee_cents=None)
    assert book.book_fill(elsewhere).fee_cents == 0


def test_cash_of_earlier_runs_counts_for_the_event_only():
    book = listed()
    book.carry(EVENT, Cents(-700))
    book.book_fill(fill(1, fee_cents=Cents(0)))
    assert book.event_cash_cents(EVENT) == -900
    assert book.cash_flow_cents == -200


def test_opening_shares_cost_nothing_and_pay_out():
    book = listed()
    book.take_over(MARKET, EVENT, Outcome.NO, 7)
    assert book.taken_over(MARKET) == (0, 7)
    assert book.settle(MARKET, Outcome.NO) == 700
    assert book.settle(MARKET, Outcome.YES) == 0
    assert book.event_cash_cents(EVENT) == 700


def test_a_forgotten_event_stays_in_the_profit():
    book = listed()
    book.book_fill(fill(1, fee_cents=Cents(0)))
    book.settle(MARKET, Outcome.YES)
    before = book.own_cash_cents
    book.forget_event(EVENT)
    assert book.own_cash_cents == before == 300
    assert book.holdings(MARKET) == (0, 0)


@pytest.mark.parametrize(("yes", "no"), [(0, 0), (3, 0), (0, 4), (3, 4)])
def test_pairs_without_a_mark_are_worth_a_dollar(yes, no):
    book = listed()
    book.take_over(MARKET, EVENT, Outcome.YES, yes)
    book.take_over(MARKET, EVENT, Outcome.NO, no)
    assert book.value_cents({}) == 100 * min(yes, no)
    assert book.value_cents({MARKET: 30.0}) == 30 * yes + 70 * no


def test_markets_of_another_series_have_no_part_in_the_profit():
    book = listed()
    book.book_fill(fill(1, market_id="m", event_ticker=Ticker("OTHER"), fee_cents=Cents(0)))
    assert (book.cash_flow_cents, book.own_cash_cents) == (-200, 0)
    assert book.value_cents({"m": 50.0}) == 0


def test_fills_of_closed_orders_are_forgotten():
    book = listed()
    for number in (1, 2):
        book.book_fill(fill(number, order_id=OrderId(str(number))))
    book.trim(3, [OrderId("2")])
    assert [book.filled_qty(OrderId(each)) for each in "12"] == [0, 5]
