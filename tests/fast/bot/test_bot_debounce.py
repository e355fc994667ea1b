"""Debounced quotes: steps back apply at once, bolder prices after they have lasted a while."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.core.planning.diff import QuoteDebouncer, by_side
from bot.strategy.api import Quote
from tests.builders.bot.planned import ASK, BID
from venue.wire.money import BookSide, Price, Qty

WINDOW = 500


def quote(price: int, qty: int = 10, side: BookSide = BID, limit: int | None = None) -> Quote:
    return Quote(side, Price(price), Qty(qty), None if limit is None else Price(limit))


def debounced(*wishes: tuple[int, list[Quote]], side: BookSide = BID) -> list[Quote]:
    """The debounced quotes after the last of these wishes, each made at its time."""
    steady = QuoteDebouncer(side, WINDOW)
    out: list[Quote] = []
    for at, wanted in wishes:
        out, _ = steady.debounce(wanted, at)
    return out


@pytest.mark.parametrize(("side", "from_", "to"), [(BID, 41, 40), (ASK, 59, 60)])
def test_a_step_back_applies_at_once(side, from_, to):
    steady = debounced((0, [quote(from_, side=side)]), (9, [quote(to, side=side)]), side=side)
    assert steady == [quote(to, side=side)]


@pytest.mark.parametrize(("side", "from_", "to"), [(BID, 40, 41), (ASK, 60, 59)])
def test_a_bolder_price_waits_and_is_the_price_limit_meanwhile(side, from_, to):
    first, bolder = (0, [quote(from_, side=side)]), [quote(to, side=side)]
    early = debounced(first, (2_000, bolder), (2_000 + WINDOW - 1, bolder), side=side)
    assert early == [quote(from_, side=side, limit=to)]
    assert debounced(first, (2_000, bolder), (2_000 + WINDOW, bolder), side=side) == bolder


def test_the_debouncer_returns_when_a_waiting_quote_may_apply():
    steady = QuoteDebouncer(BID, WINDOW)
    assert steady.debounce([quote(40)], 0)[1] is None
    assert steady.debounce([quote(41)], 2_000)[1] == 2_000 + WINDOW


@pytest.mark.parametrize(
    ("first", "then", "out"),
    [
        (quote(40), quote(41, limit=43), quote(40, limit=43)),
        (quote(40, 10), quote(40, 20), quote(40, 10, limit=40)),
        (quote(40, 10), quote(40, 4), quote(40, 4)),
    ],
    ids=["a price limit applies at once", "a larger size waits", "a smaller size does not"],
)
def test_only_a_bolder_price_or_a_larger_size_waits(first, then, out):
    assert debounced((0, [first]), (9, [then])) == [out]


def test_a_level_that_comes_back_waits():
    assert debounced((0, [quote(40)]), (9, []), (18, [quote(40)])) == []


def test_after_a_reset_the_next_quotes_apply_at_once():
    steady = QuoteDebouncer(BID, WINDOW)
    steady.debounce([quote(40)], 0)
    steady.reset()
    assert steady.debounce([quote(45)], 1)[0] == [quote(45)]


def test_without_a_window_all_quotes_apply_at_once():
    steady = QuoteDebouncer(BID, 0)
    steady.debounce([quote(40)], 0)
    assert steady.debounce([quote(45), quote(44)], 1) == ([quote(45), quote(44)], None)


def test_quotes_are_split_by_side_with_the_best_price_first():
    bids, asks = [quote(41), quote(40)], [quote(60, side=ASK), quote(61, side=ASK)]
    assert by_side([asks[1], bids[1], asks[0], bids[0]]) == (bids, asks)


def test_repeated_quotes_wait_as_before():
    steady, wanted = QuoteDebouncer(BID, WINDOW), [quote(45), quote(41)]
    steady.debounce([quote(40)], 0)
    first, _ = steady.debounce(wanted, 1)
    again, _ = steady.debounce([*wanted], 2)
    assert first == [Quote(BID, Price(40), Qty(10), Price(45))]
    assert again == first


def test_a_price_that_swings_twenty_times_a_second_stays_at_the_safer_one():
    steady = QuoteDebouncer(BID, WINDOW)
    for swing in range(200):
        out, _ = steady.debounce([quote(40 + swing % 2)], 50 * swing)
        if swing:
            assert [each.price for each in out] == [40]


wishes = st.lists(
    st.tuples(
        st.integers(0, 700),
        st.lists(st.tuples(st.integers(30, 50), st.integers(1, 20)), max_size=3),
    ),
    min_size=1,
    max_size=30,
)


@given(wishes)
def test_debounced_quotes_are_never_bolder_or_larger_than_wanted_and_equal_after_two_windows(drawn):
    steady, now = QuoteDebouncer(BID, WINDOW), 0
    wanted: list[Quote] = []
    for gap, pairs in drawn:
        now += gap
        prices = sorted({price for price, _ in pairs}, reverse=True)
        wanted = [quote(price, pairs[0][1]) for price in prices]
        out, again = steady.debounce(wanted, now)
        assert len(out) <= len(wanted)
        for each, wish in zip(out, wanted, strict=False):
            assert each.price <= wish.price
            assert each.qty <= wish.qty
        assert again is not None or out == wanted
    for _ in range(2):
        if again is not None:
            assert again > now
            now = again
            out, again = steady.debounce(wanted, now)
    assert (out, again) == (wanted, None)
