"""Which fills are booked, for ever and in bounded memory: ids of the newest, a floor below them.

Below the floor, in the venue's time, every fill is known to be booked. It rises only in `trim`,
which is called when a walk of the fill list has joined what was booked before it; older pages can
then hold nothing new, so what is at or below the floor is a repeat.

Source: design, laws 3 and 4; reliability, rows 52-58; silences S4, S5.
"""

from bisect import bisect_right
from collections.abc import Collection, Sequence
from typing import Final

from venue.wire import model
from venue.wire.instant import NS_PER_SECOND, to_ns

FILL_IDS_KEPT: Final = 1_000
"""Newest fills whose ids are kept after a `trim`, however old: a page of the list."""

FILL_IDS_KEPT_NS: Final = 1_800 * NS_PER_SECOND
"""The ids of fills no older than this beside the newest are kept too: far longer than a read lags,
or a fill that was passed over goes unnoticed. At most FILL_IDS_MAX of them."""

FILL_IDS_MAX: Final = 20_000
"""Ids kept after a `trim`, and orders of others or of earlier runs, at most. Twice as many may
gather before one: 9 MB of ids, and 6 MB of orders."""

_OF_INSTANT_MAX: Final = 100
"""Of a venue that stamps coarsely, more than this would only take time."""


class UnbookableFill(Exception):
    """A fill that cannot be read as cash and shares; nothing was booked. Names the fill and why."""


class FillIds:
    """The fills that are booked. most: ids that are kept at most."""

    def __init__(
        self,
        kept: int = FILL_IDS_KEPT,
        kept_ns: int = FILL_IDS_KEPT_NS,
        most: int = FILL_IDS_MAX,
    ) -> None:
        """kept: how many of the newest are told apart by id after a `trim`, >= 1, beside those no
        older than `kept_ns`; at most `most` in all."""
        self._kept = kept
        self._kept_ns = kept_ns
        self.most = most
        self._trimmed_beyond = 2 * kept
        self._booked: dict[str, int] = {}
        self._by_instant: dict[int, tuple[str, ...]] = {}
        self._floor_ns: int | None = None
        self._newest = ("", -1)

    @property
    def newest(self) -> str:
        """The id of the newest fill that is booked, by the venue's time; "" while there is none."""
        return self._newest[0]

    @property
    def newest_ns(self) -> int:
        """The venue's time of that fill; -1 while there is none."""
        return self._newest[1]

    @property
    def count(self) -> int:
        """How many ids are kept."""
        return len(self._booked)

    def add(self, fill_id: str, created_ns: int) -> None:
        """This fill is booked."""
        self._booked[fill_id] = created_ns
        if created_ns > self._newest[1]:
            self._newest = fill_id, created_ns
        ids = self._by_instant.get(created_ns, ())
        if len(ids) < _OF_INSTANT_MAX:
            self._by_instant[created_ns] = (*ids, fill_id)

    def of_instant(self, created_ns: int) -> tuple[str, ...]:
        """Ids that are kept of this very time, at most _OF_INSTANT_MAX."""
        return self._by_instant.get(created_ns, ())

    def knows(self, fill_id: str, created_ns: int) -> bool:
        """Whether a fill of this id and time has been booked."""
        return fill_id in self._booked or self.is_below_floor(created_ns)

    def has(self, fill: model.Fill) -> bool:
        """Whether this fill has been booked. Raises UnbookableFill when its time is unreadable."""
        return self.knows(fill.fill_id, created_ns_of(fill))

    def unknown(self, fills: Sequence[model.Fill], sought: Collection[str]) -> list[model.Fill]:
        """Those of them that are not booked, or whose ids are `sought`, in their order."""
        others = [fill for fill in fills if fill.fill_id not in self._booked]
        return [fill for fill in others if fill.fill_id in sought or not self._is_passed(fill)]

    def _is_passed(self, fill: model.Fill) -> bool:
        """Whether a fill lies below the floor; not when its time is unreadable."""
        try:
            return self.is_below_floor(created_ns_of(fill))
        except UnbookableFill:
            return False

    def end_below_floor(self, fills: Sequence[model.Fill]) -> bool:
        """Whether fills, newest first, reach back to where every fill is booked. False where their
        times do not tell that they come newest first. Raises UnbookableFill for an unreadable time.
        """
        oldest_ns = created_ns_of(fills[-1])
        return oldest_ns < created_ns_of(fills[0]) and self.is_below_floor(oldest_ns)

    def is_below_floor(self, created_ns: int) -> bool:
        """Whether every fill of this time is booked."""
        return self._floor_ns is not None and created_ns <= self._floor_ns

    def trim(self) -> bool:
        """Let the floor stand for the ids of older fills. Call when a walk of the fills has
        finished. Whether it did: not before twice as many have gathered as were kept, so that the
        work is rare. Equal times stay on one side of the floor together."""
        if len(self._booked) <= self._trimmed_beyond:
            return False
        times = sorted(self._booked.values())
        passed = min(len(times) - self._kept, bisect_right(times, times[-1] - self._kept_ns))
        passed = max(passed, len(times) - self.most)
        if passed > 0:
            floor_ns = times[passed - 1]
            self._booked = {key: at for key, at in self._booked.items() if at > floor_ns}
            self._by_instant = {at: ids for at, ids in self._by_instant.items() if at > floor_ns}
            self._floor_ns = floor_ns
        self._trimmed_beyond = 2 * max(self._kept, len(self._booked))
        return True


def created_ns_of(fill: model.Fill) -> int:
    """When a fill happened, by the venue. Raises UnbookableFill when that is unreadable."""
    try:
        return to_ns(fill.created_at)
    except ValueError as fault:
        raise UnbookableFill(f"fill {fill.fill_id}: {fault}") from None
