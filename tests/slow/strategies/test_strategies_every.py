"""Claims that every strategy keeps: valid parameters, valid quotes, and quotes that never cross."""

from pathlib import Path
from typing import Any

import pydantic
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.config.plugins import find_strategy
from bot.strategy.api import EventView, Strategy, checked, mapped
from bot.strategy.pricing.skew import Rule
from tests.builders.scale import cases
from tests.builders.strategies import scenes
from tests.builders.strategies.through_time import Scene, touches
from tests.builders.strategies.views import ladder_lives, rung, view, views

NAMES = sorted(path.stem for path in Path("strategies").glob("[a-z]*.py"))
REQUIRED: dict[str, dict[str, Any]] = {
    "pure_mm": {
        "bid_spread_pct": 2,
        "ask_spread_pct": 2,
        "order_refresh_time_s": 1,
        "order_amount_qty": 10,
    }
}
"""Parameters without a default."""

AROUND = ["fair", "mid", "micro", "last"]
VARIED: dict[str, dict[str, list[Any]]] = {
    "amm": {},
    "avellaneda_stoikov": {
        "mode": ["paper", "hummingbot"],
        "around": AROUND,
        "risk_aversion": [1e-3, 0.1, 100],
        "risk_factor": [1e-3, 1, 1_000],
        "order_amount_shape": [0, 5],
        "min_spread_pct": [0, 50],
        "session_s": [0, 86_400],
        "order_refresh_time_s": [0.5, 30],
        "max_order_age_s": [10, 1_800],
        "order_levels": [1, 4],
        "level_distances_pct": [0, 40],
        "order_optimization": [False, True],
    },
    "bands": {"sync_s": [10]},
    "fixed_spread": {},
    "glft": {
        "risk_aversion": [0.0, 0.05, 10.0],
        "execution_risk": [0.0, 1e-9, 0.05, 10.0],
        "lot_qty": [1, 10, 100_000],
        "fit_arrivals_min": [3],
        "refit_s": [0.01],
        "around": AROUND,
    },
    "ladder_joint": {"rule": list(Rule)},
    "lmsr": {
        "ls_alpha": [0, 0.05],
        "all_at_once": [False, True],
        "prior": ["first", "follow"],
        "b_dollars": [1, 10],
    },
    "pure_mm": {
        "bid_spread_pct": [0.01, 2, 30, 100],
        "ask_spread_pct": [0.01, 2, 30, 100],
        "order_refresh_time_s": [0.5, 30],
        "order_amount_qty": [1, 10],
        "order_refresh_tolerance_pct": [-1, 0, 20],
        "minimum_spread_pct": [-100, 1],
        "max_order_age_s": [10, 1_800],
        "order_levels": [1, 4],
        "order_level_amount_qty": [0, 3],
        "filled_order_delay_s": [0, 60],
        "around": AROUND,
        "inventory_skew": [False, True],
        "ping_pong": [False, True],
        "hanging_orders": [False, True],
        "order_optimization": [False, True],
        "take_if_crossed": [False, True],
    },
    "queue_touch": {
        "levels": [2],
        "cancels_per_s": [0.0],
        "away_per_s": [0.001],
        "through_per_s": [0.001],
    },
}
"""Values of each parameter with which quotes are drawn."""

