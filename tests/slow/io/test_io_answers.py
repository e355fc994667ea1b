"""Claims about what a body may say at all: one value that cannot be meant, and it is unreadable."""

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


def of_fill(**other: object) -> m.Answer:
    """A page with one fill that differs so from a good one."""
    return asked(m.ReadFills(""), {"fills": [{**FILL, **other}], "cursor": ""})


def test_what_can_be_meant_is_done():
    resting = {"orders": [ORDER, ORDER], "cursor": "c"}
    cancelled = {"order": ORDER, "reduced_by": 10}
    asks: list[tuple[m.Request, object]] = [
        (create(), ORDER),
        (m.ReadOrder(ORDER_ID), ORDER),
        (m.CancelResting(ORDER_ID), cancelled),
        (m.ReadResting(""), resting),
        (m.ReadFills(""), {"fills": [FILL], "cursor": ""}),
        (m.ReadPositions(""), {"positions": [POSITION], "cursor": ""}),
        (m.ReadBalance(), BALANCE),
        (m.ReadBook(RUNG), BOOK),
    ]
    assert [type(asked(*each)) for each in asks] == [m.Ok] * len(asks)


def in_capitals(body: object) -> object:
    """The same with every UUID of a market or a company written in capitals."""
    if isinstance(body, list):
        return [in_capitals(each) for each in body]
    if not isinstance(body, dict):
        return body
    ids = ("market_id", "project_id")
    return {key: v.upper() if key in ids else in_capitals(v) for key, v in body.items()}


def test_a_uuid_in_capitals_is_the_same_market():
    order, fill, position = ORDER, FILL, {**POSITION, "market_id": RUNG}
    market = {
        "ticker": "X-26Q4-1B",
        "market_id": RUNG,
        "event_ticker": "X-26Q4",
        "project_market_id": RUNG,
        "name": "",
        "outcome_label": "",
        "state": "active",
        "min_price": 1,
        "max_price": 99,
        "tick_size": 1,
        "maker_fee_rate": "0",
        "taker_fee_rate": "0",
        "open_interest": 0,
        "created_at": "",
        "updated_at": "",
    }
    event = {
        "event_ticker": "X-26Q4",
        "series_ticker": "X",
        "project_market_id": RUNG,
        "project_id": RUNG,
        "title": "",
        "category": "",
        "status": "open",
        "mutually_exclusive": False,
        "resolution_date": "",
        "markets": [market],
    }
    asks: list[tuple[m.Request, object]] = [
        (create(), order),
        (m.ReadOrder(ORDER_ID), order),
        (m.CancelResting(ORDER_ID), {"order": order, "reduced_by": 10}),
        (m.ReadResting(""), {"orders": [order, order], "cursor": ""}),
        (m.ReadFills(""), {"fills": [fill], "cursor": ""}),
        (m.ReadPositions(""), {"positions": [position], "cursor": ""}),
        (m.ReadBook(RUNG), BOOK),
        (m.ReadSeries(Ticker("X"), ""), {"events": [event], "cursor": ""}),
    ]
    for request, body in asks:
        answer = asked(request, body)
        assert isinstance(answer, m.Ok)
        assert asked(request, in_capitals(body)) == answer


def test_a_market_id_that_is_no_uuid_stays_as_it_is_written():
    assert of_order(market_id="Rung-A").body.order.market_id == "Rung-A"


@pytest.mark.parametrize("price", [-3, 0, 100, 1000])
def test_an_order_at_no_price_is_unreadable(price):
    answer = of_order(price=price)
    assert isinstance(answer, m.Unknown)
    assert answer.reason.startswith("200 with an unreadable body")


@pytest.mark.parametrize("price", [1, 99])
def test_an_order_at_the_ends_of_the_prices_is_readable(price):
    assert isinstance(of_order(price=price), m.Ok)


@pytest.mark.parametrize("name", ["qty", "remaining_qty", "filled_qty"])
@pytest.mark.parametrize("qty", [-1, 10**9 + 1, 2**63, HUGE])
def test_an_order_of_a_size_that_none_has_is_unreadable(name, qty):
    assert isinstance(of_order(**{name: qty}), m.Unknown)


@pytest.mark.parametrize("name", ["qty", "remaining_qty", "filled_qty"])
@pytest.mark.parametrize("qty", [0, 10**9])
def test_sizes_beyond_the_ceiling_of_our_own_venue_are_readable(name, qty):
    assert isinstance(of_order(**{name: qty}), m.Ok)


@pytest.mark.parametrize("order_id", ["", "0x83", "..", "7 ", "1" * 21, "１２"])
def test_an_order_whose_id_could_never_be_sent_is_unreadable(order_id):
    assert isinstance(of_order(order_id=order_id), m.Unknown)


@pytest.mark.parametrize("name", ["reserved_cents", "spent_cents"])
def test_an_order_with_more_cash_than_there_is_is_unreadable(name):
    assert isinstance(of_order(**{name: 10**15 + 1}), m.Unknown)


