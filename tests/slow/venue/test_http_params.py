"""Claims about path and query values."""

import pytest

from tests.builders.venue.rest_bench import LOW, TICKERS, opening
from venue.rest.params import Query, event_in_path, market_in_path, order_in_path, percent_decoded
from venue.views.account import Scope
from venue.views.catalog import Catalog
from venue.wire.codec import Refusal
from venue.wire.model import RESTING, CandleInterval, OrderStatus

KNOWN = (
    "limit", "cursor", "q", "status", "ticker", "event_ticker", "from", "project_id",
    "series_ticker", "interval", "order_id",
)  # fmt: skip


def catalog():
    known = Catalog()
    for event in opening():
        known.apply(event)
    return known


def refusal(action, *arguments):
    with pytest.raises(Refusal) as caught:
        action(*arguments)
    return caught.value


# --- addresses -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        (b"ab", "ab"), (b"%41b", "Ab"), (b"%e2%82%ac", "€"), (b"%2F", "/"), (b"", ""),
        (b"%", None), (b"%4", None), (b"%zz", None), (b"%e2%82", None), (b"\xff", None),
    ],
)  # fmt: skip
def test_percent_encoding_is_decoded_strictly(raw, text):
    assert percent_decoded(raw) == text


@pytest.mark.parametrize(
    "segment",
    [
        None, "", "-A", "A-", "A/B", "A B", "A\n", "A_B", "Ä", "\u212a", "%41", "A%", "\uff11",
        "A\x00",
    ],
)  # fmt: skip
def test_a_malformed_market_in_a_path_is_rejected_by_its_shape(segment):
    assert refusal(market_in_path, catalog(), segment).code == "invalid_market_identifier"
    assert refusal(event_in_path, segment).code == "invalid_market_identifier"


@pytest.mark.parametrize("segment", [".", "..", "...", "NOPE", "ACME-VAL-26Q4"])
def test_an_unknown_market_in_a_path_is_not_found(segment):
    assert refusal(market_in_path, catalog(), segment).code == "market_not_found"


@pytest.mark.parametrize("segment", [None, "", "1" * 21, "12a", "-1", "1\n", "\uff11", " 1", "+1"])
def test_a_malformed_order_id_is_rejected(segment):
    assert refusal(order_in_path, segment).code == "invalid_order_id"


@pytest.mark.parametrize("segment", ["0", "007", "1" * 20])
def test_an_order_id_keeps_its_leading_zeros(segment):
    assert order_in_path(segment) == segment


# --- queries -------------------------------------------------------------------------------------


def test_unknown_parameters_are_ignored():
    query = Query(b"x=1&x=2&%zz=1&y=%zz&limit=7&", KNOWN)
    assert query.limit() == 7


@pytest.mark.parametrize("raw", [b"limit=1&limit=1", b"q=%zz", b"q=%ff", b"limit=1&%6cimit=2"])
def test_a_known_parameter_given_twice_or_undecodable_is_rejected(raw):
    assert refusal(Query, raw, KNOWN).code == "invalid_parameter"


@pytest.mark.parametrize(
    ("text", "limit"),
    [
        ("1", 1), ("1000", 1000), ("0", 1), ("-1", 1), ("1001", 1000), ("00100", 100),
        ("-" + "9" * 5000, 1), ("9" * 5000, 1000), ("000", 1), ("-0", 1),
    ],
)  # fmt: skip
def test_a_limit_is_clamped_to_its_range(text, limit):
    assert Query(f"limit={text}".encode(), KNOWN).limit() == limit


@pytest.mark.parametrize("text", ["", "x", "1.0", "1e2", "%2B5", "5+", "0x10", "%EF%BC%91", "1%0A"])
def test_a_limit_that_is_no_integer_is_rejected(text):
    assert refusal(Query(f"limit={text}".encode(), KNOWN).limit).code == "invalid_parameter"


def test_the_default_limit_is_100_and_an_empty_cursor_is_absent():
    query = Query(b"cursor=", KNOWN)
    assert (query.limit(), query.cursor()) == (100, None)


@pytest.mark.parametrize("text", ["", "a", "%20", "%E2%82%AC"])
def test_a_search_term_of_fewer_than_two_characters_is_rejected(text):
    assert refusal(Query(f"q={text}".encode(), KNOWN).search).code == "invalid_parameter"


def test_a_plus_and_an_escape_are_spaces_of_a_search_term():
    assert Query(b"q=a+b%20c%2B", KNOWN).search() == "a b c+"


