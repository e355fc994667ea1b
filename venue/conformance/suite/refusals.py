"""Checks of creates and amends that are refused, each with its code."""

import json
from typing import Any, Final

from venue.conformance.api import buy, fresh_id, refusal_of
from venue.conformance.bench import Bench
from venue.conformance.judge import CODES, Json, holds, same
from venue.conformance.registry import Needs, check

WITHOUT: Final = object()


def _create(bench: Bench, change: dict[str, Any]) -> str:
    """The refusal of a create that is good but for one change."""
    body: Json = {**buy(bench.some_market, price=1, qty=1), "client_order_id": fresh_id()}
    body = {name: value for name, value in {**body, **change}.items() if value is not WITHOUT}
    return refusal_of(bench.anna.ask("POST", "/orders", body))


def _each_refused(bench: Bench, changes: list[dict[str, Any]], code: str) -> None:
    for change in changes:
        same(_create(bench, change), code, f"a create with {change}")


@check(needs=Needs.KEY)
def check_a_create_without_its_idempotency_key_is_refused(bench: Bench) -> None:
    """POST /orders | client_order_id missing is 400 missing_idempotency_key."""
    _each_refused(bench, [{"client_order_id": WITHOUT}], "missing_idempotency_key")


@check(needs=Needs.KEY)
def check_a_field_of_the_wrong_type_is_a_bad_body(bench: Bench) -> None:
    """POST /orders | A field of another JSON type: 400 invalid_request_body."""
    wrong: list[dict[str, Any]]
    wrong = [{"price": "40"}, {"qty": "1"}, {"outcome": 1}, {"side": []}, {"ticker": 7}]
    wrong += [{"client_order_id": 7}, {"time_in_force": {}}, {"market_id": 7, "ticker": WITHOUT}]
    _each_refused(bench, wrong, "invalid_request_body")


@check(needs=Needs.KEY, readings="S26")
def check_true_and_1_point_0_are_no_integers(bench: Bench) -> None:
    """Errors | 400 invalid_request_body: true or 1.0 for an integer."""
    _each_refused(bench, [{"qty": True}, {"price": 40.0}, {"qty": 1e2}], "invalid_request_body")


@check(needs=Needs.KEY)
def check_a_required_field_left_out_is_refused(bench: Bench) -> None:
    """POST /orders | Required: outcome, side, price, and qty or budget_cents."""
    # With which code is left open: a missing field has no wrong type.
    for name in ("outcome", "side", "price", "qty"):
        code = _create(bench, {name: WITHOUT})
        holds(code in CODES[400], f"a create without {name}: {code}")


@check(needs=Needs.KEY)
def check_a_price_outside_1_to_99_is_refused(bench: Bench) -> None:
    """Errors | 400 invalid_price: not a whole number of cents from 1 to 99."""
    wrong = (0, 100, -1, 40.5, 10**30, 10**999)
    _each_refused(bench, [{"price": price} for price in wrong], "invalid_price")


@check(needs=Needs.KEY)
def check_a_qty_below_one_share_is_refused(bench: Bench) -> None:
    """Errors | 400 invalid_qty: not a whole number above zero."""
    _each_refused(bench, [{"qty": 0}, {"qty": -3}], "invalid_qty")


@check(needs=Needs.KEY, readings="S25")
def check_a_qty_above_the_ceiling_is_refused(bench: Bench) -> None:
    """Errors | 400 invalid_qty above the per-order ceiling.
    Errors | 400 invalid_budget above the per-order notional ceiling.
    """
    _each_refused(bench, [{"qty": 1_000_001}, {"qty": 10**400}], "invalid_qty")
    budget = {"qty": WITHOUT, "budget_cents": 100_000_001, "time_in_force": "ioc"}
    _each_refused(bench, [budget], "invalid_budget")


@check(needs=Needs.KEY)
def check_budgets_out_of_place_are_refused(bench: Bench) -> None:
    """Errors | 400 invalid_budget: with qty, non-buy, gtc, or non-positive."""
    budget = {"qty": WITHOUT, "budget_cents": 100, "time_in_force": "ioc"}
    _each_refused(
        bench,
        [
            {"budget_cents": 100, "time_in_force": "ioc"},
            {**budget, "time_in_force": WITHOUT},
            {**budget, "time_in_force": "gtc"},
            {**budget, "side": "sell"},
            {**budget, "budget_cents": 0},
            {**budget, "budget_cents": -5},
        ],
        "invalid_budget",
    )


def _bodies(bench: Bench, raws: list[bytes]) -> None:
    # An order that is there: of one that is not, 404 might come first (S29).
    order_id = bench.anna.placed(**buy(bench.some_market, price=1, qty=1))["order_id"]
    for raw in raws:
        for method, path in (("POST", "/orders"), ("PUT", f"/orders/{order_id}")):
            found = refusal_of(bench.anna.ask(method, path, raw=raw))
            same(found, "invalid_request_body", f"{method} of {raw[:40]!r}")
    bench.anna.cancelled(order_id)


