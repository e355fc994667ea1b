"""The state of one market: its book, the book without our orders, our places in its queues, recent
prints and fills, and how fresh all of it is.

Canonical YES throughout: bids and asks as (price, size), best first. Times called `ts` are the
venue's and are compared only with the venue's; `now_ns` is ours and is compared only with ours.
"""

import itertools
from collections import OrderedDict, deque
from collections.abc import Iterable, Sequence
from typing import Final, TypeVar

from bot.core.market_data.queue_position import Queues, place_of, size_at
from bot.core.messages import BookUpdate, Trade
from bot.core.orders.order import IN_FLIGHT, OwnOrder, State
from bot.core.orders.outbox import NEVER_NS
from bot.core.settings import StalenessSettings
from bot.strategy.api import Levels, OwnFill, OwnQuote, Print, faded_flow
from venue.wire import instant, model
from venue.wire.instant import NS_PER_SECOND
from venue.wire.money import PAYOUT_CENTS, BookSide, Price, Qty, is_price

_BID: Final = BookSide.BID
_ASK: Final = BookSide.ASK

_TRADE_IDS_MAX: Final = 512
"""Prints remembered per market, to count each once: a page of repeats is far shorter."""

_PRINT_LEAD_NS: Final = NS_PER_SECOND
"""A print this much newer than the book shows that a frame is missing."""

_NO_PRINT_NS: Final = -NEVER_NS

_UNSETTLED_MAX_NS: Final = NS_PER_SECOND
_UNCONFIRMED_MAX_NS: Final = NS_PER_SECOND
"""So long quotes rest on a book that has to be confirmed."""

STEP_PERSISTS_NS: Final = 10 * NS_PER_SECOND
STEP_FRAMES: Final = 3

ACTIVITY_MAX: Final = 64
"""Prints, and fills, in one view at most: the newest. The curve has learned from all of them."""

AGE_STEP_NS: Final = NS_PER_SECOND
"""Ages of our resting quotes in a view are renewed this often."""

_OWN_TAKE_NS: Final = 5 * NS_PER_SECOND
"""A print of a take of ours comes within this time of its sending, or of its answer; a later one
may be anybody's (judgement)."""

_TOUCH_SIZE_CAP: Final = 100
"""Shares beyond this at the touch add nothing to the microprice: one large order is one opinion."""

_RESTS: Final = frozenset(
    {State.OPEN, State.PENDING_REPLACE, State.REPLACE_UNKNOWN, State.PENDING_CANCEL}
)
"""The states in which an order rests in the book, as far as anybody knows."""

_CLOCK_WINDOW_NS: Final = 120 * NS_PER_SECOND
_CLOCK_AGREEING: Final = 3
_CLOCK_STAMPS: Final = 16
_CLOCK_JITTER_NS: Final = NS_PER_SECOND
"""Two stamps agree whose leads differ by less: one arrived sooner."""

BEYOND_NS: Final = 10 * NS_PER_SECOND
"""A stamp that leads by less is soon overtaken, and may be right while all others were late."""

STEP_NS: Final = 5 * NS_PER_SECOND
"""Stamps of one market that fall by less may come from two servers of the venue."""

_EMPTY: Final[tuple[Levels, Levels]] = ((), ())

_Row = TypeVar("_Row")


