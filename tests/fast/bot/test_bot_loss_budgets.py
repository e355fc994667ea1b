"""Claims about loss budgets: what is counted, what is in force, and what a restart renews."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.core.messages import BudgetRaise, LossRecord
from bot.core.risk.loss_budgets import LossBudgets, ProfitAt, rebuilt, stricter_budgets
from bot.core.settings import BudgetPeriod, LossBudgetSettings
from bot.core.trading_state import TradingState, in_force
from venue.wire.instant import NS_PER_SECOND, to_ns
from venue.wire.money import Cents

DAY_NS = 86_400 * NS_PER_SECOND
MONDAY_NS = to_ns("2026-11-30T00:00:00Z")
DAY = LossBudgetSettings(day_cents=Cents(1_000))

equities = st.lists(st.integers(-5_000, 5_000), min_size=1, max_size=12)


def judged(
    settings: LossBudgetSettings, *equity_cents: int, now_ns: int = MONDAY_NS
) -> LossBudgets:
    """Budgets that saw these equities a second apart."""
    budgets = LossBudgets(settings)
    for number, cents in enumerate(equity_cents):
        budgets.on_equity(cents, now_ns + number * NS_PER_SECOND)
    return budgets


def restarted(record: LossRecord | None) -> LossBudgets:
    """The budgets of a run that begins with this record."""
    fresh = LossBudgets(DAY)
    fresh.restore(record, MONDAY_NS)
    return fresh


def state_of(budgets: LossBudgets) -> TradingState:
    return in_force(budgets.restrictions).state


@pytest.mark.parametrize(
    ("lost_cents", "state"),
    [
        (499, TradingState.ACTIVE),
        (500, TradingState.REDUCED),
        (799, TradingState.REDUCED),
        (800, TradingState.REDUCE_ONLY),
        (999, TradingState.REDUCE_ONLY),
        (1_000, TradingState.KILLED),
    ],
)
def test_the_state_follows_the_used_part_of_a_budget(lost_cents: int, state: TradingState) -> None:
    assert state_of(judged(DAY, 20_000, 20_000 - lost_cents)) is state


def test_a_loss_that_was_recovered_stays_counted_until_the_period_ends() -> None:
    budgets = judged(DAY, 20_000, 19_150, 20_000)
    assert state_of(budgets) is TradingState.REDUCE_ONLY
    budgets.on_equity(20_000, MONDAY_NS + DAY_NS)
    assert state_of(budgets) is TradingState.ACTIVE


def test_a_loss_counts_from_the_start_or_from_the_high_water_mark() -> None:
    from_high_water = msgspec.structs.replace(DAY, from_high_water=True)
    (from_start,) = judged(DAY, 20_000, 20_600, 19_900).rows()
    (from_high,) = judged(from_high_water, 20_000, 20_600, 19_900).rows()
    assert (from_start.lost_cents, from_high.lost_cents) == (100, 700)
    assert from_start.high_water_cents == from_high.high_water_cents == 600


@pytest.mark.parametrize(
    ("settings", "now", "from_", "until"),
    [
        (DAY, "2026-12-02T13:00:00Z", "2026-12-02T00:00:00Z", "2026-12-03T00:00:00Z"),
        (
            LossBudgetSettings(week_cents=Cents(1)),
            "2026-12-06T23:59:59Z",
            "2026-11-30T00:00:00Z",
            "2026-12-07T00:00:00Z",
        ),
        (
            LossBudgetSettings(since_cents=Cents(1), since="2026-11-01T00:00:00Z"),
            "2026-12-06T23:59:59Z",
            "2026-11-01T00:00:00Z",
            None,
        ),
    ],
)
def test_days_and_weeks_turn_at_midnight_utc(
    settings: LossBudgetSettings, now: str, from_: str, until: str | None
) -> None:
    (shown,) = judged(settings, 20_000, now_ns=to_ns(now)).rows()
    assert shown.from_ns == to_ns(from_)
    assert shown.until_ns == (None if until is None else to_ns(until))


def test_a_loss_between_the_last_judgement_of_a_day_and_the_next_day_counts_in_the_next() -> None:
    budgets = judged(DAY, 20_000, 19_900)
    budgets.on_equity(19_300, MONDAY_NS + DAY_NS)
    (shown,) = budgets.rows()
    assert shown.lost_cents == 600


@pytest.mark.parametrize(
    ("opening_cents", "then_cents", "lost_cents"), [(19_400, 19_400, 600), (26_000, 25_500, 800)]
)
def test_a_loss_while_nothing_ran_counts_and_a_gain_does_not(
    opening_cents: int, then_cents: int, lost_cents: int
) -> None:
    budgets = restarted(judged(DAY, 20_000).on_equity(19_700, MONDAY_NS))
    budgets.on_equity(opening_cents, MONDAY_NS)
    budgets.on_equity(then_cents, MONDAY_NS)
    assert budgets.rows()[0].lost_cents == lost_cents


@given(equities, equities)
def test_a_restart_at_any_instant_renews_nothing(before: list[int], after: list[int]) -> None:
    one, records = LossBudgets(DAY), []
    for cents in before:
        records.append(one.on_equity(cents, MONDAY_NS))
    kept = [each for each in records if each is not None][-1]
    other = restarted(kept)
    assert state_of(other).level >= TradingState.HALTED.level, "until it has judged the account"
    for cents in after:
        one.on_equity(cents, MONDAY_NS)
        other.on_equity(cents, MONDAY_NS)
        # What the record lacks is less than a hundredth of the budget.
        assert other.rows()[0].lost_cents > one.rows()[0].lost_cents - DAY.day_cents / 100


@given(equities)
def test_the_record_is_kept_whenever_the_state_changes(cents: list[int]) -> None:
    budgets = LossBudgets(DAY)
    for each in cents:
        before = budgets.restrictions
        record = budgets.on_equity(each, MONDAY_NS)
        assert record is not None or budgets.restrictions == before


@given(equities, st.integers(1, 3_000))
def test_a_raise_gives_more_room_for_the_rest_of_the_period_alone(
    cents: list[int], more: int
) -> None:
    budgets = judged(DAY, *cents)
    lost = budgets.rows()[0].lost_cents
    raised = BudgetRaise(MONDAY_NS, Cents(more), "the hedge is elsewhere")
    assert budgets.raise_budget(BudgetPeriod.DAY, raised) is not None
    (shown,) = budgets.rows()
    assert (shown.limit_cents, shown.lost_cents, shown.raises) == (1_000 + more, lost, (raised,))
    assert bool(budgets.spent) is (lost >= 1_000 + more)
    budgets.on_equity(0, MONDAY_NS + DAY_NS)
    assert budgets.rows()[0].limit_cents == 1_000


def test_a_budget_that_does_not_exist_is_not_raised() -> None:
    raised = BudgetRaise(MONDAY_NS, Cents(1), "")
    assert judged(DAY, 20_000).raise_budget(BudgetPeriod.WEEK, raised) is None


def test_a_run_waits_for_its_first_judgement_but_not_for_that_of_a_new_budget() -> None:
    assert state_of(LossBudgets(DAY)) is TradingState.HALTED
    budgets = LossBudgets(LossBudgetSettings())
    budgets.restore(None, MONDAY_NS)
    budgets.set_budgets(DAY, MONDAY_NS)
    assert state_of(budgets) is TradingState.ACTIVE


def test_the_use_of_a_budget_outlives_its_removal_from_the_configuration() -> None:
    budgets = judged(DAY, 20_000, 19_000)
    budgets.set_budgets(LossBudgetSettings(), MONDAY_NS)
    assert budgets.restrictions == ()
    budgets.set_budgets(DAY, MONDAY_NS)
    assert state_of(budgets) is TradingState.KILLED


def test_the_stricter_of_two_settings_has_every_budget_and_the_lesser_of_each() -> None:
    loose = LossBudgetSettings(day_cents=Cents(500), size_divisor=4)
    tight = LossBudgetSettings(day_cents=Cents(400), week_cents=Cents(900), reduced_pct=30)
    assert stricter_budgets(loose, tight) == LossBudgetSettings(
        day_cents=Cents(400), week_cents=Cents(900), reduced_pct=30, size_divisor=4
    )
    assert stricter_budgets(tight, LossBudgetSettings()) is tight


HOUR_NS = 3_600 * NS_PER_SECOND


def profits(*rows: tuple[int, int, int]) -> list[ProfitAt]:
    """Each: hours since midnight, the number of the run, its profit in cents."""
    return [ProfitAt(MONDAY_NS + hours * HOUR_NS, run, cents) for hours, run, cents in rows]


@pytest.mark.parametrize(
    ("rows", "from_high_water", "lost_cents"),
    [
        (profits((1, 1, -300), (2, 1, 200)), False, 300),
        (profits((1, 1, -300), (2, 2, -400)), False, 700),
        (profits((1, 1, 500), (2, 2, -400)), True, 400),
        (profits((-1, 1, 900), (1, 1, 600)), False, 300),
    ],
)
def test_the_use_of_a_budget_is_rebuilt_from_the_profits_of_its_runs(
    rows: list[ProfitAt], from_high_water: bool, lost_cents: int
) -> None:
    settings = msgspec.structs.replace(DAY, from_high_water=from_high_water)
    budgets = LossBudgets(settings)
    budgets.restore(rebuilt(settings, rows, MONDAY_NS + 3 * HOUR_NS), MONDAY_NS + 3 * HOUR_NS)
    budgets.on_equity(50_000, MONDAY_NS + 3 * HOUR_NS)
    (shown,) = budgets.rows()
    assert shown.lost_cents == lost_cents
    budgets.on_equity(50_000 - 2_000, MONDAY_NS + 3 * HOUR_NS)
    assert budgets.spent


def test_profits_of_earlier_days_alone_rebuild_nothing() -> None:
    assert rebuilt(DAY, profits((-2, 1, -800)), MONDAY_NS) is None
