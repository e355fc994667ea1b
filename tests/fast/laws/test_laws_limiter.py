"""Laws of pace: the rate limiter over real sockets at ten times its rate, and the engine's queue.

V19: in every window of t seconds at most 500 + 250 t requests of a credential are accepted.
"""

import asyncio

import pytest

from tests.builders.venue.small_venue import ANNA, OPENING, small_buy
from venue.engine.messages import CancelOrder
from venue.rest.venue_port import EngineOverloaded
from venue.server import QUEUE_MAX, VenueServer
from venue.wire.names import OrderId

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
