"""The subscription channel as the interface states it, judged from outside with raw frames."""

import contextlib
import json
import time

import pytest

from tests.spec.api import Caller, Listener

NOBODY = "00000000-0000-4000-8000-000000000000"


def _by_ticker(ticker: str) -> tuple[str, str, str]:
    return ("event-market", "ticker", ticker)


def _by_id(market) -> tuple[str, str, str]:
    return ("event-market", "eventMarketId", market["market_id"])


def _rest(caller: Caller, market, outcome: str, price: int, qty: int):
    return caller.placed(ticker=market["ticker"], outcome=outcome, side="buy", price=price, qty=qty)


def _next_book(listener: Listener, wanted) -> dict:
    return next(book for book in listener.updates("prediction-orderbook") if wanted(book))


def test_a_subscribe_is_acknowledged_and_followed_by_the_book(
    anna: Caller, market, listener: Listener
) -> None:
    order = _rest(anna, market, "yes", 30, 7)
    _rest(anna, market, "no", 60, 5)
    anna.order_read(order["order_id"], status="open")
    time.sleep(0.02)
    assert listener.accepted(_by_ticker(market["ticker"])) == 1
    frame = listener.frame()
    assert frame["type"] == "market-update"
    data = frame["data"]
    assert data.keys() == {"type", "ticker", "eventMarketId", "ts", "yes", "no"}
    assert data["type"] == "prediction-orderbook"
    assert (data["ticker"], data["eventMarketId"]) == (market["ticker"], market["market_id"])
    # The channel carries the true ladders, also of a market that never traded.
    assert data["yes"] == [{"price": 30, "size": 7}]
    assert data["no"] == [{"price": 60, "size": 5}]
    assert abs(data["ts"] - time.time_ns()) < 60 * 10**9


def test_ladders_are_whole_and_best_first(anna: Caller, market, listener: Listener) -> None:
    listener.accepted(_by_id(market))
    for price in (20, 35, 28):
        _rest(anna, market, "yes", price, price)
    book = _next_book(listener, lambda book: len(book["yes"]) == 3)
    assert [level["price"] for level in book["yes"]] == [35, 28, 20]
    assert book["no"] == []


def test_every_match_is_a_trade_and_a_ticker_frame(
    anna: Caller, bruno: Caller, market, listener: Listener
) -> None:
    listener.accepted(_by_id(market))
    _rest(anna, market, "yes", 40, 3)
    _rest(anna, market, "yes", 39, 2)
    _rest(bruno, market, "no", 61, 5)
    seen: list[dict] = []
    while len(seen) < 4:
        data = listener.frame()["data"]
        if data["type"] != "prediction-orderbook":
            seen.append(data)
    trades = [data for data in seen if data["type"] == "prediction-trade"]
    tickers = [data for data in seen if data["type"] == "prediction-ticker"]
    assert [(t["price"], t["size"]) for t in trades] == [(40, 3), (39, 2)]
    assert [(t["price"], t["size"]) for t in tickers] == [(40, 3), (39, 2)]
    for trade in trades:
        assert trade["maker"] == {"outcome": "yes", "side": "buy"}
        assert trade["taker"] == {"outcome": "no", "side": "buy"}
    rows = anna.get(f"/markets/{market['ticker']}/trades")["trades"]
    assert {row["trade_id"] for row in rows} == {trade["tradeId"] for trade in trades}
    assert len({trade["tradeId"] for trade in trades}) == 2


def test_the_last_book_frame_is_the_book(
    anna: Caller, bruno: Caller, market, listener: Listener
) -> None:
    listener.accepted(_by_id(market))
    # Downwards, so that no book on the way looks like the last one.
    for price in range(39, 9, -1):
        _rest(anna, market, "yes", price, 1)
    _rest(bruno, market, "no", 65, 4)
    books = [next(listener.updates("prediction-orderbook"))]
    while [level["price"] for level in books[-1]["yes"]] != list(range(35, 9, -1)):
        books.append(next(listener.updates("prediction-orderbook")))
    assert books[-1]["no"] == []
    assert listener.silent(), listener.last
    assert [book["ts"] for book in books] == sorted(book["ts"] for book in books)


