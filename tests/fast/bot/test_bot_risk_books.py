"""Claims about fills known and not booked yet: the limits count them at their worst price."""

import pytest

from bot.core.orders.order import OwnOrder, State
from bot.core.orders.transitions import OrderEvent
from tests.builders.bot import made
from tests.builders.bot.books import Books
from tests.builders.bot.made import EVENT, LAG_NS, MARKET, T0
from venue.wire import model
from venue.wire.money import Outcome, Price, Qty, Side
from venue.wire.requests import Amend

FEES = {20: 2, 30: 2, 40: 2, 50: 2, 60: 2, 70: 2}  # of one share, at a rate of 0.07


def moved(side: Side, price: int, to: int, *, filled: int) -> OwnOrder:
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
def test_fills_around_a_change_of_price_count_at_the_dearer_of_both_until_booked(price, to):
    own = moved(Side.BUY, price, to, filled=3)
    assert paid(own) == 3 * (60 + FEES[60])


@pytest.mark.parametrize(("price", "to"), [(60, 40), (40, 60)])
def test_sales_around_a_change_of_price_count_at_the_cheaper_of_both_until_booked(price, to):
    own = moved(Side.SELL, price, to, filled=3)
    assert paid(own) == -3 * (40 - FEES[40])


def test_while_a_change_of_price_is_undecided_new_fills_count_at_the_dearer_of_both():
    own = made.own(State.OPEN, price=40)
    own.on_amend_sent(Amend(price=Price(70)))
    own.on_fills_shown(made.shown(own, filled=2))
    assert paid(own) == 2 * (70 + FEES[70])


def test_an_order_that_ends_with_a_change_undecided_may_have_filled_at_either_price():
    own = made.own(State.OPEN, price=40)
    own.on_amend_sent(Amend(price=Price(70)))
    ended = made.shown(own, filled=10, remaining=0, status=model.OrderStatus.FILLED)
    own.on_query(ended, T0 + 2 * LAG_NS, LAG_NS)
    assert not own.is_live
    assert paid(own) == 10 * (70 + FEES[70])


def test_a_cancel_that_finds_an_undecided_change_leaves_open_at_which_price_it_filled():
    own = made.own(State.OPEN, price=40)
    own.on_amend_sent(Amend(price=Price(70)))
    own.on_answer(OrderEvent.TIMEOUT, T0)
    own.on_cancel_sent()
    gone = made.shown(own, filled=4, remaining=0, status=model.OrderStatus.CANCELED)
    own.on_cancel_body(gone, Qty(6), T0)
    assert paid(own) == 4 * (70 + FEES[70])


def test_an_order_that_was_never_moved_counts_at_its_price():
    own = made.own(State.OPEN, outcome=Outcome.NO, price=30)
    own.on_fills_shown(made.shown(own, filled=4))
    assert paid(own) == 4 * (30 + FEES[30])
