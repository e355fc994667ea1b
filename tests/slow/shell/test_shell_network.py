"""Claims about the shell on a bad network: resets at any byte, silence, slow responses, redirects,
proxies.
"""

import asyncio
import itertools
import random
from unittest import mock

import httpx
import pytest

from bot.core import messages as m
from tests.builders.shell.life import Life, Plan, assert_exact, live
from tests.builders.shell.net import Wire
from tests.builders.shell.site import HOST, PORT, Bend

OTHER_PORT = 9_999
TIMEOUTS = httpx.Timeout(connect=0.3, read=0.6, write=0.3, pool=0.3)


def plan(**changes) -> Plan:
    return Plan(**{"seed": 5, "faulty_s": 2.0, "calm_s": 3.0, "timeouts": TIMEOUTS, **changes})


# --- the connection ends at any byte --------------------------------------------------------------


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("direction", ["up", "down"])
def test_a_connection_reset_at_any_byte_duplicates_and_loses_no_order(direction, seed):
    dice = random.Random(f"{direction} {seed}")
    cut = [0]

    def dressed(wire: Wire) -> None:
        cut[0] += 1
        at = int(4_000 ** dice.random())
        if direction == "up":
            wire.cut_up_at = at
        else:
            wire.cut_down_at = at

    async def act(life: Life) -> None:
        life.network.dressed = dressed
        await asyncio.sleep(life.plan.faulty_s)
        life.network.dressed = lambda wire: None
        for wire in life.network.wires:
            wire.cut_up_at = wire.cut_down_at = None

    life = live(plan(seed=seed, act=act))
    assert cut[0] >= 5
    assert_exact(life)


# --- redirects ------------------------------------------------------------------------------------


class Trap(asyncio.Protocol):
    """Somebody else's address; it keeps what it is sent."""

    heard: list[bytes]

    def data_received(self, data: bytes) -> None:
        self.heard.append(data)


def trap(heard: list[bytes]) -> Trap:
    made = Trap()
    made.heard = heard
    return made


@pytest.mark.parametrize(("method", "status"), [("POST", 307), ("DELETE", 302), ("GET", 302)])
def test_a_redirect_to_another_host_is_not_followed(method, status):
    heard: list[bytes] = []

    class Redirects(Bend):
        given = 0

        async def rest(self, was, path, query, body, ask):
            if was == method and 0.5 <= self.site.age_s() < 2.0:
                self.given += 1
                where = f"http://{HOST}:{OTHER_PORT}/v1{path}".encode()
                return status, [(b"location", where)], b""
            return await ask(was, path, query, body)

    async def act(life: Life) -> None:
        life.network.listen(HOST, OTHER_PORT, lambda: trap(heard))
        for at_s in (0.9, 1.3):
            life.loop.call_later(at_s, life.shift, 2)

    bend = Redirects()
    life = live(plan(bend=bend, act=act, calm_s=8.0))
    assert heard == []
    assert (HOST, OTHER_PORT) not in life.network.tried
    assert_exact(life)
    assert bend.given > 0


def test_a_redirect_of_the_channel_is_not_followed():
    heard: list[bytes] = []

    class Elsewhere(asyncio.Protocol):
        def connection_made(self, transport) -> None:
            self.transport = transport

        def data_received(self, data: bytes) -> None:
            where = f"ws://{HOST}:{OTHER_PORT}/v1/stream".encode()
            self.transport.write(
                b"HTTP/1.1 307 Temporary Redirect\r\nLocation: " + where
                + b"\r\nContent-Length: 0\r\n\r\n"
            )  # fmt: skip

    async def act(life: Life) -> None:
        life.network.listen(HOST, OTHER_PORT, lambda: trap(heard))
        life.network.listen(HOST, 7_777, Elsewhere)

    life = live(plan(act=act, stream_url=f"ws://{HOST}:7777/v1/stream"))
    assert heard == []
    assert (HOST, 7_777) in life.network.tried
    assert (HOST, OTHER_PORT) not in life.network.tried
    assert life.sent(m.Create) == []


