"""Tick to order: frame bytes in -> order request bytes out, own CPU, a ladder of twelve rungs.

The company's value swings slowly, and the books of the rungs follow one frame after the other; only
frames that make quotes follow too are counted. The latency covers: decode the
frame, believe it, decide (fit, strategy, limits, reconcile, budget) and encode the request bodies.
The venue's answers are given at once and outside the clock. Anchor of the same run: a floor loop
that decodes the frame, compares one price and encodes one body.
"""

import json
import math
import time
from collections.abc import Callable

from bench.crowded import RESOLUTION_NS, START_NS, ladder, market_id
from bot.core import messages as m
from bot.core.settings import BreakerSettings, PaceSettings, RiskSettings, TraderSettings
from bot.core.trader import Trader
from bot.io.client.answers import event_of
from bot.lab.exchange.assumptions import Terms
from bot.lab.exchange.live import LiveMarket
from bot.lab.exchange.queue_model import QueueModel
from strategies.ladder_joint import LadderJoint
from venue.crowd.tape import tape_catalogue
from venue.wire import codec
from venue.wire.instant import NS_PER_MS
from venue.wire.money import Cents, FeeRate, Price, Qty
from venue.wire.names import Ticker
from venue.wire.requests import Amend

RUNGS = 12
_HASTY = PaceSettings(
    decide_ns=0,
    dwell_ns=0,
    tolerance_ticks=0,
    market_writes_per_second=200,
    market_writes_burst=400,
    writes_per_second=200,
    writes_burst=400,
)
"""No throttle: every change of a wanted quote leaves at once."""


def frame_of(index: int, mid: int, ts_ns: int) -> bytes:
    yes = [{"price": p, "size": 100 + p} for p in range(mid - 2, max(0, mid - 32), -1)]
    no = [{"price": 100 - p, "size": 100 + p} for p in range(mid + 2, min(100, mid + 32))]
    data = {
        "type": "prediction-orderbook",
        "ticker": f"BENCH-{index}",
        "eventMarketId": market_id(index),
        "ts": ts_ns,
        "yes": yes,
        "no": no,
    }
    return json.dumps({"type": "market-update", "data": data}).encode()


class Stand:
    """A market in which nothing ever fills: every write is done as asked. rungs: of its ladder."""

    def __init__(self, rungs: int, pace: PaceSettings) -> None:
        self.now_ns = START_NS
        risk = RiskSettings(
            event_loss_cents=Cents(10_000_000),
            series_loss_cents=Cents(10_000_000),
            rung_position_qty=Qty(100_000),
            order_qty=Qty(1_000),
        )
        breakers = BreakerSettings(writes_per_second=1_000, creates_per_minute=60_000)
        tape = ladder("BENCH", [str(100 + 10 * index) for index in range(rungs)])
        rates = FeeRate.parse("0.0100"), FeeRate.parse("0.0175")
        terms = Terms(cash_cents=Cents(10**9), read_lag_ns=0)
        catalogue = tape_catalogue(tape, RESOLUTION_NS, *rates)
        self._exchange = LiveMarket(catalogue, terms, QueueModel.EXPECTED, START_NS).exchange
        series = Ticker(tape.series)
        settings = TraderSettings(series_ticker=series, risk=risk, pace=pace, breakers=breakers)
        self.trader = Trader(settings, lambda: LadderJoint(LadderJoint.Params(levels=2)))

    def give(self, event: m.Event, step_ns: int = NS_PER_MS) -> list[m.Effect]:
        self.now_ns += step_ns
        return self.trader.receive(event, self.now_ns)

    def answer_all(self, effects: list[m.Effect]) -> None:
        for effect in effects:
            if isinstance(effect, m.Send):
                answer = self._exchange.perform(effect.request, self.now_ns)
                self.give(m.Response(effect.request_id, answer, 500), 0)


def seen_in(frame: bytes) -> m.Event:
    event = event_of(frame)
    assert event is not None
    return event


def _encoded(effects: list[m.Effect]) -> list[bytes]:
    out: list[bytes] = []
    for effect in effects:
        if isinstance(effect, m.Send):
            if isinstance(effect.request, m.Create):
                out.append(codec.encode_new_order(effect.request.order))
            elif isinstance(effect.request, m.AmendResting):
                out.append(codec.encode_amend(effect.request.amend))
    return out


def percentiles(samples: list[int]) -> tuple[float, float]:
    samples.sort()
    return samples[len(samples) // 2] / 1000, samples[len(samples) * 99 // 100] / 1000


def floor_us_of(frames: list[bytes]) -> float:
    samples = []
    for frame in frames:
        begun = time.thread_time_ns()
        decoded = codec.decode_frame(frame)
        if decoded.data.yes[0].price > 1:  # type: ignore[union-attr]
            codec.encode_amend(Amend(Price(50)))
        samples.append(time.thread_time_ns() - begun)
    return percentiles(samples)[0]


def started(rungs: int, mid: Callable[[int, int], int], pace: PaceSettings = _HASTY) -> Stand:
    """A trader whose quotes rest on every rung. mid: of a rung's book as of a frame, cents."""
    stand = Stand(rungs, pace)
    stand.give(m.Started("0" * 20, (), new_account=True))
    stand.answer_all(stand.give(m.Tick()))
    stand.give(m.FeedOpened())
    stand.answer_all(stand.give(m.Tick()))
    for index in range(rungs):
        stand.give(seen_in(frame_of(index, mid(index, 0), stand.now_ns)))
    for _ in range(5):
        stand.answer_all(stand.give(m.Tick(), 60 * NS_PER_MS))
    return stand


def _mid(index: int, frame: int) -> int:
    """The middle of a rung's book as of a frame: a swing of six cents either way, each in its turn
    by no more than a cent or two, for more at once is news, and pulls the quotes."""
    return 88 - 7 * index + round(6 * math.sin(frame / 120))


def _measure(turns: int, clock: Callable[[], int]) -> tuple[list[int], list[int], list[bytes]]:
    stand = started(RUNGS, _mid)
    whole: list[int] = []
    deciding: list[int] = []
    frames: list[bytes] = []
    for turn in range(turns):
        for index in range(RUNGS):
            frame = frame_of(index, _mid(index, RUNGS * turn + index), stand.now_ns)
            frames.append(frame)
            stand.now_ns += 20 * NS_PER_MS
            begun = clock()
            stand.trader.receive(seen_in(frame), stand.now_ns)
            believed = clock()
            effects = stand.trader.receive(m.Tick(), stand.now_ns)
            decided = clock()
            bodies = _encoded(effects)
            ended = clock()
            if bodies:
                whole.append(ended - begun)
                deciding.append(decided - believed)
            stand.answer_all(effects)
    assert not stand.trader.out.counters.news_pulls
    return whole, deciding, frames


def run(quick: bool) -> list[tuple[str, str]]:
    whole, deciding, frames = _measure(40 if quick else 400, time.thread_time_ns)
    floor_us = floor_us_of(frames)
    whole_p50, whole_p99 = percentiles(whole)
    deciding_p50, _ = percentiles(deciding)
    return [
        ("frames that led to a request", f"{len(whole)} of {len(frames)}"),
        ("tick to order p50", f"{whole_p50:.0f} us (aim 400)"),
        ("tick to order p99", f"{whole_p99:.0f} us (aim 1500)"),
        ("deciding alone p50", f"{deciding_p50:.0f} us (aim 150)"),
        ("floor loop p50", f"{floor_us:.0f} us"),
        ("tick to order / floor loop", f"{whole_p50 / floor_us:.1f} x"),
    ]
