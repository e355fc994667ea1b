"""The state that a journal gives the next run: open creates, orders, winners, booked fills.

The newest segment suffices, for its head carries what came before it. From a damaged one every
readable entry still counts as far as it opens a create; its orders are not used.
"""

from collections import OrderedDict
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

import msgspec

from bot.core import messages as m
from bot.core.orders.order import slot_shown
from bot.io.journal.records import Entry, Head, JournalFault, Segment
from bot.io.state.atomic_file import read_file, replace_file
from venue.wire import model
from venue.wire.errors import Advice, Code, Sequenced, row_for
from venue.wire.instant import Instant, to_ns
from venue.wire.money import Cents, Outcome, Qty
from venue.wire.names import ClientOrderId, MarketId, OrderId, Ticker, fold_ticker
from venue.wire.requests import QtyOrder

OPEN_MAX: Final = 2_000
"""Far above every limit on resting orders. None may be forgotten: with more the bot stops."""

_REFUSED_MAX: Final = 1_000
"""Rejections remembered; a forgotten one makes a later retry count as in doubt."""


class _Intent:
    """A create that was sent. doubt: an earlier sending may have been carried out."""

    __slots__ = ("doubt", "intent", "sendings")

    def __init__(self, intent: m.UnconfirmedCreate, doubt: bool) -> None:
        self.intent = intent
        self.doubt = doubt
        self.sendings = 0


class Intents:
    """The creates that may be live without our knowing: those without an answer.

    A create is closed by an answer that shows its order, by the rejection of every sending, by a
    read that explains it, and by a run that ends with a read that shows nothing. A rejection after
    a sending without an answer closes nothing, because the earlier order may have caused it; only
    that of a resolved market does.
    """

    def __init__(
        self, open_intents: tuple[m.UnconfirmedCreate, ...] = (), under_way: tuple[m.Send, ...] = ()
    ) -> None:
        """under_way: writes in flight of the same run."""
        self._open = {
            intent.order.client_order_id: _Intent(intent, doubt=True) for intent in open_intents
        }
        self._asked: dict[m.RequestId, ClientOrderId] = {}
        self._refused: OrderedDict[ClientOrderId, None] = OrderedDict()
        for send in under_way:
            if isinstance(send.request, m.Create):
                known = self._open.get(send.request.order.client_order_id)
                if known is not None:
                    known.sendings += 1
                    known.doubt = send.request.again
                    self._asked[send.request_id] = send.request.order.client_order_id

    def open_creates(self) -> tuple[m.UnconfirmedCreate, ...]:
        return tuple(each.intent for each in self._open.values())

    def follow(self, message: m.Event | m.Effect) -> None:
        match message:
            case m.Send(request=m.Create() as create):
                self._sent(message.request_id, create)
            case m.Response() if message.request_id in self._asked:
                self._answered(self._asked.pop(message.request_id), message.answer)
            case m.Started(new_account=True):
                # The open creates were sent to a venue that is gone.
                self._open.clear()
                self._asked.clear()
            case m.Started():
                # Request ids start again: the last run never got the answers it waited for.
                for each in self._open.values():
                    each.doubt = each.doubt or each.sendings > 0
                    each.sendings = 0
                self._asked.clear()
            case m.CreateResolved():
                self._open.pop(message.client_order_id, None)
            case m.DrainComplete(left=(), unknown=(), unshown=False):
                self._open.clear()

    def open_create(self, name: ClientOrderId) -> m.UnconfirmedCreate | None:
        known = self._open.get(name)
        return None if known is None else known.intent

    @property
    def too_many(self) -> bool:
        return len(self._open) > OPEN_MAX

    def _sent(self, request_id: m.RequestId, create: m.Create) -> None:
        name = create.order.client_order_id
        known = self._open.get(name)
        if known is None:
            # A retry after a clear reject (throttled, say) is as good as new.
            doubt = create.again and name not in self._refused
            known = _Intent(m.UnconfirmedCreate(create.order), doubt)
            self._open[name] = known
        known.sendings += 1
        self._asked[request_id] = name

    def _answered(self, name: ClientOrderId, answer: m.Answer) -> None:
        known = self._open.get(name)
        if known is None:
            return
        known.sendings -= 1
        if _is_done(known.intent, answer) or _is_resolved(answer):
            del self._open[name]
        elif not _is_against(answer):
            known.doubt = True
        elif not known.doubt and known.sendings == 0:
            del self._open[name]
            self._refused[name] = None
            if len(self._refused) > _REFUSED_MAX:
                self._refused.popitem(last=False)


