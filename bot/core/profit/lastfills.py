"""The newest fills of ours, each with what was believed then and what has become of it since.

Bounded: for a person to look at. The account of profit keeps the sums of all of them.
"""

from collections import deque
from typing import Final

from bot.core.profit.markouts import HORIZONS_S, MILLI
from bot.core.report import FillReport
from venue.wire.money import BookSide, Price, Qty

KEPT_MAX: Final = 40


class LastFill:
    """One fill. moved: its markouts against fair so far, thousandths of a cent a share, one place
    for each of HORIZONS_S."""

    __slots__ = ("_facts", "moved")

    def __init__(
        self,
        at_ns: int,
        rung: str,
        side: BookSide,
        price: Price,
        qty: Qty,
        fee_cents: int,
        fair: int,
        reason: str,
    ) -> None:
        """fair: the value of a share when it came, thousandths of a cent."""
        self._facts = (at_ns, rung, side, price, qty, fee_cents, fair, reason)
        self.moved: list[int | None] = [None] * len(HORIZONS_S)

    def report(self) -> FillReport:
        """It as shown."""
        at_ns, rung, side, price, qty, fee_cents, fair, reason = self._facts
        return FillReport(
            at_ns=at_ns,
            ticker=rung,
            side=side,
            price=price,
            qty=qty,
            fee_cents=fee_cents,
            fair_cents=fair / MILLI,
            reason=reason,
            markouts_cents=tuple(None if each is None else each / MILLI for each in self.moved),
        )


class LastFills:
    """The newest KEPT_MAX fills."""

    def __init__(self) -> None:
        self._kept: deque[LastFill] = deque(maxlen=KEPT_MAX)

    def add(self, fill: LastFill) -> None:
        """A fill was booked."""
        self._kept.append(fill)

    def report(self) -> tuple[FillReport, ...]:
        """The newest first."""
        return tuple(fill.report() for fill in reversed(self._kept))
