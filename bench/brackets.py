"""Queue models against the true queue: small orders of ours at the real engine under the seeded
crowd, and the same orders in the backtest, on recordings of the same flow.

Orders come at random near the touch, rest for a random time, and are cancelled. Two recordings of
each session are played. "Heard" is the feed of that session less our own size: only the queue model
differs. "Without us" is what the crowd does alone: the effect of our orders on the flow differs
too, as on every recorded market. Contested are orders that had others before them at their price,
and of which the truth or the optimistic model fills something. The error of a model is in shares,
as parts of the order. Anchor: the engine's own fills. Aim: the truth within the bounds, in shares
and in the time of the first fill, for 90 % of orders.
"""

import math
import random
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import msgspec

from bench.crowded import (
    BEAT_NS,
    RESOLUTION_NS,
    START_NS,
    TEN_MAKERS,
    CrowdedMarket,
    Recorder,
    clock,
    recorded,
)
from bot.core import messages as m
from bot.lab.exchange.assumptions import Terms
from bot.lab.exchange.exchange import buy_order
from bot.lab.exchange.queue_model import QueueModel
from bot.lab.exchange.recorded import RecordedMarket
from venue.crowd.settings import CrowdSettings
from venue.crowd.tape import Tape
from venue.wire.instant import NS_PER_SECOND
from venue.wire.money import BookSide, Cents, Outcome, Price, Qty, canonical
from venue.wire.names import MarketId, OrderId
from venue.wire.requests import TimeInForce

_SEEDS = tuple(range(1, 11))
_TERMS = Terms(cash_cents=Cents(10**9), read_lag_ns=0)
_GAP_S, _LIFE_S = 5.0, 40.0
_QTY_MAX = 20
_STEPS = (-1, 0, 0, 0, 1, 1, 2)
"""Cents behind the touch; -1 improves it."""

CROWDS = {
    "usual crowd": CrowdSettings(),
    "ten makers a rung": TEN_MAKERS,
}


class Fate(msgspec.Struct):
    """The fate of an order. first_ns: of its first fill, None where there was none."""

    filled: int = 0
    first_ns: int | None = None


class Probe(NamedTuple):
    """An order of ours that is created, rests and is cancelled; price in canonical YES cents.

    ahead: shares of others at its price when it came.
    """

    market_id: MarketId
    side: BookSide
    price: Price
    qty: int
    begin_ns: int
    end_ns: int
    ahead: int


class Counter:
    """Our requests at a venue, and the fate of the one order that rests on each side."""

    def __init__(self, venue: RecordedMarket) -> None:
        self._venue = venue
        self._made = 0
        self._seen = 0
        self._standing: dict[tuple[MarketId, BookSide], tuple[Fate, OrderId | None]] = {}

    def create(self, probe: Probe) -> Fate:
        fate = Fate()
        self._made += 1
        outcome = Outcome.YES if probe.side is BookSide.BID else Outcome.NO
        price, name = canonical(outcome, probe.price), f"probe-{self._made}"
        order = buy_order(probe.market_id, outcome, price, probe.qty, TimeInForce.GTC, name)
        self._standing[probe.market_id, probe.side] = (fate, None)
        request = m.Create(order, False)
        answer = self._ask(request, probe.begin_ns)
        assert isinstance(answer, m.Ok), answer
        assert isinstance(answer.body, m.OrderBody)
        self.book_fills()
        self._standing[probe.market_id, probe.side] = (fate, answer.body.order.order_id)
        return fate

    def cancel(self, probe: Probe) -> None:
        self.book_fills()
        fate, order_id = self._standing.pop((probe.market_id, probe.side))
        if fate.filled < probe.qty and order_id is not None:
            self._ask(m.CancelResting(order_id), probe.end_ns)

    def book_fills(self) -> None:
        """Give the fills since the last look to the probe that rested there."""
        fills = self._venue.account.fills
        for fill in fills[self._seen :]:
            side = BookSide.BID if fill.outcome is Outcome.YES else BookSide.ASK
            fate, _ = self._standing[fill.market_id, side]
            fate.filled += fill.qty
            if fate.first_ns is None:
                fate.first_ns = fill.at_ns
        self._seen = len(fills)

    def _ask(self, request: m.Request, now_ns: int) -> m.Answer:
        send = m.Send(m.RequestId(self._made), request, "probe", m.Key.TRADE)
        return self._venue.exchange.answer_request(send, now_ns)[0]


