"""The published test cases of poly-market-maker, against the strategies that are shipped.

Source: Polymarket/poly-market-maker, tests/test_amm.py, test_amm_manager.py, test_band.py.
"""

import math

import pytest

from bot.core.planning.actions import CreateAction
from bot.core.settings import PaceSettings
from strategies.amm import Amm, buy_depth, sell_depth, split_cash
from strategies.bands import Band, Bands
from tests.builders.bot.planned import plan
from tests.builders.strategies.scenes import changed, own
from tests.builders.strategies.views import rung, view
from venue.wire.money import BookSide, Outcome, Side

BID, ASK = BookSide.BID, BookSide.ASK
PUBLISHED = {"spread_cents": 5, "depth_cents": 10}


def amm(**params):
    return Amm(Amm.Params.model_validate(params))


# --- the pool -------------------------------------------------------------------------------------


def test_the_prices_of_the_pool_at_one_half():
    bids, asks = amm(**PUBLISHED).levels(50.0, 1_000, 1_000, 100_000)
    assert [price for price, _ in bids] == [45, 44, 43, 42, 41, 40]
    assert [price for price, _ in asks] == [55, 56, 57, 58, 59, 60]


def test_the_sizes_of_the_pool_follow_the_formulas():
    # Nothing held, so that half of the cash of $1,000 buys YES between 50 and 40 cents.
    bids, asks = amm(**PUBLISHED).levels(50.0, 0, 0, 100_000)
    liquidity = 50_000 / (math.sqrt(50) - math.sqrt(40))
    ends = [liquidity * (1 / math.sqrt(p) - 1 / math.sqrt(50)) for p, _ in bids]
    assert [size for _, size in bids] == [
        math.floor(end - start) for start, end in zip([0.0, *ends], ends, strict=False)
    ]
    assert [size for _, size in asks] == [size for _, size in bids]


def test_a_pool_sells_all_it_has_on_the_way_to_its_highest_price():
    assert sell_depth(1_000, 50, 95, 95) == pytest.approx(1_000)


def test_a_pool_buys_between_the_two_prices_that_its_cash_could_have_bought_at():
    shares = buy_depth(100_000, 50, 5, 5)
    assert shares * 5 < 100_000 < shares * 50


def test_the_prices_of_both_pools_at_forty_cents():
    bids, asks = amm(spread_cents=1, depth_cents=5).levels(40.0, 1_000, 1_000, 20_000)
    assert [price for price, _ in bids] == [39, 38, 37, 36, 35]
    assert [price for price, _ in asks] == [41, 42, 43, 44, 45]


def test_sales_shrink_and_buys_grow_with_the_distance():
    sales = amm(spread_cents=1, depth_cents=5).levels(50.0, 1_000, 0, 0)[1]
    buys = amm(spread_cents=1, depth_cents=5).levels(50.0, 0, 0, 20_000)[0]
    assert [size for _, size in sales] == sorted((size for _, size in sales), reverse=True)
    assert [size for _, size in buys] == sorted(size for _, size in buys)
    assert sum(size for _, size in sales) <= 1_000
    assert 2 * sum(price * size for price, size in buys) <= 20_000


def test_the_cash_is_split_so_that_both_first_levels_are_as_deep():
    yes, no = split_cash(20_000, (30.0, 10.0), (0.002, 0.003))
    assert yes + no == 20_000
    assert yes * 0.002 + 10.0 == pytest.approx(no * 0.003 + 30.0)


# --- bands ----------------------------------------------------------------------------------------

TWO = (
    Band(
        min_margin_cents=2,
        avg_margin_cents=3,
        max_margin_cents=4,
        min_qty=10,
        avg_qty=20,
        max_qty=50,
    ),
    Band(
        min_margin_cents=4,
        avg_margin_cents=5,
        max_margin_cents=6,
        min_qty=20,
        avg_qty=30,
        max_qty=40,
    ),
)


def bands():
    return Bands(Bands.Params(bands=TWO))


def wanted_bids(*resting, fair=50.0, **event):
    each = changed(rung(0, fair), own=tuple(own(BID, *stand) for stand in resting))
    held = event.pop("no_qty", 0)
    seen = changed(view(changed(each, no_qty=held)), **event)
    return [quote for quote in bands().quote(seen)["m0"] if quote.side is BID]


def routes(free_no, **event):
    """What the trader makes of the bands' bids around five shares at 48: (side, outcome, canonical
    price, shares)."""
    quotes = wanted_bids((48, 5), no_qty=free_no + 5, **event)
    fresh = [quote for quote in quotes if quote.price != 48]
    wishes = plan(fresh, (), no=free_no, pace=PaceSettings(), now_ns=0).actions
    return [
        (wish.side, wish.outcome, wish.price, wish.qty)
        for wish in wishes
        if isinstance(wish, CreateAction)
    ]


def test_one_band_gives_up_the_nearest_and_the_last_of_several_the_furthest():
    band = Band(
        min_margin_cents=1,
        avg_margin_cents=10,
        max_margin_cents=20,
        min_qty=1,
        avg_qty=10,
        max_qty=50,
    )
    stands = [(48, 10), (45, 20), (42, 30)]
    assert band.excess_of([], 50.0, first=True, last=True) == []
    assert band.excess_of(stands, 50.0, first=True, last=True) == [(48, 10)]
    assert band.excess_of(stands, 50.0, first=False, last=True) == [(42, 30)]


def test_a_middle_band_gives_up_the_largest():
    band = TWO[0]
    stands = [(48, 10), (47, 45)]
    assert band.excess_of(stands, 50.0, first=False, last=False) == [(47, 45)]


def test_what_lies_in_no_band_is_given_up_and_all_of_it_when_the_target_has_moved():
    kept = wanted_bids((47, 40), (44, 60), cash_cents=0)
    assert [(quote.price, quote.qty) for quote in kept] == [(47, 40)]
    assert wanted_bids((47, 40), (44, 60), fair=80.0, cash_cents=0) == []


def test_bands_are_filled_up_with_cash_alone():
    assert routes(0, cash_cents=10_000) == [
        (Side.BUY, Outcome.YES, 47, 15),
        (Side.BUY, Outcome.YES, 45, 30),
    ]


def test_bands_are_filled_up_with_the_complement_held_alone():
    assert routes(100, cash_cents=10_000) == [
        (Side.SELL, Outcome.NO, 47, 15),
        (Side.SELL, Outcome.NO, 45, 30),
    ]


@pytest.mark.parametrize("cash_cents", [3_000, 10_000])
def test_bands_are_filled_up_with_what_is_held_first_and_cash_for_the_rest(cash_cents):
    assert routes(30, cash_cents=cash_cents) == [
        (Side.SELL, Outcome.NO, 47, 15),
        (Side.SELL, Outcome.NO, 45, 15),
        (Side.BUY, Outcome.YES, 45, 15),
    ]


def test_a_band_below_the_lowest_price_is_not_used():
    assert [band.price(4.0, 1) for band in TWO] == [1, None]
