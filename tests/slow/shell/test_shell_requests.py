"""Claims about one request: nothing outside ever cancels it, and it is answered exactly once."""

import asyncio
import random
from collections import Counter

import anyio

from bot.core import messages as m
from bot.io.client.rest import Rest
from bot.io.secret import Secret
from tests.builders.shell.life import Disk, Watch, spared
from tests.builders.shell.loop import VirtualLoop, run
from tests.builders.shell.net import Network
from tests.builders.shell.site import BASE_URL, KEY, Site

CALLERS = 1_000
SCOPES = 10
"""Each request is begun inside so many cancel scopes, and each of them is cancelled."""


def test_no_request_is_cancelled_by_ten_thousand_cancel_scopes(tmp_path):
    loop = VirtualLoop(1)
    rng = random.Random(1)
    watch = Watch(tmp_path, Disk())
    answered: Counter[int] = Counter()
    kinds: Counter[str] = Counter()
    cancels = 0

    async def caller(rest: Rest, number: int, depth: int) -> None:
        nonlocal cancels
        if depth == 0:
            rest.start(m.Send(m.RequestId(number), m.ReadBalance(), "for a test"), on_response)
            await anyio.sleep_forever()
        # The inner ones first, so that every one of them is cancelled by itself.
        with anyio.move_on_after((depth + rng.random()) * 0.0004):
            await caller(rest, number, depth - 1)
            await anyio.sleep_forever()
        cancels += 1

    def on_response(replied: m.Response) -> None:
        answered[replied.request_id] += 1
        kinds[type(replied.answer).__name__] += 1

    async def main() -> None:
        network = Network(loop, random.Random(2), (0.002, 0.010))
        site = Site(loop, network)
        serving = loop.create_task(site.run())
        rest = Rest(BASE_URL, Secret(KEY), 32)
        for first in range(0, CALLERS, 20):
            async with anyio.create_task_group() as tasks:
                for number in range(first, first + 20):
                    tasks.start_soon(caller, rest, number, SCOPES)
            # Below the venue's own pace.
            await asyncio.sleep(0.1)
        await rest.drain()
        serving.cancel()
        await asyncio.gather(serving, return_exceptions=True)
        for wire in network.wires:
            wire.tear()
        await asyncio.sleep(30)

    with spared(), watch.watching():
        run(loop, main())
    assert cancels >= CALLERS * SCOPES
    assert watch.cancelled == 0
    assert watch.begun == CALLERS
    assert set(answered.values()) == {1}
    assert len(answered) == CALLERS
    assert kinds == {"Ok": CALLERS}
