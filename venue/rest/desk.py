"""What the REST shell asks of the venue, what may go wrong there, and a request as handlers see
it.
"""

from collections.abc import Awaitable, Callable
from typing import Final, Protocol

import msgspec

from venue.engine.messages import Answer, Command
from venue.rest.faults import Faults, Outage
from venue.rest.gate import Access
from venue.views.cursor import Cursors, Listing
from venue.views.projector import Views
from venue.wire.codec import Refusal
from venue.wire.errors import Code
from venue.wire.names import MarketId, UserId
from venue.wire.routes import Route

INTERNAL_ERROR_TEXT: Final = "internal error"
"""All that is ever said of a failure inside."""

Response = tuple[int, bytes]
"""Status and JSON body."""


class EngineUnavailable(Exception):
    """The command could not be submitted; nothing was sequenced."""


class EngineOverloaded(Exception):
    """Too many commands wait; this one was refused before being sequenced."""


class ReplyLost(Exception):
    """The command was submitted and no answer came in time; it may have been carried out."""


class ConnectionCut(Exception):
    """The connection is to be cut without an answer: a fault that the operator asked for."""


class Desk(Protocol):
    """The venue behind the shell."""

    @property
    def views(self) -> Views:
        """What reads see."""
        ...

    @property
    def access(self) -> Access:
        """Who may act."""
        ...

    @property
    def faults(self) -> Faults:
        """What the operator has asked to go wrong."""
        ...

    @property
    def cursor_key(self) -> bytes:
        """16 to 64 secret bytes; as long as they are kept, cursors stay good."""
        ...

    def now_ns(self) -> int:
        """The venue's clock; never goes back."""
        ...

    def find_market(self, name: str, /) -> MarketId | None:
        """The engine's market by ticker or UUID, any case; reads may show it later (None: none)."""
        ...

    async def submit(self, command: Command, /) -> Answer:
        """The engine's answer.

        May raise `EngineUnavailable`, `EngineOverloaded` or `ReplyLost`.
        """
        ...


class Request(msgspec.Struct, frozen=True):
    """A request that has passed the gate.

    now_ns: when it arrived. parameter: the variable path segment, decoded; None when it cannot be
    or there is none. query: the raw query string. body: reads the body, once.
    """

    desk: Desk
    cursors: Cursors
    route: Route
    user_id: UserId
    now_ns: int
    parameter: str | None
    query: bytes
    body: Callable[[], Awaitable[bytes]]

    @property
    def views(self) -> Views:
        """What reads see."""
        return self.desk.views

    def check_accounts(self) -> None:
        """Raises Refusal(internal_error) while the store of accounts is down."""
        if self.desk.faults.is_down(Outage.ACCOUNTS_DOWN):
            raise Refusal(Code.INTERNAL_ERROR, INTERNAL_ERROR_TEXT)

    def paging(self, *filters: object) -> "Paging":
        """The cursors of this list under these filters (plain values, the same in one order)."""
        text = msgspec.json.encode(filters).decode()
        return Paging(self.cursors, Listing(self.user_id, self.route.name, text))


class Paging(msgspec.Struct, frozen=True):
    """Cursors of one list."""

    cursors: Cursors
    listing: Listing

    def place(self, cursor: str | None) -> str | None:
        """Where a page begins; None at the start. Raises Refusal(invalid_cursor)."""
        return None if cursor is None else self.cursors.open(self.listing, cursor)

    def number(self, cursor: str | None) -> int | None:
        """The same for lists whose places are numbers."""
        place = self.place(cursor)
        return None if place is None else int(place)

    def cursor(self, place: str | int | None) -> str:
        """The cursor of the page after `place`; empty when there is none."""
        return "" if place is None else self.cursors.issue(self.listing, str(place))
