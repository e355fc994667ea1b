"""The guards of the engine: each returns a refusal or None. The engine asks them in the order of
S29: field values, names not found, venue state, state of market and order, funds; within a stage as
in `venue.wire.errors.PRECEDENCE`. Readings: docs/assumptions.md#S23, #S24, #S29, #S50."""

from typing import Final

from venue.engine.ledger import CASH_CENTS_MAX
from venue.engine.messages import Refused
from venue.wire.errors import Code
from venue.wire.limits import NOTIONAL_CENTS_MAX, QTY_MAX
from venue.wire.model import MarketState, VenueState
from venue.wire.money import PRICE_MAX, PRICE_MIN, Cents, Qty, is_price
from venue.wire.names import is_client_order_id
from venue.wire.requests import Amend, NewOrder, QtyOrder

NO_SUCH_USER: Final = Refused(Code.INVALID_REQUEST, "no such account holder")
NO_SUCH_MARKET: Final = Refused(Code.MARKET_NOT_FOUND, "no such market")
NO_SUCH_ORDER: Final = Refused(Code.ORDER_NOT_FOUND, "no such order")
DUPLICATE: Final = Refused(
    Code.DUPLICATE_ORDER_ID, "an order derived from this client_order_id exists already"
)
NOT_CANCELABLE: Final = Refused(Code.ORDER_NOT_CANCELABLE, "the order has ended")

_PRICE: Final = Refused(Code.INVALID_PRICE, "price: whole cents, 1 to 99")
_QTY: Final = Refused(Code.INVALID_QTY, f"qty: whole shares, 1 to {QTY_MAX}")
_WHOLE_QTY: Final = Refused(
    Code.INVALID_QTY, f"qty: with what has filled, more than {QTY_MAX} shares"
)
_BUDGET: Final = Refused(Code.INVALID_BUDGET, f"budget_cents: 1 to {NOTIONAL_CENTS_MAX} cents")
_KEY: Final = Refused(
    Code.MISSING_IDEMPOTENCY_KEY, "client_order_id: 1 to 64 printable ASCII characters"
)
_VENUE_HALTED: Final = Refused(Code.VENUE_HALTED, "the venue takes nothing, cancels included")
_CANCEL_ONLY: Final = Refused(Code.VENUE_CANCEL_ONLY, "the venue takes cancels only")
_MARKET_HALTED: Final = Refused(Code.MARKET_HALTED, "the market is halted")
_MARKET_RESOLVED: Final = Refused(Code.MARKET_RESOLVED, "the market has resolved")
_BALANCE: Final = Refused(Code.INSUFFICIENT_BALANCE, "the reserve exceeds the available cash")
_WITHDRAWAL: Final = Refused(
    Code.INSUFFICIENT_BALANCE, "amount_cents: more than the available cash"
)
_DEPOSITS: Final = Refused(
    Code.INVALID_REQUEST, f"amount_cents: all deposits together exceed {CASH_CENTS_MAX} cents"
)
_SHARES: Final = Refused(Code.INSUFFICIENT_SHARES, "more than is held and not yet committed")
_VENUE_OPEN: Final = VenueState.OPEN
_MARKET_ACTIVE: Final = MarketState.ACTIVE


def new_order_values(order: NewOrder) -> Refused | None:
    """invalid_price, invalid_qty, invalid_budget, missing_idempotency_key: fields of a create."""
    price = order.price
    if not PRICE_MIN <= price <= PRICE_MAX:
        return _PRICE
    if isinstance(order, QtyOrder):
        if not 1 <= order.qty <= QTY_MAX:
            return _QTY
    elif not 1 <= order.budget_cents <= NOTIONAL_CENTS_MAX:
        return _BUDGET
    return None if is_client_order_id(order.client_order_id) else _KEY


def amend_values(amend: Amend) -> Refused | None:
    """invalid_price, invalid_qty: fields of an amend that are wrong for any order (S13)."""
    if amend.price is not None and not is_price(amend.price):
        return _PRICE
    if amend.qty is not None and not 1 <= amend.qty <= QTY_MAX:
        return _QTY
    return None


def whole_size(qty: Qty) -> Refused | None:
    """invalid_qty: an amended order's `qty`, with what has filled, beyond the ceiling (S13)."""
    return _WHOLE_QTY if qty > QTY_MAX else None


def venue_takes_orders(state: VenueState) -> Refused | None:
    """venue_halted, venue_cancel_only: creates and amends, shrinking ones too (S24, S50)."""
    if state is _VENUE_OPEN:
        return None
    return _VENUE_HALTED if state is VenueState.HALTED else _CANCEL_ONLY


def venue_takes_cancels(state: VenueState) -> Refused | None:
    """venue_halted (S24)."""
    return _VENUE_HALTED if state is VenueState.HALTED else None


def market_takes_orders(state: MarketState) -> Refused | None:
    """market_halted, market_resolved: creates and amends; cancels are never asked this (S23)."""
    if state is _MARKET_ACTIVE:
        return None
    return _MARKET_HALTED if state is MarketState.HALTED else _MARKET_RESOLVED


def takes_orders(venue: VenueState, market: MarketState) -> Refused | None:
    """The venue's reject of a create by its state, then by the market's."""
    if venue is _VENUE_OPEN and market is _MARKET_ACTIVE:
        return None
    return venue_takes_orders(venue) or market_takes_orders(market)


def cash(needed: Cents, available: Cents) -> Refused | None:
    """insufficient_balance: a reserve, or what one grows by, against the available cash."""
    return _BALANCE if needed > available else None


def withdrawal(cents: Cents, available: Cents) -> Refused | None:
    """insufficient_balance: a withdrawal against the available cash."""
    return _WITHDRAWAL if cents > available else None


def total_deposits(cents: Cents, deposited: Cents) -> Refused | None:
    """invalid_request: a deposit that takes the sum of all deposits beyond the exact range."""
    return _DEPOSITS if deposited + cents > CASH_CENTS_MAX else None


def shares(needed: int, free: Qty) -> Refused | None:
    """insufficient_shares: a sell, or its growth, against free inventory."""
    return _SHARES if needed > free else None
