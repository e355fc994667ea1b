"""What is known of one order as a value: facts about it are joined, and a join only ever learns.

Two facts are comparable by our own count of answered writes. A reply, and a read begun late enough
after the last answer, both speak of the present epoch: since then the order can only fill, be
shrunk by self-trade prevention, or end. So within an epoch the larger `filled` and the smaller
`size` are the newer; across epochs the later one knows price and size, and `filled` and `ended`
hold for ever. The venue's `updated_at` decides nothing: it may lag, repeat, or step.

`OrderSnapshot.join` is commutative, associative and idempotent, and never knows less than either
side.
"""

from typing import Final

import msgspec

from venue.wire import model
from venue.wire.money import Price, Qty

EARLIER: Final = -1
"""The epoch of a read begun too early to say which of our writes it saw: only fills and an end
count."""


class OrderSnapshot(msgspec.Struct, frozen=True):
    """What is known of an order.

    epoch: how many writes about it had an answer, as far as price and size go. price: its limit,
    cents of its own outcome. size: shares it comes to at most, those filled and those that work.
    filled: shares that have traded, at least. ended: whether nothing of it works any more.
    """

    epoch: int
    price: Price
    size: Qty
    filled: Qty = Qty(0)
    ended: bool = False

    @classmethod
    def shown(cls, order: model.Order, epoch: int) -> "OrderSnapshot":
        """What a reply or read of this epoch says of a resting or ended order."""
        size = Qty(order.filled_qty + order.remaining_qty)
        return cls(epoch, order.price, size, order.filled_qty, order.status in model.TERMINAL)

    @property
    def unfilled(self) -> Qty:
        """Shares of it that are not known to have filled; when it has ended they are gone."""
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
        """Whether both cannot be true of one epoch: nothing but a write moves or enlarges it."""
        return other.price != self.price or other.size > self.size

    def answered(self) -> "OrderSnapshot":
        """The same, after one more of our writes had its answer without changing anything."""
        return OrderSnapshot(self.epoch + 1, self.price, self.size, self.filled, self.ended)


def _newness(known: OrderSnapshot) -> tuple[int, int, int]:
    """A total order, so that equal facts have one join; the price decides only what cannot be."""
    return known.epoch, -known.size, -known.price
