"""Claims about settlement: the balance moves by an outcome of the event, or it is unallocated."""

import itertools

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.core.account.portfolio import Portfolio
from bot.core.account.settlement import Settlement, Waiting, outcomes
from bot.core.strike import strike_value
from tests.builders.bot import made
from tests.builders.bot.books import CENTS, OTHER, Books, rung
from tests.builders.bot.made import EVENT, LAG_NS, MARKET
from venue.wire import model
from venue.wire.money import Cents, Outcome
from venue.wire.names import MarketId, Ticker

YES, NO = Outcome.YES, Outcome.NO
SECOND_EVENT = Ticker("ACME-VAL-27Q2")


def holding(*held: tuple[MarketId, Outcome, int]) -> Books:
    """Books that hold these shares from the opening on, as a later list has shown."""
    books = Books()
    books.held = {(market_id, outcome): qty for market_id, outcome, qty in held}
    books.opened().audit()
    return books


def settled(books: Books) -> tuple[MarketId, ...]:
    """The rungs whose winners the next audits show."""
    return sum((books.audit().decided for _ in range(4)), ())


@pytest.mark.parametrize("winner", [YES, NO])
@pytest.mark.parametrize("held", [YES, NO])
def test_a_resolved_rung_settles_by_the_move_of_the_balance(winner, held):
    books = holding((MARKET, held, 5))
    books.resolve(MARKET, winner)
    assert settled(books) == (MARKET,)
    assert books.of.settlement.known_winner(MARKET) is winner
    assert books.of.holdings(MARKET) == (0, 0)
    assert books.of.event_cash_cents(EVENT, [MARKET]) == 500 * (held is winner)
    assert books.of.difference_cents == 0
    assert not books.out.findings


def test_a_pair_settles_without_showing_a_winner():
    books = holding((MARKET, YES, 5), (MARKET, NO, 5))
    books.resolve(MARKET, YES)
    assert settled(books) == ()
    assert books.of.settlement.known_winner(MARKET) is None
    assert books.of.holdings(MARKET) == (0, 0)
    assert books.of.difference_cents == 0


def test_a_payout_that_fits_no_outcome_of_the_ladder_is_unallocated():
    books = holding((MARKET, YES, 2), (OTHER, YES, 3))
    books.resolve(MARKET, NO)
    books.resolve(OTHER, YES)  # a higher strike cannot pay YES where a lower one pays NO
    for _ in range(30):
        books.audit()
    assert books.noted("unallocated_settlement") == [{"event": EVENT, "cents": 300}]
    assert books.of.unallocated_cents == 300
    assert books.of.event_cash_cents(EVENT, [MARKET, OTHER]) == 300
    assert not books.stopped
    assert not books.blocked
    assert books.of.difference_cents == 0


def test_a_known_winner_rules_out_outcomes_of_the_other_rungs():
    books = holding((MARKET, YES, 3), (OTHER, YES, 3))
    books.resolve(OTHER, YES)
    assert settled(books) == (OTHER,)
    books.resolve(MARKET, NO)
    for _ in range(30):
        books.audit()
    assert books.of.unallocated_cents == 0
    assert len(books.noted("unallocated_settlement")) == 1


def test_two_events_settle_together_only_if_their_sum_has_one_split():
    third = MarketId("aaaaaaaa-0000-4000-8000-000000000003")
    for qty, tells in ((7, True), (5, False)):
        books = Books()
        books.of.settlement.list_market(rung(third, 0, SECOND_EVENT), SECOND_EVENT)
        books.held = {(MARKET, YES): 5, (third, YES): qty}
        books.opened().audit()
        books.resolve(MARKET, YES)
        books.resolve(third, NO)
        for _ in range(30):
            books.audit()
        assert (books.of.settlement.known_winner(MARKET) is YES) is tells
        assert bool(books.noted("unallocated_settlement")) is not tells
        assert books.of.difference_cents == 0


def test_a_payout_that_may_be_in_the_opening_balance_shows_no_winner():
    books = Books()
    books.held = {(MARKET, YES): 5}
    books.opened()
    books.resolve(MARKET, NO)
    for _ in range(30):
        books.audit()
    assert books.of.settlement.known_winner(MARKET) is None
    assert books.of.holdings(MARKET) == (0, 0)
    assert books.of.difference_cents == 0


def test_a_missing_position_differs_once_the_series_shows_no_resolution():
    books = holding((MARKET, YES, 5))
    del books.held[MARKET, YES]
    books.audit()
    assert books.of.series_wanted
    assert not books.out.findings
    books.of.on_series(books.now_ns + 2 * LAG_NS)
    books.audit()
    assert "position_differs" in books.out.findings


def test_a_resolution_that_is_taken_back_settles_nothing():
    books = holding((MARKET, YES, 5))
    books.of.settlement.on_resolved(MARKET, books.now_ns)
    active = msgspec.structs.replace(rung(MARKET, 0), state=model.MarketState.ACTIVE)
    books.of.settlement.state_shown(active, books.now_ns + 1, books.now_ns + 1)
    books.audit(3)
    assert books.of.holdings(MARKET) == (5, 0)
    assert MARKET not in books.of.settlement.resolved_ns


def test_cash_is_not_audited_while_a_resolved_rung_waits_for_its_payout():
    books = holding((MARKET, YES, 5))
    books.of.settlement.on_resolved(MARKET, books.now_ns)
    books.cents += 500  # the balance is newer than the positions
    books.audit(2)
    assert not books.noted("account_transfer")
    assert not books.blocked
    del books.held[MARKET, YES]
    assert settled(books) == (MARKET,)
    assert books.cents == CENTS + 500


_SHARES = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=1, max_size=5)


@settings(max_examples=60, deadline=None)
@given(shares=_SHARES, cut=st.integers(0, 5))
def test_inferred_winners_are_the_true_ones_and_fit_the_cash(shares, cut):
    book = Portfolio()
    settlement = Settlement(book)
    ids = [MarketId(f"m{number}") for number in range(len(shares))]
    waiting = []
    for number, (market_id, (yes, no)) in enumerate(zip(ids, shares, strict=True)):
        market = rung(market_id, number)
        settlement.list_market(market, EVENT)
        strike = strike_value(market.strike_value, market.strike_unit)
        waiting.append(Waiting(market_id, EVENT, strike, yes, no))
    won = {key: YES if at < cut else NO for at, key in enumerate(ids)}
    cents = sum(each.pays(won[each.market_id]) for each in waiting)
    found = settlement.winners(waiting, cents)
    assert found is not None
    first, certain = found
    assert sum(each.pays(first[each.market_id]) for each in waiting) == cents
    assert certain.items() <= won.items()
    assert len(list(outcomes(waiting))) == len(ids) + 1
    every = (
        dict(zip(ids, each, strict=True)) for each in itertools.product(Outcome, repeat=len(ids))
    )
    ladders = [each for each in every if list(each.values()) == sorted(each.values(), reverse=True)]
    assert len(ladders) == len(ids) + 1


def test_a_late_fill_of_a_settled_rung_is_paid_out_at_once():
    books = holding((MARKET, YES, 5))
    books.resolve(MARKET, YES)
    settled(books)
    late = made.fill(made.own(), 9, 2, fee_cents=0)
    books.cents += 2 * 60
    books.listed.insert(0, late)
    books.audit(2)
    assert books.of.event_cash_cents(EVENT, [MARKET]) == Cents(500 + 120)
    assert books.of.difference_cents == 0
