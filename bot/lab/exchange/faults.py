"""What befalls requests of a backtest: refusals for pace, failures, and answers that are lost.

The kinds and their names are the simulator's. They are drawn from a stream of their own, so that
the same seed with another rate draws the same latencies.
"""

import random
from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping
from typing import Final

from bot.core import messages as m
from bot.lab.exchange.exchange import Exchange, Response, refusal
from venue.wire.errors import Code
from venue.wire.instant import NS_PER_SECOND

REFUSALS: Final = {
    "rate_limited": Code.RATE_LIMITED,
    "engine_overloaded": Code.ENGINE_OVERLOADED,
    "engine_unavailable": Code.ENGINE_UNAVAILABLE,
}
"""Not carried out, and that is known."""

UNKNOWN: Final = ("result_unknown_before", "result_unknown_after", "lost_before", "lost_after")
"""Nobody can tell from outside whether it was carried out: it was not, and it was; twice."""

TIMEOUT_NS: Final = NS_PER_SECOND
"""So long a lost answer is waited for."""

_AWAY_NS: Final = NS_PER_SECOND


_SUM_MAX = 0.7
"""However many faults are drawn, some requests get through."""


class Dice:
    """Which fault befalls one request or frame: one draw each, from a table of fixed intervals.

    `without` names faults that are left out: their intervals stay empty, so that the draws of all
    others are what they were.
    """

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


class Faults:
    """The faults of one run. befallen: how often each befell a request."""

    def __init__(self, rate: float, seed: int) -> None:
        """rate: the part of all requests that something befalls, each kind as often; 0 to 0.5."""
        kinds = (*REFUSALS, *UNKNOWN)
        chances = dict.fromkeys(kinds, rate / len(kinds)) if rate else {}
        self._dice = Dice(random.Random(f"backtest faults {seed}"), chances, ())
        self.befallen: Counter[str] = Counter()

    def answered(self, exchange: Exchange, send: m.Send, now_ns: int) -> Response:
        """A request arrives at the venue, or something befalls it."""
        fault = self._dice.roll()
        if not fault:
            return exchange.answer(send, now_ns)
        self.befallen[fault] += 1
        code = REFUSALS.get(fault)
        if code is not None:
            away_ns = None if code is Code.ENGINE_UNAVAILABLE else _AWAY_NS
            return Response(refusal(code), None, away_ns)
        name, _, when = fault.rpartition("_")
        tokens = exchange.answer(send, now_ns)[1] if when == "after" else None
        if name == "lost":
            return Response(m.Unknown("no answer in time"), None, None, TIMEOUT_NS)
        return Response(m.Unknown("503 result_unknown"), tokens, None)
