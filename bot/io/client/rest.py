"""One request to the venue and exactly one answer: the only place that speaks HTTP for the bot.

No cancel scope ever encloses a request: a cancelled request loses its answer and leaks its
connection. No redirect is followed and nothing is retried here.
"""

import asyncio
import time
from collections.abc import Callable, Mapping
from typing import Final, assert_never

import httpx
import msgspec

from bot.core import messages as m
from bot.core.orders.outbox import TOO_MANY, WAIT_DEFAULT_NS
from bot.io.adapter import (
    DRAIN_SLACK_S,
    NOT_JOURNALED,
    REQUEST_S_MAX,
    Answered,
    MayLeave,
    OrderClient,
)
from bot.io.client.answers import answer_of, is_write, plain, retry_after_ns, tokens_left
from bot.io.client.sockets import LAST_LOOK, PreSendCheck, is_early, transport, whole_within
from bot.io.clock import Clock
from bot.io.secret import MASK, Secret
from venue.wire import codec, limits, names, routes
from venue.wire.errors import CODES
from venue.wire.instant import NS_PER_SECOND

TIMEOUTS: Final = httpx.Timeout(connect=2.0, read=5.0, write=2.0, pool=1.0)
KEEPALIVE_S: Final = 4.0
"""Idle connections close before the usual server's five seconds are over."""

LEAVE_S: Final = 2.0
"""A create or amend that was not sent after so long is stale and is not sent."""

BODY_BYTES_MAX: Final = 8 * 1024 * 1024
_READS_IN_FLIGHT: Final = 16
_TURN_S: Final = 0.05
"""A wait is shortened by this much, because the loop's clock does not advance within a turn."""

_PATIENCE: Final = "the venue asks to wait, so not sent"
_TOO_OLD: Final = "decided too long ago, so not sent"

_POISONED: Final = 2
"""So many requests in a row without a connection, although fewer are in flight than there are
connections: some have leaked, and the client is replaced."""

NEVER_LEFT: Final = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)
"""Failures before the first byte of a request: nothing was carried out."""


class Reply(msgspec.Struct, frozen=True):
    """A complete HTTP answer, or why there is none."""

    answer: m.Answer
    tokens_left: int | None = None
    retry_after_ns: int | None = None
    tokens_limit: int | None = None


class _HttpCall(msgspec.Struct, frozen=True):
    method: str
    path: str
    query: dict[str, str | int] = {}
    body: bytes | None = None


class _Client:
    """The connections and their users; closed when it is retired and unused."""

    __slots__ = ("http", "retired", "users")

    def __init__(self, http: httpx.AsyncClient) -> None:
        self.http = http
        self.users = 0
        self.retired = False

    async def left(self) -> None:
        self.users -= 1
        if self.retired and not self.users:
            await self.http.aclose()


class BadSegment(Exception):
    """An id that must not be part of a path: it could name another route."""


