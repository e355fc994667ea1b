"""Avellaneda and Stoikov's dealer: by the paper, and as hummingbot runs it."""

import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.strategy.api import ComingDate, Intensity
from bot.strategy.pricing import avellaneda
from strategies.avellaneda_stoikov import AvellanedaStoikov
from tests.builders.strategies.scenes import fill
from tests.builders.strategies.through_time import ASK, BID, Scene, trade

HUMMINGBOT: dict[str, Any] = {"mode": "hummingbot"}
PLAIN: dict[str, Any] = {"order_optimization": False, "inventory_target_base_pct": 0}


def make(**params: Any) -> AvellanedaStoikov:
    return AvellanedaStoikov(AvellanedaStoikov.Params.model_validate(params))


def paper(fair: float | None = 50.0, **params: Any) -> Scene:
    return Scene(make(**params), fair)


def hummingbot(fair: float | None = 50.0, **params: Any) -> Scene:
    return Scene(make(**HUMMINGBOT | params), fair)


# --- by the paper ---------------------------------------------------------------------------------


def test_quotes_are_half_the_optimal_spread_from_the_reservation_price() -> None:
    one = paper(50.0, risk_aversion=0.2, volatility_cents=0.05, decay_per_cent=0.6, horizon_s=3_600)
    middle = avellaneda.reservation_price(50.0, 3.0, 0.2, 0.05, 3_600.0)
    half = avellaneda.optimal_spread(0.2, 0.05, 3_600.0, 0.6) / 2
    assert one.at(0, net=30) == [
        (BID, math.floor(middle - half), 10),
        (ASK, math.ceil(middle + half), 10),
    ]
    assert middle == pytest.approx(50 - 3 * 0.2 * 9)


def test_volatility_and_decay_of_zero_use_the_learned_values() -> None:
    given_both = paper(volatility_cents=0.05, decay_per_cent=0.3).at(0, net=10)
    learned = paper().at(0, net=10, volatility=0.05, intensity=Intensity(0.1, 0.3, 50))
    assert learned == given_both


def test_without_learned_values_the_prior_decay_is_used() -> None:
    assert paper().at(0) == paper(decay_per_cent=0.6).at(0) == [(BID, 48, 10), (ASK, 52, 10)]


def test_the_horizon_ends_with_the_event() -> None:
    near = paper(volatility_cents=0.1).at(0, left_s=60.0)
    far = paper(volatility_cents=0.1).at(0)
    assert near[1][1] - near[0][1] < far[1][1] - far[0][1]
    over = paper(volatility_cents=0.1).at(0, left_s=0.0, net=500)
    assert over == [(BID, 48, 10), (ASK, 52, 10)]


def test_a_date_within_the_horizon_adds_its_variance() -> None:
    one = paper(volatility_cents=0.5, horizon_s=60)
    soon, later = ComingDate("results", 60.0, 240.0), ComingDate("index day", 61.0, 9_000.0)
    longer = paper(volatility_cents=0.5, horizon_s=300)
    assert one.at(0, dates=(soon, later)) == longer.at(0) != one.at(0)


def test_a_rung_without_fair_value_and_mid_is_not_quoted() -> None:
    assert paper(None).at(0, bid=40) == []


def test_a_price_outside_1_to_99_cents_is_not_quoted() -> None:
    one = paper(50.0, volatility_cents=1.0)
    assert [side for side, _, _ in one.at(0, net=100)] == [ASK]


def test_a_crossing_quote_moves_a_tick_behind_the_touch_and_two_behind_a_stale_one() -> None:
    assert paper(50.0).at(0, bid=30, ask=45)[0] == (BID, 44, 10)
    assert paper(50.0).at(0, bid=30, ask=45, book_age_s=10.0)[0] == (BID, 43, 10)


# --- hummingbot: prices ---------------------------------------------------------------------------


def moved(one: Scene, ticks: int = 4, **seen: Any) -> None:
    """The value goes from 49 to 51 and back once a tick, then stands at 50 for the next one."""
    for now in range(ticks):
        one.fair = 49.0 if now % 2 else 51.0
        one.at(now, **seen)
    one.fair = 50.0


NEVER_AGAIN: dict[str, Any] = {"order_refresh_time_s": 0.5}


