"""Avellaneda and Stoikov's two formulas, and hummingbot's two variants. A mid and an inventory may
be numbers or numpy arrays of one shape.

Source: Avellaneda and Stoikov, High-frequency trading in a limit order book, Quantitative Finance
8(3), 2008, equations 2.9, 2.10 and 3.18.
"""

import math
from typing import TypeVar

import numpy as np
import numpy.typing as npt

Real = TypeVar("Real", float, npt.NDArray[np.float64])


def reservation_price(
    mid: Real, held: Real, risk_aversion: float, volatility: float, time_left: float
) -> Real:
    """The worth of a share with inventory `held`: mid - q gamma sigma^2 (T - t).

    mid: cents. held: signed, in the unit of risk_aversion. risk_aversion: gamma, per cent and per
    unit held. volatility: sigma, cents per root of the unit of time_left.
    time_left: T - t, 0 or more.
    """
    return mid - held * (risk_aversion * volatility * volatility * time_left)


def optimal_spread(
    risk_aversion: float, volatility: float, time_left: float, decay: float
) -> float:
    """From bid to ask, in cents: gamma sigma^2 (T - t) + (2/gamma) ln(1 + gamma/k).

    Units as in `reservation_price`. decay: k, how fast fills fall off with distance, per cent,
    above 0. risk_aversion must be above 0.
    """
    risk = risk_aversion * volatility * volatility * time_left
    return risk + liquidity_spread(risk_aversion, decay)


def liquidity_spread(risk_aversion: float, decay: float) -> float:
    """The part of the spread without any risk: (2/gamma) ln(1 + gamma/k), cents."""
    return 2 / risk_aversion * math.log1p(risk_aversion / decay)


def excess_fraction(base: float, cash: float, price: float, target: float) -> float | None:
    """The excess of the base over its target, as a part of the whole portfolio.

    base: shares, signed. cash: in the unit of price times a share. price: above 0. target: the
    part of the whole that should be base, 0..1. Returns -1..1 without a short side; None for an
    empty portfolio.
    """
    whole = cash / price + base
    if whole <= 0:
        return None
    return (base - target * whole) / whole


def tick_reservation_price(
    mid: float, excess: float, risk_factor: float, tick_volatility: float, left: float
) -> float:
    """Hummingbot's reservation price: mid - q gamma vol t, in cents.

    Its q is a part of the portfolio (`excess_fraction`), its volatility is cents per tick and not
    squared, and its time is the part of the session that is left, 0..1. So gamma is a number: the
    part of one tick's volatility by which a full portfolio moves the price.
    """
    return mid - excess * risk_factor * tick_volatility * left


def tick_spread(risk_factor: float, tick_volatility: float, left: float, decay: float) -> float:
    """Hummingbot's spread: gamma vol t + (2/gamma) ln(1 + gamma/kappa), in cents.

    Units as in `tick_reservation_price`. decay: kappa, per cent, above 0. risk_factor above 0.
    """
    return risk_factor * tick_volatility * left + liquidity_spread(risk_factor, decay)
