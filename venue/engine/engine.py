"""The exchange: one command in, its answer and its events out. `apply` never raises for a command
and carries it out whole or not at all. See docs/venue.md#post-orders, #put-orders-order-id,
#delete-orders-order-id. Readings: docs/assumptions.md#S13, #S14, #S18, #S21, #S31, #S43."""

from collections.abc import Iterator
from typing import Final, Self

from venue.engine import admission
from venue.engine import messages as m
from venue.engine.budget import Offer, size_for_budget
from venue.engine.identity import Identity
from venue.engine.ledger import CashAccount, Ledger
from venue.engine.listings import Listings
from venue.engine.matching import Matcher
from venue.engine.order import ListedMarket, Order
from venue.engine.orders import Orders
from venue.engine.snapshot import (
    EngineSnapshot,
    account_states,
    company_states,
    digest,
    event_states,
    market_snapshots,
    restore_ledger,
    restore_listings,
    restore_orders,
    snapshot_events,
)
from venue.wire.errors import Code
from venue.wire.model import MarketState, OrderStatus, VenueState
from venue.wire.money import (
    BookSide,
    Cents,
    FeeUnits,
    Price,
    Qty,
    Side,
    book_side,
    canonical,
    reserve_cents,
)
from venue.wire.names import MarketId, OrderId, UserId
from venue.wire.requests import BudgetOrder, NewOrder, TimeInForce, keeps_priority

_NO_FEES: Final = FeeUnits(0)
_BUY: Final = Side.BUY
_FOK: Final = TimeInForce.FOK
_CANCELED: Final = OrderStatus.CANCELED
_RESOLVED: Final = MarketState.RESOLVED


