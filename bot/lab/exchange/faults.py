"""What befalls requests on their way: refusals for pace, failures, and answers that are lost.

A backtest draws them from a stream of their own, so that the same seed with another rate draws the
same latencies; the simulator draws them with faults of its own.
"""

import random
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Mapping
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

FAILURES: Final = {
    "redirected": (False, "307"),
    "reset_before": (False, "connection reset"),
    "reset_after": (True, "connection reset"),
    "internal_error_before": (False, "500 internal_error"),
    "internal_error_after": (True, "500 internal_error"),
    "result_unknown_before": (False, "503 result_unknown"),
    "result_unknown_after": (True, "503 result_unknown"),
    "lost_before": (False, "no answer in time"),
    "lost_after": (True, "no answer in time"),
}
"""Nobody can tell from outside whether it was carried out: whether it was, and what is left of the
answer."""

BEFALLING: Final = (*REFUSALS, *FAILURES)

TIMEOUT_NS: Final = NS_PER_SECOND
"""So long a lost answer is waited for."""

_AWAY_NS: Final = NS_PER_SECOND
OF_BACKTESTS: Final = (
    *(*REFUSALS, "result_unknown_before", "result_unknown_after"),
    *("lost_before", "lost_after"),
)


def befall(fault: str, ask: Callable[[], Response]) -> Response:
    """What comes back of a request which a fault of `BEFALLING` befalls; of any other, the answer.

    ask: has the venue carry it out.
    """
    code = REFUSALS.get(fault)
    if code is not None:
        away_ns = None if code is Code.ENGINE_UNAVAILABLE else _AWAY_NS
        return Response(refusal(code), None, away_ns)
    if fault not in FAILURES:
        return ask()
    is_carried_out, left = FAILURES[fault]
    tokens = ask().tokens if is_carried_out else None
    if fault.startswith("lost"):
        return Response(m.Unknown(left), None, None, TIMEOUT_NS)
    return Response(m.Unknown(left), tokens, None)


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
    """The faults of one backtest. befallen: how often each befell a request."""

    def __init__(self, rate: float, seed: int) -> None:
        """rate: the part of all requests that something befalls, each kind as often; 0 to 0.5."""
        chances = dict.fromkeys(OF_BACKTESTS, rate / len(OF_BACKTESTS)) if rate else {}
        self._dice = Dice(random.Random(f"backtest faults {seed}"), chances, ())
        self.befallen: Counter[str] = Counter()

    def answered(self, exchange: Exchange, send: m.Send, now_ns: int) -> Response:
        """A request arrives at the venue, or something befalls it."""
        fault = self._dice.roll()
        if fault:
            self.befallen[fault] += 1
        return befall(fault, lambda: exchange.answer(send, now_ns))