def _is_done(intent: m.UnconfirmedCreate, answer: m.Answer) -> bool:
    if not isinstance(answer, m.Ok) or not isinstance(answer.body, m.OrderBody):
        return False
    return is_order_of(intent.order, answer.body.order)


def is_order_of(wanted: QtyOrder, shown: model.Order) -> bool:
    """True if the answer to a create shows its own order. Without a client id an order of its
    market, outcome, side and price is taken for it."""
    if shown.client_order_id:
        return shown.client_order_id == wanted.client_order_id
    there = (wanted.market_id, wanted.outcome.value, wanted.side.value, wanted.price)
    return slot_shown(shown) == there


def _is_resolved(answer: m.Answer) -> bool:
    return isinstance(answer, m.Rejected) and answer.code == Code.MARKET_RESOLVED


def _is_against(answer: m.Answer) -> bool:
    """True if an answer says that this sending made no order."""
    if not isinstance(answer, m.Rejected):
        return False
    # Status 0 never left this host, like a request that never reached the engine.
    row = row_for(answer.status or 429, answer.code)
    return row.sequenced is not Sequenced.UNKNOWN and row.advice is not Advice.EXISTS


WORKING_MAX: Final = 1_000
"""Orders remembered, above every limit on resting orders. A forgotten one is cancelled at the
start."""

EARLIER_IDS_MAX: Final = 8
"""Former ids remembered of each amended order."""


class _Known:
    """waiting: writes in flight. doubt: a write that never got an answer."""

    __slots__ = ("doubt", "order", "waiting")

    def __init__(self, order: m.JournaledOrder, doubt: bool) -> None:
        self.order = order
        self.waiting = 0
        self.doubt = doubt

    def journaled(self) -> m.JournaledOrder:
        settled = not self.waiting and not self.doubt
        return msgspec.structs.replace(self.order, settled=settled)


def _is_foreign(known: m.JournaledOrder, body: m.Body) -> bool:
    """True if an answer shows another order: another id, which an amend may give (S13), and another
    slot."""
    if not isinstance(body, m.OrderBody | m.CancelBody) or body.order.order_id == known.order_id:
        return False
    return slot_shown(body.order)[:3] != (known.market_id, known.outcome.value, known.side.value)


