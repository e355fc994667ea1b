"""Claims about the bands strategy."""

from typing import Any

import pydantic
import pytest
from hypothesis import given, settings

from bot.strategy.api import EventView, Quotes, checked
from strategies.bands import STRATEGY, Band, Bands
from tests.builders.strategies.scenes import changed, fill, own, runs
from tests.builders.strategies.views import rung, view
from venue.wire.money import BookSide

BID, ASK = BookSide.BID, BookSide.ASK
SIDES = ((BID, (49, 48, 47)), (ASK, (51, 52, 53)))


def make(**params: Any) -> Bands:
    return Bands(Bands.Params.model_validate(params))


def levels(quotes: Quotes, side: BookSide) -> dict[int, int]:
    return {quote.price: quote.qty for quote in quotes.get("m0", ()) if quote.side is side}


def seen(fair: float | None = 50.0, now_s: float = 0.0, **fields: Any) -> EventView:
    event = {key: fields.pop(key) for key in ("cash_cents", "size_part") if key in fields}
    book = {key: fields.pop(key) for key in ("bid", "ask", "micro") if key in fields}
    return changed(view(changed(rung(0, fair, **book), **fields)), now_s=now_s, **event)


def test_the_file_names_its_strategy() -> None:
    assert STRATEGY is Bands


def test_the_default_is_three_bands_of_twenty_shares_a_cent_apart() -> None:
    quotes = make().quote(seen())
    assert levels(quotes, BID) == {49: 20, 48: 20, 47: 20}
    assert levels(quotes, ASK) == {51: 20, 52: 20, 53: 20}


def test_quotes_around_a_fractional_target_are_rounded_outward() -> None:
    quotes = make().quote(seen(50.4))
    assert levels(quotes, BID) == {49: 20, 48: 20, 47: 20}
    assert levels(quotes, ASK) == {52: 20, 53: 20, 54: 20}


@pytest.mark.parametrize("qty", [10, 23, 30])
def test_a_band_within_its_minimum_and_maximum_is_left_as_it_is(qty: int) -> None:
    quotes = make(min_order_qty=1).quote(seen(own=(own(BID, 49, qty),)))
    assert levels(quotes, BID)[49] == qty


def test_a_band_below_its_minimum_is_topped_up_to_its_average() -> None:
    wide = Band(
        min_margin_cents=1,
        avg_margin_cents=2,
        max_margin_cents=4,
        min_qty=10,
        avg_qty=25,
        max_qty=30,
    )
    quotes = make(bands=(wide,)).quote(seen(own=(own(BID, 49, 4),)))
    assert levels(quotes, BID) == {49: 4, 48: 21}


def test_a_band_above_its_maximum_cancels_whole_orders() -> None:
    wide = Band(
        min_margin_cents=1,
        avg_margin_cents=2,
        max_margin_cents=4,
        min_qty=10,
        avg_qty=25,
        max_qty=30,
    )
    quotes = make(bands=(wide,)).quote(seen(own=(own(BID, 49, 20), own(BID, 47, 20))))
    assert levels(quotes, BID) == {47: 20}


def test_a_top_up_below_the_minimum_order_size_is_not_placed() -> None:
    quotes = make(min_order_qty=15).quote(seen(own=(own(BID, 49, 9),)))
    assert levels(quotes, BID)[49] == 9


def test_cash_is_spent_on_the_nearest_bands_first() -> None:
    quotes = make().quote(seen(cash_cents=49 * 20 + 48 * 15))
    assert levels(quotes, BID) == {49: 20, 48: 15}
    assert levels(quotes, ASK) == {}


def test_shares_of_the_complement_held_fill_the_nearest_bands_first() -> None:
    quotes = make().quote(seen(cash_cents=0, no_qty=38, yes_qty=20))
    assert levels(quotes, BID) == {49: 20, 48: 18}
    assert levels(quotes, ASK) == {51: 20}