class Session:
    """A crowd's session with our orders in it: which there were, their fates, and the tape."""

    def __init__(self, crowd: CrowdSettings, seed: int, seconds: float) -> None:
        self.ticking = clock(seed, seconds)
        self.crowd = crowd.model_copy(update={"seed": seed})
        self.venue = CrowdedMarket(self.ticking, self.crowd, _TERMS)
        self.probes: list[Probe] = []
        self.fates: list[Fate] = []
        recorder = Recorder(self.venue, self.ticking)
        counter = Counter(self.venue)
        slots = {
            (market, side): random.Random(f"{seed} {market} {side}")
            for market in self.venue.markets
            for side in BookSide
        }
        due = {slot: START_NS + _wait_ns(rng, _GAP_S) for slot, rng in slots.items()}
        standing: dict[tuple[MarketId, BookSide], Probe] = {}
        for place, record in enumerate(self.ticking.records):
            now_ns = record.ts
            for slot, rng in slots.items():
                if due[slot] > now_ns:
                    continue
                probe = standing.pop(slot, None)
                if probe is not None:
                    due[slot] = now_ns + _wait_ns(rng, _GAP_S)
                    counter.cancel(probe)
                    continue
                probe = self._probe(slot, rng, now_ns)
                if probe is not None:
                    due[slot] = probe.end_ns
                    standing[slot] = probe
                    self.probes.append(probe)
                    self.fates.append(counter.create(probe))
            self.venue.play(place)
            counter.book_fills()
        # An order that still rests has no end yet.
        done = [place for place, each in enumerate(self.probes) if each.end_ns <= now_ns]
        self.probes = [self.probes[place] for place in done]
        self.fates = [self.fates[place] for place in done]
        self.tape = recorder.tape

    def _probe(
        self, slot: tuple[MarketId, BookSide], rng: random.Random, now_ns: int
    ) -> Probe | None:
        market, side = slot
        step, life_ns = rng.choice(_STEPS), _wait_ns(rng, _LIFE_S)
        qty = rng.randint(1, _QTY_MAX)
        sides = dict(zip(BookSide, self.venue.others(market), strict=True))
        mine, theirs = sides[side], self.venue.exchange.book_update(market, now_ns)
        against = theirs.asks if side is BookSide.BID else theirs.bids
        if not mine or not against:
            return None
        sign = 1 if side is BookSide.BID else -1
        price = Price(mine[0][0] - sign * step)
        if not 1 <= price <= 99 or sign * (against[0][0] - price) <= 0:
            return None
        # The beats are even: what ends between two ends with the later one.
        end_ns = now_ns + life_ns // BEAT_NS * BEAT_NS + BEAT_NS
        return Probe(market, side, price, qty, now_ns, end_ns, dict(mine).get(price, Qty(0)))


def played(tape: Tape, probes: list[Probe], model: QueueModel) -> list[Fate]:
    """The same orders at the same instants on a tape."""
    venue = RecordedMarket(tape, _TERMS, model, RESOLUTION_NS, START_NS)
    counter = Counter(venue)
    fates: list[Fate] = [Fate()] * len(probes)
    acts: list[tuple[int, int, Callable[[], None]]] = []

    def created(place: int) -> None:
        fates[place] = counter.create(probes[place])

    for place, probe in enumerate(probes):
        acts.append((probe.begin_ns, 1, partial(created, place)))
        acts.append((probe.end_ns, 0, partial(counter.cancel, probe)))
    acts.sort(key=lambda act: act[:2])
    records = tape.records
    through = 0
    for at_ns, _, act in acts:
        while through < len(records) and records[through].ts <= at_ns:
            venue.play(through)
            counter.book_fills()
            through += 1
        act()
    return fates


