"""Authentication: the credential, then its rate limit, then its scope, refused in that order (S29);
and the headers of each (S42). Raw keys and tokens are hashed on arrival and never stored, logged or
put into an error. Readings: docs/assumptions.md#S42, #S51."""

import hashlib
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from venue.engine.messages import KnownKey, KnownToken
from venue.rest.flood import AuthThrottle
from venue.rest.venue_port import CredentialStore
from venue.wire.codec import Refusal
from venue.wire.errors import Code
from venue.wire.instant import NS_PER_SECOND
from venue.wire.limits import RATE_BURST, RATE_PER_SECOND, TokenBucket
from venue.wire.names import UserId
from venue.wire.routes import (
    API_KEY_HEADER,
    BEARER_HEADER,
    LIMIT_HEADER,
    REMAINING_HEADER,
    RESET_HEADER,
    RETRY_AFTER_HEADER,
    Route,
)

Headers = list[tuple[bytes, bytes]]

_API_KEY: Final = API_KEY_HEADER.lower().encode()
_BEARER: Final = BEARER_HEADER.lower().encode()
_LIMIT: Final = LIMIT_HEADER.lower().encode()
_REMAINING: Final = REMAINING_HEADER.lower().encode()
_TOKENS_TEXT: Final = tuple(str(count).encode() for count in range(RATE_BURST + 1))
_RESET: Final = RESET_HEADER.lower().encode()
_RETRY_AFTER: Final = RETRY_AFTER_HEADER.lower().encode()
_CHALLENGE: Final = b"www-authenticate"
CLOSE: Final = (b"connection", b"close")
METADATA_PATH: Final = "/.well-known/oauth-protected-resource"


class GateRefusal(Refusal):
    def __init__(self, code: Code, message: str, headers: Headers) -> None:
        super().__init__(code, message)
        self.headers = headers


class Caller(msgspec.Struct, frozen=True):
    facts: KnownKey | KnownToken
    is_bearer: bool
    bucket: TokenBucket


class Gate:
    """The gate of one venue; keeps one bucket per credential that was ever good."""

    def __init__(self, access: CredentialStore) -> None:
        self._access = access
        self._buckets: dict[str, TokenBucket] = {}
        self._by_key: dict[str, Caller] = {}
        self._failed = AuthThrottle()

    def authenticate(self, scope: Mapping[str, Any], now_ns: int) -> Caller:
        """The caller that the headers (names in lower case) of an ASGI scope name; nothing is
        charged. Raises GateRefusal: conflicting_credentials when both headers are there,
        unauthenticated when neither or when the one is empty, repeated, unknown, revoked, expired.
        An address that fails too often is asked to close."""
        try:
            return self._known(scope, now_ns)
        except GateRefusal as refusal:
            client = scope.get("client")
            if self._failed.note("" if client is None else client[0], now_ns):
                refusal.headers.append(CLOSE)
            raise

    def _known(self, scope: Mapping[str, Any], now_ns: int) -> Caller:
        keys: list[bytes] = []
        bearers: list[bytes] = []
        for name, value in scope["headers"]:
            if name == _API_KEY:
                # White space around a value is no part of it (RFC 9110, 5.5); what trails comes
                # through.
                keys.append(value.strip(b" \t"))
            elif name == _BEARER:
                bearers.append(value)
        if keys and bearers:
            raise GateRefusal(
                Code.CONFLICTING_CREDENTIALS,
                f"{API_KEY_HEADER} and {BEARER_HEADER} exclude each other",
                [],
            )
        if bearers:
            token = self._token(bearers, now_ns)
            if token is None:
                raise GateRefusal(
                    Code.UNAUTHENTICATED,
                    "the bearer token is not valid",
                    [(_CHALLENGE, _unauthenticated_challenge(origin_of(scope)))],
                )
            return Caller(token, True, self._bucket(token.bucket_id, now_ns))
        # One hash and one look-up. The look-up's time may depend on the digest, but reveals nothing
        # of the key: nobody can choose keys whose digests approach a given one.
        digest = _sha256_hex(keys[0]) if len(keys) == 1 and keys[0] else ""
        key = self._access.key(digest)
        if key is None or key.revoked:
            raise GateRefusal(Code.UNAUTHENTICATED, "no valid credential", [])
        caller = self._by_key.get(digest)
        if caller is None or caller.facts is not key:
            caller = Caller(key, False, self._bucket(key.bucket_id, now_ns))
            self._by_key[digest] = caller
        return caller

    def _token(self, bearers: list[bytes], now_ns: int) -> KnownToken | None:
        scheme, _, raw = bearers[0].partition(b" ")
        raw = raw.strip(b" ")
        if len(bearers) != 1 or scheme.lower() != b"bearer" or not raw:
            return None
        return self._access.token(_sha256_hex(raw), now_ns)

    def _bucket(self, bucket_id: str, now_ns: int) -> TokenBucket:
        bucket = self._buckets.get(bucket_id)
        if bucket is None:
            bucket = TokenBucket.full(RATE_PER_SECOND, RATE_BURST, now_ns)
            self._buckets[bucket_id] = bucket
        return bucket


