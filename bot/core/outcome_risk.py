"""The loss of an inventory under the chances of its outcomes; the worst case knows no chances.

With profit W(b) in outcome b of chance p(b), the expected shortfall at level a is the mean loss of
the worst 1 - a of all chance. An outcome that is partly in that tail counts with that part alone:
proposition 8 of Rockafellar and Uryasev (2002), for discrete losses what Rockafellar and Uryasev
(2000) define by a minimum.

Formulas: docs/pricing.md#section-1i.
"""

from collections.abc import Sequence

import msgspec

from venue.wire.money import Cents


class OutcomeRisk(msgspec.Struct, frozen=True, kw_only=True):
    """Of one event, if nothing more fills. Whole cents, rounded to the nearest."""

    expected_cents: Cents
    """Mean profit; below zero is a loss."""
    shortfall_95_cents: Cents
    """Mean loss of the worst 5 % of chance; below zero is a gain even there."""
    shortfall_99_cents: Cents
    """The same of the worst 1 %."""
    limit_cents: Cents
    """The loss limit that `over_limit_chance` is of."""
    over_limit_chance: float
    """Chance of a loss above the limit, 0..1."""


def risk_of(
    outcome_cents: Sequence[int], chances: Sequence[float], limit_cents: Cents
) -> OutcomeRisk:
    """outcome_cents: profit by outcome. chances: of the same outcomes, >= 0, adding up to 1. Raises
    ValueError if their numbers differ."""
    outcomes = list(zip(outcome_cents, chances, strict=True))
    over = sum(chance for cents, chance in outcomes if -cents > limit_cents)
    return OutcomeRisk(
        expected_cents=Cents(-round(shortfall_cents(outcomes, 0.0))),
        shortfall_95_cents=Cents(round(shortfall_cents(outcomes, 0.95))),
        shortfall_99_cents=Cents(round(shortfall_cents(outcomes, 0.99))),
        limit_cents=limit_cents,
        over_limit_chance=min(1.0, over),
    )


def shortfall_cents(outcomes: Sequence[tuple[int, float]], level: float) -> float:
    """Mean loss of the worst 1 - level of all chance. outcomes: profit in cents and chance of each,
    at least one. level: 0 <= level < 1; at 0 the mean loss of all."""
    tail = left = 1.0 - level
    loss, worst_first = 0.0, sorted(outcomes)
    for cents, chance in worst_first:
        part = min(chance, left)
        loss -= part * cents
        left -= part
    # Chances may add up to a rounding less than 1: the best outcome takes the rest.
    return (loss - left * worst_first[-1][0]) / tail
