"""A network rougher than that of `proxy.py`: responses never arrive, sockets stay half open.

A request may be carried out and its answer held for ever with the connection open; the channel may
fall silent without a word, in one direction or both.
"""

import asyncio
import contextlib

from tests.builders.e2e.proxy import Cut, Proxy

HELD_S = 8.0
"""Longer than any client of ours waits."""

SILENT_AFTER_S = (2.0, 4.0)


class RoughProxy(Proxy):
    """Drops, delays and half-opens. `channels_silenced` of the first channels fall silent."""

    def __init__(self, target_port: int, seed: int, channels_silenced: int = 1) -> None:
        super().__init__(target_port, seed)
        self._to_silence = channels_silenced
        self._faults = [
            (0.02, self._cut_before),
            (0.02, self._cut_after),
            (0.01, self._held_after),
            (0.01, self._held_before),
            (0.08, self._late),
        ]

    def heal(self) -> None:
        """Lose and hold nothing from here on; what is held is let go in its time."""
        self._faults = []

    async def _held_after(self, request, writer, up_reader, up_writer) -> None:
        await self._forward(request, up_reader, up_writer)
        await asyncio.sleep(HELD_S)
        raise Cut

    async def _held_before(self, *_: object) -> None:
        await asyncio.sleep(HELD_S)
        raise Cut

    async def _pipe(self, reader, writer, up_reader, up_writer) -> None:
        self.seen["channels"] += 1
        silences = self._to_silence > 0
        self._to_silence -= 1
        deaf = asyncio.Event()

        async def one_way(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
            while data := await source.read(65_536):
                if not deaf.is_set():
                    sink.write(data)
                    await sink.drain()

        async def fall_silent() -> None:
            await asyncio.sleep(self._random.uniform(*SILENT_AFTER_S))
            self.seen["silenced"] += 1
            deaf.set()

        silencer = asyncio.ensure_future(fall_silent()) if silences else None
        with contextlib.suppress(OSError):
            await asyncio.gather(one_way(reader, up_writer), one_way(up_reader, writer))
        if silencer is not None:
            silencer.cancel()
