"""Claims about joining facts of one order: nothing is unlearned, in whatever order they come."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from bot.core.orders.snapshot import EARLIER, OrderSnapshot
from tests.builders.bot import made
from venue.wire import model
from venue.wire.money import Price, Qty

FACTS = st.builds(
    OrderSnapshot,
    st.integers(EARLIER, 3),
    st.sampled_from([Price(39), Price(40), Price(41)]),
    st.integers(0, 12).map(Qty),
    st.integers(0, 12).map(Qty),
    st.booleans(),
)


def fact(epoch=0, price=40, size=10, filled=0, ended=False) -> OrderSnapshot:
    """A fact about an order of ten shares at 40."""
    return OrderSnapshot(epoch, Price(price), Qty(size), Qty(filled), ended)


def knows_no_less(after: OrderSnapshot, before: OrderSnapshot) -> bool:
    newer = after.epoch > before.epoch or (
        after.epoch == before.epoch and (after.size, after.price) <= (before.size, before.price)
    )
    return newer and after.filled >= before.filled and after.ended >= before.ended


@given(FACTS, FACTS, FACTS)
def test_order_snapshots_join_to_one_result_in_any_order_and_on_repetition(one, two, three):
    assert one.join(two) == two.join(one)
    assert one.join(two).join(three) == one.join(two.join(three))
    assert one.join(two).join(two) == one.join(two)


@given(FACTS, FACTS)
def test_a_join_knows_no_less_than_either_fact(one, other):
    both = one.join(other)
    assert knows_no_less(both, one)
    assert knows_no_less(both, other)


@pytest.mark.parametrize(
    ("known", "heard", "joined"),
    [
        (fact(filled=3), fact(size=8), fact(size=8, filled=3)),
        (fact(filled=3), fact(1, 45, 12), fact(1, 45, 12, 3)),
        (fact(2, 45, 12), fact(EARLIER, 40, 5, 4), fact(2, 45, 12, 4)),
        (fact(2, 45, 12), fact(EARLIER, ended=True), fact(2, 45, 12, ended=True)),
    ],
    ids=["more filled and less size win", "a later write", "fills of before", "an end of before"],
)
def test_a_join_takes_the_newest_write_and_all_fills(known, heard, joined):
    assert known.join(heard) == joined


@pytest.mark.parametrize(
    ("known", "remaining", "unfilled"),
    [
        (fact(filled=2).join(fact(EARLIER, filled=6)), 4, 4),
        (fact(size=3, filled=5), 0, 0),
        (fact(filled=4, ended=True), 0, 6),
    ],
    ids=["fills reduce it", "never below zero", "nothing of an ended order"],
)
def test_the_remaining_size_follows_from_size_fills_and_end(known, remaining, unfilled):
    assert (known.remaining, known.unfilled) == (remaining, unfilled)


def test_a_row_has_the_size_that_it_shows_filled_and_remaining():
    row = made.shown(made.own(), price=45, filled=3, remaining=4)
    assert OrderSnapshot.from_body(row, 2) == fact(2, 45, 7, 3)


def test_only_filled_canceled_and_expired_rows_are_ended():
    own = made.own()
    ended = {
        status
        for status in model.OrderStatus
        if OrderSnapshot.from_body(made.shown(own, status=status), 0).ended
    }
    assert ended == {
        model.OrderStatus.FILLED,
        model.OrderStatus.CANCELED,
        model.OrderStatus.EXPIRED,
    }


def test_the_venues_update_time_decides_nothing():
    row = made.shown(made.own())
    later = replace(row, updated_at="2029-01-01T00:00:00.000000000Z")
    assert OrderSnapshot.from_body(later, 1) == OrderSnapshot.from_body(row, 1) == fact(1)


@pytest.mark.parametrize(
    ("other", "contradicts"),
    [
        (fact(price=41), True),
        (fact(price=39), True),
        (fact(size=11), True),
        (fact(size=9), False),
        (fact(filled=4), False),
    ],
)
def test_another_price_or_a_larger_size_contradicts(other, contradicts):
    assert fact().contradicts(other) is contradicts


def test_a_response_without_a_change_begins_a_new_epoch():
    assert fact(3, 45, 12, 4, True).after_answer() == fact(4, 45, 12, 4, True)
