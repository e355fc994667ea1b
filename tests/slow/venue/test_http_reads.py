"""Claims about read endpoints: what they hold, what they leave out, how they page."""

import pytest

from tests.builders.venue.rest_bench import (
    ACME,
    BINARY,
    BOLT,
    HIGH,
    LOW,
    T0,
    TICKERS,
    TIGHT,
    Client,
    fill,
    ladder,
    level,
    order,
    position,
    printed,
)
from venue.engine import messages as m
from venue.wire.instant import NS_PER_SECOND, from_ns
from venue.wire.model import CandleInterval, MarketState, OrderStatus
from venue.wire.money import BookSide, Outcome

pytestmark = pytest.mark.anyio
MARKET_FIELDS = {
    "ticker", "market_id", "event_ticker", "project_market_id", "name", "outcome_label", "state",
    "min_price", "max_price", "tick_size", "maker_fee_rate", "taker_fee_rate", "open_interest",
    "created_at", "updated_at",
}  # fmt: skip
DAY_NS = 86_400 * NS_PER_SECOND


@pytest.fixture
def client(desk):
    return Client(desk)


# --- markets -------------------------------------------------------------------------------------


async def test_the_catalog_is_walked_by_pages(client):
    seen, query = [], {}
    while query.get("cursor") != "":
        page = await client.get("/markets", limit=1, **query)
        seen += [market["market_id"] for market in page["markets"]]
        query = {"cursor": page["cursor"]}
    assert seen == [TIGHT, LOW, HIGH, BINARY]


async def test_a_rung_has_a_strike_and_a_binary_market_has_none(client):
    page = await client.get("/markets")
    by_id = {market["market_id"]: market for market in page["markets"]}
    assert set(by_id[LOW]) == MARKET_FIELDS | {"strike_value"}
    assert set(by_id[BINARY]) == MARKET_FIELDS
    assert by_id[LOW]["strike_value"] == "9.5"
    assert (by_id[LOW]["maker_fee_rate"], by_id[LOW]["taker_fee_rate"]) == ("0.0100", "0.0175")
    limits = [by_id[LOW][name] for name in ("min_price", "max_price", "tick_size")]
    assert limits == [1, 99, 1]


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ({"q": "acme"}, 3),
        ({"q": "ac"}, 3),
        ({"series_ticker": "bolt-ipo"}, 1),
        ({"project_id": ACME.upper()}, 3),
        ({"q": "acme", "project_id": BOLT}, 0),
        ({"series_ticker": "NOPE"}, 0),
        ({"series_ticker": "bolt-\u0131po"}, 0),
    ],
)
async def test_a_filtered_list_is_one_whole_page_whatever_the_limit(client, query, found):
    page = await client.get("/markets", limit=1, **query)
    assert (len(page["markets"]), page["cursor"]) == (found, "")


async def test_a_cursor_of_the_catalog_does_not_go_with_a_filter(client):
    cursor = (await client.get("/markets", limit=1))["cursor"]
    refused = await client.refusal("GET", f"/markets?q=acme&cursor={cursor}")
    assert refused == (400, "invalid_cursor")


@pytest.mark.parametrize("query", ["q=a", "q=", "limit=x", "project_id=acme", "series_ticker="])
async def test_a_bad_parameter_of_the_market_list_is_refused(client, query):
    assert await client.refusal("GET", f"/markets?{query}") == (400, "invalid_parameter")


@pytest.mark.parametrize("name", [LOW, TICKERS[LOW], TICKERS[LOW].lower(), LOW.upper()])
async def test_a_book_is_found_by_every_name_of_its_market(desk, client, name):
    desk.show([printed(T0 + 5, 45), level(BookSide.BID, 40, 3)])
    book = await client.get(f"/markets/{name}/orderbook")
    assert (book["ticker"], book["market_id"]) == (TICKERS[LOW], LOW)
    assert (book["bids"], book["asks"]) == ([{"price": 40, "size": 3}], [])


@pytest.mark.parametrize("leaf", ["snapshot", "orderbook", "candles", "trades"])
async def test_an_unknown_market_is_not_found(client, leaf):
    assert await client.refusal("GET", f"/markets/NOPE/{leaf}") == (404, "market_not_found")


