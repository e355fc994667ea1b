"""Attacks on a venue, each a coroutine that raises AssertionError if the venue did not hold.

None of them waits for another, so that all can run at once and the deadlines pass together.
"""

import asyncio
import json
import time
from collections.abc import Awaitable, Callable

from tests.builders.abuse.door import Peer
from tests.builders.abuse.frames import PING, TEXT, close_code, frame, handshake, parsed
from tests.builders.abuse.good import EMPTY_SET, read
from tests.builders.abuse.site import Site

BODY_DEADLINE_S = 10.0
LATE_S = 3.0
"""A shared machine may be that late."""

CUT_WITHIN_S = 25.0
"""Ten seconds from when the buffers are full, and they take a while to fill."""

_TURN_S = 0.1
SMALL_BUFFER_BYTES = 4_096
BODY_BYTES = 200_000_000
_CHUNK = b"10000\r\n" + b"x" * 65_536 + b"\r\n"

Attack = Callable[[Site, int], Awaitable[None]]


async def _peers(site: Site, count: int, receive_bytes: int | None = None) -> list[Peer]:
    return [await Peer.of(site.port, receive_bytes) for _ in range(count)]


async def _leave(peers: list[Peer]) -> None:
    await asyncio.gather(*(peer.leave() for peer in peers))


# --- requests that take their time ---------------------------------------------------------------


async def trickled_bodies(site: Site, count: int) -> None:
    """Half a body and no more: refused or closed by the body's deadline."""
    begun_s = time.monotonic()
    peers = await _peers(site, count)
    for peer in peers:
        peer.send(_post(site, "Content-Length: 100") + b"{")
    said = await asyncio.gather(*(peer.rest(CUT_WITHIN_S) for peer in peers))
    took_s = time.monotonic() - begun_s
    assert all(_code(answer) == "invalid_request_body" for answer in said)
    assert BODY_DEADLINE_S - LATE_S < took_s < BODY_DEADLINE_S + 2 * LATE_S, took_s


# --- requests that are too large or malformed ----------------------------------------------------


def _post(site: Site, *headers: str) -> bytes:
    key = site.keys["trader"]
    lines = ("POST /v1/orders HTTP/1.1", "Host: x", f"X-API-KEY: {key}", *headers, "", "")
    return "\r\n".join(lines).encode()


def _code(said: bytes) -> str:
    """The code of the one refusal that was said."""
    return str(json.loads(said.partition(b"\r\n\r\n")[2])["code"]) if said else "nothing"


async def huge_bodies(site: Site, count: int) -> None:
    """200 MB, by length and in chunks: refused with the documented code, and never kept."""
    await asyncio.gather(*(_huge_body(site, number % 2 == 0) for number in range(count)))


