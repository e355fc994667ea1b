"""One rung and one ladder of the series: what is believed of each, and what is wanted there.

A rung is quotable when its market takes orders and its book can be believed; otherwise `blocked`
says in a few words why not. Nothing here sends.

Source: design, The bot, items 2-4; reliability, FEED_OK, rows 32, 39-48; silences S23, S30, S33.
"""

import itertools
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from typing import Final

from bot.core import messages as m
from bot.core.book import Book, microprice, shrunk
from bot.core.desk import NEVER_NS, Desk
from bot.core.estimate import TradedPrice
from bot.core.ladder import Fair, FairCurve, RungInput
from bot.core.ledgers import Ledgers
from bot.core.order import IN_FLIGHT, OwnOrder, State
from bot.core.reconcile import WantCreate
from bot.core.risk import Live, RungTerms
from bot.core.settings import TraderSettings, TrustSettings
from bot.core.strategy import (
    EventView,
    ImpliedView,
    Levels,
    Quote,
    RungView,
    Strategy,
    checked,
)
from venue.wire import instant, model
from venue.wire.instant import NS_PER_SECOND
from venue.wire.money import BookSide, FeeRate, Price, Qty, canonical, is_price
from venue.wire.names import MarketId

PARK_MIN_NS = 2 * NS_PER_SECOND
_PAUSE_ALLOWED_NS = NS_PER_SECOND
_UNSETTLED_MAX_NS = NS_PER_SECOND


