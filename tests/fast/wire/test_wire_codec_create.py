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


def twice(key, of):
    """A body without another fault in which a key occurs a second time, with the same value."""
    return json.dumps(of).encode()[:-1] + f', "{key}": {json.dumps(of[key])}}}'.encode()


def nested(depth):
    """A body whose deepest value is `depth` brackets deep."""
    return raw(extra="[" * (depth - 1) + "]" * (depth - 1))


BODY, PRICE, QTY = Code.INVALID_REQUEST_BODY, Code.INVALID_PRICE, Code.INVALID_QTY
ENUM, MARKET, BUDGET_CODE = (
    Code.INVALID_ENUM_VALUE,
    Code.INVALID_MARKET_IDENTIFIER,
    Code.INVALID_BUDGET,
)
REFUSED = [
    # the bytes
    *[
        (body, BODY)
        for body in (b"", b" ", b"null", b"[]", b'"text"', b"7", b"{", b"{}", b"{'a':1}")
    ],
    (json.dumps(BASE).encode() + b"x", BODY),
    (json.dumps(BASE).encode() * 2, BODY),
    (b"\xef\xbb\xbf" + json.dumps(BASE).encode(), BODY),
    (json.dumps(BASE).encode("utf-16"), BODY),
    (raw(client_order_id='"\xe9"').decode().encode("latin-1"), BODY),
    *[
        (raw(extra=text), BODY)
        for text in ('"\x01"', "NaN", "Infinity", "-Infinity", "01", "1,", '{"a":1,"a":1}')
    ],
    (raw()[:-1] + b',"price":41}', BODY),
    (raw()[:-1] + b',"pric\\u0065":42}', BODY),
    *[(twice(name, of), BODY) for of in (BASE, BASE | {"time_in_force": "gtc"}) for name in of],
    (twice("market_id", without("ticker") | {"market_id": MARKET_ID}), BODY),
    (raw(extra='"' + "x" * limits.BODY_BYTES_MAX + '"'), BODY),
    (nested(limits.BODY_DEPTH_MAX + 1), BODY),
    (nested(5000), BODY),
    (b"[" * limits.BODY_BYTES_MAX, BODY),
    # types
    *[
        (raw(price=text), BODY)
        for text in ("true", "41.0", "4.1e1", '"41"', "[41]", "1e400", "410e-1", "0.00")
    ],
    (raw(price="1e99999999999999999999"), BODY),
    *[(raw(qty=text), BODY) for text in ("false", "1.0", '"10"', "{}")],
    (raw(qty="null", budget_cents="1.5"), BODY),
    (raw(outcome="true"), BODY),
    (raw(side="1"), BODY),
    (raw(ticker="5"), BODY),
    (raw(ticker="null", market_id="[]"), BODY),
    (raw(time_in_force="0"), BODY),
    (raw(client_order_id="7"), BODY),
    # missing
    *[(without(name), BODY) for name in ("ticker", "outcome", "side", "price", "qty")],
    (raw(ticker="null"), BODY),
    (raw(price="null"), BODY),
    # the market
    *[
        (BASE | {"ticker": ticker}, MARKET)
        for ticker in ("", "A B", "-A", "A\n", "\u212a", "\ud800")
    ],
    (without("ticker") | {"market_id": "ACME-26Q4-212.5B"}, MARKET),
    (without("ticker") | {"market_id": MARKET_ID.replace("-", "")}, MARKET),
    *[
        (BASE | {"market_id": name}, Code.CONFLICTING_IDENTIFIERS)
        for name in (MARKET_ID, "", "ACME-26Q4-212.5B")
    ],
    (BASE | {"market_id": MARKET_ID, "ticker": "-A"}, Code.CONFLICTING_IDENTIFIERS),
    (BASE | {"ticker": "NO-SUCH"}, Code.MARKET_NOT_FOUND),
    (BASE | {"ticker": "ACME-26Q4-2125B"}, Code.MARKET_NOT_FOUND),
    # price and size
    *[
        (raw(price=text), PRICE)
        for text in (
            *("0", "100", "-41", "-0", "9" * 400, "9" * 5000, "-" + "9" * 5000, "40.5", "0.5"),
            *("40.50", "5e-1", "405e-1", "40.5e0", "1e-400", "4.05e1"),
        )
    ],
    *[
        (raw(qty=text), QTY)
        for text in ("0", "-1", "1.5", "-0.5", "9" * 400, "9" * 5000, "-" + "9" * 5000)
    ],
    (BASE | {"qty": limits.QTY_MAX + 1}, QTY),
    # budget
    *[
        (BUDGET | change, BUDGET_CODE)
        for change in (
            *({"qty": 1}, {"budget_cents": 0}, {"budget_cents": -5}, {"side": "sell"}),
            *({"budget_cents": limits.NOTIONAL_CENTS_MAX + 1}, {"side": "SELL"}),
            {"time_in_force": "gtc"},
        )
    ],
    (without("time_in_force", of=BUDGET), BUDGET_CODE),
    # enums
    *[(BASE | {"outcome": text}, ENUM) for text in ("maybe", "", " yes", "unknown")],
    *[(BASE | {"side": text}, ENUM) for text in ("hold", "\u017fell")],
    *[(BASE | {"time_in_force": text}, ENUM) for text in ("day", "", "fo\u212a")],
    (BUDGET | {"side": "hold"}, ENUM),
    # the idempotency key
    (without("client_order_id"), Code.MISSING_IDEMPOTENCY_KEY),
    (raw(client_order_id="null"), Code.MISSING_IDEMPOTENCY_KEY),
    (BASE | {"client_order_id": ""}, Code.MISSING_IDEMPOTENCY_KEY),
    *[(BASE | {"client_order_id": text}, BODY) for text in ("x" * 65, "a\n", "\u00e9", "\ud800")],
]


