"""Claims about requests: the priority rule, and amends that cannot be empty."""

from pathlib import Path

import pytest

from venue.wire.money import Price, Qty
from venue.wire.requests import Amend, keeps_priority

TABLE = Path(__file__).with_name("priority.txt")
ROWS = [
    tuple(line.replace("->", " ").split())
    for line in TABLE.read_text(encoding="utf-8").splitlines()
    if line and not line.startswith("#")
]


@pytest.mark.parametrize(("old_price", "old_qty", "new_price", "new_qty", "place"), ROWS)
def test_an_amend_keeps_priority_only_at_the_same_price_and_no_greater_size(
    old_price, old_qty, new_price, new_qty, place
):
    kept = keeps_priority(
        Price(int(old_price)), Qty(int(old_qty)), Price(int(new_price)), Qty(int(new_qty))
    )
    assert kept is (place == "kept")


def test_an_amend_without_price_and_size_is_an_error():
    with pytest.raises(ValueError, match="price, a remaining qty, or both"):
        Amend()
