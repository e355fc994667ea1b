"""What rests beyond limits that were lowered under it: cancelled at once, the newest first.

An amend to a smaller size may come after fills and then adds to them, so what is beyond a limit
cannot be amended back below it; and a size that is a little too large is no reason for a request
otherwise, while a limit is one in any case. Their cancels count for no breaker: it is the operator
who wants so many of them.
"""

from bot.core.orders.manager import OrderManager
from bot.core.orders.order import BEYOND_LIMITS, OwnOrder
from bot.core.quoting.engine import QuotingEngine
from bot.core.settings import TraderSettings


def pull_beyond(quoting: QuotingEngine, desk: OrderManager) -> int:
    """Doom what the limits in force would not admit beside all that is older. How many orders.

    What only shrinks what is held is admitted by every limit of loss and position, so it stays, but
    for the number and the size of orders, which hold for all. Events are looked at one by one, each
    beside all that the others have live.
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
    """Whether an order is above the largest size by so little that no resize would shrink it."""
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
                left.add_order(live)
            else:
                out.add(own)
    return out