BAND = {
    "min_margin_cents": 1,
    "avg_margin_cents": 2,
    "max_margin_cents": 3,
    "min_qty": 1,
    "avg_qty": 2,
    "max_qty": 3,
}
INVALID: dict[str, list[dict[str, Any]]] = {
    "amm": [
        {"spread_cents": 10},
        {"p_min_cents": 95},
        {"delta_cents": 0},
        {"max_collateral_cents": 0},
        {"delta": 1},
    ],
    "arb": [{"leg_risk": 2}, {"max_legs": 3}, {"size_cap_qty": 0}, {"legs": 2}],
    "avellaneda_stoikov": [
        {"mode": "other"},
        {"risk_aversion": 0},
        {"order_levels": 0},
        {"gama": 1},
    ],
    "bands": [
        {"bands": bands}
        for bands in (
            [BAND | {"avg_margin_cents": 3}],
            [BAND | {"min_margin_cents": 0}],
            [BAND | {"avg_qty": 4}],
            [BAND | {"width": 4}],
            [BAND, BAND | {"min_margin_cents": 2, "max_margin_cents": 5}],
            [],
        )
    ],
    "fixed_spread": [{"half_spread_cents": 0}, {"lot_qty": 0}, {"half_spred_cents": 2}],
    "glft": [{"lot_qty": 0}, {"prior_decay_per_cent": 5}, {"risk_aversion": -1}, {"gama": 1}],
    "ladder_joint": [
        {"levels": 0},
        {"levels": 6},
        {"intensity_per_cent": 5},
        {"q_half_lots": 0},
        {"lott": 1},
        {"rule": "boldest"},
    ],
    "lmsr": [{"b_dollars": 0}, {"ls_alpha": -1}, {"least_mass": 0}, {"prior": "none"}, {"b": 5}],
    "pure_mm": [
        {"bid_spread_pct": 0},
        {"order_levels": 0},
        {"order_amount_qty": 0},
        {"bid_spred": 1},
    ],
    "queue_touch": [{"half_ticks": 0}, {"grid": 0}, {"levels": 11}, {"gird": 5}],
}
BAD = [pytest.param(name, bad, id=f"{name} {bad}") for name, row in INVALID.items() for bad in row]


def make(name: str, **params: Any) -> Strategy:
    kind = find_strategy(name, Path())
    return kind(kind.Params.model_validate(REQUIRED.get(name, {}) | params))


@pytest.mark.parametrize(("name", "bad"), BAD)
def test_parameters_out_of_range_and_unknown_parameters_are_rejected(
    name: str, bad: dict[str, Any]
) -> None:
    with pytest.raises(pydantic.ValidationError):
        make(name, **bad)


@pytest.mark.parametrize("name", NAMES)
def test_every_parameter_has_a_description(name: str) -> None:
    params = find_strategy(name, Path()).Params
    assert all(field.description for field in params.model_fields.values())


@pytest.mark.parametrize("name", VARIED)
@settings(max_examples=cases(20_000, quick=100), deadline=None)
@given(data=st.data(), run=st.one_of(scenes.runs, views().map(lambda one: [one])))
def test_quotes_are_valid_and_never_cross_the_book(
    name: str, data: st.DataObject, run: list[EventView]
) -> None:
    drawn = {key: st.sampled_from(values) for key, values in VARIED[name].items()}
    strategy = make(name, **data.draw(st.fixed_dictionaries(drawn)))
    for event in run:
        assert touches(event, checked(strategy.quote(event), event)) == []


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=cases(2_000, quick=50), deadline=None)
@given(run=ladder_lives())
def test_every_strategy_survives_rungs_that_appear_resolve_or_lose_their_value(
    name: str, run: list[EventView]
) -> None:
    strategy = make(name)
    for event in run:
        checked(mapped(strategy.quote(event)), event)


@pytest.mark.parametrize("name", ["avellaneda_stoikov", "glft", "pure_mm"])
def test_unchanged_quotes_are_the_same_tuple(name: str) -> None:
    scene = Scene(make(name), 50.0)
    scene.at(0)
    first = scene.answer["m0"]
    scene.at(0.5)
    assert scene.answer["m0"] is first
    scene.fair = 60.0
    scene.at(2)
    assert scene.answer["m0"] != first


@pytest.mark.parametrize("name", ["avellaneda_stoikov", "glft", "pure_mm"])
def test_a_rung_that_comes_back_is_quoted_like_a_new_one(name: str) -> None:
    strategy = make(name)
    strategy.quote(view(rung(0, 50.0), rung(1, 20.0)))
    strategy.quote(view(rung(1, 20.0)))
    again = view(rung(0, 60.0), rung(1, 20.0))
    assert strategy.quote(again)["m0"] == make(name).quote(again)["m0"]
