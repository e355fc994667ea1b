"""The venue of a virtual world: the real server, engine and channel, listening in memory.

`Site.watch` sees every command carried out; a `Bend` may change what goes over the wire, which is
how a venue behaves otherwise than ours. A small seeded crowd trades from inside.
"""

import asyncio
import hashlib
import random
from collections.abc import Awaitable, Callable
from typing import Any

from uvicorn.config import Config
from uvicorn.server import ServerState

from tests.builders.shell.loop import VirtualLoop
from tests.builders.shell.net import Network
from tests.builders.shell.truth import MAKER, Truth
from venue.engine import messages as v
from venue.listen import KEEP_ALIVE_TIMEOUT_S, HttpProtocol, StreamProtocol
from venue.rest.app import WHOLE_EXTENSION, make_app
from venue.rest.venue_port import EngineUnavailable
from venue.server import VenueServer
from venue.storage.recovery import OpenedState, fresh
from venue.stream.socket import make_stream
from venue.wire.limits import MESSAGE_BYTES_MAX
from venue.wire.model import EventStatus
from venue.wire.money import Cents, FeeRate, Outcome, Price, Qty, Side
from venue.wire.names import ClientOrderId, MarketId, OrderId, ProjectId, Ticker, UserId
from venue.wire.requests import QtyOrder, TimeInForce
from venue.wire.routes import KeyScope

HOST, PORT = "127.0.0.1", 8_001
BASE_URL = f"http://{HOST}:{PORT}/v1"
STREAM_URL = f"ws://{HOST}:{PORT}/v1/stream"
KEY = "lm_shell_canary_0123456789"
SERIES = Ticker("ACME-VAL")
PROJECT = ProjectId("aaaaaaaa-0000-4000-8000-000000000001")
FLOOR, TAKER, OTHER = UserId("floor"), UserId("taker"), UserId("other")
CASH_CENTS = 1_000_000
_FLOOR_QTY = 40

Message = dict[str, Any]
Answered = tuple[int, list[tuple[bytes, bytes]], bytes]
Forward = Callable[[str, str, bytes, bytes], Awaitable[Answered]]


class Bend:
    """What a venue does otherwise; as it stands, nothing. `site` is set before the first call."""

    site: "Site"

    async def rest(
        self, method: str, path: str, query: bytes, body: bytes, ask: Forward
    ) -> Answered:
        """Answer a request; `ask` asks the real venue, as often as is wanted.

        path: without the version segment. Returns status, headers and body.
        """
        return await ask(method, path, query, body)

    def frames(self, text: str) -> list[str]:
        """What is sent on the channel in place of a frame."""
        return [text]


def rung_id(number: int) -> MarketId:
    return MarketId(f"bbbbbbbb-0000-4000-8000-{number:012d}")


def opening(rungs: int, rate: str) -> list[Any]:
    """One company, one event with its rungs, the maker with a key, and a crowd with cash."""
    event, fee = Ticker(f"{SERIES}-27Q1"), FeeRate.parse(rate)
    commands: list[Any] = [
        v.ListCompany(PROJECT, "Acme", "ACME"),
        v.ListEvent(
            event_ticker=event,
            series_ticker=SERIES,
            project_market_id="cccccccc-0000-4000-8000-000000000000",
            project_id=PROJECT,
            title="Acme at the end of the quarter",
            category="valuation",
            status=EventStatus.OPEN,
            mutually_exclusive=False,
            resolution_date_ns=1_900_000_000 * 10**9,
        ),
    ]
    for number in range(rungs):
        strike = str(100 + 25 * number)
        commands.append(
            v.ListMarket(
                market_id=rung_id(number),
                ticker=Ticker(f"{event}-{strike}B"),
                event_ticker=event,
                name=f"above {strike}",
                outcome_label="above",
                maker_fee_rate=fee,
                taker_fee_rate=fee,
                strike_value=strike,
                strike_unit="USD billions",
            )
        )
    for user in (MAKER, FLOOR, TAKER, OTHER):
        cash = CASH_CENTS if user == MAKER else 1_000 * CASH_CENTS
        commands += [v.AddUser(user), v.Deposit(user, Cents(cash))]
    hashed = hashlib.sha256(KEY.encode()).hexdigest()
    commands.append(v.AddKey(hashed, KEY[:8], MAKER, (KeyScope.READ, KeyScope.TRADE)))
    return commands


