"""What a quote must earn beside its fee: those who know more, cash tied up, and its own age.

All in cents per share. A rung's slope is 100 phi(d) cents per standard deviation, d how many of
them it is in the money (`bot.core.curve.estimate.slope`).

Formulas: docs/pricing.md#section-1c.
"""

import math
from typing import Final

from bot.core.curve.estimate import clipped, probit, slope
from venue.wire.money import PAYOUT_CENTS

ADVERSE_PROBIT: Final = 0.02
"""How far a fill moves the value before anything is learned, in standard deviations of the curve
(judgement)."""

PRIOR_FILLS: Final = 50.0
"""So many fills weigh as much as what was assumed before them (specified)."""


def adverse_prior(slope_cents: float, adverse_probit: float = ADVERSE_PROBIT) -> float:
    """Half of what a fill is taken to move the value by, before any is seen."""
    return 0.5 * adverse_probit * slope_cents


def shrunk(mean_cents: float, fills: float, prior_cents: float) -> float:
    """A mean of so many fills drawn to what was assumed before them; never below 0: who trades
    with us for worse than nothing is no reason to quote closer than the costs."""
    drawn = (fills * mean_cents + PRIOR_FILLS * prior_cents) / (fills + PRIOR_FILLS)
    return max(0.0, drawn)


def glosten_milgrom(chance: float, informed: float, sign: int) -> float:
    """How far a quote stands from the value where a part of the takers know the outcome, cents.

    The zero-profit quote of Glosten and Milgrom for an outcome of yes or no: the most that those
    who know more can be worth. chance: S, 0..1. informed: their share, 0..1. sign: -1 for an ask,
    +1 for a bid, as everywhere.
    """
    base = 1 - sign * informed * (2 * chance - 1)
    if base <= 0:
        return PAYOUT_CENTS * (chance if sign > 0 else 1 - chance)
    return 2 * PAYOUT_CENTS * informed * chance * (1 - chance) / base


def capital(price: float, qty: int, held_qty: int, dollar_cents: float) -> float:
    """The charge for the cash that an order ties up until the event resolves.

    price: cents that one bought share of the outcome costs. held_qty: shares of the other outcome
    held, of 0 or more: an order sells those first, and that ties up nothing. dollar_cents: what a
    dollar tied up until then costs.
    """
    bought = qty - held_qty
    return dollar_cents * (price / PAYOUT_CENTS) * (bought / qty) if bought > 0 else 0.0


def staleness(volatility: float, age_s: float, sd_cents: float, doubt_part: float) -> float:
    """What a quote loses by standing where the value was: its move over the quote's age, and a part
    of what is not known of the value. volatility: cents per sqrt(second). age_s: latency and the
    time between two looks. sd_cents: of the fair value; doubt_part: that part of it."""
    return volatility * math.sqrt(age_s) + doubt_part * sd_cents


_SLOPES: Final = tuple(slope(probit(clipped(cents))) for cents in range(PAYOUT_CENTS + 1))


def slope_of(fair_cents: float) -> float:
    """The slope of a rung of this fair value (0..100), cents per standard deviation, to the cent
    of value."""
    return _SLOPES[round(fair_cents)]
