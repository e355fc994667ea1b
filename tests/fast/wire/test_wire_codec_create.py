"""Claims about the strict reading of POST and PUT bodies: one row per way of getting it wrong."""

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from venue.wire import codec, limits
from venue.wire.errors import PRECEDENCE, Code
from venue.wire.money import Outcome, Side
from venue.wire.requests import Amend, BudgetOrder, QtyOrder, TimeInForce

MARKET_ID = "0b9f3c1e-5a2d-4c7b-9e8f-001122aabbcc"
BASE = {
    "ticker": "ACME-26Q4-212.5B",
    "outcome": "yes",
    "side": "buy",
    "price": 41,
    "qty": 10,
    "client_order_id": "a-1",
}
BUDGET = {key: value for key, value in BASE.items() if key != "qty"} | {
    "budget_cents": 500,
    "time_in_force": "ioc",
}


def resolve(name):
    """One market is known, by its ticker in any case and by its UUID."""
    return MARKET_ID if name.upper() in (BASE["ticker"].upper(), MARKET_ID.upper()) else None


def parse(body):
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return codec.parse_new_order(data, resolve)


def without(*keys, of=BASE):
    return {key: value for key, value in of.items() if key not in keys}


def raw(**texts):
    """The base body with fields replaced by raw JSON text."""
    fields = {key: json.dumps(value) for key, value in BASE.items()} | texts
    return ("{" + ",".join(f'"{key}":{text}' for key, text in fields.items()) + "}").encode()


def nested(depth):
    """A body whose deepest value stands `depth` brackets deep."""
    return raw(extra="[" * (depth - 1) + "]" * (depth - 1))


