"""The history of each order by a journal, without a trader: every request about it, with its
answer. A run that adopts an order of an earlier one continues its history."""

from pathlib import Path
from typing import Final

import msgspec

from bot.core import messages as m
from bot.core.orders.outbox import kind_of
from bot.io.journal.journal import number_of, read_segment, segments
from bot.io.journal.records import Entry, Head, JournalFault
from bot.lab.session import Place, Placed, Run, placed_entries, refuse_blank, runs
from venue.wire.model import RESTING
from venue.wire.money import BookSide, Outcome, Price, Qty, Side, book_side, canonical
from venue.wire.names import ClientOrderId, MarketId, OrderId, Ticker
from venue.wire.requests import QtyOrder

CHANNEL: Final = "frame of the channel"
_NAMED_MAX: Final = 6


class OrderNotFound(Exception):
    """No order of that id, or several; the text says which there are."""


class Frame(msgspec.Struct, frozen=True):
    """A book as it arrived, our own orders included."""

    kind: str  # CHANNEL, or a read
    place: Place
    ts_ns: int  # of the venue
    at_ns: int  # when it arrived
    bids: m.Levels
    asks: m.Levels


def frame_of(kind: str, placed: Placed, seen: m.BookUpdate) -> Frame:
    at_ns = placed.entry.at_ns
    return Frame(kind, placed.place, seen.ts_ns, at_ns, seen.bids, seen.asks)


class OrderRequest(msgspec.Struct, kw_only=True):
    """One request about an order."""

    kind: str
    why: str
    run: str  # the nonce, empty where the beginning of the run is no longer kept
    number: int  # of the event that caused it
    place: Place
    at_ns: int
    request_id: int
    again: bool = False
    price: Price | None = None
    qty: Qty | None = None
    key: str = "trade"
    frame: Frame | None = None  # the newest of its market that the journal has before it
    answer: str = ""  # in a few words, empty while there is none
    answered_ns: int | None = None

    @property
    def is_choice(self) -> bool:
        return self.kind in ("create", "amend", "cancel") and not self.again


class OrderHistory(msgspec.Struct, kw_only=True):
    client_order_id: ClientOrderId
    market_id: MarketId
    side: BookSide  # side, price: canonical YES, as its create asked for
    price: Price
    outcome: Outcome
    own_side: Side
    qty: Qty
    order_ids: list[OrderId]  # those the venue gave it, newest last
    deeds: list[OrderRequest]
    inherited: list[str]  # nonces of the runs that found it as an earlier one's
    shown: str = ""  # its status as the venue showed it last
    shown_ns: int = 0  # when, by the bot's clock
    filled: Qty = Qty(0)

    @property
    def resting_ns(self) -> int | None:
        """When the venue last showed it, by the bot's clock; None unless it rested then. The
        journal may lack what came later, as after a full disk."""
        return self.shown_ns if self.shown in RESTING else None

    @property
    def ids(self) -> list[str]:
        return [*filter(None, [self.client_order_id]), *self.order_ids]


