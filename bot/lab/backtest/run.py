"""Runs the whole trader on one event of a tape under one queue model, in virtual time."""

import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Final

import msgspec

from bot.core import messages as m
from bot.core.quoting.guards import WindDown
from bot.core.report import ProfitReport, ProfitRow
from bot.core.settings import TraderSettings
from bot.core.trader import Trader
from bot.core.trading_state import TradingState
from bot.lab.driver import Driver
from bot.lab.evaluate.timeout import ended_when_stalled
from bot.lab.exchange.assumptions import Terms
from bot.lab.exchange.queue_model import QueueModel
from bot.lab.exchange.recorded import Kind, RecordedMarket, kind_of
from bot.lab.exchange.simulated_venue import TermsLink
from bot.lab.exchange.trader_run import Observer, TraderRun, alone
from bot.lab.leanings import HEAD, SPLITS, leaning_rows
from bot.page.text import text_table
from bot.strategy.api import Strategy
from venue.crowd.tape import Tape, closes_ns
from venue.wire.instant import NS_PER_SECOND
from venue.wire.money import Outcome
from venue.wire.names import MarketId, Ticker

CONFIDENCE: Final = 0.95  # the confidence of a recorded index price
_HOUR_NS: Final = 3600 * NS_PER_SECOND
_NONCE: Final = "b0" * 10

Winners = Mapping[MarketId, Outcome]

Progress = Callable[[int], bool]
"""Called after each record with how many are through; False ends the backtest there."""


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """The result. Money in cents, net in thousandths of one.

    settled: `outcome` where every rung paid what the tape says, `mid` where inventory is marked at
    the last middle, `part` where some rungs paid and those of the others are. faults: by kind, how
    often each befell a request. ledger_difference_cents: the trader's account less the venue's as
    read last, None unless both were read.
    """

    tape: str
    event: str
    recorded: str
    bound: str
    whole: bool  # whether the tape was played to its end
    records: int
    hours: float
    settled: str
    net_millicents: int  # profit after fees
    fees_cents: int
    fills: int
    maker_qty: int  # maker_qty, taker_qty: shares that came to us, and that we took
    taker_qty: int
    printed_qty: int  # shares of all recorded prints
    held_qty: int
    requests: dict[str, int]  # by kind
    refused: dict[str, int]  # by code
    decisions: int
    strategy_errors: int
    worst_case_max_cents: int  # the most the trader could have lost at once, by its own sums
    ledger_difference_cents: int | None
    latched: str
    profit: ProfitRow | None  # where the trader sees it come from, None before quoting
    # The same by the lean of the book and of the taker flow before each fill, and by setting.
    by: dict[str, tuple[ProfitRow, ...]] = msgspec.field(default_factory=dict)
    events: int  # received by the trader
    cpu_s: float  # of the whole run
    faults: dict[str, int] = msgspec.field(default_factory=dict)
    strategy_answers: int = 0  # the valid ones
    strategy_fault: str = ""  # the first of `strategy_errors`, empty without one
    asked: int | None = None  # how many records were asked for, None for all
    # By state of the wind-down, how many of the hours were played in it.
    wind_down_hours: dict[str, float] = msgspec.field(default_factory=dict)
    maker_rate: str = ""  # maker_rate, taker_rate: of fees, as they were given
    taker_rate: str = ""

    @property
    def ended_early(self) -> bool:
        return not self.whole and (self.asked is None or self.records < self.asked)


