"""A paper run on a live feed: the market is the venue's, our orders and our cash stay here.

Reads of the series and its books go to the venue by `PublicVenue`, which cannot write. Ours goes to
a local exchange, and the channel shows both. Changes are in a command log (`venue.storage`) before
anybody is answered, so the next run has the same account. The log has no market: nothing fills
until a new book, and then our orders are behind everything in it.
"""

import asyncio
from collections.abc import Callable
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Final

import msgspec
import structlog

from bot.core import messages as m
from bot.core.market_data.market_state import VenueClock
from bot.io.adapter import (
    DRAIN_SLACK_S,
    NOT_JOURNALED,
    REQUEST_S_MAX,
    Answered,
    Connection,
    Emit,
    MarketChannel,
    MayLeave,
    OrderClient,
)
from bot.io.client.preflight import PUBLIC_READS, PublicRead, PublicVenue
from bot.io.faults import OperatorError
from bot.lab.exchange.assumptions import Terms
from bot.lab.exchange.exchange import MAKER, Response
from bot.lab.exchange.live import LiveMarket
from bot.lab.exchange.queue_model import QueueModel
from venue.engine import messages as v
from venue.storage.log import CommandLog, LogBroken, LogFull
from venue.storage.record import LogRecord, StateFault
from venue.storage.statedir import StateDir
from venue.wire import instant, model
from venue.wire.instant import NS_PER_SECOND
from venue.wire.money import Cents
from venue.wire.names import MarketId

FOLDER: Final = "account"  # in the state directory of the run
_FORGOTTEN_EVERY: Final = 1_000  # commands of the log
_LATE_NS_MAX: Final = 60 * NS_PER_SECOND
_UNREAD_ROUND_TRIP_NS: Final = NS_PER_SECOND // 100  # before any read has been timed


class PaperFault(OperatorError):
    """The paper account cannot be read or written."""


class PaperClock:
    """The exchange's time: the bot's clock less the current latency of the venue's prints, so that
    the trader sees the feed latency as it is. It never steps back."""

    def __init__(self, now_ns: Callable[[], int]) -> None:
        self._now_ns = now_ns
        self._venue = VenueClock()
        self._late_ns = 0
        self._reached_ns = 0

    def on_print(self, ts_ns: int) -> None:
        now_ns = self._now_ns()
        self._venue.on_stamp(ts_ns, now_ns)
        ahead_ns = self._venue.ahead_ns
        if ahead_ns is not None:
            self._late_ns = min(max(0, now_ns + ahead_ns - ts_ns), _LATE_NS_MAX)

    def advance(self, at_ns: int) -> None:
        self._reached_ns = max(self._reached_ns, at_ns)

    def exchange_ns(self) -> int:
        self.advance(self._now_ns() - self._late_ns)
        return self._reached_ns


class PaperExchange:
    """The exchange with our account, on a live market. Make it inside the event loop; end it with
    `close`."""

    def __init__(
        self,
        terms: Terms,
        queue_model: QueueModel,
        folder: Path | None,
        now_ns: Callable[[], int],
    ) -> None:
        """terms: with the cash of a new account. folder: of the account; None: it ends with this
        run. Raises PaperFault."""
        self.clock = PaperClock(now_ns)
        self._state: StateDir | None = None
        self._log: CommandLog | None = None
        self._waiting: list[tuple[int, v.Command]] = []  # with their instants, not on disk yet
        self._writing = asyncio.Lock()
        self._fault: PaperFault | None = None
        self._has_failed = asyncio.Event()
        # The log has the deposit, so that another setting changes no account that has begun.
        empty = msgspec.structs.replace(terms, cash_cents=Cents(0))
        self.market = LiveMarket((), empty, queue_model, self.clock.exchange_ns())
        self.exchange = self.market.exchange
        try:
            self.is_new = folder is None or not self._go_on(folder)  # opened by this run
        except StateFault as fault:
            raise PaperFault(f"the paper account: {fault}") from None
        self.exchange.watchers.append(self._log_command)
        if self.is_new:
            self.exchange.execute(v.Deposit(MAKER, terms.cash_cents), self.clock.exchange_ns())
        self.exchange.read_all(self.clock.exchange_ns())

    def _go_on(self, folder: Path) -> bool:
        """True if the log of the folder has commands."""
        self._state = StateDir.open(folder)
        applied = 0
        for applied, entry in enumerate(self._state.entries(0), 1):
            self._apply_again(entry)
            if applied % _FORGOTTEN_EVERY == 0:
                self._forget_shown(entry.at_ns)
        self._forget_shown(self.clock.exchange_ns())
        self._log = self._state.log()
        return applied > 0

    def _apply_again(self, entry: LogRecord) -> None:
        command = entry.command
        assert not isinstance(command, v.AccessCommand)
        self.clock.advance(entry.at_ns)
        if isinstance(command, v.ResolveMarket):
            self.market.resolve(command.market_id, command.winner, entry.at_ns)
        else:
            self.exchange.execute(command, entry.at_ns)

    def _forget_shown(self, now_ns: int) -> None:
        self.market.frames(now_ns)
        self.market.marks.clear()
        self.exchange.read_all(now_ns)

    def _log_command(
        self, command: v.Command, _answer: v.Answer, events: list[v.Event], at_ns: int
    ) -> None:
        if events and self._log is not None:
            self._waiting.append((at_ns, command))

    async def durable(self) -> None:
        """Everything done so far is on disk. Raises PaperFault when it cannot be written."""
        async with self._writing:
            taken, self._waiting = self._waiting, []
            try:
                if taken and self._fault is None:
                    await asyncio.to_thread(self._append, taken)
            except (LogFull, LogBroken) as fault:
                self._fault = PaperFault(f"{fault}; what the paper account did last may be lost")
                self._has_failed.set()
            if self._fault is not None:
                raise self._fault

    def _append(self, taken: list[tuple[int, v.Command]]) -> None:
        """Commands of one instant are on disk all or none."""
        for at_ns, same in groupby(taken, key=itemgetter(0)):
            assert self._log is not None
            self._log.append(at_ns, [command for _, command in same])

    async def failed(self) -> None:
        await self._has_failed.wait()
        assert self._fault is not None
        raise self._fault

    def close(self) -> None:
        if self._log is not None:
            self._log.close()
        if self._state is not None:
            self._state.close()


