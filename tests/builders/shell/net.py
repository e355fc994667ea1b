"""Connections in memory: bytes with a delay, in order, and everything that may befall them.

A `Network` knows who listens where. Each connection is two transports and a `Wire` between them,
which a test may cut at a byte, let fall silent, or let drip. The client's side has a real socket
beside it that is readable exactly when the peer has hung up: connection pools look at that.
"""

import asyncio
import random
import socket
from collections.abc import Callable
from typing import Any

from websockets.asyncio.client import ClientConnection

from tests.builders.shell.loop import VirtualLoop

Listener = Callable[[], asyncio.Protocol]


class Wire:
    """The state of one connection. Bytes count from its beginning, both directions by themselves.

    cut_up_at, cut_down_at: reset once so many bytes have gone to, or come from, the listener.
    silent: nothing arrives any more and nobody is told. drip_s, drip_bytes: what comes down arrives
    in pieces of so many bytes, so many seconds apart. torn: whether a cut has happened.
    is_channel: whether it was opened for the subscription channel.
    """

    def __init__(self, delay_s: Callable[[], float], leaving: Callable[[bytes], None]) -> None:
        self.delay_s = delay_s
        self.leaving = leaving
        self.cut_up_at: int | None = None
        self.cut_down_at: int | None = None
        self.silent = False
        self.drip_s = 0.0
        self.drip_bytes = 1
        self.torn = False
        self.is_channel = False
        self.up: End
        self.down: End

    def tear(self) -> None:
        if not self.torn:
            self.torn = True
            for end in (self.up, self.down):
                end.lost(ConnectionResetError(104, "Connection reset by peer"))


class End(asyncio.Transport):
    """One end of a connection. What is written here arrives at `peer`."""

    def __init__(
        self, loop: VirtualLoop, protocol: asyncio.Protocol, wire: Wire, extra: dict[str, Any]
    ) -> None:
        super().__init__(extra)
        self._loop = loop
        self._protocol = protocol
        self._wire = wire
        self.peer: End
        self.marker: socket.socket | None = None
        self.sent = 0
        self._paused = False
        self._waiting: list[bytes | None] = []
        self._closing = False
        self._gone = False
        self._ended = False
        self._arrives_s = 0.0
        self._under_way: list[bytes | None] = []

    # --- writing ----------------------------------------------------------------------------------

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """Send; lost when the connection is."""
        if self._closing or not data:
            return
        data = bytes(data)
        wire, up = self._wire, self is self._wire.up
        if up:
            wire.leaving(data)
        cut_at = wire.cut_up_at if up else wire.cut_down_at
        whole = cut_at is None or self.sent + len(data) <= cut_at
        data = data if whole else data[: cut_at - self.sent]
        self.sent += len(data)
        if wire.drip_s and not up:
            for at in range(0, len(data), wire.drip_bytes):
                self._send(data[at : at + wire.drip_bytes], wire.drip_s)
        elif data:
            self._send(data)
        if not whole:
            self._loop.call_at(max(self._arrives_s, self._loop.time()), wire.tear)

    def _send(self, data: bytes | None, extra_s: float = 0.0) -> None:
        at_s = max(self._arrives_s, self._loop.time() + self._wire.delay_s()) + extra_s
        self._arrives_s = at_s
        # Timers of one instant come in any order; bytes do not.
        self._under_way.append(data)
        self._loop.call_at(at_s, self._deliver)

    def _deliver(self) -> None:
        self.peer.arrive(self._under_way.pop(0))

    def writelines(self, list_of_data: Any) -> None:
        self.write(b"".join(list_of_data))

    def can_write_eof(self) -> bool:
        return True

    def write_eof(self) -> None:
        if not self._ended:
            self._ended = True
            self._send(None)

    def close(self) -> None:
        """End in good order: what was written arrives."""
        if not self._closing:
            self.write_eof()
            self._closing = True
            self._loop.call_soon(self.lost, None)

    def abort(self) -> None:
        """End at once; the peer sees a hang-up."""
        self.close()

    def is_closing(self) -> bool:
        return self._closing

    # --- arriving ---------------------------------------------------------------------------------

    def arrive(self, data: bytes | None) -> None:
        """Bytes of the peer are here; None is its end."""
        if self._gone or self._wire.torn or self._wire.silent:
            return
        if data is None and self.marker is not None:
            self.marker.close()
        self._waiting.append(data)
        self._hand_on()

    def _hand_on(self) -> None:
        while self._waiting and not self._paused and not self._gone:
            data = self._waiting.pop(0)
            if data is not None:
                if not self._closing:
                    self._protocol.data_received(data)
            elif not self._protocol.eof_received():
                self.close()

    def pause_reading(self) -> None:
        self._paused = True

    def resume_reading(self) -> None:
        """Hand on again, at the next turn of the loop."""
        self._paused = False
        if self._waiting:
            self._loop.call_soon(self._hand_on)

    def is_reading(self) -> bool:
        return not self._paused and not self._closing

    def lost(self, fault: Exception | None) -> None:
        if self._gone:
            return
        self._gone = self._closing = True
        if self.marker is not None:
            self.marker.close()
        if fault is None:
            self._protocol.connection_lost(None)
        else:
            self._loop.call_soon(self._protocol.connection_lost, fault)
        own = self._extra.get("socket")
        if own is not None:
            own.close()

    # --- the rest of a transport ------------------------------------------------------------------

    def get_protocol(self) -> asyncio.BaseProtocol:
        return self._protocol

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        assert isinstance(protocol, asyncio.Protocol)
        self._protocol = protocol

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        """Nothing is ever buffered here."""

    def get_write_buffer_size(self) -> int:
        return 0


