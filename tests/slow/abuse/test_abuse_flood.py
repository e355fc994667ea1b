"""Claims about a flood of bad credentials: counted by address, bounded, no good one's fault."""

import json
from typing import Any

import pytest

from tests.builders.venue.rest_bench import ScriptedDesk
from venue.rest.app import make_app
from venue.rest.flood import ADDRESSES_MAX, FAILURES_BURST, FAILURES_PER_SECOND, AuthThrottle
from venue.wire.instant import NS_PER_SECOND
from venue.wire.routes import KeyScope

BAD = [
    [],
    [(b"x-api-key", b"wrong")],
    [(b"x-api-key", b"")],
    [(b"authorization", b"Bearer wrong")],
    [(b"x-api-key", b"wrong"), (b"authorization", b"Bearer wrong")],
]
Headers = list[tuple[bytes, bytes]]


class Door:
    """The whole application, asked without a socket and from any address."""

    def __init__(self) -> None:
        self.desk = ScriptedDesk()
        self.desk.add_key("good", "anna", (KeyScope.READ,))
        self._app = make_app(self.desk)

    async def ask(self, headers: Headers, address: str = "192.0.2.7") -> tuple[int, Headers, bytes]:
        """Status, headers and body of a balance read."""
        said: list[Any] = []

        async def send(message: Any) -> None:
            said.append(message)

        async def receive() -> Any:
            raise AssertionError("a read has no body")

        scope = {
            "type": "http",
            "method": "GET",
            "scheme": "http",
            "raw_path": b"/v1/portfolio/balance",
            "query_string": b"",
            "headers": headers,
            "client": (address, 4711),
            "extensions": {"laddermaker.abort": {"abort": lambda: None}},
        }
        await self._app(scope, receive, send)
        return said[0]["status"], said[0]["headers"], said[1]["body"]


def closes(headers: Headers) -> bool:
    return (b"connection", b"close") in headers


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.mark.anyio
@pytest.mark.parametrize("bad", BAD, ids=str)
async def test_within_the_cap_nothing_changes_and_beyond_it_only_the_connection_s_end(
    bad: Headers,
) -> None:
    door = Door()
    first = await door.ask(bad)
    answers = [await door.ask(bad) for _ in range(FAILURES_BURST + 20)]
    assert not closes(first[1])
    assert [closes(headers) for _, headers, _ in answers].index(True) == FAILURES_BURST - 1
    for status, headers, body in answers:
        assert (status, body) == (first[0], first[2])
        assert [field for field in headers if field[0] != b"connection"] == first[1]
        assert not any(name.startswith(b"x-ratelimit") for name, _ in headers)


@pytest.mark.anyio
async def test_a_good_credential_is_served_whatever_its_address_does() -> None:
    door = Door()
    for _ in range(FAILURES_BURST + 20):
        await door.ask(BAD[1])
    for _ in range(20):
        status, headers, body = await door.ask([(b"x-api-key", b"good")])
        assert status == 200
        assert "total_cents" in json.loads(body)
        assert not closes(headers)


@pytest.mark.anyio
async def test_another_address_is_not_held_to_account() -> None:
    door = Door()
    for _ in range(FAILURES_BURST + 20):
        await door.ask(BAD[1])
    assert closes((await door.ask(BAD[1]))[1])
    assert not closes((await door.ask(BAD[1], "192.0.2.8"))[1])


def test_the_pace_is_forgiven_with_time() -> None:
    failed = AuthThrottle()
    assert [failed.note("a", 0) for _ in range(FAILURES_BURST)] == [False] * FAILURES_BURST
    assert failed.note("a", 0)
    later = [failed.note("a", NS_PER_SECOND) for _ in range(FAILURES_PER_SECOND + 1)]
    assert later == [False] * FAILURES_PER_SECOND + [True]


def test_the_addresses_remembered_are_bounded_and_the_busy_ones_stay() -> None:
    failed = AuthThrottle()
    for _ in range(FAILURES_BURST):
        failed.note("busy", 0)
    for number in range(3 * ADDRESSES_MAX):
        failed.note(f"passing {number}", 0)
        if number % 100 == 0:
            assert failed.note("busy", 0)
    assert len(failed._buckets) == ADDRESSES_MAX
    assert not failed.note("passing 0", 0)
