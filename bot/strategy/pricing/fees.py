"""The fee that a quote has to earn back: exact where it is charged by the order, else on average.

The venue rounds up the sum of an order's fees (S16), so an order filled whole wastes less than a
cent. Were each fill rounded up by itself, an order filled by many small takers would waste nearly a
cent with each: the careful reading, taken over the sizes in which our orders do fill.

Formulas: docs/pricing.md#section-1c. Reading: docs/assumptions.md#S16.
"""

import enum
import math
from functools import lru_cache
from typing import Final

from venue.wire.money import FEE_UNITS_PER_CENT, FeeRate, Price, Qty, fee_cents, fee_units

_FADE: Final = 0.995
"""Each fill counts for this much less once another has come: about two hundred are remembered."""

_SIZES_MAX: Final = 16
"""Different sizes of fills remembered at most: those that are left count as the nearest."""

_STEADY_FILLS: Final = 20.0
"""So many fills weigh as much as the guess that half of an order's fills are of one share."""


class FeeBasis(enum.StrEnum):
    """What the venue rounds up to a cent."""

    ORDER = "order"  # the sum of an order's fees (S16)
    FILL = "fill"  # the fee of each fill: the careful reading


Sizes = tuple[tuple[int, int], ...]
"""(shares of a fill, its weight in thousandths): how our orders fill; the weights need no sum."""


@lru_cache(maxsize=1_024)  # of the sizes since the last fill: a key is a kilobyte
def expected_fee(rate: FeeRate, sizes: Sizes, price: int) -> float:
    """E[fee rounded up per fill] / E[shares of a fill], cents per share.

    sizes: not empty, shares and weights above 0. price: 1..99.
    """
    fees = sum(weight * fee_cents(rate, Qty(size), Price(price)) for size, weight in sizes)
    return fees / sum(weight * size for size, weight in sizes)


class FillSizes:
    """The sizes in which orders of ours fill, older fills fading."""

    __slots__ = ("_weights",)

    def __init__(self) -> None:
        self._weights: dict[int, float] = {}

    def filled(self, qty: int) -> None:
        """A fill of ours, of `qty` shares (1 or more)."""
        for size in self._weights:
            self._weights[size] *= _FADE
        if qty not in self._weights and len(self._weights) >= _SIZES_MAX:
            qty = min(self._weights, key=lambda size: (abs(size - qty), size))
        self._weights[qty] = self._weights.get(qty, 0.0) + 1.0

    def of_order(self, order_qty: int) -> Sizes:
        """How an order of so many shares is taken to fill: as others did, none larger than it; and
        as long as few have, half of its fills whole and half of one share."""
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
    where there is no fee. price: 1..99. waste: above 0."""
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
