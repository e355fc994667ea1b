"""Planted bugs of groups A to C: what a refusal asks to wait for, and is not waited for."""

from typing import Final

from bot.core.desk import outbox
from bot.core.desk.spend import Purse
from bot.lab.bugs.bug import Bug
from bot.lab.sim.run import Patch


def _at_once(self: Purse, retry_after_ns: int | None, now_ns: int) -> None:
    pass


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
        "refused-key-hammered",
        (15,),
        "Requests go on under a key that the venue no longer lets in.",
        ("B5",),
        (Patch(outbox, "KEY_STOP_NS", 0),),
        likely=("key_revoked",),
    ),
)
