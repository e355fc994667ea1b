"""One life of the bot's process: the pure trader, its log, its clock, and what it may not do."""

import hashlib
from collections.abc import Callable

import msgspec

from bot.core import messages as m
from bot.core.orders.order import OwnOrder
from bot.core.orders.transitions import State
from bot.core.reconfigure import Remake
from bot.core.trader import Trader
from bot.lab.sim.coverage import Seen
from bot.lab.sim.judge.audit import Auditor
from bot.lab.sim.judge.broken import Broken, check
from bot.lab.sim.judge.feedwatch import PULLED_NS, FeedWatch
from bot.lab.sim.judge.limits import is_looser
from bot.lab.sim.judge.rules import Decided, Inheritance, Losses, Shrinking
from bot.lab.sim.judge.traffic import Traffic
from bot.lab.sim.judge.truth import BookPlace, level_of, side_of
from bot.lab.sim.life.configured import takes
from bot.lab.sim.life.host import HostClock, Logged, entries_of
from bot.lab.sim.odds import MS
from venue.engine import messages as v
from venue.wire.money import Price
from venue.wire.names import ClientOrderId, MarketId
from venue.wire.requests import QtyOrder

_ENCODER = msgspec.msgpack.Encoder()
_ANY_FAULT = Exception
"""`receive` raises nothing for any event: whatever it raises is told as a broken invariant."""

_PULL_NS = 400 * MS
"""Within this, of a process that runs, the quotes of a rung that may not be quoted are pulled."""

_IN_FORCE = ("config_applied", "config_rolled_back")
"""Notes after which another configuration holds."""

_EVERY = 16
"""States of orders are compared after every so many events in which nothing should move them."""


def _nothing() -> None:
    pass


