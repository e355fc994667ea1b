"""What a quote must earn besides its fee: for those who know more, for cash tied up, for its own
age, and for the room that it takes in the event's limit of loss.

All in cents per share. A rung's slope is 100 phi(d) cents per standard deviation, d how many of
them it is in the money (`bot.strategy.pricing.probit.slope`).

Formulas: docs/pricing.md#section-1c, #section-1f, #section-1g.
"""

import math
from collections.abc import Sequence
from itertools import accumulate
from typing import Final

from bot.strategy.pricing.probit import probit, slope
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


_SLOPES: Final = tuple(slope(probit(cents)) for cents in range(PAYOUT_CENTS + 1))


def slope_of(fair_cents: float) -> float:
    """The slope of a rung of this fair value (0..100), cents per standard deviation, to the cent
    of value."""
    return _SLOPES[round(fair_cents)]


# --- the limit of loss ----------------------------------------------------------------------------
#
# Shares at 98 cents of an outcome that is all but certain lose next to nothing on average, and 98
# cents each at worst. So where the limit is tight a share must earn a hurdle by every dollar that
# it adds to the worst case of what is held, and is worth that much more where it takes from it.
#
# More YES held on any rung never makes a bid cheaper, nor an ask dearer: a share of YES pays from
# one outcome on upward, another pays from another one on, and the least over a chain of outcomes of
# such sums has decreasing differences. Measured in docs/strategies.md.

_TIGHT: Final = 4.0
_AMPLE: Final = 6.0
"""Limits of loss in units of what all levels of all rungs pay out: up to the first the whole hurdle
counts, from the second on none of it (measured at 1.1, 2.9 and 7.1)."""


def tightness(limit_cents: int | None, rungs: int, full_qty: int) -> float:
    """The part of the hurdle that counts, 0..1, in tenths.

    limit_cents: what the event may lose, None without a limit. rungs: of the event, 1 or more.
    full_qty: shares of all levels of one side of a rung, 1 or more.
    """
    if limit_cents is None:
        return 0.0
    limit = limit_cents / (PAYOUT_CENTS * rungs * full_qty)
    if limit >= _AMPLE:
        return 0.0
    return 1.0 if limit <= _TIGHT else round(10 * ((_AMPLE - limit) / (_AMPLE - _TIGHT))) / 10


def charges(
    held: Sequence[tuple[int, int]],
    fairs: Sequence[tuple[int, float]],
    lot_qty: int,
    cents_per_dollar: float,
) -> list[tuple[float, float]]:
    """What a share bid for and one offered must earn, cents, of each rung in `fairs`; below 0 where
    it takes from the worst case.

    held: YES and NO shares of every rung, the lowest strike first. fairs: of the rungs that have
    one, their place in `held` and the fair value in cents, at which a lot of `lot_qty` shares (1 or
    more) is taken to be bought or sold.
    """
    gains = [yes - no for yes, no in held]
    # In outcome b the b lowest rungs pay YES; what all outcomes have in common is left out.
    owned = [PAYOUT_CENTS * qty for qty in accumulate(gains, initial=0)]
    worst = min(owned)
    below = list(accumulate(owned, min))
    above = list(accumulate(reversed(owned), min))
    above.reverse()
    rate = cents_per_dollar / (PAYOUT_CENTS * lot_qty)
    out = []
    for place, fair in fairs:
        lost, won = lot_qty * fair, lot_qty * (PAYOUT_CENTS - fair)
        # A bid loses where the rung resolves NO, in outcomes up to its place; an ask beyond it.
        bid = worst - min(below[place] - lost, above[place + 1] + won)
        ask = worst - min(below[place] + lost, above[place + 1] - won)
        out.append((rate * bid, rate * ask))
    return out
