"""Seeded histories of commands for the exchange: every kind, valid and not, in a hurry to cross.

A history learns orders and positions from the events it is given back, and shares no code with
the exchange.
"""

import random
from collections.abc import Iterator

import msgspec

from venue.engine import messages as m
from venue.wire.model import EventStatus, OrderStatus, VenueState
from venue.wire.money import FeeRate, Outcome, Side
from venue.wire.requests import Amend, BudgetOrder, QtyOrder, TimeInForce

USERS = ("ann", "bob", "cid", "dot", "eve")
RATES = (("0", "0"), ("0.01", "0.0175"), ("0.07", "0.00000001"), ("0.5", "1"))
OPEN_STATUSES = (OrderStatus.OPEN, OrderStatus.PARTIALLY_FILLED)


def uuid(number):
    """A UUID by number, lower case."""
    return f"00000000-0000-4000-8000-{number:012d}"


def listing(number, event_ticker, rates=("0.01", "0.0175")):
    """A market by number, on an event."""
    maker, taker = (FeeRate.parse(rate) for rate in rates)
    ticker = f"{event_ticker}-{number}B"
    return m.ListMarket(uuid(number), ticker, event_ticker, "name", "label", maker, taker, "1.5")


def event(number, series="ACM"):
    """An open event by number, of the company with the UUID 1."""
    return m.ListEvent(
        event_ticker=f"{series}-{number}Q1",
        series_ticker=series,
        project_market_id=uuid(900_000 + number),
        project_id=uuid(1),
        title="title",
        category="category",
        status=EventStatus.OPEN,
        mutually_exclusive=False,
        resolution_date_ns=10**18,
    )


def opening(cash=(10_000_000, 1_000_000, 200_000, 20_000, 3_000), rates=RATES):
    """A company, an event with a market for each pair of rates, and five users of unequal means."""
    commands = [m.ListCompany(uuid(1), "Acme", "ACME"), event(26)]
    commands += [listing(100 + place, "ACM-26Q1", pair) for place, pair in enumerate(rates)]
    for user, cents in zip(USERS, cash, strict=True):
        commands += [m.AddUser(user), m.Deposit(user, cents)]
    return commands


