"""The ladder strategy: joint skew, whole-cent prices, order across rungs."""

import itertools
import math

import numpy as np
import pydantic
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.core.strategy import EventView, checked
from strategies.ladder import STRATEGY, Ladder, best_price, root_of_covariance
from tests.strategies.views import prices, rung, view, views
from venue.wire.money import BookSide, FeeRate

BID, ASK = BookSide.BID, BookSide.ASK
SIDES = (BID, ASK)


def make(**params: float) -> Ladder:
    return Ladder(Ladder.Params.model_validate(params))


def plain(**params: float) -> Ladder:
    """Without costs other than fees and skew."""
    return make(adverse_probit=0, staleness_s=0, **params)


def test_the_file_names_its_strategy() -> None:
    assert STRATEGY is Ladder


# --- the root -------------------------------------------------------------------------------------

curves = st.lists(st.floats(0.005, 0.995), min_size=1, max_size=12).map(
    lambda chances: sorted(chances, reverse=True)
)


@settings(deadline=None)
@given(curves)
def test_the_root_squared_is_the_covariance_of_the_payoffs(chances: list[float]) -> None:
    root = root_of_covariance(chances)
    for i, j in itertools.combinations_with_replacement(range(len(chances)), 2):
        assert (root @ root)[i, j] == pytest.approx(chances[j] * (1 - chances[i]), abs=1e-9)
    assert np.allclose(root, root.T)


def test_the_covariance_is_that_of_the_outcomes_by_enumeration() -> None:
    chances = [0.8, 0.5, 0.1]
    masses = [0.2, 0.3, 0.4, 0.1]
    root = root_of_covariance(chances)
    for i, j in itertools.product(range(3), repeat=2):
        both = sum(m for bucket, m in enumerate(masses) if i < bucket and j < bucket)
        assert (root @ root)[i, j] == pytest.approx(both - chances[i] * chances[j])


# --- the price ------------------------------------------------------------------------------------


@settings(deadline=None)
@given(
    st.sampled_from([1, -1]),
    st.floats(-50, 150),
    st.floats(0.5, 99.5),
    st.floats(0.1, 3),
)
def test_the_price_is_the_best_of_all_whole_cents(
    sign: int, worth: float, fair: float, decay: float
) -> None:
    def gain(price: int) -> float:
        return math.exp(-decay * abs(fair - price)) * sign * (worth - price)

    chosen = best_price(sign, worth, fair, decay)
    best = max(range(-60, 161), key=gain)
    assert gain(chosen) == pytest.approx(gain(best), rel=1e-9, abs=1e-300)


def test_a_lone_even_rung_is_quoted_as_worked_out_by_hand() -> None:
    # The root of 0.25 is 0.5 and c = 2 / (0.41 * 10 * 7) = 0.0697, so a lot of 10 moves the value
    # by 0.348 and half of that is its own skew. Worth to a bid: 49.826; best 1/0.6 behind: 48.16;
    # exp(-0.6 * 2) * 1.826 = 0.550 at 48 beats exp(-0.6) * 0.826 = 0.453 at 49.
    # The second level, of 15, is worth 50 - 0.348 - 0.261 = 49.391 to a bid: best would be 48
    # (0.419, with 0.395 at 47), but 48 is taken.
    quotes = plain().quote(view(rung(0, 50.0)))
    assert [(q.side, q.price, q.qty) for q in quotes["m0"]] == [
        (BID, 48, 10),
        (BID, 47, 15),
        (ASK, 52, 10),
        (ASK, 53, 15),
    ]


def test_fees_stand_between_the_quote_and_the_value() -> None:
    # 0.07 at 48 cents: 10 shares pay ceil(17.47) = 18 cents, 1.8 a share: the best price moves
    # from 48.16 to 46.36, and 46 gains more than 47.
    quotes = plain().quote(view(rung(0, 50.0, rate=FeeRate.parse("0.07"))))
    assert prices(quotes, 0, BID)[0] == 46
    assert prices(quotes, 0, ASK)[0] == 54


