"""Claims about the minute in which a change of the configuration has to prove itself."""

import re

import msgspec
import pytest

from bot.core import messages as m
from bot.core.reconfigure import TIGHTER
from bot.core.risk.limits import limits_in_force, no_looser
from bot.core.settings import BreakerSettings, NewsSettings
from tests.builders.config.changing import Changing, Raising, around
from venue.wire.instant import NS_PER_MS
from venue.wire.money import Price, Qty

RAISING = m.StrategyChoice("raising", "")
SILENT = m.StrategyChoice("silent", "")


@pytest.fixture
def venue() -> Changing:
    venue = Changing()
    venue.start()
    return venue


def risk(venue: Changing, **limits: int):
    return msgspec.structs.replace(venue.settings.risk, **limits)


def digest(venue: Changing) -> str:
    return venue.trader.reconfiguration.configured.digest


def test_a_strategy_that_raises_rolls_the_configuration_back(venue):
    before = venue.trader.reconfiguration.configured
    venue.change(RAISING, news=NewsSettings(pull_ns=7))
    venue.run(1)
    assert venue.trader.reconfiguration.configured == before
    [note] = venue.told("config_rolled_back")
    assert note.level == "error"
    assert re.search(r"raising: changing\.py:\d+: ZeroDivisionError: by design", note.fields["why"])
    shown = venue.trader.report(venue.now_ns).config
    assert (shown.rolled_back, shown.digest) == (1, "first")
    assert "change 1 was rolled back" in shown.fault


def test_quotes_are_back_within_a_second_after_a_rollback(venue):
    venue.change(RAISING)
    venue.run(1.5)
    assert list(venue.gaps()) == [(2, 2), (2, 2)]
    assert "strategy_at_fault" not in venue.trader.out.findings


def test_a_change_that_stops_quoting_is_rolled_back_after_ten_seconds(venue):
    venue.change(SILENT)
    venue.run(9)
    assert digest(venue) == "c1"
    venue.run(3)
    assert digest(venue) == "first"
    assert (
        "two-sided on 0 of 2 rungs, 2 of 2 before"
        in venue.told("config_rolled_back")[0].fields["why"]
    )


def test_a_change_that_keeps_half_of_the_quotes_is_not_rolled_back(venue):
    venue.change(around(3))
    market_id = venue.ladder.rungs[0].market_id
    for _ in range(30):
        venue.trader.quoting.suspend_market(market_id, "halted", venue.now_ns)
        venue.run(1)
    assert digest(venue) == "c1"


def test_a_tripped_breaker_rolls_the_configuration_back_and_stays_latched(venue):
    venue.change(around(3))
    for _ in range(31):
        venue.trader.guard.breakers.on_reject(venue.now_ns)
    venue.run(1)
    assert digest(venue) == "first"
    assert venue.trader.guard.latched


def test_a_breaker_that_trips_again_after_a_reset_rolls_the_configuration_back(venue):
    for _ in range(31):
        venue.trader.guard.breakers.on_reject(venue.now_ns)
    venue.run(1)
    venue.change(around(3))
    venue.give(m.LatchCleared())
    venue.run(1)
    assert digest(venue) == "c1"
    for _ in range(31):
        venue.trader.guard.breakers.on_reject(venue.now_ns)
    venue.run(1)
    assert digest(venue) == "first"


def test_a_change_is_proven_after_a_minute_of_quoting(venue):
    venue.change(around(3))
    venue.run(58)
    assert not venue.told("config_proven")
    venue.run(4)
    assert venue.told("config_proven")
    venue.change(SILENT)
    venue.run(12)
    assert digest(venue) == "c1"


def test_time_paused_does_not_count_for_the_trial(venue):
    venue.give(m.PauseRequested("lunch"))
    venue.change(RAISING)
    venue.run(90)
    assert digest(venue) == "c1"
    assert not venue.told("config_proven")
    venue.give(m.ResumeRequested())
    venue.run(1)
    assert digest(venue) == "first"


