"""Bring an account to zero resting orders and prove it: a pure machine for `cancel-all` and reaper.

It knows nothing of the trader. List what rests, page by page; cancel each order until the venue
says that it is over; list again. Nothing rests when two whole lists, begun at least a second apart
and late enough after the last cancel's answer for a lagging read, show nothing. Whoever keeps
placing orders meanwhile keeps it busy, and its deadline names what was left.

Source: interface, DELETE /orders/{order_id}; GET /orders; silences S23, S31, S50; reliability, rows
12, 14, 29, 30, 31, 36, 37, 64, D8, B13.
"""

from collections.abc import Iterator

import msgspec

from bot.core import messages as m
from bot.core.desk.outbox import TOO_MANY, WAIT_DEFAULT_NS
from bot.core.desk.shelf import NEVER_NS
from bot.core.desk.spend import Lane, Purse
from bot.core.settings import BudgetSettings
from venue.wire import model
from venue.wire.errors import Advice, Code, Sequenced, row_for
from venue.wire.instant import NS_PER_MS, NS_PER_SECOND
from venue.wire.money import Qty
from venue.wire.names import OrderId, Ticker, is_order_id

_PAGES_MAX = 1_000
"""A list longer than this is a failed read (row 37)."""

_LIST_AGAIN_NS = NS_PER_SECOND
"""Between the beginnings of two lists of which both must be empty, and after a failed one."""

_LIST_BESIDE_NS = 2 * NS_PER_SECOND
"""Between lists while cancels are under way: others may place orders meanwhile."""

_PROBE_NS = 5 * NS_PER_SECOND
"""A halted venue is asked with one cancel this often (row 31)."""

_REPEAT_FIRST_NS = NS_PER_SECOND // 4
_REPEAT_MAX_NS = 5 * NS_PER_SECOND
"""A cancel that was refused for another reason is repeated no sooner than this (B12)."""

_UNREACHED_NS = NS_PER_SECOND // 2
"""After a request that could not leave this host nothing leaves for so long."""

_STARVED_NS = 20 * NS_PER_MS
_WINDOW_MIN = 4
"""Cancels at once before the first good answer; each good answer allows one more."""


class SweepSettings(msgspec.Struct, frozen=True, kw_only=True):
    """What is swept, and how.

    series_ticker: only orders in events of this series; None is the whole account. verify: prove
    it by lists; else every order of one list is cancelled and no more is claimed. deadline_ns: how
    long it may take, None is for ever. read_lag_ns: reads may lag a write by so much.

    known: ids and client ids of orders, and of markets, that are swept whatever their series; with
    no series, these alone. None: no order is swept for an id.
    """

    series_ticker: Ticker | None = None
    known: frozenset[str] | None = None
    verify: bool = True
    deadline_ns: int | None = None
    requests_in_flight: int = 32
    read_lag_ns: int = NS_PER_SECOND
    budget: BudgetSettings = BudgetSettings()


class Left(msgspec.Struct, frozen=True):
    """An order that may still rest. why: what its last cancel was answered with, or "not tried"."""

    order_id: OrderId
    ticker: Ticker
    remaining_qty: Qty
    why: str


class Clean(msgspec.Struct, frozen=True, tag=True):
    """Nothing rests, as two lists have shown. cancelled: orders that a cancel of ours ended."""

    cancelled: int


class Sent(msgspec.Struct, frozen=True, tag=True):
    """Every order of one list is over by the venue's word; nothing was verified."""

    cancelled: int


class Overdue(msgspec.Struct, frozen=True, tag=True):
    """The deadline passed. left: what may rest, as far as it is known, in the order of the ids.

    listed: whether the account was read to its end at all; without it `left` says little.
    """

    cancelled: int
    left: tuple[Left, ...]
    listed: bool


class KeyRefused(msgspec.Struct, frozen=True, tag=True):
    """The venue refuses the key or its scope: another key must do it. left: as in Overdue."""

    status: int
    code: str
    left: tuple[Left, ...]


Verdict = Clean | Sent | Overdue | KeyRefused


class _Target:
    """An order seen to rest that no answer has shown to be over.

    came_back: whether a list has shown it after such an answer.
    """

    __slots__ = ("asked", "came_back", "due_ns", "remaining", "repeats", "ticker", "why")

    def __init__(self, order: model.Order, now_ns: int, *, came_back: bool) -> None:
        self.ticker = order.ticker
        self.remaining = order.remaining_qty
        self.why = "not tried"
        self.due_ns = now_ns
        self.repeats = 0
        self.asked = False
        self.came_back = came_back


