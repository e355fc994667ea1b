"""Pages of the list of fills into the books: what is booked when, and how far back a walk goes.

Before the books are open every page is booked as it comes: the sums do not ask in which order, and
of a long history no rows stand in memory, only ids and what its orders come to. Once they are open
the fills that a walk shows are booked at its end, in the order in which they happened; only they
are kept till then. Of a fill of before that the list shows late the opening has the cash, and where
it took over shares that no fill explained, those as well: they must not count twice.

Source: design, laws 4 and 9; reliability, rows 37, 52-58; silences S4, S16.
"""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

import msgspec

from bot.core.account.doubted import DoubtedFills
from bot.core.account.fillids import UnbookableFill, created_ns_of
from bot.core.account.gonefill import GoneFill
from bot.core.account.latefills import LateFills, Slot
from bot.core.account.portfolio import Portfolio
from bot.core.account.settling import Settling
from bot.core.account.sharetrail import ShareTrail
from bot.core.account.trail import CashTrail
from bot.core.account.unbooked import UnbookedFills
from bot.core.desk.desk import Desk
from bot.core.desk.outbox import Outbox
from bot.core.desk.shelf import NEVER_NS
from bot.core.orders.order import OwnOrder, State
from venue.wire import model
from venue.wire.instant import NS_PER_SECOND
from venue.wire.money import Cents, Outcome, Side
from venue.wire.names import MarketId, Ticker, fold_ticker

_HISTORY_DOUBTED: Final = ("position_differs", "fills_missing")
"""Findings that a fill was passed over: pages of one walk may come from copies that lag unequally,
and a fill that falls between them is not on the pages that are read otherwise (rows 37, 54)."""

_AGAIN_NS: Final = 10 * NS_PER_SECOND
"""So long after a difference of cash was found every fill is read again; then after twice that."""

_SHOWN_LATE_NS: Final = 60 * NS_PER_SECOND
"""So long after the opening a fill may turn out to be of before; far longer than reads lag."""

_LATER_NS: Final = 10 * NS_PER_SECOND
"""What is stamped so long after the opening has happened after it, however much reads lag and the
clocks differ: another series of the account trades all the time."""

_NEWEST_KEPT: Final = 20
"""Fills of a first walk that reads of then may lack, where nothing tells when they happened."""

_DEEP_EVERY_NS: Final = 600 * NS_PER_SECOND
"""A walk goes on so often to where every fill is booked, though nothing differs: one that is listed
late, behind a page of newer ones, may differ in nothing that is read."""

_DEEP_FOR_NS: Final = 20 * NS_PER_SECOND
"""So long that is tried: where no older page can be read the newest fills are to be booked."""

TakenOver = dict[Slot, int]
"""Shares that the opening took over, for no fill explained them; below zero where some lacked."""


class OfOpening(NamedTuple):
    """Shares and cash that the books have turned out to be opened with; below zero: without."""

    market_id: MarketId
    outcome: str
    shares: int
    cents: Cents


