"""Signals of the process: SIGHUP, SIGUSR1 and SIGUSR2 are deferred while no loop handles them, so
that they do not kill it; nor does a second stop signal once the run has ended."""

import asyncio
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from types import FrameType
from typing import Final

_TELLING: Final = (signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)
_STOPPING: Final = (signal.SIGINT, signal.SIGTERM)
_waiting: Final[set[int]] = set()
"""Of the whole process, as signals are."""

_done_with: Final[set[int]] = set()
"""Signals that stopped a run which is over, or would have."""

_last: Final[set[str]] = set()
"""Not empty while a command runs with which the process ends."""

_within: Final[set[str]] = set()
"""Not empty within `remembered`."""


def _remember(number: int, _: FrameType | None) -> None:
    _waiting.add(number)


@contextmanager
def last_command() -> Iterator[None]:
    """The process ends with this block; signals that `remembered` deferred keep being ignored, so
    that the exit code is the command's."""
    _last.add("command")
    try:
        yield
    finally:
        _last.clear()


@contextmanager
def remembered() -> Iterator[None]:
    """Until the block ends, defer SIGHUP, SIGUSR1 and SIGUSR2. Does nothing outside the main
    thread."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in _STOPPING}
    before |= {number: signal.signal(number, _remember) for number in _TELLING}
    _done_with.clear()
    _within.add("remembered")
    try:
        yield
    finally:
        _within.clear()
        for number, handler in before.items():
            if _last and (number in _TELLING or number in _done_with):
                signal.signal(number, signal.SIG_IGN)
            elif handler is not None:  # None: what cannot be set from here
                signal.signal(number, handler)
        _waiting.clear()


@contextmanager
def stopping(act: Callable[[signal.Signals], object]) -> Iterator[None]:
    """Until the block ends, call `act` for SIGINT and SIGTERM on the running loop. Within
    `remembered` they are ignored afterwards."""
    with ExitStack() as until:
        for number in _STOPPING:
            until.enter_context(_on_the_loop(number, partial(act, number)))
        try:
            yield
        finally:
            if _within:
                _done_with.update(_STOPPING)


@contextmanager
def heard(number: signal.Signals, act: Callable[[], object]) -> Iterator[None]:
    """Until the block ends, call `act` for a signal on the running loop: at once if it was
    deferred."""
    with _on_the_loop(number, act):
        if number in _waiting:
            _waiting.discard(number)
            act()
        yield


@contextmanager
def _on_the_loop(number: signal.Signals, act: Callable[[], object]) -> Iterator[None]:
    loop = asyncio.get_running_loop()
    before = signal.getsignal(number)
    is_over = False

    def on_signal() -> None:
        if not is_over:
            act()

    loop.add_signal_handler(number, on_signal)
    try:
        yield
    finally:
        is_over = True
        after = signal.SIG_IGN if number in _done_with else before
        if after in (signal.SIG_DFL, signal.default_int_handler, None):  # None: of no Python
            loop.remove_signal_handler(number)
        else:
            # The loop would leave the default behind for an instant, which ends the process.
            signal.signal(number, after)
