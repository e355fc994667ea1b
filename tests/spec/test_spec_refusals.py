"""Creates that the interface refuses, each with its code, judged from outside."""

import json

import pytest

from tests.spec.api import Caller, buy, fresh_id

WITHOUT = object()


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"client_order_id": WITHOUT}, "missing_idempotency_key"),
        ({"client_order_id": None}, "missing_idempotency_key"),
        ({"ticker": WITHOUT}, "invalid_request_body"),
        ({"outcome": WITHOUT}, "invalid_request_body"),
        ({"side": WITHOUT}, "invalid_request_body"),
        ({"price": WITHOUT}, "invalid_request_body"),
        ({"qty": WITHOUT}, "invalid_request_body"),
        ({"price": "40"}, "invalid_request_body"),
        ({"price": 40.0}, "invalid_request_body"),
        ({"qty": True}, "invalid_request_body"),
        ({"outcome": 1}, "invalid_request_body"),
        ({"client_order_id": 7}, "invalid_request_body"),
        ({"price": 0}, "invalid_price"),
        ({"price": 100}, "invalid_price"),
        ({"price": -1}, "invalid_price"),
        ({"qty": 0}, "invalid_qty"),
        ({"qty": -3}, "invalid_qty"),
        ({"qty": 1_000_001}, "invalid_qty"),
        ({"qty": 10**400}, "invalid_qty"),
        ({"ticker": "a_b"}, "invalid_market_identifier"),
        ({"ticker": ""}, "invalid_market_identifier"),
        ({"ticker": WITHOUT, "market_id": "not-a-uuid"}, "invalid_market_identifier"),
        ({"budget_cents": 100, "time_in_force": "ioc"}, "invalid_budget"),
        ({"qty": WITHOUT, "budget_cents": 100}, "invalid_budget"),
        ({"qty": WITHOUT, "budget_cents": 0, "time_in_force": "ioc"}, "invalid_budget"),
        ({"qty": WITHOUT, "budget_cents": 10**9, "time_in_force": "ioc"}, "invalid_budget"),
        (
            {"qty": WITHOUT, "budget_cents": 9, "time_in_force": "ioc", "side": "sell"},
            "invalid_budget",
        ),
    ],
)
def test_a_malformed_create_is_refused_with_its_code(anna: Caller, market, change, code) -> None:
    body = {**buy(market), "client_order_id": fresh_id(), **change}
    body = {name: value for name, value in body.items() if value is not WITHOUT}
    reply = anna.ask("POST", "/orders", body)
    assert (reply.status_code, reply.json()["code"]) == (400, code)


def test_naming_the_market_twice_conflicts(anna: Caller, market) -> None:
    code = anna.refused(**buy(market), market_id=market["market_id"])
    assert code == (400, "conflicting_identifiers")


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"null",
        b"[]",
        b"{",
        b"\xff\xfe",
        b'{"price": NaN}',
        b'{"qty": 1, "qty": 2}',
        b"[" * 100_000,
        b'{"a":' * 9 + b"1" + b"}" * 9,
        b" " * 20_000 + b"{}",
    ],
)
@pytest.mark.parametrize("path", ["/orders", "/orders/1"])
def test_a_body_that_is_no_plain_object_is_refused(anna: Caller, raw: bytes, path: str) -> None:
    reply = anna.ask("POST" if path == "/orders" else "PUT", path, raw=raw)
    assert (reply.status_code, reply.json()["code"]) == (400, "invalid_request_body")


def test_unknown_fields_are_ignored_and_null_counts_as_absent(anna: Caller, market) -> None:
    order = anna.placed(**buy(market), budget_cents=None, market_id=None, colour="green")
    assert order["status"] == "open"


def test_an_unknown_market_is_not_found(anna: Caller, market) -> None:
    body = {**buy(market), "ticker": "NOBODY-26Q4-1B"}
    assert anna.refused(**body) == (404, "market_not_found")


def test_a_market_may_be_named_by_uuid_or_by_ticker_in_any_case(anna: Caller, market) -> None:
    body = buy(market)
    by_ticker = anna.placed(**{**body, "ticker": body["ticker"].lower()})
    del body["ticker"]
    by_uuid = anna.placed(**body, market_id=market["market_id"])
    for order in (by_ticker, by_uuid):
        assert (order["ticker"], order["market_id"]) == (market["ticker"], market["market_id"])
        assert order["event_ticker"] == market["event_ticker"]


def test_halted_and_resolved_markets_refuse_orders(anna: Caller) -> None:
    rungs = {row["state"]: row for row in anna.get("/events/MARRAM-VAL")["events"][0]["markets"]}
    assert anna.refused(**buy(rungs["halted"])) == (422, "market_halted")
    assert anna.refused(**buy(rungs["resolved"])) == (422, "market_resolved")
    snapshot = anna.get(f"/markets/{rungs['resolved']['ticker']}/snapshot")
    assert snapshot["stats"]["open_interest"] == 0


def test_integers_beyond_every_bound_are_answered_not_stumbled_over(anna: Caller, market) -> None:
    raw = json.dumps({**buy(market), "client_order_id": fresh_id()}).replace("40", "9" * 5000)
    reply = anna.ask("POST", "/orders", raw=raw.encode())
    assert reply.status_code == 400
