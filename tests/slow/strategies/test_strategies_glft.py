"""GLFT on a rung: distances, skew, limits, what it measures and what it falls back to."""

import math
from typing import Any

import pytest

from bot.strategy.api import Intensity
from bot.strategy.pricing import glft
from strategies.glft import Glft
from tests.builders.strategies.through_time import ASK, BID, Scene, trade


def make(**params: Any) -> Glft:
    return Glft(Glft.Params.model_validate(params))


def scene(fair: float | None = 50.0, **params: Any) -> Scene:
    return Scene(make(**params), fair)


def test_without_inventory_risk_each_quote_is_one_over_k_from_the_fair_value() -> None:
    # Nothing moves: no inventory risk, and 1/0.4 = 2.5 cents either side.
    assert scene(prior_decay_per_cent=0.4).at(0) == [(BID, 47, 10), (ASK, 53, 10)]


TWO_LOTS = {"max_position_lots": 2}
LEARNED, UNSEEN = Intensity(0.1, 0.25, 40), Intensity(0.1, 0.25, 0)
QUOTED: dict[str, tuple[dict[str, Any], dict[str, Any], tuple[int, int] | None]] = {
    "a part of the last lot": (TWO_LOTS, {"net": 15}, (48, 5)),
    "the maximum position": (TWO_LOTS, {"net": 20}, None),
    "around the mid": ({"fair": None}, {"bid": 40, "ask": 60}, (48, 10)),
    "no legal bid": ({"fair": 1.0}, {}, None),
    "behind a touch it would cross": ({}, {"bid": 30, "ask": 45}, (44, 10)),
    "behind a stale touch": ({}, {"bid": 30, "ask": 45, "book_age_s": 10.0}, (43, 10)),
    "a learned intensity": ({}, {"intensity": LEARNED}, (46, 10)),
    "an intensity without prints": ({}, {"intensity": UNSEEN}, (48, 10)),
}


@pytest.mark.parametrize(("params", "shown", "bid"), QUOTED.values(), ids=QUOTED)
def test_the_bid_follows_position_touch_and_learned_intensity(
    params: dict[str, Any], shown: dict[str, Any], bid: tuple[int, int] | None
) -> None:
    bids = [(price, qty) for side, price, qty in scene(**params).at(0, **shown) if side is BID]
    assert bids == ([] if bid is None else [bid])


@pytest.mark.parametrize(("fair", "net"), [(99.0, 0), (50.0, -25)])
def test_the_ask_ends_at_the_maximum_short_position_and_at_99_cents(fair: float, net: int) -> None:
    assert [side for side, _, _ in scene(fair, max_position_lots=2).at(0, net=net)] == [BID]


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


def test_a_rung_without_fair_value_and_mid_is_not_quoted() -> None:
    one = scene(None)
    assert one.at(0, bid=40) == []
    assert "m0" not in one.answer


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
