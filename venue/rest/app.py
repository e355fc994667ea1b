"""The REST shell as a raw ASGI application: match the route, pass the gate, call the handler.
Whatever goes wrong becomes one Error body. The description, to which `/` leads, and the metadata of
RFC 9728 are served before any credential is looked at (S40). Readings: docs/assumptions.md#S29,
#S39, #S49."""

import asyncio
import math
import time
import traceback
from collections.abc import Awaitable, Callable, Iterator, MutableMapping
from functools import partial
from http import HTTPStatus
from typing import Any, Final, Protocol

import structlog

from venue.rest import account, market, openapi, trade
from venue.rest.gate import (
    CLOSE,
    METADATA_PATH,
    Caller,
    Gate,
    GateRefusal,
    Headers,
    authorize,
    charge,
    origin_of,
    pace_headers,
)
from venue.rest.params import percent_decoded
from venue.rest.turns import FairTurns, ResponseSlots
from venue.rest.venue_port import (
    INTERNAL_ERROR_TEXT,
    ConnectionCut,
    EngineOverloaded,
    EngineUnavailable,
    ReplyLost,
    Request,
    Response,
    VenuePort,
)
from venue.views.cursor import Cursors
from venue.wire import codec, routes
from venue.wire.codec import Refusal
from venue.wire.errors import CODES, Code
from venue.wire.limits import BODY_BYTES_MAX
from venue.wire.model import ErrorBody
from venue.wire.names import UserId
from venue.wire.routes import API_PREFIX, Route

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Message, Receive, Send], Awaitable[None]]
Meter = Callable[[str | None, str | None, int, float], None]
"""Called for each answer: route name (None: none), error code (None: success), status, seconds."""

Answered = tuple[int, bytes, Headers, Code | None]
"""Status, body, further headers, and the code of a failure."""

ABORT_EXTENSION: Final = "laddermaker.abort"
"""Where the server puts `{"abort": function}`, which cuts the transport without a closing word."""

WHOLE_EXTENSION: Final = "laddermaker.whole"
"""Where the server puts `{"message": WholeMessage}`, if it can: ASGI's own messages take a fifth of
the time of a write."""

LONG_ANSWERS_MAX: Final = 8
"""Of one user, made and not taken yet: a snapshot has a megabyte for every 2,500 resting orders."""

LONG_ANSWER_WAIT_S: Final = 10.0
"""Timeout of the next one; then its connection is cut, as are those that hold it up: a reader who
reads nothing must not keep connections from others."""

LONG_ANSWER_BYTES: Final = 128 * 1024
"""A longer answer is long, and so is one that comes in pieces."""

_SHORT_BODY_BYTES_MAX: Final = 1_024
"""Any order and any amend is shorter by far. The longest body takes as long as a large page."""

BODY_DEADLINE_S: Final = 10.0
"""Timeout for the body of a write."""


class ClientGone(Exception):
    """The caller hung up before its request was whole; there is nobody to answer."""


class WholeMessage(Protocol):
    """A request's body and its response, each in one piece."""

    def body(self) -> bytes | None:
        """The whole body, if it has arrived; else None, and it is to be received."""

    def write_response(self, status: int, headers: Headers, body: bytes) -> bool:
        """Write the whole response. False, with nothing written, if it is to be sent instead."""


READS: Final[dict[Route, Callable[[Request], bytes | Iterator[bytes]]]] = {
    routes.LIST_MARKETS: market.list_markets,
    routes.SNAPSHOT: market.snapshot,
    routes.ORDERBOOK: market.orderbook,
    routes.CANDLES: market.candles,
    routes.TRADES: market.trades,
    routes.LIST_EVENTS: market.list_events,
    routes.GET_EVENT: market.get_event,
    routes.LIST_ORDERS: account.list_orders,
    routes.GET_ORDER: account.get_order,
    routes.BALANCE: account.balance,
    routes.POSITIONS: account.positions,
    routes.FILLS: account.fills,
}
WRITES: Final[dict[Route, Callable[[Request], Awaitable[Response]]]] = {
    routes.CREATE_ORDER: trade.create_order,
    routes.AMEND_ORDER: trade.amend_order,
    routes.CANCEL_ORDER: trade.cancel_order,
}