class OrderHistories:
    def __init__(self) -> None:
        self.runs: list[Run] = []  # those whose beginning is kept, the oldest first
        self.damage: list[str] = []  # a line for each thing that could not be read
        self.orders: list[OrderHistory] = []
        self.tickers: dict[MarketId, Ticker] = {}  # of the rungs that the venue listed
        self._by_client: dict[ClientOrderId, OrderHistory] = {}
        self._by_id: dict[OrderId, OrderHistory] = {}
        self._frames: dict[MarketId, Frame] = {}
        self._run = ""
        self._asked: dict[int, tuple[OrderHistory, OrderRequest, m.Request]] = {}

    def add_run(self, run: Run) -> None:
        """Add a later run. Raises JournalFault after adding what precedes the damage."""
        for placed in placed_entries(run.paths):
            self.on_entry(placed)

    def read_fragment(self, paths: list[Path]) -> None:
        """Add the segments of a run whose beginning is no longer kept, before all others. Raises
        as `add_run` does."""
        head = read_segment(paths[0]).head
        if head is not None:
            self._left(head)
            for send in head.under_way:
                self._sent(send, Placed(Place(paths[0].name, 0), Entry(head.opened_ns, send), 0))
        for placed in placed_entries(paths, from_the_start=False):
            self.on_entry(placed)
        refuse_blank(paths)

    def on_entry(self, placed: Placed) -> None:
        at_ns = placed.entry.at_ns
        match placed.entry.message:
            case m.BookUpdate() as seen:
                self._frames[seen.market_id] = frame_of(CHANNEL, placed, seen)
            case m.Send() as send:
                self._sent(send, placed)
            case m.Response(answer=m.Ok(body=m.SeriesBody(events=events))):
                for event in events:
                    self.tickers |= {rung.market_id: rung.ticker for rung in event.markets}
            case m.Response(request_id=number, answer=answer):
                waiting = self._asked.pop(number, None)
                if waiting is not None:
                    self._on_response(*waiting, answer, at_ns)
            case m.Started() as started:
                self._run, self._asked = started.boot_nonce, {}
                for life in self._left(started):
                    life.inherited.append(started.boot_nonce)
            case m.CreateResolved(client_order_id=name, order_id=order_id) if order_id is not None:
                if name in self._by_client:
                    self._named(self._by_client[name], order_id)

    def _left(self, by: Head | m.Started) -> list[OrderHistory]:
        """The orders that an earlier run left."""
        created = [self._life(each.order) for each in by.open_intents]
        return created + [self._life(each) for each in by.working]

    def _life(self, order: QtyOrder | m.JournaledOrder) -> OrderHistory:
        life = self._by_client.get(order.client_order_id)
        if life is None:
            qty = order.qty if isinstance(order, QtyOrder) else order.remaining + order.filled
            life = OrderHistory(
                client_order_id=order.client_order_id,
                market_id=order.market_id,
                side=book_side(order.outcome, order.side),
                price=canonical(order.outcome, order.price),
                outcome=order.outcome,
                own_side=order.side,
                qty=Qty(qty),
                order_ids=[],
                deeds=[],
                inherited=[],
            )
            self.orders.append(life)
            if order.client_order_id:
                self._by_client[order.client_order_id] = life
        if isinstance(order, m.JournaledOrder):
            self._named(life, order.order_id)
        return life

    def _named(self, life: OrderHistory, order_id: OrderId) -> None:
        self._by_id[order_id] = life
        if order_id not in life.order_ids:
            life.order_ids.append(order_id)

    def _sent(self, send: m.Send, placed: Placed) -> None:
        request = send.request
        if isinstance(request, m.Create):
            life: OrderHistory | None = self._life(request.order)
        elif isinstance(request, m.AmendResting | m.CancelResting | m.ReadOrder):
            life = self._by_id.get(request.order_id)
        else:
            return
        if life is None:
            return
        deed = OrderRequest(
            kind=kind_of(request),
            why=send.why,
            run=self._run,
            number=placed.number,
            place=placed.place,
            at_ns=placed.entry.at_ns,
            request_id=send.request_id,
            key=send.key.value,
            frame=self._frames.get(life.market_id),
        )
        if isinstance(request, m.Create):
            deed.again, deed.price, deed.qty = request.again, life.price, request.order.qty
        elif isinstance(request, m.AmendResting):
            amend = request.amend
            deed.qty = amend.qty
            deed.price = None if amend.price is None else canonical(life.outcome, amend.price)
        life.deeds.append(deed)
        self._asked[send.request_id] = (life, deed, request)

    def _on_response(
        self,
        life: OrderHistory,
        deed: OrderRequest,
        request: m.Request,
        answer: m.Answer,
        at_ns: int,
    ) -> None:
        deed.answered_ns = at_ns
        if isinstance(answer, m.Rejected):
            deed.answer = f"refused: {answer.status} {answer.code or answer.message}".rstrip()
        elif isinstance(answer, m.Unknown):
            deed.answer = f"unknown: {answer.reason}"
        elif isinstance(answer.body, m.OrderBody | m.CancelBody):
            shown = answer.body.order
            deed.answer = (
                f"order {shown.order_id} {shown.status.value}, {shown.filled_qty} filled, "
                f"{shown.remaining_qty} left at {canonical(life.outcome, shown.price)}"
            )
            life.filled = max(life.filled, shown.filled_qty)
            life.shown, life.shown_ns = shown.status.value, at_ns
            if not isinstance(request, m.ReadOrder):
                self._named(life, shown.order_id)

    def find(self, text: str) -> OrderHistory:
        """The order of this id, ours or the venue's, or the only one whose id begins so. Raises
        OrderNotFound for none or several."""
        exact = self._by_client.get(ClientOrderId(text)) or self._by_id.get(OrderId(text))
        if exact is not None:
            return exact
        found = [life for life in self.orders if any(each.startswith(text) for each in life.ids)]
        if not found:
            raise OrderNotFound(f"no order {text!r} in the journal: bot explain CONFIG lists them")
        if len(found) > 1:
            named = ", ".join(life.ids[0] for life in found[-_NAMED_MAX:])
            if len(found) > _NAMED_MAX:
                named += f" and {len(found) - _NAMED_MAX} older ones"
            raise OrderNotFound(f"{text!r} begins the ids of {len(found)} orders: {named}")
        return found[0]


def read_order_histories(state: Path) -> OrderHistories:
    """The orders in the journal of a state directory. Raises JournalFault when nothing of it can be
    read, or its newest segment has an unknown version."""
    found = OrderHistories()
    kept, damage = found.runs, found.damage
    try:
        for run in runs(state):
            kept.insert(0, run)
    except JournalFault as fault:
        if not kept:
            raise
        damage.append(str(fault))
    oldest = number_of(kept[0].paths[0]) if kept else None
    before = [path for path in segments(state) if oldest is None or number_of(path) < oldest]
    try:
        if before and not damage:
            found.read_fragment(before)
    except JournalFault as fault:
        damage.append(str(fault))
    for run in kept:
        try:
            found.add_run(run)
        except JournalFault as fault:
            damage.append(str(fault))
    if damage and not kept and not found.orders:
        raise JournalFault(damage[0])
    return found