class OpenOrderIndex:
    """The orders that rest as far as the journal knows; the next run confirms them by a list.

    An order enters with the answer that shows it resting. It leaves with an answer that shows its
    end, at a start that did not adopt it, and at an end whose read shows nothing left.
    """

    def __init__(
        self, known: tuple[m.JournaledOrder, ...] = (), under_way: tuple[m.Send, ...] = ()
    ) -> None:
        """under_way: writes in flight of the same run."""
        self._known: OrderedDict[OrderId, _Known] = OrderedDict()
        self._asked: dict[m.RequestId, m.Write | m.ReadOrder] = {}
        for order in known:
            self._known[order.order_id] = _Known(order, not order.settled)
        for send in under_way:
            self._sent(send)

    def orders(self) -> tuple[m.JournaledOrder, ...]:
        """Oldest first; at most WORKING_MAX."""
        return tuple(known.journaled() for known in self._known.values())

    def follow(self, message: m.Event | m.Effect, at_ns: int) -> None:
        match message:
            case m.Send():
                self._sent(message)
            case m.Response() if message.request_id in self._asked:
                self._answered(self._asked.pop(message.request_id), message.answer, at_ns)
            case m.Started():
                if message.new_account:
                    self._known.clear()
                self._asked.clear()
                for known in self._known.values():
                    # Requests in flight at the end of the run before may have been carried out.
                    known.doubt = known.doubt or known.waiting > 0
                    known.waiting = 0
            case m.OrdersAdopted():
                kept = frozenset(message.order_ids)
                for order_id in [each for each in self._known if each not in kept]:
                    del self._known[order_id]
            case m.DrainComplete(left=(), unknown=(), unshown=False):
                self._known.clear()

    def identified(self, order: QtyOrder, order_id: OrderId, at_ns: int) -> None:
        """A create without an answer was found resting; a list will show its size."""
        known = m.JournaledOrder(
            client_order_id=order.client_order_id,
            order_id=order_id,
            market_id=order.market_id,
            outcome=order.outcome,
            side=order.side,
            price=order.price,
            remaining=order.qty,
            filled=Qty(0),
            placed_ns=at_ns,
        )
        self._known[order_id] = _Known(known, doubt=False)
        if len(self._known) > WORKING_MAX:
            self._known.popitem(last=False)

    def _sent(self, send: m.Send) -> None:
        match send.request:
            case m.Create():
                self._asked[send.request_id] = send.request
            case m.ReadOrder(order_id=order_id):
                if order_id in self._known:
                    self._asked[send.request_id] = send.request
            case m.AmendResting(order_id=order_id) | m.CancelResting(order_id=order_id):
                known = self._known.get(order_id)
                if known is not None:
                    self._asked[send.request_id] = send.request
                    known.waiting += 1
                    # No order is amended before an earlier doubt about it is over.
                    known.doubt &= not isinstance(send.request, m.AmendResting)

    def _answered(self, request: m.Write | m.ReadOrder, answer: m.Answer, at_ns: int) -> None:
        if isinstance(request, m.Create):
            body = answer.body if isinstance(answer, m.Ok) else None
            if isinstance(body, m.OrderBody) and is_order_of(request.order, body.order):
                self._created(request, body.order, at_ns)
            return
        known = self._known.get(request.order_id)
        if known is None:
            return
        if not isinstance(request, m.ReadOrder):
            known.waiting = max(0, known.waiting - 1)
        if isinstance(answer, m.Ok) and _is_foreign(known.order, answer.body):
            answer = m.Unknown("it shows another order than was asked about")
        match answer:
            case m.Ok(body=m.CancelBody()):
                del self._known[request.order_id]
            case m.Ok(body=m.OrderBody(order=shown)):
                self._on_order_shown(known, request, shown)
            case m.Rejected():
                row = row_for(answer.status or 429, answer.code)
                if row.advice is Advice.ENDED:
                    del self._known[request.order_id]
                else:
                    known.doubt |= row.sequenced is Sequenced.UNKNOWN
            case m.Unknown():
                known.doubt |= not isinstance(request, m.ReadOrder)

    def _created(self, create: m.Create, shown: model.Order, at_ns: int) -> None:
        if shown.status in model.TERMINAL:
            self._known.pop(shown.order_id, None)
            return
        self.identified(create.order, shown.order_id, at_ns)
        known = self._known[shown.order_id]
        known.order = msgspec.structs.replace(
            known.order,
            price=shown.price,
            remaining=shown.remaining_qty,
            filled=shown.filled_qty,
        )

    def _on_order_shown(
        self,
        known: _Known,
        request: m.AmendResting | m.CancelResting | m.ReadOrder,
        shown: model.Order,
    ) -> None:
        order = known.order
        if shown.status in model.TERMINAL:
            is_cancelled = shown.status is model.OrderStatus.CANCELED
            if is_cancelled and isinstance(request, m.ReadOrder) and (known.waiting or known.doubt):
                return  # an amend without an answer may have it rest under another id (S13)
            del self._known[order.order_id]
        elif isinstance(request, m.AmendResting):
            # The order_id may be another one after an amend (S13).
            del self._known[order.order_id]
            earlier = order.previous_ids
            if shown.order_id != order.order_id:
                # Where it shows fewer fills than there were, those are its own alone.
                goes_on = shown.filled_qty >= order.filled
                unshown = Qty(0) if goes_on else order.filled
                earlier = (*(earlier if goes_on else ()), (order.order_id, unshown))
            known.order = msgspec.structs.replace(
                order,
                order_id=shown.order_id,
                previous_ids=earlier[-EARLIER_IDS_MAX:],
                price=shown.price,
                remaining=shown.remaining_qty,
                filled=shown.filled_qty,
            )
            self._known[shown.order_id] = known
        elif shown.filled_qty > order.filled:
            known.order = msgspec.structs.replace(
                order, remaining=shown.remaining_qty, filled=shown.filled_qty
            )


class RecoveredState(msgspec.Struct, frozen=True):
    """The state at the start of a run. damage: where a damaged journal is, for a person. winners,
    complete_fill and what follows: as in `Started`."""

    fate: m.JournalFate
    open_intents: tuple[m.UnconfirmedCreate, ...] = ()
    working: tuple[m.JournaledOrder, ...] = ()
    damage: str = ""
    winners: tuple[tuple[MarketId, Outcome], ...] = ()
    complete_fill: m.FillMark | None = None
    event_cash: tuple[tuple[Ticker, Cents], ...] = ()
    fills_since: tuple[m.FillMark, ...] = ()
    memories: tuple[m.StrategyMemory, ...] = ()
    losses: m.LossRecord | None = None
    transfers_cents: Cents = Cents(0)

    def _carried(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in _CARRIED}

    def head(self, at_ns: int) -> Head:
        return Head(at_ns, open_intents=self.open_intents, working=self.working, **self._carried())

    def started(self, boot_nonce: str, new_account: bool, **run: Any) -> m.Started:
        """The first event of a run that begins with this. run: further fields of the event."""
        return m.Started(
            boot_nonce,
            self.open_intents,
            new_account,
            working=self.working,
            journal=self.fate,
            **self._carried(),
            **run,
        )


