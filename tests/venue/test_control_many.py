"""Claims about the operator's interface of a venue with many account holders and keys."""

import asyncio
import contextlib
import hashlib
import time
from collections.abc import AsyncIterator

from tests.venue.small_venue import OPENING
from venue.control import people
from venue.control.desk import Call, Recent
from venue.core.messages import AccessCommand, AddKey, AddUser, Command, key_id
from venue.server import Venue
from venue.wire.names import UserId
from venue.wire.routes import KeyScope

COUNT = 20_000
ASKED = 100


def sha(number: int) -> str:
    return hashlib.sha256(f"key {number}".encode()).hexdigest()


def user(number: int) -> UserId:
    return UserId(f"user{number}")


@contextlib.asynccontextmanager
async def large_venue() -> AsyncIterator[Venue]:
    """A running venue of many users with a key each."""
    venue = Venue(0, 5)
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


def test_what_is_done_with_one_holder_or_key_takes_as_long_however_many_there_are() -> None:
    async def seconds() -> float:
        async with large_venue() as venue:
            recent = Recent()
            begun = time.process_time()
            for number in range(COUNT - ASKED, COUNT):
                name = key_id(sha(number))
                await people.deposit(Call(venue, recent, user(number), {"amount_cents": 1}, {}))
                await people.revoke_key(Call(venue, recent, name, {}, {}))
                query = {"user_id": user(number)}
                listed = await people.list_keys(Call(venue, recent, "", {}, query))
                assert [(key.key_id, key.revoked) for key in listed.keys] == [(name, True)]
            return time.process_time() - begun

    assert asyncio.run(seconds()) < 1
