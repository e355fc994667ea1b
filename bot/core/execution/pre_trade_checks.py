"""The one door: may an amend or a create leave now, and if not, why.

`PreTradeChecks.may_send` asks every limit once and changes nothing. What the bot does after each
`HeldBack` is in `executor`. Behind the door only the breakers of rates (`CircuitBreakers`) and the
token (`RequestBudget`) can still hold a request back. Cancels, reads and re-sends of a create pass
no door. See docs/limits.md, docs/failure-modes.md#b13.
"""

import enum
from typing import Final, NamedTuple

from bot.core.account.reconciler import AccountReconciler
from bot.core.execution.kill_switch import KillSwitch
from bot.core.execution.venue_availability import VenueAvailability
from bot.core.messages import AmendResting
from bot.core.orders.manager import OrderManager
from bot.core.orders.order import OrderEvent, OwnOrder
from bot.core.orders.outbox import Outbox
from bot.core.orders.request_budget import Priority, WriteThrottle
from bot.core.planning.actions import AmendAction, CreateAction
from bot.core.quoting.engine import QuotingEngine
from bot.core.quoting.event_quoter import MarketQuoter
from bot.core.risk.breakers import ORDER_QTY_CAP
from bot.core.settings import TraderSettings
from bot.core.trading_state import TradingState
from venue.wire.money import BookSide, Outcome, Price, Qty, Side, canonical, notional
from venue.wire.requests import Amend, TimeInForce

_BID: Final = BookSide.BID
_BUY: Final = Side.BUY

"""The finding under which nothing may add exposure on any market."""


class HeldBack(enum.StrEnum):
    """The reasons to hold a request back."""

    TOKENS = "tokens"  # one of its kind was denied a token at this instant
    VENUE = "venue"  # the venue takes no writes, but for a probe
    IN_FLIGHT = "in_flight"
    SUSPENDED = "suspended"  # this side of the market, after a reject
    PACE = "pace"  # the throttle of writes
    RESTING_ORDERS = "resting_orders"
    TIME_TO_FLAT = "time_to_flat"
    EXPOSURE = "exposure"
    SHRINK_ONLY = "shrink_only"  # it could add exposure
    CASH = "cash"
    SIZE = "size"  # the venue takes an amend's size for the order's total
    FULL = "full"  # as many orders as are kept at all
    BLOCKED = "blocked"  # the venue has rejected just this before
    LATCHED = "latched"
    CAP = "cap"  # a compiled cap on one order


class Verdict(NamedTuple):
    """The answer of `may_send`."""

    reason: HeldBack | None = None  # None: it may leave
    qty: int = 0  # of a create, the shares that may leave
    amend: Amend | None = None  # of an amend, the change that may leave
    detail: str = ""  # of a cap, in words


