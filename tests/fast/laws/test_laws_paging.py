"""V20: a walk of pages meets each row that was there throughout exactly once, newest first where
so promised, while others go on trading."""

import random

import pytest

from tests.builders.core.histories import USERS, event, listing
from tests.builders.laws.running import Caller, Flow, on_virtual_time, running

KEYS = {
    "markets": ("market_id",),
    "events": ("event_ticker",),
    "orders": ("order_id",),
    "positions": ("market_id", "outcome"),
    "fills": ("fill_id",),
    "trades": ("trade_id",),
}
FIRST, SECOND = (f"00000000-0000-4000-8000-{number:012d}" for number in (101, 102))
LISTS = [
    ("/markets", {}),
    ("/events", {}),
    ("/events", {"series_ticker": "acm"}),
    ("/events", {"status": "open"}),
    ("/events/acm", {}),
    ("/orders", {}),
    ("/orders", {"status": "resting"}),
    ("/orders", {"status": "canceled"}),
    ("/orders", {"status": "filled,open"}),
    ("/orders", {"ticker": "ACM-26Q1-101B"}),
    ("/orders", {"event_ticker": "acm-26q1", "status": "canceled,resting"}),
    ("/portfolio/positions", {}),
    ("/portfolio/fills", {}),
    ("/portfolio/fills", {"ticker": FIRST}),
    ("/portfolio/fills", {"event_ticker": "ACM-26Q1"}),
    (f"/markets/{FIRST}/trades", {}),
    ("/markets/acm-26q1-102b/trades", {"from": "2026-01-01T00:00:00Z"}),
]
NEWEST_FIRST = ("orders", "fills", "trades")


def rows_of(page):
    """The name of a page's collection, and its rows by key, in order."""
    (name,) = set(page) - {"cursor"}
    assert isinstance(page["cursor"], str)
    return name, {tuple(row[part] for part in KEYS[name]): row for row in page[name]}


async def walked(caller, path, query, limit, between):
    """Every row met, as (key, row), and the keys that were there at every step of the walk."""
    met, throughout, cursor = [], None, None
    while cursor != "":
        _, there = rows_of(await caller.get(path, {**query, "limit": "1000"}))
        throughout = {*there} if throughout is None else throughout & {*there}
        more = {} if cursor is None else {"cursor": cursor}
        page = await caller.get(path, {**query, "limit": str(limit), **more})
        name, rows = rows_of(page)
        assert len(page[name]) == len(rows) <= limit
        assert rows or cursor is None or page["cursor"] == ""
        met += rows.items()
        cursor = page["cursor"]
        await between()
    return name, met, throughout


@pytest.mark.slow
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