def test_hummingbot_mode_quotes_the_reservation_price_and_optimal_spread_formulas() -> None:
    one = hummingbot(**PLAIN, **NEVER_AGAIN)
    # 60 shares of 100 owned in all: 60 at 50 cents and 2,000 cents.
    moved(one, 4, net=60, cash=2_000)
    wanted = one.at(4, net=60, cash=2_000)
    volatility = math.sqrt((3 * 4 + 1) / 5)
    middle = 50 - 0.6 * volatility
    half = (volatility + 2 * math.log(1 + 1 / 0.6)) / 2
    assert wanted == [(BID, math.floor(middle - half), 10), (ASK, math.ceil(middle + half), 10)]


def test_a_larger_risk_factor_skews_and_widens_the_quotes() -> None:
    def quoted(risk_factor: float) -> tuple[int, int]:
        one = hummingbot(
            **PLAIN,
            risk_factor=risk_factor,
            **NEVER_AGAIN,
        )
        moved(one, 4, net=60, cash=2_000)
        wanted = one.at(4, net=60, cash=2_000)
        return wanted[0][1], wanted[1][1]

    timid, bold = quoted(5.0), quoted(1.0)
    assert sum(timid) < sum(bold)
    assert timid[1] - timid[0] > bold[1] - bold[0]


def test_at_the_inventory_target_the_quotes_are_symmetric() -> None:
    one = hummingbot(order_optimization=False, **NEVER_AGAIN)
    moved(one, 4, net=40, cash=2_000)
    (_, bid, _), (_, ask, _) = one.at(4, net=40, cash=2_000)
    assert bid + ask == 100


# At 40 against 60, gamma vol + 2/gamma ln(1 + gamma/kappa) = 10 + 1.96: half of it is 5.98.
QUOTED: dict[str, tuple[dict[str, Any], tuple[int, int], list[tuple[Any, int, int]]]] = {
    "the minimum spread on both sides": (
        {"min_spread_pct": 20, "order_optimization": False},
        (49, 51),
        [(BID, 45, 10), (ASK, 55, 10)],
    ),
    "half the market spread as volatility": (PLAIN, (40, 60), [(BID, 44, 10), (ASK, 56, 10)]),
    "levels half of the half spread apart": (
        PLAIN | {"order_levels": 2, "level_distances_pct": 50},
        (40, 60),
        [(BID, 44, 10), (BID, 41, 10), (ASK, 56, 10), (ASK, 59, 10)],
    ),
    "levels without a distance": (
        PLAIN | {"order_levels": 3},
        (40, 60),
        [(BID, 44, 30), (ASK, 56, 30)],
    ),
    "a tick inside the touch": (
        {"inventory_target_base_pct": 0},
        (30, 60),
        [(BID, 31, 10), (ASK, 59, 10)],
    ),
}


@pytest.mark.parametrize(("params", "touch", "quotes"), QUOTED.values(), ids=QUOTED)
def test_the_first_hummingbot_quotes_follow_the_market_spread(
    params: dict[str, Any], touch: tuple[int, int], quotes: list[tuple[Any, int, int]]
) -> None:
    assert hummingbot(**params).at(0, bid=touch[0], ask=touch[1]) == quotes


def test_without_any_volatility_there_is_no_quote() -> None:
    assert hummingbot().at(0) == []
    assert len(hummingbot().at(0, volatility=0.02)) == 2


def test_neither_side_is_quoted_when_the_bid_would_be_negative() -> None:
    # Half of gamma vol + 1.96, with half the spread of the market, 4 cents, as the volatility.
    one = hummingbot(2.0, around="fair", inventory_target_base_pct=0)
    assert one.at(0, bid=1, ask=9) == []
    assert len(hummingbot(5.0, inventory_target_base_pct=0).at(0, bid=1, ask=9)) == 2


def test_the_inventory_skew_fades_toward_the_end_of_the_session() -> None:
    def quoted(left_s: float) -> list[tuple[Any, int, int]]:
        one = hummingbot(
            **PLAIN,
            session_s=1_000,
            risk_factor=3,
            **NEVER_AGAIN,
        )
        moved(one, 4, net=60, cash=2_000, left_s=left_s)
        return one.at(4, net=60, cash=2_000, left_s=left_s)

    assert quoted(1_000.0) == quoted(5_000.0)
    start, end = quoted(1_000.0), quoted(0.0)
    assert start[0][1] + start[1][1] < end[0][1] + end[1][1] == 100


def test_the_decay_is_fitted_to_the_traded_amounts() -> None:
    # Amounts fall off by exp(-0.15 d), so kappa is 0.15 and the spread 2 ln(1 + 1/0.15) and more.
    one = hummingbot(**PLAIN, **NEVER_AGAIN)
    one.at(0, bid=49, ask=51)
    prints = [trade(50 + d, round(1_000 * math.exp(-0.15 * d))) for d in range(1, 9)]
    half = (1.0 + 2 * math.log(1 + 1 / 0.15)) / 2
    assert one.at(1, bid=49, ask=51, prints=prints) == [
        (BID, math.floor(50 - half), 10),
        (ASK, math.ceil(50 + half), 10),
    ]


