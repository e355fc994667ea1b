"""Claims about the market of a session: books without us, and fills given back."""

import pytest
from msgspec import structs

from bot.core import messages as m
from bot.lab.journal_market import GIVEN_BACK_NS, read_market
from bot.lab.session import placed_entries
from tests.builders.what_if.made import (
    MARKET,
    book,
    by_hand,
    calm,
    fill,
    listed,
    market,
    ns,
    order,
    replied,
    run_of,
    trade,
)
from venue.engine import messages as v
from venue.wire.instant import NS_PER_SECOND

LATE = 0.01


def seen(frame):
    """A frame and when it arrives."""
    return (frame.ts_ns - ns(0)) / NS_PER_SECOND + LATE, frame


def bids(session):
    """Second and bids of every book."""
    return [
        ((each.seen.ts_ns - ns(0)) / NS_PER_SECOND, each.seen.bids)
        for each in session.history
        if isinstance(each.seen, m.BookUpdate)
    ]


def prints(session):
    """(price, shares, whether it had filled us) of every print."""
    return [
        (each.seen.price, each.seen.size, each.filled_us)
        for each in session.history
        if isinstance(each.seen, m.Trade)
    ]


def test_our_own_shares_are_taken_out_of_the_books(tmp_path):
    session = by_hand(
        tmp_path / "run.log",
        [
            (1.2, *replied(m.OrderBody(order("1", 40, 10, 1)))),
            seen(book(0.5, [(40, 30)], [(60, 5)])),
            seen(book(1, [(40, 40), (39, 7)], [(60, 5)])),
            (3.2, *replied(m.OrderBody(order("1", 41, 10, 3, created=1)))),
            seen(book(3, [(41, 10), (40, 30)], [(60, 5)])),
        ],
    )
    assert bids(session) == [
        (0.5, ((40, 30),)),
        (1, ((40, 30), (39, 7))),
        (3, ((40, 30),)),
    ]
    assert session.short_qty == 0


def test_shares_of_ours_that_a_book_does_not_show_are_told(tmp_path):
    session = by_hand(
        tmp_path / "run.log",
        [
            (1.2, *replied(m.OrderBody(order("1", 40, 10, 1)))),
            seen(book(2, [(40, 4)], [(60, 5)])),
        ],
    )
    assert bids(session) == [(2, ())]
    assert session.short_qty == 6


@pytest.mark.parametrize(("shown", "short"), [([(40, 2), (39, 9)], 3), ([(39, 9)], 5), ([], 5)])
def test_so_are_those_of_a_price_that_it_does_not_show_at_all(tmp_path, shown, short):
    session = by_hand(
        tmp_path / "run.log",
        [
            (1.2, *replied(m.OrderBody(order("1", 40, 5, 1)))),
            seen(book(2, shown, [(60, 5)])),
        ],
    )
    assert session.short_qty == short


def test_a_print_that_filled_us_stays_and_is_marked(tmp_path):
    session = by_hand(
        tmp_path / "run.log",
        [
            (0.2, *replied(m.OrderBody(order("1", 40, 10, 0.1)))),
            seen(book(0.5, [(40, 10)], [(60, 5)])),
            seen(trade("a", 1, 40, 4, bought_yes=False)),
            seen(trade("b", 2, 40, 3, bought_yes=False)),
            (3, *replied(m.FillsBody((fill("1", 40, 4, 1, trade="a"),), ""))),
        ],
    )
    assert prints(session) == [(40, 4, True), (40, 3, False)]


def test_a_fill_whose_print_did_not_come_is_put_in(tmp_path):
    session = by_hand(
        tmp_path / "run.log",
        [
            (0.2, *replied(m.OrderBody(order("1", 40, 10, 0.1)))),
            seen(book(0.5, [(40, 10)], [(60, 5)])),
            (3, *replied(m.FillsBody((fill("1", 40, 4, 1),), ""))),
        ],
    )
    assert prints(session) == [(40, 4, True)]


def test_fills_of_earlier_runs_are_none_of_the_session_and_no_prints(tmp_path):
    session = by_hand(
        tmp_path / "run.log",
        [
            (0.1, *replied(m.FillsBody((fill("9", 45, 70, -3600), fill("8", 44, 3, -60)), ""))),
            (0.2, *replied(m.OrderBody(order("1", 40, 10, 0.1)))),
            seen(book(0.5, [(40, 10)], [(60, 5)])),
            (3, *replied(m.FillsBody((fill("1", 40, 4, 1),), ""))),
        ],
    )
    assert [each.qty for each in session.fills] == [4]
    assert prints(session) == [(40, 4, True)]


