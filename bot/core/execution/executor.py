"""From wishes to requests: what leaves now, in which order, and what waits.

Cancels go first. Then the candidates for a token, the most valuable first: amends, creates, and
reads of orders that may have filled; where orders are few for what is wanted, a side without any
before more of another. Each is admitted by every limit at the instant it leaves.
Nothing is queued: what cannot leave is wished for anew once something has changed.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from bot.core import messages as m
from bot.core.account.reconciler import AccountReconciler
from bot.core.execution.cash_check import CashCheck
from bot.core.execution.suspected_fills import SuspectedFill, SuspectedFills
from bot.core.execution.venue_availability import VenueAvailability
from bot.core.lifecycle.open_orders import enforce_lowered_limits
from bot.core.orders.manager import OrderManager
from bot.core.orders.order import OwnOrder
from bot.core.orders.outbox import Outbox
from bot.core.orders.request_budget import Priority, WriteThrottle
from bot.core.planning.actions import Action, AmendAction, CancelAction, CreateAction
from bot.core.quoting.engine import QuotingEngine
from bot.core.quoting.market_quoter import MarketQuoter
from bot.core.quoting.takes import barred, routes
from bot.core.quoting.wind_down import WindDownStage
from bot.core.report import TakeOutcome
from bot.core.settings import TraderSettings
from bot.strategy.api import Levels, Take
from venue.wire import codec, model
from venue.wire.instant import NS_PER_SECOND
from venue.wire.money import BookSide, Price, Side, canonical
from venue.wire.names import MarketId
from venue.wire.requests import Amend, TimeInForce

Ranked = tuple[float, int, MarketQuoter | None, Action | SuspectedFill]
"""What may leave: less its value, its place among equals, its rung (None of a read), and itself."""


def most_valuable_first(
    wishes: Sequence[tuple[MarketQuoter, Action]], hints: Sequence[SuspectedFill] = ()
) -> list[Ranked]:
    """All of them but the cancels. Of equal ones the wishes come as they are, then the reads."""
    rows: list[Ranked] = [
        (-wish.value, place, rung, wish)
        for place, (rung, wish) in enumerate(wishes)
        if not isinstance(wish, CancelAction)
    ]
    rows += [(-hint.value, len(wishes), None, hint) for hint in hints]
    rows.sort(key=lambda row: row[:2])
    return rows


def creates_of(rows: Iterable[Ranked]) -> list[tuple[MarketQuoter, CreateAction]]:
    """The new orders among what may leave."""
    return [
        (rung, candidate)
        for _, _, rung, candidate in rows
        if rung is not None and isinstance(candidate, CreateAction)
    ]


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
    """Ticks by which a purchase would stand behind the best price of others on its side, below zero
    for anything else; and less its worth of each cent that it costs."""
    _, _, rung, candidate = row
    if rung is None or not isinstance(candidate, CreateAction) or candidate.side is Side.SELL:
        return -1, 0.0
    bids, asks = rung.others.shown
    if candidate.book_side is BookSide.BID:
        behind = bids[0][0] - candidate.price if bids else 0
    else:
        behind = candidate.price - asks[0][0] if asks else 0
    cents = canonical(candidate.outcome, candidate.price) * candidate.qty
    return max(0, behind), -candidate.value / cents


_READ: Final = Priority.READ
_BID: Final = BookSide.BID

_SHARES_DIFFER: Final = "position_differs"
"""The finding under which nothing may grow a position, whatever the market."""

REFUSED_BEFORE: Final = "the venue has refused just this, and is not asked again"
"""What keeps a create from leaving that was refused as something that cannot succeed."""


class OrderExecutor:
    """Carries wishes out. nonce: what every client_order_id of the run begins with. venue: whether
    it takes writes. affording: what the free cash bears."""

    def __init__(
        self,
        settings: TraderSettings,
        desk: OrderManager,
        ledgers: AccountReconciler,
        quoting: QuotingEngine,
        hints: SuspectedFills,
        out: Outbox,
    ) -> None:
        self._settings = settings
        self._desk = desk
        self._ledgers = ledgers
        self._quoting = quoting
        self._weighing = quoting.weighing
        self.affording = CashCheck(quoting.weighing.account.cash)
        self._hints = hints
        self._out = out
        out.writes_max = settings.pace.requests_in_flight
        self._pace = WriteThrottle(settings.pace)
        self.nonce = ""
        self._orders_made = 0
        self.venue = VenueAvailability(out.note)

    def reconfigure(self, settings: TraderSettings, now_ns: int) -> None:
        """Hold to other settings from here on; what the limits would not admit any more goes."""
        lowered = settings.risk != self._settings.risk
        self._settings = settings
        self._out.writes_max = settings.pace.requests_in_flight
        if lowered and (count := enforce_lowered_limits(self._quoting, self._desk)):
            self._out.note("warning", "orders_beyond_limits", count=count)
        self._pace.reconfigure(settings.pace, now_ns)

    def balance_read(self, balance: model.Balance, begun_ns: int, now_ns: int) -> None:
        """A balance was answered now, asked for at `begun_ns`."""
        from_ns = begun_ns - self._settings.staleness.read_lag_ns
        self.affording.cash.shown(balance.available_cents, from_ns, now_ns)

    def _meets_unshown(self, rung: MarketQuoter, wish: Action) -> bool:
        """Whether a quote would trade at once with what others show by now, and not with what the
        strategy was shown when it was asked last.

        While a write of ours is under way the view stands still. A quote that fills on arrival
        would be sent again at each answer meanwhile, at a price that nobody has looked at.
        """
        if isinstance(wish, CreateAction):
            side, price = wish.book_side, wish.price
        elif isinstance(wish, AmendAction) and wish.amend.price is not None:
            side, price = wish.order.book_side, canonical(wish.order.outcome, wish.amend.price)
        else:
            return False
        facing = 1 if side is _BID else 0
        if not _reaches(side, price, (rung.book.bids, rung.book.asks)[facing]):
            return False
        # What it reaches may be an order of ours that is on its way out: that it does not wait for.
        others = rung.others.left(self._desk.live(rung.market_id))
        return _reaches(side, price, others[facing]) and not _reaches(
            side, price, rung.others.shown[facing]
        )

    # --- cancels ----------------------------------------------------------------------------------

    def pull_growth(self) -> None:
        """Cancel orders that could grow a position where only shrinking one is allowed: while the
        books are in doubt, or positions are to be flat. The oldest orders stay."""
        if not (self._shrinks_only or self._out.inconsistencies.is_observing):
            return
        room: dict[tuple[MarketId, BookSide], int] = {}
        for own in self._desk.live_orders:
            if not (self._shrinks_only or self._out.inconsistencies.blocks(own.market_id)):
                continue
            place = (own.market_id, own.book_side)
            if place not in room:
                room[place] = self._ledgers.shrink_room(own.market_id, own.book_side)
            room[place] -= own.max_fillable
            if room[place] < 0 and not own.cancel_requested:
                own.cancel_requested, own.why = True, "could grow a position"
                self._quoting.orders_changed(own.market_id)

    @property
    def _shrinks_only(self) -> bool:
        return bool(self._quoting.flattening or _SHARES_DIFFER in self._out.findings)

    def _may_only_shrink(self, rung: MarketQuoter) -> bool:
        """Whether new orders on a market may only shrink a position."""
        return (
            self._shrinks_only
            or rung.ladder.stage is WindDownStage.REDUCING
            or bool(self._out.inconsistencies.blocks(rung.market_id))
        )

    def cancel(self, wishes: Sequence[tuple[MarketQuoter, Action]], now_ns: int) -> None:
        """Send the cancels among the wishes."""
        if not wishes:
            return
        parked = self.venue.holds_cancels(now_ns)
        for rung, wish in wishes:
            if not isinstance(wish, CancelAction) or not wish.order.can_cancel:
                continue
            if wish.gives_way and not self._may_give_way(rung, wish, now_ns):
                continue
            if parked or not self._cancel(rung, wish.order, wish.why, now_ns):
                return
            if self.venue.is_halted:
                self.venue.probed(now_ns)
                return

    def _may_give_way(self, rung: MarketQuoter, wish: CancelAction, now_ns: int) -> bool:
        """Whether an order may go so that another one takes its place; else it would come back as
        it is, or smaller, at the back, or late. The limit that holds it is counted."""
        if not self._may_follow(rung):
            # Only a write opens a parked venue: it is planned for without giving anything up.
            return self._denied(rung, wish) if self.venue.is_parked else False
        if limit := self._no_room(rung, wish, now_ns):
            if not rung.side_parked(wish.order.book_side, now_ns):
                self._out.holds_back(limit)
            return self._denied(rung, wish)
        # A token for the cancel, and one for the create that none of the reserve is for.
        return self._out.purse.can_replace(now_ns)

    def _may_follow(self, rung: MarketQuoter) -> bool:
        """Whether anything new may leave behind a cancel."""
        return rung.may_send and not self.venue.is_parked

    def _no_room(self, rung: MarketQuoter, wish: CancelAction, now_ns: int) -> str:
        """The limit that leaves no room now for what takes an order's place; empty if none."""
        if not self._pace.admits(rung.market_id, now_ns, 2):  # the cancel counts, too
            return "pace"
        if wish.more is not None:
            if not self._admitted(rung, wish.more, now_ns):
                return "exposure"
            return "" if self.affording.qty(rung, wish.more, wish.more.qty) else "cash"
        return "exposure" if rung.side_parked(wish.order.book_side, now_ns) else ""

    def _cancel(self, rung: MarketQuoter, own: OwnOrder, why: str, now_ns: int) -> bool:
        if not self._desk.send_cancel(own, why, now_ns):
            return False
        self.affording.cancelled(own, now_ns)
        self._pace.wrote(rung.market_id, now_ns)
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

        wishes, takes: none where nothing may be quoted. What a limit holds back is told to its
        rung, so that it is not wished for again before something has changed. Where a take left,
        the plan of the rung no longer stands: it is made anew before anything else leaves there.
        """
        hints = self._hints.due(now_ns) if now_ns >= self._hints.next_due_ns else ()
        taken = [rung for rung, take in takes if self._take(rung, take, now_ns)] if takes else ()
        able = [row for row in wishes if row[0].may_send and row[0] not in taken] if wishes else ()
        self._out.rests(len(self._desk.live_orders))
        if not (able or hints):
            return
        for _, _, rung, candidate in self._in_turn(most_valuable_first(able, hints), now_ns):
            if rung is None or isinstance(candidate, SuspectedFill):
                assert isinstance(candidate, SuspectedFill)
                self._look(candidate, now_ns)
            elif self._meets_unshown(rung, candidate):
                rung.ladder.dirty = True  # the strategy is asked again, whatever else happens
            elif self._may_write(candidate, now_ns) and self._write(rung, candidate, now_ns):
                rung.orders_changed()
                self.venue.probed(now_ns)
            elif isinstance(candidate, AmendAction) and self._flees(rung, candidate):
                # It may not move, but it must not be picked off where it stands.
                why = "beyond the fair price, and it cannot be moved in time"
                self._cancel(rung, candidate.order, why, now_ns)

    def _in_turn(self, rows: list[Ranked], now_ns: int) -> list[Ranked]:
        """What may leave, in the order in which it does: as it is, unless not every create finds
        room, by number, time to flat or cash. Of cash what stands and moves has its part first."""
        creates = creates_of(rows)
        if not creates:
            return rows
        orders, risk = len(self._desk.live_orders) + len(creates), self._settings.risk
        # Each create also takes a token that will be missing when all is to be cancelled.
        flat_ns = self._out.flat_ns(orders + len(creates), now_ns)
        bears_all = self.affording.bears_all(creates)
        if bears_all and orders <= risk.resting_orders and flat_ns <= risk.flat_ns:
            return rows
        return sides_first(rows if bears_all else nearest_first(rows), self._desk)

    def _look(self, hint: SuspectedFill, now_ns: int) -> None:
        own = hint.own
        assert own.order_id is not None
        why = f"{hint.shares} shares may have filled"
        if self._out.send(m.ReadOrder(own.order_id), _READ, why, now_ns, own):
            self._hints.on_read_sent([hint], now_ns)

    def _may_write(self, wish: Action, now_ns: int) -> bool:
        """Whether one more write may be on its way; a parked venue is probed with one alone."""
        lane = Priority.CREATE if isinstance(wish, CreateAction) else Priority.AMEND
        if self._out.is_dry(lane, now_ns):
            return False
        in_flight = self._out.writes_in_flight
        if self.venue.is_parked and (in_flight or self.venue.holds(now_ns)):
            return False
        return in_flight < self._settings.pace.requests_in_flight

    def _write(self, rung: MarketQuoter, wish: Action, now_ns: int) -> bool:
        """True if an amend or a create left, or a cancel instead of the amend."""
        if isinstance(wish, AmendAction):
            return self._amend(rung, wish, now_ns)
        assert isinstance(wish, CreateAction)
        return self._create(rung, wish, now_ns)

    def _amend(self, rung: MarketQuoter, wish: AmendAction, now_ns: int) -> bool:
        own, amend = wish.order, wish.amend
        if amend.qty is not None and not self._desk.amends_of_size:
            if amend.price is None:
                return self._cancel(rung, own, "too much here", now_ns)
            amend = Amend(price=amend.price)
        if not self._pace.admits(rung.market_id, now_ns):
            if self._flees(rung, wish):
                return False
            self._out.holds_back("pace")
            return self._denied(rung, wish)
        borne = self.affording.amend(rung, own, amend, sizes=self._desk.amends_of_size)
        if borne is None:
            self._out.holds_back("cash")
            return self._denied(rung, wish)
        amend = borne
        # A smaller size too: fills may come first, and then the amend sets the remainder (S13).
        if not self._weighing.admits_amend(own, amend):
            self._out.holds_back("exposure")
            return self._cancel(rung, own, "the change could pass a limit", now_ns)
        if self._may_only_shrink(rung) and not self._shrinks(own, amend):
            return self._cancel(rung, own, "the change could grow a position", now_ns)
        if not self._desk.send_amend(own, amend, wish.why, now_ns):
            return False
        self.affording.amended(rung, own, amend, now_ns)
        if amend.price is not None:
            own.tag = rung.tag(own.book_side, canonical(own.outcome, amend.price), wish.why)
        self._pace.wrote(rung.market_id, now_ns)
        return True

    def _flees(self, rung: MarketQuoter, wish: AmendAction) -> bool:
        """Whether an order that is to step back is cancelled where that has to wait."""
        own, price = wish.order, wish.amend.price
        if self.venue.is_halted or rung.fair is None or price is None:
            return False
        # Others gain by trading with it at its present price, and less at its new one.
        sign = 1 if own.book_side is _BID else -1
        is_beyond = sign * own.yes_price > sign * rung.fair.value_cents
        return is_beyond and sign * canonical(own.outcome, price) < sign * own.yes_price

    def _shrinks(self, own: OwnOrder, amend: Amend) -> bool:
        """Whether all orders of a side still only shrink a position if this change is carried out;
        fills may come before it."""
        others = sum(
            each.max_fillable
            for each in self._desk.live(own.market_id)
            if each.book_side is own.book_side and each is not own
        )
        room = self._ledgers.shrink_room(own.market_id, own.book_side)
        return others + own.max_fillable_after(amend) <= room

    def _take(self, rung: MarketQuoter, take: Take, now_ns: int) -> bool:
        """Whether an order of a take left. What cannot leave now is dropped, and counted."""
        orders = self._desk.live(rung.market_id)
        fate = barred(take, orders)
        if fate is not None:
            self._out.took(fate)
            return False
        some = False
        for wish in routes(take, *self._ledgers.holdings(rung.market_id), orders):
            if not (self._may_write(wish, now_ns) and self._create(rung, wish, now_ns)):
                self._out.took(TakeOutcome.HELD_BACK)
                continue
            some = True
            self._out.took(TakeOutcome.SENT)
            rung.orders_changed()  # the limits count it before the other route is looked at
            self.venue.probed(now_ns)
        return some

    def _create(self, rung: MarketQuoter, wish: CreateAction, now_ns: int) -> bool:
        qty, limit = self._allowed(rung, wish, now_ns)
        if limit:
            self._out.holds_back(limit)
        if wish.time_in_force is not TimeInForce.GTC:
            if qty < (wish.qty if wish.time_in_force is TimeInForce.FOK else 1):
                return False
        elif qty < 1:
            return self._denied(rung, wish)
        self._orders_made += 1
        order = wish.to_qty_order(rung.market_id, qty, f"{self.nonce}-{self._orders_made}")
        request = m.Create(order, codec.encode_new_order(order), False)
        own = OwnOrder.first_sent(order, request.body, now_ns, wish.why)
        own.tag = rung.tag(wish.book_side, wish.price, wish.why)
        if not self._desk.send_create(own, request, now_ns):
            return False
        self.affording.created(rung, own, now_ns)
        self._pace.wrote(rung.market_id, now_ns)
        self._out.rests(len(self._desk.live_orders))
        return True

    def _allowed(self, rung: MarketQuoter, wish: CreateAction, now_ns: int) -> tuple[int, str]:
        """Shares of a wanted order that may be sent now, and the limit that leaves none; no limit
        of ours does where the side is parked. Changes nothing."""
        risk = self._settings.risk
        if rung.side_parked(wish.book_side, now_ns):
            return 0, ""
        if not self._pace.admits(rung.market_id, now_ns):
            return 0, "pace"
        resting = len(self._desk.live_orders) + 1
        # The token of the create itself will be missing when all is to be cancelled.
        if resting > risk.resting_orders:
            return 0, "resting_orders"
        if self._out.flat_ns(resting + 1, now_ns) > risk.flat_ns:
            return 0, "time_to_flat"
        qty = self._admitted(rung, wish, now_ns)
        if not qty:
            return 0, "exposure"
        qty = self.affording.qty(rung, wish, qty)
        return (qty, "") if qty else (0, "cash")

    def _admitted(self, rung: MarketQuoter, wish: CreateAction, now_ns: int) -> int:
        """Shares of a wanted order that the limits of size admit now beside all that may be live;
        0 when none."""
        qty = int(self._weighing.admits_create(rung, wish, now_ns))
        if self._may_only_shrink(rung):
            mine = sum(
                own.max_fillable
                for own in self._desk.live(rung.market_id)
                if own.book_side is wish.book_side
            )
            qty = min(qty, self._ledgers.shrink_room(rung.market_id, wish.book_side) - mine)
        return max(0, qty)

    # --- for a person -----------------------------------------------------------------------------

    def turns(self, wishes: Sequence[tuple[MarketQuoter, Action]], now_ns: int) -> dict[int, int]:
        """The place of each wish, by its identity, in the order in which they would leave, from 1;
        changes nothing."""
        leaving: list[Action | SuspectedFill] = [
            w for _, w in wishes if isinstance(w, CancelAction)
        ]
        rows = most_valuable_first(wishes)
        leaving += [candidate for _, _, _, candidate in self._in_turn(rows, now_ns)]
        return {id(each): turn for turn, each in enumerate(leaving, 1)}

    def held_back(self, rung: MarketQuoter, wish: Action, now_ns: int) -> str:
        """What keeps a wish from leaving now, in a few words; empty when nothing does. The same
        questions as where it leaves, and nothing is changed by asking."""
        if isinstance(wish, CancelAction):
            if self.venue.holds_cancels(now_ns):
                return "the venue is halted"
            if wish.gives_way and not self._may_follow(rung):
                return "what is to take its place may not leave now"
            if wish.gives_way and (limit := self._no_room(rung, wish, now_ns)):
                refused = _refused_of_late(rung, wish.order.book_side, now_ns)
                return refused or f"no room left for more: {limit}"
            return "" if wish.order.can_cancel else f"the order is {wish.order.state}"
        if not rung.may_send:
            return rung.blocked or "the book is to be confirmed first"
        gone = isinstance(wish, AmendAction) and self._flees(rung, wish)
        instead = ": cancelled instead" if gone else ""
        if self.venue.holds(now_ns):
            return f"the venue takes no orders at the moment{instead}"
        if self._meets_unshown(rung, wish):
            return "others have come to its price since the strategy was asked"
        if self._out.writes_in_flight >= self._settings.pace.requests_in_flight:
            return f"{self._out.writes_in_flight} requests are under way"
        opens_ns = self._pace.opens_ns(rung.market_id, now_ns)
        if opens_ns > now_ns:
            wait_s = (opens_ns - now_ns) / NS_PER_SECOND
            return f"many writes of late: the next in {wait_s:.1f} s{instead}"
        if isinstance(wish, AmendAction):
            sizes = self._desk.amends_of_size
            if self.affording.amend(rung, wish.order, wish.amend, sizes=sizes) is None:
                return "no room left: cash"
            admitted = self._weighing.admits_amend(wish.order, wish.amend)
            return "" if admitted else "the change could pass a limit: cancelled instead"
        if refused := _refused_of_late(rung, wish.book_side, now_ns):
            return refused
        qty, limit = self._allowed(rung, wish, now_ns)
        if limit:
            return f"no room left: {limit}"
        was_refused = self._desk.was_refused(wish.to_qty_order(rung.market_id, qty, ""))
        return REFUSED_BEFORE if was_refused else ""

    def _denied(self, rung: MarketQuoter, wish: Action) -> bool:
        """A wish is held back by a limit. Where other events have taken since what this one was
        decided by, it is decided anew: else it would wish for the same until something moves."""
        rung.denied(wish)
        decided_cents = rung.ladder.loss_limit_cents
        if decided_cents is not None:
            rung.ladder.dirty |= self._weighing.loss_limit_cents(rung.ladder) < decided_cents
        return False


def _reaches(side: BookSide, price: Price, theirs: Levels) -> bool:
    """True if an order at a price would trade with the best of the other side."""
    if not theirs:
        return False
    return price >= theirs[0][0] if side is _BID else price <= theirs[0][0]


def _refused_of_late(rung: MarketQuoter, side: BookSide, now_ns: int) -> str:
    """Until when no new order of a side is asked for after a refusal; empty while any may be."""
    if not rung.side_parked(side, now_ns):
        return ""
    left_ns = rung.side_parked_until_ns[side] - now_ns
    return f"refused of late: asked again in {left_ns / NS_PER_SECOND:.1f} s"
