"""Claims about resources: what is left out, what is never null, what unknown values read as."""

import json

import msgspec
import pytest

from tests.builders.venue.bodies import BOOK, INSTANT, MARKET, ORDER
from venue.wire import codec, model
from venue.wire.model import OrderStatus

NAMES = {name: MARKET[name] for name in ("ticker", "market_id")}
TRADE = {
    "trade_id": "t1",
    **NAMES,
    "price": 41,
    "qty": 3,
    "created_at": INSTANT,
}
POSITION = {
    **NAMES,
    "event_ticker": MARKET["event_ticker"],
    "outcome": "no",
    "qty": 7,
    "cost_basis": 287,
    "avg_entry_price": 41,
    "realized_pnl": -2,
}
FILL = {
    "fill_id": "f1",
    "trade_id": "t1",
    "order_id": ORDER["order_id"],
    **NAMES,
    "event_ticker": MARKET["event_ticker"],
    "outcome": "no",
    "side": "sell",
    "outcome_price": 59,
    "trade_price": 41,
    "qty": 3,
    "fee_cents": 0,
    "liquidity": "maker",
    "created_at": INSTANT,
}
SNAPSHOT = {
    "market": MARKET,
    "orderbook": BOOK,
    "stats": {"volume_usd": "0.00", "open_interest": 0},
    "positions": [],
    "resting_orders": [],
}
EVENT = {
    "event_ticker": MARKET["event_ticker"],
    "series_ticker": "ACME",
    "project_market_id": MARKET["project_market_id"],
    "project_id": "2b9f3c1e-5a2d-4c7b-9e8f-001122aabbcc",
    "title": "Acme's valuation",
    "category": "valuation",
    "status": "open",
    "mutually_exclusive": False,
    "resolution_date": INSTANT,
    "markets": [MARKET],
}
CANDLES = {
    **NAMES,
    "interval": "1h",
    "candles": [
        {
            "timestamp": INSTANT,
            "open": 41,
            "high": 43,
            "low": 40,
            "close": 42,
            "volume": 9,
            "trade_count": 4,
        }
    ],
}
RESOURCES = [
    (model.Market, MARKET),
    (model.Market, MARKET | {"description": "d", "strike_value": "212.5", "last_price": 41}),
    (model.Order, ORDER),
    (model.Order, ORDER | {"client_order_id": "a b", "spent_cents": 1}),
    (model.Order, ORDER | {"reserved_cents": 0}),
    (model.Cancelled, {"order": ORDER | {"status": "canceled"}, "reduced_by": 0}),
    (model.Orderbook, BOOK),
    (model.Orderbook, BOOK | {"bids": [{"price": 41, "size": 5}]}),
    (model.MarketTrade, TRADE),
    (model.MarketStats, {"volume_usd": "1.23", "open_interest": 3, "last_price": 41}),
    (model.Position, POSITION),
    (model.Fill, FILL),
    (model.Snapshot, SNAPSHOT),
    (model.Snapshot, SNAPSHOT | {"last_trade": TRADE, "resting_orders": [ORDER]}),
    (model.Event, EVENT),
    (model.CandleSeries, CANDLES),
    (model.Balance, {"available_cents": 1, "reserved_cents": 2, "total_cents": 3}),
    (model.ErrorBody, {"code": "invalid_price", "error": "no"}),
    (model.ErrorBody, {"code": "invalid_price", "error": "no", "details": "why"}),
]
PAGES = [
    (model.MarketsPage, "markets", MARKET),
    (model.EventsPage, "events", EVENT),
    (model.OrdersPage, "orders", ORDER),
    (model.PositionsPage, "positions", POSITION),
    (model.FillsPage, "fills", FILL),
    (model.TradesPage, "trades", TRADE),
]


@pytest.mark.parametrize(("kind", "shown"), RESOURCES, ids=lambda value: str(value)[:40])
def test_a_resource_is_encoded_with_the_fields_it_was_read_with(kind, shown):
    resource = codec.decode(json.dumps(shown).encode(), kind)
    assert json.loads(codec.encode(resource)) == shown
    assert b"null" not in codec.encode(resource)
    later = json.dumps(shown | {"added_in_1_1": {"deep": [1, None]}}).encode()
    assert codec.decode(later, kind) == resource