class Backtest:
    """One run; call `run` once."""

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
        if resolution_ns is None:
            resolution_ns = closes_ns(tape)
        self._resolution_ns, self._curfew = resolution_ns, settings.curfew
        self._began_ns = tape.records[0].ts - NS_PER_SECOND
        self._driver = Driver(self._began_ns)
        if venue is None:
            venue = RecordedMarket(tape, terms, bound, resolution_ns, self._began_ns)
        self.venue = venue  # venue, trader: in their state of the moment
        of_tape = msgspec.structs.replace(alone(settings), series_ticker=Ticker(tape.series))
        self.trader = Trader(of_tape, make_strategy)
        self._link = TermsLink(terms)
        self._run = TraderRun(self._driver, venue, self.trader, self._link)
        self._records = 0

    def _wind_down_hours(self) -> dict[str, float]:
        """By state of the wind-down, the hours of the run in it, up to the resolution."""
        hours: dict[str, float] = {}
        at_ns, end_ns = self._began_ns, min(self.recorded_ns, self._resolution_ns)
        wind_down = WindDown(self._curfew)
        while at_ns < end_ns:
            wind_down.judge(self._resolution_ns, at_ns)
            until_ns = min(end_ns, wind_down.until_ns)
            if wind_down.restriction is not None:
                state = wind_down.restriction.state
                hours[state] = hours.get(state, 0.0) + (until_ns - at_ns) / _HOUR_NS
            at_ns = until_ns
        return hours

    @property
    def recorded_ns(self) -> int:
        return self._driver.now_ns

    def observed(self, observer: Observer | None) -> "Backtest":
        self._run.observer = observer
        return self

    def deliver(self, event: m.Event) -> None:
        """Hand an operator's command to the trader, between two records."""
        self._run.deliver([event])

    def run(self, progress: Progress = lambda _records: True) -> "Backtest":
        """Play the tape until its end or until `progress` returns False. Raises Stalled."""
        with ended_when_stalled():
            self._play(progress)
        return self

    def live_on(self, until_ns: int) -> None:
        """Go on up to and including an instant before the next record. Raises Stalled."""
        with ended_when_stalled():
            self._driver.run_until(until_ns)

    def _play(self, progress: Progress) -> None:
        driver, run = self._driver, self._run
        run.deliver([m.Started(_NONCE, (), new_account=True), m.FeedOpened()])
        run.venue.keep_alive()
        for at_ns, price in self._tape.values if self._terms.with_index else ():
            if at_ns >= self.recorded_ns:
                seen = m.ImpliedValueSeen(self._tape.project_id, at_ns, float(price), CONFIDENCE)
                driver.schedule_at(at_ns + self._terms.feed_ns, partial(run.deliver, [seen]))
        for place, record in enumerate(self._tape.records):
            driver.reach(record.ts)
            self.venue.play(place)
            run.venue.publish()
            self._records += 1
            if not progress(self._records):
                break
        driver.run_until(self.recorded_ns)

    # --- what came of it --------------------------------------------------------------------------

    def result(self, winners: Winners | None, cpu_s: float = 0.0) -> Result:
        """Rungs with a known winner pay if the whole tape was played; other inventory counts at the
        last middle. Raises DoesNotClose when the fills and the venue's ledger differ."""
        whole = self._records == len(self._tape.records)
        known = winners if winners is not None and whole else {}
        venue, account = self.venue, self.venue.account
        held_qty = sum(account.shares.values())
        report = self.trader.report(self.recorded_ns)
        for market, winner in known.items():
            venue.resolve(market, winner, self.recorded_ns)
        account.prove(venue.gain_cents)
        marks = [account.held_cents(each, venue.marks.get(each, 0)) for each in venue.markets]
        settled = "outcome" if len(known) == len(venue.markets) else "part" if known else "mid"
        return Result(
            tape=self._tape.name,
            event=self._tape.event,
            recorded=venue.kind.value,
            bound=self._bound.value,
            whole=whole,
            records=self._records,
            hours=(self.recorded_ns - self._began_ns) / _HOUR_NS,
            settled=settled,
            net_millicents=1000 * account.cash_cents + 500 * sum(marks),
            fees_cents=account.fees_cents,
            fills=len(account.fills),
            maker_qty=account.maker_qty,
            taker_qty=account.taker_qty,
            printed_qty=venue.printed_qty,
            held_qty=held_qty,
            requests=dict(self._run.requests),
            refused=dict(venue.exchange.refused),
            decisions=report.counters.decisions,
            strategy_errors=report.counters.strategy_errors,
            strategy_answers=report.counters.strategy_answers,
            worst_case_max_cents=report.worst_case_max_cents,
            ledger_difference_cents=report.ledger_difference_cents,
            latched=self._run.latched,
            profit=None if report.profit is None else report.profit.total,
            by=_split(report.profit),
            events=self._run.events,
            cpu_s=cpu_s,
            faults=dict(self._link.faults.befallen),
            strategy_fault=self.trader.out.first_fault,
            wind_down_hours=self._wind_down_hours(),
            maker_rate=str(self._terms.maker_rate),
            taker_rate=str(self._terms.taker_rate),
        )


def _split(profit: ProfitReport | None) -> dict[str, tuple[ProfitRow, ...]]:
    return {} if profit is None else {name: profit.by[name] for name in SPLITS}


def backtest(
    tape: Tape,
    settings: TraderSettings,
    make_strategy: Callable[[], Strategy],
    bound: QueueModel,
    terms: Terms,
    winners: Winners | None = None,
    progress: Progress = lambda _records: True,
    observing: Callable[[Trader], Observer] | None = None,
) -> Result:
    """Play an event under one queue model. winners: what each rung paid, None if unknown. Raises
    DoesNotClose when the two accounts differ."""
    began_s = time.process_time()
    run = Backtest(tape, settings, make_strategy, bound, terms)
    run.observed(None if observing is None else observing(run.trader)).run(progress)
    return run.result(winners, time.process_time() - began_s)


def distinct(
    tape: Tape, readings: Sequence[QueueModel]
) -> dict[QueueModel, tuple[QueueModel, ...]]:
    """Which queue models to run, each with those that give the same result: of best prices no print
    was recorded, so no place in a queue matters."""
    if kind_of(tape) is Kind.TOPS and readings:
        return {readings[0]: tuple(readings)}
    return {reading: (reading,) for reading in readings}


LIMITS: Final = {
    Kind.BOOKS: "replayed history does not react to us: no result about size",
    Kind.TOPS: "no sizes and no prints were recorded: fills only where others come to our price, "
    "of sizes made up; all readings of the queue are one",
    Kind.TRADES: "books are made up around prints; pessimistic fills what trades through our "
    "price, optimistic all that trades at it",
}
"""What a kind of tape cannot say."""

