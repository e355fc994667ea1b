"""A second exchange, as plain as can be: one list of orders a market, fractions, no upkeep.

It is written from the interface and the readings alone and shares nothing with the engine but the
messages. Reserves are recomputed from the orders, the book is sorted again for every match, a
budget is spent share by share, and events are whatever differs between before and after.
"""

import math
from collections.abc import Callable
from fractions import Fraction

from tests.builders.core.naive_records import NOTHING, NaiveMarket, NaiveOrder, Picture, exact_fee
from venue.engine import messages as m
from venue.wire.errors import Code
from venue.wire.model import EventStatus, Liquidity, MarketState, OrderStatus, VenueState
from venue.wire.money import Outcome, Side
from venue.wire.names import is_client_order_id
from venue.wire.requests import BudgetOrder, TimeInForce


class NaiveExchange:
    """`apply(command, now_ns)` like the engine's. order_id: the name of a user's order."""

    def __init__(self, order_id: Callable[[str, str], str]):
        self.order_id_of = order_id
        self.venue_state = VenueState.OPEN
        self.cash = {}
        self.markets = {}
        self.events = {}
        self.orders = {}
        self.turns = 0
        self.matches = 0
        self.fees = 0
        self._balances = {}
        self.emitted = []
        # An order made or moved by the command under way may come and go within it.
        self.fresh = []

    def apply(self, command, now_ns):
        market = self._market_of(command)
        before = self._balances, NOTHING if market is None else market.picture
        self.emitted = []
        self.fresh = []
        answer = getattr(self, "do_" + type(command).__name__)(command, market, now_ns)
        if isinstance(answer, m.Refused):
            return answer, []
        return answer, self.emitted + self._differences(*before, market, now_ns)

    def reserved(self, user):
        return sum(
            order.reserve()
            for market in self.markets.values()
            for order in market.resting
            if order.user == user
        )

    def available(self, user):
        return self.cash[user] - self.reserved(user)

    # --- before and after ---------------------------------------------------------------------

    def _market_of(self, command):
        if isinstance(command, m.PlaceOrder):
            return self.markets.get(command.order.market_id)
        if isinstance(command, m.AmendOrder | m.CancelOrder):
            order = self.orders.get(command.order_id)
            return None if order is None else order.market
        return self.markets.get(getattr(command, "market_id", None))

    def _differences(self, balances, before, market, now_ns):
        """What differs from the pictures taken after the command before."""
        self._balances = self._count_balances()
        changes = [
            m.BalanceChanged(now_ns, user, *balance)
            for user, balance in self._balances.items()
            if balances.get(user, (0, 0)) != balance
        ]
        if market is None:
            return changes
        market_id = market.listing.market_id
        after = market.picture = Picture(market)
        for (user, outcome), position in after.positions.items():
            if before.positions.get((user, outcome), (0, 0, 0)) != position:
                changes.append(m.PositionChanged(now_ns, user, market_id, outcome, *position))
        for side, price in {**before.depth, **after.depth}:
            size = after.depth.get((side, price), 0)
            if before.depth.get((side, price), 0) != size:
                changes.append(m.LevelChanged(now_ns, market_id, side, price, size))
        if before.pairs != after.pairs:
            changes.append(m.OpenInterestChanged(now_ns, market_id, after.pairs))
        for order_id in dict.fromkeys([*before.orders, *after.orders, *self.fresh]):
            state = self.orders[order_id].state()
            if before.orders.get(order_id) != state:
                changes.append(m.OrderChanged(now_ns, state))
        return changes

    def _count_balances(self):
        kept = dict.fromkeys(self.cash, 0)
        for market in self.markets.values():
            for order in market.resting:
                kept[order.user] += order.reserve()
        return {user: (cash - kept[user], kept[user]) for user, cash in self.cash.items()}

    # --- orders -------------------------------------------------------------------------------

    def do_PlaceOrder(self, command, market, now_ns):
        user, request = command.user_id, command.order
        fault = self._place_values(user, request, market)
        if fault is not None:
            return m.Refused(fault, "")
        order_id = self.order_id_of(user, request.client_order_id)
        known = self.orders.get(order_id)
        if known is not None:
            if known.user != user or known.request != request:
                return m.Refused(Code.DUPLICATE_ORDER_ID, "")
            spent = known.spent if isinstance(request, BudgetOrder) else None
            return m.Placed(known.state(), request.client_order_id, False, spent)
        fault = self._closed(market)
        if fault is not None:
            return m.Refused(fault, "")
        size = self._afforded(user, request, market, order_id, now_ns)
        if isinstance(size, Code):
            return m.Refused(size, "")
        order = NaiveOrder(order_id, user, market, request, size, now_ns)
        self.orders[order_id] = order
        self.fresh.append(order_id)
        if request.time_in_force is not TimeInForce.FOK or self._all_there(order):
            self._trade_what_crosses(order, now_ns)
        self._settle_down(order)
        spent = order.spent if isinstance(request, BudgetOrder) else None
        return m.Placed(order.state(), request.client_order_id, True, spent)

    def _place_values(self, user, request, market):
        if user not in self.cash:
            return Code.INVALID_REQUEST
        if request.price not in range(1, 100):
            return Code.INVALID_PRICE
        if isinstance(request, BudgetOrder):
            if request.budget_cents not in range(1, 100_000_001):
                return Code.INVALID_BUDGET
        elif not self._size_allowed(request.price, request.qty):
            return Code.INVALID_QTY
        if not is_client_order_id(request.client_order_id):
            return Code.MISSING_IDEMPOTENCY_KEY
        return Code.MARKET_NOT_FOUND if market is None else None

    @staticmethod
    def _size_allowed(price, qty):
        return 1 <= qty <= 1_000_000 and price * qty <= 100_000_000

    def _closed(self, market):
        if self.venue_state is VenueState.HALTED:
            return Code.VENUE_HALTED
        if self.venue_state is VenueState.CANCEL_ONLY:
            return Code.VENUE_CANCEL_ONLY
        if market.state is MarketState.HALTED:
            return Code.MARKET_HALTED
        return Code.MARKET_RESOLVED if market.state is MarketState.RESOLVED else None

    def _afforded(self, user, request, market, order_id, now_ns):
        if isinstance(request, BudgetOrder):
            return self._budget_size(user, request, market)
        if request.side is Side.BUY:
            draft = NaiveOrder(order_id, user, market, request, request.qty, now_ns)
            if draft.worst_case(request.price, request.qty) > self.available(user):
                return Code.INSUFFICIENT_BALANCE
            return request.qty
        free = market.held(user, request.outcome) - market.committed(user, request.outcome)
        return Code.INSUFFICIENT_SHARES if request.qty > free else request.qty

    def _budget_size(self, user, request, market):
        """One share after the other until the money, the liquidity or an own order ends it."""
        cap = min(request.budget_cents, self.available(user))
        buys_yes = request.outcome is Outcome.YES
        fok = request.time_in_force is TimeInForce.FOK
        prices, own_price = [], None
        for maker in market.queue(bids=not buys_yes):
            price = maker.yes_price if buys_yes else 100 - maker.yes_price
            if price > request.price:
                break
            if maker.user == user:
                own_price = price
                break
            prices += [price] * maker.remaining
        if not prices:
            met_own = own_price is not None
            return Code.BUDGET_NOT_FILLABLE if fok and met_own else Code.NO_EXECUTABLE_LIQUIDITY
        flow, fees = 0, Fraction(0)
        one_more = prices[-1] if own_price is None else own_price
        for bought, price in enumerate([*prices, one_more]):
            flow += price
            fees += exact_fee(market.taker_rate, 1, price)
            if flow + math.ceil(fees) > cap:
                return bought or Code.BUDGET_NOT_FILLABLE
        return Code.BUDGET_NOT_FILLABLE if fok else len(prices)

    def _all_there(self, order):
        wanted = order.remaining
        for maker in self._makers(order):
            if maker.user == order.user:
                return False
            wanted -= maker.remaining
            if wanted <= 0:
                return True
        return False

    def _makers(self, order):
        limit = order.yes_price
        return [
            maker
            for maker in order.market.queue(bids=not order.bids)
            if (maker.yes_price <= limit if order.bids else maker.yes_price >= limit)
        ]

    def _trade_what_crosses(self, taker, now_ns):
        while taker.remaining:
            makers = self._makers(taker)
            if not makers:
                return
            maker = makers[0]
            overlap = min(taker.remaining, maker.remaining)
            for order in (maker, taker):
                order.remaining -= overlap
                order.updated_ns = now_ns
            if maker.user != taker.user:
                self._print(maker, taker, overlap, now_ns)
            if maker.remaining == 0:
                self._leave(maker, None)
            else:
                maker.status = OrderStatus.PARTIALLY_FILLED if maker.filled else OrderStatus.OPEN

    def _print(self, maker, taker, qty, now_ns):
        self.matches += 1
        price = maker.yes_price
        trade_id = f"trade {self.matches}"
        market_id = maker.market.listing.market_id
        self.emitted.append(
            m.TradePrinted(
                now_ns,
                trade_id,
                market_id,
                price,
                qty,
                maker.request.outcome,
                maker.side,
                taker.request.outcome,
                taker.side,
            )
        )
        for order, role, rate in (
            (maker, Liquidity.MAKER, maker.market.maker_rate),
            (taker, Liquidity.TAKER, maker.market.taker_rate),
        ):
            outcome = order.request.outcome
            own_price = price if outcome is Outcome.YES else 100 - price
            paid = math.ceil(order.exact_fees)
            order.exact_fees += exact_fee(rate, qty, own_price)
            fee = math.ceil(order.exact_fees) - paid
            order.filled += qty
            self.fees += fee
            position = order.market.positions.setdefault((order.user, outcome), [0, 0, 0])
            if order.side is Side.BUY:
                self.cash[order.user] -= own_price * qty + fee
                order.spent += own_price * qty + fee
                position[0] += qty
                position[1] += own_price * qty
                position[2] -= fee
            else:
                self.cash[order.user] += own_price * qty - fee
                cost = math.floor(Fraction(position[1] * qty, position[0]))
                position[0] -= qty
                position[1] -= cost
                position[2] += own_price * qty - cost - fee
            self.emitted.append(
                m.FillBooked(
                    now_ns,
                    f"{role} {self.matches}",
                    trade_id,
                    order.user,
                    order.order_id,
                    market_id,
                    outcome,
                    order.side,
                    own_price,
                    price,
                    qty,
                    fee,
                    role,
                )
            )

    def _settle_down(self, order):
        if order.remaining == 0:
            self._leave(order, None)
        elif order.request.time_in_force is TimeInForce.GTC:
            self.turns += 1
            order.turn = self.turns
            order.market.resting.append(order)
            order.status = OrderStatus.PARTIALLY_FILLED if order.filled else OrderStatus.OPEN
        else:
            self._leave(order, OrderStatus.CANCELED)

    def _leave(self, order, status):
        """End an order; without a status it was consumed, by trades alone or not."""
        if status is None:
            whole = order.filled == order.qty
            status = OrderStatus.FILLED if whole else OrderStatus.CANCELED
        order.status, order.remaining, order.turn = status, 0, None
        if order in order.market.resting:
            order.market.resting.remove(order)

    def do_AmendOrder(self, command, market, now_ns):
        amend = command.amend
        if amend.price is not None and amend.price not in range(1, 100):
            return m.Refused(Code.INVALID_PRICE, "")
        if amend.qty is not None and amend.qty not in range(1, 1_000_001):
            return m.Refused(Code.INVALID_QTY, "")
        order = self.orders.get(command.order_id)
        if order is None or order.user != command.user_id:
            return m.Refused(Code.ORDER_NOT_FOUND, "")
        price = amend.price or order.price
        remaining = amend.qty or order.remaining
        rests = order.turn is not None
        if rests and not self._size_allowed(price, order.filled + remaining):
            return m.Refused(Code.INVALID_QTY, "")
        closed = self._closed(market)
        if closed in (Code.VENUE_HALTED, Code.VENUE_CANCEL_ONLY):
            return m.Refused(closed, "")
        if not rests:
            return m.Refused(Code.ORDER_NOT_CANCELABLE, "")
        if closed is not None:
            return m.Refused(closed, "")
        if order.side is Side.BUY:
            more = order.worst_case(price, remaining) - order.reserve()
            if more > self.available(order.user):
                return m.Refused(Code.INSUFFICIENT_BALANCE, "")
        else:
            outcome = order.request.outcome
            others = market.committed(order.user, outcome) - order.remaining
            if others + remaining > market.held(order.user, outcome):
                return m.Refused(Code.INSUFFICIENT_SHARES, "")
        kept = price == order.price and remaining <= order.remaining
        order.price, order.remaining, order.qty = price, remaining, order.filled + remaining
        order.updated_ns = now_ns
        if not kept:
            self.fresh.append(order.order_id)
            order.turn = None
            market.resting.remove(order)
            self._trade_what_crosses(order, now_ns)
            self._settle_down(order)
        return m.Amended(order.state(), kept)

    def do_CancelOrder(self, command, market, now_ns):
        order = self.orders.get(command.order_id)
        if order is None or order.user != command.user_id:
            return m.Refused(Code.ORDER_NOT_FOUND, "")
        if self.venue_state is VenueState.HALTED:
            return m.Refused(Code.VENUE_HALTED, "")
        if order.turn is None:
            if order.by_cancel:
                return m.Cancelled(order.state(), 0)
            return m.Refused(Code.ORDER_NOT_CANCELABLE, "")
        removed = order.remaining
        self._leave(order, OrderStatus.CANCELED)
        order.by_cancel = True
        order.updated_ns = now_ns
        return m.Cancelled(order.state(), removed)

    # --- the operator's -----------------------------------------------------------------------

    def do_ResolveMarket(self, command, market, now_ns):
        if market is None:
            return m.Refused(Code.MARKET_NOT_FOUND, "")
        if market.winner is not None:
            same = market.winner is command.winner
            return m.Accepted() if same else m.Refused(Code.INVALID_REQUEST, "")
        for order in list(market.resting):
            order.updated_ns = now_ns
            self._leave(order, OrderStatus.EXPIRED)
        for (user, outcome), position in market.positions.items():
            payout = 100 * position[0] if outcome is command.winner else 0
            self.cash[user] += payout
            position[2] += payout - position[1]
            position[0] = position[1] = 0
        market.state, market.winner = MarketState.RESOLVED, command.winner
        market_id, event_ticker = market.listing.market_id, market.listing.event_ticker
        self.emitted.append(m.MarketStateChanged(now_ns, market_id, MarketState.RESOLVED))
        rungs = [r for r in self.markets.values() if r.listing.event_ticker == event_ticker]
        settled = all(rung.winner is not None for rung in rungs)
        self._event_becomes(
            event_ticker, EventStatus.SETTLED if settled else EventStatus.CLOSED, now_ns
        )
        return m.Accepted()

    def _event_becomes(self, event_ticker, status, now_ns):
        if self.events[event_ticker] is not status:
            self.events[event_ticker] = status
            self.emitted.append(m.EventStatusChanged(now_ns, event_ticker, status))

    def do_SetEventStatus(self, command, market, now_ns):
        status = self.events.get(command.event_ticker)
        if status is None:
            return m.Refused(Code.MARKET_NOT_FOUND, "")
        rungs = [
            rung
            for rung in self.markets.values()
            if rung.listing.event_ticker == command.event_ticker
        ]
        begun = any(rung.winner is not None for rung in rungs)
        if status is not command.status and (begun or command.status is EventStatus.SETTLED):
            return m.Refused(Code.INVALID_REQUEST, "")
        self._event_becomes(command.event_ticker, command.status, now_ns)
        return m.Accepted()

    def do_HaltMarket(self, command, market, now_ns):
        return self._market_becomes(market, MarketState.HALTED, now_ns)

    def do_ResumeMarket(self, command, market, now_ns):
        return self._market_becomes(market, MarketState.ACTIVE, now_ns)

    def _market_becomes(self, market, state, now_ns):
        if market is None:
            return m.Refused(Code.MARKET_NOT_FOUND, "")
        if market.winner is not None:
            return m.Refused(Code.MARKET_RESOLVED, "")
        if market.state is not state:
            market.state = state
            self.emitted.append(m.MarketStateChanged(now_ns, market.listing.market_id, state))
        return m.Accepted()

    def do_SetVenueState(self, command, market, now_ns):
        if self.venue_state is not command.state:
            self.venue_state = command.state
            self.emitted.append(m.VenueStateChanged(now_ns, command.state))
        return m.Accepted()

    def do_AddUser(self, command, market, now_ns):
        if command.user_id not in self.cash:
            self.cash[command.user_id] = 0
            self.emitted.append(m.UserAdded(now_ns, command.user_id))
        return m.Accepted()

    def do_Deposit(self, command, market, now_ns):
        return self._cash_moves(command.user_id, command.amount_cents, command.amount_cents)

    def do_Withdraw(self, command, market, now_ns):
        return self._cash_moves(command.user_id, command.amount_cents, -command.amount_cents)

    def _cash_moves(self, user, amount, change):
        if user not in self.cash or amount < 1:
            return m.Refused(Code.INVALID_REQUEST, "")
        if self.available(user) + change < 0:
            return m.Refused(Code.INSUFFICIENT_BALANCE, "")
        self.cash[user] += change
        return m.Accepted()

    def do_ListCompany(self, command, market, now_ns):
        self.emitted.append(m.CompanyListed(now_ns, command))
        return m.Accepted()

    def do_ListEvent(self, command, market, now_ns):
        self.events[command.event_ticker] = command.status
        self.emitted.append(m.EventListed(now_ns, command))
        return m.Accepted()

    def do_ListMarket(self, command, market, now_ns):
        self.markets[command.market_id] = NaiveMarket(command)
        self.emitted.append(m.MarketListed(now_ns, command))
        return m.Accepted()
