"""Published fee points and the binary quote of Glosten and Milgrom, against what is shipped.

Source: docs/pricing.md#section-3-published; Kalshi fee schedule; Glosten and Milgrom 1985.
"""

import pytest

from bot.strategy.pricing.costs import glosten_milgrom
from venue.wire.money import FeeRate, Price, Qty, fee_cents


@pytest.mark.parametrize(
    ("rate", "qty", "price", "cents"),
    [
        ("0.07", 1, 50, 2),
        ("0.07", 100, 50, 175),
        ("0.0175", 1, 50, 1),
        ("0.0175", 100, 50, 44),
        ("0.0175", 100, 5, 9),
    ],
)
def test_the_fee_formula_reproduces_published_fees(rate, qty, price, cents):
    assert fee_cents(FeeRate.parse(rate), Qty(qty), Price(price)) == cents


@pytest.mark.parametrize(
    ("chance", "informed", "ask"), [(0.5, 0.2, 0.6000), (0.1, 0.2, 0.1429), (0.8, 0.5, 0.9231)]
)
def test_the_ask_equals_glosten_and_milgrom(chance, informed, ask):
    assert chance + glosten_milgrom(chance, informed, -1) / 100 == pytest.approx(ask, abs=5e-5)
    formula = chance * (1 + informed) / (1 + informed * (2 * chance - 1))
    assert chance + glosten_milgrom(chance, informed, -1) / 100 == pytest.approx(formula)


def test_the_bid_mirrors_the_ask_of_the_complement():
    for chance in (0.05, 0.3, 0.5, 0.93):
        assert glosten_milgrom(chance, 0.3, 1) == pytest.approx(
            glosten_milgrom(1 - chance, 0.3, -1)
        )
