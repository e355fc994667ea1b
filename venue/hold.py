"""Where a venue's state comes from: memory, or a directory that outlives the process."""

import secrets
from pathlib import Path

import msgspec

from venue.recovery import RecoveredVenue, fresh, recover
from venue.storage.keys import KEY_BYTES
from venue.storage.log import CommandLog
from venue.storage.statedir import StateDir


class Held(msgspec.Struct):
    """A state to go on from, at sequence 0 when nothing was carried out on it yet.

    log, path: None in memory. cursor_key: what page cursors hang on. notices: what was not as it
    should be on the way, for people.
    """

    exchange: RecoveredVenue
    cursor_key: bytes
    log: CommandLog | None = None
    path: Path | None = None
    notices: tuple[str, ...] = ()

    @property
    def is_new(self) -> bool:
        """Whether a venue is still to be opened on it."""
        return self.exchange.sequence == 0


def in_memory() -> Held:
    """A new exchange whose ids, cursors and state end with the process."""
    exchange = fresh(secrets.token_bytes(KEY_BYTES))
    return Held(exchange, secrets.token_bytes(KEY_BYTES))


def held_in(path: Path) -> Held:
    """What a state directory comes to; made if it is not there. Raises StateFault."""
    # Stays open, and locked, for as long as the process lives.
    state = StateDir.open(path)
    exchange, log = recover(state), state.log()
    return Held(exchange, state.cursor_key, log, path, tuple(state.notices))