class Rung:
    """One rung.

    touched: its orders or wanted quotes changed since its changes were planned. weighed: the
    exposure of its event counts `counted` for it, and that is what is live; `held` is what it
    counts as held. `_others`: the book without our own, until the book or our orders change.
    """

    def __init__(self, market: model.Market, ladder: "Ladder") -> None:
        self.ladder = ladder
        self.market = market
        self.market_id = market.market_id
        self.book = Book()
        self.maker_rate = FeeRate.parse(market.maker_fee_rate)
        self.taker_rate = FeeRate.parse(market.taker_fee_rate)
        self.terms = RungTerms.of(market.market_id, self.maker_rate, self.taker_rate)
        self.strike = strike_dollars(market.strike_value, market.strike_unit)
        self.traded = TradedPrice()
        self.fair: Fair | None = None
        self.wanted: tuple[Quote, ...] = ()
        self.blocked = "not looked at yet"
        self.was_blocked = ""
        self.touched = True
        self.again_ns = NEVER_NS
        self.weighed = False
        self._others: tuple[Levels, Levels] | None = None
        self.counted: tuple[Live, ...] = ()
        self.held: tuple[Qty, Qty] = (Qty(0), Qty(0))
        self.confirmed_ns = 0
        self.read_asked_ns = 0
        self.suspect_since_ns: int | None = None
        self.parked_at_ns: int | None = None
        self.parked_code = ""
        self.side_parked_until_ns: dict[BookSide, int] = {BookSide.BID: 0, BookSide.ASK: 0}
        self._settled_others: tuple[Levels, Levels] = ((), ())
        self._own_change_ns = 0
        self._unsettled_ns: int | None = None

    @property
    def is_active(self) -> bool:
        """Whether the venue says that its market takes orders."""
        return self.market.state is model.MarketState.ACTIVE

    @property
    def is_suspect(self) -> bool:
        """Whether its book wants a confirmation before anything new is sent."""
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
        parked = self.parked_at_ns
        if parked is not None and self.is_active and believed_from_ns > parked + PARK_MIN_NS:
            self.parked_at_ns = None
        return changed

    def saw_book(self, seen: m.BookSeen, own: Iterable[OwnOrder], now_ns: int) -> bool:
        """Believe a book frame. Whether a level of ours shrank, so that we may have filled."""
        old_bids, old_asks = self.book.bids, self.book.asks
        if not self.book.replace(seen.bids, seen.asks, seen.ts_ns, now_ns):
            return False
        self.confirmed_ns = now_ns
        self.suspect_since_ns = None
        self.ladder.dirty |= self._unsettled_ns is not None
        if (old_bids, old_asks) == (seen.bids, seen.asks):
            return False
        self.ladder.dirty = True
        self._others = None
        fallen = {
            BookSide.BID: shrunk(old_bids, seen.bids),
            BookSide.ASK: shrunk(old_asks, seen.asks),
        }
        return any(level in fallen[order.side] for order in own for level in order.levels)

    def read_book(self, seen: m.BookSeen, now_ns: int) -> None:
        """Take over a book that no frame has shown; nothing is sent on it unconfirmed."""
        if self.book.replace(seen.bids, seen.asks, seen.ts_ns, now_ns):
            self.ladder.dirty = True
            self._others = None
            if self.suspect_since_ns is None:
                self.suspect_since_ns = now_ns

    def saw_trade(self, seen: m.TradeSeen, own: Iterable[OwnOrder], now_ns: int) -> bool:
        """Believe a print. Whether it was at or through a price of ours."""
        if not self.book.print_seen(seen, now_ns):
            return False
        self.traded.update(seen.price, seen.size, now_ns)
        self.ladder.dirty = True
        return any(
            seen.price <= order.level if order.side is BookSide.BID else seen.price >= order.level
            for order in own
        )

    def confirm(self, now_ns: int) -> None:
        """Another source shows the same book."""
        self.book.confirm(now_ns)
        self.confirmed_ns = now_ns
        self.suspect_since_ns = None

    def equals(self, shown: model.Orderbook) -> bool:
        """Whether a book read by REST is the one believed."""
        bids = tuple((level.price, level.size) for level in shown.bids)
        asks = tuple((level.price, level.size) for level in shown.asks)
        return self.book.known and (bids, asks) == (self.book.bids, self.book.asks)

    def judge(self, alive: bool, trust: TrustSettings, now_ns: int) -> None:
        """Decide whether the rung can be quoted now."""
        since = self._unsettled_ns
        if since is not None and now_ns >= since + _UNSETTLED_MAX_NS:
            self.ladder.dirty = True
        suspect = self.suspect_since_ns
        if not self.is_active:
            self.blocked = f"market {self.market.state}"
        elif self.parked_at_ns is not None:
            self.blocked = f"refused: {self.parked_code}"
        elif not alive:
            self.blocked = "channel silent"
        elif not self.book.known:
            self.blocked = "no book yet"
        elif not self.book.believable(now_ns, trust.book_ns):
            self.blocked = "book stale"
        elif suspect is not None and now_ns - suspect > _PAUSE_ALLOWED_NS:
            self.blocked = "book not confirmed"
        else:
            self.blocked = ""

    @property
    def may_send(self) -> bool:
        """Whether a create or amend may leave for this rung now."""
        return not self.blocked and self.suspect_since_ns is None

    def side_parked(self, side: BookSide, now_ns: int) -> bool:
        """Whether new orders of a side wait after a refusal."""
        return now_ns < self.side_parked_until_ns[side]

    def live(self, wish: WantCreate, qty: int) -> Live:
        """A wanted order as the limits count it."""
        return Live(
            self.market_id,
            wish.outcome,
            wish.own_side,
            canonical(wish.outcome, wish.price),
            Qty(qty),
        )

    def is_two_sided(self, desk: Desk) -> bool:
        """Whether orders of ours rest on both sides."""
        sides = {own.side for own in desk.live(self.market_id) if own.state is State.OPEN}
        return len(sides) == len(BookSide)

    def orders_changed(self) -> None:
        """Our orders or holdings here are not what they were."""
        self.touched = True
        self.weighed = False
        self._others = None
        self.ladder.dirty = True

    def forget_book(self) -> None:
        """The channel is gone."""
        self.book.forget()
        self._others = None

    def others(self, own: Iterable[OwnOrder]) -> tuple[Levels, Levels]:
        """The book without our own size; what may rest at two prices is taken out at both.

        Right only while book and orders speak of the same instant: see `settled_others`.
        """
        if self._others is None:
            mine: dict[tuple[BookSide, Price], Qty] = {}
            for order in own:
                for level in order.levels:
                    key = (order.side, level)
                    mine[key] = Qty(mine.get(key, 0) + order.remaining)
            self._others = self.book.others(mine)
        return self._others

    def shown_own(self, venue_ns: int) -> None:
        """An answer showed a change of ours that took place at this instant of the venue's."""
        self._own_change_ns = max(self._own_change_ns, venue_ns)

    def settled_others(self, own: Sequence[OwnOrder], now_ns: int) -> tuple[Levels, Levels]:
        """The book without our own size, as of the last instant at which both spoke of one time.

        While a write of ours is under way, or its effect is not in the book yet, our own size
        would be taken for others', or theirs for ours; quotes that followed would follow
        themselves, for ever (row 47). So the view stands still meanwhile, a second at most.
        """
        lags = self.book.known and (self.book.ts_ns or 0) < self._own_change_ns
        if not lags and not any(order.state in IN_FLIGHT for order in own):
            self._unsettled_ns = None
        elif self._unsettled_ns is None:
            self._unsettled_ns = now_ns
        if self._unsettled_ns is None or now_ns >= self._unsettled_ns + _UNSETTLED_MAX_NS:
            self._unsettled_ns = None
            self._settled_others = self.others(own)
        return self._settled_others


