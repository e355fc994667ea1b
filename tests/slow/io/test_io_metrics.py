"""Claims about the metrics: they show what report and shell know, in bounded number."""

import ast
import asyncio
import os
import threading
import time

import httpx
import msgspec
import pytest
from prometheus_client.parser import text_string_to_metric_families

from bot.core import messages as m
from bot.core.orders.transitions import OrderFinding
from bot.core.outcome_risk import CompanyRisk, risk_of
from bot.core.report import (
    BreakerReport,
    ConfigReport,
    Move,
    ProfitReport,
    ProfitRow,
    Reaction,
    Report,
)
from bot.io.journal.journal import Journal
from bot.io.metrics.metrics import COUNTED, FAMILIES, TIMED, Metrics, text_of
from bot.io.metrics.table import FINDINGS, NOTES
from bot.io.run.inbox import ConflatingQueue
from bot.io.run.watchdog import StrategyWatchdog
from bot.io.state.heartbeat import REAPER, Heartbeat
from bot.io.status.snapshot import StatusSource
from bot.io.status.status import REAPER_HEADER, StatusApp
from bot.strategy.api import EventView, Quotes, Strategy
from tests.builders.house.tree import python_files
from tests.builders.io.samples import ORDER_ID, RUNG, create, operator_value, report, sent
from tests.builders.strategies import views
from venue.wire.money import BookSide, Cents, Price, Qty

SECOND = 10**9
MS = 10**6


def samples(metrics: Metrics) -> dict[tuple[str, tuple[str, ...]], float]:
    """Values by name and the values of the labels in the order of their names, series left out."""
    return values_of(metrics.text())


def values_of(text: bytes) -> dict[tuple[str, tuple[str, ...]], float]:
    return {
        (
            sample.name,
            tuple(value for name, value in sorted(sample.labels.items()) if name != "series"),
        ): sample.value
        for family in text_string_to_metric_families(text.decode())
        for sample in family.samples
    }


def test_the_metrics_show_the_figures_of_the_report():
    found = samples(Metrics(report))
    assert (
        found.items()
        >= {
            ("laddermaker_pnl_cents", ()): -7,
            ("laddermaker_phase", ("quoting",)): 1,
            ("laddermaker_phase", ("paused",)): 0,
            ("laddermaker_requests_total", ("create",)): 2,
            ("laddermaker_requests_refused_total", ("rate_limited",)): 1,
            ("laddermaker_rung_net_shares", ("X-26Q4-1B",)): 3,
            ("laddermaker_held_worst_case_cents", ()): 5,
            ("laddermaker_rung_held_shares", ("yes", "X-26Q4-1B")): 3,
            ("laddermaker_rung_resting_shares", ("X-26Q4-1B", "bid")): 10,
            ("laddermaker_rung_resting_shares", ("X-26Q4-1B", "ask")): 0,
        }.items()
    )
    names = {name for name, _ in samples(Metrics(lambda: None))}
    assert "laddermaker_process_start_time_seconds" in names
    assert "laddermaker_pnl_cents" not in names


def test_the_metrics_show_findings_by_name_and_the_digest_of_the_configuration():
    shown = changed(
        findings=("cash_differs: the venue has 3 cents more",),
        config=ConfigReport(digest="0123456789ab", applied=2),
    )
    metrics = Metrics(lambda: shown)
    assert samples(metrics)["laddermaker_finding", ("cash_differs",)] == 1
    assert samples(metrics)["laddermaker_findings", ()] == 1
    assert 'laddermaker_build_info{config="0123456789ab"' in metrics.text().decode()


def changed(**fields) -> Report:
    return msgspec.structs.replace(report(), **fields)


def with_rung(now_ns: int = SECOND, state: str = "active", **fields) -> Report:
    """The sample report at an instant, its rung with other fields."""
    shown = report(now_ns=now_ns)
    rung = msgspec.structs.replace(shown.events[0].rungs[0], state=state, **fields)
    event = msgspec.structs.replace(shown.events[0], rungs=(rung,))
    return msgspec.structs.replace(shown, events=(event,))


