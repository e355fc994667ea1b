"""What a runner needs of a venue: who carries requests, and a channel. A live run has both from the
venue itself; a paper run's are made elsewhere (`bot.lab.paper`)."""

from collections.abc import Awaitable, Callable
from typing import Protocol

import msgspec

from bot.core import messages as m

Emit = Callable[[m.Event], None]


class RequestCarrier(Protocol):
    """Carries requests of one trader, each to exactly one answer."""

    def start(
        self,
        send: m.Send,
        answered: Callable[[m.Response], None],
        may_leave: Callable[[], Awaitable[bool]] | None = None,
    ) -> None:
        """Begin a request; see `bot.io.client.rest.Rest.start`."""
        ...

    async def drain(self, reads_s: float | None = None) -> int:
        """Wait for what is under way and close; see `bot.io.client.rest.Rest.drain`."""
        ...


class MarketChannel(Protocol):
    """The subscription channel of one trader."""

    def subscribe(self, wish: m.SubscribeTo) -> None:
        """Make the set exactly this."""
        ...

    async def run(self) -> None:
        """Listen until cancelled."""
        ...


class Connection(msgspec.Struct, frozen=True):
    """A way to a venue. channel_of: makes its channel, told where events go."""

    requests: RequestCarrier
    channel_of: Callable[[Emit], MarketChannel]


class Paper(msgspec.Struct, frozen=True):
    """A run whose orders stay here. place: where they are, for the state directory to know.
    connect: opens the local exchange on a venue that can be read; raises ShellFault."""

    place: str
    connect: Callable[[], Awaitable[Connection]]
