"""Claims about the strategy that joins the touch."""

from typing import Any

import pytest
from hypothesis import given, settings

from bot.strategy.api import EventView, Print, Quote, RungView, checked
from strategies.queue_touch import QueueTouch
from tests.builders.strategies.scenes import changed, own, runs, with_book
from tests.builders.strategies.views import prices, rung, view
from venue.wire.money import BookSide, FeeRate, Price, Qty

BID, ASK = BookSide.BID, BookSide.ASK
SLOW = {"cancels_per_s": 0.0, "away_per_s": 0.001, "through_per_s": 0.001}
"""Touches that hardly move: any place in the queue is worth standing in."""


def make(**params: Any) -> QueueTouch:
    return QueueTouch(QueueTouch.Params.model_validate(params))


def tight(bid: int = 49, ask: int = 50, size: int = 10, **fields: Any) -> RungView:
    """A rung whose touch is as deep on both sides."""
    book = with_book(rung(0, None), ((Price(bid), Qty(size)),), ((Price(ask), Qty(size)),))
    changed_book: RungView = changed(book, **fields)
    return changed_book


def both(quotes: Any, index: int = 0) -> tuple[list[int], list[int]]:
    return prices(quotes, index, BID), prices(quotes, index, ASK)


DEAR = tight(size=2, maker_fee_rate=FeeRate.parse("0.0175"))
JOINED: dict[str, tuple[dict[str, Any], RungView, list[int], list[int]]] = {
    "a tight book": (SLOW, tight(), [49], [50]),
    "a wide book": (SLOW, tight(40, 60), [40], [60]),
    "three levels": (SLOW | {"levels": 3}, tight(), [49, 48, 47], [50, 51, 52]),
    "ten lots of YES": (SLOW, tight(yes_qty=100), [], [50]),
    "ten lots of NO": (SLOW, tight(no_qty=100), [49], []),
    "a short queue": ({}, tight(size=5), [49], [50]),
    "a queue without value": ({}, tight(size=20), [], []),
    "a long queue": ({}, tight(size=80), [], []),
    "a fee above the value": ({}, DEAR, [], []),
    "a fee that is not counted": ({"counts_fees": False}, DEAR, [49], [50]),
    "no bids": (SLOW, tight(bids=()), [], []),
    "no asks": (SLOW, tight(asks=()), [], []),
    "no microprice": (SLOW, tight(microprice_cents=None), [], []),
}


@pytest.mark.parametrize(("params", "of", "bids", "asks"), JOINED.values(), ids=JOINED)
def test_the_touch_is_joined_where_the_last_place_of_its_queue_has_value(
    params: dict[str, Any], of: RungView, bids: list[int], asks: list[int]
) -> None:
    assert both(make(**params).quote(view(of))) == (bids, asks)


@pytest.mark.parametrize(("bid_size", "bids", "asks"), [(90, [49], [51]), (10, [48], [50])])
def test_the_side_that_the_microprice_presses_is_quoted_a_tick_behind_the_touch(
    bid_size: int, bids: list[int], asks: list[int]
) -> None:
    leaning = with_book(
        rung(0, None), ((Price(49), Qty(bid_size)),), ((Price(50), Qty(100 - bid_size)),)
    )
    quotes = make(**SLOW).quote(view(leaning))
    assert both(quotes) == (bids, asks)


def test_a_resting_order_inside_a_wide_spread_may_stay() -> None:
    quote = make(**SLOW).quote(view(tight(40, 60)))["m0"][0]
    assert isinstance(quote, Quote)
    assert (quote.price, quote.limit) == (40, 49)


@pytest.mark.parametrize(("ahead", "stays"), [(0.0, True), (20.0, False)])
def test_a_resting_order_inside_a_wide_spread_is_valued_by_its_own_queue_position(
    ahead: float, stays: bool
) -> None:
    # Of two of ours the boldest is the one that is judged: half a cent from the middle of 49.5.
    mine = (own(BID, 45, 10, 20.0 - ahead), own(BID, 49, 10, ahead))
    theirs = (own(ASK, 54, 10, 20.0 - ahead), own(ASK, 50, 10, ahead))
    quotes = make().quote(view(tight(39, 60, own=mine + theirs)))
    assert both(quotes) == (([39], [60]) if stays else ([], []))


def test_each_lot_of_inventory_skews_the_quotes_by_a_tenth_of_the_half_spread() -> None:
    def bid(net_lots: int) -> list[int]:
        held = tight(yes_qty=max(0, 10 * net_lots), no_qty=max(0, -10 * net_lots))
        return both(make(**SLOW).quote(view(held)))[0]

    # Around 49.5: 49.01 - 0.049 a lot is below 49 from the first lot on; NO never improves.
    assert [bid(net) for net in (-9, 0, 1, 9)] == [[49], [49], [48], [48]]


@pytest.mark.parametrize(("ahead", "stays"), [(5.0, True), (20.0, False)])
def test_a_resting_order_is_valued_by_the_queue_ahead_of_it(ahead: float, stays: bool) -> None:
    mine = (own(BID, 49, 10, ahead), own(ASK, 50, 10, ahead))
    quotes = make().quote(view(tight(size=500, own=mine)))
    assert both(quotes) == (([49], [50]) if stays else ([], []))


def test_a_longer_queue_is_joined_where_much_trades() -> None:
    def joined(traded: int) -> bool:
        strategy = make(prior_s=1.0)
        prints = tuple(Print(Price(49), Qty(traded), side, 0.0) for side in (BID, ASK) if traded)
        strategy.quote(view(tight(size=30)))
        later = changed(view(tight(size=30, prints=prints)), now_s=60.0)
        return both(strategy.quote(later)) == ([49], [50])

    assert joined(600)
    assert not joined(0)


def test_unchanged_quotes_are_the_same_tuple() -> None:
    strategy = make(**SLOW)
    first = strategy.quote(view(tight()))["m0"]
    assert strategy.quote(view(tight()))["m0"] is first


@settings(deadline=None)
@given(runs)
def test_quotes_never_improve_the_touch(run: list[EventView]) -> None:
    strategy = make(levels=2, **SLOW)
    for event in run:
        quotes = checked(strategy.quote(event), event)
        for index, each in enumerate(event.rungs):
            bids, asks = both(quotes, index)
            assert all(each.best_bid is not None and price <= each.best_bid for price in bids)
            assert all(each.best_ask is not None and price >= each.best_ask for price in asks)
