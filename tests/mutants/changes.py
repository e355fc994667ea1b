"""Planted bugs of groups G and H: what the operator sets, and less quoted than may be."""

from collections.abc import Callable
from typing import Final

from msgspec import structs

from bot.core.execution.pre_trade_checks import PreTradeChecks
from bot.core.orders.outbox import NEVER_NS
from bot.core.quoting.engine import QuotingEngine
from bot.core.quoting.event_quoter import EventQuoter
from bot.core.quoting.guards import Calendar
from bot.core.quoting.portfolio_risk import PortfolioRisk
from bot.core.risk.exposure import Bounds
from bot.core.settings import TraderSettings
from bot.strategy.api import Resting, Strategy
from tests.mutants.bug import Bug, Patch
from venue.wire.money import Qty

_reconfigure = QuotingEngine.use_settings
_trim = PortfolioRisk.trim


def _old_limits(
    self: QuotingEngine, settings: TraderSettings, make_strategy: Callable[[], Strategy]
) -> None:
    limits = self.weighing._limits
    _reconfigure(self, settings, make_strategy)
    self.weighing._limits = limits


def _half(self: PortfolioRisk, ladder: EventQuoter, quotes: Resting, bounds: Bounds) -> Resting:
    return {
        market: tuple(structs.replace(each, qty=Qty(-(-each.qty // 2))) for each in admitted)
        for market, admitted in _trim(self, ladder, quotes, bounds).items()
    }


def _no_date(self: Calendar, now_ns: int) -> None:
    self.until_ns, self.restrictions = NEVER_NS, ()


CHANGES: Final = (
    Bug(
        "dates-are-ignored",
        (74,),
        "Around a date of the calendar everything is quoted.",
        ("B4", "B13"),
        (Patch(Calendar, "restrict", _no_date),),
        likely=("calendar",),
    ),
    Bug(
        "limits-of-the-first-file",
        (74,),
        "Changed limits are reported as in force while the old ones hold.",
        ("B3", "B2", "B12"),
        (Patch(QuotingEngine, "use_settings", _old_limits),),
        likely=("reload",),
    ),
    Bug(
        "any-price-leaves",
        (71,),
        "An order leaves at a price far through the others' best.",
        ("B3",),
        (Patch(PreTradeChecks, "_through", lambda self, rung, yes_price, *, is_bid: ""),),
        likely=("greed",),
        shape=(("variants", {"ticks_through": "0"}),),
    ),
    Bug(
        "limits-count-twice",
        (75,),
        "Exposure is counted twice, so quotes are halved.",
        ("B2",),
        (Patch(PortfolioRisk, "trim", _half),),
    ),
)
