"""Load for a server under measurement: raw keep-alive connections, closed loop or at a set rate.

No client library is in between, so the server alone is measured.
"""

import asyncio
import itertools
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import cast

import msgspec

_HOST = "127.0.0.1"
_HEAD_END = b"\r\n\r\n"
_LENGTH = b"content-length: "


class Result(msgspec.Struct, frozen=True):
    """Replies by status, the wall and the server's CPU seconds, latencies in seconds, sorted."""

    statuses: dict[int, int]
    wall_s: float
    cpu_s: float
    latencies_s: list[float]

    @property
    def count(self) -> int:
        return sum(self.statuses.values())

    def latency_ms(self, share: float) -> float:
        """The latency that this share of the replies did not exceed."""
        place = min(len(self.latencies_s) - 1, int(share * len(self.latencies_s)))
        return 1e3 * self.latencies_s[place]


class _Wire(asyncio.Protocol):
    """One connection with at most one request in flight."""

    def __init__(self) -> None:
        self._buffer = b""
        self._reply: asyncio.Future[int] | None = None
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def send(self, request: bytes) -> "asyncio.Future[int]":
        assert self._transport is not None
        self._reply = asyncio.get_running_loop().create_future()
        self._transport.write(request)
        return self._reply

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        head, found, body = self._buffer.partition(_HEAD_END)
        if not found:
            return
        length = int(head.lower().split(_LENGTH, 1)[1].split(b"\r\n", 1)[0])
        if len(body) >= length and self._reply is not None:
            self._buffer = b""
            self._reply.set_result(int(head[9:12]))

    def connection_lost(self, fault: Exception | None) -> None:
        if self._reply is not None and not self._reply.done():
            self._reply.set_exception(ConnectionError("the server hung up"))

    def close(self) -> None:
        assert self._transport is not None
        self._transport.close()


def cpu_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def send_load(
    port: int,
    pid: int,
    connections: int,
    total: int,
    request: Callable[[int, int], bytes],
    per_second: float = 0,
) -> Result:
    """Send `total` requests to this host: at a rate, whatever the replies do, or, without one, each
    connection the next as soon as it has its reply. Latencies count from when a send was due.

    request: the bytes for a connection number and a request number.
    """
    loop = asyncio.get_running_loop()
    wires = [(await loop.create_connection(_Wire, _HOST, port))[1] for _ in range(connections)]
    numbers = itertools.count()
    statuses: dict[int, int] = {}
    latencies: list[float] = []
    cpu, begun = cpu_s(pid), time.perf_counter()

    async def work(place: int, wire: _Wire) -> None:
        while (number := next(numbers)) < total:
            due = time.perf_counter()
            if per_second:
                due = begun + number / per_second
                await asyncio.sleep(max(0.0, due - time.perf_counter()))
            status = await wire.send(request(place, number))
            latencies.append(time.perf_counter() - due)
            statuses[status] = statuses.get(status, 0) + 1

    await asyncio.gather(*(work(place, wire) for place, wire in enumerate(wires)))
    result = Result(statuses, time.perf_counter() - begun, cpu_s(pid) - cpu, sorted(latencies))
    for wire in wires:
        wire.close()
    return result
