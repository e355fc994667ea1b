"""Reading the account and the series page by page, each list on its own beat.

A walk is a list read from its first page to its empty cursor. A failed page throws the walk away: a
failed read is never an empty one. The fills alone have no bound: a walk of theirs stays at a page
that fails, and asks for it again. Of the series beside ours the one that cannot be read is left out
and named: ours need not wait for a sick one. What a walk shows is as of its first page's sending
(`begun_ns`), and the reader decides what that can say about writes made meanwhile. At the end of a
run there is little time: a page that does not come is asked for once more beside the first time,
and what comes first counts.

See docs/fault-model.md#account-truth-in-one-rule.
"""

import enum
from collections.abc import Callable, Sequence
from typing import Any, Final

from bot.core.desk.outbox import HANGS_NS, NEVER_NS
from bot.core.messages import (
    Answer,
    BalanceShown,
    Done,
    FillsShown,
    OrdersShown,
    PositionsShown,
    Read,
    ReadBalance,
    ReadFills,
    ReadPositions,
    ReadResting,
    ReadSeries,
    Refused,
    SeriesShown,
)
from bot.core.settings import TrustSettings
from venue.wire.errors import Code
from venue.wire.instant import NS_PER_MS, NS_PER_SECOND
from venue.wire.model import Fill
from venue.wire.names import Ticker

READ_AGAIN_NS: Final = 100 * NS_PER_MS
"""A list is asked for again no sooner than this after it was read, or could not be."""

HURRIED_NS: Final = HANGS_NS
"""In a hurry a page that has not come by then is asked for again: one request that hangs, which the
client gives up only when it must, is not to take the time of all the others."""

_DOUBLINGS_MAX: Final = 4

_PAGES_MAX: Final = 1_000
_FILLS_PAGES_MAX: Final = 10_000
"""A walk longer than this is a failed one. Of fills there is no end to what may be."""

_PAGE_TRIES_MAX: Final = 6
"""A page of fills is asked for so often in a row before its walk has failed."""

_UNREAD_PERIODS: Final = 12
"""A list that is read rarely by intent is not unread before so many of its periods are over."""


class Kind(enum.StrEnum):
    """What is read."""

    SERIES = "series"
    BALANCE = "balance"
    POSITIONS = "positions"
    FILLS = "fills"
    RESTING = "resting"


_KINDS: Final = tuple(Kind)
"""Walked at every whole beat, where walking the class costs more."""

_SERIES: Final = Kind.SERIES
_BALANCE: Final = Kind.BALANCE
_POSITIONS: Final = Kind.POSITIONS
_FILLS: Final = Kind.FILLS
_SWEPT: Final = (Kind.FILLS, Kind.RESTING)
"""What is read anew where something of ours is in doubt."""

_TURNS: Final = (Kind.BALANCE, Kind.POSITIONS, Kind.SERIES, Kind.FILLS, Kind.RESTING)
"""Fills come two turns after what they are to be compared with: reads may lag."""


class Walk:
    """One list on its way: what is kept of the rows so far, and the cursors already seen.

    missed: series beside ours that could not be read to their end; no row is of theirs. asked_ns:
    when the page that is waited for was asked for, each request that may still bring it. tries: how
    often in a row the page that is due could not be read; it is asked for again at `again_ns`.
    """

    __slots__ = (
        *("again_ns", "asked_ns", "begun_ns", "cursor", "cursors", "kind", "missed", "pages"),
        *("rows", "series", "tries", "whole_rows"),
    )

    def __init__(self, kind: Kind, begun_ns: int) -> None:
        self.kind = kind
        self.begun_ns = begun_ns
        self.cursor = ""
        self.cursors: set[str] = set()
        self.rows: list[Any] = []
        self.pages = 0
        self.tries = 0
        self.again_ns = 0
        self.series = 0  # which of the series is being read
        self.whole_rows = 0  # so many are of the series before it
        self.missed: tuple[Ticker, ...] = ()
        self.asked_ns: list[int] = []

    @property
    def waiting(self) -> bool:
        """Whether a page is on its way."""
        return bool(self.asked_ns)


