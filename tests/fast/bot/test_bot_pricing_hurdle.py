"""Claims about the hurdle: by brute force over the outcomes, and what more held does to it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.strategy.pricing.costs import charges, tightness

held = st.lists(st.tuples(st.integers(0, 300), st.integers(0, 300)), min_size=1, max_size=8)
lots = st.integers(1, 50)


def fairs_of(draw: st.DataObject, rungs: int) -> list[tuple[int, float]]:
    """Fair values of some of so many rungs, in whole cents, never rising with the strike."""
    fairs = sorted(draw.draw(st.lists(st.integers(1, 99), min_size=rungs, max_size=rungs)))
    known = draw.draw(st.sets(st.integers(0, rungs - 1)))
    return [(at, float(fair)) for at, fair in enumerate(reversed(fairs)) if at in known]


def worst(shares: list[tuple[int, int]], cash: int) -> int:
    """What is owned in the worst outcome, in cents: in outcome b the b lowest rungs pay YES."""
    return cash + min(
        sum(100 * (yes if rung < outcome else no) for rung, (yes, no) in enumerate(shares))
        for outcome in range(len(shares) + 1)
    )


@given(held, lots, st.data())
def test_a_charge_is_the_rate_on_what_a_lot_adds_to_the_worst_case(
    shares: list[tuple[int, int]], lot: int, data: st.DataObject
) -> None:
    fairs = fairs_of(data, len(shares))
    found = charges(shares, fairs, lot, 2.0)
    assert len(found) == len(fairs)
    for (place, fair), (bid, ask) in zip(fairs, found, strict=True):
        bought, sold = list(shares), list(shares)
        yes, no = shares[place]
        bought[place], sold[place] = (yes + lot, no), (yes, no + lot)
        cents = int(fair)
        adds_bid = worst(shares, 0) - worst(bought, -lot * cents)
        adds_ask = worst(shares, 0) - worst(sold, -lot * (100 - cents))
        assert bid == pytest.approx(2.0 * adds_bid / 100 / lot)
        assert ask == pytest.approx(2.0 * adds_ask / 100 / lot)


@given(held, lots, st.integers(1, 200), st.data())
def test_more_yes_makes_no_bid_cheaper_and_no_ask_dearer(
    shares: list[tuple[int, int]], lot: int, more: int, data: st.DataObject
) -> None:
    fairs = fairs_of(data, len(shares))
    at = data.draw(st.integers(0, len(shares) - 1))
    yes, no = shares[at]
    after = [*shares[:at], (yes + more, no), *shares[at + 1 :]]
    for low, high in zip(
        charges(shares, fairs, lot, 1.0), charges(after, fairs, lot, 1.0), strict=True
    ):
        assert high[0] >= low[0]
        assert high[1] <= low[1]


def test_with_nothing_held_a_share_is_charged_for_all_that_it_can_lose() -> None:
    high, low = charges([(0, 0)] * 3, [(0, 90.0), (2, 20.0)], 10, 1.0)
    assert high == pytest.approx((0.9, 0.1))
    assert low == pytest.approx((0.2, 0.8))


def test_a_pair_of_yes_and_no_charges_nothing_more() -> None:
    fairs = [(0, 70.0), (1, 40.0)]
    assert charges([(5, 5), (9, 2)], fairs, 10, 1.0) == charges([(0, 0), (7, 0)], fairs, 10, 1.0)


@pytest.mark.parametrize(
    ("limit", "part"),
    [
        (None, 0.0),
        (0, 1.0),
        (40_000, 1.0),
        (45_000, 0.8),
        (50_000, 0.5),
        (60_000, 0.0),
        (10**12, 0),
    ],
)
def test_the_tighter_the_limit_the_more_of_the_hurdle_counts(
    limit: int | None, part: float
) -> None:
    # Ten rungs of ten shares pay out 10,000 cents: four times that is tight, six times ample.
    assert tightness(limit, 10, 10) == pytest.approx(part)