class Process:
    """A trader with its log; it is dead after a crash, and over once finished.

    durable: entries of the log that are on the disk.
    digest: of every effect so far. uncount: what to do so that a replay counts nothing anew. first:
    the other series' of the same process, None where there is none or this is it. beside: those
    that share this one's purse and account. turns: which of them took an event, in order.
    """

    def __init__(
        self,
        configured: m.Configuration,
        remake: Remake,
        auditor: Auditor,
        seen: Seen,
        clock: HostClock,
        now_ns: int,
        *,
        keeps_effects: bool = False,
        first: "Process | None" = None,
    ) -> None:
        self.first = first
        self.beside: list[Process] = []
        self.turns: list[Process] = [] if first is None else first.turns
        if first is not None:
            first.beside.append(self)
        self.configured, self.settings = configured, configured.settings
        self.in_force = configured
        self._inheritance: Inheritance | None = None
        self._remake = remake
        self.trader: Trader = self._fresh(None if first is None else first.trader)
        self.clock = clock
        self.opened_ns: int | None = None  # by the world's time, when its books were first open
        self.alive = True
        self.is_successor = False
        self.finished: m.DrainComplete | None = None
        self.finished_ns = 0  # by the world's time
        self.latched = ""
        self.paused_until_ns = 0
        self.inbox: list[m.Event] = []
        self.effects_left: int | None = None  # performed until it crashes, when that is drawn
        self.log: list[Logged] = []
        self.entries = 0
        self.durable = 0
        self.unsent: dict[m.RequestId, m.Request] = {}  # writes that wait for their record
        self.digest = hashlib.blake2b(digest_size=16)
        self.uncount: Callable[[], None] = _nothing
        self.keeps_effects = keeps_effects
        self._effects: list[bytes] | None = [] if keeps_effects else None
        self._auditor = auditor
        self._seen = seen
        bucket = None if first is None else first.traffic.bucket
        began_ns = clock.read(now_ns)
        self.traffic: Traffic = Traffic(self.settings, auditor.truth, seen, began_ns, bucket)
        self.feed = FeedWatch()
        self.began_ns = now_ns  # by the world's time
        self._shrinking = Shrinking(self.settings, auditor.exposure, auditor.resolves_ns)
        self._losses = Losses(self.settings, auditor.truth)
        self.decided = Decided(auditor.truth, auditor.exposure)
        self._levels: dict[MarketId, dict[int, None]] = {}  # where orders of this life were to rest
        self._left_ns: dict[int, int] = {}  # since when an order that is to go had no cancel
        self._before: dict[int, tuple[OwnOrder, State, int]] = {}
        self._unknowns = False
        self._quiet = 0
        self._stopping = False
        self._standing = False
        self._costs_unknown = False

    def _fresh(self, first: Trader | None) -> Trader:
        choice = self.configured.strategy
        return Trader(
            self.configured.settings,
            self._remake(choice),
            None if first is None else first.out.purse,
            account_risk=None if first is None else first.quoting.weighing.account,
            remake=self._remake,
        )

    def receive(self, event: m.Event, world_ns: int) -> list[m.Effect]:
        now_ns = self.clock.read(world_ns)
        self.feed.saw(event, now_ns)
        self._shrinking.saw(event)
        if isinstance(event, m.Response):
            self._answered(event, now_ns)
        elif isinstance(event, m.Tick):
            self._auditor.truth.bot_knows(self.trader.ledgers.book)
            self._losses.look(self.trader, now_ns)
        else:
            self._told(event)
        try:
            effects = self.trader.receive(event, now_ns)
        except _ANY_FAULT as fault:
            raise Broken(f"raises: {type(fault).__name__}: {fault} at {event!r:.200}") from fault
        if isinstance(event, m.Reconfigured) and takes(event.changed[0]):
            applied = any(isinstance(e, m.Noted) and e.name == "config_applied" for e in effects)
            check(applied, "B3", "a changed file is not in force")
        if self.opened_ns is None and self.trader.ledgers.is_open:
            self.opened_ns = world_ns
            if self._costs_unknown:
                self._auditor.exposure.cost_unknown()
        if isinstance(event, m.Response) and self.opened_ns is not None:
            self.traffic.rates.booked(self.trader.ledgers.fills, now_ns)
        self.log.append((event, now_ns, effects))
        if self.keeps_effects:
            self.turns.append(self)
        self.entries += entries_of(effects)
        encoded = _ENCODER.encode(effects) if effects else b""
        self.digest.update(encoded)
        if self._effects is not None:
            self._effects.append(encoded)
        sent = False
        for effect in effects:
            if isinstance(effect, m.Send):
                sent = True
                self._sent(effect, now_ns)
            elif isinstance(effect, m.DrainComplete):
                self.finished, self.finished_ns = effect, world_ns
            elif isinstance(effect, m.CreateResolved):
                by_answer = isinstance(event, m.Response)
                check(by_answer, "B7", f"{effect.client_order_id} settled by {event!r:.80}")
                self._seen.hit("intent_settled")
                self.traffic.settled(effect.client_order_id)
                self._auditor.flight.settled(effect.client_order_id, effect.order_id)
                if effect.order_id is None:
                    self._is_booked(effect.client_order_id)
            elif isinstance(effect, m.Latched):
                self.latched = effect.reason
            elif isinstance(effect, m.SubscribeTo):
                self.feed.asked()
            elif isinstance(effect, m.OrdersAdopted) and self._inheritance is not None:
                self._inheritance.taken_over(effect)
                self._seen.hit("order_kept", len(effect.order_ids))
            elif isinstance(effect, m.Noted):
                self._noted(effect, event, now_ns)
        if isinstance(event, m.Tick):
            self._after_beat(now_ns)
        self._quiet += 1
        if sent or isinstance(event, m.Response) or self._unknowns or self._quiet >= _EVERY:
            self._quiet = 0
            self._lives_are_monotone(event)
        return effects

    def _after_beat(self, now_ns: int) -> None:
        self._cancels_what_must_go(now_ns)
        latched = bool(self.latched or self._stopping or not self._losses.over)
        check(latched, "B13", f"{self._losses.over}, and no latch")

    def _told(self, event: m.Event) -> None:
        if isinstance(event, m.StopRequested | m.JournalFailed):
            self._stopping = True
        elif isinstance(event, m.PauseRequested):
            self._standing = True
        elif isinstance(event, m.ResumeRequested | m.FlattenRequested):
            self._standing = False
        elif isinstance(event, m.LatchCleared):
            self.latched = ""
            self._losses.begin()
            self.traffic.rates.cleared()
        elif isinstance(event, m.Started):
            self.latched = event.latched
            self._auditor.exposure.risk = self.settings.risk
            self.decided.begins(event.winners)
            self._costs_unknown = event.complete_fill is None
            if self._costs_unknown:
                self._auditor.exposure.cost_unknown()
            self._inheritance = Inheritance(event, self._auditor.truth, self.settings.start)

    def _noted(self, note: m.Noted, event: m.Event, now_ns: int) -> None:
        self.decided.noted(note)
        if note.name in _IN_FORCE:
            self._configured_anew(note, event, now_ns)

    def _configured_anew(self, note: m.Noted, event: m.Event, now_ns: int) -> None:
        """B3: what the file says is in force once noted, and a rollback loosens no limit."""
        self._seen.hit(note.name)
        before, self.in_force = self.settings, self.trader.reconfiguration.configured
        self.settings = self.in_force.settings
        if note.name == "config_rolled_back":
            looser = is_looser(self.settings.risk, before.risk)
            check(not looser, "B3", "a rollback loosens a limit")
        else:
            assert isinstance(event, m.Reconfigured)
            is_it = takes(event.changed[0]) and self.in_force == event.configured
            check(is_it, "B3", "a wrong file is in force")
        self.traffic.rates.follow(self.settings, now_ns)
        self._losses.follow(self.settings)
        self._auditor.exposure.risk = self.settings.risk

    def _answered(self, replied: m.Response, now_ns: int) -> None:
        request = self.traffic.answered(replied, now_ns)
        if isinstance(request, m.ReadBook):
            self.feed.read(request, replied.answer, now_ns)
        elif isinstance(request, m.Create):
            answer = replied.answer
            if isinstance(answer, m.Rejected):
                self._auditor.flight.refused(request.order)
        elif isinstance(replied.answer, m.Unknown):
            if isinstance(request, m.AmendResting):
                self._seen.hit("amend_unknown")
            elif isinstance(request, m.CancelResting):
                self._seen.hit("cancel_unknown")

    def _sent(self, effect: m.Send, now_ns: int) -> None:
        request = effect.request
        self.traffic.sent(effect, now_ns)
        if self._inheritance is not None:
            self._inheritance.sent(request)
        first = isinstance(request, m.Create) and not request.again
        if first or isinstance(request, m.AmendResting):
            check(not self._stopping, "B13", "new exposure after a stop")
            check(not self._standing, "B4", "new exposure while paused")
            check(not self.latched, "B13", "new exposure after a breaker tripped")
            check(not self._losses.over, "B13", f"new exposure after {self._losses.over}")
            if isinstance(request, m.Create):
                self._may_quote(request.order.market_id, now_ns)
                if self.is_successor:
                    self._seen.hit("create_after_restart")
            elif isinstance(request, m.AmendResting):
                side = self._auditor.truth.side_of.get(request.order_id)
                if side is not None:
                    self._may_quote(side[0], now_ns)
        self._auditor.sent(request)
        if first:
            assert isinstance(request, m.Create)
            self._shrinking.sent(side_of(request.order), now_ns, first=True)
            self._reaches_no_further(side_of(request.order), request.order, request.order.price)
            self._few_enough(now_ns)
        elif isinstance(request, m.AmendResting):
            order = self._auditor.truth.working.get(request.order_id)
            if order is not None:
                self._shrinking.sent(side_of(order), now_ns, first=False)
                self._reaches_no_further(side_of(order), order, request.amend.price)

    def _reaches_no_further(
        self, side: BookPlace, order: QtyOrder | v.OrderState, price: Price | None
    ) -> None:
        """B3: a create, or a new price, reaches only so far through the best price of others."""
        if price is None:
            return
        (market, is_bid), level = side, level_of(order.outcome, price)
        ours = self._levels.setdefault(market, {})
        ticks = self.feed.reaches(market, is_bid, level, ours)
        ours[level] = None
        if ticks >= 0:
            self._seen.hit("reach_judged")
        most = self.settings.breakers.ticks_through
        check(ticks <= most, "B3", f"{order} at {price} is {ticks} ticks through, at most {most}")

    def _few_enough(self, now_ns: int) -> None:
        """B3: so many orders may be live at once, and be cancelled in so long."""
        risk, orders = self.settings.risk, self._auditor.flight.count()
        text = f"{orders} orders may be live, at most {risk.resting_orders}"
        check(orders <= risk.resting_orders, "B3", text)
        all_of_them = self._auditor.exposure.account.orders()
        self.traffic.bucket.can_be_flat(all_of_them, risk.flat_ns, now_ns)

    def _may_quote(self, market: MarketId, now_ns: int) -> None:
        """B4: new exposure leaves for a rung that may be quoted."""
        why = self.feed.stale(market, now_ns) or self.decided.why(market)
        check(not why, "B4", f"new exposure on {market}: {why}")

    def _long_stale(self, market: MarketId, now_ns: int) -> str:
        return self.feed.stale(market, now_ns, PULLED_NS) or self.decided.why(market)

    def _cancels_what_must_go(self, now_ns: int) -> None:
        """B13, B4: after a stop, a pause or a breaker, and where a book may not be quoted on, the
        cancel of each order leaves as soon as one can."""
        trader, left_ns = self.trader, self._left_ns
        purse = trader.out.purse
        kept_away = self.traffic.is_kept_away or "key_refused" in trader.out.findings
        if kept_away or now_ns < purse.opens_ns() or purse.tokens(now_ns) < 1:
            left_ns.clear()
            return
        why = "stopped" if self._stopping else self.latched or ("paused" if self._standing else "")
        waiting: dict[int, int] = {}
        for own in trader.desk.all_live():
            if own.state is State.OPEN and own.due_ns <= now_ns:
                reason = why or self._long_stale(own.market_id, now_ns)
                reason = reason or self._shrinking.must_go(now_ns)
                if reason:
                    since_ns = waiting[id(own)] = left_ns.get(id(own), now_ns)
                    text = f"{own.order_id} rests and is not cancelled: {reason}"
                    check(now_ns - since_ns < _PULL_NS, "B13" if why else "B4", text)
        self._left_ns = waiting

    def _lives_are_monotone(self, event: m.Event) -> None:
        """B7, B8: filled never falls, the ended stay ended, only an answer ends an unknown."""
        unknowns = False
        for own, state, filled in self._before.values():
            check(own.filled >= filled, "B8", f"filled fell: {own.client_order_id}")
            check(state is not State.DONE or own.state is State.DONE, "B8", "an ended one revived")
            if own.state is State.DONE and own.order_id is not None:
                self._fills_are_known(own)
            if (state is State.LOST or state is State.BLURRED) and own.state is not state:
                asked = own.state is State.CANCELLING
                check(asked or isinstance(event, m.Response), "B7", f"{state} -> {own.state}")
        before: dict[int, tuple[OwnOrder, State, int]] = {}
        for own in self.trader.desk.all_live():
            if own.state is State.OPEN:
                self._stands_where_it_is_said(own)
            before[id(own)] = (own, own.state, own.filled)
            unknowns = unknowns or own.state is State.LOST or own.state is State.BLURRED
        self._before = before
        self._unknowns = unknowns

    def _stands_where_it_is_said(self, own: OwnOrder) -> None:
        """B8: of an order with nothing on its way the newest word about its price stands.

        One that is to be cancelled because an earlier run left it is where the first list has it,
        which may be older than that run's last amend.
        """
        order = self._auditor.truth.working.get(own.order_id) if own.order_id else None
        left = own.inherited and own.doomed
        if order is not None and own.suspicion is None and not left:
            text = f"{own.order_id} rests at {order.price} and is believed at {own.price}"
            check(order.price == own.price, "B8", text)

    def _fills_are_known(self, own: OwnOrder) -> None:
        """B8: an order that is taken for over has shown all that it filled, or has resolved."""
        truth = self._auditor.truth
        assert own.order_id is not None
        # Of an id that an amend has ended the next one tells what it had filled, or the fills do.
        is_over = own.order_id in truth.filled and own.order_id not in truth.renamed
        if own.market_id not in truth.resolved and is_over:
            filled, known = truth.filled[own.order_id], own.filled - own.fill_offset
            text = f"{own.order_id} is taken for over with {known} filled, not {filled}"
            check(known >= filled, "B8", text)

    def _is_booked(self, name: ClientOrderId) -> None:
        """B8: of a create that is said to be over or never to have landed, all that it filled is
        in the books: nobody would ask for it any more. A rung that has resolved lists its own."""
        made, truth = self._auditor.flight.order_of.get(name), self._auditor.truth
        if made is not None and truth.side_of[made][0] not in truth.resolved:
            # What traded before this life began is history to it.
            of_order = (each for at, each in truth.fills if at >= self.began_ns)
            filled = sum(each.qty for each in of_order if each.order_id == made)
            booked = self.trader.ledgers.book.filled_qty(made)
            text = f"{name} is settled as nothing with {booked} booked of {filled} filled"
            check(booked >= filled, "B8", text)

    def replay(self) -> None:
        """B10: the same events into fresh traders, in the order in which all series of the process
        took them, give the same effects, to the byte. Of the first series of a process alone."""
        for each in (self, *self.beside):
            each.uncount()
        fresh = {self: self._fresh(None)}
        for each in self.beside:
            fresh[each] = each._fresh(fresh[self])
        kept = {each: iter(zip(each.log, each._kept(), strict=True)) for each in fresh}
        for each in self.turns:
            (event, now_ns, _), expected = next(kept[each])
            effects = fresh[each].receive(event, now_ns)
            again = _ENCODER.encode(effects) if effects else b""
            check(again == expected, "B10", f"other effects for {type(event).__name__} at {now_ns}")

    def _kept(self) -> list[bytes]:
        assert self._effects is not None
        return self._effects
