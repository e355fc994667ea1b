"""V20: a walk of pages returns every row that was in the list throughout exactly once."""

import random

import pytest

from tests.builders.core.histories import USERS, event, listing
from tests.builders.laws.paging import LISTS, walked
from tests.builders.laws.running import Caller, Flow, on_virtual_time, running

NEWEST_FIRST = ("orders", "fills", "trades")


@pytest.mark.parametrize("seed", [21, 22])
@on_virtual_time
async def test_every_walk_meets_each_lasting_row_once_while_trading_goes_on(seed):
    async with running() as venue:
        flow, draw = Flow(venue, seed), random.Random(seed)
        caller = Caller(venue, USERS[seed % 2])
        extra = iter(range(500, 10_000))

        async def between():
            await flow.send(draw.randint(0, 12))
            if draw.random() < 0.3:
                number = next(extra)
                await venue.submit(event(number))
                await venue.submit(listing(10_000 + number, f"ACM-{number}Q1"))

        await flow.run(900)
        for path, query in LISTS:
            for limit in (draw.randint(1, 3), draw.randint(4, 60)):
                name, met, throughout = await walked(caller, path, query, limit, between)
                keys = [key for key, _ in met]
                assert len(keys) == len(set(keys)), (path, query)
                assert throughout <= set(keys), (path, query)
                if name in NEWEST_FIRST:
                    made = [row["created_at"] for _, row in met]
                    assert made == sorted(made, reverse=True)
