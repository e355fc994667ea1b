"""An asyncio loop whose time is virtual: nothing ready means that the next timer's instant is now.

Everything that may come in another order in the world is drawn from the seed: which of the tasks
that are ready goes first, and how long a worker thread takes. Threads are not used: what is given
to one is done in its place, at the end of the time that it takes. Connections are those of
`tests.builders.shell.net`.
"""

import asyncio
import random
import time
from asyncio import base_events
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

START_S = 1_000.0
WALL_S = 1_800_000_000
_DISK_S = (0.0002, 0.004)
"""How long a worker thread takes."""

_TASK_STEPS = ("TaskStepMethWrapper", "TaskWakeupMethWrapper", "builtin_function_or_method")


class Stuck(AssertionError):
    """Nothing is ready and nothing ever will be."""


class _Selector:
    """Stands in for the operating system: nothing ever arrives from outside."""

    def __init__(self, loop: "VirtualLoop") -> None:
        self._loop = loop

    def select(self, timeout: float | None) -> list[Any]:
        """Let the time pass that the loop would wait for."""
        self._loop.idle(timeout)
        return []

    def close(self) -> None:
        """Nothing is open."""


class VirtualLoop(base_events.BaseEventLoop):
    """One seeded schedule. `network` answers `create_connection`."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        self.rng = random.Random(f"loop {seed}")
        self.network: Any = None
        self.signals: dict[int, Callable[[], None]] = {}
        self._now_s = START_S
        self._selector = _Selector(self)
        self.steps = 0

    # --- time -------------------------------------------------------------------------------------

    def time(self) -> float:
        return self._now_s

    def idle(self, timeout: float | None) -> None:
        """Called once a turn: jump to the next timer, and shuffle the tasks that are ready."""
        self.steps += 1
        if timeout is None:
            raise Stuck("no task is ready and no timer is set")
        if timeout > 0:
            self._now_s += timeout
            return
        ready = self._ready
        places = [at for at, handle in enumerate(ready) if _is_step(handle)]
        if len(places) > 1:
            moved = [ready[at] for at in places]
            self.rng.shuffle(moved)
            for at, handle in zip(places, moved, strict=True):
                ready[at] = handle

    def stall(self, for_s: float) -> None:
        """Time passes and nothing runs: a pause of the machine, or a loop that is stuck."""
        self._now_s += for_s

    # --- what a loop of the operating system has --------------------------------------------------

    def _process_events(self, event_list: list[Any]) -> None:
        assert not event_list

    def _write_to_self(self) -> None:
        """Nobody sleeps."""

    def run_in_executor(self, _executor: Any, func: Callable[..., Any], *args: Any) -> Any:
        """Do it here, once the time is over that a worker thread would have taken."""
        done = self.create_future()

        def work() -> None:
            try:
                result = func(*args)
            except BaseException as fault:  # noqa: BLE001 - handed on, as a pool does
                if not done.done():
                    done.set_exception(fault)
            else:
                if not done.done():
                    done.set_result(result)

        self.call_later(self.rng.uniform(*_DISK_S), work)
        return done

    def add_signal_handler(self, sig: int, callback: Callable[..., Any], *args: Any) -> None:
        """Keep the handler; `deliver` calls it."""
        self.signals[sig] = lambda: callback(*args)

    def remove_signal_handler(self, sig: int) -> bool:
        return self.signals.pop(sig, None) is not None

    def deliver(self, sig: int) -> None:
        self.signals[sig]()

    async def create_connection(
        self,
        protocol_factory: Callable[[], asyncio.Protocol],
        host: str | None = None,
        port: int | None = None,
        **_options: Any,
    ) -> tuple[asyncio.Transport, asyncio.Protocol]:
        """Connect in memory. Raises OSError as the network has it."""
        pair: tuple[asyncio.Transport, asyncio.Protocol] = await self.network.connect(
            protocol_factory, host, port
        )
        return pair


def _is_step(handle: asyncio.Handle) -> bool:
    """Whether a handle is a task's next step; other callbacks keep the order they are promised."""
    kind = type(handle._callback).__name__
    return kind in _TASK_STEPS and (
        kind != "builtin_function_or_method"
        or isinstance(getattr(handle._callback, "__self__", None), asyncio.Task)
    )


@contextmanager
def virtual_time(loop: VirtualLoop) -> Iterator[None]:
    """Every clock of the process shows the loop's time while the block lasts."""

    def wall_s() -> float:
        return WALL_S + loop.time() - START_S

    def elapsed_ns(_clock: int = time.CLOCK_MONOTONIC) -> int:
        return int(loop.time() * 10**9)

    with (
        mock.patch.object(time, "monotonic", loop.time),
        mock.patch.object(time, "monotonic_ns", elapsed_ns),
        mock.patch.object(time, "clock_gettime_ns", elapsed_ns),
        mock.patch.object(time, "time", wall_s),
        mock.patch.object(time, "time_ns", lambda: int(wall_s() * 10**9)),
    ):
        yield


def run(loop: VirtualLoop, main: Coroutine[Any, Any, Any]) -> Any:
    """Run to the end in virtual time; then no task may be left. Raises `Stuck`."""
    with virtual_time(loop):
        asyncio.set_event_loop(loop)
        try:
            result = loop.run_until_complete(main)
            left = [task for task in asyncio.all_tasks(loop) if not task.done()]
            assert not left, f"tasks left at the end: {left}"
            loop.run_until_complete(loop.shutdown_asyncgens())
            return result
        finally:
            while left := asyncio.all_tasks(loop):
                for task in left:
                    task.cancel()
                loop.run_until_complete(asyncio.gather(*left, return_exceptions=True))
            asyncio.set_event_loop(None)
            loop.close()
