"""Claims that YES is no other thing to a strategy than NO: a mirrored event has mirrored quotes."""

from typing import Final

import msgspec
import pytest

from bot.strategy.api import Quote, Quotes, RungView
from bot.strategy.pricing.costs import slope_of
from strategies.ladder_joint import LadderJoint
from tests.builders.strategies.views import rung, view
from venue.wire.money import PAYOUT_CENTS, BookSide, FeeRate, Price, complement
from venue.wire.names import MarketId

RATE: Final = FeeRate.parse("0.0175")


def mirrored(each: RungView) -> RungView:
    """The rung as those see it who trade its NO as if it were YES; one side is quoted at most."""
    assert each.fair_cents is not None
    return msgspec.structs.replace(
        each,
        bids=tuple((complement(price), size) for price, size in each.asks),
        asks=tuple((complement(price), size) for price, size in each.bids),
        yes_qty=each.no_qty,
        no_qty=each.yes_qty,
        fair_cents=PAYOUT_CENTS - each.fair_cents,
    )


def wanted(quotes: Quotes) -> set[tuple[BookSide, Price, int, Price | None]]:
    return {
        (each.side, each.price, each.qty, each.limit)
        for each in quotes[MarketId("m0")]
        if isinstance(each, Quote)
    }


@pytest.mark.parametrize("fair", [0.5, 1.5, 12.125, 33.375, 47.5, 49.875, 50.0, 99.5])
@pytest.mark.parametrize("bid", [None, 40, 96])
@pytest.mark.parametrize("net", [-5, 0, 7])
def test_a_rung_and_its_mirror_image_get_mirrored_quotes(
    fair: float, bid: int | None, net: int
) -> None:
    seen = rung(0, fair, sd=0.5, bid=bid, net=net, rate=RATE)
    there = LadderJoint(LadderJoint.Params()).quote(view(seen))
    here = LadderJoint(LadderJoint.Params()).quote(view(mirrored(seen)))
    assert wanted(there) == {
        (side.other, complement(price), qty, None if limit is None else complement(limit))
        for side, price, qty, limit in wanted(here)
    }


def test_the_slope_is_the_same_for_a_price_and_its_complement() -> None:
    for eighths in range(8 * PAYOUT_CENTS + 1):
        cents = eighths / 8
        assert slope_of(cents) == pytest.approx(slope_of(PAYOUT_CENTS - cents))
