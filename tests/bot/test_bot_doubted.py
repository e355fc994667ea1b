"""Claims about rows of the list of fills that were corrupted on their way and can be read."""

import msgspec
import pytest

from bot.core.orders.order import State
from tests.bot import made
from tests.bot.made import LAG_NS, MARKET, T0
from tests.bot.test_bot_ledgers import Books
from venue.wire import model
from venue.wire.money import Outcome, Price, Qty

FIRST, SECOND = (made.fill(made.own(State.OPEN), number, 5, fee_cents=3) for number in (1, 2))
TWIN = msgspec.structs.replace(made.fill(made.own(State.OPEN), 3, 2), created_at=FIRST.created_at)
CENTS = 40 * 5 + 3


def walked(*walks: tuple[model.Fill, ...]) -> Books:
    """Open books after walks of one page each, oldest row first."""
    books = Books().opened()
    for number, fills in enumerate(walks, 1):
        books.fills(T0 + 4 * number * LAG_NS, *fills)
    return books


def seen(fill: model.Fill, **corrupted: object) -> model.Fill:
    """The row of a fill, with something of it read otherwise."""
    return msgspec.structs.replace(fill, **corrupted)


@pytest.mark.parametrize(
    "other", [{"fill_id": "f9"}, {"fill_id": "f9", "trade_id": "t9"}, {"fill_id": "f9", "qty": 7}]
)
def test_a_fill_that_is_booked_and_is_shown_once_with_another_id_is_not_booked_again(other):
    corrupted = seen(FIRST, **other)
    books = walked((FIRST, SECOND), (corrupted, SECOND), (FIRST, SECOND))
    assert books.of.holdings(MARKET) == (10, 0)
    books.positions({Outcome.YES: 10}, T0 + 20 * LAG_NS)
    books.balance(10_000 - 2 * CENTS, T0 + 20 * LAG_NS)
    books.fills(T0 + 24 * LAG_NS, FIRST, SECOND)
    assert books.out.findings == {}


def test_two_fills_of_one_instant_are_booked_as_soon_as_the_page_shows_them_both():
    assert walked((FIRST,), (FIRST, TWIN)).of.holdings(MARKET) == (7, 0)


def test_a_fill_beside_one_that_its_page_lacks_is_booked_by_the_next_walk_that_shows_it():
    books = walked((FIRST,), (TWIN, SECOND))
    assert books.of.holdings(MARKET) == (10, 0)
    assert books.of.booking.history_wanted
    books.fills(T0 + 20 * LAG_NS, TWIN, SECOND)
    assert books.of.holdings(MARKET) == (12, 0)
    assert not books.of.booking.history_wanted


@pytest.mark.parametrize(
    "wrong",
    [
        {"outcome_price": Price(41)},
        {"outcome": model.ShownOutcome.NO, "trade_price": Price(60)},
        {"side": model.ShownSide.SELL},
        {"qty": Qty(50)},
    ],
    ids=str,
)
def test_a_new_fill_that_its_order_cannot_have_had_is_booked_as_the_next_walk_shows_it(wrong):
    books = Books().opened()
    own = made.own(State.OPEN)
    books.desk.add(own)
    fill = made.fill(own, 1, 5, fee_cents=3)
    books.fills(T0 + 4 * LAG_NS, seen(fill, **wrong))
    assert books.of.book.fill_count == 0
    books.fills(T0 + 8 * LAG_NS, fill)
    assert books.of.book.holdings(MARKET) == (5, 0)
    assert books.of.book.cash_flow_cents == -CENTS


def test_where_the_two_prices_of_a_fill_never_agree_only_the_first_one_waits():
    first, second = (seen(each, trade_price=Price(60)) for each in (FIRST, SECOND))
    books = walked((first,))
    assert books.of.holdings(MARKET) == (0, 0)
    books.fills(T0 + 8 * LAG_NS, first)
    books.fills(T0 + 12 * LAG_NS, first, second)
    assert books.of.holdings(MARKET) == (10, 0)
