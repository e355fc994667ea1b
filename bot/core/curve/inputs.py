"""What is known of one rung for the curve to be drawn, and the fair value that comes of it.

Source: strategy, 1(a).
"""

import msgspec

from bot.core.curve.estimate import clipped, stood_for
from bot.core.strategy import Levels


class RungInput(msgspec.Struct, frozen=True):
    """What is known of one rung: the book of others (`Others.shown`), since when it is what it is,
    and the faded traded price with the mean instant of its prints (`TradedPrice.read`).

    confirmed_ns: of a book that is not believed now (its market is halted, or nothing has shown it
    for long), when it was last confirmed: it ages from then on. is_over: it has resolved, or its
    outcome is certain. What was known of it is of before; it has no fair value any more.
    """

    bids: Levels
    asks: Levels
    changed_ns: int
    traded: tuple[float, int] | None
    confirmed_ns: int | None = None
    is_over: bool = False


class Fair(msgspec.Struct, frozen=True):
    """A rung's fair value, 0.5..99.5 cents, and its standard deviation in cents: at most 50, as of
    anything between nothing and the whole payout."""

    value_cents: float
    sd_cents: float


def bounded(cents: float, rung: RungInput | None) -> float:
    """A value inside 0.5..99.5, and not beyond the only side of a one-sided book, as far as enough
    shares stand for it."""
    if rung is not None and rung.bids and not rung.asks:
        floor = stood_for(rung.bids)
        cents = cents if floor is None else max(cents, floor)
    elif rung is not None and rung.asks and not rung.bids:
        ceiling = stood_for(rung.asks)
        cents = cents if ceiling is None else min(cents, ceiling)
    return clipped(cents)