async def test_a_book_that_never_traded_is_at_the_zero_instant_in_book_and_snapshot(desk, client):
    desk.show([level(BookSide.BID, 40, 3), m.OrderChanged(T0, order(7))])
    book = await client.get(f"/markets/{LOW}/orderbook")
    names = {"ticker": TICKERS[LOW], "market_id": LOW}
    assert book == names | {"as_of": "0001-01-01T00:00:00Z", "bids": [], "asks": []}
    shot = await client.get(f"/markets/{LOW}/snapshot")
    assert shot["orderbook"] == book
    assert set(shot) == {"market", "orderbook", "stats", "positions", "resting_orders"}
    assert shot["stats"] == {"volume_usd": "0.00", "open_interest": 0}
    assert [row["order_id"] for row in shot["resting_orders"]] == ["7"]


@pytest.mark.parametrize("count", [0, 1, 199, 200, 201, 400, 401, 1_000])
async def test_a_snapshot_shows_every_resting_order_as_the_list_does(desk, client, count):
    desk.show([m.OrderChanged(T0, order(number)) for number in range(count)])
    shot = await client.get(f"/markets/{LOW}/snapshot")
    listed = await client.get("/orders", status="resting", limit="1000")
    assert shot["resting_orders"] == listed["orders"]
    assert len(shot["resting_orders"]) == count


async def test_a_snapshot_shows_the_callers_own_state_only(desk, client):
    desk.show(
        [
            printed(T0 + 5, 45, 2),
            m.OpenInterestChanged(T0 + 5, LOW, 2),
            m.OrderChanged(T0, order(7)),
            m.OrderChanged(T0, order(8, user="bruno")),
            m.OrderChanged(T0, order(9, status=OrderStatus.FILLED)),
            m.OrderChanged(T0, order(10, market=HIGH)),
            position(3, 100),
            position(2, 90, Outcome.NO),
        ]
    )
    shot = await client.get(f"/markets/{LOW}/snapshot")
    assert shot["last_trade"] == {
        "trade_id": f"t{T0 + 5}",
        "ticker": TICKERS[LOW],
        "market_id": LOW,
        "price": 45,
        "qty": 2,
        "created_at": from_ns(T0 + 5),
    }
    assert shot["stats"] == {"volume_usd": "0.90", "open_interest": 2, "last_price": 45}
    assert [row["order_id"] for row in shot["resting_orders"]] == ["7"]
    assert [(p["outcome"], p["qty"]) for p in shot["positions"]] == [("yes", 3), ("no", 2)]
    theirs = await Client(desk, {"X-API-KEY": "bruno-key"}).get(f"/markets/{LOW}/snapshot")
    assert [row["order_id"] for row in theirs["resting_orders"]] == ["8"]
    assert theirs["positions"] == []


async def test_candles_default_to_the_last_24_hours_by_the_hour(desk, client):
    desk.clock_ns = T0 + 2 * DAY_NS
    desk.show(
        [printed(desk.clock_ns - DAY_NS - 3601 * NS_PER_SECOND, 10), printed(T0 + DAY_NS, 20)]
    )
    desk.show([printed(desk.clock_ns - 1, 30)])
    series = await client.get(f"/markets/{LOW}/candles")
    assert (series["interval"], series["market_id"]) == ("1h", LOW)
    assert [candle["open"] for candle in series["candles"]] == [20, 30]
    assert set(series["candles"][0]) == {
        "timestamp", "open", "high", "low", "close", "volume", "trade_count",
    }  # fmt: skip


async def test_candles_of_longer_ago_than_24_hours_are_there_for_who_asks(desk, client):
    desk.clock_ns = T0 + 2 * DAY_NS
    desk.show([printed(T0 + 5, 10), printed(desk.clock_ns - 1, 30)])
    for query, opens in (({}, [10, 30]), ({"to": from_ns(T0 + DAY_NS)}, [10])):
        series = await client.get(f"/markets/{LOW}/candles", from_=from_ns(T0), **query)
        assert [candle["open"] for candle in series["candles"]] == opens


async def test_a_market_without_trades_has_no_candles_and_no_trades(client):
    assert (await client.get(f"/markets/{LOW}/candles"))["candles"] == []
    assert await client.get(f"/markets/{LOW}/trades") == {"trades": [], "cursor": ""}


@pytest.mark.parametrize("leaf", ["candles", "trades"])
@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("from=2026-01-02T00:00:00Z&to=2026-01-01T00:00:00Z", "invalid_parameter"),
        ("from=yesterday", "invalid_parameter"),
        ("to=", "invalid_parameter"),
        ("from=2026-01-01T00:00:00Z&from=2026-01-01T00:00:00Z", "invalid_parameter"),
    ],
)
async def test_a_bad_window_is_refused(client, leaf, query, code):
    assert await client.refusal("GET", f"/markets/{LOW}/{leaf}?{query}") == (400, code)