class History:
    """A stream of commands. Feed its events back with `learn` before asking for the next."""

    def __init__(self, seed, length):
        self._random = random.Random(seed)
        self._length = length
        self._count = 0
        self._sent = []
        self._known = {}
        self._held = {}
        self._markets = [uuid(100 + place) for place in range(len(RATES))]
        self._resolved = []
        self._next_market = 1_000
        self._event = 26
        self._middle = self._random.randint(35, 65)

    def __iter__(self) -> Iterator[m.Command]:
        yield from opening()
        while self._count < self._length:
            yield from self._next()
            self._count += 1

    def learn(self, events):
        """Take note of the orders and positions that events tell of."""
        for event in events:
            if isinstance(event, m.OrderChanged):
                self._known[event.order.order_id] = event.order
            elif isinstance(event, m.PositionChanged):
                key = (event.user_id, event.market_id, event.outcome)
                self._held.pop(key, None)
                if event.qty:
                    self._held[key] = event.qty

    def _next(self):
        draw = self._random.random()
        if draw < 0.40:
            yield self._remember(m.PlaceOrder(self._user(), self._qty_order()))
        elif draw < 0.55 and self._held:
            yield self._remember(self._sell())
        elif draw < 0.62:
            yield self._remember(m.PlaceOrder(self._user(), self._budget_order()))
        elif draw < 0.66 and self._sent:
            yield self._random.choice(self._sent[-200:])
        elif draw < 0.68 and self._sent:
            yield self._altered(self._random.choice(self._sent[-200:]))
        elif draw < 0.80:
            yield self._cancel()
        elif draw < 0.95:
            yield self._amend()
        elif draw < 0.96:
            yield self._bad()
        elif draw < 0.985:
            yield from self._cash()
        else:
            yield from self._operator()

    def _remember(self, command):
        self._sent.append(command)
        return command

    def _user(self):
        return self._random.choice(USERS)

    def _price(self, outcome):
        if self._random.random() < 0.05:
            return self._random.choice((1, 2, 50, 98, 99))
        yes = min(99, max(1, self._middle + self._random.randint(-5, 5)))
        return yes if outcome is Outcome.YES else 100 - yes

    def _market(self):
        if self._resolved and self._random.random() < 0.03:
            return self._random.choice(self._resolved)
        return self._random.choice(self._markets)

    def _qty_order(self):
        outcome = self._random.choice(list(Outcome))
        return QtyOrder(
            self._market(),
            outcome,
            self._random.choices((Side.BUY, Side.SELL), (9, 1))[0],
            self._price(outcome),
            self._random.choice((1, 1, 2, 3, 5, 8, 13, 40, 200)),
            self._random.choices(list(TimeInForce), (7, 1, 2))[0],
            f"id {len(self._sent)}",
        )

    def _sell(self):
        """A sell of shares that somebody holds: all, some, or one too many."""
        (user, market_id, outcome), held = self._random.choice(list(self._held.items()))
        qty = max(1, self._random.choice((held, held // 2, 1, held + 1)))
        order = self._qty_order()
        price = self._price(outcome)
        return m.PlaceOrder(
            user,
            msgspec.structs.replace(
                order, market_id=market_id, outcome=outcome, side=Side.SELL, price=price, qty=qty
            ),
        )

    def _budget_order(self):
        outcome = self._random.choice(list(Outcome))
        return BudgetOrder(
            self._market(),
            outcome,
            min(99, self._price(outcome) + self._random.randint(0, 6)),
            self._random.choice((1, 40, 51, 100, 333, 1_000, 5_000, 100_000)),
            self._random.choice((TimeInForce.IOC, TimeInForce.FOK)),
            f"id {len(self._sent)}",
        )

    def _altered(self, command):
        """The same client_order_id with another body, or under another user."""
        order = command.order
        if self._random.random() < 0.3:
            return m.PlaceOrder(self._user(), order)
        price = 1 + order.price % 99
        return m.PlaceOrder(command.user_id, msgspec.structs.replace(order, price=price))

    def _some_order(self):
        """A user and an order id: mostly of an order believed open, sometimes any, or another's."""
        if not self._known or self._random.random() < 0.02:
            return self._user(), str(self._random.randint(0, 10**6))
        recent = list(self._known.values())[-120:]
        resting = [order for order in recent if order.status in OPEN_STATUSES]
        pool = resting if resting and self._random.random() < 0.85 else recent
        order = self._random.choice(pool)
        user = order.user_id if self._random.random() < 0.96 else self._user()
        return user, order.order_id

    def _cancel(self):
        return m.CancelOrder(*self._some_order())

    def _amend(self):
        user, order_id = self._some_order()
        known = self._known.get(order_id)
        price = known.price if known else 50
        remaining = max(1, known.remaining_qty if known else 1)
        new_price = min(99, max(1, price + self._random.randint(-4, 4)))
        kind = self._random.randrange(6)
        if kind == 0:
            amend = Amend(qty=max(1, remaining - self._random.randint(0, 3)))
        elif kind == 1:
            amend = Amend(qty=remaining + self._random.randint(1, 20))
        elif kind == 2:
            amend = Amend(price=new_price)
        elif kind == 3:
            amend = Amend(price=new_price, qty=remaining + self._random.randint(-2, 30) or 1)
        elif kind == 4:
            amend = Amend(price=price, qty=remaining)
        else:
            amend = Amend(price=self._random.choice((1, 99, 50, new_price)), qty=remaining)
        return m.AmendOrder(user, order_id, amend)

    def _bad(self):
        """A field beyond its range, or a name that is none."""
        draw = self._random.randrange(7)
        order = self._qty_order()
        fields = {
            0: {"price": self._random.choice((0, 100, -1))},
            1: {"qty": self._random.choice((0, -5, 1_000_001))},
            2: {"price": 99, "qty": 1_000_000 + self._random.choice((0, 20_000))},
            3: {"market_id": uuid(7)},
            4: {"client_order_id": self._random.choice(("", "x" * 65, "\n"))},
        }.get(draw, {})
        if fields:
            return m.PlaceOrder(self._user(), msgspec.structs.replace(order, **fields))
        if draw == 5:
            return m.PlaceOrder("nobody", order)
        user, order_id = self._some_order()
        bad = self._random.choice((Amend(price=100), Amend(qty=0), Amend(qty=1_000_001)))
        return m.AmendOrder(user, order_id, bad)

    def _cash(self):
        user = self._random.choice((*USERS, "nobody"))
        amount = self._random.choice((0, 1, 500, 5_000, 50_000))
        yield self._random.choice((m.Deposit, m.Withdraw))(user, amount)

    def _operator(self):
        draw = self._random.random()
        market = self._market()
        if draw < 0.25:
            state = self._random.choice((VenueState.HALTED, VenueState.CANCEL_ONLY))
            yield m.SetVenueState(state)
            for _ in range(self._random.randint(0, 6)):
                yield self._remember(m.PlaceOrder(self._user(), self._qty_order()))
                yield self._amend()
                yield self._cancel()
            yield m.SetVenueState(VenueState.OPEN)
        elif draw < 0.55:
            yield m.HaltMarket(market)
            for _ in range(self._random.randint(0, 6)):
                yield self._remember(m.PlaceOrder(self._user(), self._qty_order()))
                yield self._amend()
                yield self._cancel()
            yield m.ResumeMarket(market)
        elif draw < 0.65:
            status = self._random.choice([s for s in EventStatus if s is not EventStatus.UNKNOWN])
            yield m.SetEventStatus(f"ACM-{self._event}Q1", status)
        elif draw < 0.70:
            yield m.AddUser(self._user())
        elif draw < 0.80:
            yield m.HaltMarket(uuid(8))
        else:
            yield from self._resolve(self._random.choice(self._markets))

    def _resolve(self, market):
        """Resolve a market, again both ways, and list another event with one or two markets."""
        winner = self._random.choice(list(Outcome))
        yield m.ResolveMarket(market, winner)
        yield m.ResolveMarket(market, winner)
        yield m.ResolveMarket(market, winner.other)
        yield m.HaltMarket(market)
        self._markets.remove(market)
        self._resolved.append(market)
        self._event += 1
        listed = event(self._event)
        yield listed
        for _ in range(self._random.randint(1, 2)):
            self._next_market += 1
            yield listing(self._next_market, listed.event_ticker, self._random.choice(RATES))
            self._markets.append(uuid(self._next_market))
        self._markets = self._markets[-4:]