class Account:
    """Which reads are wanted when, and the walks under way: at most one of a kind.

    done_ns and begun_ns: when the last whole walk of a kind ended, and when it was begun.
    read_until_ns: up to then neither what is
    ours is unread nor the series, whatever comes.
    """

    def __init__(
        self,
        series_ticker: Ticker,
        trust: TrustSettings,
        take_fills: Callable[[tuple[Fill, ...], int], tuple[Sequence[Fill], bool]],
        beside: tuple[Ticker, ...] = (),
    ) -> None:
        """take_fills: takes a page of fills at an instant, and tells what of it is kept to the
        walk's end, and whether the walk may end early with it (the rest is known already). beside:
        other series that are read with ours."""
        self._series = (series_ticker, *beside)
        self._trust = trust
        self._take_fills = take_fills
        self._walks: dict[Kind, Walk] = {}
        self.due_ns: dict[Kind, int] = dict.fromkeys(Kind, 0)
        self.done_ns: dict[Kind, int] = {}
        self.begun_ns: dict[Kind, int] = {}
        self._begun_anew: set[Kind] = set()
        self._failed: dict[Kind, int] = {}  # walks in a row
        self._paused_until_ns: dict[Kind, int] = {}
        self._woke_ns = 0
        self._first_ns: int | None = None  # when anything was asked for first
        self._next_ns: int | None = None  # `next_due_ns`; None: to be reckoned anew
        self._sweeps_soon = False  # what `sweep_soon` plans is planned
        self.read_until_ns = 0
        self._hurried = False
        period_ns = max(trust.sweep_ns, trust.audit_ns)
        self._longest_ns = max(trust.unread_ns, _UNREAD_PERIODS * period_ns)

    def hurry(self) -> None:
        """From here on a page that does not come soon is asked for again, see `HURRIED_NS`."""
        self._hurried = True
        self._next_ns = None

    def calm(self) -> None:
        """There is no hurry any more."""
        self._hurried = False
        self._next_ns = None

    def hasten(self, kind: Kind, at_ns: int) -> None:
        """Have a list read no later than `at_ns`; one that failed, once it may be tried again."""
        if at_ns >= self.due_ns[kind]:
            return
        at_ns = max(at_ns, self._paused_until_ns.get(kind, 0))
        if at_ns < self.due_ns[kind]:
            self._plan(kind, at_ns)

    def hasten_again(self, kind: Kind, now_ns: int) -> None:
        """Have a list read as soon as a tenth of a second after it was read last."""
        self.hasten(kind, max(now_ns, self.done_ns.get(kind, 0) + READ_AGAIN_NS))

    def _plan(self, kind: Kind, at_ns: int) -> None:
        """The one place where `due_ns` changes; where a walk begins, `next_due_ns` does too."""
        self.due_ns[kind] = at_ns
        self._next_ns = None
        self._sweeps_soon = False

    def sweep_soon(self, now_ns: int) -> None:
        """Something of ours is in doubt: orders and fills are read at the quicker pace."""
        if self._sweeps_soon:
            return  # asked for at each beat while the doubt lasts
        for kind in _SWEPT:
            due_ns = self.done_ns.get(kind, 0) + self._trust.suspect_sweep_ns
            self.hasten(kind, due_ns if due_ns > now_ns else now_ns)
        self._sweeps_soon = True

    def woke(self, now_ns: int) -> None:
        """This process has stood still until now: it could not have read anything."""
        self._woke_ns = now_ns

    def unread(self, now_ns: int) -> tuple[Kind, ...]:
        """The lists of what is ours that could not be read to their end for too long, since
        the first of all was asked for if they never were."""
        if now_ns <= self.read_until_ns or self._first_ns is None:
            return ()
        until_ns = {kind: self._read_until(kind) for kind in _TURNS}
        # Such an instant only moves on: nothing is unread before the earliest of them.
        self.read_until_ns = min(until_ns.values())
        del until_ns[_SERIES]
        return tuple(kind for kind, at_ns in until_ns.items() if now_ns > at_ns)

    def _read_until(self, kind: Kind) -> int:
        """Up to when a list is not unread, as it was read last."""
        assert self._first_ns is not None
        return max(self.done_ns.get(kind, self._first_ns), self._woke_ns) + self._longest_ns

    def series_unread(self, now_ns: int) -> str:
        """That our series could not be read to its end for as long; empty where it could."""
        if self._first_ns is None or now_ns <= self._read_until(_SERIES):
            return ""
        return "not read for long: which events and rungs there are, their states, ends and fees"

    def next_due_ns(self) -> int:
        """The earliest instant at which a read is wanted that is not under way."""
        if self._next_ns is None:
            waiting_ns = [due for kind, due in self.due_ns.items() if kind not in self._walks]
            stopped = (walk for walk in self._walks.values() if walk.tries and not walk.waiting)
            waiting_ns += [walk.again_ns for walk in stopped]
            if self._hurried:
                late = (walk.asked_ns[-1] for walk in self._walks.values() if walk.waiting)
                waiting_ns += [asked_ns + HURRIED_NS for asked_ns in late]
            self._next_ns = min(waiting_ns, default=NEVER_NS)
        return self._next_ns

    def _is_late(self, walk: Walk, now_ns: int) -> bool:
        """Whether a page is to be asked for although it is on its way."""
        return self._hurried and walk.waiting and now_ns >= walk.asked_ns[-1] + HURRIED_NS

    def wanted(self, now_ns: int) -> list[tuple[Walk, Read]]:
        """Pages to ask for now; tell `asked` about each that is sent."""
        if now_ns < self.next_due_ns() and not (self._walks and self._turns_pages(now_ns)):
            return []
        out: list[tuple[Walk, Read]] = []
        # Where tokens are short the list that has waited longest comes first.
        for kind in sorted(_KINDS, key=lambda kind: self.done_ns.get(kind, 0)):
            walk = self._walks.get(kind)
            if walk is None:
                if self.due_ns[kind] > now_ns:
                    continue
                walk = Walk(kind, now_ns)
            if self._turns(walk, now_ns) or self._is_late(walk, now_ns):
                out.append((walk, self._request(walk)))
        return out

    def _turns_pages(self, now_ns: int) -> bool:
        """Whether the next page of some walk is to be asked for."""
        return any(self._turns(walk, now_ns) for walk in self._walks.values())

    def _turns(self, walk: Walk, now_ns: int) -> bool:
        return not walk.waiting and now_ns >= walk.again_ns

    def asked(self, walk: Walk, now_ns: int) -> None:
        """The walk's next page has been sent for."""
        walk.asked_ns.append(now_ns)
        if self._first_ns is None:
            self._first_ns = now_ns
        self._walks[walk.kind] = walk
        self._next_ns = None

    def _request(self, walk: Walk) -> Read:
        if walk.kind is _SERIES:
            return ReadSeries(self._series[walk.series], walk.cursor)
        if walk.kind is _BALANCE:
            return ReadBalance()
        if walk.kind is _POSITIONS:
            return ReadPositions(walk.cursor)
        if walk.kind is _FILLS:
            return ReadFills(walk.cursor)
        return ReadResting(walk.cursor)

    def take_answer(self, request: Read, answer: Answer, asked_ns: int, now_ns: int) -> Walk | None:
        """Take a page in. The finished walk when it was the last one, else None.

        asked_ns: when it was asked for. Of a page that was asked for twice the first answer counts
        that shows it.
        """
        kind = _kind_of(request)
        walk = None if kind is None else self._walks.get(kind)
        if walk is None or asked_ns not in walk.asked_ns:
            return None
        self._next_ns = None
        if not isinstance(answer, Done) and len(walk.asked_ns) > 1:
            walk.asked_ns.remove(asked_ns)
            return None
        walk.asked_ns.clear()
        if not walk.cursor and not walk.series:
            walk.begun_ns = asked_ns
        if not isinstance(answer, Done):
            if self._stays(walk, answer, now_ns):
                return None
            if not self._begins_anew(walk, answer):
                return self._give_up(walk, now_ns)
            del self._walks[walk.kind]
            self._plan(walk.kind, now_ns)
            return None
        rows, cursor = _page(answer)
        is_of_fills = walk.kind is _FILLS
        kept, may_end = self._take_fills(rows, now_ns) if is_of_fills else (rows, False)
        walk.rows.extend(kept)
        walk.pages += 1
        walk.tries = walk.again_ns = 0
        pages_max = _FILLS_PAGES_MAX if is_of_fills else _PAGES_MAX
        repeated = cursor in walk.cursors
        if repeated or walk.pages > pages_max:
            return self._give_up(walk, now_ns)
        if cursor and not may_end:
            walk.cursors.add(cursor)
            walk.cursor = cursor
            return None
        return self._read_to_end(walk, now_ns)

    def _read_to_end(self, walk: Walk, now_ns: int) -> Walk | None:
        """A list is at its end, or a series: the walk, unless there is a series to come."""
        if walk.kind is _SERIES and walk.series + 1 < len(self._series):
            walk.series += 1
            walk.whole_rows = len(walk.rows)
            walk.pages = 0
            walk.cursor = ""
            walk.cursors.clear()
            return None
        del self._walks[walk.kind]
        self._begun_anew.discard(walk.kind)
        self._failed.pop(walk.kind, None)
        self.done_ns[walk.kind] = now_ns
        self.begun_ns[walk.kind] = walk.begun_ns
        self._plan(walk.kind, self._next_turn_ns(walk.kind, now_ns))
        return walk

    def _give_up(self, walk: Walk, now_ns: int) -> Walk | None:
        """A list cannot be read to its end: the walk has failed, unless it is in a series beside
        ours, which is left out."""
        if not walk.series:
            self._fail(walk, now_ns)
            return None
        del walk.rows[walk.whole_rows :]
        walk.missed += (self._series[walk.series],)
        return self._read_to_end(walk, now_ns)

    def _fail(self, walk: Walk, now_ns: int) -> None:
        """A walk came to nothing. The next one is due in a second; hastened, it comes sooner, but
        the later the oftener it has failed: a sick venue is not asked as fast as it answers."""
        failed = self._failed[walk.kind] = self._failed.get(walk.kind, 0) + 1
        self._paused_until_ns[walk.kind] = now_ns + _pause_ns(failed)
        del self._walks[walk.kind]
        self._plan(walk.kind, now_ns + NS_PER_SECOND)

    def _stays(self, walk: Walk, answer: Answer, now_ns: int) -> bool:
        """Whether a walk waits at a page that could not be read: of many pages one always fails,
        and their list, newest first, goes on from a cursor as it did. Not in a hurry."""
        if walk.kind is not _FILLS or not walk.pages or self._hurried:
            return False
        if _has_lost_its_place(answer):
            return False
        walk.tries += 1
        walk.again_ns = now_ns + _pause_ns(walk.tries)
        return walk.tries < _PAGE_TRIES_MAX

    def _begins_anew(self, walk: Walk, answer: Answer) -> bool:
        """Whether a walk that failed is walked again at once: its cursor has become invalid, and it
        is not that fresh walk itself, for then this is a failed read like any other."""
        is_lost = _has_lost_its_place(answer)
        if is_lost and walk.pages and walk.kind not in self._begun_anew:
            self._begun_anew.add(walk.kind)
            return True
        self._begun_anew.discard(walk.kind)
        return False

    def _next_turn_ns(self, kind: Kind, now_ns: int) -> int:
        """The next of a list's regular turns, a period away at most.

        Lists take turns within their period: reads that are spread out see more of what happens
        between them, tokens that somebody else takes included.
        """
        sweep = kind in _SWEPT
        period_ns = self._trust.sweep_ns if sweep else self._trust.audit_ns
        turn_ns = period_ns * _TURNS.index(kind) // len(_TURNS)
        return now_ns + period_ns - (now_ns - turn_ns) % period_ns


def _has_lost_its_place(answer: Answer) -> bool:
    """Whether the venue no longer knows the cursor."""
    return isinstance(answer, Refused) and answer.code == Code.INVALID_CURSOR


def _pause_ns(failed: int) -> int:
    """How long to wait after so many failures in a row: a tenth of a second to a second."""
    return min(NS_PER_SECOND, READ_AGAIN_NS << min(failed - 1, _DOUBLINGS_MAX))


def _kind_of(request: Read) -> Kind | None:
    """Which list a request is a page of; None for the reads of single things."""
    match request:
        case ReadSeries():
            return Kind.SERIES
        case ReadBalance():
            return Kind.BALANCE
        case ReadPositions():
            return Kind.POSITIONS
        case ReadFills():
            return Kind.FILLS
        case ReadResting():
            return Kind.RESTING
        case _:
            return None


def _page(answer: Done) -> tuple[tuple[Any, ...], str]:
    body = answer.body
    match body:
        case SeriesShown():
            return body.events, body.cursor
        case BalanceShown():
            return (body.balance,), ""
        case PositionsShown():
            return body.positions, body.cursor
        case FillsShown():
            return body.fills, body.cursor
        case OrdersShown():
            return body.orders, body.cursor
        case _:
            return (), ""