async def _huge_body(site: Site, chunked: bool) -> None:
    peer = await Peer.of(site.port)
    framing = "Transfer-Encoding: chunked" if chunked else f"Content-Length: {BODY_BYTES}"
    peer.send(_post(site, framing))
    answer = asyncio.create_task(peer.answer())
    for _ in range(BODY_BYTES // len(_CHUNK)):
        peer.send(_CHUNK)
        await peer.writer.drain()
        if answer.done():
            break
    status, _, said = await answer
    assert (status, json.loads(said)["code"]) == (400, "invalid_request_body")
    await peer.leave()


DEEP = b"[" * 1_000_000
BODIES = [
    DEEP,
    b'{"a":' * 1_500 + b"1",
    b"[" * 16_000,
    b'{"ticker": "A", "qty": ' + b"9" * 5_000 + b"}",
    b'{"price": NaN, "qty": 1}',
    b'{"price": Infinity}',
    b'{"qty": 1, "qty": 2}',
    b'{"client_order_id": "\xff\xfe"}',
    b'{"client_order_id": "\xed\xa0\x80"}',
    b"\x00" * 1_000,
    b"",
    b"null",
    b'"order"',
    b"{" * 8,
]


async def hostile_bodies(site: Site, count: int) -> None:
    """What no decoder likes: each refused with the documented code."""
    for body in BODIES * count:
        peer = await Peer.of(site.port)
        peer.send(_post(site, f"Content-Length: {len(body)}") + body)
        status, _, said = await peer.answer()
        refusal = json.loads(said)
        assert (status, refusal["code"]) == (400, "invalid_request_body"), (body[:40], said)
        await peer.leave()


async def bad_credentials(site: Site, count: int) -> None:
    """Keys that are none, as fast as may be: 401 each, without limiter headers, and hang-ups."""
    ended = await asyncio.gather(*(_bad_credential(site, number) for number in range(count)))
    assert sum(ended) > count / 2, ended


async def _bad_credential(site: Site, number: int) -> bool:
    """Whether the venue hung up on one that tries keys."""
    peer = await Peer.of(site.port)
    closed = False
    for attempt in range(100):
        peer.send(read(f"lm_wrong-{number}-{attempt}"))
        status, headers, body = await peer.answer()
        assert (status, json.loads(body)["code"]) == (401, "unauthenticated")
        assert not any(name.startswith("x-ratelimit") for name in headers)
        closed = headers.get("connection") == "close"
        if closed:
            break
    await peer.leave()
    return closed


# --- answers that nobody reads -------------------------------------------------------------------


async def unread_streams(site: Site, count: int) -> None:
    """Sets of every market asked for over and over, and no frame ever read: cut."""
    markets = await _market_ids(site)
    targets = [{"target": "event-market", "data": {"eventMarketId": each}} for each in markets]
    whole = frame(TEXT, json.dumps({"type": "subscribe", "data": {"targets": targets}}).encode())
    peers = await _streams(site, count, SMALL_BUFFER_BYTES)
    for peer in peers:
        peer.writer.transport.pause_reading()
        peer.send(whole * 500)
    await _until_cut(site, peers)


async def _until_cut(site: Site, peers: list[Peer]) -> None:
    deadline_s = time.monotonic() + CUT_WITHIN_S
    ours = {peer.port for peer in peers}
    while left := ours & site.peers():
        assert time.monotonic() < deadline_s, f"{len(left)} of {len(ours)} are still there"
        await asyncio.sleep(0.5)
    await _leave(peers)


async def _market_ids(site: Site) -> list[str]:
    peer = await Peer.of(site.port)
    peer.send(read(site.keys["guest"], "/v1/markets?limit=200"))
    _, _, body = await peer.answer()
    await peer.leave()
    return [row["market_id"] for row in json.loads(body)["markets"]]


async def _streams(site: Site, count: int, receive_bytes: int | None = None) -> list[Peer]:
    peers = await _peers(site, count, receive_bytes)
    for peer in peers:
        peer.send(handshake())
    for peer in peers:
        head = await peer.reader.readuntil(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 101 "), head
    return peers


# --- too many frames -----------------------------------------------------------------------------


async def subscribe_floods(site: Site, count: int) -> None:
    """10,000 sets in one breath, with every answer read: taken at a pace."""
    await _flood(site, count, frame(TEXT, EMPTY_SET) * 10_000)


async def _flood(site: Site, count: int, data: bytes) -> None:
    peers = await _streams(site, count)
    for peer in peers:
        peer.send(data)
    heard = await asyncio.gather(*(_heard(peer, 6) for peer in peers))
    assert all(0 < frames < 5_000 for frames in heard), heard


async def _heard(peer: Peer, seconds: float) -> int:
    """Frames that came within so many seconds; the server may hang up earlier."""
    said = b""
    try:
        async with asyncio.timeout(seconds):
            while data := await peer.reader.read(65_536):
                said += data
    except (TimeoutError, ConnectionError):
        pass
    await peer.leave()
    return len(parsed(said))


async def hostile_messages(site: Site, count: int) -> None:
    """Messages too large, too deep, or not text: closed with the code that says so."""
    breaches = [
        (frame(TEXT, b"x" * 2**20), 1009),
        (frame(TEXT, b"\xff"), 1007),
        (frame(TEXT, b"[" * 100_000) * 3, 1008),
        (frame(TEXT, b"9" * 5_000) * 3, 1008),
        (frame(TEXT, b'{"type":"subscribe","type":"subscribe"}') * 3, 1008),
        (frame(PING, b"x", reserved=7), 1002),
    ]
    rows = breaches * count
    peers = await _streams(site, len(rows))
    for peer, (raw, _) in zip(peers, rows, strict=True):
        peer.send(raw)
    said = await asyncio.gather(*(peer.rest(CUT_WITHIN_S) for peer in peers))
    for answer, (raw, code) in zip(said, rows, strict=True):
        assert close_code(answer) == code, raw[:40]


ATTACKS: dict[Attack, int] = {
    trickled_bodies: 20,
    huge_bodies: 4,
    hostile_bodies: 2,
    bad_credentials: 40,
    unread_streams: 100,
    subscribe_floods: 4,
    hostile_messages: 2,
}
"""Every attack and how many of its kind come at once; fewer than a thousand connections in all."""
