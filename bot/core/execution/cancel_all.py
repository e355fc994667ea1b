"""The one way to cancel everything: stop, pause, latch, contradiction, the start, `bot cancel-all`.

`cancel_all` needs no plan, no fair value and no market: the orders come straight from the order
store, and their cancels leave in the same call. A venue that is halted for cancels too gets one
cancel as a probe.

`CancelAll` needs no trader either: it brings an account to zero open orders and proves it, for
`bot cancel-all` and the reaper.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Final, TypeVar

import msgspec

from bot.core import messages as m
from bot.core.account.poller import PagedRead, Resource
from bot.core.execution.venue_availability import VenueAvailability
from bot.core.orders.cancel_reasons import CancelReason
from bot.core.orders.manager import OrderManager
from bot.core.orders.outbox import NEVER_NS, Outbox
from bot.core.orders.request_budget import Priority
from bot.core.report import Phase
from bot.core.settings import BudgetSettings
from venue.wire import model
from venue.wire.errors import Advice, Sequenced, row_for
from venue.wire.instant import NS_PER_SECOND
from venue.wire.money import Qty
from venue.wire.names import MarketId, OrderId, Ticker, is_order_id

Order = TypeVar("Order")

WHY: Final = {
    Phase.STARTING: CancelReason.STARTING,
    Phase.PAUSED: CancelReason.PAUSED,
    Phase.LATCHED: CancelReason.LATCHED,
    Phase.STOPPING: CancelReason.STOPPING,
}
"""The phases in which nothing may rest, and why an order goes then."""


def cancel_all(
    desk: OrderManager, venue: VenueAvailability, phase: Phase, now_ns: int
) -> dict[MarketId, bool]:
    """Cancel everything that may rest. phase: a key of `WHY`.

    Returns the markets whose orders changed; True where a cancel was sent.
    """
    changed: dict[MarketId, bool] = {}
    due = []
    for own in desk.live_orders:
        if not own.cancel_requested:
            own.cancel_requested, own.why = True, WHY[phase]
            changed[own.market_id] = False
        if own.can_cancel and own.due_ns <= now_ns:
            due.append(own)
    for own in send_cancels(due, lambda own: desk.send_cancel(own, own.why, now_ns), venue, now_ns):
        changed[own.market_id] = True
    return changed


def send_cancels(
    due: Iterable[Order], send: Callable[[Order], bool], venue: VenueAvailability, now_ns: int
) -> list[Order]:
    """Send cancels in order until one cannot leave; one alone where the venue is halted.

    send: False where no cancel may leave now. Returns the orders whose cancels have left.
    """
    sent: list[Order] = []
    if venue.holds_cancels(now_ns):
        return sent
    for order in due:
        if not send(order):
            break
        sent.append(order)
        if venue.is_halted:
            venue.on_probe(now_ns)
            break
    return sent


# --- an account without a trader ------------------------------------------------------------------

_LIST_AGAIN_NS: Final = NS_PER_SECOND
"""Between the starts of two lists that must both be empty, and after a failed one."""

_LIST_BUSY_NS: Final = 2 * NS_PER_SECOND
"""Between lists while cancels are in flight: others may place orders meanwhile."""

_REPEAT_FIRST_NS: Final = NS_PER_SECOND // 4
_REPEAT_MAX_NS: Final = 5 * NS_PER_SECOND
"""Backoff of retries of a cancel after a timeout: 0.25, 0.5 .. 5 s. One that the venue rejected for
a reason of the order's own is retried after 5 s."""

_STARVED_NS: Final = NS_PER_SECOND // 50
"""Where no token was left, retry so much later."""


class SweepSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Which orders are cancelled, and how."""

    series_ticker: Ticker | None = None
    """Only orders in events of this series; None is the whole account."""
    known: frozenset[str] | None = None
    """Ids and client ids of orders, and of markets, that are included whatever their series; with
    no series, these alone. None: no order is included for an id."""
    verify: bool = True
    """Prove the end by lists; else cancel every order of one list and claim no more."""
    deadline_ns: int | None = None  # None: for ever
    requests_in_flight: int = 32
    read_lag_ns: int = NS_PER_SECOND
    budget: BudgetSettings = BudgetSettings()


class Left(msgspec.Struct, frozen=True):
    """An order that may still rest. why: the answer to its last cancel, or "not tried"."""

    order_id: OrderId
    ticker: Ticker
    remaining_qty: Qty
    why: str


class Clean(msgspec.Struct, frozen=True, tag=True):
    """Two lists have shown no open order. cancelled: orders that a cancel of ours ended."""

    cancelled: int


class CancelsAcknowledged(msgspec.Struct, frozen=True, tag=True):
    """The venue says that every order of one list is closed; nothing was verified."""

    cancelled: int


class Overdue(msgspec.Struct, frozen=True, tag=True):
    """The deadline passed. left: the known orders that may rest, sorted by id.

    listed: True if the account was read to its end; without it `left` says little.
    """

    cancelled: int
    left: tuple[Left, ...]
    listed: bool


class KeyRefused(msgspec.Struct, frozen=True, tag=True):
    """The venue refuses the key or its scope: use another key. left: as in Overdue."""

    status: int
    code: str
    left: tuple[Left, ...]


Verdict = Clean | CancelsAcknowledged | Overdue | KeyRefused


class _Target(msgspec.Struct):
    """An order that a list has shown."""

    ticker: Ticker
    remaining: Qty
    due_ns: int  # when its cancel may be sent
    why: str = "not tried"
    repeats: int = 0
    asked: bool = False  # a cancel is in flight
    over_ns: int | None = None  # when an answer said that it is closed


class CancelAll:
    """Lists the open orders page by page, cancels each until the venue says that it is closed, and
    lists again.

    Clean when two whole lists, begun at least a second apart and a read lag after the last cancel's
    answer, show nothing. Somebody who keeps placing orders keeps it busy, and the deadline names
    the orders that are left. Give it a Tick at the start and whenever its WakeAt falls due, and
    every response.
    """

    def __init__(self, settings: SweepSettings, now_ns: int) -> None:
        self._settings = settings
        self._out = Outbox(settings.budget)
        self._out.writes_max = settings.requests_in_flight
        self._venue = VenueAvailability(self._out.note)
        self._begun_ns = self._now_ns = now_ns
        self._open: dict[OrderId, _Target] = {}  # may rest
        self._over: dict[OrderId, _Target] = {}  # closed by an answer, no list proves it yet
        self._list: PagedRead | None = None  # the list in flight, with the rows that are ours
        self._list_asked = False  # a page of it is in flight
        self._list_from_ns = now_ns
        self._listed_ns: int | None = None  # when the last whole list began
        self._empty_ns: int | None = None  # when the first of the empty lists began
        self._quiet_ns = now_ns  # a list that begins from here on shows the effect of our cancels
        self.verdict: Verdict | None = None  # None as long as it goes on
        self.found = 0  # open orders that lists have shown
        self.cancelled = 0  # those that a cancel of ours ended

    @property
    def open_count(self) -> int:
        """Known orders that may still rest."""
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
        """True when every order found is closed and only the lists are missing."""
        return self.listed and not self._open

    def on_event(self, event: m.Response | m.Tick, now_ns: int) -> list[m.Effect]:
        """Returns Send, WakeAt and Noted. Raises nothing for any answer. now_ns: a clock that never
        steps back."""
        self._now_ns = max(self._now_ns, now_ns)
        self._out.effects = []
        if isinstance(event, m.Response):
            self._on_response(event)
        if self.verdict is None:
            self._judge()
        if self.verdict is None:
            self._work()
        return self._out.effects

    # --- answers ----------------------------------------------------------------------------------

    def _on_response(self, event: m.Response) -> None:
        pending = self._out.answered(event, self._now_ns)
        if pending is None:
            return
        answer = event.answer
        refused = answer if isinstance(answer, m.Rejected) and answer.status else None
        if refused and row_for(refused.status, refused.code).advice is Advice.STOP_KEY:
            self.verdict = KeyRefused(refused.status, refused.code, self._left())
        if isinstance(pending.request, m.CancelResting):
            self._on_cancel_answer(pending.request.order_id, answer, pending.begun_ns)
        else:
            self._on_page(answer)

    def _on_page(self, answer: m.Answer) -> None:
        """A page of the list: its orders are cancelled without waiting for the rest."""
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
                self._on_row(order, walk.begun_ns)
        if not page.cursor:
            self._list_whole(walk)
        elif not walk.turn_to(page.cursor):
            self._list_failed()

    def _list_failed(self) -> None:
        self._list = None
        self._list_from_ns = self._now_ns + _LIST_AGAIN_NS

    def _is_ours(self, order: model.Order) -> bool:
        """True if an order is to be cancelled. An event's ticker is its series', a hyphen, and no
        other hyphen."""
        series, known = self._settings.series_ticker, self._settings.known
        ids = (order.order_id, order.client_order_id, order.market_id)
        if known is not None and not known.isdisjoint(ids):
            return True
        if series is None:
            return known is None
        event = order.event_ticker.upper()
        return event.startswith(f"{series}-") and "-" not in event[len(series) + 1 :]

    def _on_row(self, order: model.Order, begun_ns: int) -> None:
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
        """A list was read to its end: prove the end with it, if it can."""
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

    def _on_cancel_answer(self, order_id: OrderId, answer: m.Answer, begun_ns: int) -> None:
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
            # An id that fits into no path is never sent: the order is left over.
            target.due_ns = self._now_ns if is_order_id(order_id) else NEVER_NS
            return
        row = row_for(answer.status, answer.code)
        if row.advice in (Advice.ENDED, Advice.LOOK_AGAIN):
            # Closed before us, or not found: in both cases the next lists must not show it.
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
        """Retry with a backoff that doubles; the number of retries has no bound."""
        wait_ns = min(_REPEAT_MAX_NS, _REPEAT_FIRST_NS << min(target.repeats, 8))
        target.repeats += 1
        target.due_ns = self._now_ns + wait_ns

    # --- requests ---------------------------------------------------------------------------------

    def _judge(self) -> None:
        """End without a proof, where nothing is to be verified or the deadline is over."""
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
        again_ns = min(self._request_page(), *self._send_due())
        if self._settings.deadline_ns is not None:
            again_ns = min(again_ns, self._begun_ns + self._settings.deadline_ns)
        self._out.effects.append(m.WakeAt(again_ns))

    def _request_page(self) -> int:
        """Request the next page if one is due. Returns when to call again."""
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

    def _send_due(self) -> Iterator[int]:
        """Send the cancels that are due, up to the limit in flight. Yields when to call again."""
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
