"""Planted bugs that need a world that changes or differs: another configuration in the midst of a
life, rungs and events that are listed late or end, fees of the maker, and starts that keep or
refuse what rests.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final

import msgspec

from bot.core import reconfigure
from bot.core.custody.custody import Custody
from bot.core.event.room import Ladder, Rung
from bot.core.series.quoting import Quoting
from bot.core.settings import (
    StartSettings,
    Strangers,
    TraderSettings,
)
from bot.core.strategy import Strategy
from bot.core.trial import Trial
from bot.lab.bugs.bug import Bug
from bot.lab.sim.run import Patch
from venue.wire import model

_reconfigure = Quoting.reconfigure
_custody_begins = Custody.__init__
_refresh = Ladder.refresh


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


def _rungs_of_the_first_read(
    self: Ladder,
    event: model.Event,
    believed_from_ns: int,
    make_strategy: Callable[[], Strategy],
) -> Sequence[Rung]:
    if self.rungs:
        known = {rung.market_id for rung in self.rungs}
        kept = tuple(each for each in event.markets if each.market_id in known)
        event = msgspec.structs.replace(event, markets=kept)
    return _refresh(self, event, believed_from_ns, make_strategy)


# --- what rests at a start ------------------------------------------------------------------------


def _cancels_all_the_same(self: Custody, settings: TraderSettings, *rest: Any) -> None:
    start = StartSettings(strangers=Strangers.CANCEL)
    cancels = msgspec.structs.replace(settings, start=start)
    _custody_begins(self, cancels, *rest)


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
    Bug(
        "late-rung-ignored",
        (37,),
        "Of an event that is known already no further rung is taken in.",
        ("B2",),
        (Patch(Ladder, "refresh", _rungs_of_the_first_read),),
        likely=("rung_listed",),
    ),
    Bug(
        "strangers-cancelled-all-the-same",
        (62,),
        "A start that is to leave alone what no journal knows cancels it.",
        ("B6",),
        (Patch(Custody, "__init__", _cancels_all_the_same),),
        likely=("lost_journal",),
        shape=(("variants", {"strangers": "refuse"}),),
    ),
)
