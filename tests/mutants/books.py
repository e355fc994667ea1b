"""Planted bugs of groups E and H: wrong sums, and limits that do not count everything."""

from collections.abc import Sequence
from typing import Final

import msgspec

from bot.core.account import portfolio
from bot.core.account.portfolio import Portfolio
from bot.core.account.reconciler import FillBooker
from bot.core.orders.order import State
from bot.core.quoting.event_quoter import EventQuoter
from bot.core.quoting.portfolio_risk import PortfolioRisk
from bot.core.risk.exposure import Bounds, Exposure
from tests.mutants.bug import Bug, Patch
from venue.wire import model
from venue.wire.money import Cents, Outcome
from venue.wire.names import MarketId

_page_booked = FillBooker.on_page
_settle = Portfolio.settle


def _but_the_oldest(
    self: FillBooker, rows: Sequence[model.Fill], now_ns: int
) -> tuple[Sequence[model.Fill], bool]:
    return _page_booked(self, rows[:-1], now_ns)


def _no_payout(self: Portfolio, market_id: MarketId, winner: Outcome) -> Cents:
    before = self._cash_cents
    paid = _settle(self, market_id, winner)
    self._cash_cents = before
    return paid


ACCOUNTS: Final = (
    Bug(
        "fill-booked-twice",
        (54,),
        "A fill listed twice is booked twice.",
        ("B2", "B3", "B4", "B9", "B13", "B15", "findings"),
        (Patch(FillBooker, "is_booked", lambda self, fill_id: False),),
        likely=("row_repeated",),
    ),
    Bug(
        "fill-missed",
        (54,),
        "The last fill of a page is not booked.",
        ("B2", "B3", "B9", "B15", "findings"),
        (Patch(FillBooker, "on_page", _but_the_oldest),),
    ),
    Bug(
        "cash-forgets-fees",
        (58,),
        "Cash is booked without fees.",
        ("B3", "B9", "B15", "findings"),
        (Patch(portfolio, "_fee_of", lambda fill, market, tally: 0),),
    ),
    Bug(
        "payout-forgotten",
        (58,),
        "A payout is not booked.",
        ("B3", "B9", "B15", "findings"),
        (Patch(Portfolio, "settle", _no_payout),),
        likely=("market_resolve",),
        profile="venue",
    ),
    Bug(
        "winner-of-one-rung-alone",
        (58, 32),
        "A winner does not decide the other rungs of its ladder.",
        ("B4",),
        (Patch(EventQuoter, "decide_by", lambda self, winner: []),),
        likely=("market_resolve",),
        profile="venue",
        shape=(("rungs", (5,)),),
    ),
)

_exposure, _bounds = PortfolioRisk.exposure, PortfolioRisk.bounds


def _settled_only(self: PortfolioRisk, ladder: EventQuoter) -> Exposure:
    ladder.worst_cents = None
    return _exposure(self, ladder).bare()


def _not_counted(*states: State) -> Patch:
    def exposure(self: PortfolioRisk, ladder: EventQuoter) -> Exposure:
        found = _exposure(self, ladder)
        for rung in ladder.rungs:
            live = self._desk.live(rung.market_id)
            found.set_orders(rung.market_id, [own.reach for own in live if own.state not in states])
        return found

    return Patch(PortfolioRisk, "exposure", exposure)


def _one_event(self: PortfolioRisk, ladder: EventQuoter, *, wanted: bool = False) -> Bounds:
    of_all = _bounds(self, ladder, wanted=wanted)
    return msgspec.structs.replace(of_all, loss_cents=self._limits.event_loss_cents)


LIMITS: Final = (
    Bug(
        "limit-on-settled-only",
        (75,),
        "Limits count inventory, not live orders.",
        ("B3",),
        (Patch(PortfolioRisk, "exposure", _settled_only),),
    ),
    Bug(
        "limit-forgets-unknown",
        (75, 1),
        "Limits ignore a create without a response.",
        ("B3",),
        (_not_counted(State.NEW_UNKNOWN),),
        likely=("lost_after", "lost_before", "result_unknown_after"),
    ),
    Bug(
        "events-counted-apart",
        (78,),
        "The series has no limit of its own.",
        ("B3",),
        (Patch(PortfolioRisk, "bounds", _one_event),),
    ),
)
