"""Audits the exits of one process: their cost by the engine's fills, and nothing after their end.

The fair values at the beginning are the bot's own, for they define the cost; the rest is counted
here.
"""

from collections.abc import Iterable

from bot.core.quoting.event_quoter import EventQuoter
from bot.core.quoting.exit import EventExit
from bot.lab.sim.truth import Fees, Flight, Truth, check, level_of
from venue.engine import messages as v
from venue.wire.money import Outcome, Side
from venue.wire.names import MarketId, Ticker

_MILLI = 1_000


class AuditedExit:
    """One exit. B3: it costs no more than its cap, or than what was live on the way as it began."""

    def __init__(self, running: EventExit, fees: Fees) -> None:
        self.running = running
        self._fees = fees
        self._since: dict[MarketId, int] = {}  # fills of ours before it began there
        self._inherited_millicents = 0

    def look(self, truth: Truth, flight: Flight) -> None:
        """After the bot took an event in, and before what it sent counts."""
        for market, arrival in self.running.arrivals.items():
            if market not in self._since:
                self._since[market] = len(truth.fills)
                self._inherited_millicents += self._live_millicents(flight, market, arrival)
        cost = sum(
            self._fill_millicents(fill, self.running.arrivals[fill.market_id])
            for index, (_, fill) in enumerate(truth.fills)
            if index >= self._since.get(fill.market_id, len(truth.fills))
            and fill.order_id not in truth.foreign
        )
        most = max(_MILLI * self.running.max_cost_cents, self._inherited_millicents)
        check(cost <= most, "B3", f"an exit has cost {cost} thousandths of a cent, at most {most}")

    def _live_millicents(self, flight: Flight, market: MarketId, arrival: int) -> int:
        cost = 0
        for each in flight.possible(market):
            worst = max(each.levels) if each.is_bid else min(each.levels)
            away = _MILLI * worst - arrival if each.is_bid else arrival - _MILLI * worst
            fee_cents = self._fees.fee_cents(worst, each.qty)
            cost += max(0, each.qty * away + _MILLI * fee_cents)
        return cost

    def _fill_millicents(self, fill: v.FillBooked, arrival: int) -> int:
        level = level_of(fill.outcome, fill.outcome_price)
        is_bid = (fill.outcome is Outcome.YES) == (fill.side is Side.BUY)
        away = _MILLI * level - arrival if is_bid else arrival - _MILLI * level
        return fill.qty * away + _MILLI * fill.fee_cents


class AuditedExits:
    """Those of one process, by event."""

    def __init__(self, truth: Truth, flight: Flight, fees: Fees) -> None:
        self._truth, self._flight, self._fees = truth, flight, fees
        self._of: dict[Ticker, AuditedExit] = {}

    def look(self, ladders: Iterable[EventQuoter]) -> None:
        for ladder in ladders:
            event, running = ladder.event.event_ticker, ladder.exit
            if running is None:
                self._of.pop(event, None)
                continue
            audited = self._of.get(event)
            if audited is None or audited.running is not running:
                audited = self._of[event] = AuditedExit(running, self._fees)
            audited.look(self._truth, self._flight)

    def reduces(self, event: Ticker | None) -> bool:
        """True while the event is exited."""
        return event in self._of and not self._of[event].running.over

    def ended(self, event: Ticker | None, now_ns: int) -> bool:
        """True if the exit of the event is over, so that nothing may rest there."""
        if event not in self._of:
            return False
        running = self._of[event].running
        return bool(running.over) or now_ns >= running.ends_ns
