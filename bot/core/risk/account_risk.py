"""What all series of one account may lose together, the cash they share, and which of them have
opened their books: shared by their traders, as a `RequestBudget` is.

Losses add up and gains are not set against them. Each trader asks what the others may lose at the
instant it wants to send something, and is answered from what they have live right then, so that no
order of two traders can fit into the same room.

Books can be opened only while nothing fills, so none begins to quote before all have opened theirs:
one that fills often would keep the others from ever doing so.
"""

from collections.abc import Callable

from bot.core.risk.buying_power import BuyingPower
from venue.wire.money import Cents


class AccountRisk:
    """The traders of one account in one process. Each has a number, the first is 0. cash: what new
    orders of all of them may still lock."""

    def __init__(self) -> None:
        self.cash = BuyingPower()
        self._losses: list[Callable[[], Cents]] = []
        self._opened: set[int] = set()

    def join(self, loss_cents: Callable[[], Cents]) -> int:
        """Let one more trader in. Its number.

        loss_cents: what its series may lose now, >= 0; asked for by the others at any time.
        """
        self._losses.append(loss_cents)
        return len(self._losses) - 1

    def others_loss_cents(self, member: int) -> Cents:
        """What the other traders may lose now, added up."""
        return Cents(sum(loss() for number, loss in enumerate(self._losses) if number != member))

    def loss_cents(self) -> Cents:
        """What all of them may lose now, added up."""
        return Cents(sum(loss() for loss in self._losses))

    def opened(self, member: int) -> None:
        """The books of one are open, or it is not going to quote; again changes nothing."""
        self._opened.add(member)

    @property
    def all_opened(self) -> bool:
        """Whether nobody's books are still to be opened."""
        return len(self._opened) == len(self._losses)
