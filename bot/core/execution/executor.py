"""From wishes to requests: which leave now, in which order, and which wait.

Cancels go first. Then the candidates for a token, the most valuable first: amends, creates, and
reads of orders that may have filled. Where not all new orders fit, a side without any comes before
more of another. Every limit of exposure, cash and throttle is checked at the instant of sending.
Nothing is queued: a request that cannot leave is planned again once something has changed.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, TypeGuard

from bot.core import messages as m
from bot.core.account.reconciler import AccountReconciler
from bot.core.execution.kill_switch import KillSwitch
from bot.core.execution.pre_trade_checks import HeldBack, PreTradeChecks
from bot.core.execution.suspected_fills import SuspectedFill, SuspectedFills
from bot.core.lifecycle.open_orders import enforce_lowered_limits
from bot.core.orders.cancel_reasons import CancelReason
from bot.core.orders.manager import OrderManager
from bot.core.orders.order import OwnOrder
from bot.core.orders.outbox import Outbox
from bot.core.orders.request_budget import Priority
from bot.core.planning.actions import Action, AmendAction, CancelAction, CreateAction
from bot.core.quoting.engine import QuotingEngine
from bot.core.quoting.event_quoter import MarketQuoter
from bot.core.quoting.takes import barred, routes
from bot.core.report import TakeOutcome
from bot.core.settings import TraderSettings
from bot.strategy.api import Levels, Take
from venue.wire import model
from venue.wire.instant import NS_PER_SECOND
from venue.wire.money import (
    PAYOUT_CENTS,
    BookSide,
    FeeUnits,
    Price,
    Side,
    canonical,
    reserve_cents,
)
from venue.wire.names import MarketId
from venue.wire.requests import TimeInForce

Ranked = tuple[float, int, MarketQuoter | None, Action | SuspectedFill]
"""A candidate: its negated value, its place among equals, its rung (None of a read), and itself."""


def nearest_first(rows: Iterable[Ranked]) -> list[Ranked]:
    """The same: what buys nothing new as it is, then the nearest to the touch of others, of equals
    that which is worth most for what it costs."""
    return sorted(rows, key=_nearness)


def sides_first(rows: Iterable[Ranked], desk: OrderManager) -> list[Ranked]:
    """The same as they are, but of new orders one for each side on which nothing of ours rests
    comes before all others: else the dearer side of every rung takes all."""
    first: list[Ranked] = []
    more: list[Ranked] = []
    begun: set[tuple[MarketId, BookSide]] = set()
    for row in rows:
        _, _, rung, candidate = row
        if rung is None or not isinstance(candidate, CreateAction):
            first.append(row)
            continue
        place, live = (rung.market_id, candidate.book_side), desk.live(rung.market_id)
        has_one = place in begun or any(own.book_side is candidate.book_side for own in live)
        begun.add(place)
        (more if has_one else first).append(row)
    return [*first, *more]


def _nearness(row: Ranked) -> tuple[int, float]:
    """Ticks by which a purchase would be behind the best price of others on its side, below zero
    for anything else; and less its worth of each cent that it costs."""
    _, _, rung, candidate = row
    if rung is None or not isinstance(candidate, CreateAction) or candidate.side is Side.SELL:
        return -1, 0.0
    bids, asks = rung.state.external
    if candidate.book_side is BookSide.BID:
        behind = bids[0][0] - candidate.price if bids else 0
    else:
        behind = candidate.price - asks[0][0] if asks else 0
    cents = canonical(candidate.outcome, candidate.price) * candidate.qty
    return max(0, behind), -candidate.value / cents


_BID: Final = BookSide.BID

_SHARE_CENTS: Final = PAYOUT_CENTS + 1
"""More than a share of any order locks, whatever its fee."""

REFUSED_BEFORE: Final = "the venue has rejected just this: no retry"
"""Shown for a create that was rejected as one that cannot succeed: no retry."""

_COUNTED: Final = (
    HeldBack.PACE,
    HeldBack.RESTING_ORDERS,
    HeldBack.TIME_TO_FLAT,
    HeldBack.EXPOSURE,
    HeldBack.CASH,
)
"""The rows of the counter `held_back`."""

_CANCEL_INSTEAD: Final[Mapping[HeldBack | None, str]] = {
    HeldBack.SIZE: CancelReason.AMEND_SIZE,
    HeldBack.EXPOSURE: CancelReason.AMEND_EXPOSURE,
    HeldBack.SHRINK_ONLY: CancelReason.AMEND_GROWS,
}
"""An amend that is held back so is replaced by a cancel, and why."""

_SAID: Final[Mapping[HeldBack, str]] = {
    HeldBack.TOKENS: "no token is free",
    HeldBack.VENUE: "the venue takes no orders at the moment",
    HeldBack.FULL: "as many orders as are kept at all",
    HeldBack.BLOCKED: REFUSED_BEFORE,
    HeldBack.LATCHED: "latched",
}
"""For a person; every other reason has its own words."""


class OrderExecutor:
    """Sends the wanted actions, within every limit."""

    def __init__(
        self,
        settings: TraderSettings,
        desk: OrderManager,
        ledgers: AccountReconciler,
        quoting: QuotingEngine,
        suspected: SuspectedFills,
        kill_switch: KillSwitch,
        out: Outbox,
    ) -> None:
        self._settings = settings
        self._desk = desk
        self._ledgers = ledgers
        self._quoting = quoting
        self._suspected = suspected
        self._kill_switch = kill_switch
        self._out = out
        self.checks = PreTradeChecks(settings, desk, ledgers, quoting, kill_switch, out)
        self.venue = self.checks.venue
        self._throttle = self.checks.throttle
        self._cash = self.checks.cash
        out.writes_max = settings.pace.requests_in_flight
        self.nonce = ""
        """Every client_order_id of the run begins with it."""
        self._orders_made = 0
        self._resting = -1  # our orders, as far as the budget knows

    def reconfigure(self, settings: TraderSettings, now_ns: int) -> None:
        """Hold to other settings from here on; orders beyond lowered limits are cancelled."""
        lowered = settings.risk != self._settings.risk
        self._settings = settings
        self._out.writes_max = settings.pace.requests_in_flight
        if lowered and (count := enforce_lowered_limits(self._quoting, self._desk)):
            self._out.note("warning", "orders_beyond_limits", count=count)
        self.checks.reconfigure(settings, now_ns)

    def balance_read(self, balance: model.Balance, begun_ns: int, now_ns: int) -> None:
        """A balance was answered now, asked for at `begun_ns`."""
        from_ns = begun_ns - self._settings.staleness.read_lag_ns
        self._cash.on_balance(balance.available_cents, from_ns, now_ns)

    def _meets_unshown(self, rung: MarketQuoter, wish: Action) -> bool:
        """True if a quote would trade at once with the book of others now, but not with the one
        that the strategy saw last.

        While a write of ours is in flight the view is stale. A quote that fills on arrival would
        be sent again at each answer, at a price that the strategy has not seen.
        """
        if isinstance(wish, CreateAction):
            side, price = wish.book_side, wish.price
        elif isinstance(wish, AmendAction) and wish.amend.price is not None:
            side, price = wish.order.book_side, canonical(wish.order.outcome, wish.amend.price)
        else:
            return False
        facing = 1 if side is _BID else 0
        if not _reaches(side, price, (rung.state.bids, rung.state.asks)[facing]):
            return False
        # It may meet an order of ours whose cancel is in flight: it does not wait for that.
        others = rung.state.without_own(self._desk.live(rung.market_id))
        return _reaches(side, price, others[facing]) and not _reaches(
            side, price, rung.state.external[facing]
        )

    # --- cancels ----------------------------------------------------------------------------------

    def pull_growth(self) -> None:
        """Cancel orders that could add exposure while only reductions of inventory are allowed:
        while the books are in doubt, or the operator flattens. The oldest orders stay."""
        all_shrink_only, signs = self.checks.all_shrink_only, self._out.inconsistencies
        if not (all_shrink_only or signs.signs):
            return
        room: dict[tuple[MarketId, BookSide], int] = {}
        for own in self._desk.live_orders:
            if not (all_shrink_only or signs.blocks(own.market_id)):
                continue
            place = (own.market_id, own.book_side)
            if place not in room:
                room[place] = self._ledgers.shrink_room(own.market_id, own.book_side)
            room[place] -= own.max_fillable
            if room[place] < 0 and not own.cancel_requested:
                own.cancel_requested, own.why = True, CancelReason.COULD_GROW
                self._quoting.orders_changed(own.market_id)

    def cancel(self, wishes: Sequence[tuple[MarketQuoter, Action]], now_ns: int) -> None:
        """Send the cancels among the wishes."""
        for rung, wish in wishes:
            if not isinstance(wish, CancelAction) or not wish.order.can_cancel:
                continue
            if wish.gives_way and not self._may_give_way(rung, wish, now_ns):
                continue
            if self.venue.holds_cancels(now_ns) or not self._cancel(
                rung, wish.order, wish.why, now_ns
            ):
                return
            self._out.reacts(rung.reaction(wish))
            if self.venue.is_halted:
                self.venue.on_probe(now_ns)
                return

    def _may_give_way(self, rung: MarketQuoter, wish: CancelAction, now_ns: int) -> bool:
        """True if an order may be cancelled for a replacement. Else it would come back as it is, or
        smaller, at the back, or late. The limit that blocks it is counted."""
        if not self._may_follow(rung):
            # The venue takes no writes but a probe: give up no order for one.
            return self._denied(rung, wish) if self.venue.reopens_ns is not None else False
        if limit := self._no_room(rung, wish, now_ns):
            if not rung.is_side_suspended(wish.order.book_side, now_ns):
                self._out.holds_back(limit)
            return self._denied(rung, wish)
        # A token for the cancel, and one for the create that none of the reserve is for.
        return self._out.purse.can_replace(now_ns)

    def _may_follow(self, rung: MarketQuoter) -> bool:
        """True if a new order may follow a cancel."""
        return rung.may_send and self.venue.reopens_ns is None

    def _no_room(self, rung: MarketQuoter, wish: CancelAction, now_ns: int) -> str:
        """The limit that leaves no room now for an order's replacement; empty if none."""
        if not self._throttle.admits(rung.market_id, now_ns, 2):  # the cancel counts, too
            return "pace"
        if wish.more is not None:
            if not self.checks.admitted(rung, wish.more, now_ns):
                return "exposure"
            return "" if self.checks.affordable(rung, wish.more, wish.more.qty) else "cash"
        return "exposure" if rung.is_side_suspended(wish.order.book_side, now_ns) else ""

    def _cancel(self, rung: MarketQuoter, own: OwnOrder, why: str, now_ns: int) -> bool:
        if not self._desk.send_cancel(own, why, now_ns):
            return False
        self._cash.on_cancel(own, now_ns)
        self._throttle.on_write(rung.market_id, now_ns)
        rung.orders_changed()
        return True

    # --- candidates for a token -------------------------------------------------------------------

    def spend(
        self,
        wishes: Sequence[tuple[MarketQuoter, Action]],
        now_ns: int,
        takes: Sequence[tuple[MarketQuoter, Take]] = (),
    ) -> None:
        """Takes, then amends, creates and targeted reads, the most valuable first; each costs one
        token.

        wishes, takes: none where nothing may be quoted. The rung drops a wish that a
        limit holds back until something has changed. After a take the rung is planned again
        before anything else leaves there. A step back that may not leave is a cancel instead.
        """
        suspects = self._suspected
        suspected = suspects.due(now_ns) if now_ns >= suspects.next_due_ns else ()
        taken = (
            [rung for rung, take in takes if self._send_take(rung, take, now_ns)] if takes else ()
        )
        able = [
            (rung, wish)
            for rung, wish in wishes
            if _is_step_back(wish) or (rung.may_send and rung not in taken)
        ]
        if not (able or suspected):
            return
        for _, _, rung, candidate in self._ranked(able, suspected, now_ns):
            if isinstance(candidate, SuspectedFill):
                self._look(candidate, now_ns)
                continue
            assert rung is not None and not isinstance(candidate, CancelAction)
            has_left = False
            if self._meets_unshown(rung, candidate):
                rung.ladder.needs_decision = True
            elif isinstance(candidate, CreateAction):
                has_left = self._create(rung, candidate, now_ns)
            elif rung.may_send:
                has_left = self._amend(rung, candidate, now_ns)
            if has_left:
                rung.orders_changed()
                if self.venue.reopens_ns is not None:
                    self.venue.on_probe(now_ns)
            elif _is_step_back(candidate) and not self.venue.is_halted:
                # It may not move, but it must not be picked off meanwhile.
                has_left = self._cancel(rung, candidate.order, CancelReason.TOO_BOLD, now_ns)
            if has_left and isinstance(candidate, AmendAction):
                self._out.reacts(rung.reaction(candidate))

    def report_resting(self) -> None:
        """Other traders on the same rate limit leave tokens for the cancels of our orders."""
        if (count := len(self._desk.live_orders)) != self._resting:
            self._resting = count
            self._out.rests(count)

    def _ranked(
        self,
        wishes: Sequence[tuple[MarketQuoter, Action]],
        suspected: Sequence[SuspectedFill],
        now_ns: int,
    ) -> list[Ranked]:
        """All but the cancels, in the order in which they may leave: the most valuable first, of
        equal ones the wishes as they come, then the reads. Where not every create finds room, by
        number, time to flat or cash, what rests and moves has its part of the cash first."""
        rows: list[Ranked] = [
            (-wish.value, place, rung, wish)
            for place, (rung, wish) in enumerate(wishes)
            if not isinstance(wish, CancelAction)
        ]
        rows += [(-each.value, len(wishes), None, each) for each in suspected]
        rows.sort(key=lambda row: row[:2])
        creates = [
            (rung, candidate)
            for _, _, rung, candidate in rows
            if rung is not None and isinstance(candidate, CreateAction)
        ]
        if not creates:
            return rows
        orders, risk = len(self._desk.live_orders) + len(creates), self._settings.risk
        # Each create also takes a token that will be missing when all is to be cancelled.
        flat_ns = self._out.flat_ns(orders + len(creates), now_ns)
        pays_all = self._pays_all(creates)
        if pays_all and orders <= risk.resting_orders and flat_ns <= risk.flat_ns:
            return rows
        return sides_first(rows if pays_all else nearest_first(rows), self._desk)

    def _pays_all(self, creates: Sequence[tuple[MarketQuoter, CreateAction]]) -> bool:
        """True if the free cash pays for all these together."""
        if self._cash.suffices(_SHARE_CENTS * sum([wish.qty for _, wish in creates])):
            return True
        return self._cash.suffices(
            sum(
                reserve_cents(
                    max(rung.maker_rate, rung.taker_rate),
                    wish.qty,
                    canonical(wish.outcome, wish.price),
                    FeeUnits(0),
                )
                for rung, wish in creates
                if wish.side is Side.BUY
            )
        )

    def _look(self, suspected: SuspectedFill, now_ns: int) -> None:
        own = suspected.own
        assert own.order_id is not None
        why = f"{suspected.shares} shares may have filled"
        if self._out.send(m.ReadOrder(own.order_id), Priority.READ, why, now_ns, own):
            self._suspected.on_read_sent([suspected], now_ns)

    def _amend(self, rung: MarketQuoter, wish: AmendAction, now_ns: int) -> bool:
        """True if the amend left, or a cancel instead of it."""
        own, verdict = wish.order, self.checks.may_send(rung, wish, now_ns)
        reason, amend = verdict.reason, verdict.amend
        if reason is None:
            assert amend is not None
            if not self._desk.send_amend(own, amend, wish.why, now_ns):
                return False
            self._cash.on_amend(own, max(rung.maker_rate, rung.taker_rate), amend, now_ns)
            if amend.price is not None:
                yes_price = canonical(own.outcome, amend.price)
                own.tag = rung.tag(own.book_side, yes_price, wish.why)
            self._throttle.on_write(rung.market_id, now_ns)
            return True
        if reason is HeldBack.CAP:
            self._kill_switch.hold_back_cap((own.market_id, own.book_side), verdict.detail, now_ns)
        if reason in _COUNTED:
            self._out.holds_back(reason)
        if reason in _CANCEL_INSTEAD:
            return self._cancel(rung, own, _CANCEL_INSTEAD[reason], now_ns)
        return self._denied(rung, wish) if reason in _COUNTED else False

    def _send_take(self, rung: MarketQuoter, take: Take, now_ns: int) -> bool:
        """True if an order of a take left. A take that cannot leave now is dropped, and counted."""
        orders = self._desk.live(rung.market_id)
        fate = barred(take, orders)
        if fate is not None:
            self._out.took(fate)
            return False
        some = False
        for wish in routes(take, *self._ledgers.holdings(rung.market_id), orders):
            if not self._create(rung, wish, now_ns):
                self._out.took(TakeOutcome.HELD_BACK)
                continue
            some = True
            self._out.took(TakeOutcome.SENT)
            rung.orders_changed()  # the limits count it before the other route is looked at
            if self.venue.reopens_ns is not None:
                self.venue.on_probe(now_ns)
        return some

    def _create(self, rung: MarketQuoter, wish: CreateAction, now_ns: int) -> bool:
        verdict = self.checks.may_send(rung, wish, now_ns)
        reason, qty = verdict.reason, verdict.qty
        if reason in (HeldBack.TOKENS, HeldBack.VENUE, HeldBack.IN_FLIGHT):
            return False
        if reason in _COUNTED:
            self._out.holds_back(reason)
        if wish.time_in_force is not TimeInForce.GTC:
            if qty < (wish.qty if wish.time_in_force is TimeInForce.FOK else 1):
                return False
        elif qty < 1:
            return self._denied(rung, wish)
        self._orders_made += 1  # a number is never used twice, whether its order leaves or not
        if reason is HeldBack.CAP:
            place = (rung.market_id, wish.book_side)
            self._kill_switch.hold_back_cap(place, verdict.detail, now_ns)
        if reason is not None:
            return False
        order = wish.to_qty_order(rung.market_id, qty, f"{self.nonce}-{self._orders_made}")
        request = m.Create(order, False)
        own = OwnOrder(order, now_ns, wish.why)
        own.tag = rung.tag(wish.book_side, wish.price, wish.why)
        if not self._desk.send_create(own, request, now_ns):
            return False
        self._cash.on_create(own, max(rung.maker_rate, rung.taker_rate), now_ns)
        self._throttle.on_write(rung.market_id, now_ns)
        self.report_resting()
        return True

    # --- for a person -----------------------------------------------------------------------------

    def turns(self, wishes: Sequence[tuple[MarketQuoter, Action]], now_ns: int) -> dict[int, int]:
        """The place of each wish, by its identity, in the order in which they would leave, from 1;
        changes nothing."""
        leaving: list[Action | SuspectedFill] = [
            w for _, w in wishes if isinstance(w, CancelAction)
        ]
        leaving += [candidate for _, _, _, candidate in self._ranked(wishes, (), now_ns)]
        return {id(each): turn for turn, each in enumerate(leaving, 1)}

    def held_back(self, rung: MarketQuoter, wish: Action, now_ns: int) -> str:
        """Why a wish may not leave now, in a few words; empty when it may. The same checks as at
        sending; changes nothing."""
        if isinstance(wish, CancelAction):
            if self.venue.holds_cancels(now_ns):
                return "the venue is halted"
            if wish.gives_way and not self._may_follow(rung):
                return "its replacement may not leave now"
            if wish.gives_way and (limit := self._no_room(rung, wish, now_ns)):
                refused = _refused_of_late(rung, wish.order.book_side, now_ns)
                return refused or f"no room left for more: {limit}"
            return "" if wish.order.can_cancel else f"the order is {wish.order.state}"
        cancels = _is_step_back(wish) and not self.venue.is_halted
        instead = ": cancelled instead" if cancels else ""
        if not rung.may_send:
            return (rung.blocked or "the book is to be confirmed first") + instead
        verdict = self.checks.may_send(rung, wish, now_ns)
        reason = verdict.reason
        if reason is not HeldBack.VENUE and self._meets_unshown(rung, wish):
            return f"the market moved to this price after the strategy ran: requoting{instead}"
        if reason is None:
            return ""
        if reason is HeldBack.IN_FLIGHT:
            return f"{self._out.writes_in_flight} requests are in flight{instead}"
        if reason is HeldBack.PACE:
            wait_s = (self._throttle.opens_ns(rung.market_id, now_ns) - now_ns) / NS_PER_SECOND
            return f"throttled: the next write in {wait_s:.1f} s"
        if reason is HeldBack.SUSPENDED and isinstance(wish, CreateAction):
            return _refused_of_late(rung, wish.book_side, now_ns)
        if isinstance(wish, AmendAction) and reason in _CANCEL_INSTEAD:
            return f"{_CANCEL_INSTEAD[reason]}: cancelled instead"
        if reason in _SAID:
            return _SAID[reason] + instead
        return verdict.detail or f"no room left: {reason}"

    def _denied(self, rung: MarketQuoter, wish: Action) -> bool:
        """A limit holds a wish back. If other events have used up the room since this one was
        decided, decide it again: else it plans the same until something moves."""
        rung.denied(wish)
        decided_cents = rung.ladder.loss_limit_cents
        if decided_cents is not None:
            bounds = self._quoting.weighing.bounds(rung.ladder)
            rung.ladder.needs_decision |= bounds.loss_cents < decided_cents
        return False


def _is_step_back(candidate: Action | SuspectedFill) -> TypeGuard[AmendAction]:
    return isinstance(candidate, AmendAction) and candidate.is_step_back


def _reaches(side: BookSide, price: Price, theirs: Levels) -> bool:
    """True if an order at a price would trade with the best of the other side."""
    if not theirs:
        return False
    return price >= theirs[0][0] if side is _BID else price <= theirs[0][0]


def _refused_of_late(rung: MarketQuoter, side: BookSide, now_ns: int) -> str:
    """When to retry a new order of a side after a reject; empty while any may leave."""
    if not rung.is_side_suspended(side, now_ns):
        return ""
    left_ns = rung.side_suspended_until_ns[side] - now_ns
    return f"refused: retry in {left_ns / NS_PER_SECOND:.1f} s"