# --- what the environment says --------------------------------------------------------------------

PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy")


def test_proxies_of_the_environment_are_never_used():
    heard: list[bytes] = []

    async def act(life: Life) -> None:
        life.network.listen(HOST, OTHER_PORT, lambda: trap(heard))

    trapped = dict.fromkeys(PROXIES, f"http://{HOST}:{OTHER_PORT}")
    more = {"SSL_CERT_FILE": "/nowhere", "NETRC": "/nowhere", "no_proxy": ""}
    with mock.patch.dict("os.environ", {**trapped, **more}):
        life = live(plan(act=act))
    assert heard == []
    assert set(life.network.tried) == {(HOST, PORT)}
    assert_exact(life)


# --- a socket that falls silent -------------------------------------------------------------------


@pytest.mark.parametrize("at_s", [0.31, 1.13, 2.6])
def test_quotes_are_pulled_when_the_channel_falls_silent(at_s):
    """Pings leave every 2.5 s with a timeout of 5 s: the feed is stale after 5 s at the latest."""
    stale_s = 5.0 + 0.5

    async def act(life: Life) -> None:
        def black_hole() -> None:
            life.network.refusing_new_channels = True
            for wire in life.network.wires:
                if wire.is_channel:
                    wire.silent = True

        life.loop.call_later(at_s, black_hole)

    life = live(plan(act=act, crowd_per_s=0.001, faulty_s=at_s, calm_s=9.0))
    began_ns = life.entries[0].at_ns
    silent_ns = began_ns + int(at_s * 1e9)
    creates = [
        entry.at_ns
        for entry in life.entries
        if isinstance(entry.message, m.Send) and isinstance(entry.message.request, m.Create)
    ]
    assert max(creates) <= silent_ns + int(stale_s * 1e9)
    assert life.resting_at_stop == []
    assert life.truth.resting() == []


# --- the loop stands still ------------------------------------------------------------------------


@pytest.mark.parametrize("for_s", [0.3, 1.0, 7.0, 60.0])
def test_no_create_or_amend_leaves_between_a_standstill_and_the_next_book(for_s):
    async def act(life: Life) -> None:
        await asyncio.sleep(1.5)
        life.loop.stall(for_s)

    life = live(plan(act=act, calm_s=8.0 + for_s))
    times = [entry.at_ns for entry in life.entries]
    gaps = [late - early for early, late in itertools.pairwise(times)]
    woke = gaps.index(max(gaps)) + 1
    assert max(gaps) >= for_s * 0.8 * 1e9
    messages = (entry.message for entry in life.entries[woke:])
    before = itertools.takewhile(lambda message: not isinstance(message, m.BookUpdate), messages)
    requests = [message.request for message in before if isinstance(message, m.Send)]
    assert not any(isinstance(each, m.Create | m.AmendResting) for each in requests)
    assert_exact(life)


# --- trickled bodies ------------------------------------------------------------------------------


@pytest.mark.parametrize(("drip_s", "known"), [(0.002, True), (0.4, False)])
def test_a_slow_response_is_awaited_for_a_while_and_then_unknown(drip_s, known):
    def dressed(wire: Wire) -> None:
        wire.drip_s, wire.drip_bytes = drip_s, 16

    async def act(life: Life) -> None:
        await asyncio.sleep(0.6)
        life.network.dressed = dressed
        for wire in life.network.wires:
            if not wire.is_channel:
                wire.tear()
        await asyncio.sleep(12.0)
        life.network.dressed = lambda wire: None
        for wire in life.network.wires:
            wire.drip_s = 0.0

    life = live(plan(act=act, faulty_s=1.0, calm_s=24.0, timeouts=httpx.Timeout(2.0)))
    unknown = [
        entry.message.answer
        for entry in life.entries
        if isinstance(entry.message, m.Response) and isinstance(entry.message.answer, m.Unknown)
    ]
    endless = [answer for answer in unknown if "endless" in answer.reason]
    assert bool(endless) is not known
    assert_exact(life)
