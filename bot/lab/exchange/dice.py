"""Which fault befalls one request or frame: one draw each, from a table of fixed intervals.

A fault that is left out leaves its interval empty, so the draws of all others stay what they were.
"""

import random
from bisect import bisect_right
from collections.abc import Mapping

_SUM_MAX = 0.7
"""However many faults are drawn, some requests get through."""


class Dice:
    """Draws faults by their chances; `without` names those that are left out."""

    def __init__(
        self, rng: random.Random, chances: Mapping[str, float], without: tuple[str, ...]
    ) -> None:
        self._draw = rng.random
        total = sum(chances.values())
        scale = _SUM_MAX / total if total > _SUM_MAX else 1.0
        self._bounds: list[float] = []
        self._names: list[str] = []
        bound = 0.0
        for name, chance in chances.items():
            bound += chance * scale
            self._bounds.append(bound)
            self._names.append("" if name in without else name)
        self._end = bound

    def roll(self) -> str:
        drawn = self._draw()
        if drawn >= self._end:
            return ""
        return self._names[bisect_right(self._bounds, drawn)]
