"""One event of the series: its markets in strike order, its curve, its strategy and its quotes; and
one market of it: its state, its target quotes, and the plan that reaches them.

A market is quotable when it takes orders and its book can be believed; otherwise `blocked` says in
a few words why not. Nothing here sends.

See docs/failure-modes.md#feed-ok.
"""

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Final, cast

import msgspec

from bot.core import messages as m
from bot.core.account.reconciler import AccountReconciler
from bot.core.distribution import (
    Alarm,
    Implied,
    alarms,
    certain,
    decided,
    implied_distribution,
)
from bot.core.fair_value.curve import NO_INPUT, Fair, FairCurve, RungInput, is_ladder
from bot.core.fair_value.estimators import TradedPrice
from bot.core.fair_value.flow import NO_FILLS, FlowModel
from bot.core.fair_value.outside_values import OutsideCurve, StatedValue
from bot.core.market_data.market_state import MarketState, VenueClock, microprice
from bot.core.orders.manager import OrderManager
from bot.core.orders.order import OwnOrder, State, Tag, tag_of
from bot.core.orders.outbox import NEVER_NS, Outbox
from bot.core.planning.actions import Action, AmendAction, CancelAction, CreateAction
from bot.core.planning.diff import BySide, QuoteDebouncer, WorkingOrders, by_side, plan_orders
from bot.core.planning.queue_value import QuoteEconomics, TradeRates, loses, quote_economics
from bot.core.quoting.exit import EXIT_NAME, EventExit, ExitRung, LiveShares
from bot.core.quoting.guards import (
    Calendar,
    JumpGuard,
    WindDown,
    allowed,
    net_after,
    widened,
)
from bot.core.quoting.strategy_health import FailedStrategy, StrategyHealth, made_by
from bot.core.quoting.strategy_output import StrategyOutput
from bot.core.report import Move, Reaction
from bot.core.risk.exposure import OpenExposure, RungTerms
from bot.core.risk.limits import grid_of, taken, takes_any
from bot.core.settings import StalenessSettings, TraderSettings
from bot.core.strike import strike_dollars
from bot.core.trading_state import (
    EVERYTHING,
    InForce,
    Restriction,
    Source,
    TradingState,
    in_force,
    stricter,
)
from bot.strategy.api import (
    EventView,
    ImpliedView,
    OwnFill,
    Print,
    Quote,
    Resting,
    RungView,
    Strategy,
    StrategyAnswer,
    Take,
    checked_output,
    mapped,
    name_of,
    split,
    variance_seconds,
)
from venue.wire import instant, model
from venue.wire.instant import NS_PER_SECOND
from venue.wire.money import BookSide, Cents, FeeRate, Outcome, Price, Qty, canonical
from venue.wire.names import MarketId, Ticker

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
        # When the frames came to which a step back of an order, and an improvement, is due.
        self._step_back_ns: dict[OwnOrder, int] = {}
        self._wanted_ns = 0

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
        strike, self.market = self.strike, market
        self.is_certain = self.decided is not None or self.is_over
        self.strike = strike_dollars(market.strike_value, market.strike_unit)
        if changed or not is_same or self.strike != strike:
            self.state.invalidate_view(decide=changed or not is_same)
        if not is_same:
            self.state.invalidate_eligibility()
        self.end_suspension(believed_from_ns)
        return changed

    def end_suspension(self, believed_from_ns: int) -> None:
        """A read of `believed_from_ns` or before shows the market as it is now: an active one takes
        orders again."""
        suspended = self.suspended_ns
        if (
            suspended is not None
            and self.is_active
            and believed_from_ns > suspended + SUSPENDED_MIN_NS
        ):
            self.suspended_ns = None
            self.state.invalidate_eligibility()

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
        quoted_by = self.ladder.quoted_by(self.market_id)
        return tag_of(self.planned, side, price, quoted_by, why)

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
        """The throttle of its event changed: plan again."""
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
            self._wanted_ns = self.ladder.cause_ns
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
        since, cause_ns = self._step_back_ns, self.ladder.cause_ns
        self._step_back_ns = {
            wish.order: since.get(wish.order, cause_ns)
            for wish in plan.actions
            if not isinstance(wish, CreateAction) and wish.is_step_back
        }
        if plan.again_ns is not None and plan.again_ns < again_ns:
            again_ns = plan.again_ns
        self.again_ns = again_ns
        self.denied_some = False
        self._planned_ns = now_ns

    def reaction(self, wish: AmendAction | CancelAction) -> Reaction | None:
        """The reaction to the market that a planned action is, as it leaves; None if it is none."""
        if wish.is_step_back:
            since_ns = self._step_back_ns.get(wish.order, self.ladder.cause_ns)
            return Reaction(Move.ADVERSE, since_ns)
        if isinstance(wish, AmendAction) and wish.is_improvement:
            return Reaction(Move.FAVOURABLE, self._wanted_ns)
        return None

    def value_at(self, fair: Fair | None, orders: Iterable[OwnOrder]) -> None:
        """Use this fair value from now on; plan again if an order of ours has lost its edge by it.
        orders: our live ones here."""
        before, self.fair = self.fair, fair
        if fair is None or fair is before or not self.again_ns:
            return
        for own in orders:
            if loses(own.book_side, own.yes_price, fair.value_cents) and (
                before is None or not loses(own.book_side, own.yes_price, before.value_cents)
            ):
                self.again_ns = 0

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


