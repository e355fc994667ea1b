"""Claims about what of ours rested when: from answers and fills, between answers too."""

from msgspec import structs

from bot.core import messages as m
from bot.lab.instead.own import Own, Resting
from bot.lab.session import placed_entries
from tests.instead.made import MARKET, calm, fill, ns, order, run_of
from venue.wire.money import BookSide, Price


def own(*bodies):
    follows = Own()
    for body in bodies:
        follows.take(body)
    return follows


def rests(follows, at, price, side=BookSide.BID):
    """Shares of ours at a price at a second."""
    resting = Resting(follows.changes())
    resting.until(ns(at))
    return resting.at(MARKET, side, Price(price))


def test_an_order_rests_from_its_creation_until_its_cancel():
    follows = own(
        m.OrderShown(order("1", 40, 10, 1)),
        m.CancelShown(order("1", 40, 0, 5, status="canceled", created=1), 10),
    )
    assert [rests(follows, at, 40) for at in (0.9, 1, 4.9, 5)] == [0, 10, 10, 0]


def test_a_purchase_of_no_rests_as_an_ask_of_yes():
    follows = own(m.OrderShown(order("1", 30, 10, 1, outcome="no")))
    assert rests(follows, 2, 70, BookSide.ASK) == 10
    assert rests(follows, 2, 30) == 0


def test_a_fill_between_two_answers_counts_from_its_own_instant():
    follows = own(
        m.OrderShown(order("1", 40, 10, 1)),
        m.OrdersShown((order("1", 40, 3, 4, filled=7, status="partially_filled", created=1),), ""),
        m.FillsShown((fill("1", 40, 4, 4), fill("1", 40, 3, 2)), ""),
    )
    assert [rests(follows, at, 40) for at in (1, 2, 3.9, 4)] == [10, 7, 7, 3]


def test_a_fill_that_is_in_an_answer_is_not_counted_again_for_being_stamped_later():
    shown = order("1", 40, 6, 4, filled=4, status="partially_filled", created=1)
    follows = own(
        m.OrderShown(order("1", 40, 10, 1)),
        m.OrdersShown((shown,), ""),
        m.FillsShown((fill("1", 40, 4, 4.1), fill("1", 40, 1, 6)), ""),
    )
    assert [rests(follows, at, 40) for at in (3.9, 4, 4.1, 6)] == [10, 6, 6, 5]


def test_a_fill_counts_beside_those_before_it_that_no_list_shows():
    before = order("1", 40, 6, 4, filled=4, status="partially_filled", created=1)
    after = order("1", 40, 3, 8, filled=7, status="partially_filled", created=1)
    follows = own(
        m.OrderShown(before), m.OrderShown(after), m.FillsShown((fill("1", 40, 3, 6),), "")
    )
    assert [rests(follows, at, 40) for at in (4, 5.9, 6, 8)] == [6, 6, 3, 3]


def test_a_fill_after_the_last_answer_ends_the_order():
    follows = own(m.OrderShown(order("1", 40, 10, 1)), m.FillsShown((fill("1", 40, 10, 2),), ""))
    assert [rests(follows, at, 40) for at in (1.9, 2)] == [10, 0]


def test_an_amend_moves_it_at_its_own_instant():
    follows = own(
        m.OrderShown(order("1", 40, 10, 1)), m.OrderShown(order("1", 42, 10, 3, created=1))
    )
    assert [rests(follows, 2.9, 40), rests(follows, 3, 40), rests(follows, 3, 42)] == [10, 0, 10]


def test_an_order_whose_create_was_not_answered_rests_since_then_once_a_read_shows_it():
    shown = order("1", 40, 6, 5, filled=4, status="partially_filled", created=1)
    follows = own(m.OrdersShown((shown,), ""), m.FillsShown((fill("1", 40, 4, 5),), ""))
    assert [rests(follows, at, 40) for at in (0.9, 1, 4.9, 5)] == [0, 10, 10, 6]


def test_an_older_read_that_comes_later_changes_nothing():
    newer, older = order("1", 42, 10, 3, created=1), order("1", 40, 10, 1)
    assert (
        own(m.OrderShown(newer), m.OrderShown(older)).changes()
        == own(m.OrderShown(older), m.OrderShown(newer)).changes()
    )


def test_every_share_of_ours_stands_in_every_book_that_a_run_was_shown(tmp_path):
    follows, books = Own(), []
    for placed in placed_entries(run_of(calm(tmp_path / "state", seconds=3)).paths):
        message = placed.entry.message
        if isinstance(message, m.BookSeen):
            books.append(message)
        elif isinstance(message, m.Replied) and isinstance(message.answer, m.Done):
            follows.take(message.answer.body)
    resting, checked = Resting(follows.changes()), 0
    for book in sorted(books, key=lambda book: book.ts_ns):
        resting.until(book.ts_ns)
        for side, levels in ((BookSide.BID, book.bids), (BookSide.ASK, book.asks)):
            shown = dict(levels)
            for price in map(Price, range(1, 100)):
                ours = resting.at(book.market_id, side, price)
                checked += ours > 0
                assert ours <= shown.get(price, 0)
    assert checked > 100


def test_what_is_shown_with_a_time_that_cannot_be_read_is_passed_over():
    whole, late = order("1", 40, 10, 1), order("1", 40, 3, 4, created=1)
    follows = own(
        m.OrderShown(structs.replace(order("2", 40, 5, 1), created_at="yesterday")),
        m.OrderShown(whole),
        m.OrdersShown((structs.replace(late, updated_at=""),), ""),
        m.FillsShown((structs.replace(fill("1", 40, 4, 2), created_at="2026"),), ""),
    )
    assert rests(follows, 9, 40) == 10
    assert follows.fills() == []
