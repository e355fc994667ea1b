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


@pytest.mark.parametrize(
    ("params", "fair", "cash_cents", "bids", "asks"),
    [
        (PUBLISHED, 50.0, 100_000, range(45, 39, -1), range(55, 61)),
        ({"spread_cents": 1, "depth_cents": 5}, 40.0, 20_000, range(39, 34, -1), range(41, 46)),
    ],
)
def test_the_pool_quotes_the_published_prices(params, fair, cash_cents, bids, asks):
    levels = amm(**params).levels(fair, 1_000, 1_000, cash_cents)
    assert [[price for price, _ in side] for side in levels] == [[*bids], [*asks]]


def test_the_sizes_of_the_pool_follow_the_formulas():
    # Nothing held, so that half of the cash of $1,000 buys YES between 50 and 40 cents.
    bids, asks = amm(**PUBLISHED).levels(50.0, 0, 0, 100_000)
    liquidity = 50_000 / (math.sqrt(50) - math.sqrt(40))
    ends = [liquidity * (1 / math.sqrt(p) - 1 / math.sqrt(50)) for p, _ in bids]
    assert [size for _, size in bids] == [
        math.floor(end - start) for start, end in zip([0.0, *ends], ends, strict=False)
    ]
    assert [size for _, size in asks] == [size for _, size in bids]


def test_a_pool_sells_all_its_shares_up_to_its_highest_price():
    assert sell_depth(1_000, 50, 95, 95) == pytest.approx(1_000)


def test_a_pool_buys_at_prices_within_its_range():
    shares = buy_depth(100_000, 50, 5, 5)
    assert shares * 5 < 100_000 < shares * 50


def test_sales_shrink_and_buys_grow_with_the_distance():
    sales = amm(spread_cents=1, depth_cents=5).levels(50.0, 1_000, 0, 0)[1]
    buys = amm(spread_cents=1, depth_cents=5).levels(50.0, 0, 0, 20_000)[0]
    assert [size for _, size in sales] == sorted((size for _, size in sales), reverse=True)
    assert [size for _, size in buys] == sorted(size for _, size in buys)
    assert sum(size for _, size in sales) <= 1_000
    assert 2 * sum(price * size for price, size in buys) <= 20_000


def test_the_cash_is_split_so_that_both_first_levels_have_equal_depth():
    yes, no = split_cash(20_000, (30.0, 10.0), (0.002, 0.003))
    assert yes + no == 20_000
    assert yes * 0.002 + 10.0 == pytest.approx(no * 0.003 + 30.0)


# --- bands ----------------------------------------------------------------------------------------


def band(margins, qtys):
    """A band of these least, average and greatest margins and sizes."""
    names = ("min", "avg", "max")
    fields = {f"{name}_margin_cents": each for name, each in zip(names, margins, strict=True)}
    fields |= {f"{name}_qty": each for name, each in zip(names, qtys, strict=True)}
    return Band(**fields)


TWO = (band((2, 3, 4), (10, 20, 50)), band((4, 5, 6), (20, 30, 40)))


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


def test_a_band_cancels_its_nearest_last_or_largest_order_by_its_place():
    resting = [(48, 10), (45, 20), (42, 30)]
    wide = band((1, 10, 20), (1, 10, 50))
    assert wide.excess_of([], 50.0, first=True, last=True) == []
    assert wide.excess_of(resting, 50.0, first=True, last=True) == [(48, 10)]
    assert wide.excess_of(resting, 50.0, first=False, last=True) == [(42, 30)]
    resting = [(48, 10), (47, 45)]
    assert TWO[0].excess_of(resting, 50.0, first=False, last=False) == [(47, 45)]


def test_orders_outside_every_band_are_cancelled():
    kept = wanted_bids((47, 40), (44, 60), cash_cents=0)
    assert [(quote.price, quote.qty) for quote in kept] == [(47, 40)]
    assert wanted_bids((47, 40), (44, 60), fair=80.0, cash_cents=0) == []


BUY_YES, SELL_NO = (Side.BUY, Outcome.YES), (Side.SELL, Outcome.NO)


@pytest.mark.parametrize(
    ("no_qty", "cash_cents", "orders"),
    [
        (0, 10_000, [(*BUY_YES, 47, 15), (*BUY_YES, 45, 30)]),
        (100, 10_000, [(*SELL_NO, 47, 15), (*SELL_NO, 45, 30)]),
        (30, 3_000, [(*SELL_NO, 47, 15), (*SELL_NO, 45, 15), (*BUY_YES, 45, 15)]),
        (30, 10_000, [(*SELL_NO, 47, 15), (*SELL_NO, 45, 15), (*BUY_YES, 45, 15)]),
    ],
)
def test_bands_are_filled_with_the_complement_held_first_and_cash_for_the_rest(
    no_qty, cash_cents, orders
):
    assert routes(no_qty, cash_cents=cash_cents) == orders


def test_a_band_below_the_lowest_price_is_not_used():
    assert [band.price(4.0, 1) for band in TWO] == [1, None]
