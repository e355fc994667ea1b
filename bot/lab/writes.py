"""Compares the writes of a journalled run with those of today's trader, decision by decision.

After its first other write, a trader that ran freely would get books, lists and responses about
orders that it does not have. So it is kept on the recorded course: it gets the recorded events,
ticks with the run and when it asks, and starts each decision from the orders that the run had.

- A write that the run sends, too, while it waits for a response, gets the recorded response.
- A write that the run alone sends is done in the trader's place.
- A write that the trader alone sends is answered, after a while, as one that never left.
- A read is answered by the run's next read of the same thing.

A trader compared with its own journal sends the same writes, each in the same tick.
"""

import enum
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Final, NamedTuple, cast

import msgspec

from bot.core import messages as m
from bot.core.orders.order import OrderEvent, OwnOrder
from bot.core.orders.outbox import NEVER_NS, kind_of
from bot.core.orders.request_budget import Priority, RequestBudget
from bot.core.reconfigure import Remake
from bot.core.trader import Trader
from bot.io.journal.records import JournalFault
from bot.io.run.watchdog import Retold
from bot.lab.replay import MakeStrategy, strategy_of
from bot.lab.session import (
    EVENTS,
    TO_THE_END,
    Place,
    Placed,
    Run,
    Until,
    is_recording,
    placed_entries,
    version_of,
)
from venue.wire import model
from venue.wire.errors import Code
from venue.wire.instant import NS_PER_MS, NS_PER_SECOND
from venue.wire.money import Outcome, Price, Qty, Side, book_side, canonical
from venue.wire.names import ClientOrderId, MarketId, OrderId, Ticker

WAIT_NS: Final = 250 * NS_PER_MS
"""How long a write of the trader waits for the run to send it. For as long after a write of the
run, a change of that order by the trader counts as its other wish."""

_WAIT_AGAIN_NS: Final = 4 * WAIT_NS  # of a write that waited in vain before
_READ_WAIT_NS: Final = 6 * NS_PER_SECOND  # of one order or book; lists are read more often
_STEP_NS: Final = NS_PER_MS
_TICK_NS: Final = NS_PER_SECOND // 10
"""The live loop ticks so often at least. A tick that is due so shortly before one of the run is
taken at that one: timers of a busy process are late."""

_AT_ONCE_NS: Final = NS_PER_MS  # what is no further apart counts as sent at the same time
_TOLD_EVERY: Final = 1_000  # events between two calls for the progress
_NOT_SENT: Final = m.Rejected(0, "", "the run did not send this")
_ENDED: Final = m.Rejected(422, Code.ORDER_NOT_CANCELABLE, "it has ended")
_NOT_READ: Final = m.Unknown("the run did not read this")


class WriteMatch(enum.StrEnum):
    """How a write compares."""

    SAME = "same"
    EARLIER = "earlier"  # the trader sends it before the run does
    LATER = "later"  # the run sends it before the trader does
    THEN_FIRST = "then first"  # the run sends it, the trader does not (yet), and leaves it so
    OTHER_PRICE = "other price"
    OTHER_SIZE = "other size"
    OTHER_ORDER = "other order"  # the same kind of change, of another order on that side
    OTHER_KIND = "other kind"  # such as a cancel where the run amended
    ONLY_NOW = "only now"


class OrderWrite(msgspec.Struct, frozen=True, gc=False):
    """price: YES cents; of an amend without one and of a cancel the order's own. qty: shares asked
    for, 0 where they stay. order_id: empty for a create."""

    at_ns: int
    kind: str
    ticker: str
    market_id: MarketId
    side: str  # of the book
    price: int
    qty: int
    order_id: str
    why: str


class WriteDifference(msgspec.Struct, frozen=True, gc=False):
    """then: of the run; now: of today's trader; one may be missing. place: of `then`, else of the
    newest entry before `now`. lasted_ns: how long the trader went on sending it."""

    match: WriteMatch
    then: OrderWrite | None
    now: OrderWrite | None
    place: Place
    lasted_ns: int


