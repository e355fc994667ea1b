"""A venue that reads gaps of the interface in other ways than ours (docs/assumptions.md).

One of them gives an amended order another id: the one before ends as canceled, what the order has
filled is shown by its new id too, and a fill keeps the id that its order had.
"""

from typing import Final

from msgspec.structs import replace

from bot.core import messages as m
from bot.io.client.answers import answer_of
from bot.lab.exchange.exchange import MAKER, Exchange, GapReading, cancel_shown, refusal
from bot.lab.sim.odds import Odds
from venue.engine import messages as v
from venue.engine.engine import Engine
from venue.wire import codec, model
from venue.wire.errors import Code
from venue.wire.model import TERMINAL, Liquidity, OrderStatus
from venue.wire.money import Cents, FeeRate, Qty, fee_cents
from venue.wire.names import MarketId, OrderId

_ENDED_AMEND: Final = {
    "404": refusal(Code.ORDER_NOT_FOUND),
    "409": m.Rejected(409, "order_state_conflict", ""),
}


class OtherReadings(GapReading):
    """The readings that a seed has drawn.

    dearer: fills, by their ids, that cost a cent more than they show. due: those of them that are
    not paid for yet.
    """

    def __init__(self, odds: Odds, exchange: Exchange) -> None:
        self._variant = odds.variant
        self._rates = FeeRate.parse(odds.fee_rate), FeeRate.parse(odds.maker_fee_rate)
        self._exchange = exchange
        self._changes_ids = odds.variant("amend_ids") != ""
        self._status = int(odds.variant("success_status", "0"))
        self._halted: set[MarketId] = set()
        self._shown: dict[OrderId, OrderId] = {}  # by the engine's
        self._engines: dict[OrderId, OrderId] = {}  # by the one that is shown now
        self._over: dict[OrderId, v.OrderState] = {}  # as they ended, by an id that an amend took
        self._last: dict[OrderId, v.OrderState] = {}
        self.dearer: dict[str, None] = {}
        self.due: list[str] = []
        exchange.reading = self
        exchange.watchers.append(self._applied)

    # --- writes -----------------------------------------------------------------------------------

    def meant(self, request: m.Write) -> m.Write | m.Answer:
        """The write that the venue takes this one for, or the answer where it acts on none."""
        if isinstance(request, m.Create) or (order := self.order(request.order_id)) is None:
            return request
        is_over = order.status in TERMINAL
        if isinstance(request, m.AmendResting):
            if is_over and (ended := _ENDED_AMEND.get(self._variant("ended_amend"))):
                return ended
            return self._total(request, order) if self._variant("amend_qty") else request
        if not is_over:
            refuses = self._variant("halted_cancels") and order.market_id in self._halted
            return refusal(Code.MARKET_HALTED) if refuses else request
        second = self._variant("second_cancel")
        if second == "refused" and order.status is OrderStatus.CANCELED:
            return refusal(Code.ORDER_NOT_CANCELABLE)
        return m.Ok(cancel_shown(order, Qty(0))) if second == "accepted" else request

    def _total(self, request: m.AmendResting, order: v.OrderState) -> m.Write | m.Answer:
        """S13: the quantity of an amend counts what has filled."""
        amend = request.amend
        if amend.qty is None:
            return request
        left = amend.qty - order.filled_qty
        if left < 1:
            return refusal(Code.INVALID_QTY)
        return replace(request, amend=replace(amend, qty=Qty(left)))

    def shown(self, request: m.Request, answer: m.Answer) -> m.Answer:
        """The answer as this venue words it."""
        body = answer.body if isinstance(answer, m.Ok) else None
        if isinstance(body, m.CancelBody):
            # The filled quantity comes from the read side and is a floor.
            seen = self._exchange.stale.views.account.order(MAKER, body.order.order_id)
            order = replace(body.order, filled_qty=seen.filled_qty if seen else Qty(0))
            body = m.CancelBody(order, body.reduced_by)
            answer = m.Ok(body)
        elif isinstance(body, m.FillsBody) and self._variant("fill_fees"):
            fills = tuple(replace(fill, fee_cents=None) for fill in body.fills)
            return m.Ok(m.FillsBody(fills, body.cursor))
        if self._status and not isinstance(request, m.Read):
            if isinstance(body, m.CancelBody):
                text = codec.encode(model.Cancelled(body.order, body.reduced_by))
                return answer_of(request, self._status, text)
            if isinstance(body, m.OrderBody):
                return answer_of(request, self._status, codec.encode(body.order))
        return answer

    def _applied(self, command: v.Command, _: v.Answer, events: list[v.Event], __: int) -> None:
        if isinstance(command, v.HaltMarket):
            self._halted.add(command.market_id)
        elif isinstance(command, v.ResumeMarket):
            self._halted.discard(command.market_id)
        if self._variant("fill_fees"):
            for event in events:
                if isinstance(event, v.FillBooked) and event.user_id == MAKER:
                    self._charge(event)

    def _charge(self, fill: v.FillBooked) -> None:
        """S16: the fee of a fill is rounded up by itself, and may be a cent more."""
        rate = self._rates[fill.liquidity is Liquidity.MAKER]
        fee = fee_cents(rate, fill.qty, fill.outcome_price)
        balance = self._exchange.engine.balance(MAKER)
        if fee > fill.fee_cents and balance is not None and balance[0] > len(self.due):
            self.dearer[fill.fill_id] = None
            self.due.append(fill.fill_id)

    # --- other ids --------------------------------------------------------------------------------

    def apply(
        self, engine: Engine, command: v.Command, now_ns: int
    ) -> tuple[v.Answer, list[v.Event]]:
        """Have the engine carry out a command about an order by the id that is shown of it."""
        if not self._changes_ids:
            return engine.apply(command, now_ns)
        if isinstance(command, v.CancelOrder | v.AmendOrder):
            if command.order_id in self._over:
                return v.Refused(Code.ORDER_NOT_CANCELABLE, "it has another id"), []
            order_id = self._engines.get(command.order_id, command.order_id)
            command = replace(command, order_id=order_id)
        answer, events = engine.apply(command, now_ns)
        ended: list[v.Event] = []
        if isinstance(answer, v.Amended) and answer.order.user_id == MAKER:
            ended = [self._renamed(answer.order.order_id, now_ns)]
        shown = [*ended, *(self._event(event) for event in events)]
        if isinstance(answer, v.Placed | v.Amended | v.Cancelled):
            answer = replace(answer, order=self._order(answer.order))
        return answer, shown

    def _renamed(self, order_id: OrderId, now_ns: int) -> v.Event:
        before = self._order(self._last[order_id])
        self._engines.pop(before.order_id, None)
        self._shown[order_id] = after = OrderId(str(int(before.order_id) + 1))
        self._engines[after] = order_id
        nothing = {"remaining_qty": Qty(0), "reserved_cents": Cents(0)}
        over = replace(before, status=OrderStatus.CANCELED, updated_ns=now_ns, **nothing)
        self._over[before.order_id] = over
        return v.OrderChanged(now_ns, over)

    def _event(self, event: v.Event) -> v.Event:
        if isinstance(event, v.OrderChanged) and event.order.user_id == MAKER:
            self._last[event.order.order_id] = event.order
            return replace(event, order=self._order(event.order))
        if isinstance(event, v.FillBooked) and event.user_id == MAKER:
            return replace(event, order_id=self._shown.get(event.order_id, event.order_id))
        return event

    def order(self, order_id: OrderId) -> v.OrderState | None:
        """An order by an id that it has or had."""
        if order_id in self._over:
            return self._over[order_id]
        order = self._exchange.engine.order(self._engines.get(order_id, order_id))
        return None if order is None else self._order(order)

    def _order(self, order: v.OrderState) -> v.OrderState:
        return replace(order, order_id=self._shown.get(order.order_id, order.order_id))
