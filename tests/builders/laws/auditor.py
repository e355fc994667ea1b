"""An auditor of the exchange, who asserts V1..V14 and V18 from commands, answers and events.

It keeps its own books from the events and never asks the engine. What an event says of one thing
is held against what the other events must have made of it. `observe` checks what a command touched,
`audit` everything there is.
"""

from fractions import Fraction
from math import ceil

from venue.engine import messages as m
from venue.wire.model import EventStatus, Liquidity, MarketState, OrderStatus
from venue.wire.money import BookSide, Outcome, Side
from venue.wire.requests import BudgetOrder, TimeInForce

RESTING = (OrderStatus.OPEN, OrderStatus.PARTIALLY_FILLED)
ENDED = (OrderStatus.FILLED, OrderStatus.CANCELED, OrderStatus.EXPIRED)


class Violation(AssertionError):
    """A law is broken."""


def law(number, holds, *evidence):
    """Raise Violation unless the law holds."""
    if not holds:
        raise Violation(number, *evidence)


class Audited:
    """One order: its last state, its turn in its queue, exact fees and what it was charged."""

    def __init__(self, request):
        self.request = request
        self.state = None
        self.turn = 0
        self.fees = Fraction(0)
        self.charged = 0
        self.filled = 0
        self.is_bid = False
        self.yes_price = 0


class Book:
    """One market: who rests, the published levels, shares by (user, outcome)."""

    def __init__(self, listing):
        self.listing = listing
        self.resolved = False
        self.resting = {}
        self.levels = {}
        self.shares = {}
        self.interest = 0
        self.rates = {
            Liquidity.MAKER: Fraction(listing.maker_fee_rate.e8, 10**8),
            Liquidity.TAKER: Fraction(listing.taker_fee_rate.e8, 10**8),
        }

    def total(self, outcome):
        return sum(position[0] for key, position in self.shares.items() if key[1] is outcome)


