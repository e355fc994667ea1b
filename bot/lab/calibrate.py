"""Scores the fair curve on recorded ladders with known outcomes: Brier score and reliability.

At fixed instants and before each trade, a rung is forecast by the fair curve, the last trade and
the raw middle (on a tape of trades, of the newest prices bought and sold at), if all three exist.
"""

import itertools
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import msgspec
import numpy as np

from bot.core.fair_value.curve import FairCurve, RungInput
from bot.core.fair_value.estimators import TradedPrice
from bot.lab.evaluate.statistics import interval
from bot.lab.progress import Counted, Progress, no_progress
from bot.strategy.api import ImpliedView, Levels
from venue.crowd.tape import (
    BookRecord,
    Tape,
    TopRecord,
    TradeRecord,
    closes_ns,
    read_tapes,
)
from venue.wire.instant import NS_PER_SECOND
from venue.wire.money import PAYOUT_CENTS, Outcome, Price, Qty

WAYS: Final = ("fair curve", "last trade", "raw mid")
BINS: Final = 10
_RESAMPLES: Final = 2_000
_TOP_QTY: Final = Qty(20)  # the size taken for a best price that was recorded without one


class _CatalogRung(msgspec.Struct, frozen=True):
    ticker: str
    outcome: Outcome | None = None


class _CatalogEvent(msgspec.Struct, frozen=True):
    event_ticker: str
    rungs: tuple[_CatalogRung, ...]


class _EndedMarkets(msgspec.Struct, frozen=True):
    events: tuple[_CatalogEvent, ...]


class Forecast(msgspec.Struct, frozen=True):
    """One rung at one instant."""

    event: int
    chances: tuple[float, float, float]  # of YES, by `WAYS`
    won: bool


class NextPrint(msgspec.Struct, frozen=True):
    way: str
    count: int
    rms_cents: float
    mean_abs_cents: float


class Bin(msgspec.Struct, frozen=True):
    """Forecasts of low <= chance < high."""

    low: float
    high: float
    count: int
    mean: float
    came: float  # how often YES came, 0 to 1


class Score(msgspec.Struct, frozen=True):
    way: str
    brier: float  # mean squared error of the chance, the less the better
    worse_by: float  # less the fair curve's: above zero the curve is better
    low: float | None  # low, high: 95 % interval, a bootstrap over events; None of too few
    high: float | None
    bins: tuple[Bin, ...]


class Calibration(msgspec.Struct, frozen=True):
    tape: str
    events: int  # those of which something was forecast
    forecasts: int
    scores: tuple[Score, ...]  # of best prices without trades there is none for the last trade
    next_prints: tuple[NextPrint, ...]


def ends(folder: Path) -> dict[str, dict[str, bool | None]]:
    """True for each rung, by event, that resolved YES; None if unknown. Raises OSError or
    MsgspecError for a catalogue that cannot be read."""
    catalog = msgspec.json.decode((folder / "catalog.json").read_bytes(), type=_EndedMarkets)
    return {
        event.event_ticker: {
            rung.ticker: None if rung.outcome is None else rung.outcome is Outcome.YES
            for rung in event.rungs
        }
        for event in catalog.events
    }


