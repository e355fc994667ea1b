"""Claims about instants: nine decimal places both ways, offsets, garbage, the zero instant."""

import random

import pytest

from venue.wire import instant

FIRST_NS = instant.to_ns("0001-01-01T00:00:00Z")
LAST_NS = instant.to_ns("9999-12-31T23:59:59.999999999Z")


def test_ten_thousand_instants_survive_the_round_trip_to_the_nanosecond():
    source = random.Random(20260101)
    for _ in range(10_000):
        ns = source.randint(FIRST_NS, LAST_NS)
        assert instant.to_ns(instant.from_ns(ns)) == ns


def test_texts_sort_like_their_instants():
    source = random.Random(7)
    moments = sorted(source.randint(0, LAST_NS) for _ in range(1000))
    texts = [instant.from_ns(ns) for ns in moments]
    assert texts == sorted(texts)


@pytest.mark.parametrize(
    ("ns", "text"),
    [
        (0, "1970-01-01T00:00:00.000000000Z"),
        (1, "1970-01-01T00:00:00.000000001Z"),
        (-1, "1969-12-31T23:59:59.999999999Z"),
        (1_700_000_000_123_456_789, "2023-11-14T22:13:20.123456789Z"),
    ],
)
def test_an_instant_is_written_with_nine_decimals_and_z(ns, text):
    assert instant.from_ns(ns) == text


@pytest.mark.parametrize(
    ("text", "ns"),
    [
        ("1970-01-01T00:00:00Z", 0),
        ("1970-01-01t00:00:00z", 0),
        ("1970-01-01T00:00:00.1Z", 100_000_000),
        ("1970-01-01T00:00:00.123456789Z", 123_456_789),
        ("1970-01-01T01:00:00+01:00", 0),
        ("1969-12-31T18:30:00-05:30", 0),
        ("1970-01-01T00:00:00-00:00", 0),
        ("1970-01-01T00:00:00+23:59", -(23 * 60 + 59) * 60 * instant.NS_PER_SECOND),
        ("2024-02-29T00:00:00Z", 1_709_164_800 * instant.NS_PER_SECOND),
    ],
)
def test_an_instant_is_read_with_any_offset_and_0_to_9_decimals(text, ns):
    assert instant.to_ns(text) == ns


@pytest.mark.parametrize(
    "text",
    [
        "", "now", "2024-01-01", "2024-01-01T00:00:00", "2024-01-01 00:00:00Z", "2024-01-01T00:00Z",
        "2024-01-01T00:00:00.Z", "2024-01-01T00:00:00.1234567890Z", "2024-01-01T00:00:00,5Z",
        "2024-01-01T00:00:60Z", "2016-12-31T23:59:60Z", "2024-01-01T24:00:00Z",
        "2024-01-01T00:60:00Z", "2024-00-01T00:00:00Z", "2024-13-01T00:00:00Z",
        "2023-02-29T00:00:00Z", "2024-02-30T00:00:00Z", "0000-01-01T00:00:00Z",
        "10000-01-01T00:00:00Z", "-001-01-01T00:00:00Z", "2024-01-01T00:00:00+24:00",
        "2024-01-01T00:00:00+00:60", "2024-01-01T00:00:00+0000", "2024-01-01T00:00:00Z\n",
        " 2024-01-01T00:00:00Z", "\uff12024-01-01T00:00:00Z", "1700000000",
        # Of the length of the texts that we write.
        "2024-01-01T00:00:60.000000000Z", "2023-02-29T00:00:00.000000000Z",
        "2024-01-01 00:00:00.000000000Z", "2024-01-01T00:00:00.00000000\uff10Z",
        "2024-01-01T00:00:00.0000000+1Z",
    ],
)  # fmt: skip
def test_a_text_that_is_no_instant_is_rejected_every_time(text):
    for _ in range(2):
        with pytest.raises(ValueError):
            instant.to_ns(text)


def test_the_error_of_a_bad_instant_names_the_whole_text():
    with pytest.raises(ValueError, match=r"'2024-01-01 00:00:00\.123456789Z'"):
        instant.to_ns("2024-01-01 00:00:00.123456789Z")


@pytest.mark.parametrize("ns", [FIRST_NS - 1, LAST_NS + 1, 10**30, -(10**30)])
def test_an_instant_outside_the_years_1_to_9999_overflows(ns):
    with pytest.raises(OverflowError):
        instant.from_ns(ns)


@pytest.mark.parametrize(
    ("text", "zero"),
    [
        (instant.ZERO, True),
        ("0001-01-01T00:00:00.000000000Z", True),
        ("0001-01-01T00:00:00.0+00:00", True),
        ("0001-01-01T00:00:00.000000001Z", False),
        ("1970-01-01T00:00:00Z", False),
        ("", False),
        ("garbage", False),
    ],
)
def test_the_zero_instant_is_recognised_in_every_spelling(text, zero):
    assert instant.is_zero(text) is zero