class WriteReport(msgspec.Struct, frozen=True):
    nonce: str
    segments: tuple[str, ...]
    version: int  # of the journal
    events: int
    until_ns: int
    cpu_s: float  # processor time of it
    writes: int  # of the run
    reads_then: int
    reads_now: int
    counts: dict[WriteMatch, dict[str, int]]  # by kind: create, amend, cancel
    earlier_ns: tuple[int, ...]  # by how much, sorted
    later_ns: tuple[int, ...]
    overtaken: int  # equal writes that left before one of their market that they followed then
    unfollowed: int  # writes of the run that were not done in the trader's place, nor later
    differences: tuple[WriteDifference, ...]  # in the order of time
    damage: str  # why the journal could not be read any further, else empty


_Identity = tuple[object, ...]
"""What makes two writes the same one. A create has a name of its own in each run."""


class _RunWrite(msgspec.Struct, frozen=True, eq=False):
    """A write of the run."""

    request_id: m.RequestId
    request: m.Write
    write: OrderWrite
    place: Place
    number: int  # among those of the run


class _WriteWish(msgspec.Struct, eq=False):
    """A write that the trader sends, or sends again after it was taken back."""

    first: OrderWrite
    last_ns: int


class _TraderWrite(msgspec.Struct, frozen=True, eq=False):
    """A write of the trader without a response yet."""

    identity: _Identity
    write: OrderWrite
    wish: _WriteWish
    client_order_id: ClientOrderId | None
    until_ns: int
    is_decided: bool  # a cancel that was decided before this tick


class _LateWrite(msgspec.Struct, eq=False):
    """A write of the run that the trader could not do: too many are in flight, or no token is
    free."""

    recorded: _RunWrite
    row: "_MatchRow"
    response: m.Response | None = None


class _MatchRow(msgspec.Struct, frozen=True, eq=False):
    match: WriteMatch
    recorded: _RunWrite | None
    wish: _WriteWish | None
    place: Place

    def difference(self) -> WriteDifference:
        wish = self.wish
        return WriteDifference(
            self.match,
            None if self.recorded is None else self.recorded.write,
            None if wish is None else wish.first,
            self.place,
            0 if wish is None else wish.last_ns - wish.first.at_ns,
        )


class _OrderSlot(NamedTuple):
    """What is known of an order by its id. price: YES cents."""

    market_id: MarketId
    outcome: Outcome
    side: Side
    price: Price


class _SteadyBudget(RequestBudget):
    """The budget of one trader, which a write taken back does not close."""

    is_taking_back = False

    def join(self) -> int:
        return 0 if self._users else super().join()

    def unserved(self, retry_after_ns: int | None, now_ns: int) -> None:
        if not self.is_taking_back:
            super().unserved(retry_after_ns, now_ns)


