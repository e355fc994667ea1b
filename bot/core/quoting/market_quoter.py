"""One rung of the series: what is believed of its market, what is wanted there, what is planned.

A rung is quotable when its market takes orders and its book can be believed; otherwise `blocked`
says in a few words why not. Nothing here sends.

See docs/failure-modes.md#feed-ok.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from bot.core import messages as m
from bot.core.fair_value.curve import Fair
from bot.core.fair_value.estimators import TradedPrice
from bot.core.market_data.book import Book, size_at
from bot.core.market_data.external_book import ExternalBook
from bot.core.market_data.queue_position import Queues
from bot.core.market_data.recent_activity import RecentActivity
from bot.core.market_data.venue_clock import STEP_NS
from bot.core.orders.manager import OrderManager
from bot.core.orders.order import OwnOrder, State, Tag, tag_of
from bot.core.orders.outbox import NEVER_NS
from bot.core.planning.actions import Action, AmendAction, CreateAction
from bot.core.planning.debounce import BySide, QuoteDebouncer, by_side
from bot.core.planning.diff import plan_sides
from bot.core.planning.levels import WorkingOrders
from bot.core.planning.queue_economics import QuoteEconomics, TradeRates, worth_of
from bot.core.quoting.own_trades import OwnTradeFilter
from bot.core.risk.exposure import OpenExposure, RungTerms
from bot.core.risk.limits import grid_of
from bot.core.settings import StalenessSettings
from bot.core.strike import strike_dollars
from bot.strategy.api import Levels, Quote
from venue.wire import instant, model
from venue.wire.instant import NS_PER_SECOND
from venue.wire.money import BookSide, Cents, FeeRate, Outcome, Price, Qty, canonical

if TYPE_CHECKING:
    from bot.core.quoting.event_quoter import EventQuoter

_BID: Final = BookSide.BID
_ASK: Final = BookSide.ASK
_OPEN: Final = State.OPEN
_ACTIVE: Final = model.MarketState.ACTIVE
_RESOLVED: Final = model.MarketState.RESOLVED

STEP_PERSISTS_NS: Final = 10 * NS_PER_SECOND
STEP_FRAMES: Final = 3
PARK_MIN_NS = 2 * NS_PER_SECOND
_PAUSE_ALLOWED_NS = NS_PER_SECOND

_DENIED_NS = NS_PER_SECOND
"""What a limit denied is asked for again this late, at the latest."""

_SHORT_NS = 10 * NS_PER_SECOND
"""So long after a limit cut an order of a side, no order there is given up to come back larger."""


def rates_of(market: model.Market) -> tuple[FeeRate, FeeRate]:
    """The maker's and the taker's fee rate. Raises ValueError for one that cannot be read."""
    return FeeRate.parse(market.maker_fee_rate), FeeRate.parse(market.taker_fee_rate)


class MarketQuoter:
    """One rung."""

    def __init__(self, market: model.Market, ladder: "EventQuoter") -> None:
        self.ladder = ladder
        self.market = market
        self.market_id = market.market_id
        self.book = Book()
        self.others = ExternalBook(self.book)
        self.maker_rate, self.taker_rate = rates_of(market)
        self.terms = RungTerms.at_rates(market.market_id, self.maker_rate, self.taker_rate)
        self.strike = strike_dollars(market.strike_value, market.strike_unit)
        self.traded = TradedPrice()
        self.fair: Fair | None = None
        self.place = 0
        # Of its event, the places of the rungs whose view is built again (`ViewBuilder`).
        self.news: set[int] = set()
        self.decided: Outcome | None = None
        self.blocked = "not looked at yet"
        self.was_blocked = ""
        self.judge_ns = 0  # when `blocked` may be another; 0 at once
        self.confirmed_ns = 0
        self.read_asked_ns = 0
        self.suspect_since_ns: int | None = None
        self.unasked = False
        self.parked_at_ns: int | None = None
        self.parked_code = ""
        self.side_parked_until_ns = {_BID: 0, _ASK: 0}
        self.queues = Queues(ladder.pace.queue_power_pct / 100)
        self.recent = RecentActivity()
        self.own_takes = OwnTradeFilter()
        self.flows = (
            TradeRates(),
            TradeRates(),
        )  # what trades against its bids, and against its asks
        self.is_foreign = False
        self.older_since_ns: int | None = None  # since when its stamps seem to run backwards
        self.older_ns = self.older_frames = 0  # the newest of those stamps, and how many moved on
        self.older_steps = 0  # how often they ran backwards since
        self._stamp_ns: int | None = None  # of the newest frame of its book
        self._emptied_until_ns = 0

        self.wanted: tuple[Quote, ...] = ()
        self._wanted_by_side: BySide = ([], [])
        self.planned: Sequence[Quote] = ()
        self.ours: WorkingOrders | None = (
            None  # its orders as plans found them, until they may have changed
        )
        self.wishes: tuple[Action, ...] = ()
        self.again_ns = 0  # when `wishes` are planned again; 0 at once
        self.denied_some = False
        # True while the exposure of its event counts what is live here; it counts `held` as held.
        self.weighed = False
        self.held = (Qty(0), Qty(0), Cents(0))
        self._steady = (
            QuoteDebouncer(_BID, ladder.pace.dwell_ns),
            QuoteDebouncer(_ASK, ladder.pace.dwell_ns),
        )
        self._short_until_ns: dict[BookSide, int] = {}
        self._planned_ns = 0

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

        True if its fee rates are others now. Raises ValueError for rates that cannot be read.
        """
        rates = rates_of(market)
        changed = rates != (self.maker_rate, self.taker_rate)
        if changed:
            self.maker_rate, self.taker_rate = rates
            self.terms = RungTerms.at_rates(self.market_id, *rates)
        is_same = market.state is self.market.state and grid_of(market) == grid_of(self.market)
        self.ladder.dirty |= changed or not is_same
        self.market = market
        self.strike = strike_dollars(market.strike_value, market.strike_unit)
        self.news.add(self.place)
        parked = self.parked_at_ns
        if parked is not None and self.is_active and believed_from_ns > parked + PARK_MIN_NS:
            self.parked_at_ns = None
        self.doubt()
        return changed

    # --- what is believed -------------------------------------------------------------------------

    def doubt(self) -> None:
        """Something happened that may change whether it can be quoted: judge it again."""
        self.judge_ns = 0
        self.ladder.unjudged = True

    def suspect(self, now_ns: int) -> None:
        """Send nothing new on its book until that is confirmed; a second later, pull the quotes."""
        if self.suspect_since_ns is None:
            self.suspect_since_ns = now_ns
        self.doubt()

    def is_news(self, seen: m.BookUpdate | m.Trade) -> bool:
        """True if a frame shows something that has just happened, so that its stamp is the venue's
        time: a book with another stamp than the last one, or a new print."""
        if isinstance(seen, m.Trade):
            return not self.book.has_printed(seen.trade_id)
        before_ns, self._stamp_ns = self._stamp_ns, seen.ts_ns
        return before_ns not in (None, seen.ts_ns)

    def saw_book(
        self, seen: m.BookUpdate, own: Sequence[OwnOrder], staleness: StalenessSettings, now_ns: int
    ) -> bool:
        """Take in a book frame. True if a level of ours shrank, so that we may have filled."""
        if self.ladder.venue_time.is_beyond(self.book.newest_ns, now_ns):
            self.forget_stamps()  # they were believed before the venue's clock was known
        old_bids, old_asks, held_ns = self.book.bids, self.book.asks, self.book.ts_ns
        if not self.book.replace(seen.bids, seen.asks, seen.ts_ns, now_ns):
            if held_ns is not None and seen.ts_ns < held_ns - STEP_NS:
                self._saw_older(seen.ts_ns, now_ns)
            return False
        self._saw_newer(seen.ts_ns, held_ns)
        self._confirmed(now_ns)
        self._look_for_depth(staleness, now_ns)
        if self.queues.saw_book(seen.bids, seen.asks, seen.ts_ns, own, now_ns):
            self.recent.own_changed()
        self.ladder.dirty |= not self.is_settled
        if (old_bids, old_asks) == (seen.bids, seen.asks):
            self._look_at_others()
            return False
        self.ladder.dirty = True
        self.news.add(self.place)
        self.others.book_changed()
        sides = {_BID: (old_bids, seen.bids), _ASK: (old_asks, seen.asks)}
        return any(
            size_at(sides[order.book_side][0], level) > size_at(sides[order.book_side][1], level)
            for order in own
            for level in order.yes_prices
        )

    def _confirmed(self, now_ns: int) -> None:
        """The book held was shown, or confirmed. Frames that a paused process finds waiting confirm
        nothing: they may be as old as the pause, until the books were requested again."""
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
        """The book was shown or read: our own size in it may be known now although the book is the
        same."""
        if self.others.has_caught_up:
            self.ladder.dirty = True
            self.news.add(self.place)

    def _look_for_depth(self, staleness: StalenessSettings, now_ns: int) -> None:
        """A book emptied at once is unknown: the venue's store may be gone, not its orders."""
        if self.book.bids or self.book.asks:
            self._emptied_until_ns = 0
        elif self.others.depth_ns is not None:
            until_ns = self.others.depth_ns + staleness.empty_book_grace_ns
            if now_ns < until_ns:
                self._emptied_until_ns = until_ns
                self.doubt()

    def read_book(self, seen: m.BookUpdate, staleness: StalenessSettings, now_ns: int) -> None:
        """Take over a book that no frame has shown; nothing is sent on it unconfirmed."""
        held_ns = self.book.ts_ns
        if self.ladder.venue_time.is_beyond(seen.ts_ns, now_ns):
            self.suspect(now_ns)
        elif self.book.replace(seen.bids, seen.asks, seen.ts_ns, now_ns):
            self._saw_newer(seen.ts_ns, held_ns)
            self.ladder.dirty = True
            self.news.add(self.place)
            self.others.book_changed()
            self._look_for_depth(staleness, now_ns)
            self.suspect(now_ns)

    def _saw_older(self, ts_ns: int, now_ns: int) -> None:
        if self.older_since_ns is None:
            self.older_since_ns, self.older_ns, self.older_frames = now_ns, ts_ns, 1
            self.older_steps = 1
        elif ts_ns < self.older_ns - STEP_NS:  # backwards once more, before the first was certain
            self.older_ns, self.older_frames = ts_ns, 1
            self.older_steps += 1
        elif ts_ns > self.older_ns:
            self.older_ns, self.older_frames = ts_ns, self.older_frames + 1

    def _saw_newer(self, ts_ns: int, held_ns: int | None) -> None:
        # A read may show the very book held for as long as the venue's clock is behind it.
        if held_ns is None or ts_ns > held_ns:
            self.older_since_ns = None

    @property
    def has_stepped_twice(self) -> bool:
        """True if the stamps run backwards and did so once more meanwhile."""
        return self.older_since_ns is not None and self.older_steps > 1

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

    def saw_trade(self, seen: m.Trade, own: Sequence[OwnOrder], now_ns: int) -> bool:
        """Believe a print. Whether it was at or through a price of ours."""
        if not self.book.print_seen(seen, now_ns):
            return False
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
            seen.price <= order.yes_price
            if order.book_side is _BID
            else seen.price >= order.yes_price
            for order in own
        )

    def confirms(self, shown: model.Orderbook, now_ns: int) -> bool:
        """Whether a book read by REST is the one believed; that confirms it.

        One captured well before the newest print confirms nothing: its feed is stuck. Nor does one
        without an instant of capture.
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
        self.recent.own_changed()

    def forget_book(self) -> None:
        """The channel is gone."""
        self.book.forget()
        self.older_since_ns = None
        self.queues.forget_book()
        self.news.add(self.place)
        self.others.book_changed()
        self.doubt()

    def judge(self, channel: str, staleness: StalenessSettings, now_ns: int) -> None:
        """Decide whether the rung can be quoted now, and when to look again at the latest.

        channel: why no rung can be, empty if that is not so.
        """
        suspect = self.suspect_since_ns
        changes = [self.confirmed_ns + staleness.book_ns + 1]
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
        elif not self.book.believable(now_ns, staleness.book_ns):
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
        was_settled = self.is_settled
        shown = self.others.settled(own, now_ns)
        if was_settled and not self.is_settled:
            self.doubt()
        return shown

    def shown_own(
        self, shown: model.Order, venue_ns: int, own: Sequence[OwnOrder], now_ns: int
    ) -> None:
        """An answer to a write showed an order of ours as of this instant of the venue's."""
        self.others.wrote(venue_ns)
        self.news.add(self.place)
        self.queues.wrote(shown, venue_ns, own, now_ns)

    # --- our orders -------------------------------------------------------------------------------

    def tag(self, side: BookSide, price: Price, why: str) -> Tag:
        """What is remembered of an order that leaves now for a canonical price."""
        return tag_of(self.planned, side, price, self.ladder.conduct.name, why)

    def live(self, wish: CreateAction, qty: int) -> OpenExposure:
        """A wanted order as the limits count it."""
        return OpenExposure(
            self.market_id,
            wish.outcome,
            wish.side,
            canonical(wish.outcome, wish.price),
            Qty(qty),
        )

    def is_two_sided(self, desk: OrderManager) -> bool:
        """Whether orders of ours rest on both sides."""
        sides = {own.book_side for own in desk.live(self.market_id) if own.state is _OPEN}
        return len(sides) == len(BookSide)

    def reconfigured(self) -> None:
        """The pace of its event is another one: plan anew."""
        for steady in self._steady:
            steady.last(self.ladder.pace.dwell_ns)
        self.touch()

    def touch(self) -> None:
        """Its changes are to be planned anew, and nothing that was found for them holds."""
        self.ours = None
        self.again_ns = self.ladder.again_ns = 0

    def orders_changed(self) -> None:
        """Our orders or holdings here are not what they were."""
        self.touch()
        self.weighed = False
        self.news.add(self.place)
        self.others.own_changed()
        self.recent.own_changed()
        self.ladder.dirty = True
        self.ladder.eased()

    # --- what is wanted ---------------------------------------------------------------------------

    def want(self, quotes: tuple[Quote, ...], *, pulled: bool) -> None:
        """Make these the wanted quotes. pulled: it is not the strategy that wants nothing here."""
        if pulled:
            self._forget_wishes()
            self.planned = ()
        if quotes != self.wanted:
            self.wanted = quotes
            self._wanted_by_side = by_side(quotes)
            self.again_ns = self.ladder.again_ns = 0

    def _forget_wishes(self) -> None:
        for steady in self._steady:
            steady.forget()

    def took_over(self) -> None:
        """We adopted a resting order. The first target is used without hysteresis, so that the
        order is not cancelled needlessly."""
        self._forget_wishes()
        self.orders_changed()

    def plan(self, ours: WorkingOrders, now_ns: int) -> None:
        """Plan the changes that turn our orders into what is wanted, flicker left out."""
        if not self._planned_ns:
            for flow in self.flows:
                flow.watched(now_ns)
        steady_bids, steady_asks = self._steady
        bids, bids_turn_ns = steady_bids.quotes(self._wanted_by_side[0], now_ns)
        asks, asks_turn_ns = steady_asks.quotes(self._wanted_by_side[1], now_ns)
        again_ns = NEVER_NS if bids_turn_ns is None else bids_turn_ns
        if asks_turn_ns is not None and asks_turn_ns < again_ns:
            again_ns = asks_turn_ns
        short = self._short(now_ns)
        if short:
            again_ns = min(again_ns, *short.values())
        pace = self.ladder.pace
        plan = plan_sides(bids, asks, ours, pace, now_ns, self.worth(now_ns), short)
        self.planned = [*bids, *asks]
        self.wishes = plan.wishes
        if plan.again_ns is not None and plan.again_ns < again_ns:
            again_ns = plan.again_ns
        self.again_ns = again_ns
        self.denied_some = False
        self._planned_ns = now_ns

    def foreseen(self, ours: WorkingOrders, now_ns: int) -> tuple[Action, ...]:
        """The changes that would be planned now for what was planned last; changes nothing."""
        bids, asks = by_side(self.planned)
        short = self._short(now_ns)
        return plan_sides(
            bids, asks, ours, self.ladder.pace, now_ns, self.worth(now_ns), short
        ).wishes

    def _short(self, now_ns: int) -> dict[BookSide, int]:
        """The sides on which a limit has cut an order of late, and until when that counts."""
        return {side: at for side, at in self._short_until_ns.items() if now_ns < at}

    def worth(self, now_ns: int) -> QuoteEconomics:
        """What prices and places are worth here now; asking changes nothing."""
        ladder, fair = self.ladder, self.fair
        return worth_of(
            None if fair is None else fair.value_cents,
            self.flows,
            self.others.shown,
            self.queues,
            ladder.pace,
            ladder.seconds_left(now_ns),
            now_ns,
        )

    def denied(self, wish: Action) -> None:
        """A limit does not admit a wish: it is made again once something the limit may hang on has
        changed, or a second is over."""
        self.wishes = tuple(each for each in self.wishes if each is not wish)
        self.denied_some = True
        self.again_ns = min(self.again_ns, self._planned_ns + _DENIED_NS)
        if not isinstance(wish, AmendAction):
            side = wish.book_side if isinstance(wish, CreateAction) else wish.order.book_side
            self._short_until_ns[side] = self._planned_ns + _SHORT_NS
        self.ladder.denied(self)
