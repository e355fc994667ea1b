"""Claims about a trader whose configuration changes: all of it or nothing, from one decision on."""

import msgspec
import pytest

from bot.core import messages as m
from bot.core.orders.order import State
from bot.core.report import Phase
from bot.core.settings import (
    BreakerSettings,
    BudgetSettings,
    CalendarEntry,
    CurfewSettings,
    NewsSettings,
    PaceSettings,
    RiskSettings,
    TraderSettings,
)
from bot.core.trader import Trader
from bot.core.trading_state import TradingState
from tests.builders.config.changing import Around, Changing, around, remake
from venue.wire.instant import NS_PER_SECOND

PARTS = (
    TraderSettings,
    RiskSettings,
    PaceSettings,
    NewsSettings,
    CurfewSettings,
    BreakerSettings,
)


@pytest.fixture
def venue() -> Changing:
    venue = Changing()
    venue.start()
    return venue


def other(settings: TraderSettings) -> dict[str, msgspec.Struct]:
    return {
        "risk": msgspec.structs.replace(settings.risk, order_qty=999),
        "pace": msgspec.structs.replace(settings.pace, dwell_ns=7),
        "news": NewsSettings(pull_ns=7),
        "curfew": CurfewSettings(halve_ns=7),
        "calendar": (
            CalendarEntry(
                at_ns=7, name="results", before_ns=7, after_ns=7, state=TradingState.HALTED
            ),
        ),
        "breakers": BreakerSettings(rejects_per_minute=7),
    }


def reachable(root: object) -> list[object]:
    """Every object that is reached from one, each once."""
    seen: dict[int, object] = {}
    waiting = [root]
    while waiting:
        each = waiting.pop()
        if id(each) in seen or isinstance(each, type | str | bytes | int | float):
            continue
        seen[id(each)] = each
        if isinstance(each, dict):
            waiting += [*each, *each.values()]
        elif isinstance(each, list | tuple | set | frozenset):
            waiting += each
        else:
            names = {*getattr(each, "__struct_fields__", ()), *getattr(each, "__dict__", ())}
            names.update(*(vars(kind).get("__slots__", ()) for kind in type(each).__mro__))
            waiting += [getattr(each, name, None) for name in names]
            waiting += [cell.cell_contents for cell in getattr(each, "__closure__", None) or ()]
            waiting.append(getattr(each, "__self__", None))
    return list(seen.values())


# --- all of it ------------------------------------------------------------------------------------


def test_no_part_of_the_trader_keeps_an_old_setting_after_the_trial():
    venue = Changing()
    venue.start()
    before = [each for each in reachable(venue.trader) if isinstance(each, PARTS)]
    parts = other(venue.settings)
    venue.change(around(3), **parts)
    venue.run(70)
    assert venue.trader.reconfiguration.trial is None
    after = [each for each in reachable(venue.trader) if isinstance(each, PARTS)]
    settings = venue.settings
    for name, part in parts.items():
        assert getattr(settings, name) is part
    assert len(before) > len(parts)
    assert not [each for each in after if any(each is old for old in before)]


def test_quotes_move_to_the_new_parameters_of_the_strategy(venue):
    assert list(venue.gaps()) == [(2, 2), (2, 2)]
    venue.change(around(4))
    venue.run(3)
    assert list(venue.gaps()) == [(4, 4), (4, 4)]


def test_orders_are_amended_and_never_cancelled_when_parameters_change(venue):
    sent = len(venue.sent)
    venue.change(around(4))
    for _ in range(300):
        venue.run(0.01)
        assert all(
            own.state is not State.PENDING_CANCEL and own.is_live
            for own in venue.trader.desk.live_orders
        )
        assert len(list(venue.trader.desk.live_orders)) == 4
    assert not [each for _, each in venue.sent[sent:] if isinstance(each, m.CancelResting)]


def test_a_change_of_other_keys_keeps_the_instances_of_the_strategy(venue):
    strategy = venue.ladder.strategy
    venue.change(pace=msgspec.structs.replace(venue.settings.pace, decide_ns=7))
    assert venue.ladder.strategy is strategy
    venue.change(around(2))
    assert venue.ladder.strategy is strategy
    venue.change(around(3))
    assert venue.ladder.strategy is not strategy


