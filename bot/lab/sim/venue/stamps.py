"""What stamps of a simulated venue should have been: one may be wrong, and its clock may jump.

Source: reliability, row 10.
"""

import random
from typing import Final

from bot.lab.sim.odds import SECOND

_AHEAD_NS: Final = (10 * SECOND, 86_400 * SECOND)


class Stamps:
    """Every stamp that is not what it should be."""

    def __init__(self) -> None:
        self._right_ns: dict[int, int] = {}
        self._jumps: list[tuple[int, int]] = []  # from which stamp on, how far

    def wrong_ns(self, right_ns: int, rng: random.Random) -> int:
        """A stamp that the venue's clock will show at some time of the next day."""
        wrong_ns = right_ns + rng.randint(*_AHEAD_NS)
        self._right_ns[wrong_ns] = right_ns
        return wrong_ns

    def jumped(self, from_ns: int, ahead_ns: int) -> None:
        """The venue's clock, which shows `from_ns` now, has jumped so far ahead for good."""
        self._jumps.append((from_ns - ahead_ns // 2, ahead_ns))  # it may step back a little, too

    def right_ns(self, stamp_ns: int) -> int:
        """A stamp as it should have been, by the venue's clock as it was then."""
        return self._right_ns.get(stamp_ns, stamp_ns)

    def steady_ns(self, stamp_ns: int) -> int:
        """The same by a clock that goes on evenly."""
        right_ns = self.right_ns(stamp_ns)
        return right_ns - sum(ahead_ns for from_ns, ahead_ns in self._jumps if right_ns >= from_ns)
