"""The REST shell's view of the venue: its calls, their failures, and a request for handlers."""

from collections.abc import Awaitable, Callable
from typing import Final, Protocol

import msgspec

from venue.engine.messages import AccessCommand, Answer, Command, KnownKey, KnownToken
from venue.rest.faults import FaultKind, Faults
from venue.views.cursor import Cursors, Listing
from venue.views.projector import Views
from venue.wire.codec import Refusal
from venue.wire.errors import Code
from venue.wire.names import MarketId, UserId
from venue.wire.routes import Route

INTERNAL_ERROR_TEXT: Final = "internal error"
"""All that a caller ever learns of a failure of ours."""

Response = tuple[int, bytes]
"""Status and JSON body."""


class EngineUnavailable(Exception):
    """The command could not be submitted; nothing was sequenced."""


class EngineOverloaded(Exception):
    """Too many commands wait; this one was refused before being sequenced."""


class ReplyLost(Exception):
    """Timeout: the command was submitted and may have been applied."""


class ConnectionCut(Exception):
    """Cut the connection without an answer: the operator asked for this fault."""


class CredentialStore(Protocol):
    """Keys and tokens, by the SHA-256 of the credential in 64 lower-case hex digits."""

    def key(self, sha256_hex: str, /) -> KnownKey | None:
        """The key, revoked ones too; None if unknown."""

    def token(self, sha256_hex: str, now_ns: int, /) -> KnownToken | None:
        """The token; None if unknown or expired at `now_ns`."""

    def keys(self) -> tuple[KnownKey, ...]:
        """Every key, revoked ones too, in the order in which they were added."""

    def keys_of(self, user_id: UserId, /) -> tuple[KnownKey, ...]:
        """Those of one holder."""

    def key_named(self, name: str, /) -> KnownKey | None:
        """The key with this `venue.engine.messages.key_id`."""


class VenuePort(Protocol):
    @property
    def views(self) -> Views: ...

    @property
    def access(self) -> CredentialStore: ...

    @property
    def faults(self) -> Faults: ...

    @property
    def cursor_key(self) -> bytes:
        """16 to 64 secret bytes; cursors stay good as long as the key does."""

    def now_ns(self) -> int:
        """The venue's clock; never goes back."""

    def find_market(self, name: str, /) -> MarketId | None:
        """The engine's market by ticker or UUID, any case; reads may show it later."""

    async def submit(self, command: Command | AccessCommand, /) -> Answer:
        """Raises EngineUnavailable, EngineOverloaded or ReplyLost."""


class Request(msgspec.Struct, frozen=True):
    venue: VenuePort
    cursors: Cursors
    route: Route
    user_id: UserId
    now_ns: int
    parameter: str | None
    """The variable path segment, decoded; None if there is none or it cannot be decoded."""
    query: bytes
    body: Callable[[], Awaitable[bytes]]
    """Reads the body, once."""

    @property
    def views(self) -> Views:
        return self.venue.views

    def check_accounts(self) -> None:
        """Raises Refusal(internal_error) while the store of accounts is down."""
        if self.venue.faults.is_down(FaultKind.ACCOUNTS_DOWN):
            raise Refusal(Code.INTERNAL_ERROR, INTERNAL_ERROR_TEXT)

    def paging(self, *filters: object) -> "Paging":
        """The cursors of this list under these filters (plain values, the same in one order)."""
        text = msgspec.json.encode(filters).decode()
        return Paging(self.cursors, Listing(self.user_id, self.route.name, text))


class Paging(msgspec.Struct, frozen=True):
    cursors: Cursors
    listing: Listing

    def place(self, cursor: str | None) -> str | None:
        """Where a page begins; None at the start. Raises Refusal(invalid_cursor)."""
        return None if cursor is None else self.cursors.open_cursor(self.listing, cursor)

    def number(self, cursor: str | None) -> int | None:
        """The same for lists whose places are numbers."""
        place = self.place(cursor)
        return None if place is None else int(place)

    def cursor(self, place: str | int | None) -> str:
        """The cursor of the page after `place`; empty when there is none."""
        return "" if place is None else self.cursors.issue(self.listing, str(place))