def test_each_cost_widens_the_quotes() -> None:
    def width(strategy: Ladder, sd: float = 0.0, seconds: float = 90 * 86_400.0) -> int:
        quotes = strategy.quote(view(rung(0, 50.0, sd=sd), seconds=seconds))
        return prices(quotes, 0, ASK)[0] - prices(quotes, 0, BID)[0]

    bare = width(plain())
    assert width(plain(), sd=4.0) > bare
    assert width(make(adverse_probit=0.2, staleness_s=0)) > bare
    assert width(make(adverse_probit=0, staleness_s=60), seconds=3_600.0) > bare


@pytest.mark.parametrize(("sd", "size"), [(0.0, 10), (1.5, 5), (4.5, 1), (50.0, 1)])
def test_a_doubtful_value_is_quoted_in_smaller_size(sd: float, size: int) -> None:
    quotes = make(levels=1).quote(view(rung(0, 50.0, sd=sd)))
    assert {quote.qty for quote in quotes["m0"]} == {size}


# --- skew -----------------------------------------------------------------------------------------


def test_q_half_lots_of_a_mid_rung_move_it_by_about_the_half_spread() -> None:
    values = [80.0, 70.0, 60.0, 50.0, 40.0, 30.0, 20.0]

    def middle(net: int) -> float:
        rungs = [rung(i, v, net=net if i == 3 else 0) for i, v in enumerate(values)]
        quotes = plain(q_half_lots=7, skew_half_spread_cents=4, levels=1).quote(view(*rungs))
        return (prices(quotes, 3, BID)[0] + prices(quotes, 3, ASK)[0]) / 2

    assert middle(0) - middle(70) == pytest.approx(4.0, abs=1.0)


@settings(deadline=None)
@given(curves, st.data())
def test_more_yes_of_a_rung_never_raises_any_quote_of_it(
    chances: list[float], data: st.DataObject
) -> None:
    index = data.draw(st.integers(0, len(chances) - 1))
    held = data.draw(st.lists(st.integers(-300, 300), min_size=len(chances), max_size=len(chances)))
    more = data.draw(st.integers(1, 500))
    quoted = []
    for extra in (0, more):
        rungs = [
            rung(i, 100 * chance, sd=1.0, net=held[i] + (extra if i == index else 0))
            for i, chance in enumerate(chances)
        ]
        quoted.append(make().quote(view(*rungs)))
    for side in SIDES:
        before, after = prices(quoted[0], index, side), prices(quoted[1], index, side)
        assert all(b >= a for b, a in zip(before, after, strict=False))


def test_holding_one_rung_lowers_its_neighbours_too() -> None:
    values = [70.0, 60.0, 50.0, 40.0, 30.0]

    def quoted(net: int) -> list[int]:
        rungs = [rung(i, v, net=net if i == 2 else 0) for i, v in enumerate(values)]
        quotes = plain(levels=1).quote(view(*rungs))
        return [prices(quotes, i, ASK)[0] for i in range(5)]

    flat, long = quoted(0), quoted(300)
    assert long[2] < flat[2]
    assert long[1] < flat[1]
    assert long[3] < flat[3]
    assert flat[2] - long[2] >= flat[0] - long[0]


def test_pairs_of_yes_and_no_do_not_skew() -> None:
    both = rung(0, 50.0)
    paired = type(both)(
        **{name: getattr(both, name) for name in both.__struct_fields__}
        | {
            "yes_qty": 500,
            "no_qty": 500,
        }
    )
    assert plain().quote(view(paired)) == plain().quote(view(both))


def test_the_second_level_stands_where_the_first_one_filled_would_put_it() -> None:
    steep = plain(skew_half_spread_cents=20, q_half_lots=1)
    both = steep.quote(view(rung(0, 50.0)))
    # A lot of 15 halves c's meaning per share, so its half spread is scaled to keep c the same.
    after = plain(skew_half_spread_cents=20, q_half_lots=10 / 15, levels=1, lot_qty=15)
    assert prices(both, 0, BID)[1] == prices(after.quote(view(rung(0, 50.0, net=10))), 0, BID)[0]


# --- order, legality, both sides ------------------------------------------------------------------


