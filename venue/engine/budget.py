"""How many shares an amount of cash buys from what rests, fees included (docs/assumptions.md#S35,
#S44, #S56)."""

from collections.abc import Iterable

import msgspec

from venue.wire.errors import Code
from venue.wire.money import (
    FEE_UNITS_PER_CENT,
    Cents,
    FeeRate,
    FeeUnits,
    Price,
    Qty,
    fee_units,
    notional,
)


class Offer(msgspec.Struct, frozen=True):
    """Shares that rest at a price of the buyer's own outcome. `own`: the buyer's own order."""

    price: Price
    size: Qty
    own: bool


def size_for_budget(
    offers: Iterable[Offer], budget_cents: Cents, rate: FeeRate, all_or_nothing: bool
) -> Qty | Code:
    """The size, >= 1, that the budget buys, or why there is none. offers: within the price bound,
    best first. budget_cents: all that may leave the account. rate: the taker's.

    The purchase ends before an own offer (S44), at the end of the offers, or where one more share
    would not fit. A fok must end there, at the price of the next offer or, where nothing more
    rests, at the last price it took (S56). no_executable_liquidity: no offer, or the first is the
    buyer's own and the order is no fok. budget_not_fillable: not one share fits (S35) or a fok does
    not fill."""
    size, cash, fees = Qty(0), Cents(0), FeeUnits(0)
    price: Price | None = None
    for offer in offers:
        price = offer.price
        fitting = _fitting(price, rate, budget_cents, cash, fees)
        if offer.own:
            return _cut_short(size, all_or_nothing) if fitting > 0 or size == 0 else size
        if fitting < offer.size:
            size = Qty(size + fitting)
            return size if size else Code.BUDGET_NOT_FILLABLE
        size = Qty(size + offer.size)
        cash = Cents(cash + notional(price, offer.size))
        fees = FeeUnits(fees + fee_units(rate, offer.size, price))
    if price is None:
        return Code.NO_EXECUTABLE_LIQUIDITY
    if _fitting(price, rate, budget_cents, cash, fees) > 0:
        return _cut_short(size, all_or_nothing)
    return size


def _cut_short(size: Qty, all_or_nothing: bool) -> Qty | Code:
    """What it comes to when cash is left for another share and no share is there."""
    if all_or_nothing:
        return Code.BUDGET_NOT_FILLABLE
    return size if size else Code.NO_EXECUTABLE_LIQUIDITY


def _fitting(price: Price, rate: FeeRate, budget: Cents, cash: Cents, fees: FeeUnits) -> int:
    """How many more shares at a price fit, >= 0. ceil(x) <= n exactly when x <= n for a whole n, so
    the rounding of fees needs no search."""
    left = (budget - cash) * FEE_UNITS_PER_CENT - fees
    each = price * FEE_UNITS_PER_CENT + fee_units(rate, Qty(1), price)
    return max(0, left // each)
