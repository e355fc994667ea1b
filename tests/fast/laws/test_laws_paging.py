"""V20: a walk of pages meets each row that was there throughout exactly once, newest first where
so promised, while others go on trading."""

import random

from tests.builders.laws.paging import LISTS, rows_of, walked
from tests.builders.laws.running import Caller, Flow, on_virtual_time, running


@on_virtual_time
async def test_a_walk_without_trading_equals_the_whole_list_for_any_page_size():
    async with running() as venue:
        await Flow(venue, 23).run(700)
        caller, draw = Caller(venue, "bob"), random.Random(23)

        async def nothing():
            pass

        for path, query in LISTS:
            _, whole = rows_of(await caller.get(path, {**query, "limit": "1000"}))
            limit = draw.randint(1, 9)
            _, met, _ = await walked(caller, path, query, limit, nothing)
            assert met == list(whole.items()), (path, query)


@on_virtual_time
async def test_a_cursor_works_after_a_change_of_page_size():
    async with running() as venue:
        await Flow(venue, 25).run(900)
        caller = Caller(venue, "ann")
        first = await caller.get("/orders", {"limit": "1"})
        whole = await caller.get("/orders", {"limit": "1000"})
        rest = await caller.get("/orders", {"limit": "1000", "cursor": first["cursor"]})
        assert rest["orders"] == whole["orders"][1:] != []
