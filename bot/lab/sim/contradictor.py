"""A venue that contradicts itself in one way from a drawn instant on (fault model B)."""

import random
from collections.abc import Callable, Sequence
from typing import Final

from msgspec.structs import replace

from bot.core import messages as m
from bot.lab.exchange.exchange import GapReading
from bot.lab.sim.scenario import SECOND
from bot.lab.sim.transport import World
from venue.engine.messages import OrderState
from venue.wire import model
from venue.wire.money import Cents, Outcome, Price, Qty
from venue.wire.names import MarketId, OrderId

_BEGINS_S: Final = (4.0, 14.0)
_AGAIN_NS: Final = SECOND
_PROVOKED_NS: Final = 7 * SECOND
_PAUSED_NS: Final = 2 * SECOND
_REPLIES: Final = 6
_HALF: Final = 50
_STEP_S: Final = (20, 60)
_APART_S: Final = (10, 40)
_STEPPED: Final = "venue_clock_stepped"


class Contradictor(GapReading):
    def __init__(self, world: World) -> None:
        self._world = world
        self._kind = world.scenario.contradiction
        self._rng = random.Random(f"{self._kind} {world.scenario.seed}")
        self._honest = world.exchange.front.reading
        world.exchange.front.reading = self
        self._is_on = False
        self.first_ns: int | None = None  # when the first sign of it was given, by the world's time
        self.took_ns = -1  # from then on until the bot had stopped
        self._hidden: set[str] = set()
        self._since_ns = 0
        self._field = self._rng.choice(("trade_price", "outcome"))
        self._cents = self._rng.choice((-1, 1)) * self._rng.randint(5, 40)
        self._more = self._rng.randint(1, 3)
        self._place: tuple[str, model.ShownOutcome] | None = None
        self._closed: model.Order | None = None
        self._alias: OrderId | None = None
        self._named: OrderId | None = None
        self._shown: dict[MarketId, int] = {}  # by which clock the bot knows a book of each rung

    def schedule_start(self) -> None:
        self._world.schedule_after(
            int(self._rng.uniform(*_BEGINS_S) * SECOND), self._start_when_possible
        )

    def mark_first_sign(self) -> None:
        if self.first_ns is None:
            self.first_ns = self._world.now_ns
            self._world.coverage.fault(self._kind)

    @property
    def is_withdrawn(self) -> bool:
        """True if the sign is gone: its order ended, and nothing contradicts itself any more."""
        trader = self._world.process.trader
        return (
            self._kind == "filled_qty_fell"
            and self.first_ns is not None
            and not (trader.guard.latched or "inconsistency_observed" in trader.out.findings)
            and not self._partly_filled()
        )

    def begin_again(self) -> None:
        self.first_ns, self._is_on = None, False
        self._world.schedule_after(_AGAIN_NS, self._start_when_possible)

    def _start_when_possible(self) -> None:
        world = self._world
        is_open = world.process.trader.ledgers.is_open and any(world.auditor.truth.ours())
        if not is_open or not self._has_occasion():
            world.schedule_after(_AGAIN_NS, self._start_when_possible)
            return
        self._is_on, self._since_ns = True, world.now_ns
        self._provoke()

    def _provoke(self) -> None:
        if self.first_ns is not None:
            return
        if self._kind == "fill_contradicts_itself":
            self._trade_with(None)
        elif self._kind in ("order_id_reused", "foreign_response"):
            self._step_aside()
        elif self._kind == "filled_qty_fell" and not self._partly_filled():
            self.begin_again()  # it was replaced before anything was said of it
            return
        self._world.schedule_after(_PROVOKED_NS, self._provoke)

    def _step_aside(self) -> None:
        world = self._world
        world.deliver(world.process, m.PauseRequested("drawn"))
        world.schedule_after(_PAUSED_NS, lambda: world.deliver(world.process, m.ResumeRequested()))

    def _reads_show_newest_fill(self) -> bool:
        believed_ns = self._world.now_ns - 3 * self._world.scenario.trust_lag_ns - 6 * SECOND
        return self._world.auditor.truth.fills[-1][0] <= believed_ns

    def _has_booked(self) -> bool:
        self._world.crowd.rest()
        fills, opened_ns = self._world.auditor.truth.fills, self._world.process.opened_ns or 0
        if not fills or fills[-1][0] <= opened_ns:
            self._trade_with(None)
            return False
        return self._reads_show_newest_fill()

    def _has_occasion(self) -> bool:
        """True if the kind may set in now; else this brings its occasion about."""
        world, truth = self._world, self._world.auditor.truth
        match self._kind:
            case "fill_missing" | "fill_contradicts_itself" | "shares_differ":
                if not self._has_booked():
                    return False
                if self._kind == "shares_differ" and not any(truth.held.values()):
                    self._trade_with(None)  # all that filled has been sold again
                    return False
                if self._kind == "fill_missing":
                    from_ns, _ = truth.fills[-self._rng.randint(1, 3) :][0]
                    # All of an instant: they are the fills of one order.
                    self._hidden = {fill.fill_id for at_ns, fill in truth.fills if at_ns >= from_ns}
            case "closed_order_working" if self._closed is None:
                self._step_aside()
                return False
            case "filled_qty_fell":
                world.crowd.rest()
                if self._partly_filled():
                    return self._reads_show_newest_fill()
                self._trade_with(1)
                return False
            case "cash_differs":
                world.crowd.rest()
                known = len(truth.fills)
                for qty in (3, 1, None):  # orders may be smaller
                    if len(truth.fills) == known:
                        self._trade_with(qty)
                return len(truth.fills) > known
            case "foreign_response":
                world.network.foreign_replies = _REPLIES
                world.network.on_foreign_reply = self.mark_first_sign
            case "stamps_run_backwards":
                world.crowd.takes = False
                self._step_back()
                world.schedule_after(self._rng.randint(*_APART_S) * SECOND, self._second_step)
        return True

    def _partly_filled(self) -> list[OrderState]:
        return [each for each in self._world.auditor.truth.ours() if each.filled_qty]

    def _second_step(self) -> None:
        if self.first_ns is None:
            self._step_back()
            self._world.schedule_after(_PROVOKED_NS, self._second_step)

    def _step_back(self) -> None:
        self._world.exchange.front.clock_ns -= self._rng.randint(*_STEP_S) * SECOND

    def _trade_with(self, qty: int | None) -> None:
        world = self._world
        ours = [each for each in world.auditor.truth.ours() if each.remaining_qty > (qty or 0)]
        if ours:
            world.crowd.take_order(self._rng.choice(ours), self._rng, world.now_ns, qty)

    def on_turn(self, event: m.Event, effects: Sequence[m.Effect]) -> None:
        """The bot received an event. For stamps, the sign is a book stamped after the second step
        where the bot knows one stamped after the first; it forgets older books when it notes a
        step."""
        clock_ns = self._world.exchange.front.clock_ns
        if not clock_ns:
            return
        # One that the venue stamped before its newest step may still be in flight.
        if (
            isinstance(event, m.BookUpdate)
            and event.ts_ns <= self._world.now_ns + clock_ns
            and self._shown.setdefault(event.market_id, clock_ns) > clock_ns
        ):
            self.mark_first_sign()
        if any(isinstance(each, m.Noted) and each.name == _STEPPED for each in effects):
            self._shown.clear()

    def interpret_write(self, request: m.Write) -> m.Write | m.Answer:
        """Of an id given twice, the later order, once the first has ended."""
        if isinstance(request, m.Create) or request.order_id != self._named or not self._alias:
            return request
        first = self._world.exchange.engine.order(request.order_id)
        is_over = first is None or first.status in model.TERMINAL
        return replace(request, order_id=self._alias) if is_over else request

    def reword_answer(self, request: m.Request, answer: m.Answer) -> m.Answer:
        answer = self._honest.reword_answer(request, answer)
        body = answer.body if isinstance(answer, m.Ok) else None
        if isinstance(body, m.CancelBody) and body.reduced_by and not self._is_on:
            self._closed = replace(
                body.order, status=model.OrderStatus.OPEN, remaining_qty=body.reduced_by
            )
        if body is None or not self._is_on:
            return answer
        if self._kind == "order_id_reused":
            if isinstance(request, m.Create) and isinstance(body, m.OrderBody):
                self._reuse(body.order.order_id)
            return m.Ok(_each_order(body, self._renamed))
        if isinstance(request, m.Create | m.AmendResting | m.CancelResting):
            return answer
        return m.Ok(self._said(body))

    def _said(self, body: m.Body) -> m.Body:
        match self._kind, body:
            case "fill_missing", m.FillsBody():
                kept = tuple(row for row in body.fills if row.fill_id not in self._hidden)
                if len(kept) < len(body.fills):
                    self.mark_first_sign()
                return replace(body, fills=kept)
            case "fill_contradicts_itself", m.FillsBody():
                return replace(body, fills=tuple(self._row(row) for row in body.fills))
            case "closed_order_working", m.OrdersBody(cursor="") if self._closed is not None:
                self.mark_first_sign()
                return replace(body, orders=(*body.orders, self._closed))
            case "filled_qty_fell", _:
                return _each_order(body, self._unfilled)
            case "shares_differ", m.PositionsBody():
                return replace(body, positions=tuple(self._position(row) for row in body.positions))
            case "cash_differs", m.BalanceBody():
                self.mark_first_sign()
                cash, more = body.balance, self._cents
                available, total = cash.available_cents + more, cash.total_cents + more
                return m.BalanceBody(
                    replace(cash, available_cents=Cents(available), total_cents=Cents(total))
                )
        return body

    def _reuse(self, order_id: OrderId) -> None:
        if not self._alias:
            others = [each.order_id for each in self._world.auditor.truth.ours()]
            others = [each for each in others if each != order_id]
            if others:
                self._alias, self._named = order_id, self._rng.choice(others)
                self.mark_first_sign()

    def _row(self, row: model.Fill) -> model.Fill:
        fills = self._world.auditor.truth.fills
        made_ns = next((at_ns for at_ns, fill in fills if fill.fill_id == row.fill_id), 0)
        if made_ns <= self._since_ns:
            return row
        self.mark_first_sign()
        if self._field == "trade_price" or row.trade_price == _HALF:
            return replace(row, trade_price=Price((row.trade_price + 23) % 98 + 1))
        is_yes = row.outcome.value == Outcome.YES.value
        return replace(row, outcome=model.ShownOutcome.NO if is_yes else model.ShownOutcome.YES)

    def _unfilled(self, order: model.Order) -> model.Order:
        if order.filled_qty:
            self.mark_first_sign()
        return replace(order, filled_qty=Qty(0))

    def _renamed(self, order: model.Order) -> model.Order:
        is_alias = self._named is not None and order.order_id == self._alias
        return replace(order, order_id=self._named) if is_alias else order

    def _position(self, row: model.Position) -> model.Position:
        if self._place is None:
            self._place = row.ticker, row.outcome
        if (row.ticker, row.outcome) != self._place:
            return row
        self.mark_first_sign()
        return replace(row, qty=Qty(row.qty + self._more))


def _each_order(body: m.Body, change: Callable[[model.Order], model.Order]) -> m.Body:
    if isinstance(body, m.OrdersBody):
        return replace(body, orders=tuple(change(each) for each in body.orders))
    if isinstance(body, m.OrderBody | m.CancelBody):
        return replace(body, order=change(body.order))
    return body
