"""The circuit breakers: exact windows in bounded memory, what trips them, and what never does."""

from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from bot.config.bot_config import in_ns
from bot.config.checks import beyond_caps
from bot.config.sections import Breakers
from bot.core import messages as m
from bot.core.execution.pre_trade_checks import HeldBack
from bot.core.orders.outbox import Outbox
from bot.core.orders.request_budget import Priority
from bot.core.risk.breakers import (
    ORDER_NOTIONAL_CENTS_CAP,
    ORDER_QTY_CAP,
    TICKS_THROUGH_CAP,
    CircuitBreakers,
    Window,
    limits_of,
)
from bot.core.settings import BreakerSettings, BudgetSettings, RiskSettings
from tests.builders.bot import made
from tests.builders.bot.account import Account
from tests.builders.bot.made import T0
from venue.wire.instant import NS_PER_SECOND
from venue.wire.money import BookSide, Cents, Outcome, Price, Qty, Side
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
    return m.Create(order, again)


AMEND = m.AmendResting(OrderId("1001"), Amend(price=Price(41)))
CANCEL = m.CancelResting(OrderId("1001"))
STEPS = st.lists(st.tuples(st.integers(0, 30), st.integers(1, 9)), max_size=120)


@settings(deadline=None)
@given(STEPS, st.integers(1, 50), st.integers(1, 40))
def test_a_window_agrees_with_a_list_of_everything_in_bounded_memory(steps, span_ns, limit):
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
        assert len(window) <= limit + 1


def test_the_creates_breaker_admits_exactly_its_limit():
    guard, passed = breakers(writes_per_second=100_000), 0
    for step in range(1_000):
        now_ns = T0 + step * NS_PER_SECOND // 1_000
        if guard.admits(create(number=step), now_ns):
            guard.on_send(create(number=step), now_ns)
            passed += 1
    assert passed == 60
    assert guard.tripped == "creates_per_minute: 61, at most 60"
    assert guard.trips == {"creates_per_minute": 1}


@pytest.mark.parametrize(
    ("limit", "request_of"),
    [
        ({"writes_per_second": 1}, create),
        ({"writes_per_second": 1}, lambda: AMEND),
        ({"creates_per_minute": 1}, create),
        ({"notional_cents_per_minute": 799}, create),
    ],
)
def test_a_write_beyond_a_rate_is_held_back_and_trips_the_breaker(limit, request_of):
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


def test_a_resend_counts_as_a_write_and_not_as_a_create():
    guard = breakers(creates_per_minute=1, writes_per_second=2)
    guard.on_send(create(again=True), T0)
    guard.on_send(create(again=True), T0)
    used = {level.name: level.used for level in guard.levels(T0)}
    assert (used["creates_per_minute"], used["writes_per_second"]) == (0, 2)


def test_cancels_beyond_the_write_rate_are_sent_and_trip_the_breaker():
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
def test_creates_sent_beyond_their_rate_trip_the_breaker(count, wanted, named):
    guard = breakers(writes_per_second=1_000)
    for _ in range(count):
        guard.on_send(create(**wanted), T0)
    assert guard.judge(None, 0, T0) == named


def test_no_breaker_trips_at_its_limit():
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
def test_fills_and_rejects_beyond_their_rate_trip_the_breaker(see, named):
    guard = breakers()
    see(guard)
    assert guard.judge(None, 0, T0 + 5) == named
    assert not guard.admits(create(), T0 + 5)


def test_a_loss_counts_from_the_first_profit_reported():
    guard = breakers()
    assert guard.judge(7_000, 0, T0) == ""
    assert guard.judge(6_500, 0, T0) == ""
    assert guard.judge(6_499, 0, T0) == "loss_cents: 501, at most 500"


def test_a_drawdown_from_the_peak_trips_the_breaker_despite_a_profit():
    guard = breakers()
    for cents in (0, 5_000, 4_200):
        assert guard.judge(cents, 0, T0) == ""
    assert guard.judge(4_199, 0, T0) == "drawdown_cents: 801, at most 800"


@settings(deadline=None)
@given(st.lists(st.integers(-2_000, 2_000), min_size=1, max_size=60))
def test_loss_and_drawdown_are_those_of_the_whole_history(history):
    guard = breakers(loss_cents=10_000, drawdown_cents=10_000)
    for cents in history:
        guard.judge(cents, 0, T0)
    used = {level.name: level.used for level in guard.levels(T0)}
    assert used["loss_cents"] == max(0, history[0] - history[-1])
    assert used["drawdown_cents"] == max(history) - history[-1]


def test_a_rebased_profit_is_neither_loss_nor_gain():
    guard = breakers()
    guard.judge(0, 0, T0)
    guard.rebase(10_000)
    guard.judge(10_000, 0, T0)
    assert guard.judge(9_500, 0, T0) == ""
    assert guard.judge(9_499, 0, T0) == "loss_cents: 501, at most 500"


def test_an_order_unknown_for_too_long_trips_the_breaker():
    guard = breakers()
    assert guard.judge(None, MINUTE, T0) == ""
    assert guard.judge(None, MINUTE + 1, T0).startswith("unknown_age_ns")


