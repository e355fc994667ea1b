"""Every own order that may be live or whose fills are not all booked, and the answers about it.

Turns an answer into a fact of `bot.core.order` by the errors table, and the due times of an order
into its recovery requests: a create without an answer is sent again byte for byte, an amend
without one is read back, a cancel without one is repeated. No timer ends an unknown order.

Source: design, law 3; reliability, code-to-action table, rows 1, 19-36, B1, B6-B8, B12.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterable

from bot.core.messages import (
    AmendResting,
    Answer,
    CancelResting,
    CancelShown,
    Create,
    Done,
    OrderShown,
    ReadOrder,
    Refused,
)
from bot.core.order import Fact, Impossible, OwnOrder, State
from bot.core.outbox import Outbox, Pending
from bot.core.settings import TrustSettings
from bot.core.spend import Lane
from venue.wire import model
from venue.wire.errors import Advice, Code, Row, Sequenced, row_for
from venue.wire.money import Price, Qty
from venue.wire.names import MarketId, OrderId
from venue.wire.requests import Amend, keeps_priority

NEVER_NS = 2**62
"""A due time that does not come by itself."""

_ENDED_IDS_MAX = 20_000
"""Ids of ended orders kept, so that a lagging list does not make a stranger of our own order."""

_NEVER_LANDED_MAX = 1_000
_REPEAT_NS = 200_000_000
_BOOKED_WITHIN_NS = 10_000_000_000


class Desk:
    """The orders. `parked` receives what an answer says about its market or side."""

    def __init__(self, trust: TrustSettings, out: Outbox) -> None:
        self._trust = trust
        self._out = out
        self._by_market: dict[MarketId, list[OwnOrder]] = {}
        self._by_id: dict[OrderId, OwnOrder] = {}
        self._ended: OrderedDict[OrderId, None] = OrderedDict()
        self._never: OrderedDict[_Slot, None] = OrderedDict()
        self.unsettled: list[OwnOrder] = []
        self.amends_of_size = True
        self.last_write_ns = 0

    # --- looking ----------------------------------------------------------------------------------

    def live(self, market_id: MarketId) -> list[OwnOrder]:
        """Orders of one market that may still trade, in the order they were placed."""
        return self._by_market.get(market_id, [])

    def all_live(self) -> Iterable[OwnOrder]:
        """Every order that may still trade."""
        for orders in self._by_market.values():
            yield from orders

    def has_fills(self, market_id: MarketId) -> bool:
        """Whether `with_fills` may have anything to show."""
        return bool(self.unsettled) or any(own.filled for own in self.live(market_id))

    def with_fills(self, market_id: MarketId) -> Iterable[OwnOrder]:
        """Orders of one market that have filled, live or ended, until their fills are booked."""
        for own in self.live(market_id):
            if own.filled:
                yield own
        for own in self.unsettled:
            if own.market_id == market_id:
                yield own

    def live_ids(self) -> list[OrderId]:
        """Ids of every order whose fills may still be asked about."""
        return [*self._by_id, *(own.order_id for own in self.unsettled if own.order_id)]

    def live_count(self) -> int:
        """How many orders may still trade."""
        return sum(len(orders) for orders in self._by_market.values())

    def unknown_count(self) -> int:
        """How many orders have a write without a definite answer."""
        return sum(own.is_unknown for own in self.all_live())

    def knows(self, order_id: OrderId) -> bool:
        """Whether an order id is one of ours, live or ended."""
        return order_id in self._by_id or order_id in self._ended

    def find(self, order_id: OrderId) -> OwnOrder | None:
        """The live order with this id."""
        return self._by_id.get(order_id)

    def creates_undecided(self) -> bool:
        """Whether an order of ours may rest under an id that we do not know yet."""
        return any(own.state in (State.SENT, State.LOST) for own in self.all_live())

    # --- taking in and sending --------------------------------------------------------------------

    def add(self, own: OwnOrder) -> None:
        """Keep an order from now on."""
        self._by_market.setdefault(own.market_id, []).append(own)
        if own.order_id is not None:
            self._by_id[own.order_id] = own

    def send_create(self, own: OwnOrder, request: Create, now_ns: int) -> bool:
        """Send a first create; the order is kept if it left."""
        if not self._out.send(request, Lane.CREATE, own.why, now_ns, own):
            return False
        own.due_ns = NEVER_NS
        self.add(own)
        return True

    def send_amend(self, own: OwnOrder, amend: Amend, why: str, now_ns: int) -> bool:
        """Send an amend of an open order."""
        assert own.order_id is not None
        request = AmendResting(own.order_id, amend)
        if not self._out.send(request, Lane.AMEND, why, now_ns, own):
            return False
        own.sent_amend(amend)
        own.why = why
        return True

    def send_cancel(self, own: OwnOrder, why: str, now_ns: int) -> bool:
        """Send a cancel of an open or blurred order."""
        assert own.order_id is not None
        if not self._out.send(CancelResting(own.order_id), Lane.CANCEL, why, now_ns, own):
            return False
        own.sent_cancel()
        own.why = why
        return True

    def recover(self, now_ns: int) -> None:
        """Send what is due for orders whose state is not known: re-sends and reads back."""
        for own in list(self.all_live()):
            if own.state is State.LOST and own.due_ns <= now_ns:
                order = own.intent()
                request = Create(order, own.body, True)
                if self._out.send(request, Lane.RECOVER, "no answer yet", now_ns, own):
                    own.move(Fact.RESEND)
                    own.due_ns = NEVER_NS
            elif (
                own.read_due_ns is not None
                and own.read_due_ns <= now_ns
                and own.order_id is not None
                and self._out.send(
                    ReadOrder(own.order_id), Lane.RECOVER, f"read back: {own.state}", now_ns, own
                )
            ):
                own.read_due_ns = None

    def next_due_ns(self) -> int:
        """The earliest instant at which `recover` or a repeated cancel has something to do."""
        due = NEVER_NS
        for own in self.all_live():
            if own.read_due_ns is not None:
                due = min(due, own.read_due_ns)
            if own.state is State.LOST or own.doomed:
                due = min(due, own.due_ns)
        return due

    # --- answers ----------------------------------------------------------------------------------

    def take_answer(self, pending: Pending, answer: Answer, now_ns: int) -> Row | None:
        """Merge an answer about an order. The row of the code when it was refused, else None."""
        own = pending.own
        assert own is not None
        if not isinstance(pending.request, ReadOrder):
            self.last_write_ns = now_ns
        row = None
        if isinstance(answer, Refused):
            row = _row_of(answer)
        try:
            if isinstance(pending.request, Create):
                self._after_create(own, pending.request, answer, row, now_ns)
            elif isinstance(pending.request, AmendResting):
                self._after_amend(own, pending.request.amend, answer, row, now_ns)
            elif isinstance(pending.request, CancelResting):
                self._after_cancel(own, answer, row, now_ns)
            else:
                self._after_read(own, answer, row, pending.begun_ns, now_ns)
        except Impossible as fault:
            self._out.find(
                "impossible_fact", f"order {own.order_id or own.client_order_id}: {fault}"
            )
            own.doomed = True
            own.read_due_ns = now_ns + self._trust.read_lag_ns
        self._file(own)
        return row

    def _after_create(
        self, own: OwnOrder, request: Create, answer: Answer, row: Row | None, now_ns: int
    ) -> None:
        if isinstance(answer, Done) and isinstance(answer.body, OrderShown):
            shown = answer.body.order
            # An order left by an earlier run is cancelled anyway, and may have been amended by it.
            is_ours = own.doomed or _echoes(own, shown)
            own.shown_by_write(shown, now_ns)
            own.due_ns = now_ns
            if not is_ours:
                own.doomed = True
                self._out.find("echo_differs", f"order {shown.order_id} is not what was asked for")
            elif own.state is State.DONE and shown.status is model.OrderStatus.CANCELED:
                # A gtc create that ends cancelled met our own order (interface, state table).
                self._out.self_trades += not request.again
            return
        fact = Fact.NO_ANSWER
        if row is not None and row.advice is not Advice.EXISTS:
            fact = {Sequenced.NEVER: Fact.NEVER, Sequenced.DECIDED: Fact.REFUSED}.get(
                row.sequenced, Fact.NO_ANSWER
            )
        if own.state is State.LOST and isinstance(answer, Refused) and _is_resolved(answer):
            # Whatever became of it: nothing rests in a resolved market, and fills are listed.
            own.move(Fact.ENDED)
        own.answered(fact, now_ns)
        if own.state is State.LOST:
            refused = row is not None and row.sequenced is Sequenced.DECIDED
            own.exists |= row is not None and row.advice is Advice.EXISTS
            if refused and own.refused_since_ns is None:
                own.refused_since_ns = now_ns
            own.due_ns = now_ns + (
                self._trust.refused_resend_ns if refused else self._trust.resend_ns
            )
            if not request.again:
                own.due_ns = now_ns + _REPEAT_NS
                self._out.note("warning", "create_unknown", client_order_id=own.client_order_id)

    def _after_amend(
        self, own: OwnOrder, amend: Amend, answer: Answer, row: Row | None, now_ns: int
    ) -> None:
        old_price, old_remaining, old_filled = own.price, own.remaining, own.filled
        if isinstance(answer, Done) and isinstance(answer.body, OrderShown):
            shown = answer.body.order
            if own.order_id is not None and shown.order_id != own.order_id:
                self._by_id.pop(own.order_id, None)
                self._remember_ended(own.order_id)
                self._out.note("warning", "amend_changed_order_id", order_id=shown.order_id)
            own.shown_by_write(shown, now_ns)
            self._count_place(amend, old_price, old_remaining)
            if amend.qty is not None and _meant_as_total(amend.qty, shown, old_filled):
                self.amends_of_size = False
                self._out.find("amend_qty_is_total", "amends of size are switched off")
            return
        if row is None or row.sequenced is Sequenced.UNKNOWN:
            fact = Fact.NO_ANSWER
            self._out.note("warning", "amend_unknown", order_id=own.order_id or "")
        elif row.sequenced is Sequenced.NEVER:
            fact = Fact.NEVER
        else:
            fact = Fact.OVER if row.advice is Advice.ENDED else Fact.REFUSED
        own.answered(fact, now_ns)
        if fact is not Fact.NEVER:
            own.read_due_ns = now_ns + self._trust.read_lag_ns

    def _after_cancel(self, own: OwnOrder, answer: Answer, row: Row | None, now_ns: int) -> None:
        if isinstance(answer, Done) and isinstance(answer.body, CancelShown):
            own.cancelled(answer.body.order, answer.body.reduced_by, now_ns)
            if own.state is State.CLOSING:
                own.read_due_ns = now_ns + self._trust.read_lag_ns
            return
        if row is None or row.sequenced is Sequenced.UNKNOWN:
            fact = Fact.NO_ANSWER
        elif row.sequenced is Sequenced.NEVER:
            fact = Fact.NEVER
        else:
            fact = Fact.OVER if row.advice is Advice.ENDED else Fact.REFUSED
        own.answered(fact, now_ns)
        own.due_ns = now_ns + (self._trust.resend_ns if fact is Fact.REFUSED else _REPEAT_NS)
        if fact is not Fact.NEVER:
            own.read_due_ns = now_ns + self._trust.read_lag_ns

    def _after_read(
        self, own: OwnOrder, answer: Answer, row: Row | None, begun_ns: int, now_ns: int
    ) -> None:
        if isinstance(answer, Done) and isinstance(answer.body, OrderShown):
            self.merge_read(own, answer.body.order, begun_ns)
        elif row is not None and row.advice is Advice.LOOK_AGAIN and own.order_id is not None:
            self._out.find("order_missing", f"order {own.order_id} answers 404; it is kept")
        if own.is_live and (own.state in (State.BLURRED, State.CLOSING) or row is not None):
            own.read_due_ns = now_ns + self._trust.read_lag_ns

    def merge_read(self, own: OwnOrder, shown: model.Order, begun_ns: int) -> None:
        """Merge a read of one order, from a list or by id. Raises Impossible."""
        before = own.filled + own.remaining
        settled = (
            own.state is State.OPEN and begun_ns >= own.last_write_ns + self._trust.read_lag_ns
        )
        own.shown_by_read(shown, begun_ns, self._trust.read_lag_ns)
        if settled and own.state is State.OPEN and own.filled + own.remaining < before:
            self._out.self_trades += 1
            self._out.note("warning", "order_shrunk_without_fill", order_id=shown.order_id)
        self._file(own)

    def explain_lost(self, shown: Iterable[model.Order], begun_ns: int) -> list[MarketId]:
        """A complete list of what rests: what it says of lost creates. Returns their markets.

        Their re-sends are decided against, for longer than a request can be on its way. When no
        order that could be theirs rests, they never landed or are over: fills are listed and
        booked by themselves, and nothing can fill any more (row 23). When the venue has said that
        one exists, a stranger that equals it is it; which of several equal ones does not matter.
        """
        strangers: dict[_Slot, list[model.Order]] = {}
        for row in shown:
            if not self.knows(row.order_id):
                strangers.setdefault(_slot_shown(row), []).append(row)
        wait_ns = self._trust.refused_resend_ns + self._trust.read_lag_ns
        changed: list[MarketId] = []
        for own in list(self.all_live()):
            since_ns = own.refused_since_ns
            if own.state is not State.LOST or since_ns is None or begun_ns < since_ns + wait_ns:
                continue
            if own.due_ns == NEVER_NS:
                continue  # a re-send is on its way: its answer is better than any list
            rows = strangers.get(_slot_of(own), [])
            if not rows:
                self._give_up_on(own, begun_ns)
            elif own.exists:
                own.identified(rows.pop(0), begun_ns)
                self._out.note("info", "create_identified", client_order_id=own.client_order_id)
            else:
                continue
            changed.append(own.market_id)
            self._file(own)
        return changed

    def _give_up_on(self, own: OwnOrder, begun_ns: int) -> None:
        own.move(Fact.READ_NEVER)
        own.last_write_ns = begun_ns
        self._never[_slot_of(own)] = None
        while len(self._never) > _NEVER_LANDED_MAX:
            self._never.popitem(last=False)
        self._out.note("info", "create_never_landed", client_order_id=own.client_order_id)

    def landed_late(self, shown: model.Order) -> bool:
        """Whether a stranger may be a create of ours that was thought never to have landed."""
        return _slot_shown(shown) in self._never

    def merge_list_row(self, own: OwnOrder, shown: model.Order, begun_ns: int) -> None:
        """Merge a row of the resting list; a fact that cannot be becomes a finding."""
        try:
            self.merge_read(own, shown, begun_ns)
        except Impossible as fault:
            self._out.find("impossible_fact", f"order {shown.order_id}: {fault}")

    def forget_settled(self, booked_qty: Callable[[OwnOrder], int], now_ns: int) -> None:
        """Let go of ended orders whose fills are all booked; report those that take too long."""
        self.unsettled = [own for own in self.unsettled if booked_qty(own) < own.filled]
        late = [own for own in self.unsettled if now_ns > own.last_write_ns + _BOOKED_WITHIN_NS]
        if late:
            self._out.find("fills_missing", f"{len(late)} ended orders have fills never shown")
        else:
            self._out.clear("fills_missing")

    def missing_from_list(self, own: OwnOrder, begun_ns: int, now_ns: int) -> None:
        """A complete list begun at `begun_ns` does not show this order: read it by its id."""
        late_enough = begun_ns >= own.last_write_ns + self._trust.read_lag_ns
        if own.state is State.OPEN and late_enough and own.read_due_ns is None:
            own.read_due_ns = now_ns

    def _count_place(self, amend: Amend, old_price: Price, old_remaining: Qty) -> None:
        new_price = old_price if amend.price is None else amend.price
        new_qty = old_remaining if amend.qty is None else amend.qty
        if keeps_priority(old_price, old_remaining, new_price, new_qty):
            self._out.amends_kept_place += 1
        else:
            self._out.amends_lost_place += 1

    # --- filing -----------------------------------------------------------------------------------

    def _file(self, own: OwnOrder) -> None:
        """Keep the indexes true after an order changed."""
        if own.is_live:
            if own.order_id is not None:
                self._by_id[own.order_id] = own
            return
        orders = self._by_market.get(own.market_id, [])
        if own in orders:
            orders.remove(own)
            if not orders:
                del self._by_market[own.market_id]
        if own.order_id is not None:
            self._by_id.pop(own.order_id, None)
            self._remember_ended(own.order_id)
        if own.filled > 0 and own not in self.unsettled:
            self.unsettled.append(own)

    def _remember_ended(self, order_id: OrderId) -> None:
        self._ended[order_id] = None
        self._ended.move_to_end(order_id)
        while len(self._ended) > _ENDED_IDS_MAX:
            self._ended.popitem(last=False)


_Slot = tuple[MarketId, str, str, Price]


def _slot_of(own: OwnOrder) -> _Slot:
    return own.market_id, own.outcome.value, own.own_side.value, own.price


def _slot_shown(shown: model.Order) -> _Slot:
    return shown.market_id, shown.outcome.value, shown.side.value, shown.price


def _row_of(answer: Refused) -> Row:
    if answer.status == 0:
        return _NOT_CONNECTED
    return row_for(answer.status, answer.code)


def _is_resolved(answer: Refused) -> bool:
    return answer.code == Code.MARKET_RESOLVED


_NOT_CONNECTED = row_for(429, "")
"""A request that never left this host is refused like one that never reached the engine."""


def _echoes(own: OwnOrder, shown: model.Order) -> bool:
    """Whether a create's reply shows the order that was asked for (row 20)."""
    return (
        shown.market_id == own.market_id
        and shown.outcome.value == own.outcome.value
        and shown.side.value == own.own_side.value
        and shown.price == own.price
        and shown.qty == own.qty
        and shown.time_in_force is model.ShownTimeInForce.GTC
    )


def _meant_as_total(asked: Qty, shown: model.Order, old_filled: Qty) -> bool:
    """Whether a venue took an amend's qty as the order's total, not its remainder (S13).

    Only an order that had filled before tells, and only if it did not fill meanwhile: the amend
    itself may trade.
    """
    return (
        shown.filled_qty == old_filled > 0
        and shown.remaining_qty == asked - shown.filled_qty
        and shown.qty == asked
    )
