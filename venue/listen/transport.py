"""A transport whose end is certain: a close that a peer can neither miss nor hold up.

Closing a socket that has unread bytes in it resets the connection, and the peer may lose the answer
that was sent just before. So with `unread` set, close() ends only our direction and drops what
still comes for a while. And no close waits for ever for a peer that does not read.
"""

import asyncio
from collections.abc import Iterable
from typing import Any

from venue.listen import limits


class PoliteTransport(asyncio.Transport):
    """Delegates to a transport of the event loop. Whoever owns it calls `lost` at the end."""

    def __init__(self, inner: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__()
        self.unread = False
        """Whether the peer may still be sending what nobody will read."""
        self._inner = inner
        self._loop = loop
        self._closing = False
        self._dropped = 0
        self._end: asyncio.TimerHandle | None = None
        self._held: list[bytes | bytearray | memoryview] | None = None

    def hold(self) -> None:
        """Keep what is written until `release`, so that it goes out in one piece."""
        if self._held is None:
            self._held = []

    def release(self) -> None:
        """Send what is held, unless the end has begun, as `write` does."""
        held, self._held = self._held, None
        if held and not self.is_closing():
            self._inner.write(b"".join(held))

    def close(self) -> None:
        """Send what is buffered, then close; see the module for `unread`. Later calls do nothing.

        The peer has 10 seconds to take what is buffered.
        """
        if self._closing or self._inner.is_closing():
            return
        self.release()
        self._closing = True
        if self.unread and self._inner.can_write_eof():
            self._inner.write_eof()
            self._inner.resume_reading()
            self._end = self._loop.call_later(limits.LINGER_S, self._stop_lingering)
        else:
            self._close_inner()

    def _stop_lingering(self) -> None:
        if self._inner.get_write_buffer_size() == 0:
            self._inner.abort()
        else:
            self._close_inner()

    def _close_inner(self) -> None:
        self._inner.close()
        self._end = self._loop.call_later(limits.WRITE_DEADLINE_S, self._inner.abort)

    def drop(self, size: int) -> None:
        """Count bytes that came in while closing; beyond the cap the rest stays in the peer."""
        self._dropped += size
        if self._dropped > limits.LINGER_BYTES_MAX and not self._inner.is_closing():
            self._inner.pause_reading()

    def lost(self) -> None:
        """The connection is over: let go of the timer."""
        self._closing = True
        if self._end is not None:
            self._end.cancel()

    def abort(self) -> None:
        """Cut the connection without a closing word."""
        self._closing = True
        self._inner.abort()

    def is_closing(self) -> bool:
        """Whether close or abort was called, or the connection is lost."""
        return self._closing or self._inner.is_closing()

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """Send, unless the end has begun: then nobody waits for it any more."""
        if self._held is not None:
            self._held.append(data)
        elif not self._closing:
            self._inner.write(data)

    def writelines(self, list_of_data: Iterable[bytes | bytearray | memoryview]) -> None:
        """Send several pieces; see `write`."""
        self.write(b"".join(list_of_data))

    # --- as the inner one ----------------------------------------------------------------------

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        """See asyncio.BaseTransport."""
        return self._inner.get_extra_info(name, default)

    def get_write_buffer_size(self) -> int:
        """Bytes that the peer has not taken yet."""
        return self._inner.get_write_buffer_size()

    def get_protocol(self) -> asyncio.BaseProtocol:
        """See asyncio.BaseTransport."""
        return self._inner.get_protocol()

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        """See asyncio.BaseTransport."""
        self._inner.set_protocol(protocol)

    def pause_reading(self) -> None:
        """Take no more bytes for now; does nothing at the end."""
        if not self.is_closing():
            self._inner.pause_reading()

    def resume_reading(self) -> None:
        """Take bytes again; does nothing at the end."""
        if not self.is_closing():
            self._inner.resume_reading()
