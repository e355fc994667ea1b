"""A naive account under a cancel-all: virtual time, lagging reads, requests that fail in every way.

Shares nothing with `CancelAll` but the messages. Orders are a dict of lifetimes; a request takes a
drawn time to the venue and back, and meets a drawn fate there."""

import heapq
from collections.abc import Callable, Iterable
from itertools import count

from bot.core import messages as m
from bot.core.execution.cancel_all import CancelAll, SweepSettings
from tests.builders.bot.made import INSTANT, MARKET
from venue.wire import model
from venue.wire.money import Price, Qty
from venue.wire.names import OrderId, Ticker

MS = 1_000_000
S = 1_000 * MS
T0 = 1_000 * S

Fate = str
"""ok, lost_before, lost_after, limited, unavailable, broken_before or broken_after."""


def shown(order_id: str, event: str = "ACME-VAL-27Q1") -> model.Order:
    """A resting order as a list shows it."""
    return model.Order(
        order_id=OrderId(order_id),
        ticker=Ticker(f"{event}-100B"),
        market_id=MARKET,
        event_ticker=Ticker(event),
        outcome=model.ShownOutcome.YES,
        side=model.ShownSide.BUY,
        price=Price(40),
        qty=Qty(10),
        remaining_qty=Qty(10),
        filled_qty=Qty(0),
        status=model.OrderStatus.OPEN,
        time_in_force=model.ShownTimeInForce.GTC,
        created_at=INSTANT,
        updated_at=INSTANT,
    )


class NaiveAccount:
    """An account and the network to it. `run` plays a cancel-all until its verdict.

    fates: what happens to each request in turn; ok when they run out. halts: spans of time in which
    no cancel is taken. lag_ns: reads show the account as it was so long ago.
    """

    def __init__(
        self,
        *,
        lag_ns: int = 0,
        fates: Iterable[Fate] = (),
        trips_ns: Iterable[int] = (),
        halts: tuple[tuple[int, int], ...] = (),
        page: int = 3,
    ) -> None:
        self.now_ns = T0
        self.born: dict[str, int] = {}
        self.died: dict[str, int] = {}
        self.requests: list[tuple[int, m.Request]] = []
        self.breaches: list[str] = []
        self.answer_cancel: Callable[[str], m.Answer | None] = lambda _: None
        self._lag_ns = lag_ns
        self._fates = iter(fates)
        self._trips_ns = iter(trips_ns)
        self._halts = halts
        self._agenda: list[tuple[int, int, Callable[[], None]]] = []
        self._order = count()
        self._closed_until_ns = 0
        self._answers: list[m.Response] = []
        self._page = page

    def place(self, order_id: str, at_ns: int = T0 - 100 * S) -> None:
        """An order that rests from `at_ns` on."""
        self.born[order_id] = at_ns

    def resting(self, at_ns: int) -> list[str]:
        """Ids of the resting orders at an instant, newest first as in lists."""
        ids = [
            order_id
            for order_id, born_ns in self.born.items()
            if born_ns <= at_ns < self.died.get(order_id, 2**63)
        ]
        return sorted(ids, key=lambda order_id: (-self.born[order_id], order_id))

    def run(self, settings: SweepSettings, longest_ns: int = 3_600 * S) -> CancelAll:
        """Play until the verdict, or fail after `longest_ns` of virtual time."""
        sweeper = CancelAll(settings, self.now_ns)
        wake_ns = self._carry_out(sweeper.on_event(m.Tick(), self.now_ns))
        while sweeper.verdict is None:
            assert self.now_ns < T0 + longest_ns, "no verdict in time"
            at_ns = min([wake_ns, *(row[0] for row in self._agenda[:1])])
            self.now_ns = max(self.now_ns, at_ns)
            while self._agenda and self._agenda[0][0] <= self.now_ns:
                heapq.heappop(self._agenda)[2]()
            answers, self._answers = self._answers, []
            for replied in answers:
                waits_ns = replied.retry_after_ns or 0
                self._closed_until_ns = max(self._closed_until_ns, self.now_ns + waits_ns)
                wake_ns = self._carry_out(sweeper.on_event(replied, self.now_ns))
            if not answers:
                wake_ns = self._carry_out(sweeper.on_event(m.Tick(), self.now_ns))
        return sweeper

    def _carry_out(self, effects: list[m.Effect]) -> int:
        wake_ns = self.now_ns + 10 * S
        for effect in effects:
            if isinstance(effect, m.WakeAt):
                wake_ns = effect.at_ns
            elif isinstance(effect, m.Send):
                self._leave(effect)
        return wake_ns

    def _leave(self, send: m.Send) -> None:
        self.requests.append((self.now_ns, send.request))
        if self.now_ns < self._closed_until_ns:
            self.breaches.append(f"{send.request} inside Retry-After")
        fate = next(self._fates, "ok")
        there_ns = self.now_ns + next(self._trips_ns, MS)
        back_ns = there_ns + next(self._trips_ns, MS)

        def arrive() -> None:
            answer, waits_ns = self._meet(send.request, fate, there_ns)

            def come_back() -> None:
                self._answers.append(m.Response(send.request_id, answer, None, waits_ns or None))

            self._at(back_ns, come_back)

        self._at(there_ns, arrive)

    def _at(self, at_ns: int, act: Callable[[], None]) -> None:
        heapq.heappush(self._agenda, (at_ns, next(self._order), act))

    def _meet(self, request: m.Request, fate: Fate, now_ns: int) -> tuple[m.Answer, int]:
        """What the venue does with a request at `now_ns`, and Retry-After."""
        if fate == "limited":
            return m.Rejected(429, "rate_limited", ""), S
        if fate == "unavailable":
            return m.Rejected(503, "engine_unavailable", ""), 0
        if fate == "lost_before":
            return m.Unknown("ReadTimeout"), 0
        if fate == "broken_before":
            return m.Unknown("500 internal_error"), 0
        done = self._do(request, now_ns)
        if fate in ("lost_after", "broken_after"):
            return m.Unknown("503 result_unknown"), 0
        return done, 0

    def _do(self, request: m.Request, now_ns: int) -> m.Answer:
        if isinstance(request, m.ReadResting):
            return self._list(request.cursor, now_ns)
        assert isinstance(request, m.CancelResting)
        order_id = request.order_id
        answer = self.answer_cancel(order_id)
        if answer is not None:
            return answer
        if any(begun_ns <= now_ns < over_ns for begun_ns, over_ns in self._halts):
            return m.Rejected(409, "venue_halted", "")
        if order_id not in self.resting(now_ns):
            return m.Rejected(422, "order_not_cancelable", "")
        self.died[order_id] = now_ns
        return m.Ok(m.CancelBody(shown(order_id), Qty(10)))

    def _list(self, cursor: str, now_ns: int) -> m.Answer:
        """A page of what rested `lag_ns` ago; the cursor is the last row's place in the order."""
        rows = self.resting(now_ns - self._lag_ns)
        if cursor:
            born_ns, last = cursor.split(" ")
            rows = [r for r in rows if (-self.born[r], r) > (-int(born_ns), last)]
        page, more = rows[: self._page], len(rows) > self._page
        end = f"{self.born[page[-1]]} {page[-1]}" if more else ""
        return m.Ok(m.OrdersBody(tuple(shown(row) for row in page), end))


def with_orders(orders: int, **more) -> NaiveAccount:
    """An account with so many resting orders."""
    made = NaiveAccount(**more)
    for number in range(orders):
        made.place(str(1_000 + number), T0 - 100 * S - number)
    return made
