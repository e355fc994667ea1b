"""A server of a small application in this process."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from venue.listen import Server, make_server


@asynccontextmanager
async def served(app: Any) -> AsyncIterator[tuple[Server, int]]:
    """The server and its port."""
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    server = make_server(app, 1)
    task = asyncio.create_task(server.serve([listener]))
    await server.listening.wait()
    try:
        yield server, listener.getsockname()[1]
    finally:
        # Not the calm end, which takes its time: nobody here waits for it.
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
        for asyncio_server in server.servers:
            asyncio_server.close()
        for connection in list(server.server_state.connections):
            connection.transport.abort()
        await asyncio.gather(*server.server_state.tasks, return_exceptions=True)
        await asyncio.sleep(0)


class Peer:
    """One raw connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    @classmethod
    async def of(cls, port: int, receive_bytes: int | None = None) -> "Peer":
        """Connect. receive_bytes: what the kernel may keep for us unread; its choice if None."""
        raw = socket.socket(proto=socket.IPPROTO_TCP)  # said aloud, or asyncio leaves Nagle on
        raw.setblocking(False)
        if receive_bytes is not None:
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
        await asyncio.get_running_loop().sock_connect(raw, ("127.0.0.1", port))
        return cls(*await asyncio.open_connection(sock=raw))

    @property
    def port(self) -> int:
        """Our own end."""
        return int(self.writer.get_extra_info("sockname")[1])

    def send(self, data: bytes) -> None:
        """Send, without waiting for it to be taken."""
        self.writer.write(data)

    async def rest(self, within_s: float = 5.0) -> bytes:
        """Everything until the server ends the connection, then leaves; a reset ends it too."""
        said = b""
        try:
            async with asyncio.timeout(within_s):
                while data := await self.reader.read(65_536):
                    said += data
        except ConnectionError:
            pass
        finally:
            await self.leave()
        return said

    async def answer(self) -> tuple[int, dict[str, str], bytes]:
        """One whole answer: status, headers, body."""
        async with asyncio.timeout(5):
            head = (await self.reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            status, *lines = head.split("\r\n")
            headers = dict(line.lower().split(": ", 1) for line in lines if line)
            body = await self.reader.readexactly(int(headers["content-length"]))
        return int(status.split()[1]), headers, body

    async def leave(self) -> None:
        """Close without waiting for the server."""
        self.writer.transport.abort()
        with contextlib.suppress(ConnectionError):
            await self.writer.wait_closed()


async def until(true: Callable[[], bool], within_s: float = 5.0) -> None:
    """Return once `true()` is; TimeoutError otherwise."""
    async with asyncio.timeout(within_s):
        while not true():  # noqa: ASYNC110 - what is waited for has no event
            await asyncio.sleep(0.01)