_TRADING: Final = (model.EventStatus.OPEN, model.EventStatus.CLOSED)

_VIEW_MIN_NS: Final = 2 * NS_PER_SECOND
_VIEW_MAX_NS: Final = 5 * NS_PER_SECOND
"""The view of a quiet market is renewed once the age of its book has doubled, in these bounds."""

_VALID_MAX: Final = 1_024
"""Validated tuples that are remembered."""

_ABSENT: Final = object()
_OVER: Final = RungInput((), (), 0, None, is_over=True)
_FREE: Final = FeeRate.parse("0")
_NO_VIEW: Final = RungView(
    MarketId(""),
    Ticker(""),
    None,
    (),
    (),
    None,
    None,
    Qty(0),
    Qty(0),
    _FREE,
    _FREE,
    None,
    None,
    False,
)


class EventQuoter:
    """One event of the series."""

    def __init__(
        self,
        event: model.Event,
        settings: TraderSettings,
        strategy: Strategy,
        clock: VenueClock,
        began_ns: int,
    ) -> None:
        """clock: the venue's, of the series. began_ns: when the run began."""
        self.event = event
        self.is_open = event.status in _TRADING
        """It trades: open, or closed with rungs left that take orders (S33)."""
        self.resolution_ns = instant.to_ns(event.resolution_date)
        self.clock = clock
        self._began_ns = began_ns
        self.is_read = True  # its newest read was whole
        self.is_understood = False
        """It is of one of the two kinds that the limits are exact for, and was read."""
        self.rungs: list[MarketQuoter] = []
        self.is_ladder = False  # it is a survival ladder and not one binary market
        self.curve: FairCurve | None = None  # None: neither of these two kinds
        self.flow = FlowModel()
        self.jump_guard = JumpGuard(settings.news)
        self.loss_limit_cents: Cents | None = None  # what the event may lose at worst
        self.max_order_qty: dict[MarketId, Qty] = {}
        """The largest order that the venue takes on a rung where it has rejected a larger one."""
        self._takes_any = True  # every market takes every price
        self.pace = settings.pace

        # The strategy, and its newest valid answer: quotes to rest, takes for this very moment.
        self.strategy = strategy
        self.health = StrategyHealth(name_of(strategy))
        self.output = StrategyOutput()
        self.answered: dict[MarketId, tuple[Quote, ...]] = {}
        """The same object while the answer is the same."""
        self.takes: dict[MarketId, tuple[Take, ...]] = {}
        self._quoted_by: dict[MarketId, str] = {}
        self._ask_again_ns = NEVER_NS  # when to ask it though nothing changes
        # By rung and identity: a tuple held here keeps its identity, and cannot change.
        self._valid: dict[tuple[MarketId, int], tuple[Quote, ...]] = {}

        # The views, by place of the rung.
        self.views: list[RungView] = []
        self.fairs: tuple[Fair | None, ...] = ()
        self.changed: list[int] = []
        """The places of the rungs whose views the newest decision replaced."""
        self._inputs: list[RungInput] = []
        self._versions: list[int] = []  # of the market states that the views were made of
        self._look_ns: list[int] = []  # when to look for another book of others, at the latest
        self._due_ns: list[int] = []  # when to renew a view, at the latest

        self.needs_decision = True  # the strategy is to be asked again, whatever the markets say
        self.has_filled = False
        """Fills of ours were booked since the newest decision, so its quotes may be too bold."""
        self.moved_ns = 0
        """When the first frame came that it has not been asked about; 0 for none."""
        self.cause_ns = 0
        """When the frame came that the newest decision follows from, or else when it was made."""
        self._decided_version = 0
        self.decided_ns = 0
        self.was_trimmed = False  # its quotes were cut to what other events had left it
        self.some_blocked = True  # some rung cannot be quoted, as they were judged last
        self.unweighed = True  # the exposure of some rung is stale
        self.worst_cents: Cents | None = None  # of the exposure; None until it is reckoned

        self.wind_down = WindDown(settings.curfew)
        self.calendar = Calendar(event.event_ticker, settings.calendar)
        self.outside: OutsideCurve | None = None
        """The curve moved by values from outside; None before the first."""
        self.outside_until_ns = NEVER_NS  # when the next of them expires
        self._by_operator: Restriction | None = None
        self.exit: EventExit | None = None
        """While there is one, its wishes are taken, and the strategy is not asked."""
        self.exit_turn_ns = NEVER_NS  # when a stage of it ends
        # As it was decided last: what the series' restrictions left, and what its own did, too.
        self._series: InForce | None = None
        self.in_force = EVERYTHING

    def use_settings(self, settings: TraderSettings, strategy: Strategy | None) -> None:
        """Use other settings, and another strategy if there is one, from now on. Resting orders
        stay until the next decision."""
        self.pace = settings.pace
        if settings.curfew != self.wind_down.settings:
            self._end_exit(Source.WIND_DOWN)
        self.wind_down.use_settings(settings.curfew)
        self.calendar.use_settings(settings.calendar)
        self.jump_guard.use_settings(settings.news)
        if strategy is not None:
            self._use_strategy(strategy)
        self.needs_decision = True
        for rung in self.rungs:
            rung.reconfigured()

    def _use_strategy(self, strategy: Strategy) -> None:
        self.strategy = strategy
        self.health = StrategyHealth(name_of(strategy), self.health.calls)
        self.answered, self.takes, self._quoted_by = {}, {}, {}
        self._valid = {}

    def decision_due_ns(self, desk: OrderManager, series: InForce, now_ns: int) -> int:
        """When to ask the strategy: now where its trading state turns, or an order may be too bold;
        throttled for other changes; later, or NEVER_NS, without one. series: what its restrictions
        leave."""
        if (
            self._series != series
            or now_ns >= self.wind_down.until_ns
            or now_ns >= self.calendar.until_ns
            or now_ns >= self.exit_turn_ns
            or now_ns >= self.outside_until_ns
            or (now_ns < self.jump_guard.pulled_until_ns) is not self.jump_guard.was_pulled
        ):
            return now_ns
        version = 0
        for rung in self.rungs:
            version += rung.state.decision_version
        if self.needs_decision or version != self._decided_version:
            return self._throttled_ns(desk, now_ns)
        return self._ask_again_ns

    def quoted_by(self, market_id: MarketId) -> str:
        """Whose quotes of a market are wanted now, for the attribution of profit."""
        if self.exit is not None:
            return EXIT_NAME
        return self._quoted_by.get(market_id, self.health.name)

    def _throttled_ns(self, desk: OrderManager, now_ns: int) -> int:
        """When a change is decided: now if an order of ours may be too bold, after a fill or a move
        of others' mid. A step back is never held back."""
        due_ns = self.decided_ns + self.pace.decide_ns
        if now_ns < due_ns:
            if self.has_filled:
                return now_ns
            for rung in self.rungs:
                state = rung.state
                if state.checked_version != state.version and state.moved_against(
                    desk.live(rung.market_id)
                ):
                    return now_ns
        return due_ns

    def due_ns(self, desk: OrderManager, now_ns: int) -> int:
        """When it is to be judged, decided or planned though nothing but frames came since: now, in
        the past, or later. When a rung is to be planned again by time alone is not in it."""
        version, guard = 0, self.jump_guard
        due_ns = min(
            self.wind_down.until_ns,
            self.calendar.until_ns,
            self.exit_turn_ns,
            self.outside_until_ns,
            self._ask_again_ns,
        )
        for rung in self.rungs:
            state = rung.state
            if not rung.again_ns:
                return now_ns
            if state.judge_ns < due_ns:
                due_ns = state.judge_ns
            version += state.decision_version
        is_pulled = now_ns < guard.pulled_until_ns
        if is_pulled is not guard.was_pulled:
            return now_ns
        if is_pulled:
            due_ns = min(due_ns, guard.pulled_until_ns)
        if self.needs_decision or version != self._decided_version:
            due_ns = min(due_ns, self._throttled_ns(desk, now_ns))
        return due_ns

    def use_outside_values(self, stated: Sequence[StatedValue]) -> None:
        """Use, of these values from outside, those about the event, and no others."""
        tickers = {rung.market.ticker for rung in self.rungs}
        mine = [each for each in stated if self._is_about(each.value, tickers)]
        if self.outside is None:
            if not mine:
                return
            self.outside = OutsideCurve()
        self.outside.use(mine)
        self.needs_decision = True

    def _is_about(self, value: m.OutsideValue, tickers: Collection[Ticker]) -> bool:
        if value.unit is m.ValueUnit.CHANCE:
            return value.about in tickers
        is_about_series = value.about == self.event.series_ticker
        return value.about == self.event.event_ticker or (is_about_series and self.is_ladder)

    # --- reads of the series ----------------------------------------------------------------------

    def refresh(
        self,
        event: model.Event,
        believed_from_ns: int,
        make_strategy: Callable[[], Strategy],
    ) -> list[MarketQuoter]:
        """Take in a newer read of the event. Returns rungs that are new or have other fee rates;
        all of them where a strike changed, for all that depends on their order begins again.

        Raises ValueError for what cannot be read; nothing is taken in then.
        """
        known = {rung.market_id: rung for rung in self.rungs}
        markets = (*event.markets, *self._unlisted(event))
        resolution_ns = instant.to_ns(event.resolution_date)
        for market in markets:
            rates_of(market)
        new: list[MarketQuoter] = []
        repriced: list[MarketQuoter] = []
        reordered = event.mutually_exclusive is not self.event.mutually_exclusive
        for market in markets:
            rung = known.get(market.market_id)
            if rung is None:
                rung = known[market.market_id] = MarketQuoter(market, self)
                new.append(rung)
                continue
            strike = rung.strike
            if rung.refresh(market, believed_from_ns):
                repriced.append(rung)
            reordered |= rung.strike != strike
        self.needs_decision |= event.status is not self.event.status or not self.is_read
        self.event, self.is_open = event, event.status in _TRADING
        self.is_read = True
        if resolution_ns != self.resolution_ns:
            self.resolution_ns = resolution_ns
            self.wind_down.invalidate()
        if reordered:
            self._use_strategy(made_by(make_strategy))
            new, repriced = list(known.values()), []
        if new:
            self.rungs = list(known.values())
            self._begin_views()
            self.needs_decision = True
        self.is_understood = self.curve is not None
        self._takes_any = all(takes_any(rung.market) for rung in self.rungs)
        return new + repriced

    def _begin_views(self) -> None:
        """Begin a curve and views for the rungs as they are now."""
        count = len(self.rungs)
        self.is_ladder = all(rung.strike is not None for rung in self.rungs)
        self.curve = FairCurve(None) if count == 1 else None
        if self.is_ladder and not self.event.mutually_exclusive:
            self.rungs.sort(key=lambda rung: rung.strike or 0.0)
            strikes = [rung.strike or 0.0 for rung in self.rungs]
            self.curve = FairCurve(strikes) if is_ladder(strikes) else None
        self.views, self.fairs, self.changed = [_NO_VIEW] * count, (None,) * count, []
        self._inputs, self._versions = [NO_INPUT] * count, [-1] * count
        self._look_ns, self._due_ns = [0] * count, [0] * count

    def _unlisted(self, event: model.Event) -> Iterator[model.Market]:
        """The rungs that a newer read of the event lacks. The active ones are halted: nothing new
        is quoted there, resting orders are pulled, and their exposure stays. In a settled event
        every rung has resolved."""
        listed = {market.market_id for market in event.markets}
        is_over = event.status is model.EventStatus.SETTLED
        state = model.MarketState.RESOLVED if is_over else model.MarketState.HALTED
        for rung in self.rungs:
            is_gone = rung.market_id not in listed and not rung.is_over
            if is_gone and (is_over or rung.is_active):
                yield msgspec.structs.replace(rung.market, state=state)

    def unread(self) -> None:
        """A newer read of the event is malformed: its present state is unknown."""
        self.needs_decision |= self.is_read
        self.is_read = self.is_understood = False

    def decide_by(self, winner: Callable[[MarketId], Outcome | None]) -> list[MarketQuoter]:
        """Conclude from the resolved rungs which other outcomes are certain. Returns the rungs
        where that changed. winner: of a rung, None while it is not certain."""
        is_one = self.curve is not None and self.is_ladder
        won = [winner(rung.market_id) if is_one else None for rung in self.rungs]
        changed = []
        for rung, outcome in zip(self.rungs, certain(won), strict=True):
            if rung.decided is not outcome:
                rung.decide_outcome(outcome)
                changed.append(rung)
        return changed

    def implied(self, winner: Callable[[MarketId], Outcome | None]) -> Implied | None:
        """The distribution of the value by the fair curve and the resolved rungs; None on a binary
        market, and while it is not known. winner: of a rung, None while it is not certain."""
        if self.curve is None or not self.is_ladder:
            return None
        if any(rung.fair is None and not rung.is_certain for rung in self.rungs):
            return None
        won = [winner(rung.market_id) if rung.is_over else None for rung in self.rungs]
        moved = self.curve if self.outside is None else self.outside
        values = decided(moved.all_cents, won)
        if any(map(math.isnan, values)):
            return None
        strikes = [rung.strike for rung in self.rungs if rung.strike is not None]
        return implied_distribution(strikes, values)

    @property
    def alarms(self) -> tuple[Alarm, ...]:
        """Contradictions in the prices of others at the last decision, and in the curve, on rungs
        of which nothing is certain; none on a binary market."""
        if self.curve is None or not self.is_ladder:
            return ()
        drawn, line = self.curve.drawn_cents, self.curve.line_cents
        live = [index for index, rung in enumerate(self.rungs) if not rung.is_certain]
        markets, views = [self.rungs[index].market for index in live], self.views
        return alarms(
            [market.strike_value or market.ticker for market in markets],
            [(views[index].best_bid, views[index].best_ask) for index in live],
            [drawn[index] for index in live] if drawn else (),
            [line[index] for index in live] if line else (),
        )

    # --- events on its markets --------------------------------------------------------------------

    def on_market_trade(self, rung: MarketQuoter, seen: m.Trade, others: Qty, now_ns: int) -> None:
        """A print on a rung, so many shares of it by others."""
        if not others:
            return
        fair, state = rung.fair, rung.state
        taker = BookSide.BID if seen.taker_bought_yes else BookSide.ASK
        self.flow.on_print(None if fair is None else fair.value_cents, seen.price, taker)
        book = (state.bids, state.asks)
        self.jump_guard.on_market_trade(rung.market.ticker, seen.price, others, taker, book, now_ns)

    def on_move(self, now_ns: int) -> None:
        """A frame came that the strategy has not been asked about."""
        self.moved_ns = self.moved_ns or now_ns

    def on_own_fill(self, rung: MarketQuoter, side: BookSide, at_ns: int) -> None:
        """A fill of ours was booked on a rung."""
        self.has_filled = True
        fair = None if rung.fair is None else rung.fair.value_cents
        self.flow.on_own_fill(rung.market_id, fair, side, at_ns)

    def on_own_change(self) -> None:
        """The exposure of a rung is stale: a limit may admit an action that it denied."""
        self.unweighed = True
        for rung in self.rungs:
            if rung.denied_some:
                rung.touch()

    # --- deciding ---------------------------------------------------------------------------------

    def view(
        self,
        implied: ImpliedView | None,
        desk: OrderManager,
        ledgers: AccountReconciler,
        now_ns: int,
    ) -> EventView:
        """The event as the strategy sees it; fits the fair curve on the way.

        A rung on which nothing happened keeps its view for some seconds at most, while its fair
        value has hardly moved (`FairCurve`): ages lag by as much.
        """
        left_ns = max(0, self.resolution_ns - now_ns)
        seconds = left_ns / NS_PER_SECOND
        dates = self.calendar.coming(now_ns, self.resolution_ns)
        rungs, versions, inputs = self.rungs, self._versions, self._inputs
        changed = self.changed = []
        owns: list[list[OwnOrder]] = []
        for index, rung in enumerate(rungs):
            state = rung.state
            is_stale = versions[index] != state.version
            if not is_stale and now_ns < self._look_ns[index]:
                continue
            own, before = desk.live(rung.market_id), state.external
            is_same = state.settle_external(own, now_ns) is before and not is_stale
            if is_same and now_ns < self._due_ns[index]:
                continue
            versions[index] = state.version
            if rung.is_certain:
                inputs[index] = _OVER
            else:
                confirmed_ns = state.confirmed_ns if rung.blocked else None
                inputs[index] = RungInput(
                    *state.external, state.external_ns, rung.traded.mean, confirmed_ns
                )
            changed.append(index)
            owns.append(own)
        moved: Sequence[int] = ()
        if self.curve is not None:
            variance_s = variance_seconds(seconds, dates)
            self.fairs = self.curve.update(inputs, implied, variance_s, now_ns)
            moved = self.curve.moved
        if self.outside is not None:
            if self.curve is not None:
                tickers = [rung.market.ticker for rung in rungs]
                self.fairs = self.outside.adjusted(self.curve, tickers, variance_s, now_ns)
                moved = range(len(rungs))
            self.outside_until_ns = self.outside.next_expiry_ns(now_ns)
        for index, own in zip(changed, owns, strict=True):
            rungs[index].value_at(self.fairs[index], own)
            self.views[index] = self._view_rung(index, own, ledgers, now_ns)
        for index in moved:
            fair = self.fairs[index]
            if fair is not rungs[index].fair:
                rungs[index].value_at(fair, desk.live(rungs[index].market_id))
                self.views[index] = msgspec.structs.replace(
                    self.views[index],
                    fair_cents=None if fair is None else fair.value_cents,
                    fair_sd_cents=None if fair is None else fair.sd_cents,
                )
                changed.append(index)
        return EventView(
            self.event.event_ticker,
            self.is_ladder,
            seconds,
            implied,
            tuple(self.views),
            now_s=max(0, now_ns - self._began_ns) / NS_PER_SECOND,
            cash_cents=ledgers.available_cents,
            loss_limit_cents=self.loss_limit_cents,
            intensity=self.flow.intensity,
            size_part=self.in_force.divisor,
            memory=self.output.memory(self.health.name),
            dates=dates,
            unix_s=now_ns / NS_PER_SECOND,
        )

    def _view_rung(
        self, index: int, own: list[OwnOrder], ledgers: AccountReconciler, now_ns: int
    ) -> RungView:
        """A rung as the strategy sees it; sets when to renew the view. own: its live orders."""
        rung, curve = self.rungs[index], self.curve
        state, fair = rung.state, rung.fair
        bids, asks = state.external
        yes_qty, no_qty = ledgers.holdings(rung.market_id)
        age_ns = max(0, now_ns - state.confirmed_ns)
        due_ns = now_ns + min(_VIEW_MAX_NS, max(_VIEW_MIN_NS, age_ns))
        volatility_cents = 0.0
        if curve is not None:
            volatility_cents = rung.traded.volatility_cents = curve.volatilities[index]
            due_ns = min(due_ns, curve.again_ns[index])
        self._due_ns[index] = due_ns
        # A frozen book of others may move at any moment.
        self._look_ns[index] = due_ns if state.settles_ns is None else now_ns
        prints: tuple[Print, ...] = ()
        fills: tuple[OwnFill, ...] = ()
        if state.has_activity:
            prints, fills = state.activity(now_ns)
            self._versions[index] = -1  # the strategy sees them once
        adverse = self.flow.adverse.get(rung.market_id, NO_FILLS)
        return RungView(
            rung.market_id,
            rung.market.ticker,
            rung.strike,
            bids,
            asks,
            microprice(*bids[0], *asks[0]) if bids and asks else None,
            state.last_price,
            yes_qty,
            no_qty,
            rung.maker_rate,
            rung.taker_rate,
            None if fair is None else fair.value_cents,
            None if fair is None else fair.sd_cents,
            not rung.blocked,
            book_age_s=age_ns / NS_PER_SECOND,
            volatility_cents=volatility_cents,
            adverse_bid_cents=adverse.bid_cents,
            adverse_ask_cents=adverse.ask_cents,
            prints=prints,
            fills=fills,
            own=state.own_quotes(own, now_ns),
            traded_flow_qty=state.flow_qty,
            flow_age_s=(now_ns - state.flow_ns) / NS_PER_SECOND if state.flow_ns else 0.0,
        )

    def learn(self, view: EventView, out: Outbox, now_ns: int) -> None:
        """Learn from a decision, and look for news: counted and logged once when it begins."""
        was_pulled = self.jump_guard.was_pulled
        is_pulled = self.jump_guard.on_decision(
            [view.rungs[index] for index in self.changed], now_ns
        )
        fairs = {rung.market_id: rung.fair_cents for rung in view.rungs}
        if judged := self.flow.on_decision(fairs, now_ns):
            for rung in self.rungs:
                if rung.market_id in judged:
                    rung.state.invalidate_view(decide=False)
        if is_pulled and not was_pulled:
            out.counters.news_pulls += 1
            out.note("warning", "news", event=self.event.event_ticker, why=self.jump_guard.why)

    def ask_strategy(self, view: EventView) -> Resting:
        """The quotes that the strategy wants to rest, validated, as the trading state allows and as
        the venue takes them; `takes` likewise. Raises whatever the strategy raises.

        A strategy may return for a rung a very tuple that it returned before: that one is valid. A
        tuple with takes never is: each answer wants its takes once.
        """
        for index in self.changed:
            state = self.rungs[index].state
            if state.has_activity:
                state.clear_activity()
        if isinstance(self.strategy, FailedStrategy):
            self.strategy = self.strategy.made()
            self.health.name = name_of(self.strategy)
        self.health.calls += 1
        answer = self.strategy.quote(view)
        output = None
        if isinstance(answer, StrategyAnswer):
            output, answer = checked_output(answer), answer.quotes
        wanted = cast("Resting", answer if type(answer) is dict else mapped(answer))
        before = self.answered
        others = [key for key, each in wanted.items() if before.get(key, _ABSENT) is not each]
        takes: dict[MarketId, tuple[Take, ...]] = {}
        if others or wanted.keys() != before.keys():
            resting, valid = dict(wanted), self._valid
            fresh = {
                key: wanted[key]
                for key in others
                if valid.get((key, id(wanted[key])), _ABSENT) is not wanted[key]
            }
            if fresh:
                proven = split(fresh, view)
                takes = proven.takes
                resting.update(proven.resting)
                for key, rows in proven.resting.items():
                    if rows is fresh[key]:
                        if len(valid) >= _VALID_MAX:
                            valid.clear()
                        valid[key, id(rows)] = rows
            self.answered = resting
        self.takes = takes
        if output is not None or self.output.diagnostics:
            self.output.take(output, self.health.name)
        self._quoted_by = {} if output is None else output.quoted_by
        if output is not None and output.again_s is not None:
            again_ns = self.decided_ns + round(output.again_s * NS_PER_SECOND)
            self._ask_again_ns = max(again_ns, self.decided_ns + self.pace.decide_ns)
        quotes: Resting = self.answered
        if self.in_force != EVERYTHING:
            quotes = self._allowed(quotes, view, self.in_force)
        return self.as_taken(quotes) if self.max_order_qty or not self._takes_any else quotes

    def _allowed(self, quotes: Resting, view: EventView, limit: InForce) -> Resting:
        """The quotes as the trading state allows; `takes` likewise."""
        net_qty = {rung.market_id: rung.net_qty for rung in view.rungs}
        self.takes = dict(allowed(self.takes, net_qty, limit))
        fair_cents = {rung.market_id: rung.fair_cents for rung in view.rungs}
        within = allowed(quotes, net_after(net_qty, self.takes), limit)
        return widened(within, fair_cents, limit.width_pct)

    # --- its exit ---------------------------------------------------------------------------------

    def begin_exit(self, wanted: EventExit) -> None:
        """Exit its inventory from now on. This replaces the operator's restriction of the event,
        and an exit before it."""
        self._by_operator, self.exit = None, wanted
        self._series = None

    def exit_rungs(
        self, running: EventExit, desk: OrderManager, ledgers: AccountReconciler, now_ns: int
    ) -> list[ExitRung]:
        """Its rungs whose payout is not certain, as an exit sees them."""
        found = []
        for rung in self.rungs:
            if rung.is_certain:
                continue
            market_id = rung.market_id
            fair_cents = None if rung.fair is None else rung.fair.value_cents
            yes_qty, no_qty = ledgers.holdings(market_id)
            side = BookSide.ASK if yes_qty > no_qty else BookSide.BID
            # Ended orders whose fills are not booked are among the second.
            orders = {id(own): own for own in desk.live(market_id)}
            orders |= {id(own): own for own in desk.with_fills(market_id)}
            mine = orders.values()
            bids, asks = rung.state.external
            found.append(
                ExitRung(
                    market_id=market_id,
                    ticker=rung.market.ticker,
                    net_qty=yes_qty - no_qty,
                    fair_cents=fair_cents,
                    arrival_millicents=running.arrival_millicents(market_id, fair_cents),
                    bids=bids,
                    asks=asks,
                    rate=max(rung.maker_rate, rung.taker_rate),
                    sold_per_s=rung.flows[0].per_second(now_ns),
                    bought_per_s=rung.flows[1].per_second(now_ns),
                    orders=tuple([LiveShares.of(own, ledgers.booked_qty(own)) for own in mine]),
                    may_quote=not rung.blocked,
                    may_take=not any(
                        own.is_live and (own.is_take or (own.is_unknown and own.book_side is side))
                        for own in mine
                    ),
                )
            )
        return found

    def ask_exit(
        self,
        running: EventExit,
        view: EventView,
        rungs: Sequence[ExitRung],
        loss_limit_cents: Cents,
        ticks_through: int,
    ) -> Resting:
        """As `ask_strategy`, what its exit wants, in whole sizes. The arguments are those of
        `EventExit.wishes`."""
        for rung in self.rungs:
            rung.state.clear_activity()
        if running.over:
            self._series = None  # what that restricts is judged at once
            self.takes = {}
            return {}
        wanted = running.wishes(rungs, loss_limit_cents, ticks_through, self.decided_ns)
        proven = split(wanted, view)
        self.takes = proven.takes
        limit = InForce(self.in_force.state, 1)
        return self.as_taken(self._allowed(proven.resting, view, limit))

    def as_taken(self, quotes: Resting) -> Resting:
        """No quote larger than the learned ceiling, each on the price grid of its market."""
        return {
            rung.market_id: taken(
                quotes[rung.market_id], rung.market, self.max_order_qty.get(rung.market_id)
            )
            for rung in self.rungs
            if rung.market_id in quotes
        }

    def want(self, quotes: Resting, *, pulled: bool) -> None:
        """Make these the wanted quotes; a blocked rung wants nothing. pulled: nothing is wanted,
        for a reason that is not the strategy's."""
        for rung in self.rungs:
            if pulled or rung.blocked:
                rung.want((), pulled=True)
                continue
            wanted = quotes.get(rung.market_id, ())
            if wanted is not rung.wanted:
                rung.want(wanted, pulled=False)

    def begin_decision(self, series: InForce, now_ns: int) -> None:
        """It is decided now: later market changes need another decision. series: what the
        restrictions of the series leave."""
        self.needs_decision = self.was_trimmed = self.has_filled = False
        self._ask_again_ns = NEVER_NS
        self._decided_version = sum([rung.state.decision_version for rung in self.rungs])
        self._series, self.decided_ns = series, now_ns
        self.cause_ns, self.moved_ns = self.moved_ns or now_ns, 0
        if now_ns >= self.wind_down.until_ns:
            self.wind_down.judge(self.resolution_ns, now_ns)
            if self.wind_down.is_exiting and self.exit is None:
                self._begin_last_exit(now_ns)
        if now_ns >= self.calendar.until_ns:
            self.calendar.restrict(now_ns)
            if self.calendar.brings_variance:
                # Once a date is over, the volatility of quiet rungs is another, too.
                self._versions = [-1] * len(self.rungs)
        if self.exit is not None:
            self.exit.on_time(now_ns)
            self.exit_turn_ns = self.exit.turn_ns(now_ns)
        self.judge_state(series, now_ns)

    def _begin_last_exit(self, now_ns: int) -> None:
        """The wind-down has come to its last stage."""
        settings = self.wind_down.settings
        within_ns = self.resolution_ns - settings.stop_ns - now_ns
        why, most_cents = "the event resolves soon", settings.exit_max_cost_cents
        self.exit = EventExit(Source.WIND_DOWN, why, within_ns, most_cents, now_ns)

    def _end_exit(self, source: Source) -> None:
        """Forget its exit, if it is of this source."""
        if self.exit is not None and self.exit.source is source:
            self.exit, self.exit_turn_ns = None, NEVER_NS
            self._series = None
            self.wind_down.invalidate()  # its own may be due

    def restrict(self, by_operator: Restriction | None) -> None:
        """Put the operator's restriction of this event in the place of the one before, or of the
        operator's exit; None ends both. It is decided at once."""
        self._end_exit(Source.OPERATOR)
        if by_operator is not self._by_operator:
            self._by_operator = by_operator
            self._series = None

    def judge_state(self, series: InForce, now_ns: int) -> None:
        """Put the strictest in force of the series' restrictions and its own."""
        if (
            series == EVERYTHING
            and self.is_open
            and self.is_understood
            and self._by_operator is None
            and self.exit is None
            and not self.calendar.restrictions
            and now_ns >= self.health.pulled_until_ns
            and now_ns >= self.jump_guard.pulled_until_ns
        ):
            self.in_force = self.wind_down.in_force
        else:
            self.in_force = stricter(series, in_force(self.restrictions(now_ns)))

    def restrictions(self, now_ns: int) -> list[Restriction]:
        """Its own, not those of the series."""
        running = self.exit
        found = [
            self._by_operator,
            None if running is None else running.restriction(),
            self._untradable(),
            # An exit does not ask the strategy.
            self.health.restriction(now_ns) if running is None or running.over else None,
            None
            if running is not None and running.is_crossing(now_ns)
            else self.jump_guard.restriction(now_ns),
            self.wind_down.restriction,
            *self.calendar.restrictions,
        ]
        return [each for each in found if each is not None]

    def _untradable(self) -> Restriction | None:
        why = ""
        if not self.is_open:
            why = f"event {self.event.status}"
        elif not self.is_read:
            why = "its newest read cannot be read"
        elif not self.is_understood:
            why = "neither a survival ladder nor one binary market"
        if not why:
            return None
        ends = "a later read of the series shows it otherwise"
        return Restriction(source=Source.VENUE, state=TradingState.HALTED, why=why, ends=ends)
