"""Laws of pricing that take many examples."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.strategy.pricing.price import best_price, enough_edge, inside
from tests.builders.scale import cases

signs = st.sampled_from([1, -1])
decays = st.floats(0.1, 3)
prices = st.integers(1, 99)


def gain(sign: int, worth: float, fair: float, decay: float, aversion: float, price: int) -> float:
    """Flow times what a fill gives, as the formula has it."""
    edge = sign * (worth - price)
    if aversion > 0:
        edge = (1 - math.exp(-aversion * edge)) / aversion
    return math.exp(-decay * abs(fair - price)) * edge


@settings(deadline=None, max_examples=cases(100_000, quick=1_000))
@given(
    signs,
    st.floats(-50, 150),
    st.floats(0.5, 99.5),
    decays,
    st.sampled_from([0.0, 0.0, 1e-5, 0.01, 0.3]),
    st.tuples(prices, prices).map(sorted),
)
def test_the_price_equals_brute_force_over_every_legal_cent(
    sign, worth, fair, decay, aversion, legal_prices
) -> None:
    low, high = legal_prices
    enough = enough_edge(decay, aversion)
    chosen = inside(best_price(sign, worth, fair, enough, decay, aversion), low, high)
    gains = {p: gain(sign, worth, fair, decay, aversion, p) for p in range(low, high + 1)}
    best = max(gains.values())
    if best > 0:
        assert gains[chosen] == pytest.approx(best, rel=1e-9, abs=1e-300)
    else:
        assert gains[chosen] <= 0
