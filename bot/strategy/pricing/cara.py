"""Exponential utility of the outcomes of an event (CARA), exact for every inventory: an LMSR whose
b is 100 / c shares. c: in cents a share, 10,000 times the risk aversion per cent.

Formulas: docs/pricing.md#section-1b.
"""

import itertools
import math
from collections.abc import Sequence
from typing import Final

from venue.wire.money import PAYOUT_CENTS

_CHANCE_MIN: Final = 1e-9
"""Chances stay this far from 0 and 1 where their logarithm is taken."""


def tilted(chances: Sequence[float], held: Sequence[float], c: float) -> list[float]:
    """The chances weighted by exponential utility: each outcome by exp(-gamma times its gain),
    gamma = c / 10,000 per cent. Strictly between 0 and 1, never rising with the strike."""
    # Rung i adds 100 q_i to the gain of every outcome in which it pays.
    per_share = c / PAYOUT_CENTS
    logs, won = [], 0.0
    edges = [1.0, *chances, 0.0]
    for rung, (here, above) in enumerate(itertools.pairwise(edges)):
        if rung:
            won += held[rung - 1]
        logs.append(math.log(max(here - above, _CHANCE_MIN)) - per_share * won)
    top = max(logs)
    weights = [math.exp(each - top) for each in logs]
    total = sum(weights)
    out, above = [0.0] * len(chances), 0.0
    for rung in range(len(chances), 0, -1):
        above += weights[rung]
        out[rung - 1] = min(max(above / total, _CHANCE_MIN), 1 - _CHANCE_MIN)
    return out


def cara_worth(value: float, sign: int, c: float, before: float, size: float) -> float:
    """The average worth of a share of an order under exponential utility: 0..100.

    value: 100 times the tilted chance (`tilted`). sign: +1 a bid, -1 an ask. c: above 0, cents a
    share. before: shares of the same side that fill first. size: of the order, above 0.
    """
    chance = min(max(value / PAYOUT_CENTS, _CHANCE_MIN), 1 - _CHANCE_MIN)
    log_no, log_yes = math.log1p(-chance), math.log(chance)
    per_share = c / PAYOUT_CENTS
    # After `before` shares of the same side the odds have moved by that many tilts.
    log_yes -= sign * per_share * before
    tilt = sign * per_share * size
    left = _log_sum(log_no, log_yes - tilt) - _log_sum(log_no, log_yes)
    return -PAYOUT_CENTS * left / tilt


def _log_sum(first: float, second: float) -> float:
    """ln(e^first + e^second)."""
    high, low = (first, second) if first > second else (second, first)
    return high + math.log1p(math.exp(low - high))
