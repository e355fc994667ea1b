"""What a backtest is run under: latencies, fees, cash, and how the queue is read."""

import math
import random
import re
from typing import Final

import msgspec

from venue.wire.instant import NS_PER_MS
from venue.wire.money import Cents, FeeRate

_DURATION: Final = re.compile(r"([0-9]{1,6})ms", re.ASCII)
_SPREAD: Final = re.compile(r"[0-3](?:\.[0-9]{1,4})?", re.ASCII)


LATENCIES: Final = (
    "whole milliseconds, such as 30ms, or lognormal:30ms:0.5 (median in whole milliseconds, sigma "
    "0 to 3), or empirical:FILE (a text of milliseconds, a state directory or a segment)"
)
"""Every form of a latency that is accepted."""


class Latency(msgspec.Struct, frozen=True):
    """A round trip of a request. median_ns >= 0; sigma: standard deviation of its logarithm, 0 for
    a constant one, and each way half of it, drawn by itself. measured_ns: where any are, one of
    them is drawn for each request, and each way is half of that."""

    median_ns: int
    sigma: float = 0.0
    measured_ns: tuple[int, ...] = ()

    @classmethod
    def parse(cls, text: str) -> "Latency":
        """The latency that `30ms` or `lognormal:30ms:0.5` names. Raises ValueError for others."""
        parts = text.split(":")
        if parts[0] == "lognormal" and len(parts) == 3 and _SPREAD.fullmatch(parts[2]):
            sigma = float(parts[2])
        elif len(parts) == 1:
            sigma = 0.0
        else:
            raise ValueError(f"{text}: want {LATENCIES}")
        median = parts[-2 if len(parts) == 3 else 0]
        if _DURATION.fullmatch(median) is None:
            raise ValueError(f"{text}: want {LATENCIES}")
        return cls(milliseconds(median), sigma)

    def ways_ns(self, chance: random.Random) -> tuple[int, int]:
        """How long a request is under way, and its answer."""
        if self.measured_ns:
            there_ns = chance.choice(self.measured_ns) // 2
            return there_ns, there_ns
        half = self.median_ns / 2
        if not self.sigma:
            return round(half), round(half)
        there, back = chance.gauss(0.0, self.sigma), chance.gauss(0.0, self.sigma)
        return round(half * math.exp(there)), round(half * math.exp(back))


class Terms(msgspec.Struct, frozen=True, kw_only=True):
    """The terms of one backtest.

    latency: of requests. feed_ns: from the venue to us on the channel. read_lag_ns: reads show the
    account of so long ago. power: the exponent n of the likely reading, above 0. cash_cents: what
    the account begins with. with_index: the recorded price of what a ladder is about comes on the
    channel as implied value. seed: of latencies and faults. faults: the part of all requests that
    something befalls, 0 to 0.5.
    """

    latency: Latency = Latency(30 * NS_PER_MS)
    feed_ns: int = 10 * NS_PER_MS
    read_lag_ns: int = 100 * NS_PER_MS
    maker_rate: FeeRate = FeeRate(0)
    taker_rate: FeeRate = FeeRate(7_000_000)
    power: float = 3.0
    cash_cents: Cents = Cents(10_000_000)
    with_index: bool = False
    seed: int = 1
    faults: float = 0.0


def milliseconds(text: str) -> int:
    """Nanoseconds of a text such as 30ms. Raises ValueError for anything else."""
    found = _DURATION.fullmatch(text)
    if found is None:
        raise ValueError(f"{text}: want whole milliseconds, 0ms to 999999ms, such as 30ms")
    return int(found[1]) * NS_PER_MS
