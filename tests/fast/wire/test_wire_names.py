"""Claims about names: full ASCII matches, folding, and nothing ever cleaned up."""

import pytest

from venue.wire import names

UUID = "0b9f3c1e-5a2d-4c7b-9e8f-001122aabbcc"
KELVIN, LONG_S, FULL_WIDTH_ONE, ARABIC_ONE = "\u212a", "\u017f", "\uff11", "\u0661"


@pytest.mark.parametrize(
    ("text", "legal"),
    [
        ("A", True),
        (".", True),
        ("..", True),
        ("ACME-26Q4-212.5B", True),
        ("acme-26q4-yes", True),
        ("A--B", True),
        (UUID, True),
        ("", False),
        ("-A", False),
        ("A-", False),
        ("-", False),
        ("A B", False),
        ("A_B", False),
        ("A/B", False),
        ("A%2FB", False),
        ("A\n", False),
        ("A\x00", False),
        ("É", False),
        (KELVIN, False),
        (LONG_S, False),
        (FULL_WIDTH_ONE, False),
    ],
)
def test_a_market_path_is_the_pattern_of_the_interface_and_ascii(text, legal):
    assert names.is_market_path(text) is legal


@pytest.mark.parametrize(
    ("text", "legal"),
    [
        ("A", True),
        ("A.B", True),
        ("..A", True),
        (".", False),
        ("..", False),
        ("...", False),
        ("", False),
        ("A\n", False),
        ("A/..", False),
    ],
)
def test_a_client_never_puts_a_dot_segment_into_a_path(text, legal):
    assert names.is_path_segment(text) is legal


@pytest.mark.parametrize(
    ("text", "legal"),
    [
        ("0", True),
        ("00000000000000000001", True),
        ("18446744073709551615", True),
        ("9" * 20, True),
        ("9" * 21, False),
        ("", False),
        ("-1", False),
        ("+1", False),
        ("1.0", False),
        ("1e3", False),
        (" 1", False),
        ("1\n", False),
        ("0x1", False),
        (FULL_WIDTH_ONE, False),
        (ARABIC_ONE, False),
    ],
)
def test_an_order_id_is_1_to_20_ascii_digits(text, legal):
    assert names.is_order_id(text) is legal


@pytest.mark.parametrize(
    ("text", "legal"),
    [
        (UUID, True),
        (UUID.upper(), True),
        (UUID.replace("-", ""), False),
        ("{" + UUID + "}", False),
        ("urn:uuid:" + UUID, False),
        (UUID + "\n", False),
        (UUID[:-1], False),
        (UUID[:-1] + "g", False),
        (UUID[:-1] + FULL_WIDTH_ONE, False),
        ("", False),
    ],
)
def test_a_uuid_is_its_36_character_form_only(text, legal):
    assert names.is_uuid(text) is legal


@pytest.mark.parametrize(
    ("text", "legal"),
    [
        ("a", True),
        (" ", True),
        ("~", True),
        ('"\\', True),
        ("x" * 64, True),
        ("x" * 65, False),
        ("", False),
        ("a\n", False),
        ("a\t", False),
        ("\x7f", False),
        ("\x1f", False),
        ("é", False),
        (KELVIN, False),
    ],
)
def test_a_client_order_id_is_1_to_64_printable_ascii_characters(text, legal):
    assert names.is_client_order_id(text) is legal


@pytest.mark.parametrize(
    ("text", "folded"),
    [
        ("acme", "ACME"),
        ("  acme-26q4-212.5b\t\r\n", "ACME-26Q4-212.5B"),
        (".", "."),
        ("", None),
        ("   ", None),
        ("ac me", None),
        ("acme_b", None),
        ("acme\x00", None),
        ("acme%", None),
        ("\u00a0acme", None),
        (KELVIN + "raken", None),
        (LONG_S + "tripe", None),
        ("acme" + FULL_WIDTH_ONE, None),
    ],
)
def test_a_handle_is_trimmed_and_folded_or_rejected_and_never_cleaned_up(text, folded):
    assert names.fold_handle(text) == folded


def test_dots_keep_two_rungs_apart():
    assert names.fold_ticker("acme-26q4-212.5b") != names.fold_ticker("acme-26q4-2125b")


def test_a_uuid_folds_to_lower_case():
    assert names.fold_uuid(UUID.upper()) == UUID
