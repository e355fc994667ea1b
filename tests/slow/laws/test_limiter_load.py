"""V19: the limiter over real sockets at ten times its rate.

In every window of t seconds at most 500 + 250 t requests of a credential are accepted.
"""

import asyncio
import time

import msgspec
import pytest

from tests.builders.abuse.door import Peer
from tests.builders.abuse.good import read
from tests.builders.abuse.site import Site, served
from venue.wire.limits import RATE_BURST, RATE_PER_SECOND

LOAD_S = 3.0
LOAD_PER_SECOND = 10 * RATE_PER_SECOND
LOAD_CONNECTIONS = 20


class Asked(msgspec.Struct, frozen=True):
    """One request: when it was sent and its answer read, seconds, and its status."""

    sent_s: float
    read_s: float
    status: int


async def _asking(site: Site, key: str, pause_s: float, until_s: float) -> list[Asked]:
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


async def _loaded(site: Site) -> tuple[list[Asked], list[Asked]]:
    """Ten times the rate on one key, and 50 a second on another."""
    until_s = time.monotonic() + LOAD_S
    pause_s = LOAD_CONNECTIONS / LOAD_PER_SECOND
    loads = [_asking(site, "maker", pause_s, until_s) for _ in range(LOAD_CONNECTIONS)]
    quiet, *loud = await asyncio.gather(_asking(site, "guest", 1 / 50, until_s), *loads)
    return [each for part in loud for each in part], quiet


Load = tuple[list[Asked], list[Asked]]


@pytest.fixture(scope="module")
def load(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[Asked], list[Asked]]:
    with served(tmp_path_factory.mktemp("limiter")) as site:
        return asyncio.run(_loaded(site))


def test_every_window_keeps_to_the_burst_and_the_rate(load: Load) -> None:
    accepted = sorted((each for each in load[0] if each.status == 200), key=lambda a: a.sent_s)
    assert len(accepted) >= RATE_BURST
    for first, opening in enumerate(accepted):
        # Surely charged inside the window: sent after it began, answered before it ended.
        ends_s = sorted(each.read_s for each in accepted[first:])
        for count, end_s in enumerate(ends_s, 1):
            assert count <= RATE_BURST + RATE_PER_SECOND * (end_s - opening.sent_s) + 1


def test_what_is_beyond_is_rate_limited_and_nothing_fails(load: Load) -> None:
    statuses = {each.status for each in load[0]}
    assert statuses == {200, 429}


def test_another_key_at_fifty_a_second_is_never_limited(load: Load) -> None:
    assert {each.status for each in load[1]} == {200}
