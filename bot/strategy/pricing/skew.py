"""Reservation values over the curve: how far the whole inventory moves the worth of each rung.

Four rules turn the payoff covariance C and the net inventory q (YES less NO shares) into a
reservation value r, in cents of canonical YES. c scales each rule: cents of value per share held.

    local    r = F - c G R^(1/2) G q                        by moves of the value before the end
    ergodic  r = F - c (C / 10,000)^(1/2) q                 for a maker with an infinite horizon
    quad     r = F - c C q / 10,000                         quadratic utility, exact and linear
    cara     exponential utility of the outcomes, exact: an LMSR whose b is 100 / c shares

More YES held in any rung never raises a reservation value of any rung. Formulas:
docs/pricing.md#section-1b.
"""

import enum
import math
from collections.abc import Sequence
from operator import sub
from typing import Final

import numpy as np
import numpy.typing as npt

from bot.strategy.pricing.probit import clipped, probit, slope
from venue.wire.money import PAYOUT_CENTS

Matrix = npt.NDArray[np.float64]

CURVE_STEP: Final = 0.01
"""Roots are computed again when a chance has moved by a cent. Measured on random ladders of 3 to 15
rungs with about fifty shares of each: the skew is then off by 0.05c at the median and 0.24c at the
99th percentile; half a cent halves both and doubles the work."""

_EVEN_SLOPE_CENTS: Final = slope(0.0)


class Rule(enum.StrEnum):
    """The rule of the reservation values."""

    LOCAL = "local"
    ERGODIC = "ergodic"
    QUAD = "quad"
    CARA = "cara"


_OF_EVEN_RUNG: Final = {
    Rule.LOCAL: 0.8,
    Rule.ERGODIC: 0.41,
    Rule.QUAD: 0.25,
    Rule.CARA: 0.25,
}
"""The diagonal of the rule's matrix at a 50c rung: of the covariance in dollars squared; of the two
roots on a ladder of about seven rungs (the ergodic one is specified)."""


# --- the matrices ---------------------------------------------------------------------------------


def covariance(chances: Sequence[float], alpha: float = 1.0) -> Matrix:
    """The payoff covariance C / 10,000 of one share in dollars, an n x n array.

    chances: S, 0..1, never rising with the strike; then it has no eigenvalue below 0. alpha: 1 the
    joint one, 0 its diagonal alone, which treats every rung by itself; between them a mixture.
    """
    values = np.array(chances, dtype=float)
    found: Matrix = np.minimum.outer(values, values) * (1 - np.maximum.outer(values, values))
    if alpha < 1:
        diagonal = found.diagonal().copy()
        found *= alpha
        np.fill_diagonal(found, diagonal)
    return found


def local_matrix(chances: Sequence[float], alpha: float = 1.0) -> Matrix:
    """G R^(1/2) G, an n x n array without a unit: 1 at a single 50c rung.

    chances, alpha: as `covariance`; alpha mixes the correlations with none. Values are taken inside
    0.5..99.5 cents.
    """
    values = [clipped(PAYOUT_CENTS * chance) for chance in chances]
    logits = np.array([math.log(value / (PAYOUT_CENTS - value)) for value in values])
    tied: Matrix = alpha * np.exp(-0.5 * np.abs(np.subtract.outer(logits, logits)))
    np.fill_diagonal(tied, 1.0)
    slopes = np.array([slope(probit(value)) for value in values]) / _EVEN_SLOPE_CENTS
    found: Matrix = root(tied) * np.outer(slopes, slopes)
    return found


def covariance_times(
    chances: Sequence[float], held: Sequence[float], alpha: float = 1.0
) -> list[float]:
    """C q / 10,000 without the matrix, in one sweep up and one down: dollars squared x shares.

    chances, alpha: as `covariance`. held: q, as many.
    """
    below, lower = 0.0, []
    for chance, shares in zip(chances, held, strict=True):
        lower.append(below)
        below += (1 - chance) * shares
    above = 0.0
    out = [0.0] * len(lower)
    for index in range(len(lower) - 1, -1, -1):
        chance, shares = chances[index], held[index]
        mine = chance * (1 - chance) * shares
        others = (1 - chance) * above + chance * lower[index]
        out[index] = mine + alpha * others
        above += chance * shares
    return out


