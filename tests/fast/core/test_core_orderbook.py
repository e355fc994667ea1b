"""Claims about the book alone: who is next, what a level holds, and nothing about cash."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from venue.engine.orderbook import BookEntry, HalfBook, OrderBook
from venue.wire.money import BookSide

BOTH = pytest.mark.parametrize("side", list(BookSide))


class Named(BookEntry):
    """An entry that tells which one it is."""

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


def line(half):
    """Names in the order in which they would be served."""
    end = 1 if half._highest_first else 99
    return [entry.name for level in half.levels_within(end) for entry in level]


@BOTH
def test_an_empty_half_has_no_best_price_and_nobody_next(side):
    half = HalfBook(side)
    assert half.best_price() is None
    assert half.first_within(50) is None
    assert list(half.levels()) == []


@pytest.mark.parametrize(("side", "best"), [(BookSide.BID, 60), (BookSide.ASK, 40)])
def test_the_best_bid_is_the_highest_and_the_best_ask_the_lowest(side, best):
    half, _ = half_with(side, (50, 1), (40, 1), (60, 1))
    assert half.best_price() == best


@pytest.mark.parametrize(
    ("side", "limit", "reached"),
    [
        (BookSide.BID, 50, True),
        (BookSide.BID, 51, False),
        (BookSide.ASK, 50, True),
        (BookSide.ASK, 49, False),
    ],
)
def test_a_limit_reaches_its_own_price_and_nothing_worse(side, limit, reached):
    half, _ = half_with(side, (50, 1))
    assert (half.first_within(limit) is not None) is reached


@BOTH
@pytest.mark.parametrize("leaving", [0, 1, 2])
def test_whoever_leaves_a_queue_the_others_keep_their_order(side, leaving):
    half, entries = half_with(side, (50, 1), (50, 2), (50, 3))
    half.remove(entries[leaving])
    assert line(half) == [name for name in range(3) if name != leaving]
    assert half.level(50).size == 6 - (leaving + 1)


@BOTH
def test_an_entry_that_left_may_come_back_at_the_end(side):
    half, entries = half_with(side, (50, 1), (50, 1))
    half.remove(entries[0])
    half.add_entry(entries[0], 50)
    assert line(half) == [1, 0]


@BOTH
def test_an_entry_that_moved_to_the_front_of_another_price_leaves_it_whole(side):
    half, entries = half_with(side, (50, 1), (50, 1))
    half.remove(entries[1])
    half.add_entry(entries[1], 60 if side is BookSide.BID else 40)
    half.remove(entries[1])
    assert line(half) == [0]
    assert half.best_price() == 50


@BOTH
def test_shrinking_keeps_the_place(side):
    half, entries = half_with(side, (50, 5), (50, 5))
    half.shrink(entries[0], 4)
    assert line(half) == [0, 1]
    assert (entries[0].remaining, half.level(50).size) == (1, 6)


@BOTH
def test_shrinking_to_nothing_leaves_the_book(side):
    half, entries = half_with(side, (50, 5))
    half.shrink(entries[0], 5)
    assert entries[0].level is None
    assert half.best_price() is None


@pytest.mark.parametrize("price", [1, 99])
@BOTH
def test_the_outermost_prices_are_levels_like_any_other(side, price):
    half, _ = half_with(side, (price, 3))
    assert half.best_price() == price
    assert [(level.price, level.size) for level in half.levels()] == [(price, 3)]


def test_the_halves_of_a_book_are_its_own():
    book = OrderBook()
    book.half(BookSide.BID).add_entry(Named("bid", 1), 40)
    assert book.bids.best_price() == 40
    assert book.asks.best_price() is None


moves = st.lists(
    st.tuples(st.sampled_from(["add", "remove", "shrink"]), st.integers(1, 99), st.integers(1, 9)),
    max_size=60,
)


@given(st.sampled_from(list(BookSide)), moves)
def test_a_half_serves_as_a_list_sorted_by_price_and_arrival(side, rows):
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
        assert line(half) == [turn for _, turn, _ in ordered]
        sizes = {}
        for key, _, entry in ordered:
            sizes[abs(key)] = sizes.get(abs(key), 0) + entry.remaining
        assert [(level.price, level.size) for level in half.levels()] == list(sizes.items())
        assert half.best_price() == (abs(ordered[0][0]) if ordered else None)