async def test_a_window_of_one_instant_is_a_window(desk, client):
    desk.show([printed(T0 + 5, 45)])
    at = from_ns(T0 + 5)
    page = await client.get(f"/markets/{LOW}/trades", from_=at, to=at)
    assert [row["price"] for row in page["trades"]] == [45]


@pytest.mark.parametrize("interval", [interval.value for interval in CandleInterval])
async def test_a_window_of_the_instant_of_a_trade_has_its_candle(desk, client, interval):
    desk.show([printed(T0 + 5, 45)])
    at = from_ns(T0 + 5)
    series = await client.get(f"/markets/{LOW}/candles", interval=interval, from_=at, to=at)
    assert [candle["close"] for candle in series["candles"]] == [45]


async def test_candles_refuse_an_unknown_interval(client):
    refused = await client.refusal("GET", f"/markets/{LOW}/candles?interval=2h")
    assert refused == (400, "invalid_enum_value")


async def test_trades_are_paged_newest_first_and_name_nobody(desk, client):
    desk.show([printed(T0 + number, 40) for number in range(5)])
    seen, query = [], {}
    while query.get("cursor") != "":
        page = await client.get(f"/markets/{LOW}/trades", limit=2, **query)
        seen += page["trades"]
        desk.show([printed(T0 + 100 + len(seen), 41)])
        query = {"cursor": page["cursor"]}
    assert [row["trade_id"] for row in seen] == [f"t{T0 + n}" for n in (4, 3, 2, 1, 0)]
    assert set(seen[0]) == {"trade_id", "ticker", "market_id", "price", "qty", "created_at"}


async def test_a_cursor_does_not_go_from_one_market_to_another(desk, client):
    desk.show([printed(T0 + number, 40) for number in range(2)])
    cursor = (await client.get(f"/markets/{LOW}/trades", limit=1))["cursor"]
    refused = await client.refusal("GET", f"/markets/{HIGH}/trades?cursor={cursor}")
    assert refused == (400, "invalid_cursor")


# --- events --------------------------------------------------------------------------------------


async def test_an_event_holds_its_rungs_in_strike_order(client):
    page = await client.get("/events", series_ticker="acme-val")
    (event,) = page["events"]
    assert [market["market_id"] for market in event["markets"]] == [LOW, HIGH, TIGHT]
    assert {"sub_title", "resolution_source"}.isdisjoint(event)
    assert (event["status"], event["mutually_exclusive"]) == ("open", False)


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
async def test_a_bad_filter_of_the_event_list_is_refused(client, query, refused):
    assert await client.refusal("GET", f"/events?{query}") == refused


async def test_the_event_form_is_one_element_whatever_limit_and_cursor_say(client):
    page = await client.get("/events/acme-val-26q4?limit=x&cursor=y")
    assert [event["event_ticker"] for event in page["events"]] == ["ACME-VAL-26Q4"]
    assert page["cursor"] == ""


async def test_the_series_form_pages_and_checks_its_cursor(desk, client):
    desk.show([m.EventListed(T0, ladder("ACME-VAL-27Q1", "ACME-VAL", ACME, "next"))])
    first = await client.get("/events/acme-val", limit=1)
    second = await client.get("/events/ACME-VAL", limit=1, cursor=first["cursor"])
    tickers = [page["events"][0]["event_ticker"] for page in (first, second)]
    assert tickers == ["ACME-VAL-26Q4", "ACME-VAL-27Q1"]
    assert (second["cursor"], second["events"][0]["markets"]) == ("", [])
    assert await client.refusal("GET", "/events/acme-val?cursor=x") == (400, "invalid_cursor")
    assert await client.refusal("GET", "/events/acme-val?limit=x") == (400, "invalid_parameter")


@pytest.mark.parametrize("name", ["NOPE", TICKERS[LOW], "ACME.VAL", LOW])
async def test_what_is_neither_event_nor_series_is_not_found(client, name):
    assert await client.refusal("GET", f"/events/{name}") == (404, "market_not_found")


# --- the caller's own ----------------------------------------------------------------------------


async def test_an_order_read_has_the_reserve_and_never_the_key(desk, client):
    desk.show([m.OrderChanged(T0, order(7))])
    read = await client.get("/orders/7")
    assert read["reserved_cents"] == 405
    assert {"client_order_id", "spent_cents"}.isdisjoint(read)
    assert read["created_at"] == from_ns(order(7).created_ns)
    assert (await client.get("/orders"))["orders"] == [read]


