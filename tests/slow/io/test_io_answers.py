"""Claims about impossible values in a body: a single one makes the whole body unreadable."""

import json

import pytest

from bot.core import messages as m
from bot.io.client.answers import answer_of
from tests.builders.io.samples import ORDER_ID, ORDER_JSON, RUNG, create
from venue.wire.names import Ticker

ORDER = json.loads(ORDER_JSON)
FILL = {
    "fill_id": "f1",
    "trade_id": "t1",
    "order_id": "7",
    "ticker": "X-26Q4-1B",
    "market_id": RUNG,
    "event_ticker": "X-26Q4",
    "outcome": "yes",
    "side": "buy",
    "outcome_price": 40,
    "trade_price": 40,
    "qty": 3,
    "fee_cents": 1,
    "created_at": "2026-11-21T09:00:00.000000001Z",
}
POSITION = {"ticker": "X-26Q4-1B", "outcome": "yes", "qty": 3}
BALANCE = {"available_cents": 1, "reserved_cents": 2, "total_cents": 3}
LEVEL = {"price": 40, "size": 5}
BOOK = {
    "ticker": "X-26Q4-1B",
    "market_id": RUNG,
    "as_of": "2026-11-21T09:00:00.000000001Z",
    "bids": [LEVEL],
    "asks": [],
}
HUGE = 10**25


def asked(request: m.Request, body: object, **how: bool) -> m.Answer:
    """The answer to a request, 200 with this body."""
    return answer_of(request, 200, json.dumps(body).encode(), **how)


def of_order(**other: object) -> m.Answer:
    """The answer to a create that shows an order which differs so from a good one."""
    return asked(create(), {**ORDER, **other})


READABLE: list[tuple[m.Request, object]] = [
    (create(), ORDER),
    (m.ReadOrder(ORDER_ID), ORDER),
    (m.CancelResting(ORDER_ID), {"order": ORDER, "reduced_by": 10}),
    (m.ReadResting(""), {"orders": [ORDER, ORDER], "cursor": "c"}),
    (m.ReadFills(""), {"fills": [FILL], "cursor": ""}),
    (m.ReadPositions(""), {"positions": [{**POSITION, "market_id": RUNG}], "cursor": ""}),
    (m.ReadBalance(), BALANCE),
    (m.ReadBook(RUNG), BOOK),
]


def test_a_body_as_the_interface_describes_it_is_readable():
    assert {type(asked(*each)) for each in READABLE} == {m.Ok}


def in_capitals(body: object) -> object:
    """The same with every UUID of a market or a company written in capitals."""
    if isinstance(body, list):
        return [in_capitals(each) for each in body]
    if not isinstance(body, dict):
        return body
    ids = ("market_id", "project_id")
    return {key: v.upper() if key in ids else in_capitals(v) for key, v in body.items()}


def test_a_uuid_in_capitals_is_the_same_market():
    market = dict.fromkeys(("name", "outcome_label", "created_at", "updated_at"), "") | {
        "ticker": "X-26Q4-1B", "market_id": RUNG, "event_ticker": "X-26Q4",
        "project_market_id": RUNG, "state": "active", "min_price": 1, "max_price": 99,
        "tick_size": 1, "maker_fee_rate": "0", "taker_fee_rate": "0", "open_interest": 0,
    }  # fmt: skip
    event = dict.fromkeys(("title", "category", "resolution_date"), "") | {
        "event_ticker": "X-26Q4", "series_ticker": "X", "project_market_id": RUNG,
        "project_id": RUNG, "status": "open", "mutually_exclusive": False, "markets": [market],
    }  # fmt: skip
    series = (m.ReadSeries(Ticker("X"), ""), {"events": [event], "cursor": ""})
    for request, body in (*READABLE, series):
        answer = asked(request, body)
        assert isinstance(answer, m.Ok)
        assert asked(request, in_capitals(body)) == answer


def test_a_market_id_that_is_no_uuid_keeps_its_case():
    assert of_order(market_id="Rung-A").body.order.market_id == "Rung-A"


QTYS = ("qty", "remaining_qty", "filled_qty")
WRONG_QTYS = (-1, 10**9 + 1, 2**63, HUGE)
WRONG_CENTS = (10**15 + 1, -(10**15) - 1, 2**63)
UNREADABLE = [
    *({"price": price} for price in (-3, 0, 100, 1000)),
    *({name: qty} for name in QTYS for qty in WRONG_QTYS),
    *({"order_id": each} for each in ("", "0x83", "..", "7 ", "1" * 21, "１２")),
    {"reserved_cents": 10**15 + 1},
    {"spent_cents": 10**15 + 1},
]


