"""What is believed of one market's book."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.core.market_data.book import Book, microprice
from bot.core.messages import Trade
from bot.strategy.api import Levels
from venue.wire.instant import NS_PER_SECOND
from venue.wire.money import Price, Qty
from venue.wire.names import MarketId

S = NS_PER_SECOND


def levels(*pairs: tuple[int, int]) -> Levels:
    return tuple((Price(price), Qty(size)) for price, size in pairs)


BIDS = levels((40, 10), (39, 5))
ASKS = levels((44, 7), (50, 100))


def trade(trade_id: str, ts_ns: int, price: int = 44) -> Trade:
    return Trade(MarketId("m"), ts_ns, trade_id, Price(price), Qty(1), True)


def shown(ts_ns: int = 100 * S, now_ns: int = 0) -> Book:
    book = Book()
    assert book.replace(BIDS, ASKS, ts_ns, now_ns)
    return book


def test_a_fresh_book_is_unknown_and_not_believable() -> None:
    book = Book()
    assert not book.known
    assert not book.believable(0, 10 * S)
    assert (book.bids, book.asks, book.confirmed_ns) == ((), (), None)


def test_an_older_frame_changes_nothing() -> None:
    book = shown()
    assert not book.replace((), (), 100 * S - 1, 5)
    assert (book.bids, book.asks, book.ts_ns, book.confirmed_ns) == (BIDS, ASKS, 100 * S, 0)


def test_a_frame_of_the_same_instant_replaces_the_one_before() -> None:
    book = shown()
    assert book.replace(ASKS[:0], ASKS, 100 * S, 7)
    assert (book.bids, book.confirmed_ns) == ((), 7)


def test_a_lost_feed_leaves_no_book_and_then_any_frame_counts() -> None:
    book = shown()
    book.forget()
    assert not book.known
    assert not book.believable(0, S)
    assert book.replace(BIDS, ASKS, 1, 0)


def test_a_book_is_believed_up_to_its_age_and_no_longer() -> None:
    book = shown(now_ns=5)
    assert book.believable(5 + 10 * S, 10 * S)
    assert not book.believable(6 + 10 * S, 10 * S)


def test_a_confirmation_makes_an_old_book_young_but_never_makes_a_book() -> None:
    book = shown()
    book.confirm(9 * S)
    assert book.believable(15 * S, 10 * S)
    nothing = Book()
    nothing.confirm(9 * S)
    assert not nothing.believable(9 * S, 10 * S)


@pytest.mark.parametrize(("lead_ns", "believed"), [(S, True), (S + 1, False)])
def test_a_print_more_than_a_second_newer_than_the_book_puts_it_in_doubt(
    lead_ns: int, believed: bool
) -> None:
    book = shown()
    book.print_seen(trade("t", 100 * S + lead_ns), S)
    assert book.believable(2 * S + 1, 10 * S) is believed


def test_a_print_on_a_quiet_market_leaves_its_frame_a_second_to_come() -> None:
    book = shown()
    book.print_seen(trade("t", 103 * S), S)
    assert book.print_leads
    assert book.believable(2 * S, 10 * S)
    assert not book.believable(2 * S + 1, 10 * S)


def test_a_newer_frame_or_a_confirmation_explains_the_print() -> None:
    by_frame, by_read = shown(), shown()
    for book in (by_frame, by_read):
        book.print_seen(trade("t", 103 * S), S)
    by_frame.replace(BIDS, ASKS, 102 * S, 2 * S)
    by_read.confirm(2 * S)
    assert by_frame.believable(3 * S, 10 * S)
    assert by_read.believable(3 * S, 10 * S)


def test_a_frame_that_is_still_too_old_for_the_print_explains_nothing() -> None:
    book = shown()
    book.print_seen(trade("t", 105 * S), S)
    book.replace(BIDS, ASKS, 101 * S, 2 * S)
    assert not book.believable(2 * S + 1, 10 * S)


@pytest.mark.parametrize("ask", [39, 40])
def test_a_crossed_or_locked_book_is_not_believed(ask: int) -> None:
    book = Book()
    book.replace(BIDS, levels((ask, 1)), 1, 0)
    assert book.known
    assert not book.believable(0, S)


def test_a_print_counts_once_however_often_it_is_shown() -> None:
    book = shown()
    assert book.print_seen(trade("a", 10, 41), 0)
    assert not book.print_seen(trade("a", 10, 41), 0)
    assert book.print_seen(trade("b", 10, 42), 0)


def test_the_last_price_follows_the_venues_time_not_the_order_of_arrival() -> None:
    book = shown()
    book.print_seen(trade("new", 20, 43), 0)
    book.print_seen(trade("old", 10, 41), 1)
    assert book.last_price == 43


def test_remembered_prints_are_bounded_and_the_newest_are_kept() -> None:
    book = shown()
    for number in range(2_000):
        book.print_seen(trade(str(number), number), 0)
    assert not book.print_seen(trade("1999", 1999), 0)
    assert not book.print_seen(trade("1500", 1500), 0)
    assert book.print_seen(trade("0", 0), 0)


def test_our_own_size_is_taken_out_and_an_emptied_level_is_dropped() -> None:
    bids = {Price(40): Qty(4), Price(39): Qty(5)}
    asks = {Price(40): Qty(9)}
    assert shown().others(bids, asks) == (levels((40, 6)), ASKS)


def test_own_size_that_the_book_does_not_show_yet_leaves_no_negative_level() -> None:
    asks = {Price(44): Qty(50), Price(45): Qty(1)}
    assert shown().others({}, asks) == (BIDS, levels((50, 100)))


@settings(deadline=None)
@given(
    st.dictionaries(st.integers(1, 99), st.integers(1, 50), max_size=8),
    st.dictionaries(st.integers(1, 99), st.integers(1, 50), max_size=8),
)
def test_others_and_ours_add_up_to_what_is_shown_where_we_rest_within_it(
    all_sizes: dict[int, int], own: dict[int, int]
) -> None:
    book = Book()
    book.replace(levels(*sorted(all_sizes.items(), reverse=True)), (), 0, 0)
    left, _ = book.others({Price(p): Qty(q) for p, q in own.items()}, {})
    expected = {p: q - own.get(p, 0) for p, q in all_sizes.items() if q > own.get(p, 0)}
    assert dict(left) == expected
    assert [p for p, _ in left] == sorted(expected, reverse=True)


def test_the_microprice_leans_to_the_thinner_side() -> None:
    assert microprice(levels((40, 30)), levels((44, 10))) == pytest.approx(43.0)
    assert microprice(levels((40, 10)), levels((44, 30))) == pytest.approx(41.0)


def test_one_large_order_counts_as_a_hundred_shares() -> None:
    assert microprice(levels((40, 10_000)), levels((44, 100))) == pytest.approx(42.0)


def test_there_is_no_microprice_without_two_sides() -> None:
    assert microprice(BIDS, ()) is None
    assert microprice((), ASKS) is None
