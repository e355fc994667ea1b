"""One event of a tape under one reading of its queues: the whole trader, and what came of it.

One thread, virtual time, no shell, no journal. Whatever happens at the venue reaches the trader as
long later as the terms say, and a request the venue likewise: the trader is only ever given what
had arrived. Of one instant the tape's records come first, then what is under way, then the
trader's own turn.
"""

import random
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Final

import msgspec

from bot.core import messages as m
from bot.core.desk.outbox import kind_of as request_kind
from bot.core.report import ProfitRow
from bot.core.settings import TraderSettings
from bot.core.strategy import Strategy
from bot.core.trader import Trader
from bot.lab.driver import Driver, TickTimer
from bot.lab.evaluate.patience import ended_when_stalled
from bot.lab.exchange.faults import Faults
from bot.lab.exchange.queue_model import QueueModel
from bot.lab.exchange.recorded import Kind, RecordedMarket, kind_of
from bot.lab.exchange.terms import Terms
from venue.crowd.tape import Tape, closes_ns, decode_record
from venue.wire.instant import NS_PER_MS, NS_PER_SECOND
from venue.wire.money import Outcome
from venue.wire.names import MarketId, Ticker

IDLE_NS: Final = NS_PER_SECOND
"""Between two turns of the trader when nothing has come: it would like one each tenth of a second,
and finds nothing to do in most of them."""

CONFIDENCE: Final = 0.95
"""What is said of a recorded price of what the ladder is about."""

_RHYTHM_NS: Final = 90 * NS_PER_MS
_PING_NS: Final = 5 * NS_PER_SECOND // 2
_HOUR_NS: Final = 3600 * NS_PER_SECOND
_STEP_NS: Final = NS_PER_MS
_NONCE: Final = "b0" * 10

Winners = Mapping[MarketId, Outcome]
Observer = Callable[[m.Event, Sequence[m.Effect], int], None]
"""Told of each event that the trader has taken in: its effects, and when."""

Told = Callable[[int], bool]
"""Told after each record how many are through; False ends the backtest there."""


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """What came of it. Money in cents, net in thousandths of one.

    whole: whether the tape was played to its end. settled: `outcome` where every rung paid what the
    tape says, `mid` where holdings are marked at the last middle, `part` where some rungs paid and
    those of the others are. net_millicents: profit after
    fees. maker_qty, taker_qty: shares that came to us, and that we took. printed_qty: shares of all
    recorded prints. requests: by kind; refused: by code; faults: what befell requests, by kind, and
    how often. worst_case_max_cents: the most the trader
    could have lost at once, by its own sums. ledger_difference_cents: the trader's account less the
    venue's as read last, None unless both were read. profit: where the trader sees it come from,
    None before quoting. events: what the trader took in; cpu_s: what all of it cost.
    strategy_fault: the first of `strategy_errors`, empty without one. asked: how many records were
    asked for, None for all. maker_rate, taker_rate: of fees, as they were given.
    """

    tape: str
    event: str
    recorded: str
    bound: str
    whole: bool
    records: int
    hours: float
    settled: str
    net_millicents: int
    fees_cents: int
    fills: int
    maker_qty: int
    taker_qty: int
    printed_qty: int
    held_qty: int
    requests: dict[str, int]
    refused: dict[str, int]
    decisions: int
    strategy_errors: int
    worst_case_max_cents: int
    ledger_difference_cents: int | None
    latched: str
    profit: ProfitRow | None
    events: int
    cpu_s: float
    faults: dict[str, int] = msgspec.field(default_factory=dict)
    strategy_fault: str = ""
    asked: int | None = None
    maker_rate: str = ""
    taker_rate: str = ""

    @property
    def ended_early(self) -> bool:
        """Whether it was broken off before the end of the tape and of what was asked for."""
        return not self.whole and (self.asked is None or self.records < self.asked)


def settings_for(settings: TraderSettings, tape: Tape) -> TraderSettings:
    """A configuration's settings on a tape: its series, alone on the account. A process that stands
    still for a moment is told by a silence of more than two idle turns."""
    trust = msgspec.structs.replace(settings.trust, gap_ns=max(settings.trust.gap_ns, 2 * IDLE_NS))
    series = Ticker(tape.series)
    return msgspec.structs.replace(settings, series_ticker=series, trust=trust, beside=())


