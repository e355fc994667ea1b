"""A TCP proxy before a venue that drops, delays and half-opens connections, seeded, in a thread.

A request may be cut before or after the venue has it, delayed, or carried out with its response
held for ever. The first channel falls silent with its connection open. Of HTTP it knows where a
message ends, and no more.
"""

import asyncio
import contextlib
import random
import threading
from collections import Counter

HELD_S = 8.0
"""Longer than any client of ours waits."""

SILENT_AFTER_S = (2.0, 4.0)


class Cut(Exception):
    """This connection ends here."""


class Proxy:
    """Listens on loopback while the block lasts; `seen` is what it did, by name."""

    def __init__(self, target_port: int, seed: int) -> None:
        self._target_port = target_port
        self._random = random.Random(seed)
        self.seen: Counter[str] = Counter()
        self.port = 0
        self._is_silent = False
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        # A loop holds its tasks weakly: without this a connection that lost one end may be
        # collected.
        self._open: set[asyncio.Task | None] = set()
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._faults = [
            (0.02, self._cut_before),
            (0.02, self._cut_after),
            (0.01, self._held_after),
            (0.01, self._held_before),
            (0.08, self._late),
        ]

    def __enter__(self) -> "Proxy":
        self._thread.start()
        assert self._ready.wait(5)
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(5)

    def heal(self) -> None:
        """Lose and hold nothing new; responses that are held already stay so for their time."""
        self._faults = []
        self._is_silent = False

    def silence(self) -> None:
        """From here on no channel carries anything, with its connection open; `heal` ends it."""
        self._is_silent = True

    def _serve(self) -> None:
        asyncio.set_event_loop(self._loop)
        server = self._loop.run_until_complete(
            asyncio.start_server(self._connection, "127.0.0.1", 0)
        )
        self.port = server.sockets[0].getsockname()[1]
        self._ready.set()
        self._loop.run_forever()
        server.close()
        # No task is left half done and no socket open; what was just accepted begins only now.
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

    async def _held_after(self, request, writer, up_reader, up_writer) -> None:
        await self._forward(request, up_reader, up_writer)
        await asyncio.sleep(HELD_S)
        raise Cut

    async def _held_before(self, *_: object) -> None:
        await asyncio.sleep(HELD_S)
        raise Cut

    async def _late(self, request, writer, up_reader, up_writer) -> None:
        await asyncio.sleep(self._random.uniform(0, 0.4))
        writer.write(await self._forward(request, up_reader, up_writer))

    async def _pipe(self, reader, writer, up_reader, up_writer) -> None:
        self.seen["channels"] += 1
        is_silent = asyncio.Event()

        async def one_way(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
            while data := await source.read(65_536):
                if not (is_silent.is_set() or self._is_silent):
                    sink.write(data)
                    await sink.drain()

        def fall_silent() -> None:
            self.seen["silenced"] += 1
            is_silent.set()

        if self.seen["channels"] == 1:
            self._loop.call_later(self._random.uniform(*SILENT_AFTER_S), fall_silent)
        with contextlib.suppress(OSError):
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