class Rest(OrderClient):
    """The client of the interface for one account. Needs a running loop; end it with `drain`.

    key: for writes, and for reads unless `others` has one. requests_in_flight: most writes at once.
    request_s: timeout of a whole request. leave_s: age beyond which a create or amend is not sent.
    """

    def __init__(
        self,
        base_url: str,
        key: Secret,
        requests_in_flight: int,
        *,
        others: Mapping[m.Key, Secret] | None = None,
        timeouts: httpx.Timeout = TIMEOUTS,
        request_s: float = REQUEST_S_MAX,
        leave_s: float = LEAVE_S,
        sane_only: bool = True,
        wall_s: Callable[[], float] = time.time,
    ) -> None:
        self._base_url = base_url
        self._origin = _origin(httpx.URL(base_url))
        self._keys = {m.Key.TRADE: key, **(others or {})}
        self._wall_s = wall_s
        self._tasks: set[asyncio.Task[None]] = set()
        self._reads: set[asyncio.Task[None]] = set()  # those of `_tasks` that change nothing
        self._connections = requests_in_flight + _READS_IN_FLIGHT
        self._timeouts = timeouts
        self._request_s = request_s
        self._leave_ns = round(leave_s * NS_PER_SECOND)
        self._clock = Clock()
        self._sane_only = sane_only
        self._starved = 0
        self._shut_until_s: dict[m.Key, float] = {}
        self._client = self._fresh_client()

    def _fresh_client(self) -> _Client:
        most = httpx.Limits(
            max_connections=self._connections,
            max_keepalive_connections=self._connections,
            keepalive_expiry=KEEPALIVE_S,
        )
        http = httpx.AsyncClient(
            transport=transport(most),
            timeout=self._timeouts,
            follow_redirects=False,
            # No proxy and no netrc out of the environment.
            trust_env=False,
            # Asked for plain, a body cannot unpack into more than was sent.
            headers={"Accept": "application/json", "Accept-Encoding": "identity"},
        )
        return _Client(http)

    def _key_for(self, request: m.Request) -> m.Key:
        splits = m.Key.READ in self._keys and not is_write(request)
        return m.Key.READ if splits else m.Key.TRADE

    @property
    def in_flight(self) -> int:
        return len(self._tasks)

    def start(self, send: m.Send, answered: Answered, may_leave: MayLeave | None = None) -> None:
        run = self._run(send, answered, may_leave, self._clock.now_ns())
        task = asyncio.get_running_loop().create_task(run)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        if not is_write(send.request):
            self._reads.add(task)
            task.add_done_callback(self._reads.discard)

    async def _run(
        self,
        send: m.Send,
        answered: Answered,
        may_leave: MayLeave | None,
        begun_ns: int,
    ) -> None:
        if may_leave is None or await may_leave():
            reply = await self.ask(send.request, send.key, begun_ns)
        else:
            reply = Reply(NOT_JOURNALED)
        told = (reply.tokens_left, reply.retry_after_ns, reply.tokens_limit)
        answered(m.Response(send.request_id, reply.answer, *told))

    async def ask(
        self, request: m.Request, key: m.Key | None = None, begun_ns: int | None = None
    ) -> Reply:
        """Perform one request. Raises nothing: a fault is an answer, and no key of ours is in its
        text.

        key: None is the default one. begun_ns: when it was decided, None is now.
        """
        reply = await self._asked(request, key, begun_ns)
        answer = self._masked(reply.answer)
        return reply if answer is reply.answer else msgspec.structs.replace(reply, answer=answer)

    async def _asked(self, request: m.Request, key: m.Key | None, begun_ns: int | None) -> Reply:
        begun_ns = self._clock.now_ns() if begun_ns is None else begun_ns
        key = self._key_for(request) if key is None else key
        secret = self._keys.get(key)
        if secret is None:
            return Reply(m.Rejected(0, "", f"there is no {key} key"))
        try:
            call = _call_of(request)
        except BadSegment as fault:
            return Reply(m.Rejected(0, "", str(fault)))
        if held := self._held(key):
            return held
        client = self._client
        client.users += 1
        loop = asyncio.get_running_loop()
        until_s = loop.time() + self._request_s
        look = LAST_LOOK.set(PreSendCheck(lambda: self._holds(request, key, begun_ns)))
        try:
            with whole_within(self._request_s):
                reply = await self._perform(client.http, request, call, key)
            self._starved = 0
            return reply
        except NEVER_LEFT as fault:
            self._starve(client, fault)
            return self._held(key) or Reply(m.Rejected(0, "", _named(fault)))
        except httpx.HTTPError as fault:
            if loop.time() >= until_s:
                return Reply(m.Unknown(f"an endless answer: not whole in {self._request_s:g} s"))
            return Reply(m.Unknown(_named(fault)))
        except Exception as fault:  # noqa: BLE001 - it may have been sent: only Unknown is safe
            return Reply(m.Unknown(f"fault of ours: {_named(fault)}"))
        finally:
            LAST_LOOK.reset(look)
            await client.left()

    def _masked(self, answer: m.Answer) -> m.Answer:
        """The answer without our keys in its text: journal, pages and logs have it."""
        match answer:
            case m.Rejected():
                code = answer.code if answer.code in CODES else self._without_keys(answer.code)
                message = self._without_keys(answer.message)
                same = (code, message) == (answer.code, answer.message)
                return answer if same else m.Rejected(answer.status, code, message)
            case m.Unknown():
                reason = self._without_keys(answer.reason)
                return answer if reason == answer.reason else m.Unknown(reason)
            case m.Ok():
                return answer

    def _without_keys(self, text: str) -> str:
        for secret in self._keys.values():
            text = text.replace(secret.reveal(), MASK)
        return text

    def _holds(self, request: m.Request, key: m.Key, begun_ns: int) -> str:
        """Why a request is held back now; empty when it is sent."""
        if self._shut_s(key):
            return _PATIENCE
        if not isinstance(request, m.Create | m.AmendResting):
            return ""
        if isinstance(request, m.Create) and request.again:
            return ""  # a retry: it shows the fate of the first one, however late
        return _TOO_OLD if self._clock.now_ns() > begun_ns + self._leave_ns else ""

    def _shut_s(self, key: m.Key) -> float:
        """For how much longer a key's rate limit throttles us; 0 when it does not."""
        until_s = self._shut_until_s.get(key, 0.0)
        return max(0.0, until_s - asyncio.get_running_loop().time())

    def _held(self, key: m.Key) -> Reply | None:
        if shut_s := self._shut_s(key):
            waits_ns = round(shut_s * NS_PER_SECOND)
            return Reply(m.Rejected(0, "", _PATIENCE), retry_after_ns=waits_ns)
        return None

    def _shut(self, key: m.Key, waits_ns: int | None) -> None:
        """A 429 was read: nothing is sent on its key for as long as it says."""
        wait_s = (WAIT_DEFAULT_NS if waits_ns is None else waits_ns) / NS_PER_SECOND - _TURN_S
        until_s = asyncio.get_running_loop().time() + wait_s
        self._shut_until_s[key] = max(until_s, self._shut_until_s.get(key, 0.0))

    def _starve(self, client: _Client, fault: Exception) -> None:
        """A request found no connection: replace a client whose connections have leaked."""
        if not isinstance(fault, httpx.PoolTimeout) or client.users > self._connections:
            self._starved = 0
            return
        self._starved += 1
        if self._starved >= _POISONED and client is self._client:
            self._starved = 0
            client.retired = True
            self._client = self._fresh_client()

    async def _perform(
        self, http: httpx.AsyncClient, request: m.Request, call: _HttpCall, key: m.Key
    ) -> Reply:
        url = httpx.URL(self._base_url + call.path, params=call.query or None)
        # The key is for one origin only; the path was checked, this says it once more.
        if _origin(url) != self._origin:
            return Reply(m.Rejected(0, "", "the address left the configured origin"))
        headers = {routes.API_KEY_HEADER: self._keys[key].reveal()}
        if call.body is not None:
            headers["Content-Type"] = "application/json"
        built = http.build_request(call.method, url, content=call.body, headers=headers)
        response = await http.send(built, stream=True)
        try:
            if is_early(response):
                # Left behind by an earlier request, whose answer came twice; not to be read to its
                # end, so that the connection is closed and not kept.
                return Reply(m.Unknown("the answer was there before the request"))
            waits_ns = retry_after_ns(response.headers, self._wall_s())
            if response.status_code == TOO_MANY:
                self._shut(key, waits_ns)
            body = bytearray()
            async for chunk in response.aiter_raw():
                body += chunk
                if len(body) > BODY_BYTES_MAX:
                    return Reply(m.Unknown(f"{response.status_code} with an endless body"))
        finally:
            await response.aclose()
        status = response.status_code
        answer = answer_of(request, status, bytes(body), sane_only=self._sane_only)
        limit = tokens_left(response.headers, routes.LIMIT_HEADER)
        return Reply(answer, tokens_left(response.headers), waits_ns, limit)

    async def drain(self, reads_s: float | None = None) -> int:
        loop = asyncio.get_running_loop()
        until_s = loop.time() + self._request_s + DRAIN_SLACK_S
        await self._wait(lambda: self._tasks - self._reads, until_s)
        if reads_s is not None:
            until_s = min(until_s, loop.time() + reads_s)
        await self._wait(lambda: self._tasks, until_s)
        hanging = self._tasks & self._reads
        unanswered = len(self._tasks) - (0 if reads_s is None else len(hanging))
        await self._client.http.aclose()
        if reads_s is not None:
            # Their connections are gone, so that each has its answer now.
            await self._wait(lambda: hanging & self._tasks, loop.time() + DRAIN_SLACK_S)
        return unanswered

    async def _wait(self, left: Callable[[], set[asyncio.Task[None]]], until_s: float) -> None:
        """Wait for these requests, and those that begin meanwhile, until then at most."""
        loop = asyncio.get_running_loop()
        while (tasks := left()) and (left_s := until_s - loop.time()) > 0:
            await asyncio.wait(tasks, timeout=left_s)