class Network:
    """Who listens where.

    dressed: called with every new wire. leaving: called with every piece that a client sends,
    before it goes. refusing, refusing_new_channels: nobody, or no channel, is let in for now.
    """

    def __init__(self, loop: VirtualLoop, rng: random.Random, delay_s: tuple[float, float]) -> None:
        self._loop = loop
        self._rng = rng
        self._delay_s = delay_s
        self._listeners: dict[tuple[str, int], Listener] = {}
        self.refusing = self.refusing_new_channels = False
        self.wires: list[Wire] = []
        self.tried: list[tuple[str, int]] = []
        self.dressed: Callable[[Wire], None] = lambda wire: None
        self.leaving: Callable[[bytes], None] = lambda data: None
        loop.network = self

    def listen(self, host: str, port: int, listener: Listener) -> None:
        """Have connections to an address made with these protocols."""
        self._listeners[host, port] = listener

    def _delay(self) -> float:
        return self._rng.uniform(*self._delay_s)

    async def connect(
        self, factory: Callable[[], asyncio.Protocol], host: str | None, port: int | None
    ) -> tuple[asyncio.Transport, asyncio.Protocol]:
        """Open a connection. Raises ConnectionRefusedError."""
        assert host is not None
        assert port is not None
        self.tried.append((host, port))
        await asyncio.sleep(self._delay())
        listener = self._listeners.get((host, port))
        if listener is None or self.refusing:
            raise ConnectionRefusedError(111, "Connection refused")
        client = factory()
        is_channel = isinstance(client, ClientConnection)
        if is_channel and self.refusing_new_channels:
            raise ConnectionRefusedError(111, "Connection refused")
        near, far = socket.socketpair()
        near.setblocking(False)
        wire = Wire(self._delay, lambda data: self.leaving(data))
        wire.is_channel = is_channel
        server = listener()
        names = {"peername": ("127.0.0.1", 40_000 + len(self.wires)), "sockname": (host, port)}
        down = End(self._loop, server, wire, names)
        up = End(self._loop, client, wire, {**names, "peername": (host, port), "socket": near})
        up.peer, down.peer, up.marker = down, up, far
        wire.up, wire.down = up, down
        self.wires.append(wire)
        self.dressed(wire)
        server.connection_made(down)
        client.connection_made(up)
        return up, client
