"""Planted bugs of groups A to C: what a refusal asks to wait for, and is not waited for.

Source: reliability, rows 8, 12, 15, 32.
"""

from typing import Final

from bot.core import messages as m
from bot.core.desk import outbox
from bot.core.desk.spend import BACKOFF_FIRST_NS, Purse
from bot.core.sending.venuepark import VenuePark
from bot.lab.bugs.bug import Bug
from bot.lab.sim.run import Patch

_takes = VenuePark.takes
_wait = Purse._wait


def _at_once(self: Purse, retry_after_ns: int | None, now_ns: int) -> None:
    pass


def _never_longer(
    self: Purse, retry_after_ns: int | None, backoff_ns_max: int, now_ns: int
) -> None:
    self._backoff_ns = 0
    _wait(self, retry_after_ns, BACKOFF_FIRST_NS, now_ns)


def _by_any_write(self: VenuePark, write: m.Request, begun_ns: int) -> None:
    if isinstance(write, m.CancelResting):
        self._until_ns = None
    _takes(self, write, begun_ns)


PATIENCE: Final = (
    Bug(
        "unreached-venue-hammered",
        (8,),
        "A request that found no connection is tried again at once, and so is all else.",
        ("B5",),
        (Patch(Purse, "unserved", _at_once),),
        likely=("outage", "not_connected"),
    ),
    Bug(
        "backoff-never-grows",
        (12, 8),
        "However often a venue refuses to take requests in, it is asked four times a second.",
        ("B5",),
        (Patch(Purse, "_wait", _never_longer),),
        likely=("outage", "throttled"),
    ),
    Bug(
        "refused-key-hammered",
        (15,),
        "Requests go on under a key that the venue no longer lets in.",
        ("B5",),
        (Patch(outbox, "KEY_STOP_NS", 0),),
        likely=("key_revoked",),
    ),
    Bug(
        "cancel-opens-the-venue",
        (32, 31),
        "Where cancels alone are taken, a cancel that works is taken for the end of that.",
        ("B4",),
        (Patch(VenuePark, "takes", _by_any_write),),
        likely=("venue_cancel_only", "mad_strategy"),
    ),
)
