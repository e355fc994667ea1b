"""Our knowledge of one order as a value: snapshots are joined, and a join never loses anything.

Snapshots compare by our own count of answered writes, the epoch. A response, and a read that began
late enough after the last one, both show the present epoch: since then the order can only fill, be
shrunk by self-trade prevention, or end. So within an epoch the larger `filled` and the smaller
`size` are newer. Across epochs the later one knows price and size; `filled` and `ended` hold for
ever. The venue's `updated_at` decides nothing: it may be stale, repeat, or step.

`OrderSnapshot.join` is commutative, associative and idempotent.
"""

from typing import Final

import msgspec

from venue.wire import model
from venue.wire.money import Price, Qty

EARLIER: Final = -1
"""The epoch of a stale read: it may lack a write of ours, so only its fills and its end count."""


class OrderSnapshot(msgspec.Struct, frozen=True):
    epoch: int
    """How many writes about it had an answer when price and size were seen."""
    price: Price
    """Its limit, cents of its own outcome."""
    size: Qty
    """Filled and working shares together, at most."""
    filled: Qty = Qty(0)
    """Shares that have traded, at least."""
    ended: bool = False
    """True if nothing of it works any more."""

    @classmethod
    def from_body(cls, order: model.Order, epoch: int) -> "OrderSnapshot":
        """The snapshot of a response or read of this epoch."""
        size = Qty(order.filled_qty + order.remaining_qty)
        return cls(epoch, order.price, size, order.filled_qty, order.status in model.TERMINAL)

    @property
    def unfilled(self) -> Qty:
        """Shares that are not known to have filled; once it has ended they are gone."""
        left = self.size - self.filled
        return Qty(left) if left > 0 else Qty(0)

    @property
    def remaining(self) -> Qty:
        """Shares that work, at most."""
        return Qty(0) if self.ended else self.unfilled

    def join(self, other: "OrderSnapshot") -> "OrderSnapshot":
        newer = max(self, other, key=_newness)
        return OrderSnapshot(
            newer.epoch,
            newer.price,
            newer.size,
            max(self.filled, other.filled),
            self.ended or other.ended,
        )

    def contradicts(self, other: "OrderSnapshot") -> bool:
        """True if both cannot be of one epoch: only a write moves or enlarges an order."""
        return other.price != self.price or other.size > self.size

    def after_answer(self) -> "OrderSnapshot":
        """The same, after one more write was answered and changed nothing."""
        return OrderSnapshot(self.epoch + 1, self.price, self.size, self.filled, self.ended)


def _newness(known: OrderSnapshot) -> tuple[int, int, int]:
    """A total order, so that equal snapshots have one join."""
    return known.epoch, -known.size, -known.price
