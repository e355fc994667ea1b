"""Claims about which fills are booked: told by id, or by a floor below the newest, for ever."""

import msgspec
import pytest

from bot.core.account.fillids import FillIds, UnbookableFill, created_ns_of
from tests.bot.test_bot_portfolio import fill
from venue.wire import model


def booked(*at_ns: int, kept: int = 2, kept_ns: int = 0, most: int = 1_000) -> FillIds:
    """Fills of these instants, each named by its own."""
    ids = FillIds(kept, kept_ns, most)
    for at in at_ns:
        ids.add(str(at), at)
    return ids


def of(at_ns: int, name: str = "") -> model.Fill:
    return fill(name or str(at_ns), 1, 40, at_ns=at_ns)


def unreadable(name: str) -> model.Fill:
    return msgspec.structs.replace(of(5, name), created_at="yesterday")


def test_a_fill_is_known_by_its_id_whatever_its_time():
    ids = booked(10)
    assert ids.has(of(10))
    assert ids.has(of(99, "10"))
    assert not ids.has(of(10, "another"))


def test_before_anything_is_trimmed_no_time_says_that_a_fill_is_booked():
    ids = booked(10, 20)
    assert not ids.is_below_floor(0)
    assert not ids.knows("1", 1)


def test_nothing_is_trimmed_before_twice_as_many_have_gathered():
    ids = booked(1, 2, 3, 4)
    assert not ids.trim()
    assert ids.count == 4
    ids.add("5", 5)
    assert ids.trim()
    assert ids.count == 2


def test_the_floor_is_the_newest_time_of_those_that_went():
    ids = booked(1, 2, 3, 4, 5)
    assert ids.trim()
    assert [at for at in range(7) if ids.is_below_floor(at)] == [0, 1, 2, 3]
    assert [at for at in range(1, 7) if ids.has(of(at, "late"))] == [1, 2, 3]
    assert [at for at in range(1, 7) if ids.has(of(at))] == [1, 2, 3, 4, 5]


def test_equal_times_stay_on_one_side_of_the_floor_together():
    ids = FillIds(2, 0, 1_000)
    for number, at in enumerate((1, 4, 4, 4, 5)):
        ids.add(str(number), at)
    assert ids.trim()
    assert ids.is_below_floor(4)
    assert ids.count == 1


def test_a_single_old_fill_goes_below_the_floor_by_itself():
    ids = FillIds(1, 2, 1_000)
    for at in (1, 8, 9):
        ids.add(str(at), at)
    assert ids.trim()
    assert ids.is_below_floor(1)
    assert not ids.is_below_floor(2)
    assert ids.count == 2


def test_what_is_no_older_than_the_span_keeps_its_id_and_the_next_trim_waits_for_twice_that():
    ids = FillIds(1, 100, 1_000)
    for at in range(10):
        ids.add(str(at), at)
    assert ids.trim()
    assert ids.count == 10
    assert not ids.is_below_floor(0)
    for at in range(10, 20):
        ids.add(str(at), at)
        assert not ids.trim()
    ids.add("20", 20)
    assert ids.trim()


def test_no_more_than_the_most_are_kept_however_new():
    ids = booked(*range(10), kept=1, kept_ns=100, most=4)
    assert ids.trim()
    assert ids.count == 4
    assert ids.is_below_floor(5)
    assert not ids.is_below_floor(6)


def test_unknown_are_those_that_are_neither_known_by_id_nor_below_the_floor_in_their_order():
    ids = booked(1, 2, 3, 4, 5)
    ids.trim()
    rows = [of(9), of(5), of(4, "new"), of(2, "old"), of(8)]
    assert ids.unknown(rows, ()) == [of(9), of(4, "new"), of(8)]


def test_a_fill_that_is_sought_is_unknown_though_it_lies_below_the_floor():
    ids = booked(1, 2, 3, 4, 5)
    ids.trim()
    assert ids.unknown([of(2, "old"), of(1, "older")], {"old"}) == [of(2, "old")]
    assert ids.unknown([of(5)], {"5"}) == []


def test_a_fill_whose_time_cannot_be_read_is_unknown_unless_its_id_is_known():
    ids = booked(1, 2, 3, 4, 5)
    ids.trim()
    assert ids.unknown([unreadable("x"), unreadable("5")], ()) == [unreadable("x")]
    with pytest.raises(UnbookableFill, match="fill x"):
        ids.has(unreadable("x"))


@pytest.mark.parametrize(
    ("at_ns", "ends"),
    [
        ((9, 6, 3), True),  # the oldest of them lies below the floor
        ((9, 6, 4), False),  # it lies above
        ((3, 3, 3), False),  # times that do not tell an order
        ((2, 1, 3), False),  # oldest first
        ((2, 9, 1), True),
    ],
)
def test_a_page_reaches_back_to_what_is_booked_when_its_last_fill_lies_below_the_floor(at_ns, ends):
    ids = booked(1, 2, 3, 4, 5)
    ids.trim()
    assert ids.end_below_floor([of(at) for at in at_ns]) is ends


def test_a_page_with_an_unreadable_time_at_an_end_tells_so():
    ids = booked(1, 2, 3, 4, 5)
    ids.trim()
    for rows in ([of(9), unreadable("x")], [unreadable("x"), of(1)]):
        with pytest.raises(UnbookableFill, match="fill x"):
            ids.end_below_floor(rows)


def test_the_time_of_a_fill_is_its_creation_by_the_venue():
    assert created_ns_of(of(123)) == 123
