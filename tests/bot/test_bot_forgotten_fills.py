"""Claims about fills that the list forgot, or shows late and far down: taken over, or found."""

import msgspec

from bot.core.orders.order import State
from tests.bot import made
from tests.bot.made import LAG_NS, MARKET, T0
from tests.bot.test_bot_ledgers import FILL, Books
from venue.wire import instant, model
from venue.wire.instant import NS_PER_SECOND
from venue.wire.money import BookSide

# --- what was sold and never bought by any fill ---------------------------------------------------


def sold_out() -> Books:
    """Books opened after all shares were sold, where the list has forgotten the purchase."""
    books = Books()
    books.fills(T0, SOLD)
    books.balance(10_000, T0)
    books.positions({}, T0)
    ahead_ns = instant.to_ns(FILL.created_at) - T0 + 9 * LAG_NS  # it was before the opening
    assert books.of.open_books(ahead_ns) == [MARKET]
    return books


SOLD = msgspec.structs.replace(FILL, fill_id="sold", side=model.ShownSide.SELL)


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


# --- far down -------------------------------------------------------------------------------------


def test_a_fill_listed_late_behind_a_page_of_newer_ones_is_walked_to_within_ten_minutes():
    books = Books().opened()
    own = made.own(State.OPEN)
    first, newer = made.fill(own, 1, 5), [made.fill(own, number, 1) for number in range(3, 9)]
    late = msgspec.structs.replace(made.fill(own, 2, 2), order_id="77")
    books.fills(T0 + LAG_NS, first, *newer)
    listed = [*reversed(newer), late, first]

    def walk(at_ns: int) -> None:
        """A walk over pages of three, as far as it has to go."""
        kept: list[model.Fill] = []
        for at in range(0, len(listed), 3):
            rows, may_end = books.of.booking.page(tuple(listed[at : at + 3]), at_ns)
            kept += rows
            if may_end:
                break
        books.of.fills_read(kept, at_ns, at_ns, [])

    walk(T0 + 500 * NS_PER_SECOND)
    assert books.of.book.holdings(MARKET) == (11, 0)
    walk(T0 + LAG_NS + 600 * NS_PER_SECOND)
    assert books.of.book.holdings(MARKET) == (13, 0)
    newest = tuple(listed[:3])
    for seconds, ends in ((1_300, False), (1_310, False), (1_320, True), (1_900, True)):
        _, may_end = books.of.booking.page(newest, T0 + seconds * NS_PER_SECOND)
        assert may_end is ends, "where the pages behind it cannot be read, it is given up"
    listed[:0] = [made.fill(own, 9, 1)]
    _, may_end = books.of.booking.page(tuple(listed[1:4]), T0 + 700 * NS_PER_SECOND)
    assert may_end, "not at each walk from then on"
