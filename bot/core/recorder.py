"""Watches one series as a trader would and sends nothing but reads: it makes a recording.

Pure, like the trader: the same events give the same effects, so a recording replays as a run does.
It reads the series and the account, and subscribes to every rung that is not resolved and to its
companies.
"""

from collections.abc import Callable
from typing import Final

from bot.core import messages as m
from bot.core.account.poller import Resource
from bot.core.report import Phase
from bot.core.settings import TraderSettings
from venue.wire import model
from venue.wire.instant import NS_PER_SECOND
from venue.wire.names import MarketId, ProjectId

RECORDING: Final = "(recording)"
"""The strategy name of a run that traded nothing. No strategy is named so."""

SERIES_NS: Final = 60 * NS_PER_SECOND
ACCOUNT_NS: Final = 30 * NS_PER_SECOND
FAILED_NS: Final = 5 * NS_PER_SECOND
"""Retry a read after a timeout, and a refused subscription, so much later."""

PAGES_MAX: Final = 100
RESUBSCRIBE_NS: Final = NS_PER_SECOND
"""Between two subscribes at least."""

_NEVER_NS: Final = 2**63 - 1


class TapeRecorder:
    """Records one series. Feed it every event in order; carry out the effects it returns.

    phase: starting until a book has come, then paused, for nothing is quoted, at last stopped.
    books, prints: frames so far. gaps: times that the channel closed. private: True if the key may
    read the account. effects: of the newest event.
    """

    def __init__(self, settings: TraderSettings) -> None:
        self.phase = Phase.STARTING
        self.books = 0
        self.prints = 0
        self.gaps = 0
        self.private = True
        self._series = settings.series_ticker
        self._key = m.Key.READ if settings.keys.read else m.Key.TRADE
        self._recheck_ns = settings.staleness.recheck_ns
        self.effects: list[m.Effect] = []
        self._due = dict.fromkeys(_REQUESTS, 0)
        self._asked: tuple[m.RequestId, Resource] | None = None
        self._requests = 0
        self._pages = 0
        self._fills: set[str] = set()  # of the newest page
        self._fills_before: set[str] = set()  # of the newest when they were read to the end last
        self._shown: list[model.Event] = []
        self._wanted: m.SubscribeTo | None = None
        self._seen_ns: dict[MarketId, int] = {}
        self._is_open = False
        self._subscribe_ns = _NEVER_NS
        self._subscribed_ns = 0

    def receive(self, event: m.Event, now_ns: int) -> list[m.Effect]:
        """Take one event in. The effects to carry out, in order; no request among them writes."""
        self.effects = []
        match event:
            case m.BookUpdate():
                self.books += 1
                self.phase = Phase.PAUSED if self.phase is Phase.STARTING else self.phase
                self._seen_ns[event.market_id] = now_ns
            case m.Trade():
                self.prints += 1
            case m.FeedOpened():
                self._note("info", "feed_opened")
                self._is_open = True
                self._subscribe_ns = now_ns
            case m.FeedClosed():
                self.gaps += 1
                self._is_open = False
                self._note("warning", "feed_closed", reason=event.reason)
            case m.MalformedFrame(known=True):
                self._subscribe_ns = min(self._subscribe_ns, now_ns)
            case m.SubscriptionRefused():
                self._note("error", "subscription_refused", code=event.code)
                self._subscribe_ns = now_ns + FAILED_NS
                self._due[Resource.SERIES] = now_ns
            case m.Response():
                self._replied(event, now_ns)
            case m.StopRequested() | m.JournalFailed():
                self._stop(event.reason)
        if isinstance(event, m.Started | m.Tick | m.FeedOpened | m.Response):
            self._go_on(now_ns)
        return self.effects

    def left_over(self) -> m.DrainComplete:
        """Nothing: nothing was written."""
        return m.DrainComplete((), ())

    def _stop(self, reason: str) -> None:
        if self.phase is not Phase.STOPPED:
            self.phase = Phase.STOPPED
            self._note("info", "stopping", reason=reason)
            self.effects.append(self.left_over())

    def _note(self, level: str, name: str, **fields: str | int) -> None:
        self.effects.append(m.Noted(level, name, fields))

    def _go_on(self, now_ns: int) -> None:
        """Send the read that is due: one in flight at a time."""
        if self.phase is Phase.STOPPED:
            return
        if self._asked is None:
            kind = min(self._due, key=self._due.__getitem__)
            if self._due[kind] <= now_ns:
                self._pages, self._shown = 0, []
                self._ask(kind, "")
        self._subscribe(now_ns)
        due_ns = now_ns + self._recheck_ns
        if self._asked is None:
            due_ns = min(due_ns, *self._due.values())
        if self._is_open and self._wanted is not None:
            due_ns = min(due_ns, max(self._subscribe_ns, self._subscribed_ns + RESUBSCRIBE_NS))
        self.effects.append(m.WakeAt(max(due_ns, now_ns + 1)))

    def _subscribe(self, now_ns: int) -> None:
        """Ask for every book where that is due, by a subscribe, which costs no token (S9)."""
        wanted = self._wanted
        if wanted is None or not self._is_open:
            return
        if now_ns >= self._subscribed_ns + RESUBSCRIBE_NS and (
            now_ns >= self._subscribe_ns or self._is_stale(wanted, now_ns)
        ):
            self._subscribe_ns = _NEVER_NS
            self._subscribed_ns = now_ns
            self.effects.append(wanted)

    def _is_stale(self, wanted: m.SubscribeTo, now_ns: int) -> bool:
        """True if some book is stale and was not requested meanwhile."""
        since_ns = now_ns - self._recheck_ns
        return self._subscribed_ns <= since_ns and any(
            self._seen_ns.get(each, 0) <= since_ns for each in wanted.rungs
        )

    def _ask(self, kind: Resource, cursor: str) -> None:
        self._requests += 1
        self._pages += 1
        request_id = m.RequestId(self._requests)
        self._asked = request_id, kind
        request = _REQUESTS[kind](self._series, cursor)
        self.effects.append(m.Send(request_id, request, "recording", self._key))

    def _replied(self, replied: m.Response, now_ns: int) -> None:
        if self._asked is None or self._asked[0] != replied.request_id:
            return
        _, kind = self._asked
        self._asked = None
        answer = replied.answer
        if isinstance(answer, m.Ok):
            cursor = self._took(answer.body)
            if cursor and self._pages < PAGES_MAX and self.phase is not Phase.STOPPED:
                self._ask(kind, cursor)
                return
            self._due[kind] = now_ns + (SERIES_NS if kind is Resource.SERIES else ACCOUNT_NS)
            if kind is Resource.SERIES:
                self._listed(now_ns)
            elif kind is Resource.FILLS:
                self._fills_before = self._fills
            return
        self._due[kind] = now_ns + max(FAILED_NS, replied.retry_after_ns or 0)
        if isinstance(answer, m.Rejected) and answer.status in (401, 403):
            self._refused(kind, answer)

    def _refused(self, kind: Resource, answer: m.Rejected) -> None:
        """No retry of account reads on a key that may not read the account."""
        self._note("warning", "read_refused", what=str(kind), code=answer.code)
        if kind is not Resource.SERIES:
            self.private = False
            self._due = {Resource.SERIES: self._due[Resource.SERIES]}

    def _took(self, body: m.Body) -> str:
        """Where the next page begins; "" when there is none, or nothing new on it."""
        match body:
            case m.SeriesBody():
                self._shown += body.events
            case m.FillsBody():
                shown = {fill.fill_id for fill in body.fills}
                if self._pages == 1:
                    self._fills = shown
                if shown & self._fills_before:
                    return ""
            case m.OrdersBody() | m.PositionsBody():
                pass
            case _:
                return ""
        return body.cursor

    def _listed(self, now_ns: int) -> None:
        """Subscribe to another set of rungs where the series is not as it was."""
        rungs = tuple(
            market.market_id
            for event in self._shown
            for market in event.markets
            if market.state is not model.MarketState.RESOLVED
        )
        companies: tuple[ProjectId, ...] = tuple(sorted({each.project_id for each in self._shown}))
        wanted = m.SubscribeTo(rungs, companies)
        if wanted != self._wanted:
            self._wanted = wanted
            self._subscribe_ns = now_ns
            self._note("info", "rungs_listed", rungs=len(rungs))


_REQUESTS: Final[dict[Resource, Callable[..., m.Read]]] = {
    Resource.SERIES: m.ReadSeries,
    Resource.BALANCE: lambda _series, _cursor: m.ReadBalance(),
    Resource.POSITIONS: lambda _series, cursor: m.ReadPositions(cursor),
    Resource.RESTING: lambda _series, cursor: m.ReadResting(cursor),
    Resource.FILLS: lambda _series, cursor: m.ReadFills(cursor),
}
"""The read of each kind. None of them writes: the type says so."""