BODY, PRICE, QTY = Code.INVALID_REQUEST_BODY, Code.INVALID_PRICE, Code.INVALID_QTY
ENUM, MARKET, BUDGET_CODE = (
    Code.INVALID_ENUM_VALUE,
    Code.INVALID_MARKET_IDENTIFIER,
    Code.INVALID_BUDGET,
)
REFUSED = [
    # the bytes
    (b"", BODY),
    (b" ", BODY),
    (b"null", BODY),
    (b"[]", BODY),
    (b'"text"', BODY),
    (b"7", BODY),
    (b"{", BODY),
    (b"{}", BODY),
    (b"{'a':1}", BODY),
    (json.dumps(BASE).encode() + b"x", BODY),
    (json.dumps(BASE).encode() * 2, BODY),
    (b"\xef\xbb\xbf" + json.dumps(BASE).encode(), BODY),
    (json.dumps(BASE).encode("utf-16"), BODY),
    (raw(client_order_id='"\xe9"').decode().encode("latin-1"), BODY),
    (raw(extra='"\x01"'), BODY),
    (raw(extra="NaN"), BODY),
    (raw(extra="Infinity"), BODY),
    (raw(extra="-Infinity"), BODY),
    (raw(extra="01"), BODY),
    (raw(extra="1,"), BODY),
    (raw(extra='{"a":1,"a":1}'), BODY),
    (raw()[:-1] + b',"price":41}', BODY),
    (raw()[:-1] + b',"pric\\u0065":42}', BODY),
    (raw(extra='"' + "x" * limits.BODY_BYTES_MAX + '"'), BODY),
    (nested(limits.BODY_DEPTH_MAX + 1), BODY),
    (nested(5000), BODY),
    (b"[" * limits.BODY_BYTES_MAX, BODY),
    # types
    (raw(price="true"), BODY),
    (raw(price="41.0"), BODY),
    (raw(price="4.1e1"), BODY),
    (raw(price='"41"'), BODY),
    (raw(price="[41]"), BODY),
    (raw(price="1e400"), BODY),
    (raw(qty="false"), BODY),
    (raw(qty="1.0"), BODY),
    (raw(qty='"10"'), BODY),
    (raw(qty="{}"), BODY),
    (raw(qty="null", budget_cents="1.5"), BODY),
    (raw(outcome="true"), BODY),
    (raw(side="1"), BODY),
    (raw(ticker="5"), BODY),
    (raw(ticker="null", market_id="[]"), BODY),
    (raw(time_in_force="0"), BODY),
    (raw(client_order_id="7"), BODY),
    # missing
    (without("ticker"), BODY),
    (raw(ticker="null"), BODY),
    (without("outcome"), BODY),
    (without("side"), BODY),
    (without("price"), BODY),
    (raw(price="null"), BODY),
    (without("qty"), BODY),
    # the market
    (BASE | {"ticker": ""}, MARKET),
    (BASE | {"ticker": "A B"}, MARKET),
    (BASE | {"ticker": "-A"}, MARKET),
    (BASE | {"ticker": "A\n"}, MARKET),
    (BASE | {"ticker": "\u212a"}, MARKET),
    (BASE | {"ticker": "\ud800"}, MARKET),
    (without("ticker") | {"market_id": "ACME-26Q4-212.5B"}, MARKET),
    (without("ticker") | {"market_id": MARKET_ID.replace("-", "")}, MARKET),
    (BASE | {"market_id": MARKET_ID}, Code.CONFLICTING_IDENTIFIERS),
    (BASE | {"market_id": ""}, Code.CONFLICTING_IDENTIFIERS),
    (BASE | {"market_id": "ACME-26Q4-212.5B"}, Code.CONFLICTING_IDENTIFIERS),
    (BASE | {"market_id": MARKET_ID, "ticker": "-A"}, Code.CONFLICTING_IDENTIFIERS),
    (BASE | {"ticker": "NO-SUCH"}, Code.MARKET_NOT_FOUND),
    (BASE | {"ticker": "ACME-26Q4-2125B"}, Code.MARKET_NOT_FOUND),
    # price
    (BASE | {"price": 0}, PRICE),
    (BASE | {"price": 100}, PRICE),
    (BASE | {"price": -41}, PRICE),
    (raw(price="-0"), PRICE),
    (raw(price="9" * 400), PRICE),
    (raw(price="9" * 5000), PRICE),
    (raw(price="-" + "9" * 5000), PRICE),
    (raw(price="40.5"), PRICE),
    (raw(price="0.5"), PRICE),
    (raw(price="40.50"), PRICE),
    (raw(price="5e-1"), PRICE),
    (raw(price="405e-1"), PRICE),
    (raw(price="40.5e0"), PRICE),
    (raw(price="1e-400"), PRICE),
    (raw(price="4.05e1"), PRICE),
    (raw(price="4.1e1"), BODY),
    (raw(price="410e-1"), BODY),
    (raw(price="1e99999999999999999999"), BODY),
    (raw(price="0.00"), BODY),
    # size
    (BASE | {"qty": 0}, QTY),
    (raw(qty="1.5"), QTY),
    (raw(qty="-0.5"), QTY),
    (raw(qty="9" * 5000), QTY),
    (raw(qty="-" + "9" * 5000), QTY),
    (BASE | {"qty": -1}, QTY),
    (BASE | {"qty": limits.QTY_MAX + 1}, QTY),
    (raw(qty="9" * 400), QTY),
    # budget
    (BUDGET | {"qty": 1}, BUDGET_CODE),
    (BUDGET | {"budget_cents": 0}, BUDGET_CODE),
    (BUDGET | {"budget_cents": -5}, BUDGET_CODE),
    (BUDGET | {"budget_cents": limits.NOTIONAL_CENTS_MAX + 1}, BUDGET_CODE),
    (BUDGET | {"side": "sell"}, BUDGET_CODE),
    (BUDGET | {"side": "SELL"}, BUDGET_CODE),
    (BUDGET | {"time_in_force": "gtc"}, BUDGET_CODE),
    (without("time_in_force", of=BUDGET), BUDGET_CODE),
    # enums
    (BASE | {"outcome": "maybe"}, ENUM),
    (BASE | {"outcome": ""}, ENUM),
    (BASE | {"outcome": " yes"}, ENUM),
    (BASE | {"outcome": "unknown"}, ENUM),
    (BASE | {"side": "hold"}, ENUM),
    (BASE | {"side": "\u017fell"}, ENUM),
    (BASE | {"time_in_force": "day"}, ENUM),
    (BASE | {"time_in_force": ""}, ENUM),
    (BASE | {"time_in_force": "fo\u212a"}, ENUM),
    (BUDGET | {"side": "hold"}, ENUM),
    # the idempotency key
    (without("client_order_id"), Code.MISSING_IDEMPOTENCY_KEY),
    (raw(client_order_id="null"), Code.MISSING_IDEMPOTENCY_KEY),
    (BASE | {"client_order_id": ""}, Code.MISSING_IDEMPOTENCY_KEY),
    (BASE | {"client_order_id": "x" * 65}, BODY),
    (BASE | {"client_order_id": "a\n"}, BODY),
    (BASE | {"client_order_id": "\u00e9"}, BODY),
    (BASE | {"client_order_id": "\ud800"}, BODY),
]


@pytest.mark.parametrize(("body", "code"), REFUSED, ids=lambda value: repr(value)[:60])
def test_a_faulty_create_is_refused_with_the_code_of_its_fault(body, code):
    with pytest.raises(codec.Refusal) as refusal:
        parse(body)
    assert refusal.value.code is code