def test_a_subscribe_replaces_the_whole_set(anna: Caller, markets, listener: Listener) -> None:
    first, second, third = markets
    assert listener.accepted(_by_id(first), _by_id(second)) == 2
    assert listener.accepted(_by_id(third)) == 1
    assert listener.frame()["data"]["eventMarketId"] == third["market_id"]
    _rest(anna, first, "yes", 10, 1)
    assert listener.silent(), listener.last
    _rest(anna, third, "yes", 10, 1)
    assert listener.frame()["data"]["eventMarketId"] == third["market_id"]


def test_every_accepted_subscribe_is_followed_by_the_books(markets, listener: Listener) -> None:
    for _ in range(3):
        assert listener.accepted(*(_by_id(market) for market in markets)) == 3
        books = [listener.frame()["data"]["eventMarketId"] for _ in markets]
        assert sorted(books) == sorted(market["market_id"] for market in markets)


def test_an_empty_set_subscribes_to_nothing(anna: Caller, market, listener: Listener) -> None:
    listener.accepted(_by_id(market))
    assert listener.accepted() == 0
    _rest(anna, market, "yes", 10, 1)
    assert listener.silent(), listener.last


def test_a_market_named_twice_is_delivered_once(anna: Caller, market, listener: Listener) -> None:
    assert listener.accepted(_by_id(market), _by_ticker(market["ticker"]), _by_id(market)) == 1
    assert listener.frame()["data"]["type"] == "prediction-orderbook"
    assert listener.silent(), listener.last


def test_200_targets_are_accepted_and_201_refused(ladder, listener: Listener) -> None:
    ids = [f"00000000-0000-4000-8000-{number:012d}" for number in range(201)]
    targets = [("event-market", "eventMarketId", each) for each in ids]
    assert listener.accepted(*targets[:200]) == 200
    error = listener.refused(*targets)
    assert error["code"] == "too_many_targets"


def test_one_unknown_target_refuses_the_frame_and_leaves_the_old_set(
    anna: Caller, markets, listener: Listener
) -> None:
    listener.accepted(_by_id(markets[0]))
    listener.frame()
    refused = listener.refused(_by_id(markets[1]), _by_ticker("NOBODY-26Q4-1B"))
    assert refused["code"] == "unknown_target"
    _rest(anna, markets[0], "yes", 10, 1)
    assert listener.frame()["data"]["eventMarketId"] == markets[0]["market_id"]


def test_an_unknown_uuid_is_accepted_in_silence(listener: Listener) -> None:
    targets = [("event-market", "eventMarketId", NOBODY), ("market", "marketId", NOBODY)]
    assert listener.accepted(*targets) == 2
    assert listener.silent(), listener.last


@pytest.mark.parametrize("blank", ["{}", " {} ", "\t{}\n"])
def test_handles_are_trimmed_and_case_folded(market, listener: Listener, blank: str) -> None:
    assert listener.accepted(_by_ticker(blank.format(market["ticker"].lower()))) == 1
    assert listener.frame()["data"]["ticker"] == market["ticker"]


@pytest.mark.parametrize(
    "bad", ["LINDEN_VAL", "LINDEN VAL", "ＬＩＮＤＥＮ", "LINDE\u212a", "", "a/b"]
)
@pytest.mark.parametrize(("kind", "key"), [("event-market", "ticker"), ("market", "symbol")])
def test_a_handle_with_other_characters_is_rejected(
    listener: Listener, kind: str, key: str, bad: str
) -> None:
    assert listener.refused((kind, key, bad))["code"] == "unknown_target"


def test_dots_in_a_handle_are_significant(anna: Caller, listener: Listener) -> None:
    rungs = anna.get("/markets", series_ticker="LINDEN-VAL")["markets"]
    dotted = next(row for row in rungs if row.get("strike_value") == "21.25")
    listener.accepted(_by_ticker(dotted["ticker"]))
    assert listener.frame()["data"]["eventMarketId"] == dotted["market_id"]


@pytest.mark.parametrize("level", ["series_ticker", "event_ticker"])
def test_a_series_or_event_ticker_is_rejected_with_a_pointer(
    ladder, listener: Listener, level: str
) -> None:
    error = listener.refused(_by_ticker(ladder[level]))
    assert error["code"] == "unknown_target"
    assert f"/events/{ladder[level]}" in error["message"]


