"""Claims about the book alone: who is next, what a level holds, and nothing about cash."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from venue.engine.orderbook import BookEntry, HalfBook
from venue.wire.money import BookSide

BOTH = pytest.mark.parametrize("side", list(BookSide))


class Named(BookEntry):
    """An entry with a name."""

    __slots__ = ("name",)

    def __init__(self, name, remaining):
        super().__init__(remaining)
        self.name = name


def half_with(side, *rows):
    """A half and its entries: (price, size) in order of arrival."""
    half = HalfBook(side)
    entries = []
    for name, (price, size) in enumerate(rows):
        entries.append(Named(name, size))
        half.add_entry(entries[-1], price)
    return half, entries


def line(half, side):
    """Names in the order in which they would be served."""
    end = 1 if side is BookSide.BID else 99
    return [entry.name for level in half.levels_within(end) for entry in level]


@pytest.mark.parametrize(
    ("side", "limit", "reached"),
    [
        (BookSide.BID, 50, True),
        (BookSide.BID, 51, False),
        (BookSide.ASK, 50, True),
        (BookSide.ASK, 49, False),
    ],
)
def test_a_limit_reaches_its_own_price_and_no_worse_one(side, limit, reached):
    half, _ = half_with(side, (50, 1))
    assert (half.first_within(limit) is not None) is reached


@BOTH
def test_an_order_that_left_a_level_comes_back_at_its_end(side):
    half, entries = half_with(side, (50, 1), (50, 1))
    half.remove(entries[0])
    half.add_entry(entries[0], 50)
    assert line(half, side) == [1, 0]


@BOTH
def test_an_order_that_moved_to_another_level_and_left_changes_no_other(side):
    half, entries = half_with(side, (50, 1), (50, 1))
    half.remove(entries[1])
    half.add_entry(entries[1], 60 if side is BookSide.BID else 40)
    half.remove(entries[1])
    assert line(half, side) == [0]
    assert half.best_price() == 50


@pytest.mark.parametrize("price", [1, 99])
@BOTH
def test_prices_1_and_99_are_levels_like_any_other(side, price):
    half, _ = half_with(side, (price, 3))
    assert half.best_price() == price
    assert [(level.price, level.size) for level in half.levels()] == [(price, 3)]


moves = st.lists(
    st.tuples(st.sampled_from(["add", "remove", "shrink"]), st.integers(1, 99), st.integers(1, 9)),
    max_size=60,
)


@given(st.sampled_from(list(BookSide)), moves)
def test_a_side_of_the_book_behaves_as_a_list_sorted_by_price_and_arrival(side, rows):
    half, plain = HalfBook(side), []
    for turn, (move, price, number) in enumerate(rows):
        if move == "add" or not plain:
            entry = Named(turn, number)
            half.add_entry(entry, price)
            plain.append((-price if side is BookSide.BID else price, turn, entry))
            continue
        chosen = plain[(price * 7 + number) % len(plain)]
        if move == "remove" or chosen[2].remaining <= number:
            plain.remove(chosen)
            if move == "remove":
                half.remove(chosen[2])
            else:
                half.shrink(chosen[2], chosen[2].remaining)
        else:
            half.shrink(chosen[2], number)
        ordered = sorted(plain, key=lambda row: row[:2])
        assert line(half, side) == [turn for _, turn, _ in ordered]
        sizes = {}
        for key, _, entry in ordered:
            sizes[abs(key)] = sizes.get(abs(key), 0) + entry.remaining
        assert [(level.price, level.size) for level in half.levels()] == list(sizes.items())
        assert half.best_price() == (abs(ordered[0][0]) if ordered else None)
