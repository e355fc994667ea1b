"""Claims about the stream of the status page: its events, its rate, and its readers."""

import asyncio
import itertools
import json
import logging
import socket
from contextlib import asynccontextmanager

import httpx
import msgspec
import pytest

from bot.core.report import ProfitReport, ProfitRow
from bot.io.logs import ALERTS_MAX, TAIL_MAX, LogTail
from bot.io.status.serving import Streams, framed
from bot.io.status.snapshot import History
from tests.builders.io.pages import app_of, seen, served
from tests.builders.io.samples import report
from tests.builders.until import until

pytestmark = pytest.mark.anyio
SECOND = 10**9


@asynccontextmanager
async def reading(url: str):
    """The events of a stream, as (kind, data) one after the other."""
    async with (
        httpx.AsyncClient(trust_env=False, timeout=10) as client,
        client.stream("GET", f"{url}events") as answer,
    ):
        yield answer, _events(answer)


async def _events(answer):
    kind = ""
    async for line in answer.aiter_lines():
        if line.startswith("event: "):
            kind = line[7:]
        elif line.startswith("data: "):
            yield kind, json.loads(line[6:])


def earned(now_ns: int, millicents: int = 1_000):
    total = ProfitRow("total", 1, 1, millicents, millicents, 0, 0, 0, ())
    profit = ProfitReport(total, 0, 0, millicents, 0, 0, {})
    return msgspec.structs.replace(report(now_ns=now_ns), profit=profit)


def logged(tail: LogTail, level: int, text: str) -> None:
    tail.handle(logging.LogRecord("bot", level, "", 0, text, (), None))


# --- the stream -----------------------------------------------------------------------------------


async def test_a_reader_gets_the_snapshot_at_once_and_every_tick():
    app = app_of(seen, streams=Streams(tick_s=0.02))
    async with served(app) as url, reading(url) as (answer, events):
        events_seen = [await anext(events) for _ in range(3)]
    assert answer.headers["content-type"] == "text/event-stream"
    assert [kind for kind, _ in events_seen] == ["status"] * 3
    assert events_seen[0][1]["report"]["events"][0]["rungs"][0]["fair_cents"] == 42.0


async def test_history_and_log_lines_are_sent_once():
    tail = LogTail()
    logged(tail, logging.WARNING, '{"event": "first", "level": "warning", "a": 1}')
    app = app_of(lambda: seen(earned(SECOND)), tail=tail, streams=Streams(tick_s=0.02))
    async with served(app) as url, reading(url) as (_, events):
        events_seen = [await anext(events) for _ in range(5)]
        logged(tail, logging.INFO, '{"event": "second", "level": "info"}')
        while True:
            kind, data = await anext(events)
            if kind == "log":
                break
    log = [data for kind, data in events_seen if kind == "log"]
    assert sum(kind == "history" for kind, _ in events_seen) == 1
    assert [line["name"] for line in log[0]["lines"]] == ["first"]
    assert [line["text"] for line in log[0]["alerts"]] == ["a=1"]
    assert [line["name"] for line in data["lines"]] == ["second"]
    assert data["alerts"] == []


async def test_a_reader_that_hangs_up_is_forgotten():
    streams = Streams(tick_s=0.02)
    async with served(app_of(seen, streams=streams)) as url:
        async with reading(url) as (_, events):
            await anext(events)
            assert streams.readers == 1
        await until(lambda: streams.readers == 0)


async def test_a_reader_that_stops_reading_is_dropped():
    streams = Streams(tick_s=0.001)
    big = "x" * 200_000
    app = app_of(lambda: seen(msgspec.structs.replace(report(), latched=big)), streams=streams)
    async with served(app, stuck_ms=300) as url:
        with socket.socket() as lazy:
            lazy.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            lazy.connect(("127.0.0.1", httpx.URL(url).port))
            lazy.sendall(b"GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n")
            await until(lambda: streams.readers == 1)
            await until(lambda: streams.readers == 0)


@pytest.mark.parametrize("said", [b"", b"GET /health HTTP/1.1\r\nHost: loc"])
async def test_silent_connections_block_others_only_for_a_while(said):
    async with served(app_of(seen), silent_ms=2_000) as url, httpx.AsyncClient() as client:
        silent = [socket.create_connection(("127.0.0.1", httpx.URL(url).port)) for _ in range(70)]
        for each in silent:
            each.sendall(said)
        assert (await client.get(f"{url}healthz")).status_code == 503
        await asyncio.sleep(2.5)
        assert (await client.get(f"{url}healthz")).status_code == 200
        for each in silent:
            each.close()


