"""What a list of positions may show that was read while fills went on.

A read shows of each fill that was booked around it either that or not; with all that was booked
long enough before, and nothing else. So what it may show of an outcome lies between what is held
less all that came since and what is held and all that went since, and anything else differs, on a
market that never pauses, too.

Source: reliability, row 54, B9; design, law 4.
"""

from collections import deque
from collections.abc import Collection
from typing import Final

from venue.wire.money import Outcome
from venue.wire.names import MarketId

_FILLS_KEPT: Final = 1_000


class ShareTrail:
    """The shares that the newest fills moved."""

    def __init__(self) -> None:
        self._fills: deque[tuple[int, MarketId, str, int]] = deque()
        self._dropped_ns = -1

    def booked(self, market_id: MarketId, outcome: str, moved: int, now_ns: int) -> None:
        """A fill was booked now: so many shares of an outcome came, below zero: went."""
        self._fills.append((now_ns, market_id, outcome, moved))
        if len(self._fills) > _FILLS_KEPT:
            self._dropped_ns = self._fills.popleft()[0]

    def same_market(self, stand_in: MarketId, market_id: MarketId) -> None:
        """What was booked under the first id is of the second one."""
        if any(of == stand_in for _, of, _, _ in self._fills):
            self._fills = deque(
                (at_ns, market_id if of == stand_in else of, outcome, moved)
                for at_ns, of, outcome, moved in self._fills
            )

    def forget(self, markets: Collection[MarketId]) -> None:
        """Of these markets nothing will be asked any more."""
        self._fills = deque(row for row in self._fills if row[1] not in markets)

    def moved(self, market_id: MarketId, outcome: Outcome, since_ns: int) -> tuple[int, int] | None:
        """How many shares came and how many went by fills booked from `since_ns` on, both zero or
        above; None where not all of them are remembered. What is older is forgotten: asked with
        instants that do not fall."""
        while self._fills and self._fills[0][0] < since_ns:
            self._fills.popleft()
        if self._dropped_ns >= since_ns:
            return None
        came = went = 0
        for _, of, name, moved in self._fills:
            if of == market_id and name == outcome.value:
                came, went = came + max(0, moved), went + max(0, -moved)
        return came, went
