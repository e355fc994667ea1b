"""The one way to cancel everything: stop, pause, latch, contradiction, the start, `bot cancel-all`.

No plan has to hold, no fair value has to be known and no market has to claim an order: the orders
are taken straight from the order store, and their cancels leave in the same call. A venue that is
halted for cancels too gets one cancel as a probe.
"""

from collections.abc import Callable, Iterable
from typing import Final, TypeVar

from bot.core.execution.venue_availability import VenueAvailability
from bot.core.orders.manager import OrderManager
from bot.core.quoting.engine import QuotingEngine
from bot.core.report import Phase

Order = TypeVar("Order")

WHY: Final = {
    Phase.STARTING: "nothing is quoted yet",
    Phase.PAUSED: "paused",
    Phase.LATCHED: "latched",
    Phase.STOPPING: "the run ends",
}
"""The phases in which nothing may rest, and why an order goes then."""


def cancel_all(
    desk: OrderManager, quoting: QuotingEngine, venue: VenueAvailability, phase: Phase, now_ns: int
) -> None:
    """Cancel everything that may rest. phase: a key of `WHY`."""
    due = []
    for own in desk.all_live():
        if not own.cancel_requested:
            own.cancel_requested, own.why = True, WHY[phase]
            quoting.may_go(own.market_id)
        if own.can_cancel and own.due_ns <= now_ns:
            due.append(own)
    for own in send_cancels(due, lambda own: desk.send_cancel(own, own.why, now_ns), venue, now_ns):
        quoting.orders_changed(own.market_id)


def send_cancels(
    due: Iterable[Order], send: Callable[[Order], bool], venue: VenueAvailability, now_ns: int
) -> list[Order]:
    """Send cancels in order until one cannot leave; one alone where the venue is halted.

    send: False where no cancel may leave now. Returns the orders whose cancels have left.
    """
    sent: list[Order] = []
    if venue.holds_cancels(now_ns):
        return sent
    for order in due:
        if not send(order):
            break
        sent.append(order)
        if venue.is_halted:
            venue.on_probe(now_ns)
            break
    return sent
