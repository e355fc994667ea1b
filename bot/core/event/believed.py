"""One rung as it is believed: its market, its book, what others have there, whether to quote on it.

A rung is quotable when its market takes orders and its book can be believed; otherwise `blocked`
says in a few words why not.

See docs/failure-modes.md#feed-ok.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from bot.core import messages as m
from bot.core.books.book import Book, shrunk
from bot.core.books.others import Others
from bot.core.books.queue import Queues
from bot.core.books.recent import Recent
from bot.core.books.venueclock import STEP_NS
from bot.core.curve.estimate import TradedPrice
from bot.core.curve.ladder import Fair
from bot.core.desk.outbox import NEVER_NS
from bot.core.event.owntakes import OwnTakes
from bot.core.limits.bounds import takes_any
from bot.core.limits.risk import RungTerms
from bot.core.orders.order import OwnOrder
from bot.core.plan.place import Flow
from bot.core.settings import TrustSettings
from bot.core.strategy import Levels
from bot.core.strike import strike_dollars
from venue.wire import instant, model
from venue.wire.instant import NS_PER_SECOND
from venue.wire.money import BookSide, FeeRate, Outcome

if TYPE_CHECKING:
    from bot.core.event.room import Ladder

_BID: Final = BookSide.BID
_ASK: Final = BookSide.ASK
_ACTIVE: Final = model.MarketState.ACTIVE
_RESOLVED: Final = model.MarketState.RESOLVED

STEP_PERSISTS_NS: Final = 10 * NS_PER_SECOND
STEP_FRAMES: Final = 3
PARK_MIN_NS = 2 * NS_PER_SECOND
_PAUSE_ALLOWED_NS = NS_PER_SECOND


class BelievedRung:
    """What is believed of one rung.

    news: of its event, the places of the rungs that are to be told anew (`Telling`): it adds its
    own `place` where what a strategy is told of it may not be what it was. unjudged: `blocked` may
    be another. takes_any: its market takes every price. flows: what trades against its bids, and
    against its asks.
    """

    __slots__ = (
        "_emptied_until_ns",
        "_stamp_ns",
        "blocked",
        "book",
        "confirmed_ns",
        "decided",
        "fair",
        "flows",
        "is_foreign",
        "judge_ns",
        "ladder",
        "last_print",
        "maker_rate",
        "market",
        "market_id",
        "news",
        "older_frames",
        "older_ns",
        "older_since_ns",
        "others",
        "own_takes",
        "parked_at_ns",
        "parked_code",
        "place",
        "queues",
        "read_asked_ns",
        "recent",
        "side_parked_until_ns",
        "strike",
        "suspect_since_ns",
        "taker_rate",
        "takes_any",
        "terms",
        "traded",
        "unasked",
        "unjudged",
        "was_blocked",
    )

    def __init__(self, market: model.Market, ladder: "Ladder") -> None:
        self.ladder = ladder
        self.market = market
        self.takes_any = takes_any(market)
        self.market_id = market.market_id
        self.book = Book()
        self.others = Others(self.book)
        self.maker_rate = FeeRate.parse(market.maker_fee_rate)
        self.taker_rate = FeeRate.parse(market.taker_fee_rate)
        self.terms = RungTerms.of(market.market_id, self.maker_rate, self.taker_rate)
        self.strike = strike_dollars(market.strike_value, market.strike_unit)
        self.traded = TradedPrice()
        self.fair: Fair | None = None
        self.place = 0
        self.news: set[int] = set()
        self.last_print: m.TradeSeen | None = None
        self.decided: Outcome | None = None
        self.blocked = "not looked at yet"
        self.was_blocked = ""
        self.unjudged = True
        self.judge_ns = 0
        self.confirmed_ns = 0
        self.read_asked_ns = 0
        self.suspect_since_ns: int | None = None
        self.unasked = False
        self.parked_at_ns: int | None = None
        self.parked_code = ""
        self.side_parked_until_ns: dict[BookSide, int] = {_BID: 0, _ASK: 0}
        self.queues = Queues(ladder.pace.queue_power_pct / 100)
        self.recent = Recent()
        self.own_takes = OwnTakes()
        self.flows = (Flow(), Flow())
        self.is_foreign = False
        self.older_since_ns: int | None = None  # since when its stamps seem to run backwards
        self.older_ns = self.older_frames = 0  # the newest of those stamps, and how many moved on
        self._stamp_ns: int | None = None  # of the newest frame of its book
        self._emptied_until_ns = 0

    @property
    def is_active(self) -> bool:
        """Whether the venue says that its market takes orders."""
        return self.market.state is _ACTIVE

    @property
    def is_over(self) -> bool:
        """Whether it has resolved: it is worth its payout, and never trades again."""
        return self.market.state is _RESOLVED

    @property
    def is_certain(self) -> bool:
        """Whether it is over, or a winner of its ladder has `decided` what it will pay."""
        return self.decided is not None or self.market.state is _RESOLVED

    @property
    def is_suspect(self) -> bool:
        """Whether its book is to be confirmed before anything new is sent."""
        return self.suspect_since_ns is not None

    def refresh(self, market: model.Market, believed_from_ns: int) -> bool:
        """Take in a newer read of its market, which speaks of `believed_from_ns` and before.

        Whether its fee rates are others now. Raises ValueError for rates that cannot be read.
        """
        rates = (FeeRate.parse(market.maker_fee_rate), FeeRate.parse(market.taker_fee_rate))
        changed = rates != (self.maker_rate, self.taker_rate)
        if changed:
            self.maker_rate, self.taker_rate = rates
            self.terms = RungTerms.of(self.market_id, *rates)
            self.ladder.dirty = True
        self.market = market
        self.takes_any = takes_any(market)
        self.ladder.is_plain = False
        self.news.add(self.place)
        parked = self.parked_at_ns
        if parked is not None and self.is_active and believed_from_ns > parked + PARK_MIN_NS:
            self.parked_at_ns = None
        self.doubt()
        return changed

    # --- what is believed -------------------------------------------------------------------------

    def doubt(self) -> None:
        """Something happened that may change whether it can be quoted: judge it anew."""
        self.unjudged = True
        self.ladder.unjudged = True

    def suspect(self, now_ns: int) -> None:
        """Send nothing new on its book until that is confirmed; a second later, pull the quotes."""
        if self.suspect_since_ns is None:
            self.suspect_since_ns = now_ns
        self.doubt()

    def is_news(self, seen: m.BookSeen | m.TradeSeen) -> bool:
        """True if a frame tells of what has just happened, so that its stamp tells the time: a book
        of another stamp than the one before, or a print that was not seen yet."""
        if isinstance(seen, m.TradeSeen):
            return not self.book.has_printed(seen.trade_id)
        before_ns, self._stamp_ns = self._stamp_ns, seen.ts_ns
        return before_ns not in (None, seen.ts_ns)

    def saw_book(
        self, seen: m.BookSeen, own: Sequence[OwnOrder], trust: TrustSettings, now_ns: int
    ) -> bool:
        """Take in a book frame. True if a level of ours shrank, so that we may have filled."""
        if self.ladder.venue_time.is_beyond(self.book.newest_ns, now_ns):
            self.forget_stamps()  # they were believed before the venue's clock was known
        old_bids, old_asks = self.book.bids, self.book.asks
        book, held_ns = self.book, self.book.ts_ns
        if not book.replace(seen.bids, seen.asks, seen.ts_ns, now_ns):
            if self.book.ts_ns is not None and seen.ts_ns < self.book.ts_ns - STEP_NS:
                self._saw_older(seen.ts_ns, now_ns)
            return False
        self._saw_newer(seen.ts_ns, held_ns)
        self._confirmed(now_ns)
        self._look_for_depth(trust, now_ns)
        if self.queues.saw_book(seen.bids, seen.asks, seen.ts_ns, own, now_ns):
            self.recent.place_changed()
        self.ladder.dirty |= not self.is_settled
        if (old_bids, old_asks) == (seen.bids, seen.asks):
            self._look_at_others()
            return False
        self.ladder.dirty = True
        self.news.add(self.place)
        self.others.book_changed()
        fallen = {_BID: shrunk(old_bids, seen.bids), _ASK: shrunk(old_asks, seen.asks)}
        return any(level in fallen[order.side] for order in own for level in order.levels)

    def _confirmed(self, now_ns: int) -> None:
        """The book held was shown, or confirmed. What a paused process finds waiting says nothing:
        it may be as old as the pause, until the books were asked for anew."""
        doubtful = bool(self.blocked) or self.is_suspect or self.book.is_crossed
        if not self.unasked:
            self.confirmed_ns = now_ns
            if not self.book.print_leads:
                self.suspect_since_ns = None
            else:  # the first book after a print may be older than it
                self.suspect(now_ns)
        if doubtful:  # what could be quoted on still can be: it is only younger
            self.doubt()

    def _look_at_others(self) -> None:
        """The book was shown or read: what others have may be told from ours now, where it was not,
        though the book is the same."""
        if self.others.has_caught_up:
            self.ladder.dirty = True
            self.news.add(self.place)

    def _look_for_depth(self, trust: TrustSettings, now_ns: int) -> None:
        """A book emptied at once is unknown: the venue's store may be gone, not its orders."""
        if self.book.bids or self.book.asks:
            self._emptied_until_ns = 0
        elif self.others.depth_ns is not None:
            until_ns = self.others.depth_ns + trust.emptied_ns
            if now_ns < until_ns:
                self._emptied_until_ns = until_ns
                self.doubt()

    def read_book(self, seen: m.BookSeen, trust: TrustSettings, now_ns: int) -> None:
        """Take over a book that no frame has shown; nothing is sent on it unconfirmed."""
        held_ns = self.book.ts_ns
        if self.ladder.venue_time.is_beyond(seen.ts_ns, now_ns):
            self.suspect(now_ns)
        elif self.book.replace(seen.bids, seen.asks, seen.ts_ns, now_ns):
            self._saw_newer(seen.ts_ns, held_ns)
            self.ladder.dirty = True
            self.news.add(self.place)
            self.others.book_changed()
            self._look_for_depth(trust, now_ns)
            self.suspect(now_ns)

    def _saw_older(self, ts_ns: int, now_ns: int) -> None:
        if self.older_since_ns is None:
            self.older_since_ns, self.older_ns, self.older_frames = now_ns, ts_ns, 1
        elif ts_ns > self.older_ns:
            self.older_ns, self.older_frames = ts_ns, self.older_frames + 1

    def _saw_newer(self, ts_ns: int, held_ns: int | None) -> None:
        # A read may show the very book held for as long as the venue's clock is behind it.
        if held_ns is None or ts_ns > held_ns:
            self.older_since_ns = None

    def runs_backwards(self, now_ns: int) -> bool:
        """True once the venue's stamps of this market run backwards.

        For `STEP_PERSISTS_NS` every frame was stamped more than `STEP_NS` before the book held, no
        read has shown a newer one, and `STEP_FRAMES` of the stamps moved on. A frame that was
        delayed, duplicated or reordered is followed by a newer one.
        """
        since_ns = self.older_since_ns
        if since_ns is None or self.older_frames < STEP_FRAMES:
            return False
        return now_ns >= since_ns + STEP_PERSISTS_NS

    def saw_trade(self, seen: m.TradeSeen, own: Sequence[OwnOrder], now_ns: int) -> bool:
        """Believe a print. Whether it was at or through a price of ours."""
        if not self.book.print_seen(seen, now_ns):
            return False
        self.last_print = seen
        self.news.add(self.place)
        self.traded.update(seen.price, seen.size, now_ns)
        self.flows[seen.taker_bought_yes].printed(seen.size, now_ns)
        taker = _BID if seen.taker_bought_yes else _ASK
        self.recent.printed(seen.price, seen.size, taker, now_ns)
        ours = self.own_takes.part_of(taker, seen.size, own, now_ns)
        self.ladder.printed(self, seen, taker, ours, now_ns)
        self.queues.printed(seen.price, seen.size, seen.ts_ns, seen.taker_bought_yes, own, now_ns)
        if self.book.print_leads:
            self.suspect(now_ns)
        self.ladder.dirty = True
        return any(
            seen.price <= order.level if order.side is _BID else seen.price >= order.level
            for order in own
        )

    def confirms(self, shown: model.Orderbook, now_ns: int) -> bool:
        """Whether a book read by REST is the one believed; that confirms it.

        One captured well before the newest print says nothing: the feed behind it stands still.
        One that does not tell when it was captured confirms nothing either.
        """
        bids = tuple((level.price, level.size) for level in shown.bids)
        asks = tuple((level.price, level.size) for level in shown.asks)
        if not self.book.known or (bids, asks) != (self.book.bids, self.book.asks):
            return False
        self.others.owed_ns = 0
        try:
            as_of_ns = instant.to_ns(shown.as_of)
        except ValueError:
            return False
        self._saw_newer(as_of_ns, self.book.ts_ns)
        self.others.held_at(as_of_ns)
        self._look_at_others()
        if not self.book.leads(as_of_ns):
            self.book.confirm(now_ns)
            self._confirmed(now_ns)
        return True

    def forget_stamps(self) -> None:
        """The venue's clock ran backwards: nothing that it stamped before can be compared."""
        self.forget_book()
        self.others.forget_stamps()
        self.queues = Queues(self.ladder.pace.queue_power_pct / 100)
        self.recent.place_changed()

    def forget_book(self) -> None:
        """The channel is gone."""
        self.book.forget()
        self.older_since_ns = None
        self.queues.forget_book()
        self.news.add(self.place)
        self.others.book_changed()
        self.doubt()

    def judge(self, channel: str, trust: TrustSettings, now_ns: int) -> None:
        """Decide whether the rung can be quoted now, and when to look again at the latest.

        channel: why no rung can be, empty if that is not so.
        """
        self.unjudged = False
        suspect = self.suspect_since_ns
        changes = [self.confirmed_ns + trust.book_ns + 1]
        settled_from_ns = self.others.settled_from_ns
        if settled_from_ns is not None:
            if now_ns >= settled_from_ns:
                self.ladder.dirty = True
            changes.append(settled_from_ns)
        if suspect is not None:
            changes.append(suspect + _PAUSE_ALLOWED_NS + 1)
        changes.append(self._emptied_until_ns)
        self.judge_ns = min([at for at in changes if at > now_ns], default=NEVER_NS)
        if not self.is_active:
            self.blocked = f"market {self.market.state}"
        elif self.decided is not None:
            self.blocked = f"decided {self.decided}"
        elif self.parked_at_ns is not None:
            self.blocked = f"refused: {self.parked_code}"
        elif self.is_foreign:
            self.blocked = "orders of somebody else rest here"
        elif channel:
            self.blocked = channel
        elif not self.book.known:
            self.blocked = "no book yet"
        elif now_ns < self._emptied_until_ns:
            self.blocked = "book emptied"
        elif not self.book.believable(now_ns, trust.book_ns):
            self.blocked = "book stale"
        elif suspect is not None and now_ns - suspect > _PAUSE_ALLOWED_NS:
            self.blocked = "book not confirmed"
        else:
            self.blocked = ""

    @property
    def is_settled(self) -> bool:
        """Whether the book that the strategy saw last was as new as our own orders."""
        return self.others.settled_from_ns is None

    @property
    def may_send(self) -> bool:
        """Whether a create or amend may leave for this rung now."""
        return not self.blocked and self.suspect_since_ns is None

    def side_parked(self, side: BookSide, now_ns: int) -> bool:
        """Whether new orders of a side wait after a refusal."""
        return now_ns < self.side_parked_until_ns[side]

    def settled_others(self, own: Sequence[OwnOrder], now_ns: int) -> tuple[Levels, Levels]:
        """The book without our own size, as of the last instant at which both spoke of one time."""
        others = self.others
        was_settled = others.settled_from_ns is None
        shown = others.settled(own, now_ns)
        if was_settled and others.settled_from_ns is not None:
            self.doubt()
        return shown

    def shown_own(
        self, shown: model.Order, venue_ns: int, own: Sequence[OwnOrder], now_ns: int
    ) -> None:
        """An answer to a write showed an order of ours as of this instant of the venue's."""
        self.others.wrote(venue_ns)
        self.news.add(self.place)
        self.queues.wrote(shown, venue_ns, own, now_ns)
