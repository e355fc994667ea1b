"""Planted bugs that need a world that changes or differs: another configuration in the midst of a
life, rungs and events that are listed late or end, fees of the maker, and starts that keep or
refuse what rests.
"""

from collections.abc import Callable
from typing import Final

from bot.core import reconfigure
from bot.core.series.quoting import Quoting
from bot.core.settings import (
    TraderSettings,
)
from bot.core.strategy import Strategy
from bot.core.trial import Trial
from bot.lab.bugs.bug import Bug
from bot.lab.sim.run import Patch

_reconfigure = Quoting.reconfigure


# --- fees -----------------------------------------------------------------------------------------


# --- another configuration ------------------------------------------------------------------------


def _old_limits(
    self: Quoting, settings: TraderSettings, make_strategy: Callable[[], Strategy]
) -> None:
    limits = self.weighing._limits
    _reconfigure(self, settings, make_strategy)
    self.weighing._limits = limits


def _anything_goes(old: TraderSettings, new: TraderSettings) -> str:
    return ""


def _sound(self: Trial, tripped: str, now_ns: int, *, quoting: bool) -> str:
    return ""


# --- a rung that is listed late -------------------------------------------------------------------


# --- what rests at a start ------------------------------------------------------------------------


# --- what pays at a start -------------------------------------------------------------------------


_RELOADS: Final = ("reload",)

CHANGES: Final = (
    Bug(
        "limits-of-the-first-file",
        (74,),
        "Limits that are changed while the bot runs are told as in force, and the old ones hold.",
        ("B3", "B2", "B12"),
        (Patch(Quoting, "reconfigure", _old_limits),),
        likely=_RELOADS,
    ),
    Bug(
        "wrong-file-half-applied",
        (74,),
        "A file that changes what only a restart can is applied in all else that it changes.",
        ("B3",),
        (Patch(reconfigure, "barred", _anything_goes),),
        likely=_RELOADS,
    ),
    Bug(
        "failing-strategy-stays",
        (74, 77),
        "A strategy that fails in its first minute is left in force, and nothing is quoted.",
        ("findings", "B2"),
        (Patch(Trial, "judge", _sound),),
        likely=_RELOADS,
    ),
)
