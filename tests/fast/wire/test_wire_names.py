"""Claims about names and strike units: full ASCII matches, folding, multiples of a dollar."""

import pytest

from venue.wire import names
from venue.wire.strike import dollars_per_unit

UUID = "0b9f3c1e-5a2d-4c7b-9e8f-001122aabbcc"
KELVIN, LONG_S, FULL_WIDTH_ONE, ARABIC_ONE = "\u212a", "\u017f", "\uff11", "\u0661"


NAMES = [
    (
        names.is_market_path,
        ["A", ".", "..", "ACME-26Q4-212.5B", "acme-26q4-yes", "A--B", UUID],
        ["", "-A", "A-", "-", "A B", "A_B", "A/B", "A%2FB", "A\n", "A\x00", "É", KELVIN, LONG_S,
         FULL_WIDTH_ONE],
    ),
    # A client never puts a dot segment into a path.
    (names.is_path_segment, ["A", "A.B", "..A"], [".", "..", "...", "", "A\n", "A/.."]),
    (
        names.is_order_id,
        ["0", "00000000000000000001", "18446744073709551615", "9" * 20],
        ["9" * 21, "", "-1", "+1", "1.0", "1e3", " 1", "1\n", "0x1", FULL_WIDTH_ONE, ARABIC_ONE],
    ),
    (
        names.is_uuid,
        [UUID, UUID.upper()],
        [UUID.replace("-", ""), "{" + UUID + "}", "urn:uuid:" + UUID, UUID + "\n", UUID[:-1],
         UUID[:-1] + "g", UUID[:-1] + FULL_WIDTH_ONE, ""],
    ),
    (
        names.is_client_order_id,
        ["a", " ", "~", '"\\', "x" * 64],
        ["x" * 65, "", "a\n", "a\t", "\x7f", "\x1f", "é", KELVIN],
    ),
]  # fmt: skip


@pytest.mark.parametrize(
    ("is_name", "legal", "illegal"), NAMES, ids=lambda v: getattr(v, "__name__", "")
)
def test_names_are_exact_ascii_patterns(is_name, legal, illegal):
    assert [text for text in legal if not is_name(text)] == []
    assert [text for text in illegal if is_name(text)] == []


@pytest.mark.parametrize(
    ("text", "folded"),
    [
        ("acme", "ACME"), ("  acme-26q4-212.5b\t\r\n", "ACME-26Q4-212.5B"), (".", "."), ("", None),
        ("   ", None), ("ac me", None), ("acme_b", None), ("acme\x00", None), ("acme%", None),
        ("\u00a0acme", None), (KELVIN + "raken", None), (LONG_S + "tripe", None),
        ("acme" + FULL_WIDTH_ONE, None),
    ],
)  # fmt: skip
def test_a_handle_is_trimmed_and_folded_or_rejected(text, folded):
    assert names.fold_handle(text) == folded


def test_tickers_fold_to_upper_case_with_their_dots_and_uuids_to_lower_case():
    assert names.fold_ticker("acme-26q4-212.5b") != names.fold_ticker("acme-26q4-2125b")
    assert names.fold_uuid(UUID.upper()) == UUID


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
