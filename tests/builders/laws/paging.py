"""Walks over the pages of every list of the venue."""

KEYS = {
    "markets": ("market_id",),
    "events": ("event_ticker",),
    "orders": ("order_id",),
    "positions": ("market_id", "outcome"),
    "fills": ("fill_id",),
    "trades": ("trade_id",),
}
FIRST, SECOND = (f"00000000-0000-4000-8000-{number:012d}" for number in (101, 102))
"""Two markets."""
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