@check(needs=Needs.KEY)
def check_a_body_that_is_missing_or_no_object_is_refused(bench: Bench) -> None:
    """Errors | 400 invalid_request_body: JSON body missing or unparseable."""
    _bodies(bench, [b"", b"null", b"[]", b"{", b'"x"', b"{} {}", b"{'price': 1}"])


@check(needs=Needs.KEY, readings="S26")
def check_a_hostile_body_is_refused(bench: Bench) -> None:
    """Errors | 400 invalid_request_body: oversize, too deep, not UTF-8, NaN, a key twice."""
    raws = [b"\xff\xfe", b'{"price": NaN}', b'{"qty": 1, "qty": 2}', b"[" * 100_000]
    raws += [b'{"a":' * 9 + b"1" + b"}" * 9, b" " * 20_000 + b"{}"]
    _bodies(bench, raws)


@check(needs=Needs.KEY)
def check_integers_beyond_every_bound_are_answered_not_stumbled_over(bench: Bench) -> None:
    """Errors | 400 for a number of thousands of digits, never 500."""
    body = {**buy(bench.some_market, price=40, qty=1), "client_order_id": fresh_id()}
    raw = json.dumps(body).replace("40", "9" * 5000).encode()
    same(bench.anna.ask("POST", "/orders", raw=raw).status_code, 400)


@check(readings="S32")
def check_unknown_fields_are_ignored_and_null_counts_as_absent(bench: Bench) -> None:
    """POST /orders | Unknown fields are ignored; null means absent."""
    more: Json = {"budget_cents": None, "market_id": None, "time_in_force": None, "colour": "green"}
    same(bench.anna.placed(**buy(bench.market(), **more))["status"], "open")
    same(bench.anna.refused(**buy(bench.market()), client_order_id=None), "missing_idempotency_key")


@check()
def check_a_malformed_amend_is_refused(bench: Bench) -> None:
    """PUT /orders/{order_id} | price or qty is required; neither: 400.
    PUT /orders/{order_id} | price is an integer of 1 to 99, qty an integer.
    """
    order = bench.anna.placed(**buy(bench.market(), price=1, qty=1))
    # With which code an amend of nothing is refused is left open.
    nothing: list[Json] = [{}, {"side": "buy"}]
    for amend in nothing:
        code = refusal_of(bench.anna.amend(order["order_id"], **amend))
        holds(code in CODES[400], f"an amend with {amend}: {code}")
    for body, code in (
        ({"price": 0}, "invalid_price"),
        ({"price": 100}, "invalid_price"),
        ({"price": "5"}, "invalid_request_body"),
        ({"price": 5.5}, "invalid_price"),
        ({"qty": "1"}, "invalid_request_body"),
    ):
        same(refusal_of(bench.anna.amend(order["order_id"], **body)), code, f"an amend with {body}")


@check(readings="S13 S25")
def check_an_amend_to_no_shares_or_too_many_is_refused(bench: Bench) -> None:
    """PUT /orders/{order_id} | qty below 1 or above the ceiling is 400 invalid_qty."""
    order = bench.anna.placed(**buy(bench.market(), price=1, qty=1))
    for qty in (0, -1, 1_000_001):
        found = refusal_of(bench.anna.amend(order["order_id"], qty=qty))
        same(found, "invalid_qty", f"an amend to {qty}")


@check(readings="S29")
def check_refusals_come_in_their_order(bench: Bench) -> None:
    """Errors | Of several faults the first: credential, scope, path, body, values, venue, market,
    funds.
    """
    market = bench.market()
    bench.set_market(market, "halt")
    poor = bench.trader(cents=0)
    reader = bench.with_key(bench.key(poor.user_id, ["read"])["key"])
    same(refusal_of(reader.ask("POST", "/orders", raw=b"{")), "forbidden_scope")
    same(refusal_of(reader.ask("PUT", "/orders/abc", raw=b"{")), "forbidden_scope")
    same(refusal_of(poor.ask("PUT", "/orders/abc", raw=b"{")), "invalid_order_id")
    body_first = poor.refused(**{**buy(market, price=0), "outcome": "maybe", "qty": "1"})
    same(body_first, "invalid_request_body")
    same(poor.refused(**buy(market, price=0)), "invalid_price")
    same(poor.refused(**buy(market, price=50)), "market_halted")
    with bench.venue_state("cancel_only"):
        same(poor.refused(**buy(market, price=50)), "venue_cancel_only")
        same(poor.refused(**buy(market, price=0)), "invalid_price")