_CARRIED: Final = (
    "winners",
    "complete_fill",
    "event_cash",
    "fills_since",
    "memories",
    "losses",
    "transfers_cents",
)
"""Fields that a head, a recovered state and a start have in common."""


NOTHING_LEFT: Final = RecoveredState(m.JournalFate.FOUND)
"""For a run on an account of its own."""


_NEW: Final = Head(0, ())

_TELLING: Final = frozenset(
    (
        m.Send,
        m.Response,
        m.Started,
        m.DrainComplete,
        m.CreateResolved,
        m.OrdersAdopted,
        m.Noted,
        m.LossRecord,
    )
)
"""Kinds of entries that matter here; most are others, and this is on the hot path."""


WINNERS_MAX: Final = 1_000
"""Winners remembered, far above the rungs of a series that trades."""


EVENTS_MAX: Final = 1_000
"""Events whose cash is remembered; of a forgotten one a loss limit begins again."""

MEMORIES_MAX: Final = 200
"""Events whose strategy's memory is kept, far above the open events of a series; that of the event
that changed longest ago goes first."""

FILLS_SINCE_MAX: Final = 10_000
"""Fills remembered by id that no poll has proved complete; the oldest beyond count as complete."""

_CASH: Final = frozenset(("fill_booked", "rung_settled", "unallocated_settlement"))
"""Notes of cash that came or went for an event."""


class RunningState:
    """Follows a journal entry by entry."""

    def __init__(self, head: Head = _NEW) -> None:
        self._intents = Intents(head.open_intents, head.under_way)
        self._working = OpenOrderIndex(head.working, head.under_way)
        self._under_way = {send.request_id: send for send in head.under_way}
        self._winners = dict(head.winners)
        self._complete_fill = head.complete_fill
        self._fills_since = {mark.fill_id: mark for mark in head.fills_since}
        self._event_cash = dict(head.event_cash)
        self._memories = {each.event_ticker: each for each in head.memories}
        self._losses = head.losses
        self._transfers_cents = int(head.transfers_cents)

    @property
    def too_many(self) -> bool:
        return self._intents.too_many

    def follow(self, entry: Entry) -> None:
        message = entry.message
        if type(message) not in _TELLING:
            return
        match message:
            case m.Send(request=m.Create() | m.AmendResting() | m.CancelResting()):
                self._under_way[message.request_id] = message
            case m.Response():
                self._under_way.pop(message.request_id, None)
            case m.Started():
                self._under_way.clear()
                if message.new_account:
                    self._winners.clear()
                    self._event_cash.clear()
                    self._memories.clear()
                    self._complete_fill = None
                    self._fills_since.clear()
                    self._losses, self._transfers_cents = None, 0
            case m.Noted():
                self._noted(message.name, message.fields)
                return
            case m.LossRecord():
                self._losses = message
                return
            case m.CreateResolved(order_id=str(order_id)):
                intent = self._intents.open_create(message.client_order_id)
                if intent is not None:
                    self._working.identified(intent.order, OrderId(order_id), entry.at_ns)
        self._intents.follow(entry.message)
        self._working.follow(entry.message, entry.at_ns)

    def _noted(self, name: str, fields: dict[str, str | int]) -> None:
        if name == "winner_told":
            self._on_winner(fields)
        elif name == "event_left":
            event = fold_ticker(str(fields["event"]))
            self._event_cash.pop(event, None)
            self._memories.pop(event, None)
        elif name == "strategy_memory":
            event = Ticker(str(fields["event"]))
            self._memories.pop(event, None)
            self._memories[event] = m.StrategyMemory(
                event, str(fields["strategy"]), str(fields["values"])
            )
            if len(self._memories) > MEMORIES_MAX:
                del self._memories[next(iter(self._memories))]
        elif name in _CASH and "cents" in fields:
            event = Ticker(str(fields["event"]))
            before = self._event_cash.pop(event, Cents(0))
            self._event_cash[event] = Cents(before + int(fields["cents"]))
            if len(self._event_cash) > EVENTS_MAX:
                del self._event_cash[next(iter(self._event_cash))]
        elif name == "account_transfer":
            self._transfers_cents += int(fields["cents"])
        if name == "fill_booked":
            mark = _mark_of(fields)
            self._fills_since[mark.fill_id] = mark
            if len(self._fills_since) > FILLS_SINCE_MAX:
                self._complete_up_to(self._fills_since[next(iter(self._fills_since))])
        elif name in ("fills_complete", "books_opened"):
            self._complete_up_to(_mark_of(fields))

    def _complete_up_to(self, complete: m.FillMark) -> None:
        """Every fill up to this one is booked; one of the same instant may be listed above it."""
        self._complete_fill = complete
        self._fills_since.pop(complete.fill_id, None)
        from_ns = to_ns(complete.created_at)
        for mark in [*self._fills_since.values()]:
            if to_ns(mark.created_at) < from_ns:
                del self._fills_since[mark.fill_id]

    def _on_winner(self, fields: dict[str, str | int]) -> None:
        self._winners[MarketId(str(fields["market_id"]))] = Outcome(str(fields["winner"]))
        if len(self._winners) > WINNERS_MAX:
            del self._winners[next(iter(self._winners))]

    def head(self, at_ns: int) -> Head:
        return Head(
            at_ns,
            self._intents.open_creates(),
            self._working.orders(),
            tuple(self._under_way.values()),
            tuple(self._winners.items()),
            self._complete_fill,
            tuple(self._event_cash.items()),
            tuple(self._fills_since.values()),
            tuple(self._memories.values()),
            self._losses,
            Cents(self._transfers_cents),
        )

    def memory(self) -> RecoveredState:
        head = self.head(0)
        carried = {name: getattr(head, name) for name in _CARRIED}
        return RecoveredState(m.JournalFate.FOUND, head.open_intents, head.working, **carried)


