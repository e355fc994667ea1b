"""Cancels the orders beyond limits that were lowered, the newest first.

A partial fill may come before an amend to a smaller size, and then adds to it, so such an order is
not amended back below a limit. These cancels count for no breaker: the operator wants them.
"""

from bot.core.orders.manager import OrderManager
from bot.core.orders.order import BEYOND_LIMITS, OwnOrder
from bot.core.quoting.engine import QuotingEngine
from bot.core.settings import TraderSettings


def pull_beyond(quoting: QuotingEngine, desk: OrderManager) -> int:
    """Cancel what the limits in force would not admit next to all older orders. Returns how many.

    Orders that only reduce inventory stay, but for the limits of number and size of orders, which
    hold for all. Events are checked one by one, each with the exposure of all the others.
    """
    pulled = kept = 0
    beyond = _beyond_loss_and_position(quoting, desk)
    for own in desk.all_live():
        if own.cancel_requested:
            continue
        too_many = kept >= quoting.settings.risk.resting_orders
        if too_many or own in beyond or _is_too_large(own, quoting.settings):
            own.cancel_requested, own.why = True, BEYOND_LIMITS
            quoting.orders_changed(own.market_id)
            pulled += 1
        else:
            kept += 1
    return pulled


def _is_too_large(own: OwnOrder, settings: TraderSettings) -> bool:
    """True if an order is above the largest size by so little that no resize would shrink it."""
    order_qty = settings.risk.order_qty
    over_qty = own.remaining - order_qty
    return over_qty > 0 and not settings.pace.resizes(over_qty, order_qty)


def _beyond_loss_and_position(quoting: QuotingEngine, desk: OrderManager) -> set[OwnOrder]:
    out: set[OwnOrder] = set()
    for ladder in quoting.ladders:
        bounds = quoting.weighing.bounds(ladder)
        left = quoting.weighing.exposure(ladder).bare()
        ours = {rung.market_id for rung in ladder.rungs}
        for own in desk.all_live():
            if own.market_id not in ours:
                continue
            live = own.exposure()
            if left.largest(live, bounds) >= live.qty_max:
                left.add(live)
            else:
                out.add(own)
    return out
