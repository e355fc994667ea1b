"""Times every call of a strategy: a slow call is reported, an endless one is interrupted.

An interrupted strategy is replaced by a fresh one, because its state is unknown; for the trader the
call has raised. A call inside C code ends when that code returns to Python; until then the
heartbeat stops and the reaper cancels. Outside the main thread calls are only measured.
"""

import signal
import threading
import time
from collections.abc import Callable, Iterable
from types import FrameType
from typing import Any, Final, NoReturn

from bot.core.fault_text import fault_text
from bot.core.messages import Event, StrategyOverran
from bot.core.quoting.strategy_health import made_by
from bot.io.faults import is_ctrl_c
from bot.strategy.api import EventView, Quotes, Strategy, StrategyAnswer, name_of
from venue.wire.instant import NS_PER_SECOND
from venue.wire.names import Ticker

Answer = Quotes | StrategyAnswer

PATIENCE: Final = 10
"""A call is interrupted after so many times its budget."""

PATIENCE_MIN_NS: Final = NS_PER_SECOND
"""And not before: a short pause of the host must not look like a stalled strategy."""

AGAIN_S: Final = 0.1
"""Seconds until a call that catches the interruption is interrupted again."""

_STALLED: Final = "no answer in time"
_EXITS: Final = "it tried to end the program"

MakeStrategy = Callable[[], Strategy]


class StrategyStalled(Exception):
    """A call of a strategy did not return in time, and was ended."""


class _Interrupted(BaseException):
    """Raised inside a call; no `except Exception` of a strategy catches it."""


class StrategyWatchdog:
    """Times the strategies of one series, one call after the other from one thread.

    budget_ns: processor time of a call. asked: calls so far, those of candidates not counted.
    timed: called after each with its wall time.
    """

    def __init__(self, budget_ns: int) -> None:
        self.budget_ns = budget_ns
        self.hard_ns = max(PATIENCE * budget_ns, PATIENCE_MIN_NS)
        self.asked = 0
        self.timed: Callable[[int], None] = lambda _took_ns: None
        self.overruns: list[StrategyOverran] = []
        self._calls: dict[Ticker, int] = {}
        self._running = False
        self._can_interrupt: bool | None = None

    def wrapped(self, make: MakeStrategy) -> MakeStrategy:
        return lambda: TimedStrategy(make, self)

    def number(self, event_ticker: Ticker) -> int:
        self._calls[event_ticker] = self._calls.get(event_ticker, 0) + 1
        return self._calls[event_ticker]

    def take_overruns(self) -> list[StrategyOverran]:
        taken, self.overruns = self.overruns, []
        return taken

    def run(self, call: Callable[[], Answer]) -> Answer:
        """The result of a call. Raises its exception, and StrategyStalled after a timeout."""
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
        """True if calls can be interrupted: signals reach the main thread alone."""
        if self._can_interrupt is None:
            self._can_interrupt = threading.current_thread() is threading.main_thread()
        if self._can_interrupt and signal.getsignal(signal.SIGALRM) != self._ring:
            # The first time, and after a call of another series' strategy.
            signal.signal(signal.SIGALRM, self._ring)
        return self._can_interrupt

    def _ring(self, _number: int, _frame: FrameType | None) -> None:
        if self._running:
            raise _Interrupted


class _Wrapped(Strategy):
    def __init__(self, make: MakeStrategy) -> None:
        self._make = make
        self._inner = make()
        self.name = name_of(self._inner)  # type: ignore[misc]
        super().__init__(self._inner.params)


class TimedStrategy(_Wrapped):
    def __init__(self, make: MakeStrategy, watch: StrategyWatchdog) -> None:
        super().__init__(make)
        self._watch = watch

    def quote(self, view: EventView) -> Answer:
        call = self._watch.number(view.event_ticker)
        self._watch.asked += 1
        began_ns, began_cpu_ns = time.monotonic_ns(), time.thread_time_ns()
        try:
            answer = self._watch.run(lambda: self._inner.quote(view))
        except StrategyStalled:
            self._inner = made_by(self._make)
            took_ns = time.monotonic_ns() - began_ns
            self._on_overrun(view, call, took_ns, self._watch.hard_ns, interrupted=True)
            raise
        except BaseException as fault:  # noqa: BLE001 - the plugin boundary: it may raise anything
            _raise_ordinary(fault)
        finally:
            self._watch.timed(time.monotonic_ns() - began_ns)
        took_ns = time.thread_time_ns() - began_cpu_ns
        if took_ns > self._watch.budget_ns:
            self._on_overrun(view, call, took_ns, self._watch.budget_ns, interrupted=False)
        return answer

    def _on_overrun(
        self, view: EventView, call: int, took_ns: int, allowed_ns: int, *, interrupted: bool
    ) -> None:
        ticker = view.event_ticker
        overran = StrategyOverran(ticker, self.name, call, took_ns, allowed_ns, interrupted)
        self._watch.overruns.append(overran)


class Retold(_Wrapped):
    """A strategy in a replay: the interrupted calls raise and are not made."""

    def __init__(
        self,
        make: MakeStrategy,
        interrupted: dict[Ticker, frozenset[int]],
        calls: dict[Ticker, int] | None = None,
    ) -> None:
        """interrupted: the numbers of those calls, by event. calls: counted so far, by event,
        shared by all strategies of a run; None: no other strategy takes over."""
        super().__init__(make)
        self._interrupted = interrupted
        self._calls = {} if calls is None else calls

    def quote(self, view: EventView) -> Answer:
        call = self._calls[view.event_ticker] = self._calls.get(view.event_ticker, 0) + 1
        if call in self._interrupted.get(view.event_ticker, frozenset()):
            self._inner = made_by(self._make)
            raise StrategyStalled(_STALLED)
        try:
            return self._inner.quote(view)
        except BaseException as fault:  # noqa: BLE001 - the plugin boundary: it may raise anything
            _raise_ordinary(fault)


def _raise_ordinary(fault: BaseException) -> NoReturn:
    """Raise what a call raised; RuntimeError for what no `except Exception` would catch, unless a
    person pressed Ctrl-C."""
    if isinstance(fault, Exception) or is_ctrl_c(fault):
        raise fault
    exits = isinstance(fault, SystemExit | KeyboardInterrupt)
    raise RuntimeError(_EXITS if exits else fault_text(fault)) from None


def interruptions(events: Iterable[Event | Any]) -> dict[Ticker, frozenset[int]]:
    """The interrupted calls of one run, by event, from its journal."""
    found: dict[Ticker, set[int]] = {}
    for event in events:
        if isinstance(event, StrategyOverran) and event.interrupted:
            found.setdefault(event.event_ticker, set()).add(event.call)
    return {ticker: frozenset(calls) for ticker, calls in found.items()}
