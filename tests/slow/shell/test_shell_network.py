"""Claims about the shell on a bad network: a redirected channel, proxies, silence, a standstill."""

import asyncio
import itertools
from unittest import mock

import httpx
import pytest

from bot.core import messages as m
from tests.builders.shell.life import Life, Plan, assert_exact, live
from tests.builders.shell.site import HOST, PORT

OTHER_PORT = 9_999
TIMEOUTS = httpx.Timeout(connect=0.3, read=0.6, write=0.3, pool=0.3)


def plan(**changes) -> Plan:
    return Plan(**{"seed": 5, "faulty_s": 2.0, "calm_s": 3.0, "timeouts": TIMEOUTS, **changes})


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
