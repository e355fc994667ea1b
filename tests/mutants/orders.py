"""Planted bugs of group C: the life of an order told wrong, and writes that should not be made."""

from collections.abc import Sequence
from typing import Any, Final

import msgspec

from bot.core import messages as m
from bot.core.account.poller import AccountPoller, PagedRead
from bot.core.orders.manager import OrderManager
from bot.core.orders.order import OrderEvent, OwnOrder, State
from bot.core.orders.request_budget import WriteThrottle
from bot.core.planning import diff as reconcile
from bot.core.trader import HANDLERS, Trader
from tests.mutants.bug import FORGOTTEN, Bug, Patch, forgets, handles
from venue.wire.instant import NS_PER_SECOND

_recover = OrderManager.send_due
_on_started = HANDLERS[m.Started]


def _same_nonce(self: Trader, event: m.Started) -> None:
    _on_started(self, msgspec.structs.replace(event, boot_nonce="0" * 20))


def _gives_up(self: OrderManager, now_ns: int) -> None:
    for own in list(self._attention):
        since_ns = self.unknown.get(own, now_ns)
        if own.state is State.NEW_UNKNOWN and now_ns - since_ns > 2 * NS_PER_SECOND:
            own.on_confirmed_gone(now_ns)
            self._out.effects.append(m.CreateResolved(own.client_order_id))
            self._index(own, now_ns)
    _recover(self, now_ns)


CREATES: Final = (
    Bug(
        "ids-restart",
        (20,),
        "client_order_ids restart from one after a restart.",
        ("B1", "B12"),
        (handles(m.Started, _same_nonce),),
        likely=("crash",),
    ),
    Bug(
        "duplicate-is-a-rejection",
        (24,),
        "The bot reads duplicate_order_id as a rejection.",
        FORGOTTEN,
        (
            forgets(
                lambda own, fact: (
                    own.state is State.NEW_UNKNOWN and fact is OrderEvent.DUPLICATE_ID
                ),
                OrderEvent.CONFIRMED_GONE,
            ),
        ),
        likely=("says_duplicate", "lost_after", "result_unknown_after"),
    ),
    Bug(
        "unknown-closed-by-timer",
        (25,),
        "A create without a response is declared rejected after a few retries.",
        ("B7",),
        (Patch(OrderManager, "send_due", _gives_up),),
    ),
)

_order_answered = OwnOrder.on_answer


def _unchanged(self: OwnOrder, fact: OrderEvent, now_ns: int) -> None:
    is_amend = self.state is State.PENDING_REPLACE and fact is OrderEvent.TIMEOUT
    _order_answered(self, OrderEvent.REJECTED if is_amend else fact, now_ns)


CHANGES: Final = (
    Bug(
        "amend-timeout-is-unchanged",
        (26,),
        "An amend without a response counts as not executed.",
        FORGOTTEN,
        (Patch(OwnOrder, "on_answer", _unchanged),),
        likely=(
            *("lost_after", "result_unknown_after", "internal_error_after"),
            *("internal_error_before", "delayed", "mad_strategy"),
        ),
        profile="requests",
    ),
    Bug(
        "no-write-budget",
        (38,),
        "A flickering book causes a write at every tick.",
        ("B2", "B5"),
        (Patch(WriteThrottle, "admits", lambda self, market_id, now_ns, writes=1: True),),
        likely=("flicker", "mad_strategy"),
    ),
)


CROSSES: Final = (
    Bug(
        "self-cross-unchecked",
        (33,),
        "A new order may cross our own.",
        ("B11",),
        (Patch(reconcile, "crosses", lambda side, price, orders: []),),
        profile="calm",
        shape=(("strategy", "fixed_spread"),),
    ),
)

_take_answer = AccountPoller.on_answer


def _one_page(
    self: AccountPoller, request: m.Read, answer: m.Answer, now_ns: int
) -> PagedRead | None:
    body: Any = answer.body if isinstance(answer, m.Ok) else None
    if getattr(body, "cursor", ""):
        answer = m.Ok(msgspec.structs.replace(body, cursor=""))
    return _take_answer(self, request, answer, now_ns)


READS: Final = (
    Bug(
        "first-page-is-all",
        (37,),
        "A list ends at its first page.",
        (*FORGOTTEN, "findings"),
        (Patch(AccountPoller, "on_answer", _one_page),),
    ),
)
ORDERS: Final[Sequence[Bug]] = (*CREATES, *CHANGES, *CROSSES, *READS)
