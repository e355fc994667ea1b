"""The sockets under the REST client: one deadline a request, a last check, early answers.

The client's timeouts cover single reads and writes, so a head that drips in could hold a request
for ever.
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
"""The timeout of this task's request, an instant of the loop's clock; None is never."""

LAST_LOOK: Final[ContextVar["PreSendCheck | None"]] = ContextVar("last_look", default=None)
"""The check of this task's request before its first byte; None is none."""


class PreSendCheck:
    """May a request still be sent? holds: why not, empty if it may."""

    __slots__ = ("_holds", "_left")

    def __init__(self, holds: Callable[[], str]) -> None:
        self._holds = holds
        self._left = False

    def leaves(self) -> None:
        """Bytes are about to be sent. Raises httpcore.ConnectError before the first of them when
        none may be."""
        if not self._left and (why := self._holds()):
            raise httpcore.ConnectError(why)
        self._left = True


def transport(limits: httpx.Limits) -> httpx.AsyncHTTPTransport:
    """HTTP/1.1 on sockets that keep to `UNTIL_S`."""
    made = httpx.AsyncHTTPTransport(verify=trusted(), trust_env=False, limits=limits)
    # httpx offers no way to name the network; that it is still there to be named, tests show.
    made._pool._network_backend = _DeadlineNetwork(made._pool._network_backend)
    return made


def client_beside() -> httpx.AsyncClient:
    """For requests to others than the venue: no proxy, no redirect, on sockets that keep to
    `whole_within`."""
    return httpx.AsyncClient(
        transport=transport(httpx.Limits(max_connections=8)),
        trust_env=False,
        follow_redirects=False,
    )


@contextmanager
def whole_within(longest_s: float) -> Iterator[None]:
    """A request made in this block is whole in so many seconds, or times out. Cancelling it instead
    could leak its connection."""
    token = UNTIL_S.set(asyncio.get_running_loop().time() + longest_s)
    try:
        yield
    finally:
        UNTIL_S.reset(token)


def trusted() -> ssl.SSLContext:
    """The TLS context: the client's own list of certificates, none that the environment names, and
    no log of session keys."""
    os.environ.pop(_SECRETS_FILE, None)
    return httpx.create_ssl_context(trust_env=False)


_SECRETS_FILE: Final = "SSLKEYLOGFILE"
"""A variable by which Python's contexts log session keys."""


def is_early(response: httpx.Response) -> bool:
    """True if the head of an answer was read before its request was sent."""
    wire = response.extensions.get("network_stream")
    return isinstance(wire, _DeadlineStream) and not wire.heard


def _left_s(timeout_s: float | None, late: type[httpcore.TimeoutException]) -> float | None:
    """Time left until the timeout; raises `late` when there is none."""
    until_s = UNTIL_S.get()
    if until_s is None:
        return timeout_s
    left_s = until_s - asyncio.get_running_loop().time()
    if left_s <= 0:
        raise late("the request as a whole took too long")
    return left_s if timeout_s is None else min(timeout_s, left_s)


class _DeadlineNetwork(httpcore.AsyncNetworkBackend):
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
        return _DeadlineStream(
            await self._under.connect_tcp(host, port, left_s, local_address, socket_options)
        )


class _DeadlineStream(httpcore.AsyncNetworkStream):
    """One socket. heard: something was read since the last write."""

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
        return _DeadlineStream(await self._under.start_tls(ssl_context, server_hostname, left_s))

    def get_extra_info(self, info: str) -> Any:
        return self._under.get_extra_info(info)
