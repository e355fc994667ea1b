"""What a quote must earn besides its fee: for adverse selection, locked cash, staleness, and its
use of the event's loss limit. All in cents per share.

Formulas: docs/pricing.md#section-1c, #section-1f, #section-1g.
"""

import math
from collections.abc import Sequence
from itertools import accumulate
from typing import Final

from bot.strategy.pricing.probit import probit, slope
from venue.wire.money import PAYOUT_CENTS

ADVERSE_PROBIT: Final = 0.02
"""Prior of how far a fill moves the value, in standard deviations of the curve (judgement)."""

PRIOR_FILLS: Final = 50.0
"""Weight of the prior, in fills (specified)."""


def adverse_prior(slope_cents: float, adverse_probit: float = ADVERSE_PROBIT) -> float:
    """Half of the prior move of the value by a fill."""
    return 0.5 * adverse_probit * slope_cents


def shrunk(mean_cents: float, fills: float, prior_cents: float) -> float:
    """The mean of `fills` fills shrunk to the prior; never below 0, because takers who lose to us
    are no reason to quote closer than the costs."""
    drawn = (fills * mean_cents + PRIOR_FILLS * prior_cents) / (fills + PRIOR_FILLS)
    return max(0.0, drawn)


def glosten_milgrom(chance: float, informed: float, sign: int) -> float:
    """The distance from the value of the zero-profit quote of Glosten and Milgrom, cents.

    It is the highest cost of informed takers of a binary outcome. chance: S, 0..1. informed: their
    share, 0..1. sign: -1 for an ask, +1 for a bid.
    """
    base = 1 - sign * informed * (2 * chance - 1)
    if base <= 0:
        return PAYOUT_CENTS * (chance if sign > 0 else 1 - chance)
    return 2 * PAYOUT_CENTS * informed * chance * (1 - chance) / base


def capital(price: float, qty: int, held_qty: int, dollar_cents: float) -> float:
    """The charge for the cash that an order locks until the event resolves.

    price: cents of one bought share of the outcome. held_qty: held shares of the other outcome, 0
    or more, which an order sells first without locking cash. dollar_cents: cost of a dollar locked
    until then.
    """
    bought = qty - held_qty
    return dollar_cents * (price / PAYOUT_CENTS) * (bought / qty) if bought > 0 else 0.0


def staleness(volatility: float, age_s: float, sd_cents: float, doubt_part: float) -> float:
    """The cost of a stale quote: the move of the value over its age, and a part of the uncertainty
    of the value. volatility: cents per sqrt(second). age_s: latency plus the time between
    decisions. sd_cents: of the fair value; doubt_part: that part of it."""
    return volatility * math.sqrt(age_s) + doubt_part * sd_cents


_SLOPES: Final = tuple(slope(probit(cents)) for cents in range(PAYOUT_CENTS + 1))


def slope_of(fair_cents: float) -> float:
    """The slope at this fair value (0..100) rounded to a cent, cents per standard deviation."""
    return _SLOPES[round(fair_cents)]


# --- the limit of loss ----------------------------------------------------------------------------
#
# Shares at 98 cents of an outcome that is almost certain lose very little on average, and 98 cents
# each at worst. So if the loss limit is tight, a share must earn a hurdle for every dollar that it
# adds to the worst case, and gets the same credit for every dollar that it takes from it.
#
# More YES held in any rung never lowers the charge of a bid, nor raises that of an ask: a YES share
# pays from one outcome upward, another from another one, and the minimum over a chain of outcomes
# of such sums has decreasing differences. Measured in docs/strategies.md.

_TIGHT: Final = 4.0
_AMPLE: Final = 6.0
"""Loss limits in units of the payout of all levels of all rungs: up to the first the whole hurdle
applies, from the second on none of it (measured at 1.1, 2.9 and 7.1)."""


def tightness(limit_cents: int | None, rungs: int, full_qty: int) -> float:
    """The part of the hurdle that applies, 0..1, in tenths.

    limit_cents: the event's loss limit, None without one. rungs: of the event, 1 or more. full_qty:
    shares of all levels of one side of a rung, 1 or more.
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
    """What a bid share and an ask share must earn, cents, of each rung in `fairs`; below 0 if it
    reduces the worst case.

    held: YES and NO shares of every rung, the lowest strike first. fairs: (place in `held`, fair
    value in cents), at which a lot of `lot_qty` shares (1 or more) is assumed to trade.
    """
    gains = [yes - no for yes, no in held]
    # In outcome b the b lowest rungs pay YES; amounts common to all outcomes cancel.
    owned = [PAYOUT_CENTS * qty for qty in accumulate(gains, initial=0)]
    worst = min(owned)
    below = list(accumulate(owned, min))
    above = list(accumulate(reversed(owned), min))
    above.reverse()
    rate = cents_per_dollar / (PAYOUT_CENTS * lot_qty)
    out = []
    for place, fair in fairs:
        lost, won = lot_qty * fair, lot_qty * (PAYOUT_CENTS - fair)
        # A bid loses in outcomes up to its place, where the rung resolves NO; an ask beyond it.
        bid = worst - min(below[place] - lost, above[place + 1] + won)
        ask = worst - min(below[place] + lost, above[place + 1] - won)
        out.append((rate * bid, rate * ask))
    return out
