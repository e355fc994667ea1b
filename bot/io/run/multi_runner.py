"""Several runners in one process: what they share runs once, and they begin and end together.

A series that stops, for whatever reason, stops the others in good order: half of what was started
must not go on unnoticed. A breaker stops no series but its own: that one is latched, and goes on
watching.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Final

import anyio
import structlog

from bot.io.faults import OperatorError
from bot.io.run.runner import Child, Exit, Runner, RunResult
from bot.io.signals import signals_to
from venue.wire.names import Ticker

_WORST_FIRST: Final = (Exit.LEFT_OVER, Exit.BUG, Exit.VENUE, Exit.CONFIGURATION, Exit.OK)

_WORSE_THAN_A_FAULT: Final = (Exit.LEFT_OVER, Exit.BUG)

Run = Callable[[Runner, tuple[Child, ...]], Awaitable[RunResult]]
"""Lets a runner trade with these children, signals left to others."""


def worst(ended: Sequence[RunResult]) -> Exit:
    """What a process ends with whose series ended so."""
    codes = [each.exit_code for each in ended]
    return next(code for code in _WORST_FIRST if code in codes)


class _Shared:
    """A child of all runners: it runs once, and each of them hears of its end."""

    def __init__(self, child: Child) -> None:
        self._child = child
        self._over = asyncio.Event()
        self._log = structlog.stdlib.get_logger("bot")

    async def run(self) -> None:
        """Run it, whatever becomes of it."""
        try:
            await self._child.run()
        except Exception:  # noqa: BLE001 - the task's boundary: every runner drains by itself
            self._log.exception("child_failed", child=self._child.name)
        finally:
            self._over.set()

    def for_one(self) -> Child:
        """It as a child of one runner."""

        async def ended() -> None:
            await self._over.wait()

        return Child(self._child.name, ended)


class MultiRunner:
    """The runners of one process, by series."""

    def __init__(
        self,
        runners: Mapping[Ticker, Runner],
        shared: Sequence[Child],
    ) -> None:
        """shared: children of all of them."""
        self._runners = dict(runners)
        self._shared = [_Shared(child) for child in shared]
        self._ended: dict[Ticker, RunResult] = {}
        self._faults: list[OperatorError] = []

    async def run(self, run: Run) -> tuple[RunResult, ...]:
        """Trade until all have ended; how each did that began, in order.

        Raises the first fault that kept one from beginning, once the others have drained; but not
        where they ended worse than by a fault, for what they left is what must be told.
        """
        async with anyio.create_task_group() as beside:
            for shared in self._shared:
                beside.start_soon(shared.run)
            with signals_to(tuple(self._runners.values())):
                async with anyio.create_task_group() as tasks:
                    for ticker, runner in self._runners.items():
                        tasks.start_soon(self._live, ticker, runner, run)
            beside.cancel_scope.cancel()
        ended = tuple(self._ended[each] for each in self._runners if each in self._ended)
        if self._faults and not (ended and worst(ended) in _WORSE_THAN_A_FAULT):
            raise self._faults[0]
        for fault in self._faults:
            structlog.stdlib.get_logger("bot").error("series_kept_down", text=str(fault))
        return ended

    async def _live(self, ticker: Ticker, runner: Runner, run: Run) -> None:
        # Every line that is logged from here on says whose it is.
        structlog.contextvars.bind_contextvars(series=ticker)
        children = tuple(shared.for_one() for shared in self._shared)
        try:
            self._ended[ticker] = await run(runner, children)
        except OperatorError as fault:
            self._faults.append(fault)
        for other, each in self._runners.items():
            if other != ticker and other not in self._ended:
                each.stop(f"{ticker} has ended")