def calibrate(
    folder: Path,
    every_s: float = 60.0,
    *,
    with_index: bool = False,
    events_max: int | None = None,
    progress: Progress = no_progress,
) -> Calibration:
    """Score a tape of ladders. every_s: seconds between forecasts. with_index: True to use the
    recorded index price as implied value. Raises TapeFault, and ValueError without a ladder."""
    forecasts: list[Forecast] = []
    prints: list[tuple[_Three, int]] = []
    known = ends(folder)
    counted = Counted(progress)
    events = 0
    traded = False
    for tape in itertools.islice(read_tapes(folder), events_max):
        won = known.get(tape.event, {})
        if not won or None in won.values():
            continue
        if any(rung.strike is None for rung in tape.rungs):
            raise ValueError(f"{tape.name}: {tape.event} is one rung and no ladder")
        ladder = _Ladder(tape, tape.values if with_index else ())
        before = len(forecasts)
        for index, three in ladder.forecasts(counted, round(every_s * NS_PER_SECOND)):
            above = tape.sources[index + 1 :] if tape.partition else tape.sources[index : index + 1]
            came = any(won[source] for source in above)
            forecasts.append(Forecast(events, three, came))
        prints += ladder.prints
        traded = traded or not tape.partition
        # An event without a forecast is no evidence, and never drawn.
        events += len(forecasts) > before
    if not forecasts:
        raise ValueError(f"{folder.name}: nothing could be forecast")
    fair, last, mid = scores(forecasts)
    forecast_of = (fair, last, mid) if traded else (fair, mid)
    return Calibration(folder.name, events, len(forecasts), forecast_of, _next_prints(prints))


_Three = tuple[float, float, float]


class _Ladder:
    """One ladder; its event closes when a backtest resolves it."""

    def __init__(self, tape: Tape, values: Sequence[tuple[int, str]]) -> None:
        count = len(tape.rungs)
        self.prints: list[tuple[_Three, int]] = []  # forecasts before each trade, and its price
        self._tape = tape
        self._place = {source: index for index, source in enumerate(tape.sources)}
        self._curve = FairCurve([float(rung.strike or 0) for rung in tape.rungs])
        self._values = values
        self._valued = 0
        self._close_ns = closes_ns(tape)
        self._traded = [TradedPrice() for _ in range(count)]
        self._traded_ns = [0] * count
        self._last: list[float | None] = [None] * count
        self._bought: list[float | None] = [None] * count
        self._sold: list[float | None] = [None] * count
        self._tops: list[tuple[int, int]] = [(0, PAYOUT_CENTS)] * len(tape.sources)
        self._shown_ns = 0

    def forecasts(self, counted: Counted, every_ns: int) -> Iterator[tuple[int, _Three]]:
        due_ns = 0
        for record in counted.count(self._tape.records):
            due_ns = due_ns or record.ts + every_ns
            while due_ns < record.ts:
                for index, three in enumerate(self._now(due_ns)):
                    if three is not None:
                        yield index, three
                due_ns += every_ns
            self._on_record(record)

    def _on_record(self, record: BookRecord | TradeRecord | TopRecord) -> None:
        index = self._place[record.ticker]
        match record:
            case TradeRecord(price=price, qty=qty):
                # Trades of one instant come in no known order.
                if 0 < self._traded_ns[index] < record.ts:
                    three = self._now(record.ts)[index]
                    if three is not None:
                        self.prints.append((three, price))
                self._traded[index].update(price, qty, record.ts)
                self._traded_ns[index] = record.ts
                self._last[index] = price
                bought = record.taker_outcome is Outcome.YES
                (self._bought if bought else self._sold)[index] = price
            case TopRecord(yes_bid=bid, yes_ask=ask):
                self._tops[index] = (bid or 0, ask or PAYOUT_CENTS)
                self._shown_ns = record.ts
            case BookRecord():
                raise ValueError(
                    f"{self._tape.name}: whole books, and no ladder of executions or best prices: "
                    "`bot backtest` plays it"
                )

    def _now(self, now_ns: int) -> list[_Three | None]:
        """By rung; None while some way has no forecast."""
        while self._valued < len(self._values) and self._values[self._valued][0] <= now_ns:
            self._valued += 1
        implied = None
        if self._valued:
            ts, price = self._values[self._valued - 1]
            implied = ImpliedView(float(price), 1.0, (now_ns - ts) / NS_PER_SECOND)
        left_s = (self._close_ns - now_ns) / NS_PER_SECOND
        fairs = self._curve.update(self._inputs(now_ns), implied, left_s, now_ns)
        for traded, volatility in zip(self._traded, self._curve.volatilities, strict=True):
            traded.volatility_cents = volatility
        return [
            None if fair is None else self._three(index, fair.value_cents)
            for index, fair in enumerate(fairs)
        ]

    def _inputs(self, now_ns: int) -> list[RungInput]:
        if not self._tape.partition:
            return [RungInput((), (), now_ns, traded.mean) for traded in self._traded]
        return [
            RungInput(_side(bid), _side(ask), self._shown_ns, None)
            for bid, ask in map(self._survival, range(len(self._traded)))
        ]

    def _survival(self, index: int) -> tuple[int, int]:
        """Bid and ask of "ends above this boundary": all brackets above it, or a dollar less those
        below, whichever is better; 0 and 100 where there is none."""
        below, above = self._tops[: index + 1], self._tops[index + 1 :]
        bid = max(sum(bid for bid, _ in above), PAYOUT_CENTS - sum(ask for _, ask in below))
        ask = min(sum(ask for _, ask in above), PAYOUT_CENTS - sum(bid for bid, _ in below))
        return max(0, bid), min(PAYOUT_CENTS, ask)

    def _three(self, index: int, fair: float) -> _Three | None:
        """None unless all three exist. Without trades the middle is the last trade."""
        last, high, low = self._last[index], self._bought[index], self._sold[index]
        if self._tape.partition:
            low, high = self._survival(index)
            last = (low + high) / 2
        if last is None or high is None or low is None:
            return None
        return fair / PAYOUT_CENTS, last / PAYOUT_CENTS, (high + low) / (2 * PAYOUT_CENTS)


