"""V22: no reply and no frame shows what is another user's, or that there is such a thing."""

import asyncio
import random
from collections import defaultdict

import msgspec
import pytest

from tests.builders.core.histories import USERS
from tests.builders.laws.running import (
    LATER,
    MARKETS,
    Caller,
    Flow,
    Listener,
    engine_of,
    on_virtual_time,
    running,
)
from venue.engine import messages as m
from venue.wire.model import VenueState

# So large that no price, size, volume or instant of these histories can look the same.
CASH = tuple(7_000_000_000_000 + 1_003_000_007 * place for place in range(len(USERS)))
NEVER = "18000000000000000001"
"""An order id that no order of these histories has."""

PRIVATE_READS = [
    ("/orders", {"limit": "1000"}),
    ("/orders", {"limit": "1000", "status": "canceled"}),
    ("/portfolio/positions", {"limit": "1000"}),
    ("/portfolio/fills", {"limit": "1000"}),
    ("/portfolio/balance", {}),
]
PUBLIC_READS = [
    ("/markets", {"limit": "1000"}),
    ("/markets", {"q": "ac"}),
    ("/events", {"limit": "1000"}),
    ("/events/ACM", {"limit": "1000"}),
    *((f"/markets/{market}/{part}", {}) for market in MARKETS for part in ("orderbook", "candles")),
    *((f"/markets/{market}/trades", {"limit": "1000"}) for market in MARKETS),
]
SNAPSHOTS = [(f"/markets/{market}/snapshot", {}) for market in MARKETS]


class Secrets:
    """Everything that belongs to one user alone, gathered from commands, answers and the engine."""

    def __init__(self, venue):
        self._venue = venue
        self.texts = defaultdict(dict)
        self.numbers = defaultdict(dict)

    def note(self, answered):
        """Take down what the answered commands have made."""
        for command, answer in answered:
            user = getattr(command, "user_id", None)
            if isinstance(command, m.PlaceOrder):
                self.texts[user][command.order.client_order_id] = "client_order_id"
            if isinstance(answer, m.Placed):
                self.texts[user][answer.order.order_id] = "order_id"
        for user in USERS:
            available, reserved = engine_of(self._venue).balance(user)
            for number in (available, available + reserved):
                self.numbers[user][number] = "balance"

    def shown_in(self, body, reader):
        """The secrets in a body of everybody but `reader`."""
        leaves = {*leaves_of(msgspec.json.decode(body))}
        others = [user for user in USERS if user != reader]
        found = [leaf for user in others for leaf in self.texts[user] if leaf in leaves]
        found += [leaf for user in others for leaf in self.numbers[user] if leaf in leaves]
        return [leaf for leaf in found if leaf not in self.texts[reader]]


def leaves_of(value):
    """Every key, text and number within a JSON value."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield key
            yield from leaves_of(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from leaves_of(inner)
    else:
        yield value


class Named(Flow):
    """The same histories, in which every client_order_id says whose it is."""

    async def send(self, count):
        commands = [self._named(next(self._commands)) for _ in range(count)]
        answers = await asyncio.gather(*(self._venue.submit(command) for command in commands))
        return list(zip(commands, answers, strict=True))

    def _named(self, command):
        if not isinstance(command, m.PlaceOrder) or not command.order.client_order_id.isprintable():
            return command
        named = f"{command.user_id} calls it {command.order.client_order_id}"[:64]
        order = msgspec.structs.replace(command.order, client_order_id=named)
        return msgspec.structs.replace(command, order=order)


@pytest.mark.parametrize("seed", [41, 42])
@on_virtual_time
async def test_replies_and_frames_show_nothing_private_of_another_user(seed):
    async with running(2, cash=CASH) as venue:
        flow, secrets, draw = Named(venue, seed), Secrets(venue), random.Random(seed)
        listener = Listener(venue, MARKETS + LATER)
        callers = {user: Caller(venue, user) for user in USERS}
        bodies = []
        for _ in range(60):
            secrets.note(await flow.send(10))
            user = draw.choice(USERS)
            for path, query in (*PRIVATE_READS, *SNAPSHOTS, draw.choice(PUBLIC_READS)):
                _, _, body = await callers[user].ask("GET", path, query)
                bodies.append((user, body))
            frames = [msgspec.json.encode(frame) for frame in listener.take()]
            bodies += [(None, frame) for frame in frames]
        for user in USERS:
            for path, query in PUBLIC_READS:
                bodies.append((user, (await callers[user].ask("GET", path, query))[2]))
        own = 0
        for reader, body in bodies:
            assert secrets.shown_in(body, reader) == []
            own += len(secrets.shown_in(body, None)) > 0
            assert not {*leaves_of(msgspec.json.decode(body))} & {*USERS}
            assert b"calls it" not in body
        # The search does find what a reader sees of its own.
        assert own > 200


REQUESTS = [
    ("GET", b""),
    ("DELETE", b""),
    ("PUT", b'{"price": 50}'),
    ("PUT", b'{"qty": 5, "price": 50}'),
    ("PUT", b'{"qty": 0}'),
    ("PUT", b'{"price": 100}'),
    ("PUT", b"{}"),
    ("PUT", b"{"),
]


async def answers_about(caller, order_id):
    """Status, headers and body of everything that can be asked of an order by its id."""
    answers = []
    for method, body in REQUESTS:
        # Long enough for the bucket to be full, so that its headers are the same.
        await asyncio.sleep(1)
        answers.append(await caller.ask(method, f"/orders/{order_id}", None, body))
    await asyncio.sleep(1)
    answers.append(await caller.ask("GET", "/portfolio/fills", {"order_id": order_id}))
    return answers


@on_virtual_time
async def test_another_user_s_order_is_answered_like_an_order_that_never_existed():
    async with running(2) as venue:
        flow, placed = Flow(venue, 43), {}
        for _ in range(500):
            for _, answer in await flow.send(1):
                if isinstance(answer, m.Placed | m.Amended | m.Cancelled):
                    placed[answer.order.order_id] = answer.order.user_id
        engine = engine_of(venue)
        by_status = {}
        for order_id in placed:
            order = engine.order(order_id)
            if order.user_id != "ann":
                by_status.setdefault((order.status, order.filled_qty > 0), order)
        assert len({status for status, _ in by_status}) >= 4
        states = (VenueState.OPEN, VenueState.CANCEL_ONLY, VenueState.HALTED)
        await venue.submit(m.HaltMarket(next(iter(by_status.values())).market_id))
        caller = Caller(venue, "ann")
        for state in states:
            await venue.submit(m.SetVenueState(state))
            never = await answers_about(caller, NEVER)
            for order in by_status.values():
                assert await answers_about(caller, order.order_id) == never
        assert all(engine.order(o.order_id) == o for o in by_status.values())
