"""Hummingbot's own unit-test figures for the inventory skew of pure market making."""

import pytest

from strategies.pure_mm import inventory_skew_ratios, total_order_size


@pytest.mark.parametrize(
    ("base", "cash", "price", "target", "base_range", "bid", "ask"),
    [
        (85_000.0, 10_000.0, 0.0036, 0.03, 20_000.0, 1.04416666, 0.95583333),
        (95_000.0, 10_000.0, 0.0036, 0.03, 20_000.0, 0.55916666, 1.44083333),
        (70_000.0, 10_000.0, 0.0036, 0.03, 20_000.0, 1.77166666, 0.22833333),
        (8_500.0, 10_000.0, 0.0036, 0.03, 20_000.0, 2.0, 0.0),
        (200_000.0, 10_000.0, 0.0036, 0.03, 20_000.0, 0.0, 2.0),
        (100.0, 10.0, 1.0, 0.35, 200.0, 0.0, 2.0),
        (10.0, 100.0, 1.0, 0.75, 200.0, 2.0, 0.0),
        (0.0, 10_000.0, 0.0036, 0.03, 20_000.0, 2.0, 0.0),
        (0.0, 0.0, 0.0036, 0.03, 20_000.0, 0.0, 0.0),
        (85_000.0, 10_000.0, 0.0036, 0.03, 0.0, 0.0, 0.0),
    ],
    ids=[
        "balanced",
        "moderately long",
        "moderately short",
        "heavily short",
        "heavily long",
        "range capped, long",
        "range capped, short",
        "cash alone",
        "nothing owned",
        "no range",
    ],
)
def test_the_skew_ratios_come_out(base, cash, price, target, base_range, bid, ask):
    got = inventory_skew_ratios(base, cash, price, target, base_range)
    assert got == pytest.approx((bid, ask), abs=1e-7)


def test_the_range_counts_all_levels_of_both_sides():
    assert total_order_size(10, 0, 1) == 20
    assert total_order_size(10, 5, 3) == 2 * (10 + 15 + 20)
