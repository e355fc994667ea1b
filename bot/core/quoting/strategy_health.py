"""The record of a strategy, and the pause after a fault of it.

A strategy that raises, returns nonsense, is interrupted, or takes too long three times in a row has
its event pulled for five seconds. The pause doubles with each further fault, up to a minute; after
a minute without a fault it starts over. The last fault is an alert until the next valid answer.
"""

from collections.abc import Callable
from typing import Final

from bot.core.fault_text import fault_text
from bot.core.messages import StrategyOverran
from bot.core.trading_state import Restriction, Source, TradingState
from bot.strategy.api import EventView, Quotes, Strategy, StrategyAnswer
from venue.wire.instant import NS_PER_SECOND

FIRST_PAUSE_NS: Final = 5 * NS_PER_SECOND
LONGEST_PAUSE_NS: Final = 60 * NS_PER_SECOND
FORGIVEN_NS: Final = 60 * NS_PER_SECOND
OVERRUNS_IN_A_ROW: Final = 3
_FAULT_MAX: Final = 300


class FailedStrategy(Strategy):
    """Takes the place of a strategy that could not be made; each decision is a retry."""

    def __init__(self, make_strategy: Callable[[], Strategy]) -> None:
        super().__init__(None)
        self._make_strategy = make_strategy
        self._strategy: Strategy | None = None

    def made(self) -> Strategy:
        """The strategy. Raises whatever making it raises."""
        if self._strategy is None:
            self._strategy = self._make_strategy()
        return self._strategy

    def quote(self, view: EventView) -> Quotes | StrategyAnswer:
        return self.made().quote(view)


def made_by(make_strategy: Callable[[], Strategy]) -> Strategy:
    """A fresh strategy for an event; `FailedStrategy` where none can be made."""
    try:
        return make_strategy()
    except Exception:  # noqa: BLE001 - the plugin boundary: `FailedStrategy` raises it again
        return FailedStrategy(make_strategy)


class StrategyHealth:
    """The record of one event's strategy."""

    def __init__(self, name: str, calls: int = 0) -> None:
        """calls: how often another strategy of the event was asked before it."""
        self.name = name
        self.calls = self._asked_from = calls
        self.fault = ""  # its last fault; empty after a later valid answer
        self.pulled_until_ns = 0  # nothing of it is quoted before
        self._pauses = 0
        self._overruns = 0
        self._overran_at = 0

    def restriction(self, now_ns: int) -> Restriction | None:
        """The pause after a fault; None once it is over."""
        if now_ns >= self.pulled_until_ns:
            return None
        return Restriction(
            source=Source.STRATEGY,
            state=TradingState.HALTED,
            why=self.fault,
            ends="the strategy is asked again",
            until_ns=self.pulled_until_ns,
        )

    def on_raise(self, fault: Exception, now_ns: int) -> None:
        self._pull(fault_text(fault), now_ns)

    def answers_for(self, event: StrategyOverran) -> bool:
        """True if the call was its own, and not of the strategy before it."""
        return event.call > self._asked_from

    def on_overrun(self, event: StrategyOverran, now_ns: int) -> bool:
        """A call took too long. True if the event is to be pulled for it; an interrupted call has
        raised, and is pulled already."""
        took = f"took {event.took_ns / 1e6:.1f} ms, {event.allowed_ns / 1e6:g} ms are allowed"
        if event.interrupted:
            self.fault = self._pause_text(f"interrupted, {took}", now_ns)
            return False
        in_a_row = event.call == self._overran_at + 1
        self._overruns = self._overruns + 1 if in_a_row else 1
        self._overran_at = event.call
        if self._overruns < OVERRUNS_IN_A_ROW:
            return False
        self._overruns = 0
        self._pull(f"{OVERRUNS_IN_A_ROW} times in a row too slow, {took}", now_ns)
        return True

    def on_sane_answer(self) -> bool:
        """True if its valid answer clears a fault."""
        had_fault, self.fault = bool(self.fault), ""
        return had_fault

    def _pull(self, fault: str, now_ns: int) -> None:
        if now_ns >= self.pulled_until_ns + FORGIVEN_NS:
            self._pauses = 0
        self._pauses += 1
        pause_ns = FIRST_PAUSE_NS << min(self._pauses - 1, 8)
        self.pulled_until_ns = now_ns + min(LONGEST_PAUSE_NS, pause_ns)
        self.fault = self._pause_text(fault, now_ns)

    def _pause_text(self, fault: str, now_ns: int) -> str:
        pause_s = max(0, self.pulled_until_ns - now_ns) / NS_PER_SECOND
        return f"{self.name}: {fault[:_FAULT_MAX]}; its quotes stay away for {pause_s:g} s"
