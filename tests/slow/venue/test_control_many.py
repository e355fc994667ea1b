"""Claims about the operator's interface of a venue with many account holders and keys."""

import asyncio
import contextlib
import hashlib
import time
from typing import Any

from tests.builders.venue.small_venue import OPENING
from venue.admin import handlers
from venue.admin.bodies import AmountBody, Empty
from venue.admin.handlers import OperatorRequest, Recent
from venue.engine.messages import (
    Accepted,
    AccessCommand,
    AddKey,
    AddUser,
    Command,
    ListMarket,
    key_id,
)
from venue.server import VenueServer
from venue.views.projector import Views
from venue.wire.money import FeeRate
from venue.wire.names import MarketId, Ticker, UserId
from venue.wire.routes import KeyScope

COUNT = 20_000
ASKED = 100


def sha(number):
    return hashlib.sha256(f"key {number}".encode()).hexdigest()


def user(number):
    return UserId(f"user{number}")


@contextlib.asynccontextmanager
async def large_venue():
    """A running venue of many users with a key each."""
    venue = VenueServer(0, 5)
    opening: list[Command | AccessCommand] = [*OPENING]
    for number in range(COUNT):
        opening.append(AddUser(user(number)))
        opening.append(AddKey(sha(number), "key", user(number), (KeyScope.READ,)))
    venue.open_with(opening)
    running = asyncio.ensure_future(venue.run())
    try:
        yield venue
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


def test_commands_on_one_user_do_not_slow_down_with_their_number():
    async def seconds():
        async with large_venue() as venue:
            recent = Recent()
            begun = time.process_time()
            for number in range(COUNT - ASKED, COUNT):
                name = key_id(sha(number))
                await handlers.deposit(
                    OperatorRequest(venue, recent, user(number), {}, {}), AmountBody(1)
                )
                await handlers.revoke_key(OperatorRequest(venue, recent, name, {}, {}), Empty())
                query = {"user_id": user(number)}
                asked = OperatorRequest(venue, recent, "", {}, query)
                listed: Any = await handlers.list_keys(asked, Empty())
                assert [(key["key_id"], key["revoked"]) for key in listed["keys"]] == [(name, True)]
            return time.process_time() - begun

    assert asyncio.run(seconds()) < 1


class Taking:
    """A venue that takes every command at once, and whose reads do not show it yet."""

    def __init__(self):
        self.views = Views()

    async def submit(self, _):
        return Accepted()


def test_listing_a_market_does_not_slow_down_with_other_events():
    async def seconds():
        operator: Any = Taking()
        recent = Recent()
        rate = FeeRate.parse("0")

        def rung(number, event):
            ticker = Ticker(f"{event}-{number}B")
            market_id = MarketId(f"{number:08}-0000-4000-8000-000000000000")
            return ListMarket(
                market_id, ticker, Ticker(event), "name", "label", rate, rate, str(number), "B"
            )

        call = OperatorRequest(operator, recent, "", {}, {})
        for number in range(COUNT):
            await call.submit(rung(number, "BIG-26Q4"))
        begun = time.process_time()
        for number in range(10 * ASKED):
            event = Ticker(f"NEW{number}-26Q4")
            assert call.rung_at(event, "7", "B") is None
            assert call.unit_at(event, Ticker(f"{event}-7B")) is None
        spent_s = time.process_time() - begun
        assert call.rung_at(Ticker("BIG-26Q4"), "7.0", "B") == "BIG-26Q4-7B"
        assert call.unit_at(Ticker("BIG-26Q4"), Ticker("BIG-26Q4-X")) == "B"
        assert call.market_id("big-26q4-7b") == rung(7, "BIG-26Q4").market_id
        return spent_s

    assert asyncio.run(seconds()) < 0.3