def test_a_breaker_keeps_the_first_reason_of_its_trip():
    guard = breakers()
    first = guard.judge(None, 2 * MINUTE, T0)
    guard.on_fills(50, 50, T0)
    assert guard.judge(None, 0, T0) == first
    assert guard.trips == {"unknown_age_ns": 1}


def test_rearming_forgets_rates_and_starts_profit_from_now():
    guard = breakers()
    guard.judge(0, 0, T0)
    guard.on_fills(6, 6, T0)
    assert guard.judge(-900, 0, T0)
    guard.rearm()
    assert guard.judge(-900, 0, T0) == ""
    assert guard.admits(create(), T0)
    assert guard.judge(-1_401, 0, T0) == "loss_cents: 501, at most 500"


def test_breakers_left_at_zero_are_derived_from_the_other_limits():
    limits = limits_of(BreakerSettings(), RISK)
    assert limits.creates_per_minute == 60
    assert limits.writes_per_second == limits.fills_per_minute == 60
    assert limits.filled_qty_per_minute == 200
    assert limits.notional_cents_per_minute == 20_000
    assert (limits.loss_cents, limits.drawdown_cents) == (2_000, 4_000)
    assert limits.order_notional_cents == 1_000
    assert min(_numbers(limits).values()) > 0


def test_configured_breakers_apply_up_to_the_compiled_caps():
    wide = BreakerSettings(loss_cents=77, order_notional_cents=10**9, ticks_through=98)
    limits = limits_of(wide, RISK)
    assert limits.loss_cents == 77
    assert limits.order_notional_cents == ORDER_NOTIONAL_CENTS_CAP
    assert limits.ticks_through == TICKS_THROUGH_CAP


def test_a_file_without_breakers_has_the_traders_defaults():
    assert BreakerSettings(**in_ns(Breakers())) == BreakerSettings()
    assert in_ns(Breakers(unknown_age_ms=60_000))["unknown_age_ns"] == 60_000_000_000


@pytest.mark.parametrize(
    "number",
    [
        {"loss_cents": -1},
        {"rejects_per_minute": 0},
        {"unknown_age_ms": 0},
        {"ticks_through": 99},
        {"off": 1},
    ],
)
def test_an_impossible_breaker_setting_is_rejected(number):
    with pytest.raises(ValidationError):
        Breakers(**number)


@pytest.mark.parametrize(
    ("numbers", "order_qty", "place"),
    [
        ({}, ORDER_QTY_CAP + 1, ("risk", "order_qty")),
        (
            {"order_notional_cents": ORDER_NOTIONAL_CENTS_CAP + 1},
            1,
            ("breakers", "order_notional_cents"),
        ),
        ({"ticks_through": TICKS_THROUGH_CAP + 1}, 1, ("breakers", "ticks_through")),
    ],
)
def test_a_setting_beyond_a_compiled_cap_is_rejected_with_the_cap(numbers, order_qty, place):
    [(where, text)] = beyond_caps(Breakers(**numbers), order_qty)
    assert where == place
    assert "compiled cap" in text
    assert "bot/core/risk/breakers.py" in text


def test_settings_at_the_compiled_caps_are_allowed():
    at_caps = Breakers(
        order_notional_cents=ORDER_NOTIONAL_CENTS_CAP, ticks_through=TICKS_THROUGH_CAP
    )
    assert list(beyond_caps(at_caps, ORDER_QTY_CAP)) == []


NUMBERS = st.integers(0, 10**7)


@settings(deadline=None, max_examples=300)
@given(
    order_qty=st.integers(1, 10**6),
    notional=NUMBERS,
    ticks=st.integers(0, 98),
    price=st.integers(1, 99),
    qty=st.integers(1, 10**6),
    outcome=st.sampled_from(list(Outcome)),
    side=st.sampled_from(list(Side)),
    best=st.tuples(st.integers(1, 49), st.integers(50, 99)),
)
def test_no_settings_let_an_order_past_a_compiled_cap(
    order_qty, notional, ticks, price, qty, outcome, side, best
):
    far = {"event_loss_cents": 10**9, "series_loss_cents": 10**9, "rung_position_qty": 10**6}
    numbers = BreakerSettings(order_notional_cents=notional, ticks_through=ticks)
    of = Account({**far, "order_qty": order_qty}, breakers=numbers)
    bid, ask = best
    bids, asks = ((Price(bid), Qty(1)),), ((Price(ask), Qty(1)),)
    own = made.own(outcome=outcome, side=side, price=price, qty=qty)
    rung = SimpleNamespace(
        market_id=made.MARKET,
        state=SimpleNamespace(bids=bids, asks=asks, without_own=lambda _own: (bids, asks)),
        is_side_suspended=lambda _side, _now_ns: False,
    )
    verdict = of.sending.checks.within_caps(rung, own.book_side, own.outcome, own.price, qty)
    through = own.yes_price - ask if own.book_side is BookSide.BID else bid - own.yes_price
    if verdict.reason is None:
        assert qty <= ORDER_QTY_CAP
        assert price * qty <= ORDER_NOTIONAL_CENTS_CAP
        assert through <= min(ticks, TICKS_THROUGH_CAP)
    else:
        assert verdict.reason is HeldBack.CAP
