"""Claims about the market of a session: books without us, and fills given back."""

import pytest
from msgspec import structs

from bot.core import messages as m
from bot.lab.journal_market import GIVEN_BACK_NS, read_market
from bot.lab.session import placed_entries
from tests.builders.what_if.made import (
    MARKET,
    arriving,
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


def test_our_own_shares_are_removed_from_the_books(session_of):
    session = session_of(
        (1.2, *replied(m.OrderBody(order("1", 40, 10, 1)))),
        arriving(book(0.5, [(40, 30)], [(60, 5)])),
        arriving(book(1, [(40, 40), (39, 7)], [(60, 5)])),
        (3.2, *replied(m.OrderBody(order("1", 41, 10, 3, created=1)))),
        arriving(book(3, [(41, 10), (40, 30)], [(60, 5)])),
    )
    assert bids(session) == [
        (0.5, ((40, 30),)),
        (1, ((40, 30), (39, 7))),
        (3, ((40, 30),)),
    ]
    assert session.short_qty == 0


@pytest.mark.parametrize(("shown", "short"), [([(40, 2), (39, 9)], 3), ([(39, 9)], 5), ([], 5)])
def test_shares_of_ours_missing_from_a_book_are_counted(session_of, shown, short):
    session = session_of(
        (1.2, *replied(m.OrderBody(order("1", 40, 5, 1)))),
        arriving(book(2, shown, [(60, 5)])),
    )
    assert bids(session) == [(2, tuple(level for level in shown if level[0] != 40))]
    assert session.short_qty == short


def test_a_print_that_filled_us_is_kept_and_marked(session_of):
    session = session_of(
        (0.2, *replied(m.OrderBody(order("1", 40, 10, 0.1)))),
        arriving(book(0.5, [(40, 10)], [(60, 5)])),
        arriving(trade("a", 1, 40, 4, bought_yes=False)),
        arriving(trade("b", 2, 40, 3, bought_yes=False)),
        (3, *replied(m.FillsBody((fill("1", 40, 4, 1, trade="a"),), ""))),
    )
    assert prints(session) == [(40, 4, True), (40, 3, False)]


def test_a_fill_without_a_print_is_added_as_a_print(session_of):
    session = session_of(
        (0.2, *replied(m.OrderBody(order("1", 40, 10, 0.1)))),
        arriving(book(0.5, [(40, 10)], [(60, 5)])),
        (3, *replied(m.FillsBody((fill("1", 40, 4, 1),), ""))),
    )
    assert prints(session) == [(40, 4, True)]


def test_fills_of_earlier_runs_are_not_part_of_the_session(session_of):
    session = session_of(
        (0.1, *replied(m.FillsBody((fill("9", 45, 70, -3600), fill("8", 44, 3, -60)), ""))),
        (0.2, *replied(m.OrderBody(order("1", 40, 10, 0.1)))),
        arriving(book(0.5, [(40, 10)], [(60, 5)])),
        (3, *replied(m.FillsBody((fill("1", 40, 4, 1),), ""))),
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
            arriving(book(0.5, [(40, 10)], [(60, 5)])),
            *((1.1, each) for each in replied(m.OrderBody(bought), m.FillsBody((took,), ""))),
            arriving(trade("mine", 1, 60, 4, bought_yes=True)),
            *map(arriving, books),
        ],
    )


def asks(session):
    return [each.seen.asks for each in session.history if isinstance(each.seen, m.BookUpdate)]


def test_shares_we_took_are_restored_and_their_print_removed(tmp_path):
    session = taken(tmp_path / "run.log", book(1, [(40, 10)], [(60, 1)]))
    assert prints(session) == []
    assert asks(session) == [((60, 5),), ((60, 5),)]


def test_restored_shares_disappear_when_the_level_changes(tmp_path):
    session = taken(
        tmp_path / "run.log",
        book(1, [(40, 10)], [(60, 1)]),
        book(2, [(40, 11)], [(60, 1)]),
        book(3, [(40, 10)], [(60, 3)]),
        book(4, [(40, 10)], [(60, 1)]),
    )
    assert asks(session) == [((60, 5),), ((60, 5),), ((60, 5),), ((60, 3),), ((60, 1),)]


def test_restored_shares_expire_and_never_cross_the_book(tmp_path):
    late = 1 + GIVEN_BACK_NS / NS_PER_SECOND
    for number, after in enumerate((book(late + 1, [(40, 10)], []), book(2, [(60, 10)], [])), 1):
        session = taken(tmp_path / f"{number}.log", book(1, [(40, 10)], []), after)
        assert asks(session)[-2:] == [((60, 4),), ()]


def test_a_repeated_book_frame_is_played_once(session_of):
    frame = book(0.5, [(40, 10)], [(60, 5)])
    session = session_of(arriving(frame), (4, frame))
    assert len(session.history) == 1


def test_a_halt_takes_effect_at_the_read_that_showed_it(session_of):
    session = session_of(
        arriving(book(0.5, [(40, 10)], [(60, 5)])),
        (2, *replied(listed("halted"))),
        (4, *replied(listed("active"))),
    )
    assert session.states == [
        (ns(2), v.HaltMarket(MARKET)),
        (ns(4), v.ResumeMarket(MARKET)),
    ]


def test_a_session_ends_where_a_rung_resolves(session_of):
    session = session_of(
        arriving(book(0.5, [(40, 10)], [(60, 5)])),
        (2, *replied(listed("resolved"))),
        arriving(book(5, [(40, 10)], [(60, 5)])),
    )
    assert "resolved" in session.cut
    assert session.ended_ns == ns(2)
    assert len(session.history) == 1


def test_a_wrong_venue_clock_is_corrected_by_the_clock_of_the_bot(tmp_path):
    off = 3_600
    session = by_hand(
        tmp_path / "run.log",
        [(1, book(1 - off, [(40, 10)], [(60, 5)])), (2, book(2 - off, [(40, 11)], [(60, 5)]))],
    )
    first, second = (each.seen.ts_ns + session.clock_ahead_ns for each in session.history)
    assert second - first == NS_PER_SECOND
    assert 0 < session.history[0].arrived_ns - first < NS_PER_SECOND // 100


def test_a_full_run_becomes_a_market_without_our_orders(tmp_path):
    run = run_of(calm(tmp_path / "state", seconds=3))
    session = read_market(placed_entries(run.paths))
    assert session.short_qty == 0
    assert len(session.history) > 100
    instants = [each.seen.ts_ns for each in session.history]
    assert instants == sorted(instants)
    assert sum(each.filled_us for each in session.history) == len(session.fills)


@pytest.mark.parametrize("spoiled", ["resolution_date", "maker_fee_rate", "taker_fee_rate"])
def test_an_unreadable_page_of_the_series_is_ignored(session_of, spoiled):
    (event,) = listed().events
    if spoiled == "resolution_date":
        other = structs.replace(event, resolution_date="in autumn")
    else:
        other = structs.replace(event, markets=(structs.replace(market(), **{spoiled: "little"}),))
    shown = (0.5, book(0.4, [(40, 30)], [(60, 5)]))
    session = session_of(shown, (1, *replied(m.SeriesBody((other,), ""))))
    assert [each.maker_fee_rate for each in session.markets.values()] == ["0.0100"]
    assert list(session.events.values()) == [event]
