"""Every metric of the bot: one table of names, units, help and labels, and how each is read.

Gauges and totals are read off the newest report when somebody asks; only request times are counted
along the way. Labels come from closed sets and from the rungs of one series: never an order id.

Source: design, The bot, item 10; reliability, row 110.
"""

import time
from collections.abc import Callable, Iterable, Iterator
from typing import Final

import msgspec
from prometheus_client import CollectorRegistry, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from bot.core import messages as m
from bot.core.distribution import KINDS
from bot.core.report import Phase, Report, RungReport
from bot.io import profits
from venue.wire.instant import NS_PER_SECOND

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
_PREFIX: Final = "laddermaker_"
_BUCKETS_S: Final = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10)
_NOTES_MAX: Final = 200

Sample = tuple[tuple[str, ...], float]


class Family(msgspec.Struct, frozen=True):
    """One metric. `values` reads its samples, one per set of label values, off a report."""

    name: str
    help: str
    labels: tuple[str, ...]
    values: Callable[[Report], Iterable[Sample]]
    is_total: bool = False


def _one(value: float | None) -> list[Sample]:
    return [] if value is None else [((), float(value))]


def _rungs(report: Report) -> Iterator[RungReport]:
    return (rung for event in report.events for rung in event.rungs)


def _per_rung(value: Callable[[RungReport], float | None]) -> Callable[[Report], list[Sample]]:
    def values(report: Report) -> list[Sample]:
        found = [(rung.ticker, value(rung)) for rung in _rungs(report)]
        return [((ticker,), float(each)) for ticker, each in found if each is not None]

    return values


def _named(counts: dict[str, int]) -> list[Sample]:
    return [((name,), float(count)) for name, count in sorted(counts.items())]


