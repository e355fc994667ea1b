"""Keys and tokens: who may act, from the access commands of the log. Only hashes are known here, so
nothing can be shown or stolen."""

import heapq
import string
from typing import Final, Self

import msgspec

from venue.engine.messages import (
    Accepted,
    AccessCommand,
    AccessKey,
    AccessToken,
    AddKey,
    AddToken,
    Answer,
    KnownKey,
    Refused,
    RevokeKey,
    key_id,
)
from venue.wire.errors import Code
from venue.wire.limits import ACTIVE_KEYS_PER_USER_MAX
from venue.wire.names import UserId
from venue.wire.routes import TokenScope

_SHA256_LENGTH: Final = 64
_HEX_DIGITS: Final = frozenset(string.digits + "abcdef")


class KnownToken(msgspec.Struct, frozen=True, array_like=True):
    """A bearer token as it was added; it is in force before `expires_ns`."""

    sha256_hex: str
    user_id: UserId
    scopes: tuple[TokenScope, ...]
    bucket_id: str
    expires_ns: int


class AccessSnapshot(msgspec.Struct, frozen=True):
    keys: tuple[KnownKey, ...]
    tokens: tuple[KnownToken, ...]


class Access:
    def __init__(self) -> None:
        self._keys: dict[str, AccessKey] = {}
        self._prefixes: dict[str, str] = {}
        self._named: dict[str, str] = {}
        self._hashes_of: dict[UserId | None, list[str]] = {}
        self._tokens: dict[str, tuple[AccessToken, int]] = {}
        self._active_keys: dict[UserId, int] = {}
        self._ends: list[tuple[int, str]] = []
        """A heap of when each token expires, and its hash."""

    def apply_command(self, command: AccessCommand, now_ns: int) -> Answer:
        """Carry a command out: Accepted, or Refused with nothing changed for a malformed or known
        hash, an eleventh active key, or an unknown key to revoke. Revoking twice is accepted."""
        match command:
            case AddKey():
                return self._add_key(command)
            case RevokeKey():
                return self._revoke_key(command)
            case AddToken():
                return self._add_token(command, now_ns)

    def key(self, sha256_hex: str) -> AccessKey | None:
        """The key with this hash (64 lower-case hex digits), revoked ones too; None if unknown."""
        return self._keys.get(sha256_hex)

    def token(self, sha256_hex: str, now_ns: int) -> AccessToken | None:
        """The token with this hash, or None if it is unknown or `now_ns` is not before its end."""
        known = self._tokens.get(sha256_hex)
        if known is None or now_ns >= known[1]:
            return None
        return known[0]

    def keys(self) -> tuple[KnownKey, ...]:
        """Every key, revoked ones too, in the order in which they were added."""
        return tuple(map(self._known, self._keys))

    def keys_of(self, user_id: UserId) -> tuple[KnownKey, ...]:
        return tuple(map(self._known, self._hashes_of.get(user_id, ())))

    def key_named(self, name: str) -> KnownKey | None:
        """The first key that was added of those with this `key_id`; None if there is none."""
        sha256_hex = self._named.get(name)
        return None if sha256_hex is None else self._known(sha256_hex)

    def _known(self, sha256_hex: str) -> KnownKey:
        key, prefix = self._keys[sha256_hex], self._prefixes[sha256_hex]
        return KnownKey(sha256_hex, prefix, key.user_id, key.scopes, key.revoked)

    def to_snapshot(self) -> AccessSnapshot:
        return AccessSnapshot(
            self.keys(),
            tuple(
                KnownToken(sha256_hex, token.user_id, token.scopes, token.bucket_id, expires_ns)
                for sha256_hex, (token, expires_ns) in self._tokens.items()
            ),
        )

    @classmethod
    def from_snapshot(cls, snapshot: AccessSnapshot) -> Self:
        access = cls()
        for key in snapshot.keys:
            access._keep(key)
        for known in snapshot.tokens:
            token = AccessToken(known.user_id, known.scopes, known.bucket_id)
            access._keep_token(known.sha256_hex, token, known.expires_ns)
        return access

    def _add_key(self, command: AddKey) -> Answer:
        sha256_hex, user_id = command.key_sha256, command.user_id
        fault = self._hash_fault(sha256_hex)
        if fault is not None:
            return fault
        active = 0 if user_id is None else self._active_keys.get(user_id, 0)
        if active >= ACTIVE_KEYS_PER_USER_MAX:
            return _refused(f"at most {ACTIVE_KEYS_PER_USER_MAX} active keys per holder")
        self._keep(KnownKey(sha256_hex, command.prefix, user_id, command.scopes, False))
        return Accepted()

    def _keep(self, key: KnownKey) -> None:
        if key.user_id is not None and not key.revoked:
            self._active_keys[key.user_id] = self._active_keys.get(key.user_id, 0) + 1
        self._keys[key.sha256_hex] = AccessKey(
            key.user_id, key.scopes, key.revoked, f"key:{key.sha256_hex}"
        )
        self._prefixes[key.sha256_hex] = key.prefix
        self._named.setdefault(key_id(key.sha256_hex), key.sha256_hex)
        self._hashes_of.setdefault(key.user_id, []).append(key.sha256_hex)

    def _revoke_key(self, command: RevokeKey) -> Answer:
        key = self._keys.get(command.key_sha256)
        if key is None:
            return _refused("no such key")
        if not key.revoked:
            self._keys[command.key_sha256] = msgspec.structs.replace(key, revoked=True)
            if key.user_id is not None:
                self._active_keys[key.user_id] -= 1
        return Accepted()

    def _add_token(self, command: AddToken, now_ns: int) -> Answer:
        # Expired tokens answer like unknown ones, so the next token added may take their room.
        while self._ends and self._ends[0][0] <= now_ns:
            del self._tokens[heapq.heappop(self._ends)[1]]
        fault = self._hash_fault(command.token_sha256)
        if fault is not None:
            return fault
        # The length keeps ("ab", "c") and ("a", "bc") apart.
        principal = f"token:{len(command.application)}:{command.application}:{command.user_id}"
        token = AccessToken(command.user_id, command.scopes, principal)
        self._keep_token(command.token_sha256, token, command.expires_ns)
        return Accepted()

    def _keep_token(self, sha256_hex: str, token: AccessToken, expires_ns: int) -> None:
        self._tokens[sha256_hex] = (token, expires_ns)
        heapq.heappush(self._ends, (expires_ns, sha256_hex))

    def _hash_fault(self, sha256_hex: str) -> Refused | None:
        if len(sha256_hex) != _SHA256_LENGTH or not _HEX_DIGITS.issuperset(sha256_hex):
            return _refused("a SHA-256 is 64 lower-case hex digits")
        if sha256_hex in self._keys or sha256_hex in self._tokens:
            return _refused("this credential exists already")
        return None


def _refused(message: str) -> Refused:
    return Refused(Code.INVALID_REQUEST, message)
