"""Claims about page cursors."""

import base64

import pytest

from venue.views.cursor import Cursors, Listing
from venue.wire.codec import Refusal

CURSORS = Cursors(b"k" * 32)
ANNA = Listing("anna", "list_orders", "all")


def refused(listing, token):
    try:
        CURSORS.open_cursor(listing, token)
    except Refusal as refusal:
        return refusal.code == "invalid_cursor"
    return False


@pytest.mark.parametrize("place", ["0", "17", "123456789012345678901234567890", "A-1.5B yes"])
def test_a_cursor_survives_a_restart_with_the_same_key(place):
    assert Cursors(b"k" * 32).open_cursor(ANNA, CURSORS.issue(ANNA, place)) == place


def test_a_cursor_of_another_key_is_rejected():
    assert refused(ANNA, Cursors(b"x" * 32).issue(ANNA, "17"))


@pytest.mark.parametrize("place", ["1", "12", "123"])
def test_a_cursor_with_any_one_bit_flipped_is_rejected(place):
    token = CURSORS.issue(ANNA, place).encode()
    for index in range(len(token)):
        for bit in range(8):
            changed = bytearray(token)
            changed[index] ^= 1 << bit
            assert refused(ANNA, changed.decode("latin-1"))


@pytest.mark.parametrize("place", ["1", "12", "123"])
def test_a_cursor_has_one_spelling(place):
    token = CURSORS.issue(ANNA, place)
    raw = base64.urlsafe_b64decode(token + "=" * (-len(token) % 4))
    spellings = {token + end for end in ("=", "==", "\n", " ", "A", "AA", "AAA", "AAAA")} | {
        base64.urlsafe_b64encode(raw + b"\0").decode(),
        token[:-1],
        token[1:],
        "",
        "0" + token,
    }
    assert all(refused(ANNA, spelling) for spelling in spellings - {token})


@pytest.mark.parametrize(
    "other",
    [
        Listing("bruno", "list_orders", "all"),
        Listing("anna", "fills", "all"),
        Listing("anna", "list_orders", "open"),
        Listing("annalist", "_orders", "all"),
    ],
)
def test_a_cursor_is_bound_to_user_route_and_filters(other):
    assert refused(other, CURSORS.issue(ANNA, "17"))


@pytest.mark.parametrize("token", ["17", "ключ", "A" * 22, "A" * 100_000, "\x00", "é" * 30, "____"])
def test_a_text_that_is_no_cursor_is_rejected(token):
    assert refused(ANNA, token)
