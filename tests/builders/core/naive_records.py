"""What the naive exchange keeps: orders, markets, and what a market looked like at one moment."""

import math
from fractions import Fraction

from venue.engine import messages as m
from venue.wire.model import MarketState
from venue.wire.money import BookSide, Outcome, Side
from venue.wire.requests import BudgetOrder


class NaiveOrder:
    """An order: `turn` is its place in time, None while it does not rest."""

    def __init__(self, order_id, user, market, request, qty, now_ns):
        self.order_id, self.user, self.market, self.request = order_id, user, market, request
        self.side = Side.BUY if isinstance(request, BudgetOrder) else request.side
        self.price, self.qty, self.remaining, self.filled = request.price, qty, qty, 0
        self.exact_fees = Fraction(0)
        self.status = None
        self.turn = None
        self.by_cancel = False
        self.spent = 0
        self.created_ns = self.updated_ns = now_ns
        self._reserve = (None, 0)
        self._state = (None, None)

    @property
    def yes_price(self):
        return self.price if self.request.outcome is Outcome.YES else 100 - self.price

    @property
    def bids(self):
        return (self.request.outcome is Outcome.YES) is (self.side is Side.BUY)

    def reserve(self):
        """Cents that a resting buy must keep back."""
        if self.turn is None or self.side is Side.SELL:
            return 0
        key = (self.remaining, self.price, self.filled)
        if self._reserve[0] != key:
            self._reserve = (key, self.worst_case(self.price, self.remaining))
        return self._reserve[1]

    def worst_case(self, price, remaining):
        """Price and the dearer fee for all that remains, less the fee cents already paid."""
        rate = max(self.market.maker_rate, self.market.taker_rate)
        total = self.exact_fees + exact_fee(rate, remaining, price)
        return price * remaining + math.ceil(total) - math.ceil(self.exact_fees)

    def state(self):
        key = (self.updated_ns, self.status, self.remaining, self.filled)
        if self._state[0] != key:
            self._state = (key, self._fresh_state())
        return self._state[1]

    def _fresh_state(self):
        listing = self.market.listing
        return m.OrderState(
            self.order_id,
            self.user,
            listing.market_id,
            listing.ticker,
            listing.event_ticker,
            self.request.outcome,
            self.side,
            self.price,
            self.qty,
            self.remaining,
            self.filled,
            self.status,
            self.request.time_in_force,
            self.reserve(),
            self.created_ns,
            self.updated_ns,
        )


class NaiveMarket:
    """A market: the orders that rest, and [shares, cost, realized] per user and outcome."""

    def __init__(self, listing):
        self.listing = listing
        self.state = MarketState.ACTIVE
        self.winner = None
        self.resting = []
        self.positions = {}
        self.picture = NOTHING
        self.maker_rate = Fraction(listing.maker_fee_rate.e8, 10**8)
        self.taker_rate = Fraction(listing.taker_fee_rate.e8, 10**8)

    def queue(self, bids):
        """The orders of one half in price-time order."""
        half = [order for order in self.resting if order.bids is bids]
        return sorted(half, key=lambda o: (-o.yes_price if bids else o.yes_price, o.turn))

    def held(self, user, outcome):
        return self.positions.get((user, outcome), [0, 0, 0])[0]

    def committed(self, user, outcome):
        return sum(
            order.remaining
            for order in self.resting
            if order.user == user and order.side is Side.SELL and order.request.outcome is outcome
        )

    def pairs(self):
        """Open interest: every YES share is one half of a pair."""
        return sum(p[0] for (_, outcome), p in self.positions.items() if outcome is Outcome.YES)

    def depth(self):
        """(half, price) -> shares."""
        sizes = {}
        for order in self.resting:
            key = (BookSide.BID if order.bids else BookSide.ASK, order.yes_price)
            sizes[key] = sizes.get(key, 0) + order.remaining
        return sizes


class Picture:
    """What can be seen of a market at one moment."""

    def __init__(self, market=None):
        self.positions = {key: tuple(p) for key, p in market.positions.items()} if market else {}
        self.depth = market.depth() if market else {}
        self.pairs = market.pairs() if market else 0
        self.orders = {order.order_id: order.state() for order in market.resting} if market else {}


NOTHING = Picture()


def exact_fee(rate, qty, price):
    """The fee in cents, unrounded."""
    return rate * Fraction(qty * price * (100 - price), 100)
