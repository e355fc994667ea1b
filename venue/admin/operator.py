"""What the operator's interface asks of the venue."""

from typing import Protocol

from venue.engine.messages import AccessCommand, Answer, Command
from venue.rest.faults import Faults
from venue.views.projector import Views
from venue.wire.model import VenueState
from venue.wire.names import UserId
from venue.wire.routes import KeyScope


class KnownKey(Protocol):
    """What is known of an API key; the raw key is not."""

    @property
    def sha256_hex(self) -> str:
        """SHA-256 of the raw key, 64 lower-case hex digits."""
        ...

    @property
    def prefix(self) -> str:
        """Its first characters."""
        ...

    @property
    def user_id(self) -> UserId | None:
        """Whose it is; None is a stored reference that cannot be used."""
        ...

    @property
    def scopes(self) -> tuple[KeyScope, ...]:
        """What it may be used for; maybe nothing."""
        ...

    @property
    def revoked(self) -> bool:
        """Whether it was stopped."""
        ...


class KeyStore(Protocol):
    """Every key there is."""

    def keys(self) -> tuple[KnownKey, ...]:
        """All of them, revoked ones too, in the order in which they were added."""
        ...

    def keys_of(self, user_id: UserId, /) -> tuple[KnownKey, ...]:
        """Those of one holder, likewise."""
        ...

    def key_named(self, name: str, /) -> KnownKey | None:
        """The key with this `venue.engine.messages.key_id`; None if there is none."""
        ...


class Operator(Protocol):
    """The venue behind the operator's interface."""

    @property
    def views(self) -> Views:
        """What reads see."""
        ...

    @property
    def access(self) -> KeyStore:
        """Who may act."""
        ...

    @property
    def faults(self) -> Faults:
        """The faults that the REST interface shows."""
        ...

    @property
    def venue_state(self) -> VenueState:
        """The venue-wide state as the engine has it."""
        ...

    @property
    def projection_lag_ms(self) -> int:
        """How far reads and the channel lag behind."""
        ...

    def set_projection_lag_ms(self, lag_ms: int, /) -> None:
        """Let them lag this far from now on, 0 to 60,000."""
        ...

    def now_ns(self) -> int:
        """The venue's clock; never goes back."""
        ...

    async def submit(self, command: Command | AccessCommand, /) -> Answer:
        """The answer of the engine or of the store of credentials.

        May raise `EngineUnavailable`, `EngineOverloaded` or `ReplyLost` of `venue.rest.desk`.
        """
        ...

    async def state_hash(self) -> tuple[int, str]:
        """The sequence of the last command, and the SHA-256 (hex) of the state after it."""
        ...

    @property
    def sequence(self) -> int:
        """The sequence of the last command."""
        ...

    @property
    def durable(self) -> bool:
        """Whether what is answered outlives the process."""
        ...

    @property
    def writable(self) -> bool:
        """Whether commands are taken now."""
        ...

    @property
    def queue(self) -> int:
        """Commands that wait."""
        ...

    @property
    def subscribers(self) -> int:
        """Connections of the channel."""
        ...

    @property
    def has_crowd(self) -> bool:
        """Whether traders of the venue's own are on every market."""
        ...

    def readiness(self) -> str | None:
        """Why traders cannot be served now; None when they can."""
        ...

    def exposition(self) -> bytes:
        """The metrics as Prometheus text."""
        ...
