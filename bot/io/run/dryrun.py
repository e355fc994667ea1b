"""A dry run: the real trader against the real venue, every write withheld.

Its request budget gives no token for a create or an amend, so that these stay planned and can be
shown. Other writes (cancels of a start, retried creates of an earlier run) are answered here.
"""

import asyncio
import secrets
from collections.abc import Callable
from typing import Final

import msgspec

from bot.core import messages as m
from bot.core.orders.outbox import kind_of
from bot.core.orders.request_budget import Priority, RequestBudget
from bot.core.preview import TraderPlan
from bot.core.report import Phase
from bot.core.settings import BudgetSettings
from bot.core.trader import Trader
from bot.io.adapter import Connection, OrderClient
from bot.io.clock import Clock
from bot.io.journal.recovery import RecoveredState
from bot.io.run.inbox import ConflatingQueue
from bot.io.run.watchdog import StrategyWatchdog
from venue.wire import instant, model
from venue.wire.instant import NS_PER_SECOND
from venue.wire.money import Qty
from venue.wire.names import OrderId, Ticker
from venue.wire.requests import QtyOrder

SETTLE_NS: Final = NS_PER_SECOND
"""Quotes are shown so long after the last rung could be quoted: the first fair curve comes from a
few frames."""

_BATCH: Final = 256
_WITHHELD: Final = (Priority.AMEND, Priority.CREATE)


class WishesOnly(RequestBudget):
    """A request budget without tokens for anything new."""

    def __init__(self, settings: BudgetSettings) -> None:
        super().__init__(settings, 0)

    def spend(self, lane: Priority, now_ns: int, user: int = 0) -> bool:
        return lane not in _WITHHELD and super().spend(lane, now_ns, user)


class Withheld(msgspec.Struct, frozen=True):
    """A write that a start would have sent before its first quote."""

    kind: str
    order: str
    why: str


class DryPlan(msgspec.Struct, frozen=True):
    """The requests of a run that began now. first: before anything is quoted. settled: the trader
    came to quote every rung that can be quoted, in time."""

    plan: TraderPlan
    first: tuple[Withheld, ...]
    settled: bool


class _ReadOnlyVenue:
    def __init__(self, requests: OrderClient, tell: Callable[[m.Event], None]) -> None:
        self._requests = requests
        self._tell = tell
        self._seen: dict[OrderId, model.Order] = {}
        self._cancelled: dict[OrderId, model.Order] = {}
        self._creates: list[m.Send] = []
        self._listed = False
        self.withheld: list[Withheld] = []

    def perform(self, send: m.Send) -> None:
        request = send.request
        if not isinstance(request, m.Create | m.AmendResting | m.CancelResting):
            self._requests.start(send, self._on_read)
            return
        order = (
            str(request.order.client_order_id)
            if isinstance(request, m.Create)
            else str(request.order_id)
        )
        self.withheld.append(Withheld(kind_of(request), order, send.why))
        resting = None if isinstance(request, m.Create) else self._seen.get(request.order_id)
        if isinstance(request, m.CancelResting) and resting is not None:
            ended = msgspec.structs.replace(
                resting, status=model.OrderStatus.CANCELED, remaining_qty=Qty(0)
            )
            self._cancelled[request.order_id] = ended
            body = m.CancelBody(ended, resting.remaining_qty)
            self._tell(m.Response(send.request_id, m.Ok(body)))
        elif isinstance(request, m.Create):
            self._creates.append(send)
            self._answer_creates()

    def _answer_creates(self) -> None:
        """Answer creates whose answer an earlier run did not see."""
        if not self._listed:
            return
        resting = {order.client_order_id: order for order in self._seen.values()}
        for send in self._creates:
            assert isinstance(send.request, m.Create)
            order = send.request.order
            shown = resting.get(order.client_order_id) or _over(order, len(self._cancelled))
            if shown.status in model.TERMINAL:
                self._cancelled[shown.order_id] = shown
            self._tell(m.Response(send.request_id, m.Ok(m.OrderBody(shown))))
        self._creates.clear()

    def _on_read(self, replied: m.Response) -> None:
        answer = replied.answer
        if isinstance(answer, m.Ok):
            replied = msgspec.structs.replace(replied, answer=m.Ok(self._without(answer.body)))
        self._tell(replied)

    def _without(self, body: m.Body) -> m.Body:
        """A body as it would be had the cancels been carried out."""
        if isinstance(body, m.OrdersBody):
            self._seen.update((order.order_id, order) for order in body.orders)
            self._listed |= not body.cursor
            self._answer_creates()
            left = tuple(each for each in body.orders if each.order_id not in self._cancelled)
            return m.OrdersBody(left, body.cursor)
        if isinstance(body, m.OrderBody):
            return m.OrderBody(self._cancelled.get(body.order.order_id, body.order))
        return body


