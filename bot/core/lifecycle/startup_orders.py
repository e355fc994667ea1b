"""What earlier runs left resting, and what the policy makes of it: cancel, keep, or leave alone.

Knows orders by the journal alone and by the lists that it is shown; sends and reads nothing. With a
journal that is lost or damaged nothing is known, so that there is nothing to keep.
"""

from collections.abc import Callable, Sequence

from bot.core import messages as m
from bot.core.orders.order import OwnOrder
from bot.core.settings import Strangers
from venue.wire import model
from venue.wire.names import OrderId

NAMED_MAX = 1_000
_SHOWN_MAX = 10


class StartupOrders:
    """Orders in our rungs that this run did not place."""

    def __init__(self, policy: Strangers) -> None:
        self._policy = policy
        self.known: dict[OrderId, m.JournaledOrder] = {}
        """What the journal knows as ours, until what was kept has been taken over."""
        self.kept: dict[OrderId, model.Order] = {}
        """Those that will be ours when quoting begins, as the newest fresh list shows them."""
        self.refused: dict[OrderId, None] = {}
        """Those that the journal does not know and that are left alone, at most NAMED_MAX."""

    def found(self, order: model.Order, now_ns: int) -> OwnOrder:
        """An order that rests as one of ours, as old as it is found; fills that the list keeps with
        earlier ids of it are among what it shows. Raises ValueError as `OwnOrder.found_resting`."""
        known = self.known.get(order.order_id)
        if known is None:
            return OwnOrder.found_resting(order, now_ns, None)
        own = OwnOrder.found_resting(order, now_ns, known.client_order_id)
        own.previous_ids = tuple(order_id for order_id, _ in known.previous_ids)
        return own

    # --- lists ------------------------------------------------------------------------------------

    def to_cancel(
        self,
        strangers: list[model.Order],
        may_be_lost: Callable[[model.Order], bool],
        *,
        starting: bool,
        fresh: bool,
        stopping: bool = False,
    ) -> list[model.Order]:
        """Those of a whole list that are to be cancelled now; what the policy spares is noted here.

        starting: nothing was quoted yet; later everything goes, but for what was left alone.
        stopping: a run ends that never quoted; what is to be left alone is left alone by it, too.
        fresh: the list began late enough to show all that earlier runs wrote; an older one may show
        an order as it was before an amend, or one that is over. may_be_lost: whether a stranger may
        be a create of ours that is about to be identified.
        """
        if fresh or not starting:
            self.kept = {}
        gone = []
        for order in strangers:
            known = self.known.get(order.order_id)
            if starting and self._policy is Strangers.ADOPT and _is_same(known, order):
                if fresh:
                    self.kept[order.order_id] = order
            elif known is None and (
                self.refused or ((starting or stopping) and self._policy is Strangers.REFUSE)
            ):
                if fresh and not may_be_lost(order) and len(self.refused) < NAMED_MAX:
                    self.refused[order.order_id] = None
            else:
                gone.append(order)
        return gone

    def refusal(self) -> str:
        """What to tell a person about those that are left alone."""
        shown = ", ".join([*self.refused][:_SHOWN_MAX])
        return f"{len(self.refused)} orders in our rungs are not in the journal: {shown}"

    # --- the end of the wait ----------------------------------------------------------------------

    def take_over(self, now_ns: int) -> list[OwnOrder]:
        """The orders kept, as our own from here on: where they stand, and as old as they are."""
        taken = []
        for order_id, shown in self.kept.items():
            known = self.known[order_id]
            own = self.found(shown, now_ns)
            own.placed_ns = min(known.placed_ns, now_ns)
            own.cancel_requested = False
            own.why = "kept from an earlier run"
            taken.append(own)
        self.kept, self.known = {}, {}
        return taken

    def give_up(self) -> list[model.Order]:
        """Keep nothing any more; the orders that were to be kept. Where there are any they are to
        be cancelled, and what is read long enough after that shows whatever was spared before."""
        given_up, self.kept = list(self.kept.values()), {}
        # A later list must not bring one of them back.
        for order in given_up:
            self.known.pop(order.order_id, None)
        return given_up


def _is_same(known: m.JournaledOrder | None, order: model.Order) -> bool:
    """Whether a listed order is the one that the journal knows, with no write of ours undecided."""
    return (
        known is not None
        and known.settled
        and known.market_id == order.market_id
        and known.outcome.value == order.outcome.value
        and known.side.value == order.side.value
    )


def told_of_strangers(orders: Sequence[model.Order]) -> str:
    """What to tell a person of orders that somebody else has in our rungs: which, and where."""
    shown = ", ".join(f"{order.order_id} on {order.ticker}" for order in orders[:_SHOWN_MAX])
    more = f" and {len(orders) - _SHOWN_MAX} more" if len(orders) > _SHOWN_MAX else ""
    return f"orders that are not ours rest in our rungs: {shown}{more}"
