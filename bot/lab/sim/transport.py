"""Between bot and venue: the channel, requests and responses in flight, and their faults."""

import random
from collections import deque
from collections.abc import Callable, Sequence
from typing import Final, Protocol

from msgspec.structs import replace

from bot.core import messages as m
from bot.core.orders.outbox import kind_of
from bot.io.client.answers import answer_of
from bot.lab.exchange.assumptions import BEFALLING, FaultDraws, befall
from bot.lab.exchange.exchange import Response, print_of, refusal
from bot.lab.sim.configured import StrategyFaultSpan
from bot.lab.sim.coverage import EventCounts
from bot.lab.sim.exposure_rules import Auditor
from bot.lab.sim.process import Process
from bot.lab.sim.scenario import (
    FRAME_FAULTS,
    MS,
    READ_FAULTS,
    REQUEST_FAULTS,
    SECOND,
    WRITE_FAULTS,
    SimScenario,
)
from bot.lab.sim.venue import BuyingCrowd, SimulatedVenue
from venue.engine import messages as v
from venue.views.account import shown_order
from venue.wire import model
from venue.wire.errors import Code
from venue.wire.instant import is_zero
from venue.wire.money import Qty
from venue.wire.names import MarketId

_PING_NS: Final = 5 * SECOND // 2
_PONG_NS: Final = 5 * SECOND
_RECONNECT_NS: Final = 250 * MS


class World(Protocol):
    """The parts of a simulated world that its network, faults and contradictor use."""

    scenario: SimScenario
    coverage: EventCounts
    exchange: SimulatedVenue
    auditor: Auditor
    crowd: BuyingCrowd
    process: Process
    channel: "Channel"
    network: "Network"
    strategy_faults: list[StrategyFaultSpan]
    trace: deque[tuple[int, str, object]]
    file: m.Configuration
    first_file: m.Configuration
    faulty: bool
    latch: str

    @property
    def now_ns(self) -> int: ...

    @property
    def worlds(self) -> "Sequence[World]": ...

    def schedule_at(self, at_ns: int, act: Callable[[], None]) -> None: ...

    def schedule_after(self, delay_ns: int, act: Callable[[], None]) -> None: ...

    def deliver(self, process: Process, event: m.Event) -> None: ...

    def replace(
        self, process: Process, down_ns: int, rng: random.Random | None, *, lost: bool = False
    ) -> None: ...

    def reload_one(self, rng: random.Random) -> None: ...

    def reload(self, wanted: m.Configuration, kind: str) -> None: ...

    def pause(self, for_ns: int) -> None: ...