def _named(fault: Exception) -> str:
    """The kind of a fault and its text; httpx puts no header into either."""
    return f"{type(fault).__name__}: {plain(str(fault))}".removesuffix(": ")


def _origin(url: httpx.URL) -> tuple[str, str, int | None]:
    return url.scheme, url.host, url.port


def _call(route: routes.Route, body: bytes | None = None, **segments: str) -> _HttpCall:
    """Raises BadSegment for a text that must not be part of a path."""
    for text in segments.values():
        if not names.is_path_segment(text):
            raise BadSegment(f"not fit for a path: {plain(text)!r}")
    return _HttpCall(route.method, route.path.format(**segments), body=body)


def _order_call(route: routes.Route, order_id: str, body: bytes | None = None) -> _HttpCall:
    if not names.is_order_id(order_id):
        raise BadSegment(f"not an order id: {plain(order_id)!r}")
    return _HttpCall(route.method, route.path.format(order_id=order_id), body=body)


def _page(route: routes.Route, cursor: str, limit: int, **query: str) -> _HttpCall:
    more: dict[str, str | int] = {**query, "limit": limit}
    if cursor:
        more["cursor"] = cursor
    return _HttpCall(route.method, route.path, more)


def _call_of(request: m.Request) -> _HttpCall:
    """The HTTP form of a request. Raises BadSegment for an id that cannot be part of a path."""
    match request:
        case m.Create():
            return _call(routes.CREATE_ORDER, codec.encode_new_order(request.order))
        case m.AmendResting():
            body = codec.encode_amend(request.amend)
            return _order_call(routes.AMEND_ORDER, request.order_id, body)
        case m.CancelResting():
            return _order_call(routes.CANCEL_ORDER, request.order_id)
        case m.ReadOrder():
            return _order_call(routes.GET_ORDER, request.order_id)
        case m.ReadResting():
            return _page(
                routes.LIST_ORDERS, request.cursor, limits.PAGE_LIMIT_MAX, status="resting"
            )
        case m.ReadFills():
            # Read every second from the newest on: a long page would be mostly known rows. Where it
            # goes on it is history, of which as much as can be is to fit into a walk.
            most = limits.PAGE_LIMIT_MAX if request.cursor else limits.PAGE_LIMIT_DEFAULT
            return _page(routes.FILLS, request.cursor, most)
        case m.ReadPositions():
            return _page(routes.POSITIONS, request.cursor, limits.PAGE_LIMIT_MAX)
        case m.ReadBalance():
            return _call(routes.BALANCE)
        case m.ReadSeries():
            page = _page(routes.GET_EVENT, request.cursor, limits.PAGE_LIMIT_MAX)
            call = _call(routes.GET_EVENT, event_ticker=request.series_ticker)
            return msgspec.structs.replace(call, query=page.query)
        case m.ReadBook():
            return _call(routes.ORDERBOOK, market_id=request.market_id)
        case _:
            assert_never(request)