class PaperVenue(OrderClient, MarketChannel):
    """Carries the requests of one trader, and is its channel, with our own orders and trades in it.
    End it with `drain`."""

    def __init__(
        self,
        public: PublicVenue,
        exchange: PaperExchange,
        latency_ns: int | None = None,
    ) -> None:
        """latency_ns: of an order there and back; None: as the newest read took."""
        self._public = public
        self._paper = exchange
        self._market = exchange.market
        self._latency_ns = latency_ns
        self._read_ns = _UNREAD_ROUND_TRIP_NS
        self._ours: set[asyncio.Task[None]] = set()
        self._reads: set[asyncio.Task[None]] = set()
        self._feed = public.channel(self._on_event)
        self._emit: Emit = lambda _event: None
        self._followed: frozenset[MarketId] = frozenset()
        self._is_open = False
        self._log = structlog.stdlib.get_logger("bot")

    @property
    def connection(self) -> Connection:
        return Connection(self, self._channel)

    def _channel(self, emit: Emit) -> MarketChannel:
        self._emit = emit
        return self

    # --- requests ---------------------------------------------------------------------------------

    def start(self, send: m.Send, answered: Answered, may_leave: MayLeave | None = None) -> None:
        tasks = self._reads if isinstance(send.request, PUBLIC_READS) else self._ours
        task = asyncio.get_running_loop().create_task(self._run(send, answered, may_leave))
        tasks.add(task)
        task.add_done_callback(tasks.discard)

    async def _run(self, send: m.Send, answered: Answered, may_leave: MayLeave | None) -> None:
        tokens_limit: int | None = None
        try:
            if may_leave is not None and not await may_leave():
                response = Response(NOT_JOURNALED, None, None)
            elif isinstance(send.request, PUBLIC_READS):
                response, tokens_limit = await self._read_venue(send, send.request)
            else:
                response = await self._carry_out(send)
        except PaperFault as fault:
            response = Response(m.Unknown(str(fault)), None, None)
        except Exception:  # noqa: BLE001 - the task's boundary: every request has its answer
            self._log.exception("paper_failed", at=type(send.request).__name__)
            response = Response(m.Unknown("a fault of ours"), None, None)
        answer, tokens, away_ns, _ = response
        answered(m.Response(send.request_id, answer, tokens, away_ns, tokens_limit))

    async def _carry_out(self, send: m.Send) -> Response:
        latency_ns = self._read_ns if self._latency_ns is None else self._latency_ns
        one_way_s = latency_ns / 2 / NS_PER_SECOND
        await asyncio.sleep(one_way_s)
        response = self._paper.exchange.answer_request(send, self._paper.clock.exchange_ns())
        self._publish()
        await self._paper.durable()
        await asyncio.sleep(one_way_s)
        return response

    async def _read_venue(self, send: m.Send, request: PublicRead) -> tuple[Response, int | None]:
        """The response, and how many tokens its key can have. It costs one of ours, too: a live run
        has one bucket for both."""
        exchange, clock = self._paper.exchange, self._paper.clock
        refused = exchange.refused_for_pace(send.key, clock.exchange_ns())
        if refused is not None:
            return refused, None
        loop = asyncio.get_running_loop()
        begun_s = loop.time()
        reply = await self._public.read_public(request)
        answer, tokens = reply.answer, exchange.tokens_left(send.key)
        if reply.tokens_left is not None:
            tokens = min(tokens, reply.tokens_left)
        if isinstance(answer, m.Ok):
            self._read_ns = round((loop.time() - begun_s) * NS_PER_SECOND)
            answer = m.Ok(self._seen(answer.body))
            await self._paper.durable()
        return Response(answer, tokens, reply.retry_after_ns), reply.tokens_limit

    def _seen(self, body: m.Body) -> m.Body:
        """Follow a read of the market; returns it as the trader is to see it."""
        if isinstance(body, m.SeriesBody):
            held = {market_id for (market_id, _), qty in self._market.account.shares.items() if qty}
            self._market.on_series(body.events, self._paper.clock.exchange_ns())
            self._log_payouts(body.events, held)
        elif isinstance(body, m.BookBody):
            body = m.BookBody(self._book(body.book))
        self._publish()
        return body

    def _book(self, read: model.Orderbook) -> model.Orderbook:
        """A read book with our orders in it, at our time. One older than the newest frame stays as
        much older."""
        market_id, as_of_ns = read.market_id, instant.to_ns(read.as_of)
        depth = self._market.depths.get(market_id)
        if depth is None or read.as_of == instant.ZERO:
            return read  # not listed yet, or it never traded: nothing is known
        rows = (tuple((each.price, each.size) for each in side) for side in (read.bids, read.asks))
        now_ns = self._paper.clock.exchange_ns()
        older_ns = max(0, depth.at_ns - as_of_ns)
        if not older_ns:
            self._market.on_frame(m.BookUpdate(market_id, as_of_ns, *rows), now_ns)
        bids, asks, _ = self._market.shown_book(market_id, now_ns)
        return msgspec.structs.replace(
            read,
            as_of=instant.from_ns(now_ns - older_ns),
            bids=tuple(model.Level(*each) for each in bids),
            asks=tuple(model.Level(*each) for each in asks),
        )

    def _log_payouts(self, events: tuple[model.Event, ...], held: set[MarketId]) -> None:
        for market in (each for event in events for each in event.markets):
            if market.state is model.MarketState.RESOLVED and market.market_id in held:
                self._log.warning(
                    "paper_market_paid",
                    ticker=market.ticker,
                    cash_cents=self._paper.exchange.cash_cents,
                    advice="the venue names no winner: paid by the last price",
                )

    # --- the channel ------------------------------------------------------------------------------

    def subscribe(self, wish: m.SubscribeTo) -> None:
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

    def _publish(self) -> None:
        frames = self._market.frames(self._paper.clock.exchange_ns())
        for event in frames if self._is_open else ():
            if isinstance(event, m.BookUpdate | m.Trade) and event.market_id in self._followed:
                self._emit(event)

    def _on_event(self, event: m.Event) -> None:
        match event:
            case m.BookUpdate() | m.Trade():
                if isinstance(event, m.Trade):
                    self._paper.clock.on_print(event.ts_ns)
                self._market.on_frame(event, self._paper.clock.exchange_ns())
                self._publish()
                return
            case m.FeedOpened():
                self._is_open = True
            case m.FeedClosed():
                self._is_open = False
                self._market.on_gap(self._market.markets)
        self._emit(event)

    async def drain(self, reads_s: float | None = None) -> int:
        """Wait for requests in flight, then close venue and account. reads_s: limit for reads at
        the venue. Returns how many of our own requests have no answer."""
        longest_s = REQUEST_S_MAX + DRAIN_SLACK_S
        await _wait(self._ours, longest_s)
        await _wait(self._reads, longest_s if reads_s is None else reads_s)
        await self._public.close()
        await _wait(self._reads, DRAIN_SLACK_S)
        unanswered = len(self._ours)
        try:
            async with asyncio.timeout(DRAIN_SLACK_S):
                await self._paper.durable()
        except (PaperFault, TimeoutError):
            self._log.exception("paper_failed", at="the end of the run")
        self._paper.close()
        return unanswered


async def _wait(tasks: set[asyncio.Task[None]], longest_s: float) -> None:
    loop = asyncio.get_running_loop()
    until_s = loop.time() + longest_s
    while tasks and (left_s := until_s - loop.time()) > 0:
        await asyncio.wait(tasks, timeout=left_s)
