"""Fills that are known but not booked yet: the limits count them at their worst price."""

import pytest

from bot.core.orders.order import OwnOrder, State
from bot.core.orders.transitions import OrderEvent
from tests.builders.bot import made
from tests.builders.bot.books import Books
from tests.builders.bot.made import EVENT, LAG_NS, MARKET, T0
from venue.wire import model
from venue.wire.money import BookSide, Outcome, Price, Qty, Side
from venue.wire.requests import Amend

FEE = 2  # cents a share at these prices, at a rate of 0.07


def amended_with_fills(side: Side, price: int, to: int, *, filled: int) -> OwnOrder:
    """An order whose amend to another price was answered, showing fills from before or after."""
    own = made.own(State.OPEN, side=side, price=price)
    own.on_amend_sent(Amend(price=Price(to)))
    own.on_write_body(made.shown(own, price=to, filled=filled, remaining=10 - filled), T0)
    assert own.price == to
    return own


def paid(own: OwnOrder, *fills: model.Fill) -> int:
    """What the limits take the fills of an order to have cost."""
    books = Books().opened()
    if own.side is Side.SELL:
        bought = made.fill(made.own(State.OPEN, number=9), 9, 10, fee_cents=0)
        books.trade(bought)
        books.walk()
    before = books.of.event_cash_cents(EVENT, [MARKET])
    books.desk.add_order(own)
    if fills:
        books.listed += fills
        books.walk()
    return before - books.of.event_cash_cents(EVENT, [MARKET])


@pytest.mark.parametrize(("price", "to"), [(60, 40), (40, 60)])
@pytest.mark.parametrize(("side", "cents"), [(Side.BUY, 3 * (60 + 2)), (Side.SELL, -3 * (40 - 2))])
def test_unbooked_fills_around_a_price_amend_count_at_the_worse_price(side, cents, price, to):
    assert paid(amended_with_fills(side, price, to, filled=3)) == cents


@pytest.mark.parametrize(
    ("side", "price", "to", "cents"),
    [(Side.BUY, 60, 40, 62 + 2 * 42), (Side.SELL, 40, 60, -38 - 2 * 58)],
)
def test_fills_after_an_answered_amend_count_at_the_new_price(side, price, to, cents):
    own = amended_with_fills(side, price, to, filled=1)
    own.on_fills_shown(made.shown(own, filled=3))
    assert paid(own) == cents


def test_a_booked_fill_no_longer_counts_as_live_before_a_read_of_its_order():
    books, own = Books().opened(), made.own(State.OPEN, price=40)
    books.desk.add_order(own)
    books.trade(made.fill(own, 1, 4))
    books.walk()
    assert (own.filled, own.max_fillable, own.reach) == (0, 6, (BookSide.BID, 40, 6))
    own.on_query(made.shown(own, filled=0), T0 + 2 * LAG_NS, LAG_NS)  # a stale read
    assert own.max_fillable == 6
    own.on_query(made.shown(own, filled=4), T0 + 4 * LAG_NS, LAG_NS)
    assert (own.filled, own.max_fillable) == (4, 6)


def test_a_fill_booked_before_a_cancel_is_answered_leaves_the_rest_unaccounted():
    books, own = Books().opened(), made.own(State.OPEN, price=40)
    books.desk.add_order(own)
    books.trade(made.fill(own, 1, 3))
    books.walk()
    own.on_cancel_sent()
    gone = made.shown(own, filled=3, remaining=0, status=model.OrderStatus.CANCELED)
    own.on_cancel_body(gone, Qty(5), T0)
    assert own.max_fillable == 2


def test_fills_during_an_undecided_price_amend_count_at_the_dearer_price():
    own = made.own(State.OPEN, price=40)
    own.on_amend_sent(Amend(price=Price(70)))
    own.on_fills_shown(made.shown(own, filled=2))
    assert paid(own) == 2 * (70 + FEE)


def test_fills_of_an_order_closed_with_an_undecided_amend_count_at_the_dearer_price():
    own = made.own(State.OPEN, price=40)
    own.on_amend_sent(Amend(price=Price(70)))
    ended = made.shown(own, filled=10, remaining=0, status=model.OrderStatus.FILLED)
    own.on_query(ended, T0 + 2 * LAG_NS, LAG_NS)
    assert not own.is_live
    assert paid(own) == 10 * (70 + FEE)


def test_fills_shown_by_a_cancel_after_an_undecided_amend_count_at_the_dearer_price():
    own = made.own(State.OPEN, price=40)
    own.on_amend_sent(Amend(price=Price(70)))
    own.on_answer(OrderEvent.TIMEOUT, T0)
    own.on_cancel_sent()
    gone = made.shown(own, filled=4, remaining=0, status=model.OrderStatus.CANCELED)
    own.on_cancel_body(gone, Qty(6), T0)
    assert paid(own) == 4 * (70 + FEE)


def test_unbooked_fills_of_an_order_without_amends_count_at_its_price():
    own = made.own(State.OPEN, outcome=Outcome.NO, price=30)
    own.on_fills_shown(made.shown(own, filled=4))
    assert paid(own) == 4 * (30 + FEE)
