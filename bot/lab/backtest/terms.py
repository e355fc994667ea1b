"""What a backtest is run under: latencies, fees, cash, and how the queue is read.

Source: strategy, 4, Backtest realism.
"""

import math
import random
import re
from typing import Final

import msgspec

from bot.core.imagined import Bound
from venue.wire.instant import NS_PER_MS
from venue.wire.money import Cents, FeeRate

_DURATION: Final = re.compile(r"([0-9]{1,6})ms", re.ASCII)
_SPREAD: Final = re.compile(r"[0-3](?:\.[0-9]{1,4})?", re.ASCII)


class Latency(msgspec.Struct, frozen=True):
    """A round trip of a request. median_ns >= 0; sigma: standard deviation of its logarithm, 0 for
    a constant one. Each way is half of it, drawn by itself."""

    median_ns: int
    sigma: float = 0.0

    @classmethod
    def parse(cls, text: str) -> "Latency":
        """The latency that `30ms` or `lognormal:30ms:0.5` names. Raises ValueError for others."""
        parts = text.split(":")
        if parts[0] == "lognormal" and len(parts) == 3 and _SPREAD.fullmatch(parts[2]):
            sigma = float(parts[2])
        elif len(parts) == 1:
            sigma = 0.0
        else:
            raise ValueError(f"{text}: want 30ms, or lognormal:30ms:0.5 (median, sigma 0 to 3)")
        return cls(milliseconds(parts[-2 if len(parts) == 3 else 0]), sigma)

    def one_way_ns(self, chance: random.Random) -> int:
        """How long a request or an answer is under way."""
        half = self.median_ns / 2
        return round(half if not self.sigma else half * math.exp(chance.gauss(0.0, self.sigma)))


class Terms(msgspec.Struct, frozen=True, kw_only=True):
    """The terms of one backtest.

    latency: of requests. feed_ns: from the venue to us on the channel. read_lag_ns: reads show the
    account of so long ago. power: the exponent n of the likely bound, above 0. cash_cents: what the
    account begins with. with_index: the recorded price of what a ladder is about comes on the
    channel as implied value. seed: of the latencies.
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

    def exponent(self, bound: Bound) -> float | None:
        """The exponent by which cancels stand before us; None where all of them are behind."""
        return self.power if bound is Bound.LIKELY else None


def milliseconds(text: str) -> int:
    """Nanoseconds of a text such as 30ms. Raises ValueError for anything else."""
    found = _DURATION.fullmatch(text)
    if found is None:
        raise ValueError(f"{text}: want whole milliseconds, such as 30ms")
    return int(found[1]) * NS_PER_MS