class VenueClock:
    """The venue's clock by ours, from the stamps of what has just happened there.

    The two clocks need not agree. The venue's lead is the farthest lead of a stamp within two to
    four minutes: a slow line changes no clock. A stamp that leads farther by more than `BEYOND_NS`
    is wrong, unless three different ones agree: then that clock was set ahead.
    """

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """The venue's clock ran backwards: estimate it again."""
        self.ahead_ns: int | None = None
        """How far the venue's clock leads ours, below zero if it is behind; None until three stamps
        agree, and until then every stamp is believed."""
        self._farthest_ns = self._before_ns = self._since_ns = 0
        self._leads: deque[tuple[int, int]] = deque(maxlen=_CLOCK_STAMPS)

    def on_stamp(self, stamp_ns: int, now_ns: int) -> None:
        """An event that has just happened there arrived with this stamp."""
        lead_ns = stamp_ns - now_ns
        if self.ahead_ns is None or lead_ns > self.ahead_ns + BEYOND_NS:
            # A repeated stamp is no other.
            if not any(stamp_ns == other for other, _ in self._leads):
                self._leads.append((stamp_ns, lead_ns))
            agreeing = [abs(other - lead_ns) < _CLOCK_JITTER_NS for _, other in self._leads]
            if sum(agreeing) >= _CLOCK_AGREEING:
                self.ahead_ns = self._farthest_ns = self._before_ns = lead_ns
                self._since_ns = now_ns
            return
        if now_ns >= self._since_ns + _CLOCK_WINDOW_NS:
            self._before_ns, self._farthest_ns = self._farthest_ns, lead_ns
            self._since_ns = now_ns
        self._farthest_ns = max(self._farthest_ns, lead_ns)
        self.ahead_ns = max(self._farthest_ns, self._before_ns)

    def is_beyond(self, stamp_ns: int, now_ns: int) -> bool:
        """True if the venue's clock cannot show this instant yet: the stamp is wrong."""
        return self.ahead_ns is not None and stamp_ns > now_ns + self.ahead_ns + BEYOND_NS


