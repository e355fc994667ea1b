"""Reading the account and the series page by page, each list at its own time.

A walk is a list read from its first page to its empty cursor; what it shows is as of the sending of
its first page (`begun_ns`). A page that cannot be read is asked for again after a pause, and the
list from its first page on: a failed read is never an empty one. The fills alone have no bound, so
a walk of theirs goes on where it was.

See docs/fault-model.md#account-truth-in-one-rule.
"""

import enum
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import msgspec

from bot.core.messages import (
    Answer,
    BalanceBody,
    FillsBody,
    Ok,
    OrdersBody,
    PositionsBody,
    Read,
    ReadBalance,
    ReadFills,
    ReadPositions,
    ReadResting,
    ReadSeries,
    Rejected,
    SeriesBody,
)
from bot.core.orders.outbox import NEVER_NS
from bot.core.settings import StalenessSettings
from venue.wire.errors import Code
from venue.wire.instant import NS_PER_MS, NS_PER_SECOND
from venue.wire.model import Fill
from venue.wire.names import Ticker

READ_AGAIN_NS: Final = 100 * NS_PER_MS
"""A list is asked for again no sooner than this after it was read, or could not be."""

_DOUBLINGS_MAX: Final = 4

_PAGES_MAX: Final = 1_000
_FILLS_PAGES_MAX: Final = 10_000
"""A walk longer than this is a failed one. Of fills there is no end to what may be."""

_PAGE_TRIES_MAX: Final = 6
"""A page of fills is asked for so often in a row before its list is read from the first page on."""

_UNREAD_PERIODS: Final = 12
"""A list that is read rarely by intent is not unread before so many of its periods are over."""


class Resource(enum.StrEnum):
    """What is read."""

    SERIES = "series"
    BALANCE = "balance"
    POSITIONS = "positions"
    FILLS = "fills"
    RESTING = "resting"


_KIND_OF: Final[Mapping[type, Resource]] = {
    ReadSeries: Resource.SERIES,
    ReadBalance: Resource.BALANCE,
    ReadPositions: Resource.POSITIONS,
    ReadFills: Resource.FILLS,
    ReadResting: Resource.RESTING,
}

_SWEPT: Final = (Resource.FILLS, Resource.RESTING)
"""What is read sooner where something of ours is in doubt."""

_TURNS: Final = (
    Resource.BALANCE,
    Resource.POSITIONS,
    Resource.SERIES,
    Resource.FILLS,
    Resource.RESTING,
)
"""Fills come two turns after what they are to be compared with: reads may lag."""


class PagedRead(msgspec.Struct):
    """One list on its way.

    begun_ns: when its first page was asked for. tries: how often in a row it could not be read.
    missed: other series that could not be read to their end; `rows` has none of their rows.
    """

    kind: Resource
    begun_ns: int = 0
    tries: int = 0
    cursor: str = ""
    cursors: set[str] = msgspec.field(default_factory=set)
    rows: list[Any] = msgspec.field(default_factory=list)
    series: int = 0  # which of the series is being read
    whole_rows: int = 0  # so many are of the series before it
    missed: tuple[Ticker, ...] = ()

    def turn_to(self, cursor: str) -> bool:
        """Go on at this cursor. False if the list was there before, or is too long to be one."""
        pages_max = _FILLS_PAGES_MAX if self.kind is Resource.FILLS else _PAGES_MAX
        if cursor in self.cursors or len(self.cursors) >= pages_max:
            return False
        self.cursors.add(cursor)
        self.cursor = cursor
        return True


