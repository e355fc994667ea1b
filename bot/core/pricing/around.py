"""A rule of real numbers around one value, on a book of whole cents: the value, and the rounding.

The rules of other systems quote a real distance from one price. Here that price is chosen, and
what they ask for is rounded away from it: a bid down, an ask up, never in.
"""

import math
from typing import Final, Literal

from bot.core.pricing.price import legal
from bot.core.strategy import RungView
from venue.wire.money import BookSide

Source = Literal["fair", "mid", "micro", "last"]
"""What a rung is quoted around: the fitted curve, the middle of the touch, the middle weighted by
size, the last trade."""

_BID: Final = BookSide.BID
_NOISE_CENTS: Final = 1e-9
"""A real price this close to a whole cent is that cent: the distance is the arithmetic's."""


def value_of(rung: RungView, source: Source) -> float | None:
    """The price in cents that a rung is quoted around, or None where nothing tells it.

    A source that is missing gives way: first to the fitted curve, then to the middle of the touch.
    """
    value: float | None = None
    if source == "mid":
        value = middle(rung)
    elif source == "micro":
        value = rung.microprice_cents
    elif source == "last":
        value = rung.last_price
    if value is None:
        value = rung.fair_cents
    return middle(rung) if value is None else value


def middle(rung: RungView) -> float | None:
    """The middle of the touch of others in cents, None on a one-sided or empty book."""
    if not (rung.bids and rung.asks):
        return None
    return (rung.bids[0][0] + rung.asks[0][0]) / 2


def outward(side: BookSide, price: float) -> int:
    """A real price as a whole cent, away from the other side; it may lie outside 1..99."""
    return math.floor(price + _NOISE_CENTS) if side is _BID else math.ceil(price - _NOISE_CENTS)


def placed(side: BookSide, price: float, rung: RungView, *, gap: int = 1) -> int | None:
    """The whole cent a side rests at: rounded outward, then held `gap` ticks off the touch of
    others. None where the rule asks for more than the price range holds, or no cent is left."""
    allowed = legal(side, rung.best_bid, rung.best_ask, gap=gap)
    if allowed is None:
        return None
    low, high = allowed
    whole = outward(side, price)
    if side is _BID:
        return None if whole < low else min(whole, high)
    return None if whole > high else max(whole, low)
