"""How many dollars the unit is that a strike is written in."""

from typing import Final

_MULTIPLES: Final = {"thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12}


def dollars_per_unit(strike_unit: str | None) -> int:
    """How many dollars one unit of a strike is: USD billions gives 10**9, no multiple 1."""
    words = (strike_unit or "").lower()
    return next((size for name, size in _MULTIPLES.items() if name in words), 1)
