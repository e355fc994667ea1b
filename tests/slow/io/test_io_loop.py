"""Claims about the loop of the commands: a name that nobody looks up holds nobody up."""

import asyncio
import socket
import threading
import time

import httpx
import pytest

from bot.core import messages as m
from bot.io import loop
from bot.io.client.feed import Feed, FeedTimes
from bot.io.client.rest import Rest
from bot.io.secret import Secret
from tests.builders.io.hostile import hostile, says

IMPATIENT = httpx.Timeout(0.05)
PATIENT = httpx.Timeout(30)
STREAM = socket.SOCK_STREAM


def rest_at(place: str, timeouts: httpx.Timeout = PATIENT) -> Rest:
    return Rest(f"http://{place}/v1", Secret("k" * 20), 4, timeouts=timeouts)


async def reached(rest: Rest) -> m.Answer:
    return (await rest.ask(m.ReadBalance())).answer


def rows(port: int, *addresses: str) -> list[tuple[object, ...]]:
    return [(socket.AF_INET, STREAM, 6, "", (each, port)) for each in addresses]


def test_a_name_lookup_that_hangs_does_not_delay_the_end_and_is_not_repeated(monkeypatch):
    asked: list[object] = []
    over = threading.Event()

    def hangs(*arguments: object) -> object:
        asked.append(arguments[0])
        over.wait(60)
        raise socket.gaierror(socket.EAI_AGAIN, "no answer")

    monkeypatch.setattr(socket, "getaddrinfo", hangs)

    async def run_requests() -> tuple[list[m.Answer], float]:
        rest = rest_at("venue.example:80", IMPATIENT)
        feed = Feed("ws://venue.example:80/", lambda _: None, FeedTimes(open_s=0.05))
        listening = asyncio.ensure_future(feed.run())
        answers = [await reached(rest) for _ in range(5)]
        listening.cancel()
        await asyncio.wait([listening])
        await rest.drain()
        return answers, time.monotonic()

    try:
        answers, last_word_s = loop.run(run_requests)
        assert time.monotonic() - last_word_s < 5
    finally:
        over.set()
    assert all(isinstance(each, m.Rejected) and each.status == 0 for each in answers)
    assert asked == ["venue.example"]


def test_a_second_address_of_a_name_is_tried_when_the_first_refuses(monkeypatch):
    async def run_requests() -> tuple[m.Answer, str]:
        async with hostile(says(200, b"{}")) as site:
            found = rows(site.port, "127.0.0.2", "127.0.0.1")
            monkeypatch.setattr(socket, "getaddrinfo", lambda *_: found)
            rest = rest_at(f"venue.example:{site.port}")
            answer = await reached(rest)
            await rest.drain()
            connect = asyncio.get_running_loop().create_connection
            transport, _ = await connect(asyncio.Protocol, "venue.example", site.port)
            place = transport.get_extra_info("peername")[0]
            transport.close()
            return answer, place

    answer, place = loop.run(run_requests)
    assert isinstance(answer, m.Unknown), "it was sent, and the answer is no balance"
    assert place == "127.0.0.1"


def test_a_name_that_was_not_found_is_looked_up_again(monkeypatch):
    async def run_requests() -> list[m.Answer]:
        async with hostile(says(200, b"{}")) as site:
            found: list[object] = [socket.gaierror(socket.EAI_AGAIN, "later"), site.port]

            def look(*_: object) -> object:
                one = found.pop(0)
                if isinstance(one, int):
                    return rows(one, "127.0.0.1")
                raise one

            monkeypatch.setattr(socket, "getaddrinfo", look)
            rest = rest_at(f"venue.example:{site.port}")
            answers = [await reached(rest), await reached(rest)]
            await rest.drain()
            return answers

    first, second = loop.run(run_requests)
    assert isinstance(first, m.Rejected)
    assert first.status == 0
    assert isinstance(second, m.Unknown), "it was sent, and the answer is no balance"


def test_an_impossible_name_does_not_end_the_channel():
    async def run_requests() -> bool:
        times = FeedTimes(backoff_min_s=0.01, backoff_max_s=0.01)
        feed = Feed(f"ws://{'a' * 64}.example/", lambda _: None, times)
        listening = asyncio.ensure_future(feed.run())
        await asyncio.wait([listening], timeout=0.2)
        goes_on = not listening.done()
        listening.cancel()
        await asyncio.wait([listening])
        return goes_on

    assert loop.run(run_requests)


def test_a_name_lookup_without_a_free_thread_is_a_connection_error(monkeypatch):
    def refuse(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(loop.threading.Thread, "start", refuse)

    async def run_requests() -> None:
        await asyncio.get_running_loop().getaddrinfo("venue.example", 80, type=STREAM)

    with pytest.raises(OSError, match="can't start new thread"):
        loop.run(run_requests)
