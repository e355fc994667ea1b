"""One market of the series: its state, its target quotes, and the plan that reaches them.

A market is quotable when it takes orders and its book can be believed; otherwise `blocked` says in
a few words why not. Nothing here sends.

See docs/failure-modes.md#feed-ok.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from bot.core import messages as m
from bot.core.fair_value.curve import Fair
from bot.core.fair_value.estimators import TradedPrice
from bot.core.market_data.market_state import MarketState
from bot.core.orders.manager import OrderManager
from bot.core.orders.order import OwnOrder, State, Tag, tag_of
from bot.core.orders.outbox import NEVER_NS
from bot.core.planning.actions import Action, AmendAction, CreateAction
from bot.core.planning.diff import BySide, QuoteDebouncer, WorkingOrders, by_side, plan_orders
from bot.core.planning.queue_value import QuoteEconomics, TradeRates, quote_economics
from bot.core.risk.exposure import OpenExposure, RungTerms
from bot.core.risk.limits import grid_of
from bot.core.settings import StalenessSettings
from bot.core.strike import strike_dollars
from bot.strategy.api import Quote
from venue.wire import model
from venue.wire.instant import NS_PER_SECOND
from venue.wire.money import BookSide, Cents, FeeRate, Outcome, Price, Qty, canonical

if TYPE_CHECKING:
    from bot.core.quoting.event_quoter import EventQuoter

_BID: Final = BookSide.BID
_ASK: Final = BookSide.ASK
_OPEN: Final = State.OPEN
_ACTIVE: Final = model.MarketState.ACTIVE
_RESOLVED: Final = model.MarketState.RESOLVED

SUSPENDED_MIN_NS = 2 * NS_PER_SECOND

_DENIED_NS = NS_PER_SECOND
"""A denied action is planned again this late, at the latest."""

_SHORT_NS = 10 * NS_PER_SECOND
"""So long after a limit cut an order of a side, no order there is given up to come back larger."""


def rates_of(market: model.Market) -> tuple[FeeRate, FeeRate]:
    """The maker's and the taker's fee rate. Raises ValueError for one that cannot be read."""
    return FeeRate.parse(market.maker_fee_rate), FeeRate.parse(market.taker_fee_rate)


class MarketQuoter:
    """One market."""

    def __init__(self, market: model.Market, ladder: "EventQuoter") -> None:
        self.ladder = ladder
        self.market = market
        self.market_id = market.market_id
        self.state = MarketState(ladder.clock, ladder.pace.queue_power_pct / 100)
        self.maker_rate, self.taker_rate = rates_of(market)
        self.terms = RungTerms.at_rates(market.market_id, self.maker_rate, self.taker_rate)
        self.strike = strike_dollars(market.strike_value, market.strike_unit)
        self.traded = TradedPrice()
        self.flows = (TradeRates(), TradeRates())  # what trades against its bids, and its asks
        self.fair: Fair | None = None
        self.decided: Outcome | None = None  # by a winner of its ladder
        self.is_certain = market.state is _RESOLVED
        """True if it has resolved, or a winner of its ladder has decided its payout."""
        self.blocked = "not looked at yet"
        self.suspended_ns: int | None = None
        self.suspended_code = ""
        self.side_suspended_until_ns = {_BID: 0, _ASK: 0}
        self.is_foreign = False  # somebody else has orders here

        self.wanted: tuple[Quote, ...] = ()
        self._wanted_by_side: BySide = ([], [])
        self.planned: Sequence[Quote] = ()
        self.ours: WorkingOrders | None = None  # until our orders may have changed
        self.wishes: tuple[Action, ...] = ()
        self.again_ns = 0  # when `wishes` are planned again; 0 at once
        self.denied_some = False
        # True while the exposure of its event counts the live orders here; it counts `held`.
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
        """True if the market takes orders."""
        return self.market.state is _ACTIVE

    @property
    def is_over(self) -> bool:
        """True if it has resolved, and never trades again."""
        return self.market.state is _RESOLVED

    def refresh(self, market: model.Market, believed_from_ns: int) -> bool:
        """Take in a newer read of its market, of `believed_from_ns` or before. True if its fee
        rates changed. Raises ValueError for rates that cannot be read."""
        rates = rates_of(market)
        changed = rates != (self.maker_rate, self.taker_rate)
        if changed:
            self.maker_rate, self.taker_rate = rates
            self.terms = RungTerms.at_rates(self.market_id, *rates)
        is_same = market.state is self.market.state and grid_of(market) == grid_of(self.market)
        self.market = market
        self.is_certain = self.decided is not None or self.is_over
        self.strike = strike_dollars(market.strike_value, market.strike_unit)
        self.state.invalidate_view(decide=changed or not is_same)
        suspended = self.suspended_ns
        if (
            suspended is not None
            and self.is_active
            and believed_from_ns > suspended + SUSPENDED_MIN_NS
        ):
            self.suspended_ns = None
        self.state.invalidate_eligibility()
        return changed

    def decide_outcome(self, outcome: Outcome | None) -> None:
        """A winner of its ladder decides its payout; None: no longer."""
        self.decided = outcome
        self.is_certain = outcome is not None or self.is_over
        self.state.invalidate_view()
        self.state.invalidate_eligibility()

    def suspend(self, code: str, now_ns: int) -> None:
        """The venue takes no order here until a later read of the series says so."""
        self.suspended_ns, self.suspended_code = now_ns, code
        self.state.invalidate_eligibility()
        self.state.invalidate_decision()

    def set_foreign(self, is_foreign: bool) -> None:
        """Somebody else has, or no longer has, orders here."""
        if self.is_foreign is not is_foreign:
            self.is_foreign = is_foreign
            self.state.invalidate_eligibility()

    def suspend_side(self, side: BookSide, until_ns: int) -> None:
        """No new order on a side until then, or longer if it is suspended for longer."""
        self.side_suspended_until_ns[side] = max(self.side_suspended_until_ns[side], until_ns)
        self.touch()

    # --- market data ------------------------------------------------------------------------------

    def on_trade(self, seen: m.Trade, own: Sequence[OwnOrder], now_ns: int) -> bool:
        """True if the print was at or through a price of ours: we may have filled."""
        ours = self.state.on_trade(seen, own, now_ns)
        if ours is None:
            return False
        self.traded.update(seen.price, seen.size, now_ns)
        self.flows[seen.taker_bought_yes].on_trade(seen.size, now_ns)
        self.ladder.on_market_trade(self, seen, Qty(seen.size - ours), now_ns)
        return any(
            seen.price <= order.yes_price
            if order.book_side is _BID
            else seen.price >= order.yes_price
            for order in own
        )

    def judge_eligibility(self, feed: str, staleness: StalenessSettings, now_ns: int) -> None:
        """Decide whether the market can be quoted now. feed: why no market can be, or empty."""
        why = ""
        if not self.is_active:
            why = f"market {self.market.state}"
        elif self.decided is not None:
            why = f"decided {self.decided}"
        elif self.suspended_ns is not None:
            why = f"refused: {self.suspended_code}"
        elif self.is_foreign:
            why = "orders of somebody else rest here"
        before, self.blocked = (
            self.blocked,
            self.state.judge_freshness(why or feed, staleness, now_ns),
        )
        if before != self.blocked:
            self.state.invalidate_view()
            if self.blocked:
                # Its quotes do not wait for the next decision, which may be minutes away.
                self.want((), pulled=True)

    @property
    def may_send(self) -> bool:
        """True if a create or amend may leave for this market now."""
        return not self.blocked and self.state.suspect_since_ns is None

    def is_side_suspended(self, side: BookSide, now_ns: int) -> bool:
        """True if new orders of a side wait after a reject."""
        return now_ns < self.side_suspended_until_ns[side]

    # --- our orders -------------------------------------------------------------------------------

    def tag(self, side: BookSide, price: Price, why: str) -> Tag:
        """The tag of an order that leaves now for a canonical price."""
        return tag_of(self.planned, side, price, self.ladder.health.name, why)

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
        """True if orders of ours rest on both sides."""
        sides = {own.book_side for own in desk.live(self.market_id) if own.state is _OPEN}
        return len(sides) == len(BookSide)

    def reconfigured(self) -> None:
        """The pace of its event changed: plan again."""
        self.state.queue_power = self.ladder.pace.queue_power_pct / 100
        for steady in self._steady:
            steady.set_window(self.ladder.pace.dwell_ns)
        self.touch()

    def forget_working(self) -> None:
        """The next plan reads our orders again; no plan is due for it."""
        self.ours = None

    def touch(self) -> None:
        """Plan it again at once, from our orders as they are."""
        self.ours = None
        self.again_ns = 0

    def orders_changed(self) -> None:
        """Our orders or inventory here changed."""
        self.ours = None
        self.again_ns = 0
        self.weighed = False
        self.state.on_own_change()
        self.ladder.on_own_change()

    # --- targets ----------------------------------------------------------------------------------

    def want(self, quotes: tuple[Quote, ...], *, pulled: bool) -> None:
        """Make these the wanted quotes. pulled: it is not the strategy that wants nothing here."""
        if pulled:
            self._forget_targets()
            self.planned = ()
        if quotes != self.wanted:
            self.wanted = quotes
            self._wanted_by_side = by_side(quotes)
            self.again_ns = 0

    def _forget_targets(self) -> None:
        for steady in self._steady:
            steady.reset()

    def took_over(self) -> None:
        """We adopted a resting order. The first target is used without hysteresis, so that the
        order is not cancelled needlessly."""
        self._forget_targets()
        self.orders_changed()

    def plan_orders(self, ours: WorkingOrders, now_ns: int) -> None:
        """Plan the actions that turn our orders into the wanted quotes, flicker left out."""
        if not self._planned_ns:
            for flow in self.flows:
                flow.watch_from(now_ns)
        steady_bids, steady_asks = self._steady
        bids, bids_turn_ns = steady_bids.debounce(self._wanted_by_side[0], now_ns)
        asks, asks_turn_ns = steady_asks.debounce(self._wanted_by_side[1], now_ns)
        again_ns = NEVER_NS if bids_turn_ns is None else bids_turn_ns
        if asks_turn_ns is not None and asks_turn_ns < again_ns:
            again_ns = asks_turn_ns
        short = self._short(now_ns) if self._short_until_ns else {}
        if short:
            again_ns = min(again_ns, *short.values())
        pace = self.ladder.pace
        plan = plan_orders(bids, asks, ours, pace, now_ns, self.worth(now_ns), short)
        self.planned = [*bids, *asks]
        self.wishes = plan.actions
        if plan.again_ns is not None and plan.again_ns < again_ns:
            again_ns = plan.again_ns
        self.again_ns = again_ns
        self.denied_some = False
        self._planned_ns = now_ns

    def foreseen(self, ours: WorkingOrders, now_ns: int) -> tuple[Action, ...]:
        """The actions that would be planned now for the last planned quotes; changes nothing."""
        bids, asks = by_side(self.planned)
        short = self._short(now_ns)
        return plan_orders(
            bids, asks, ours, self.ladder.pace, now_ns, self.worth(now_ns), short
        ).actions

    def _short(self, now_ns: int) -> dict[BookSide, int]:
        """The sides on which a limit has cut an order, and until when that counts."""
        return {side: at for side, at in self._short_until_ns.items() if now_ns < at}

    def worth(self, now_ns: int) -> QuoteEconomics:
        """The worth of prices and queue positions here now; changes nothing."""
        ladder, fair = self.ladder, self.fair
        return quote_economics(
            None if fair is None else fair.value_cents,
            self.flows,
            self.state.external,
            self.state.queues,
            ladder.pace,
            max(0, ladder.resolution_ns - now_ns) / NS_PER_SECOND,
            now_ns,
        )

    def denied(self, wish: Action) -> None:
        """A limit denied an action: plan it again once something that the limit depends on has
        changed, or a second is over."""
        self.wishes = tuple(each for each in self.wishes if each is not wish)
        self.denied_some = True
        self.again_ns = min(self.again_ns, self._planned_ns + _DENIED_NS)
        if not isinstance(wish, AmendAction):
            side = wish.book_side if isinstance(wish, CreateAction) else wish.order.book_side
            self._short_until_ns[side] = self._planned_ns + _SHORT_NS
