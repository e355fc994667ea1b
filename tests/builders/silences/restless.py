"""Strategies that change their mind with the seconds that are left: sizes, and prices."""

from bot.strategy.api import EventView, Quote, Quotes, Strategy
from venue.wire.money import BookSide, Price, Qty

SIZES = (24, 8, 16)


class Restless(Strategy):
    """One bid and one ask on every rung, around a value that only the rung's place decides.

    Sizes shrink and grow every second, prices step every two: amends of both kinds are needed.
    """

    name = "restless"

    class Params(Strategy.Params):
        """None."""

    def quote(self, view: EventView) -> Quotes:
        """See `Strategy`."""
        second = int(view.seconds_to_resolution)
        size, step = Qty(SIZES[second % len(SIZES)]), second // 2 % 2
        out = {}
        for number, rung in enumerate(view.rungs):
            value = 65 - 18 * number
            out[rung.market_id] = (
                Quote(BookSide.BID, Price(value - 2 - step), size),
                Quote(BookSide.ASK, Price(value + 2 + step), size),
            )
        return out


class Shrinking(Strategy):
    """One bid and one ask on every rung that never move: 20 shares, and 8 after two seconds."""

    name = "shrinking"

    class Params(Strategy.Params):
        """None."""

    def quote(self, view: EventView) -> Quotes:
        """See `Strategy`."""
        size = Qty(20 if view.seconds_to_resolution > LEFT_AT_START_S - 2 else 8)
        out = {}
        for number, rung in enumerate(view.rungs):
            value = 65 - 18 * number
            out[rung.market_id] = (
                Quote(BookSide.BID, Price(value - 3), size),
                Quote(BookSide.ASK, Price(value + 3), size),
            )
        return out


LEFT_AT_START_S = 99_999_998
"""From the bot's start to the event's resolution."""


def shrinking() -> Strategy:
    return Shrinking(Shrinking.Params())


def restless() -> Strategy:
    return Restless(Restless.Params())