@pytest.mark.parametrize("wrong", UNREADABLE, ids=str)
def test_an_order_with_an_impossible_value_is_unreadable_alone_and_in_a_list(wrong):
    answer = of_order(**wrong)
    assert isinstance(answer, m.Unknown)
    assert answer.reason.startswith("200 with an unreadable body")
    cancelled = {"order": {**ORDER, **wrong}, "reduced_by": 1}
    assert isinstance(asked(m.CancelResting(ORDER_ID), cancelled), m.Unknown)
    rows = {"orders": [ORDER, {**ORDER, **wrong}, ORDER], "cursor": ""}
    assert isinstance(asked(m.ReadResting(""), rows), m.Unknown)


@pytest.mark.parametrize(
    "extreme",
    [{"price": 1}, {"price": 99}, *({name: qty} for name in QTYS for qty in (0, 10**9))],
    ids=str,
)
def test_an_order_with_a_price_or_size_at_the_bounds_is_readable(extreme):
    assert isinstance(of_order(**extreme), m.Ok)


BODIES: dict[m.Request, tuple[object, ...]] = {
    m.CancelResting(ORDER_ID): tuple(
        {"order": ORDER, "reduced_by": qty} for qty in (-1, 10**9 + 1)
    ),
    m.ReadFills(""): tuple(
        {"fills": [{**FILL, **wrong}], "cursor": ""}
        for wrong in (
            *({"outcome_price": price} for price in (-1, 101)),
            {"trade_price": 101},
            *({"qty": qty} for qty in (-1, 10**9 + 1, HUGE, "9" * 30)),
            *({"fee_cents": cents} for cents in WRONG_CENTS[:2]),
        )
    ),
    m.ReadPositions(""): tuple(
        {"positions": [POSITION, {**POSITION, "qty": qty}], "cursor": ""} for qty in (-1, 10**9 + 1)
    ),
    m.ReadBalance(): tuple({**BALANCE, name: cents} for name in BALANCE for cents in WRONG_CENTS),
    m.ReadBook(RUNG): tuple(
        {**BOOK, side: [{**LEVEL, **wrong}]}
        for side in ("bids", "asks")
        for wrong in ({"price": 0}, {"price": 100}, {"size": -1}, {"size": 2**63})
    ),
}


@pytest.mark.parametrize("request_", BODIES, ids=lambda each: type(each).__name__)
def test_a_body_with_an_impossible_value_is_unreadable(request_):
    for body in BODIES[request_]:
        assert isinstance(asked(request_, body), m.Unknown), body


@pytest.mark.parametrize("price", [0, 100])
def test_a_fill_may_be_at_the_very_ends_of_the_scale(price):
    row = {**FILL, "outcome_price": price, "trade_price": 100 - price}
    assert isinstance(asked(m.ReadFills(""), {"fills": [row], "cursor": ""}), m.Ok)


def test_cancel_all_reads_a_list_with_impossible_rows():
    body = {"orders": [ORDER, {**ORDER, "order_id": "0x83", "price": 1000}], "cursor": ""}
    answer = asked(m.ReadResting(""), body, sane_only=False)
    assert isinstance(answer, m.Ok)
    assert [each.order_id for each in answer.body.orders] == [ORDER_ID, "0x83"]


def twice(body: object, more: str) -> bytes:
    """The body with keys beside its own, written as JSON."""
    return json.dumps(body).encode()[:-1] + b", " + more.encode() + b"}"


@pytest.mark.parametrize(
    "more",
    ['"order_id": "77"', '"status": "filled", "filled_qty": 10', '"price": 1', '"qty": null'],
)
def test_an_order_with_a_key_given_twice_with_two_values_is_unreadable(more):
    for request in (create(), m.ReadOrder(ORDER_ID)):
        answer = answer_of(request, 200, twice(ORDER, more))
        assert isinstance(answer, m.Unknown), (request, answer)
        assert "is there twice" in answer.reason


def test_a_cancel_with_a_key_given_twice_with_two_values_is_unreadable():
    body = twice({"order": ORDER, "reduced_by": 10}, '"reduced_by": 0')
    assert isinstance(answer_of(m.CancelResting(ORDER_ID), 200, body), m.Unknown)
    inside = json.dumps({"reduced_by": 10})[:-1].encode() + b', "order": '
    body = inside + twice(ORDER, '"filled_qty": 9') + b"}"
    assert isinstance(answer_of(m.CancelResting(ORDER_ID), 200, body), m.Unknown)


def test_a_key_given_twice_with_one_value_is_readable():
    body = twice(ORDER, f'"order_id": "{ORDER_ID}"')
    assert answer_of(create(), 200, body) == asked(create(), ORDER)


def test_the_fault_of_a_key_given_twice_is_printable():
    body = twice(ORDER, r'"\ud800\u001b": 1, "\ud800\u001b": 2')
    answer = answer_of(create(), 200, body)
    assert isinstance(answer, m.Unknown)
    assert answer.reason.isprintable() and answer.reason.encode()
