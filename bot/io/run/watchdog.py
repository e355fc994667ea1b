"""Strategies under a stop watch: a call that takes too long is told, and an endless one is ended.

The trader is pure and reads no clock, so each strategy is wrapped here. A call that has used more
than its budget of processor time is told to the trader after the turn, as an event that stands in
the journal. One that is still not back after ten times the budget, a second at least, of wall time
is interrupted by a signal: an exception is raised inside it, and a fresh strategy takes its place,
because nobody knows in which state the old one was left. To the trader the call has raised.

A replay makes the same decisions from the same journal: there `Retold` raises at the calls that
were interrupted, whatever the strategy would do.

What this cannot do: a call that is inside C code (one numpy operation on a huge array, a regular
expression) ends when that code returns to Python, and one that catches everything and goes on is
interrupted again and again until it lets go. Until then nothing is decided; the heartbeat stops and
the reaper cancels what rests. Outside the main thread nothing can be interrupted, only measured.
"""

import signal
import threading
import time
from collections.abc import Callable, Iterable
from types import FrameType
from typing import Any, Final, NoReturn

from bot.core.fault_text import fault_text
from bot.core.messages import Event, StrategyOverran
from bot.core.quoting.supervisor import made_by
from bot.io.faults import is_ctrl_c
from bot.strategy.api import EventView, Quotes, Strategy
from venue.wire.instant import NS_PER_SECOND
from venue.wire.names import Ticker

PATIENCE: Final = 10
"""A call is interrupted after so many times its budget."""

PATIENCE_MIN_NS: Final = NS_PER_SECOND
"""And not before: a host that stands still for a moment must not look like a stalled strategy."""

AGAIN_S: Final = 0.1
"""A call that catches the interruption is interrupted again after so long."""

_STALLED: Final = "no answer in time"
_EXITS: Final = "it tried to end the program"

MakeStrategy = Callable[[], Strategy]


class StrategyStalled(Exception):
    """A call of a strategy did not come back in time, and was ended."""


class _Interrupted(BaseException):
    """Raised inside a call; no `except Exception` of a strategy catches it."""


class StrategyWatchdog:
    """The stop watch of all strategies of one series. budget_ns: processor time of a call.

    The calls come one after the other, from one thread. asked: how many there were, those of
    candidates not counted. timed: told after each of them how long it took, wall time.
    """

    def __init__(self, budget_ns: int) -> None:
        self.budget_ns = budget_ns
        self.hard_ns = max(PATIENCE * budget_ns, PATIENCE_MIN_NS)
        self.asked = 0
        self.timed: Callable[[int], None] = lambda _took_ns: None
        self._told: list[StrategyOverran] = []
        self._calls: dict[Ticker, int] = {}
        self._running = False
        self._can_interrupt: bool | None = None

    def wrapped(self, make: MakeStrategy) -> MakeStrategy:
        """The same strategies, watched."""
        return lambda: TimedStrategy(make, self)

    def number(self, event_ticker: Ticker) -> int:
        """The number of one more call about an event, from 1: it goes on when another strategy
        takes over."""
        self._calls[event_ticker] = self._calls.get(event_ticker, 0) + 1
        return self._calls[event_ticker]

    def take(self) -> list[StrategyOverran]:
        """What was told since the last time."""
        told, self._told = self._told, []
        return told

    def tell(self, event: StrategyOverran) -> None:
        """Keep an event until it is taken."""
        self._told.append(event)

    def run(self, call: Callable[[], Quotes]) -> Quotes:
        """What a call returns. Raises what it raises, and StrategyStalled if it was interrupted."""
        if not self._prepared():
            return call()
        try:
            self._running = True
            signal.setitimer(signal.ITIMER_REAL, self.hard_ns / NS_PER_SECOND, AGAIN_S)
            answer = call()
            self._running = False
        except _Interrupted:
            self._running = False
        else:
            return answer
        finally:
            self._running = False
            signal.setitimer(signal.ITIMER_REAL, 0)
        raise StrategyStalled(_STALLED)

    def _prepared(self) -> bool:
        """Whether calls can be interrupted: signals reach the main thread alone."""
        if self._can_interrupt is None:
            self._can_interrupt = threading.current_thread() is threading.main_thread()
        if self._can_interrupt and signal.getsignal(signal.SIGALRM) != self._ring:
            # The first time, and after a call of another series' strategy.
            signal.signal(signal.SIGALRM, self._ring)
        return self._can_interrupt

    def _ring(self, _number: int, _frame: FrameType | None) -> None:
        if self._running:
            raise _Interrupted


