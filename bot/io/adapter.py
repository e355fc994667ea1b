"""The one seam by which the bot reaches a venue. An adapter makes a client and a channel.

Requests come to a client as values (`bot.core.messages.Request`). The client encodes and signs
them, and turns what comes back into `Ok` with a body of `venue.wire.model`, `Rejected` with a code
of `venue.wire.errors`, whose row there says what may be done next, or `Unknown`.
See docs/another-venue.md.
"""

import asyncio
import importlib.metadata
from collections.abc import Awaitable, Callable
from typing import Final, Protocol

import msgspec

from bot.core import messages as m
from bot.io.faults import OperatorError, plugin_fault_text
from bot.io.secret import Secret

ENTRY_POINTS: Final = "laddermaker.venues"
"""The entry point group in which an installed package names its adapters."""

BUILT_IN: Final = "laddermaker"
"""The adapter of the interface that `venue serve` offers."""

_BUILT_IN: Final = importlib.metadata.EntryPoint(
    BUILT_IN, "bot.io.client.native:NativeAdapter", ENTRY_POINTS
)

REQUEST_S_MAX: Final = 10.0
"""Timeout of a whole request. With the runner's drain it fits into the grace period of a
container."""

DRAIN_SLACK_S: Final = 0.5
"""The drain's timeout beyond that of one request."""

DRAIN_READS_S: Final = 0.5
"""Timeout for reads in flight at the end of a run."""


NOT_JOURNALED: Final = m.Rejected(0, "", "not in the journal in time, so not sent")
"""The answer to a request that `may_leave` kept back."""


class AdapterFault(OperatorError):
    """There is no such adapter, it cannot be made, or its venue lacks what trading needs."""


class VenueAddress(msgspec.Struct, frozen=True):
    """Where a venue is, and what opens it. stream_url: empty where the configuration of another
    adapter names none. key: for writes, and for reads unless `others` has one."""

    base_url: str
    stream_url: str
    key: Secret
    others: dict[m.Key, Secret] = {}

    @property
    def secrets(self) -> tuple[Secret, ...]:
        return (self.key, *self.others.values())


Answered = Callable[[m.Response], None]
MayLeave = Callable[[], Awaitable[bool]]
Emit = Callable[[m.Event], None]


class OrderClient(Protocol):
    """Carries requests to a venue, each to exactly one answer. Lives on one event loop."""

    def start(self, send: m.Send, answered: Answered, may_leave: MayLeave | None = None) -> None:
        """Begin a request; `answered` is called exactly once, later, and on the loop.

        may_leave: awaited before the first byte; when it returns False, nothing is sent and the
        answer is `NOT_JOURNALED`. A request that was begun is never cancelled.
        """

    async def drain(self, reads_s: float | None = None) -> int:
        """Wait for every request in flight, then close the connections.

        reads_s: timeout of reads once no write is in flight; None is that of writes.
        Returns how many have no answer even so; they will not be sent any more.
        """


class MarketChannel(Protocol):
    """Emits the state of its connection (`FeedOpened`, `FeedClosed`, and `FeedAlive` every few
    seconds), and for each subscribed market the whole book, then every change of it and every
    trade, in order."""

    def subscribe(self, wish: m.SubscribeTo) -> None:
        """Make the set exactly this. After a `FeedOpened` the trader subscribes again."""

    async def run(self) -> None:
        """Connect, listen and reconnect until cancelled."""


class Connection(msgspec.Struct, frozen=True):
    """An open way to a venue. channel_of: makes its channel, given where events go."""

    requests: OrderClient
    channel_of: Callable[[Emit], MarketChannel]
    capabilities: m.VenueCapabilities = m.VenueCapabilities()


class VenueAdapter(Protocol):
    """One venue. It is made without arguments; a client is made inside the event loop."""

    @property
    def capabilities(self) -> m.VenueCapabilities: ...

    def order_client(
        self,
        address: VenueAddress,
        requests_in_flight: int,
        *,
        request_s: float = REQUEST_S_MAX,
        sane_only: bool = True,
    ) -> OrderClient:
        """requests_in_flight: most writes at once. request_s: timeout of a whole request.
        sane_only: an answer with an absurd number is `Unknown`; False for a caller that only
        cancels what a list names."""

    def channel(self, address: VenueAddress, emit: Emit) -> MarketChannel:
        """emit: called on the event loop with every event, in order of arrival."""


def adapter_names() -> list[str]:
    """The built-in adapter, then those of installed packages."""
    return [BUILT_IN, *sorted(_installed().keys() - {BUILT_IN})]


def adapter_named(name: str) -> VenueAdapter:
    """Raises AdapterFault where there is none, or importing or making it fails."""
    point = _BUILT_IN if name == BUILT_IN else _installed().get(name)
    if point is None:
        known = ", ".join(adapter_names())
        raise AdapterFault(f"venue.adapter: no adapter {name[:60]!r}; accepted: {known}")
    try:
        made: VenueAdapter = point.load()()
        return made
    except BaseException as fault:  # noqa: BLE001 - a plugin may raise anything
        said = plugin_fault_text(fault)
    source = "" if point.dist is None else f" of the package {point.dist.name}"
    raise AdapterFault(f"venue.adapter: {name}{source} ({point.value}) cannot be made: {said}")


def _installed() -> dict[str, importlib.metadata.EntryPoint]:
    """Entry points by name; of two with one name the first."""
    found: dict[str, importlib.metadata.EntryPoint] = {}
    for point in importlib.metadata.entry_points(group=ENTRY_POINTS):
        found.setdefault(point.name, point)
    return found


def connect(adapter: VenueAdapter, address: VenueAddress, requests_in_flight: int) -> Connection:
    """Call inside the event loop; drain `requests` at the end."""
    client = adapter.order_client(address, requests_in_flight)
    return Connection(client, lambda emit: adapter.channel(address, emit), adapter.capabilities)


async def ask(client: OrderClient, request: m.Request, key: m.Key = m.Key.TRADE) -> m.Response:
    """Perform one request. It goes on if the caller is cancelled."""
    asked: asyncio.Future[m.Response] = asyncio.get_running_loop().create_future()

    def answered(response: m.Response) -> None:
        if not asked.done():
            asked.set_result(response)

    client.start(m.Send(m.RequestId(0), request, "asked for", key), answered)
    return await asked


def read_key(address: VenueAddress) -> m.Key:
    """The key on which reads go."""
    return m.Key.READ if m.Key.READ in address.others else m.Key.TRADE


def what_is_missing(capabilities: m.VenueCapabilities, *, paper: bool = False) -> str:
    """Why a venue cannot be traded, and what to do; empty where it can be. paper: no order of the
    run reaches it."""
    if not (capabilities.idempotent_ids or paper):
        return (
            "the venue does not take a repeated client order id for the same order, so a create "
            "without an answer could rest twice; trade on paper: bot run --paper"
        )
    if not capabilities.whole_cents:
        return (
            "the venue's prices are no whole cents, and the bot counts money in them; "
            "only a gateway that rounds them can be traded through"
        )
    return ""
