"""The tables of metrics of what stands beside a run: the records that are kept, the notices
sent.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final, Generic, Protocol, TypeVar

import msgspec

from bot.core.distribution import KINDS
from bot.core.inconsistency import Inconsistency
from bot.core.orders.request_budget import Priority
from bot.core.report import BreakerReport, Phase, Report, RungReport, TakeOutcome
from bot.core.risk.exposure import series_loss_cents
from bot.core.risk.trim import TrimReason
from bot.io.metrics import profits
from bot.io.metrics.profits import MILLI
from venue.wire.errors import CODES
from venue.wire.instant import NS_PER_SECOND
from venue.wire.money import BookSide

Sample = tuple[tuple[str, ...], float]
_T = TypeVar("_T")


class Family(msgspec.Struct, Generic[_T], frozen=True):
    """One metric. `values` reads its samples, one per set of label values, off what it is told."""

    name: str
    help: str
    labels: tuple[str, ...]
    values: Callable[[_T], Iterable[Sample]]
    is_total: bool = False


FINDINGS_MAX: Final = 64
_LIVE: Final = frozenset({"open", "amending"})
_HOLDING_BACK: Final = (*("cash", "exposure", "pace", "resting_orders", "time_to_flat"),)


def one(value: float | None) -> list[Sample]:
    """The sample of a metric without labels; none while its value is not known."""
    return [] if value is None else [((), float(value))]


def seconds(value_ns: int | None) -> float | None:
    """Nanoseconds as seconds."""
    return None if value_ns is None else value_ns / NS_PER_SECOND


def rungs(report: Report) -> Iterator[RungReport]:
    """Every rung of a report."""
    return (rung for event in report.events for rung in event.rungs)


def per_rung(value: Callable[[RungReport], float | None]) -> Callable[[Report], list[Sample]]:
    """A sample for every rung where the value is known."""

    def values(report: Report) -> list[Sample]:
        found = [(rung.ticker, value(rung)) for rung in rungs(report)]
        return [((ticker,), float(each)) for ticker, each in found if each is not None]

    return values


def per_side(value: Callable[[RungReport, BookSide], float]) -> Callable[[Report], list[Sample]]:
    """A sample for both sides of every rung."""
    return lambda report: [
        ((rung.ticker, side.value), float(value(rung, side)))
        for rung in rungs(report)
        for side in BookSide
    ]


def named(counts: Mapping[str, int]) -> list[Sample]:
    """A sample for every name that was counted."""
    return [((name,), float(count)) for name, count in sorted(counts.items())]


def counted_from_0(names: Iterable[str], counts: dict[str, int]) -> list[Sample]:
    """A sample for every one of these names, and for every other that was counted."""
    return named({str(name): 0 for name in names} | counts)


def levels(of: Callable[[BreakerReport], int]) -> Callable[[Report], list[Sample]]:
    """A sample for every limit of every event."""
    return lambda report: [
        ((event.event_ticker, each.name), float(of(each)))
        for event in report.events
        for each in event.limits
    ]


def finding_names(report: Report) -> list[str]:
    """The names of the findings that stand, without their texts."""
    return sorted({text.partition(":")[0] for text in report.findings})[:FINDINGS_MAX]


def _wanted(rung: RungReport, side: BookSide) -> int:
    wanted = rung.wanted_bids if side is BookSide.BID else rung.wanted_asks
    return sum(qty for _, qty in wanted)


def _resting(rung: RungReport, side: BookSide) -> int:
    return sum(o.remaining_qty for o in rung.orders if o.side is side and o.state in _LIVE)


STATE: Final[tuple[Family[Report], ...]] = (
    Family(
        "phase",
        "1 for what the trader is doing, 0 for the rest.",
        ("phase",),
        lambda r: [((phase.value,), float(r.phase is phase)) for phase in Phase],
    ),
    Family(
        "paper",
        "1 for a run on paper: its orders are on a local exchange and never reach the venue.",
        (),
        lambda r: one(float(r.paper)),
    ),
    Family(
        "flattening",
        "1 while only what shrinks a position is quoted.",
        (),
        lambda r: one(float(bool(r.flattening))),
    ),
    Family(
        "latched",
        "1 while nothing is quoted until a person clears the latch.",
        (),
        lambda r: one(float(bool(r.latched))),
    ),
    Family(
        "inconsistency",
        "1 for the kind of contradiction that stopped the bot, until a person resets it.",
        ("kind",),
        lambda r: [((kind,), float(r.inconsistency == kind)) for kind in Inconsistency],
    ),
    Family(
        "config_changes",
        "Changes of the configuration by what became of them: applied, refused, rolled back.",
        ("outcome",),
        lambda r: [
            (("applied",), float(r.config.applied)),
            (("refused",), float(r.config.refused)),
            (("rolled_back",), float(r.config.rolled_back)),
        ],
        True,
    ),
    Family(
        "config_at_fault",
        "1 while the newest change of the configuration file does not hold.",
        (),
        lambda r: one(float(bool(r.config.fault))),
    ),
    Family("findings", "Things a person should look at.", (), lambda r: one(len(r.findings))),
    Family(
        "finding",
        "1 for every thing that a person should look at, by name.",
        ("finding",),
        lambda r: [((name,), 1.0) for name in finding_names(r)],
    ),
    Family(
        "breaker_used",
        "How much of a breaker's limit is used up, in the unit of its name.",
        ("breaker",),
        lambda r: [((each.name,), float(each.used)) for each in r.breakers],
    ),
    Family(
        "breaker_limit",
        "What trips the breaker when it is passed, in the unit of its name.",
        ("breaker",),
        lambda r: [((each.name,), float(each.limit)) for each in r.breakers],
    ),
    Family(
        "breaker_trips",
        "Times a breaker tripped.",
        ("breaker",),
        lambda r: counted_from_0((each.name for each in r.breakers), r.counters.breaker_trips),
        True,
    ),
)

FEED: Final[tuple[Family[Report], ...]] = (
    Family(
        "feed_age_seconds",
        "Since the channel last answered; absent before it has, anew after each opening.",
        (),
        lambda r: one(None if r.feed_heard_ns is None else seconds(r.now_ns - r.feed_heard_ns)),
    ),
    Family(
        "feed_silent_after_seconds",
        "A longer silence of the channel is told: ten seconds, or `trust.heard_ms` if longer.",
        (),
        lambda r: one(seconds(r.feed_silent_after_ns)),
    ),
    Family(
        "rung_book_age_seconds",
        "Since the rung's book was last confirmed; absent once its market has resolved.",
        ("rung",),
        per_rung(lambda g: seconds(g.book_age_ns)),
    ),
    Family("frames", "Frames of the channel.", (), lambda r: one(r.counters.frames), True),
    Family(
        "frames_garbled",
        "Frames that could not be read.",
        (),
        lambda r: one(r.counters.frames_garbled),
        True,
    ),
    Family(
        "rung_fair_cents",
        "Fair value; absent once its market has resolved, or a winner has decided it.",
        ("rung",),
        per_rung(lambda g: g.fair_cents),
    ),
    Family(
        "event_implied_median_dollars",
        "The value that the fair curve takes to be as likely passed as not.",
        ("event",),
        lambda r: [
            ((e.event_ticker,), e.implied.median)
            for e in r.events
            if e.implied is not None and e.implied.median is not None
        ],
    ),
    Family(
        "event_alarms",
        "Contradictions in the prices of a ladder, by kind.",
        ("event", "kind"),
        lambda r: [
            ((e.event_ticker, kind), float(sum(alarm.kind == kind for alarm in e.alarms)))
            for e in r.events
            for kind in KINDS
        ],
    ),
    Family(
        "news_pulls",
        "Times that news pulled all rungs of an event.",
        (),
        lambda r: one(r.counters.news_pulls),
        True,
    ),
)

QUOTES: Final[tuple[Family[Report], ...]] = (
    Family("decisions", "Decisions of an event.", (), lambda r: one(r.counters.decisions), True),
    Family(
        "rung_quotable",
        "1 when the rung can be quoted.",
        ("rung",),
        per_rung(lambda g: float(not g.blocked)),
    ),
    Family(
        "rung_wanted_shares",
        "Shares that orders are steered to.",
        ("rung", "side"),
        per_side(_wanted),
    ),
    Family(
        "rung_resting_shares",
        "Shares of ours that rest.",
        ("rung", "side"),
        per_side(_resting),
    ),
    Family(
        "rung_on_target",
        "1 when all that is wanted on a side of a rung rests there, within pace.tolerance_ticks "
        "and pace.resize_pct.",
        ("rung", "side"),
        per_side(lambda g, side: float(side in g.on_target)),
    ),
    Family(
        "rung_orders",
        "Orders of ours that may be live.",
        ("rung",),
        per_rung(lambda g: len(g.orders)),
    ),
    Family(
        "event_quotes_cut",
        "Wanted quotes that a limit makes smaller or leaves out, by limit.",
        ("event", "limit"),
        lambda r: [
            ((e.event_ticker, *name), count)
            for e in r.events
            for name, count in counted_from_0(TrimReason, e.cuts)
        ],
    ),
    Family(
        "strategy_errors",
        "Times a strategy raised or returned nonsense.",
        (),
        lambda r: one(r.counters.strategy_errors),
        True,
    ),
    Family(
        "strategy_overruns",
        "Calls of a strategy that took too long.",
        (),
        lambda r: one(r.counters.strategy_overruns),
        True,
    ),
    Family(
        "strategy_interrupted",
        "Calls of a strategy that were ended by force.",
        (),
        lambda r: one(r.counters.strategy_interrupted),
        True,
    ),
    Family(
        "strategy_at_fault",
        "1 from a fault of an event's strategy until it has behaved.",
        ("event",),
        lambda r: [((e.event_ticker,), float(bool(e.strategy_fault))) for e in r.events],
    ),
)

ORDERS: Final[tuple[Family[Report], ...]] = (
    Family("resting_orders", "Orders of ours that may be live.", (), lambda r: one(r.resting)),
    Family(
        "unknown_orders",
        "Orders whose last request has no definite answer.",
        (),
        lambda r: one(r.unknown_open),
    ),
    Family(
        "unknown_oldest_seconds",
        "Age of the oldest order without a definite answer; 0 without one.",
        (),
        lambda r: one(seconds(r.unknown_oldest_ns)),
    ),
    Family("requests_in_flight", "Requests without an answer yet.", (), lambda r: one(r.in_flight)),
    Family("requests", "Requests sent.", ("kind",), lambda r: named(r.counters.requests), True),
    Family(
        "requests_refused",
        "Requests refused.",
        ("code",),
        lambda r: counted_from_0((code.value for code in CODES), r.counters.refused),
        True,
    ),
    Family(
        "requests_denied",
        "Requests that had to wait for a token of our own, by lane, once a decision.",
        ("lane",),
        lambda r: counted_from_0((lane.name.lower() for lane in Priority), r.counters.denied),
        True,
    ),
    Family(
        "held_back",
        "Orders and changes that a limit held back as they were to leave, by limit.",
        ("limit",),
        lambda r: counted_from_0(_HOLDING_BACK, r.counters.held_back),
        True,
    ),
    Family(
        "answers_unknown",
        "Requests without a definite answer.",
        (),
        lambda r: one(r.counters.unknown_answers),
        True,
    ),
    Family("rate_limited", "Answers of 429.", (), lambda r: one(r.counters.rate_limited), True),
    Family("tokens", "Requests that may be sent at once.", (), lambda r: one(r.tokens)),
    Family(
        "tokens_reserve",
        "Tokens of those that only cancels and recovery may use.",
        (),
        lambda r: one(None if r.budget is None else r.budget.reserve),
    ),
    Family(
        "tokens_burst",
        "Tokens at most.",
        (),
        lambda r: one(None if r.budget is None else r.budget.burst),
    ),
    Family(
        "closed_seconds",
        "How long nothing may leave yet because the venue said wait.",
        (),
        lambda r: one(None if r.budget is None else seconds(r.budget.waits_ns)),
    ),
    Family(
        "time_to_flat_seconds",
        "How long cancelling everything would take with the tokens there are.",
        (),
        lambda r: one(seconds(r.flat_ns)),
    ),
    Family(
        "foreign_tokens",
        "Tokens that somebody else took from our keys, where that is a finding.",
        (),
        lambda r: one(r.foreign_tokens),
    ),
    Family(
        "amends",
        "Amends by whether the place in the queue was kept.",
        ("place",),
        lambda r: [
            (("kept",), float(r.counters.amends_kept_place)),
            (("lost",), float(r.counters.amends_lost_place)),
        ],
        True,
    ),
    Family(
        "beyond_caps",
        "Creates and new prices held back by the caps on one order.",
        (),
        lambda r: one(r.counters.beyond_caps),
        True,
    ),
    Family("self_trades", "Self-trades seen.", (), lambda r: one(r.counters.self_trades), True),
    Family(
        "takes",
        "Orders that trade at once, by what became of them; or why they were dropped.",
        ("fate",),
        lambda r: counted_from_0((fate.value for fate in TakeOutcome), r.counters.takes),
        True,
    ),
)

_NOTES: Final = {
    "debug": (
        "fills_complete",
        "fill_booked",
        "fill_marked",
        "fill_valued",
        "rung_settled",
        "winner_told",
    ),
    "info": (
        *("config_applied", "config_proven", "create_identified"),
        *("create_never_landed", "event_found", "event_left", "feed_opened", "flat", "flattening"),
        *("latched_flat", "no_journal", "orders_kept", "paused", "quoting"),
        *("resumed", "rung_settled", "shares_taken_over", "stopping", "two_sided_everywhere"),
    ),
    "warning": (
        *("account_transfer", "amend_unknown", "amends_off", "answer_not_credible"),
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
    *("order_missing", "order_unreadable", "position_differs", "profit_unexplained"),
    *("read_key_refused", "series_unread", "silent_target", "standby_key_refused"),
    *("status_unreadable", "strangers_found", "strategy_at_fault", "unknown_old"),
)
"""Noted at level error when they are new, and at level info when they no longer hold."""

NOTES: Final[tuple[tuple[str, str], ...]] = (
    *((level, name) for level, names in _NOTES.items() for name in names),
    *(("error", name) for name in FINDINGS),
    *(("info", f"{name}_cleared") for name in FINDINGS),
)


def _held(report: Report) -> list[Sample]:
    def both(rung: RungReport) -> list[Sample]:
        return [
            ((rung.ticker, "yes"), float(rung.yes_qty)),
            ((rung.ticker, "no"), float(rung.no_qty)),
        ]

    return [sample for rung in rungs(report) for sample in both(rung)]


def _stages(report: Report) -> list[Sample]:
    """Realised, settled and open profit, and the fees: they too add up to the profit."""
    profit = report.profit
    if profit is None:
        return []
    return [
        (("realised",), profit.realised_millicents / MILLI),
        (("settled",), profit.settled_millicents / MILLI),
        (("open",), profit.open_millicents / MILLI),
        (("fees",), float(-profit.total.fees_cents)),
    ]


def _rung_fills(report: Report) -> list[Sample]:
    """Fills of every rung that the report shows."""
    if report.profit is None:
        return []
    filled = {row.name: row.fills for row in report.profit.by["rung"]}
    return [((rung.ticker,), float(filled.get(rung.ticker, 0))) for rung in rungs(report)]


def _side_shares(report: Report) -> list[Sample]:
    """Shares filled on either side."""
    if report.profit is None:
        return []
    shares = {row.name: row.qty for row in report.profit.by["side"]}
    return [((side.value,), float(shares.get(side.value, 0))) for side in BookSide]


RISK: Final[tuple[Family[Report], ...]] = (
    Family(
        "cash_available_cents",
        "Cash at the venue that is not reserved.",
        (),
        lambda r: one(r.cash_available_cents),
    ),
    Family(
        "cash_reserved_cents",
        "Cash at the venue that resting orders lock.",
        (),
        lambda r: one(r.cash_reserved_cents),
    ),
    Family(
        "rung_net_shares",
        "YES less NO shares held.",
        ("rung",),
        per_rung(lambda g: g.yes_qty - g.no_qty),
    ),
    Family("rung_held_shares", "Shares held.", ("rung", "outcome"), _held),
    Family(
        "worst_case_cents",
        "Loss in the worst outcomes over every subset of fills.",
        (),
        lambda r: one(r.worst_case_cents),
    ),
    Family(
        "worst_case_max_cents",
        "The highest worst case so far.",
        (),
        lambda r: one(r.worst_case_max_cents),
    ),
    Family(
        "held_worst_case_cents",
        "Loss in the worst outcomes if nothing more fills.",
        (),
        lambda r: one(series_loss_cents([min(e.outcome_cents) for e in r.events])),
    ),
    Family(
        "worst_case_limit_cents",
        "What the worst case may not pass.",
        (),
        lambda r: one(r.worst_case_limit_cents),
    ),
    Family(
        "event_worst_case_cents",
        "Loss in the worst outcome of an event.",
        ("event",),
        lambda r: [((e.event_ticker,), float(e.worst_case_cents)) for e in r.events],
    ),
    Family(
        "event_limit_used",
        "How much of a limit of an event is used up, in the unit of its name.",
        ("event", "limit"),
        levels(lambda each: each.used),
    ),
    Family(
        "event_limit",
        "The limit of an event as it stands beside the other events, in the unit of its name.",
        ("event", "limit"),
        levels(lambda each: each.limit),
    ),
    Family(
        "ledger_difference_cents",
        "The venue's cash less ours at the newest audit; absent before the books are open.",
        (),
        lambda r: one(r.ledger_difference_cents),
    ),
    Family(
        "unallocated_settlement_cents",
        "Settlements of the run that fit no outcome of their event.",
        (),
        lambda r: one(r.unallocated_cents),
    ),
)

PROFIT: Final[tuple[Family[Report], ...]] = (
    Family("fills", "Fills booked.", (), lambda r: one(r.counters.fills), True),
    Family("rung_fills", "Fills booked, by rung.", ("rung",), _rung_fills, True),
    Family("filled_shares", "Shares of the fills booked.", ("side",), _side_shares, True),
    Family("pnl_cents", "Cash of all fills and marked shares.", (), lambda r: one(r.pnl_cents)),
    Family("fees_cents", "Fees paid.", (), lambda r: one(r.fees_cents)),
    Family(
        "profit_part_cents",
        "Where the profit of this run comes from: spread captured, adverse drift in the ten "
        "seconds after fills, drift of the inventory since, fees; the parts add up to it.",
        ("part",),
        profits.part_samples,
    ),
    Family(
        "profit_stage_cents",
        "The same profit by how sure it is: realised by selling again, settled by a payout, open "
        "at fair, fees; the stages add up to it.",
        ("stage",),
        _stages,
    ),
    Family(
        "rung_profit_part_cents",
        "Where the profit of this run comes from, by rung.",
        ("rung", "part"),
        profits.rung_samples,
    ),
    Family(
        "markout_cents",
        "How far values had moved for fills so long after them: cents a share, weighted by shares.",
        ("side", "against", "horizon_s"),
        profits.side_markout_samples,
    ),
    Family(
        "rung_markout_cents",
        "The same against fair, by rung.",
        ("rung", "horizon_s"),
        profits.rung_markout_samples,
    ),
    Family(
        "shadow_profit_part_cents",
        "Where the profit of a candidate would have come from.",
        ("shadow", "bound", "part"),
        profits.shadow_part_samples,
    ),
    Family(
        "shadow_markout_cents",
        "Markouts of the fills that a candidate would have had.",
        ("shadow", "bound", "against", "horizon_s"),
        profits.shadow_markout_samples,
    ),
    Family(
        "shadow_stopped",
        "1 for a candidate that failed and is asked no more.",
        ("shadow", "bound"),
        lambda r: [((s.name, s.bound), float(bool(s.stopped))) for s in r.shadows],
    ),
    Family(
        "shadow_fills",
        "Fills that a candidate would have had.",
        ("shadow", "bound"),
        lambda r: [((s.name, s.bound), float(s.profit.total.fills)) for s in r.shadows],
        True,
    ),
)


class Kept(Protocol):
    """How the records stand; see `bot.records.recorder.Progress`."""

    fills: int
    failures: int
    gaps: int
    unreadable: int
    behind_bytes: int
    fault: str

    @property
    def age_ns(self) -> int | None:
        """Since they were last written; None before."""
        ...


class NoticeCounts(Protocol):
    """What became of the notices; see `bot.io.notices.Counts`."""

    fates: dict[str, int]
    waiting: int


RECORDS: Final[tuple[Family[Kept], ...]] = (
    Family("records_fills", "Fills written into the records.", (), lambda k: one(k.fills), True),
    Family(
        "records_failures",
        "Times that the records could not be written.",
        (),
        lambda k: one(k.failures),
        True,
    ),
    Family(
        "records_failing",
        "1 while the records cannot be written; they catch up from the journal.",
        (),
        lambda k: one(float(bool(k.fault))),
    ),
    Family(
        "records_behind_bytes",
        "How much of the journal is not in the records yet.",
        (),
        lambda k: one(k.behind_bytes),
    ),
    Family(
        "records_age_seconds",
        "Since the records were last written; absent before.",
        (),
        lambda k: one(seconds(k.age_ns)),
    ),
    Family(
        "records_gaps",
        "Times that a part of the journal was gone or damaged before it was read.",
        (),
        lambda k: one(k.gaps),
        True,
    ),
    Family(
        "records_unreadable_fills",
        "Fills of the venue that are no cash and shares, or of an unknown market.",
        (),
        lambda k: one(k.unreadable),
    ),
)

NOTICES: Final[tuple[Family[NoticeCounts], ...]] = (
    Family(
        "notices",
        "Notices by what became of them: sent, repeated, dropped, lost.",
        ("fate",),
        lambda s: named(s.fates),
        True,
    ),
    Family("notices_waiting", "Notices that are not delivered yet.", (), lambda s: one(s.waiting)),
)