class TimedStrategy(Strategy):
    """A strategy whose every call is timed."""

    def __init__(self, make: MakeStrategy, watch: StrategyWatchdog) -> None:
        self._make = make
        self._watch = watch
        self._inner = make()
        self._call = 0
        self.name = self._inner.name or type(self._inner).__name__  # type: ignore[misc]
        super().__init__(self._inner.params)

    def quote(self, view: EventView) -> Quotes:
        """What the strategy wants. Raises what it raises, and StrategyStalled."""
        self._call = self._watch.number(view.event_ticker)
        self._watch.asked += 1
        began_ns, began_cpu_ns = time.monotonic_ns(), time.thread_time_ns()
        try:
            answer = self._watch.run(lambda: self._inner.quote(view))
        except StrategyStalled:
            self._inner = made_by(self._make)
            self._tell(view, time.monotonic_ns() - began_ns, self._watch.hard_ns, interrupted=True)
            raise
        except BaseException as fault:  # noqa: BLE001 - the plugin boundary: it may raise anything
            _raise_ordinary(fault)
        finally:
            self._watch.timed(time.monotonic_ns() - began_ns)
        took_ns = time.thread_time_ns() - began_cpu_ns
        if took_ns > self._watch.budget_ns:
            self._tell(view, took_ns, self._watch.budget_ns, interrupted=False)
        return answer

    def _tell(self, view: EventView, took_ns: int, allowed_ns: int, *, interrupted: bool) -> None:
        self._watch.tell(
            StrategyOverran(
                view.event_ticker, self.name, self._call, took_ns, allowed_ns, interrupted
            )
        )


class Retold(Strategy):
    """A strategy in a replay: the calls that were interrupted raise, and are not made."""

    def __init__(
        self,
        make: MakeStrategy,
        interrupted: dict[Ticker, frozenset[int]],
        calls: dict[Ticker, int] | None = None,
    ) -> None:
        """interrupted: the numbers of those calls, by event; see `interruptions`. calls: how many
        there were, by event, shared by all strategies of a run; None: no other takes over."""
        self._make = make
        self._interrupted = interrupted
        self._inner = make()
        self._calls = {} if calls is None else calls
        self.name = self._inner.name or type(self._inner).__name__  # type: ignore[misc]
        super().__init__(self._inner.params)

    def quote(self, view: EventView) -> Quotes:
        """What the strategy wanted. Raises what it raised, and StrategyStalled where it was."""
        call = self._calls[view.event_ticker] = self._calls.get(view.event_ticker, 0) + 1
        if call in self._interrupted.get(view.event_ticker, frozenset()):
            self._inner = made_by(self._make)
            raise StrategyStalled(_STALLED)
        try:
            return self._inner.quote(view)
        except BaseException as fault:  # noqa: BLE001 - the plugin boundary: it may raise anything
            _raise_ordinary(fault)


def _raise_ordinary(fault: BaseException) -> NoReturn:
    """Raise what a call has raised; RuntimeError in its stead where no `except Exception` would
    catch it, unless a person pressed Ctrl-C in the middle of the call."""
    if isinstance(fault, Exception) or is_ctrl_c(fault):
        raise fault
    exits = isinstance(fault, SystemExit | KeyboardInterrupt)
    raise RuntimeError(_EXITS if exits else fault_text(fault)) from None


def interruptions(events: Iterable[Event | Any]) -> dict[Ticker, frozenset[int]]:
    """The calls that were interrupted in one run, by event, from its journal."""
    found: dict[Ticker, set[int]] = {}
    for event in events:
        if isinstance(event, StrategyOverran) and event.interrupted:
            found.setdefault(event.event_ticker, set()).add(event.call)
    return {ticker: frozenset(calls) for ticker, calls in found.items()}
