"""Signals that only tell, while nobody hears them yet or any more: remembered, they end nothing.

A run loads its libraries, opens a venue and looks at the account before its loop is there, and it
writes its records when the loop is over. Whoever starts a bot and changes its file, or pauses it,
does not know how far it is. Nor does whoever stops it twice: once it has had its last word, how it
ended is to be told, and the signals that stop end nothing either.

Source: docs/configuration.md, Changes while the bot runs; docs/operations.md, Starting and
stopping.
"""

import asyncio
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Final

_TELLING: Final = (signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)
_STOPPING: Final = (signal.SIGINT, signal.SIGTERM)
_waiting: Final[set[int]] = set()
"""Of the whole process, as signals are."""

_done_with: Final[set[int]] = set()
"""Signals that stopped a run, or would have, which is over."""


def _remember(number: int, _: FrameType | None) -> None:
    _waiting.add(number)


@contextmanager
def remembered() -> Iterator[None]:
    """Until the block ends, remember signals of `_TELLING` that nobody hears. Does nothing beside
    the main thread, which alone is given signals."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in _STOPPING}
    before |= {number: signal.signal(number, _remember) for number in _TELLING}
    _done_with.clear()
    try:
        yield
    finally:
        for number, handler in before.items():
            if handler is not None:  # None: what cannot be set from here
                signal.signal(number, handler)
        _waiting.clear()


def stops_nothing_more(number: signal.Signals) -> None:
    """The run that this signal would have stopped has had its last word: until `remembered` ends,
    and then in a process that ends (`ends_now`), nobody hears it. Beside `remembered` it is as it
    was."""
    if signal.getsignal(signal.SIGHUP) is _remember:
        signal.signal(number, signal.SIG_IGN)
        _done_with.add(number)


def ends_now() -> None:
    """The process ends: what stops nothing more is not to take its exit code from it."""
    for number in _done_with:
        signal.signal(number, signal.SIG_IGN)


@contextmanager
def heard(number: signal.Signals, act: Callable[[], object]) -> Iterator[None]:
    """Until the block ends, act on a signal on the running loop: at once if it is remembered."""
    loop = asyncio.get_running_loop()
    before = signal.getsignal(number)
    loop.add_signal_handler(number, act)
    if number in _waiting:
        _waiting.discard(number)
        act()
    try:
        yield
    finally:
        loop.remove_signal_handler(number)
        # The loop leaves the default behind, which ends the process: not what was there before.
        if before is not None:  # None: what cannot be set from here
            signal.signal(number, before)
