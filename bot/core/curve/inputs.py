"""What is known of one rung for the curve to be drawn, and the fair value that comes of it."""

from typing import Final

import msgspec

from bot.core.curve.estimate import Volatility, clipped, stood_for
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


_NOTHING_SEEN: Final = RungInput((), (), 0, None)


class RungOwn:
    """What the curve keeps of one rung, beside what it keeps of all. u: its log strike.

    seen: what was looked at last. cents, inverse: what that said of its value, and one over the
    variance of it; 0 where it said nothing. has_spoken: whether any ever said something.
    used_volatility: by which it aged. realised: of its fair value. weight, shown_weight: how sure
    its value is, and was when it was shown: one over the variance.
    """

    __slots__ = (
        "cents",
        "has_spoken",
        "inverse",
        "realised",
        "seen",
        "shown_weight",
        "u",
        "used_volatility",
        "weight",
    )

    def __init__(self, u: float) -> None:
        self.u = u
        self.seen = _NOTHING_SEEN
        self.cents = 0.0
        self.inverse = 0.0
        self.has_spoken = False
        self.used_volatility = 0.0
        self.realised = Volatility()
        self.weight = 1.0
        self.shown_weight = 0.0


class Fair(msgspec.Struct, frozen=True):
    """A rung's fair value, 0.5..99.5 cents, and its standard deviation in cents: at most 50, as of
    anything between nothing and the whole payout."""

    value_cents: float
    sd_cents: float


def bounded(cents: float, rung: RungInput) -> float:
    """A value inside 0.5..99.5, and not beyond the only side of a one-sided book, as far as enough
    shares stand for it."""
    if rung.bids and not rung.asks:
        floor = stood_for(rung.bids)
        cents = cents if floor is None else max(cents, floor)
    elif rung.asks and not rung.bids:
        ceiling = stood_for(rung.asks)
        cents = cents if ceiling is None else min(cents, ceiling)
    return clipped(cents)
