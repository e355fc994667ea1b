"""The strike of a rung as a number of dollars, read from what the venue writes.

Source: interface, Resources, Market; silences S23.
"""

import math
from decimal import Decimal
from typing import Final

_UNITS: Final = {"thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12}


def strike_dollars(text: str | None, unit: str | None) -> float | None:
    """A strike in the unit of the implied value, for fitting a curve only; finite and above zero.

    text: a decimal. unit: a free text such as `USD billions`; a size word in it scales the strike.
    None without a strike, and for one that no value can be: its ladder is then not understood.
    """
    if text is None:
        return None
    words = (unit or "").lower()
    scale = next((factor for word, factor in _UNITS.items() if word in words), 1)
    try:
        strike = float(Decimal(text) * scale)
    except (ArithmeticError, ValueError):
        return None
    return strike if math.isfinite(strike) and strike > 0 else None
