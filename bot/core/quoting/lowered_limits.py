"""Cancels the orders beyond limits that were lowered, the newest first.

A partial fill may come before an amend to a smaller size, and then adds to it, so such an order is
not amended back below a limit. These cancels count for no breaker: the operator wants them.
"""

from bot.core.orders.manager import OrderManager
from bot.core.orders.order import BEYOND_LIMITS, OwnOrder
from bot.core.quoting.engine import QuotingEngine


def enforce_lowered_limits(quoting: QuotingEngine, desk: OrderManager) -> int:
    """Cancel what the limits in force would not admit next to all older orders. Returns how many.

    Orders that only reduce inventory stay, but for the limits of number and size of orders, which
    hold for all. Events are checked one by one, each with the exposure of all the others.
    """
    pulled = kept = 0
    order_qty = quoting.settings.risk.order_qty
    beyond = _beyond_loss_and_position(quoting, desk)
    for own in desk.all_live():
        if own.cancel_requested:
            continue
        too_many = kept >= quoting.settings.risk.resting_orders
        # Too large by so little that no resize would shrink it.
        over_qty = own.remaining - order_qty
        is_too_large = over_qty > 0 and not quoting.settings.pace.resizes(over_qty, order_qty)
        if too_many or own in beyond or is_too_large:
            own.cancel_requested, own.why = True, BEYOND_LIMITS
            quoting.orders_changed(own.market_id)
            pulled += 1
        else:
            kept += 1
    return pulled


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
