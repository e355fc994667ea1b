"""SIGHUP while nobody hears it yet, or any more: it is remembered, and ends no process.

A run loads its libraries, opens a venue and looks at the account before its loop is there, and it
writes its records when the loop is over. Whoever starts a bot and changes its file does not know
how far it is.

Source: docs/configuration.md, Changes while the bot runs.
"""

import asyncio
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Final

_waiting: Final[set[int]] = set()
"""Of the whole process, as signals are."""


def _remember(number: int, _: FrameType | None) -> None:
    _waiting.add(number)


@contextmanager
def remembered() -> Iterator[None]:
    """Until the block ends, remember a SIGHUP that nobody hears. Does nothing beside the main
    thread, which alone is given signals."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGHUP, _remember)
    try:
        yield
    finally:
        signal.signal(signal.SIGHUP, before)
        _waiting.clear()


@contextmanager
def heard(act: Callable[[], object]) -> Iterator[None]:
    """Until the block ends, act on SIGHUP on the running loop: at once if one is remembered."""
    loop = asyncio.get_running_loop()
    before = signal.getsignal(signal.SIGHUP)
    loop.add_signal_handler(signal.SIGHUP, act)
    if signal.SIGHUP in _waiting:
        _waiting.clear()
        act()
    try:
        yield
    finally:
        loop.remove_signal_handler(signal.SIGHUP)
        # The loop leaves the default behind, which ends the process: not what was there before.
        if before is not None:  # None: what cannot be set from here
            signal.signal(signal.SIGHUP, before)