class _WatchedVenue(VenueServer):
    """The venue, telling about every command it carries out."""

    def __init__(self, held: OpenedState) -> None:
        super().__init__(5, 5, held)
        self.watchers: list[Callable[[v.Command, v.Answer, list[v.Event], int], None]] = []

    def _carry_out(self, command: Any, now_ns: int) -> v.Answer:
        answer, events = self._exchange.apply_command(command, now_ns)
        for watcher in self.watchers:
            watcher(command, answer, events, now_ns)
        if events:
            self._projector.publish(events, now_ns)
        return answer


class Site:
    """A venue and its crowd. Made inside the loop; `run` serves until it is cancelled."""

    def __init__(
        self,
        loop: VirtualLoop,
        network: Network,
        *,
        seed: int = 0,
        rungs: int = 2,
        rate: str = "0.0100",
        bend: Bend | None = None,
        stream_path: str = "/v1/stream",
    ) -> None:
        held = OpenedState(fresh(b"o" * 32), b"c" * 32)
        self.venue = _WatchedVenue(held)
        self.truth = Truth()
        self.venue.watchers.append(self.truth.applied)
        self.venue.open_with(opening(rungs, rate))
        self.markets = [rung_id(number) for number in range(rungs)]
        self.crowd = Crowd(self.venue, self.markets, random.Random(f"crowd {seed}"))
        self.requests: list[tuple[str, str, bytes]] = []
        self._bend = Bend() if bend is None else bend
        self._bend.site = self
        self._stream_path = stream_path
        self._loop = loop
        self.bot_began_s = float("inf")
        self._rest = make_app(self.venue)
        self._stream = make_stream(self.venue.hub, self.venue.now_ns)
        config = Config(
            self._app, loop="none", http=HttpProtocol, ws=StreamProtocol, lifespan="off",
            ws_max_size=MESSAGE_BYTES_MAX, ws_per_message_deflate=False,
            ws_ping_interval=None, log_config=None, access_log=False,
            timeout_keep_alive=KEEP_ALIVE_TIMEOUT_S, interface="asgi3", proxy_headers=False,
        )  # fmt: skip
        config.load()
        self._state = ServerState()
        network.listen(HOST, PORT, lambda: HttpProtocol(config, self._state, {}, loop))

    async def run(self) -> None:
        await self.venue.run()

    def age_s(self) -> float:
        """Virtual seconds since the bot began; below zero before."""
        return self._loop.time() - self.bot_began_s

    def withdraw(self, order_id: str) -> None:
        """The venue ends an order of the maker's by itself, at once."""
        self.operate(v.CancelOrder(MAKER, OrderId(order_id)))

    def operate(self, command: Any) -> None:
        self.venue._carry_out(command, self.venue.now_ns())
        self.venue._published.set()

    async def _app(self, scope: Message, receive: Any, send: Any) -> None:
        if scope["type"] != "websocket":
            await self._bent(scope, receive, send)
            return

        async def bent(message: Message) -> None:
            if message["type"] != "websocket.send":
                await send(message)
                return
            for text in self._bend.frames(message["text"]):
                await send({"type": "websocket.send", "text": text})

        if scope["path"] == self._stream_path:
            scope = {**scope, "path": "/v1/stream"}
        elif scope["path"] == "/v1/stream":
            scope = {**scope, "path": "/v1/nowhere"}
        await self._stream(scope, receive, bent)

    async def _bent(self, scope: Message, receive: Any, send: Any) -> None:
        body, more = b"", True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                return
            body += message.get("body", b"")
            more = message.get("more_body", False)
        path = scope["raw_path"].decode().removeprefix("/v1")
        self.requests.append((scope["method"], path, body))
        try:
            status, headers, body = await self._bend.rest(
                scope["method"], path, scope["query_string"], body, self._asker(scope)
            )
        except _Cut:
            while (await receive())["type"] != "http.disconnect":
                pass
            return
        headers = [(k, val) for k, val in headers if k.lower() != b"content-length"]
        length = (b"content-length", str(len(body)).encode())
        await send({"type": "http.response.start", "status": status, "headers": [*headers, length]})
        await send({"type": "http.response.body", "body": body})

    def _asker(self, scope: Message) -> Forward:
        async def ask(method: str, path: str, query: bytes, body: bytes) -> Answered:
            raw = f"/v1{path}".encode()
            head = [(k, val) for k, val in scope["headers"] if k != b"content-length"]
            head.append((b"content-length", str(len(body)).encode()))
            # Bodies and answers go through here: not past it, to the connection.
            extensions = {
                name: each for name, each in scope["extensions"].items() if name != WHOLE_EXTENSION
            }
            inner = {**scope, "method": method, "raw_path": raw, "path": raw.decode(),
                     "query_string": query, "headers": head, "extensions": extensions}  # fmt: skip
            said: list[Message] = []
            left = [{"type": "http.request", "body": body, "more_body": False}]

            async def receive() -> Message:
                return left.pop() if left else {"type": "http.disconnect"}

            async def send(message: Message) -> None:
                said.append(message)

            await self._rest(inner, receive, send)
            if not said:
                raise _Cut
            return said[0]["status"], said[0]["headers"], said[1]["body"]

        return ask


