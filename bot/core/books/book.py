"""What is believed of one market's book: whole ladders in, ours taken out, and how old it all is.

Canonical YES throughout: bids and asks as (price, size), best first. No clock inside: every time is
passed in. `ts_ns` is the venue's own time and is compared with the venue's own times only; `now_ns`
is ours and is compared with ours only.

Source: design, The bot, items 1 and 2; reliability, Terms (FEED_OK), rows 42-49, 79.
"""

import itertools
from collections import OrderedDict
from collections.abc import Mapping
from typing import Final, TypeVar

import msgspec

from bot.core.books.venuetime import VenueTime
from bot.core.messages import BookSeen, TradeSeen
from bot.core.strategy import Levels
from venue.wire import instant, model
from venue.wire.instant import NS_PER_SECOND
from venue.wire.money import Price, Qty, is_price

_TRADE_IDS_MAX: Final = 512
"""Prints remembered per market, to count each once; a page of repeats is far shorter. 80 kB a
market, hours after it began: however old, what a venue may show anew with its next connection."""

_PRINT_LEAD_NS: Final = NS_PER_SECOND
"""A print this much newer than the book says that a frame is missing (reliability, Terms)."""

_DATED_NS: Final = 10 * NS_PER_SECOND
"""So long after a book was dated by us, a read that shows another is no older than it."""

_SHOWN_NS: Final = 20 * NS_PER_SECOND
"""A book whose stamp tells nothing, or that it is older than the one held, and that is shown for so
long, while it is asked for anew every second and reads have had their turn to show another, is the
one that stands."""

_TOUCH_SIZE_CAP: Final = 100
"""Shares beyond this at the touch add nothing to the microprice: one large order is one opinion."""


_Seen = TypeVar("_Seen", BookSeen, TradeSeen)


