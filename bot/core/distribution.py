"""The distribution that a ladder's prices imply, and the prices that contradict each other.

A survival curve never rises with the strike. Where prices do, there is an arbitrage (exact), or
the prices are noisy (a chance below zero). Values in canonical YES cents, lowest strike first.

Formulas: docs/pricing.md#section-1a, steps 4 and 5.
"""

import itertools
import math
from collections.abc import Sequence
from typing import Final

import msgspec

from bot.strategy.pricing.arbitrage import arbitrages
from venue.wire.money import PAYOUT_CENTS, Outcome, Price

_THIN: Final = 0.3
_THICK: Final = 3.0
"""An outcome whose chance by the market is outside these multiples of the fit's is an alarm."""

_CHANCE_MIN: Final = 0.02
"""Chances that both are below this are not compared: half a cent would decide (judgement)."""


def monotone(values: Sequence[float], weights: Sequence[float]) -> list[float]:
    """The non-increasing sequence nearest to `values` in weighted squares (pool adjacent
    violators). weights: above zero, as many as values.
    """
    pools: list[tuple[float, float, int]] = []
    for value, weight in zip(values, weights, strict=True):
        count = 1
        while pools and pools[-1][0] < value:
            before, before_weight, before_count = pools.pop()
            total = before_weight + weight
            value = (before * before_weight + value * weight) / total
            weight = total
            count += before_count
        pools.append((value, weight, count))
    return [value for value, _, count in pools for _ in range(count)]


def bucket_masses(values_cents: Sequence[float]) -> tuple[float, ...]:
    """The chance of each of the n + 1 outcomes that a curve implies, lowest first; they add up
    to 1. Below zero where the values rise: raw mids of a ladder may, a repaired curve never does.
    """
    edges = [float(PAYOUT_CENTS), *values_cents, 0.0]
    return tuple((low - high) / PAYOUT_CENTS for low, high in itertools.pairwise(edges))


# --- the implied distribution ---------------------------------------------------------------------


class Implied(msgspec.Struct, frozen=True):
    """The value at resolution by a fair curve, in the unit of the strikes (dollars).

    Quantiles are None where they lie outside the strikes.
    """

    chances: tuple[float, ...]  # of the n + 1 outcomes, lowest first
    low: float | None  # the 10 % quantile
    median: float | None
    high: float | None  # the 90 % quantile


def certain(won: Sequence[Outcome | None]) -> list[Outcome | None]:
    """The certain outcome of each rung, None without one. Where YES has won a rung, it wins every
    lower one; where NO has, every higher one. won: by rung, None where it is not known."""
    sure = list(won)
    for index, outcome in enumerate(won):
        if outcome is Outcome.YES:
            sure[: index + 1] = [Outcome.YES] * (index + 1)
        elif outcome is Outcome.NO:
            sure[index:] = [Outcome.NO] * (len(sure) - index)
            break
    return sure


def decided(values_cents: Sequence[float], won: Sequence[Outcome | None]) -> list[float]:
    """The curve with its certain outcomes at 100 or 0 cents. won: as in `certain`."""
    worth = {Outcome.YES: float(PAYOUT_CENTS), Outcome.NO: 0.0}
    sure = zip(values_cents, certain(won), strict=True)
    return [value if outcome is None else worth[outcome] for value, outcome in sure]


def implied_distribution(strikes: Sequence[float], values_cents: Sequence[float]) -> Implied:
    """The distribution of a non-increasing curve. strikes: above zero, rising."""
    return Implied(
        bucket_masses(values_cents),
        _quantile(strikes, values_cents, 0.1),
        _quantile(strikes, values_cents, 0.5),
        _quantile(strikes, values_cents, 0.9),
    )


def _quantile(strikes: Sequence[float], values: Sequence[float], part: float) -> float | None:
    """The value at which the curve passes 1 - part, linear in the logarithm of the strike."""
    level = PAYOUT_CENTS - PAYOUT_CENTS * part
    for (low, above), (high, below) in itertools.pairwise(zip(strikes, values, strict=True)):
        if above >= level >= below:
            along = 0.0 if above == below else (above - level) / (above - below)
            return math.exp(math.log(low) + along * math.log(high / low))
    return None


# --- alarms ---------------------------------------------------------------------------------------


class Alarm(msgspec.Struct, frozen=True):
    """Prices of a ladder that cannot be right, or are unlikely.

    kind: `arbitrage` (between the books of two rungs), `negative_mass` (the curve rose before its
    repair), `thin_mass` or `thick_mass` (the mids give an outcome less than 0.3 or more than 3
    times the chance of the fit). text: for people.
    """

    kind: str
    text: str


KINDS: Final = ("arbitrage", "negative_mass", "thin_mass", "thick_mass")


def alarms(
    names: Sequence[str],
    touches: Sequence[tuple[Price | None, Price | None]],
    drawn_cents: Sequence[float],
    fit_cents: Sequence[float],
) -> tuple[Alarm, ...]:
    """The alarms of a ladder, in the order of `KINDS`.

    names: of the rungs. touches: best bid and ask of others. drawn_cents: the curve before its
    repair; fit_cents: the fit alone; both may be empty.
    """
    found = [
        Alarm(
            "arbitrage",
            f"{names[each.high]} bid {each.bid} over {names[each.low]} ask {each.ask}",
        )
        for each in arbitrages([bid for bid, _ in touches], [ask for _, ask in touches])
    ]
    if drawn_cents:
        found += [
            Alarm("negative_mass", f"{_outcome(names, outcome)}: chance {mass:.3f} before repair")
            for outcome, mass in enumerate(bucket_masses(drawn_cents))
            if mass < 0
        ]
    mids = [(bid + ask) / 2 for bid, ask in touches if bid is not None and ask is not None]
    if fit_cents and len(mids) == len(names):
        found += _unlike(names, bucket_masses(mids), bucket_masses(fit_cents))
    return tuple(found)


def _unlike(names: Sequence[str], shown: Sequence[float], fitted: Sequence[float]) -> list[Alarm]:
    thin: list[Alarm] = []
    thick: list[Alarm] = []
    for outcome, (mass, fit) in enumerate(zip(shown, fitted, strict=True)):
        if max(mass, fit) < _CHANCE_MIN:
            continue
        text = f"{_outcome(names, outcome)}: chance {mass:.3f}, fit {fit:.3f}"
        if mass < _THIN * fit:
            thin.append(Alarm("thin_mass", text))
        elif mass > _THICK * fit:
            thick.append(Alarm("thick_mass", text))
    return thin + thick


def _outcome(names: Sequence[str], outcome: int) -> str:
    """An outcome by the two rungs that the value lies between."""
    if outcome == 0:
        return f"below {names[0]}"
    if outcome == len(names):
        return f"above {names[-1]}"
    return f"{names[outcome - 1]}..{names[outcome]}"
