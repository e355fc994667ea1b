"""A tiny HTTP server on loopback that answers with exactly the bytes a test wants."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

Talk = Callable[[asyncio.StreamWriter], Awaitable[None]]


class Hostile:
    """Where it listens, the raw requests it was sent, and over how many connections."""

    def __init__(self) -> None:
        self.port = 0
        self.connections = 0
        self.requests: list[bytes] = []

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"


@asynccontextmanager
async def hostile(talk: Talk, *, keeps: bool = False) -> AsyncIterator[Hostile]:
    """Serve: every request is read whole, then `talk` writes what it likes and is hung up on.

    keeps: a connection goes on with its next request until `talk` closes it.
    """
    site = Hostile()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        site.connections += 1
        goes_on = True
        try:
            while goes_on:
                head = await reader.readuntil(b"\r\n\r\n")
                length = 0
                for line in head.lower().split(b"\r\n"):
                    if line.startswith(b"content-length:"):
                        length = int(line.partition(b":")[2])
                site.requests.append(head + await reader.readexactly(length))
                await talk(writer)
                await writer.drain()
                goes_on = keeps and not writer.is_closing()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    site.port = server.sockets[0].getsockname()[1]
    try:
        yield site
    finally:
        server.close()
        await server.wait_closed()


def says(status: int, body: bytes, *headers: str) -> Talk:
    async def talk(writer: asyncio.StreamWriter) -> None:
        head = [f"HTTP/1.1 {status} Whatever", f"Content-Length: {len(body)}", *headers]
        writer.write("\r\n".join([*head, "Connection: close", "", ""]).encode() + body)

    return talk


def late(seconds: float, talk: Talk) -> Talk:
    async def talk_later(writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(seconds)
        await talk(writer)

    return talk_later


def blurts(data: bytes) -> Talk:
    async def talk(writer: asyncio.StreamWriter) -> None:
        writer.write(data)

    return talk


async def silence(_writer: asyncio.StreamWriter) -> None:
    await asyncio.sleep(0.6)


async def drip(writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\n")
    while not writer.is_closing():
        writer.write(b"X-More: 1\r\n")
        await writer.drain()
        await asyncio.sleep(0.02)
