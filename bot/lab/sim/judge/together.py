"""What all series of one account share by the judge's sums: cash, tokens, and the limit of loss.

Each series has an auditor of its own. What they may lose comes to no more than the account's limit;
what their orders may lock comes to no more than the cash that is there; nothing that both send
comes to more than one bucket bears.
"""

from typing import Protocol

from bot.core import messages as m
from bot.core.settings import BudgetSettings
from bot.lab.sim.judge.broken import check
from bot.lab.sim.odds import SECOND
from bot.lab.sim.seen import Seen
from venue.wire.names import OrderId


class Bucket:
    """The tokens of one process, and how long it has been told to wait; by its own time."""

    def __init__(self, budget: BudgetSettings, seen: Seen, now_ns: int) -> None:
        self._seen = seen
        self._rate, self._reserve = budget.rate_per_second, budget.reserve
        self._burst_e9 = self._level_e9 = budget.burst * SECOND
        self._at_ns = now_ns
        self.closed_until_ns = 0
        self.backoff_ns = 0

    def spent(self, request: m.Request, now_ns: int) -> None:
        """A request leaves. Raises `Broken` when it should not."""
        check(now_ns >= self.closed_until_ns, "B5", "sent inside Retry-After, or its own backoff")
        level = self._level_e9 + (now_ns - self._at_ns) * self._rate
        self._level_e9 = min(self._burst_e9, level) - SECOND
        self._at_ns = now_ns
        check(self._level_e9 >= 0, "B5", "more than burst + rate x t were sent")
        reserved = self._level_e9 < self._reserve * SECOND
        if isinstance(request, m.Create) and not request.again:
            check(not reserved, "B5", "a create took a reserved token")
        elif reserved and isinstance(request, m.CancelResting):
            self._seen.hit("cancel_from_reserve")

    def is_dry(self, now_ns: int) -> bool:
        level = self._level_e9 + (now_ns - self._at_ns) * self._rate
        return min(self._burst_e9, level) - 2 * SECOND < self._reserve * SECOND

    def can_be_flat(self, orders: int, within_ns: int) -> None:
        """B3: so many orders could be cancelled in time with the tokens left after this create."""
        missing_e9 = orders * SECOND - self._level_e9
        takes_ns = max(0, -(-missing_e9 // self._rate))
        text = f"cancelling {orders} orders would take {takes_ns} ns, at most {within_ns}"
        check(takes_ns <= within_ns, "B3", text)


class Member(Protocol):
    """What is added up of one series."""

    def loses_cents(self) -> int:
        """What it may lose whatever fills, 0 or more."""

    def strange_cents(self) -> int:
        """How much of that shares may take that somebody else has bought, and nobody knows of."""

    def live_count(self) -> int:
        """How many of its orders may be live, or come to be."""

    def locks_cents(self) -> int:
        """What its writes that are on their way, or may be, lock besides at the most."""

    def has_order(self, order_id: OrderId) -> bool:
        """Whether an order is in a rung of it."""


class Account:
    """The series of one account. available_cents: its cash that no order locks, as the engine has
    it. spent_beside: whether somebody else has spent of it."""

    def __init__(self, loss_limit_cents: int) -> None:
        self._limit_cents = self._most_cents = loss_limit_cents
        self._members: list[Member] = []
        self.available_cents = self.total_cents = 0
        self.spent_beside = False

    def joins(self, member: Member) -> None:
        self._members.append(member)

    def learns(self) -> None:
        self._most_cents = max(self._limit_cents, self._loses_cents())

    def _loses_cents(self) -> int:
        return sum(each.loses_cents() for each in self._members)

    @property
    def room_cents(self) -> int | None:
        if not self._limit_cents:
            return None
        return self._limit_cents - self._loses_cents()

    def orders(self) -> int:
        return sum(each.live_count() for each in self._members)

    def leaves_alone(self, member: Member, request: m.CancelResting | m.AmendResting) -> None:
        """B6: a series writes about no order of another."""
        others = (each for each in self._members if each is not member)
        alone = not any(each.has_order(request.order_id) for each in others)
        check(alone, "B6", f"{request} is about an order of another series")

    def within_cash(self) -> None:
        """B3: what was sent locks no more, together with all else that may land, than there is."""
        if self.spent_beside:
            return
        cents = sum(each.locks_cents() for each in self._members)
        text = f"{cents} cents are to be locked, {self.available_cents} are there"
        check(cents <= self.available_cents, "B3", text)

    def within_loss(self) -> None:
        """B3: all series together lose no more than the account's limit, whatever fills."""
        if not self._limit_cents:
            return
        cents = self._loses_cents() - sum(each.strange_cents() for each in self._members)
        text = f"all series may lose {cents} together, at most {self._limit_cents}"
        check(cents <= self._most_cents, "B3", text)
