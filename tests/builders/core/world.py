"""A small exchange to try one thing on: users a to d with cash, and the market M."""

from tests.builders.core.dump import dump_of
from tests.builders.core.histories import event, listing, uuid
from venue.engine import messages as m
from venue.engine.engine import Engine
from venue.wire.money import BookSide, Outcome, Side
from venue.wire.requests import Amend, BudgetOrder, QtyOrder, TimeInForce

M = uuid(101)
SECOND = uuid(102)
YES, NO = Outcome.YES, Outcome.NO
BUY, SELL = Side.BUY, Side.SELL
GTC, IOC, FOK = TimeInForce.GTC, TimeInForce.IOC, TimeInForce.FOK
CASH = 100_000


class World:
    """Every call is one command a nanosecond after the last; returns the answer, keeps the events.

    Rates are zero unless given, so that a test about something else counts in whole cents.
    """

    def __init__(self, rates=("0", "0"), cash=CASH):
        self.engine = Engine(b"a key for the tests")
        self.now_ns = 0
        self.events = []
        self._placed = 0
        self.do(m.ListCompany(uuid(1), "Acme", "ACME"))
        self.do(event(26))
        self.do(listing(101, "ACM-26Q1", rates))
        self.do(listing(102, "ACM-26Q1", rates))
        for user in "abcd":
            self.do(m.AddUser(user))
            self.do(m.Deposit(user, cash))

    def do(self, command):
        self.now_ns += 1
        answer, self.events = self.engine.apply(command, self.now_ns)
        return answer

    def place(self, user, outcome, side, price, qty, tif=GTC, cid=None, market=M):
        self._placed += 1
        cid = f"#{self._placed}" if cid is None else cid
        return self.do(m.PlaceOrder(user, QtyOrder(market, outcome, side, price, qty, tif, cid)))

    def buy(self, user, outcome, price, qty, tif=GTC, **more):
        return self.place(user, outcome, BUY, price, qty, tif, **more)

    def sell(self, user, outcome, price, qty, tif=GTC, **more):
        return self.place(user, outcome, SELL, price, qty, tif, **more)

    def spend(self, user, outcome, price, budget, tif=IOC, cid=None):
        self._placed += 1
        cid = f"#{self._placed}" if cid is None else cid
        return self.do(m.PlaceOrder(user, BudgetOrder(M, outcome, price, budget, tif, cid)))

    def amend(self, placed, price=None, qty=None, user=None):
        order = placed.order
        user = order.user_id if user is None else user
        return self.do(m.AmendOrder(user, order.order_id, Amend(price, qty)))

    def cancel(self, placed, user=None):
        order = placed.order
        return self.do(m.CancelOrder(order.user_id if user is None else user, order.order_id))

    def give(self, user, outcome, qty, price=50):
        """Let a user hold shares: bought against d at a price where nothing else rests."""
        self.buy("d", outcome.other, 100 - price, qty)
        answer = self.buy(user, outcome, price, qty)
        assert answer.order.filled_qty == qty

    def now(self, placed):
        """The order as it is now."""
        return self.engine.order(placed.order.order_id)

    def balance(self, user):
        return self.engine.balance(user)

    def bids(self):
        return self.engine.depth(M, BookSide.BID)

    def asks(self):
        return self.engine.depth(M, BookSide.ASK)

    def told(self, kind):
        """The events of one kind that the last command had."""
        return [event for event in self.events if isinstance(event, kind)]

    def held(self, user, outcome):
        """[qty, locked, cost_basis, realized] of a user in M."""
        shares = dump_of(self.engine)["shares"][M]
        return shares[outcome.value].get(user, [0, 0, 0, 0])
