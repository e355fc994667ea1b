"""What is believed of one market's book: whole ladders in, ours taken out, and how old it all is.

Canonical YES throughout: bids and asks as (price, size), best first. No clock inside: every time is
passed in. `ts_ns` is the venue's own time and is compared with the venue's own times only; `now_ns`
is ours and is compared with ours only.
"""

import itertools
from collections import OrderedDict
from collections.abc import Mapping
from typing import Final

from bot.core.messages import BookUpdate, Trade
from bot.strategy.api import Levels
from venue.wire import instant, model
from venue.wire.instant import NS_PER_SECOND
from venue.wire.money import Price, Qty, is_price

_TRADE_IDS_MAX: Final = 512
"""Prints remembered per market, to count each once; a page of repeats is far shorter. 80 kB a
market, hours after it began: however old, what a venue may show anew with its next connection."""

_PRINT_LEAD_NS: Final = NS_PER_SECOND
"""A print this much newer than the book says that a frame is missing."""

_TOUCH_SIZE_CAP: Final = 100
"""Shares beyond this at the touch add nothing to the microprice: one large order is one opinion."""


class Book:
    """One market's book as last shown, and the prints since; changed by its own methods alone."""

    def __init__(self) -> None:
        # As last shown, ours included; empty while nothing is known.
        self.bids: Levels = ()
        self.asks: Levels = ()
        # The venue's time of it, and ours when it was last shown or confirmed; None while unknown.
        self.ts_ns: int | None = None
        self.confirmed_ns: int | None = None
        self.last_price: Price | None = None  # of the newest print; it outlives `forget`
        self.print_leads = False  # a print awaits the book that shows what it did
        self._last_print_ts_ns: int | None = None
        self._last_print_seen_ns: int | None = None
        self._trade_ids: OrderedDict[str, None] = OrderedDict()

    @property
    def known(self) -> bool:
        """Whether a book was shown since the start or since `forget`."""
        return self.ts_ns is not None

    def replace(self, bids: Levels, asks: Levels, ts_ns: int, now_ns: int) -> bool:
        """Take in a whole book. False, and nothing changed, when it is older than the one held.

        An equal `ts_ns` is accepted: several changes may share one instant.
        """
        if self.ts_ns is not None and ts_ns < self.ts_ns:
            return False
        self.bids = bids
        self.asks = asks
        self.ts_ns = ts_ns
        self.confirmed_ns = now_ns
        self.print_leads = self.leads(ts_ns)
        return True

    def confirm(self, now_ns: int) -> None:
        """Another source has shown the very book that is held; without one this does nothing."""
        if self.ts_ns is not None:
            self.confirmed_ns = now_ns
            self.print_leads = False

    def forget(self) -> None:
        """The feed is gone: there is no book until one is shown again."""
        self.bids = ()
        self.asks = ()
        self.ts_ns = None
        self.confirmed_ns = None
        self.print_leads = False
        self._last_print_ts_ns = None  # one that was stamped wrong must not bar every later book

    @property
    def newest_ns(self) -> int:
        """The venue's time of the newest book or print held; 0 without one."""
        return max(self.ts_ns or 0, self._last_print_ts_ns or 0)

    def has_printed(self, trade_id: str) -> bool:
        """Whether a print was taken in before."""
        return trade_id in self._trade_ids

    def print_seen(self, trade: Trade, now_ns: int) -> bool:
        """Take in a print. False when it was seen before; prints carry no order but their time.

        now_ns: when it arrived. A print that leads the book by more than the allowed second puts
        the book in doubt until a newer book or a confirmation explains it.
        """
        if trade.trade_id in self._trade_ids:
            return False
        self._trade_ids[trade.trade_id] = None
        if len(self._trade_ids) > _TRADE_IDS_MAX:
            self._trade_ids.popitem(last=False)
        if self._last_print_ts_ns is None or trade.ts_ns >= self._last_print_ts_ns:
            self._last_print_ts_ns = trade.ts_ns
            self.last_price = trade.price
            self._last_print_seen_ns = now_ns
            self.print_leads = self.ts_ns is not None and self.leads(self.ts_ns)
        return True

    @property
    def is_crossed(self) -> bool:
        """Whether its best bid is not below its best ask; the venue's never is so."""
        return bool(self.bids and self.asks) and self.bids[0][0] >= self.asks[0][0]

    def leads(self, ts_ns: int) -> bool:
        """Whether the newest print is newer than a book of this instant by more than the lead
        allowed."""
        print_ns = self._last_print_ts_ns
        return print_ns is not None and print_ns > ts_ns + _PRINT_LEAD_NS

    def believable(self, now_ns: int, max_age_ns: int) -> bool:
        """Whether it may be quoted on.

        It is known, shown or confirmed no longer than `max_age_ns` ago, not crossed or locked
        (the venue's never is), and no print seen more than a second ago is newer than it by more
        than a second.
        """
        if self.confirmed_ns is None or now_ns - self.confirmed_ns > max_age_ns:
            return False
        if self.is_crossed:
            return False
        # On a quiet market the frame that explains a print comes a moment after it.
        seen_ns = self._last_print_seen_ns or 0
        return not self.print_leads or now_ns <= seen_ns + _PRINT_LEAD_NS

    def others(
        self, own_bids: Mapping[Price, Qty], own_asks: Mapping[Price, Qty]
    ) -> tuple[Levels, Levels]:
        """Bids and asks with our own size taken out.

        own_bids, own_asks: shares of ours that may rest, per canonical price. What is left of a
        level is never below zero, and an emptied level is dropped. Own size the book does not show
        yet (reads and frames lag writes) takes nothing out of other levels.
        """
        return _without(self.bids, own_bids), _without(self.asks, own_asks)