@pytest.mark.parametrize(
    "text",
    ["2026-01-01T00:00:00Z", "2026-01-01T01:00:00%2B01:00", "2026-01-01T01:00:00+01:00",
     "2025-12-31t23:00:00.000-01:00"],
)  # fmt: skip
def test_an_instant_is_read_in_any_spelling(text):
    assert Query(f"from={text}".encode(), KNOWN).instant_ns("from") == 1767225600 * 10**9


@pytest.mark.parametrize(
    "text", ["", "now", "2026-01-01", "2026-13-01T00:00:00Z", "1767225600", "2026-01-01T00:00:00"]
)
def test_an_instant_that_is_not_rfc3339_is_rejected(text):
    query = Query(f"from={text}".encode(), KNOWN)
    assert refusal(query.instant_ns, "from").code == "invalid_parameter"


@pytest.mark.parametrize("text", ["", "acme", "00000000-0000-4000-8000-00000000000"])
def test_a_company_id_that_is_no_uuid_is_rejected(text):
    query = Query(f"project_id={text}".encode(), KNOWN)
    assert refusal(query.project_id).code == "invalid_parameter"


@pytest.mark.parametrize(
    ("text", "interval"), [("30s", "30s"), ("1H", "1h"), ("4h", "4h"), ("1D", "1d")]
)
def test_an_interval_is_read_in_any_case(text, interval):
    query = Query(f"interval={text}".encode(), KNOWN)
    assert query.enum("interval", CandleInterval, tuple(CandleInterval)) == interval


@pytest.mark.parametrize("text", ["", "1w", "\u0130h", "%C5%BFs", "1h,4h"])
def test_the_rejection_of_an_interval_lists_the_accepted_ones(text):
    query = Query(f"interval={text}".encode(), KNOWN)
    fault = refusal(query.enum, "interval", CandleInterval, tuple(CandleInterval))
    assert fault.code == "invalid_enum_value"
    assert "30s, 1m, 1h, 4h, 12h, 1d" in fault.message


@pytest.mark.parametrize(
    ("text", "statuses"),
    [
        ("resting", RESTING),
        ("open,FILLED", {"open", "filled"}),
        ("canceled", {"canceled", "expired"}),
        ("Expired", {"expired"}),
        ("all", {"accepted", "open", "partially_filled", "filled", "canceled", "expired"}),
        ("open,%20open", {"open"}),
    ],
)
def test_statuses_are_read_as_groups_and_values_in_any_case(text, statuses):
    assert Query(f"status={text}".encode(), KNOWN).statuses() == statuses


@pytest.mark.parametrize("text", ["", "open,", "unknown", "done", "open;filled", "o%C5%BFpen"])
def test_the_rejection_of_a_status_lists_the_accepted_ones(text):
    fault = refusal(Query(f"status={text}".encode(), KNOWN).statuses)
    assert fault.code == "invalid_enum_value"
    for accepted in ["resting", "all", *(s for s in OrderStatus if s != "unknown")]:
        assert accepted in fault.message
    assert "unknown" not in fault.message


@pytest.mark.parametrize(
    ("raw", "code"),
    [
        ("ticker=", "invalid_market_identifier"),
        ("ticker=A_B", "invalid_market_identifier"),
        ("event_ticker=A_B", "invalid_market_identifier"),
        ("ticker=NOPE", "invalid_parameter"),
        ("event_ticker=ACME-VAL", "invalid_parameter"),
        (f"ticker={LOW}&event_ticker=ACME-VAL-26Q4", "conflicting_identifiers"),
        ("ticker=NOPE&event_ticker=ACME-VAL-26Q4", "conflicting_identifiers"),
        ("ticker=NOPE&event_ticker=ACME-VAL", "conflicting_identifiers"),
        ("ticker=A_B&event_ticker=", "conflicting_identifiers"),
    ],
)
def test_a_bad_scope_is_rejected_with_the_code_of_its_fault(raw, code):
    assert refusal(Query(raw.encode(), KNOWN).scope, catalog()).code == code


@pytest.mark.parametrize("name", [LOW, LOW.upper(), TICKERS[LOW], TICKERS[LOW].lower()])
def test_a_market_scope_accepts_every_name_of_the_market(name):
    assert Query(f"ticker={name}".encode(), KNOWN).scope(catalog()) == Scope(market_id=LOW)


def test_an_event_scope_is_read_in_any_case():
    scope = Query(b"event_ticker=acme-val-26q4", KNOWN).scope(catalog())
    assert scope == Scope(event_ticker="ACME-VAL-26Q4")