_VARIABLE_AT: Final = 1

_Shape = tuple[str, tuple[str | None, ...]]


def _shape(route: Route) -> _Shape:
    return route.method, tuple(None if s.startswith("{") else s for s in route.segments)


_BY_SHAPE: Final[dict[_Shape, Route]] = {_shape(route): route for route in routes.ROUTES}

_BY_PATH: Final[dict[tuple[str, bytes], Route]] = {
    (route.method, f"{API_PREFIX}/{'/'.join(route.segments)}".encode()): route
    for route in routes.ROUTES
    if not any(segment.startswith("{") for segment in route.segments)
}
"""The routes whose path has no variable, by their usual spelling; another escapes some letter."""

_SEGMENTS_MAX: Final = max(len(route.segments) for route in routes.ROUTES)
"""A path of more is not looked at any further: it may have thousands, and nobody showed a key."""

_JSON: Final = (b"content-type", b"application/json")
_YAML: Final = (b"content-type", openapi.CONTENT_TYPE.encode())
_CONTENT_LENGTH: Final = b"content-length"
_LENGTH_DIGITS_MAX: Final = 18
_PREFIX: Final = API_PREFIX.encode() + b"/"
_METADATA: Final = METADATA_PATH.encode()
_ROOT: Final = b"/"
_TO_DESCRIPTION: Final = (b"location", (API_PREFIX + routes.OPENAPI.path).encode())
_NOBODY: Final = ""
"""The bucket id where no credential, so no rate limit, applies."""
_MS_PER_S: Final = 1_000
_DELAY_LOOK_S: Final = 0.05

_log = structlog.get_logger(__name__)


def make_app(venue: VenuePort, meter: Meter | None = None) -> Application:
    return _RestApp(venue, meter).answer_request


