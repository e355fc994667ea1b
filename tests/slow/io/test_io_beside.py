"""Claims about requests to others than the venue, a status page and a webhook: none is cancelled.

A cancelled request may keep its connection for good, and a hundred of those are all there are.
"""

import asyncio

import httpx
import pytest

from bot.io.client.sockets import UNTIL_S
from bot.io.notices import Courier, Times
from bot.io.run import reaper as reaper_module
from bot.io.run.reaper import HeartbeatLook, page_source
from bot.io.secret import Secret
from tests.builders.io.hostile import drip, hostile

pytestmark = pytest.mark.anyio

LONGEST_S = 0.05


class Overdue(httpx.AsyncBaseTransport):
    """Goes on for a while after the request had to be whole, and ends it then as a socket does."""

    def __init__(self) -> None:
        self.asked_s: float | None = None
        self.until_s: float | None = None
        self.went_on = False

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        self.asked_s = asyncio.get_running_loop().time()
        self.until_s = UNTIL_S.get()
        assert self.until_s is not None, "no deadline over all of it"
        await asyncio.sleep(4 * LONGEST_S)
        self.went_on = True
        raise httpx.ReadTimeout("the request as a whole took too long")


async def test_no_look_at_a_page_is_cancelled(monkeypatch):
    monkeypatch.setattr(reaper_module, "PAGE_S", LONGEST_S)
    overdue = Overdue()
    begun_s = asyncio.get_running_loop().time()
    async with httpx.AsyncClient(transport=overdue) as client:
        assert await page_source(client, "http://127.0.0.1/")() == HeartbeatLook(None)
    assert overdue.went_on
    # However slow the machine is, it counts from in between.
    assert begun_s + LONGEST_S <= overdue.until_s <= overdue.asked_s + LONGEST_S


async def test_no_try_of_a_notice_is_cancelled():
    overdue = Overdue()
    courier = Courier(Secret("http://127.0.0.1/"), 60, Times(attempt_s=LONGEST_S))
    courier._client = httpx.AsyncClient(transport=overdue)
    assert await courier._try(b"{}") == ("no answer in time", 0.0)
    await courier.close()
    assert overdue.went_on


async def test_a_receiver_whose_answer_never_ends_is_given_up():
    async with hostile(drip) as site:
        address = Secret(f"http://127.0.0.1:{site.port}/")
        courier = Courier(address, 60, Times(attempt_s=LONGEST_S))
        async with asyncio.timeout(10):
            assert await courier._try(b"{}") == ("no answer in time", 0.0)
        await courier.close()
