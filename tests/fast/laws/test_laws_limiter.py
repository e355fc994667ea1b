"""Laws of pace: the rate limiter over real sockets at ten times its rate, and the engine's queue.

V19: in every window of t seconds at most 500 + 250 t requests of a credential are accepted.
"""

import asyncio
import time

import msgspec
import pytest

from tests.builders.abuse.door import Peer
from tests.builders.abuse.good import read
from tests.builders.abuse.site import served as served_apart
from tests.builders.venue.small_venue import ANNA, OPENING, small_buy
from venue.engine.messages import CancelOrder
from venue.rest.app import EngineOverloaded
from venue.server import QUEUE_MAX, VenueServer
from venue.wire.limits import RATE_BURST, RATE_PER_SECOND
from venue.wire.names import OrderId

LOAD_S = 3.0
LOAD_PER_SECOND = 10 * RATE_PER_SECOND
LOAD_CONNECTIONS = 20


# --- the limiter at ten times its rate -----------------------------------------------------------


class Asked(msgspec.Struct, frozen=True):
    """One request: when it was sent and its answer read, seconds, and its status."""

    sent_s: float
    read_s: float
    status: int


async def asking(site, key, pause_s, until_s):
    """One connection that asks at a steady pace, or as fast as it is answered."""
    peer = await Peer.of(site.port)
    asked, next_s = [], time.monotonic()
    while time.monotonic() < until_s:
        sent_s = time.monotonic()
        peer.send(read(site.keys[key]))
        status, headers, _ = await peer.answer()
        asked.append(Asked(sent_s, time.monotonic(), status))
        assert headers["x-ratelimit-limit"] == str(RATE_BURST)
        next_s += pause_s
        await asyncio.sleep(max(0.0, next_s - time.monotonic()))
    await peer.leave()
    return asked


async def loaded(site):
    """Ten times the rate on one key, and 50 a second on another."""
    until_s = time.monotonic() + LOAD_S
    pause_s = LOAD_CONNECTIONS / LOAD_PER_SECOND
    loads = [asking(site, "maker", pause_s, until_s) for _ in range(LOAD_CONNECTIONS)]
    quiet, *loud = await asyncio.gather(asking(site, "guest", 1 / 50, until_s), *loads)
    return [each for part in loud for each in part], quiet


@pytest.fixture(scope="module")
def load(tmp_path_factory):
    with served_apart(tmp_path_factory.mktemp("limiter")) as site:
        return asyncio.run(loaded(site))


@pytest.mark.slow
def test_every_window_keeps_to_the_burst_and_the_rate(load):
    accepted = sorted((each for each in load[0] if each.status == 200), key=lambda a: a.sent_s)
    assert len(accepted) >= RATE_BURST
    for first, opening in enumerate(accepted):
        # Surely charged inside the window: sent after it began, answered before it ended.
        ends_s = sorted(each.read_s for each in accepted[first:])
        for count, end_s in enumerate(ends_s, 1):
            assert count <= RATE_BURST + RATE_PER_SECOND * (end_s - opening.sent_s) + 1


def test_requests_beyond_the_rate_are_429_and_none_fails(load):
    statuses = {each.status for each in load[0]}
    assert statuses == {200, 429}


@pytest.mark.slow
def test_another_key_at_fifty_a_second_is_never_limited(load):
    assert {each.status for each in load[1]} == {200}


# --- the engine's line ---------------------------------------------------------------------------


def cancel(number):
    return CancelOrder(ANNA, OrderId(str(number)))


def asks(venue, commands):
    return [asyncio.create_task(venue.submit(command)) for command in commands]


def overloaded(tasks):
    done = [task for task in tasks if task.done()]
    assert all(isinstance(task.exception(), EngineOverloaded) for task in done)
    return len(done)


@pytest.mark.anyio
async def test_the_engine_s_queue_stays_within_its_cap_and_reserves_places_for_cancels():
    venue = VenueServer(0, 5)
    venue.open_with(OPENING)
    orders = asks(venue, [small_buy(number) for number in range(10 * QUEUE_MAX)])
    await asyncio.sleep(0)
    kept = len(orders) - overloaded(orders)
    assert 0 < kept < QUEUE_MAX
    cancels = asks(venue, [cancel(number) for number in range(QUEUE_MAX)])
    await asyncio.sleep(0)
    assert len(cancels) - overloaded(cancels) == QUEUE_MAX - kept > 0
    ended: list[str] = []
    for task in (*orders, *cancels):
        if not task.done():
            kind = "order" if task in orders else "cancel"
            task.add_done_callback(lambda _, kind=kind: ended.append(kind))
    running = asyncio.create_task(venue.run())
    await asyncio.gather(*orders, *cancels, return_exceptions=True)
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    assert len(ended) == QUEUE_MAX
    assert ended.index("order") == QUEUE_MAX - kept
