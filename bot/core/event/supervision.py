"""The strategies of all events, as they behave: what is counted, told, and pulled."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from bot.core.desk.outbox import Outbox
from bot.core.fault_text import fault_text
from bot.core.messages import StrategyOverran
from bot.core.strategy import EventView, Quotes, Strategy

if TYPE_CHECKING:
    from bot.core.event.room import Ladder


class Unmade(Strategy):
    """In the place of a strategy that could not be made for its event: whenever that is asked, it
    is tried again, and the event is pulled for what making it raises."""

    def __init__(self, make_strategy: Callable[[], Strategy]) -> None:
        super().__init__(None)
        self._make_strategy = make_strategy
        self._strategy: Strategy | None = None

    def made(self) -> Strategy:
        """The strategy, if it can be made by now. Raises whatever making it raises."""
        if self._strategy is None:
            self._strategy = self._make_strategy()
        return self._strategy

    def quote(self, view: EventView) -> Quotes:
        """As the strategy, once it is made. Raises whatever making it raises, and what it does."""
        return self.made().quote(view)


def made_by(make_strategy: Callable[[], Strategy]) -> Strategy:
    """A fresh strategy for an event; `Unmade` where none can be made."""
    try:
        return make_strategy()
    except Exception:  # noqa: BLE001 - the plugin boundary: what it raises is told when it is asked
        return Unmade(make_strategy)


class Supervision:
    """Keeps the record of every ladder's strategy true, and a finding about those at fault."""

    def __init__(self, ladders: "list[Ladder]", out: Outbox) -> None:
        self._ladders = ladders
        self._out = out

    def raised(self, ladder: "Ladder", fault: Exception, now_ns: int) -> None:
        """A strategy raised, or its answer was nonsense: its event is pulled."""
        self._out.counters.strategy_errors += 1
        self._out.first_fault = self._out.first_fault or fault_text(fault)
        ladder.conduct.raised(fault, now_ns)
        self._tell(ladder, "strategy_failed")

    def behaved(self, ladder: "Ladder") -> None:
        """A strategy gave a sane answer."""
        if ladder.conduct.behaved():
            self._tell_at_fault()

    def overran(self, event: StrategyOverran, now_ns: int) -> None:
        """A call took too long: three in a row, or one that was interrupted, pull its event."""
        self._out.counters.strategy_overruns += 1
        self._out.counters.strategy_interrupted += event.interrupted
        for ladder in self._ladders:
            mine = ladder.event.event_ticker == event.event_ticker
            if mine and ladder.conduct.answers_for(event):
                pulled = ladder.conduct.overran(event, now_ns)
                ladder.dirty |= pulled
                if pulled or event.interrupted:
                    self._tell(ladder, "strategy_stalled")

    def replaced(self) -> None:
        """Other strategies took the place of those there were: these are told of no longer."""
        self._tell_at_fault()

    def look(self, ladder: "Ladder", may_quote: bool, now_ns: int) -> None:
        """After a fault: once the pause is over nothing else need happen for the strategy to be
        asked again. One that is asked no more is not told of any longer."""
        if now_ns >= ladder.pulled_until_ns:
            if may_quote and ladder.is_open and ladder.is_understood:
                ladder.dirty = True
            else:
                self.behaved(ladder)

    def _tell(self, ladder: "Ladder", name: str) -> None:
        fault = ladder.conduct.fault
        self._out.note("error", name, event=ladder.event.event_ticker, fault=fault)
        self._tell_at_fault()

    def _tell_at_fault(self) -> None:
        at_fault = [
            f"{each.event.event_ticker}: {each.conduct.fault}"
            for each in self._ladders
            if each.conduct.fault
        ]
        if at_fault:
            self._out.find("strategy_at_fault", "; ".join(at_fault[:_TOLD_MAX]))
        else:
            self._out.clear("strategy_at_fault")


_TOLD_MAX = 3
