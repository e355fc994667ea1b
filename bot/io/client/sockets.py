"""The sockets under the REST client: one deadline for a request, its last look, what came early.

The client's own timeouts count single reads and writes, so a head that drips in by one line a
second, or interim answers without end, would hold a request for ever. Here every wait of a request
gets what is left of its one deadline, and ends as the client's own timeouts do: no cancel scope.
Before its first byte goes each request is asked whether it still may: it may have waited long for a
connection, and the venue have asked for patience meanwhile. Each socket also tells whether an
answer was read after the request had left. One that was not had been waiting in the client's
buffer: it is the answer to something else, sent twice.
"""

import asyncio
import os
import ssl
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final

import httpcore
import httpx

UNTIL_S: Final[ContextVar[float | None]] = ContextVar("until_s", default=None)
"""When the request of this task must be whole, seconds on the loop's clock; None is never."""

LAST_LOOK: Final[ContextVar["PreSendCheck | None"]] = ContextVar("last_look", default=None)
"""What the request of this task looks at before its first byte goes; None is nothing."""


class PreSendCheck:
    """Whether a request may still leave. holds: why not, empty if it may; asked until it leaves."""

    __slots__ = ("_holds", "_left")

    def __init__(self, holds: Callable[[], str]) -> None:
        self._holds = holds
        self._left = False

    def leaves(self) -> None:
        """Some of its bytes are to go now. Raises httpcore.ConnectError before the first of them
        when none may."""
        if not self._left and (why := self._holds()):
            raise httpcore.ConnectError(why)
        self._left = True


def transport(limits: httpx.Limits) -> httpx.AsyncHTTPTransport:
    """What carries the requests of a client: HTTP/1.1 on sockets that keep to `UNTIL_S`."""
    made = httpx.AsyncHTTPTransport(verify=trusted(), trust_env=False, limits=limits)
    # httpx offers no way to name the network; that it is still there to be named, tests show.
    made._pool._network_backend = _Network(made._pool._network_backend)
    return made


def client_beside() -> httpx.AsyncClient:
    """For requests to others than the venue, one at a time: no proxy, no redirect, and on sockets
    that keep to `whole_within`."""
    return httpx.AsyncClient(
        transport=transport(httpx.Limits(max_connections=8)),
        trust_env=False,
        follow_redirects=False,
    )


@contextmanager
def whole_within(longest_s: float) -> Iterator[None]:
    """A request that is made in this block is whole in so many seconds, or ends as by one of the
    client's own timeouts. One that is cancelled instead may keep its connection for good: after
    some hundred of them nothing would be reached any more."""
    token = UNTIL_S.set(asyncio.get_running_loop().time() + longest_s)
    try:
        yield
    finally:
        UNTIL_S.reset(token)


def trusted() -> ssl.SSLContext:
    """Whose certificates are believed: the list that comes with the client, for REST and channel
    alike, and none that the environment names. Nor are the secrets of a connection written
    down where it says so: who has them reads the key off the wire."""
    os.environ.pop(_SECRETS_FILE, None)
    return httpx.create_ssl_context(trust_env=False)


_SECRETS_FILE: Final = "SSLKEYLOGFILE"
"""A variable that Python's own contexts heed, whoever makes them."""


def is_early(response: httpx.Response) -> bool:
    """Whether the head of an answer had been read before its request left."""
    wire = response.extensions.get("network_stream")
    return isinstance(wire, _Wire) and not wire.heard


def _left_s(timeout_s: float | None, late: type[httpcore.TimeoutException]) -> float | None:
    """How long a wait may take; raises `late` when the request has no time left."""
    until_s = UNTIL_S.get()
    if until_s is None:
        return timeout_s
    left_s = until_s - asyncio.get_running_loop().time()
    if left_s <= 0:
        raise late("the request as a whole took too long")
    return left_s if timeout_s is None else min(timeout_s, left_s)


class _Network(httpcore.AsyncNetworkBackend):
    """Opens such sockets."""

    def __init__(self, under: httpcore.AsyncNetworkBackend) -> None:
        self._under = under

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 - httpcore's own signature
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        left_s = _left_s(timeout, httpcore.ConnectTimeout)
        return _Wire(
            await self._under.connect_tcp(host, port, left_s, local_address, socket_options)
        )


class _Wire(httpcore.AsyncNetworkStream):
    """One socket. heard: whether anything was read since something was last written."""

    __slots__ = ("_under", "heard")

    def __init__(self, under: httpcore.AsyncNetworkStream) -> None:
        self._under = under
        self.heard = False

    async def read(
        self,
        max_bytes: int,
        timeout: float | None = None,  # noqa: ASYNC109 - httpcore's own signature
    ) -> bytes:
        data = await self._under.read(max_bytes, _left_s(timeout, httpcore.ReadTimeout))
        self.heard = True
        return data

    async def write(
        self,
        buffer: bytes,
        timeout: float | None = None,  # noqa: ASYNC109 - httpcore's own signature
    ) -> None:
        if (look := LAST_LOOK.get()) is not None:
            look.leaves()
        self.heard = False
        await self._under.write(buffer, _left_s(timeout, httpcore.WriteTimeout))

    async def aclose(self) -> None:
        await self._under.aclose()

    async def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,  # noqa: ASYNC109 - httpcore's own signature
    ) -> httpcore.AsyncNetworkStream:
        left_s = _left_s(timeout, httpcore.ConnectTimeout)
        return _Wire(await self._under.start_tls(ssl_context, server_hostname, left_s))

    def get_extra_info(self, info: str) -> Any:
        return self._under.get_extra_info(info)
