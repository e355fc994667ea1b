"""A webhook's far end on a real socket: answers as a test wants, or not at all."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from bot.io.run.runner import Sidecar

Answer = tuple[int, dict[str, str]] | None
"""Status and headers; None: never any answer."""


@asynccontextmanager
async def running(sidecar: Sidecar) -> AsyncIterator[None]:
    """A sidecar runs within the block."""
    task = asyncio.create_task(sidecar.run())
    try:
        yield
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


class Receiver:
    """What came, and what is answered next: `script` in turn, then 200 for ever."""

    def __init__(self) -> None:
        self.got: list[dict[str, Any]] = []
        self.times: list[float] = []
        self.script: list[Answer] = []
        self.url = ""
        self._came = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
                length = int(head.split("content-length:")[1].split("\r\n")[0])
                body = await reader.readexactly(length)
                answer: Answer = self.script.pop(0) if self.script else (200, {})
                self.times.append(asyncio.get_running_loop().time())
                if answer is None:
                    await asyncio.sleep(3600)
                    continue
                status, headers = answer
                if 200 <= status < 300:
                    self.got.append(json.loads(body))
                lines = "".join(f"{key}: {value}\r\n" for key, value in headers.items())
                text = f"HTTP/1.1 {status} x\r\nContent-Length: 2\r\n{lines}\r\nok"
                writer.write(text.encode())
                await writer.drain()
                self._came.set()
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            writer.close()

    async def until(self, holds: Callable[[], bool]) -> None:
        """Return once something holds; looked at whenever a notice came."""
        async with asyncio.timeout(10):
            while not holds():
                self._came.clear()
                await self._came.wait()

    @asynccontextmanager
    async def listening(self) -> AsyncIterator["Receiver"]:
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/hook/s3cret"
        try:
            yield self
        finally:
            server.close()
            for task in self._tasks:
                task.cancel()
