"""Pure market making: spreads, the clock of orders, fills, skew, bands, takes."""

from typing import Any

import msgspec
import pydantic
import pytest

from strategies.pure_mm import PureMM
from tests.builders.strategies.scenes import fill, own
from tests.builders.strategies.through_time import ASK, BID, Scene
from tests.builders.strategies.views import rung, view
from venue.wire.money import Price, Qty

BASIC: dict[str, Any] = {
    "bid_spread_pct": 4,
    "ask_spread_pct": 4,
    "order_refresh_time_s": 30,
    "order_amount_qty": 10,
}


def make(**params: Any) -> PureMM:
    return PureMM(PureMM.Params.model_validate(BASIC | params))


def scene(fair: float | None = 50.0, **params: Any) -> Scene:
    return Scene(make(**params), fair)


# --- prices and levels ----------------------------------------------------------------------------


SAME_CENT = {"order_levels": 2, "order_level_spread_pct": 1}
OPTIMIZED = {"order_optimization": True}
TAKING = {"take_if_crossed": True, "bid_spread_pct": 0.01, "ask_spread_pct": 0.01}
WIDE, USUAL = {"bid": 40, "ask": 60}, [(BID, 48, 10), (ASK, 52, 10)]
QUOTED: dict[
    str, tuple[float | None, dict[str, Any], dict[str, int], list[tuple[Any, int, int]]]
] = {
    "a spread for each side": (50.0, {"ask_spread_pct": 10}, {}, [(BID, 48, 10), (ASK, 55, 10)]),
    "rounded outward": (20.0, {}, {}, [(BID, 19, 10), (ASK, 21, 10)]),  # 19.2 and 20.8
    "levels at one cent are one quote": (5.0, SAME_CENT, {}, [(BID, 4, 20), (ASK, 6, 20)]),
    "no legal ask": (98.0, {}, {}, [(BID, 94, 10)]),
    "no legal bid": (1.0, {}, {}, [(ASK, 2, 10)]),
    "a tick behind the touch": (50.0, {}, {"bid": 30, "ask": 45}, [(BID, 44, 10), (ASK, 52, 10)]),
    "a one-sided book": (50.0, {"around": "mid"}, {"bid": 40}, USUAL),
    "no fair value": (None, {}, WIDE, USUAL),
    "around the mid": (70.0, {"around": "mid"}, WIDE, USUAL),
    "around the fair value": (70.0, {"around": "fair"}, WIDE, [(BID, 59, 10), (ASK, 73, 10)]),
    "at the ceiling": (60.0, {"price_ceiling_cents": 60}, {}, [(ASK, 63, 10)]),
    "below the ceiling": (59.0, {"price_ceiling_cents": 60}, {}, [(BID, 56, 10), (ASK, 62, 10)]),
    "at the floor": (40.0, {"price_floor_cents": 40}, {}, [(BID, 38, 10)]),
    "above the floor": (41.0, {"price_floor_cents": 40}, {}, [(BID, 39, 10), (ASK, 43, 10)]),
    "a tick inside": (50.0, OPTIMIZED, {"bid": 40, "ask": 70}, [(BID, 41, 10), (ASK, 69, 10)]),
    "optimization never narrows": (50.0, OPTIMIZED, {"bid": 49, "ask": 51}, USUAL),
    "optimization of an empty book": (50.0, OPTIMIZED, {}, USUAL),
    "taking leaves 99 cents to the ask": (99.5, TAKING, {}, [(BID, 98, 10)]),
    "taking leaves 1 cent to the bid": (0.5, TAKING, {}, [(ASK, 2, 10)]),
}


@pytest.mark.parametrize(("fair", "params", "book", "quotes"), QUOTED.values(), ids=QUOTED)
def test_quotes_are_their_spread_percentage_from_the_chosen_price(
    fair: float | None, params: dict[str, Any], book: dict[str, int], quotes: list[Any]
) -> None:
    assert scene(fair, **params).at(0, **book) == quotes


def test_further_levels_are_wider_and_larger() -> None:
    wanted = scene(50.0, order_levels=3, order_level_spread_pct=4, order_level_amount_qty=5).at(0)
    assert [each for each in wanted if each[0] is BID] == [
        (BID, 48, 10),
        (BID, 46, 15),
        (BID, 44, 20),
    ]
    assert [each for each in wanted if each[0] is ASK] == [
        (ASK, 52, 10),
        (ASK, 54, 15),
        (ASK, 56, 20),
    ]


