"""Planted bugs that need a world that changes or differs: another configuration in the midst of a
life, rungs and events that are listed late or end, fees of the maker, and starts that keep or
refuse what rests.

Source: reliability, rows 53, 58, 59, 62, 63, 71, 74, 77; docs/configuration.md.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final

import msgspec

from bot.core import messages as m
from bot.core import reconfigure
from bot.core.account.settling import Held, Settling
from bot.core.custody.custody import Custody
from bot.core.custody.heritage import Heritage
from bot.core.desk.desk import Desk
from bot.core.desk.spend import Pace
from bot.core.event.room import Ladder, Rung
from bot.core.limits.risk import RungTerms
from bot.core.orders.order import OwnOrder
from bot.core.sending import sending
from bot.core.series.quoting import Quoting
from bot.core.settings import (
    PaceSettings,
    StartSettings,
    Strangers,
    TraderSettings,
)
from bot.core.strategy import Strategy
from bot.core.trial import Trial
from bot.lab.bugs.bug import Bug
from bot.lab.sim.odds import SECOND
from bot.lab.sim.run import Patch
from venue.wire import model
from venue.wire.money import FeeRate
from venue.wire.names import MarketId

_terms_of = RungTerms.__dict__["of"].__func__
_reconfigure = Quoting.reconfigure
_custody_begins = Custody.__init__
_refresh = Ladder.refresh
_to_cancel = Heritage.to_cancel
_opened = Settling.opened


# --- fees -----------------------------------------------------------------------------------------


def _takers_alone(
    cls: type[RungTerms], market_id: MarketId, maker: FeeRate, taker: FeeRate
) -> RungTerms:
    terms: RungTerms = _terms_of(cls, market_id, taker, taker)
    return terms


# --- another configuration ------------------------------------------------------------------------


def _old_limits(
    self: Quoting, settings: TraderSettings, make_strategy: Callable[[], Strategy]
) -> None:
    limits = self.weighing._limits
    _reconfigure(self, settings, make_strategy)
    self.weighing._limits = limits


def _none_goes(quoting: Quoting, desk: Desk) -> int:
    return 0


def _anything_goes(old: TraderSettings, new: TraderSettings) -> str:
    return ""


def _as_it_was(wanted: TraderSettings, than: TraderSettings) -> TraderSettings:
    return wanted


def _sound(self: Trial, tripped: str, now_ns: int, *, quoting: bool) -> str:
    return ""


def _same_pace(self: Pace, settings: PaceSettings, now_ns: int) -> None:
    pass


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


def _any_stranger(
    self: Heritage,
    strangers: list[model.Order],
    may_be_lost: Callable[[model.Order], bool],
    *,
    starting: bool,
    **how: bool,
) -> list[model.Order]:
    for order in strangers:
        if starting and order.order_id not in self._known:
            own = OwnOrder.found_resting(order, 0)
            self._known[order.order_id] = m.KnownOrder(
                own.client_order_id,
                order.order_id,
                order.market_id,
                own.outcome,
                own.own_side,
                order.price,
                order.remaining_qty,
                order.filled_qty,
                0,
            )
    return _to_cancel(self, strangers, may_be_lost, starting=starting, **how)


def _at_once(self: Custody, now_ns: int) -> bool:
    return True


def _cancels_all_the_same(self: Custody, settings: TraderSettings, *rest: Any) -> None:
    start = StartSettings(strangers=Strangers.CANCEL)
    cancels = msgspec.structs.replace(settings, start=start)
    _custody_begins(self, cancels, *rest)


# --- what pays at a start -------------------------------------------------------------------------


def _all_still_to_pay(
    self: Settling, held: Held, ended_ns: int, balance_ended_ns: int
) -> list[MarketId]:
    changed = _opened(self, held, ended_ns, balance_ended_ns)
    self._early.clear()
    return changed


_RELOADS: Final = ("reload",)

CHANGES: Final = (
    Bug(
        "limit-by-the-takers-fee",
        (53,),
        "What an order may lose counts the fee of a taker, though a maker pays more here.",
        ("B3",),
        (Patch(RungTerms, "of", classmethod(_takers_alone)),),
        shape=(("variants", {"maker_fee": "0.0700"}), ("fee_rate", "0"), ("order_qty", 25)),
    ),
    Bug(
        "limits-of-the-first-file",
        (74,),
        "Limits that are changed while the bot runs are told as in force, and the old ones hold.",
        ("B3", "B2", "B12"),
        (Patch(Quoting, "reconfigure", _old_limits),),
        likely=_RELOADS,
    ),
    Bug(
        "lowered-limit-cancels-nothing",
        (74, 75),
        "A lowered limit holds for new orders, and what rests beyond it is left to rest.",
        ("B2",),
        (Patch(sending, "pull_beyond", _none_goes),),
        likely=_RELOADS,
        shape=(
            ("resize_pct", 50),
            ("strategy", "ladder_joint"),
            ("order_qty", 8),
            ("crowd_per_second", 10.0),
            ("variants", {"resting_orders": "5"}),
        ),
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
        "rollback-loosens",
        (74, 77),
        "What a strategy that fails is rolled back to has the looser limits of before.",
        ("B3", "B12", "B2"),
        (Patch(reconfigure, "no_looser", _as_it_was),),
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
        "pace-of-the-first-file",
        (74, 38),
        "Another pace is told as in force, and writes go on at the old one.",
        ("B5",),
        (Patch(Pace, "reconfigure", _same_pace),),
        likely=(*_RELOADS, "flicker", "mad_strategy"),
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
        "winner-guessed-at-the-start",
        (58,),
        "A rung that paid as the account was read has lost, for no cash came since.",
        ("B9",),
        (Patch(Settling, "opened", _all_still_to_pay),),
        likely=("event_ends", "crash"),
        shape=(
            ("slow_read", 0.3),
            ("trust_lag_ns", SECOND),
            ("slow_lag_ns", SECOND * 19 // 20),
            ("event_loss_cents", 20_000),
            ("rung_position_qty", 200),
            ("crowd_per_second", 30.0),
        ),
    ),
    Bug(
        "keeps-what-it-does-not-know",
        (59, 63),
        "A start that keeps its own orders keeps every other order in its rungs, too.",
        ("B6",),
        (Patch(Heritage, "to_cancel", _any_stranger),),
        likely=("twin_orders", "crash", "lost_journal"),
        shape=(("variants", {"strangers": "adopt"}),),
    ),
    Bug(
        "opens-while-kept-orders-fill",
        (59, 58),
        "Books are opened at once beside orders that are kept, and may be filling.",
        ("B9", "findings", "B3", "B2"),
        (Patch(Custody, "_books_are_quiet", _at_once),),
        likely=("crash",),
        shape=(
            ("variants", {"strangers": "adopt"}),
            ("slow_read", 0.6),
            ("trust_lag_ns", SECOND),
            ("slow_lag_ns", SECOND * 19 // 20),
            ("crowd_per_second", 30.0),
        ),
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
