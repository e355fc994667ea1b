"""Claims about the unit that a strike is written in."""

import pytest

from venue.wire.strike import dollars_per_unit


@pytest.mark.parametrize(
    ("unit", "dollars"),
    [
        ("USD billions", 10**9),
        ("billion dollars", 10**9),
        ("Millions of USD", 10**6),
        ("USD thousands", 10**3),
        ("trillion", 10**12),
        ("index points", 1),
        ("USD", 1),
        (None, 1),
    ],
)
def test_a_strike_unit_names_its_multiple_of_a_dollar(unit, dollars):
    assert dollars_per_unit(unit) == dollars
