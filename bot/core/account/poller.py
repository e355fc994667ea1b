"""Reads of the account and the series, page by page, each list on its own schedule.

A walk reads a list from its first page to its empty cursor; its rows are as of the sending of the
first page (`begun_ns`). After a failed page the list is read again from its first page: a failed
read is never an empty one. The list of fills has no bound, so it goes on at the failed page.

See docs/fault-model.md#account-truth-in-one-rule.
"""

import enum
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import msgspec

from bot.core.messages import (
    Answer,
    BalanceBody,
    Body,
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
    VenueCapabilities,
)
from bot.core.orders.outbox import NEVER_NS
from bot.core.settings import StalenessSettings
from venue.wire.errors import Code
from venue.wire.instant import NS_PER_MS, NS_PER_SECOND
from venue.wire.model import Fill
from venue.wire.names import Ticker

READ_AGAIN_NS: Final = 100 * NS_PER_MS
"""A list is requested again no sooner than this after a read, or a failed one."""

_DOUBLINGS_MAX: Final = 4

_PAGES_MAX: Final = 1_000
_FILLS_PAGES_MAX: Final = 10_000
"""A walk longer than this is a failed one. The list of fills has no bound of its own."""

_PAGE_TRIES_MAX: Final = 6
"""Retries of a page of fills in a row; then the list is read from its first page."""

_UNREAD_PERIODS: Final = 12
"""A list counts as stale after so many of its periods at the earliest."""


class Resource(enum.StrEnum):
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
"""Lists that are read sooner while an order of ours is in doubt."""

_TURNS: Final = (
    Resource.BALANCE,
    Resource.POSITIONS,
    Resource.SERIES,
    Resource.FILLS,
    Resource.RESTING,
)
"""Fills come two turns after the reads that they are compared with: reads may be stale."""


class PagedRead(msgspec.Struct):
    """A walk through one list."""

    kind: Resource
    begun_ns: int = 0  # when its first page was requested
    tries: int = 0  # how often in a row a page could not be read
    cursor: str = ""
    cursors: set[str] = msgspec.field(default_factory=set)
    rows: list[Any] = msgspec.field(default_factory=list)
    series: int = 0  # which of the series is being read
    whole_rows: int = 0  # so many rows are of the series before it
    is_repeat: bool = False  # it is one page, equal to the list before
    missed: tuple[Ticker, ...] = ()
    """Other series that could not be read to their end; `rows` has none of their rows."""

    def turn_to(self, cursor: str) -> bool:
        """Go on at this cursor. False if the list was there before, or is too long to be one."""
        pages_max = _FILLS_PAGES_MAX if self.kind is Resource.FILLS else _PAGES_MAX
        if cursor in self.cursors or len(self.cursors) >= pages_max:
            return False
        self.cursors.add(cursor)
        self.cursor = cursor
        return True


