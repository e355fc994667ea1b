"""Claims about requests to a status page and a webhook: none is cancelled from outside.

A cancelled request may keep its connection for good, and a hundred of those are all there are.
"""

import asyncio

import httpx
import pytest

from bot.io import notices
from bot.io.client.sockets import UNTIL_S
from bot.io.notices import Courier, Times
from bot.io.run import reaper as reaper_module
from bot.io.run.reaper import HeartbeatLook, page_source
from bot.io.secret import Secret
from tests.builders.io.hostile import drip, hostile

pytestmark = pytest.mark.anyio

LONGEST_S = 0.05


class Overdue(httpx.AsyncBaseTransport):
    """Goes on past the deadline for a while, and then fails as a socket does."""

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


async def test_a_status_page_request_past_its_deadline_is_not_cancelled(monkeypatch):
    monkeypatch.setattr(reaper_module, "PAGE_S", LONGEST_S)
    slow = Overdue()
    begun_s = asyncio.get_running_loop().time()
    async with httpx.AsyncClient(transport=slow) as client:
        assert await page_source(client, "http://127.0.0.1/")() == HeartbeatLook(None)
    assert slow.went_on
    # However slow the machine is, it counts from in between.
    assert begun_s + LONGEST_S <= slow.until_s <= slow.asked_s + LONGEST_S


async def outcome(courier: Courier) -> str:
    outcomes: list[str] = []
    courier.count = outcomes.append
    courier.offer(b"{}")
    async with asyncio.timeout(10):
        await courier.deliver_all()
    await courier.close()
    return outcomes[0]


TIMES = Times(attempt_s=LONGEST_S, give_up_s=0)


async def test_a_notice_request_past_its_deadline_is_not_cancelled(monkeypatch):
    slow = Overdue()
    monkeypatch.setattr(notices, "client_beside", lambda: httpx.AsyncClient(transport=slow))
    assert await outcome(Courier(Secret("http://127.0.0.1/"), 60, TIMES)) == "lost"
    assert slow.went_on


async def test_a_webhook_that_never_ends_its_response_is_given_up():
    async with hostile(drip) as site:
        address = Secret(f"http://127.0.0.1:{site.port}/")
        assert await outcome(Courier(address, 60, TIMES)) == "lost"