class WriteReplayer:
    """One run, compared once. A run that shared its budget with other series is compared alone.

    Raises JournalFault for a recording, for a journal that does not say its configuration, and when
    the strategy cannot be made.
    """

    def __init__(self, run: Run, remake: Remake) -> None:
        configured = run.started.configured
        if is_recording(run):
            raise JournalFault(f"{run.paths[0].parent}: a recording: nothing was traded in it")
        if configured is None:
            raise JournalFault(f"{run.paths[0]}: does not say what its run was configured with")
        settings = msgspec.structs.replace(configured.settings, other_series=())
        self._run = run
        self._budget = _SteadyBudget(settings.budget, 0)
        self._trader = Trader(
            settings,
            _guarded(strategy_of(remake, configured.strategy)),
            purse=self._budget,
            remake=lambda choice: _guarded(remake(choice)),
        )
        self._now_ns, self._wake_ns = 0, NEVER_NS
        self._newest = Place(run.paths[0].name, 0)
        self._to_cancel: set[OrderId | None] = set()  # decided before the newest tick
        # By the trader's requests:
        self._held: dict[m.RequestId, _TraderWrite] = {}
        self._reads: dict[m.RequestId, tuple[m.Request, int]] = {}  # since when they wait
        # By the run's requests:
        self._ours: dict[m.RequestId, m.RequestId] = {}  # the trader's
        self._sent_ns: dict[m.RequestId, int] = {}  # those without a response
        self._turn: list[_RunWrite] = []  # sent since the last event
        self._first_creates: dict[m.RequestId, _MatchRow] = {}
        # By orders and markets:
        self._first: dict[OrderId, _MatchRow] = {}  # the newest change that the run sent first
        self._slots: dict[OrderId, _OrderSlot] = {}
        self._shown: dict[OrderId, model.Order] = {}  # working orders, as shown last
        self._ended: dict[OrderId, model.Order] = {}
        self._filled: dict[OrderId, dict[str, int]] = {}  # shares by fill
        self._names: dict[ClientOrderId, ClientOrderId] = {}  # the trader's, by the run's
        self._tickers: dict[MarketId, Ticker] = {}
        self._wishes: dict[_Identity, _WriteWish] = {}
        self._undone: dict[_Identity, _LateWrite] = {}
        # Results:
        self._rows: list[_MatchRow] = []
        self._only_now: dict[_WriteWish, _MatchRow] = {}
        self._counts = {match: Counter[str]() for match in WriteMatch}
        self._earlier_ns: list[int] = []
        self._later_ns: list[int] = []
        self._left: dict[MarketId, list[tuple[int, int]]] = {}  # equal ones: number, time now
        self._writes = self._reads_then = self._reads_now = 0

    def compare(
        self,
        until: Until = TO_THE_END,
        progress: Callable[[int], None] = lambda _events: None,
    ) -> WriteReport:
        """progress: called with the events done."""
        began_s, events, until_ns, damage = time.process_time(), 0, 0, ""
        try:
            for placed, tick_ns in _with_ticks(placed_entries(self._run.paths)):
                message, at_ns = placed.entry.message, placed.entry.at_ns
                is_over = isinstance(message, m.DrainComplete)
                if is_over or until.has_passed(at_ns, placed.number, placed.place):
                    break
                self._newest = placed.place
                if type(message) in EVENTS:
                    events, until_ns = placed.number, max(until_ns, at_ns)
                    self._match_turn()
                    self._pass_time(at_ns, tick_ns)
                    self._on_event(cast(m.Event, message))
                    if events % _TOLD_EVERY == 0:
                        progress(events)
                elif isinstance(message, m.Send):
                    self._on_recorded(message)
        except JournalFault as fault:
            damage = str(fault)
        rows = [row.difference() for row in self._rows]
        for row in rows:
            write = row.then or row.now
            assert write is not None
            self._counts[row.match][write.kind] += 1
        return WriteReport(
            self._run.started.boot_nonce,
            tuple(path.name for path in self._run.paths),
            version_of(self._run),
            events,
            until_ns,
            time.process_time() - began_s,
            self._writes,
            self._reads_then,
            self._reads_now,
            {match: dict(count) for match, count in self._counts.items()},
            tuple(sorted(self._earlier_ns)),
            tuple(sorted(self._later_ns)),
            sum(map(_overtaken, self._left.values())),
            len(self._undone),
            tuple(sorted(rows, key=lambda row: (row.place.segment, row.place.entry))),
            damage,
        )

    # --- time -------------------------------------------------------------------------------------

    def _pass_time(self, to_ns: int, tick_ns: int) -> None:
        """Whatever falls due before an instant, in order; then it is that instant. tick_ns: of the
        run's next tick."""
        while (due_ns := self._due_ns(tick_ns)) < to_ns:
            self._now_ns = max(self._now_ns, due_ns)
            if self._now_ns >= self._wake_ns:
                self._receive(m.Tick())
            self._expire()
        self._now_ns = max(self._now_ns, to_ns)

    def _due_ns(self, tick_ns: int) -> int:
        due_ns = self._wake_ns if self._wake_ns < tick_ns - _TICK_NS else NEVER_NS
        for held in self._held.values():
            due_ns = min(due_ns, held.until_ns)
        for read, since_ns in self._reads.values():
            if _is_of_one(read):
                due_ns = min(due_ns, since_ns + _READ_WAIT_NS)
        return due_ns

    def _expire(self) -> None:
        now_ns = self._now_ns
        for now_id, held in list(self._held.items()):
            if held.until_ns <= now_ns:
                self._give_up(now_id, held)
        for now_id, (read, since_ns) in list(self._reads.items()):
            if _is_of_one(read) and since_ns + _READ_WAIT_NS <= now_ns:
                del self._reads[now_id]
                self._answer(m.Response(now_id, _NOT_READ))

    # --- the trader -------------------------------------------------------------------------------

    def _receive(self, event: m.Event) -> None:
        if type(event) is m.Tick:
            self._wake_ns = self._now_ns + _TICK_NS
            live = self._trader.desk.live_orders
            self._to_cancel = {own.order_id for own in live if own.cancel_requested}
        for effect in self._trader.receive(event, self._now_ns):
            if isinstance(effect, m.WakeAt):
                wake_ns = max(effect.at_ns, self._now_ns + _STEP_NS)
                self._wake_ns = min(self._wake_ns, wake_ns)
            elif isinstance(effect, m.Send):
                self._on_send(effect)

    def _answer(self, response: m.Response) -> None:
        """A response of ours: no tick of the run follows it."""
        self._receive(response)
        self._wake_ns = min(self._wake_ns, self._now_ns + _STEP_NS)

    def _on_send(self, send: m.Send) -> None:
        request, now_ns = send.request, self._now_ns
        if not isinstance(request, m.Write):
            self._reads_now += 1
            self._reads[send.request_id] = (request, now_ns)
            return
        identity, write = _identity_of(request), self._write_of(request, send.why)
        name = request.order.client_order_id if isinstance(request, m.Create) else None
        if (undone := self._undone.pop(identity, None)) is not None:
            self._send_late(undone, send.request_id, name)
            return
        wish = self._wishes.get(identity)
        wait_ns = WAIT_NS
        if wish is not None and now_ns - wish.last_ns <= _WAIT_AGAIN_NS + WAIT_NS:
            wish.last_ns, wait_ns = now_ns, _WAIT_AGAIN_NS
        else:
            wish = self._wishes[identity] = _WriteWish(write, now_ns)
        self._held[send.request_id] = _TraderWrite(
            identity,
            write,
            wish,
            name,
            now_ns + wait_ns,
            write.order_id in self._to_cancel,
        )

    def _send_late(
        self, undone: _LateWrite, now_id: m.RequestId, name: ClientOrderId | None
    ) -> None:
        recorded = undone.recorded
        self._rows.remove(undone.row)
        self._counts[WriteMatch.LATER][recorded.write.kind] += 1
        self._later_ns.append(self._now_ns - recorded.write.at_ns)
        self._bind(recorded, now_id, name)
        if undone.response is not None:
            self._deliver(undone.response)

    # --- the run ----------------------------------------------------------------------------------

    def _on_event(self, event: m.Event) -> None:
        match event:
            case m.Response():
                self._on_run_response(event)
            case m.Started():
                # Its orders must not have the names of the run's.
                self._receive(msgspec.structs.replace(event, boot_nonce=event.boot_nonce[::-1]))
            case _:
                self._receive(event)

    def _on_recorded(self, send: m.Send) -> None:
        """The run sent a request."""
        request = send.request
        self._sent_ns[send.request_id] = self._now_ns
        if isinstance(request, m.Write):
            self._writes += 1
            write = self._write_of(request, send.why)
            self._turn.append(
                _RunWrite(send.request_id, request, write, self._newest, self._writes)
            )
            return
        self._reads_then += 1
        now_id = next((each for each, (read, _) in self._reads.items() if read == request), None)
        if now_id is not None:
            del self._reads[now_id]
            self._ours[send.request_id] = now_id

    def _on_run_response(self, response: m.Response) -> None:
        then_id, answer = response.request_id, response.answer
        shown: list[model.Order] = []
        if isinstance(answer, m.Ok):
            shown = _orders_in(answer.body)
            self._learn(answer.body, shown)
        row = self._first_creates.pop(then_id, None)
        if row is not None and len(shown) == 1:
            self._first[shown[0].order_id] = row
        if then_id in self._ours:
            self._deliver(response)
        for undone in self._undone.values():
            if undone.recorded.request_id == then_id:
                undone.response = response
        self._answer_reads(shown, self._sent_ns.pop(then_id, 0))

    def _deliver(self, response: m.Response) -> None:
        """Give the trader the run's response to what both sent."""
        now_id, answer = self._ours.pop(response.request_id), response.answer
        if isinstance(answer, m.Ok) and self._names:
            answer = m.Ok(self._in_our_names(answer.body))
        # The rate limit's headers count requests that the trader did not make.
        self._receive(m.Response(now_id, answer, retry_after_ns=response.retry_after_ns))

    def _answer_reads(self, shown: Sequence[model.Order], sent_ns: int) -> None:
        """Answer reads of one order from any response that shows it and was asked for later, or
        showed its end."""
        for now_id, (read, since_ns) in list(self._reads.items()) if self._reads else ():
            if not isinstance(read, m.ReadOrder):
                continue
            order = self._ended.get(read.order_id)
            if order is None and since_ns <= sent_ns:
                order = next((each for each in shown if each.order_id == read.order_id), None)
            if order is not None:
                del self._reads[now_id]
                self._answer(m.Response(now_id, m.Ok(m.OrderBody(self._in_our_name(order)))))

    def _learn(self, body: m.Body, shown: Sequence[model.Order]) -> None:
        for order in shown:
            with suppress(ValueError):  # an outcome or side of a later version
                outcome, side = Outcome(order.outcome.value), Side(order.side.value)
                price = canonical(outcome, order.price)
                self._slots[order.order_id] = _OrderSlot(order.market_id, outcome, side, price)
            if order.status in model.RESTING:
                self._shown[order.order_id] = order
            else:
                self._end(order)
        if isinstance(body, m.SeriesBody):
            for event in body.events:
                self._tickers.update((each.market_id, each.ticker) for each in event.markets)
        elif isinstance(body, m.FillsBody):
            for fill in body.fills:
                self._learn_fill(fill)

    def _learn_fill(self, fill: model.Fill) -> None:
        fills = self._filled.setdefault(fill.order_id, {})
        fills[fill.fill_id] = fill.qty
        order = self._shown.get(fill.order_id)
        if order is not None and sum(fills.values()) >= order.filled_qty + order.remaining_qty:
            filled = Qty(sum(fills.values()))
            status = model.OrderStatus.FILLED
            change = {"filled_qty": filled, "remaining_qty": Qty(0), "status": status}
            self._end(msgspec.structs.replace(order, **change))

    def _end(self, order: model.Order) -> None:
        self._ended[order.order_id] = order
        self._shown.pop(order.order_id, None)

    def _in_our_names(self, body: m.Body) -> m.Body:
        match body:
            case m.OrderBody(order) | m.CancelBody(order):
                return msgspec.structs.replace(body, order=self._in_our_name(order))
            case m.OrdersBody(orders):
                return msgspec.structs.replace(body, orders=tuple(map(self._in_our_name, orders)))
        return body

    def _in_our_name(self, order: model.Order) -> model.Order:
        name = order.client_order_id
        if name is None or name not in self._names:
            return order
        return msgspec.structs.replace(order, client_order_id=self._names[name])

    # --- matching ---------------------------------------------------------------------------------

    def _match_turn(self) -> None:
        """The writes that the run sent at one instant: the same ones first, then the others."""
        turn, self._turn = self._turn, []
        for recorded in [each for each in turn if not self._is_sent_too(each)]:
            rivals = [
                (distance, now_id)
                for now_id, held in self._held.items()
                if (distance := _distance(recorded.write, held.write)) is not None
            ]
            if rivals:
                self._do_instead(recorded, self._part(recorded, min(rivals)[1]))
                continue
            row = self._add_row(WriteMatch.THEN_FIRST, recorded, None)
            if not self._do_instead(recorded, row):
                continue
            if isinstance(recorded.request, m.Create):
                self._first_creates[recorded.request_id] = row
            else:
                self._first[recorded.request.order_id] = row

    def _is_sent_too(self, recorded: _RunWrite) -> bool:
        """True if the trader sent the same write: it gets the run's response."""
        identity, write = _identity_of(recorded.request), recorded.write
        now_id = next((key for key, each in self._held.items() if each.identity == identity), None)
        if now_id is None:
            return False
        held = self._end_wish(now_id)
        first_ns = held.wish.first.at_ns
        is_same = write.at_ns - first_ns <= _AT_ONCE_NS
        self._counts[WriteMatch.SAME if is_same else WriteMatch.EARLIER][write.kind] += 1
        if not is_same:
            self._earlier_ns.append(write.at_ns - first_ns)
        self._left.setdefault(write.market_id, []).append((recorded.number, first_ns))
        self._bind(recorded, now_id, held.client_order_id)
        return True

    def _bind(self, recorded: _RunWrite, now_id: m.RequestId, name: ClientOrderId | None) -> None:
        self._ours[recorded.request_id] = now_id
        if isinstance(recorded.request, m.Create) and name is not None:
            self._names[recorded.request.order.client_order_id] = name

    def _part(self, recorded: _RunWrite, now_id: m.RequestId) -> _MatchRow:
        """The trader sent another write than the run."""
        held = self._end_wish(now_id)
        row = self._add_row(_match_of(recorded.write, held.write), recorded, held.wish)
        self._take_back(now_id, held)
        return row

    def _give_up(self, now_id: m.RequestId, held: _TraderWrite) -> None:
        """The run did not send it. It may be what the trader wished in place of what the run sent
        first."""
        order_id = OrderId(held.write.order_id)
        row = self._first.get(order_id)
        recorded = None if row is None else row.recorded
        if recorded is not None and held.wish.first.at_ns <= recorded.write.at_ns + WAIT_NS:
            self._rows.remove(self._first.pop(order_id))
            self._part(recorded, now_id)
            return
        if held.wish not in self._only_now:
            row = self._add_row(WriteMatch.ONLY_NOW, None, held.wish)
            self._only_now[held.wish] = row
        self._take_back(now_id, self._held.pop(now_id))

    def _end_wish(self, now_id: m.RequestId) -> _TraderWrite:
        held = self._held.pop(now_id)
        if self._wishes.get(held.identity) is held.wish:
            del self._wishes[held.identity]
        if (row := self._only_now.pop(held.wish, None)) is not None:
            self._rows.remove(row)
        return held

    def _add_row(
        self, match: WriteMatch, recorded: _RunWrite | None, wish: _WriteWish | None
    ) -> _MatchRow:
        place = self._newest if recorded is None else recorded.place
        self._rows.append(_MatchRow(match, recorded, wish, place))
        return self._rows[-1]

    # --- keeping the trader on the course ---------------------------------------------------------

    def _take_back(self, now_id: m.RequestId, held: _TraderWrite) -> None:
        """Answer a write of the trader as one that never left, and let it decide again; a change of
        an order that has ended as the venue would."""
        if held.write.order_id in self._ended:
            self._answer(m.Response(now_id, _ENDED))
            return
        self._budget.is_taking_back = True
        self._answer(m.Response(now_id, _NOT_SENT))
        self._budget.is_taking_back = False
        own = self._trader.desk.live_order(OrderId(held.write.order_id))
        if own is not None and not held.is_decided:
            own.cancel_requested = False

    def _do_instead(self, recorded: _RunWrite, row: _MatchRow) -> bool:
        """Do a write of the run in the trader's place. False if it cannot be done now."""
        effects = self._trader.out.effects
        before = len(effects)
        if not self._has_sent(recorded.request, recorded.write.why):
            self._undone[_identity_of(recorded.request)] = _LateWrite(recorded, row)
            return False
        sent = [each for each in effects[before:] if isinstance(each, m.Send)]
        self._ours[recorded.request_id] = sent[0].request_id
        self._trader.quoting.orders_changed(recorded.write.market_id)
        return True

    def _has_sent(self, request: m.Write, why: str) -> bool:
        """True if the trader's order manager has sent a write. The write throttle does not count
        it."""
        desk, out, now_ns = self._trader.desk, self._trader.out, self._now_ns
        if isinstance(request, m.Create):
            if request.again:
                return self._has_sent_again(request, why)
            own: OwnOrder | None = OwnOrder(request.order, now_ns, why)
            assert own is not None
            if not desk.send_create(own, request, now_ns):
                return False
            quoting = self._trader.quoting
            if (rung := quoting.rung(own.market_id)) is not None:
                rate = max(rung.maker_rate, rung.taker_rate)
                quoting.weighing.account.cash.on_create(own, rate, now_ns)
            return True
        own = desk.live_order(request.order_id)
        if own is None:
            return False
        if isinstance(request, m.AmendResting):
            return desk.send_amend(own, request.amend, why, now_ns)
        # A second cancel hedges the first, which is still in flight.
        return desk.send_cancel(own, why, now_ns) or out.send(
            request, Priority.CANCEL, why, now_ns, own
        )

    def _has_sent_again(self, request: m.Create, why: str) -> bool:
        name = request.order.client_order_id
        names = (name, self._names.get(name))
        for own in self._trader.desk.live_orders:
            if own.client_order_id in names and own.is_allowed(OrderEvent.RESEND):
                if not self._trader.out.send(request, Priority.RECOVER, why, self._now_ns, own):
                    return False
                own.apply_event(OrderEvent.RESEND, own.last_write_ns)
                own.due_ns = NEVER_NS
                return True
        return False

    # --- writes -----------------------------------------------------------------------------------

    def _write_of(self, request: m.Write, why: str) -> OrderWrite:
        if isinstance(request, m.Create):
            order = request.order
            price = canonical(order.outcome, order.price)
            slot = _OrderSlot(order.market_id, order.outcome, order.side, price)
            qty, order_id = int(order.qty), ""
        else:
            slot = self._slots.get(request.order_id, _UNKNOWN)
            price, qty, order_id = slot.price, 0, request.order_id
            if isinstance(request, m.AmendResting):
                qty = request.amend.qty or 0
                if request.amend.price is not None:
                    price = canonical(slot.outcome, request.amend.price)
        return OrderWrite(
            self._now_ns,
            kind_of(request),
            self._tickers.get(slot.market_id, slot.market_id),
            slot.market_id,
            book_side(slot.outcome, slot.side),
            price,
            qty,
            order_id,
            str(why),
        )


