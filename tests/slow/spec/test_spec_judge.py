"""Claims about the judge itself: a venue that breaks a rule of every reply is found out."""

import json

import httpx
import pytest

from tests.builders.venue import bodies
from venue.conformance.judge import Broken, judge_reply
from venue.conformance.money import fee_cents, mirror
from venue.conformance.registry import statements
from venue.conformance.runner import suite
from venue.conformance.shapes import judge_body, judge_update

UUID = "00000000-0000-4000-8000-000000000000"
LIMITER = {"x-ratelimit-limit": "500", "x-ratelimit-remaining": "7"}
MARKET = bodies.MARKET
ORDER = bodies.ORDER | {"reserved_cents": 415}
BOOK = bodies.BOOK | {
    "as_of": bodies.INSTANT,
    "bids": [{"price": 40, "size": 1}],
    "asks": [{"price": 41, "size": 1}],
}


def reply_of(status, body, headers):
    return httpx.Response(status, json=body, headers=headers)


@pytest.mark.parametrize("text", ["0001-01-01T00:00:00Z", "0001-01-01T00:00:00.000000000Z"])
def test_the_zero_instant_of_a_book_passes_with_and_without_decimals(text):
    judge_reply(reply_of(200, {"as_of": text}, LIMITER))


def test_a_reply_that_keeps_every_rule_passes():
    judge_reply(reply_of(200, {"orders": [], "cursor": ""}, LIMITER))
    judge_body("GET", "/orders/7", ORDER)
    judge_body("GET", "/markets", {"markets": [MARKET], "cursor": ""})
    judge_body("GET", "/markets/A-26Q4-1B/orderbook", BOOK)


@pytest.mark.parametrize(
    ("status", "body", "headers"),
    [
        (200, {"orders": None}, LIMITER),
        (200, {"price": 40.0}, LIMITER),
        (200, {"price": 0}, LIMITER),
        (200, {"price": "40"}, LIMITER),
        (200, {"qty": -1}, LIMITER),
        (200, {"order_id": 7}, LIMITER),
        (200, {"order_id": "x7"}, LIMITER),
        (200, {"taker_fee_rate": "7%"}, LIMITER),
        (200, {"created_at": "2026-01-01 00:00:00"}, LIMITER),
        (200, {"created_at": "2026-01-01T00:00:00.5Z"}, LIMITER),
        (200, {"created_at": "2026-01-01T00:00:00Z"}, LIMITER),
        (200, {"as_of": "2026-01-01T00:00:00Z"}, LIMITER),
        (200, {"created_at": "0001-01-01T00:00:00Z"}, LIMITER),
        (200, {"market_id": "7"}, LIMITER),
        (200, [], LIMITER),
        (200, {}, {}),
        (200, {}, {**LIMITER, "x-ratelimit-limit": "250"}),
        (200, {}, {**LIMITER, "x-ratelimit-remaining": "501"}),
        (200, {}, {**LIMITER, "retry-after": "1"}),
        (400, {"code": "bad", "error": "x"}, LIMITER),
        (400, {"code": "invalid_price"}, LIMITER),
        (422, {"code": "invalid_price", "error": "x"}, LIMITER),
        (400, {"code": "invalid_price", "error": "x", "field": "price"}, LIMITER),
        (401, {"code": "unauthenticated", "error": "x"}, LIMITER),
        (429, {"code": "rate_limited", "error": "x"}, LIMITER),
        (404, {"detail": "Not Found"}, LIMITER),
    ],
)
def test_the_judge_rejects_a_reply_that_breaks_a_general_rule(status, body, headers):
    with pytest.raises(Broken):
        judge_reply(reply_of(status, body, headers))


@pytest.mark.parametrize(
    "change",
    [
        {"status": "resting"},
        {"status": "filled"},
        {"status": "partially_filled"},
        {"remaining_qty": 11},
        {"outcome": "maybe"},
        {"client_order_id": "x"},
        {"spent_cents": 5},
    ],
)
def test_the_judge_rejects_an_order_that_contradicts_itself(change):
    with pytest.raises(Broken):
        judge_body("GET", "/orders/7", {**ORDER, **change})


@pytest.mark.parametrize("status", ["canceled", "expired"])
def test_the_judge_accepts_any_remaining_qty_of_a_closed_order(status):
    for left in (0, ORDER["remaining_qty"]):
        judge_body("GET", "/orders/7", {**ORDER, "status": status, "remaining_qty": left})


@pytest.mark.parametrize("field", [*ORDER])
def test_the_judge_rejects_an_order_with_a_missing_field(field):
    body = {name: value for name, value in ORDER.items() if name != field}
    with pytest.raises(Broken):
        judge_body("GET", "/orders/7", body)


@pytest.mark.parametrize("status", ["accepted", "expired"])
def test_the_judge_rejects_a_write_with_a_status_of_reads(status):
    body = {name: value for name, value in ORDER.items() if name != "reserved_cents"}
    judge_body("POST", "/orders", body)
    with pytest.raises(Broken):
        judge_body("POST", "/orders", {**body, "status": status, "remaining_qty": 0})


@pytest.mark.parametrize("field", ["client_order_id", "spent_cents"])
def test_the_judge_rejects_fields_of_a_create_in_other_replies(field):
    written = {name: value for name, value in ORDER.items() if name != "reserved_cents"}
    more = {field: "x" if field == "client_order_id" else 5}
    judge_body("POST", "/orders", {**written, **more})
    for method, body in (("PUT", written), ("DELETE", {"order": ORDER, "reduced_by": 0})):
        judge_body(method, "/orders/7", body)
        order = body.get("order", body)
        changed = {**body, "order": {**order, **more}} if "order" in body else {**body, **more}
        with pytest.raises(Broken):
            judge_body(method, "/orders/7", changed)


@pytest.mark.parametrize(
    "change",
    [
        {"bids": [{"price": 41, "size": 1}]},
        {"bids": [{"price": 39, "size": 1}, {"price": 40, "size": 1}]},
        {"asks": [{"price": 41, "size": 0}]},
        {"as_of": "0001-01-01T00:00:00Z"},
    ],
)
def test_the_judge_rejects_an_impossible_book(change):
    with pytest.raises(Broken):
        judge_body("GET", "/markets/A-26Q4-1B/orderbook", {**BOOK, **change})


@pytest.mark.parametrize(
    "data",
    [
        {"type": "prediction-order"},
        {"type": "prediction-ticker", "ticker": "A", "eventMarketId": UUID, "ts": 5},
        json.loads('{"type": "prediction-orderbook", "ticker": "A", "ts": 1e18}'),
    ],
)
def test_the_judge_rejects_a_frame_that_breaks_a_rule(data):
    with pytest.raises(Broken):
        judge_update(data)


def test_the_judge_computes_fees_independently():
    # 0.0175 x 10 x 0.40 x 0.60 dollars = 4.2 cents.
    assert fee_cents("0.0175", 40, 10) == fee_cents("0.0175", mirror(40), 10) == 5
    assert fee_cents("0.07", 50, 4) == 7
    assert fee_cents("0", 50, 1_000_000) == 0


def test_statements_are_read_from_docstrings_over_several_lines():
    one, two = statements("Market | Of two\nlines.\n\nOrder | Of one.")
    assert (one.heading, one.words) == ("Market", "Of two lines")
    assert (two.heading, two.words) == ("Order", "Of one")


def test_a_check_without_a_statement_is_an_error():
    for text in ("", "Words without a heading."):
        with pytest.raises(ValueError):
            statements(text)


def test_the_names_of_checks_are_unique():
    names = [each.name for each in suite()]
    assert len(set(names)) == len(names)