class MarketState:
    """One market. A view that was made of a `version` holds while the version is the same."""

    def __init__(self, clock: VenueClock, queue_power: float) -> None:
        """clock: of the series. queue_power: see `Queues`."""
        self._clock = clock
        self.queue_power = queue_power
        self.version = 0
        """Counts the changes of everything that a view of the market shows."""
        self.decision_version = 0
        """Counts the changes that the strategy is to be asked about."""
        self.judge_ns = 0
        """When its book may become stale, or believed again; 0 at once."""

        self.bids: Levels = ()  # as the venue showed them last, ours included
        self.asks: Levels = ()
        self.ts_ns: int | None = None  # None while no book is known
        self.last_price: Price | None = None  # of the newest print; `forget_book` keeps it
        self._is_crossed = False  # best bid not below best ask: the venue's book never is
        self._print_ts_ns = _NO_PRINT_NS
        self._print_ns = 0
        self._print_leads = False  # a print awaits the book that shows its effect
        self._trade_ids: OrderedDict[str, None] = OrderedDict()

        # Freshness. Frames that a paused process finds waiting show a book and confirm nothing.
        self._book_ns = 0  # when the book was shown
        self.confirmed_ns = 0
        self._unasked = False  # a pause is over, and no books were requested since
        self.read_asked_ns = 0
        self.suspect_since_ns: int | None = None  # since when its book has to be confirmed
        self._emptied_until_ns = 0
        self.older_since_ns: int | None = None  # since when its stamps seem to run backwards
        self.older_ns = self._older_frames = 0  # the newest of those stamps, and how many moved on
        self._older_steps = 0  # how often they ran backwards since

        # The book of others. `external` is frozen while the book and our orders differ in time.
        self.external = _EMPTY
        self.external_ns = 0  # since when others have that book; our writes do not change it
        self.settles_ns: int | None = None  # while it is frozen: when it moves at the latest
        self.is_behind = False  # book and orders differed in time at the last `settle_external`
        self.owed_ts_ns = 0  # of our newest write that its book has to show; 0: none is missing
        self._own_ts_ns = 0  # of our newest change that a write has shown
        self._depth_ns: int | None = None  # when `external` last had a level
        self._settled_book: tuple[Levels, Levels] | None = None  # of which `external` was made
        self._without_own: tuple[Levels, Levels] | None = None  # until book or own orders change
        self._own: tuple[dict[Price, Qty], dict[Price, Qty]] | None = None
        self._is_writing = False  # a write to some own order is in flight
        self.checked_version = -1
        """The version at which `moved_against` found nothing."""

        self.queues = Queues(queue_power)
        self._own_quotes: tuple[OwnQuote, ...] = ()
        self._own_quotes_of = _EMPTY  # the book of others with which they were made
        self._own_quotes_due_ns = 0
        self.has_activity = False
        """There are prints or fills that the strategy was not asked about."""
        self._prints: list[tuple[Price, Qty, BookSide, int]] = []
        self._fills: list[tuple[BookSide, Price, Qty, int]] = []
        self.flow_qty = 0.0
        """The taker flow right after the newest trade of others: shares that takers bought less
        those that they sold, fading (`faded_flow`)."""
        self.flow_ns = 0
        """When that trade came; 0 before the first."""
        # Shares by taker of own takes whose prints are to come; below 0: prints without an answer.
        self._own_takes = {_BID: 0, _ASK: 0}
        self._own_takes_until_ns = 0

    @property
    def is_known(self) -> bool:
        """True if a book was shown since the start or since `forget_book`."""
        return self.ts_ns is not None

    def invalidate_view(self, *, decide: bool = True) -> None:
        """A view of the market changed. decide: ask the strategy because of it."""
        self.version += 1
        self.decision_version += decide

    def invalidate_decision(self) -> None:
        """Ask the strategy again, though no view changed."""
        self.decision_version += 1

    def invalidate_eligibility(self) -> None:
        """Something outside this object may have made the market fit or unfit: judge it at once."""
        self.judge_ns = 0

    # --- frames -----------------------------------------------------------------------------------

    def on_book(
        self,
        seen: BookUpdate,
        own: Sequence[OwnOrder],
        staleness: StalenessSettings,
        now_ns: int,
        *,
        is_blocked: bool,
    ) -> bool:
        """Take in a book frame. True if a level with an order of ours shrank: it may have filled.

        An older frame changes nothing. An equal `ts_ns` is newer: several changes share an instant.
        is_blocked: the market is not quoted at present.
        """
        if self._clock.is_beyond(max(self.ts_ns or 0, self._print_ts_ns), now_ns):
            self.forget_stamps()  # they were believed before the venue's clock was known
        old_bids, old_asks, held_ns = self.bids, self.asks, self.ts_ns
        if held_ns is not None and seen.ts_ns < held_ns:
            if seen.ts_ns < held_ns - STEP_NS:
                self._on_older(seen.ts_ns, now_ns)
            return False
        self._replace(seen, now_ns)
        self._confirm(now_ns, is_blocked=is_blocked)
        if seen.bids or seen.asks:
            self._emptied_until_ns = 0
        else:
            self._await_depth(staleness, now_ns)
        if self.queues.on_book(seen.bids, seen.asks, seen.ts_ns, own, now_ns):
            self._own_quotes_due_ns = 0
        if (old_bids, old_asks) == (seen.bids, seen.asks):
            if self._has_caught_up():
                self.invalidate_view()
            elif self.settles_ns is not None:
                self.decision_version += 1
            return False
        self.version += 1
        self.decision_version += 1
        self._without_own = None
        for order in own:
            old, new = (old_bids, seen.bids) if order.book_side is _BID else (old_asks, seen.asks)
            if old is new:
                continue
            for level in order.yes_prices:
                if size_at(old, level) > size_at(new, level):
                    return True
        return False

    def _replace(self, seen: BookUpdate, now_ns: int) -> None:
        # A read may repeat the same book for as long as the venue's clock is behind it.
        if self.ts_ns is None or seen.ts_ns > self.ts_ns:
            self.older_since_ns = None
        self.bids, self.asks, self.ts_ns = seen.bids, seen.asks, seen.ts_ns
        self._book_ns = now_ns
        self._is_crossed = bool(seen.bids and seen.asks) and seen.bids[0][0] >= seen.asks[0][0]
        self._print_leads = self._print_ts_ns > seen.ts_ns + _PRINT_LEAD_NS

    def _confirm(self, now_ns: int, *, is_blocked: bool) -> None:
        """A frame or a read showed the book that is held now."""
        is_doubtful = is_blocked or self.suspect_since_ns is not None or self._is_crossed
        if not self._unasked:
            self.confirmed_ns = now_ns
            if self._print_leads:  # the first book after a print may be older than it
                self.suspect_book(now_ns)
            else:
                self.suspect_since_ns = None
        if is_doubtful:  # a market that could be quoted still can be
            self.judge_ns = 0

    def _await_depth(self, staleness: StalenessSettings, now_ns: int) -> None:
        """An empty book is doubtful for a while: the feed may have lost it, not the venue."""
        if self._depth_ns is not None:
            until_ns = self._depth_ns + staleness.empty_book_grace_ns
            if now_ns < until_ns:
                self._emptied_until_ns = until_ns
                self.judge_ns = 0

    def _on_older(self, ts_ns: int, now_ns: int) -> None:
        if self.older_since_ns is None:
            self.older_since_ns, self.older_ns, self._older_frames = now_ns, ts_ns, 1
            self._older_steps = 1
        elif ts_ns < self.older_ns - STEP_NS:  # backwards once more, before the first was certain
            self.older_ns, self._older_frames = ts_ns, 1
            self._older_steps += 1
        elif ts_ns > self.older_ns:
            self.older_ns, self._older_frames = ts_ns, self._older_frames + 1

    def runs_backwards(self, now_ns: int) -> bool:
        """True once the venue's stamps of this market run backwards.

        For `STEP_PERSISTS_NS` every frame was stamped more than `STEP_NS` before the book held, no
        read has shown a newer one, and `STEP_FRAMES` of the stamps moved on. A frame that was
        delayed, duplicated or reordered is followed by a newer one.
        """
        since_ns = self.older_since_ns
        if since_ns is None or self._older_frames < STEP_FRAMES:
            return False
        return now_ns >= since_ns + STEP_PERSISTS_NS

    @property
    def has_stepped_twice(self) -> bool:
        """True if the stamps run backwards and did so once more meanwhile."""
        return self.older_since_ns is not None and self._older_steps > 1

    def has_printed(self, trade_id: str) -> bool:
        """True if this print was counted before."""
        return trade_id in self._trade_ids

    def on_trade(self, seen: Trade, own: Sequence[OwnOrder], now_ns: int) -> int | None:
        """Take in a print. Returns the shares of it that are takes of ours; None for a repeat.

        Prints carry no order but their time. One that leads the book by more than a second puts the
        book in doubt until a newer book or a confirmation explains it.
        """
        if seen.trade_id in self._trade_ids:
            return None
        self._trade_ids[seen.trade_id] = None
        if len(self._trade_ids) > _TRADE_IDS_MAX:
            self._trade_ids.popitem(last=False)
        if seen.ts_ns >= self._print_ts_ns:
            self._print_ts_ns, self._print_ns = seen.ts_ns, now_ns
            self.last_price = seen.price
            book_ts_ns = seen.ts_ns if self.ts_ns is None else self.ts_ns
            self._print_leads = seen.ts_ns > book_ts_ns + _PRINT_LEAD_NS
        taker = _BID if seen.taker_bought_yes else _ASK
        _append(self._prints, (seen.price, seen.size, taker, now_ns))
        self.has_activity = True
        self._own_quotes_due_ns = 0
        self.queues.on_trade(seen.price, seen.size, seen.ts_ns, taker, own, now_ns)
        if self._print_leads:
            self.suspect_book(now_ns)
        self.invalidate_view()
        ours = self._own_part(taker, seen.size, own, now_ns)
        if ours < seen.size:
            others = seen.size - ours if taker is _BID else ours - seen.size
            age_s = (now_ns - self.flow_ns) / NS_PER_SECOND
            self.flow_qty = faded_flow(self.flow_qty, age_s) + others
            self.flow_ns = now_ns
        return ours

    # --- reads by REST ----------------------------------------------------------------------------

    def on_read(self, shown: model.Orderbook, now_ns: int, *, is_blocked: bool) -> bool:
        """True if a book read by REST equals the one held, which confirms that.

        One captured well before the newest print confirms nothing: its feed is stuck. Nor does one
        without an instant of capture.
        """
        bids = tuple((level.price, level.size) for level in shown.bids)
        asks = tuple((level.price, level.size) for level in shown.asks)
        if self.ts_ns is None or (bids, asks) != (self.bids, self.asks):
            return False
        self.owed_ts_ns = 0
        try:
            as_of_ns = instant.to_ns(shown.as_of)
        except ValueError:
            return False
        if as_of_ns > self.ts_ns:
            self.older_since_ns = None
        if as_of_ns >= self._own_ts_ns:  # it holds our changes until then, though no frame said so
            self._own_ts_ns = 0
        if self._has_caught_up():
            self.invalidate_view()
        if self._print_ts_ns <= as_of_ns + _PRINT_LEAD_NS:
            self._book_ns, self._print_leads = now_ns, False
            self._confirm(now_ns, is_blocked=is_blocked)
        return True

    def adopt_read(self, seen: BookUpdate, staleness: StalenessSettings, now_ns: int) -> None:
        """Take over a book that no frame has shown; nothing is sent on it unconfirmed."""
        if not self._clock.is_beyond(seen.ts_ns, now_ns):
            if self.ts_ns is not None and seen.ts_ns < self.ts_ns:
                return
            self._replace(seen, now_ns)
            self._without_own = None
            self.invalidate_view()
            if seen.bids or seen.asks:
                self._emptied_until_ns = 0
            else:
                self._await_depth(staleness, now_ns)
        self.suspect_book(now_ns)

    # --- freshness --------------------------------------------------------------------------------

    def suspect_book(self, now_ns: int) -> None:
        """Send nothing new on its book until that is confirmed; a second later, pull the quotes."""
        if self.suspect_since_ns is None:
            self.suspect_since_ns = now_ns
        self.judge_ns = 0

    def on_pause(self, now_ns: int, *, is_subscribed: bool) -> None:
        """This process paused: the frames that waited confirm no book."""
        self._unasked = is_subscribed
        self.suspect_book(now_ns)

    def on_subscribe(self) -> None:
        """Books were requested: the next frames confirm again."""
        self._unasked = False

    def forget_book(self) -> None:
        """The feed is gone: there is no book until one is shown again."""
        self.bids, self.asks, self.ts_ns = (), (), None
        self._print_leads = self._is_crossed = False
        self._print_ts_ns = _NO_PRINT_NS  # a wrong stamp must not bar every later book
        self.older_since_ns = None
        self.queues.forget_book()
        self._without_own = None
        self.version += 1
        self.judge_ns = 0

    def forget_stamps(self) -> None:
        """The venue's clock ran backwards: nothing that it stamped before can be compared."""
        self.forget_book()
        self._own_ts_ns = self.owed_ts_ns = 0
        self.queues = Queues(self.queue_power)
        self._own_quotes_due_ns = 0

    def judge_freshness(self, blocked: str, staleness: StalenessSettings, now_ns: int) -> str:
        """Why the market cannot be quoted now; empty if its book is good. Sets when to judge again.

        blocked: a reason outside the market's own data, which goes first.
        """
        suspect_ns = self.suspect_since_ns
        changes = [self.confirmed_ns + staleness.book_ns + 1, self._emptied_until_ns]
        if self.settles_ns is not None:
            if now_ns >= self.settles_ns:
                self.decision_version += 1
            changes.append(self.settles_ns)
        if suspect_ns is not None:
            changes.append(suspect_ns + _UNCONFIRMED_MAX_NS + 1)
        self.judge_ns = min([at for at in changes if at > now_ns], default=NEVER_NS)
        if blocked:
            return blocked
        if self.ts_ns is None:
            return "no book yet"
        if now_ns < self._emptied_until_ns:
            return "book emptied"
        # On a quiet market the frame that explains a print comes a moment after it.
        is_explained = not self._print_leads or now_ns <= self._print_ns + _PRINT_LEAD_NS
        if now_ns - self._book_ns > staleness.book_ns or self._is_crossed or not is_explained:
            return "book stale"
        if suspect_ns is not None and now_ns - suspect_ns > _UNCONFIRMED_MAX_NS:
            return "book not confirmed"
        return ""

    # --- our orders -------------------------------------------------------------------------------

    def on_own_change(self) -> None:
        """Our orders or inventory changed; the caller that changes them reports it."""
        self._own = self._without_own = None
        self._own_quotes_due_ns = 0
        self.version += 1
        self.decision_version += 1

    def on_own_write(
        self, shown: model.Order, ts_ns: int, own: Sequence[OwnOrder], now_ns: int
    ) -> None:
        """An answer to a write showed an order of ours as of this instant of the venue's."""
        self._own_ts_ns = max(self._own_ts_ns, ts_ns)
        self.owed_ts_ns = max(self.owed_ts_ns, ts_ns)
        self.version += 1
        self.queues.on_own_write(shown, ts_ns, own, now_ns)

    def on_own_take(self, shown: model.Order, now_ns: int) -> None:
        """The answer to a take of ours shows how much it has traded."""
        place = place_of(shown)
        if place is not None:
            self._expire_own_takes(now_ns)
            self._own_takes[place[0]] += shown.filled_qty
            self._own_takes_until_ns = now_ns + _OWN_TAKE_NS

    def _own_part(self, taker: BookSide, size: int, own: Iterable[OwnOrder], now_ns: int) -> int:
        """How many shares of a print are takes of ours, 0..size; the feed names nobody.

        A take clears the touch that it was meant for, so its own print looks like somebody who
        knows more. The print may come before the answer to the take or after it.
        """
        since_ns = now_ns - _OWN_TAKE_NS
        under_way = sum(
            order.remaining
            for order in own
            if order.is_take and order.book_side is taker and order.placed_ns >= since_ns
        )
        self._expire_own_takes(now_ns)
        part = min(size, self._own_takes[taker] + under_way)
        if part <= 0:
            return 0
        self._own_takes[taker] -= part
        self._own_takes_until_ns = now_ns + _OWN_TAKE_NS
        return part

    def _expire_own_takes(self, now_ns: int) -> None:
        if now_ns > self._own_takes_until_ns:
            self._own_takes = {_BID: 0, _ASK: 0}

    # --- the book of others -----------------------------------------------------------------------

    def _has_caught_up(self) -> bool:
        """True if book and orders may be of one time now, and were not at the last settling."""
        return self.is_behind and (self.ts_ns or 0) >= self._own_ts_ns

    def without_own(self, own: Iterable[OwnOrder]) -> tuple[Levels, Levels]:
        """The book without our own size; an order that may rest at two prices is taken out at both.

        Right only while book and orders are of the same instant: see `settle_external`. Own size
        that the book does not show yet takes nothing out of other levels.
        """
        if self._without_own is None:
            mine, sides = self._own_sizes(own), [self.bids, self.asks]
            for index, sizes in enumerate(mine):
                if sizes:
                    left = dict(sides[index])
                    for price, qty in sizes.items():
                        size = left.get(price, 0)
                        if size > qty:
                            left[price] = Qty(size - qty)
                        else:
                            left.pop(price, None)
                    sides[index] = tuple(left.items())
            self._without_own = (sides[0], sides[1])
        return self._without_own

    def moved_against(self, own: Sequence[OwnOrder]) -> bool:
        """True if the mid of others has moved against an order of ours since `external`: down with
        a bid of ours, up with an ask. A side without others counts as at the end of the prices."""
        if not own:
            self.checked_version = self.version
            return False
        if self._own is None:
            self._own_sizes(own)
        if self._is_writing or (self.ts_ns is not None and self.ts_ns < self._own_ts_ns):
            return False  # `external` is frozen
        moved = _twice_mid(self.without_own(own)) - _twice_mid(self.external)
        against = _BID if moved < 0 else _ASK
        if moved and any(order.book_side is against for order in own):
            return True
        self.checked_version = self.version
        return False

    def settle_external(self, own: Sequence[OwnOrder], now_ns: int) -> tuple[Levels, Levels]:
        """Bring `external` up to date: the book without our own size, as of the last instant of
        both.

        While a write of ours is in flight, or the book does not show its effect yet, our own size
        would look like others', or theirs like ours, and quotes would follow themselves for ever.
        So it is frozen meanwhile: for a second at most if the book has changed by then, and for as
        long as it takes if it has not.
        """
        if self._own is None:
            self._own_sizes(own)
        is_one = not self._is_writing and (self.ts_ns is None or self.ts_ns >= self._own_ts_ns)
        self.is_behind = not is_one
        if is_one:
            self.settles_ns = None
        else:
            if self.settles_ns is None:
                self.settles_ns = now_ns + _UNSETTLED_MAX_NS
                self.judge_ns = min(self.judge_ns, self.settles_ns)
            if now_ns < self.settles_ns:
                return self.external
            self.settles_ns = None
        book = (self.bids, self.asks)
        if is_one or self._settled_book != book:
            left = self._without_own or self.without_own(own)
            if left is not self.external:
                if left != self.external:
                    self.external_ns = now_ns
                self.external, self._settled_book = left, None
            if is_one and self._settled_book is None:
                self._settled_book = book
        if self.external != _EMPTY:
            self._depth_ns = now_ns
        return self.external

    def _own_sizes(self, own: Iterable[OwnOrder]) -> tuple[dict[Price, Qty], dict[Price, Qty]]:
        """Our shares at each canonical price, bids and asks; at both prices of an order whose
        amend is undecided."""
        if self._own is None:
            bids: dict[Price, Qty] = {}
            asks: dict[Price, Qty] = {}
            self._is_writing = False
            for order in own:
                if order.state in IN_FLIGHT:
                    self._is_writing = True
                mine, left = bids if order.book_side is _BID else asks, order.remaining
                for level in order.yes_prices:
                    mine[level] = Qty(mine.get(level, 0) + left)
            self._own = (bids, asks)
        return self._own

    # --- recent activity --------------------------------------------------------------------------

    def on_own_fill(self, side: BookSide, price: Price, qty: Qty, now_ns: int) -> None:
        """A fill of ours was booked, canonical."""
        _append(self._fills, (side, price, qty, now_ns))
        self.has_activity = True
        self.version += 1

    def activity(self, now_ns: int) -> tuple[tuple[Print, ...], tuple[OwnFill, ...]]:
        """Prints and our fills since the strategy was last asked, oldest first."""
        return (
            tuple(
                Print(price, qty, taker, _seconds(now_ns - at_ns))
                for price, qty, taker, at_ns in self._prints
            ),
            tuple(
                OwnFill(side, price, qty, _seconds(now_ns - at_ns))
                for side, price, qty, at_ns in self._fills
            ),
        )

    def clear_activity(self) -> None:
        """The strategy was asked."""
        self.has_activity = False
        self._prints.clear()
        self._fills.clear()

    def own_quotes(self, orders: Sequence[OwnOrder], now_ns: int) -> tuple[OwnQuote, ...]:
        """Our resting shares, one row a price and side, bids before asks and the boldest first; the
        same tuple while nothing can have changed but ages by less than a second.

        Without a known place in the queue, all that others have at the price counts as ahead.
        """
        if not orders:
            return ()
        if now_ns < self._own_quotes_due_ns and self.external is self._own_quotes_of:
            return self._own_quotes
        self._own_quotes_of, self._own_quotes_due_ns = self.external, now_ns + AGE_STEP_NS
        bids: dict[Price, tuple[int, float, int]] = {}  # shares, those before them, placed when
        asks: dict[Price, tuple[int, float, int]] = {}
        for own in orders:
            qty = own.remaining
            if qty <= 0 or own.state not in _RESTS:
                continue
            is_bid, price, placed_ns = own.book_side is _BID, own.yes_price, own.placed_ns
            rows, queue = bids if is_bid else asks, self.queues.queue_of(own)
            if queue is not None and queue.is_placed:
                ahead = queue.likely
            else:
                ahead = float(size_at(self.external[0 if is_bid else 1], price))
            if price in rows:
                more, least, first_ns = rows[price]
                qty, ahead, placed_ns = Qty(qty + more), min(ahead, least), min(placed_ns, first_ns)
            rows[price] = (qty, ahead, placed_ns)
        sides = ((_BID, sorted(bids.items(), reverse=True)), (_ASK, sorted(asks.items())))
        self._own_quotes = tuple(
            [
                OwnQuote(side, price, Qty(qty), ahead, max(0, now_ns - placed_ns) / NS_PER_SECOND)
                for side, rows_of in sides
                for price, (qty, ahead, placed_ns) in rows_of
            ]
        )
        return self._own_quotes


def _append(rows: list[_Row], row: _Row) -> None:
    rows.append(row)
    if len(rows) > ACTIVITY_MAX:
        del rows[0]


def _seconds(ns: int) -> float:
    return ns / NS_PER_SECOND if ns > 0 else 0.0


def _twice_mid(book: tuple[Levels, Levels]) -> int:
    bids, asks = book
    return (bids[0][0] if bids else 0) + (asks[0][0] if asks else PAYOUT_CENTS)


def microprice(bid: int, bid_size: int, ask: int, ask_size: int) -> float:
    """Between a bid and an ask in cents, the nearer to each the more rests on the other side; each
    size, above zero, counts up to a hundred shares."""
    bid_weight = bid_size if bid_size < _TOUCH_SIZE_CAP else _TOUCH_SIZE_CAP
    ask_weight = ask_size if ask_size < _TOUCH_SIZE_CAP else _TOUCH_SIZE_CAP
    return (bid * ask_weight + ask * bid_weight) / (bid_weight + ask_weight)


def frame_of_read(shown: model.Orderbook) -> BookUpdate | None:
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
