"""The tutorial strategy."""

import pytest

from bot.strategy.api import RungView
from strategies.fixed_spread import FixedSpread
from tests.builders.strategies.views import prices, rung, view
from venue.wire.money import BookSide

BID, ASK = BookSide.BID, BookSide.ASK


def make(**params: int) -> FixedSpread:
    return FixedSpread(FixedSpread.Params.model_validate(params))


def sizes(strategy: FixedSpread, net: int) -> dict[BookSide, int]:
    (wanted,) = strategy.quote(view(rung(0, 50.0, net=net))).values()
    return {quote.side: quote.qty for quote in wanted}


QUOTED = {
    "around the microprice": (rung(0, 70.0, bid=40, ask=44, micro=42.0), [39], [45]),
    "rounded outward": (rung(0, None, bid=40, ask=46, micro=42.5), [39], [46]),
    "around the fair value": (rung(0, 60.0), [57], [63]),
    "no price known": (rung(0, None, bid=40), [], []),
    "no legal ask": (rung(0, 98.0), [95], []),
    "no legal bid": (rung(0, 2.0), [], [5]),
}


@pytest.mark.parametrize(("of", "bids", "asks"), QUOTED.values(), ids=QUOTED)
def test_quotes_are_the_half_spread_from_the_microprice_or_the_fair_value(
    of: RungView, bids: list[int], asks: list[int]
) -> None:
    quotes = make(half_spread_cents=3).quote(view(of))
    assert (prices(quotes, 0, BID), prices(quotes, 0, ASK)) == (bids, asks)


@pytest.mark.parametrize(
    ("net", "bid", "ask"),
    [(0, 10, 10), (95, 5, 10), (100, None, 10), (300, None, 10), (-97, 10, 3)],
)
def test_the_side_that_adds_inventory_shrinks_and_stops_at_the_maximum_position(
    net: int, bid: int | None, ask: int | None
) -> None:
    got = sizes(make(lot_qty=10, max_position_qty=100), net)
    assert (got.get(BID), got.get(ASK)) == (bid, ask)
