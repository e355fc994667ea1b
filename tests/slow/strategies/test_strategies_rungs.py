"""Claims that every strategy keeps while rungs come, resolve and go unknown beneath it."""

from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.config.plugins import find_strategy
from bot.strategy.api import EventView, checked, mapped
from bot.strategy.pricing.skew import Rule
from strategies.ladder_joint import LadderJoint
from tests.builders.scale import cases
from tests.builders.strategies.views import rung, view
from venue.wire.money import BookSide, FeeRate

GIVEN = {
    "pure_mm": {
        "bid_spread_pct": 2,
        "ask_spread_pct": 2,
        "order_refresh_time_s": 1,
        "order_amount_qty": 10,
    }
}
"""Parameters without a default."""

NAMES = sorted(path.stem for path in Path("strategies").glob("[a-z]*.py"))


def told(rungs: int, values: list[float], known: list[int]) -> EventView:
    """An event of so many rungs, of which the values of some are known."""
    fairs: list[float | None] = [None] * rungs
    for at, value in zip(known, values, strict=True):
        fairs[at] = value
    return view(*(rung(at, fair) for at, fair in enumerate(fairs)))


@st.composite
def lives(draw: st.DrawFn) -> list[EventView]:
    """Views of one event through time: few different values, so that they often stand still where
    the rungs do not."""
    made = []
    for _ in range(draw(st.integers(2, 8))):
        rungs = draw(st.integers(1, 5))
        known = sorted(draw(st.sets(st.integers(0, rungs - 1))))
        values = [60.0, 40.0, 30.0, 20.0, 10.0][: len(known)]
        made.append(told(rungs, values, known))
    return made


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=cases(2_000, quick=50), deadline=None)
@given(views=lives())
def test_every_strategy_survives_rungs_that_appear_resolve_or_lose_their_value(
    name: str, views: list[EventView]
) -> None:
    kind = find_strategy(name, Path())
    strategy = kind(kind.Params(**GIVEN.get(name, {})))
    for seen in views:
        checked(mapped(strategy.quote(seen)), seen)


@pytest.mark.parametrize("rule", Rule)
def test_a_rung_listed_later_gets_the_quotes_of_a_fresh_strategy(rule: Rule) -> None:
    def made() -> LadderJoint:
        return LadderJoint(LadderJoint.Params(rule=rule, hurdle_cents_per_dollar=0))

    strategy = made()
    before = strategy.quote(told(2, [60.0, 40.0], [0, 1]))
    # Of the new one nothing is known yet; then of it and of one of the two, at the same values.
    assert strategy.quote(told(3, [60.0, 40.0], [0, 1])) == before
    later = told(3, [60.0, 40.0], [1, 2])
    assert strategy.quote(later) == made().quote(later)


def test_a_higher_taker_fee_reduces_sizes_when_cash_is_scarce() -> None:
    def sized(strategy: LadderJoint, rate: str) -> list[int]:
        even = msgspec.structs.replace(rung(0, 50.0), taker_fee_rate=FeeRate.parse(rate))
        short = msgspec.structs.replace(view(even), cash_cents=960)
        return [quote.qty for quote in strategy.quote(short)[even.market_id]]

    strategy = LadderJoint(LadderJoint.Params(lot_qty=20, levels=1))
    assert sized(strategy, "0") == [20, 20]
    assert sized(strategy, "0.07") == [19, 19]


@pytest.mark.parametrize("cash_cents", [10_000, 19_000, 39_000])
def test_lots_enlarged_for_fees_stay_within_the_cash(cash_cents):
    def cost(cash_cents: int | None, side: BookSide) -> int:
        shown = msgspec.structs.replace(view(seen), cash_cents=cash_cents)
        strategy = LadderJoint(LadderJoint.Params(far_qty=0))
        quotes = [each for each in strategy.quote(shown)[seen.market_id] if each.side is side]
        bids = side is BookSide.BID
        return sum(each.qty * (each.price if bids else 100 - each.price) for each in quotes)

    seen = rung(0, 10.0, rate=FeeRate.parse("0.0007"))
    assert cost(None, BookSide.ASK) > 39_000  # hundreds of shares, where ten were asked for
    for side in BookSide:
        assert 0 < cost(cash_cents, side) <= cash_cents
