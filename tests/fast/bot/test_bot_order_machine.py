"""Claims about the desk against a naive venue, under random loss, delay, fills and stale reads."""

import random
from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.core import messages as m
from bot.core.orders.manager import OrderManager
from bot.core.orders.order import OwnOrder, State
from bot.core.orders.outbox import Outbox, Pending
from bot.core.settings import BudgetSettings, StalenessSettings
from tests.builders.bot import made
from tests.builders.bot.made import LAG_NS, T0
from tests.builders.bot.order_venue import NaiveVenue, Row
from venue.wire.money import Outcome, Price, Qty, canonical
from venue.wire.requests import Amend

TICK_NS = LAG_NS // 10
LATE_NS = 8 * TICK_NS  # a request on its way arrives within this, or never
STALE_NS = 9 * TICK_NS  # a read shows the truth of so long ago, at most
TRUST = StalenessSettings(read_lag_ns=LAG_NS)


@dataclass
class Flight:
    """A request on its way: when it arrives, if ever, and what it is answered."""

    pending: Pending
    arrives_ns: int
    gives_up_ns: int
    fault: str
    answer: m.Answer | None = None
    answered: bool = False


@dataclass
class Run:
    """One desk, one venue, and what is on its way between them. Everything is drawn from `dice`."""

    dice: random.Random
    venue: NaiveVenue
    now_ns: int = T0
    faulty: bool = True
    flights: list[Flight] = field(default_factory=list)
    made: int = 0
    filled: dict[OwnOrder, int] = field(default_factory=dict)
    over: dict[OwnOrder, None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.out = Outbox(BudgetSettings())
        self.desk = OrderManager(TRUST, self.out)

    # --- what happens -----------------------------------------------------------------------------

    def step(self) -> None:
        """One thing happens, and time goes on."""
        what = self.dice.choice(("create", "amend", "amend", "cancel", "fill", "fill", "list", ""))
        live = list(self.desk.live_orders)
        if what == "create" and self.made < 3:
            self._create()
        elif what == "amend" and live:
            self._amend(self.dice.choice(live))
        elif what == "cancel" and live and self.dice.random() < 0.3:
            self.desk.send_cancel(self.dice.choice(live), "drawn", self.now_ns)
        elif what == "fill" and self.venue.resting():
            row = self.dice.choice(self.venue.resting())
            self.venue.fill(row.order_id, self.dice.randint(1, 4), self.now_ns)
        elif what == "list":
            self._list()
        self.tick(self.dice.randint(1, 6) * TICK_NS)

    def tick(self, for_ns: int) -> None:
        """Time passes: due things are sent, and what is on its way arrives."""
        self.now_ns += for_ns
        for own in list(self.desk.live_orders):
            if own.cancel_requested and own.can_cancel and own.due_ns <= self.now_ns:
                self.desk.send_cancel(own, "doomed", self.now_ns)
        self.desk.send_due(self.now_ns)
        self._take_off()
        self._land()
        self.check()

    def _create(self) -> None:
        self.made += 1
        order = made.intent(price=20 * self.made, qty=10, number=self.made)
        own = OwnOrder(order, self.now_ns, "drawn")
        self.desk.send_create(own, m.Create(order, False), self.now_ns)

    def _amend(self, own: OwnOrder) -> None:
        if own.state is not State.OPEN or own.cancel_requested or own.remaining < 1:
            return
        price = Price(own.price + self.dice.randint(1, 2)) if self.dice.random() < 0.5 else None
        qty = Qty(self.dice.randint(1, own.remaining))
        amend = Amend(price=price, qty=qty if price is None or self.dice.random() < 0.5 else None)
        self.desk.send_amend(own, amend, "drawn", self.now_ns)

    def _list(self) -> None:
        """A walk of what rests, begun now, as a replica shows it; it arrives at once or later."""
        begun_ns = self.now_ns
        rows = {
            row.order_id: row.shown()
            for row in self.venue.as_of(begun_ns - self._stale_ns()).values()
            if not row.end
        }
        self.desk.on_full_list(rows.values(), begun_ns, self.now_ns, begun_ns)
        for own in list(self.desk.live_orders):
            if own.order_id in rows:
                self.desk.on_order_row(own, rows[own.order_id], begun_ns, begun_ns)
            elif own.order_id is not None:
                self.desk.on_not_listed(own, begun_ns, self.now_ns)

    def _stale_ns(self) -> int:
        return self.dice.randint(0, STALE_NS) if self.faulty else 0

    # --- the network ------------------------------------------------------------------------------

    def _take_off(self) -> None:
        faults = ("", "", "lost", "dropped", "late", "429", "502") if self.faulty else ("",)
        for effect in self.out.effects:
            if isinstance(effect, m.Send):
                pending = self.out.pending.pop(effect.request_id)
                self.out.purse.answered(None, self.now_ns)
                fault = self.dice.choice(faults)
                wait_ns = self.dice.randint(0, 2 * TICK_NS) if self.faulty else 0
                late_ns = self.dice.randint(4 * TICK_NS, LATE_NS) if fault == "late" else wait_ns
                flight = Flight(pending, self.now_ns + late_ns, self.now_ns + 3 * TICK_NS, fault)
                self.flights.append(flight)
        self.out.effects = []

    def _land(self) -> None:
        for flight in list(self.flights):
            if flight.answer is None and self.now_ns >= flight.arrives_ns:
                flight.answer = self._arrive(flight)
        for flight in list(self.flights):
            quiet = flight.fault in ("lost", "dropped", "late", "502")
            if quiet and self.now_ns < flight.gives_up_ns:
                continue
            if not flight.answered and (quiet or flight.answer is not None):
                flight.answered = True
                answer = m.Unknown("no answer in time") if quiet else flight.answer
                assert answer is not None
                self.desk.on_response(flight.pending, answer, self.now_ns)
            # One that is late is carried out all the same.
            if flight.answered and flight.answer is not None:
                self.flights.remove(flight)

    def _arrive(self, flight: Flight) -> m.Answer:
        request = flight.pending.request
        if isinstance(request, m.ReadOrder):
            seen = self.venue.as_of(self.now_ns - self._stale_ns()).get(request.order_id)
            if seen is None:
                return m.Rejected(404, "order_not_found", "")
            return made.done(seen.shown())
        if flight.fault == "429":
            return m.Rejected(429, "rate_limited", "")
        if flight.fault == "lost":
            return m.Unknown("never arrived")
        return self.venue.carry_out(request, self.now_ns)

    # --- what must hold ---------------------------------------------------------------------------

    def check(self) -> None:
        """Nothing is forgotten, doubled, taken back or uncounted."""
        for own in [*self.desk.live_orders, *self.filled]:
            assert own.filled >= self.filled.get(own, 0)
            assert own not in self.over or own.state is State.CLOSED
            self.filled[own] = own.filled
            if own.state is State.CLOSED:
                self.over[own] = None
                assert own.max_fillable == 0
        for row in self.venue.resting():
            self._counted(row)
        for cid in self.venue.of_cid:
            mine = [r for r in self.venue.resting() if r.order.client_order_id == cid]
            assert len(mine) <= 1

    def _counted(self, row: Row) -> None:
        level = canonical(Outcome.YES, Price(row.price))
        counted = [
            own
            for own in self.desk.live_orders
            if own.client_order_id == row.order.client_order_id
            and level in own.yes_prices
            and own.max_fillable >= row.remaining
        ]
        assert len(counted) == 1, (row, list(self.desk.live_orders))

    def converge(self) -> None:
        """Faults stop; in bounded time everything is known, and as it was meant."""
        self.faulty = False
        for number in range(150):
            self.tick(2 * TICK_NS)
            if number % 5 == 0:
                self._list()
        resting = {row.order_id: row for row in self.venue.resting()}
        live = {own.order_id: own for own in self.desk.live_orders}
        assert live.keys() == resting.keys()
        for order_id, own in live.items():
            row = resting[str(order_id)]
            assert (own.state, own.price, own.remaining) == (State.OPEN, row.price, row.remaining)
            assert own.filled - own.fill_offset == row.filled
            assert not own.is_unknown
        assert self.out.findings == {}


def live_through(seed: int, steps: int, **ways: bool) -> Run:
    """Random steps, then time without any."""
    run = Run(random.Random(seed), NaiveVenue(**ways))
    for _ in range(steps):
        run.step()
    run.converge()
    return run


@pytest.mark.parametrize("ways", [{}, {"denies_again": True}, {"changes_id": True}], ids=str)
@settings(max_examples=45, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 60))
def test_no_order_is_lost_doubled_or_uncounted(ways, seed, steps):
    live_through(seed, steps, **ways)


def test_the_runs_close_orders():
    runs = [live_through(seed, 40) for seed in range(20)]
    assert State.CLOSED in {own.state for run in runs for own in run.filled}
