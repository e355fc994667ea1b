"""Every metric of the trader that is not a duration: one row each, and where its samples come from.

docs/metrics.md is made from these rows, `metrics.COUNTED` and `metrics.TIMED`. Label values come
from closed sets and from the rungs and events of one series, never from an order.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final, Generic, TypeVar

import msgspec

from bot.core.distribution import KINDS
from bot.core.inconsistency import Inconsistency
from bot.core.orders.request_budget import Priority
from bot.core.outcome_risk import OutcomeRisk
from bot.core.report import (
    Against,
    BreakerReport,
    EventReport,
    Phase,
    ProfitRow,
    Report,
    RungReport,
    TakeOutcome,
)
from bot.core.risk.exposure import series_loss_cents
from bot.core.risk.trim import TrimReason
from bot.core.trading_state import Source
from bot.io.metrics.profits import MILLI
from bot.io.metrics.states import STATES, shown_state
from venue.wire.errors import CODES
from venue.wire.instant import NS_PER_SECOND
from venue.wire.money import BookSide

Sample = tuple[tuple[str, ...], float]
Read = Iterable[Sample] | float | None
"""The samples of a metric, or the value of one without labels; None while it is unknown."""

_T = TypeVar("_T")


class Family(msgspec.Struct, Generic[_T], frozen=True):
    name: str
    help: str
    labels: tuple[str, ...]
    read: Callable[[_T], Read]
    is_total: bool = False

    def samples(self, source: _T) -> Iterable[Sample]:
        """One sample for each set of label values; none while the value is unknown."""
        value = self.read(source)
        if value is None:
            return ()
        return (((), float(value)),) if isinstance(value, int | float) else value


def gauge(name: str, about: str, read: Callable[[_T], Read], labels: str = "") -> Family[_T]:
    """labels: their names, with spaces between them."""
    return Family(name, about, tuple(labels.split()), read)


def counter(name: str, about: str, read: Callable[[_T], Read], labels: str = "") -> Family[_T]:
    return Family(name, about, tuple(labels.split()), read, is_total=True)


FINDINGS_MAX: Final = 64
_LIVE: Final = frozenset({"open", "amending"})
_SEND_LIMITS: Final = (*("cash", "exposure", "pace", "resting_orders time_to_flat"),)
_NO_FILLS: Final = ProfitRow("", 0, 0, 0, 0, 0, 0, 0, ())


# --- how samples are read -------------------------------------------------------------------------


def seconds(value_ns: int | None) -> float | None:
    return None if value_ns is None else value_ns / NS_PER_SECOND


def rungs(report: Report) -> Iterator[RungReport]:
    return (rung for event in report.events for rung in event.rungs)


def _known(found: Iterable[tuple[str, float | None]]) -> list[Sample]:
    return [((ticker,), float(value)) for ticker, value in found if value is not None]


def per_rung(value: Callable[[RungReport], float | None]) -> Callable[[Report], list[Sample]]:
    """A sample for each rung where the value is known."""
    return lambda report: _known((rung.ticker, value(rung)) for rung in rungs(report))


def per_side(value: Callable[[RungReport, BookSide], float]) -> Callable[[Report], list[Sample]]:
    return lambda report: [
        ((rung.ticker, side.value), float(value(rung, side)))
        for rung in rungs(report)
        for side in BookSide
    ]


def per_event(value: Callable[[EventReport], float | None]) -> Callable[[Report], list[Sample]]:
    return lambda report: _known((event.event_ticker, value(event)) for event in report.events)


def per_company(value: Callable[[OutcomeRisk], float]) -> Callable[[Report], list[Sample]]:
    return lambda report: [
        ((company.events[0],), float(value(company.risk)))
        for company in report.companies
        if company.risk is not None
    ]


def shortfalls(risks: Iterable[tuple[str, OutcomeRisk | None]]) -> list[Sample]:
    """The expected shortfall of each, by level in percent; none where the risk is unknown."""
    return [
        ((name, level), float(cents))
        for name, risk in risks
        if risk is not None
        for level, cents in (("95", risk.shortfall_95_cents), ("99", risk.shortfall_99_cents))
    ]


def per_event_limit(of: Callable[[BreakerReport], int]) -> Callable[[Report], list[Sample]]:
    return lambda report: [
        ((event.event_ticker, each.name), float(of(each)))
        for event in report.events
        for each in event.limits
    ]


def by_name(counts: Mapping[str, float], always: Iterable[str] = ()) -> list[Sample]:
    """A sample for each name. always: names that are shown as 0 before their first count."""
    shown = {str(name): 0.0 for name in always} | dict(counts)
    return [((name,), float(shown[name])) for name in sorted(shown)]


def _outside_counts(report: Report) -> Counter[tuple[str, str]]:
    return Counter(
        (row.source, "unused" if row.unused else "used")
        for event in report.events
        for row in event.outside_values
    )


def _outside_ages_ns(report: Report) -> dict[str, int]:
    """Of the newest value of each source."""
    ages: dict[str, int] = {}
    for event in report.events:
        for row in event.outside_values:
            ages[row.source] = min(row.age_ns, ages.get(row.source, row.age_ns))
    return ages


def finding_names(report: Report) -> list[str]:
    """The names of the present findings, without their texts."""
    return sorted({text.partition(":")[0] for text in report.findings})[:FINDINGS_MAX]


def _wanted(rung: RungReport, side: BookSide) -> int:
    wanted = rung.wanted_bids if side is BookSide.BID else rung.wanted_asks
    return sum(qty for _, qty in wanted)


def _resting(rung: RungReport, side: BookSide) -> int:
    return sum(o.remaining_qty for o in rung.orders if o.side is side and o.state in _LIVE)


def _parts(row: ProfitRow) -> Iterator[tuple[str, float]]:
    yield "spread", row.spread_millicents / MILLI
    yield "adverse", row.adverse_millicents / MILLI
    yield "drift", row.drift_millicents / MILLI
    yield "fees", float(-row.fees_cents)


def _markouts(row: ProfitRow) -> Iterator[Sample]:
    for each in row.markouts:
        yield (each.against.value, str(each.horizon_s)), each.mean_cents


def profit_parts(report: Report) -> list[Sample]:
    return [] if report.profit is None else [((n,), v) for n, v in _parts(report.profit.total)]


def _profit_stages(report: Report) -> list[Sample]:
    profit = report.profit
    if profit is None:
        return []
    return [
        (("realised",), profit.realised_millicents / MILLI),
        (("settled",), profit.settled_millicents / MILLI),
        (("open",), profit.open_millicents / MILLI),
        (("fees",), float(-profit.total.fees_cents)),
    ]


def _rung_rows(report: Report) -> list[tuple[str, ProfitRow]]:
    """The profit of each rung that the report shows, one without a fill included."""
    if report.profit is None:
        return []
    known = {row.name: row for row in report.profit.by["rung"]}
    return [(rung.ticker, known.get(rung.ticker, _NO_FILLS)) for rung in rungs(report)]


def _filled_shares(report: Report) -> list[Sample]:
    if report.profit is None:
        return []
    shares = {row.name: row.qty for row in report.profit.by["side"]}
    return [((side.value,), float(shares.get(side.value, 0))) for side in BookSide]


def _side_markouts(report: Report) -> list[Sample]:
    rows = [] if report.profit is None else report.profit.by["side"]
    sides = {side.value for side in BookSide}
    return [
        ((row.name, *labels), value)
        for row in rows
        if row.name in sides
        for labels, value in _markouts(row)
    ]


def _rung_markouts(report: Report) -> list[Sample]:
    """Against fair alone; in the order in which the rungs were first filled."""
    shown = {rung.ticker for rung in rungs(report)}
    return [
        ((row.name, str(each.horizon_s)), each.mean_cents)
        for row in ([] if report.profit is None else report.profit.by["rung"])
        if row.name in shown
        for each in row.markouts
        if each.against is Against.FAIR
    ]


def _trading_states(report: Report) -> list[Sample]:
    scopes = [("series", report.state), *[(e.event_ticker, e.state) for e in report.events]]
    return [((scope,), float(state.level)) for scope, state in scopes]


def _restrictions(report: Report) -> list[Sample]:
    strictest = {(scope, source.value): 0 for scope in ("account", "series") for source in Source}
    scopes = [("series", report.restrictions)]
    scopes += [(each.event_ticker, each.restrictions) for each in report.events]
    for scope, restrictions in scopes:
        for each in restrictions:
            place = ("account" if each.of_account else scope, each.source.value)
            strictest[place] = max(strictest.get(place, 0), each.state.level)
    return [(place, float(level)) for place, level in strictest.items()]


# --- the tables -----------------------------------------------------------------------------------

STATE: Final[tuple[Family[Report], ...]] = (
    gauge(
        "phase",
        "1 for the trader's present phase, else 0.",
        lambda r: [((phase.value,), float(r.phase is phase)) for phase in Phase],
        "phase",
    ),
    gauge(
        "state",
        "1 for the state that page and `bot status` show: the phase, or `no feed` or `nothing "
        "quotable` instead of quoting.",
        lambda r: [((state,), float(shown_state(r, r.now_ns) == state)) for state in STATES],
        "state",
    ),
    gauge(
        "paper",
        "1 for a paper run.",
        lambda r: r.paper,
    ),
    gauge(
        "trading_state",
        "0 active, 1 reduced, 2 reduce-only, 3 halted, 4 killed; of the series and of each event.",
        _trading_states,
        "scope",
    ),
    gauge(
        "restriction",
        "What each source restricts a scope to, in the levels of `trading_state`; 0 for nothing.",
        _restrictions,
        "scope source",
    ),
    gauge(
        "latched",
        "1 while latched: no quotes until a reset.",
        lambda r: bool(r.latched),
    ),
    gauge(
        "inconsistency",
        "1 for the kind of contradiction that latched the bot.",
        lambda r: [((kind,), float(r.inconsistency == kind)) for kind in Inconsistency],
        "kind",
    ),
    counter(
        "config_changes",
        "Configuration changes: applied, refused, rolled back.",
        lambda r: [
            (("applied",), float(r.config.applied)),
            (("refused",), float(r.config.refused)),
            (("rolled_back",), float(r.config.rolled_back)),
        ],
        "outcome",
    ),
    gauge(
        "config_at_fault",
        "1 while the newest change of the file is not in force.",
        lambda r: bool(r.config.fault),
    ),
    gauge("findings", "Findings: a person should look.", lambda r: len(r.findings)),
    gauge(
        "finding",
        "1 for each present finding.",
        lambda r: [((name,), 1.0) for name in finding_names(r)],
        "finding",
    ),
    gauge(
        "breaker_used",
        "Use of a breaker's limit, in the unit of its name.",
        lambda r: [((each.name,), float(each.used)) for each in r.breakers],
        "breaker",
    ),
    gauge(
        "breaker_limit",
        "The breaker's limit, in the unit of its name.",
        lambda r: [((each.name,), float(each.limit)) for each in r.breakers],
        "breaker",
    ),
    gauge(
        "loss_budget_lost_cents",
        "The greatest loss of the account in the period of a loss budget so far.",
        lambda r: [((each.period.value,), float(each.lost_cents)) for each in r.loss_budgets],
        "period",
    ),
    gauge(
        "loss_budget_limit_cents",
        "A loss budget, with what a person raised it by.",
        lambda r: [((each.period.value,), float(each.limit_cents)) for each in r.loss_budgets],
        "period",
    ),
    counter(
        "breaker_trips",
        "Times a breaker tripped.",
        lambda r: by_name(r.counters.breaker_trips, (each.name for each in r.breakers)),
        "breaker",
    ),
)

FEED: Final[tuple[Family[Report], ...]] = (
    gauge(
        "feed_age_seconds",
        "Since the channel last answered; absent before.",
        lambda r: None if r.feed_heard_ns is None else seconds(r.now_ns - r.feed_heard_ns),
    ),
    gauge(
        "feed_silent_after_seconds",
        "Feed silence that counts as a fault: 10 s, or `staleness.feed_silence_ms` if longer.",
        lambda r: seconds(r.feed_silent_after_ns),
    ),
    gauge(
        "rung_book_age_seconds",
        "Since the book was last confirmed; absent once its market resolved.",
        per_rung(lambda g: seconds(g.book_age_ns)),
        "rung",
    ),
    counter("frames", "Frames of the channel.", lambda r: r.counters.frames),
    counter("frames_garbled", "Malformed frames.", lambda r: r.counters.frames_garbled),
    gauge(
        "rung_fair_cents",
        "Fair value; absent once resolved or decided by a winner.",
        per_rung(lambda g: g.fair_cents),
        "rung",
    ),
    gauge(
        "event_implied_median_dollars",
        "Median of the event by the fair curve.",
        per_event(lambda e: None if e.implied is None else e.implied.median),
        "event",
    ),
    gauge(
        "outside_values",
        "Values from outside by source: used by an event, or unused: expired or dropped.",
        lambda r: [
            ((source, state), float(n)) for (source, state), n in _outside_counts(r).items()
        ],
        "source state",
    ),
    gauge(
        "outside_value_age_seconds",
        "Age of the newest value of a source.",
        lambda r: [
            ((source,), age_ns / NS_PER_SECOND) for source, age_ns in _outside_ages_ns(r).items()
        ],
        "source",
    ),
    gauge(
        "event_alarms",
        "Contradictions in the prices of a ladder, by kind.",
        lambda r: [
            ((e.event_ticker, kind), float(sum(alarm.kind == kind for alarm in e.alarms)))
            for e in r.events
            for kind in KINDS
        ],
        "event kind",
    ),
    counter(
        "news_pulls",
        "Times a jump or large trade pulled all rungs of an event.",
        lambda r: r.counters.news_pulls,
    ),
)

QUOTES: Final[tuple[Family[Report], ...]] = (
    counter("decisions", "Decisions of an event.", lambda r: r.counters.decisions),
    gauge(
        "rung_quotable", "1 when the rung can be quoted.", per_rung(lambda g: not g.blocked), "rung"
    ),
    gauge("rung_wanted_shares", "Shares that the targets want.", per_side(_wanted), "rung side"),
    gauge("rung_resting_shares", "Shares of ours that rest.", per_side(_resting), "rung side"),
    gauge(
        "rung_on_target",
        "1 when all targets of the side rest, within throttle.tolerance_ticks and "
        "throttle.resize_pct.",
        per_side(lambda g, side: side in g.on_target),
        "rung side",
    ),
    gauge(
        "rung_orders", "Orders of ours that may be live.", per_rung(lambda g: len(g.orders)), "rung"
    ),
    gauge(
        "event_quotes_cut",
        "Quotes that a limit shrinks or drops.",
        lambda r: [
            ((e.event_ticker, *name), count)
            for e in r.events
            for name, count in by_name(e.cuts, TrimReason)
        ],
        "event limit",
    ),
    counter(
        "strategy_errors",
        "Times a strategy raised or returned nonsense.",
        lambda r: r.counters.strategy_errors,
    ),
    counter(
        "strategy_overruns",
        "Calls of a strategy that took too long.",
        lambda r: r.counters.strategy_overruns,
    ),
    counter(
        "strategy_interrupted",
        "Calls of a strategy ended by force.",
        lambda r: r.counters.strategy_interrupted,
    ),
    gauge(
        "strategy_at_fault",
        "1 from a fault of an event's strategy until it recovers.",
        per_event(lambda e: bool(e.strategy_fault)),
        "event",
    ),
)

ORDERS: Final[tuple[Family[Report], ...]] = (
    gauge("resting_orders", "Orders of ours that may be live.", lambda r: r.resting),
    gauge(
        "unknown_orders",
        "Orders without a definite answer to the last request.",
        lambda r: r.unknown_open,
    ),
    gauge(
        "unknown_oldest_seconds",
        "Age of the oldest order without a definite answer; else 0.",
        lambda r: seconds(r.unknown_oldest_ns),
    ),
    gauge("requests_in_flight", "Requests without an answer yet.", lambda r: r.in_flight),
    counter("requests", "Requests sent.", lambda r: by_name(r.counters.requests), "kind"),
    counter(
        "requests_refused",
        "Requests rejected, by code.",
        lambda r: by_name(r.counters.refused, (code.value for code in CODES)),
        "code",
    ),
    counter(
        "requests_denied",
        "Requests that waited for a token, by priority, once a decision.",
        lambda r: by_name(r.counters.denied, (lane.name.lower() for lane in Priority)),
        "lane",
    ),
    counter(
        "held_back",
        "Orders and changes that a limit held back at sending.",
        lambda r: by_name(r.counters.held_back, _SEND_LIMITS),
        "limit",
    ),
    counter(
        "answers_unknown",
        "Requests without a definite answer.",
        lambda r: r.counters.unknown_answers,
    ),
    counter("rate_limited", "Answers of 429.", lambda r: r.counters.rate_limited),
    gauge("tokens", "Requests that may be sent at once.", lambda r: r.tokens),
    gauge(
        "tokens_reserve",
        "Tokens that only cancels and recovery may use.",
        lambda r: None if r.budget is None else r.budget.reserve,
    ),
    gauge(
        "tokens_burst", "Tokens at most.", lambda r: None if r.budget is None else r.budget.burst
    ),
    gauge(
        "closed_seconds",
        "Remaining wait that the venue asked for.",
        lambda r: None if r.budget is None else seconds(r.budget.waits_ns),
    ),
    gauge(
        "time_to_flat_seconds",
        "Time to cancel everything with the present tokens.",
        lambda r: seconds(r.flat_ns),
    ),
    gauge(
        "foreign_tokens",
        "Tokens that somebody else took from our keys.",
        lambda r: r.foreign_tokens,
    ),
    counter(
        "amends",
        "Amends by kept or lost queue position.",
        lambda r: [
            (("kept",), float(r.counters.amends_kept_place)),
            (("lost",), float(r.counters.amends_lost_place)),
        ],
        "place",
    ),
    counter(
        "beyond_caps",
        "Creates and new prices stopped by the caps on one order.",
        lambda r: r.counters.beyond_caps,
    ),
    counter("self_trades", "Self-trades seen.", lambda r: r.counters.self_trades),
    counter(
        "takes",
        "Takes by outcome, or by reason of dropping.",
        lambda r: by_name(r.counters.takes, (fate.value for fate in TakeOutcome)),
        "fate",
    ),
)

RISK: Final[tuple[Family[Report], ...]] = (
    gauge(
        "cash_available_cents",
        "Cash at the venue that is not reserved.",
        lambda r: r.cash_available_cents,
    ),
    gauge(
        "cash_reserved_cents",
        "Cash at the venue that resting orders lock.",
        lambda r: r.cash_reserved_cents,
    ),
    gauge(
        "rung_net_shares",
        "Inventory: YES less NO shares held.",
        per_rung(lambda g: g.yes_qty - g.no_qty),
        "rung",
    ),
    gauge(
        "rung_held_shares",
        "Shares held.",
        lambda r: [
            ((rung.ticker, outcome), float(qty))
            for rung in rungs(r)
            for outcome, qty in (("yes", rung.yes_qty), ("no", rung.no_qty))
        ],
        "rung outcome",
    ),
    gauge(
        "worst_case_cents",
        "Worst case: loss in the worst outcomes, over all subsets of fills.",
        lambda r: r.worst_case_cents,
    ),
    gauge("worst_case_max_cents", "Highest worst case so far.", lambda r: r.worst_case_max_cents),
    gauge(
        "held_worst_case_cents",
        "Loss of the inventory in the worst outcomes.",
        lambda r: series_loss_cents([min(e.outcome_cents) for e in r.events]),
    ),
    gauge(
        "worst_case_limit_cents",
        "Limit of the worst case.",
        lambda r: r.worst_case_limit_cents,
    ),
    gauge(
        "event_worst_case_cents",
        "Exposure of an event: loss in its worst outcome.",
        per_event(lambda e: e.worst_case_cents),
        "event",
    ),
    gauge(
        "event_expected_profit_cents",
        "Expected profit of what is held, by the fair curve; absent while that is unknown.",
        per_event(lambda e: None if e.risk is None else e.risk.expected_cents),
        "event",
    ),
    gauge(
        "event_expected_shortfall_cents",
        "Mean loss of what is held in the worst 5 % or 1 % of chance, by level in percent.",
        lambda r: shortfalls((e.event_ticker, e.risk) for e in r.events),
        "event level",
    ),
    gauge(
        "event_over_limit_chance",
        "Chance that what is held loses more than the event's loss limit, 0 to 1.",
        per_event(lambda e: None if e.risk is None else e.risk.over_limit_chance),
        "event",
    ),
    gauge(
        "company_expected_profit_cents",
        "Expected profit of what a company's events hold, by the first of several.",
        per_company(lambda risk: risk.expected_cents),
        "company",
    ),
    gauge(
        "company_expected_shortfall_cents",
        "Mean loss of what they hold in the worst 5 % or 1 % of chance, by level in percent.",
        lambda r: shortfalls((company.events[0], company.risk) for company in r.companies),
        "company level",
    ),
    gauge(
        "company_over_limit_chance",
        "Chance that what they hold loses more than the series' loss limit, 0 to 1.",
        per_company(lambda risk: risk.over_limit_chance),
        "company",
    ),
    gauge(
        "event_limit_used",
        "Use of a limit of an event, in the unit of its name.",
        per_event_limit(lambda each: each.used),
        "event limit",
    ),
    gauge(
        "event_limit",
        "The limit of an event, given what the other events use, in the unit of its name.",
        per_event_limit(lambda each: each.limit),
        "event limit",
    ),
    gauge(
        "ledger_difference_cents",
        "Reconciliation: the venue's cash less ours; absent before the books open.",
        lambda r: r.ledger_difference_cents,
    ),
    gauge(
        "unallocated_settlement_cents",
        "Settlements of the run that fit no outcome of their event.",
        lambda r: r.unallocated_cents,
    ),
)

PROFIT: Final[tuple[Family[Report], ...]] = (
    counter("fills", "Fills booked.", lambda r: r.counters.fills),
    counter(
        "rung_fills",
        "Fills booked, by rung.",
        lambda r: [((ticker,), float(row.fills)) for ticker, row in _rung_rows(r)],
        "rung",
    ),
    counter("filled_shares", "Shares of the fills booked.", _filled_shares, "side"),
    gauge("pnl_cents", "Cash of all fills and marked shares.", lambda r: r.pnl_cents),
    gauge("fees_cents", "Fees paid.", lambda r: r.fees_cents),
    gauge(
        "profit_part_cents",
        "Sources of the run's profit: spread, adverse drift in the ten seconds after fills, later"
        " drift, fees; they add up to it.",
        profit_parts,
        "part",
    ),
    gauge(
        "profit_stage_cents",
        "The same profit: realised by selling, settled by payouts, open at fair, fees; they add "
        "up to it.",
        _profit_stages,
        "stage",
    ),
    gauge(
        "rung_profit_part_cents",
        "Sources of the run's profit, by rung.",
        lambda r: [
            ((ticker, name), value) for ticker, row in _rung_rows(r) for name, value in _parts(row)
        ],
        "rung part",
    ),
    gauge(
        "markout_cents",
        "Move of the value for fills so long after them: cents a share, weighted by shares.",
        _side_markouts,
        "side against horizon_s",
    ),
    gauge(
        "rung_markout_cents", "Markouts against fair, by rung.", _rung_markouts, "rung horizon_s"
    ),
    gauge(
        "shadow_profit_part_cents",
        "Sources of a candidate's profit.",
        lambda r: [
            ((shadow.name, shadow.bound, name), value)
            for shadow in r.shadows
            for name, value in _parts(shadow.profit.total)
        ],
        "shadow bound part",
    ),
    gauge(
        "shadow_markout_cents",
        "Markouts of a candidate's simulated fills.",
        lambda r: [
            ((shadow.name, shadow.bound, *labels), value)
            for shadow in r.shadows
            for labels, value in _markouts(shadow.profit.total)
        ],
        "shadow bound against horizon_s",
    ),
    gauge(
        "shadow_stopped",
        "1 for a candidate that failed and stopped.",
        lambda r: [((s.name, s.bound), float(bool(s.stopped))) for s in r.shadows],
        "shadow bound",
    ),
    counter(
        "shadow_fills",
        "Simulated fills of a candidate.",
        lambda r: [((s.name, s.bound), float(s.profit.total.fills)) for s in r.shadows],
        "shadow bound",
    ),
)


RECORDS: Final[tuple[Family[Any], ...]] = (
    counter("records_fills", "Fills written into the records.", lambda k: k.fills),
    counter("records_failures", "Failed writes of the records.", lambda k: k.failures),
    gauge(
        "records_failing",
        "1 while the records cannot be written; they catch up from the journal.",
        lambda k: bool(k.fault),
    ),
    gauge(
        "records_behind_bytes",
        "Bytes of the journal not yet in the records.",
        lambda k: k.behind_bytes,
    ),
    gauge(
        "records_age_seconds",
        "Since the records were last written; absent before.",
        lambda k: seconds(k.age_ns),
    ),
    counter(
        "records_gaps",
        "Parts of the journal gone or damaged before they were read.",
        lambda k: k.gaps,
    ),
    gauge(
        "records_unreadable_fills",
        "Fills of an unknown market, or without cash and shares.",
        lambda k: k.unreadable,
    ),
)

NOTICES: Final[tuple[Family[Any], ...]] = (
    counter(
        "notices",
        "Notices by outcome: sent, repeated, dropped, lost.",
        lambda s: by_name(s.fates),
        "fate",
    ),
    gauge("notices_waiting", "Notices that are not delivered yet.", lambda s: s.waiting),
)

# --- notes ----------------------------------------------------------------------------------------

_NOTES: Final = {
    "debug": (
        "fills_complete",
        "fill_booked",
        "fill_marked",
        "fill_valued",
        "rung_settled",
        "strategy_diagnostics",
        "strategy_memory",
        "winner_told",
    ),
    "info": (
        *("config_applied", "config_proven", "create_identified"),
        *(
            "create_never_landed",
            "event_found",
            "event_left",
            "event_unknown",
            "feed_opened",
            "exit_began",
            "exit_over",
            "exiting",
            "flat",
            "flattening",
        ),
        *("latched_flat", "no_journal", "orders_kept", "paused", "quoting"),
        *("resumed", "rung_settled", "shares_taken_over", "stopping", "two_sided_everywhere"),
    ),
    "warning": (
        *("account_transfer", "amend_unknown", "amends_off", "answer_not_credible"),
        *("budget_raised", "budget_unknown", "budget_used"),
        *("answer_without_request", "cancel_hangs", "closed_order_listed"),
        *("ceiling_learned", "channel_behind", "create_unknown", "feed_closed", "fees_differ"),
        *("instant_unreadable", "news", "order_gone", "order_of_another_series"),
        "order_cancelled_by_others",
        "order_shrunk_without_fill",
        "order_still_rests",
        *("orders_beyond_limits", "orders_not_kept", "process_paused", "series_beside_unread"),
        *("side_parked", "trade_price_ignored", "unknown_creates_found"),
        "venue_parked",
    ),
    "error": (
        *("beyond_caps", "config_refused", "config_rollback_failed"),
        *("config_rolled_back", "journal_damaged"),
        *("request_refused", "strategy_failed", "strategy_stalled", "subscription_refused"),
        *("unallocated_settlement", "venue_clock_stepped"),
    ),
}
FINDINGS: Final = (
    *("account_unread", "amend_qty_is_total", "cancelled_by_others", "cancels_fail"),
    *("cash_differs", "event_unreadable", "fill_unreadable", "fills_missing"),
    *("foreign_orders", "foreign_spend", "inconsistency", "inconsistency_observed"),
    *("impossible_fact", "journal_failed", "key_refused", "latched", "latched_not_flat"),
    *("order_missing", "order_unreadable", "outside_value_unused", "position_differs"),
    "profit_unexplained",
    *("read_key_refused", "series_unread", "silent_target", "standby_key_refused"),
    *("status_unreadable", "strangers_found", "strategy_at_fault", "unknown_old"),
)
"""Noted at level error when they are new, and at level info when they no longer hold."""

NOTES: Final[tuple[tuple[str, str], ...]] = (
    *((level, name) for level, names in _NOTES.items() for name in names),
    *(("error", name) for name in FINDINGS),
    *(("info", f"{name}_cleared") for name in FINDINGS),
)