class Channel:
    """One connection at a time; frames not delivered on it are lost."""

    def __init__(self, world: World, rng: random.Random) -> None:
        self._world = world
        self._rng = rng
        scenario = world.scenario
        dice = random.Random(f"frame dice {scenario.seed}")
        self._dice = FaultDraws(dice, scenario.rates_of(FRAME_FAULTS), scenario.without)
        self._low_ns, high_ns = scenario.one_way_ns
        self._span_ns = high_ns - self._low_ns
        self._process: Process | None = None
        self._connection = 0
        self.rungs: tuple[MarketId, ...] = ()
        self._wanted: m.SubscribeTo | None = None
        self._stalled_until_ns = 0
        self._last_ns = 0
        self._older: dict[MarketId, m.BookUpdate] = {}
        self._kept: dict[MarketId, int] = {}
        self.silent: dict[MarketId, bool] = {}  # rungs without frames: True if prints come
        self.late_ns = 0  # latency of every frame
        self.refusing = False  # every subscribe is refused

    # --- the connection ---------------------------------------------------------------------------

    def connect(self, process: Process) -> None:
        self._process = process
        self._connection += 1
        self.rungs = ()
        self._world.coverage.hit("feed_opened")
        self._world.deliver(process, m.FeedOpened())
        self._ping(self._connection)
        if self._wanted is not None:
            # What was wanted while the channel was down is sent on opening.
            self.subscribe(process, self._wanted)

    def on_process_gone(self) -> None:
        self._process = None
        self._wanted = None
        self._connection += 1
        self.rungs = ()

    def close(self, for_ns: int) -> None:
        process = self._process
        if process is None:
            return
        self.on_process_gone()
        self._world.deliver(process, m.FeedClosed("drawn"))

        def back() -> None:
            if process.alive and self._process is None:
                self.connect(process)

        self._world.schedule_after(_RECONNECT_NS + for_ns, back)

    def stall(self, for_ns: int) -> None:
        self._stalled_until_ns = self._world.now_ns + for_ns

    def half_open(self) -> None:
        self.stall(_PONG_NS)
        connection = self._connection

        def deadline() -> None:
            if connection == self._connection:
                self.close(0)

        self._world.schedule_after(_PONG_NS, deadline)

    def _ping(self, connection: int) -> None:
        if connection == self._connection:
            self._push(m.FeedAlive())
            self._world.schedule_after(_PING_NS, lambda: self._ping(connection))

    # --- frames -----------------------------------------------------------------------------------

    def subscribe(self, process: Process, wanted: m.SubscribeTo) -> None:
        if self._process is not process:
            self._wanted = wanted
            return
        self._wanted = None
        connection, world = self._connection, self._world

        def arrive() -> None:
            if connection != self._connection or process is not self._process:
                return
            world.coverage.hit("subscribed")
            if self.refusing:
                world.coverage.fault("subscribe_refused_frame")
                self._push(m.SubscriptionRefused("unknown_target", "drawn"))
                return
            self.rungs = wanted.rungs
            if world.scenario.acks:
                self._push(m.SubscriptionAccepted())
                for market in wanted.rungs:
                    self._frame(world.exchange.front.book_update(market, world.now_ns))

        world.schedule_after(self._one_way(), arrive)

    def publish(self) -> None:
        exchange, now_ns = self._world.exchange, self._world.now_ns
        changed: dict[MarketId, None] = {}
        for event in exchange.newly_shown(now_ns):
            if isinstance(event, v.LevelChanged):
                changed[event.market_id] = None
            elif isinstance(event, v.TradePrinted) and event.market_id in self.rungs:
                self._frame(print_of(event))
        for market in changed:
            if market in self.rungs:
                self._frame(exchange.front.book_update(market, now_ns))

    def _frame(self, frame: m.BookUpdate | m.Trade) -> None:
        world = self._world
        prints_come = self.silent.get(frame.market_id)
        if prints_come is not None and not (prints_come and type(frame) is m.Trade):
            world.coverage.fault("silent_frame")
            return
        fault = self._dice.roll() if world.faulty else ""
        if type(frame) is m.BookUpdate:
            self._remember(frame)
        if not fault:
            self._push(frame)
            return
        if self._befalls(fault, frame):
            world.coverage.fault(fault if type(frame) is m.BookUpdate else f"{fault}:print")

    def _remember(self, frame: m.BookUpdate) -> None:
        kept = self._kept.get(frame.market_id, 0)
        self._kept[frame.market_id] = kept + 1
        if kept % 16 == 0:
            self._older[frame.market_id] = frame
        world = self._world
        if frame.market_id == world.crowd.dead:
            world.coverage.hit("dead_book")
        elif kept % 4 == 0 and frame.bids and frame.asks:
            best = (frame.bids[0][0], frame.asks[0][0])
            if any(level in best for level in world.auditor.own_levels(frame.market_id)):
                world.coverage.hit("own_at_touch")

    def _befalls(self, fault: str, frame: m.BookUpdate | m.Trade) -> bool:
        """True if the fault had an occasion; else the frame comes as it is."""
        older = self._older.get(frame.market_id)
        match fault, frame:
            case "frame_dropped", _:
                pass
            case "frame_garbled", _:
                self._push(m.MalformedFrame("drawn", known=self._rng.random() < 0.5))
            case "frame_delayed", _:
                self._push(frame, self._rng.randint(MS, 2 * SECOND))
            case "frame_duplicated", _:
                self._push(frame)
                self._push(frame, self._rng.randint(0, SECOND))
            case "frame_crossed", m.BookUpdate(bids=((best, _), *_)):
                self._push(replace(frame, asks=((best, Qty(1)),)))
            case "frame_stale", _ if older is not None and older.ts_ns < frame.ts_ns:
                self._push(frame)
                self._push(older)
            case _:
                self._push(frame)
                return False
        return True

    def _one_way(self) -> int:
        return self._low_ns + int(self._rng.random() * self._span_ns)

    def _push(self, event: m.Event, extra_ns: int = 0) -> None:
        world, process, connection = self._world, self._process, self._connection
        if process is None:
            return
        at_ns = max(world.now_ns, self._stalled_until_ns) + self._one_way() + self.late_ns
        if not extra_ns:
            at_ns = self._last_ns = max(at_ns, self._last_ns)

        def arrive() -> None:
            if connection == self._connection:
                world.deliver(process, event)

        world.schedule_at(at_ns + extra_ns, arrive)