def test_expected_profit_shortfall_and_chance_beyond_the_limit_are_shown_by_event():
    risk = risk_of((-500, 300), (0.25, 0.75), Cents(400))
    event = msgspec.structs.replace(report().events[0], risk=risk)
    found = samples(Metrics(lambda: changed(events=(event,))))
    assert found["laddermaker_event_expected_profit_cents", ("X-26Q4",)] == 100
    assert found["laddermaker_event_expected_shortfall_cents", ("X-26Q4", "95")] == 500
    assert found["laddermaker_event_over_limit_chance", ("X-26Q4",)] == 0.25
    without = samples(Metrics(report))
    assert ("laddermaker_event_expected_profit_cents", ("X-26Q4",)) not in without


def test_the_risk_of_a_company_s_events_together_is_shown_while_it_is_known():
    risk = risk_of((-500, 300), (0.25, 0.75), Cents(400))
    known = CompanyRisk(project_id="p", events=("X-1", "X-2"), correlation=0.3, risk=risk)
    unknown = msgspec.structs.replace(known, project_id="q", events=("Y-1", "Y-2"), risk=None)
    found = samples(Metrics(lambda: changed(companies=(known, unknown))))
    assert found["laddermaker_company_expected_profit_cents", ("X-1",)] == 100
    assert found["laddermaker_company_expected_shortfall_cents", ("X-1", "99")] == 500
    assert found["laddermaker_company_over_limit_chance", ("X-1",)] == 0.25
    assert ("laddermaker_company_over_limit_chance", ("Y-1",)) not in found


def test_the_limits_of_an_event_are_shown_with_what_is_used_of_them():
    event = msgspec.structs.replace(
        report().events[0],
        limits=(BreakerReport("event_net_qty", 30, 100),),
        cuts={"event_net": 2},
    )
    found = samples(Metrics(lambda: changed(events=(event,))))
    assert found["laddermaker_event_limit_used", ("X-26Q4", "event_net_qty")] == 30
    assert found["laddermaker_event_limit", ("X-26Q4", "event_net_qty")] == 100
    assert found["laddermaker_event_quotes_cut", ("X-26Q4", "event_net")] == 2


def test_the_series_of_one_process_share_metrics_and_differ_by_label():
    other = Metrics(lambda: changed(series_ticker="Y", tokens=7))
    text = text_of((Metrics(report), other)).decode()
    assert text.count("# TYPE laddermaker_tokens gauge") == 1
    assert 'laddermaker_tokens{series="X"} 400.0' in text
    assert 'laddermaker_tokens{series="Y"} 7.0' in text
    assert text.count("laddermaker_process_start_time_seconds ") == 3  # help, type and one sample


# --- requests -------------------------------------------------------------------------------------


def test_requests_are_timed_by_kind_and_response_without_ids():
    metrics = Metrics(report)
    metrics.on_effect(sent(create(), 1), 0)
    metrics.on_effect(sent(m.CancelResting(ORDER_ID), 2), 0)
    metrics.on_event(m.Response(m.RequestId(1), m.Unknown("x")), 20 * MS)
    found = samples(metrics)
    assert found["laddermaker_request_seconds_count", ("Unknown", "Create")] == 1
    assert found["laddermaker_request_seconds_sum", ("Unknown", "Create")] == 0.02
    assert ORDER_ID not in metrics.text().decode()


def test_a_reaction_lasts_from_the_frame_to_the_departure_of_the_request():
    metrics = Metrics(report)
    cancel = sent(m.CancelResting(ORDER_ID), 1)
    metrics.on_effect(cancel, 5 * MS, {cancel.request_id: Reaction(Move.ADVERSE, 2 * MS)})
    metrics.on_request_sent(cancel.request_id, 9 * MS)
    found = samples(metrics)
    assert found["laddermaker_reaction_seconds_count", ("adverse",)] == 1
    assert found["laddermaker_reaction_seconds_sum", ("adverse",)] == pytest.approx(0.007)
    assert found["laddermaker_reaction_seconds_count", ("favourable",)] == 0


@pytest.mark.parametrize(
    ("answer", "code", "outcome"),
    [
        (m.Rejected(429, "rate_limited", ""), "rate_limited", "rejected"),
        (m.Rejected(418, "short_and_stout", ""), "other", "rejected"),
        (m.Rejected(0, "", "no connection"), "not_sent", "rejected"),
        (m.Unknown("timeout"), "no_answer", "unknown"),
    ],
)
def test_answers_are_counted_by_kind_code_and_outcome(answer, code, outcome):
    metrics = Metrics(report)
    metrics.on_effect(sent(create(), 1), 0)
    metrics.on_event(m.Response(m.RequestId(1), answer), MS)
    assert samples(metrics)["laddermaker_answers_total", (code, "create", outcome)] == 1


