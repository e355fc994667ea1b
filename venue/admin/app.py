"""The operator's interface as a raw ASGI application: host, token, route, body, handler.

Health and metrics need no token; everything under /control/v1 does. The Host header must name
this machine, so that no page in a browser can reach the venue by another name for its address.
"""

import hashlib
import hmac
import ipaddress
import traceback
from collections.abc import Awaitable, Callable
from typing import Final

import msgspec
import structlog

from venue import metrics
from venue.admin import listing, people, running
from venue.admin.bodies import BadRequest, read_fields
from venue.admin.desk import EngineRefused, NotFound, OperatorRequest, Recent
from venue.admin.operator import Operator
from venue.admin.replies import Failure, Healthy, Readiness
from venue.rest.app import (
    Application,
    ClientGone,
    EngineOverloaded,
    EngineUnavailable,
    Message,
    Receive,
    ReplyLost,
    Send,
    read_body,
)
from venue.rest.params import percent_decoded
from venue.wire.codec import Refusal, encode
from venue.wire.errors import Code

PREFIX: Final = "/control/v1"

Handler = Callable[[OperatorRequest], Awaitable[msgspec.Struct]]
Reply = tuple[int, bytes, bytes]
"""Status, content type, body."""

ENDPOINTS: Final[tuple[tuple[str, str, Handler], ...]] = (
    ("GET", "status", running.status),
    ("GET", "state-hash", running.state_hash),
    ("PUT", "venue-state", running.set_venue_state),
    ("PUT", "projection", running.set_projection),
    ("GET", "companies", listing.list_companies),
    ("POST", "companies", listing.add_company),
    ("POST", "companies/{company}/archive", listing.archive_company),
    ("POST", "companies/{company}/symbol", listing.rename_company),
    ("POST", "companies/{company}/implied-value", listing.publish_implied_value),
    ("POST", "events", listing.add_event),
    ("PUT", "events/{event_ticker}/status", listing.set_event_status),
    ("POST", "markets", listing.add_market),
    ("POST", "markets/{market}/halt", listing.halt_market),
    ("POST", "markets/{market}/resume", listing.resume_market),
    ("POST", "markets/{market}/resolve", listing.resolve_market),
    ("GET", "users", people.list_users),
    ("POST", "users", people.add_user),
    ("POST", "users/{user_id}/deposits", people.deposit),
    ("POST", "users/{user_id}/withdrawals", people.withdraw),
    ("GET", "keys", people.list_keys),
    ("POST", "keys", people.create_key),
    ("POST", "keys/{key_id}/revoke", people.revoke_key),
    ("POST", "tokens", people.create_token),
    ("GET", "faults", running.list_faults),
    ("POST", "faults", running.add_fault),
    ("DELETE", "faults", running.clear_faults),
    ("DELETE", "faults/{kind}", running.clear_fault),
)
"""Method, path under the prefix, handler. `{name}` is always the second segment."""

_QUERIES: Final[dict[Handler, tuple[str, ...]]] = {people.list_keys: ("user_id",)}

_JSON: Final = b"application/json"
_METRICS: Final = metrics.CONTENT_TYPE.encode()
_VARIABLE_AT: Final = 1

_log = structlog.get_logger(__name__)


