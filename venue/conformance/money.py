"""Fees, reserves and cash counted a second time, in exact fractions."""

import math
from fractions import Fraction
from typing import Final

from venue.conformance.judge import Json

# A whole share in cents. Named, because the judge may not borrow the venue's own mirror.
DOLLAR_CENTS: Final = 100


def mirror(price: int) -> int:
    return DOLLAR_CENTS - price


def exact_fee(rate: str, price: int, qty: int) -> Fraction:
    """rate x qty x p x (1 - p) in cents, not rounded; price in cents of the order's outcome."""
    share = Fraction(price, DOLLAR_CENTS)
    return Fraction(rate) * qty * share * (1 - share) * DOLLAR_CENTS


def fee_cents(rate: str, price: int, qty: int) -> int:
    """The fee of one fill alone, ceiled to whole cents."""
    return math.ceil(exact_fee(rate, price, qty))


def reserve_cents(market: Json, price: int, qty: int) -> int:
    """What a new resting buy locks: its price and the dearer fee (S17)."""
    rates = (market["maker_fee_rate"], market["taker_fee_rate"])
    return price * qty + max(fee_cents(rate, price, qty) for rate in rates)


def fees_by_order(market: Json, fills: list[Json]) -> dict[str, tuple[int, int]]:
    """Per order_id: the fee of its fills, and the ceiled sum of their exact fees (S16)."""
    charged: dict[str, int] = {}
    exact: dict[str, Fraction] = {}
    for row in fills:
        rate = market[f"{row['liquidity']}_fee_rate"]
        fee = exact_fee(rate, row["outcome_price"], row["qty"])
        order_id = row["order_id"]
        charged[order_id] = charged.get(order_id, 0) + row["fee_cents"]
        exact[order_id] = exact.get(order_id, Fraction(0)) + fee
    return {order_id: (charged[order_id], math.ceil(exact[order_id])) for order_id in charged}


def cash_flow(fills: list[Json]) -> int:
    """Cents that these fills brought (positive) or cost their owner, fees included."""
    return sum(
        row["outcome_price"] * row["qty"] * (1 if row["side"] == "sell" else -1) - row["fee_cents"]
        for row in fills
    )
