"""Bring an account to zero resting orders and prove it: a pure machine for `cancel-all` and reaper.

It knows nothing of the trader. List what rests, page by page; cancel each order until the venue
says that it is over; list again. Nothing rests when two whole lists, begun at least a second apart
and a read lag after the last cancel's answer, show nothing. Whoever keeps placing orders meanwhile
keeps it busy, and its deadline names what was left.
"""

from collections.abc import Iterator
from typing import Final

import msgspec

from bot.core import messages as m
from bot.core.desk.outbox import NEVER_NS, TOO_MANY, WAIT_DEFAULT_NS
from bot.core.desk.spend import Lane, Purse
from bot.core.sending.cancel_all import send_cancels
from bot.core.sending.venuepark import VenuePark
from bot.core.settings import BudgetSettings
from venue.wire import model
from venue.wire.errors import Advice, Sequenced, row_for
from venue.wire.instant import NS_PER_SECOND
from venue.wire.money import Qty
from venue.wire.names import OrderId, Ticker, is_order_id

_PAGES_MAX: Final = 1_000
"""A list longer than this is a failed read."""

_LIST_AGAIN_NS: Final = NS_PER_SECOND
"""Between the beginnings of two lists of which both must be empty, and after a failed one."""

_LIST_BUSY_NS: Final = 2 * NS_PER_SECOND
"""Between lists while cancels are under way: others may place orders meanwhile."""

_REPEAT_FIRST_NS: Final = NS_PER_SECOND // 4
_REPEAT_MAX_NS: Final = 5 * NS_PER_SECOND
"""A cancel without an answer is repeated after 0.25, 0.5 .. 5 s; one that the venue refused for a
reason of the order's own, after 5 s."""

_UNREACHED_NS: Final = NS_PER_SECOND // 2
"""After a request that could not leave this host nothing leaves for so long."""

_STARVED_NS: Final = NS_PER_SECOND // 50
"""Where no token was left, the next look comes so much later."""


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


class _Target(msgspec.Struct):
    """An order that a list has shown."""

    ticker: Ticker
    remaining: Qty
    due_ns: int  # when its cancel may leave
    why: str = "not tried"
    repeats: int = 0
    asked: bool = False  # a cancel is under way
    over_ns: int | None = None  # when an answer said that it is over


class _List(msgspec.Struct):
    """A list under way. rows: how many of ours it has shown so far."""

    begun_ns: int
    cursor: str = ""
    cursors: set[str] = msgspec.field(default_factory=set)
    rows: int = 0
    waiting: bool = False