class AccountPoller:
    """The reads that are due, and the walks in flight: at most one of a kind."""

    def __init__(
        self,
        series_ticker: Ticker,
        staleness: StalenessSettings,
        on_fills_page: Callable[[Sequence[Fill], int], tuple[Sequence[Fill], bool]],
        others: tuple[Ticker, ...] = (),
    ) -> None:
        """on_fills_page: as `AccountReconciler.on_fills_page`. others: series that are read with
        ours."""
        self._series = (series_ticker, *others)
        self._staleness = staleness
        self._on_fills_page = on_fills_page
        self._walks: dict[Resource, PagedRead] = {}
        self.due_ns: dict[Resource, int] = dict.fromkeys(Resource, 0)
        """When the next page of a list is requested; never while one is in flight."""
        self.next_due_ns = 0
        """The earliest of them."""
        self.done_ns: dict[Resource, int] = {}
        """When the last whole walk ended."""
        self._resumed_ns = 0
        period_ns = max(staleness.poll_orders_ns, staleness.poll_account_ns)
        self._unread_after_ns = max(staleness.unread_ns, _UNREAD_PERIODS * period_ns)
        self._has_unread = False
        self.unread_due_ns = 0
        """`unread` returns the same until then."""
        self._quiet_ns = staleness.poll_quiet_ns
        self._shown_from_ns = 0  # a read begun since then shows all that may have changed
        self._slow: set[Resource] = set()  # lists that wait for the slow period
        # What the venue does to the series is no doing of ours: it has no slow period.
        self._never_slow = frozenset({Resource.SERIES})
        self._bodies: dict[Resource, Body] = {}  # the newest last page of each list

    def obey(self, capabilities: VenueCapabilities) -> None:
        """Keep the fills at their normal period where the channel does not show ours."""
        if not capabilities.pushed_fills:
            self._never_slow |= {Resource.FILLS}

    def _schedule(self, kind: Resource, at_ns: int) -> None:
        self.due_ns[kind] = at_ns
        self.next_due_ns = min(self.due_ns.values())

    def schedule_by(self, kind: Resource, at_ns: int) -> None:
        """Have a list read no later than `at_ns`, but no sooner than a tenth of a second after it
        was read last."""
        if kind not in self._walks:
            at_ns = max(at_ns, self.done_ns.get(kind, 0) + READ_AGAIN_NS)
            self._schedule(kind, min(self.due_ns[kind], at_ns))

    def on_activity(self, now_ns: int) -> None:
        """Something of ours may have changed: poll every list at its normal period until a read
        has begun that shows it."""
        self._shown_from_ns = now_ns + self._staleness.read_lag_ns
        while self._slow:
            kind = self._slow.pop()
            self.schedule_by(kind, self._turn_ns(kind, now_ns))

    def sweep_soon(self, now_ns: int) -> None:
        """An order of ours is in doubt: poll orders and fills more often."""
        for kind in _SWEPT:
            due_ns = self.done_ns.get(kind, 0) + self._staleness.poll_orders_fast_ns
            self.schedule_by(kind, max(now_ns, due_ns))

    def on_resume(self, now_ns: int) -> None:
        """This process starts, or goes on after a pause in which it could read nothing."""
        self._resumed_ns = now_ns
        self.unread_due_ns = 0 if self._has_unread else self.unread_due_ns

    def unread(self, now_ns: int) -> tuple[Resource, ...]:
        """The stale lists: not read to their end for too long."""
        since_ns = {kind: max(self.done_ns.get(kind, 0), self._resumed_ns) for kind in _TURNS}
        from_ns = now_ns - self._unread_after_ns
        fresh_ns = (at_ns for at_ns in since_ns.values() if at_ns >= from_ns)
        self.unread_due_ns = min(fresh_ns, default=NEVER_NS) + self._unread_after_ns + 1
        unread = tuple(kind for kind, at_ns in since_ns.items() if at_ns < from_ns)
        self._has_unread = bool(unread)
        return unread

    def due(self, now_ns: int) -> list[tuple[PagedRead, Read]]:
        """The pages that are due. Call `on_sent` for each that is sent."""
        kinds = [kind for kind, due_ns in self.due_ns.items() if due_ns <= now_ns]
        # Where tokens are short the list that has waited longest comes first.
        kinds.sort(key=lambda kind: self.done_ns.get(kind, 0))
        walks = [self._walks.get(kind) or PagedRead(kind) for kind in kinds]
        return [(walk, self._request(walk)) for walk in walks]

    def on_sent(self, walk: PagedRead, now_ns: int) -> None:
        """The walk's next page was requested."""
        if not walk.cursor and not walk.series:
            walk.begun_ns = now_ns
        self._walks[walk.kind] = walk
        self._schedule(walk.kind, NEVER_NS)

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

    def on_answer(self, request: Read, answer: Answer, now_ns: int) -> PagedRead | None:
        """Take a page. Returns the walk when it was the last page, else None."""
        kind = _KIND_OF.get(type(request))
        walk = None if kind is None else self._walks.get(kind)
        if walk is None:
            return None
        if not isinstance(answer, Ok):
            is_lost = isinstance(answer, Rejected) and answer.code == Code.INVALID_CURSOR
            return self._failed(walk, now_ns, goes_on=walk.kind is Resource.FILLS and not is_lost)
        rows: Sequence[Any] = ()
        cursor, may_end = "", False
        match answer.body:
            case BalanceBody(balance):
                rows = (balance,)
            case (
                SeriesBody(events=rows, cursor=cursor)
                | PositionsBody(positions=rows, cursor=cursor)
                | FillsBody(fills=rows, cursor=cursor)
                | OrdersBody(orders=rows, cursor=cursor)
            ):
                pass
        if walk.kind is Resource.FILLS:
            rows, may_end = self._on_fills_page(rows, now_ns)
            walk.tries = 0
        is_first = not walk.rows and not walk.cursor
        walk.rows += rows
        if may_end or not cursor:
            walk.is_repeat = is_first and answer.body == self._bodies.get(walk.kind)
            self._bodies[walk.kind] = answer.body
            return self._on_end(walk, now_ns)
        if not walk.turn_to(cursor):
            return self._failed(walk, now_ns)
        self._schedule(walk.kind, now_ns)
        return None

    def _on_end(self, walk: PagedRead, now_ns: int) -> PagedRead | None:
        """A list is at its end, or one of the series: the walk, unless there is a series to come.

        Lists take turns within their period: reads that are spread out see more of the time
        between them, tokens that somebody else takes included.
        """
        kind = walk.kind
        if kind is Resource.SERIES and walk.series + 1 < len(self._series):
            walk.series += 1
            walk.whole_rows = len(walk.rows)
            walk.cursor = ""
            walk.cursors.clear()
            self._schedule(kind, now_ns)
            return None
        del self._walks[kind]
        self.done_ns[kind] = now_ns
        self.unread_due_ns = 0 if self._has_unread else self.unread_due_ns
        due_ns = self._turn_ns(kind, now_ns)
        if kind not in self._never_slow and walk.begun_ns >= self._shown_from_ns:
            self._slow.add(kind)
            due_ns = max(due_ns, self._turn_ns(kind, now_ns, self._quiet_ns))
        self._schedule(kind, due_ns)
        return walk

    def _turn_ns(self, kind: Resource, now_ns: int, period_ns: int = 0) -> int:
        """The next turn of a list in a period. period_ns: 0 for its normal one."""
        if not period_ns:
            swept = kind in _SWEPT
            period_ns = self._staleness.poll_orders_ns if swept else self._staleness.poll_account_ns
        turn_ns = period_ns * _TURNS.index(kind) // len(_TURNS)
        return now_ns + period_ns - (now_ns - turn_ns) % period_ns

    def _failed(self, walk: PagedRead, now_ns: int, *, goes_on: bool = False) -> PagedRead | None:
        """A page could not be read. Retry after a pause of a tenth of a second to a second: the
        page where the walk goes on with it, else the list from its first page.

        Another series that cannot be read is left out, so that ours does not wait for it.
        """
        if walk.series:
            del walk.rows[walk.whole_rows :]
            walk.missed += (self._series[walk.series],)
            return self._on_end(walk, now_ns)
        pause_ns = READ_AGAIN_NS << min(walk.tries, _DOUBLINGS_MAX)
        self._schedule(walk.kind, now_ns + min(NS_PER_SECOND, pause_ns))
        walk.tries += 1
        if not goes_on or walk.tries >= _PAGE_TRIES_MAX:
            self._walks[walk.kind] = PagedRead(walk.kind, tries=walk.tries)
        return None