class PreTradeChecks:
    """Limits, cash, throttle, venue and trading state of one trader."""

    def __init__(
        self,
        settings: TraderSettings,
        desk: OrderManager,
        ledgers: AccountReconciler,
        quoting: QuotingEngine,
        kill_switch: KillSwitch,
        out: Outbox,
    ) -> None:
        self._settings = settings
        self._desk = desk
        self._ledgers = ledgers
        self._quoting = quoting
        self._risk = quoting.weighing
        self._kill_switch = kill_switch
        self._out = out
        self.cash = quoting.weighing.account.cash
        self.throttle = WriteThrottle(settings.pace)
        self.venue = VenueAvailability(out.note)

    def reconfigure(self, settings: TraderSettings, now_ns: int) -> None:
        self._settings = settings
        self.throttle.set_pace(settings.pace, now_ns)

    def may_send(
        self, rung: MarketQuoter, action: AmendAction | CreateAction, now_ns: int
    ) -> Verdict:
        """The part of an amend or create that may leave now, or the reason why none may. Pure."""
        is_create = isinstance(action, CreateAction)
        if self._out.dry_ns.get(Priority.CREATE if is_create else Priority.AMEND) == now_ns:
            return Verdict(HeldBack.TOKENS)
        in_flight, reopens_ns = self._out.writes_in_flight, self.venue.reopens_ns
        if reopens_ns is not None and (in_flight or now_ns < reopens_ns):
            return Verdict(HeldBack.VENUE)  # one write alone is the probe
        if in_flight >= self._settings.pace.requests_in_flight:
            return Verdict(HeldBack.IN_FLIGHT)
        if isinstance(action, CreateAction):
            return self._may_create(rung, action, now_ns)
        return self._may_amend(rung, action, now_ns)

    def _may_amend(self, rung: MarketQuoter, action: AmendAction, now_ns: int) -> Verdict:
        own, amend, desk = action.order, action.amend, self._desk
        if amend.qty is not None and not desk.amends_of_size:
            if amend.price is None:
                return Verdict(HeldBack.SIZE)
            amend = Amend(price=amend.price)
        # A step back never waits; the improvements that bring the order back do, which bounds both.
        if not (action.is_step_back or self.throttle.admits(rung.market_id, now_ns)):
            return Verdict(HeldBack.PACE)
        if own.side is _BUY:
            rate, qty = max(rung.maker_rate, rung.taker_rate), amend.qty or own.remaining
            fits = self.cash.affordable(rate, amend.price or own.price, qty, own)
            if fits < qty:
                if not (desk.amends_of_size and fits and rung.ladder.pace.resizes(fits, qty)):
                    return Verdict(HeldBack.CASH)
                amend = Amend(price=amend.price, qty=Qty(fits))
        # A smaller size too: fills may come first, and then the amend sets the remainder (S13).
        if not self._risk.admits_amend(own, amend):
            return Verdict(HeldBack.EXPOSURE)
        if self.shrinks_only(rung) and not self._shrinks(own, amend):
            return Verdict(HeldBack.SHRINK_ONLY)
        if own.order_id is None or desk.amends_off or not own.is_allowed(OrderEvent.AMEND):
            return Verdict(amend=amend)  # the order manager leaves it, or cancels instead
        if desk.rejects.blocked and desk.rejects.is_blocked(AmendResting(own.order_id, amend)):
            return Verdict(amend=amend)  # likewise
        price, qty = amend.price or own.price, amend.qty or own.remaining
        return self.within_caps(
            rung, own.book_side, own.outcome, price, qty, amend.price is not None
        )._replace(amend=amend)

    def _may_create(self, rung: MarketQuoter, action: CreateAction, now_ns: int) -> Verdict:
        risk = self._settings.risk
        if rung.is_side_suspended(action.book_side, now_ns):
            return Verdict(HeldBack.SUSPENDED)
        if not self.throttle.admits(rung.market_id, now_ns):
            return Verdict(HeldBack.PACE)
        resting = len(self._desk.live_orders) + 1
        if resting > risk.resting_orders:
            return Verdict(HeldBack.RESTING_ORDERS)
        # The token of the create itself will be missing when all is to be cancelled.
        if self._out.flat_ns(resting + 1, now_ns) > risk.flat_ns:
            return Verdict(HeldBack.TIME_TO_FLAT)
        qty = self.admitted(rung, action, now_ns)
        if not qty:
            return Verdict(HeldBack.EXPOSURE)
        qty = self.affordable(rung, action, qty)
        if not qty:
            return Verdict(HeldBack.CASH)
        if self._desk.is_full():
            return Verdict(HeldBack.FULL)
        order = action.to_qty_order(rung.market_id, qty, "")
        if self._desk.was_refused(order):
            return Verdict(HeldBack.BLOCKED, qty)
        return self.within_caps(rung, action.book_side, order.outcome, order.price, qty)

    def within_caps(
        self,
        rung: MarketQuoter,
        side: BookSide,
        outcome: Outcome,
        price: Price,
        qty: int,
        is_priced: bool = True,
    ) -> Verdict:
        """Hold back everything while latched, and else an order beyond a compiled cap."""
        if self._kill_switch.latched or self._out.inconsistencies.contradiction is not None:
            return Verdict(HeldBack.LATCHED, qty)
        limits, worth = self._kill_switch.breakers.limits, notional(price, Qty(qty))
        if qty > ORDER_QTY_CAP:
            return Verdict(HeldBack.CAP, qty, detail=f"{qty} shares, at most {ORDER_QTY_CAP}")
        if worth > limits.order_notional_cents:
            detail = f"{worth} cents, at most {limits.order_notional_cents}"
            return Verdict(HeldBack.CAP, qty, detail=detail)
        if is_priced:
            yes_price, is_bid = canonical(outcome, price), side is _BID
            shown, most = rung.state.asks if is_bid else rung.state.bids, limits.ticks_through
            # The best price of others is no nearer than that of all.
            if shown and (yes_price - shown[0][0]) * (1 if is_bid else -1) > most:
                detail = self._through(rung, yes_price, is_bid=is_bid)
                if detail:
                    return Verdict(HeldBack.CAP, qty, detail=detail)
        return Verdict(qty=qty)

    def _through(self, rung: MarketQuoter, yes_price: int, *, is_bid: bool) -> str:
        """Why a price reaches too far through the best one of others; empty when it does not."""
        bids, asks = rung.state.without_own(self._desk.live(rung.market_id))
        far, most = asks if is_bid else bids, self._kill_switch.breakers.limits.ticks_through
        if not far:
            return ""
        best = far[0][0]
        ticks = yes_price - best if is_bid else best - yes_price
        return f"{ticks} ticks through {best}, at most {most}" if ticks > most else ""

    # --- parts of the answer ----------------------------------------------------------------------

    @property
    def all_shrink_only(self) -> bool:
        """True while no order on any market may add exposure."""
        return self._quoting.in_force.state is TradingState.REDUCE_ONLY

    def shrinks_only(self, rung: MarketQuoter) -> bool:
        """True if new orders on a market may only reduce inventory."""
        signs = self._out.inconsistencies
        return (
            self.all_shrink_only
            or rung.ladder.in_force.state is TradingState.REDUCE_ONLY
            or bool(signs.signs and signs.blocks(rung.market_id))
        )

    def _shrinks(self, own: OwnOrder, amend: Amend) -> bool:
        """True if all orders of a side still only reduce inventory after this change; fills may
        come while it is in flight."""
        others = sum(
            each.max_fillable
            for each in self._desk.live(own.market_id)
            if each.book_side is own.book_side and each is not own
        )
        room = self._ledgers.shrink_room(own.market_id, own.book_side)
        return others + own.max_fillable_after(amend) <= room

    def admitted(self, rung: MarketQuoter, action: CreateAction, now_ns: int) -> int:
        """Shares of a wanted order that the limits of size admit next to all that may be live; 0
        when none."""
        qty = int(self._risk.admits_create(rung, action, now_ns))
        if self.shrinks_only(rung):
            mine = sum(
                own.max_fillable
                for own in self._desk.live(rung.market_id)
                if own.book_side is action.book_side
            )
            qty = min(qty, self._ledgers.shrink_room(rung.market_id, action.book_side) - mine)
        return max(0, qty)

    def affordable(self, rung: MarketQuoter, action: CreateAction, qty: int) -> int:
        """Shares, of `qty`, of a wanted order that the free cash pays. Of one that is to rest none
        where that is a part too small to be worth a request."""
        if action.side is not _BUY:
            return qty
        price = canonical(action.outcome, action.price)
        fits = self.cash.affordable(max(rung.maker_rate, rung.taker_rate), price, qty)
        rests = action.time_in_force is TimeInForce.GTC
        too_small = fits < qty and rests and not rung.ladder.pace.resizes(fits, action.qty)
        return 0 if too_small else fits
