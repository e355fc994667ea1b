"""What earlier runs left resting, and what the policy makes of it: cancel, keep, or leave alone.

Knows orders by the journal alone and by the lists that it is shown; sends and reads nothing. With a
journal that is lost or damaged nothing is known, so that there is nothing to keep.
"""

from collections.abc import Callable, Collection, Sequence

from bot.core import messages as m
from bot.core.orders.order import OwnOrder
from bot.core.settings import Strangers
from venue.wire import model
from venue.wire.names import OrderId

NAMED_MAX = 1_000
_SHOWN_MAX = 10


class Heritage:
    """Orders in our rungs that this run did not place.

    kept: those that will be ours when quoting begins, as the newest fresh list shows them.
    """

    def __init__(self, policy: Strangers) -> None:
        self._policy = policy
        self._known: dict[OrderId, m.KnownOrder] = {}
        self._previous_ids: dict[OrderId, tuple[OrderId, ...]] = {}
        self._refused: dict[OrderId, None] = {}
        self.kept: dict[OrderId, model.Order] = {}

    def begin(self, known: tuple[m.KnownOrder, ...]) -> None:
        """The run begins with the orders that the journal knows."""
        self._known = {order.order_id: order for order in known}
        self._previous_ids = {
            order.order_id: tuple(order_id for order_id, _ in order.earlier) for order in known
        }

    def knows(self, order_id: OrderId) -> bool:
        """Whether the journal knows an order as ours, from an earlier run; none any more once what
        was kept has been taken over."""
        return order_id in self._known

    @property
    def known_ids(self) -> Collection[OrderId]:
        """The ids of all that the journal knows, until what was kept has been taken over, and the
        earlier ones of each."""
        earlier = (order_id for known in self._known.values() for order_id, _ in known.earlier)
        return [*self._known, *earlier]

    def found(self, order: model.Order, now_ns: int) -> OwnOrder:
        """An order that rests as one of ours, as old as it is found; fills that the list keeps with
        earlier ids of it are among what it shows. Raises ValueError as `OwnOrder.found_resting`."""
        known = self._known.get(order.order_id)
        name = None if known is None else known.client_order_id
        own = OwnOrder.found_resting(order, now_ns, name)
        own.previous_ids = self._previous_ids.get(order.order_id, ())
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
            known = self._known.get(order.order_id)
            if starting and self._policy is Strangers.ADOPT and _is_same(known, order):
                if fresh:
                    self.kept[order.order_id] = order
            elif known is None and (
                self.refuses or ((starting or stopping) and self._leaves_alone)
            ):
                if fresh and not may_be_lost(order) and len(self._refused) < NAMED_MAX:
                    self._refused[order.order_id] = None
            else:
                gone.append(order)
        return gone

    @property
    def _leaves_alone(self) -> bool:
        return self._policy is Strangers.REFUSE

    @property
    def refuses(self) -> bool:
        """Whether there are orders that the journal does not know and that are left alone."""
        return bool(self._refused)

    @property
    def refused(self) -> tuple[OrderId, ...]:
        """The first of them, at most NAMED_MAX."""
        return tuple(self._refused)

    def refusal(self) -> str:
        """What to tell a person about them."""
        shown = ", ".join(self.refused[:_SHOWN_MAX])
        return f"{len(self._refused)} orders in our rungs are not in the journal: {shown}"

    # --- the end of the wait ----------------------------------------------------------------------

    def take_over(self, now_ns: int) -> list[OwnOrder]:
        """The orders kept, as our own from here on: where they stand, and as old as they are."""
        taken = []
        for order_id, shown in self.kept.items():
            known = self._known[order_id]
            own = self.found(shown, now_ns)
            own.placed_ns = min(known.placed_ns, now_ns)
            own.doomed = False
            own.why = "kept from an earlier run"
            taken.append(own)
        self.kept, self._known = {}, {}
        return taken

    def give_up(self) -> list[model.Order]:
        """Keep nothing any more; the orders that were to be kept. Where there are any they are to
        be cancelled, and what is read long enough after that shows whatever was spared before."""
        given_up, self.kept = list(self.kept.values()), {}
        # A later list must not bring one of them back.
        for order in given_up:
            self._known.pop(order.order_id, None)
        return given_up


def _is_same(known: m.KnownOrder | None, order: model.Order) -> bool:
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