class _Cut(Exception):
    """The connection was cut in place of an answer."""


class Crowd:
    """A floor under every rung, and takers around a value that wanders."""

    def __init__(self, venue: VenueServer, markets: list[MarketId], rng: random.Random) -> None:
        self._venue = venue
        self._rng = rng
        self._made = 0
        self.value = {market: 65.0 - 18.0 * number for number, market in enumerate(markets)}

    async def open(self) -> None:
        """One deal on every rung, and quotes of others well away from its value."""
        for market, value in self.value.items():
            price = round(value)
            await self.place(OTHER, market, Outcome.NO, 100 - price, 1)
            await self.place(TAKER, market, Outcome.YES, price, 1, TimeInForce.IOC)
            await self.place(FLOOR, market, Outcome.YES, price - 5, _FLOOR_QTY)
            await self.place(FLOOR, market, Outcome.NO, 100 - price - 5, _FLOOR_QTY)

    async def shift(self, cents: int) -> None:
        """A better bid and a worse offer than the floor's, so that the microprice moves."""
        for market in self.value:
            self.value[market] += cents
            await self.place(OTHER, market, Outcome.YES, round(self.value[market]) - 4, _FLOOR_QTY)

    async def trade(self, per_s: float, until_s: float) -> None:
        """Impatient buyers of either outcome, until an instant of the loop."""
        loop, rng = asyncio.get_running_loop(), self._rng
        while True:
            await asyncio.sleep(rng.expovariate(per_s))
            if loop.time() >= until_s:
                return
            market = rng.choice(list(self.value))
            self.value[market] = min(85.0, max(15.0, self.value[market] + rng.gauss(0.0, 0.4)))
            outcome = rng.choice((Outcome.YES, Outcome.NO))
            value = self.value[market] if outcome is Outcome.YES else 100 - self.value[market]
            price, qty = round(value + rng.uniform(1.0, 5.0)), rng.randint(1, 9)
            await self.place(TAKER, market, outcome, price, qty, TimeInForce.IOC)

    async def place(
        self,
        user: UserId,
        market: MarketId,
        outcome: Outcome,
        price: int,
        qty: int,
        tif: TimeInForce = TimeInForce.GTC,
    ) -> None:
        """A buy of somebody; whether it is taken does not matter."""
        self._made += 1
        name = ClientOrderId(f"crowd-{self._made}")
        order = QtyOrder(market, outcome, Side.BUY, Price(price), Qty(qty), tif, name)
        try:
            await self._venue.submit(v.PlaceOrder(user, order))
        except EngineUnavailable:
            return
