"""Claims about the place of an order that was never sent, against a queue that is known whole."""

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.lab.exchange.queue_model import (
    CAUTIOUS_MODELS,
    QueueModel,
    QueuePosition,
)

Step = tuple[str, int, int]
"""What is shown, its shares, and its time."""
PLACES: dict[str, tuple[tuple[int, int], list[Step], int, int]] = {
    "prints consume the queue ahead": ((10, 1), [("print", 6, 2)], 4, 0),
    "then prints fill us": ((10, 1), [("print", 6, 2), ("print", 6, 3)], 0, 2),
    "a traded share is no cancel": (
        (10, 1),
        [("book", 20, 2), ("print", 4, 3), ("book", 16, 3)],
        6,
        0,
    ),
    "a print after its book is no cancel": (
        (10, 1),
        [("book", 20, 2), ("book", 16, 3), ("print", 4, 3)],
        6,
        0,
    ),
    "a late print of the whole level": ((10, 1), [("book", 0, 3), ("print", 10, 2)], 0, 0),
    "a print older than the first book": ((10, 5), [("print", 50, 5)], 10, 0),
    "the queue is at most the book": ((10, 1), [("book", 3, 2)], 3, 0),
    "later orders are behind us": ((10, 1), [("book", 50, 2)], 10, 0),
}


@pytest.mark.parametrize("bound", CAUTIOUS_MODELS)
@pytest.mark.parametrize(("first", "steps", "ahead", "filled"), PLACES.values(), ids=PLACES)
def test_prints_consume_the_queue_ahead_before_they_fill_us(first, steps, ahead, filled, bound):
    place, reached = QueuePosition(*first, bound), 0
    for kind, size, ts_ns in steps:
        if kind == "print":
            reached += place.on_print(size, ts_ns)
        else:
            place.on_book(size, ts_ns)
    assert (place.ahead, reached) == (ahead, filled)


def test_pessimistically_a_print_after_two_books_of_its_time_does_not_fill_us():
    place = QueuePosition(16, 10, QueueModel.PESSIMISTIC)
    place.on_book(5, 11)  # eleven of the sixteen have traded
    place.on_book(24, 11)
    assert place.on_print(11, 11) == 0
    assert place.ahead == 5


def test_cancels_are_behind_us_pessimistically_and_partly_ahead_by_expectation():
    averse, likely = (QueuePosition(10, 1, bound) for bound in CAUTIOUS_MODELS)
    for place in (averse, likely):
        place.on_book(20, 2)
        place.on_book(16, 3)
    assert averse.ahead == 10
    assert likely.ahead == 10 - 4 * 10**3 / (10**3 + 10**3)


class Queue:
    """A level with the shares of others before and behind one place, and a bookkeeping of its own:
    every share is one entry, ours is where it says."""

    def __init__(self, before: int, seed: int) -> None:
        self.before, self.behind = before, 0
        self.dice = random.Random(seed)
        self.beyond = 0

    def trade(self, size: int) -> int:
        size = min(size, self.before + self.behind)
        eaten = min(self.before, size)
        self.before -= eaten
        reached = size - eaten
        self.beyond += reached
        self.behind -= reached
        return size

    def cancel(self, size: int) -> None:
        for _ in range(min(size, self.before + self.behind)):
            if self.dice.randrange(self.before + self.behind) < self.before:
                self.before -= 1
            else:
                self.behind -= 1


@given(
    st.integers(0, 30),
    st.lists(
        st.tuples(st.sampled_from(["trade", "cancel", "join"]), st.integers(1, 12), st.booleans()),
        max_size=30,
    ),
    st.integers(0, 99),
)
def test_the_pessimistic_queue_position_is_never_ahead_of_the_true_one(before, steps, seed):
    """Nor has more reached it, whichever of print and book comes first."""
    queue, place, reached = Queue(before, seed), QueuePosition(before, 0, QueueModel.PESSIMISTIC), 0
    for ts_ns, (what, size, print_first) in enumerate(steps, 1):
        if what == "join":
            queue.behind += size
        elif what == "cancel":
            queue.cancel(size)
        else:
            size = queue.trade(size)
            if size and print_first:
                reached += place.on_print(size, ts_ns)
            place.on_book(queue.before + queue.behind, ts_ns)
            if size and not print_first:
                reached += place.on_print(size, ts_ns)
        place.on_book(queue.before + queue.behind, ts_ns)
        assert place.ahead >= queue.before
        assert reached <= queue.beyond


@given(
    st.integers(0, 30),
    st.lists(st.tuples(st.integers(0, 40), st.integers(0, 12)), max_size=30),
)
def test_the_expected_queue_position_is_never_behind_the_pessimistic_one(before, steps):
    averse, likely = (QueuePosition(before, 0, bound) for bound in CAUTIOUS_MODELS)
    for ts_ns, (others, size) in enumerate(steps, 1):
        for place in (averse, likely):
            if size:
                place.on_print(size, ts_ns)
            place.on_book(others, ts_ns)
        assert 0 <= likely.ahead <= averse.ahead + 1e-9
        assert math.isfinite(likely.ahead)


def test_queue_model_names_of_version_0_1_are_accepted():
    assert QueueModel("averse") is QueueModel.PESSIMISTIC
    assert QueueModel("kind") is QueueModel.OPTIMISTIC
    assert QueueModel("likely") is QueueModel.EXPECTED
