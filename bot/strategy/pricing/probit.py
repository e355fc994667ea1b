"""Values on the probit scale: a rung worth v cents is d standard deviations in the money."""

import math
from statistics import NormalDist
from typing import Final

from venue.wire.money import PAYOUT_CENTS

FAIR_MIN_CENTS: Final = 0.5
FAIR_MAX_CENTS: Final = PAYOUT_CENTS - FAIR_MIN_CENTS
"""Fair values stay inside these: half a tick from worthless and from certain."""

_STANDARD: Final = NormalDist()
_DENSITY_AT_0: Final = 1 / math.sqrt(2 * math.pi)


def probit(cents: float) -> float:
    """How many standard deviations in the money a rung worth `cents` is; a value outside 0.5..99.5
    counts as the nearer of these."""
    return _STANDARD.inv_cdf(min(FAIR_MAX_CENTS, max(FAIR_MIN_CENTS, cents)) / PAYOUT_CENTS)


def from_probit(deviations: float) -> float:
    """The value in cents of a rung so many standard deviations in the money."""
    return PAYOUT_CENTS * 0.5 * math.erfc(-deviations / math.sqrt(2))


def slope(deviations: float) -> float:
    """Cents that a rung's value moves per standard deviation, there: 100 phi(d)."""
    return PAYOUT_CENTS * _DENSITY_AT_0 * math.exp(-0.5 * deviations * deviations)


def clipped(cents: float) -> float:
    """A value brought inside 0.5..99.5 cents."""
    if cents < FAIR_MIN_CENTS:
        return FAIR_MIN_CENTS
    return cents if cents < FAIR_MAX_CENTS else FAIR_MAX_CENTS
