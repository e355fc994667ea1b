"""What anybody may read at a venue, and its channel: for a program that must never write there.

No method takes a write, and the key needs no more than the scope read. What is asked here spends
the tokens of that key.
"""

from collections.abc import Callable
from typing import Final, get_args

from bot.core import messages as m
from bot.io.client.feed import Feed
from bot.io.client.rest import Reply, Rest
from bot.io.secret import Secret

PublicRead = m.ReadSeries | m.ReadBook
"""The reads that show no account."""

PUBLIC_READS: Final[tuple[type[PublicRead], ...]] = get_args(PublicRead)


class PublicVenue:
    """The series, the books and the channel of a venue. Needs a running asyncio loop; end it with
    `drain`."""

    def __init__(self, base_url: str, stream_url: str, key: Secret) -> None:
        self._rest = Rest(base_url, key, 1)
        self._stream_url = stream_url

    async def read(self, request: PublicRead) -> Reply:
        """Read, and wait for the answer. Raises nothing: a fault is an answer."""
        assert isinstance(request, PUBLIC_READS), "a paper run asks for nothing else"
        return await self._rest.ask(request)

    def channel(self, emit: Callable[[m.Event], None]) -> Feed:
        """The channel; `emit` is called with each event of it."""
        return Feed(self._stream_url, emit)

    async def drain(self) -> None:
        """Wait for the reads under way, then close the connections."""
        await self._rest.drain()