def _without(levels: Levels, own: Mapping[Price, Qty]) -> Levels:
    if not own:
        return levels
    left = dict(levels)
    for price, mine in own.items():
        size = left.get(price, 0)
        if size > mine:
            left[price] = Qty(size - mine)
        else:
            left.pop(price, None)
    return tuple(left.items())


def size_at(levels: Levels, price: Price) -> int:
    """Shares at a price of one side of a book."""
    for level, size in levels:
        if level == price:
            return size
    return 0


def microprice(bids: Levels, asks: Levels) -> float | None:
    """The mid of the touch weighted by the opposite sizes, in cents; None unless both sides are.

    Each size counts up to a hundred shares.
    """
    return weighted(*bids[0], *asks[0]) if bids and asks else None


def weighted(bid: int, bid_size: int, ask: int, ask_size: int) -> float:
    """Between a bid and an ask in cents, the nearer to each the more rests on the other side; sizes
    above zero, each counts up to a hundred shares."""
    bid_weight = bid_size if bid_size < _TOUCH_SIZE_CAP else _TOUCH_SIZE_CAP
    ask_weight = ask_size if ask_size < _TOUCH_SIZE_CAP else _TOUCH_SIZE_CAP
    return (bid * ask_weight + ask * bid_weight) / (bid_weight + ask_weight)


def book_seen(shown: model.Orderbook) -> BookUpdate | None:
    """A book read by REST as a frame of its own instant; None when it cannot be one."""
    try:
        as_of_ns = instant.to_ns(shown.as_of)
    except ValueError:
        return None
    bids = tuple((level.price, level.size) for level in shown.bids if level.size > 0)
    asks = tuple((level.price, level.size) for level in shown.asks if level.size > 0)
    prices = [price for price, _ in (*reversed(asks), *bids)]
    falling = all(high > low for high, low in itertools.pairwise(prices))
    if not falling or not all(is_price(price) for price in prices):
        return None
    return BookUpdate(shown.market_id, as_of_ns, bids, asks)
