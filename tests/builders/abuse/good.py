"""Somebody who means well, and how long the venue lets it wait."""

import asyncio
import json
import time

from tests.builders.abuse.door import Peer
from tests.builders.abuse.frames import TEXT, frame, handshake, parsed
from tests.builders.abuse.site import Site

EMPTY_SET = json.dumps({"type": "subscribe", "data": {"targets": []}}).encode()
_PAUSE_S = 0.02


def read(key: str, path: str = "/v1/portfolio/balance") -> bytes:
    """A read as it goes over the wire."""
    return f"GET {path} HTTP/1.1\r\nHost: x\r\nX-API-KEY: {key}\r\n\r\n".encode()


async def rest_waits_ms(site: Site, done: asyncio.Event) -> list[float]:
    """How long each balance read took until `done`. AssertionError for any answer but 200."""
    peer = await Peer.of(site.port)
    waits = []
    while not done.is_set():
        begun_s = time.monotonic()
        peer.send(read(site.keys["maker"]))
        status, _, body = await peer.answer()
        waits.append((time.monotonic() - begun_s) * 1000)
        assert status == 200, body
        await asyncio.sleep(_PAUSE_S)
    await peer.leave()
    return waits


async def stream_waits_ms(site: Site, done: asyncio.Event) -> list[float]:
    """How long each acknowledgement of a subscribe took until `done`."""
    peer = await Peer.of(site.port)
    peer.send(handshake())
    await peer.reader.readuntil(b"\r\n\r\n")
    waits = []
    while not done.is_set():
        begun_s, said = time.monotonic(), b""
        peer.send(frame(TEXT, EMPTY_SET))
        async with asyncio.timeout(10):
            while not parsed(said):
                said += await peer.reader.read(65_536)
        waits.append((time.monotonic() - begun_s) * 1000)
        await asyncio.sleep(_PAUSE_S)
    await peer.leave()
    return waits


async def waits_ms(site: Site, done: asyncio.Event) -> tuple[list[float], list[float]]:
    """Both kinds of waits, side by side."""
    rest, stream = await asyncio.gather(rest_waits_ms(site, done), stream_waits_ms(site, done))
    return rest, stream


def quantile(waits: list[float], share: float) -> float:
    """The wait that this share of all waits does not exceed."""
    return sorted(waits)[min(len(waits) - 1, int(len(waits) * share))]