async def test_a_foreign_order_and_no_order_have_the_same_answer(desk, client):
    desk.show([m.OrderChanged(T0, order(8, user="bruno"))])
    foreign, nothing = await client.ask("GET", "/orders/8"), await client.ask("GET", "/orders/9")
    assert (foreign.status_code, foreign.content) == (nothing.status_code, nothing.content)
    assert (foreign.status_code, foreign.json()["code"]) == (404, "order_not_found")


async def test_orders_are_filtered_and_paged_with_bound_cursors(desk, client):
    desk.show([m.OrderChanged(T0, order(number)) for number in range(5)])
    page = await client.get("/orders", limit=2, status="resting", ticker=TICKERS[LOW])
    assert [row["order_id"] for row in page["orders"]] == ["4", "3"]
    same = f"limit=1&status=OPEN,resting&ticker={LOW}&cursor={page['cursor']}"
    assert (await client.get(f"/orders?{same}"))["orders"][0]["order_id"] == "2"
    for other in ("status=resting", f"status=open&ticker={LOW}", f"ticker={LOW}", "status=all"):
        refused = await client.refusal("GET", f"/orders?{other}&cursor={page['cursor']}")
        assert refused == (400, "invalid_cursor")


async def test_a_cursor_of_another_user_is_refused(desk, client):
    desk.show([m.OrderChanged(T0, order(n, user=u)) for u in ("anna", "bruno") for n in range(4)])
    cursor = (await client.get("/orders", limit=1))["cursor"]
    bruno = Client(desk, {"X-API-KEY": "bruno-key"})
    refused = await bruno.refusal("GET", f"/orders?limit=1&cursor={cursor}")
    assert refused == (400, "invalid_cursor")


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
async def test_a_bad_filter_of_a_private_list_is_refused(client, path, query, code):
    assert await client.refusal("GET", f"{path}?{query}") == (400, code)


@pytest.mark.parametrize("name", ["orders", "portfolio/positions", "portfolio/fills"])
async def test_a_list_of_nothing_is_an_empty_list_and_an_empty_cursor(client, name):
    assert await client.get(f"/{name}") == {name.split("/")[-1]: [], "cursor": ""}


async def test_a_fill_has_both_prices_and_its_fee(desk, client):
    desk.show([fill(1)])
    (row,) = (await client.get("/portfolio/fills", order_id="1"))["fills"]
    assert row == {
        "fill_id": "f1",
        "trade_id": "t1",
        "order_id": "1",
        "ticker": TICKERS[LOW],
        "market_id": LOW,
        "event_ticker": "ACME-VAL-26Q4",
        "outcome": "yes",
        "side": "buy",
        "outcome_price": 40,
        "trade_price": 40,
        "qty": 2,
        "fee_cents": 1,
        "liquidity": "taker",
        "created_at": from_ns(T0 + 1),
    }


async def test_positions_are_paged(desk, client):
    desk.show([position(1, 40), position(2, 50, Outcome.NO), position(3, 60, market=HIGH)])
    first = await client.get("/portfolio/positions", limit=2)
    rest = await client.get("/portfolio/positions", limit=2, cursor=first["cursor"])
    rows = first["positions"] + rest["positions"]
    assert sorted((p["ticker"], p["outcome"], p["qty"]) for p in rows) == [
        (TICKERS[HIGH], "yes", 3),
        (TICKERS[LOW], "no", 2),
        (TICKERS[LOW], "yes", 1),
    ]
    assert rest["cursor"] == ""
    assert (rows[0]["cost_basis"], rows[0]["avg_entry_price"]) == (60, 20)


async def test_a_balance_has_three_figures(desk, client):
    desk.show([m.BalanceChanged(T0, "anna", 70, 30)])
    assert await client.get("/portfolio/balance") == {
        "available_cents": 70,
        "reserved_cents": 30,
        "total_cents": 100,
    }


async def test_a_resolved_market_goes_on_being_read(desk, client):
    desk.show([m.MarketStateChanged(T0 + 9, LOW, MarketState.RESOLVED)])
    shot = await client.get(f"/markets/{TICKERS[LOW]}/snapshot")
    assert (shot["market"]["state"], shot["market"]["open_interest"]) == ("resolved", 0)
    assert LOW not in [row["market_id"] for row in (await client.get("/markets"))["markets"]]