def test_quotes_are_cancelled_without_a_fair_value_and_placed_again_with_one() -> None:
    one = scene(50.0)
    one.at(0)
    one.fair = None
    assert one.at(1) == []
    one.fair = 60.0
    assert one.at(2) == [(BID, 57, 10), (ASK, 63, 10)]


# --- the clock ------------------------------------------------------------------------------------


def test_orders_are_replaced_only_after_the_refresh_time() -> None:
    one = scene(50.0)
    first = one.at(0)
    one.fair = 60.0
    assert one.at(29.9) == first
    assert one.at(30) == [(BID, 57, 10), (ASK, 63, 10)]


def test_orders_within_the_refresh_tolerance_are_kept_for_another_refresh_time() -> None:
    one = scene(50.0, order_refresh_tolerance_pct=5)
    first = one.at(0)
    one.fair = 51.0  # 48 and 54: 48 and 52 are within 5 %
    assert one.at(30) == first
    one.fair = 60.0
    assert one.at(59) == first
    assert one.at(60) == [(BID, 57, 10), (ASK, 63, 10)]


def test_without_tolerance_one_moved_price_replaces_both_orders() -> None:
    one = scene(50.0)
    one.at(0)
    one.fair = 50.5
    assert one.at(30) == [(BID, 48, 10), (ASK, 53, 10)]


def test_a_negative_tolerance_replaces_a_partly_filled_order_at_its_price() -> None:
    kept, replaced = scene(50.0), scene(50.0, order_refresh_tolerance_pct=-1)
    for one in (kept, replaced):
        one.at(0)
        one.at(1, fill(BID, 48, 4))
    assert kept.at(30) == [(BID, 48, 6), (ASK, 52, 10)]
    assert replaced.at(30) == [(BID, 48, 10), (ASK, 52, 10)]


def test_an_order_at_its_maximum_age_is_renewed_in_full() -> None:
    one = scene(50.0, max_order_age_s=100, order_refresh_time_s=1_000)
    one.at(0)
    assert one.at(1, fill(BID, 48, 4)) == [(BID, 48, 6), (ASK, 52, 10)]
    assert one.at(99) == [(BID, 48, 6), (ASK, 52, 10)]
    assert one.at(100) == [(BID, 48, 10), (ASK, 52, 10)]
    one.at(101, fill(BID, 48, 4))
    assert one.at(199) == [(BID, 48, 6), (ASK, 52, 10)]
    assert one.at(200) == [(BID, 48, 10), (ASK, 52, 10)]


def test_an_order_nearer_than_the_minimum_spread_is_cancelled() -> None:
    one = scene(50.0, minimum_spread_pct=2)
    one.at(0)
    one.fair = 48.5  # the bid at 48 is 1 % away
    assert one.at(1) == [(ASK, 52, 10)]


def test_by_default_an_order_at_any_distance_is_kept() -> None:
    one = scene(50.0)
    one.at(0)
    one.fair = 40.0
    assert one.at(1) == [(BID, 48, 10), (ASK, 52, 10)]


def test_an_order_that_would_cross_the_book_is_withheld_until_it_would_not() -> None:
    one = scene(50.0)
    one.at(0)
    assert one.at(1, ask=47) == [(ASK, 52, 10)]
    assert one.at(2, ask=60) == [(BID, 48, 10), (ASK, 52, 10)]


# --- fills ----------------------------------------------------------------------------------------


def test_after_a_full_fill_no_order_is_placed_until_the_filled_order_delay() -> None:
    one = scene(50.0, filled_order_delay_s=60)
    one.at(0)
    assert one.at(10, fill(BID, 48, 10)) == [(ASK, 52, 10)]
    assert one.at(29) == [(ASK, 52, 10)]
    assert one.at(30) == []  # the ask has had its time
    assert one.at(69) == []
    assert one.at(70) == [(BID, 48, 10), (ASK, 52, 10)]


def test_a_filled_order_delay_shorter_than_the_refresh_time_replaces_orders_early() -> None:
    one = scene(50.0, filled_order_delay_s=5)
    one.at(0)
    one.at(10, fill(BID, 48, 10))
    one.fair = 45.0
    assert one.at(14) == [(ASK, 52, 10)]
    assert one.at(15) == [(BID, 43, 10), (ASK, 47, 10)]


def test_ping_pong_waits_for_the_other_side() -> None:
    one = scene(50.0, ping_pong=True, filled_order_delay_s=1)
    one.at(0)
    one.at(1, fill(BID, 48, 10))
    assert one.at(2) == [(ASK, 52, 10)]
    one.at(3, fill(ASK, 52, 10))
    assert one.at(4) == [(BID, 48, 10), (ASK, 52, 10)]


