"""V17: reads reach what the engine did within the lag, never show half of it, never go back."""

import asyncio
import random

import pytest

from tests.builders.core.histories import USERS
from tests.builders.laws.running import Flow, engine_of, on_virtual_time, orders_shown, running
from venue.wire.model import TERMINAL

GRACE_MS = 50
NS_PER_MS = 1_000_000


class Truth:
    """What the engine came to after each batch: instant, balances, orders."""

    def __init__(self, venue):
        self._venue = venue
        self._orders = {user: {} for user in USERS}
        self.states = []
        self.note([])

    def note(self, answered):
        """Take down the state that the answers just given came from."""
        engine = engine_of(self._venue)
        known = [order_id for orders in self._orders.values() for order_id in orders]
        known += [answer.order.order_id for _, answer in answered if hasattr(answer, "order")]
        orders = {user: {} for user in USERS}
        for order_id in dict.fromkeys(known):
            order = engine.order(order_id)
            shape = (order.status, order.filled_qty, order.remaining_qty, order.qty)
            orders[order.user_id][order_id] = (*shape, order.reserved_cents)
        self._orders = orders
        balances = {user: engine.balance(user) for user in USERS}
        self.states.append((self._venue.now_ns(), balances, orders))


def shown(venue):
    """The same of what users read."""
    balances = {user: venue.views.account.balance(user) for user in USERS}
    pairs = {user: (b.available_cents, b.reserved_cents) for user, b in balances.items()}
    return pairs, {user: orders_shown(venue, user) for user in USERS}


class Reader:
    """Reads again and again, and holds every read against the truth."""

    def __init__(self, venue, truth):
        self._venue = venue
        self._truth = truth
        self._reached = 0
        self.seen = {}

    def read(self, lag_ms):
        """One look at everything: some whole state of the engine, not older than may be."""
        now_ns = self._venue.now_ns()
        balances, orders = shown(self._venue)
        states = self._truth.states
        must_ns = now_ns - (lag_ms + GRACE_MS) * NS_PER_MS
        at_least = sum(1 for at_ns, _, _ in states if at_ns <= must_ns) - 1
        first = max(self._reached, at_least)
        matching = [k for k in range(first, len(states)) if states[k][1:] == (balances, orders)]
        assert matching, f"no state from {first} to {len(states)} is what is shown"
        self._reached = matching[0]
        for user, own in orders.items():
            for order_id, (status, filled, *_) in own.items():
                before, least = self.seen.get((user, order_id), (None, 0))
                assert filled >= least
                assert before not in TERMINAL or before is status
                self.seen[user, order_id] = (status, filled)
            assert {key[1] for key in self.seen if key[0] == user} == {*own}


@pytest.mark.parametrize("lag_ms", [0, 7, 40])
@on_virtual_time
async def test_reads_show_a_whole_state_within_the_lag_and_never_go_back(lag_ms):
    async with running(lag_ms) as venue:
        truth, flow, draw = Truth(venue), Flow(venue, 11), random.Random(lag_ms)
        reader = Reader(venue, truth)
        for step in range(150):
            truth.note(await flow.send(draw.randint(1, 5)))
            # Long stretches in which the next command comes before the last has been shown.
            pauses = (0, 0.001, 0.004, 0.02) if step % 50 < 30 else (0, 0.06, 0.3)
            for _ in range(draw.randint(1, 2)):
                await asyncio.sleep(draw.choice(pauses))
                reader.read(lag_ms)
        await asyncio.sleep((lag_ms + GRACE_MS) / 1000)
        reader.read(lag_ms)
        assert shown(venue) == truth.states[-1][1:]
        assert len(reader.seen) > 100


@on_virtual_time
async def test_reads_never_go_back_while_the_lag_changes():
    async with running(5) as venue:
        truth, flow, draw = Truth(venue), Flow(venue, 12), random.Random(5)
        reader = Reader(venue, truth)
        for _ in range(120):
            if draw.random() < 0.2:
                venue.set_projection_lag_ms(draw.choice((0, 5, 100, 400)))
            truth.note(await flow.send(draw.randint(1, 4)))
            await asyncio.sleep(draw.choice((0, 0.002, 0.03)))
            reader.read(400)
        await asyncio.sleep(0.4 + GRACE_MS / 1000)
        assert shown(venue) == truth.states[-1][1:]


@on_virtual_time
async def test_a_write_is_read_back_exactly_when_the_lag_is_over():
    async with running(30) as venue:
        flow, found = Flow(venue, 13), 0
        for _ in range(200):
            ((_, answer),) = await flow.send(1)
            order = getattr(answer, "order", None)
            if order is None:
                continue
            await asyncio.sleep(0.03)
            read = venue.views.account.order(order.user_id, order.order_id)
            assert (read.status, read.filled_qty) == (order.status, order.filled_qty)
            assert (read.remaining_qty, read.qty) == (order.remaining_qty, order.qty)
            found += 1
        assert found > 100