def _over(order: QtyOrder, number: int) -> model.Order:
    """An order as the venue shows one that closed without a fill. number: of those so far."""
    return model.Order(
        order_id=OrderId(str(_NO_ID + number)),
        ticker=Ticker(""),
        market_id=order.market_id,
        event_ticker=Ticker(""),
        outcome=model.ShownOutcome(order.outcome.value),
        side=model.ShownSide(order.side.value),
        price=order.price,
        qty=order.qty,
        remaining_qty=Qty(0),
        filled_qty=Qty(0),
        status=model.OrderStatus.CANCELED,
        time_in_force=model.ShownTimeInForce(order.time_in_force.value),
        created_at=instant.from_ns(0),
        updated_at=instant.from_ns(0),
        client_order_id=order.client_order_id,
    )


_NO_ID: Final = 10**20
"""Above every id of a venue: they are below 2**64."""


async def dry_run(
    trader: Trader,
    connection: Connection,
    memory: RecoveredState,
    watch: StrategyWatchdog,
    clock: Clock,
    longest_ns: int,
    *,
    latched: str = "",
    new_account: bool = False,
) -> DryPlan:
    """The requests of a run that began now, once it has settled or after `longest_ns`.

    trader: fresh, with `WishesOnly`. memory: what a run would begin with. Raises nothing for a
    venue that does not answer: the plan says what the trader waits for.
    """
    inbox = ConflatingQueue()

    def tell(event: m.Event) -> None:
        inbox.put(event, clock.now_ns())

    venue, feed = _ReadOnlyVenue(connection.requests, tell), connection.channel_of(tell)

    async def has_settled() -> bool:
        give_up_ns = clock.now_ns() + longest_ns
        ready_ns: int | None = None
        while (now_ns := clock.now_ns()) < give_up_ns:
            events = [(each.event, each.at_ns) for each in inbox.take_events(_BATCH)]
            events += [(m.Tick(), now_ns), *((each, now_ns) for each in watch.take_overruns())]
            wake_ns = now_ns + NS_PER_SECOND // 10
            for event, at_ns in events:
                for effect in trader.receive(event, at_ns):
                    if isinstance(effect, m.Send):
                        venue.perform(effect)
                    elif isinstance(effect, m.SubscribeTo):
                        feed.subscribe(effect)
                    elif isinstance(effect, m.WakeAt):
                        wake_ns = effect.at_ns
            if trader.phase in (Phase.LATCHED, Phase.STOPPED):
                return True  # nothing will settle
            if not _can_quote(trader):
                ready_ns = None
            elif ready_ns is None:
                ready_ns = now_ns
            elif now_ns >= ready_ns + SETTLE_NS:
                return True
            await inbox.wait(min(wake_ns, give_up_ns) - clock.now_ns())
        return False

    listening = asyncio.ensure_future(feed.run())
    try:
        able = connection.capabilities
        tell(memory.started(secrets.token_hex(10), new_account, latched=latched, capabilities=able))
        settled = await has_settled()
        return DryPlan(trader.plan(clock.now_ns()), tuple(venue.withheld), settled)
    finally:
        listening.cancel()
        await asyncio.gather(listening, return_exceptions=True)


def _can_quote(trader: Trader) -> bool:
    """True if every rung that takes orders and is not decided can be quoted."""
    rungs = trader.quoting.active_rungs()
    waits = any(rung.blocked for rung in rungs if not rung.is_certain)
    return trader.phase is Phase.QUOTING and bool(rungs) and not waits