ACCEPTED = [
    (BASE | {"outcome": "YES", "side": "Buy", "time_in_force": "GTC"}, {}),
    (BASE | {"ticker": "acme-26q4-212.5b"}, {}),
    (without("ticker") | {"market_id": MARKET_ID.upper()}, {}),
    (without("ticker") | {"market_id": MARKET_ID, "ticker": None}, {}),
    (BASE | {"time_in_force": None, "budget_cents": None}, {}),
    (BASE | {"unheard_of": {"a": [1.5, None]}}, {}),
    (nested(limits.BODY_DEPTH_MAX), {}),
    (BASE | {"unheard_of": [[[[[[[]]]]]]], "another": []}, {}),
    (BASE | {"unheard_of": [[]] * limits.BODY_DEPTH_MAX}, {}),
    (BASE | {"unheard_of": '"' + "[" * 9}, {}),
    (raw(extra='"' + "[{" * 50 + '\\"]"'), {}),
    (b" \n\t" + json.dumps(BASE).encode() + b"\r\n", {}),
    (BASE | {"price": 1}, {"price": 1}),
    (BASE | {"price": 99}, {"price": 99}),
    (BASE | {"qty": 1}, {"qty": 1}),
    (BASE | {"qty": limits.QTY_MAX, "price": 99}, {"qty": limits.QTY_MAX, "price": 99}),
    (BASE | {"client_order_id": " "}, {"client_order_id": " "}),
    (BASE | {"client_order_id": "x" * 64}, {"client_order_id": "x" * 64}),
    (BASE | {"side": "sell", "time_in_force": "fok"}, {"side": "sell", "time_in_force": "fok"}),
]


@pytest.mark.parametrize(("body", "changed"), ACCEPTED, ids=lambda value: repr(value)[:60])
def test_a_sound_create_is_read_as_what_it_says(body, changed):
    expected = {"price": 41, "qty": 10, "client_order_id": "a-1"} | changed
    order = parse(body)
    assert order == QtyOrder(
        MARKET_ID,
        Outcome.YES,
        Side(expected.get("side", "buy")),
        expected["price"],
        expected["qty"],
        TimeInForce(expected.get("time_in_force", "gtc")),
        expected["client_order_id"],
    )


@pytest.mark.parametrize("tif", ["ioc", "fok", "IOC"])
def test_a_budget_order_is_a_purchase_that_never_rests(tif):
    order = parse(BUDGET | {"time_in_force": tif})
    assert order == BudgetOrder(MARKET_ID, Outcome.YES, 41, 500, TimeInForce(tif.lower()), "a-1")


def test_the_refusal_of_an_enum_value_lists_every_accepted_value():
    with pytest.raises(codec.Refusal, match="gtc, ioc, fok"):
        parse(BASE | {"time_in_force": "day"})
    with pytest.raises(codec.Refusal, match="yes, no"):
        parse(BASE | {"outcome": "maybe"})


# Each row repairs the first fault of the row above; the answer moves on to the next.
FAULTS = [
    ("ticker", "", Code.INVALID_MARKET_IDENTIFIER),
    ("price", 0, Code.INVALID_PRICE),
    ("qty", 0, Code.INVALID_QTY),
    ("outcome", "maybe", Code.INVALID_ENUM_VALUE),
    ("market_id", MARKET_ID, Code.CONFLICTING_IDENTIFIERS),
    ("client_order_id", "", Code.MISSING_IDEMPOTENCY_KEY),
]


def test_of_several_faults_the_first_row_of_the_table_is_the_answer():
    answers = []
    for first in range(len(FAULTS)):
        with pytest.raises(codec.Refusal) as refusal:
            body = BASE | {key: value for key, value, _ in FAULTS[first:]}
            if first == 0:  # two names of the market have no shape to be wrong
                del body["market_id"]
            parse(body)
        answers.append(refusal.value.code)
    assert answers == [code for _, _, code in FAULTS]
    assert answers == sorted(answers, key=PRECEDENCE.__getitem__)


CLIENT_ORDER_IDS = st.text(st.characters(min_codepoint=0x20, max_codepoint=0x7E), min_size=1).map(
    lambda text: text[:64]
)
QTY_ORDERS = st.builds(
    QtyOrder,
    st.just(MARKET_ID),
    st.sampled_from(Outcome),
    st.sampled_from(Side),
    st.integers(1, 99),
    st.integers(1, limits.QTY_MAX),
    st.sampled_from(TimeInForce),
    CLIENT_ORDER_IDS,
)
BUDGET_ORDERS = st.builds(
    BudgetOrder,
    st.just(MARKET_ID),
    st.sampled_from(Outcome),
    st.integers(1, 99),
    st.integers(1, limits.NOTIONAL_CENTS_MAX),
    st.sampled_from([TimeInForce.IOC, TimeInForce.FOK]),
    CLIENT_ORDER_IDS,
)