class _RestApp:
    def __init__(self, venue: VenuePort, meter: Meter | None) -> None:
        self._venue = venue
        self._meter = meter
        self._gate = Gate(venue.access)
        self._cursors = Cursors(venue.cursor_key)
        self._turns = FairTurns()
        self._free_turns = FairTurns()
        self._slots = ResponseSlots(LONG_ANSWERS_MAX)
        # Made now: the first caller who asks must not hold up the orders of the others.
        self._description = openapi.document()

    async def answer_request(self, scope: Message, receive: Receive, send: Send) -> None:
        begun = time.perf_counter()
        route, parameter = _find(scope["method"], scope["raw_path"])
        content_type, headers = _JSON, Headers()
        code: Code | None = None
        # Whose places are taken by this answer until it is sent, or never will be.
        places: list[UserId] = []
        try:
            if route is routes.OPENAPI:
                await self._free_turns.wait_turn(_NOBODY)
                status, body, content_type = trade.OK, self._description, _YAML
            elif route is None and scope["raw_path"] == _METADATA and scope["method"] == "GET":
                await self._free_turns.wait_turn(_NOBODY)
                status, body = trade.OK, _metadata(origin_of(scope))
            elif route is None and scope["raw_path"] == _ROOT and scope["method"] == "GET":
                await self._free_turns.wait_turn(_NOBODY)
                status, body = HTTPStatus.TEMPORARY_REDIRECT, b""
                headers = [_TO_DESCRIPTION]
            else:
                answered = await self._answer(scope, receive, route, parameter, places)
                status, body, headers, code = answered
            if self._meter is not None:
                name = None if route is None else route.name
                self._meter(name, code, status, time.perf_counter() - begun)
            headers = [content_type, (_CONTENT_LENGTH, b"%d" % len(body)), *headers]
            whole = _whole_message(scope)
            if whole is None or not whole.write_response(status, headers, body):
                await send({"type": "http.response.start", "status": status, "headers": headers})
                await send({"type": "http.response.body", "body": body})
        except ClientGone:
            pass
        except ConnectionCut:
            await _cut(scope, receive)
        finally:
            for user_id in places:
                self._slots.release_slot(user_id)

    async def _answer(
        self,
        scope: Message,
        receive: Receive,
        route: Route | None,
        parameter: str | None,
        places: list[UserId],
    ) -> Answered:
        """The answer to one request. Raises ClientGone, ConnectionCut. places: gets the user of
        each place taken for the answer."""
        headers: Headers = []
        caller: Caller | None = None
        try:
            now_ns = self._venue.now_ns()
            caller = self._gate.authenticate(scope, now_ns)
            faults = self._venue.faults
            headers = charge(caller, now_ns, faults.bucket_limit, faults.throttled_s())
            user_id = authorize(caller, route)
            if route is None:
                raise Refusal(Code.MARKET_NOT_FOUND, "no such path or method")
            request = Request(
                self._venue,
                self._cursors,
                route,
                user_id,
                now_ns,
                parameter,
                scope["query_string"],
                partial(self._body, scope, receive, user_id),
            )
            status, body = await self._handled(request, places)
        except GateRefusal as refusal:
            if caller is not None and refusal.code is Code.RATE_LIMITED:
                await self._free_turns.wait_turn(caller.facts.bucket_id)
            return _error(refusal.code, refusal.message, headers + refusal.headers)
        except Refusal as refusal:
            return _error(refusal.code, refusal.message, headers)
        except EngineUnavailable:
            return _error(Code.ENGINE_UNAVAILABLE, "nothing was sequenced", headers)
        except EngineOverloaded:
            if caller is not None:
                headers = headers + pace_headers(caller, self._venue.now_ns())
            return _error(Code.ENGINE_OVERLOADED, "nothing was sequenced", headers)
        except ReplyLost:
            return _error(Code.RESULT_UNKNOWN, "the command may have been carried out", headers)
        except (ClientGone, ConnectionCut):
            raise
        except Exception as fault:  # noqa: BLE001 - one request's fault must not end the venue
            _report(fault, route)
            return _error(Code.INTERNAL_ERROR, INTERNAL_ERROR_TEXT, headers)
        return status, body, headers, None

    async def _body(self, scope: Message, receive: Receive, user_id: UserId) -> bytes:
        """The whole body of a write. One that takes long to read through waits for a turn."""
        whole = _whole_message(scope)
        body = None if whole is None else whole.body()
        if body is None:
            body = await read_body(scope["headers"], receive)
        elif len(body) > BODY_BYTES_MAX:
            raise _too_long(BODY_BYTES_MAX)
        if len(body) > _SHORT_BODY_BYTES_MAX:
            await self._turns.wait_turn(user_id)
        return body

    async def _handled(self, request: Request, places: list[UserId]) -> Response:
        read = READS.get(request.route)
        faults = self._venue.faults
        delay_ms, cleared = faults.reply_delay_ms(is_write=read is None), faults.delays_cleared
        failure: Exception | None = None
        try:
            if read is None:
                status, body = await WRITES[request.route](request)
            else:
                status, body = trade.OK, await self._read(request, read, places)
        except Exception as fault:  # noqa: BLE001 - raised again; a refusal is held back as well
            failure = fault
        if delay_ms:
            await self._held_back(delay_ms / _MS_PER_S, cleared)
        if failure is not None:
            raise failure
        return status, body

    async def _held_back(self, delay_s: float, cleared: int) -> None:
        """Wait for so long, or until the operator clears the latency fault. cleared: how often that
        was done before."""
        looks = math.ceil(delay_s / _DELAY_LOOK_S)
        for _ in range(looks):
            if self._venue.faults.delays_cleared != cleared:
                return
            await asyncio.sleep(delay_s / looks)

    async def _read(
        self,
        request: Request,
        read: Callable[[Request], bytes | Iterator[bytes]],
        places: list[UserId],
    ) -> bytes:
        """The body of a read. A long one has a place until it is sent; one in pieces makes each in
        a turn."""
        user_id = request.user_id
        await self._turns.wait_turn(user_id)
        made = read(request)
        if isinstance(made, bytes) and len(made) <= LONG_ANSWER_BYTES:
            return made
        if self._slots.is_full(user_id):
            made = b""  # free the memory of the stale answer while waiting
            await self._place(user_id)
            places.append(user_id)
            await self._turns.wait_turn(user_id)
            made = read(request)
        else:
            await self._slots.acquire_slot(user_id)
            places.append(user_id)
        if isinstance(made, bytes):
            return made
        pieces = []
        for piece in made:
            pieces.append(piece)
            await self._turns.wait_turn(user_id, again=True)
        return b"".join(pieces)

    async def _place(self, user_id: UserId) -> None:
        """Wait for a place. Raises ConnectionCut where there is none in time."""
        try:
            async with asyncio.timeout(LONG_ANSWER_WAIT_S):
                await self._slots.acquire_slot(user_id)
        except TimeoutError:
            raise ConnectionCut from None


