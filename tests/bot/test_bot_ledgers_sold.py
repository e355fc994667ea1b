"""Claims about shares that were sold to the last one, and that no listed fill bought."""

import msgspec

from tests.bot.made import LAG_NS, MARKET, T0
from tests.bot.test_bot_ledgers import FILL, Books
from venue.wire import instant, model
from venue.wire.money import BookSide

SOLD = msgspec.structs.replace(FILL, fill_id="sold", side=model.ShownSide.SELL)


def sold_out() -> Books:
    """Books opened after all shares were sold, where the list has forgotten the purchase."""
    books = Books()
    books.fills(T0, SOLD)
    books.balance(10_000, T0)
    books.positions({}, T0)
    ahead_ns = instant.to_ns(FILL.created_at) - T0 + 9 * LAG_NS  # it was before the opening
    assert books.of.open_books(ahead_ns) == [MARKET]
    return books


def test_shares_that_were_sold_to_the_last_and_no_fill_bought_are_no_difference():
    books = sold_out()
    assert books.of.book.holdings(MARKET) == (0, 0)
    for number in range(1, 4):
        at_ns = T0 + 5 * number * LAG_NS
        books.positions({}, at_ns)
        books.fills(at_ns + 2 * LAG_NS, SOLD)
        books.of.series_read(at_ns + 2 * LAG_NS)
    assert books.out.findings == {}
    assert books.of.shrink_room(MARKET, BookSide.ASK) == 0


def test_a_purchase_that_is_listed_after_its_shares_were_taken_over_counts_once():
    books = sold_out()
    books.fills(T0 + 5 * LAG_NS, FILL, SOLD)
    books.balance(10_000, T0 + 7 * LAG_NS)
    books.positions({}, T0 + 7 * LAG_NS)
    books.fills(T0 + 9 * LAG_NS, FILL, SOLD)
    assert books.of.book.holdings(MARKET) == (0, 0)
    assert books.of.difference_cents == 0
