"""The bounds that every number of a venue's answer must keep. Types are checked in decoding.

One value beyond them makes the whole body unreadable, for a list just as for a single order: a row
left out would say that an order does not rest, that a fill never was. The bounds are compiled in
and wide: a real venue never comes near them.
"""

from typing import Final

from bot.core import messages as m
from venue.wire import model
from venue.wire.codec import Garbled
from venue.wire.money import PAYOUT_CENTS, is_price
from venue.wire.names import is_order_id

QTY_MAX: Final = 10**9
"""Shares of one order, fill or position. Our own venue takes a thousandth of it in one order
(`venue.wire.limits.QTY_MAX`), but a venue may publish other ceilings, and this is not one of them:
it only rules out an accident."""

CASH_CENTS_MAX: Final = 10**15
"""Ten trillion dollars, either way: a float still holds every cent below it exactly."""

_SIZE_MAX: Final = 2**63 - 1
"""Shares at one level of a book, as the channel's frames have it: all that others rest there."""


def check(body: m.Body) -> None:
    """Raises Garbled, naming the value, for a body with one that cannot be meant. What a market may
    be is judged where a series is taken in."""
    match body:
        case m.OrderBody():
            _check_order(body.order)
        case m.CancelBody():
            _check_order(body.order)
            _check_qty("reduced_by", body.reduced_by)
        case m.OrdersBody():
            for order in body.orders:
                _check_order(order)
        case m.FillsBody():
            for fill in body.fills:
                _check_fill(fill)
        case m.PositionsBody():
            for position in body.positions:
                _check_qty("qty", position.qty)
        case m.BalanceBody():
            cash = body.balance
            for cents in (cash.available_cents, cash.reserved_cents, cash.total_cents):
                _check_cents("balance", cents)
        case m.BookBody():
            for level in (*body.book.bids, *body.book.asks):
                if not (is_price(level.price) and 0 <= level.size <= _SIZE_MAX):
                    raise Garbled(f"a level has a price of 1..99 and a size of >= 0: {level}")


def _check_order(order: model.Order) -> None:
    if not is_order_id(order.order_id):
        raise Garbled(f"no order id: {order.order_id[:99]!r}")
    if not is_price(order.price):
        raise Garbled(f"an order has a price of 1..99, not {order.price}")
    _check_qty("qty", order.qty)
    _check_qty("remaining_qty", order.remaining_qty)
    _check_qty("filled_qty", order.filled_qty)
    for cents in (order.reserved_cents, order.spent_cents):
        if cents is not None:
            _check_cents("order", cents)


def _check_fill(fill: model.Fill) -> None:
    """The ends of the scale are no limit prices, but what a fill can be reported at."""
    for cents in (fill.outcome_price, fill.trade_price):
        if not 0 <= cents <= PAYOUT_CENTS:
            raise Garbled(f"a fill has a price of 0..100, not {cents}")
    _check_qty("qty", fill.qty)
    if fill.fee_cents is not None:
        _check_cents("fee", fill.fee_cents)


def _check_qty(name: str, qty: int) -> None:
    if not 0 <= qty <= QTY_MAX:
        raise Garbled(f"{name} is 0 to {QTY_MAX} shares, not {qty}")


def _check_cents(name: str, cents: int) -> None:
    if not -CASH_CENTS_MAX <= cents <= CASH_CENTS_MAX:
        raise Garbled(f"{name}: {cents} cents")