_HEAD: Final = (
    f"{'tape':<18} {'queue':<11} {'events':>6} {'profit $':>10} {'fees $':>8} {'fills':>6} "
    f"{'came':>7} {'took':>6} {'of prints':>9} {'requests':>8} {'worst $':>8} {'ev/s':>7}"
)


def text(results: Sequence[Result]) -> str:
    lines = [_HEAD]
    for tape in dict.fromkeys(result.tape for result in results):
        rows = [result for result in results if result.tape == tape]
        lines += [_row(tape, reading, rows) for reading in QueueModel if _under(rows, reading)]
    return "\n".join([*lines, "", *_leanings(results), *notes(results)])


def _leanings(results: Sequence[Result]) -> list[str]:
    """Markouts of each tape by lean and setting, under its first queue model; empty where none."""
    lines = []
    for tape in dict.fromkeys(result.tape for result in results):
        rows = [result for result in results if result.tape == tape]
        first = next(reading for reading in QueueModel if _under(rows, reading))
        if split := leaning_rows([row.by for row in _under(rows, first)]):
            lines += [
                f"{tape}, {first}: markouts against others' mid, cents a share with half the 95 % "
                "interval, by book and takers' flow before the fill and by setting",
                text_table([HEAD, *split]),
                "",
            ]
    return lines


def _under(rows: Sequence[Result], reading: QueueModel) -> list[Result]:
    return [row for row in rows if row.bound == reading.value]


def _row(tape: str, reading: QueueModel, rows: Sequence[Result]) -> str:
    mine = _under(rows, reading)
    printed = sum(row.printed_qty for row in mine)
    share = f"{sum(row.maker_qty for row in mine) / printed:9.2%}" if printed else f"{'-':>9}"
    cpu_s = sum(row.cpu_s for row in mine)
    rate = sum(row.events for row in mine) / cpu_s if cpu_s else 0.0
    return (
        f"{tape:<18} {reading:<11} {len(mine):6d} "
        f"{sum(row.net_millicents for row in mine) / 100_000:10.2f} "
        f"{sum(row.fees_cents for row in mine) / 100:8.2f} "
        f"{sum(row.fills for row in mine):6d} "
        f"{sum(row.maker_qty for row in mine):7d} {sum(row.taker_qty for row in mine):6d} {share} "
        f"{sum(sum(row.requests.values()) for row in mine):8d} "
        f"{max(row.worst_case_max_cents for row in mine) / 100:8.2f} {rate:7.0f}"
    )


_STATES: Final = {
    TradingState.REDUCED: "sizes were halved",
    TradingState.REDUCE_ONLY: "only inventory was reduced",
    TradingState.HALTED: "nothing was quoted",
}


def _wound_down(rows: Sequence[Result]) -> str:
    """What the wind-down did near the end of the events; empty if it did nothing."""
    first = [row for row in rows if row.bound == rows[0].bound]  # the same under each queue model
    hours = sum(row.hours for row in first)
    said = [
        f"{what} for {spent:.2f} of {hours:.2f} hours"
        for state, what in _STATES.items()
        if (spent := sum(row.wind_down_hours.get(state, 0.0) for row in first))
    ]
    return f"wind-down: {', '.join(said)} (wind_down in the configuration)" if said else ""


def notes(results: Sequence[Result]) -> list[str]:
    lines = []
    for tape in dict.fromkeys(result.tape for result in results):
        rows = [result for result in results if result.tape == tape]
        lines.append(f"{tape}: {LIMITS[Kind(rows[0].recorded)]}")
        if any(row.settled == "mid" for row in rows):
            lines.append(f"{tape}: no known outcome or not played whole: marked at the last middle")
        if any(row.settled == "part" for row in rows):
            lines.append(f"{tape}: rungs without a known outcome: marked at the last middle")
        asked = [row for row in rows if not (row.whole or row.ended_early)]
        if asked:
            lines.append(f"{tape}: the first {asked[0].asked} records of each event, as asked for")
        if any(row.ended_early for row in rows):
            lines.append(f"{tape}: ended early, these are the figures up to there")
        lines.append(
            f"{tape}: fees as given, not as recorded: maker {rows[0].maker_rate}, "
            f"taker {rows[0].taker_rate} (--maker-fee, --taker-fee)"
        )
        if wound_down := _wound_down(rows):
            lines.append(f"{tape}: {wound_down}")
        for row in rows:
            if row.latched:
                lines.append(f"{row.event}, {row.bound}: latched: {row.latched}")
            if row.strategy_errors:
                errors = f"{row.strategy_errors} strategy errors, the first: {row.strategy_fault}"
                lines.append(f"{row.event}, {row.bound}: {errors}")
        net = {
            reading: sum(row.net_millicents for row in _under(rows, reading))
            for reading in QueueModel
            if _under(rows, reading)
        }
        if net.get(QueueModel.PESSIMISTIC, 1) <= 0 < max(net.values()):
            lines.append(f"{tape}: a profit that pessimistic does not have is none")
    return lines