_NOT_CONNECTED: Final = Response(m.Rejected(0, "", "connect"), None, None)


class RequestUnderWay:
    __slots__ = ("answered", "fault", "is_again", "kind", "process", "request", "send", "sent_ns")

    def __init__(self, process: Process, send: m.Send, sent_ns: int) -> None:
        self.process = process
        self.send = send
        self.request = send.request
        self.kind = kind_of(send.request)
        self.is_again = isinstance(send.request, m.Create) and send.request.again
        self.sent_ns = sent_ns
        self.fault = ""
        self.answered = False


class Network:
    def __init__(self, world: World, rng: random.Random) -> None:
        self._world = world
        self._rng = rng
        scenario = world.scenario
        dice = random.Random(f"request dice {scenario.seed}")
        # Writes are few, and so are reads of books: what befalls them is drawn more often.
        writes = scenario.rates_of((*REQUEST_FAULTS, *WRITE_FAULTS), 2)
        writes.update(scenario.rates_of(["late_commit"], 5))
        reads = scenario.rates_of((*REQUEST_FAULTS, *READ_FAULTS))
        books = scenario.rates_of(("book_emptied", "book_unavailable"), 3)
        self._books = FaultDraws(
            random.Random(f"book dice {scenario.seed}"), books, scenario.without
        )
        self._writes = FaultDraws(dice, writes, scenario.without)
        self._reads = FaultDraws(dice, reads, scenario.without)
        self._low_ns, high_ns = scenario.one_way_ns
        self._span_ns = high_ns - self._low_ns
        self._timeout_ns = scenario.timeout_ns
        self._last_arrival_ns = 0
        self._says_duplicate = scenario.has("says_duplicate")
        self.outage = False  # outage, revoked: what an episode does to every request meanwhile
        self.revoked = False
        self.stubborn = False  # to every create that is retried
        self.foreign_replies = 0  # so many more writes get a response about another order
        self.on_foreign_reply: Callable[[], None] | None = None
        self._foreign_to: object = None  # the life that had one

    def _one_way(self) -> int:
        return self._low_ns + int(self._rng.random() * self._span_ns)

    def _note(self, call: RequestUnderWay) -> None:
        self._world.coverage.fault(f"{call.fault}:{call.kind}")

    def send_request(self, process: Process, effect: m.Send) -> None:
        world = self._world
        call = RequestUnderWay(process, effect, world.now_ns)
        if world.faulty:
            call.fault = (self._reads if call.kind == "read" else self._writes).roll()
        world.coverage.hit(call.kind)
        if self.outage or call.fault == "not_connected":
            if self.outage:
                world.coverage.fault("outage_request")
            else:
                self._note(call)
            world.auditor.flight.copy_ends(call.request)
            world.schedule_after(0, lambda: self._reply(call, _NOT_CONNECTED))
            return
        slow_ns = 0
        if call.fault == "late_commit":
            self._note(call)
            self._gives_up(call)
            slow_ns = self._timeout_ns + int(self._rng.random() * world.scenario.late_ns)
        elif call.fault == "delayed":
            self._note(call)
            slow_ns = int(self._rng.random() * self._timeout_ns)
        world.schedule_after(slow_ns + self._one_way(), lambda: self._arrive(call))

    def _gives_up(self, call: RequestUnderWay) -> None:
        left_ns = call.sent_ns + self._timeout_ns - self._world.now_ns
        response = Response(m.Unknown("no answer in time"), None, None)
        self._world.schedule_after(max(0, left_ns), lambda: self._reply(call, response))

    def _arrive(self, call: RequestUnderWay) -> None:
        world = self._world
        response = self._response(call)
        world.auditor.flight.copy_ends(call.request)
        if call.is_again and isinstance(response.answer, m.Rejected):
            world.coverage.hit("resend_refused")
        if call.answered:
            return
        back_ns = self._one_way()
        if call.fault == "delayed":
            back_ns += int(self._rng.random() * self._timeout_ns)
        if response.waited_ns or world.now_ns + back_ns - call.sent_ns > self._timeout_ns:
            self._gives_up(call)
        else:
            world.schedule_after(back_ns, lambda: self._reply(call, response))

    def _response(self, call: RequestUnderWay) -> Response:
        world, fault = self._world, call.fault
        if self.revoked and call.send.key is m.Key.TRADE:
            world.coverage.fault("revoked_request")
            return Response(refusal(Code.UNAUTHENTICATED), None, None)
        if world.now_ns - self._last_arrival_ns < MS:
            world.coverage.hit("bunched")
        self._last_arrival_ns = world.now_ns
        response = befall(fault, lambda: self._asked(call))
        if fault in (*BEFALLING, "garbled_reply", "headers_odd"):
            self._note(call)
        if fault == "garbled_reply":
            return response._replace(answer=garbled(call.request, self._rng))
        if fault == "headers_odd":
            return response._replace(tokens=self._rng.choice((None, 10**9)))
        if fault in BEFALLING and response.away_ns is not None:
            return response._replace(away_ns=self._rng.choice((None, 0, 2 * SECOND)))
        return response

    def _asked(self, call: RequestUnderWay) -> Response:
        request, world = call.request, self._world
        instead = self._instead(call)
        if instead is not None:
            return Response(instead, None, None)
        is_stale = call.kind == "read" and self._rng.random() < world.scenario.slow_read
        known = world.auditor.flight.order_of
        is_new = isinstance(request, m.Create) and request.order.client_order_id not in known
        front = world.exchange.front
        response = front.answer_request(call.send, world.now_ns, stale=is_stale)
        if response.away_ns is not None:
            return response
        if isinstance(request, m.Create | m.AmendResting | m.CancelResting):
            answer = self._written(call, request, response.answer, is_new=is_new)
        else:
            if (front.stale if is_stale else front.replica).next_due_ns() is not None:
                world.coverage.hit("stale_read")
            answer = self._on_read_answer(call, request, response.answer)
        return response._replace(answer=answer)

    def _instead(self, call: RequestUnderWay) -> m.Answer | None:
        if call.fault == "invalid_request" and call.kind != "cancel":
            self._note(call)
            return m.Rejected(422, self._rng.choice(("invalid_request", "self_made_trouble")), "")
        if call.fault == "not_found" and call.kind != "create":
            self._note(call)
            return refusal(Code.ORDER_NOT_FOUND)
        if call.is_again and self.stubborn:
            self._world.coverage.fault("resend_barred")
            return m.Rejected(422, "invalid_request", "")
        return None

    def _written(
        self, call: RequestUnderWay, request: m.Write, answer: m.Answer, *, is_new: bool
    ) -> m.Answer:
        coverage = self._world.coverage
        if isinstance(answer, m.Rejected):
            coverage.hit(f"{answer.code}:{call.kind}")
        if not isinstance(answer, m.Ok):
            return answer
        if call.is_again and self._says_duplicate and self._world.faulty:
            coverage.fault("says_duplicate:create")
            return refusal(Code.DUPLICATE_ORDER_ID)
        # A repeated amend of size after a fill would add to it (S13): no client could survive.
        is_resize = isinstance(request, m.AmendResting) and request.amend.qty is not None
        if call.fault == "duplicated" and not is_resize:
            self._note(call)
            self._second_copy(request)
        if call.is_again and is_new:
            coverage.hit("resend_landed")
        if isinstance(answer.body, m.CancelBody) and answer.body.reduced_by:
            order = answer.body.order
            if order.filled_qty < order.qty - answer.body.reduced_by:
                coverage.hit("cancel_after_fill")
        if call.fault == "late_commit":
            coverage.hit(f"landed_late:{call.kind}")
        return self._about_another(call, answer) if self.foreign_replies else answer

    def _second_copy(self, request: m.Write) -> None:
        world = self._world

        def arrive() -> None:
            world.exchange.front.perform(request, world.now_ns)

        if isinstance(request, m.AmendResting):
            arrive()
        else:
            world.schedule_after(1 + self._one_way(), arrive)

    def _about_another(self, call: RequestUnderWay, answer: m.Ok) -> m.Answer:
        body, world = answer.body, self._world
        about = body.order.order_id if isinstance(body, m.OrderBody | m.CancelBody) else ""
        others = [each for each in world.auditor.truth.ours() if each.order_id != about]
        order = world.exchange.engine.order(others[0].order_id) if others else None
        if order is None:
            return answer
        self.foreign_replies -= 1
        if self.on_foreign_reply is not None:
            self.on_foreign_reply()
        elif world.process is self._foreign_to:
            return answer  # a second one in a life is a contradiction
        self._foreign_to = world.process
        world.coverage.fault(f"foreign_reply:{call.kind}")
        name = world.auditor.truth.names[order.order_id]
        shown = shown_order(order, created_ns=order.created_ns, client_order_id=name)
        if isinstance(body, m.CancelBody):
            return m.Ok(m.CancelBody(shown, order.remaining_qty))
        return m.Ok(m.OrderBody(shown))

    def _on_read_answer(self, call: RequestUnderWay, request: m.Read, answer: m.Answer) -> m.Answer:
        coverage = self._world.coverage
        if getattr(request, "cursor", ""):
            coverage.hit("page")
        body = answer.body if isinstance(answer, m.Ok) else None
        if isinstance(body, m.BookBody) and is_zero(body.book.as_of):
            coverage.hit("zero_book")
        if call.fault == "" and isinstance(request, m.ReadBook) and self._world.faulty:
            call.fault = self._books.roll()
        spoiled = spoiled_read(call.fault, request, answer, self._rng)
        if spoiled is None:
            return answer
        self._note(call)
        return spoiled

    def _reply(self, call: RequestUnderWay, response: Response) -> None:
        if call.answered:
            return
        call.answered = True
        answer, tokens, away_ns, _ = response
        replied = m.Response(call.send.request_id, answer, tokens, away_ns)
        self._world.deliver(call.process, replied)