def test_a_second_change_within_the_minute_rolls_back_to_the_proven_one(venue):
    venue.change(around(3))
    venue.run(30)
    venue.change(RAISING)
    venue.run(1)
    assert digest(venue) == "first"


def test_a_correcting_change_is_not_rolled_back_for_the_time_before_it(venue):
    venue.change(SILENT)
    venue.run(9.9)
    venue.change(around(3))
    venue.run(5)
    assert digest(venue) == "c2"
    venue.change(SILENT)
    venue.run(9)
    assert digest(venue) == "c3"
    venue.run(3)
    assert digest(venue) == "first"


def test_a_refused_change_is_not_reported_as_rolled_back(venue):
    venue.change(SILENT)
    venue.run(3)
    venue.change(m.StrategyChoice("unmakeable", ""))
    venue.run(9)
    assert digest(venue) == "first"
    assert [note.fields["number"] for note in venue.told("config_rolled_back")] == [1]
    assert venue.trader.report(venue.now_ns).config.fault.startswith("change 1 was rolled back")


@pytest.mark.parametrize("earlier", [False, True])
def test_a_jump_guard_that_pulls_everything_is_rolled_back(venue, earlier):
    if earlier:
        venue.change(around(3))
        venue.run(20)
    venue.change(news=NewsSettings(print_qty=1, print_touch_pct=1))

    def prints() -> None:
        name = f"trade {venue.now_ns}"
        market_id = venue.ladder.rungs[0].market_id
        venue.give(m.Trade(market_id, venue.now_ns, name, Price(40), Qty(3), True))

    venue.run(15, prints, each_ns=1_000 * NS_PER_MS)
    assert digest(venue) == "first"


# --- limits ---------------------------------------------------------------------------------------


def test_a_strategy_at_fault_before_the_change_is_no_reason_for_a_rollback():
    venue = Changing(lambda: Raising(None))
    venue.start()
    assert venue.ladder.health.fault
    pace = msgspec.structs.replace(venue.settings.pace, decide_ns=70 * NS_PER_MS)
    venue.change(pace=pace)
    venue.run(70)
    assert venue.settings.pace == pace


def test_a_rollback_loosens_no_tightened_limit(venue):
    venue.change(RAISING, risk=risk(venue, order_qty=4, rung_position_qty=200_000))
    venue.run(5)
    assert digest(venue) == "first" + TIGHTER
    assert (venue.settings.risk.order_qty, venue.settings.risk.rung_position_qty) == (4, 100_000)
    assert list(venue.gaps()) == [(2, 2), (2, 2)]
    assert {own.remaining for own in venue.trader.desk.live_orders} == {4}


def test_a_change_that_only_tightens_limits_has_no_trial(venue):
    venue.change(risk=risk(venue, series_loss_cents=10_000_000, event_loss_cents=1))
    assert venue.trader.reconfiguration.trial is None
    venue.run(30)
    assert venue.settings.risk.event_loss_cents == 1
    assert not list(venue.trader.desk.live_orders)


def test_the_tighter_of_two_risk_limits_resolves_zeros_to_their_defaults(venue):
    loose = venue.settings
    explicit = msgspec.structs.replace(loose, risk=risk(venue, event_gross_qty=5_000_000))
    back = no_looser(explicit, loose)
    assert limits_in_force(back.risk).event_gross_qty == 20 * 100_000
    assert no_looser(loose, explicit) is loose
    account = msgspec.structs.replace(loose, risk=risk(venue, account_loss_cents=20_000_000))
    assert no_looser(loose, account).risk.account_loss_cents == 20_000_000
    assert no_looser(account, loose) is account


def test_the_tighter_of_two_breakers_resolves_zeros_to_their_defaults(venue):
    loose = venue.settings
    tight = msgspec.structs.replace(loose, breakers=BreakerSettings(loss_cents=7))
    assert no_looser(loose, tight).breakers.loss_cents == 7
    assert no_looser(tight, loose) is tight
