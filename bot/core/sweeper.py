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
from bot.core.account.poller import PagedRead, Resource
from bot.core.execution.cancel_all import send_cancels
from bot.core.execution.venue_availability import VenueAvailability
from bot.core.orders.outbox import NEVER_NS, Outbox
from bot.core.orders.request_budget import Priority
from bot.core.settings import BudgetSettings
from venue.wire import model
from venue.wire.errors import Advice, Sequenced, row_for
from venue.wire.instant import NS_PER_SECOND
from venue.wire.money import Qty
from venue.wire.names import OrderId, Ticker, is_order_id

_LIST_AGAIN_NS: Final = NS_PER_SECOND
"""Between the beginnings of two lists of which both must be empty, and after a failed one."""

_LIST_BUSY_NS: Final = 2 * NS_PER_SECOND
"""Between lists while cancels are under way: others may place orders meanwhile."""

_REPEAT_FIRST_NS: Final = NS_PER_SECOND // 4
_REPEAT_MAX_NS: Final = 5 * NS_PER_SECOND
"""A cancel without an answer is repeated after 0.25, 0.5 .. 5 s; one that the venue refused for a
reason of the order's own, after 5 s."""

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


class CancelsAcknowledged(msgspec.Struct, frozen=True, tag=True):
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


Verdict = Clean | CancelsAcknowledged | Overdue | KeyRefused


class _Target(msgspec.Struct):
    """An order that a list has shown."""

    ticker: Ticker
    remaining: Qty
    due_ns: int  # when its cancel may leave
    why: str = "not tried"
    repeats: int = 0
    asked: bool = False  # a cancel is under way
    over_ns: int | None = None  # when an answer said that it is over


class CancelAll:
    """One sweep. Feed it a Beat at the start and whenever its WakeAt falls due, and every answer.

    verdict: how it ended, None as long as it goes on; after that it wishes for nothing more.
    found, cancelled: orders seen to rest, and those that a cancel of ours ended.
    """

    def __init__(self, settings: SweepSettings, now_ns: int) -> None:
        self._settings = settings
        self._out = Outbox(settings.budget)
        self._out.writes_max = settings.requests_in_flight
        self._venue = VenueAvailability(self._out.note)
        self._begun_ns = self._now_ns = now_ns
        self._open: dict[OrderId, _Target] = {}  # may rest
        self._over: dict[OrderId, _Target] = {}  # over by an answer, no list proves it yet
        self._list: PagedRead | None = (
            None  # the list under way, with those of its rows that are ours
        )
        self._list_asked = False  # a page of it is on its way
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

    def receive(self, event: m.Response | m.Tick, now_ns: int) -> list[m.Effect]:
        """Take an answer or the time in. now_ns: a clock that never steps back.

        Returns what to carry out: Send, WakeAt and Noted. Raises nothing for any answer.
        """
        self._now_ns = max(self._now_ns, now_ns)
        self._out.effects = []
        if isinstance(event, m.Response):
            self._answered(event)
        if self.verdict is None:
            self._judge()
        if self.verdict is None:
            self._work()
        return self._out.effects

    # --- answers ----------------------------------------------------------------------------------

    def _answered(self, event: m.Response) -> None:
        pending = self._out.answered(event, self._now_ns)
        if pending is None:
            return
        answer = event.answer
        refused = answer if isinstance(answer, m.Rejected) and answer.status else None
        if refused and row_for(refused.status, refused.code).advice is Advice.STOP_KEY:
            self.verdict = KeyRefused(refused.status, refused.code, self._left())
        if isinstance(pending.request, m.CancelResting):
            self._cancel_answered(pending.request.order_id, answer, pending.begun_ns)
        else:
            self._page(answer)

    def _page(self, answer: m.Answer) -> None:
        """A page of the list; what it shows is cancelled without waiting for the rest."""
        walk = self._list
        assert walk is not None
        self._list_asked = False
        page = answer.body if isinstance(answer, m.Ok) else None
        if not isinstance(page, m.OrdersBody):
            self._list_failed()
            return
        for order in page.orders:
            if self._is_ours(order):
                walk.rows.append(order)
                self._shown(order, walk.begun_ns)
        if not page.cursor:
            self._list_whole(walk)
        elif not walk.turn_to(page.cursor):
            self._list_failed()

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
            self._out.note("warning", "order_still_rests", order_id=order.order_id)
            over.why, over.due_ns = "answered as over, and a list showed it again", self._now_ns
            self._open[order.order_id] = self._over.pop(order.order_id)

    def _list_whole(self, walk: PagedRead) -> None:
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
        if isinstance(answer, m.Ok):
            body = answer.body
            if isinstance(body, m.CancelBody) and body.order.order_id == order_id:
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
            self._venue.on_reject(answer.code, self._now_ns)
            if not self._venue.is_halted:
                self._repeat(target)
        elif row.sequenced is Sequenced.DECIDED:
            self._venue.on_accept(m.CancelResting(order_id), begun_ns)
            target.due_ns = self._now_ns + _REPEAT_MAX_NS
        else:
            self._repeat(target)

    def _is_over(self, order_id: OrderId, begun_ns: int) -> None:
        target = self._over[order_id] = self._open.pop(order_id)
        target.over_ns = self._now_ns
        self._venue.on_accept(m.CancelResting(order_id), begun_ns)

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
            self.verdict = CancelsAcknowledged(self.cancelled)
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
        self._out.effects.append(m.WakeAt(again_ns))

    def _read(self) -> int:
        """Ask for the next page if one is due; when to look again."""
        walk = self._list
        if walk is None:
            due_ns = self._list_due_ns()
            if self._now_ns < due_ns:
                return due_ns
            walk = PagedRead(Resource.RESTING, self._now_ns)
        if not self._list_asked:
            request = m.ReadResting(walk.cursor)
            if not self._out.send(request, Priority.RECOVER, "what rests", self._now_ns):
                return self._now_ns + _STARVED_NS
            self._list_asked, self._list = True, walk
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
        due: list[tuple[OrderId, _Target]] = []
        for order_id, target in self._open.items():
            if target.asked:
                continue
            if target.due_ns <= self._now_ns:
                due.append((order_id, target))
            else:
                yield target.due_ns
        if len(send_cancels(due, self._send_cancel, self._venue, self._now_ns)) < len(due):
            yield self._now_ns + _STARVED_NS

    def _send_cancel(self, due: tuple[OrderId, _Target]) -> bool:
        order_id, target = due
        request = m.CancelResting(order_id)
        target.asked = self._out.send(request, Priority.CANCEL, "sweep", self._now_ns)
        return target.asked
