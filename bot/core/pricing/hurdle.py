"""What a share must earn for the room that it takes in the event's limit of loss.

Shares at 98 cents of an outcome that is all but certain lose next to nothing on average, and 98
cents each at worst: they use up a limit of loss that shares near 50 cents would earn more with. So
where the limit is tight a share must earn a hurdle by every dollar that it adds to the worst case
of what is held, and is worth that much more where it takes from it.

More YES held on any rung never makes a bid cheaper, nor an ask dearer: a share of YES pays from one
outcome on upward, another pays from another one on, and the least over a chain of outcomes of such
sums has decreasing differences.

See docs/pricing.md#section-1f, #section-1g; measured in docs/strategies.md.
"""

from collections.abc import Sequence
from itertools import accumulate
from typing import Final

from venue.wire.money import PAYOUT_CENTS

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
