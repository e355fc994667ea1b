"""Signals that only tell, while nobody hears them yet or any more: remembered, they end nothing.

A run loads its libraries, opens a venue and looks at the account before its loop is there, and it
writes its records when the loop is over. Whoever starts a bot and changes its file, or pauses it,
does not know how far it is.

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
_waiting: Final[set[int]] = set()
"""Of the whole process, as signals are."""


def _remember(number: int, _: FrameType | None) -> None:
    _waiting.add(number)


@contextmanager
def remembered() -> Iterator[None]:
    """Until the block ends, remember signals of `_TELLING` that nobody hears. Does nothing beside
    the main thread, which alone is given signals."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, _remember) for number in _TELLING}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        _waiting.clear()


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