class Book:
    """One market's book as last shown, and the prints since; changed by its own methods alone.

    bids, asks: as last shown, ours included; empty while nothing is known. ts_ns: the venue's time
    of it, and confirmed_ns: ours when it was last shown or confirmed; None while nothing is known.
    last_price: of the newest print, by the venue's time; it outlives `forget`.
    """

    __slots__ = (
        "_dated_ns",
        "_last_print_seen_ns",
        "_last_print_ts_ns",
        "_older",
        "_print_unexplained",
        "_told_ns",
        "_trade_ids",
        "asks",
        "bids",
        "confirmed_ns",
        "last_price",
        "ts_ns",
    )

    def __init__(self) -> None:
        self.bids: Levels = ()
        self.asks: Levels = ()
        self.ts_ns: int | None = None
        self._told_ns = 0
        self._dated_ns: int | None = None
        self.confirmed_ns: int | None = None
        # An older one that the channel shows, and since when it shows no other.
        self._older: tuple[Levels, Levels, int, int] | None = None
        self.last_price: Price | None = None
        self._last_print_ts_ns: int | None = None
        self._last_print_seen_ns: int | None = None
        self._print_unexplained = False
        self._trade_ids: OrderedDict[str, None] = OrderedDict()

    @property
    def known(self) -> bool:
        """Whether a book was shown since the start or since `forget`."""
        return self.ts_ns is not None

    def replace(
        self, bids: Levels, asks: Levels, ts_ns: int, now_ns: int, *, is_dated: bool = False
    ) -> bool:
        """Take in a whole book. False, and nothing changed, when it is older than the one held.

        An equal `ts_ns` is accepted: several changes may share one instant. is_dated: the stamp is
        of our making (`meant`), and says no more than that the book came last.
        """
        if self.ts_ns is not None and ts_ns < self.ts_ns:
            return False
        if not is_dated:
            self._told_ns, self._dated_ns = ts_ns, None
        elif self._dated_ns is None or (bids, asks) != (self.bids, self.asks):
            self._dated_ns = now_ns
        self.bids = bids
        self.asks = asks
        self.ts_ns = ts_ns
        self._older = None
        self.confirmed_ns = now_ns
        self._print_unexplained = self._print_leads()
        return True

    def replace_by_older(self, bids: Levels, asks: Levels, ts_ns: int, now_ns: int) -> bool:
        """Take in a whole book that the channel shows and that `replace` refused as older, once it
        shows that one alone for long: the venue's clock was set back a little between the two, and
        nothing has changed since. False, and nothing changed, before, and while a print leads it:
        then only a read can tell."""
        older = self._older
        if older is None or older[:3] != (bids, asks, ts_ns):
            older = self._older = (bids, asks, ts_ns, now_ns)
        if now_ns < older[3] + _SHOWN_NS or self.leads(ts_ns):
            return False
        self.ts_ns = None
        return self.replace(bids, asks, ts_ns, now_ns)

    def replace_by_read(self, seen: BookSeen, now_ns: int) -> bool:
        """Take in a book read by REST, as `replace` does.

        One that was dated by us some seconds ago may have been older than it seems: a read that
        still shows what was believed before, or newer, takes its place.
        """
        dated_ns = self._dated_ns
        is_outlived = dated_ns is not None and now_ns >= dated_ns + _DATED_NS
        if is_outlived and seen.ts_ns >= self._told_ns:
            self.ts_ns = seen.ts_ns
        return self.replace(seen.bids, seen.asks, seen.ts_ns, now_ns)

    def is_doubtful(self, now_ns: int) -> bool:
        """Whether its stamp is of our making and it was not shown for long yet: it may be of any
        time."""
        return self._dated_ns is not None and now_ns < self._dated_ns + _SHOWN_NS

    def confirm(self, now_ns: int) -> None:
        """Another source has shown the very book that is held; without one this does nothing."""
        if self.ts_ns is not None:
            self.confirmed_ns = now_ns
            self._older = None
            self._print_unexplained = False

    def forget(self) -> None:
        """The feed is gone: there is no book until one is shown again (row 42)."""
        self.bids = ()
        self.asks = ()
        self.ts_ns = None
        self._dated_ns = None
        self._older = None
        self.confirmed_ns = None
        self._print_unexplained = False
        self._last_print_ts_ns = None  # one that was stamped wrong must not bar every later book

    def meant(self, seen: _Seen, venue_time: VenueTime, now_ns: int) -> _Seen:
        """A book or a print with the stamp that it can have. Where what is held bears one that
        cannot be, anything is newer."""
        if isinstance(seen, BookSeen):
            is_new = (seen.bids, seen.asks) != (self.bids, self.asks)
            meant_ns = venue_time.in_turn(seen.ts_ns, self.ts_ns, now_ns, is_new=is_new)
            if self.ts_ns is not None and venue_time.is_beyond(self.ts_ns, now_ns):
                self.ts_ns, self._told_ns = meant_ns, 0
        else:
            meant_ns = venue_time.by_now(seen.ts_ns, now_ns)
        print_ns = self._last_print_ts_ns
        if print_ns is not None and venue_time.is_beyond(print_ns, now_ns):
            self._last_print_ts_ns = meant_ns
        return seen if meant_ns == seen.ts_ns else msgspec.structs.replace(seen, ts_ns=meant_ns)

    @property
    def ahead_ns(self) -> int:
        """How far the venue's clock is ahead of ours at least, by what came last; 0 or more."""
        ahead_ns = 0
        if self.ts_ns is not None and self.confirmed_ns is not None:
            ahead_ns = max(ahead_ns, self.ts_ns - self.confirmed_ns)
        if self._last_print_ts_ns is not None and self._last_print_seen_ns is not None:
            ahead_ns = max(ahead_ns, self._last_print_ts_ns - self._last_print_seen_ns)
        return ahead_ns

    def has_printed(self, trade_id: str) -> bool:
        """Whether a print was taken in before."""
        return trade_id in self._trade_ids

    def print_seen(self, trade: TradeSeen, now_ns: int) -> bool:
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
            self._print_unexplained = self._print_leads()
        return True

    @property
    def is_crossed(self) -> bool:
        """Whether its best bid is not below its best ask; the venue's never is so."""
        return bool(self.bids and self.asks) and self.bids[0][0] >= self.asks[0][0]

    @property
    def print_leads(self) -> bool:
        """Whether a print awaits the book that shows what it did."""
        return self._print_unexplained

    def leads(self, ts_ns: int) -> bool:
        """Whether the newest print is newer than a book of this instant by more than the lead
        allowed."""
        print_ns = self._last_print_ts_ns
        return print_ns is not None and print_ns > ts_ns + _PRINT_LEAD_NS

    def _print_leads(self) -> bool:
        return self.ts_ns is not None and self.leads(self.ts_ns)

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
        return not self._print_unexplained or now_ns <= seen_ns + _PRINT_LEAD_NS

    def others(
        self, own_bids: Mapping[Price, Qty], own_asks: Mapping[Price, Qty]
    ) -> tuple[Levels, Levels]:
        """Bids and asks with our own size taken out (row 47).

        own_bids, own_asks: shares of ours that may rest, per canonical price. What is left of a
        level is never below zero, and an emptied level is dropped. Own size the book does not show
        yet (reads and frames lag writes) takes nothing out of other levels.
        """
        return _without(self.bids, own_bids, -1), _without(self.asks, own_asks, 1)


def _without(levels: Levels, own: Mapping[Price, Qty], sign: int) -> Levels:
    """One side without ours. sign: the way its prices go from the touch, up for asks."""
    if not own or not levels:
        return levels
    left, touch = list(levels), levels[0][0]
    for price, mine in own.items():
        # A level is a cent or more behind the one before it: ours is no further down than in cents.
        place = sign * (price - touch)
        if place < 0 or not left:
            continue
        if place >= len(left):
            place = len(left) - 1
        at, size = left[place]
        while at != price and place > 0 and sign * (at - price) > 0:
            place -= 1
            at, size = left[place]
        if at != price:
            continue
        if size > mine:
            left[place] = (price, Qty(size - mine))
        else:
            del left[place]
    return tuple(left)


def shrunk(before: Levels, after: Levels) -> tuple[Price, ...]:
    """The prices of one side at which less rests than before, in the order of `before`.

    An own order there may have filled: its read is worth a request (design, The bot, item 9).
    """
    if before == after:
        return ()
    now = dict(after)
    return tuple([price for price, size in before if now.get(price, 0) < size])


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


def book_seen(shown: model.Orderbook) -> BookSeen | None:
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
    return BookSeen(shown.market_id, as_of_ns, bids, asks)
