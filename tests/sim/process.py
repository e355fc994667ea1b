"""One life of the trader's process: the pure trader, its event log, what a journal would keep."""

import random
from collections.abc import Callable

import msgspec

from bot.core import messages as m
from bot.core.order import OwnOrder, State
from bot.core.settings import TraderSettings
from bot.core.strategy import Strategy
from bot.core.trader import Trader
from tests.sim.audit import Auditor, Traffic, check
from venue.wire.errors import Sequenced, row_for
from venue.wire.names import ClientOrderId, MarketId

_ENCODER = msgspec.msgpack.Encoder()
_BOOK_AGE_MAX_NS = 10_000_000_000


class Intents:
    """Creates that have left without a definite answer, over all lives: the journal's memory."""

    def __init__(self) -> None:
        self.open: dict[ClientOrderId, m.OpenIntent] = {}
        self._newest_closed: list[m.OpenIntent] = []

    def sent(self, request: m.Create) -> None:
        """A create leaves, after its record is on disk."""
        if not request.again:
            self.open[request.order.client_order_id] = m.OpenIntent(request.order, request.body)

    def answered(self, request: m.Create, answer: m.Answer) -> None:
        """Its answer is on disk; only a definite one closes it."""
        if isinstance(answer, m.Done):
            self._close(request.order.client_order_id)
        elif isinstance(answer, m.Refused) and not request.again:
            row = row_for(answer.status or 429, answer.code)
            if row.sequenced is not Sequenced.UNKNOWN and answer.code != "duplicate_order_id":
                self._close(request.order.client_order_id)

    def _close(self, client_order_id: ClientOrderId) -> None:
        intent = self.open.pop(client_order_id, None)
        if intent is not None:
            self._newest_closed = [*self._newest_closed[-4:], intent]

    def crash(self, rng: random.Random) -> None:
        """The newest answers may not have reached the disk: their intents are open again."""
        for intent in self._newest_closed:
            if rng.random() < 0.3:
                self.open[intent.order.client_order_id] = intent
        self._newest_closed = []


class Process:
    """A trader with its log. `carry_out` performs each effect; it is dead after a crash."""

    def __init__(
        self,
        settings: TraderSettings,
        make_strategy: Callable[[], Strategy],
        auditor: Auditor,
        intents: Intents,
        now_ns: int,
    ) -> None:
        self.settings = settings
        self._make_strategy = make_strategy
        self.trader = Trader(settings, make_strategy)
        self.alive = True
        self.finished: m.Finished | None = None
        self.paused_until_ns = 0
        self.inbox: list[m.Event] = []
        self.requests: dict[m.RequestId, m.Request] = {}
        self.beat_planned_ns: int | None = None
        self._log: list[tuple[m.Event, int]] = []
        self._effects: list[bytes] = []
        self._auditor = auditor
        self._intents = intents
        budget = settings.budget
        self._traffic = Traffic(now_ns, budget.rate_per_second, budget.burst, budget.reserve)
        self._before: dict[int, tuple[OwnOrder, State, int]] = {}
        self._stopping = False
        self._standing = False
        self._book_seen_ns: dict[MarketId, int] = {}

    def receive(self, event: m.Event, now_ns: int) -> list[m.Effect]:
        """Feed one event, check what must hold, and return the effects."""
        self._answered(event, now_ns)
        if isinstance(event, m.StopRequested | m.JournalFailed):
            self._stopping = True
        elif isinstance(event, m.PauseRequested | m.ResumeRequested):
            self._standing = isinstance(event, m.PauseRequested)
        self._log.append((event, now_ns))
        effects = self.trader.receive(event, now_ns)
        self._effects.append(_ENCODER.encode(effects))
        self._lives_are_monotone(event)
        for effect in effects:
            if isinstance(effect, m.Send):
                self._sent(effect, now_ns)
            elif isinstance(effect, m.Finished):
                self.finished = effect
        return effects

    def _answered(self, event: m.Event, now_ns: int) -> None:
        if isinstance(event, m.BookSeen):
            self._book_seen_ns[event.market_id] = now_ns
        elif isinstance(event, m.FeedClosed):
            self._book_seen_ns.clear()
        elif isinstance(event, m.Replied):
            request = self.requests.pop(event.request_id)
            if isinstance(request, m.Create):
                self._intents.answered(request, event.answer)
            elif isinstance(request, m.ReadBook) and request.market_id in self._book_seen_ns:
                self._book_seen_ns[request.market_id] = now_ns
            if event.retry_after_ns is not None:
                self._traffic.told_to_wait(event.retry_after_ns, now_ns)

    def _sent(self, effect: m.Send, now_ns: int) -> None:
        request = effect.request
        check(effect.request_id not in self.requests, "B12", "a request id used twice")
        self.requests[effect.request_id] = request
        self._auditor.sent(request)
        self._traffic.sent(request, now_ns)
        first = isinstance(request, m.Create) and not request.again
        if first or isinstance(request, m.AmendResting):
            check(not self._stopping, "B13", "new exposure after a stop")
            check(not self._standing, "B4", "new exposure while paused")
        if isinstance(request, m.Create):
            self._intents.sent(request)
            if not request.again:
                age_ns = now_ns - self._book_seen_ns.get(request.order.market_id, -(10**18))
                check(age_ns <= _BOOK_AGE_MAX_NS, "B4", f"a create on a book {age_ns} ns old")

    def _lives_are_monotone(self, event: m.Event) -> None:
        """B7, B8: filled never falls, the ended stay ended, only an answer ends an unknown."""
        for own, state, filled in self._before.values():
            check(own.filled >= filled, "B8", f"filled fell: {own.client_order_id}")
            check(state is not State.DONE or own.state is State.DONE, "B8", "an ended one revived")
            if state in (State.LOST, State.BLURRED) and own.state is not state:
                asked = own.state is State.CANCELLING and isinstance(event, m.Beat)
                check(asked or isinstance(event, m.Replied), "B7", f"{state} -> {own.state}")
        self._before = {
            id(own): (own, own.state, own.filled) for own in self.trader.desk.all_live()
        }

    def replay(self) -> None:
        """B10: the same events into a fresh trader give the same effects, to the byte."""
        fresh = Trader(self.settings, self._make_strategy)
        for (event, now_ns), expected in zip(self._log, self._effects, strict=True):
            again = _ENCODER.encode(fresh.receive(event, now_ns))
            check(again == expected, "B10", f"other effects for {type(event).__name__} at {now_ns}")
