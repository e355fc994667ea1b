"""Claims about the breakers: exact windows in bounded memory, what trips, and what never may."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.core import messages as m
from bot.core.orders.outbox import Outbox
from bot.core.orders.request_budget import Priority
from bot.core.risk.breakers import (
    ORDER_NOTIONAL_CENTS_CAP,
    TICKS_THROUGH_CAP,
    CircuitBreakers,
    Window,
    limits_of,
)
from bot.core.settings import BreakerSettings, BudgetSettings, RiskSettings
from tests.builders.bot import made
from tests.builders.bot.made import T0
from venue.wire import codec
from venue.wire.instant import NS_PER_SECOND
from venue.wire.money import Cents, Price, Qty
from venue.wire.names import OrderId
from venue.wire.requests import Amend

MINUTE = 60 * NS_PER_SECOND
RISK = RiskSettings(
    event_loss_cents=Cents(1_000),
    series_loss_cents=Cents(2_000),
    rung_position_qty=Qty(100),
    order_qty=Qty(10),
    resting_orders=20,
)
LIMITS = BreakerSettings(
    writes_per_second=10,
    creates_per_minute=60,
    notional_cents_per_minute=100_000,
    fills_per_minute=5,
    filled_qty_per_minute=40,
    loss_cents=500,
    drawdown_cents=800,
    rejects_per_minute=3,
    unknown_age_ns=MINUTE,
    order_notional_cents=1_000,
)


def breakers(**other: int) -> CircuitBreakers:
    """Breakers with round limits, some of them other than usual."""
    return CircuitBreakers(limits_of(BreakerSettings(**{**_numbers(LIMITS), **other}), RISK))


def _numbers(limits: BreakerSettings) -> dict[str, int]:
    return {name: getattr(limits, name) for name in limits.__struct_fields__}


def create(again: bool = False, **wanted: int) -> m.Create:
    """A create of ten shares at 40."""
    order = made.intent(**wanted)
    return m.Create(order, codec.encode_new_order(order), again)


AMEND = m.AmendResting(OrderId("1001"), Amend(price=Price(41)))
CANCEL = m.CancelResting(OrderId("1001"))


# --- windows --------------------------------------------------------------------------------------

STEPS = st.lists(st.tuples(st.integers(0, 30), st.integers(1, 9)), max_size=120)


@settings(deadline=None)
@given(STEPS, st.integers(1, 50), st.integers(1, 40))
def test_a_window_agrees_with_a_list_of_everything(steps, span_ns, limit):
    window, everything, now_ns = Window(span_ns, limit), [], 0
    for wait_ns, amount in steps:
        now_ns += wait_ns
        for look_ns in (now_ns, now_ns + span_ns // 2):
            naive = sum(each for at_ns, each in everything if look_ns - span_ns < at_ns)
            assert (window.total(look_ns) > limit) == (naive > limit)
            if naive <= limit:
                assert window.total(look_ns) == naive
        naive = sum(each for at_ns, each in everything if now_ns - span_ns < at_ns)
        assert (window.total(now_ns) + amount <= limit) == (naive + amount <= limit)
        window.add_amount(amount, now_ns)
        everything.append((now_ns, amount))


@settings(deadline=None)
@given(STEPS, st.integers(1, 50), st.integers(1, 40))
def test_a_window_keeps_at_most_one_entry_more_than_its_limit(steps, span_ns, limit):
    window, now_ns = Window(span_ns, limit), 0
    for wait_ns, amount in steps:
        now_ns += wait_ns
        window.add_amount(amount, now_ns)
        assert len(window) <= limit + 1


def test_what_lies_a_whole_span_back_is_out_and_a_nanosecond_less_is_in():
    window = Window(NS_PER_SECOND, 5)
    window.add_amount(2, T0)
    assert window.total(T0 + NS_PER_SECOND - 1) == 2
    assert window.total(T0 + NS_PER_SECOND) == 0


def test_looking_ahead_changes_nothing():
    window = Window(NS_PER_SECOND, 5)
    window.add_amount(2, T0)
    window.total(T0 + MINUTE)
    assert window.total(T0) == 2


# --- what is held back ----------------------------------------------------------------------------


def test_a_mad_strategy_passes_as_many_creates_as_the_limit_and_not_one_more():
    guard, passed = breakers(writes_per_second=100_000), 0
    for step in range(1_000):
        now_ns = T0 + step * NS_PER_SECOND // 1_000
        if guard.admits(create(number=step), now_ns):
            guard.on_send(create(number=step), now_ns)
            passed += 1
    assert passed == 60
    assert guard.tripped == "creates_per_minute: 61, at most 60"
    assert guard.trips == {"creates_per_minute": 1}


def test_the_rates_of_a_bot_of_twenty_orders_let_sixty_creates_pass():
    assert limits_of(BreakerSettings(), RISK).creates_per_minute == 60


@pytest.mark.parametrize(
    ("limit", "request_of"),
    [
        ({"writes_per_second": 1}, create),
        ({"writes_per_second": 1}, lambda: AMEND),
        ({"creates_per_minute": 1}, create),
        ({"notional_cents_per_minute": 799}, create),
    ],
)
def test_what_would_pass_a_rate_is_held_back_and_trips(limit, request_of):
    guard = breakers(**limit)
    assert guard.admits(create(), T0)
    guard.on_send(create(), T0)
    assert not guard.admits(request_of(), T0)
    assert guard.tripped.startswith(next(iter(limit)))


@pytest.mark.parametrize("free", [CANCEL, create(again=True), m.ReadBalance()])
def test_cancels_reads_and_resends_pass_a_tripped_breaker(free):
    guard = breakers(creates_per_minute=1)
    guard.on_send(create(), T0)
    out = Outbox(BudgetSettings(), breakers=guard)
    assert not out.send(create(), Priority.CREATE, "", T0)
    assert out.send(free, Priority.CANCEL, "", T0)
    late_ns = T0 + 10 * MINUTE
    assert not out.send(AMEND, Priority.AMEND, "", late_ns), "it stays tripped whatever time passes"


def test_a_resend_is_no_new_create_but_a_write():
    guard = breakers(creates_per_minute=1, writes_per_second=2)
    guard.on_send(create(again=True), T0)
    guard.on_send(create(again=True), T0)
    used = {level.name: level.used for level in guard.levels(T0)}
    assert (used["creates_per_minute"], used["writes_per_second"]) == (0, 2)


def test_more_cancels_than_writes_are_allowed_trip_though_they_leave():
    guard = breakers()
    for _ in range(11):
        guard.on_send(CANCEL, T0)
    assert guard.judge(None, 0, T0) == "writes_per_second: 11, at most 10"


@pytest.mark.parametrize(
    ("count", "wanted", "named"),
    [
        (61, {}, "creates_per_minute: 61, at most 60"),
        (26, {"qty": 100}, "notional_cents_per_minute: 104000, at most 100000"),
    ],
)
def test_creates_that_leave_beyond_their_rate_trip_too(count, wanted, named):
    guard = breakers(writes_per_second=1_000)
    for _ in range(count):
        guard.on_send(create(**wanted), T0)
    assert guard.judge(None, 0, T0) == named


# --- what is judged -------------------------------------------------------------------------------


def test_nothing_trips_while_every_limit_is_kept_to_the_last():
    guard = breakers()
    guard.on_fills(5, 40, T0)
    for _ in range(3):
        guard.on_reject(T0)
    assert guard.judge(0, MINUTE, T0) == ""
    assert guard.judge(-500, MINUTE, T0) == ""


@pytest.mark.parametrize(
    ("see", "named"),
    [
        (lambda guard: guard.on_fills(6, 6, T0), "fills_per_minute: 6, at most 5"),
        (lambda guard: guard.on_fills(1, 41, T0), "filled_qty_per_minute: 41, at most 40"),
        (
            lambda guard: [guard.on_reject(T0 + step) for step in range(4)],
            "rejects_per_minute: 4, at most 3",
        ),
    ],
)
def test_fills_and_rejects_beyond_their_rate_trip(see, named):
    guard = breakers()
    see(guard)
    assert guard.judge(None, 0, T0 + 5) == named
    assert not guard.admits(create(), T0 + 5)


def test_a_loss_is_counted_from_the_first_profit_that_was_given():
    guard = breakers()
    assert guard.judge(7_000, 0, T0) == ""
    assert guard.judge(6_500, 0, T0) == ""
    assert guard.judge(6_499, 0, T0) == "loss_cents: 501, at most 500"


def test_a_fall_from_the_peak_trips_though_there_is_a_profit():
    guard = breakers()
    for cents in (0, 5_000, 4_200):
        assert guard.judge(cents, 0, T0) == ""
    assert guard.judge(4_199, 0, T0) == "drawdown_cents: 801, at most 800"


@settings(deadline=None)
@given(st.lists(st.integers(-2_000, 2_000), min_size=1, max_size=60))
def test_the_drawdowns_are_those_of_the_whole_history(history):
    guard = breakers(loss_cents=10_000, drawdown_cents=10_000)
    for cents in history:
        guard.judge(cents, 0, T0)
    used = {level.name: level.used for level in guard.levels(T0)}
    assert used["loss_cents"] == max(0, history[0] - history[-1])
    assert used["drawdown_cents"] == max(history) - history[-1]


def test_a_profit_that_is_reckoned_anew_is_neither_loss_nor_gain():
    guard = breakers()
    guard.judge(0, 0, T0)
    guard.rebase(10_000)
    guard.judge(10_000, 0, T0)
    assert guard.judge(9_500, 0, T0) == ""
    assert guard.judge(9_499, 0, T0) == "loss_cents: 501, at most 500"


def test_an_order_unknown_for_too_long_trips():
    guard = breakers()
    assert guard.judge(None, MINUTE, T0) == ""
    assert guard.judge(None, MINUTE + 1, T0).startswith("unknown_age_ns")


def test_the_first_reason_stands():
    guard = breakers()
    first = guard.judge(None, 2 * MINUTE, T0)
    guard.on_fills(50, 50, T0)
    assert guard.judge(None, 0, T0) == first
    assert guard.trips == {"unknown_age_ns": 1}


def test_rearming_forgets_the_rates_and_reckons_profit_anew():
    guard = breakers()
    guard.judge(0, 0, T0)
    guard.on_fills(6, 6, T0)
    assert guard.judge(-900, 0, T0)
    guard.rearm()
    assert guard.judge(-900, 0, T0) == ""
    assert guard.admits(create(), T0)
    assert guard.judge(-1_401, 0, T0) == "loss_cents: 501, at most 500"


# --- limits ---------------------------------------------------------------------------------------


def test_no_breaker_can_be_switched_off_by_a_zero():
    limits = limits_of(BreakerSettings(), RISK)
    assert all(value > 0 for value in _numbers(limits).values())


def test_what_is_not_set_follows_from_the_other_limits():
    limits = limits_of(BreakerSettings(), RISK)
    assert limits.writes_per_second == limits.fills_per_minute == 60
    assert limits.filled_qty_per_minute == 200
    assert limits.notional_cents_per_minute == 20_000
    assert (limits.loss_cents, limits.drawdown_cents) == (2_000, 4_000)
    assert limits.order_notional_cents == 1_000


def test_what_is_set_is_kept_up_to_the_compiled_caps():
    wide = BreakerSettings(loss_cents=77, order_notional_cents=10**9, ticks_through=98)
    limits = limits_of(wide, RISK)
    assert limits.loss_cents == 77
    assert limits.order_notional_cents == ORDER_NOTIONAL_CENTS_CAP
    assert limits.ticks_through == TICKS_THROUGH_CAP
