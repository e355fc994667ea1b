"""Keys and tokens: who may act, from the access commands of the log. Only hashes are known here, so
nothing can be shown or stolen."""

import heapq
import string
from typing import Final, Self

import msgspec

from venue.engine import messages as m
from venue.wire.errors import Code
from venue.wire.limits import ACTIVE_KEYS_PER_USER_MAX
from venue.wire.names import UserId

_SHA256_LENGTH: Final = 64
_HEX_DIGITS: Final = frozenset(string.digits + "abcdef")


class AccessSnapshot(msgspec.Struct, frozen=True):
    keys: tuple[m.KnownKey, ...]
    tokens: tuple[m.KnownToken, ...]


class Access:
    def __init__(self) -> None:
        self._keys: dict[str, m.KnownKey] = {}
        self._named: dict[str, str] = {}
        self._hashes_of: dict[UserId | None, list[str]] = {}
        self._tokens: dict[str, m.KnownToken] = {}
        self._active_keys: dict[UserId, int] = {}
        self._ends: list[tuple[int, str]] = []
        """A heap of when each token expires, and its hash."""

    def apply_command(self, command: m.AccessCommand, now_ns: int) -> m.Answer:
        """Carry a command out: Accepted, or Refused with nothing changed for a malformed or known
        hash, an eleventh active key, or an unknown key to revoke. Revoking twice is accepted."""
        match command:
            case m.AddKey():
                return self._add_key(command)
            case m.RevokeKey():
                return self._revoke_key(command)
            case m.AddToken():
                return self._add_token(command, now_ns)

    def key(self, sha256_hex: str) -> m.KnownKey | None:
        """The key with this hash (64 lower-case hex digits), revoked ones too; None if unknown."""
        return self._keys.get(sha256_hex)

    def token(self, sha256_hex: str, now_ns: int) -> m.KnownToken | None:
        """The token with this hash, or None if it is unknown or `now_ns` is not before its end."""
        known = self._tokens.get(sha256_hex)
        return None if known is None or now_ns >= known.expires_ns else known

    def keys(self) -> tuple[m.KnownKey, ...]:
        """Every key, revoked ones too, in the order in which they were added."""
        return tuple(self._keys.values())

    def keys_of(self, user_id: UserId) -> tuple[m.KnownKey, ...]:
        return tuple([self._keys[each] for each in self._hashes_of.get(user_id, ())])

    def key_named(self, name: str) -> m.KnownKey | None:
        """The first key that was added of those with this `key_id`; None if there is none."""
        return self._keys.get(self._named.get(name, ""))

    def to_snapshot(self) -> AccessSnapshot:
        return AccessSnapshot(self.keys(), tuple(self._tokens.values()))

    @classmethod
    def from_snapshot(cls, snapshot: AccessSnapshot) -> Self:
        access = cls()
        for key in snapshot.keys:
            access._keep(key)
        for token in snapshot.tokens:
            access._keep_token(token)
        return access

    def _add_key(self, command: m.AddKey) -> m.Answer:
        sha256_hex, user_id = command.key_sha256, command.user_id
        fault = self._hash_fault(sha256_hex)
        if fault is not None:
            return fault
        active = 0 if user_id is None else self._active_keys.get(user_id, 0)
        if active >= ACTIVE_KEYS_PER_USER_MAX:
            return _refused(f"at most {ACTIVE_KEYS_PER_USER_MAX} active keys per holder")
        self._keep(m.KnownKey(sha256_hex, command.prefix, user_id, command.scopes, False))
        return m.Accepted()

    def _keep(self, key: m.KnownKey) -> None:
        if key.user_id is not None and not key.revoked:
            self._active_keys[key.user_id] = self._active_keys.get(key.user_id, 0) + 1
        self._keys[key.sha256_hex] = key
        self._named.setdefault(m.key_id(key.sha256_hex), key.sha256_hex)
        self._hashes_of.setdefault(key.user_id, []).append(key.sha256_hex)

    def _revoke_key(self, command: m.RevokeKey) -> m.Answer:
        key = self._keys.get(command.key_sha256)
        if key is None:
            return _refused("no such key")
        if not key.revoked:
            self._keys[command.key_sha256] = msgspec.structs.replace(key, revoked=True)
            if key.user_id is not None:
                self._active_keys[key.user_id] -= 1
        return m.Accepted()

    def _add_token(self, command: m.AddToken, now_ns: int) -> m.Answer:
        # Expired tokens answer like unknown ones, so the next token added may take their room.
        while self._ends and self._ends[0][0] <= now_ns:
            del self._tokens[heapq.heappop(self._ends)[1]]
        fault = self._hash_fault(command.token_sha256)
        if fault is not None:
            return fault
        # The length keeps ("ab", "c") and ("a", "bc") apart.
        principal = f"token:{len(command.application)}:{command.application}:{command.user_id}"
        user_id, scopes, ends_ns = command.user_id, command.scopes, command.expires_ns
        self._keep_token(m.KnownToken(command.token_sha256, user_id, scopes, principal, ends_ns))
        return m.Accepted()

    def _keep_token(self, token: m.KnownToken) -> None:
        self._tokens[token.sha256_hex] = token
        heapq.heappush(self._ends, (token.expires_ns, token.sha256_hex))

    def _hash_fault(self, sha256_hex: str) -> m.Refused | None:
        if len(sha256_hex) != _SHA256_LENGTH or not _HEX_DIGITS.issuperset(sha256_hex):
            return _refused("a SHA-256 is 64 lower-case hex digits")
        if sha256_hex in self._keys or sha256_hex in self._tokens:
            return _refused("this credential exists already")
        return None


def _refused(message: str) -> m.Refused:
    return m.Refused(Code.INVALID_REQUEST, message)