def _side(price: int) -> Levels:
    return ((Price(price), _TOP_QTY),) if 0 < price < PAYOUT_CENTS else ()


def scores(forecasts: Sequence[Forecast]) -> tuple[Score, ...]:
    chances = np.array([each.chances for each in forecasts])
    won = np.array([each.won for each in forecasts], dtype=float)
    events = np.array([each.event for each in forecasts])
    squares = (chances - won[:, None]) ** 2
    # Everything of one event hangs on one outcome: whole events are drawn.
    count = int(events.max()) + 1
    sums = np.array([squares[events == event].sum(axis=0) for event in range(count)])
    sizes = np.bincount(events, minlength=count).astype(float)
    drawn = np.random.default_rng(1).integers(0, count, (_RESAMPLES, count))
    briers = sums[drawn].sum(axis=1) / sizes[drawn].sum(axis=1)[:, None]
    out = []
    for way, name in enumerate(WAYS):
        brier = float(squares[:, way].mean())
        worse_by = brier - float(squares[:, 0].mean())
        found = interval(worse_by, briers[:, way] - briers[:, 0], count)
        bins = reliability(chances[:, way].tolist(), won.tolist())
        out.append(Score(name, brier, worse_by, found.least, found.most, bins))
    return tuple(out)


def _next_prints(prints: Sequence[tuple[_Three, int]]) -> tuple[NextPrint, ...]:
    if not prints:
        return ()
    off = PAYOUT_CENTS * np.array([three for three, _ in prints])
    off -= np.array([price for _, price in prints], dtype=float)[:, None]
    return tuple(
        NextPrint(
            name,
            len(prints),
            float(np.sqrt((off[:, way] ** 2).mean())),
            float(np.abs(off[:, way]).mean()),
        )
        for way, name in enumerate(WAYS)
    )


def reliability(chances: Sequence[float], came: Sequence[float]) -> tuple[Bin, ...]:
    """`BINS` equal bins of chance, without the empty ones."""
    rows: dict[int, list[tuple[float, float]]] = {}
    for chance, one in zip(chances, came, strict=True):
        rows.setdefault(min(BINS - 1, max(0, int(chance * BINS))), []).append((chance, one))
    return tuple(
        Bin(
            number / BINS,
            (number + 1) / BINS,
            len(row),
            sum(chance for chance, _ in row) / len(row),
            sum(one for _, one in row) / len(row),
        )
        for number, row in sorted(rows.items())
    )
