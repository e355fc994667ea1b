"""Our orders on one rung as its plans find them, and what was found of them: kept while they stay.

Most plans are made because something else is wanted, of orders that are what they were; and most
find that nothing is to be done. So what hangs on the orders alone is worked out once for all the
plans until they change, and what hangs on the wanted prices besides, once until those change, too.
"""

from collections.abc import Sequence
from typing import Final

from bot.core.orders.order import OwnOrder, State
from bot.core.plan.stand import Doubtful, Stand, bound_of, fit_together, join
from bot.core.plan.wishes import FreeShares
from bot.core.settings import PaceSettings
from bot.core.strategy import Quote
from venue.wire.money import BookSide, Price

_BID: Final = BookSide.BID
_ASK: Final = BookSide.ASK
_OPEN: Final = State.OPEN
_DONE: Final = State.DONE


class SideOrders:
    """Our orders on one side of a rung. orders: those that serve prices, as they were placed.
    may_lock: shares are held to which purchases may give way. stands: those of them by price, the
    best first; None where one has a write under way or is to go: that side is looked at whole."""

    __slots__ = (
        "_best_facing",
        "_doubtful",
        "_has_faced",
        "_quotes",
        "may_lock",
        "orders",
        "side",
        "stands",
    )

    def __init__(self, side: BookSide, orders: list[OwnOrder], may_lock: bool) -> None:
        self.side = side
        self.orders = orders
        self.may_lock = may_lock
        self.stands = _by_price(side, orders)
        self._quotes: Sequence[Quote] | None = None
        self._best_facing: Price | None = None
        self._has_faced = False  # whether `_doubtful` hangs on the best of the other side at all
        self._doubtful: Doubtful | None = None

    def doubtful(
        self, quotes: Sequence[Quote], facing: Sequence[Quote], pace: PaceSettings
    ) -> Doubtful | None:
        """The stands of which only what they are worth tells whether they may be left as they are
        for these quotes: with none, nothing is to be done. None where something is to be done, or
        may be, in any case. facing: the quotes of the other side; both sides the best first.

        Once found, it is kept for the same quotes: it hangs on nothing else but the best of the
        other side and our orders, and a change of those makes another `Ours`.
        """
        best_facing = facing[0].price if facing else None
        if (best_facing == self._best_facing or not self._has_faced) and quotes == self._quotes:
            return self._doubtful
        self._quotes, self._best_facing, self._doubtful = quotes, best_facing, None
        self._has_faced = False
        stands, side, doubtful = self.stands, self.side, Doubtful()
        if stands is None or len(stands) != len(quotes):
            return None
        is_bid, may_lock, tolerance = side is _BID, self.may_lock, pace.tolerance_ticks
        # Every quote has one stand near enough (`is_near`), the best the best, or something is to
        # be done.
        for quote, stand in zip(quotes, stands, strict=True):
            price, target, qty, wanted = stand.price, quote.price, stand.qty, quote.qty
            if price == target:
                fits = stand.fits.get(wanted)
                if fits is None:
                    fits = stand.fits[wanted] = fit_together(stand.orders, wanted, pace)
                if not fits:
                    return None
                if may_lock:
                    doubtful.append((quote, stand))
                continue
            if qty != wanted and pace.resizes(abs(qty - wanted), wanted):
                return None
            behind = target - price if is_bid else price - target
            if behind > tolerance:
                return None
            if behind < 0:
                self._has_faced = True
                bound = bound_of(side, quote, facing)
                if price > bound if is_bid else price < bound:
                    return None
            else:
                doubtful.append((quote, stand))
        self._doubtful = doubtful
        return doubtful


def _by_price(side: BookSide, orders: Sequence[OwnOrder]) -> list[Stand] | None:
    """The stands of a side, the best first; None where an order has a write under way or is to go:
    then it is to be looked at whole."""
    stands: dict[Price, Stand] = {}
    for own in orders:
        if own.state is not _OPEN or own.doomed:
            return None
        join(stands, own)
    return [stands[price] for price in sorted(stands, reverse=side is _BID)]


class Ours:
    """Our orders on one rung, and the shares held there that none of them may be selling.

    everyone: all live ones. going: those that may have to go now, whatever is wanted. yes, no: the
    free shares of each outcome.

    A rung keeps it until an order there, or what is held, may be another: whoever changes one of
    them tells `Quoting.orders_changed` or `fills_booked`, or `may_go` where an order is only to go.
    Of what is held nobody is told before the books are open: none is kept until then.
    """

    __slots__ = ("asks", "bids", "everyone", "going", "no", "yes")

    def __init__(self, orders: Sequence[OwnOrder], free: FreeShares) -> None:
        self.everyone = orders
        self.yes, self.no = free.yes, free.no
        self.going: list[OwnOrder] = []
        bids: list[OwnOrder] = []
        asks: list[OwnOrder] = []
        for own in orders:
            if own.doomed and own.is_free:
                self.going.append(own)
            if own.state is not _DONE and not own.is_take:
                (bids if own.side is _BID else asks).append(own)
        self.bids = SideOrders(_BID, bids, free.has_some)
        self.asks = SideOrders(_ASK, asks, free.has_some)

    def free(self) -> FreeShares:
        """The free shares, for a plan to take from."""
        return FreeShares(self.yes, self.no)
