"""Claims about joining facts of one order: nothing is unlearned, in whatever order they come."""

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
    """Whether everything said before is still said, in words of its own."""
    newer = after.epoch > before.epoch or (
        after.epoch == before.epoch and (after.size, after.price) <= (before.size, before.price)
    )
    return newer and after.filled >= before.filled and after.ended >= before.ended


@given(FACTS, FACTS)
def test_it_does_not_matter_which_of_two_facts_comes_first(one, other):
    assert one.join(other) == other.join(one)


@given(FACTS, FACTS, FACTS)
def test_it_does_not_matter_how_three_facts_are_joined(one, two, three):
    assert one.join(two).join(three) == one.join(two.join(three))


@given(FACTS, FACTS)
def test_a_fact_heard_twice_says_nothing_new(one, other):
    assert one.join(one) == one
    assert one.join(other).join(other) == one.join(other)


@given(FACTS, FACTS)
def test_a_join_knows_no_less_than_either_fact(one, other):
    both = one.join(other)
    assert knows_no_less(both, one)
    assert knows_no_less(both, other)


@given(FACTS, FACTS, FACTS)
def test_who_knew_more_knows_no_less_after_both_hear_the_same(one, more, news):
    assert knows_no_less(one.join(more).join(news), one.join(news))


@given(FACTS, FACTS)
def test_within_an_epoch_what_works_never_grows_by_hearing_more(one, other):
    if one.epoch == other.epoch:
        assert one.join(other).remaining <= min(one.remaining, other.remaining)


def test_at_one_epoch_the_fact_with_more_filled_and_less_size_wins():
    assert fact(filled=3).join(fact(size=8)) == fact(size=8, filled=3)


def test_a_later_epoch_brings_its_price_and_size_and_keeps_the_fills():
    assert fact(filled=3).join(fact(epoch=1, price=45, size=12)) == fact(1, 45, 12, 3)


def test_a_fact_of_an_earlier_epoch_adds_fills_and_an_end_and_nothing_else():
    known = fact(epoch=2, price=45, size=12)
    old = fact(EARLIER, price=40, size=5, filled=4)
    assert known.join(old) == fact(2, 45, 12, 4)
    assert known.join(fact(EARLIER, ended=True)).ended


def test_fills_heard_later_are_taken_off_what_works():
    assert fact(filled=2).join(fact(EARLIER, filled=6)).remaining == 4


def test_more_fills_than_the_size_leave_nothing_and_not_less():
    assert fact(size=3, filled=5).unfilled == 0
    assert fact(size=3, filled=5).remaining == 0


def test_nothing_works_of_an_ended_order_whatever_is_unfilled():
    ended = fact(filled=4, ended=True)
    assert (ended.remaining, ended.unfilled) == (0, 6)


def test_a_row_counts_what_it_shows_filled_and_remaining():
    row = made.shown(made.own(), price=45, filled=3, remaining=4)
    assert OrderSnapshot.from_body(row, 2) == fact(2, 45, 7, 3)


def test_only_a_terminal_status_shows_an_end():
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


def test_the_venues_own_instants_decide_nothing():
    row = made.shown(made.own())
    later = replace(row, updated_at="2029-01-01T00:00:00.000000000Z")
    assert OrderSnapshot.from_body(later, 1) == OrderSnapshot.from_body(row, 1) == fact(1)


def test_another_price_or_a_larger_size_contradicts_and_a_smaller_one_does_not():
    assert fact().contradicts(fact(price=41))
    assert fact().contradicts(fact(price=39))
    assert fact().contradicts(fact(size=11))
    assert not fact().contradicts(fact(size=9))
    assert not fact().contradicts(fact(filled=4))


def test_an_answer_that_changed_nothing_begins_a_new_epoch_with_the_same_facts():
    assert fact(3, 45, 12, 4, True).after_answer() == fact(4, 45, 12, 4, True)
