"""Claims about a 429: from the moment it is read nothing leaves on its key, whatever was handed
over before it and waits, for the disk or for a connection."""

import asyncio
import time

import pytest

from bot.core import messages as m
from bot.io.client.rest import Rest
from bot.io.run.reaper import key_trouble
from bot.io.secret import Secret
from tests.builders.io.hostile import hostile, says
from tests.builders.io.samples import create, sent
from venue.wire.money import Price
from venue.wire.names import OrderId
from venue.wire.requests import Amend

pytestmark = pytest.mark.anyio

AMEND = m.AmendResting(OrderId("7"), Amend(price=Price(41)))
THROTTLED = says(429, b'{"code":"rate_limited","error":""}', "Retry-After: 1")


def rest_at(base_url: str, **more) -> Rest:
    return Rest(base_url, Secret("lm_trade_0123"), 4, **more)


def begun(rest: Rest, request: m.Request, may_leave=None) -> asyncio.Future[m.Response]:
    """A request that is under way; its answer."""
    answered: asyncio.Future[m.Response] = asyncio.get_running_loop().create_future()
    rest.start(sent(request), answered.set_result, may_leave)
    return answered


async def test_a_create_that_waits_for_the_disk_is_not_sent_after_a_429():
    on_disk = asyncio.Event()

    async def may_leave() -> bool:
        return await on_disk.wait()

    async with hostile(THROTTLED) as site:
        rest = rest_at(site.base_url)
        waiting = begun(rest, create(), may_leave)
        assert (await rest.ask(m.ReadBalance())).answer.status == 429
        on_disk.set()
        held = await waiting
        await rest.drain()
    assert held.answer == m.Rejected(0, "", "the venue asks to wait, so not sent")
    assert 800_000_000 < held.retry_after_ns < 1_000_000_000
    assert len(site.requests) == 1


async def test_a_create_that_waits_for_a_connection_is_not_sent_after_a_429(
    monkeypatch,
):
    connecting, connected = asyncio.Event(), asyncio.Event()
    loop = asyncio.get_running_loop()
    connects = loop.create_connection

    async def slow(*args, **more):
        monkeypatch.setattr(loop, "create_connection", connects)
        connecting.set()
        await connected.wait()
        return await connects(*args, **more)

    async with hostile(THROTTLED) as site:
        rest = rest_at(site.base_url)
        monkeypatch.setattr(loop, "create_connection", slow)
        waiting = begun(rest, create())
        await connecting.wait()
        assert (await rest.ask(m.ReadBalance())).answer.status == 429
        connected.set()
        held = await waiting
        await rest.drain()
    assert held.answer == m.Rejected(0, "", "the venue asks to wait, so not sent")
    assert len(site.requests) == 1


@pytest.mark.parametrize("request_", [create(), AMEND], ids=["create", "amend"])
async def test_a_create_or_amend_decided_before_a_standstill_is_not_sent(
    request_,
):
    async def may_leave() -> bool:
        time.sleep(0.3)  # noqa: ASYNC251 - the process stands still
        return True

    async with hostile(THROTTLED) as site:
        rest = rest_at(site.base_url, leave_s=0.2)
        held = await begun(rest, request_, may_leave)
        for leaves in (m.CancelResting(OrderId("7")), create(again=True)):
            other = rest_at(site.base_url, leave_s=0.2)
            assert (await begun(other, leaves, may_leave)).answer.status == 429
            await other.drain()
        await rest.drain()
    assert held.answer.status == 0
    assert "decided too long ago" in held.answer.message
    assert len(site.requests) == 2


async def test_a_request_is_sent_once_the_retry_after_is_over():
    async with hostile(THROTTLED) as site:
        rest = rest_at(site.base_url)
        await rest.ask(m.ReadBalance())
        await asyncio.sleep(1.0)
        again = await rest.ask(m.ReadBalance())
        await rest.drain()
    assert again.answer.status == 429
    assert len(site.requests) == 2


async def test_a_429_without_a_retry_after_holds_for_a_second():
    async with hostile(says(429, b"")) as site:
        rest = rest_at(site.base_url)
        await rest.ask(m.ReadBalance())
        await asyncio.sleep(0.8)
        held = await rest.ask(m.ReadBalance())
        await rest.drain()
    assert held.answer.status == 0
    assert len(site.requests) == 1


async def test_a_429_holds_its_own_key_alone():
    async with hostile(THROTTLED) as site:
        rest = rest_at(site.base_url, others={m.Key.READ: Secret("lm_read_0123")})
        await rest.ask(m.ReadBalance())
        answer = (await rest.ask(create())).answer
        await rest.drain()
    assert answer.status == 429
    assert len(site.requests) == 2


async def test_a_reaper_does_not_test_its_key_before_the_retry_after_is_over():
    async with hostile(THROTTLED) as site:
        rest = rest_at(site.base_url)
        assert await key_trouble(rest) == m.Unknown("rate_limited")
        assert await key_trouble(rest) == m.Unknown("the venue asks to wait, so not sent")
        await rest.drain()
    assert len(site.requests) == 1
