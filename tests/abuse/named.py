"""The attacks that the test programme names, at once, beside four good clients.

500 trickling headers, 200 MB bodies, hostile JSON (a million deep too) and 100 sockets that read
nothing. The good clients live in a process of their own, so that what they wait for is the venue.
"""

import asyncio
import multiprocessing
from multiprocessing.connection import Connection
from pathlib import Path

import msgspec

from tests.abuse.attacks import (
    Attack,
    hostile_bodies,
    huge_bodies,
    trickled_headers,
    unread_answers,
)
from tests.abuse.good import rest_waits_ms
from tests.abuse.site import Site, served

NAMED: dict[Attack, int] = {
    trickled_headers: 500,
    huge_bodies: 2,
    hostile_bodies: 2,
    unread_answers: 100,
}
GOOD_CLIENTS = 4
CALM_S, STORM_S = 5.0, 10.0
STAGGER_S = 0.005


class Named(msgspec.Struct, frozen=True):
    """What the good clients waited, milliseconds, and what the venue did not hold."""

    before: list[float]
    during: list[float]
    memory_growth_kib: int
    faults: dict[str, str]


def weathered(folder: Path) -> Named:
    """A venue without and then with the attacks."""
    with served(folder) as site:
        with _good_clients(site, CALM_S) as calm:
            before = calm.waits_ms()
        memory_kib = site.memory_kib()[0]
        with _good_clients(site, STORM_S) as good:
            faults = asyncio.run(_attacked(site))
            during = good.waits_ms()
        return Named(before, during, site.memory_kib()[1] - memory_kib, faults)


async def _attacked(site: Site) -> dict[str, str]:
    results = await asyncio.gather(
        *(attack(site, count) for attack, count in NAMED.items()), return_exceptions=True
    )
    named = zip(NAMED, results, strict=True)
    return {attack.__name__: repr(result) for attack, result in named if result is not None}


class _good_clients:
    """Good clients in a process of their own, for a time."""

    def __init__(self, site: Site, seconds: float) -> None:
        context = multiprocessing.get_context("spawn")
        self._ours, theirs = context.Pipe()
        self._process = context.Process(target=_serve_well, args=(site, seconds, theirs))

    def __enter__(self) -> "_good_clients":
        self._process.start()
        assert self._ours.recv() == "connected"
        return self

    def waits_ms(self) -> list[float]:
        """What each of their requests waited, once their time is over."""
        waits: list[float] = self._ours.recv()
        return waits

    def __exit__(self, *_: object) -> None:
        self._process.join()


def _serve_well(site: Site, seconds: float, told: Connection) -> None:
    async def all_of_them() -> list[float]:
        done = asyncio.Event()
        asyncio.get_running_loop().call_later(seconds, done.set)

        async def one(number: int) -> list[float]:
            # Not in step with the others: four that always ask at once wait for one another.
            await asyncio.sleep(number * STAGGER_S)
            return await rest_waits_ms(site, done)

        waits = await asyncio.gather(*map(one, range(GOOD_CLIENTS)))
        return [wait for each in waits for wait in each]

    told.send("connected")
    told.send(asyncio.run(all_of_them()))