class Engine:
    """The exchange as a pure function of its commands. order_id_key: 1..64 secret bytes that every
    id hangs on. Raises ValueError for a key of another length."""

    def __init__(self, order_id_key: bytes) -> None:
        self._identity = Identity(order_id_key)
        self._ledger = Ledger()
        self._listings = Listings(self._ledger)
        self._orders = Orders(self._ledger.accounts_by_number, self._listings.markets_by_number)
        self._venue_state = VenueState.OPEN
        self._matcher = Matcher(self._identity, self._ledger, self._orders)
        self.find_market = self._listings.find

    def apply(self, command: m.Command, now_ns: int) -> m.Applied:
        """Carry a command out: its answer, and its events in order: prints and fills by match, then
        orders, positions, balances, open interest and levels, each once with its final state, then
        states of markets and events. A refused command has no events. Access commands are not
        passed in."""
        match command:
            case m.PlaceOrder():
                return self._place(command, now_ns)
            case m.CancelOrder():
                return self._cancel(command, now_ns)
            case m.AmendOrder():
                return self._amend(command, now_ns)
            case m.ResolveMarket():
                return self._resolve(command, now_ns)
            case m.SetVenueState():
                return self._set_venue_state(command.state, now_ns)
            case m.AddUser():
                return self._add_user(command.user_id, now_ns)
            case m.Deposit():
                return self._move_cash(command.user_id, command.amount_cents, 1, now_ns)
            case m.Withdraw():
                return self._move_cash(command.user_id, command.amount_cents, -1, now_ns)
            case _:
                return self._listings.apply_command(command, now_ns)

    def _place(self, command: m.PlaceOrder, now_ns: int) -> m.Applied:
        request = command.order
        account = self._ledger.accounts.get(command.user_id)
        if account is None:
            return admission.NO_SUCH_USER, []
        refused = admission.new_order_values(request)
        if refused is not None:
            return refused, []
        market = self._listings.markets.get(request.market_id)
        if market is None:
            return admission.NO_SUCH_MARKET, []
        number = self._identity.order_number(account.user_id, request.client_order_id)
        order_id = OrderId(str(number))
        existing = self._orders.known(order_id, number)
        if existing is not None:
            return _again(existing, account, request), []
        refused = admission.takes_orders(self._venue_state, market.state)
        if refused is not None:
            return refused, []
        size = self._funded_size(account, market, request)
        if isinstance(size, m.Refused):
            return size, []
        order = Order(order_id, account, market, request, size, now_ns)
        events = self._matcher.enter(order, now_ns)
        return m.Placed(order.state(), request.client_order_id, True, order.spent), events

    def _funded_size(
        self, account: CashAccount, market: ListedMarket, request: NewOrder
    ) -> Qty | m.Refused:
        if isinstance(request, BudgetOrder):
            cash = min(request.budget_cents, account.available)
            size = size_for_budget(
                _offers(account, market, request, cash),
                cash,
                market.listing.taker_fee_rate,
                request.time_in_force is _FOK,
            )
            if isinstance(size, Code):
                return m.Refused(size, "the book cannot absorb the budget within the price bound")
            return size
        if request.side is _BUY:
            needed = reserve_cents(market.rate_max, request.qty, request.price, _NO_FEES)
            return admission.cash(needed, account.available) or request.qty
        free = self._ledger.free_shares(account, market.shares, request.outcome)
        return admission.shares(request.qty, free) or request.qty

    def _amend(self, command: m.AmendOrder, now_ns: int) -> m.Applied:
        amend = command.amend
        refused = admission.amend_values(amend)
        if refused is not None:
            return refused, []
        order = self._own_order(command.user_id, command.order_id)
        if order is None:
            return admission.NO_SUCH_ORDER, []
        price = order.price if amend.price is None else amend.price
        remaining = order.remaining if amend.qty is None else amend.qty
        qty = Qty(order.filled + remaining)
        # The size of an order that is over is not looked at: it has nothing left to be amended.
        refused = admission.whole_size(qty) if order.is_resting else None
        if refused is not None:
            return refused, []
        refused = admission.venue_takes_orders(self._venue_state)
        if refused is not None:
            return refused, []
        if not order.is_resting:
            return admission.NOT_CANCELABLE, []
        market = order.market
        refused = admission.market_takes_orders(market.state)
        if refused is not None:
            return refused, []
        refused = self._growth_refused(order, market, price, remaining)
        if refused is not None:
            return refused, []
        kept = keeps_priority(order.price, order.remaining, price, remaining)
        if kept:
            self._matcher.cut_down(order, remaining, now_ns)
            order.qty = qty
        else:
            self._matcher.take_out(order, now_ns)
            order.reprice(price)
            order.remaining, order.qty = remaining, qty
            self._matcher.match(order, now_ns)
            self._matcher.rest_or_end(order)
        events = self._matcher.drain(market, now_ns)
        return m.Amended(order.state(), kept), events

    def _growth_refused(
        self, order: Order, market: ListedMarket, price: Price, remaining: Qty
    ) -> m.Refused | None:
        """The refusal if the funds that an amended order must lock in addition are missing."""
        if order.side is _BUY:
            reserve = reserve_cents(market.rate_max, remaining, price, order.fees)
            return admission.cash(Cents(reserve - order.reserved), order.account.available)
        free = self._ledger.free_shares(order.account, market.shares, order.outcome)
        return admission.shares(remaining - order.locked, free)

    def _cancel(self, command: m.CancelOrder, now_ns: int) -> m.Applied:
        order = self._own_order(command.user_id, command.order_id)
        if order is None:
            return admission.NO_SUCH_ORDER, []
        refused = admission.venue_takes_cancels(self._venue_state)
        if refused is not None:
            return refused, []
        if not order.is_resting:
            if order.ended_by_cancel:
                return m.Cancelled(order.state(), Qty(0)), []
            return admission.NOT_CANCELABLE, []
        removed = order.remaining
        self._matcher.end(order, _CANCELED, now_ns)
        order.ended_by_cancel = True
        events = self._matcher.drain(order.market, now_ns)
        return m.Cancelled(order.state(), removed), events

    def _own_order(self, user_id: UserId, order_id: OrderId) -> Order | None:
        """The order, unless there is none or it is another's, which must look the same."""
        order = self._orders.get(order_id)
        return order if order is not None and order.account.user_id == user_id else None

    def _resolve(self, command: m.ResolveMarket, now_ns: int) -> m.Applied:
        market = self._listings.markets.get(command.market_id)
        if market is None:
            return admission.NO_SUCH_MARKET, []
        if market.state is _RESOLVED:
            if market.winner is command.winner:
                return m.Accepted(), []
            return m.Refused(Code.INVALID_REQUEST, "the market has resolved the other way"), []
        resting = [
            order
            for half in (market.book.bids, market.book.asks)
            for level in half.levels()
            for order in level
        ]
        for order in resting:
            self._matcher.end(order, OrderStatus.EXPIRED, now_ns)
        self._ledger.pay_out(market.shares, command.winner)
        return m.Accepted(), self._matcher.drain(market, now_ns) + self._listings.resolved(
            market, command.winner, now_ns
        )

    def _set_venue_state(self, state: VenueState, now_ns: int) -> m.Applied:
        if self._venue_state is state:
            return m.Accepted(), []
        self._venue_state = state
        return m.Accepted(), [m.VenueStateChanged(now_ns, state)]

    def _add_user(self, user_id: UserId, now_ns: int) -> m.Applied:
        if not user_id:
            return m.Refused(Code.INVALID_REQUEST, "user_id: not empty"), []
        if user_id in self._ledger.accounts:
            return m.Accepted(), []
        self._ledger.open_account(user_id)
        return m.Accepted(), [m.UserAdded(now_ns, user_id)]

    def _move_cash(self, user_id: UserId, cents: Cents, direction: int, now_ns: int) -> m.Applied:
        account = self._ledger.accounts.get(user_id)
        if account is None:
            return admission.NO_SUCH_USER, []
        if cents < 1:
            return m.Refused(Code.INVALID_REQUEST, "amount_cents: at least 1"), []
        if direction < 0:
            refused = admission.withdrawal(cents, account.available)
        else:
            refused = admission.total_deposits(cents, self._ledger.deposited_cents)
        if refused is not None:
            return refused, []
        self._ledger.deposit(account, Cents(direction * cents))
        events: list[m.Event] = []
        self._ledger.tell(events, now_ns)
        return m.Accepted(), events

    @property
    def venue_state(self) -> VenueState:
        return self._venue_state

    @property
    def users(self) -> tuple[UserId, ...]:
        """Every account holder, in the order in which they were added."""
        return tuple(self._ledger.accounts)

    @property
    def market_ids(self) -> tuple[MarketId, ...]:
        """Every market, resolved ones too, in the order of listing."""
        return tuple(self._listings.markets)

    @property
    def fees_cents(self) -> Cents:
        return self._ledger.fees_cents

    def balance(self, user_id: UserId) -> tuple[Cents, Cents] | None:
        """Available and reserved cents of a user; None for one that is not known."""
        account = self._ledger.accounts.get(user_id)
        return None if account is None else (account.available, account.reserved)

    def order(self, order_id: OrderId) -> m.OrderState | None:
        """Any order by its id, whosever it is; None when there is none."""
        order = self._orders.get(order_id)
        return None if order is None else order.state()

    def depth(self, market_id: MarketId, side: BookSide) -> list[tuple[Price, Qty]]:
        """Canonical price and size of the levels of a known market's half, best first."""
        half = self._listings.markets[market_id].book.half(side)
        return [(level.price, Qty(level.size)) for level in half.levels()]

    def to_snapshot(self) -> EngineSnapshot:
        return EngineSnapshot(
            self._venue_state,
            self._matcher.matches,
            self._ledger.fees_cents,
            self._ledger.deposited_cents,
            account_states(self._ledger),
            company_states(self._listings),
            event_states(self._listings),
            market_snapshots(self._ledger, self._listings),
            self._orders.ended.copy(),
        )

    @classmethod
    def from_snapshot(cls, order_id_key: bytes, snapshot: EngineSnapshot) -> Self:
        """An engine in the state of a snapshot. order_id_key: that of the engine it is of."""
        engine = cls(order_id_key)
        engine._venue_state = snapshot.venue_state
        engine._matcher.matches = snapshot.matches
        restore_ledger(engine._ledger, snapshot)
        restore_listings(engine._ledger, engine._listings, snapshot)
        restore_orders(engine._listings, engine._orders, snapshot)
        return engine

    def snapshot_events(self, now_ns: int) -> list[m.Event]:
        return list(snapshot_events(self._ledger, self._listings, self._venue_state, now_ns))

    def state_hash(self) -> str:
        """SHA-256, in hex, of `snapshot`: equal exactly for equal states, in any process."""
        return digest(self.to_snapshot())


def _again(existing: Order, account: CashAccount, request: NewOrder) -> m.Answer:
    """The answer to a create whose order_id exists: the order as it is now, or a refusal if it is
    another's or of another body (S14)."""
    if existing.account is not account or existing.request != request:
        return admission.DUPLICATE
    return m.Placed(existing.state(), request.client_order_id, False, existing.spent)


def _offers(
    account: CashAccount, market: ListedMarket, request: BudgetOrder, cash: Cents
) -> Iterator[Offer]:
    """What rests within a budget order's bound, in prices of its own outcome, best first, one offer
    a price, as far as the buyer's own first order or all that `cash` buys."""
    half = market.book.half(book_side(request.outcome, _BUY).other)
    for level in half.levels_within(canonical(request.outcome, request.price)):
        price, size = canonical(request.outcome, level.price), 0
        for maker in level:
            if maker.account is account:
                if size:
                    yield Offer(price, Qty(size), False)
                yield Offer(price, maker.remaining, True)
                return
            size += maker.remaining
            if size * price > cash:
                break
        yield Offer(price, Qty(size), False)
