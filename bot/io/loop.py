"""The event loop of every command: uvloop's, with name lookups in daemon threads.

A name server that does not answer holds a lookup for half a minute, and no loop closes before all
of uvloop's own are over.
"""

import asyncio
import ipaddress
import socket
import threading
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, TypeVar, TypeVarTuple

import anyio
import uvloop

_T = TypeVar("_T")
_Arguments = TypeVarTuple("_Arguments")
_Rows = list[tuple[Any, Any, int, str, Any]]


def run(main: Callable[[*_Arguments], Awaitable[_T]], *arguments: *_Arguments) -> _T:
    return anyio.run(main, *arguments, backend_options={"loop_factory": Loop})


class Loop(uvloop.Loop):
    """Both the REST client and the channel resolve names by `getaddrinfo`."""

    def __init__(self) -> None:
        super().__init__()
        self._lookups: dict[tuple[Any, ...], asyncio.Future[_Rows]] = {}

    async def getaddrinfo(
        self,
        host: Any,
        port: Any,
        *,
        family: int = 0,
        type: int = 0,
        proto: int = 0,
        flags: int = 0,
    ) -> _Rows:
        """A caller that gives up ends nobody else's lookup of the same name."""
        name = host.decode("ascii") if isinstance(host, bytes) else host
        asked = (name, port, family, type, proto, flags)
        found = self._lookups.get(asked)
        if found is None:
            found = self.create_future()
            thread = threading.Thread(
                target=self._look_up, args=(asked, found), name="lookup", daemon=True
            )
            try:
                thread.start()
            except RuntimeError as fault:  # of too many threads
                raise OSError(str(fault)) from None
            self._lookups[asked] = found
        return await asyncio.shield(found)

    def _look_up(self, asked: tuple[Any, ...], found: asyncio.Future[_Rows]) -> None:
        rows: _Rows = []
        fault: Exception | None = None
        try:
            rows = socket.getaddrinfo(*asked)
        except UnicodeError:  # a part of it is longer than any
            fault = OSError(f"{asked[0]!r}: no name of a host")
        except Exception as raised:  # noqa: BLE001 - the thread's boundary: raised where it is awaited
            fault = raised
        with suppress(RuntimeError):  # the loop has been closed
            self.call_soon_threadsafe(self._looked_up, asked, found, rows, fault)

    def _looked_up(
        self,
        asked: tuple[Any, ...],
        found: asyncio.Future[_Rows],
        rows: _Rows,
        fault: Exception | None,
    ) -> None:
        del self._lookups[asked]
        if fault is None:
            found.set_result(rows)
        else:
            found.set_exception(fault)
            found.exception()  # all who waited may have given up

    async def create_connection(
        self, protocol_factory: Callable[[], Any], host: Any = None, port: Any = None, **more: Any
    ) -> Any:
        """Tries a name's addresses one after the other. Raises OSError."""
        if host is None or _is_address(host):
            return await super().create_connection(protocol_factory, host, port, **more)
        if more.get("ssl"):
            more.setdefault("server_hostname", host)
        refused: OSError | None = None
        for *_, place in await self.getaddrinfo(host, port, type=socket.SOCK_STREAM):
            try:
                return await super().create_connection(protocol_factory, *place[:2], **more)
            except OSError as fault:
                refused = refused or fault
        raise refused or OSError(f"{host}: no address")


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True
