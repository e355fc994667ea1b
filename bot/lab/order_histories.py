"""The history of each order by a journal: every request about it, with its answer.

It reads entries without a trader, whatever the program or configuration was. A run that adopts an
order of an earlier one continues its history.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec

from bot.core import messages as m
from bot.core.orders.outbox import kind_of
from bot.io.journal.journal import number_of, read_segment, segments
from bot.io.journal.records import Entry, JournalFault
from bot.lab.session import Place, Placed, Run, placed_entries, refuse_blank, runs
from venue.wire.model import RESTING
from venue.wire.money import BookSide, Outcome, Price, Qty, Side, book_side, canonical
from venue.wire.names import ClientOrderId, MarketId, OrderId
from venue.wire.requests import QtyOrder

CHANNEL: Final = "frame of the channel"  # the kind of a `Frame` that came by itself
_NAMED_MAX: Final = 6


class OrderNotFound(Exception):
    """No order is meant, or several may be; the text says what there is."""


class Frame(msgspec.Struct, frozen=True):
    """The source of a book."""

    kind: str  # a frame of the channel, or a read
    place: Place
    ts_ns: int  # of the venue
    at_ns: int  # when it arrived
    bids: m.Levels  # bids, asks: all that it showed, our own orders included
    asks: m.Levels


class OrderRequest(msgspec.Struct, kw_only=True):
    """One request about an order. run: the nonce of the run that sent it, empty where the beginning
    of that run is no longer kept; frame: the newest of its market that had arrived when it left, of
    those that the journal keeps."""

    kind: str
    why: str
    run: str
    number: int  # of the event that it came of
    place: Place
    at_ns: int
    request_id: int
    again: bool = False
    price: Price | None = None
    qty: Qty | None = None
    key: str = "trade"
    frame: Frame | None = None
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
    inherited: list[str]  # of the runs that found it as an earlier one's, the nonces
    shown: str = (
        ""  # its status as the venue showed it last, and shown_ns: when, by the bot's clock
    )
    shown_ns: int = 0
    filled: Qty = Qty(0)

    @property
    def resting_ns(self) -> int | None:
        """When the venue last showed it resting, by the bot's clock; None if it is over or was
        never shown. The journal may lack what came later, as after a full disk."""
        if self.shown not in RESTING:
            return None
        return self.shown_ns

    @property
    def ids(self) -> list[str]:
        return [*filter(None, [self.client_order_id]), *self.order_ids]


class OrderHistories:
    """The orders of the runs that were read, by both of their ids."""

    def __init__(self) -> None:
        self.runs: list[Run] = []  # those whose beginning is kept, the oldest first
        self.damage: list[str] = []  # a line for each thing that could not be read
        self.orders: list[OrderHistory] = []
        self._by_client: dict[ClientOrderId, OrderHistory] = {}
        self._by_id: dict[OrderId, OrderHistory] = {}
        self._frames: dict[MarketId, Frame] = {}
        self._run = ""
        self._asked: dict[int, tuple[OrderHistory, OrderRequest, m.Request]] = {}

    def add_run(self, run: Run) -> None:
        """Add a run that came after all those added so far. Raises JournalFault after adding what
        precedes the damage."""
        for placed in placed_entries(run.paths):
            self.on_entry(placed)

    def read_fragment(self, paths: list[Path]) -> None:
        """Add the segments of a run whose beginning is no longer kept, before all others. Raises
        JournalFault as `read` does."""
        head = read_segment(paths[0]).head
        if head is not None:
            self._left(head.open_intents, head.working)
            for send in head.under_way:
                self._sent(send, Placed(Place(paths[0].name, 0), Entry(head.opened_ns, send), 0))
        for placed in placed_entries(paths, from_the_start=False):
            self.on_entry(placed)
        refuse_blank(paths)

    def on_entry(self, placed: Placed) -> None:
        at_ns = placed.entry.at_ns
        match placed.entry.message:
            case m.BookUpdate(market_id=market_id) as seen:
                self._frames[market_id] = Frame(
                    CHANNEL, placed.place, seen.ts_ns, at_ns, seen.bids, seen.asks
                )
            case m.Send() as send:
                self._sent(send, placed)
            case m.Response(request_id=number, answer=answer):
                waiting = self._asked.pop(number, None)
                if waiting is not None:
                    self._on_response(*waiting, answer, at_ns)
            case m.Started() as started:
                self._run, self._asked = started.boot_nonce, {}
                for life in self._left(started.open_intents, started.working):
                    life.inherited.append(started.boot_nonce)
            case m.CreateResolved(client_order_id=name, order_id=order_id) if order_id is not None:
                if name in self._by_client:
                    self._named(self._by_client[name], order_id)
            case _:
                pass

    def _left(
        self, intents: Sequence[m.UnconfirmedCreate], working: Sequence[m.JournaledOrder]
    ) -> list[OrderHistory]:
        return [*(self._life(each.order) for each in intents), *map(self._life, working)]

    def _life(self, order: QtyOrder | m.JournaledOrder) -> OrderHistory:
        life = self._by_client.get(order.client_order_id)
        if life is None:
            if isinstance(order, m.JournaledOrder):
                qty = Qty(order.remaining + order.filled)
            else:
                qty = order.qty
            life = OrderHistory(
                client_order_id=order.client_order_id,
                market_id=order.market_id,
                side=book_side(order.outcome, order.side),
                price=canonical(order.outcome, order.price),
                outcome=order.outcome,
                own_side=order.side,
                qty=qty,
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


# --- over all runs --------------------------------------------------------------------------------


def read_order_histories(state: Path) -> OrderHistories:
    """The orders in the journal of a state directory. Raises JournalFault when there is no journal,
    nothing of it can be read, or its newest segment has an unknown version."""
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
