"""A tape played on our markets, once: recorded books rest, recorded executions take. Time is
compressed and long silences are cut short."""

import bisect
from collections.abc import Iterable, Sequence
from typing import Final

from venue.crowd.market_view import CrowdView
from venue.crowd.order_mirror import OrderMirror
from venue.crowd.people import TAPE_MAKER, TAPE_TAKER
from venue.crowd.settings import CrowdSettings
from venue.crowd.tape import Tape, TradeRecord
from venue.crowd.target_book import target_book_of
from venue.engine import messages as m
from venue.wire.instant import NS_PER_SECOND
from venue.wire.money import PAYOUT_CENTS, Cents, Price, Qty, Side, canonical
from venue.wire.names import ClientOrderId
from venue.wire.requests import QtyOrder, TimeInForce
from venue.wire.strike import dollars_per_unit

TAPE_CASH_CENTS: Final = Cents(10**12)
"""What each of the two has; far more than the dearest recorded day turns over."""

PLAY_NS: Final = 10 * 60 * NS_PER_SECOND
"""A whole tape lasts this long at the default speed, less its silences."""

SILENCE_NS_MAX: Final = 3 * NS_PER_SECOND
_REFRESH_NS: Final = 2 * NS_PER_SECOND
_VALUE_INTERVAL_NS: Final = NS_PER_SECOND
_VALUE_DECIMALS_MAX: Final = 8
"""An implied value of more is refused; a tape may record twelve."""

_UNDERLYING_CONFIDENCE: Final = "0.950"
_MEDIAN_CONFIDENCE: Final = "0.750"


class TapeFollower:
    """Plays one tape once, from the first step on. catalogue: the opening, in which its markets are
    listed."""

    def __init__(
        self, settings: CrowdSettings, tape: Tape, catalogue: Iterable[m.Command | m.AccessCommand]
    ) -> None:
        self._tape = tape
        self._take_qty_max = settings.tape_take_qty_max
        span_ns = max(tape.end_ts - tape.start_ts, 1)
        self._speed = settings.tape_speed or span_ns / PLAY_NS
        self._view = CrowdView((TAPE_MAKER, TAPE_TAKER), TAPE_CASH_CENTS)
        self._view.open_with(catalogue)
        self._target = target_book_of(tape)
        self._mirrors = [OrderMirror(TAPE_MAKER, rung.market_id) for rung in tape.rungs]
        self._rung_of = {rung.market_id: place for place, rung in enumerate(tape.rungs)}
        self._dirty: set[int] = set()
        self._place = tape.start
        self._last_ts = tape.start_ts
        self._start_ns: int | None = None
        self._due_ns: int | None = None
        self._refresh_ns = 0
        self._value_ns = 0
        self._last_value: str | None = None
        self._orders_made = 0

    def observe(self, events: list[m.Event], now_ns: int) -> None:
        self._view.observe(events)
        for event in events:
            if isinstance(event, m.OrderChanged):
                rung = self._rung_of.get(event.order.market_id)
                if rung is not None:
                    self._mirrors[rung].observe(event)

    def step(self, now_ns: int) -> list[m.Command]:
        if self._start_ns is None:
            self._begin(now_ns)
        commands: list[m.Command] = []
        if self._due_ns is None:
            return commands
        while self._due_ns is not None and self._due_ns <= now_ns:
            record = self._tape.records[self._place]
            self._last_ts = record.ts
            self._dirty.update(self._target.absorb(record))
            if isinstance(record, TradeRecord):
                # The books of the moment first, so that the execution meets what it met then.
                commands += self._settle(now_ns)
                commands += self._take(record)
            self._go_on()
        if now_ns >= self._refresh_ns:
            self._refresh_ns = now_ns + _REFRESH_NS
            self._dirty.update(range(len(self._mirrors)))
        return commands + self._settle(now_ns) + self._value(now_ns)

    def next_due_ns(self) -> int | None:
        """When something is due next; None before the first step and after the last record."""
        return None if self._due_ns is None else min(self._due_ns, self._refresh_ns)

    def _begin(self, now_ns: int) -> None:
        """The lead-in leaves its last picture and no trades."""
        self._start_ns = self._due_ns = now_ns
        for record in self._tape.records[: self._tape.start]:
            self._target.absorb(record)

    def _go_on(self) -> None:
        assert self._due_ns is not None, "a tape that has ended is not played on"
        self._place += 1
        if self._place >= len(self._tape.records):
            self._due_ns = None
            return
        next_ts = self._tape.records[self._place].ts
        gap_ns = int((next_ts - self._last_ts) / self._speed)
        self._due_ns += min(gap_ns, SILENCE_NS_MAX)

    def _settle(self, now_ns: int) -> list[m.Command]:
        commands: list[m.Command] = []
        for rung in sorted(self._dirty):
            if self._view.is_active(self._tape.rungs[rung].market_id):
                wanted = self._target.wanted(rung)
                commands += self._mirrors[rung].settle(wanted, now_ns, self._fresh_id())
        self._dirty.clear()
        return commands

    def _take(self, record: TradeRecord) -> list[m.Command]:
        rung = self._tape.rungs[self._tape.sources.index(record.ticker)]
        if not self._view.is_active(rung.market_id):
            return []
        outcome = record.taker_outcome
        order = QtyOrder(
            market_id=rung.market_id,
            outcome=outcome,
            side=Side.BUY,
            price=canonical(outcome, Price(record.price)),
            qty=Qty(min(record.qty, self._take_qty_max)),
            time_in_force=TimeInForce.IOC,
            client_order_id=ClientOrderId(self._fresh_id()),
        )
        return [m.PlaceOrder(TAPE_TAKER, order)]

    def _fresh_id(self) -> str:
        self._orders_made += 1
        return f"{self._start_ns:x}-{self._orders_made:x}"

    def _value(self, now_ns: int) -> list[m.Command]:
        if now_ns < self._value_ns:
            return []
        self._value_ns = now_ns + _VALUE_INTERVAL_NS
        value, confidence = self._underlying(), _UNDERLYING_CONFIDENCE
        if value is None:
            value, confidence = self._median(), _MEDIAN_CONFIDENCE
        if value is None or value == self._last_value:
            return []
        self._last_value = value
        return [m.PublishImpliedValue(self._tape.project_id, value, confidence)]

    def _underlying(self) -> str | None:
        """The newest recorded price, as text in dollars where strikes have a multiple of them."""
        values = self._tape.values
        seen = bisect.bisect_right(values, self._last_ts, key=lambda value: value[0])
        if seen == 0:
            return None
        whole, point, decimals = values[seen - 1][1].partition(".")
        return whole + point + decimals[:_VALUE_DECIMALS_MAX]

    def _median(self) -> str | None:
        survival = self._target.survival_cents()
        if survival is None:
            return None
        strikes = [float(rung.strike) for rung in self._tape.rungs if rung.strike is not None]
        if len(strikes) < len(survival):
            return None
        value = median_strike(strikes, survival) * dollars_per_unit(self._tape.strike_unit)
        return f"{value:.2f}"


def median_strike(strikes: Sequence[float], survival_cents: Sequence[float]) -> float:
    """Where a survival curve crosses one half, along straight lines; an end where it does not.
    strikes: ascending, at least one. survival_cents: as many, never rising."""
    half = PAYOUT_CENTS / 2
    for place in range(1, len(strikes)):
        above, below = survival_cents[place - 1], survival_cents[place]
        if above >= half >= below and above > below:
            part = (above - half) / (above - below)
            return strikes[place - 1] + part * (strikes[place] - strikes[place - 1])
    return strikes[0] if survival_cents[0] < half else strikes[-1]