_UNKNOWN: Final = _OrderSlot(MarketId(""), Outcome.YES, Side.BUY, Price(0))


def _guarded(make: MakeStrategy) -> MakeStrategy:
    return lambda: Retold(make, {})


def _with_ticks(entries: Iterable[Placed]) -> Iterator[tuple[Placed, int]]:
    """Each entry with the instant of the tick that ends its turn of the loop."""
    turn: list[Placed] = []
    for placed in entries:
        turn.append(placed)
        if type(placed.entry.message) is m.Tick:
            yield from ((each, placed.entry.at_ns) for each in turn)
            turn = []
    yield from ((each, each.entry.at_ns) for each in turn)


def _is_of_one(read: m.Request) -> bool:
    return isinstance(read, m.ReadOrder | m.ReadBook)


def _identity_of(request: m.Write) -> _Identity:
    if isinstance(request, m.Create):
        each = request.order
        content = (each.market_id, each.outcome, each.side, each.price, each.qty)
        return (request.again, each.time_in_force, *content)
    if isinstance(request, m.AmendResting):
        return (request.order_id, request.amend.price, request.amend.qty)
    return (request.order_id,)


def _distance(then: OrderWrite, now: OrderWrite) -> tuple[int, int] | None:
    """How unlike two writes are; None for writes about different things."""
    if (then.market_id, then.side) != (now.market_id, now.side):
        return None
    unlike = (then.kind != now.kind) * 2 + (then.order_id != now.order_id)
    return unlike, abs(then.at_ns - now.at_ns)


def _match_of(then: OrderWrite, now: OrderWrite) -> WriteMatch:
    if then.kind != now.kind:
        return WriteMatch.OTHER_KIND
    if then.order_id != now.order_id:
        return WriteMatch.OTHER_ORDER
    return WriteMatch.OTHER_PRICE if then.price != now.price else WriteMatch.OTHER_SIZE


def _overtaken(rows: Sequence[tuple[int, int]]) -> int:
    """How many left before one that they followed in the run. rows: number then, time now."""
    found = latest_ns = 0
    for _, at_ns in sorted(rows):
        found += at_ns < latest_ns
        latest_ns = max(latest_ns, at_ns)
    return found


def _orders_in(body: m.Body) -> list[model.Order]:
    match body:
        case m.OrderBody(order) | m.CancelBody(order):
            return [order]
        case m.OrdersBody(orders):
            return list(orders)
    return []
