"""A naive venue for free cash: orders, fills, responses and balances that take their time."""

import random
from dataclasses import dataclass, field

from bot.core.risk.buying_power import BuyingPower
from venue.wire.money import FeeRate, FeeUnits, Price, Qty, Side, fill_fee, reserve_cents
from venue.wire.requests import Amend

RATE, FREE = FeeRate.parse("0.0700"), FeeRate.parse("0")
LAG = 20
NONE = FeeUnits(0)


def cost(qty, price, fees=NONE):
    """Cents that so many shares may cost at a price."""
    return reserve_cents(RATE, Qty(qty), Price(price), fees)


@dataclass(eq=False)
class Order:
    """A purchase as the trader and as the venue knows it."""

    qty: int
    price: int
    filled: int = 0
    last_write_ns: int = 0
    is_live: bool = True
    pending: str = "create"
    moves_to: int = 0
    side: Side = Side.BUY
    amend: Amend | None = None
    remaining: int = 0
    landed: bool = False
    left: int = 0  # at the venue, from here on
    at: int = 0
    traded: int = 0
    fees: FeeUnits = NONE
    over: bool = False

    @property
    def is_decided(self):
        return not self.pending

    @property
    def locked(self):
        return cost(self.left, self.at, self.fees)


@dataclass(eq=False)
class World:
    """A venue, an account that trades there, and answers and reads that take their time."""

    available: int
    cash: BuyingPower = field(default_factory=BuyingPower)
    now: int = 1_000
    orders: list = field(default_factory=list)
    shown: list = field(default_factory=list)  # what was available, and since when
    read: int | None = None

    def __post_init__(self):
        self.shown = [(0, self.available)]
        self.cash.on_balance(self.available, self.now - LAG, self.now)

    def pick(self, at, able):
        found = [own for own in self.orders if able(own)]
        return found[at % len(found)] if found else None

    def moved(self, cents):
        self.available += cents
        assert self.available >= 0, "the venue had to lock more than there was"
        self.shown.append((self.now, self.available))

    # what the account does

    def create(self, qty, price):
        if self.cash.suffices(cost(qty, price)):
            own = Order(qty, price, last_write_ns=self.now)
            self.orders.append(own)
            self.cash.on_create(own, RATE, self.now)

    def amend(self, at, price):
        own = self.pick(at, lambda own: own.is_live and not own.pending)
        if own is None:
            return
        remaining = own.qty - own.filled
        more = cost(remaining, price) - cost(remaining, own.price) + 1
        if self.cash.suffices(more):
            own.pending, own.moves_to = "amend", price
            own.remaining = remaining
            self.cash.on_amend(own, RATE, Amend(price=Price(price)), self.now)

    def cancel(self, at):
        own = self.pick(at, lambda own: own.is_live and not own.pending)
        if own is not None:
            own.pending = "cancel"
            own.remaining = own.qty - own.filled
            self.cash.on_cancel(own, self.now)

    # what becomes of it

    def land(self, at):
        own = self.pick(at, lambda own: own.pending and not own.landed)
        if own is None:
            return
        own.landed = True
        if own.pending == "create":
            own.left, own.at = own.qty, own.price
            self.moved(-own.locked)
        elif not own.over:
            before = own.locked
            if own.pending == "amend":
                own.at = own.moves_to
                self.moved(before - own.locked)
            else:
                own.left, own.over = 0, True
                self.moved(before)

    def refuse(self, at):
        own = self.pick(at, lambda own: own.pending == "create" and not own.landed)
        if own is not None:
            own.pending, own.is_live, own.over = "", False, True
            own.last_write_ns = self.now

    def fill(self, at, qty):
        own = self.pick(at, lambda own: own.left)
        if own is None:
            return
        qty, before = min(qty, own.left), own.locked
        own.left -= qty
        own.traded += qty
        own.fees, fee = fill_fee(own.fees, RATE, Qty(qty), Price(own.at))
        own.over = not own.left
        self.moved(before - own.locked - qty * own.at - fee)

    def answer(self, at):
        own = self.pick(at, lambda own: own.pending and own.landed)
        if own is None:
            return
        if own.pending == "amend":
            own.price = own.at
        own.pending, own.landed, own.moves_to, own.last_write_ns = "", False, 0, self.now
        self.learn(own)

    def learn(self, own):
        own.filled, own.is_live = own.traded, not own.over

    def hear(self, at):
        own = self.pick(at, lambda own: not own.pending)
        if own is not None:
            self.learn(own)

    def wait(self, ns):
        self.now += ns

    def ask(self):
        self.read = self.now

    def balance(self, at):
        """The answer shows some instant from a lag before it was asked for until now."""
        if self.read is None:
            return
        begun, self.read = self.read, None
        last = max(place for place, (ns, _) in enumerate(self.shown) if ns <= begun - LAG)
        some = self.shown[last:]
        self.cash.on_balance(some[at % len(some)][1], begun - LAG, self.now)

    def truth(self):
        """What is free once all that is under way has arrived, if none of that lets anything go."""
        locked = 0
        for own in self.orders:
            if own.pending == "create" and not own.landed:
                locked += cost(own.qty, own.price)
            elif own.pending == "amend" and not own.landed and not own.over:
                locked += max(0, cost(own.left, own.moves_to, own.fees) - own.locked)
        return self.available - locked


def run_of(seed, after_each):
    """A world after three hundred acts drawn from a seed."""
    draw = random.Random(seed)
    world = World(draw.choice((300, 1_000, 4_000)))
    for _ in range(300):
        at = draw.randrange(100)
        match draw.choices(ACTS, WEIGHTS)[0]:
            case "create":
                world.create(draw.randint(1, 20), draw.randint(1, 99))
            case "amend":
                world.amend(at, draw.randint(1, 99))
            case "fill":
                world.fill(at, draw.randint(1, 20))
            case "wait":
                world.wait(draw.choice((1, LAG // 3, 2 * LAG)))
            case "ask":
                world.ask()
            case act:
                getattr(world, act)(at)
        after_each(world)
    return world


ACTS, WEIGHTS = zip(
    *{
        "create": 3,
        "amend": 4,
        "cancel": 2,
        "land": 6,
        "answer": 6,
        "refuse": 1,
        "hear": 2,
        "fill": 3,
        "wait": 4,
        "ask": 3,
        "balance": 3,
    }.items(),
    strict=True,
)
