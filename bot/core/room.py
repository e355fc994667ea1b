"""One ladder of the series: its rungs in strike order, its curve, its strategy and what that wants.

Source: design, The bot, items 2-4; reliability, rows 32, 77; silences S23, S33.
"""

import itertools
from collections.abc import Mapping

from bot.core import messages as m
from bot.core.book import microprice
from bot.core.bounds import taken
from bot.core.desk import NEVER_NS, Desk
from bot.core.ladder import Fair, FairCurve, RungInput
from bot.core.ledgers import Ledgers
from bot.core.rung import PARK_MIN_NS, Rung
from bot.core.settings import TraderSettings
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
from venue.wire.money import Cents, Qty, is_price
from venue.wire.names import MarketId

__all__ = ["PARK_MIN_NS", "Ladder", "Rung", "book_seen"]


class Ladder:
    """One event of the series with its rungs in strike order, its curve and its strategy.

    dirty: the strategy is to be asked anew. unjudged, stirred: some rung is to be judged, to be
    planned. again_ns: when a plan of some rung is to be looked at again. has_wishes: some plan is
    not carried out yet. unweighed: the exposure is not what is live on some rung; worst_cents: its
    worst case, None until it is reckoned. ceilings: the largest order that the venue was seen to
    take on a rung, where it has refused a larger one.
    """

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
        self.pace = settings.pace
        self.unjudged = True
        self.stirred = True
        self.again_ns = NEVER_NS
        self.has_wishes = False
        self.unweighed = True
        self.worst_cents: Cents | None = None
        self._some_denied = False
        self.ceilings: dict[MarketId, Qty] = {}

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
            self.stirred = True
            self.unjudged = True
        return new + repriced

    def _fresh_curve(self) -> FairCurve | None:
        """A curve for the rungs as they are now; None when they are neither kind of event."""
        if self.is_ladder and not self.event.mutually_exclusive:
            self.rungs.sort(key=lambda rung: rung.strike or 0.0)
            strikes = [rung.strike or 0.0 for rung in self.rungs]
            rising = all(low < high for low, high in itertools.pairwise([0.0, *strikes]))
            return FairCurve(strikes) if rising else None
        return FairCurve(None) if len(self.rungs) == 1 else None

    def seconds_left(self, now_ns: int) -> float:
        """Seconds until it resolves, never below zero."""
        return max(0.0, (self.resolution_ns - now_ns) / NS_PER_SECOND)

    def denied(self, rung: Rung) -> None:
        """A limit denied a wish of a rung."""
        self._some_denied = True
        self.again_ns = min(self.again_ns, rung.again_ns)

    def eased(self) -> None:
        """What is live or held on a rung of the event changed: a limit may admit what it denied."""
        self.unweighed = True
        if self._some_denied:
            self._some_denied = False
            for rung in self.rungs:
                if rung.denied_some:
                    rung.touch()

    def view(
        self, implied: ImpliedView | None, desk: Desk, ledgers: Ledgers, now_ns: int
    ) -> EventView:
        """The event as the strategy sees it; fits the fair curve on the way."""
        seconds = self.seconds_left(now_ns)
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

    def want(self, quotes: Mapping[MarketId, tuple[Quote, ...]], *, pulled: bool) -> None:
        """Make these the wanted quotes; a blocked rung wants nothing. pulled: nothing is wanted,
        for a reason that is not the strategy's."""
        for rung in self.rungs:
            if rung.blocked or pulled:
                rung.want((), pulled=True)
            else:
                wanted = quotes.get(rung.market_id, ())
                ceiling = self.ceilings.get(rung.market_id)
                rung.want(taken(wanted, rung.market, ceiling), pulled=False)


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
