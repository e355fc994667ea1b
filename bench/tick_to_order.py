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

from bot.core import messages as m
from bot.core.settings import BreakerSettings, PaceSettings, RiskSettings, TraderSettings
from bot.core.trader import Trader
from bot.io.client.answers import event_of
from strategies.ladder_joint import LadderJoint
from venue.wire import codec, model
from venue.wire.errors import Code
from venue.wire.instant import NS_PER_MS, Instant
from venue.wire.model import Market
from venue.wire.money import Cents, Price, Qty
from venue.wire.names import MarketId, OrderId, ProjectId, Ticker
from venue.wire.requests import Amend

RUNGS = 12
_SERIES = Ticker("BENCH")
_EVENT = Ticker("BENCH-30Q1")
_T0 = Instant("2029-11-01T00:00:00.000000000Z")
_END = Instant("2030-03-31T00:00:00.000000000Z")


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


def _market(index: int) -> Market:
    return Market(
        ticker=Ticker(f"{_EVENT}-{100 + 10 * index}B"),
        market_id=MarketId(f"00000000-0000-4000-8000-{index:012d}"),
        event_ticker=_EVENT,
        project_market_id="00000000-0000-4000-9000-000000000000",
        name=f"rung {index}",
        outcome_label="above",
        state=model.MarketState.ACTIVE,
        min_price=Price(1),
        max_price=Price(99),
        tick_size=1,
        strike_value=str(100 + 10 * index),
        strike_unit="USD billions",
        maker_fee_rate="0.0100",
        taker_fee_rate="0.0175",
        open_interest=Qty(0),
        created_at=_T0,
        updated_at=_T0,
    )


def _event(rungs: int) -> model.Event:
    return model.Event(
        event_ticker=_EVENT,
        series_ticker=_SERIES,
        project_market_id="00000000-0000-4000-9000-000000000000",
        project_id=ProjectId("00000000-0000-4000-a000-000000000000"),
        title="bench",
        category="bench",
        status=model.EventStatus.OPEN,
        mutually_exclusive=False,
        resolution_date=_END,
        markets=tuple(_market(index) for index in range(rungs)),
    )


def frame_of(index: int, mid: int, ts_ns: int) -> bytes:
    yes = [{"price": p, "size": 100 + p} for p in range(mid - 2, max(0, mid - 32), -1)]
    no = [{"price": 100 - p, "size": 100 + p} for p in range(mid + 2, min(100, mid + 32))]
    data = {
        "type": "prediction-orderbook",
        "ticker": _market(index).ticker,
        "eventMarketId": _market(index).market_id,
        "ts": ts_ns,
        "yes": yes,
        "no": no,
    }
    return json.dumps({"type": "market-update", "data": data}).encode()


class Stand:
    """The venue's side, as thin as can be: every write is done as asked; a ladder of `rungs`."""

    def __init__(self, rungs: int, pace: PaceSettings) -> None:
        self.now_ns = 1_890_000_000 * 1_000_000_000
        risk = RiskSettings(
            event_loss_cents=Cents(10_000_000),
            series_loss_cents=Cents(10_000_000),
            rung_position_qty=Qty(100_000),
            order_qty=Qty(1_000),
        )
        breakers = BreakerSettings(writes_per_second=1_000, creates_per_minute=60_000)
        settings = TraderSettings(series_ticker=_SERIES, risk=risk, pace=pace, breakers=breakers)
        self.trader = Trader(settings, lambda: LadderJoint(LadderJoint.Params(levels=2)))
        self.orders: dict[OrderId, model.Order] = {}
        self._made = 0
        self._empty = {
            m.ReadSeries: m.SeriesBody((_event(rungs),), ""),
            m.ReadBalance: m.BalanceBody(model.Balance(Cents(10**9), Cents(0), Cents(10**9))),
            m.ReadPositions: m.PositionsBody((), ""),
            m.ReadFills: m.FillsBody((), ""),
        }

    def give(self, event: m.Event, step_ns: int = NS_PER_MS) -> list[m.Effect]:
        self.now_ns += step_ns
        return self.trader.receive(event, self.now_ns)

    def answer_all(self, effects: list[m.Effect]) -> None:
        for effect in effects:
            if isinstance(effect, m.Send):
                body = self._body(effect.request)
                refused = m.Rejected(404, Code.ORDER_NOT_FOUND, "")
                answer: m.Answer = m.Ok(body) if body else refused
                self.give(m.Response(effect.request_id, answer, 500), 0)

    def _body(self, request: m.Request) -> m.Body | None:
        match request:
            case m.Create(order=order):
                self._made += 1
                order_id = OrderId(str(self._made))
                self.orders[order_id] = model.Order(
                    order_id=order_id,
                    ticker=_EVENT,
                    market_id=order.market_id,
                    event_ticker=_EVENT,
                    outcome=model.ShownOutcome(order.outcome.value),
                    side=model.ShownSide(order.side.value),
                    price=order.price,
                    qty=order.qty,
                    remaining_qty=order.qty,
                    filled_qty=Qty(0),
                    status=model.OrderStatus.OPEN,
                    time_in_force=model.ShownTimeInForce.GTC,
                    created_at=_T0,
                    updated_at=_T0,
                )
                return m.OrderBody(self.orders[order_id])
            case m.AmendResting(order_id=order_id, amend=amend):
                self.orders[order_id] = _amended(self.orders[order_id], amend)
                return m.OrderBody(self.orders[order_id])
            case m.CancelResting(order_id=order_id):
                order = self.orders.pop(order_id)
                return m.CancelBody(order, order.remaining_qty)
            case m.ReadResting():
                return m.OrdersBody(tuple(self.orders.values()), "")
            case m.ReadOrder(order_id=order_id) if order_id in self.orders:
                return m.OrderBody(self.orders[order_id])
            case m.ReadBook() | m.ReadOrder():
                return None
            case _:
                return self._empty[type(request)]


def seen_in(frame: bytes) -> m.Event:
    event = event_of(frame)
    assert event is not None
    return event


def _amended(order: model.Order, amend: Amend) -> model.Order:
    qty = order.remaining_qty if amend.qty is None else amend.qty
    price = order.price if amend.price is None else amend.price
    fields = {name: getattr(order, name) for name in order.__struct_fields__}
    return model.Order(**{**fields, "price": price, "qty": qty, "remaining_qty": qty})


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