@pytest.mark.parametrize(("kind", "shown"), RESOURCES, ids=lambda value: str(value)[:40])
def test_a_resource_without_a_required_field_is_malformed(kind, shown):
    required = [field.encode_name for field in msgspec.structs.fields(kind) if field.required]
    for name in required:
        cut = {key: value for key, value in shown.items() if key != name}
        with pytest.raises(codec.Garbled):
            codec.decode(json.dumps(cut).encode(), kind)


@pytest.mark.parametrize(("kind", "name", "row"), PAGES)
def test_a_page_is_encoded_as_it_was_read_and_an_empty_one_has_no_cursor(kind, name, row):
    shown = {name: [row], "cursor": "opaque"}
    assert json.loads(codec.encode(codec.decode(json.dumps(shown).encode(), kind))) == shown
    assert json.loads(codec.encode(kind((), ""))) == {name: [], "cursor": ""}


@pytest.mark.parametrize(
    ("kind", "shown", "field"),
    [
        (model.Order, ORDER, "status"),
        (model.Order, ORDER, "outcome"),
        (model.Order, ORDER, "side"),
        (model.Order, ORDER, "time_in_force"),
        (model.Market, MARKET, "state"),
        (model.Event, EVENT, "status"),
        (model.Position, POSITION, "outcome"),
        (model.Fill, FILL, "liquidity"),
    ],
)
def test_an_unrecognised_enum_value_reads_as_unknown(kind, shown, field):
    resource = codec.decode(json.dumps(shown | {field: "tomorrow"}).encode(), kind)
    assert getattr(resource, field) == "unknown"


def test_numbers_written_as_strings_are_read_as_numbers():
    texts = {key: str(value) if type(value) is int else value for key, value in ORDER.items()}
    assert codec.decode(json.dumps(texts).encode(), model.Order) == codec.decode(
        json.dumps(ORDER).encode(), model.Order
    )


def test_a_null_optional_field_reads_as_absent():
    nulls = json.dumps(ORDER | {"client_order_id": None, "reserved_cents": None}).encode()
    assert codec.decode(nulls, model.Order).client_order_id is None


def test_an_order_id_keeps_every_digit_and_its_leading_zeros():
    for order_id in ("18446744073709551615", "9007199254740993", "00000000000000000001"):
        order = codec.decode(json.dumps(ORDER | {"order_id": order_id}).encode(), model.Order)
        assert json.loads(codec.encode(order))["order_id"] == order_id


@pytest.mark.parametrize(
    "garbage",
    [
        b"", b"null", b"[]", b"{}", b"<html>502</html>", b"\xff\xfe", b'{"x":' + b"[" * 100_000,
        b'{"available_cents":1,"reserved_cents":2,"total_cents"',
        *[
            b'{"available_cents":%s,"reserved_cents":2,"total_cents":3}' % value
            for value in (
                b'"one"', b"1.5", b"true", b"NaN", b"1e400", b"18446744073709551616",
                b'"-9223372036854775809"', b"null",
            )
        ],
    ],
)  # fmt: skip
def test_bytes_that_are_no_balance_are_malformed(garbage):
    with pytest.raises(codec.Garbled):
        codec.decode(garbage, model.Balance)


def test_the_status_groups_are_the_published_ones():
    groups = {name: {s.value for s in group} for name, group in model.STATUS_GROUPS.items()}
    assert groups == {
        "resting": {"accepted", "open", "partially_filled"},
        "filled": {"filled"},
        "canceled": {"canceled", "expired"},
        "all": {"accepted", "open", "partially_filled", "filled", "canceled", "expired"},
    }


def test_every_status_is_either_resting_or_terminal():
    assert set(OrderStatus) - {OrderStatus.UNKNOWN} == model.RESTING | model.TERMINAL
    assert not model.RESTING & model.TERMINAL