@settings(deadline=None)
@given(views())
def test_every_view_gives_sane_quotes_that_touch_no_book(seen: EventView) -> None:
    quotes = checked(make().quote(seen), seen)
    for index, each in enumerate(seen.rungs):
        assert all(each.best_ask is None or p < each.best_ask for p in prices(quotes, index, BID))
        assert all(each.best_bid is None or p > each.best_bid for p in prices(quotes, index, ASK))
        assert each.fair_cents is not None or each.market_id not in quotes


@settings(deadline=None)
@given(views(), st.sampled_from(SIDES), st.integers(0, 1))
def test_no_level_of_a_side_rises_with_the_strike(
    seen: EventView, side: BookSide, level: int
) -> None:
    quotes = make().quote(seen)
    ladder = [prices(quotes, index, side) for index in range(len(seen.rungs))]
    at_level = [side_prices[level] for side_prices in ladder if len(side_prices) > level]
    assert at_level == sorted(at_level, reverse=True)


@settings(deadline=None)
@given(views())
def test_both_sides_stand_on_every_rung_where_a_legal_price_is_left(seen: EventView) -> None:
    quotes = make().quote(seen)
    asks_left = [each for each in seen.rungs if each.fair_cents is not None]
    for index, each in enumerate(seen.rungs):
        if each.fair_cents is not None:
            assert prices(quotes, index, BID) or each.best_ask == 1
            assert prices(quotes, index, ASK) or each.best_bid == 99
    assert len(quotes) == len(asks_left)


def test_a_far_small_quote_stands_where_no_price_has_an_edge() -> None:
    quotes = make(far_qty=2).quote(view(rung(0, 99.4), rung(1, 0.6)))
    assert [(q.price, q.qty) for q in quotes["m0"] if q.side is ASK] == [(99, 2)]
    assert [(q.price, q.qty) for q in quotes["m1"] if q.side is BID] == [(1, 2)]
    bare = make(far_qty=0).quote(view(rung(0, 99.4), rung(1, 0.6)))
    assert (prices(bare, 0, ASK), prices(bare, 1, BID)) == ([], [])


def test_a_quote_waits_a_tick_behind_a_touch_it_would_cross() -> None:
    quotes = plain(levels=1).quote(view(rung(0, 50.0, bid=30, ask=45)))
    assert prices(quotes, 0, BID) == [44]


def test_after_a_move_of_the_curve_nothing_of_the_old_one_is_left() -> None:
    fresh, used = make(), make()
    first = view(*(rung(i, v, sd=0.8) for i, v in enumerate([70.0, 50.0, 30.0])))
    moved = view(*(rung(i, v, sd=0.8) for i, v in enumerate([74.0, 53.0, 31.0])))
    used.quote(first)
    assert used.quote(moved) == fresh.quote(moved)
    assert used.quote(first) == make().quote(first)


def test_a_rung_is_priced_anew_when_only_its_neighbour_has_moved() -> None:
    fresh, used = (plain(skew_half_spread_cents=20, q_half_lots=1) for _ in range(2))
    used.quote(view(rung(0, 50.0), rung(1, 50.0)))
    moved = view(rung(0, 50.0), rung(1, 1.0))
    assert used.quote(moved) == fresh.quote(moved)


def test_a_rung_whose_book_moved_is_priced_anew() -> None:
    strategy = plain(levels=1)
    strategy.quote(view(rung(0, 50.0, bid=30, ask=60)))
    assert prices(strategy.quote(view(rung(0, 50.0, bid=30, ask=45))), 0, BID) == [44]


def test_noise_of_a_hundredth_of_a_cent_does_not_move_a_quote() -> None:
    strategy = make()
    values = [70.0, 50.0, 30.0]
    first = strategy.quote(view(*(rung(i, v, sd=0.8) for i, v in enumerate(values))))
    again = strategy.quote(view(*(rung(i, v + 0.01, sd=0.81) for i, v in enumerate(values))))
    assert again == first


@pytest.mark.parametrize(
    "bad",
    [{"levels": 0}, {"levels": 6}, {"intensity_per_cent": 5}, {"q_half_lots": 0}, {"lott": 1}],
    ids=str,
)
def test_parameters_out_of_range_and_unknown_ones_are_refused(bad: dict[str, float]) -> None:
    with pytest.raises(pydantic.ValidationError):
        make(**bad)
