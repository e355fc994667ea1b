"""A running venue on a clock of its own: hours pass in no time, and every run is the same.

The event loop's clock and the venue's are one, which moves on only when everybody sleeps, and by
one nanosecond whenever the venue reads it, so no two batches share an instant.
"""

import asyncio
import functools
import hashlib
import selectors
import weakref
from contextlib import asynccontextmanager
from urllib.parse import urlencode

import msgspec
import pytest

from tests.builders.core.histories import RATES, USERS, History, opening, uuid
from venue.engine import messages as m
from venue.rest.app import make_app
from venue.server import VenueServer
from venue.storage.recovery import OpenedState, fresh
from venue.views.account import Scope
from venue.wire.model import STATUS_GROUPS
from venue.wire.routes import KeyScope

EPOCH_NS = 1_790_000_000_000_000_000
NS_PER_SECOND = 1_000_000_000
MARKETS = [uuid(100 + place) for place in range(len(RATES))]
LATER = [uuid(1_001 + place) for place in range(8)]
"""Markets that a history lists once one of the first has resolved."""


_engines = weakref.WeakKeyDictionary()


class Clock:
    """Stands in for the module `time` where the venue reads it, and for the loop's clock."""

    def __init__(self):
        self.now = 0

    def time_ns(self):
        return EPOCH_NS

    def monotonic_ns(self):
        self.now += 1
        return self.now

    def clock_gettime_ns(self, _):
        return self.monotonic_ns()

    def perf_counter(self):
        return self.monotonic_ns() / NS_PER_SECOND


class _Selector(selectors.SelectSelector):
    """Moves the clock on instead of waiting."""

    def __init__(self, clock):
        super().__init__()
        self._clock = clock

    def select(self, timeout=None):
        ready = super().select(0)
        if not ready:
            assert timeout is not None, "everybody waits for somebody else"
            self._clock.now += -int(-timeout * NS_PER_SECOND // 1)
        return ready


class _Loop(asyncio.SelectorEventLoop):
    def __init__(self, clock):
        super().__init__(_Selector(clock))
        self._standing = clock

    def time(self):
        return self._standing.now / NS_PER_SECOND


def on_virtual_time(test):
    """Run an async test with every venue in it on the virtual clock."""

    @functools.wraps(test)
    def run(*arguments, **named):
        clock = Clock()
        with (
            pytest.MonkeyPatch.context() as patch,
            asyncio.Runner(loop_factory=lambda: _Loop(clock)) as runner,
        ):
            for reader in ("venue.clock.time", "venue.server.time"):
                patch.setattr(reader, clock)
            runner.run(test(*arguments, **named))

    return run


def make_venue(lag_ms=0, flush_ms=5):
    """A venue in memory whose ids and cursors are the same in every run."""
    held = OpenedState(exchange=fresh(b"ids of the laws"), cursor_key=b"cursors of the laws" * 2)
    venue = VenueServer(lag_ms, flush_ms, held)
    _engines[venue] = held.exchange.engine
    return venue


def engine_of(venue):
    """The engine behind a venue: the truth that reads and frames are held against."""
    return _engines[venue]


@asynccontextmanager
async def running(lag_ms=0, flush_ms=5, users=USERS, cash=None):
    """A venue with the opening of the histories, a read and trade key for each user, running."""
    venue = make_venue(lag_ms, flush_ms)
    venue.open_with(opening() if cash is None else opening(cash))
    both = (KeyScope.READ, KeyScope.TRADE)
    venue.open_with([m.AddKey(sha256_hex(user), user[:3], user, both) for user in users])
    task = asyncio.create_task(venue.run())
    await asyncio.sleep(0)
    try:
        yield venue
    finally:
        if task.done():
            task.result()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def sha256_hex(raw):
    """How a key is known; here a user's key is the user's name."""
    return hashlib.sha256(raw.encode()).hexdigest()


class Flow:
    """A seeded history, sent to a venue a few commands at a time and learning what they did."""

    def __init__(self, venue, seed, length=1_000_000):
        self._venue = venue
        self._history = History(seed, length)
        self._commands = iter(self._history)
        for _ in opening():
            next(self._commands)
        venue.observe(self._history.learn)

    async def send(self, count):
        """Send the next commands all at once; their answers, in order, by command."""
        commands = [next(self._commands) for _ in range(count)]
        answers = await asyncio.gather(*(self._venue.submit(command) for command in commands))
        return list(zip(commands, answers, strict=True))

    async def run(self, count):
        """Send so many commands, one after the other, each after the events of the one before."""
        for _ in range(count):
            await self.send(1)
            await asyncio.sleep(0)


class Caller:
    """Requests of one user, straight into the application, without a network or its delays."""

    def __init__(self, venue, user):
        self._app = make_app(venue)
        self._headers = [(b"x-api-key", user.encode())]

    async def ask(self, method, path, query=None, body=b""):
        """Status, headers and body of the answer. A hundredth of a second passes before."""
        await asyncio.sleep(0.01)
        sent = []

        async def receive():
            return {"type": "http.request", "body": body, "more_body": False}

        async def send(message):
            sent.append(message)

        scope = {
            "type": "http",
            "method": method,
            "raw_path": f"/v1{path}".encode(),
            "query_string": urlencode(query or {}).encode(),
            "headers": self._headers,
            "scheme": "http",
            "server": ("venue", 80),
        }
        await self._app(scope, receive, send)
        return sent[0]["status"], sent[0]["headers"], sent[1]["body"]

    async def get(self, path, query=None):
        """The body of a read that must succeed."""
        status, _, body = await self.ask("GET", path, query)
        assert status == 200, body
        return msgspec.json.decode(body)

    async def refusal(self, method, path, query=None, body=b""):
        """The code of a request that must fail."""
        status, _, answer = await self.ask(method, path, query, body)
        assert status >= 400, answer
        return msgspec.json.decode(answer)["code"]


class Listener:
    """A reader of the channel, subscribed to markets by UUID, with every frame it was sent."""

    def __init__(self, venue, markets):
        self._venue = venue
        self.frames = []
        self._connection = venue.hub.connect(lambda: None, venue.now_ns())
        targets = [{"target": "event-market", "data": {"eventMarketId": m}} for m in markets]
        frame = {"type": "subscribe", "data": {"targets": targets}}
        venue.hub.receive(self._connection, msgspec.json.encode(frame), venue.now_ns())

    def take(self):
        """Take every frame that waits; those of updates, decoded."""
        taken = []
        while (frame := self._connection.channel.next_frame(self._venue.now_ns())) is not None:
            taken.append(msgspec.json.decode(frame))
        self.frames += [each["data"] for each in taken if each["type"] == "market-update"]
        return taken

    def of(self, kind):
        """The updates of one kind, in the order in which they were sent."""
        return [frame for frame in self.frames if frame["type"] == kind]


def orders_shown(venue, user):
    """Every order that a user reads now: what matters of it, by its id."""
    rows, _ = venue.views.account.orders(user, Scope(), STATUS_GROUPS["all"], None, 10**6)
    return {
        row.order_id: (row.status, row.filled_qty, row.remaining_qty, row.qty, row.reserved_cents)
        for row in rows
    }