class Sweeper:
    """One sweep. Feed it a Beat at the start and whenever its WakeAt falls due, and every answer.

    verdict: how it ended, None as long as it goes on; after that it wishes for nothing more.
    found, cancelled: orders seen to rest, and those that a cancel of ours ended.
    """

    def __init__(self, settings: SweepSettings, now_ns: int) -> None:
        self._settings = settings
        self._purse = Purse(settings.budget, now_ns)
        self._venue = VenuePark(self._note)
        self._begun_ns = self._now_ns = now_ns
        self._effects: list[m.Effect] = []
        self._pending: dict[m.RequestId, tuple[OrderId | None, int]] = {}
        self._last_id = 0
        self._open: dict[OrderId, _Target] = {}  # may rest
        self._over: dict[OrderId, _Target] = {}  # over by an answer, no list proves it yet
        self._list: _List | None = None
        self._list_from_ns = now_ns
        self._listed_ns: int | None = None  # when the last whole list began
        self._empty_ns: int | None = None  # when the first of the empty lists began
        self._quiet_ns = now_ns  # a list that begins from here on shows what our cancels came to
        self.verdict: Verdict | None = None
        self.found = 0
        self.cancelled = 0

    @property
    def open_count(self) -> int:
        """Orders that may still rest, as far as they are known."""
        return len(self._open)

    @property
    def halted(self) -> bool:
        """True while the venue takes no cancels."""
        return self._venue.is_halted

    @property
    def listed(self) -> bool:
        """True once a whole list of the account has been read."""
        return self._listed_ns is not None

    @property
    def verifying(self) -> bool:
        """True when every order found is over and only the lists are missing."""
        return self.listed and not self._open

    def receive(self, event: m.Replied | m.Beat, now_ns: int) -> list[m.Effect]:
        """Take an answer or the time in. now_ns: a clock that never steps back.

        Returns what to carry out: Send, WakeAt and Noted. Raises nothing for any answer.
        """
        self._now_ns = max(self._now_ns, now_ns)
        self._effects = []
        if isinstance(event, m.Replied) and event.request_id in self._pending:
            self._answered(event)
        if self.verdict is None:
            self._judge()
        if self.verdict is None:
            self._work()
        return self._effects

    # --- answers ----------------------------------------------------------------------------------

    def _answered(self, event: m.Replied) -> None:
        order_id, begun_ns = self._pending.pop(event.request_id)
        answer = event.answer
        self._purse.answered(event.tokens_left, self._now_ns, limit=event.tokens_limit)
        if isinstance(answer, m.Done):
            self._purse.eased(self._now_ns)
        elif isinstance(answer, m.Refused) and (order_id is None or is_order_id(order_id)):
            self._paced(answer, event.retry_after_ns)
        if order_id is None:
            self._page(answer)
        else:
            self._cancel_answered(order_id, answer, begun_ns)

    def _paced(self, answer: m.Refused, retry_after_ns: int | None) -> None:
        """What a refusal says about everything else that might leave."""
        if answer.status == 0:
            self._purse.eased(self._now_ns)  # this host is in the way: no growing pause for it
            self._purse.unserved(_UNREACHED_NS, self._now_ns)
            return
        advice = row_for(answer.status, answer.code).advice
        if advice is Advice.STOP_KEY:
            self._note("error", "key_refused", status=answer.status, code=answer.code)
            self.verdict = KeyRefused(answer.status, answer.code, self._left())
        elif advice is not Advice.WAIT:
            self._purse.eased(self._now_ns)
        elif answer.status == TOO_MANY:
            wait_ns = WAIT_DEFAULT_NS if retry_after_ns is None else retry_after_ns
            self._purse.told_to_wait(wait_ns, self._now_ns)
        else:
            self._purse.unserved(retry_after_ns, self._now_ns)

    def _page(self, answer: m.Answer) -> None:
        """A page of the list; what it shows is cancelled without waiting for the rest."""
        walk = self._list
        assert walk is not None
        walk.waiting = False
        page = answer.body if isinstance(answer, m.Done) else None
        if not isinstance(page, m.OrdersShown):
            self._list_failed()
            return
        for order in page.orders:
            if self._is_ours(order):
                walk.rows += 1
                self._shown(order, walk.begun_ns)
        if not page.cursor:
            self._list_whole(walk)
        elif page.cursor in walk.cursors or len(walk.cursors) >= _PAGES_MAX:
            self._list_failed()
        else:
            walk.cursors.add(page.cursor)
            walk.cursor = page.cursor

    def _list_failed(self) -> None:
        self._list = None
        self._list_from_ns = self._now_ns + _LIST_AGAIN_NS

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
        over = self._over.get(order.order_id)
        if order.order_id in self._open:
            self._open[order.order_id].remaining = order.remaining_qty
        elif over is None or over.over_ns is None:
            self.found += 1
            target = _Target(order.ticker, order.remaining_qty, self._now_ns)
            self._open[order.order_id] = target
        elif begun_ns >= over.over_ns + self._settings.read_lag_ns:
            self._note("warning", "order_still_rests", order_id=order.order_id)
            over.why, over.due_ns = "answered as over, and a list showed it again", self._now_ns
            self._open[order.order_id] = self._over.pop(order.order_id)

    def _list_whole(self, walk: _List) -> None:
        """A list has been read to its end: does it prove anything?"""
        self._list = None
        self._listed_ns = walk.begun_ns
        self._list_from_ns = walk.begun_ns + _LIST_AGAIN_NS
        lag_ns = self._settings.read_lag_ns
        self._over = {
            order_id: each
            for order_id, each in self._over.items()
            if each.over_ns is not None and walk.begun_ns < each.over_ns + lag_ns
        }
        if walk.rows or self._open or walk.begun_ns < self._quiet_ns:
            self._empty_ns = None
        elif self._empty_ns is None:
            self._empty_ns = walk.begun_ns
        elif walk.begun_ns >= self._empty_ns + _LIST_AGAIN_NS and self._settings.verify:
            self.verdict = Clean(self.cancelled)

    def _cancel_answered(self, order_id: OrderId, answer: m.Answer, begun_ns: int) -> None:
        target = self._open[order_id]
        target.asked = False
        self._quiet_ns = self._now_ns + self._settings.read_lag_ns
        if isinstance(answer, m.Done):
            body = answer.body
            if isinstance(body, m.CancelShown) and body.order.order_id == order_id:
                self.cancelled += 1
                self._is_over(order_id, begun_ns)
                return
            answer = m.Unknown("it shows another order than was asked about")
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
            self._is_over(order_id, begun_ns)
        elif row.advice is Advice.PARK_VENUE:
            self._venue.refuses(answer.code, self._now_ns)
            if not self._venue.is_halted:
                self._repeat(target)
        elif row.sequenced is Sequenced.DECIDED:
            self._venue.takes(m.CancelResting(order_id), begun_ns)
            target.due_ns = self._now_ns + _REPEAT_MAX_NS
        else:
            self._repeat(target)

    def _is_over(self, order_id: OrderId, begun_ns: int) -> None:
        target = self._over[order_id] = self._open.pop(order_id)
        target.over_ns = self._now_ns
        self._venue.takes(m.CancelResting(order_id), begun_ns)

    def _repeat(self, target: _Target) -> None:
        """Once more after a pause that doubles: a cancel may be repeated for ever."""
        wait_ns = min(_REPEAT_MAX_NS, _REPEAT_FIRST_NS << min(target.repeats, 8))
        target.repeats += 1
        target.due_ns = self._now_ns + wait_ns

    # --- what is wished for -----------------------------------------------------------------------

    def _judge(self) -> None:
        """Whether it is over without a proof."""
        deadline_ns = self._settings.deadline_ns
        if self.listed and not self._settings.verify and not self._open:
            self.verdict = Sent(self.cancelled)
        elif deadline_ns is not None and self._now_ns >= self._begun_ns + deadline_ns:
            self.verdict = Overdue(self.cancelled, self._left(), self.listed)

    def _left(self) -> tuple[Left, ...]:
        return tuple(
            Left(order_id, target.ticker, target.remaining, target.why)
            for order_id, target in sorted(self._open.items())
        )

    def _work(self) -> None:
        again_ns = min(self._read(), *self._cancel())
        if self._settings.deadline_ns is not None:
            again_ns = min(again_ns, self._begun_ns + self._settings.deadline_ns)
        self._effects.append(m.WakeAt(again_ns))

    def _read(self) -> int:
        """Ask for the next page if one is due; when to look again."""
        walk = self._list
        if walk is None:
            due_ns = self._list_due_ns()
            if self._now_ns < due_ns:
                return due_ns
            walk = _List(self._now_ns)
        if not walk.waiting:
            if not self._send(m.ReadResting(walk.cursor), None, Lane.RECOVER, "what rests"):
                return self._now_ns + _STARVED_NS
            walk.waiting, self._list = True, walk
        return self._now_ns + NS_PER_SECOND

    def _list_due_ns(self) -> int:
        """When the next list may begin."""
        if self._listed_ns is None:
            return self._list_from_ns
        if not self._open:
            return max(self._list_from_ns, self._quiet_ns)
        if not self._settings.verify or self.halted:
            return self._now_ns + NS_PER_SECOND
        return max(self._list_from_ns, self._listed_ns + _LIST_BUSY_NS)

    def _cancel(self) -> Iterator[int]:
        """Cancel what is due, as much as may be on its way at once; when to look again."""
        yield self._now_ns + NS_PER_SECOND
        asked = sum(order_id is not None for order_id, _ in self._pending.values())
        free = self._settings.requests_in_flight - asked
        due: list[tuple[OrderId, _Target]] = []
        for order_id, target in self._open.items():
            if len(due) >= free:
                break
            if not target.asked and target.due_ns <= self._now_ns:
                due.append((order_id, target))
            elif not target.asked:
                yield target.due_ns
        if len(send_cancels(due, self._send_cancel, self._venue, self._now_ns)) < len(due):
            yield self._now_ns + _STARVED_NS

    def _send_cancel(self, due: tuple[OrderId, _Target]) -> bool:
        order_id, target = due
        target.asked = self._send(m.CancelResting(order_id), order_id, Lane.CANCEL, "sweep")
        return target.asked

    def _send(self, request: m.Request, order_id: OrderId | None, lane: Lane, why: str) -> bool:
        if not self._purse.spend(lane, self._now_ns):
            return False
        self._last_id += 1
        request_id = m.RequestId(self._last_id)
        self._pending[request_id] = order_id, self._now_ns
        self._effects.append(m.Send(request_id, request, why))
        return True

    def _note(self, level: str, name: str, **fields: str | int) -> None:
        self._effects.append(m.Noted(level, name, dict(fields)))
