"""The venue of a paper run: reads of the series and its books go to the real one, everything that
is ours to the local exchange, and the channel shows both together.

The real venue is reached by `PublicVenue` alone, which has no way to write.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

import msgspec
import structlog

from bot.core import messages as m
from bot.io.client.public import PUBLIC_READS, PublicRead, PublicVenue
from bot.io.client.rest import DRAIN_SLACK_S, REQUEST_S_MAX
from bot.io.run.connection import Connection, Emit, MarketChannel
from bot.lab.exchange.exchange import Response
from bot.lab.paper.exchange import PaperExchange, PaperFault
from venue.wire import instant, model
from venue.wire.instant import NS_PER_SECOND
from venue.wire.names import MarketId

Answered = Callable[[m.Response], None]
MayLeave = Callable[[], Awaitable[bool]]

_UNREAD_ROUND_TRIP_NS: Final = NS_PER_SECOND // 100
"""The round trip of an order before any read has been timed."""


class PaperVenue:
    """Carries the requests of one trader, and has its channel. Needs a running asyncio loop; end it
    with `drain`."""

    def __init__(
        self,
        public: PublicVenue,
        exchange: PaperExchange,
        latency_ns: int | None = None,
    ) -> None:
        """latency_ns: of an order there and back, 0 or more; None: as the newest read took."""
        self._public = public
        self._paper = exchange
        self._market = exchange.market
        self._latency_ns = latency_ns
        self._read_ns = _UNREAD_ROUND_TRIP_NS
        self._ours: set[asyncio.Task[None]] = set()
        self._reads: set[asyncio.Task[None]] = set()
        self._publish: Callable[[], None] = lambda: None
        self._log = structlog.stdlib.get_logger("bot")

    @property
    def connection(self) -> Connection:
        """What a runner is given."""
        return Connection(self, self._channel)

    def _channel(self, emit: Emit) -> MarketChannel:
        channel = PaperChannel(self._public, self._paper, emit)
        self._publish = channel.publish
        return channel

    # --- requests ---------------------------------------------------------------------------------

    def start(self, send: m.Send, answered: Answered, may_leave: MayLeave | None = None) -> None:
        """Begin a request; `answered` is called exactly once, later, with its Replied."""
        tasks = self._reads if isinstance(send.request, PUBLIC_READS) else self._ours
        task = asyncio.get_running_loop().create_task(self._run(send, answered, may_leave))
        tasks.add(task)
        task.add_done_callback(tasks.discard)

    async def _run(self, send: m.Send, answered: Answered, may_leave: MayLeave | None) -> None:
        tokens_limit: int | None = None
        try:
            if may_leave is not None and not await may_leave():
                refused = m.Rejected(0, "", "not in the journal in time, so not sent")
                response = Response(refused, None, None)
            elif isinstance(send.request, PUBLIC_READS):
                response, tokens_limit = await self._read(send, send.request)
            else:
                response = await self._carry_out(send)
        except PaperFault as fault:
            response = Response(m.Unknown(str(fault)), None, None)
        except Exception:  # noqa: BLE001 - the task's boundary: every request has its answer
            self._log.exception("paper_failed", at=type(send.request).__name__)
            response = Response(m.Unknown("a fault of ours"), None, None)
        reply = m.Response(
            send.request_id, response.answer, response.tokens, response.away_ns, tokens_limit
        )
        answered(reply)

    async def _carry_out(self, send: m.Send) -> Response:
        """A request that is of our account."""
        latency_ns = self._read_ns if self._latency_ns is None else self._latency_ns
        one_way_s = latency_ns / 2 / NS_PER_SECOND
        await asyncio.sleep(one_way_s)
        response = self._paper.exchange.answer(send, self._paper.clock.now_ns())
        self._publish()
        await self._paper.durable()
        await asyncio.sleep(one_way_s)
        return response

    async def _read(self, send: m.Send, request: PublicRead) -> tuple[Response, int | None]:
        """A read that goes to the venue, and how many tokens its key can have. It costs one of
        ours as well: a live run has one bucket for both."""
        exchange, clock = self._paper.exchange, self._paper.clock
        refused = exchange.refused_for_pace(send.key, clock.now_ns())
        if refused is not None:
            return refused, None
        loop = asyncio.get_running_loop()
        begun_s = loop.time()
        reply = await self._public.read(request)
        answer, tokens = reply.answer, exchange.tokens_left(send.key)
        if reply.tokens_left is not None:
            tokens = min(tokens, reply.tokens_left)
        if isinstance(answer, m.Ok):
            self._read_ns = round((loop.time() - begun_s) * NS_PER_SECOND)
            answer = m.Ok(self._seen(answer.body))
            await self._paper.durable()
        return Response(answer, tokens, reply.retry_after_ns), reply.tokens_limit

    def _seen(self, body: m.Body) -> m.Body:
        """What was read of the market, followed here; as the trader is to see it."""
        if isinstance(body, m.SeriesBody):
            held = {market_id for (market_id, _), qty in self._market.account.shares.items() if qty}
            self._market.on_series(body.events, self._paper.clock.now_ns())
            self._tell_paid(body.events, held)
        elif isinstance(body, m.BookBody):
            body = m.BookBody(self._book(body.book))
        self._publish()
        return body

    def _book(self, read: model.Orderbook) -> model.Orderbook:
        """A book that was read, with our orders in it and of our time. One that is older than the
        newest frame stays as much older."""
        market_id, as_of_ns = read.market_id, instant.to_ns(read.as_of)
        depth = self._market.depths.get(market_id)
        if depth is None or read.as_of == instant.ZERO:
            return read  # not listed yet, or it never traded: nothing is known
        rows = (tuple((each.price, each.size) for each in side) for side in (read.bids, read.asks))
        now_ns = self._paper.clock.now_ns()
        self._market.on_frame(m.BookUpdate(market_id, as_of_ns, *rows), now_ns)
        bids, asks, _ = self._market.shown_book(market_id, now_ns)
        older_ns = max(0, depth.at_ns - depth.venue_ns(as_of_ns))
        return msgspec.structs.replace(
            read,
            as_of=instant.from_ns(now_ns - older_ns),
            bids=tuple(model.Level(*each) for each in bids),
            asks=tuple(model.Level(*each) for each in asks),
        )

    def _tell_paid(self, events: tuple[model.Event, ...], held: set[MarketId]) -> None:
        """Log what a market of which shares were held was taken to pay: the venue shows no
        winner."""
        for market in (each for event in events for each in event.markets):
            if market.state is model.MarketState.RESOLVED and market.market_id in held:
                self._log.warning(
                    "paper_market_paid",
                    ticker=market.ticker,
                    cash_cents=self._paper.exchange.cash_cents,
                    advice="the venue names no winner: paid by the last price",
                )

    # --- the end ----------------------------------------------------------------------------------

    async def drain(self, reads_s: float | None = None) -> int:
        """Wait for every request under way, then close venue and account. reads_s: seconds that
        reads at the venue are waited for; None: as long as they take.

        Returns how many of our own requests have no answer even so.
        """
        longest_s = REQUEST_S_MAX + DRAIN_SLACK_S
        await _wait(self._ours, longest_s)
        await _wait(self._reads, longest_s if reads_s is None else reads_s)
        await self._public.drain()
        await _wait(self._reads, DRAIN_SLACK_S)
        unanswered = len(self._ours)
        self._paper.close()
        return unanswered


async def _wait(tasks: set[asyncio.Task[None]], longest_s: float) -> None:
    loop = asyncio.get_running_loop()
    until_s = loop.time() + longest_s
    while tasks and (left_s := until_s - loop.time()) > 0:
        await asyncio.wait(tasks, timeout=left_s)


class PaperChannel:
    """The venue's channel with our own orders and trades in it. What it loses is lost here, too."""

    def __init__(self, public: PublicVenue, exchange: PaperExchange, emit: Emit) -> None:
        self._paper = exchange
        self._market = exchange.market
        self._emit = emit
        self._feed = public.channel(self._on_event)
        self._followed: frozenset[MarketId] = frozenset()
        self._is_open = False

    def subscribe(self, wish: m.SubscribeTo) -> None:
        """Make the set exactly this. What is no longer in it is not seen until it is again."""
        followed = frozenset(wish.rungs)
        self._market.on_gap(self._followed - followed)
        self._followed = followed
        self._feed.subscribe(wish)

    async def run(self) -> None:
        """Listen until cancelled. Raises PaperFault when the account cannot be written."""
        parts = [asyncio.ensure_future(part) for part in (self._feed.run(), self._paper.failed())]
        try:
            await asyncio.wait(parts, return_when=asyncio.FIRST_COMPLETED)
            for part in parts:
                if part.done():
                    part.result()
        finally:
            for part in parts:
                part.cancel()
            await asyncio.gather(*parts, return_exceptions=True)

    def publish(self) -> None:
        """Emit what has changed since the last time."""
        frames = self._market.frames(self._paper.clock.now_ns())
        for event in frames if self._is_open else ():
            if isinstance(event, m.BookUpdate | m.Trade) and event.market_id in self._followed:
                self._emit(event)

    def _on_event(self, event: m.Event) -> None:
        match event:
            case m.BookUpdate() | m.Trade():
                if isinstance(event, m.Trade):
                    self._paper.clock.on_print(event.ts_ns)
                self._market.on_frame(event, self._paper.clock.now_ns())
                self.publish()
                return
            case m.FeedOpened():
                self._is_open = True
            case m.FeedClosed():
                self._is_open = False
                self._market.on_gap(self._market.markets)
            case _:
                pass
        self._emit(event)