@pytest.mark.parametrize("order_qty", [4, 8])
def test_a_smaller_order_size_shrinks_resting_orders(venue, order_qty):
    venue.change(risk=msgspec.structs.replace(venue.settings.risk, order_qty=order_qty))
    venue.run(5)
    assert [own.remaining for own in venue.trader.desk.live_orders] == [order_qty] * 4


def test_a_shorter_dwell_moves_an_order_that_was_too_young(venue):
    pace = venue.settings.pace
    venue.change(around(5))
    venue.run(3)
    venue.change(pace=msgspec.structs.replace(pace, dwell_ns=600 * NS_PER_SECOND))
    venue.change(around(2))
    venue.run(3)
    assert list(venue.gaps()) == [(5, 5), (5, 5)]
    venue.change(pace=msgspec.structs.replace(pace, dwell_ns=1))
    venue.run(3)
    assert list(venue.gaps()) == [(2, 2), (2, 2)]


def test_a_smaller_write_bucket_keeps_its_used_tokens(venue):
    pace = venue.trader._sending.checks.throttle
    rung = venue.ladder.rungs[0]
    for _ in range(4):
        pace.on_write(rung.market_id, venue.now_ns)
    assert pace.admits(rung.market_id, venue.now_ns)
    venue.change(pace=msgspec.structs.replace(venue.settings.pace, market_writes_burst=4))
    assert not pace.admits(rung.market_id, venue.now_ns)


def test_a_breaker_above_its_limit_trips_although_the_limit_is_raised(venue):
    for _ in range(31):
        venue.trader.guard.breakers.on_reject(venue.now_ns)
    venue.change(breakers=BreakerSettings(rejects_per_minute=1_000))
    venue.run(1)
    assert venue.trader.guard.latched == "rejects_per_minute: 31, at most 30"


def test_a_lifted_breaker_trips_at_its_new_limit(venue):
    venue.change(breakers=BreakerSettings(rejects_per_minute=40))
    for _ in range(40):
        venue.trader.guard.breakers.on_reject(venue.now_ns)
    venue.run(1)
    assert not venue.trader.guard.latched
    venue.trader.guard.breakers.on_reject(venue.now_ns)
    venue.run(1)
    assert venue.trader.guard.latched == "rejects_per_minute: 41, at most 40"


# --- or nothing -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("key", "parts"),
    [
        ("budget", {"budget": BudgetSettings(burst=300)}),
        ("pace.requests_in_flight", {"pace": PaceSettings(requests_in_flight=7)}),
        ("pace.queue_power_pct", {"pace": PaceSettings(queue_power_pct=7)}),
    ],
)
def test_a_setting_that_takes_a_restart_is_refused(venue, key, parts):
    before = venue.trader.reconfiguration.configured
    venue.change(around(3), **parts)
    assert venue.trader.reconfiguration.configured == before
    assert venue.told("config_refused")[0].fields["why"] == f"only a restart can change {key}"
    assert venue.trader.report(venue.now_ns).config.refused == 1


def test_a_strategy_that_cannot_be_made_is_refused(venue):
    before = venue.trader.reconfiguration.configured
    strategy = venue.ladder.strategy
    venue.change(m.StrategyChoice("unmakeable", ""), **other(venue.settings))
    assert venue.trader.reconfiguration.configured == before
    assert venue.ladder.strategy is strategy
    [note] = venue.told("config_refused")
    why = note.fields["why"]
    assert why.startswith("strategy: ")
    assert why.endswith(": RuntimeError: no such thing")


def test_a_trader_without_a_strategy_factory_keeps_its_strategy():
    venue = Changing()
    venue.trader = Trader(venue.settings, lambda: Around(2))
    venue.start()
    venue.change(around(3))
    assert venue.told("config_refused")
    venue.run(3)
    assert list(venue.gaps()) == [(2, 2), (2, 2)]