def _whole_message(scope: Message) -> WholeMessage | None:
    extensions = scope.get("extensions")
    if not extensions or WHOLE_EXTENSION not in extensions:
        return None
    whole: WholeMessage = extensions[WHOLE_EXTENSION]["message"]
    return whole


def _report(fault: Exception, route: Route | None) -> None:
    # The text is made here: a console renderer would show local variables, and so the key.
    trace = "".join(traceback.format_exception(fault))
    _log.error("internal_error", route=None if route is None else route.name, traceback=trace)


async def _cut(scope: Message, receive: Receive) -> None:
    """Cut the connection, and wait until the server knows: it would answer on its own else."""
    scope["extensions"][ABORT_EXTENSION]["abort"]()
    while (await receive())["type"] != "http.disconnect":
        pass


def _metadata(origin: str) -> bytes:
    """What RFC 9728 says of a protected resource; no authorization server issues tokens (S27)."""
    return codec.encode(
        {
            "resource": origin,
            "scopes_supported": [scope.value for scope in routes.TokenScope],
            "bearer_methods_supported": ["header"],
        }
    )


def _error(code: Code, message: str, headers: Headers) -> Answered:
    return CODES[code].status, codec.encode(ErrorBody(code.value, message)), headers, code


def _find(method: str, raw_path: bytes) -> tuple[Route | None, str | None]:
    """The route that serves a path, and its variable segment; (None, None) when none does. Segments
    are split before they are decoded, so an escaped slash stays inside. One that cannot be decoded
    is None: no literal, and for the handler to refuse."""
    route = _BY_PATH.get((method, raw_path))
    if route is not None:
        return route, None
    if not raw_path.startswith(_PREFIX):
        return None, None
    pieces = raw_path[len(_PREFIX) :].split(b"/", _SEGMENTS_MAX)
    if len(pieces) > _SEGMENTS_MAX:
        return None, None
    segments = tuple([percent_decoded(raw) for raw in pieces])
    route = _BY_SHAPE.get((method, segments))
    if route is not None and None not in segments:
        return route, None
    if len(segments) <= _VARIABLE_AT:
        return None, None
    shape = (*segments[:_VARIABLE_AT], None, *segments[_VARIABLE_AT + 1 :])
    return _BY_SHAPE.get((method, shape)), segments[_VARIABLE_AT]


def _too_long(most: int) -> Refusal:
    return Refusal(Code.INVALID_REQUEST_BODY, f"request body: longer than {most} bytes")


async def read_body(headers: Headers, receive: Receive, most: int = BODY_BYTES_MAX) -> bytes:
    """The whole body, of which nothing beyond `most` bytes is read. Raises
    Refusal(invalid_request_body) if it is too long or late."""
    for name, value in headers:
        # A number of that many digits is too long without being read; int() would refuse some.
        if (
            name == _CONTENT_LENGTH
            and value.isdigit()
            and (len(value) > _LENGTH_DIGITS_MAX or int(value) > most)
        ):
            raise _too_long(most)
    body = b""
    try:
        async with asyncio.timeout(BODY_DEADLINE_S):
            more = True
            while more:
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise ClientGone
                body += message.get("body", b"")
                if len(body) > most:
                    raise _too_long(most)
                more = message.get("more_body", False)
    except TimeoutError:
        text = "request body: took too long"
        raise GateRefusal(Code.INVALID_REQUEST_BODY, text, [CLOSE]) from None
    return body