@pytest.mark.parametrize("reduced_by", [-1, 10**9 + 1])
def test_a_cancel_of_a_size_that_none_has_is_unreadable(reduced_by):
    body = {"order": ORDER, "reduced_by": reduced_by}
    assert isinstance(asked(m.CancelResting(ORDER_ID), body), m.Unknown)


def test_a_cancel_that_shows_an_order_at_no_price_is_unreadable():
    body = {"order": {**ORDER, "price": 0}, "reduced_by": 1}
    assert isinstance(asked(m.CancelResting(ORDER_ID), body), m.Unknown)


def test_of_a_list_with_one_row_that_cannot_be_meant_nothing_is_believed():
    body = {"orders": [ORDER, {**ORDER, "price": 1000}, ORDER], "cursor": ""}
    assert isinstance(asked(m.ReadResting(""), body), m.Unknown)


def test_who_only_cancels_what_a_list_names_gets_all_of_it():
    body = {"orders": [ORDER, {**ORDER, "order_id": "0x83", "price": 1000}], "cursor": ""}
    answer = asked(m.ReadResting(""), body, sane_only=False)
    assert isinstance(answer, m.Ok)
    assert [each.order_id for each in answer.body.orders] == [ORDER_ID, "0x83"]


@pytest.mark.parametrize(
    "other",
    [
        {"outcome_price": -1},
        {"outcome_price": 101},
        {"trade_price": 101},
        {"qty": -1},
        {"qty": 10**9 + 1},
        {"qty": HUGE},
        {"qty": "9" * 30},
        {"fee_cents": 10**15 + 1},
        {"fee_cents": -(10**15) - 1},
    ],
    ids=str,
)
def test_a_fill_that_cannot_be_meant_makes_its_page_unreadable(other):
    assert isinstance(of_fill(**other), m.Unknown)


@pytest.mark.parametrize("price", [0, 100])
def test_a_fill_may_be_at_the_very_ends_of_the_scale(price):
    assert isinstance(of_fill(outcome_price=price, trade_price=100 - price), m.Ok)


@pytest.mark.parametrize("qty", [-1, 10**9 + 1])
def test_a_position_of_a_size_that_none_has_is_unreadable(qty):
    body = {"positions": [POSITION, {**POSITION, "qty": qty}], "cursor": ""}
    assert isinstance(asked(m.ReadPositions(""), body), m.Unknown)


@pytest.mark.parametrize("name", ["available_cents", "reserved_cents", "total_cents"])
@pytest.mark.parametrize("cents", [10**15 + 1, -(10**15) - 1, 2**63])
def test_a_balance_beyond_all_cash_is_unreadable(name, cents):
    assert isinstance(asked(m.ReadBalance(), {**BALANCE, name: cents}), m.Unknown)


@pytest.mark.parametrize("side", ["bids", "asks"])
@pytest.mark.parametrize("level", [{"price": 0}, {"price": 100}, {"size": -1}, {"size": 2**63}])
def test_a_book_with_a_level_that_cannot_be_is_unreadable(side, level):
    body = {**BOOK, side: [{**LEVEL, **level}]}
    assert isinstance(asked(m.ReadBook(RUNG), body), m.Unknown)


def twice(body: object, more: str) -> bytes:
    """The body with keys beside its own, written as JSON."""
    return json.dumps(body).encode()[:-1] + b", " + more.encode() + b"}"


@pytest.mark.parametrize(
    "more",
    ['"order_id": "77"', '"status": "filled", "filled_qty": 10', '"price": 1', '"qty": null'],
)
def test_an_order_with_a_key_that_stands_twice_with_two_values_is_unreadable(more):
    for request in (create(), m.ReadOrder(ORDER_ID)):
        answer = answer_of(request, 200, twice(ORDER, more))
        assert isinstance(answer, m.Unknown), (request, answer)
        assert "is there twice" in answer.reason


def test_a_cancel_with_a_key_that_stands_twice_with_two_values_is_unreadable():
    body = twice({"order": ORDER, "reduced_by": 10}, '"reduced_by": 0')
    assert isinstance(answer_of(m.CancelResting(ORDER_ID), 200, body), m.Unknown)
    inside = json.dumps({"reduced_by": 10})[:-1].encode() + b', "order": '
    body = inside + twice(ORDER, '"filled_qty": 9') + b"}"
    assert isinstance(answer_of(m.CancelResting(ORDER_ID), 200, body), m.Unknown)


def test_a_key_that_stands_twice_with_one_value_is_read():
    body = twice(ORDER, f'"order_id": "{ORDER_ID}"')
    assert answer_of(create(), 200, body) == asked(create(), ORDER)


def test_a_key_of_any_signs_that_stands_twice_can_be_told():
    body = twice(ORDER, r'"\ud800\u001b": 1, "\ud800\u001b": 2')
    answer = answer_of(create(), 200, body)
    assert isinstance(answer, m.Unknown)
    assert answer.reason.isprintable() and answer.reason.encode()
