"""GLFT on a rung: distances, skew, limits, what it measures and what it falls back to."""

import math
from typing import Any

import pydantic
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.strategy.api import EventView, Intensity, checked
from bot.strategy.pricing import glft
from strategies.glft import STRATEGY, Glft
from tests.builders.scale import cases
from tests.builders.strategies.through_time import ASK, BID, Scene, runs, touches, trade
from tests.builders.strategies.views import rung, view


def make(**params: Any) -> Glft:
    return Glft(Glft.Params.model_validate(params))


def scene(fair: float | None = 50.0, **params: Any) -> Scene:
    return Scene(make(**params), fair)


def test_the_file_names_its_strategy() -> None:
    assert STRATEGY is Glft


def test_without_inventory_risk_each_quote_is_one_over_k_from_the_fair_value() -> None:
    # Nothing moves: no inventory risk, and 1/0.4 = 2.5 cents either side.
    assert scene(prior_decay_per_cent=0.4).at(0) == [(BID, 47, 10), (ASK, 53, 10)]


def test_glft_quotes_the_closed_form_distances_rounded_outward() -> None:
    one = scene(50.0, risk_aversion=0.5)
    terms = glft.coefficients(0.5, 0.02, 0.6, 10, 0.0)
    bid = 50 - glft.bid_distance(terms, 0.05, 10, 30)
    ask = 50 + glft.ask_distance(terms, 0.05, 10, 30)
    assert one.at(0, volatility=0.05, net=30) == [
        (BID, math.floor(bid), 10),
        (ASK, math.ceil(ask), 10),
    ]
    assert ask < 50 - 1  # the skew is more than the half spread: it wants to be rid of it


def test_execution_risk_quotes_the_exact_utility_distance() -> None:
    def half(execution_risk: float) -> int:
        return 50 - scene(risk_aversion=0.05, execution_risk=execution_risk).at(0)[0][1]

    assert half(0.05) < half(0.0) + 1
    terms = glft.coefficients(0.05, 0.02, 0.6, 10, 0.05)
    assert half(0.05) == math.ceil(terms.c1)


def test_a_larger_inventory_lowers_both_quotes() -> None:
    asked = [scene().at(0, volatility=0.05, net=net) for net in (-100, -50, 0, 50, 100)]
    for side in (BID, ASK):
        prices = [price for wanted in asked for s, price, _ in wanted if s is side]
        assert prices == sorted(prices, reverse=True)
        assert prices[0] > prices[-1]


def test_the_side_that_adds_inventory_shrinks_and_stops_at_the_maximum_position() -> None:
    sizes = {side: qty for side, _, qty in scene(max_position_lots=2).at(0, net=15)}
    assert sizes == {BID: 5, ASK: 10}
    assert [side for side, _, _ in scene(max_position_lots=2).at(0, net=20)] == [ASK]
    assert [side for side, _, _ in scene(max_position_lots=2).at(0, net=-25)] == [BID]


@pytest.mark.parametrize("window_s", [60, 600])
def test_volatility_is_not_measured_before_a_minute_of_data(window_s: float) -> None:
    one = scene(50.0, fit_window_s=window_s)
    one.at(0, bid=40, ask=60, volatility=0.025, net=20)
    one.fair = 50.3
    assert one.at(0.1, bid=40, ask=60, volatility=0.025, net=20) == [(BID, 48, 10), (ASK, 52, 10)]
    for now_s in range(1, 60):
        one.at(float(now_s), bid=40, ask=60, volatility=0.025, net=20)
    one.fair = 48.0
    # A minute was seen: from here on moves count.
    assert one.at(60.0, bid=40, ask=60, volatility=0.025, net=20)[-1][1] < 48


def test_unchanged_quotes_are_the_same_tuple() -> None:
    one = scene()
    one.at(0)
    before = one.answer["m0"]
    one.at(1)
    assert one.answer["m0"] is before
    one.fair = 60.0
    one.at(2)
    assert one.answer["m0"] != before


def test_a_rung_without_fair_value_and_mid_is_not_quoted() -> None:
    one = scene(None)
    assert one.at(0, bid=40) == []
    assert "m0" not in one.answer


def test_a_rung_without_a_fair_value_is_quoted_around_the_mid() -> None:
    assert scene(None).at(0, bid=40, ask=60) == [(BID, 48, 10), (ASK, 52, 10)]