def test_bands_are_cancelled_when_the_target_is_unknown() -> None:
    strategy = make()
    assert strategy.quote(seen())["m0"]
    assert strategy.quote(seen(None, now_s=1.0)) == {}


def test_bands_can_follow_the_microprice() -> None:
    quotes = make(target="microprice").quote(seen(None, bid=30, ask=34, micro=32.0))
    assert max(levels(quotes, BID)) == 31


def test_bands_follow_the_target_only_at_each_sync() -> None:
    strategy = make(sync_s=30)
    first = strategy.quote(seen(50.0, now_s=0.0))
    assert strategy.quote(seen(56.0, now_s=29.0))["m0"] is first["m0"]
    assert max(levels(strategy.quote(seen(56.0, now_s=30.0)), BID)) == 55


def test_filled_quantity_is_replaced_only_at_the_next_sync() -> None:
    strategy = make(sync_s=30)
    strategy.quote(seen())
    after = strategy.quote(seen(now_s=1.0, fills=(fill(BID, 49, 15), fill(ASK, 51, 20))))
    assert levels(after, BID) == {49: 5, 48: 20, 47: 20}
    assert levels(after, ASK) == {52: 20, 53: 20}
    resting = tuple(own(BID, price, qty) for price, qty in levels(after, BID).items())
    later = strategy.quote(seen(now_s=30.0, own=resting))
    assert levels(later, BID) == {49: 20, 48: 20, 47: 20}


def test_bands_count_resting_orders_double_while_sizes_are_halved() -> None:
    bands = make()
    first = seen(size_part=2)
    wanted = bands.quote(first)
    rests = tuple(own(side, at, 10) for side, ats in SIDES for at in ats)
    assert bands.quote(seen(own=rests, now_s=30.0, size_part=2)) == wanted
    filled = bands.quote(seen(fills=(fill(BID, 49, 10),), now_s=31.0, size_part=2))
    assert levels(filled, BID) == {48: 20, 47: 20}


def test_a_band_that_would_cross_the_book_is_not_quoted() -> None:
    quotes = make().quote(seen(bid=20, ask=49))
    assert levels(quotes, BID) == {48: 20, 47: 20}


@pytest.mark.parametrize(
    ("fair", "bids", "asks"), [(2.5, [1], [4, 5, 6]), (98.0, [97, 96, 95], [99])]
)
def test_near_1_and_99_cents_only_bands_with_a_legal_price_are_quoted(
    fair: float, bids: list[int], asks: list[int]
) -> None:
    quotes = make().quote(seen(fair))
    assert list(levels(quotes, BID)) == bids
    assert list(levels(quotes, ASK)) == asks


@settings(deadline=None)
@given(runs)
def test_whatever_it_meets_its_quotes_are_sane_and_touch_no_book(run: list[EventView]) -> None:
    strategy = make(sync_s=10)
    for event in run:
        quotes = checked(strategy.quote(event), event)
        for each in event.rungs:
            for quote in quotes.get(each.market_id, ()):
                if quote.side is BID:
                    assert each.best_ask is None or quote.price < each.best_ask
                else:
                    assert each.best_bid is None or quote.price > each.best_bid


GOOD = {
    "min_margin_cents": 1,
    "avg_margin_cents": 2,
    "max_margin_cents": 3,
    "min_qty": 1,
    "avg_qty": 2,
    "max_qty": 3,
}


@pytest.mark.parametrize(
    "bands",
    [
        [GOOD | {"avg_margin_cents": 3}],
        [GOOD | {"min_margin_cents": 0}],
        [GOOD | {"avg_qty": 4}],
        [GOOD | {"width": 4}],
        [GOOD, GOOD | {"min_margin_cents": 2, "max_margin_cents": 5}],
        [],
    ],
    ids=["avg beyond", "on the target", "avg over", "unknown", "overlapping", "none"],
)
def test_inconsistent_bands_are_rejected(bands: list[dict[str, int]]) -> None:
    with pytest.raises(pydantic.ValidationError):
        make(bands=bands)
