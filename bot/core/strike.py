"""The strike of a rung in dollars, read from what the venue writes."""

import math
from decimal import Decimal

from venue.wire.strike import dollars_per_unit


def strike_value(text: str | None, unit: str | None) -> Decimal | None:
    """A strike in dollars, finite and above zero; None without one, and for one that cannot be.

    text: a decimal. unit: a free text such as `USD billions`; a size word in it scales the strike.
    """
    if text is None:
        return None
    try:
        strike = Decimal(text) * dollars_per_unit(unit)
    except (ArithmeticError, ValueError):
        return None
    return strike if strike.is_finite() and strike > 0 else None


def strike_dollars(text: str | None, unit: str | None) -> float | None:
    """`strike_value` as a float above zero; None also where no float is near it."""
    strike = strike_value(text, unit)
    dollars = 0.0 if strike is None else float(strike)
    return dollars if 0 < dollars < math.inf else None
