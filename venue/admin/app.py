"""The operator's interface as a raw ASGI application. Health and metrics need no token. The Host
header must name this machine, so that no page in a browser reaches the venue by another name."""

import hashlib
import hmac
import traceback
from collections.abc import Callable
from typing import Final

import structlog

from venue import metrics
from venue.admin.bodies import BadRequest, as_body, read_fields
from venue.admin.handlers import (
    ENDPOINTS,
    Endpoint,
    EngineRefused,
    NotFound,
    OperatorPort,
    OperatorRequest,
    Recent,
)
from venue.admin.listener import is_loopback
from venue.rest.app import Application, ClientGone, Message, Receive, Send, read_body
from venue.rest.params import percent_decoded
from venue.rest.venue_port import EngineOverloaded, EngineUnavailable, ReplyLost
from venue.wire.codec import Refusal, encode
from venue.wire.errors import Code

PREFIX: Final = "/control/v1"

_HttpReply = tuple[int, bytes, bytes]
"""Status, content type, body."""

_JSON: Final = b"application/json"
_METRICS: Final = metrics.CONTENT_TYPE.encode()
_VARIABLE_AT: Final = 1

_log = structlog.get_logger(__name__)


def make_control(venue: OperatorPort, token_sha256: bytes) -> Application:
    """The application, for scopes of type http; a websocket is turned away. token_sha256: of the
    token that requests must carry. Raises ValueError if it is not 32 bytes."""
    if len(token_sha256) != hashlib.sha256().digest_size:
        raise ValueError("token_sha256: 32 bytes")
    shell = _AdminApp(venue, token_sha256)

    async def control(scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            await receive()
            await send({"type": "websocket.close"})
            return
        try:
            status, content_type, body = await shell.dispatch(scope, receive)
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
    def __init__(self, venue: OperatorPort, token_sha256: bytes) -> None:
        self._venue = venue
        self._token_sha256 = token_sha256
        self._recent = Recent()
        self._public: dict[str, Callable[[], _HttpReply]] = {
            "/healthz": lambda: (200, _JSON, encode({"healthy": True})),
            "/readyz": self._readyz,
            "/metrics": lambda: (200, _METRICS, self._venue.exposition()),
        }

    async def dispatch(self, scope: Message, receive: Receive) -> _HttpReply:
        if not _is_local(scope):
            return _failure(403, "forbidden_host", "the Host header must name this machine")
        path = scope["raw_path"].decode("latin-1")
        public = self._public.get(path)
        if public is not None and scope["method"] == "GET":
            return public()
        if path != PREFIX and not path.startswith(PREFIX + "/"):
            return _failure(404, "not_found", "no such path or method")
        if not self._has_token(scope["headers"]):
            return _failure(401, "unauthenticated", "no valid token")
        endpoint, segment = _find(scope["method"], path[len(PREFIX) :].encode("latin-1"))
        if endpoint is None:
            return _failure(404, "not_found", "no such path or method")
        return await self._handled(scope, receive, endpoint, segment)

    async def _handled(
        self, scope: Message, receive: Receive, endpoint: Endpoint, segment: str
    ) -> _HttpReply:
        try:
            query = _query(scope["query_string"], endpoint.query)
            has_body = scope["method"] in ("POST", "PUT")
            most = endpoint.body_bytes_max
            raw = await read_body(scope["headers"], receive, most) if has_body else b""
            fields = read_fields(raw)
            call = OperatorRequest(self._venue, self._recent, segment, fields, query)
            body = None if endpoint.body is None else as_body(endpoint.body, fields)
            return 200, _JSON, encode(await endpoint.handler(call, body))
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
            _log.error("control_internal_error", endpoint=endpoint.path, traceback=trace)
            return _failure(500, "internal_error", "internal error")

    def _has_token(self, headers: list[tuple[bytes, bytes]]) -> bool:
        found = [value for name, value in headers if name == b"authorization"]
        scheme, _, raw = found[0].partition(b" ") if len(found) == 1 else (b"", b"", b"")
        digest = hashlib.sha256(raw.strip(b" ")).digest()
        return hmac.compare_digest(digest, self._token_sha256) and scheme.lower() == b"bearer"

    def _readyz(self) -> _HttpReply:
        why = self._venue.readiness()
        if why is None:
            return 200, _JSON, encode({"ready": True})
        return 503, _JSON, encode({"ready": False, "why": why})


def _failure(status: int, code: str, error: str, details: str | None = None) -> _HttpReply:
    """details: the interface's code, where the engine refused or the reply was lost."""
    body = {"code": code, "error": error}
    if details is not None:
        body["details"] = details
    return status, _JSON, encode(body)


def _is_local(scope: Message) -> bool:
    """True if the request came over a unix socket, or its one Host header names loopback."""
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
    return is_loopback(name)


def _shape(method: str, segments: tuple[str | None, ...]) -> tuple[str, tuple[str | None, ...]]:
    return method, tuple([None if s is None or s.startswith("{") else s for s in segments])


_BY_SHAPE: Final[dict[tuple[str, tuple[str | None, ...]], Endpoint]] = {
    _shape(each.method, tuple(each.path.split("/"))): each for each in ENDPOINTS
}


def _find(method: str, raw: bytes) -> tuple[Endpoint | None, str]:
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
