"""V20: a walk of pages returns the whole list in order, and a cursor issued for another list,
user or filter is refused."""

import base64
import random

import pytest

from tests.builders.core.histories import event, listing
from tests.builders.laws.paging import FIRST, LISTS, SECOND, rows_of, walked
from tests.builders.laws.running import Caller, Flow, on_virtual_time, running


def test_a_walk_without_trading_is_the_whole_list_in_its_order_for_any_page_size(monkeypatch):
    async def main():
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

    on_virtual_time(monkeypatch, main)


# --- cursors that were not issued for the list they are sent to -----------------------------------

CURSOR_LISTS = [
    ("/markets", {}),
    ("/events", {}),
    ("/events/acm", {}),
    ("/orders", {}),
    ("/portfolio/positions", {}),
    ("/portfolio/fills", {}),
    (f"/markets/{FIRST}/trades", {}),
    (f"/markets/{SECOND}/trades", {}),
]
FILTERS = {
    "/markets": [{"q": "ac"}, {"series_ticker": "ACM"}],
    "/events": [{"series_ticker": "ACM"}, {"status": "open"}],
    "/orders": [{"status": "resting"}, {"ticker": FIRST}, {"event_ticker": "ACM-26Q1"}],
    "/portfolio/positions": [{"ticker": FIRST}, {"event_ticker": "ACM-26Q1"}],
    "/portfolio/fills": [{"ticker": FIRST}, {"order_id": "7"}],
    f"/markets/{FIRST}/trades": [{"from": "2026-01-01T00:00:00Z"}, {"to": "2099-01-01T00:00:00Z"}],
}


async def cursors(venue):
    """A caller's cursor of each list, good as it is."""
    await Flow(venue, 25).run(900)
    await venue.submit(event(400))
    await venue.submit(listing(10_400, "ACM-400Q1"))
    caller, found = Caller(venue, "ann"), {}
    for path, query in CURSOR_LISTS:
        page = await caller.get(path, {**query, "limit": "1"})
        assert page["cursor"], path
        found[path] = page["cursor"]
        await caller.get(path, {**query, "cursor": page["cursor"]})
    return caller, found


async def refused(caller, path, cursor, query=()):
    code = await caller.refusal("GET", path, {**dict(query), "cursor": cursor})
    return code == "invalid_cursor"


def test_a_cursor_with_any_bit_flipped_is_refused_by_every_list(monkeypatch):
    async def main():
        async with running() as venue:
            caller, issued = await cursors(venue)
            for path, cursor in issued.items():
                raw = base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4))
                for bit in range(8 * len(raw)):
                    changed = bytearray(raw)
                    changed[bit // 8] ^= 1 << bit % 8
                    token = base64.urlsafe_b64encode(changed).rstrip(b"=").decode()
                    assert await refused(caller, path, token), (path, bit)
                for bit in range(8 * len(cursor)):
                    text = bytearray(cursor.encode())
                    text[bit // 8] ^= 1 << bit % 8
                    assert await refused(caller, path, bytes(text).decode("latin-1")), (path, bit)

    on_virtual_time(monkeypatch, main)


def test_a_cursor_of_another_user_list_or_filter_is_refused(monkeypatch):
    async def main():
        async with running() as venue:
            caller, issued = await cursors(venue)
            other = Caller(venue, "bob")
            for path, cursor in issued.items():
                assert await refused(other, path, cursor), path
                for elsewhere in issued:
                    if elsewhere != path:
                        assert await refused(caller, elsewhere, cursor), (path, elsewhere)
                for query in FILTERS.get(path, ()):
                    assert await refused(caller, path, cursor, query.items()), (path, query)

    on_virtual_time(monkeypatch, main)


@pytest.mark.parametrize(
    "forged",
    ["0", "1", "null", "AAAA", "A" * 24, "A" * 600, "%", "\x00", "é", "../", "MQ", "MQ==", "-1"],
)
def test_a_made_up_cursor_is_refused_by_every_list(monkeypatch, forged):
    async def main():
        async with running() as venue:
            caller = Caller(venue, "ann")
            for path, query in CURSOR_LISTS:
                assert await refused(caller, path, forged, query.items()), path

    on_virtual_time(monkeypatch, main)


def test_a_cursor_goes_on_after_a_change_of_page_size(monkeypatch):
    async def main():
        async with running() as venue:
            caller, issued = await cursors(venue)
            whole = await caller.get("/orders", {"limit": "1000"})
            rest = await caller.get("/orders", {"limit": "1000", "cursor": issued["/orders"]})
            assert rest["orders"] == whole["orders"][1:]

    on_virtual_time(monkeypatch, main)
