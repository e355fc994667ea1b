"""Fills that look as if their row was corrupted on its way: booked once they are shown so again.

A row whose id is new may be one that is booked, with another id: the one of its instant is not on
the page then. A row whose prices, size or order do not go together may be none at all. What was
corrupted is shown rightly by the next walk; what a venue means is shown the same again. So a doubt
costs a fill one walk, and nothing wrong is booked for good.

Source: silence S4; interface, Resources, Fill; reliability, row 54.
"""

from collections import OrderedDict
from collections.abc import Sequence
from typing import Final

from bot.core.account.fillids import UnbookableFill, created_ns_of
from bot.core.account.portfolio import Portfolio
from bot.core.desk.desk import Desk
from bot.core.desk.shelf import keep_newest
from venue.wire import model
from venue.wire.money import PAYOUT_CENTS, Outcome, Qty, canonical

_KEPT_MAX: Final = 1_000
"""Ids of doubted fills that are remembered; of more, the oldest are doubted anew."""


class DoubtedFills:
    """The fills that were doubted so far, by their ids."""

    def __init__(self, book: Portfolio, desk: Desk) -> None:
        self._book = book
        self._desk = desk
        self._doubted: OrderedDict[str, None] = OrderedDict()
        self._prices_agree = True

    def believed(
        self, fills: Sequence[model.Fill], page: Sequence[model.Fill]
    ) -> Sequence[model.Fill]:
        """Those of the unbooked fills of a page that may be booked by it."""
        if not fills:
            return fills
        shown = {each.fill_id for each in page}
        return [fill for fill in fills if not self._is_doubted(fill, shown)]

    def _is_doubted(self, fill: model.Fill, shown: set[str]) -> bool:
        is_priced = self._is_priced(fill)
        if is_priced and self._fits_its_order(fill) and not self._hides_another(fill, shown):
            return False
        is_new = fill.fill_id not in self._doubted
        keep_newest(self._doubted, fill.fill_id, None, _KEPT_MAX)
        # A venue whose two prices mean something else than we read would be doubted for good.
        self._prices_agree &= is_new or is_priced
        return is_new

    def _is_priced(self, fill: model.Fill) -> bool:
        """Whether its two prices are one and the same price, as far as it has any."""
        is_none = not 0 <= fill.outcome_price <= PAYOUT_CENTS
        if is_none or fill.outcome is model.ShownOutcome.UNKNOWN or not self._prices_agree:
            return True
        return canonical(Outcome(fill.outcome.value), fill.outcome_price) == fill.trade_price

    def _fits_its_order(self, fill: model.Fill) -> bool:
        """Whether an order of ours that works may have had it."""
        own = self._desk.find(fill.order_id)
        if own is None:
            return True
        there = (fill.outcome.value, fill.side.value, fill.market_id or own.market_id)
        filled = Qty(self._book.filled_qty(fill.order_id) + fill.qty)
        return there == (own.outcome.value, own.own_side.value, own.market_id) and (
            own.inherited or filled <= own.known.size
        )

    def _hides_another(self, fill: model.Fill, shown: set[str]) -> bool:
        """Whether a booked fill of its very instant is not on its page."""
        try:
            beside = self._book.ids.of_instant(created_ns_of(fill))
        except UnbookableFill:
            return False
        return any(each not in shown for each in beside)
