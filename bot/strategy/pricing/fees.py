"""The fee that a quote must earn back: exact if charged by the order (S16), else on average.

Formulas: docs/pricing.md#section-1c. Reading: docs/assumptions.md#S16.
"""

import enum
import math
from functools import lru_cache
from typing import Final

from venue.wire.money import FEE_UNITS_PER_CENT, FeeRate, Price, Qty, fee_cents, fee_units

_FADE: Final = 0.995
"""The weight of a fill after each later one: about two hundred are remembered."""

_SIZES_MAX: Final = 16
"""Distinct fill sizes remembered; a further size counts as the nearest of them."""

_STEADY_FILLS: Final = 20.0
"""Weight, in fills, of the prior that half of an order's fills are of one share."""


class FeeBasis(enum.StrEnum):
    """The amount that the venue rounds up to a cent."""

    ORDER = "order"  # the sum of an order's fees (S16)
    FILL = "fill"  # the fee of each fill: the careful reading


Sizes = tuple[tuple[int, int], ...]
"""(shares of a fill, its weight in thousandths); the weights have no fixed sum."""


@lru_cache(maxsize=1_024)  # of the sizes since the last fill: a key is a kilobyte
def expected_fee(rate: FeeRate, sizes: Sizes, price: int) -> float:
    """E[fee rounded up per fill] / E[shares of a fill], cents per share.

    sizes: not empty, shares and weights above 0. price: 1..99.
    """
    fees = sum(weight * fee_cents(rate, Qty(size), Price(price)) for size, weight in sizes)
    return fees / sum(weight * size for size, weight in sizes)


class FillSizes:
    """The sizes in which our orders fill; older fills fade."""

    __slots__ = ("_weights",)

    def __init__(self) -> None:
        self._weights: dict[int, float] = {}

    def on_own_fill(self, qty: int) -> None:
        """qty: shares, 1 or more."""
        for size in self._weights:
            self._weights[size] *= _FADE
        if qty not in self._weights and len(self._weights) >= _SIZES_MAX:
            qty = min(self._weights, key=lambda size: (abs(size - qty), size))
        self._weights[qty] = self._weights.get(qty, 0.0) + 1.0

    def of_order(self, order_qty: int) -> Sizes:
        """The expected fill sizes of an order: those of before, capped at its size, and as a prior
        half of its fills whole and half of one share."""
        guess = 500 * _STEADY_FILLS
        weights = {order_qty: guess}
        weights[1] = weights.get(1, 0.0) + guess
        for size, weight in self._weights.items():
            size = min(size, order_qty)
            weights[size] = weights.get(size, 0.0) + 1_000 * weight
        return tuple((size, round(weight)) for size, weight in sorted(weights.items()))


@lru_cache(maxsize=4_096)
def least_size(rate: FeeRate, price: int, waste: float = 0.1) -> int:
    """The smallest order whose rounding up wastes at most the part `waste` of its exact fee; 1
    without a fee. price: 1..99. waste: above 0."""
    exact = fee_units(rate, Qty(1), Price(price))
    if exact == 0:
        return 1
    cents = 1
    while True:
        # By cents charged, not by shares: at a tiny rate millions of them pay one cent.
        size = math.ceil(cents * FEE_UNITS_PER_CENT / ((1 + waste) * exact))
        if fee_cents(rate, Qty(size), Price(price)) <= cents:
            return size
        cents += 1