def make_control(operator: Operator, token_sha256: bytes) -> Application:
    """The application, for scopes of type http; a websocket is turned away.

    token_sha256: SHA-256 (32 bytes) of the token that requests must carry. Raises ValueError for
    another length.
    """
    if len(token_sha256) != hashlib.sha256().digest_size:
        raise ValueError("token_sha256: 32 bytes")
    shell = _AdminApp(operator, token_sha256)

    async def control(scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            await receive()
            await send({"type": "websocket.close"})
            return
        try:
            status, content_type, body = await shell.answer(scope, receive)
        except ClientGone:
            return
        headers = [
            (b"content-type", content_type),
            (b"content-length", str(len(body)).encode()),
            # Some replies hold a secret, and none is good for longer than it takes to read it.
            (b"cache-control", b"no-store"),
        ]
        if status == 401:
            headers.append((b"www-authenticate", b"Bearer"))
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    return control


class _AdminApp:
    def __init__(self, operator: Operator, token_sha256: bytes) -> None:
        self._operator = operator
        self._token_sha256 = token_sha256
        self._recent = Recent()
        self._open: dict[str, Callable[[], Reply]] = {
            "/healthz": self._healthz,
            "/readyz": self._readyz,
            "/metrics": self._metrics,
        }

    async def answer(self, scope: Message, receive: Receive) -> Reply:
        """Status, content type and body for one request. Raises ClientGone."""
        if not _is_local(scope):
            return _failure(403, "forbidden_host", "the Host header must name this machine")
        path = scope["raw_path"].decode("latin-1")
        bare = self._open.get(path)
        if bare is not None and scope["method"] == "GET":
            return bare()
        if path != PREFIX and not path.startswith(PREFIX + "/"):
            return _failure(404, "not_found", "no such path or method")
        if not self._has_token(scope["headers"]):
            return _failure(401, "unauthenticated", "no valid token")
        handler, segment = _find(scope["method"], path[len(PREFIX) :].encode("latin-1"))
        if handler is None:
            return _failure(404, "not_found", "no such path or method")
        return await self._handled(scope, receive, handler, segment)

    async def _handled(
        self, scope: Message, receive: Receive, handler: Handler, segment: str
    ) -> Reply:
        try:
            query = _query(scope["query_string"], _QUERIES.get(handler, ()))
            has_body = scope["method"] in ("POST", "PUT")
            raw = await read_body(scope["headers"], receive) if has_body else b""
            call = OperatorRequest(self._operator, self._recent, segment, read_fields(raw), query)
            return 200, _JSON, encode(await handler(call))
        except Refusal as fault:
            return _failure(400, "invalid_request", fault.message)
        except BadRequest as fault:
            return _failure(400, "invalid_request", str(fault))
        except NotFound as fault:
            return _failure(404, "not_found", str(fault))
        except EngineRefused as fault:
            return _failure(409, "refused", fault.message, fault.code.value)
        except (EngineUnavailable, EngineOverloaded) as fault:
            overloaded = isinstance(fault, EngineOverloaded)
            code = Code.ENGINE_OVERLOADED if overloaded else Code.ENGINE_UNAVAILABLE
            return _failure(503, "unavailable", "nothing was carried out", code.value)
        except ReplyLost:
            why = "the command may have been carried out"
            return _failure(503, "unavailable", why, Code.RESULT_UNKNOWN.value)
        except ClientGone:
            raise
        except Exception as fault:  # noqa: BLE001 - one request's fault must not end the venue
            # The text is made here: a console renderer would show local variables.
            trace = "".join(traceback.format_exception(fault))
            _log.error("control_internal_error", handler=handler.__name__, traceback=trace)
            return _failure(500, "internal_error", "internal error")

    def _has_token(self, headers: list[tuple[bytes, bytes]]) -> bool:
        found = [value for name, value in headers if name == b"authorization"]
        scheme, _, raw = found[0].partition(b" ") if len(found) == 1 else (b"", b"", b"")
        digest = hashlib.sha256(raw.strip(b" ")).digest()
        return hmac.compare_digest(digest, self._token_sha256) and scheme.lower() == b"bearer"

    def _healthz(self) -> Reply:
        return 200, _JSON, encode(Healthy(True))

    def _readyz(self) -> Reply:
        why = self._operator.readiness()
        return 200 if why is None else 503, _JSON, encode(Readiness(why is None, why))

    def _metrics(self) -> Reply:
        return 200, _METRICS, self._operator.exposition()


def _failure(status: int, code: str, error: str, details: str | None = None) -> Reply:
    return status, _JSON, encode(Failure(code, error, details))


def _is_local(scope: Message) -> bool:
    """Whether the request came over a unix socket, or its one Host header names loopback."""
    server = scope.get("server")
    if server is not None and server[1] is None:
        return True
    hosts = [value for name, value in scope["headers"] if name == b"host"]
    return len(hosts) == 1 and _names_loopback(hosts[0].decode("latin-1"))


def _names_loopback(host: str) -> bool:
    if host.startswith("["):
        name, closed, port = host[1:].partition("]")
        if not closed or (port and not port.startswith(":")):
            return False
    else:
        name, _, _ = host.partition(":")
    if name.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


def _shape(method: str, segments: tuple[str | None, ...]) -> tuple[str, tuple[str | None, ...]]:
    return method, tuple([None if s is None or s.startswith("{") else s for s in segments])


_BY_SHAPE: Final[dict[tuple[str, tuple[str | None, ...]], Handler]] = {
    _shape(method, tuple(path.split("/"))): handler for method, path, handler in ENDPOINTS
}


def _find(method: str, raw: bytes) -> tuple[Handler | None, str]:
    """The handler of a path under the prefix and its variable segment, decoded."""
    segments = [percent_decoded(part) for part in raw.removeprefix(b"/").split(b"/")]
    if None in segments:
        return None, ""
    exact = _BY_SHAPE.get((method, tuple(segments)))
    if exact is not None or len(segments) <= _VARIABLE_AT:
        return exact, ""
    segment, segments[_VARIABLE_AT] = segments[_VARIABLE_AT], None
    return _BY_SHAPE.get((method, tuple(segments))), segment or ""


def _query(raw: bytes, known: tuple[str, ...]) -> dict[str, str]:
    """The query parameters. Raises BadRequest for one that is unknown, repeated or garbled."""
    values: dict[str, str] = {}
    for pair in raw.split(b"&") if raw else ():
        raw_name, _, raw_value = pair.partition(b"=")
        name = percent_decoded(raw_name)
        value = percent_decoded(raw_value.replace(b"+", b" "))
        if name not in known or name in values or value is None:
            accepted = ", ".join(known) or "no query at all"
            raise BadRequest(f"{name!r}: not accepted in the query; accepted is {accepted}, once")
        values[name] = value
    return values