def test_the_learned_decay_is_used_until_the_fit() -> None:
    learned = Intensity(0.1, 0.2, 80)
    half = (1.0 + 2 * math.log(1 + 1 / 0.2)) / 2
    one = hummingbot(**PLAIN)
    assert one.at(0, bid=49, ask=51, intensity=learned)[0] == (BID, math.floor(50 - half), 10)


def test_quotes_can_wait_for_full_buffers() -> None:
    one = hummingbot(wait_for_buffers=True, volatility_buffer_ticks=3, intensity_buffer_ticks=1)
    assert one.at(0, bid=49, ask=51) == []
    assert one.at(1, bid=49, ask=51, prints=[trade(52)]) == []
    assert len(one.at(2, bid=49, ask=51)) == 2


# --- hummingbot: sizes and levels -----------------------------------------------------------------


def test_eta_shrinks_the_side_that_adds_excess_inventory() -> None:
    def sizes(net: int) -> dict[Any, int]:
        one = hummingbot(order_amount_shape=2.0, order_amount_qty=100)
        return {side: qty for side, _, qty in one.at(0, bid=49, ask=51, net=net, cash=2_000)}

    # 60 of 100 shares held, 50 wanted: q = 0.1; none of 40 held, 20 wanted: q = -0.5.
    assert sizes(60) == {BID: math.floor(100 * math.exp(-0.2)), ASK: 100}
    assert sizes(0) == {BID: 100, ASK: math.floor(100 * math.exp(-1))}


# --- hummingbot: the clock ------------------------------------------------------------------------


def test_orders_are_replaced_only_after_the_refresh_time() -> None:
    one = hummingbot(order_refresh_time_s=30)
    first = one.at(0, bid=49, ask=51)
    one.fair = 60.0
    assert one.at(29, bid=59, ask=61) == [each for each in first if each[0] is BID]
    assert one.at(30, bid=59, ask=61) != first


def test_orders_within_the_refresh_tolerance_are_kept_for_another_refresh_time() -> None:
    one = hummingbot(order_refresh_tolerance_pct=10, order_refresh_time_s=30)
    first = one.at(0, bid=49, ask=51)
    one.fair = 51.0
    assert one.at(30, bid=50, ask=52) == first
    assert one.at(59, bid=50, ask=52) == first


def test_after_a_full_fill_only_the_opposite_order_rests_until_the_delay_ends() -> None:
    one = hummingbot(filled_order_delay_s=60, order_refresh_time_s=30)
    (_, bid, _), ask = one.at(0, bid=49, ask=51)
    assert one.at(1, fill(BID, bid, 10), bid=49, ask=51) == [ask]
    assert one.at(60, bid=49, ask=51) == [ask]
    assert len(one.at(61, bid=49, ask=51)) == 2


def test_an_order_at_its_maximum_age_is_cancelled_and_replaced_at_the_refresh_time() -> None:
    one = hummingbot(max_order_age_s=100, order_refresh_time_s=150)
    first = one.at(0, bid=49, ask=51)
    assert one.at(99, bid=49, ask=51) == first
    assert one.at(100, bid=49, ask=51) == []
    assert len(one.at(150, bid=49, ask=51)) == 2


def test_without_a_fair_value_or_a_cash_balance_nothing_is_quoted() -> None:
    one = hummingbot()
    first = one.at(0, bid=49, ask=51)
    assert one.at(1, bid=49, ask=51, cash=None) == []
    assert one.at(2, bid=49, ask=51) == first
    one.fair = None
    assert one.at(3, bid=49) == []


def test_without_cash_and_inventory_nothing_is_quoted() -> None:
    assert hummingbot().at(0, bid=49, ask=51, cash=0) == []


# --- sanity ---------------------------------------------------------------------------------------


@settings(deadline=None)
@given(st.integers(-300, 300), st.integers(1, 300), st.floats(5, 95), st.floats(0, 0.2))
def test_more_inventory_never_raises_a_quote_of_the_paper(
    net: int, more: int, fair: float, volatility: float
) -> None:
    before, after = (
        {side: price for side, price, _ in paper(fair).at(0, net=held, volatility=volatility)}
        for held in (net, net + more)
    )
    assert all(after[side] <= before[side] for side in after if side in before)