_GARBLED: Final = (
    *((200, text) for text in (b"", b'{"order": {"qty": 1', b"{}{", b"\xff\xfe{}")),
    (502, b"<html><body><h1>502 Bad Gateway</h1></body></html>"),
)


def garbled(request: m.Request, rng: random.Random) -> m.Answer:
    return answer_of(request, *rng.choice(_GARBLED))


def spoiled_read(
    fault: str, request: m.Read, answer: m.Answer, rng: random.Random
) -> m.Answer | None:
    """The answer that a fault makes of this one; None where it has no occasion."""
    body = answer.body if isinstance(answer, m.Ok) else None
    cursor: str = getattr(request, "cursor", "")
    match fault, body:
        case "book_unavailable", _ if isinstance(request, m.ReadBook):
            return m.Rejected(503, Code.ENGINE_UNAVAILABLE, "")
        case "cursor_refused", _ if cursor:
            return m.Rejected(400, Code.INVALID_CURSOR, "")
        case "garbled_list", _ if body is not None:
            return garbled(request, rng)
        case "book_emptied", m.BookBody():
            return m.Ok(m.BookBody(replace(body.book, bids=(), asks=())))
        case "row_repeated", m.OrdersBody(orders=(first, *_)):
            return m.Ok(replace(body, orders=(first, *body.orders)))
        case "row_repeated", m.FillsBody(fills=(newest, *_)):
            return m.Ok(replace(body, fills=(newest, *body.fills)))
        case "odd_status", m.OrdersBody(orders=(first, *others)):
            return m.Ok(replace(body, orders=(_odd(first, rng), *others)))
        case "odd_status", m.OrderBody() if body.order.status in model.RESTING:
            return m.Ok(m.OrderBody(_odd(body.order, rng)))
        case "cursor_repeated", (
            m.OrdersBody() | m.FillsBody() | m.PositionsBody() | m.SeriesBody()
        ) if cursor and body.cursor:
            return m.Ok(replace(body, cursor=cursor))
    return None


def _odd(order: model.Order, rng: random.Random) -> model.Order:
    status = rng.choice((model.OrderStatus.UNKNOWN, model.OrderStatus.ACCEPTED))
    return replace(order, status=status)