def _mark_of(fields: dict[str, str | int]) -> m.FillMark:
    return m.FillMark(str(fields["fill_id"]), Instant(str(fields["created_at"])))


def recall(newest_first: Iterable[Segment]) -> RecoveredState:
    """Reads no more segments than needed. Raises JournalFault as `Segment` does."""
    needed: list[Segment] = []
    for segment in newest_first:
        if segment.head is not None:
            needed.append(segment)
            break
        if segment.damaged_at is not None:
            needed.append(segment)
    if not needed:
        return RecoveredState(m.JournalFate.LOST)
    trail = RunningState(needed[-1].head or _NEW)
    damage = ""
    for segment in reversed(needed):
        for entry in segment.entries():
            trail.follow(entry)
        for entry in segment.salvaged():
            trail.follow(entry)
        if segment.damaged_at is not None:
            damage = f"{segment.name}: journal damaged at byte {segment.damaged_at}"
    memory = trail.memory()
    if damage:
        return RecoveredState(
            m.JournalFate.DAMAGED,
            memory.open_intents,
            (),
            damage,
            winners=memory.winners,
            losses=memory.losses,
            transfers_cents=memory.transfers_cents,
        )
    return memory


EMBEDDED: Final = "an embedded venue"
"""The address of every venue that began and ended with its run."""

PAPER_AT: Final = "paper at "
"""How the address of a paper run begins, before that of the venue whose market it trades."""

_ADDRESS: Final = "venue-address"


def address_kept(folder: Path) -> str | None:
    """Where the last run traded; None where no file says it."""
    try:
        content = read_file(folder / _ADDRESS)
    except OSError:
        return None
    return None if content is None else content.decode("utf-8", "replace").strip()


def keep_address(folder: Path, address: str, memory: RecoveredState) -> None:
    """Write where the run that begins trades. memory: what earlier runs left.

    Raises JournalFault, with nothing changed, when unanswered creates or orders that may rest are
    of another venue, or on a disk fault. A directory without the file is accepted.
    """
    path = folder / _ADDRESS
    address = address.rstrip("/")
    try:
        content = read_file(path)
        before = None if content is None else content.decode("utf-8", "replace").strip()
        if before == address:
            return
        unanswered = len(memory.open_intents)
        resting = 0 if before == EMBEDDED else len(memory.working)
        if before is not None and unanswered + resting:
            raise JournalFault(
                f"{folder}: of what was sent to {before}, {unanswered} creates have no answer yet "
                f"and {resting} orders may rest, and this run would trade at {address}; run it "
                "there once more, or give this one a folder of its own with --state-dir. If both "
                f"lead to one account, write the new address into {path}"
            )
        replace_file(path, f"{address}\n".encode())
    except OSError as fault:
        raise JournalFault(f"{path}: {fault.strerror}") from None