def test_near_1_and_99_cents_only_the_side_with_a_legal_price_is_quoted() -> None:
    assert [side for side, _, _ in scene(1.0).at(0)] == [ASK]
    assert [side for side, _, _ in scene(99.0).at(0)] == [BID]


def test_a_crossing_quote_moves_a_tick_behind_the_touch_and_two_behind_a_stale_one() -> None:
    assert scene(50.0).at(0, bid=30, ask=45)[0] == (BID, 44, 10)
    assert scene(50.0).at(0, bid=30, ask=45, book_age_s=10.0)[0] == (BID, 43, 10)


def test_a_learned_intensity_replaces_the_prior_unless_it_has_no_prints() -> None:
    learned = Intensity(0.1, 0.25, 40)
    assert scene(50.0).at(0, intensity=learned)[0] == (BID, 46, 10)
    # An intensity learned from nothing is a prior of somebody else's.
    assert scene(50.0).at(0, intensity=Intensity(0.1, 0.25, 0))[0] == (BID, 48, 10)


def busy(one: Scene, seconds: int) -> None:
    """Trades of a world with k = 0.3 a cent: at 1..8 cents, fewer the deeper."""
    one.at(0)
    now = 0
    for depth in range(1, 9):
        for _ in range(round(40 * math.exp(-0.3 * depth))):
            now += 1
            one.at(now, prints=[trade(50 + depth, 1, BID), trade(50 - depth, 1, ASK)])
    one.at(max(now, seconds))


def test_a_fit_to_the_rungs_own_prints_replaces_the_prior() -> None:
    one = scene(50.0, refit_s=1)
    busy(one, 300)
    # 40 exp(-0.3 d) trades at d = 1..8, summed from the far end: the line falls by 0.4 a cent.
    assert one.at(301) == [(BID, 47, 10), (ASK, 53, 10)]
    assert scene(50.0).at(301) == [(BID, 48, 10), (ASK, 52, 10)]


def test_the_intensity_is_refitted_only_at_the_refit_interval() -> None:
    one = scene(50.0, refit_s=3_600)
    busy(one, 300)
    assert one.at(301) == [(BID, 48, 10), (ASK, 52, 10)]
    # The window of 600 seconds has long passed by the time the fit is due.
    assert one.at(3_600) == [(BID, 48, 10), (ASK, 52, 10)]


def test_a_fit_is_kept_while_there_are_too_few_prints_for_another() -> None:
    one = scene(50.0, refit_s=1)
    busy(one, 300)
    assert one.at(5_000) == [(BID, 47, 10), (ASK, 53, 10)]


def test_a_volatile_fair_value_widens_the_spread() -> None:
    def width(moves: float) -> int:
        one = scene(50.0, risk_aversion=1.0)
        for now in range(200):
            one.fair = 50.0 + (moves if now % 2 else 0.0)
            wanted = one.at(now)
        return wanted[1][1] - wanted[0][1]

    assert width(1.0) > width(0.0)


@settings(deadline=None, max_examples=cases(20_000, quick=300))
@given(
    runs(),
    st.fixed_dictionaries(
        {
            "risk_aversion": st.sampled_from([0.0, 0.05, 10.0]),
            "execution_risk": st.sampled_from([0.0, 1e-9, 0.05, 10.0]),
            "lot_qty": st.sampled_from([1, 10, 100_000]),
            "fit_arrivals_min": st.just(3),
            "refit_s": st.just(0.01),
            "around": st.sampled_from(["fair", "mid", "micro", "last"]),
        }
    ),
)
def test_every_run_of_views_gives_sane_quotes_that_touch_no_book(
    run: list[EventView], params: dict[str, Any]
) -> None:
    strategy = make(**params)
    for seen in run:
        assert touches(seen, checked(strategy.quote(seen), seen)) == []


def test_a_rung_that_comes_back_is_quoted_like_a_new_one() -> None:
    strategy = make()
    strategy.quote(view(rung(0, 50.0), rung(1, 20.0)))
    strategy.quote(view(rung(1, 20.0)))
    assert set(strategy._rungs) == {"m1"}


@pytest.mark.parametrize(
    "bad",
    [{"lot_qty": 0}, {"prior_decay_per_cent": 5}, {"risk_aversion": -1}, {"gama": 1}],
    ids=str,
)
def test_parameters_out_of_range_and_unknown_ones_are_refused(bad: dict[str, Any]) -> None:
    with pytest.raises(pydantic.ValidationError):
        make(**bad)


def test_every_parameter_says_what_it_is() -> None:
    assert all(field.description for field in Glft.Params.model_fields.values())
