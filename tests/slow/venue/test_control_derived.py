"""Claims about what follows from names, and about raw keys."""

import hashlib

import pytest

from venue import derived, rawkeys
from venue.derived import Quarter
from venue.wire.instant import from_ns
from venue.wire.names import is_uuid


@pytest.mark.parametrize("number", [1, 2, 3, 4])
@pytest.mark.parametrize("year", [2000, 2009, 2026, 2099])
def test_a_quarter_is_read_back_from_its_part_of_a_ticker(year, number):
    assert Quarter.parse(Quarter(year, number).ticker_part) == Quarter(year, number)


@pytest.mark.parametrize(
    "text", ["", "26Q0", "26Q5", "2026Q4", "6Q4", "26q4", "26Q4\n", " 26Q4", "26Q4X", "٢٦Q4"]
)
def test_a_text_that_is_no_quarter_is_rejected(text):
    with pytest.raises(ValueError, match="not a quarter"):
        Quarter.parse(text)


@pytest.mark.parametrize(("text", "end"), [("26Q1", "2026-04-01"), ("26Q4", "2027-01-01")])
def test_a_quarter_ends_where_the_next_begins(text, end):
    assert from_ns(Quarter.parse(text).end_ns) == f"{end}T00:00:00.000000000Z"


def test_derived_ids_depend_on_the_name_and_its_kind():
    ids = [
        derive(name)
        for derive in (derived.company_id, derived.event_id, derived.market_id)
        for name in ("OSIER", "OSIER-VAL")
    ]
    assert len({*ids}) == len(ids)
    assert all(is_uuid(made) and made == made.lower() for made in ids)
    assert derived.company_id("OSIER") == ids[0]


def test_the_derived_id_of_a_name_never_changes():
    # Clients store them: another derivation would rename everything that is listed.
    assert derived.company_id("Aurelia Robotics") == "5f2bcff6-061d-5aff-9126-70a1ecc17910"


def test_raw_keys_are_unique_and_known_by_hash_and_prefix():
    made = [rawkeys.made() for _ in range(100)]
    assert len({*made}) == 100
    known = rawkeys.fingerprint(made[0])
    assert known.sha256_hex == hashlib.sha256(made[0].encode()).hexdigest()
    assert known.prefix == made[0][:6]
    assert made[0] not in repr(known)