def test_the_metrics_show_the_tokens_and_waits_that_the_venue_reported():
    metrics = Metrics(report)
    for number, (left, wait_ns) in enumerate([(40, None), (0, SECOND), (None, SECOND // 2)], 1):
        metrics.on_effect(sent(create(), number), 0)
        refused = m.Rejected(429, "rate_limited", "")
        metrics.on_event(m.Response(m.RequestId(number), refused, left, wait_ns), MS)
    found = samples(metrics)
    assert found["laddermaker_venue_tokens", ("trade",)] == 0
    assert found["laddermaker_retry_after_seconds_total", ()] == 1.5


def test_the_number_of_time_series_of_notes_is_bounded():
    metrics = Metrics(report)
    for number in range(1_000):
        metrics.on_effect(m.Noted("info", f"name_{number}", {}), 0)
    assert sum(name == "laddermaker_notes_total" for name, _ in samples(metrics)) == 200


@pytest.mark.parametrize("call", ["note", "find"])
def test_every_note_and_finding_of_the_trader_has_a_counter(call):
    known = FINDINGS if call == "find" else {name for _, name in NOTES}
    place = {"note": 1, "find": 0}[call]
    named = [
        node.args[place].value
        for path in python_files("bot/core")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == call
        and len(node.args) > place
        and isinstance(node.args[place], ast.Constant)
    ]
    assert len(named) > 5
    assert set(named) <= {*known}
    assert {*OrderFinding} <= {*FINDINGS}


def test_every_counter_starts_at_zero():
    metrics = Metrics(report)
    before = samples(metrics)
    metrics.on_effect(m.Noted("error", "cash_differs", {}), 0)
    for number, answer in enumerate((m.Rejected(401, "unauthenticated", ""), m.Unknown("x")), 1):
        metrics.on_effect(sent(create(), number), 0)
        metrics.on_event(m.Response(m.RequestId(number), answer), MS)
    assert samples(metrics).keys() == before.keys()
    assert before["laddermaker_notes_total", ("error", "cash_differs")] == 0
    assert before["laddermaker_answers_total", ("unauthenticated", "create", "rejected")] == 0
    assert before["laddermaker_request_seconds_count", ("Unknown", "Create")] == 0


def test_a_rung_without_fills_has_all_metrics_but_markouts():
    rung = ProfitRow("X-26Q4-1B", 3, 30, 500, 400, 100, 0, 0, ())
    total = msgspec.structs.replace(rung, name="")
    none = ProfitReport(total, 0, 0, 0, 0, 0, {"rung": (), "side": ()})
    some = msgspec.structs.replace(none, by={"rung": (rung,), "side": ()})
    before, after = (
        samples(Metrics(lambda each=each: changed(profit=each))) for each in (none, some)
    )
    assert before.keys() == after.keys()
    assert after["laddermaker_rung_fills_total", ("X-26Q4-1B",)] == 3
    assert before["laddermaker_rung_fills_total", ("X-26Q4-1B",)] == 0
    assert before["laddermaker_filled_shares_total", ("ask",)] == 0


def test_dropped_events_are_counted_by_kind():
    inbox = ConflatingQueue()
    for ts_ns in range(4):
        inbox.put(book(ts_ns), ts_ns)
    found = samples(Metrics(report, now_ns=lambda: 0, dropped=lambda: inbox.dropped))
    assert found["laddermaker_inbox_dropped_total", ("book",)] == 3
    assert found["laddermaker_inbox_dropped_total", ("print",)] == 0
    assert found["laddermaker_inbox_dropped_total", ("garbled",)] == 0


# --- durations ------------------------------------------------------------------------------------


def metrics_of(calls: list[int]) -> Metrics:
    """Metrics of a strategy that was asked once for each entry."""
    return Metrics(report, now_ns=lambda: 0, strategy_calls=lambda: len(calls))


def book(ts_ns: int) -> m.BookUpdate:
    return m.BookUpdate(RUNG, ts_ns, ((Price(39), Qty(5)),), ())


def test_only_a_tick_that_asks_the_strategy_is_a_decision():
    asked: list[int] = []
    metrics = metrics_of(asked)
    metrics.on_event(m.Tick(), 0, 3 * MS)
    asked.append(1)
    metrics.on_event(m.Tick(), MS, 2 * MS)
    metrics.on_event(m.Tick(), 2 * MS, 5 * MS)
    found = samples(metrics)
    assert found["laddermaker_decision_seconds_count", ()] == 1
    assert found["laddermaker_decision_seconds_sum", ()] == 0.002


def test_tick_to_order_is_timed_from_the_oldest_news_of_the_decision():
    asked: list[int] = []
    metrics = metrics_of(asked)
    metrics.on_event(book(1), 10 * MS)
    metrics.on_event(book(2), 30 * MS)
    asked.append(1)
    metrics.on_effect(sent(create(), 1), 50 * MS)
    metrics.on_effect(sent(m.ReadBalance(), 2), 50 * MS)
    metrics.on_event(m.Tick(), 50 * MS)
    metrics.on_request_sent(m.RequestId(1), 60 * MS)
    metrics.on_request_sent(m.RequestId(2), 60 * MS)
    found = samples(metrics)
    assert found["laddermaker_tick_to_order_seconds_sum", ("create",)] == 0.05
    timed = [v for (n, _), v in found.items() if n == "laddermaker_tick_to_order_seconds_count"]
    assert sorted(timed) == [0, 0, 1]


def test_a_write_without_recent_news_is_not_timed():
    asked: list[int] = []
    metrics = metrics_of(asked)
    metrics.on_event(book(1), 0)
    metrics.on_event(m.Tick(), 2 * SECOND)  # nothing was asked about it for so long
    asked.append(1)
    metrics.on_effect(sent(create(), 1), 3 * SECOND)
    metrics.on_request_sent(m.RequestId(1), 3 * SECOND)
    assert samples(metrics)["laddermaker_tick_to_order_seconds_count", ("create",)] == 0


def test_the_feed_lag_of_a_rung_is_that_of_its_newest_book():
    metrics = Metrics(report)
    metrics.on_report(report())
    metrics.on_event(book(0), 5 * SECOND)
    assert ("laddermaker_rung_feed_lag_seconds", ("X-26Q4-1B",)) not in samples(metrics)
    metrics.on_event(book(6 * SECOND), 6 * SECOND + 20 * MS)
    metrics.on_event(book(6 * SECOND), 9 * SECOND)  # the same, shown again
    assert samples(metrics)["laddermaker_rung_feed_lag_seconds", ("X-26Q4-1B",)] == 0.02


# --- uptime ---------------------------------------------------------------------------------------


def test_uptime_on_target_is_counted_by_rung_and_side():
    metrics = Metrics(report)
    metrics.on_report(with_rung(SECOND, on_target=(BookSide.BID,)))
    metrics.on_report(with_rung(2 * SECOND, on_target=(BookSide.ASK,)))
    metrics.on_report(with_rung(4 * SECOND))
    found = samples(metrics)
    assert found["laddermaker_rung_on_target_seconds_total", ("X-26Q4-1B", "bid")] == 1
    assert found["laddermaker_rung_on_target_seconds_total", ("X-26Q4-1B", "ask")] == 2
    assert found["laddermaker_rung_open_seconds_total", ("X-26Q4-1B",)] == 3


def test_uptime_ignores_standstills_and_halts():
    metrics = Metrics(report)
    metrics.on_report(with_rung(SECOND, on_target=(BookSide.BID,)))
    metrics.on_report(with_rung(60 * SECOND, state="halted", on_target=(BookSide.BID,)))
    metrics.on_report(with_rung(61 * SECOND))
    assert metrics.open_ns == {}
    assert metrics.on_target_ns == {}


def test_the_metrics_of_a_removed_rung_are_deleted():
    metrics = Metrics(report)
    metrics.on_event(book(1), 0)
    metrics.on_report(with_rung(SECOND, on_target=(BookSide.BID,)))
    metrics.on_report(with_rung(2 * SECOND))
    assert metrics.open_ns
    metrics.on_report(changed(now_ns=3 * SECOND, events=()))
    assert metrics.open_ns == metrics.on_target_ns == metrics.lag_ns == {}


# --- the host -------------------------------------------------------------------------------------


def test_a_reaper_counts_as_watching_while_its_heartbeat_is_fresh(tmp_path):
    metrics = Metrics(report, now_ns=lambda: 0, state=tmp_path, expects_reaper=True)
    heart = Heartbeat(tmp_path, "0" * 20, REAPER)
    values = []
    for second in range(16):
        if second < 3:
            heart.beat(second * SECOND)
        metrics.on_report(report(now_ns=second * SECOND))
        values.append(samples(metrics)["laddermaker_reaper_watching", ()])
    assert values == [0] + [1] * 12 + [0] * 3


def test_the_metrics_show_a_reaper_whose_key_is_refused(tmp_path):
    metrics = Metrics(report, now_ns=lambda: 0, state=tmp_path, expects_reaper=True)
    heart = Heartbeat(tmp_path, "0" * 20, REAPER)
    for second, plea in enumerate(("", "", "no: 401 unauthenticated")):
        heart.plead(plea)
        heart.beat(second * SECOND)
        metrics.on_report(report(now_ns=second * SECOND))
    found = samples(metrics)
    assert found["laddermaker_reaper_watching", ()] == 1
    assert found["laddermaker_reaper_key_works", ()] == 0


def test_the_metrics_say_nothing_of_a_reapers_key_that_nobody_answered_about(tmp_path):
    metrics = Metrics(report, now_ns=lambda: 0, state=tmp_path, expects_reaper=True)
    heart = Heartbeat(tmp_path, "0" * 20, REAPER)
    shown = []
    for second, known in enumerate((True, True, False, True)):
        heart.know_key(known=known)
        heart.beat(second * SECOND)
        metrics.on_report(report(now_ns=second * SECOND))
        shown.append(samples(metrics).get(("laddermaker_reaper_key_works", ())))
    assert shown[1:] == [1, None, 1]


def test_a_reaper_that_polls_the_page_counts_as_watching_for_ten_seconds():
    now = [0]
    metrics = Metrics(report, now_ns=lambda: now[0], expects_reaper=True)
    metrics.on_reaper_visit()
    now[0] = 10 * SECOND
    assert samples(metrics)["laddermaker_reaper_watching", ()] == 1
    now[0] += 1
    assert samples(metrics)["laddermaker_reaper_watching", ()] == 0


def test_there_is_no_metric_of_a_reaper_that_is_not_configured(tmp_path):
    found = samples(Metrics(report, now_ns=lambda: 0, state=tmp_path))
    assert ("laddermaker_reaper_watching", ()) not in found
    assert found["laddermaker_state_free_bytes", ()] > 0


# --- the table ------------------------------------------------------------------------------------

UNITS = ("_cents", "_seconds", "_shares", "_orders", "_dollars", "_bytes", "_tokens")


def test_values_from_outside_are_counted_by_source_with_the_age_of_the_newest():
    used = operator_value(RUNG)
    dropped = msgspec.structs.replace(used, age_ns=90 * SECOND, unused="expired")
    (event,) = report().events
    event = msgspec.structs.replace(event, outside_values=(used, dropped))
    found = samples(Metrics(lambda: msgspec.structs.replace(report(), events=(event,))))
    assert found["laddermaker_outside_values", ("operator", "used")] == 1
    assert found["laddermaker_outside_values", ("operator", "unused")] == 1
    assert found["laddermaker_outside_value_age_seconds", ("operator",)] == 42


COUNTED_THINGS = {
    "phase", "state", "trading_state", "restriction", "latched", "inconsistency", "findings",
    "finding", "event_over_limit_chance", "company_over_limit_chance",
    "breaker_used", "breaker_limit",
    "config_at_fault", "event_alarms", "rung_quotable", "rung_on_target", "event_quotes_cut",
    "strategy_at_fault", "outside_values",
    "requests_in_flight", "paper", "tokens", "tokens_reserve", "tokens_burst",
    "foreign_tokens", "event_limit_used", "event_limit", "shadow_stopped",
    "reaper_watching", "reaper_key_works", "heartbeat_failing",
}  # fmt: skip


def test_every_metric_has_a_unique_name_with_its_unit_and_a_help_text():
    rows = [*FAMILIES, *COUNTED]
    names = [row.name for row in rows] + list(TIMED)
    assert len(names) == len(set(names))
    for row in rows:
        assert row.is_total or row.name.endswith(UNITS) or row.name in COUNTED_THINGS, row.name
    assert all(name.endswith("_seconds") for name in TIMED)
    assert all(row.help.endswith(".") for row in (*rows, *TIMED.values()))


def test_no_label_is_an_id():
    labels = {label for row in (*FAMILIES, *COUNTED, *TIMED.values()) for label in row.labels}
    assert labels == {
        "phase", "state", "finding", "breaker", "rung", "side", "event", "kind", "limit", "code",
        "lane", "place", "fate", "outcome", "part", "stage", "against", "horizon_s", "shadow",
        "bound", "level", "name", "key", "answer", "move", "scope", "source",
        "period",
        "company",
    }  # fmt: skip


# --- what the shell feeds it ----------------------------------------------------------------------


@pytest.mark.anyio
async def test_the_metrics_page_shows_every_series_or_the_one_asked_for():
    shown = {
        ticker: StatusSource(
            lambda: None,
            Metrics(lambda ticker=ticker: changed(series_ticker=ticker)),
            list,
            lambda event: None,
        )
        for ticker in ("X", "Y")
    }
    transport = httpx.ASGITransport(StatusApp(shown, ()))
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
        both = (await client.get("/metrics")).text
        one = (await client.get("/metrics?series=Y")).text
        before = shown["X"].metrics.is_reaper_watching
        await client.head("/healthz", headers={REAPER_HEADER: "watching"})
    assert 'laddermaker_tokens{series="X"}' in both
    assert 'laddermaker_tokens{series="Y"}' in both
    assert 'laddermaker_tokens{series="X"}' not in one
    assert (before, shown["X"].metrics.is_reaper_watching) == (False, True)


@pytest.mark.anyio
async def test_the_journal_reports_how_far_the_disk_is_behind(tmp_path, monkeypatch):
    disk, asked = threading.Event(), threading.Event()

    def slow(file: int) -> None:
        asked.set()
        disk.wait(10)

    journal = Journal(tmp_path, 0, lambda reason: None)
    monkeypatch.setattr(os, "fdatasync", slow)
    assert (journal.lag_s(), journal.waiting_bytes) == (0, 0)
    journal.append(2 * SECOND, m.Tick())
    assert journal.waiting_bytes > 0
    writing = asyncio.ensure_future(journal.run())
    assert not await journal.durable(0.3)
    assert journal.lag_s() > 0.2
    disk.set()
    await journal.durable()
    assert (journal.lag_s(), journal.waiting_bytes) == (0, 0)
    writing.cancel()
    await asyncio.wait([writing])
    journal.close()


@pytest.mark.anyio
async def test_a_blocked_loop_is_not_counted_as_disk_lag(tmp_path, monkeypatch):
    def hold(seconds: float = 0.3) -> None:
        time.sleep(seconds)

    def slow_sync(file: int) -> None:
        syncing.append(file)
        hold(0.1)

    syncing: list[int] = []
    monkeypatch.setattr(os, "fdatasync", slow_sync)
    journal = Journal(tmp_path, 0, lambda reason: None)
    writing = asyncio.ensure_future(journal.run())
    journal.append(2 * SECOND, m.Tick())
    hold()  # as a slow strategy does, before the disk was asked
    assert journal.lag_s() == 0
    given = asyncio.ensure_future(journal.durable())
    while not syncing:  # noqa: ASYNC110 - a thread syncs
        await asyncio.sleep(0)
    hold()  # and after
    assert journal.lag_s() == 0
    assert await given
    writing.cancel()
    await asyncio.wait([writing])
    journal.close()


class Quiet(Strategy):
    name = "quiet"

    def quote(self, view: EventView) -> Quotes:
        return {}


def test_every_call_of_a_strategy_is_counted_and_timed():
    watch = StrategyWatchdog(10 * MS)
    took: list[int] = []
    watch.timed = took.append
    view = views.view(views.rung(0, 50.0))
    watch.wrapped(lambda: Quiet(None))().quote(view)
    assert watch.asked == len(took) == 1
    assert took[0] > 0