class Auditor:
    """Feed every command with its answer and events, in order."""

    def __init__(self):
        self.balances = {}
        self.cash = {}
        self.books = {}
        self.orders = {}
        self.keys = {}
        self.event_states = {}
        self.rungs = {}
        self.fees = 0
        self.deposits = 0
        self.turns = 0

    # --- one command --------------------------------------------------------------------------

    def observe(self, command, answer, events):
        if isinstance(answer, m.Refused):
            law("V12", events == [], command)
            return
        self.before = dict(self.balances)
        self.overtaken = {}
        self._cash_commands(command, answer)
        new = isinstance(command, m.PlaceOrder) and answer.fresh
        if new:
            self._first_seen(command, answer)
        self._prints(command, answer, events)
        touched_users, touched_books = set(), set()
        for event in events:
            self._take(event, command, answer, touched_users, touched_books)
        for market_id in sorted(touched_books):
            self._check_book(self.books[market_id])
        for user in sorted(touched_users):
            self._check_user(user)
        self._check_total()
        self._check_answer(command, answer, new)

    def audit(self):
        """Everything, at once."""
        for book in self.books.values():
            self._check_book(book)
        for user in self.cash:
            self._check_user(user)
        self._check_total()
        for event, rungs in self.rungs.items():
            settled = bool(rungs) and all(self.books[rung].resolved for rung in rungs)
            law("V18", settled is (self.event_states[event] is EventStatus.SETTLED), event)

    def _cash_commands(self, command, answer):
        if isinstance(command, m.AddUser):
            self.cash.setdefault(command.user_id, 0)
            self.balances.setdefault(command.user_id, (0, 0))
        elif isinstance(command, m.Deposit | m.Withdraw):
            sign = 1 if isinstance(command, m.Deposit) else -1
            self.cash[command.user_id] += sign * command.amount_cents
            self.deposits += sign * command.amount_cents

    def _first_seen(self, command, answer):
        key = (command.user_id, command.order.client_order_id)
        law("V11", key not in self.keys, key)
        law("V11", answer.order.order_id not in self.orders, key)
        self.keys[key] = answer.order.order_id
        audited = self.orders[answer.order.order_id] = Audited(command.order)
        audited.is_bid = (answer.order.outcome is Outcome.YES) is (answer.order.side is Side.BUY)
        audited.yes_price = yes_price(answer.order.outcome, answer.order.price)

    # --- prints -------------------------------------------------------------------------------

    def _prints(self, command, answer, events):
        if isinstance(command, m.AmendOrder) and not answer.kept_place:
            # It left its queue before it could trade, and its limit is a new one.
            moved = self.orders[answer.order.order_id]
            self.books[answer.order.market_id].resting.pop(answer.order.order_id)
            moved.yes_price = yes_price(answer.order.outcome, answer.order.price)
        working = {}
        for place, event in enumerate(events):
            if isinstance(event, m.TradePrinted):
                maker, taker = events[place + 1], events[place + 2]
                law("V10", maker.user_id != taker.user_id, event)
                self._priority(event, maker, taker, answer, working)
                self._print(event, maker, taker)

    def _priority(self, trade, maker_fill, taker_fill, answer, working):
        """V8: the maker is the first in line of all that are not the taker's own."""
        book = self.books[trade.market_id]
        maker, taker = self.orders[maker_fill.order_id], self.orders[taker_fill.order_id]
        law("V8", taker_fill.order_id == answer.order.order_id, trade)
        law("V8", maker_fill.order_id in book.resting, trade)
        law("V8", trade.price == maker.yes_price and maker.is_bid is not taker.is_bid, trade)
        reaches = trade.price <= taker.yes_price if taker.is_bid else trade.price >= taker.yes_price
        law("V8", reaches, trade, taker.yes_price)
        rank = in_line(maker)
        for order_id, other in book.resting.items():
            if other.is_bid is not maker.is_bid or in_line(other) >= rank:
                continue
            if other.state.user_id == taker_fill.user_id:
                # An own order that was passed must be gone by the end of the command.
                self.overtaken[order_id] = other
            else:
                left = working.get(order_id, other.state.remaining_qty)
                law("V8", left == 0, trade, other.state)
        left = working.get(maker_fill.order_id, maker.state.remaining_qty) - trade.qty
        law("V8", left >= 0, trade)
        working[maker_fill.order_id] = left

    def _print(self, trade, maker, taker):
        book = self.books[trade.market_id]
        for fill, role in ((maker, Liquidity.MAKER), (taker, Liquidity.TAKER)):
            law("V8", fill.trade_id == trade.trade_id and fill.liquidity is role, fill)
            law("V8", fill.qty == trade.qty and fill.trade_price == trade.price, fill)
            law("V8", yes_price(fill.outcome, fill.outcome_price) == trade.price, fill)
            order = self.orders[fill.order_id]
            exact = book.rates[role] * fill.qty * fill.outcome_price
            order.fees += exact * (100 - fill.outcome_price) / 100
            order.charged += fill.fee_cents
            order.filled += fill.qty
            law("V14", fill.fee_cents >= 0, fill)
            law("V14", order.charged == ceil(order.fees), fill, order.charged, order.fees)
            flow = fill.outcome_price * fill.qty
            position = book.shares.setdefault((fill.user_id, fill.outcome), [0, 0, 0])
            if fill.side is Side.BUY:
                self.cash[fill.user_id] -= flow + fill.fee_cents
                position[0] += fill.qty
                position[1] += flow
                position[2] -= fill.fee_cents
            else:
                law("V4", fill.qty <= position[0], fill)
                cost = position[1] * fill.qty // position[0]
                self.cash[fill.user_id] += flow - fill.fee_cents
                position[0] -= fill.qty
                position[1] -= cost
                position[2] += flow - cost - fill.fee_cents
            self.fees += fill.fee_cents
        kinds = {(maker.outcome, maker.side), (taker.outcome, taker.side)}
        if kinds == {(Outcome.YES, Side.BUY), (Outcome.NO, Side.BUY)}:
            book.interest += trade.qty
        elif kinds == {(Outcome.YES, Side.SELL), (Outcome.NO, Side.SELL)}:
            book.interest -= trade.qty
        else:
            law("V2", len(kinds) == 2 and maker.outcome is taker.outcome, trade)

    # --- the other events ---------------------------------------------------------------------

    def _take(self, event, command, answer, users, books):
        match event:
            case m.OrderChanged():
                self._order(event.order, command, answer)
                users.add(event.order.user_id)
                books.add(event.order.market_id)
            case m.BalanceChanged():
                self.balances[event.user_id] = (event.available_cents, event.reserved_cents)
                users.add(event.user_id)
            case m.PositionChanged():
                books.add(event.market_id)
                self._position(event, command)
            case m.LevelChanged():
                books.add(event.market_id)
                self.books[event.market_id].levels[(event.side, event.price)] = event.size
            case m.OpenInterestChanged():
                books.add(event.market_id)
                book = self.books[event.market_id]
                if isinstance(command, m.ResolveMarket):
                    book.interest = 0
                law("V2", event.open_interest == book.interest, event, book.interest)
            case m.MarketListed():
                self.books[event.market.market_id] = Book(event.market)
                self.rungs[event.market.event_ticker].append(event.market.market_id)
            case m.EventListed():
                self.event_states[event.event.event_ticker] = event.event.status
                self.rungs[event.event.event_ticker] = []
            case m.EventStatusChanged():
                self.event_states[event.event_ticker] = event.status
                self._event_status(event)
            case m.MarketStateChanged():
                book = self.books[event.market_id]
                law("V18", not book.resolved, event)
                book.resolved = event.state is MarketState.RESOLVED
                books.add(event.market_id)

    def _position(self, event, command):
        book = self.books[event.market_id]
        key = (event.user_id, event.outcome)
        position = book.shares.setdefault(key, [0, 0, 0])
        if isinstance(command, m.ResolveMarket):
            payout = 100 * position[0] if event.outcome is command.winner else 0
            self.cash[event.user_id] += payout
            position[:] = [0, 0, position[2] + payout - position[1]]
        shown = [event.qty, event.cost_basis_cents, event.realized_pnl_cents]
        law("V2", shown == position, event, position)

    def _event_status(self, event):
        begun = [self.books[rung].resolved for rung in self.rungs[event.event_ticker]]
        settled = bool(begun) and all(begun)
        law("V18", settled is (event.status is EventStatus.SETTLED), event)
        law("V18", not any(begun) or event.status in (EventStatus.CLOSED, EventStatus.SETTLED))

    def _order(self, state, command, answer):
        """V5, V6, and V3 of the order alone."""
        audited = self.orders[state.order_id]
        old = audited.state
        law("V6", old is None or old.status in RESTING, old, state)
        law("V5", state.filled_qty == audited.filled, state, audited.filled)
        removed = state.qty - state.filled_qty - state.remaining_qty
        law("V5", removed >= 0 and state.remaining_qty >= 0, state)
        whole = state.filled_qty == state.qty
        if state.status in RESTING:
            law("V6", state.time_in_force is TimeInForce.GTC, state)
            law("V5", state.remaining_qty > 0, state)
            law("V5", (state.filled_qty > 0) is (state.status is not OrderStatus.OPEN), state)
        else:
            law("V6", state.status in ENDED and state.remaining_qty == 0, state)
            law("V5", whole is (state.status is OrderStatus.FILLED), state)
            expired = state.status is OrderStatus.EXPIRED
            law("V6", expired is isinstance(command, m.ResolveMarket), state)
        law("V3", state.reserved_cents == self._reserve(audited, state), state)
        amended = isinstance(command, m.AmendOrder) and state.order_id == answer.order.order_id
        law("V5", amended or old is None or old.qty == state.qty, old, state)
        if amended:
            self._amended(command.amend, answer.kept_place, old, state)
        self._queue(audited, state, amended and not answer.kept_place)

    def _amended(self, amend, kept, old, state):
        """V9. That a kept place was really kept is what V8 sees in later prints."""
        price = old.price if amend.price is None else amend.price
        qty = old.remaining_qty if amend.qty is None else amend.qty
        law("V9", kept is (price == old.price and qty <= old.remaining_qty), old, state)
        law("V9", state.price == price and state.qty == old.filled_qty + qty, old, state)
        law("V9", not kept or state.remaining_qty == qty, old, state)

    def _queue(self, audited, state, moved):
        resting = self.books[state.market_id].resting
        if state.status in ENDED:
            resting.pop(state.order_id, None)
        elif audited.state is None or moved:
            self.turns += 1
            audited.turn = self.turns
            resting[state.order_id] = audited
        audited.yes_price = yes_price(state.outcome, state.price)
        audited.state = state

    def _reserve(self, audited, state):
        if state.side is Side.SELL or state.status not in RESTING:
            return 0
        rate = max(self.books[state.market_id].rates.values())
        fee = rate * state.remaining_qty * state.price * (100 - state.price) / 100
        return state.price * state.remaining_qty + ceil(audited.fees + fee) - audited.charged

    # --- what must hold afterwards ------------------------------------------------------------

    def _check_book(self, book):
        yes, no = book.total(Outcome.YES), book.total(Outcome.NO)
        law("V2", yes == no == book.interest >= 0, book.listing.ticker, yes, no, book.interest)
        law("V2", not book.resolved or (book.interest == 0 and not book.resting))
        sizes, offered = {}, {}
        for audited in book.resting.values():
            state = audited.state
            side = BookSide.BID if audited.is_bid else BookSide.ASK
            key = (side, audited.yes_price)
            sizes[key] = sizes.get(key, 0) + state.remaining_qty
            if state.side is Side.SELL:
                holder = (state.user_id, state.outcome)
                offered[holder] = offered.get(holder, 0) + state.remaining_qty
        shown = {key: size for key, size in book.levels.items() if size}
        law("V7", shown == sizes, shown, sizes)
        bids = [price for side, price in sizes if side is BookSide.BID]
        asks = [price for side, price in sizes if side is BookSide.ASK]
        law("V7", not bids or not asks or max(bids) < min(asks), bids, asks)
        for holder, qty in offered.items():
            law("V4", qty <= book.shares.get(holder, [0])[0], holder, qty)

    def _check_user(self, user):
        available, reserved = self.balances[user]
        owed = sum(
            audited.state.reserved_cents
            for book in self.books.values()
            for audited in book.resting.values()
            if audited.state.user_id == user
        )
        law("V3", reserved == owed, user, reserved, owed)
        law("V3", available >= 0, user, available)
        law("V1", available + reserved == self.cash[user], user, self.cash[user])

    def _check_total(self):
        cash = sum(available + reserved for available, reserved in self.balances.values())
        pairs = sum(book.interest for book in self.books.values())
        law("V1", cash + 100 * pairs + self.fees == self.deposits, cash, pairs, self.fees)

    def _check_answer(self, command, answer, new):
        order = getattr(answer, "order", None)
        if order is None:
            return
        audited = self.orders[order.order_id]
        law("V11", audited.state == order, audited.state, order)
        law("V6", order.status is not OrderStatus.ACCEPTED, order)
        for overtaken in self.overtaken.values():
            law("V8", overtaken.state.status in ENDED, overtaken.state)
        if isinstance(command, m.PlaceOrder):
            key = (command.user_id, command.order.client_order_id)
            law("V11", self.keys.get(key) == order.order_id, key)
            if new and order.time_in_force is TimeInForce.FOK:
                law("V6", order.filled_qty in (0, order.qty), order)
            if isinstance(command.order, BudgetOrder):
                self._check_budget(command, answer, new)

    def _check_budget(self, command, answer, new):
        """V13, but for the share more, which the share-by-share exchange decides."""
        order, audited = answer.order, self.orders[answer.order.order_id]
        law("V13", order.status is OrderStatus.FILLED and order.qty > 0, order)
        if new:
            cap = min(command.order.budget_cents, self.before[command.user_id][0])
            law("V13", 1 <= answer.spent_cents <= cap, answer, cap)
            spent = sum(self.before[command.user_id]) - sum(self.balances[command.user_id])
            law("V13", answer.spent_cents == spent, answer, spent)
            audited.spent = spent
        law("V13", answer.spent_cents == audited.spent, answer)


def yes_price(outcome, price):
    """A price in cents of YES."""
    return price if outcome is Outcome.YES else 100 - price


def in_line(audited):
    """Smaller is served earlier, within one half."""
    return (-audited.yes_price if audited.is_bid else audited.yes_price, audited.turn)
