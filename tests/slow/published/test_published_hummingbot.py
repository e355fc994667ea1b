"""Hummingbot's own unit-test figures for the inventory skew of pure market making."""

import pytest

from strategies.pure_mm import inventory_skew_ratios, total_order_size

ROWS = {
    "balanced": (85_000.0, 10_000.0, 0.0036, 0.03, 20_000.0, 1.04416666, 0.95583333),
    "moderately long": (95_000.0, 10_000.0, 0.0036, 0.03, 20_000.0, 0.55916666, 1.44083333),
    "moderately short": (70_000.0, 10_000.0, 0.0036, 0.03, 20_000.0, 1.77166666, 0.22833333),
    "heavily short": (8_500.0, 10_000.0, 0.0036, 0.03, 20_000.0, 2.0, 0.0),
    "heavily long": (200_000.0, 10_000.0, 0.0036, 0.03, 20_000.0, 0.0, 2.0),
    "range capped, long": (100.0, 10.0, 1.0, 0.35, 200.0, 0.0, 2.0),
    "range capped, short": (10.0, 100.0, 1.0, 0.75, 200.0, 2.0, 0.0),
    "cash alone": (0.0, 10_000.0, 0.0036, 0.03, 20_000.0, 2.0, 0.0),
    "nothing owned": (0.0, 0.0, 0.0036, 0.03, 20_000.0, 0.0, 0.0),
    "no range": (85_000.0, 10_000.0, 0.0036, 0.03, 0.0, 0.0, 0.0),
}


@pytest.mark.parametrize(
    ("base", "cash", "price", "target", "base_range", "bid", "ask"), ROWS.values(), ids=ROWS
)
def test_the_inventory_skew_equals_hummingbot_s_figures(
    base, cash, price, target, base_range, bid, ask
):
    got = inventory_skew_ratios(base, cash, price, target, base_range)
    assert got == pytest.approx((bid, ask), abs=1e-7)


def test_the_skew_range_counts_all_levels_of_both_sides():
    assert total_order_size(10, 0, 1) == 20
    assert total_order_size(10, 5, 3) == 2 * (10 + 15 + 20)
