"""The lives of orders as the journal tells them: every request about each of them, and its answer.

Read straight from the entries, run after run, with no trader: whatever the program or its
configuration was then, this can be told. A run that adopts an order of an earlier one goes on with
the same life.
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

CHANNEL: Final = "frame of the channel"
"""The kind of a `Frame` that came by itself."""

_NAMED_MAX: Final = 6


class LifeFault(Exception):
    """No order is meant, or several may be; the text says what there is."""


class Frame(msgspec.Struct, frozen=True):
    """What showed a book. kind: a frame of the channel, or a read. ts_ns: of the venue; at_ns: when
    it arrived. bids, asks: all that it showed, our own orders included."""

    kind: str
    place: Place
    ts_ns: int
    at_ns: int
    bids: m.Levels
    asks: m.Levels


class Deed(msgspec.Struct, kw_only=True):
    """One request about an order. run: the nonce of the run that sent it, empty where the beginning
    of that run is no longer kept; number: of the event that it came of. frame: the newest of its
    market that had arrived when it left, of those that the journal keeps. answer: in a few words,
    empty while there is none."""

    kind: str
    why: str
    run: str
    number: int
    place: Place
    at_ns: int
    request_id: int
    again: bool = False
    price: Price | None = None
    qty: Qty | None = None
    key: str = "trade"
    frame: Frame | None = None
    answer: str = ""
    answered_ns: int | None = None

    @property
    def is_choice(self) -> bool:
        """Whether it was chosen to change something: neither a read nor a sending once more."""
        return self.kind in ("create", "amend", "cancel") and not self.again


class Life(msgspec.Struct, kw_only=True):
    """One order. side, price: canonical YES, as its create asked for. inherited: of the runs that
    found it as an earlier one's, the nonces. order_ids: those the venue gave it, newest last.
    shown: its status as the venue told it last, and shown_ns: when, by the bot's clock."""

    client_order_id: ClientOrderId
    market_id: MarketId
    side: BookSide
    price: Price
    outcome: Outcome
    own_side: Side
    qty: Qty
    order_ids: list[OrderId]
    deeds: list[Deed]
    inherited: list[str]
    shown: str = ""
    shown_ns: int = 0
    filled: Qty = Qty(0)

    @property
    def resting_ns(self) -> int | None:
        """When it was last told to rest, by the bot's clock; None where it is over, or was never
        told of. What the venue made of it since may be in no journal, as after a full disk."""
        if self.shown not in RESTING:
            return None
        return self.shown_ns

    @property
    def ids(self) -> list[str]:
        """Ours and the venue's."""
        return [*filter(None, [self.client_order_id]), *self.order_ids]


class OrderHistories:
    """The orders of the runs that were read, by both of their ids."""

    def __init__(self) -> None:
        self.runs: list[Run] = []
        """Those whose beginning is kept, the oldest first."""
        self.damage: list[str] = []
        """A line for each thing that could not be read."""
        self.orders: list[Life] = []
        self._by_client: dict[ClientOrderId, Life] = {}
        self._by_id: dict[OrderId, Life] = {}
        self._frames: dict[MarketId, Frame] = {}
        self._run = ""
        self._asked: dict[int, tuple[Life, Deed, m.Request]] = {}

    def read(self, run: Run) -> None:
        """Take in a run that came after all those read so far. Raises JournalFault with everything
        before the damage taken in."""
        for placed in placed_entries(run.paths):
            self.take(placed)

    def read_fragment(self, paths: list[Path]) -> None:
        """Take in the segments of a run whose beginning is no longer kept, before all others: what
        rested or was under way then, and what came after. Raises JournalFault as `read` does."""
        head = read_segment(paths[0]).head
        if head is not None:
            self._left(head.open_intents, head.working)
            for send in head.under_way:
                self._sent(send, Placed(Place(paths[0].name, 0), Entry(head.opened_ns, send), 0))
        for placed in placed_entries(paths, from_the_start=False):
            self.take(placed)
        refuse_blank(paths)

    def take(self, placed: Placed) -> None:
        """The next entry."""
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
                    self._answered(*waiting, answer, at_ns)
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
    ) -> list[Life]:
        return [*(self._life(each.order) for each in intents), *map(self._life, working)]

    def _life(self, order: QtyOrder | m.JournaledOrder) -> Life:
        """The life of an order that was asked for, or that an earlier run left."""
        life = self._by_client.get(order.client_order_id)
        if life is None:
            if isinstance(order, m.JournaledOrder):
                qty = Qty(order.remaining + order.filled)
            else:
                qty = order.qty
            life = Life(
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

    def _named(self, life: Life, order_id: OrderId) -> None:
        self._by_id[order_id] = life
        if order_id not in life.order_ids:
            life.order_ids.append(order_id)

    def _sent(self, send: m.Send, placed: Placed) -> None:
        request = send.request
        if isinstance(request, m.Create):
            life: Life | None = self._life(request.order)
        elif isinstance(request, m.AmendResting | m.CancelResting | m.ReadOrder):
            life = self._by_id.get(request.order_id)
        else:
            return
        if life is None:
            return
        deed = Deed(
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

    def _answered(
        self, life: Life, deed: Deed, request: m.Request, answer: m.Answer, at_ns: int
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

    def find(self, text: str) -> Life:
        """The order of this id, ours or the venue's, or of the only one that begins so.

        Raises LifeFault when there is none, or when several begin so.
        """
        exact = self._by_client.get(ClientOrderId(text)) or self._by_id.get(OrderId(text))
        if exact is not None:
            return exact
        found = [life for life in self.orders if any(each.startswith(text) for each in life.ids)]
        if not found:
            raise LifeFault(f"no order {text!r} in the journal: bot explain CONFIG lists them")
        if len(found) > 1:
            named = ", ".join(life.ids[0] for life in found[-_NAMED_MAX:])
            if len(found) > _NAMED_MAX:
                named += f" and {len(found) - _NAMED_MAX} older ones"
            raise LifeFault(f"{text!r} begins the ids of {len(found)} orders: {named}")
        return found[0]


# --- over all runs --------------------------------------------------------------------------------


def lives_of(state: Path) -> OrderHistories:
    """The lives of all orders in the journal of a state directory.

    A damaged segment costs what stands behind its damage, and is told. Raises JournalFault when
    there is no journal, when nothing of it can be read, and when its newest segment is of a version
    that is not known.
    """
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
            found.read(run)
        except JournalFault as fault:
            damage.append(str(fault))
    if damage and not kept and not found.orders:
        raise JournalFault(damage[0])
    return found
