"""Planted bugs of groups A and B: what a broken connection and a refusal for pace are taken for."""

import random
from collections.abc import Sequence
from typing import Final

import msgspec

from bot.core import messages as m
from bot.core.execution.executor import OrderExecutor
from bot.core.orders.manager import OrderManager
from bot.core.orders.order import OrderEvent, OwnOrder
from bot.core.orders.outbox import NEVER_NS
from bot.core.orders.rejects import RejectHistory
from bot.core.orders.request_budget import Priority, RequestBudget
from bot.core.planning.actions import Action
from bot.core.quoting.engine import QuotingEngine
from bot.core.quoting.event_quoter import MarketQuoter
from tests.mutants.bug import FORGOTTEN, Bug, Patch, misread
from venue.wire.instant import NS_PER_SECOND
from venue.wire.names import ClientOrderId


def _resend_as_new(self: OrderManager, own: OwnOrder, now_ns: int) -> None:
    name = ClientOrderId(f"{own.client_order_id}r")
    order = msgspec.structs.replace(own.order, client_order_id=name)
    own.order = order
    if self._out.send(m.Create(order, False), Priority.RECOVER, "retry", now_ns, own):
        own.apply_event(OrderEvent.RESEND, own.last_write_ns)
        own.due_ns = NEVER_NS


_cancel = OrderExecutor.cancel


def _where_quoted(
    self: OrderExecutor, wishes: Sequence[tuple[MarketQuoter, Action]], now_ns: int
) -> None:
    _cancel(self, [each for each in wishes if not each[0].blocked], now_ns)


TRANSPORT: Final = (
    Bug(
        "new-id-on-retry",
        (1,),
        "A create without a response is retried under a new client_order_id.",
        ("B1", "B3"),
        (Patch(OrderManager, "_resend", _resend_as_new),),
        likely=("lost_after", "result_unknown_before", "garbled_reply"),
    ),
    Bug(
        "timeout-is-rejected",
        (1, 25),
        "A create counts as rejected after a timeout.",
        FORGOTTEN,
        (misread(m.Create, "no answer"),),
        likely=("lost_after", "lost_before"),
    ),
    Bug(
        "silent-feed-cancels-nothing",
        (7, 45),
        "On a stale book the bot sends nothing new, but leaves its orders.",
        ("B4",),
        (Patch(OrderExecutor, "cancel", _where_quoted),),
        likely=("feed_stall", "half_open", "feed_close"),
    ),
)

_wait = RequestBudget._wait
_spend = RequestBudget.spend


def _with_jitter(
    self: RequestBudget, retry_after_ns: int | None, backoff_ns_max: int, now_ns: int
) -> None:
    later_ns = int(random.random() * NS_PER_SECOND)
    _wait(self, (retry_after_ns or 0) + later_ns, backoff_ns_max, now_ns)


def _no_reserve(self: RequestBudget, lane: Priority, now_ns: int, user: int = 0) -> bool:
    kept, self.reserve = self.reserve, 0
    try:
        return _spend(self, lane, now_ns, user)
    finally:
        self.reserve = kept


PACE: Final = (
    Bug(
        "retry-after-ignored",
        (12,),
        "A 429 is retried at once in spite of Retry-After.",
        ("B5",),
        (Patch(RequestBudget, "_wait", lambda self, retry_after_ns, backoff_ns_max, now_ns: None),),
    ),
    Bug(
        "jitter-from-chance",
        (12,),
        "The backoff draws its jitter outside the seed.",
        ("B10",),
        (Patch(RequestBudget, "_wait", _with_jitter),),
        replays=True,
    ),
    Bug(
        "no-reserve-for-cancels",
        (14,),
        "New orders spend the tokens reserved for cancels.",
        ("B5",),
        (Patch(RequestBudget, "spend", _no_reserve),),
    ),
    Bug(
        "refused-and-asked-again",
        (19,),
        "A request rejected as invalid is retried unchanged.",
        ("B12",),
        (
            Patch(RejectHistory, "is_blocked", lambda self, request: False),
            Patch(
                QuotingEngine,
                "suspend_side",
                lambda self, market_id, side, code, for_ns, now_ns: None,
            ),
        ),
        likely=("invalid_request",),
    ),
)
