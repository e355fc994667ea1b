"""Gueant, Lehalle and Fernandez-Tapia's closed form: two constants, two lines in the inventory.

Source: Gueant, Lehalle, Fernandez-Tapia, Dealing with the inventory risk, 2013, section 4, and
Gueant, Optimal market making, 2017, for orders of `delta`.
"""

import math
from typing import NamedTuple


class Coefficients(NamedTuple):
    """c1, cents: the half spread of a dealer without inventory risk. c2: cents by which one unit
    held moves both quotes, per unit of volatility."""

    c1: float
    c2: float


def coefficients(
    risk_aversion: float, amplitude: float, decay: float, size: float, execution_risk: float
) -> Coefficients:
    """The two constants of the closed form.

    risk_aversion: gamma, per cent and share, 0 or more. amplitude: A, fills of `size` per unit of
    time at no distance, above 0. decay: k, per cent, above 0. size: delta, shares of one order,
    above 0. execution_risk: xi, per cent and share, 0 or more: gamma for the exact utility, 0 for
    its limit, a dealer who counts only the risk of existing inventory.
    """
    inventory = risk_aversion / (2 * amplitude * size * decay)
    ratio = execution_risk * size / decay
    if ratio <= 0:
        return Coefficients(1 / decay, math.sqrt(inventory * math.e))
    growth = math.log1p(ratio)
    # (1 + ratio)**(1/ratio + 1), by the same logarithm: exact for a tiny ratio too.
    return Coefficients(
        growth / (execution_risk * size),
        math.sqrt(inventory * math.exp(growth * (1 / ratio + 1))),
    )


def half_spread(terms: Coefficients, volatility: float, size: float) -> float:
    """Half the distance from bid to ask, cents, for any inventory: c1 + delta/2 c2 sigma."""
    return terms.c1 + size / 2 * terms.c2 * volatility


def skew_per_share(terms: Coefficients, volatility: float) -> float:
    """Cents by which one more share of inventory lowers both quotes: c2 sigma."""
    return terms.c2 * volatility


def bid_distance(terms: Coefficients, volatility: float, size: float, held: float) -> float:
    """How far the bid is below fair, cents: c1 + (2q + delta)/2 c2 sigma."""
    return half_spread(terms, volatility, size) + held * skew_per_share(terms, volatility)


def ask_distance(terms: Coefficients, volatility: float, size: float, held: float) -> float:
    """How far the ask is above fair, cents: c1 - (2q - delta)/2 c2 sigma."""
    return half_spread(terms, volatility, size) - held * skew_per_share(terms, volatility)
