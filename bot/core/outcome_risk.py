"""The loss of an inventory under the chances of its outcomes; the worst case knows no chances.

With profit W(b) in outcome b of chance p(b), the expected shortfall at level a is the mean loss of
the worst 1 - a of all chance. An outcome that is partly in that tail counts with that part alone:
proposition 8 of Rockafellar and Uryasev (2002), for discrete losses what Rockafellar and Uryasev
(2000) define by a minimum.

Events of one company are netted by a mixture: with weight c one draw decides all of them at the
same rank of their values, with weight 1 - c each has a draw of its own.

Formulas: docs/pricing.md#section-1i.
"""

import math
from collections import defaultdict
from collections.abc import Sequence
from typing import Final

import msgspec

from venue.wire.money import Cents
from venue.wire.names import ProjectId, Ticker

POINTS_MAX: Final = 1_000
"""About so many different sums of independent events are kept: a report is drawn every second."""

HeldOutcomes = tuple[Sequence[int], Sequence[float]]
"""Of one event, by outcome, lowest value first: profit in cents, and chance (adding up to 1)."""


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


class CompanyRisk(msgspec.Struct, frozen=True, kw_only=True):
    """Of all events of one company together, if nothing more fills. No limit uses it."""

    project_id: ProjectId
    events: tuple[Ticker, ...]
    correlation: float
    """0..1: the weight of one draw that decides all events."""
    risk: OutcomeRisk | None
    """Against the loss limit of the series. None while some event holds what has unknown
    chances."""


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


# --- several events -------------------------------------------------------------------------------


def netted_risk(
    events: Sequence[HeldOutcomes], correlation: float, limit_cents: Cents
) -> OutcomeRisk:
    """Of events together, at least one. correlation: 0..1.

    The expected profit is exact. So is the rest, to the cent, while independent outcomes give at
    most `POINTS_MAX` sums or lie within so many cents; beyond that it is off by at most
    half of `grid_cents` an event.
    """
    mixed = [
        *((cents, (1 - correlation) * chance) for cents, chance in _independent(events)),
        *((cents, correlation * chance) for cents, chance in _comonotone(events)),
    ]
    over = sum(chance for cents, chance in mixed if -cents > limit_cents)
    expected = -sum(shortfall_cents(list(zip(*each, strict=True)), 0.0) for each in events)
    return OutcomeRisk(
        expected_cents=Cents(round(expected)),
        shortfall_95_cents=Cents(round(shortfall_cents(mixed, 0.95))),
        shortfall_99_cents=Cents(round(shortfall_cents(mixed, 0.99))),
        limit_cents=limit_cents,
        over_limit_chance=min(1.0, over),
    )


def grid_cents(events: Sequence[HeldOutcomes]) -> int:
    """The cents to which the profits of independent events are rounded before they are added; 1
    where that changes nothing."""
    sums = math.prod(len({*cents}) for cents, _ in events)
    if sums <= POINTS_MAX:
        return 1
    span_cents = sum(max(cents) - min(cents) for cents, _ in events)
    return max(1, -(-span_cents // POINTS_MAX))


def _independent(events: Sequence[HeldOutcomes]) -> list[tuple[int, float]]:
    """Sums of profits in cents, and their chances, each event with a draw of its own."""
    grid, sums = grid_cents(events), {0: 1.0}
    for cents, chances in events:
        own: defaultdict[int, float] = defaultdict(float)
        for each, chance in zip(cents, chances, strict=True):
            own[round(each / grid) * grid] += chance
        added: defaultdict[int, float] = defaultdict(float)
        for total, so_far in sums.items():
            for each, chance in own.items():
                added[total + each] += so_far * chance
        sums = added
    return list(sums.items())


def _comonotone(events: Sequence[HeldOutcomes]) -> list[tuple[int, float]]:
    """The same where one draw decides every event at the same rank of its value."""
    places, sums, decided = [0] * len(events), [], 0.0
    ends = [chances[0] for _, chances in events]
    while True:
        total = sum(cents[place] for (cents, _), place in zip(events, places, strict=True))
        going = [index for index, place in enumerate(places) if place < len(events[index][1]) - 1]
        if not going:
            # Chances may add up to a rounding less than 1: the highest values take the rest.
            sums.append((total, 1.0 - decided))
            return sums
        end = min(ends[index] for index in going)
        sums.append((total, max(0.0, end - decided)))
        decided = max(decided, end)
        for index in going:
            if ends[index] <= end:
                places[index] += 1
                ends[index] += events[index][1][places[index]]