class Backtest:
    """One run; call `run` once. venue, trader: in their state of the moment."""

    def __init__(
        self,
        tape: Tape,
        settings: TraderSettings,
        make_strategy: Callable[[], Strategy],
        bound: QueueModel,
        terms: Terms,
        resolution_ns: int | None = None,
        venue: RecordedMarket | None = None,
    ) -> None:
        """resolution_ns: when the event is said to resolve; None: as `closes_ns` has it. venue: one
        that plays the tape's records in its own way; None for what the tape recorded."""
        self._tape = tape
        self._bound = bound
        self._terms = terms
        self._resolution_ns = closes_ns(tape) if resolution_ns is None else resolution_ns
        self._began_ns = decode_record(tape.lines[0]).ts - NS_PER_SECOND
        self._driver = Driver(self._began_ns)
        self._ticks = TickTimer(self._driver, self._tick)
        self.venue = (
            RecordedMarket(tape, terms, self._bound, self._resolution_ns, self.now_ns)
            if venue is None
            else venue
        )
        self.trader = Trader(settings_for(settings, tape), make_strategy)
        self._chance = random.Random(terms.seed)
        self._faults = Faults(terms.faults, terms.seed)
        self._values = list(tape.values) if terms.with_index else []
        self._subscribed = False
        self._requests: Counter[str] = Counter()
        self._latched = ""
        self._events = 0
        self._records = 0
        self._observer: Observer | None = None

    @property
    def now_ns(self) -> int:
        """The recorded clock, which is everybody's."""
        return self._driver.now_ns

    def observed(self, observer: Observer | None) -> "Backtest":
        """Tell an observer, which changes nothing, of all that the trader takes in."""
        self._observer = observer
        return self

    def run(self, told: Told = lambda _records: True) -> "Backtest":
        """Play the tape to its end, or until `told` has enough. Raises Stalled when the strategy
        does not come back."""
        with ended_when_stalled():
            self._play(told)
        return self

    def live_on(self, until_ns: int) -> None:
        """Live up to an instant, that itself included, in which no record happens any more. Raises
        Stalled as `run` does."""
        with ended_when_stalled():
            self._driver.run_until(until_ns)

    def _play(self, told: Told) -> None:
        driver = self._driver
        self._hand(m.Started(_NONCE, (), new_account=True))
        self._hand(m.FeedOpened())
        self._ticks.schedule_by(self.now_ns)
        driver.after(_PING_NS, self._ping)
        for at_ns, price in self._values:
            if at_ns >= self.now_ns:
                seen = m.ImpliedValueSeen(self._tape.project_id, at_ns, float(price), CONFIDENCE)
                driver.at(at_ns + self._terms.feed_ns, partial(self._reaches, [seen]))
        for line in self._tape.lines:
            record = decode_record(line)
            driver.reach(record.ts)
            self.venue.play(record)
            self._publish()
            self._records += 1
            if not told(self._records):
                break
        driver.run_until(self.now_ns)

    def _tick(self) -> None:
        self._ticks.schedule(self.now_ns + IDLE_NS)
        self._hand(m.Beat())

    def _ping(self) -> None:
        """The channel says that it is alive."""
        self._send([m.FeedHeard()])
        self._driver.after(_PING_NS, self._ping)

    def _send(self, events: Sequence[m.Event]) -> None:
        """The channel sends the trader these events."""
        self._driver.after(self._terms.feed_ns, partial(self._reaches, events))

    def _reaches(self, events: Sequence[m.Event]) -> None:
        for event in events:
            self._hand(event)
        self._ticks.schedule_by(self.now_ns)

    def _arrives(self, effect: m.Send, back_ns: int) -> None:
        """A request is at the venue, and its answer sets out."""
        came = self._faults.answered(self.venue.exchange, effect, self.now_ns)
        replied = m.Replied(effect.request_id, came.answer, came.tokens, came.away_ns)
        self._driver.after(back_ns + came.waited_ns, partial(self._reaches, [replied]))
        self._publish()

    def _hand(self, event: m.Event) -> None:
        """An event into the trader, and its effects out."""
        now_ns = self.now_ns
        self._events += 1
        effects = self.trader.receive(event, now_ns)
        if self._observer is not None:
            self._observer(event, effects, now_ns)
        for effect in effects:
            match effect:
                case m.WakeAt():
                    if effect.at_ns - now_ns < _RHYTHM_NS:
                        self._ticks.schedule_by(max(effect.at_ns, now_ns + _STEP_NS))
                case m.Send():
                    self._requests[request_kind(effect.request)] += 1
                    there_ns, back_ns = self._terms.latency.ways_ns(self._chance)
                    self._driver.after(there_ns, partial(self._arrives, effect, back_ns))
                case m.SubscribeTo():
                    self._subscribed = True
                    self._send([m.SubscriptionAccepted(), *self.venue.book_frames(now_ns)])
                case m.Latched(reason=reason):
                    self._latched = reason
                case _:
                    pass

    def _publish(self) -> None:
        """What has just happened at the venue goes out on the channel."""
        events = self.venue.frames(self.now_ns)
        if events and self._subscribed:
            self._send(events)

    # --- what came of it --------------------------------------------------------------------------

    def settle(self, winners: Winners | None) -> int:
        """End it: every rung pays its winner where that is known, else what is held of it counts at
        the last middle. The profit in thousandths of a cent.

        Raises DoesNotClose when the fills and the venue's ledger do not tell the same.
        """
        account, venue = self.venue.account, self.venue
        account.prove(venue.gain_cents)
        if winners is not None:
            for market, winner in winners.items():
                venue.resolve(market, winner, self.now_ns)
            account.prove(venue.gain_cents)
        held = sum(
            account.held_cents(market, venue.marks.get(market, 0)) for market in venue.markets
        )
        return 1000 * account.cash_cents + 500 * held

    def result(self, winners: Winners | None, cpu_s: float = 0.0) -> Result:
        """What came of it, settled as `settle` does. winners: taken only where the tape was played
        whole."""
        whole = self._records == len(self._tape.lines)
        known = winners if whole else None
        venue, account = self.venue, self.venue.account
        held_qty = sum(account.shares.values())
        report = self.trader.report(self.now_ns)
        return Result(
            tape=self._tape.name,
            event=self._tape.event,
            recorded=venue.kind.value,
            bound=self._bound.value,
            whole=whole,
            records=self._records,
            hours=(self.now_ns - self._began_ns) / _HOUR_NS,
            settled=_settled(known, len(venue.markets)),
            net_millicents=self.settle(known),
            fees_cents=account.fees_cents,
            fills=len(account.fills),
            maker_qty=account.maker_qty,
            taker_qty=account.taker_qty,
            printed_qty=venue.printed_qty,
            held_qty=held_qty,
            requests=dict(self._requests),
            refused=dict(venue.exchange.refused),
            decisions=report.counters.decisions,
            strategy_errors=report.counters.strategy_errors,
            worst_case_max_cents=report.worst_case_max_cents,
            ledger_difference_cents=report.ledger_difference_cents,
            latched=self._latched,
            profit=None if report.profit is None else report.profit.total,
            events=self._events,
            cpu_s=cpu_s,
            faults=dict(self._faults.befallen),
            strategy_fault=self.trader.out.first_fault,
            maker_rate=str(self._terms.maker_rate),
            taker_rate=str(self._terms.taker_rate),
        )


