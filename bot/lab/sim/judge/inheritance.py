"""What rested when a life began, against what it was told to do with that.

It may take over what its journal knows, and nothing else; where it is to leave alone what it does
not know, it cancels none of that and makes no order beside it. Under a latch it cancels everything.
"""

from bot.core import messages as m
from bot.core.settings import StartSettings, Strangers
from bot.lab.sim.judge.broken import check
from bot.lab.sim.judge.truth import Truth
from venue.wire.names import OrderId


class Inheritance:
    """Follows one life from its start."""

    def __init__(self, started: m.Started, truth: Truth, start: StartSettings) -> None:
        self._truth = truth
        self._policy = start.strangers
        self._leaves_alone = self._policy is Strangers.REFUSE and not started.latched
        self._known = {order.order_id for order in started.working}
        named = {intent.order.client_order_id for intent in started.open_intents}
        self._unknown: dict[OrderId, None] = {
            order_id: None
            for order_id, order in truth.working.items()
            if order_id not in self._known and truth.names.get(order_id) not in named
        }

    def taken_over(self, effect: m.TakenOver) -> None:
        """The life says which orders are its own from here on. Raises `Broken`."""
        strange = [each for each in effect.order_ids if each not in self._known]
        check(not strange, "B6", f"taken over, and in no journal: {strange}")
        kept = not effect.order_ids or self._policy is Strangers.ADOPT
        check(kept, "B6", f"taken over, and to be cancelled: {effect.order_ids}")

    def sent(self, request: m.Request) -> None:
        """A request leaves. Raises `Broken` when it should not."""
        if not self._leaves_alone or not self._unknown:
            return
        if isinstance(request, m.CancelResting):
            left = request.order_id in self._unknown
            check(not left, "B6", f"{request.order_id} is not known, and was to be left alone")
        elif isinstance(request, m.Create) and not request.again:
            beside = [each for each in self._unknown if each in self._truth.working]
            check(not beside, "B4", f"new exposure beside {beside}, which no journal knows")