class Ladder:
    """One event of the series with its rungs in strike order, its curve and its strategy."""

    def __init__(self, event: model.Event, settings: TraderSettings, strategy: Strategy) -> None:
        self.event = event
        self.strategy = strategy
        self.curve: FairCurve | None = None
        self._proven: dict[MarketId, tuple[Quote, ...]] = {}
        self.rungs: list[Rung] = []
        self.resolution_ns = instant.to_ns(event.resolution_date)
        self.dirty = True
        self.may_quote = False
        self.decided_ns = 0
        self.pulled_until_ns = 0
        self._trust = settings.trust

    @property
    def is_open(self) -> bool:
        """Whether the event trades: open, or closed with rungs left that take orders (S33)."""
        return self.event.status in (model.EventStatus.OPEN, model.EventStatus.CLOSED)

    @property
    def is_ladder(self) -> bool:
        """Whether it is a survival ladder and not one binary market."""
        return bool(self.rungs) and all(rung.strike is not None for rung in self.rungs)

    @property
    def is_understood(self) -> bool:
        """Whether it is one of the two kinds that the limits are exact for."""
        return self.curve is not None

    def active_rungs(self) -> list[Rung]:
        """Rungs that take orders."""
        return [rung for rung in self.rungs if rung.is_active]

    def refresh(self, event: model.Event, believed_from_ns: int) -> list[Rung]:
        """Take in a newer read of the event. Returns rungs that are new or have other fee rates.

        Raises ValueError for what cannot be read; what came before it is taken in.
        """
        known = {rung.market_id: rung for rung in self.rungs}
        new: list[Rung] = []
        repriced: list[Rung] = []
        for market in event.markets:
            rung = known.get(market.market_id)
            if rung is None:
                rung = Rung(market, self)
                new.append(rung)
            elif rung.market != market:
                self.dirty |= rung.market.state is not market.state
            if rung.refresh(market, believed_from_ns):
                repriced.append(rung)
            known[market.market_id] = rung
        self.event = event
        if new:
            self.rungs = [known[market.market_id] for market in event.markets]
            self.curve = self._fresh_curve()
            self.dirty = True
        return new + repriced

    def _fresh_curve(self) -> FairCurve | None:
        """A curve for the rungs as they are now; None when they are neither kind of event."""
        if self.is_ladder and not self.event.mutually_exclusive:
            self.rungs.sort(key=lambda rung: rung.strike or 0.0)
            strikes = [rung.strike or 0.0 for rung in self.rungs]
            rising = all(low < high for low, high in itertools.pairwise([0.0, *strikes]))
            return FairCurve(strikes) if rising else None
        return FairCurve(None) if len(self.rungs) == 1 else None

    def view(
        self, implied: ImpliedView | None, desk: Desk, ledgers: Ledgers, now_ns: int
    ) -> EventView:
        """The event as the strategy sees it; fits the fair curve on the way."""
        seconds = max(0.0, (self.resolution_ns - now_ns) / NS_PER_SECOND)
        books: list[tuple[Levels, Levels]] = [
            rung.settled_others(desk.live(rung.market_id), now_ns) for rung in self.rungs
        ]
        inputs = [
            RungInput(
                bids,
                asks,
                max(0, now_ns - rung.confirmed_ns) / NS_PER_SECOND,
                rung.traded.read(now_ns),
            )
            for rung, (bids, asks) in zip(self.rungs, books, strict=True)
        ]
        fairs: tuple[Fair | None, ...] = (None,) * len(inputs)
        if self.curve is not None:
            fairs = self.curve.update(inputs, implied, seconds, now_ns)
        views = []
        for rung, (bids, asks), fair in zip(self.rungs, books, fairs, strict=True):
            rung.fair = fair
            yes_qty, no_qty = ledgers.holdings(rung.market_id)
            views.append(
                RungView(
                    rung.market_id,
                    rung.market.ticker,
                    rung.strike,
                    bids,
                    asks,
                    microprice(bids, asks),
                    rung.book.last_price,
                    yes_qty,
                    no_qty,
                    rung.maker_rate,
                    rung.taker_rate,
                    None if fair is None else fair.value_cents,
                    None if fair is None else fair.sd_cents,
                    not rung.blocked,
                )
            )
        return EventView(self.event.event_ticker, self.is_ladder, seconds, implied, tuple(views))

    def quotes(self, view: EventView) -> dict[MarketId, tuple[Quote, ...]]:
        """What the strategy wants, proven sane. Raises whatever the strategy raises.

        A strategy may return for a rung the very tuple it returned before: that one was proven.
        """
        wanted = self.strategy.quote(view)
        fresh = {key: each for key, each in wanted.items() if self._proven.get(key) is not each}
        proven = checked(fresh, view)
        self._proven = {key: proven[key] if key in proven else self._proven[key] for key in wanted}
        return self._proven

    def want(self, quotes: Mapping[MarketId, tuple[Quote, ...]]) -> None:
        """Make these the wanted quotes; a blocked rung wants nothing."""
        for rung in self.rungs:
            wanted = () if rung.blocked else quotes.get(rung.market_id, ())
            if wanted != rung.wanted:
                rung.wanted = wanted
                rung.touched = True


def book_seen(shown: model.Orderbook) -> m.BookSeen | None:
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
    return m.BookSeen(shown.market_id, as_of_ns, bids, asks)


_UNITS: Final = {"thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12}


def strike_dollars(text: str | None, unit: str | None) -> float | None:
    """A strike in the unit of the implied value, for fitting a curve only; None without a strike.

    text: a decimal. unit: a free text such as `USD billions`; a size word in it scales the strike.
    """
    if text is None:
        return None
    try:
        strike = Decimal(text)
    except InvalidOperation:
        return None
    words = (unit or "").lower()
    scale = next((factor for word, factor in _UNITS.items() if word in words), 1)
    return float(strike * scale)
