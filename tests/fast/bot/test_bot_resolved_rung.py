"""A rung of a ladder that has resolved: what the others are worth no longer hangs on it."""

import msgspec
import pytest

from bot.core import messages as m
from bot.core.distribution import decided
from bot.core.execution.kill_switch import KillSwitch
from bot.core.quoting.event_quoter import EventQuoter
from bot.core.report import EventReport
from bot.core.settings import PaceSettings
from strategies.fixed_spread import FixedSpread
from tests.builders.bot.thin import Thin
from venue.wire import model
from venue.wire.money import Outcome, Price, Qty

YES, NO = Outcome.YES, Outcome.NO


def traded(*mids: int) -> Thin:
    """A ladder whose lowest rung has traded where its book lies."""
    thin = Thin(list(mids), lambda: FixedSpread(FixedSpread.Params()), PaceSettings(decide_ns=0))
    thin.start()
    thin.run(3)
    for number in range(5):
        market_id = thin.markets[0].market_id
        print_ = m.Trade(market_id, thin.now_ns, str(number), Price(mids[0]), Qty(50), True)
        thin.give(print_)
        thin.run(1)
    return thin


def resolve(thin: Thin, index: int) -> None:
    thin.markets[index] = msgspec.structs.replace(
        thin.markets[index], state=model.MarketState.RESOLVED
    )
    thin.run(65)


def move(thin: Thin, *mids: int) -> None:
    """The rungs above the lowest are shown elsewhere, until the guard of news has looked away."""
    thin.mids[1:] = mids
    for _ in range(20):
        for index in range(1, len(thin.mids)):
            thin.show(index)
        thin.run(1)


def ladder(thin: Thin) -> EventQuoter:
    return thin.trader.quoting.ladders[0]


def told(thin: Thin) -> EventReport:
    return thin.trader.report(thin.now_ns).events[0]


def test_the_last_book_and_prints_of_a_resolved_rung_do_not_pull_those_above_it():
    thin = traded(60, 50, 40, 30)
    resolve(thin, 0)
    move(thin, 88, 68, 44)
    fairs = [rung.fair_cents for rung in told(thin).rungs]
    assert fairs[1:] == [pytest.approx(at, abs=3) for at in (88, 68, 44)]


def test_a_resolved_rung_shows_no_fair_value_any_more():
    thin = traded(60, 50, 40)
    assert told(thin).rungs[0].fair_cents is not None
    resolve(thin, 0)
    shown = told(thin).rungs[0]
    assert (shown.state, shown.fair_cents, shown.fair_sd_cents) == ("resolved", None, None)


def test_a_resolution_that_is_taken_back_shows_its_fair_value_again():
    thin = traded(60, 50, 40)
    resolve(thin, 0)
    thin.markets[0] = msgspec.structs.replace(thin.markets[0], state=model.MarketState.ACTIVE)
    thin.run(65)
    assert told(thin).rungs[0].fair_cents == pytest.approx(60, abs=2)


def test_the_stale_book_of_a_resolved_rung_gives_no_money_away():
    thin = traded(60, 50, 40, 30)
    resolve(thin, 0)
    move(thin, 88, 68, 44)
    assert "arbitrage" not in [alarm.kind for alarm in told(thin).alarms]


def test_prints_are_counted_over_the_rungs_that_still_trade(monkeypatch):
    thin = traded(60, 50, 40)
    counts: list[int] = []
    monkeypatch.setattr(
        type(ladder(thin).flow),
        "on_decision",
        lambda _self, fairs, _now_ns: counts.append(
            sum(fair is not None for fair in fairs.values())
        ),
    )
    move(thin, 51, 41)
    resolve(thin, 0)
    move(thin, 52, 42)
    assert (counts[0], counts[-1]) == (3, 2)


def test_the_profit_that_breakers_judge_keeps_the_last_belief_of_a_resolved_rung():
    thin = traded(60, 50, 40)
    guard: KillSwitch = thin.trader.guard
    market_id = thin.markets[0].market_id
    guard.judge(thin.now_ns, opened=True)
    thin.give(m.Trade(market_id, thin.now_ns, "far", Price(99), Qty(1), True))
    before = ladder(thin).rungs[0].fair
    thin.run(1)
    resolve(thin, 0)
    assert before is not None
    assert guard._marks[market_id] < 70


# --- the implied distribution ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("won", "values"),
    [
        ((None, None, None), [90.0, 50.0, 20.0]),
        ((YES, None, None), [100.0, 50.0, 20.0]),
        ((None, YES, None), [100.0, 100.0, 20.0]),
        ((None, None, NO), [90.0, 50.0, 0.0]),
        ((YES, NO, None), [100.0, 0.0, 0.0]),
    ],
)
def test_what_is_certain_of_a_curve_bounds_the_rungs_on_its_side(won, values):
    assert decided([90.0, 50.0, 20.0], won) == values


def test_an_outcome_that_a_winner_rules_out_has_no_chance():
    thin = traded(60, 50, 40, 30)
    resolve(thin, 0)
    move(thin, 88, 68, 44)
    lowest = thin.markets[0].market_id
    implied = ladder(thin).implied(lambda market_id: YES if market_id == lowest else None)
    assert implied is not None
    assert implied.chances[0] == 0
    assert sum(implied.chances) == pytest.approx(1)
    assert implied.chances[1] == pytest.approx(0.12, abs=0.03)


def test_a_winner_that_is_not_certain_leaves_what_the_other_rungs_imply():
    thin = traded(60, 50, 40, 30)
    resolve(thin, 0)
    move(thin, 88, 68, 44)
    implied = told(thin).implied
    assert implied is not None
    assert 0 < implied.chances[0] < 0.12


def test_nothing_is_taken_in_of_a_read_with_a_fee_rate_that_cannot_be_read():
    thin = traded(80, 60, 40, 20)
    assert thin.trader.report(thin.now_ns).events[0].implied is not None
    first, last = thin.markets[0], thin.markets[-1]
    thin.markets[0] = msgspec.structs.replace(first, strike_value=None)
    thin.markets[-1] = msgspec.structs.replace(last, maker_fee_rate="a lot")
    thin.run(70)
    assert "event_unreadable" in thin.trader.out.findings
    assert thin.trader.report(thin.now_ns).events[0].implied is not None
