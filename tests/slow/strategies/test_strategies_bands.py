"""Claims about the bands strategy."""

from typing import Any

import pytest

from bot.strategy.api import EventView, Quotes
from strategies.bands import Band, Bands
from tests.builders.strategies.scenes import changed, fill, own
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


WIDE = Band(
    min_margin_cents=1,
    avg_margin_cents=2,
    max_margin_cents=4,
    min_qty=10,
    avg_qty=25,
    max_qty=30,
)
BIDS, ASKS = {49: 20, 48: 20, 47: 20}, {51: 20, 52: 20, 53: 20}
QUOTED: dict[str, tuple[dict[str, Any], EventView, dict[int, int], dict[int, int]]] = {
    "three bands of twenty by default": ({}, seen(), BIDS, ASKS),
    "a fractional target is rounded outward": ({}, seen(50.4), BIDS, {52: 20, 53: 20, 54: 20}),
    "a band below its minimum is topped up to its average": (
        {"bands": (WIDE,)},
        seen(own=(own(BID, 49, 4), own(ASK, 51, 25))),
        {49: 4, 48: 21},
        {51: 25},
    ),
    "a band above its maximum cancels whole orders": (
        {"bands": (WIDE,)},
        seen(own=(own(BID, 49, 20), own(BID, 47, 20), own(ASK, 51, 25))),
        {47: 20},
        {51: 25},
    ),
    "a top-up below the minimum order is not placed": (
        {"min_order_qty": 15},
        seen(own=(own(BID, 49, 9),)),
        BIDS | {49: 9},
        ASKS,
    ),
    "cash goes to the nearest bands": (
        {},
        seen(cash_cents=49 * 20 + 48 * 15),
        {49: 20, 48: 15},
        {},
    ),
    "shares held go to the nearest bands": (
        {},
        seen(cash_cents=0, no_qty=38, yes_qty=20),
        {49: 20, 48: 18},
        {51: 20},
    ),
    "around the microprice": (
        {"target": "microprice"},
        seen(None, bid=30, ask=34, micro=32.0),
        {31: 20, 30: 20, 29: 20},
        {33: 20, 34: 20, 35: 20},
    ),
    "a crossing band is not quoted": ({}, seen(bid=20, ask=49), {48: 20, 47: 20}, ASKS),
    "no band below 1 cent": ({}, seen(2.5), {1: 20}, {4: 20, 5: 20, 6: 20}),
    "no band above 99 cents": ({}, seen(98.0), {97: 20, 96: 20, 95: 20}, {99: 20}),
}


@pytest.mark.parametrize(("params", "event", "bids", "asks"), QUOTED.values(), ids=QUOTED)
def test_bands_are_filled_to_their_average_from_cash_and_shares(
    params: dict[str, Any], event: EventView, bids: dict[int, int], asks: dict[int, int]
) -> None:
    quotes = make(**params).quote(event)
    assert (levels(quotes, BID), levels(quotes, ASK)) == (bids, asks)


@pytest.mark.parametrize("qty", [10, 23, 30])
def test_a_band_within_its_minimum_and_maximum_is_left_as_it_is(qty: int) -> None:
    quotes = make(min_order_qty=1).quote(seen(own=(own(BID, 49, qty),)))
    assert levels(quotes, BID)[49] == qty


def test_bands_are_cancelled_when_the_target_is_unknown() -> None:
    strategy = make()
    assert strategy.quote(seen())["m0"]
    assert strategy.quote(seen(None, now_s=1.0)) == {}


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