@pytest.mark.parametrize(("body", "code"), REFUSED, ids=lambda value: repr(value)[:60])
def test_a_faulty_create_is_rejected_with_the_code_of_its_fault(body, code):
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
def test_a_valid_create_is_read_as_its_order(body, changed):
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
def test_a_budget_order_is_read_as_a_purchase_that_never_rests(tif):
    order = parse(BUDGET | {"time_in_force": tif})
    assert order == BudgetOrder(MARKET_ID, Outcome.YES, 41, 500, TimeInForce(tif.lower()), "a-1")


@pytest.mark.parametrize(
    ("field", "accepted"), [("time_in_force", "gtc, ioc, fok"), ("outcome", "yes, no")]
)
def test_the_rejection_of_an_enum_value_lists_the_accepted_values(field, accepted):
    with pytest.raises(codec.Refusal, match=accepted):
        parse(BASE | {field: "day"})


# Each row repairs the first fault of the row above; the answer moves on to the next.
FAULTS = [
    ("ticker", "", Code.INVALID_MARKET_IDENTIFIER),
    ("price", 0, Code.INVALID_PRICE),
    ("qty", 0, Code.INVALID_QTY),
    ("outcome", "maybe", Code.INVALID_ENUM_VALUE),
    ("market_id", MARKET_ID, Code.CONFLICTING_IDENTIFIERS),
    ("client_order_id", "", Code.MISSING_IDEMPOTENCY_KEY),
]


def test_of_several_faults_the_first_by_precedence_is_the_answer():
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


@given(QTY_ORDERS)
def test_an_unknown_field_changes_nothing_about_an_order(order):
    body = codec.encode_new_order(order)[:-1] + b',"note":null}'
    assert codec.parse_new_order(body, resolve) == order


@given(st.one_of(QTY_ORDERS, BUDGET_ORDERS))
def test_an_encoded_order_is_read_back_as_it_was(order):
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
def test_an_amend_is_read_and_its_other_fields_are_ignored(body, amend):
    assert codec.parse_amend(body) == amend


NINES = b"9" * 5_000


@pytest.mark.parametrize(
    ("code", "bodies"),
    [
        (BODY, [b"", b"[]", b"{}", b'{"price":null,"qty":null}', b'{"side":"sell"}',
                b'{"price":true}', b'{"price":5.0}', b'{"qty":"5"}', b'{"qty":5,"qty":5}',
                b'{"price":NaN}']),
        (PRICE, [b'{"price":0}', b'{"price":41.5}', b'{"price":-' + NINES + b"}",
                 b'{"price":100,"qty":0}']),
        (QTY, [b'{"qty":1.5}', b'{"qty":' + NINES + b"}", b'{"qty":0}', b'{"qty":-1}',
               b'{"qty":1000001}']),
    ],
)  # fmt: skip
def test_a_faulty_amend_is_rejected_with_the_code_of_its_fault(code, bodies):
    for body in bodies:
        with pytest.raises(codec.Refusal) as refusal:
            codec.parse_amend(body)
        assert refusal.value.code is code, body


@given(
    st.one_of(
        st.builds(Amend, price=st.integers(1, 99)),
        st.builds(Amend, qty=st.integers(1, limits.QTY_MAX)),
        st.builds(Amend, price=st.integers(1, 99), qty=st.integers(1, limits.QTY_MAX)),
    )
)
def test_an_encoded_amend_is_read_back_as_it_was(amend):
    assert codec.parse_amend(codec.encode_amend(amend)) == amend


def test_numbers_of_unknown_fields_are_not_parsed(monkeypatch):
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
def test_a_body_is_rejected_for_its_depth_exactly_beyond_eight(nest, more):
    for _ in range(more):
        nest = [nest]
    body = BASE | {"extra": nest}
    if depth(body) <= limits.BODY_DEPTH_MAX:
        assert parse(body) == parse(BASE)
    else:
        with pytest.raises(codec.Refusal, match="nested deeper"):
            parse(body)


@pytest.mark.parametrize("inner", [rb"\"", rb"\a\"", rb"\\\"", b'"'])
def test_a_body_of_endless_quotes_is_rejected_after_one_pass(inner):
    begun = b"[" * (limits.BODY_DEPTH_MAX + 1) + b'"'
    body = begun + inner * ((limits.BODY_BYTES_MAX - len(begun)) // len(inner))
    before_s = time.thread_time()
    with pytest.raises(codec.Refusal) as refused:
        parse(body)
    assert refused.value.code is Code.INVALID_REQUEST_BODY
    assert time.thread_time() - before_s < 0.5