class AccountPoller:
    """Which reads are wanted when, and the walks under way: at most one of a kind."""

    def __init__(
        self,
        series_ticker: Ticker,
        staleness: StalenessSettings,
        take_fills: Callable[[Sequence[Fill], int], tuple[Sequence[Fill], bool]],
        beside: tuple[Ticker, ...] = (),
    ) -> None:
        """take_fills: takes a page of fills at an instant, and tells what of it is kept to the
        walk's end, and whether the walk may end early with it (the rest is known already). beside:
        other series that are read with ours."""
        self._series = (series_ticker, *beside)
        self._staleness = staleness
        self._take_fills = take_fills
        self._walks: dict[Resource, PagedRead] = {}
        self.due_ns: dict[Resource, int] = dict.fromkeys(Resource, 0)
        """When the next page of a list is to be asked for; never while one is on its way."""
        self.done_ns: dict[Resource, int] = {}
        """When the last whole walk ended."""
        self._resumed_ns = 0
        period_ns = max(staleness.poll_orders_ns, staleness.poll_account_ns)
        self._longest_ns = max(staleness.unread_ns, _UNREAD_PERIODS * period_ns)

    def hasten(self, kind: Resource, at_ns: int) -> None:
        """Have a list read no later than `at_ns`, but no sooner than a tenth of a second after it
        was read last."""
        if kind not in self._walks:
            at_ns = max(at_ns, self.done_ns.get(kind, 0) + READ_AGAIN_NS)
            self.due_ns[kind] = min(self.due_ns[kind], at_ns)

    def sweep_soon(self, now_ns: int) -> None:
        """Something of ours is in doubt: orders and fills are read at the quicker pace."""
        for kind in _SWEPT:
            due_ns = self.done_ns.get(kind, 0) + self._staleness.poll_orders_fast_ns
            self.hasten(kind, max(now_ns, due_ns))

    def on_resume(self, now_ns: int) -> None:
        """This process starts, or goes on after a pause in which it could read nothing."""
        self._resumed_ns = now_ns

    def unread(self, now_ns: int) -> tuple[Resource, ...]:
        """The lists that could not be read to their end for too long."""
        from_ns = now_ns - self._longest_ns
        return tuple(
            kind
            for kind in _TURNS
            if self.done_ns.get(kind, 0) < from_ns and self._resumed_ns < from_ns
        )

    def unread_due_ns(self) -> int:
        """When `unread` has something to say, unless a list is read to its end before."""
        oldest_ns = min(self.done_ns.get(kind, 0) for kind in _TURNS)
        return max(oldest_ns, self._resumed_ns) + self._longest_ns + 1

    def next_due_ns(self) -> int:
        """The earliest instant at which a read is wanted that is not under way."""
        return min(self.due_ns.values())

    def wanted(self, now_ns: int) -> list[tuple[PagedRead, Read]]:
        """The pages that are due. Call `asked` for each that is sent."""
        due = [kind for kind, due_ns in self.due_ns.items() if due_ns <= now_ns]
        # Where tokens are short the list that has waited longest comes first.
        due.sort(key=lambda kind: self.done_ns.get(kind, 0))
        walks = [self._walks.get(kind) or PagedRead(kind) for kind in due]
        return [(walk, self._request(walk)) for walk in walks]

    def asked(self, walk: PagedRead, now_ns: int) -> None:
        """The walk's next page has been sent for."""
        if not walk.cursor and not walk.series:
            walk.begun_ns = now_ns
        self._walks[walk.kind] = walk
        self.due_ns[walk.kind] = NEVER_NS

    def _request(self, walk: PagedRead) -> Read:
        match walk.kind:
            case Resource.SERIES:
                return ReadSeries(self._series[walk.series], walk.cursor)
            case Resource.BALANCE:
                return ReadBalance()
            case Resource.POSITIONS:
                return ReadPositions(walk.cursor)
            case Resource.FILLS:
                return ReadFills(walk.cursor)
            case Resource.RESTING:
                return ReadResting(walk.cursor)

    def take_answer(self, request: Read, answer: Answer, now_ns: int) -> PagedRead | None:
        """Take a page in. The finished walk when it was the last one, else None."""
        kind = _KIND_OF.get(type(request))
        walk = None if kind is None else self._walks.get(kind)
        if walk is None:
            return None
        if not isinstance(answer, Ok):
            is_lost = isinstance(answer, Rejected) and answer.code == Code.INVALID_CURSOR
            return self._failed(walk, now_ns, goes_on=walk.kind is Resource.FILLS and not is_lost)
        rows, cursor = _page(answer)
        may_end = False
        if walk.kind is Resource.FILLS:
            rows, may_end = self._take_fills(rows, now_ns)
            walk.tries = 0
        walk.rows.extend(rows)
        if may_end or not cursor:
            return self._read_to_end(walk, now_ns)
        if not walk.turn_to(cursor):
            return self._failed(walk, now_ns)
        self.due_ns[walk.kind] = now_ns
        return None

    def _read_to_end(self, walk: PagedRead, now_ns: int) -> PagedRead | None:
        """A list is at its end, or a series: the walk, unless there is a series to come."""
        if walk.kind is Resource.SERIES and walk.series + 1 < len(self._series):
            walk.series += 1
            walk.whole_rows = len(walk.rows)
            walk.cursor = ""
            walk.cursors.clear()
            self.due_ns[walk.kind] = now_ns
            return None
        del self._walks[walk.kind]
        self.done_ns[walk.kind] = now_ns
        self.due_ns[walk.kind] = self._next_turn_ns(walk.kind, now_ns)
        return walk

    def _failed(self, walk: PagedRead, now_ns: int, *, goes_on: bool = False) -> PagedRead | None:
        """A page could not be read. It is asked for again after a pause, a tenth of a second to a
        second, where the walk goes on with it; else the list is, from its first page on.

        Another series that cannot be read is left out, so that ours does not wait for it.
        """
        if walk.series:
            del walk.rows[walk.whole_rows :]
            walk.missed += (self._series[walk.series],)
            return self._read_to_end(walk, now_ns)
        pause_ns = READ_AGAIN_NS << min(walk.tries, _DOUBLINGS_MAX)
        self.due_ns[walk.kind] = now_ns + min(NS_PER_SECOND, pause_ns)
        walk.tries += 1
        if not goes_on or walk.tries >= _PAGE_TRIES_MAX:
            self._walks[walk.kind] = PagedRead(walk.kind, tries=walk.tries)
        return None

    def _next_turn_ns(self, kind: Resource, now_ns: int) -> int:
        """The next of a list's regular turns, a period away at most.

        Lists take turns within their period: reads that are spread out see more of what happens
        between them, tokens that somebody else takes included.
        """
        period_ns = (
            self._staleness.poll_orders_ns if kind in _SWEPT else self._staleness.poll_account_ns
        )
        turn_ns = period_ns * _TURNS.index(kind) // len(_TURNS)
        return now_ns + period_ns - (now_ns - turn_ns) % period_ns


def _page(answer: Ok) -> tuple[Sequence[Any], str]:
    body = answer.body
    match body:
        case SeriesBody():
            return body.events, body.cursor
        case BalanceBody():
            return (body.balance,), ""
        case PositionsBody():
            return body.positions, body.cursor
        case FillsBody():
            return body.fills, body.cursor
        case OrdersBody():
            return body.orders, body.cursor
        case _:
            return (), ""
