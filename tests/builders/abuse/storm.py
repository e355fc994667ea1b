"""Every attack at once on one venue, together with a well-behaved client."""

import asyncio
from pathlib import Path

import msgspec

from tests.builders.abuse.attacks import ATTACKS
from tests.builders.abuse.good import waits_ms
from tests.builders.abuse.site import Site, served

CALM_S = 2.0
RECOVERY_S = 5.0
BEAT_S = 0.5


class Waits(msgspec.Struct, frozen=True):
    """How long a good client waited, milliseconds each."""

    rest: list[float]
    stream: list[float]


class Storm(msgspec.Struct, frozen=True):
    """What was seen. faults: by attack, what the venue did not hold."""

    faults: dict[str, str]
    before: Waits
    during: Waits
    after: Waits
    memory_growth_kib: int
    sockets_before: int
    sockets_after: int
    errors: str


def weathered(folder: Path, times: int = 1) -> Storm:
    """A venue goes through every attack, `times` over."""
    with served(folder) as site:
        return asyncio.run(_weathered(site, folder, times))


async def _weathered(site: Site, folder: Path, times: int) -> Storm:
    before = await _waits_for(site, CALM_S)
    memory_before_kib, sockets_before = site.memory_kib()[0], site.sockets()
    faults: dict[str, str] = {}
    during = Waits([], [])
    for _ in range(times):
        done = asyncio.Event()
        waiting = asyncio.create_task(waits_ms(site, done))
        results = await asyncio.gather(
            *(attack(site, count) for attack, count in ATTACKS.items()), return_exceptions=True
        )
        done.set()
        rest, stream = await waiting
        during.rest.extend(rest)
        during.stream.extend(stream)
        for attack, result in zip(ATTACKS, results, strict=True):
            if result is not None:
                faults[attack.__name__] = repr(result)
    sockets_after = await _settled(site, sockets_before)
    after = await _waits_for(site, CALM_S)
    growth_kib = site.memory_kib()[1] - memory_before_kib
    errors = (folder / "stderr.txt").read_text()
    return Storm(faults, before, during, after, growth_kib, sockets_before, sockets_after, errors)


async def _waits_for(site: Site, seconds: float) -> Waits:
    done = asyncio.Event()
    asyncio.get_running_loop().call_later(seconds, done.set)
    rest, stream = await waits_ms(site, done)
    return Waits(rest, stream)


async def _settled(site: Site, wanted: int) -> int:
    """Sockets of the venue once as few as before, or five seconds after the attacks."""
    for _ in range(int(RECOVERY_S / BEAT_S)):
        if site.sockets() <= wanted:
            break
        await asyncio.sleep(BEAT_S)
    return site.sockets()