def root(matrix: Matrix) -> Matrix:
    """The symmetric root of a positive semidefinite matrix; eigenvalues that rounding makes
    negative count as 0."""
    values, vectors = np.linalg.eigh(matrix, UPLO="U")
    found: Matrix = (vectors * np.sqrt(np.maximum(values, 0))) @ vectors.T
    return found


def flow_of(lot_qty: float, amplitude_per_s: float, decay_per_cent: float) -> float:
    """D of a rung: 2 z A k / e, from fills of z shares at a rate of A exp(-k distance) a side."""
    return 2 * lot_qty * amplitude_per_s * decay_per_cent / math.e


# --- how strong -----------------------------------------------------------------------------------


def c_by_meaning(rule: Rule, half_spread_cents: float, lot_qty: float, half_lots: float) -> float:
    """c such that `half_lots` lots of a 50c rung move its value by one half spread, cents a share.

    half_spread_cents: 0 or more. lot_qty, half_lots: above 0.
    """
    return half_spread_cents / (_OF_EVEN_RUNG[rule] * lot_qty * half_lots)


def c_of_aversion(
    rule: Rule, risk_aversion: float, flow: float | None = None, horizon_s: float = 1.0
) -> float | None:
    """c for a trader of risk aversion gamma, per cent; None if it depends on an unknown flow.

    quad and cara: 10,000 gamma. ergodic: 100 sqrt(gamma / (D T)), exact if all rungs have one flow
    D (`flow_of`, above 0) and the covariance arrives evenly over T = `horizon_s` seconds. local:
    the slope of a 50c rung instead of the 100, D being the flow there.
    """
    if rule in (Rule.QUAD, Rule.CARA):
        return PAYOUT_CENTS**2 * risk_aversion
    if flow is None:
        return None
    cents = _EVEN_SLOPE_CENTS if rule is Rule.LOCAL else PAYOUT_CENTS
    return cents * math.sqrt(risk_aversion / (flow * horizon_s))


def time_factor(seconds_left: float, full_s: float) -> float:
    """min(4, sqrt(T0 / T)): how much stronger the skew is with less time left; 1 if full_s, T0, is
    0. seconds_left: T, 0 or more."""
    if full_s <= 0:
        return 1.0
    return min(4.0, math.sqrt(full_s / max(seconds_left, 1e-9)))


# --- the rules ------------------------------------------------------------------------------------


class Linear:
    """The rules whose reservation value is linear in the inventory: all but cara.

    The matrix is that of the curve when it was computed; it hardly changes before a value has moved
    by half a cent (`CURVE_STEP`).
    """

    def __init__(self, rule: Rule, alpha: float = 1.0) -> None:
        """rule: LOCAL, ERGODIC or QUAD. alpha: as `covariance`."""
        self._rule = rule
        self._alpha = alpha
        self._chances: list[float] = []
        self._matrix: Matrix = np.zeros((0, 0))
        self.diagonal: list[float] = []

    def update_curve(self, chances: Sequence[float]) -> bool:
        """True if the matrix, and so the `diagonal`, changed."""
        before = self._chances
        if len(chances) == len(before):
            moved = max(map(abs, map(sub, chances, before)), default=0.0)
            if moved < CURVE_STEP:
                return False
        self._chances = list(chances)
        if self._rule is Rule.QUAD:
            self.diagonal = [chance * (1 - chance) for chance in chances]
        else:
            self._matrix = (
                local_matrix(chances, self._alpha)
                if self._rule is Rule.LOCAL
                else root(covariance(chances, self._alpha))
            )
            self.diagonal = self._matrix.diagonal().tolist()
        return True

    def shifts(self, held: Sequence[float]) -> list[float]:
        """Per rung, how far its reservation value is below its fair value, in units of c."""
        if not any(held):
            return [0.0] * len(held)
        if self._rule is Rule.QUAD:
            return covariance_times(self._chances, held, self._alpha)
        moved: list[float] = (self._matrix @ np.array(held, dtype=float)).tolist()
        return moved