def test_the_report_shows_a_refused_file_until_one_is_applied(venue):
    venue.give(m.ConfigRefused("bot.yaml:3: risk: what a pity"))
    assert venue.trader.report(venue.now_ns).config.fault == "bot.yaml:3: risk: what a pity"
    venue.change(around(3))
    assert venue.trader.report(venue.now_ns).config.fault == ""


# --- and again ------------------------------------------------------------------------------------


def test_a_run_with_changes_and_a_rollback_replays_to_the_byte(venue):
    venue.run(2)
    venue.change(around(4), **other(venue.settings))
    venue.run(2)
    venue.give(m.ConfigRefused("no"))
    venue.change(m.StrategyChoice("raising", ""))
    venue.run(8)
    assert venue.told("config_rolled_back")
    started = venue.log[0][1]
    fresh = Trader(started.configured.settings, remake(started.configured.strategy), remake=remake)
    encoder = msgspec.msgpack.Encoder()
    for at_ns, event, effects in venue.log:
        assert encoder.encode(fresh.receive(event, at_ns)) == encoder.encode(effects)


def test_an_overrun_of_the_old_strategy_does_not_count_against_the_new_one(venue):
    call = venue.ladder.health.calls
    venue.change(around(3))
    ticker = venue.ladder.event.event_ticker
    venue.give(m.StrategyOverran(ticker, "around", call, 10**9, 5 * 10**7, True))
    assert venue.ladder.health.fault == ""
    venue.run(1)
    call = venue.ladder.health.calls
    venue.give(m.StrategyOverran(ticker, "around", call, 10**9, 5 * 10**7, True))
    assert "interrupted" in venue.ladder.health.fault


# --- limits ---------------------------------------------------------------------------------------


def resting(venue: Changing) -> dict[object, int]:
    out: dict[object, int] = {}
    for own in venue.trader.desk.live_orders:
        place = (own.market_id, own.book_side)
        out[place] = out.get(place, 0) + own.remaining
    return out


def test_orders_beyond_a_lowered_limit_are_cancelled_and_replaced(venue):
    assert set(resting(venue).values()) == {10}
    risk = msgspec.structs.replace(venue.settings.risk, rung_position_qty=8)
    venue.change(risk=risk)
    venue.run(3)
    assert venue.told("orders_beyond_limits")
    assert len(resting(venue)) == 4
    assert set(resting(venue).values()) == {8}


def test_a_lowered_limit_that_all_orders_fit_moves_none(venue):
    before = {own.order_id for own in venue.trader.desk.live_orders}
    risk = msgspec.structs.replace(venue.settings.risk, rung_position_qty=10)
    venue.change(risk=risk)
    venue.run(3)
    assert {own.order_id for own in venue.trader.desk.live_orders} == before
    assert not venue.told("orders_beyond_limits")


def test_an_order_resized_to_a_smaller_size_keeps_its_id(venue):
    before = {own.order_id for own in venue.trader.desk.live_orders}
    venue.change(risk=msgspec.structs.replace(venue.settings.risk, order_qty=4))
    venue.run(5)
    assert {own.order_id for own in venue.trader.desk.live_orders} == before


def test_a_lower_order_limit_keeps_the_oldest_orders_and_trips_no_breaker(venue):
    before = [own.order_id for own in venue.trader.desk.live_orders]
    assert len(before) == 4
    tight = msgspec.structs.replace(venue.settings.breakers, writes_per_second=2)
    fewer = msgspec.structs.replace(venue.settings.risk, resting_orders=1)
    venue.change(risk=fewer, breakers=tight)
    venue.run(5)
    assert [own.order_id for own in venue.trader.desk.live_orders] == before[:1]
    assert venue.trader.phase is Phase.QUOTING


def test_a_lowered_loss_limit_shows_as_passed_by_what_rested_before(venue):
    lowered = msgspec.structs.replace(
        venue.settings.risk, event_loss_cents=100, series_loss_cents=100
    )
    before = venue.trader.report(venue.now_ns).worst_case_max_cents
    venue.change(risk=lowered)
    venue.run(30)
    report = venue.trader.report(venue.now_ns)
    assert report.worst_case_max_cents == before > report.worst_case_limit_cents
    assert report.worst_case_cents <= report.worst_case_limit_cents