class Booking:
    """The list of fills, and what of it is in the books.

    is_open: whether the books are. fresh_fills: those of the last walk that were not booked before,
    oldest first, each with the fee charged; none while the books are not open. booked_ns: when a
    fill was booked last. moved: the shares that the newest fills moved. history_wanted: whether the
    next walk is to look for fills that were passed over. late: those of which reads are to tell
    whether the opening held them. of_opening: what was booked since and is no gain and no loss, for
    who counts these. traded_ns: when before the opening a fill was first shown that a
    whole walk before it had not, 0 without one: somebody trades while the account is read.
    whole_ns: when the newest walk began that went to where every fill is booked, or, where older
    pages cannot be read, any; below zero without one.
    """

    def __init__(
        self,
        book: Portfolio,
        trail: CashTrail,
        desk: Desk,
        out: Outbox,
        by_ticker: Mapping[Ticker, MarketId],
        settling: Settling,
    ) -> None:
        """by_ticker: the markets listed so far, by folded ticker, as they become known. settling:
        is told of shares that may be of before the opening."""
        self._book = book
        self._trail = trail
        self._desk = desk
        self._out = out
        self._by_ticker = by_ticker
        self._settling = settling
        self.moved = ShareTrail()
        self.is_open = False
        self._changed: dict[MarketId, None] = {}
        self._is_shown_anew = False
        self.unbooked = UnbookedFills(out)
        self._doubted = DoubtedFills(book, desk)
        self._gone = GoneFill(book.ids, out)
        self.fresh_fills: list[model.Fill] = []
        self.booked_ns = 0
        self.history_wanted = False
        self._differs_ns = self._again_ns = 0
        self.late = LateFills()
        self.of_opening: list[OfOpening] = []
        self.traded_ns = 0
        self._has_walked = False
        self._deep_due_ns, self._deep_until_ns = 0, NEVER_NS
        self._is_short = False  # whether the walk ended at a fill that is booked, not at the floor
        self._reads_deep = True  # whether older pages could be read when that was last tried
        self.whole_ns = -1
        self._first_ns = -1  # the venue's time of the newest fill of the first walk
        self._newest: dict[
            str, tuple[Slot, int, int, Cents] | None
        ] = {}  # of its fills, those on top
        self._taken_over: TakenOver = {}
        self._opened_ns = self._before_ns = 0

    def opened(self, taken_over: TakenOver, opened_ns: int, before_ns: int) -> None:
        """The books are open, with all that was booked till now, and with cash and shares of all
        that happened before `opened_ns`, which is `before_ns` by the venue's clock, 0 where that is
        not known."""
        self.is_open = True
        self.history_wanted = self.unbooked.opened()
        self._taken_over, self._opened_ns, self._before_ns = taken_over, opened_ns, before_ns
        # Nobody has waited until what trades last is in every read where no clock dates it.
        for of in self._newest.values() if not before_ns else ():
            if of is not None:
                self._doubt(*of, cash_held=True, shares_held=True)
        self._newest = {}

    def clock_told(self, venue_ahead_ns: int | None) -> None:
        """So far the venue's clock is ahead of ours; None while that is not known, as it may not
        have been at the opening: from here on a fill of before can be told by its time."""
        if venue_ahead_ns is not None and self.is_open and not self._before_ns:
            self._before_ns = self._opened_ns + venue_ahead_ns

    def traded_by(self, now_ns: int, venue_ahead_ns: int | None) -> int:
        """When something traded, by our clock, as far as is known: the first fill that a whole walk
        had not shown, or the newest of the first walk by the venue's time; 0 where that is not
        known, or is still to come, and so is none. What trades later is not waited for, for there
        may be no end of it. venue_ahead_ns: as of `clock_told`."""
        dated_ns = 0 if venue_ahead_ns is None else self._first_ns - venue_ahead_ns
        return max(self.traded_ns, dated_ns if dated_ns <= now_ns else 0)

    def cash_compared(self, difference_cents: Cents, begun_ns: int, *, is_new: bool) -> None:
        """A balance begun then was compared. A difference may be a fill passed over, or one that is
        listed late, on no page that is read otherwise: every fill is read once more when it is new,
        and while it lasts after ever longer times."""
        if is_new:
            self._differs_ns = begun_ns
            self._again_ns = begun_ns + _AGAIN_NS
        elif difference_cents and begun_ns >= self._again_ns:
            self._again_ns = 2 * begun_ns - self._differs_ns
        else:
            return
        self.history_wanted |= difference_cents != 0

    # --- a page -----------------------------------------------------------------------------------

    def page(self, rows: Sequence[model.Fill], now_ns: int) -> tuple[Sequence[model.Fill], bool]:
        """A page of a walk, newest first: what of it `walked` needs, and whether the walk may end
        here, for older pages hold nothing that would be booked."""
        may_end = self._may_end(rows, now_ns)
        self._gone.page(rows)
        if not self.is_open:
            if not self._has_walked:
                left = _NEWEST_KEPT - len(self._newest)
                self._newest.update((row.fill_id, None) for row in rows[: max(0, left)])
            self._book_all(rows, now_ns)
            return (), may_end
        # Nearly all are booked, for each walk shows the newest page again.
        unknown = self._book.ids.unknown(rows, self.unbooked.ids)
        believed = self._doubted.believed(unknown, rows)
        # What is doubted is shown once more, be it deep in the list.
        self._is_shown_anew |= len(believed) < len(unknown)
        return believed, may_end

    def _may_end(self, rows: Sequence[model.Fill], now_ns: int) -> bool:
        if not rows:
            return False
        doubted = any(name in self._out.findings for name in _HISTORY_DOUBTED)
        doubted = doubted or self._goes_deep(now_ns)
        try:
            if self.is_open and not doubted and not self.history_wanted:
                self._is_short = self._book.ids.has(rows[-1])
                return self._is_short
            # Back to the floor, not to the first fill that is known: what was passed over lies
            # deeper. A fill that could not be read may lie deeper still.
            return not self.unbooked.has_any and self._book.ids.end_below_floor(rows)
        except UnbookableFill:
            return False

    def _goes_deep(self, now_ns: int) -> bool:
        """Whether a walk goes on to where every fill is booked: it is time for that again, or an
        order is to be over by it, whose fills may lie behind newer ones of a walk before."""
        is_awaited = self._reads_deep and self._desk.awaits_fills()
        if now_ns < self._deep_due_ns and not is_awaited:
            self._deep_until_ns = NEVER_NS
            return False
        self._deep_until_ns = min(self._deep_until_ns, now_ns + _DEEP_FOR_NS)
        if now_ns < self._deep_until_ns:
            return True
        self._walked_deep(now_ns)
        self._reads_deep = False
        return False

    def _walked_deep(self, now_ns: int) -> None:
        self._deep_due_ns, self._deep_until_ns = now_ns + _DEEP_EVERY_NS, NEVER_NS

    # --- the books --------------------------------------------------------------------------------

    def walked(
        self, rows: Sequence[model.Fill], begun_ns: int, now_ns: int
    ) -> dict[MarketId, None]:
        """A walk, begun then, has ended; book what `page` kept of it. Returns the rungs with fills
        that no walk had shown before, in first-seen order.

        A fill that cannot be booked is a finding, until a walk shows it readably."""
        self.fresh_fills = []
        self._book_all(rows, now_ns)
        if not self._has_walked:
            self._has_walked, self._first_ns = True, self._book.ids.newest_ns
        if not self._is_short:
            self._walked_deep(now_ns)
            self._reads_deep = True
        if not self._is_short or not self._reads_deep:
            self.whole_ns = begun_ns
        self._is_short = False
        self.unbooked.tell()
        self._gone.walked(now_ns)
        changed, self._changed = self._changed, {}
        self.history_wanted, self._is_shown_anew = self._is_shown_anew, False
        return changed

    def _book_all(self, rows: Sequence[model.Fill], now_ns: int) -> None:
        unbooked = self.unbooked
        for row in reversed(rows):
            try:
                fill = row if row.market_id else self._placed(row)
                if not unbooked.is_in_opening(row.fill_id):
                    self._book_one(fill, now_ns)
                unbooked.readable(row.fill_id)
            except UnbookableFill as fault:
                # Every fill is read once more, for this one may lie deep in the list.
                self._is_shown_anew |= unbooked.refused(row.fill_id, str(fault))

    def _book_one(self, fill: model.Fill, now_ns: int) -> None:
        book = self._book
        fees_cents, flow_cents = book.fees_cents, book.cash_flow_cents
        may_be_of_before = self.is_open and self._may_be_of_before(fill, now_ns)
        of_before = may_be_of_before and created_ns_of(fill) <= self._before_ns
        is_taken_over = of_before and self._is_taken_over(fill)
        if not book.book_fill(fill):
            return
        flow_cents = Cents(book.cash_flow_cents - flow_cents)
        slot, moved = _slot(fill), _moved(fill)
        if may_be_of_before and self._before_ns:
            self._settling.may_have_paid(fill.market_id)
        if of_before:
            self.of_opening.append(OfOpening(*slot, moved, flow_cents))
        if is_taken_over:
            self._take_over(slot, -moved)
        else:
            self.booked_ns = now_ns
            self.moved.booked(*slot, moved, now_ns)
        if of_before:
            self.late.opening_cents += flow_cents
        else:
            self._trail.booked(flow_cents, now_ns)
        if self.is_open:
            fee_cents = Cents(book.fees_cents - fees_cents)
            self.fresh_fills.append(msgspec.structs.replace(fill, fee_cents=fee_cents))
        is_between = self._has_walked and not self.is_open
        if is_between:
            self.traded_ns = self.traded_ns or now_ns
        if may_be_of_before or is_between:
            of = slot, created_ns_of(fill), moved, flow_cents
            cash_held, shares_held = of_before or is_between, is_taken_over or is_between
            self._doubt(*of, cash_held=cash_held, shares_held=shares_held)
        elif not self.is_open and fill.fill_id in self._newest:
            self._newest[fill.fill_id] = slot, created_ns_of(fill), moved, flow_cents
        self._changed[fill.market_id] = None

    def _doubt(
        self,
        slot: Slot,
        created_ns: int,
        moved: int,
        flow_cents: Cents,
        *,
        cash_held: bool,
        shares_held: bool,
    ) -> None:
        """Reads are to tell whether the opening held a fill, as is thought till then."""
        self.late.cash(created_ns, flow_cents, held=cash_held)
        self.late.shares(slot, created_ns, moved, held=shares_held)

    def _take_over(self, slot: Slot, shares: int) -> None:
        """Of so many more shares, below zero fewer, no fill tells: they were held before."""
        market_id, outcome = slot
        self._book.take_over(market_id, Outcome(outcome), shares)
        self._taken_over[slot] = self._taken_over.get(slot, 0) + shares
        self.of_opening.append(OfOpening(market_id, outcome, shares, Cents(0)))

    def leave_out_untold(self) -> list[MarketId]:
        """Shares of rungs of which nothing will tell what they paid, or whether before the opening,
        are left out as if the books had been opened without them: they are held no more. Returns
        their markets."""
        untold, self._settling.untold = self._settling.untold, []
        for market_id in untold:
            for outcome, qty in zip(Outcome, self._book.holdings(market_id), strict=True):
                if qty:
                    self._take_over((market_id, outcome.value), -qty)
        return untold

    def shares_shown(
        self, held: Mapping[tuple[MarketId, Outcome], int], begun_ns: int, amid_ns: int | None
    ) -> list[MarketId]:
        """A list of positions, begun then, is compared among no fills, or among those booked from
        `amid_ns` on. Where it shows that of what the opening took over more or less was of fills
        than was thought, that is mended. Returns the markets where it is; those of which the list
        shows nothing may have paid."""
        changed = []
        for slot in self.late.slots(begun_ns):
            market_id, outcome = slot[0], Outcome(slot[1])
            is_quiet = amid_ns is None or self.moved.moved(market_id, outcome, amid_ns) == (0, 0)
            is_shown = any(held.get((market_id, each), 0) for each in Outcome)
            if not (is_quiet and is_shown):
                continue
            shown_qty = held.get((market_id, outcome), 0)
            more = shown_qty - self._book.held_qty(market_id, outcome)
            taken_over = slot in self._taken_over
            if (taken_over or not more) and self.late.explain_shares(slot, more) and more:
                self._take_over(slot, more)
                changed.append(market_id)
        return changed

    def _may_be_of_before(self, fill: model.Fill, now_ns: int) -> bool:
        """Whether a fill that is not booked may be of before the opening, by its order, which can
        have traded before only, or is none of ours: then its time says so, and surer the next
        balance. Raises UnbookableFill for an unreadable time."""
        if now_ns > self._opened_ns + _SHOWN_LATE_NS:
            return False
        if self._before_ns and created_ns_of(fill) > self._before_ns + _LATER_NS:
            return False
        return not self._book.ids.has(fill) and self._was_over(fill)

    def _is_taken_over(self, fill: model.Fill) -> bool:
        sought, moved = self._taken_over.get(_slot(fill), 0), _moved(fill)
        return bool(moved) and min(0, sought) <= moved <= max(0, sought)

    def _was_over(self, fill: model.Fill) -> bool:
        if self._desk.knows(fill.order_id):
            return self._desk.ended_by(fill.order_id, self._opened_ns)
        # What is older than fills of before is of before, whatever of ours is undecided.
        return created_ns_of(fill) <= self._first_ns or not any(
            own.state is State.LOST and _may_be_of(fill, own) for own in self._desk.all_live()
        )

    def _placed(self, fill: model.Fill) -> model.Fill:
        """A fill that does not tell its market, with the one of its ticker, or of its order (S4).

        While neither is known its ticker stands for it: the fills may be read before the series.
        Without one it may be of an order whose id is not known yet, and raises UnbookableFill.
        """
        known = self._by_ticker.get(fold_ticker(fill.ticker))
        market_id = self._desk.market_of(fill.order_id) if known is None else known
        if market_id is None and not fill.ticker and self._desk.creates_undecided():
            raise UnbookableFill(f"it names no market, and order {fill.order_id} is not known yet")
        market_id = stand_in(fill.ticker) if market_id is None else market_id
        return msgspec.structs.replace(fill, market_id=market_id)


def stand_in(ticker: Ticker) -> MarketId:
    """What a market is booked under whose id was not told: its ticker, which no id equals."""
    return MarketId(fold_ticker(ticker))


def _may_be_of(fill: model.Fill, own: OwnOrder) -> bool:
    """Whether a fill may be of an order whose id is not known: it is of its market, outcome and
    side, as far as it says, at no worse price than that."""
    same_side = fill.side.value == own.own_side.value or fill.side is model.ShownSide.UNKNOWN
    beyond = fill.outcome_price - own.price
    is_worse = beyond > 0 if own.own_side is Side.BUY else beyond < 0
    return same_side and not is_worse and _slot(fill) == (own.market_id, own.outcome.value)


def _slot(fill: model.Fill) -> Slot:
    return fill.market_id, fill.outcome.value


def _moved(fill: model.Fill) -> int:
    """Shares that came by a fill, below zero where they went; 0 where its side is not known."""
    if fill.side is model.ShownSide.UNKNOWN:
        return 0
    return fill.qty if fill.side is model.ShownSide.BUY else -fill.qty
