"""A network that loses things: a TCP proxy before a venue, seeded, in a thread of its own.

Per request it may be cut before or after the venue has it, answered in the venue's place, or held
back. The channel is piped through and cut now and then. Knows HTTP only as far as a message's end.
"""

import asyncio
import contextlib
import random
import threading
from collections import Counter
from collections.abc import Awaitable, Callable

UNKNOWN = b'{"code": "result_unknown", "error": "no reply in time"}'
UNAVAILABLE = b'{"code": "engine_unavailable", "error": "not submitted"}'
LIMITED = b'{"code": "rate_limited", "error": "slow down"}'
PAGE = b"<html>bad gateway</html>"
CHANNEL_LIFE_S = (4.0, 9.0)


def _answer(status: str, body: bytes, *headers: str) -> bytes:
    lines = [f"HTTP/1.1 {status}", f"content-length: {len(body)}", "connection: close", *headers]
    return "\r\n".join([*lines, "", ""]).encode() + body


class Cut(Exception):
    """This connection ends here."""


class Proxy:
    """Listens on loopback as long as the block lasts; `port` is its own, `seen` what it did."""

    def __init__(self, target_port: int, seed: int) -> None:
        self._target_port = target_port
        self._random = random.Random(seed)
        self.seen: Counter[str] = Counter()
        self.port = 0
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        # A loop holds its tasks weakly, and a task that waits on a reader is held by nothing else
        # once its socket is closed: without this a connection that lost one end may be collected.
        self._open: set[asyncio.Task | None] = set()
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._faults: list[tuple[float, Callable[..., Awaitable[None]]]] = [
            (0.03, self._cut_before),
            (0.04, self._cut_after),
            (0.03, self._unknown_after),
            (0.02, self._unavailable),
            (0.01, self._limited),
            (0.01, self._page_after),
            (0.01, self._timeout_page_after),
            (0.06, self._late),
        ]

    def __enter__(self) -> "Proxy":
        self._thread.start()
        assert self._ready.wait(5)
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(5)

    def _serve(self) -> None:
        asyncio.set_event_loop(self._loop)
        server = self._loop.run_until_complete(
            asyncio.start_server(self._connection, "127.0.0.1", 0)
        )
        self.port = server.sockets[0].getsockname()[1]
        self._ready.set()
        self._loop.run_forever()
        server.close()
        # However busy the machine is: none is left half done, and no socket open. What was accepted
        # at the last moment begins only now.
        self._loop.run_until_complete(asyncio.sleep(0.05))
        while tasks := asyncio.all_tasks(self._loop):
            for task in tasks:
                task.cancel()
            self._loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
            self._loop.run_until_complete(asyncio.sleep(0.05))
        self._loop.run_until_complete(self._loop.shutdown_asyncgens())
        self._loop.close()

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        up_reader, up_writer = await asyncio.open_connection("127.0.0.1", self._target_port)
        self._open.add(asyncio.current_task())
        try:
            while True:
                head, body = await _message(reader)
                if b"upgrade: websocket" in head.lower():
                    up_writer.write(head + body)
                    await self._pipe(reader, writer, up_reader, up_writer)
                    return
                await self._request(head + body, writer, up_reader, up_writer)
        except (Cut, asyncio.IncompleteReadError, OSError, asyncio.CancelledError):
            pass
        finally:
            self._open.discard(asyncio.current_task())
            for each in (writer, up_writer):
                with contextlib.suppress(OSError, RuntimeError):
                    each.transport.abort()

    async def _request(self, request: bytes, writer, up_reader, up_writer) -> None:
        dice = self._random.random()
        for odds, fault in self._faults:
            if dice < odds:
                self.seen[fault.__name__.strip("_")] += 1
                await fault(request, writer, up_reader, up_writer)
                return
            dice -= odds
        self.seen["passed"] += 1
        writer.write(await self._forward(request, up_reader, up_writer))

    async def _forward(self, request: bytes, up_reader, up_writer) -> bytes:
        up_writer.write(request)
        head, body = await _message(up_reader)
        return head + body

    async def _cut_before(self, *_: object) -> None:
        raise Cut

    async def _cut_after(self, request, writer, up_reader, up_writer) -> None:
        await self._forward(request, up_reader, up_writer)
        raise Cut

    async def _unknown_after(self, request, writer, up_reader, up_writer) -> None:
        await self._forward(request, up_reader, up_writer)
        writer.write(_answer("503 Service Unavailable", UNKNOWN))
        raise Cut

    async def _unavailable(self, request, writer, *_: object) -> None:
        writer.write(_answer("503 Service Unavailable", UNAVAILABLE))
        raise Cut

    async def _limited(self, request, writer, *_: object) -> None:
        writer.write(_answer("429 Too Many Requests", LIMITED, "retry-after: 1"))
        raise Cut

    async def _page_after(self, request, writer, up_reader, up_writer) -> None:
        await self._forward(request, up_reader, up_writer)
        writer.write(_answer("502 Bad Gateway", PAGE))
        raise Cut

    async def _timeout_page_after(self, request, writer, up_reader, up_writer) -> None:
        await self._forward(request, up_reader, up_writer)
        writer.write(_answer("408 Request Timeout", PAGE))
        raise Cut

    async def _late(self, request, writer, up_reader, up_writer) -> None:
        await asyncio.sleep(self._random.uniform(0, 0.4))
        writer.write(await self._forward(request, up_reader, up_writer))

    async def _pipe(self, reader, writer, up_reader, up_writer) -> None:
        self.seen["channels"] += 1

        async def one_way(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
            while data := await source.read(65_536):
                sink.write(data)
                await sink.drain()

        with contextlib.suppress(TimeoutError, OSError):
            async with asyncio.timeout(self._random.uniform(*CHANNEL_LIFE_S)):
                await asyncio.gather(one_way(reader, up_writer), one_way(up_reader, writer))


async def _message(reader: asyncio.StreamReader) -> tuple[bytes, bytes]:
    """One HTTP message: its head, and as much body as the head says."""
    head = await reader.readuntil(b"\r\n\r\n")
    length = 0
    for line in head.split(b"\r\n"):
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            length = int(value)
    return head, await reader.readexactly(length)