def _settled(winners: Winners | None, rungs: int) -> str:
    """What `Result.settled` says where so many of the rungs paid."""
    if not winners:
        return "mid"
    return "outcome" if len(winners) == rungs else "part"


def backtest(
    tape: Tape,
    settings: TraderSettings,
    make_strategy: Callable[[], Strategy],
    bound: QueueModel,
    terms: Terms,
    winners: Winners | None = None,
    told: Told = lambda _records: True,
    observing: Callable[[Trader], Observer] | None = None,
) -> Result:
    """Play an event under a reading of its queues. winners: what each rung paid, None where that
    is not known. observing: makes what is told of all that the trader takes in.

    Raises DoesNotClose when the two accounts do not meet.
    """
    began_s = time.process_time()
    run = Backtest(tape, settings, make_strategy, bound, terms)
    run.observed(None if observing is None else observing(run.trader)).run(told)
    return run.result(winners, time.process_time() - began_s)


def distinct(
    tape: Tape, readings: Sequence[QueueModel]
) -> dict[QueueModel, tuple[QueueModel, ...]]:
    """Which readings have to be played, each with those that come to the same.

    Of best prices no print was recorded, and so no place in a queue ever matters.
    """
    if kind_of(tape) is Kind.TOPS and readings:
        return {readings[0]: tuple(readings)}
    return {reading: (reading,) for reading in readings}