async def test_an_empty_line_after_a_response_does_not_keep_a_connection_open():
    async with served(app_of(seen), silent_ms=300) as url:
        reader, writer = await asyncio.open_connection("127.0.0.1", httpx.URL(url).port)
        writer.write(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert (await reader.readline()).startswith(b"HTTP/1.1 200")
        writer.write(b"\r\n")
        async with asyncio.timeout(3):  # uvicorn's own clock is of 5 s
            await reader.read()
        writer.close()


async def test_a_stream_may_last_longer_than_a_request():
    app = app_of(seen, streams=Streams(tick_s=0.1))
    async with served(app, silent_ms=200) as url, reading(url) as (_, events):
        loop = asyncio.get_running_loop()
        until_s = loop.time() + 0.8
        while loop.time() < until_s:
            await anext(events)


async def test_a_reader_beyond_the_limit_is_refused_and_the_others_go_on():
    app = app_of(seen, streams=Streams(tick_s=0.02, readers_max=1))
    async with served(app) as url, reading(url) as (_, events):
        await anext(events)
        async with httpx.AsyncClient(trust_env=False) as client:
            turned_away = await client.get(f"{url}events")
        assert (turned_away.status_code, turned_away.headers["retry-after"]) == (503, "5")
        assert (await anext(events))[0] == "status"


async def test_the_end_of_the_server_ends_the_streams():
    app = app_of(seen, streams=Streams(tick_s=30))
    async with served(app) as url, reading(url) as (_, events):
        await anext(events)
        app.close()
        assert [events_seen async for events_seen in events] == []


def test_a_text_with_line_breaks_stays_one_event():
    assert framed("log", {"text": "a\n\nevent: status\r\ndata: {}"}).count(b"\n") == 3


# --- profit over time -----------------------------------------------------------------------------


def test_the_profit_history_is_sampled_evenly_in_bounded_memory():
    history = History(points_max=8, step_ns=SECOND)
    for second in range(200):
        history.add_sample(earned(second * SECOND // 2, second))
    times = [moment.at_ns for moment in history.moments]
    steps = {later - earlier for earlier, later in itertools.pairwise(times)}
    assert times[0] == 0
    assert len(times) <= 8
    assert max(steps) <= 2 * min(steps)
    assert times[-1] > 80 * SECOND


def test_nothing_is_sampled_before_there_is_a_profit():
    history = History()
    history.add_sample(report())
    assert (history.moments, history.version) == ((), 0)


# --- the tail of the log --------------------------------------------------------------------------


def test_the_log_tail_keeps_the_newest_lines_and_warnings_longer():
    tail = LogTail()
    logged(tail, logging.ERROR, '{"event": "old", "level": "error"}')
    for number in range(2 * TAIL_MAX):
        logged(tail, logging.INFO, f'{{"event": "e{number}", "level": "info"}}')
    assert len(tail.since(0)) == TAIL_MAX
    assert [line.name for line in tail.alerts_since(0)] == ["old"]
    for number in range(2 * ALERTS_MAX):
        logged(tail, logging.ERROR, f'{{"event": "e{number}", "level": "error"}}')
    assert len(tail.alerts_since(0)) == ALERTS_MAX


def test_a_log_line_is_cut_and_a_trace_is_reduced_to_its_last_line():
    tail = LogTail()
    trace = "Traceback\\n  at somewhere\\nValueError: wrong"
    logged(tail, logging.ERROR, f'{{"event": "x", "level": "error", "exception": "{trace}"}}')
    logged(tail, logging.ERROR, f'{{"event": "x", "level": "error", "text": "{"y" * 9_000}"}}')
    assert tail.since(0)[0].text == "ValueError: wrong"
    assert len(tail.since(0)[1].text) == 600


def test_a_log_line_that_is_no_json_is_kept():
    tail = LogTail()
    logged(tail, logging.WARNING, "not json")
    assert [(line.level, line.name) for line in tail.since(0)] == [("warning", "not json")]