def _wait_ns(rng: random.Random, mean_s: float) -> int:
    return int(rng.expovariate(1 / mean_s) * NS_PER_SECOND)


def bracketed(true: Fate, pessimistic: Fate, optimistic: Fate) -> bool:
    """True if the truth lies between the bounds, in shares and in the time of the first fill."""
    return pessimistic.filled <= true.filled <= optimistic.filled and _first_ns(
        optimistic
    ) <= _first_ns(true) <= _first_ns(pessimistic)


def _first_ns(fate: Fate) -> float:
    return math.inf if fate.first_ns is None else fate.first_ns


Row = tuple[Probe, Fate, dict[QueueModel, Fate]]


def fates(name: str, seed: int, seconds: float) -> dict[str, list[Row]]:
    session = Session(CROWDS[name], seed, seconds)
    tapes = {
        "heard": session.tape,
        "without us": recorded(session.ticking, session.crowd, _TERMS),
    }
    rows: dict[str, list[Row]] = {}
    for label, tape in tapes.items():
        by = {model: played(tape, session.probes, model) for model in QueueModel}
        rows[label] = [
            (probe, true, {model: by[model][place] for model in QueueModel})
            for place, (probe, true) in enumerate(zip(session.probes, session.fates, strict=True))
        ]
    return rows


def _contested(row: Row) -> bool:
    probe, true, read = row
    return probe.ahead > 0 and (true.filled > 0 or read[QueueModel.OPTIMISTIC].filled > 0)


def _shares(rows: list[Row]) -> str:
    """How often the truth is within all the bounds, and where it is not."""
    within = sum(
        bracketed(true, read[QueueModel.PESSIMISTIC], read[QueueModel.OPTIMISTIC])
        for _, true, read in rows
    )
    below = sum(true.filled < read[QueueModel.PESSIMISTIC].filled for _, true, read in rows)
    above = sum(true.filled > read[QueueModel.OPTIMISTIC].filled for _, true, read in rows)
    expected = sum(
        bracketed(true, read[QueueModel.PESSIMISTIC], read[QueueModel.EXPECTED])
        for _, true, read in rows
    )
    count = max(1, len(rows))
    return (
        f"{100 * within / count:.1f} % of {len(rows)} (aim 90 %); fewer shares than pessimistic "
        f"{100 * below / count:.1f} %, more than optimistic {100 * above / count:.1f} %; "
        f"with expected as the upper bound: {100 * expected / count:.1f} %"
    )


def _errors(rows: list[Row]) -> str:
    """Of each model the median and 90th percentile of its error, and its mean with sign."""
    parts = []
    for model in QueueModel:
        signed = [(read[model].filled - true.filled) / probe.qty for probe, true, read in rows]
        sizes = sorted(abs(each) for each in signed)
        if not sizes:
            continue
        median, high = sizes[len(sizes) // 2], sizes[len(sizes) * 9 // 10]
        mean = sum(signed) / len(sizes)
        spread = f"{100 * median:.0f} % and {100 * high:.0f} %"
        parts.append(f"{model.name.lower()} {spread}, mean {100 * mean:+.1f} %")
    return "; ".join(parts)


def run(quick: bool) -> list[tuple[str, str]]:
    out = []
    for name in CROWDS:
        rows: dict[str, list[Row]] = {}
        for seed in _SEEDS[:2] if quick else _SEEDS:
            for label, found in fates(name, seed, 1_200 if quick else 2_400).items():
                rows.setdefault(label, []).extend(found)
        for label, found in rows.items():
            contested = [row for row in found if _contested(row)]
            out += [
                (f"{name}, {label}: truth within the bounds", _shares(found)),
                ("  of contested orders", _shares(contested)),
                ("  error of contested, median and 90th percentile", _errors(contested)),
            ]
    return out