def test_ping_pong_leaves_out_as_many_levels_as_have_filled() -> None:
    one = scene(
        50.0, ping_pong=True, filled_order_delay_s=1, order_levels=2, order_level_spread_pct=4
    )
    one.at(0)
    one.at(1, fill(BID, 48, 10))
    bids = [each for each in one.at(2) if each[0] is BID]
    assert bids == [(BID, 46, 10)]


def test_after_a_fill_the_opposite_order_hangs_while_new_orders_are_placed() -> None:
    one = scene(50.0, hanging_orders=True, filled_order_delay_s=5)
    one.at(0)
    one.at(1, fill(BID, 48, 10))
    one.fair = 49.0
    assert one.at(6) == [(BID, 47, 10), (ASK, 51, 10), (ASK, 52, 10)]


def test_a_hanging_order_too_far_from_the_value_is_cancelled() -> None:
    one = scene(50.0, hanging_orders=True, hanging_orders_cancel_pct=10, filled_order_delay_s=1_000)
    one.at(0)
    one.at(1, fill(BID, 48, 10))
    one.fair = 48.0  # the ask at 52 is 8.3 % away
    assert one.at(2) == [(ASK, 52, 10)]
    one.fair = 47.0  # 10.6 %
    assert one.at(3) == []


def test_a_hanging_order_that_fills_starts_no_delay() -> None:
    one = scene(50.0, hanging_orders=True, filled_order_delay_s=5)
    one.at(0)
    one.at(1, fill(BID, 48, 10))
    assert one.at(6) == [(BID, 48, 10), (ASK, 52, 20)]
    # The first ten at 52 hung there before.
    assert one.at(7, fill(ASK, 52, 10)) == [(BID, 48, 10), (ASK, 52, 10)]
    one.fair = 60.0
    assert one.at(35) == [(BID, 48, 10), (ASK, 52, 10)]
    assert one.at(36) == [(BID, 57, 10), (ASK, 63, 10)]


def test_a_new_order_never_crosses_a_hanging_order() -> None:
    hanging: dict[str, Any] = {
        "hanging_orders": True,
        "hanging_orders_cancel_pct": 50,
        "filled_order_delay_s": 1,
    }
    one = scene(50.0, **hanging)
    one.at(0)
    one.at(1, fill(BID, 48, 10))
    one.fair = 60.0  # the new bid at 57 would buy the ask at 52
    assert one.at(2) == [(ASK, 52, 10), (ASK, 63, 10)]
    one = scene(50.0, **hanging)
    one.at(0)
    one.at(1, fill(ASK, 52, 10))
    one.fair = 40.0  # the new ask at 42 would sell to the bid at 48
    assert one.at(2) == [(BID, 48, 10), (BID, 38, 10)]


# --- bands, optimization, takes -------------------------------------------------------------------


@pytest.mark.parametrize(("depth", "bid"), [(0, 46), (9, 46), (10, 41), (24, 41), (500, 31)])
def test_optimization_ignores_the_book_up_to_the_configured_depth(depth: int, bid: int) -> None:
    strategy = make(order_optimization=True, order_optimization_depth_qty=depth)
    bids = tuple((Price(p), Qty(q)) for p, q in [(45, 10), (40, 15), (30, 5)])
    seen = msgspec.structs.replace(rung(0, 50.0), bids=bids)
    assert [q.price for q in strategy.quote(view(seen))["m0"] if q.side is BID] == [bid]


def test_further_levels_are_spaced_from_the_optimized_first_level() -> None:
    wanted = scene(50.0, order_optimization=True, order_levels=2, order_level_spread_pct=10).at(
        0, bid=39, ask=60
    )
    assert [each for each in wanted if each[0] is BID] == [(BID, 40, 10), (BID, 36, 10)]


def test_with_takes_on_a_crossing_order_takes_once_and_withholds_its_remainder() -> None:
    one = scene(50.0, take_if_crossed=True)
    assert one.at(0, bid=30, ask=45) == [(ASK, 52, 10)]
    assert one.takes() == [(BID, 48, 10)]
    assert one.at(1, fill(BID, 45, 6), ask=45) == [(ASK, 52, 10)]
    assert one.takes() == []
    assert one.at(2, ask=60) == [(BID, 48, 4), (ASK, 52, 10)]


