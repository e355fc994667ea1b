"""A timeout for a strategy's answer, and a guard against a strategy that ends the program.

A timer looks once a second at what runs: decisions cost nothing, and a paused host, which is one
look, has no effect. Signals reach the main thread alone, and a call inside C ends only when it
returns.
"""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Final

from bot.core.fault_text import place_of
from bot.core.quoting.event_quoter import EventQuoter

LOOK_S = 1.0  # between two looks
LOOKS = 10  # a call that was seen ends when so many more looks have seen it
_CALL: Final = EventQuoter.ask_strategy.__code__


class Stalled(Exception):
    """A strategy did not come back, or raised SystemExit; the text says where it was."""


class _Ended(BaseException):
    """Raised inside a call of a strategy, where `except Exception` does not catch it."""


@contextmanager
def ended_when_stalled() -> Iterator[None]:
    """Raises Stalled when a strategy does not come back in LOOKS times LOOK_S seconds, or raises
    SystemExit. Takes SIGALRM meanwhile; outside the main thread no timer looks."""
    seen: FrameType | None = None
    again = 0

    def look(_number: int, frame: FrameType | None) -> None:
        nonlocal seen, again
        while frame is not None and frame.f_code is not _CALL:
            frame = frame.f_back
        again = again + 1 if frame is seen else 0
        seen = frame
        if frame is not None and again >= LOOKS:
            raise _Ended

    is_main = threading.current_thread() is threading.main_thread()
    if is_main:
        before = signal.signal(signal.SIGALRM, look)
        rest = signal.setitimer(signal.ITIMER_REAL, LOOK_S, LOOK_S)
    try:
        yield
    except (_Ended, SystemExit) as fault:  # nothing else in here raises SystemExit
        late = f"was not back after {LOOKS * LOOK_S:g} s"
        said = late if isinstance(fault, _Ended) else "would end the program"
        where = place_of(fault)
        raise Stalled(f"the strategy {said}" + (f", at {where}" if where else "")) from None
    finally:
        if is_main:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)
            signal.setitimer(signal.ITIMER_REAL, *rest)