def taken(path, *books):
    """We bought four of the five at sixty."""
    bought = order("1", 60, 0, 1, filled=4, status="filled")
    took = fill("1", 60, 4, 1, trade="mine", liquidity="taker")
    return by_hand(
        path,
        [
            seen(book(0.5, [(40, 10)], [(60, 5)])),
            *((1.1, each) for each in replied(m.OrderBody(bought), m.FillsBody((took,), ""))),
            seen(trade("mine", 1, 60, 4, bought_yes=True)),
            *map(seen, books),
        ],
    )


def asks(session):
    return [each.seen.asks for each in session.history if isinstance(each.seen, m.BookUpdate)]


def test_what_we_took_is_given_back_and_its_print_is_gone(tmp_path):
    session = taken(tmp_path / "run.log", book(1, [(40, 10)], [(60, 1)]))
    assert prints(session) == []
    assert asks(session) == [((60, 5),), ((60, 5),)]


def test_it_stands_no_longer_than_the_size_that_we_left(tmp_path):
    session = taken(
        tmp_path / "run.log",
        book(1, [(40, 10)], [(60, 1)]),
        book(2, [(40, 11)], [(60, 1)]),
        book(3, [(40, 10)], [(60, 3)]),
        book(4, [(40, 10)], [(60, 1)]),
    )
    assert asks(session) == [((60, 5),), ((60, 5),), ((60, 5),), ((60, 3),), ((60, 1),)]


def test_it_stands_neither_for_ever_nor_through_the_other_side(tmp_path):
    late = 1 + GIVEN_BACK_NS / NS_PER_SECOND
    for number, after in enumerate((book(late + 1, [(40, 10)], []), book(2, [(60, 10)], [])), 1):
        session = taken(tmp_path / f"{number}.log", book(1, [(40, 10)], []), after)
        assert asks(session)[-2:] == [((60, 4),), ()]


def test_a_book_that_is_shown_again_happens_once(tmp_path):
    frame = book(0.5, [(40, 10)], [(60, 5)])
    session = by_hand(tmp_path / "run.log", [seen(frame), (4, frame)])
    assert len(session.history) == 1


def test_a_halt_comes_when_a_read_showed_it(tmp_path):
    session = by_hand(
        tmp_path / "run.log",
        [
            seen(book(0.5, [(40, 10)], [(60, 5)])),
            (2, *replied(listed("halted"))),
            (4, *replied(listed("active"))),
        ],
    )
    assert session.states == [
        (ns(2), v.HaltMarket(MARKET)),
        (ns(4), v.ResumeMarket(MARKET)),
    ]


def test_a_session_is_told_up_to_where_a_rung_resolves(tmp_path):
    session = by_hand(
        tmp_path / "run.log",
        [
            seen(book(0.5, [(40, 10)], [(60, 5)])),
            (2, *replied(listed("resolved"))),
            seen(book(5, [(40, 10)], [(60, 5)])),
        ],
    )
    assert "resolved" in session.cut
    assert session.ended_ns == ns(2)
    assert len(session.history) == 1


def test_a_venue_whose_clock_is_off_is_told_by_the_bots(tmp_path):
    off = 3_600
    session = by_hand(
        tmp_path / "run.log",
        [(1, book(1 - off, [(40, 10)], [(60, 5)])), (2, book(2 - off, [(40, 11)], [(60, 5)]))],
    )
    first, second = (each.seen.ts_ns + session.clock_ahead_ns for each in session.history)
    assert second - first == NS_PER_SECOND
    assert 0 < session.history[0].arrived_ns - first < NS_PER_SECOND // 100


def test_a_whole_run_is_a_market_without_us(tmp_path):
    run = run_of(calm(tmp_path / "state", seconds=3))
    session = read_market(placed_entries(run.paths))
    assert session.short_qty == 0
    assert len(session.history) > 100
    instants = [each.seen.ts_ns for each in session.history]
    assert instants == sorted(instants)
    assert sum(each.filled_us for each in session.history) == len(session.fills)


@pytest.mark.parametrize("spoiled", ["resolution_date", "maker_fee_rate", "taker_fee_rate"])
def test_a_page_of_the_series_that_cannot_be_read_is_passed_over(tmp_path, spoiled):
    (event,) = listed().events
    if spoiled == "resolution_date":
        other = structs.replace(event, resolution_date="in autumn")
    else:
        other = structs.replace(event, markets=(structs.replace(market(), **{spoiled: "little"}),))
    shown = (0.5, book(0.4, [(40, 30)], [(60, 5)]))
    session = by_hand(tmp_path / "run.log", [shown, (1, *replied(m.SeriesBody((other,), "")))])
    assert [each.maker_fee_rate for each in session.markets.values()] == ["0.0100"]
    assert list(session.events.values()) == [event]
