"""Book frames absorbed per second of one core: socket, decode, check, and the event of the bot.

A child process pours whole-ladder frames of 60 levels through a loopback websocket; this process
reads them. Anchor: the same websockets client and a bare msgspec decode of the same frames, rounds
interleaved with ours. Both are counted in CPU seconds of this process, medians over the rounds.
"""

import asyncio
import contextlib
import json
import multiprocessing
import statistics
import struct
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import NamedTuple

import msgspec
import uvloop
from websockets.asyncio.client import connect
from websockets.asyncio.server import ServerConnection, serve

from bot.core.messages import BookUpdate
from bot.io.client.answers import event_of
from venue.wire import codec, frames

LEVELS_A_SIDE = 30
DISTINCT_FRAMES = 240
RUNGS = 12
Reader = Callable[[bytes], object]


class Way(NamedTuple):
    """How a frame is taken in: as text or as bytes from the socket, and by what."""

    reader: Reader
    as_text: bool


def book_frames() -> list[bytes]:
    return [
        json.dumps(
            {
                "type": "market-update",
                "data": {
                    "type": "prediction-orderbook",
                    "ticker": f"ACME-26Q4-{100 + number % RUNGS}B",
                    "eventMarketId": f"0b9f3c1e-5a2d-4c7b-9e8f-{number % RUNGS:012d}",
                    "ts": 1_767_312_245_000_000_000 + number,
                    "yes": [
                        {"price": 45 - depth, "size": 100 + (number * 7 + depth) % 900}
                        for depth in range(LEVELS_A_SIDE)
                    ],
                    "no": [
                        {"price": 52 - depth, "size": 100 + (number * 11 + depth) % 900}
                        for depth in range(LEVELS_A_SIDE)
                    ],
                },
            },
            separators=(",", ":"),
        ).encode()
        for number in range(DISTINCT_FRAMES)
    ]


def _as_sent(payload: bytes) -> bytes:
    """One unmasked text frame, so that the sender costs next to nothing."""
    return struct.pack("!BBH", 0x81, 126, len(payload)) + payload


async def _pour(pipe: Connection) -> None:
    blob = b"".join(_as_sent(payload) for payload in book_frames())

    async def handle(connection: ServerConnection) -> None:
        wanted = int(await connection.recv())
        for _ in range(wanted // DISTINCT_FRAMES):
            connection.transport.write(blob)
            # Bytes go past the library's own sender, so its back-pressure is waited for here.
            while connection.transport.get_write_buffer_size() > 1 << 20:  # noqa: ASYNC110
                await asyncio.sleep(0.001)
        await connection.wait_closed()

    async with serve(handle, "127.0.0.1", 0, compression=None, ping_interval=None) as server:
        pipe.send(server.sockets[0].getsockname()[1])
        await asyncio.get_running_loop().run_in_executor(None, pipe.poll, None)


def _serve(pipe: Connection) -> None:
    with contextlib.suppress(EOFError):
        uvloop.run(_pour(pipe))


async def _absorb(port: int, count: int, way: Way) -> tuple[float, float]:
    """Read `count` frames. Returns (CPU seconds of this process, wall seconds)."""
    async with connect(
        f"ws://127.0.0.1:{port}", proxy=None, compression=None, ping_interval=None
    ) as channel:
        await channel.send(str(count))
        reader, as_text = way
        cpu_s, wall_s = time.process_time(), time.perf_counter()
        for _ in range(count):
            reader(await channel.recv(decode=as_text))
        return time.process_time() - cpu_s, time.perf_counter() - wall_s


def _decode_us(payloads: list[bytes], reader: Reader, rounds: int) -> float:
    times = []
    for _ in range(rounds):
        start_s = time.process_time()
        for payload in payloads:
            reader(payload)
        times.append((time.process_time() - start_s) / len(payloads) * 1e6)
    return statistics.median(times)


def run(quick: bool) -> list[tuple[str, str]]:
    payloads = book_frames()
    # A frame that is refused would be absorbed very fast.
    assert all(isinstance(event_of(payload), BookUpdate) for payload in payloads)
    count = DISTINCT_FRAMES * (20 if quick else 100)
    rounds = 3 if quick else 7
    bare: Reader = msgspec.json.Decoder(frames.ServerFrame).decode
    # The bot's feed takes text, as its library gives it; the anchor takes the cheaper bytes.
    ways = {"ours": Way(event_of, as_text=True), "anchor": Way(bare, as_text=False)}
    measured: dict[str, list[tuple[float, float]]] = {name: [] for name in ways}
    here, there = multiprocessing.Pipe()
    child = multiprocessing.get_context("spawn").Process(target=_serve, args=(there,), daemon=True)
    child.start()
    try:
        port = here.recv()
        for _ in range(rounds):
            for name, way in ways.items():
                measured[name].append(uvloop.run(_absorb(port, count, way)))
    finally:
        here.send("stop")
        child.join(5)
    rate = {
        name: count / statistics.median(cpu_s for cpu_s, _ in times)
        for name, times in measured.items()
    }
    wall = {
        name: count / statistics.median(wall_s for _, wall_s in times)
        for name, times in measured.items()
    }
    ours_us, checked_us, bare_us = (
        _decode_us(payloads, reader, 5 * rounds) for reader in (event_of, codec.decode_frame, bare)
    )
    return [
        (
            "frames absorbed",
            f"{rate['ours']:,.0f}/s of one core, {rate['ours'] / rate['anchor']:.0%} of the anchor"
            f" ({wall['ours']:,.0f}/s by the wall clock)",
        ),
        ("anchor: websockets + msgspec", f"{rate['anchor']:,.0f}/s of one core"),
        (
            "without a socket",
            f"{ours_us:.1f} us a frame; decode and check alone {checked_us:.1f} us; "
            f"bare msgspec {bare_us:.1f} us",
        ),
    ]
