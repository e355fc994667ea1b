"""The tutorial strategy."""

import pydantic
import pytest
from hypothesis import given, settings

from bot.strategy.api import EventView, checked
from strategies.fixed_spread import STRATEGY, FixedSpread
from tests.builders.strategies.views import prices, rung, view, views
from venue.wire.money import BookSide

BID, ASK = BookSide.BID, BookSide.ASK


def make(**params: int) -> FixedSpread:
    return FixedSpread(FixedSpread.Params.model_validate(params))


def sizes(strategy: FixedSpread, net: int) -> dict[BookSide, int]:
    (wanted,) = strategy.quote(view(rung(0, 50.0, net=net))).values()
    return {quote.side: quote.qty for quote in wanted}


def test_the_file_names_its_strategy() -> None:
    assert STRATEGY is FixedSpread


def test_quotes_are_the_half_spread_from_the_microprice() -> None:
    quotes = make(half_spread_cents=3).quote(view(rung(0, 70.0, bid=40, ask=44, micro=42.0)))
    assert (prices(quotes, 0, BID), prices(quotes, 0, ASK)) == ([39], [45])


def test_a_price_between_cents_is_rounded_away_from_the_value() -> None:
    quotes = make().quote(view(rung(0, None, bid=40, ask=46, micro=42.5)))
    assert (prices(quotes, 0, BID), prices(quotes, 0, ASK)) == ([40], [45])


def test_without_a_microprice_quotes_are_around_the_fair_value() -> None:
    quotes = make().quote(view(rung(0, 60.0)))
    assert (prices(quotes, 0, BID), prices(quotes, 0, ASK)) == ([58], [62])


def test_a_rung_without_microprice_and_fair_value_is_not_quoted() -> None:
    quotes = make().quote(view(rung(0, None, bid=40)))
    assert quotes["m0"] == ()


def test_a_side_without_a_legal_price_is_not_quoted() -> None:
    quotes = make().quote(view(rung(0, 98.0), rung(1, 2.0)))
    assert (prices(quotes, 0, BID), prices(quotes, 0, ASK)) == ([96], [])
    assert (prices(quotes, 1, BID), prices(quotes, 1, ASK)) == ([], [4])


@pytest.mark.parametrize(
    ("net", "bid", "ask"),
    [(0, 10, 10), (95, 5, 10), (100, None, 10), (300, None, 10), (-97, 10, 3)],
)
def test_the_side_that_adds_inventory_shrinks_and_stops_at_the_maximum_position(
    net: int, bid: int | None, ask: int | None
) -> None:
    got = sizes(make(lot_qty=10, max_position_qty=100), net)
    assert (got.get(BID), got.get(ASK)) == (bid, ask)


@settings(deadline=None)
@given(views())
def test_every_view_gives_sane_quotes_that_touch_no_book(seen: EventView) -> None:
    quotes = checked(make().quote(seen), seen)
    for index, each in enumerate(seen.rungs):
        assert all(each.best_ask is None or p < each.best_ask for p in prices(quotes, index, BID))
        assert all(each.best_bid is None or p > each.best_bid for p in prices(quotes, index, ASK))


def test_parameters_out_of_range_and_unknown_ones_are_refused() -> None:
    for bad in ({"half_spread_cents": 0}, {"lot_qty": 0}, {"half_spred_cents": 2}):
        with pytest.raises(pydantic.ValidationError):
            make(**bad)
