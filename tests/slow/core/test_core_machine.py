"""Claim: no run of commands, however chosen, parts the engine from the naive exchange."""

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from tests.builders.core.histories import USERS, opening, uuid
from tests.builders.core.twin import Twin
from tests.builders.laws.auditor import Auditor
from venue.engine import messages as m
from venue.wire.model import VenueState
from venue.wire.money import Outcome, Side
from venue.wire.requests import Amend, BudgetOrder, QtyOrder, TimeInForce

users = st.sampled_from(USERS)
markets = st.sampled_from([uuid(101), uuid(103)])
outcomes = st.sampled_from(list(Outcome))
prices = st.integers(45, 55) | st.sampled_from([1, 99])
sizes = st.integers(1, 12)
keys = st.integers(0, 40).map(str)


class ExchangeMachine(RuleBasedStateMachine):
    """Both exchanges under one stream of commands, with the auditor looking on."""

    @initialize()
    def open(self):
        self.twin, self.auditor, self.orders = Twin(), Auditor(), []
        for command in opening():
            self.do(command)

    def do(self, command):
        answer, events = self.twin.apply(command)
        self.auditor.observe(command, answer, events)
        order = getattr(answer, "order", None)
        if order is not None and order.order_id not in self.orders:
            self.orders.append(order.order_id)

    @rule(
        user=users,
        market=markets,
        outcome=outcomes,
        side=st.sampled_from(list(Side)),
        price=prices,
        qty=sizes,
        tif=st.sampled_from(list(TimeInForce)),
        key=keys,
    )
    def place(self, user, market, outcome, side, price, qty, tif, key):
        self.do(m.PlaceOrder(user, QtyOrder(market, outcome, side, price, qty, tif, key)))

    @rule(
        user=users,
        market=markets,
        outcome=outcomes,
        price=prices,
        budget=st.integers(1, 1_500),
        tif=st.sampled_from([TimeInForce.IOC, TimeInForce.FOK]),
        key=keys,
    )
    def spend(self, user, market, outcome, price, budget, tif, key):
        self.do(m.PlaceOrder(user, BudgetOrder(market, outcome, price, budget, tif, key)))

    @rule(user=users, pick=st.integers(0, 60), price=st.none() | prices, qty=sizes)
    def amend(self, user, pick, price, qty):
        if self.orders:
            order_id = self.orders[pick % len(self.orders)]
            owner = self.twin.engine.order(order_id).user_id if pick % 10 else user
            self.do(m.AmendOrder(owner, order_id, Amend(price, qty)))

    @rule(user=users, pick=st.integers(0, 60))
    def cancel(self, user, pick):
        if self.orders:
            order_id = self.orders[pick % len(self.orders)]
            owner = self.twin.engine.order(order_id).user_id if pick % 10 else user
            self.do(m.CancelOrder(owner, order_id))

    @rule(market=markets, halt=st.booleans())
    def halt_or_resume(self, market, halt):
        self.do((m.HaltMarket if halt else m.ResumeMarket)(market))

    @rule(state=st.sampled_from([VenueState.OPEN, *VenueState]))
    def stop_or_open(self, state):
        self.do(m.SetVenueState(state))

    @rule(market=markets, winner=outcomes, really=st.integers(0, 9))
    def resolve(self, market, winner, really):
        if really == 0:
            self.do(m.ResolveMarket(market, winner))

    @rule(user=users, cents=st.integers(-5, 3_000), out=st.booleans())
    def move_cash(self, user, cents, out):
        self.do((m.Withdraw if out else m.Deposit)(user, cents))

    @invariant()
    def everything_agrees(self):
        self.twin.compare_everything()

    def teardown(self):
        self.auditor.audit()


TestExchange = ExchangeMachine.TestCase
TestExchange.settings = settings(
    max_examples=100, stateful_step_count=50, deadline=None, derandomize=True
)