def test_crossing_levels_trade_one_after_the_other() -> None:
    one = scene(50.0, take_if_crossed=True, order_levels=2, order_level_spread_pct=4)
    one.at(0, ask=45)
    assert one.takes() == [(BID, 48, 10)]
    one.at(1, ask=45)
    assert one.takes() == [(BID, 46, 10)]
    one.at(2, ask=45)
    assert one.takes() == []


def test_an_unfilled_take_is_retried_at_the_next_refresh() -> None:
    one = scene(50.0, take_if_crossed=True)
    one.at(0, ask=45)
    one.at(29, ask=45)
    assert one.takes() == []
    one.at(30, ask=45)
    assert one.takes() == [(BID, 48, 10)]
    one.at(60, ask=60)
    assert one.takes() == []


def test_with_takes_off_a_crossing_order_takes_nothing() -> None:
    one = scene(50.0)
    one.at(0, ask=45)
    assert one.takes() == []


# --- inventory skew -------------------------------------------------------------------------------


OWN_BID, OWN_ASK = [own(BID, 48, 10)], [own(ASK, 52, 10)]
SKEWED: dict[str, tuple[dict[str, Any], dict[str, Any], tuple[int, int]]] = {
    # Half of 40 shares at 50 and 2,000 cents is 40 shares: at the target both sides are whole.
    "at the target": ({}, {"net": 40, "cash": 2_000}, (10, 10)),
    # 50 shares of 90 in all: 5 above 45, in a range of 20 shares.
    "above the target": ({}, {"net": 50, "cash": 2_000}, (7, 12)),
    "far below the target": ({}, {"net": 0, "cash": 2_000}, (20, 0)),
    "a wider range": ({"inventory_range_multiplier": 2}, {"net": 50, "cash": 2_000}, (8, 11)),
    "a smaller target": ({"inventory_target_base_pct": 10}, {"net": 40, "cash": 2_000}, (0, 20)),
    # 10 shares of 100 are wanted, 5 are held: half way to none, whatever the range.
    "a range that ends at zero": (
        {"inventory_target_base_pct": 10},
        {"net": 5, "cash": 95 * 50},
        (15, 5),
    ),
    "cash reserved by a bid": ({}, {"net": 40, "cash": 1_520, "own": OWN_BID}, (10, 10)),
    "an ask of shares held": ({}, {"net": 40, "cash": 2_000, "own": OWN_ASK}, (10, 10)),
    # Ten NO held are 1,000 cents of cash and ten YES short: with the ask, still nothing to sell.
    "an ask that buys NO": (
        {"inventory_target_base_pct": 0},
        {"net": -10, "cash": 0, "own": OWN_ASK},
        (20, 0),
    ),
    "unknown cash": ({}, {"cash": None}, (0, 0)),
}


@pytest.mark.parametrize(("params", "account", "quoted"), SKEWED.values(), ids=SKEWED)
def test_sizes_skew_toward_the_inventory_target_of_cash_and_shares(
    params: dict[str, Any], account: dict[str, Any], quoted: tuple[int, int]
) -> None:
    quotes = scene(50.0, inventory_skew=True, **params).at(0, **account)
    sizes = {side: qty for side, _, qty in quotes}
    assert (sizes.get(BID, 0), sizes.get(ASK, 0)) == quoted


# --- sanity ---------------------------------------------------------------------------------------


def test_each_rung_has_its_own_refresh_clock_which_ends_with_the_rung() -> None:
    strategy = make()
    both = strategy.quote(view(rung(0, 50.0), rung(1, 20.0)))
    assert len(both["m0"]) == len(both["m1"]) == 2
    assert set(strategy.quote(view(rung(1, 20.0)))) == {"m1"}
    moved = strategy.quote(view(rung(0, 60.0), rung(1, 40.0)))
    assert [quote.price for quote in moved["m0"]] == [57, 63]
    assert [quote.price for quote in moved["m1"]] == [19, 21]


def test_hanging_orders_at_one_price_are_one_quote() -> None:
    one = scene(50.0, hanging_orders=True, hanging_orders_cancel_pct=100, filled_order_delay_s=0)
    for now in range(50):
        one.at(now)
        one.at(now + 0.5, fill(BID, 48, 10))
    assert one.at(50) == [(BID, 48, 10), (ASK, 52, 510)]


@pytest.mark.parametrize("name", sorted(BASIC))
def test_spreads_refresh_time_and_order_amount_are_required(name: str) -> None:
    with pytest.raises(pydantic.ValidationError):
        PureMM.Params.model_validate({key: value for key, value in BASIC.items() if key != name})