@given(st.one_of(QTY_ORDERS, BUDGET_ORDERS))
def test_what_a_client_sends_is_what_the_venue_reads(order):
    assert codec.parse_new_order(codec.encode_new_order(order), resolve) == order


@pytest.mark.parametrize(
    ("body", "amend"),
    [
        (b'{"price":5}', Amend(price=5)),
        (b'{"qty":5}', Amend(qty=5)),
        (b'{"price":99,"qty":1000000}', Amend(99, 1_000_000)),
        (b'{"price":5,"qty":null}', Amend(price=5)),
        (b'{"price":5,"side":"sell","x":{}}', Amend(price=5)),
    ],
)
def test_an_amend_is_read_and_its_other_fields_ignored(body, amend):
    assert codec.parse_amend(body) == amend


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"", BODY),
        (b"[]", BODY),
        (b"{}", BODY),
        (b'{"price":null,"qty":null}', BODY),
        (b'{"side":"sell"}', BODY),
        (b'{"price":true}', BODY),
        (b'{"price":5.0}', BODY),
        (b'{"qty":"5"}', BODY),
        (b'{"qty":5,"qty":5}', BODY),
        (b'{"price":NaN}', BODY),
        (b'{"price":0}', PRICE),
        (b'{"price":41.5}', PRICE),
        (b'{"qty":1.5}', QTY),
        (b'{"qty":' + b"9" * 5_000 + b"}", QTY),
        (b'{"price":-' + b"9" * 5_000 + b"}", PRICE),
        (b'{"price":100,"qty":0}', PRICE),
        (b'{"qty":0}', QTY),
        (b'{"qty":-1}', QTY),
        (b'{"qty":1000001}', QTY),
    ],
)
def test_a_faulty_amend_is_refused_with_the_code_of_its_fault(body, code):
    with pytest.raises(codec.Refusal) as refusal:
        codec.parse_amend(body)
    assert refusal.value.code is code


@given(
    st.one_of(
        st.builds(Amend, price=st.integers(1, 99)),
        st.builds(Amend, qty=st.integers(1, limits.QTY_MAX)),
        st.builds(Amend, price=st.integers(1, 99), qty=st.integers(1, limits.QTY_MAX)),
    )
)
def test_an_amend_survives_the_wire(amend):
    assert codec.parse_amend(codec.encode_amend(amend)) == amend


def test_numbers_that_nobody_asks_for_are_not_reckoned(monkeypatch):
    def reckoned(text):
        raise AssertionError(f"{text} was reckoned")

    fields = {"extra": "[1.5,1e9,7]", "ticker": json.dumps(BASE["ticker"])}
    monkeypatch.setattr("venue.wire.jsonnumber.Decimal", reckoned)
    assert parse(raw(**fields)) == parse(BASE)


NESTS = st.recursive(
    st.sampled_from([1, None, "[", "{}", '"[', "\\", '\\"]', "["]),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.sampled_from(["a", "[", '"{', "\\"]), inner, max_size=2),
    ),
    max_leaves=40,
)


def depth(value):
    inner = value.values() if isinstance(value, dict) else value
    return 1 + max(map(depth, inner), default=0) if isinstance(value, dict | list) else 0


@given(NESTS, st.integers(0, 8))
def test_a_body_is_refused_for_its_depth_exactly_beyond_eight(nest, more):
    for _ in range(more):
        nest = [nest]
    body = BASE | {"extra": nest}
    if depth(body) <= limits.BODY_DEPTH_MAX:
        assert parse(body) == parse(BASE)
    else:
        with pytest.raises(codec.Refusal, match="nested deeper"):
            parse(body)


@pytest.mark.parametrize("inner", [rb"\"", rb"\a\"", rb"\\\"", b'"'])
def test_a_body_of_quotes_without_an_end_is_refused_after_one_look_through_it(inner):
    begun = b"[" * (limits.BODY_DEPTH_MAX + 1) + b'"'
    body = begun + inner * ((limits.BODY_BYTES_MAX - len(begun)) // len(inner))
    before_s = time.thread_time()
    with pytest.raises(codec.Refusal) as refused:
        parse(body)
    assert refused.value.code is Code.INVALID_REQUEST_BODY
    assert time.thread_time() - before_s < 0.5
