"""Claims about the excuses: a refusal is let pass only when the request shows why it had to be."""

import json

import pytest
import requests
from schemathesis import Response

from tests.fuzz import excuses
from tests.fuzz.site import Site

SITE = Site(
    base_url="http://venue/v1",
    stream_url="ws://venue/v1/stream",
    keys_file="keys.json",
    markets=("A-26Q4-1B",),
    market_ids=("00000000-0000-4000-8000-000000000001",),
    halted=(),
    project_ids=(),
    events=("A-26Q4",),
    series=("A",),
    orders=(),
)
LATE, EARLY = "2026-02-01T00:00:00Z", "2026-01-01T00:00:00Z"
NEVER = "2999-01-01T00:00:00Z"


def answered(code, method, path, body=None):
    request = requests.Request(method, SITE.base_url + path, json=body).prepare()
    content = json.dumps({"code": code, "error": ""}).encode()
    return Response(400, {}, content, request, 0.0, False)


def excused(response, filled=0):
    return excuses.refusal(SITE, response, lambda _: filled) is not None


@pytest.mark.parametrize(
    ("code", "path", "shown"),
    [
        ("invalid_cursor", "/orders?cursor=x", True),
        ("invalid_cursor", "/orders?cursor=", False),
        ("invalid_cursor", "/orders", False),
        ("conflicting_identifiers", "/orders?ticker=A-26Q4-1B&event_ticker=A-26Q4", True),
        ("conflicting_identifiers", "/orders?ticker=A-26Q4-1B", False),
        ("invalid_parameter", "/orders?ticker=B", True),
        ("invalid_parameter", "/orders?ticker=a-26q4-1b", False),
        ("invalid_parameter", "/orders?event_ticker=A", True),
        ("invalid_parameter", "/orders?event_ticker=a-26q4", False),
        ("invalid_parameter", "/orders?limit=5", False),
        ("invalid_parameter", f"/markets/A-26Q4-1B/trades?from={LATE}&to={EARLY}", True),
        ("invalid_parameter", f"/markets/A-26Q4-1B/trades?from={EARLY}&to={LATE}", False),
        ("invalid_parameter", f"/markets/A-26Q4-1B/candles?from={NEVER}", True),
        ("invalid_parameter", f"/markets/A-26Q4-1B/candles?from={EARLY}", False),
        ("invalid_enum_value", "/orders?status=open&cursor=x", False),
        ("invalid_market_identifier", "/orders?ticker=B", False),
    ],
)
def test_a_rejected_read_is_excused_by_the_rule_that_its_query_breaks(code, path, shown):
    assert excused(answered(code, "GET", path)) is shown


@pytest.mark.parametrize(
    ("body", "shown"),
    [
        ({"price": 40.0}, True),
        ({"qty": 1.0, "price": 40}, True),
        ({"price": 40, "note": 1.5}, False),
        ({"price": 40}, False),
        ({"note": "x" * 16_384}, True),
        ({"note": [[[[[[[[1]]]]]]]]}, True),
        ({"note": [[[[[[[1]]]]]]]}, False),
    ],
)
def test_a_rejected_body_is_excused_by_a_decimal_point_its_size_or_its_depth(body, shown):
    assert excused(answered("invalid_request_body", "POST", "/orders", body)) is shown


@pytest.mark.parametrize(("filled", "shown"), [(0, False), (1, True)])
def test_a_rejected_amend_is_excused_when_fills_take_it_beyond_the_maximum_size(filled, shown):
    response = answered("invalid_qty", "PUT", "/orders/7", {"qty": 1_000_000})
    assert excused(response, filled) is shown


def test_a_rejected_size_of_a_new_order_is_never_excused():
    assert not excused(answered("invalid_qty", "POST", "/orders", {"qty": 1_000_000}), 5)
