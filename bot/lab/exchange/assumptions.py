"""The assumptions of a backtest: latencies, fees, cash, read lag, and faults of requests.

Faults have a stream of their own, so that another rate draws the same latencies.
"""

import math
import random
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Final

import msgspec

from bot.core import messages as m
from bot.io.journal.journal import read_segment
from bot.io.journal.records import JournalFault
from bot.lab.exchange.exchange import Exchange, Response, refusal
from bot.lab.session import segments_meant
from venue.wire.errors import Code
from venue.wire.instant import NS_PER_MS, NS_PER_SECOND
from venue.wire.money import Cents, FeeRate

_DURATION: Final = re.compile(r"([0-9]{1,6})ms", re.ASCII)
_SPREAD: Final = re.compile(r"[0-3](?:\.[0-9]{1,4})?", re.ASCII)
_MILLISECONDS: Final = re.compile(r"[0-9]{1,5}(?:\.[0-9]{1,6})?", re.ASCII)
_MS_MAX: Final = 60_000

KEPT_MAX: Final = 1_000
"""Of more measured latencies so many quantiles are kept: the same distribution."""

LATENCIES: Final = (
    "whole milliseconds, such as 30ms, or lognormal:30ms:0.5 (median in whole milliseconds, sigma "
    "0 to 3), or empirical:FILE (a text of milliseconds, a state directory or a segment)"
)
"""Every form of a latency that is accepted."""


class Latency(msgspec.Struct, frozen=True):
    """A latency of a request. median_ns >= 0; sigma: standard deviation of its logarithm, 0 for
    a constant one, and each way half of it, drawn by itself. measured_ns: where any are, one of
    them is drawn for each request, and each way is half of that."""

    median_ns: int
    sigma: float = 0.0
    measured_ns: tuple[int, ...] = ()

    @classmethod
    def parse(cls, text: str) -> "Latency":
        """Read a latency in a form of `LATENCIES`. FILE: a state directory, a segment, or a text
        with a number of milliseconds on each line. Raises ValueError with file and line."""
        kind, _, rest = text.partition(":")
        if kind == "empirical":
            return cls.measured(Path(rest))
        if kind != "lognormal":
            return cls(milliseconds(text, LATENCIES))
        median, _, sigma = rest.partition(":")
        if not (_DURATION.fullmatch(median) and _SPREAD.fullmatch(sigma)):
            raise ValueError(f"{text}: want {LATENCIES}")
        return cls(milliseconds(median), float(sigma))

    @classmethod
    def measured(cls, path: Path) -> "Latency":
        """The latencies that a file has. Raises ValueError as `parse` does."""
        try:
            is_journal = path.is_dir() or path.suffix in (".log", ".arc")
            found = sorted(_of_journal(path) if is_journal else _of_text(path))
        except (OSError, UnicodeDecodeError, JournalFault) as fault:
            raise ValueError(f"{path}: cannot be read: {fault}") from None
        if not found:
            raise ValueError(
                f"{path}: no round trip in it: want answered requests, or milliseconds"
            )
        count = min(len(found), KEPT_MAX)
        kept = tuple(found[(2 * place + 1) * len(found) // (2 * count)] for place in range(count))
        return cls(kept[count // 2], measured_ns=kept)

    def ways_ns(self, chance: random.Random) -> tuple[int, int]:
        if self.measured_ns:
            there_ns = chance.choice(self.measured_ns) // 2
            return there_ns, there_ns
        half = self.median_ns / 2
        if not self.sigma:
            return round(half), round(half)
        there, back = chance.gauss(0.0, self.sigma), chance.gauss(0.0, self.sigma)
        return round(half * math.exp(there)), round(half * math.exp(back))


class Terms(msgspec.Struct, frozen=True, kw_only=True):
    """The terms of one backtest. with_index: the recorded price of what a ladder is about comes on
    the channel as implied value."""

    latency: Latency = Latency(30 * NS_PER_MS)  # of requests
    read_latency: Latency | None = None  # of reads, None where they take as long
    feed_ns: int = 10 * NS_PER_MS  # from the venue to us on the channel
    read_lag_ns: int = 100 * NS_PER_MS  # reads show the account of so long ago
    maker_rate: FeeRate = FeeRate(0)
    taker_rate: FeeRate = FeeRate(7_000_000)
    power: float = 3.0  # the exponent n of the likely reading, above 0
    cash_cents: Cents = Cents(10_000_000)  # at the start
    with_index: bool = False
    seed: int = 1  # of latencies and faults
    faults: float = 0.0  # the part of all requests that something befalls, 0 to 0.5


def milliseconds(
    text: str, wanted: str = "whole milliseconds, 0ms to 999999ms, such as 30ms"
) -> int:
    """Nanoseconds of a text such as 30ms. Raises ValueError naming the accepted form."""
    found = _DURATION.fullmatch(text)
    if found is None:
        raise ValueError(f"{text}: want {wanted}")
    return int(found[1]) * NS_PER_MS


def _of_journal(path: Path) -> Iterator[int]:
    """Of every request that the venue answered. Ids start again with each run."""
    sent: dict[int, int] = {}
    for segment in segments_meant(path):
        for entry in read_segment(segment).entries():
            message = entry.message
            if isinstance(message, m.Started):
                sent.clear()
            elif isinstance(message, m.Send):
                sent[message.request_id] = entry.at_ns
            elif isinstance(message, m.Response):
                sent_ns = sent.pop(message.request_id, None)
                # Of what was not answered only the patience of the client is known.
                if sent_ns is not None and not isinstance(message.answer, m.Unknown):
                    yield max(0, entry.at_ns - sent_ns)


def _of_text(path: Path) -> Iterator[int]:
    """Of each line that is not empty and does not begin with #."""
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        row = line.strip()
        if not row or row.startswith("#"):
            continue
        if _MILLISECONDS.fullmatch(row) is None or float(row) > _MS_MAX:
            raise ValueError(f"{path}:{number}: {row}: want milliseconds, 0 to {_MS_MAX}")
        yield round(float(row) * NS_PER_MS)


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
"""Unknown from outside: whether it was carried out, and the rest of the response."""

BEFALLING: Final = (*REFUSALS, *FAILURES)

TIMEOUT_NS: Final = NS_PER_SECOND  # so long a lost answer is waited for
_AWAY_NS: Final = NS_PER_SECOND
OF_BACKTESTS: Final = (
    *(*REFUSALS, "result_unknown_before", "result_unknown_after"),
    *("lost_before", "lost_after"),
)


def befall(fault: str, ask: Callable[[], Response]) -> Response:
    """The response to a request that a fault of `BEFALLING` hits; of any other fault, the venue's.
    ask: has the venue carry it out."""
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


_SUM_MAX = 0.7  # however many faults are drawn, some requests get through


class FaultDraws:
    """Which fault hits a request or frame: one draw each, from a table of fixed intervals. The
    intervals of faults left out (`without`) stay empty, so that the draws of all others do not
    change."""

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
    def __init__(self, rate: float, seed: int) -> None:
        """rate: the part of all requests that something befalls, each kind as often; 0 to 0.5."""
        chances = dict.fromkeys(OF_BACKTESTS, rate / len(OF_BACKTESTS)) if rate else {}
        self._dice = FaultDraws(random.Random(f"backtest faults {seed}"), chances, ())
        self.befallen: Counter[str] = Counter()  # how often each befell a request

    def answer_or_fault(self, exchange: Exchange, send: m.Send, now_ns: int) -> Response:
        fault = self._dice.roll()
        if fault:
            self.befallen[fault] += 1
        return befall(fault, lambda: exchange.answer_request(send, now_ns))
