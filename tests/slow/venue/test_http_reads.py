"""Claims about read endpoints: what they hold, what they leave out, how they page."""

import pytest

from tests.builders.venue.rest_bench import (
    ACME,
    LOW,
    T0,
    Client,
    ladder,
    order,
    printed,
)
from venue.engine import messages as m
from venue.wire.instant import NS_PER_SECOND, from_ns
from venue.wire.model import CandleInterval

pytestmark = pytest.mark.anyio
DAY_NS = 86_400 * NS_PER_SECOND


@pytest.fixture
def client(desk):
    return Client(desk)


# --- markets -------------------------------------------------------------------------------------


@pytest.mark.parametrize("query", ["q=a", "q=", "limit=x", "project_id=acme", "series_ticker="])
async def test_the_market_list_rejects_a_bad_parameter(client, query):
    assert await client.refusal("GET", f"/markets?{query}") == (400, "invalid_parameter")


@pytest.mark.parametrize("count", [0, 1, 199, 200, 201, 400, 401, 1_000])
async def test_a_snapshot_shows_every_resting_order_as_the_list_does(desk, client, count):
    desk.show([m.OrderChanged(T0, order(number)) for number in range(count)])
    shot = await client.get(f"/markets/{LOW}/snapshot")
    listed = await client.get("/orders", status="resting", limit="1000")
    assert shot["resting_orders"] == listed["orders"]
    assert len(shot["resting_orders"]) == count


async def test_an_explicit_window_shows_candles_older_than_24_hours(desk, client):
    desk.clock_ns = T0 + 2 * DAY_NS
    desk.show([printed(T0 + 5, 10), printed(desk.clock_ns - 1, 30)])
    for query, opens in (({}, [10, 30]), ({"to": from_ns(T0 + DAY_NS)}, [10])):
        series = await client.get(f"/markets/{LOW}/candles", from_=from_ns(T0), **query)
        assert [candle["open"] for candle in series["candles"]] == opens


@pytest.mark.parametrize("leaf", ["candles", "trades"])
@pytest.mark.parametrize(
    "query",
    [
        "from=2026-01-02T00:00:00Z&to=2026-01-01T00:00:00Z",
        "from=yesterday",
        "to=",
        "from=2026-01-01T00:00:00Z&from=2026-01-01T00:00:00Z",
    ],
)
async def test_candles_and_trades_reject_a_bad_window(client, leaf, query):
    refused = await client.refusal("GET", f"/markets/{LOW}/{leaf}?{query}")
    assert refused == (400, "invalid_parameter")


@pytest.mark.parametrize("interval", [interval.value for interval in CandleInterval])
async def test_a_window_of_one_instant_holds_its_trade_and_its_candle(desk, client, interval):
    desk.show([printed(T0 + 5, 45)])
    window = {"from_": from_ns(T0 + 5), "to": from_ns(T0 + 5)}
    page = await client.get(f"/markets/{LOW}/trades", **window)
    assert [row["price"] for row in page["trades"]] == [45]
    series = await client.get(f"/markets/{LOW}/candles", interval=interval, **window)
    assert [candle["close"] for candle in series["candles"]] == [45]


# --- events --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("query", "refused"),
    [
        ("status=done", (400, "invalid_enum_value")),
        ("status=unknown", (400, "invalid_enum_value")),
        ("status=", (400, "invalid_enum_value")),
        ("project_id=x", (400, "invalid_parameter")),
        ("cursor=x", (400, "invalid_cursor")),
        ("cursor=%FF", (400, "invalid_cursor")),
        ("cursor=%ED%A0%80", (400, "invalid_cursor")),
    ],
)
async def test_the_event_list_rejects_a_bad_filter(client, query, refused):
    assert await client.refusal("GET", f"/events?{query}") == refused


async def test_a_read_of_one_event_ignores_limit_and_cursor(client):
    page = await client.get("/events/acme-val-26q4?limit=x&cursor=y")
    assert [event["event_ticker"] for event in page["events"]] == ["ACME-VAL-26Q4"]
    assert page["cursor"] == ""


async def test_a_read_of_a_series_is_paged(desk, client):
    desk.show([m.EventListed(T0, ladder("ACME-VAL-27Q1", "ACME-VAL", ACME, "next"))])
    first = await client.get("/events/acme-val", limit=1)
    second = await client.get("/events/ACME-VAL", limit=1, cursor=first["cursor"])
    tickers = [page["events"][0]["event_ticker"] for page in (first, second)]
    assert tickers == ["ACME-VAL-26Q4", "ACME-VAL-27Q1"]
    assert (second["cursor"], second["events"][0]["markets"]) == ("", [])
    assert await client.refusal("GET", "/events/acme-val?cursor=x") == (400, "invalid_cursor")
    assert await client.refusal("GET", "/events/acme-val?limit=x") == (400, "invalid_parameter")


# --- the caller's own ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "query", "code"),
    [
        ("/orders", "ticker=NOPE", "invalid_parameter"),
        ("/orders", "event_ticker=NOPE", "invalid_parameter"),
        ("/orders", "ticker=A_B", "invalid_market_identifier"),
        ("/orders", f"ticker={LOW}&event_ticker=ACME-VAL-26Q4", "conflicting_identifiers"),
        ("/orders", "status=done", "invalid_enum_value"),
        ("/portfolio/fills", "order_id=x", "invalid_order_id"),
        ("/portfolio/fills", "ticker=NOPE", "invalid_parameter"),
        ("/portfolio/positions", "ticker=NOPE", "invalid_parameter"),
        ("/portfolio/positions", "cursor=AAAA", "invalid_cursor"),
    ],
)
async def test_private_lists_reject_a_bad_filter(client, path, query, code):
    assert await client.refusal("GET", f"{path}?{query}") == (400, code)