class _List:
    """A list on its way. rows: how many of ours it has shown so far."""

    __slots__ = ("begun_ns", "cursor", "cursors", "rows", "waiting")

    def __init__(self, begun_ns: int) -> None:
        self.begun_ns = begun_ns
        self.cursor = ""
        self.cursors: set[str] = set()
        self.rows = 0
        self.waiting = False


class Sweeper:
    """One sweep. Feed it a Beat at the start and whenever its WakeAt falls due, and every answer.

    verdict: how it ended, None as long as it goes on; after that it wishes for nothing more.
    found, cancelled: orders seen to rest, and those that a cancel of ours ended.
    """

    def __init__(self, settings: SweepSettings, now_ns: int) -> None:
        self._settings = settings
        self._purse = Purse(settings.budget, now_ns)
        self._begun_ns = now_ns
        self._now_ns = now_ns
        self._effects: list[m.Effect] = []
        self._pending: dict[m.RequestId, OrderId | None] = {}
        self._last_id = 0
        self._targets: dict[OrderId, _Target] = {}
        self._over_ns: dict[OrderId, int] = {}
        self._doubted: dict[OrderId, _Target] = {}  # of those, what came back before
        self._list: _List | None = None
        self._begun_anew = False  # since its cursor became invalid
        self._listed_ns: int | None = None
        self._list_from_ns = now_ns
        self._empty_ns: int | None = None
        self._last_answer_ns: int | None = None
        self._unreached_until_ns = now_ns
        self._probe_ns: int | None = None
        self._window = _WINDOW_MIN
        self.verdict: Verdict | None = None
        self.found = 0
        self.cancelled = 0

    @property
    def open_count(self) -> int:
        """Orders that may still rest, as far as they are known."""
        return len(self._targets)

    @property
    def halted(self) -> bool:
        """Whether the venue takes no cancels for now."""
        return self._probe_ns is not None

    @property
    def listed(self) -> bool:
        """Whether a whole list of the account has been read."""
        return self._listed_ns is not None

    @property
    def verifying(self) -> bool:
        """Whether every order found is over and only the lists are missing."""
        return self.listed and not self._targets

    def receive(self, event: m.Replied | m.Beat, now_ns: int) -> list[m.Effect]:
        """Take an answer or the time in. now_ns: a clock that never steps back.

        Returns what to carry out: Send, WakeAt and Noted. Raises nothing for any answer.
        """
        self._now_ns = max(self._now_ns, now_ns)
        self._effects = []
        if isinstance(event, m.Replied):
            self._answered(event)
        if self.verdict is None:
            self._judge()
        if self.verdict is None:
            self._work()
        return self._effects

    # --- answers ----------------------------------------------------------------------------------

    def _answered(self, event: m.Replied) -> None:
        if event.request_id not in self._pending:
            return
        order_id = self._pending.pop(event.request_id)
        self._purse.answered(event.tokens_left, self._now_ns, limit=event.tokens_limit)
        answer = event.answer
        if isinstance(answer, m.Refused) and (order_id is None or is_order_id(order_id)):
            self._paced(answer, event.retry_after_ns)
        elif isinstance(answer, m.Done):
            self._purse.eased(self._now_ns)
        if order_id is None:
            self._page(answer)
        else:
            self._cancel_answered(order_id, answer)

    def _paced(self, answer: m.Refused, retry_after_ns: int | None) -> None:
        """What a refusal says about everything else that might leave."""
        if answer.status == 0:
            self._unreached_until_ns = self._now_ns + _UNREACHED_NS
            return
        row = row_for(answer.status, answer.code)
        if row.advice is Advice.WAIT:
            if answer.status == TOO_MANY:
                wait_ns = WAIT_DEFAULT_NS if retry_after_ns is None else retry_after_ns
                self._purse.told_to_wait(wait_ns, self._now_ns)
            else:
                self._purse.unserved(retry_after_ns, self._now_ns)
            self._window = _WINDOW_MIN
        elif row.advice is Advice.STOP_KEY:
            self._note("error", "key_refused", status=answer.status, code=answer.code)
            self.verdict = KeyRefused(answer.status, answer.code, self._left())
        else:
            self._purse.eased(self._now_ns)

    def _page(self, answer: m.Answer) -> None:
        """A page of the list; what it shows is cancelled without waiting for the rest."""
        walk = self._list
        assert walk is not None
        walk.waiting = False
        if not isinstance(answer, m.Done) or not isinstance(answer.body, m.OrdersShown):
            invalid = isinstance(answer, m.Refused) and answer.code == Code.INVALID_CURSOR
            # One fresh walk at once; should that fail likewise, it is a failed read.
            self._begun_anew = invalid and bool(walk.cursors) and not self._begun_anew
            self._list_failed(0 if self._begun_anew else _LIST_AGAIN_NS)
            return
        for order in answer.body.orders:
            if self._is_ours(order):
                walk.rows += 1
                self._shown(order, walk.begun_ns)
        cursor = answer.body.cursor
        if not cursor:
            self._list_whole(walk)
        elif cursor in walk.cursors or len(walk.cursors) >= _PAGES_MAX:
            self._list_failed(_LIST_AGAIN_NS)
        else:
            walk.cursors.add(cursor)
            walk.cursor = cursor

    def _is_ours(self, order: model.Order) -> bool:
        """Whether an order is swept: an event's ticker is its series', a hyphen, and no other."""
        series, known = self._settings.series_ticker, self._settings.known
        ids = (order.order_id, order.client_order_id, order.market_id)
        if known is not None and not known.isdisjoint(ids):
            return True
        if series is None:
            return known is None
        event = order.event_ticker.upper()
        return event.startswith(f"{series}-") and "-" not in event[len(series) + 1 :]

    def _shown(self, order: model.Order, begun_ns: int) -> None:
        known = self._targets.get(order.order_id)
        if known is not None:
            known.remaining = order.remaining_qty
            return
        over_ns = self._over_ns.get(order.order_id)
        if over_ns is None:
            self.found += 1
        elif begun_ns < over_ns + self._settings.read_lag_ns:
            return  # a read that may lag behind the answer to our cancel
        else:
            del self._over_ns[order.order_id]
            self._note("warning", "order_still_rests", order_id=order.order_id)
        came_back = over_ns is not None
        self._targets[order.order_id] = _Target(order, self._now_ns, came_back=came_back)

    def _list_failed(self, wait_ns: int) -> None:
        self._list = None
        self._list_from_ns = self._now_ns + wait_ns

    def _list_whole(self, walk: _List) -> None:
        """A list has been read to its end: does it prove anything?"""
        self._list = None
        self._begun_anew = False
        self._listed_ns = walk.begun_ns
        self._list_from_ns = walk.begun_ns + _LIST_AGAIN_NS
        lag_ns = self._settings.read_lag_ns
        self._over_ns = {
            order_id: over_ns
            for order_id, over_ns in self._over_ns.items()
            if walk.begun_ns < over_ns + lag_ns
        }
        for order_id in self._doubted.keys() - self._over_ns.keys():
            del self._doubted[order_id]
        late_enough = walk.begun_ns >= self._quiet_ns()
        if walk.rows or self._targets or not late_enough:
            self._empty_ns = None
        elif self._empty_ns is None:
            self._empty_ns = walk.begun_ns
        elif walk.begun_ns >= self._empty_ns + _LIST_AGAIN_NS and self._settings.verify:
            self.verdict = Clean(self.cancelled)

    def _quiet_ns(self) -> int:
        """From when on a list shows what our cancels have come to."""
        if self._last_answer_ns is None:
            return self._begun_ns
        return self._last_answer_ns + self._settings.read_lag_ns

    def _cancel_answered(self, order_id: OrderId, answer: m.Answer) -> None:
        target = self._targets[order_id]
        target.asked = False
        self._last_answer_ns = self._now_ns
        if isinstance(answer, m.Done) and not _is_about(order_id, answer.body):
            answer = m.Unknown("it shows another order than was asked about")
        if isinstance(answer, m.Done):
            self.cancelled += 1
            self._over(order_id)
            return
        if isinstance(answer, m.Unknown):
            target.why = answer.reason
            self._repeat(target)
            return
        target.why = answer.code or f"{answer.status} {answer.message}".strip()
        if answer.status == 0:
            # An id that fits into no path is never sent: the order is among what is left over.
            target.due_ns = self._now_ns if is_order_id(order_id) else NEVER_NS
            return
        row = row_for(answer.status, answer.code)
        if row.advice in (Advice.ENDED, Advice.LOOK_AGAIN):
            # Over before us, or not found: in both cases the next lists must not show it.
            self._over(order_id)
        elif row.advice is Advice.PARK_VENUE:
            self._halted_now(answer.code)
        elif row.sequenced is Sequenced.DECIDED:
            self._open_again()
            target.due_ns = self._now_ns + _REPEAT_MAX_NS
        else:
            self._repeat(target)

    def _over(self, order_id: OrderId) -> None:
        target = self._targets.pop(order_id)
        self._over_ns[order_id] = self._now_ns
        if target.came_back:
            # An answer like this one was untrue of it: until a list proves it, it may rest.
            target.why = "answered as over, as before a list showed it again"
            self._doubted[order_id] = target
        self._window = min(self._settings.requests_in_flight, self._window + 1)
        self._open_again()

    def _repeat(self, target: _Target) -> None:
        """Once more after a pause that doubles: a cancel may be repeated for ever (row 30)."""
        wait_ns = min(_REPEAT_MAX_NS, _REPEAT_FIRST_NS << min(target.repeats, 8))
        target.repeats += 1
        target.due_ns = self._now_ns + wait_ns

    def _halted_now(self, code: str) -> None:
        if self._probe_ns is None:
            self._note("warning", "venue_parked", code=code)
            self._probe_ns = self._now_ns + _PROBE_NS
        self._window = _WINDOW_MIN

    def _open_again(self) -> None:
        if self._probe_ns is not None:
            self._probe_ns = None
            self._note("info", "venue_open")

    # --- what is wished for -----------------------------------------------------------------------

    def _judge(self) -> None:
        """Whether it is over without a proof."""
        listed = self._listed_ns is not None
        if listed and not self._settings.verify and not self._targets:
            self.verdict = Sent(self.cancelled)
            return
        deadline_ns = self._settings.deadline_ns
        if deadline_ns is not None and self._now_ns >= self._begun_ns + deadline_ns:
            self.verdict = Overdue(self.cancelled, self._left(), listed)

    def _left(self) -> tuple[Left, ...]:
        return tuple(
            Left(order_id, target.ticker, target.remaining, target.why)
            for order_id, target in sorted((self._doubted | self._targets).items())
        )

    def _work(self) -> None:
        again_ns = self._unreached_until_ns
        if self._now_ns >= again_ns:
            again_ns = min(self._read(), *self._cancel())
        if self._settings.deadline_ns is not None:
            again_ns = min(again_ns, self._begun_ns + self._settings.deadline_ns)
        self._effects.append(m.WakeAt(again_ns))

    def _read(self) -> int:
        """Ask for the next page if one is due; when to look again."""
        walk = self._list
        if walk is not None and walk.waiting:
            return self._now_ns + NS_PER_SECOND
        if walk is None:
            due_ns = self._list_due_ns()
            if self._now_ns < due_ns:
                return due_ns
            walk = _List(self._now_ns)
        if not self._purse.spend(Lane.RECOVER, self._now_ns):
            return self._now_ns + _STARVED_NS
        walk.waiting = True
        self._list = walk
        self._send(m.ReadResting(walk.cursor), None, "what rests")
        return self._now_ns + NS_PER_SECOND

    def _list_due_ns(self) -> int:
        """When the next list may begin."""
        if self._listed_ns is None:
            return self._list_from_ns
        if not self._targets:
            return max(self._list_from_ns, self._quiet_ns())
        if not self._settings.verify or self.halted:
            return self._now_ns + NS_PER_SECOND
        return max(self._list_from_ns, self._listed_ns + _LIST_BESIDE_NS)

    def _cancel(self) -> Iterator[int]:
        """Cancel what is due, as much as may be on its way at once; when to look again."""
        yield self._now_ns + NS_PER_SECOND
        asked = sum(order_id is not None for order_id in self._pending.values())
        window = self._window
        if self._probe_ns is not None:
            if self._now_ns < self._probe_ns:
                yield self._probe_ns
                return
            window = 1
        for order_id, target in self._targets.items():
            if asked >= window:
                return
            if target.asked:
                continue
            if target.due_ns > self._now_ns:
                yield target.due_ns
                continue
            if not self._purse.spend(Lane.CANCEL, self._now_ns):
                yield self._now_ns + _STARVED_NS
                return
            target.asked = True
            asked += 1
            self._send(m.CancelResting(order_id), order_id, "sweep")
            if self._probe_ns is not None:
                self._probe_ns = self._now_ns + _PROBE_NS

    def _send(self, request: m.Request, order_id: OrderId | None, why: str) -> None:
        self._last_id += 1
        request_id = m.RequestId(self._last_id)
        self._pending[request_id] = order_id
        self._effects.append(m.Send(request_id, request, why))

    def _note(self, level: str, name: str, **fields: str | int) -> None:
        self._effects.append(m.Noted(level, name, dict(fields)))


def _is_about(order_id: OrderId, body: m.Body) -> bool:
    """Whether an answer to a cancel is about that order: connections and caches mix answers up."""
    return isinstance(body, m.CancelShown) and body.order.order_id == order_id
