"""What a venue's answer may say at all: the bounds that every number and name of one must keep.

Types are checked where bytes are decoded; here it is whether a value can be meant. One value that
cannot be meant makes the whole body unreadable, for a list just as for a single order: a row that
is left out would say that an order does not rest, that a fill never was. What is merely unusual (an
unknown status, no cash, a fill of no shares) passes; what becomes of it is decided further in.

The bounds are compiled in and wide: a real venue never comes near them, and no sum of such numbers
leaves what a float or 64 bits can hold by far.
"""

from collections.abc import Iterable
from typing import Final

from bot.core import messages as m
from venue.wire import model
from venue.wire.codec import Garbled
from venue.wire.money import PAYOUT_CENTS, is_price
from venue.wire.names import ID_LENGTH_MAX, is_order_id

QTY_MAX: Final = 10**9
"""Shares of one order, fill or position. Our own venue takes a thousandth of it in one order
(`venue.wire.limits.QTY_MAX`), but a venue may publish other ceilings, and this is not one of them:
it only tells a number from an accident."""

CASH_CENTS_MAX: Final = 10**15
"""Ten trillion dollars, either way: a float still holds every cent below it exactly."""

_SIZE_MAX: Final = 2**63 - 1
"""Shares at one level of a book, as the channel's frames have it: all that others rest there."""


def check(body: m.Body) -> None:
    """See to it that a body says nothing that cannot be meant. Raises Garbled, naming the value.

    Series are looked at for their names only: what a market may be is judged where it is taken in.
    """
    match body:
        case m.OrderShown():
            _check_order(body.order)
        case m.CancelShown():
            _check_order(body.order)
            _check_qty("reduced_by", body.reduced_by)
        case m.OrdersShown():
            for order in body.orders:
                _check_order(order)
        case m.FillsShown():
            for fill in body.fills:
                _check_fill(fill)
        case m.PositionsShown():
            for position in body.positions:
                _check_qty("qty", position.qty)
                _check_names((position.ticker, position.market_id, position.event_ticker))
        case m.BalanceShown():
            cash = body.balance
            for cents in (cash.available_cents, cash.reserved_cents, cash.total_cents):
                _check_cents("balance", cents)
        case m.SeriesShown():
            for event in body.events:
                _check_event(event)
        case m.BookShown():
            _check_book(body.book)


def _check_order(order: model.Order) -> None:
    if not is_order_id(order.order_id):
        raise Garbled(f"no order id: {order.order_id[:ID_LENGTH_MAX]!r}")
    if not is_price(order.price):
        raise Garbled(f"an order has a price of 1..99, not {order.price}")
    _check_qty("qty", order.qty)
    _check_qty("remaining_qty", order.remaining_qty)
    _check_qty("filled_qty", order.filled_qty)
    for cents in (order.reserved_cents, order.spent_cents):
        if cents is not None:
            _check_cents("order", cents)
    _check_names(
        (
            order.ticker,
            order.market_id,
            order.event_ticker,
            order.client_order_id,
            order.created_at,
            order.updated_at,
        )
    )


def _check_fill(fill: model.Fill) -> None:
    """The ends of the scale are no limit prices, but what a fill can be reported at."""
    for cents in (fill.outcome_price, fill.trade_price):
        if not 0 <= cents <= PAYOUT_CENTS:
            raise Garbled(f"a fill has a price of 0..100, not {cents}")
    _check_qty("qty", fill.qty)
    if fill.fee_cents is not None:
        _check_cents("fee", fill.fee_cents)
    _check_names(
        (
            fill.fill_id,
            fill.trade_id,
            fill.order_id,
            fill.ticker,
            fill.market_id,
            fill.event_ticker,
            fill.created_at,
        )
    )


def _check_event(event: model.Event) -> None:
    _check_names((event.event_ticker, event.series_ticker, event.project_id))
    for market in event.markets:
        _check_names((market.ticker, market.market_id, market.event_ticker))


def _check_book(book: model.Orderbook) -> None:
    for level in (*book.bids, *book.asks):
        if not (is_price(level.price) and 0 <= level.size <= _SIZE_MAX):
            raise Garbled(f"a level has a price of 1..99 and a size of >= 0: {level}")
    _check_names((book.ticker, book.market_id, book.as_of))


def _check_qty(name: str, qty: int) -> None:
    if not 0 <= qty <= QTY_MAX:
        raise Garbled(f"{name} is 0 to {QTY_MAX} shares, not {qty}")


def _check_cents(name: str, cents: int) -> None:
    if not -CASH_CENTS_MAX <= cents <= CASH_CENTS_MAX:
        raise Garbled(f"{name}: {cents} cents")


def _check_names(texts: Iterable[str | None]) -> None:
    for text in texts:
        if text is not None and len(text) > ID_LENGTH_MAX:
            raise Garbled(f"longer than {ID_LENGTH_MAX} characters: {text[:20]!r}")