def charge(
    caller: Caller, now_ns: int, limit: int = RATE_BURST, throttled_s: int | None = None
) -> Headers:
    """Take one token, and return the rate limit headers of every answer from here on. limit: tokens
    that the bucket holds. throttled_s: Retry-After of a fault that refuses the request. Raises
    GateRefusal(rate_limited), nothing taken."""
    bucket = caller.bucket
    if bucket.burst != limit:
        bucket.refill(now_ns)
        bucket.rate_per_second = max(1, RATE_PER_SECOND * limit // RATE_BURST)
        bucket.burst = limit
        bucket.level_e9 = min(bucket.level_e9, limit * NS_PER_SECOND)
    taken = throttled_s is None and bucket.spend_token(now_ns)
    left = bucket.whole_tokens if throttled_s is None else 0
    headers = [(_LIMIT, _TOKENS_TEXT[limit]), (_REMAINING, _TOKENS_TEXT[left])]
    if not taken:
        headers += pace_headers(caller, now_ns, throttled_s)
        raise GateRefusal(Code.RATE_LIMITED, "the token bucket is empty", headers)
    return headers


def authorize(caller: Caller, route: Route | None) -> UserId:
    """The user on whose behalf a caller may use a route; None is no route. Raises GateRefusal:
    forbidden_scope (a key without scopes is refused everywhere), api_key_misconfigured for a key
    without a user."""
    facts = caller.facts
    if caller.is_bearer:
        wanted = () if route is None else route.token_scopes
        if wanted and not any(scope in facts.scopes for scope in wanted):
            challenge = f'Bearer error="insufficient_scope", scope="{wanted[0]}"'
            raise GateRefusal(
                Code.FORBIDDEN_SCOPE,
                f"the token lacks the scope {wanted[0]}",
                [(_CHALLENGE, challenge.encode())],
            )
    else:
        scope = None if route is None else route.key_scope
        if not facts.scopes or (scope is not None and scope not in facts.scopes):
            raise GateRefusal(Code.FORBIDDEN_SCOPE, "the key lacks the scope", [])
    if facts.user_id is None:
        raise GateRefusal(Code.API_KEY_MISCONFIGURED, "the key names no usable account", [])
    return facts.user_id


def pace_headers(caller: Caller, now_ns: int, throttled_s: int | None = None) -> Headers:
    """Retry-After of a 429, in whole seconds, at least 1 (S39), and the Unix second, rounded up, at
    which the bucket is full again (S51)."""
    bucket = caller.bucket
    bucket.refill(now_ns)
    wait_s = max(1, throttled_s or _seconds_up(bucket.wait_ns()))
    full_s = _seconds_up(now_ns + bucket.wait_ns(bucket.burst))
    return [(_RETRY_AFTER, str(wait_s).encode()), (_RESET, str(full_s).encode())]


def origin_of(scope: Mapping[str, Any]) -> str:
    """Scheme and authority at which a request came in."""
    # Not the Host header: what a caller sends is not sent back.
    server = scope.get("server") or ("localhost", None)
    host = f"[{server[0]}]" if ":" in server[0] else server[0]
    port = "" if server[1] is None else f":{server[1]}"
    return f"{scope.get('scheme', 'http')}://{host}{port}"


def _seconds_up(duration_ns: int) -> int:
    return -(-duration_ns // NS_PER_SECOND)


def _sha256_hex(raw: bytes) -> str:
    return hashlib.sha256(raw).hexdigest()


def _unauthenticated_challenge(origin: str) -> bytes:
    location = f"{origin}{METADATA_PATH}"
    return f'Bearer error="invalid_token", resource_metadata="{location}"'.encode()
