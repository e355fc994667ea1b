"""Ends a life whose strategy does not come back, or ends the program.

A timer of the whole life looks once a second at what runs. A call of a strategy that is seen again
by every one of ten looks more is ended by an exception that no `except Exception` of it catches. So
a decision costs nothing, and a host that stood still meanwhile, which is one look, ends no life.

What this cannot do: signals reach the main thread alone, so in another (a worker of Dask) no life
is ended; and a call inside C code ends when that code returns to Python.
"""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Final

from bot.core.fault_text import place_of
from bot.core.quoting.event_quoter import EventQuoter

LOOK_S = 1.0
"""Between two looks."""

LOOKS = 10
"""A call that was seen is ended when so many more looks have seen it."""

_CALL: Final = EventQuoter.quotes.__code__
"""What asks a strategy; what it runs is the call."""


class Stalled(Exception):
    """A strategy did not come back, or raised SystemExit; the text says where it was."""


class _Ended(BaseException):
    """Raised inside a call of a strategy."""


class _Looks:
    """What the timer has seen last, and how often in a row."""

    def __init__(self) -> None:
        self._seen: FrameType | None = None
        self._again = 0

    def look(self, _number: int, frame: FrameType | None) -> None:
        while frame is not None and frame.f_code is not _CALL:
            frame = frame.f_back
        self._again = self._again + 1 if frame is self._seen else 0
        self._seen = frame
        if frame is not None and self._again >= LOOKS:
            raise _Ended


@contextmanager
def ended_when_stalled() -> Iterator[None]:
    """End what is lived inside when a strategy does not come back in LOOKS times LOOK_S seconds.

    Raises Stalled then, and when it raises SystemExit. Takes SIGALRM and its timer meanwhile, and
    gives them back; outside the main thread no timer looks.
    """
    try:
        with _looked_after():
            yield
    except _Ended as fault:
        said, where = f"was not back after {LOOKS * LOOK_S:g} s", place_of(fault)
    except SystemExit as fault:  # nothing else in here raises that
        said, where = "would end the program", place_of(fault)
    else:
        return
    raise Stalled(f"the strategy {said}, at {where}" if where else f"the strategy {said}")


@contextmanager
def _looked_after() -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGALRM, _Looks().look)
    rest = signal.setitimer(signal.ITIMER_REAL, LOOK_S, LOOK_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        signal.setitimer(signal.ITIMER_REAL, *rest)
