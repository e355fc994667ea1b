"""Claims about fills whose shape the interface leaves open."""

import json

import pytest

from venue.wire.codec import Garbled, encode
from venue.wire.fills import decode_fills
from venue.wire.instant import Instant
from venue.wire.model import Fill, FillsPage, Liquidity, ShownOutcome, ShownSide
from venue.wire.money import Cents, Price, Qty
from venue.wire.names import MarketId, OrderId, Ticker

WHOLE = Fill(
    fill_id="f1",
    trade_id="t1",
    order_id=OrderId("7"),
    ticker=Ticker("A-26Q4-1B"),
    market_id=MarketId("m"),
    event_ticker=Ticker("A-26Q4"),
    outcome=ShownOutcome.NO,
    side=ShownSide.BUY,
    outcome_price=Price(40),
    trade_price=Price(60),
    qty=Qty(3),
    fee_cents=Cents(1),
    liquidity=Liquidity.MAKER,
    created_at=Instant("2026-01-01T00:00:00Z"),
)
BARE = {
    "order_id": "7",
    "outcome": "no",
    "side": "buy",
    "outcome_price": 40,
    "qty": 3,
    "created_at": "2026-01-01T00:00:00Z",
}


def page(*rows):
    return json.dumps({"fills": rows, "cursor": ""}).encode()


def test_a_page_of_fills_reads_back_as_it_was_encoded():
    sent = FillsPage((WHOLE,), "next")
    assert decode_fills(encode(sent)) == sent


def test_a_fill_without_ids_gets_the_same_ids_on_every_read():
    first, again = (decode_fills(page(BARE)).fills[0] for _ in range(2))
    assert first.fill_id == again.fill_id
    assert decode_fills(page({**BARE, "qty": 4})).fills[0].fill_id != first.fill_id


def test_a_fill_id_may_be_a_positive_number():
    row = json.loads(encode(WHOLE)) | {"fill_id": 9_007_199_254_740_993, "trade_id": 5}
    shown = decode_fills(page(row)).fills[0]
    assert (shown.fill_id, shown.trade_id) == ("9007199254740993", "5")
    assert decode_fills(page(BARE | {"trade_id": 5})).fills[0].trade_id == "5"


@pytest.mark.parametrize("value", [0, -1, 10**25, 10**3000, True, 1.5, [], {"a": 1}])
def test_a_fill_id_of_another_type_is_malformed(value):
    with pytest.raises(Garbled):
        decode_fills(page(json.loads(encode(WHOLE)) | {"fill_id": value}))


def test_a_missing_tape_price_follows_from_the_fill_s_own_price():
    assert decode_fills(page(BARE)).fills[0].trade_price == 60


@pytest.mark.parametrize("name", ["size", "quantity", "filled_qty", "shares"])
def test_a_fill_size_is_read_by_any_of_its_names(name):
    row = {key: value for key, value in BARE.items() if key != "qty"}
    assert decode_fills(page({**row, name: "3"})).fills[0].qty == 3


@pytest.mark.parametrize("name", [*BARE])
def test_a_fill_without_a_field_of_cash_or_shares_is_malformed(name):
    row = {key: value for key, value in BARE.items() if key != name}
    with pytest.raises(Garbled):
        decode_fills(page(row))


@pytest.mark.parametrize("body", [b"", b"[]", b'{"fills": 3}', b'{"fills": [3]}', b"\xff"])
def test_bytes_that_are_no_page_of_fills_are_malformed(body):
    with pytest.raises(Garbled):
        decode_fills(body)


@pytest.mark.parametrize("name", ["qty", "outcome_price", "fee_cents"])
@pytest.mark.parametrize("value", [10**25, -(10**25), "9" * 25])
def test_a_fill_with_an_integer_beyond_64_bits_is_malformed(name, value):
    whole = json.loads(encode(WHOLE))
    for row in (whole, BARE):
        with pytest.raises(Garbled):
            decode_fills(page({**row, name: value}))


def test_a_derived_fill_id_is_bounded_and_unique():
    rows = [{**BARE, "note": letter * 10_000} for letter in "ab"]
    first, other = decode_fills(page(*rows)).fills
    assert max(len(first.trade_id), len(first.fill_id)) <= 128
    assert first.fill_id != other.fill_id
    assert decode_fills(page(*rows)).fills == (first, other)