def test_halted_archived_and_resolved_markets_resolve_as_the_table_says(
    anna: Caller, listener: Listener
) -> None:
    rungs = {row["state"]: row for row in anna.get("/events/MARRAM-VAL")["events"][0]["markets"]}
    archived = anna.get("/events/HARBOUR-VAL")["events"][0]
    assert listener.refused(_by_ticker(rungs["halted"]["ticker"]))["code"] == "unknown_target"
    assert listener.accepted(_by_id(rungs["halted"])) == 1
    assert listener.frame()["data"]["ticker"] == rungs["halted"]["ticker"]
    assert listener.accepted(_by_ticker(rungs["resolved"]["ticker"])) == 1
    assert listener.accepted(_by_id(rungs["resolved"])) == 1
    assert listener.refused(_by_ticker(archived["markets"][0]["ticker"]))["code"] == (
        "unknown_target"
    )
    assert listener.refused(("market", "symbol", "HARBOUR"))["code"] == "unknown_target"
    by_id = [_by_id(archived["markets"][0]), ("market", "marketId", archived["project_id"])]
    assert listener.accepted(*by_id) == 2


def test_companies_and_rungs_are_separate_id_spaces(ladder, listener: Listener) -> None:
    assert listener.accepted(("market", "symbol", "linden")) == 1
    assert listener.silent(), listener.last
    swapped = [
        ("event-market", "eventMarketId", ladder["project_id"]),
        ("market", "marketId", ladder["markets"][0]["market_id"]),
    ]
    assert listener.accepted(*swapped) == 2
    assert listener.silent(), listener.last


GOOD = {"target": "event-market", "data": {"eventMarketId": NOBODY}}
BAD_TARGETS = [
    {"target": "event-market", "data": {}},
    {"target": "event-market", "data": {"ticker": "A", "eventMarketId": NOBODY}},
    {"target": "event-market", "data": {"symbol": "A"}},
    {"target": "market", "data": {"ticker": "A"}},
    {"target": "market", "data": {"symbol": "A", "marketId": NOBODY}},
    {"target": "event", "data": {"ticker": "A"}},
    {"target": "event-market", "data": {"ticker": 7}},
    {"target": "event-market", "data": {"eventMarketId": "not-a-uuid"}},
    {"target": "event-market"},
    "LINDEN-VAL",
]


@pytest.mark.parametrize("bad", BAD_TARGETS, ids=json.dumps)
def test_a_target_without_exactly_one_key_of_its_own_does_not_parse(
    anna: Caller, market, listener: Listener, bad
) -> None:
    listener.accepted(_by_id(market))
    listener.frame()
    listener.send_raw(json.dumps({"type": "subscribe", "data": {"targets": [GOOD, bad]}}))
    assert listener.error()["code"] == "invalid_frame"
    _rest(anna, market, "yes", 10, 1)
    assert listener.frame()["data"]["ticker"] == market["ticker"]


@pytest.mark.parametrize(
    "text",
    ["", "hello", "[]", "{}", '{"type": "unsubscribe"}', '{"type": "subscribe"}', "[" * 9999],
)
def test_three_unparseable_frames_in_a_row_close_the_connection(
    listener: Listener, text: str
) -> None:
    for _ in range(2):
        listener.send_raw(text)
        assert listener.error()["code"] == "invalid_frame"
    assert listener.accepted() == 0
    for _ in range(3):
        listener.send_raw(text)
    assert listener.close_code() == 1008


def test_a_message_above_a_mebibyte_closes_only_its_own_connection(
    market, site, listener: Listener
) -> None:
    with contextlib.closing(Listener(site.stream_url)) as other:
        other.send_raw("x" * (2**20 + 1))
        assert other.close_code() == 1009
    assert listener.accepted(_by_id(market)) == 1


def test_frames_carry_integers_and_nothing_of_identity(
    anna: Caller, bruno: Caller, market, listener: Listener
) -> None:
    listener.accepted(_by_id(market))
    mine = _rest(anna, market, "yes", 50, 2)
    _rest(bruno, market, "no", 50, 2)
    trade = next(listener.updates("prediction-trade"))
    assert trade.keys() == {
        *("type", "ticker", "eventMarketId", "ts", "tradeId", "price", "size", "maker", "taker"),
    }
    assert all(type(trade[name]) is int for name in ("ts", "price", "size"))
    assert mine["order_id"] not in json.dumps(trade)