FAMILIES: Final[tuple[Family, ...]] = (
    Family(
        "phase",
        "1 for what the trader is doing, 0 for the rest.",
        ("phase",),
        lambda r: [((phase.value,), float(r.phase is phase)) for phase in Phase],
    ),
    Family("resting_orders", "Orders of ours that may be live.", (), lambda r: _one(r.resting)),
    Family(
        "unknown_orders",
        "Orders whose last request has no definite answer.",
        (),
        lambda r: _one(r.unknown_open),
    ),
    Family(
        "requests_in_flight", "Requests without an answer yet.", (), lambda r: _one(r.in_flight)
    ),
    Family("tokens", "Requests that may be sent at once.", (), lambda r: _one(r.tokens)),
    Family(
        "time_to_flat_seconds",
        "How long cancelling everything would take with the tokens there are.",
        (),
        lambda r: _one(r.flat_ns / NS_PER_SECOND),
    ),
    Family(
        "foreign_requests_per_second",
        "Requests of somebody else on our keys, where they are a finding.",
        (),
        lambda r: _one(r.foreign_per_second),
    ),
    Family(
        "cash_available_cents",
        "Cash at the venue that is not reserved.",
        (),
        lambda r: _one(r.cash_available_cents),
    ),
    Family("pnl_cents", "Cash of all fills and marked shares.", (), lambda r: _one(r.pnl_cents)),
    Family("fees_cents", "Fees paid.", (), lambda r: _one(r.fees_cents)),
    Family(
        "profit_part_cents",
        "Where the profit of this run comes from; the parts add up to it.",
        ("part",),
        profits.part_samples,
    ),
    Family(
        "rung_profit_part_cents",
        "The same, by rung.",
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
    Family(
        "worst_case_cents",
        "Loss in the worst outcomes over every subset of fills.",
        (),
        lambda r: _one(r.worst_case_cents),
    ),
    Family(
        "worst_case_max_cents",
        "The highest worst case so far.",
        (),
        lambda r: _one(r.worst_case_max_cents),
    ),
    Family(
        "worst_case_limit_cents",
        "What the worst case may not pass.",
        (),
        lambda r: _one(r.worst_case_limit_cents),
    ),
    Family(
        "ledger_difference_cents",
        "The venue's cash less ours; absent until both were read.",
        (),
        lambda r: _one(r.ledger_difference_cents),
    ),
    Family(
        "feed_age_seconds",
        "Since the channel last answered.",
        (),
        lambda r: _one(
            None if r.feed_heard_ns is None else (r.now_ns - r.feed_heard_ns) / NS_PER_SECOND
        ),
    ),
    Family("findings", "Things a person should look at.", (), lambda r: _one(len(r.findings))),
    Family(
        "latched",
        "1 while nothing is quoted until a person clears the latch.",
        (),
        lambda r: _one(float(bool(r.latched))),
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
        "event_worst_case_cents",
        "Loss in the worst outcome of an event.",
        ("event",),
        lambda r: [((e.event_ticker,), float(e.worst_case_cents)) for e in r.events],
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
    Family("rung_fair_cents", "Fair value.", ("rung",), _per_rung(lambda g: g.fair_cents)),
    Family(
        "rung_net_shares",
        "YES less NO shares held.",
        ("rung",),
        _per_rung(lambda g: g.yes_qty - g.no_qty),
    ),
    Family(
        "rung_orders",
        "Orders of ours that may be live.",
        ("rung",),
        _per_rung(lambda g: len(g.orders)),
    ),
    Family(
        "rung_quotable",
        "1 when the rung can be quoted.",
        ("rung",),
        _per_rung(lambda g: float(not g.blocked)),
    ),
    Family(
        "rung_book_age_seconds",
        "Since the rung's book was last confirmed.",
        ("rung",),
        _per_rung(lambda g: None if g.book_age_ns is None else g.book_age_ns / NS_PER_SECOND),
    ),
    Family("frames", "Frames of the channel.", (), lambda r: _one(r.counters.frames), True),
    Family(
        "frames_garbled",
        "Frames that could not be read.",
        (),
        lambda r: _one(r.counters.frames_garbled),
        True,
    ),
    Family("decisions", "Decisions of an event.", (), lambda r: _one(r.counters.decisions), True),
    Family("fills", "Fills booked.", (), lambda r: _one(r.counters.fills), True),
    Family("requests", "Requests sent.", ("kind",), lambda r: _named(r.counters.requests), True),
    Family(
        "requests_refused",
        "Requests refused.",
        ("code",),
        lambda r: _named(r.counters.refused),
        True,
    ),
    Family(
        "answers_unknown",
        "Writes without a definite answer.",
        (),
        lambda r: _one(r.counters.unknown_answers),
        True,
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
        "breaker_trips",
        "Times a breaker tripped.",
        ("breaker",),
        lambda r: _named(r.counters.breaker_trips),
        True,
    ),
    Family(
        "beyond_caps",
        "Creates and new prices held back by the caps on one order.",
        (),
        lambda r: _one(r.counters.beyond_caps),
        True,
    ),
    Family("self_trades", "Self-trades seen.", (), lambda r: _one(r.counters.self_trades), True),
    Family("rate_limited", "Answers of 429.", (), lambda r: _one(r.counters.rate_limited), True),
    Family(
        "strategy_errors",
        "Times a strategy raised or returned nonsense.",
        (),
        lambda r: _one(r.counters.strategy_errors),
        True,
    ),
    Family(
        "news_pulls",
        "Times that news pulled all rungs of an event.",
        (),
        lambda r: _one(r.counters.news_pulls),
        True,
    ),
    Family(
        "strategy_overruns",
        "Calls of a strategy that took too long.",
        (),
        lambda r: _one(r.counters.strategy_overruns),
        True,
    ),
    Family(
        "strategy_interrupted",
        "Calls of a strategy that were ended by force.",
        (),
        lambda r: _one(r.counters.strategy_interrupted),
        True,
    ),
    Family(
        "strategy_at_fault",
        "1 from a fault of an event's strategy until it has behaved.",
        ("event",),
        lambda r: [((e.event_ticker,), float(bool(e.strategy_fault))) for e in r.events],
    ),
    Family(
        "takes",
        "Orders that trade at once, by what became of them; or why they were dropped.",
        ("fate",),
        lambda r: _named(r.counters.takes),
        True,
    ),
)


class Metrics(Collector):
    """The bot's own registry: nothing of the process-wide default one is in it."""

    def __init__(self, latest: Callable[[], Report | None]) -> None:
        """latest: the newest report, None before there is one."""
        self._latest = latest
        self._started_s = time.time()
        self._sent: dict[m.RequestId, tuple[str, int]] = {}
        self._notes: dict[tuple[str, str], int] = {}
        self._registry = CollectorRegistry(auto_describe=False)
        self._seconds = Histogram(
            f"{_PREFIX}request_seconds",
            "From a request's sending to its answer.",
            ("kind", "answer"),
            buckets=_BUCKETS_S,
            registry=self._registry,
        )
        self._registry.register(self)

    def did(self, effect: m.Effect, at_ns: int) -> None:
        """Count an effect of the trader."""
        if isinstance(effect, m.Send):
            self._sent[effect.request_id] = (type(effect.request).__name__, at_ns)
        elif isinstance(effect, m.Noted):
            note = (effect.level, effect.name)
            if note in self._notes or len(self._notes) < _NOTES_MAX:
                self._notes[note] = self._notes.get(note, 0) + 1

    def saw(self, event: m.Event, at_ns: int) -> None:
        """Count an event of the trader."""
        if isinstance(event, m.Replied) and event.request_id in self._sent:
            kind, sent_ns = self._sent.pop(event.request_id)
            answer = type(event.answer).__name__
            self._seconds.labels(kind, answer).observe((at_ns - sent_ns) / NS_PER_SECOND)

    def collect(self) -> Iterator[Metric]:
        """What the registry asks for: every family that can be read now."""
        yield GaugeMetricFamily(
            f"{_PREFIX}process_start_time_seconds", "When the bot started.", self._started_s
        )
        notes = CounterMetricFamily(
            f"{_PREFIX}notes", "Things noted, by level and name.", labels=("level", "name")
        )
        for note, count in sorted(self._notes.items()):
            notes.add_metric(note, count)
        yield notes
        report = self._latest()
        if report is None:
            return
        for family in FAMILIES:
            kind = CounterMetricFamily if family.is_total else GaugeMetricFamily
            shown = kind(_PREFIX + family.name, family.help, labels=family.labels)
            for labels, value in family.values(report):
                shown.add_metric(labels, value)
            yield shown

    def text(self) -> bytes:
        """All of it in the text format."""
        return generate_latest(self._registry)
