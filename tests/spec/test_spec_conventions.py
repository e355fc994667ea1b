"""Conventions, tickers and resources of the interface, judged from outside."""

import re

import httpx
import pytest

from tests.spec.api import DECIMAL, UUID, ZERO_INSTANT, Caller, fresh_id

NANOSECONDS = re.compile(r".*\.[0-9]{9}Z", re.ASCII)


@pytest.mark.parametrize(
    ("limit", "rows"), [("1", 1), ("0", 1), ("-5", 1), ("7", 7), ("1000", 413), ("999999", 413)]
)
def test_a_limit_outside_its_range_is_clamped(anna: Caller, limit: str, rows: int) -> None:
    assert len(anna.get("/markets", limit=limit)["markets"]) == rows


def test_the_default_page_size_is_100(anna: Caller) -> None:
    page = anna.get("/markets")
    assert len(page["markets"]) == 100
    assert page["cursor"] != ""


@pytest.mark.parametrize("limit", ["ten", "1.5", "", "１０"])
def test_a_limit_that_is_no_integer_is_invalid(anna: Caller, limit: str) -> None:
    assert anna.refusal("/markets", limit=limit) == (400, "invalid_parameter")


@pytest.mark.parametrize("limit", [1, 7, 100, 1000])
def test_a_walk_over_pages_lists_every_market_once(anna: Caller, limit: int) -> None:
    if limit == 1:
        rows = anna.walk("/events", "events", limit=1)
        assert len({row["event_ticker"] for row in rows}) == len(rows) == 8
        return
    rows = anna.walk("/markets", "markets", limit=limit)
    assert len({row["market_id"] for row in rows}) == len(rows) == 413


@pytest.mark.parametrize("path", ["/markets", "/events", "/orders", "/portfolio/fills"])
@pytest.mark.parametrize("cursor", ["bogus", "0", "AAAA", "%00", "a" * 500])
def test_a_cursor_the_service_did_not_issue_is_refused(
    anna: Caller, path: str, cursor: str
) -> None:
    assert anna.refusal(path, cursor=cursor) == (400, "invalid_cursor")


def test_a_cursor_of_another_list_is_refused(anna: Caller) -> None:
    cursor = anna.get("/markets", limit=1)["cursor"]
    assert anna.refusal("/events", cursor=cursor) == (400, "invalid_cursor")


def test_a_cursor_with_any_character_changed_is_refused(anna: Caller) -> None:
    cursor = anna.get("/markets", limit=1)["cursor"]
    for place in range(0, len(cursor), 5):
        changed = cursor[:place] + ("A" if cursor[place] != "A" else "B") + cursor[place + 1 :]
        assert anna.refusal("/markets", limit=1, cursor=changed) == (400, "invalid_cursor")


def test_the_last_page_has_an_empty_cursor(anna: Caller) -> None:
    assert anna.get("/markets", limit=1000)["cursor"] == ""


def test_collections_without_rows_are_empty_arrays(caller, market) -> None:
    poor, ticker = caller("poor"), market["ticker"]
    assert poor.get("/orders") == {"orders": [], "cursor": ""}
    assert poor.get("/portfolio/positions") == {"positions": [], "cursor": ""}
    assert poor.get("/portfolio/fills") == {"fills": [], "cursor": ""}
    assert poor.get(f"/markets/{ticker}/candles")["candles"] == []
    assert poor.get(f"/markets/{ticker}/trades") == {"trades": [], "cursor": ""}
    book = poor.get(f"/markets/{ticker}/orderbook")
    assert book["bids"] == book["asks"] == []
    assert poor.get("/markets", q="zzzzzz") == {"markets": [], "cursor": ""}


def test_tickers_nest_by_prefix_and_events_carry_their_quarter(anna: Caller) -> None:
    for event in anna.walk("/events", "events"):
        assert re.fullmatch(
            re.escape(event["series_ticker"]) + r"-[0-9]{2}Q[1-4]", event["event_ticker"]
        )
        year, quarter = event["event_ticker"][-4:-2], int(event["event_ticker"][-1])
        # The event resolves at the end of its quarter: at the first instant of the next one.
        assert event["resolution_date"][5:7] == f"{quarter * 3 % 12 + 1:02d}"
        assert int(event["resolution_date"][2:4]) == int(year) + (quarter == 4)
        for market in event["markets"]:
            assert market["ticker"].startswith(event["event_ticker"] + "-")
            assert market["event_ticker"] == event["event_ticker"]
            assert market["project_market_id"] == event["project_market_id"]


def test_dots_in_a_ticker_are_significant(anna: Caller) -> None:
    rungs = anna.get("/markets", series_ticker="linden-val")["markets"]
    dotted = {row["strike_value"]: row for row in rungs if row["ticker"].endswith("25B")}
    assert {"21.25", "2125"} <= dotted.keys()
    for row in dotted.values():
        assert anna.get(f"/markets/{row['ticker']}/snapshot")["market"] == row


def test_tickers_are_case_insensitive_and_uuids_do_as_well(anna: Caller, market) -> None:
    by_ticker = anna.get(f"/markets/{market['ticker'].lower()}/snapshot")
    by_uuid = anna.get(f"/markets/{market['market_id'].upper()}/snapshot")
    assert by_ticker["market"] == by_uuid["market"] == market


@pytest.mark.parametrize("name", ["snapshot", "orderbook", "candles", "trades"])
@pytest.mark.parametrize("bad", ["a_b", "-a", "a-", "a b", "%C5%BF", "%EF%BC%91"])
def test_a_malformed_market_id_is_refused_as_such(anna: Caller, name: str, bad: str) -> None:
    assert anna.refusal(f"/markets/{bad}/{name}") == (400, "invalid_market_identifier")


@pytest.mark.parametrize("name", ["snapshot", "orderbook", "candles", "trades"])
@pytest.mark.parametrize("bad", ["NOBODY", "00000000-0000-0000-0000-000000000000"])
def test_an_unknown_market_id_is_not_found(anna: Caller, name: str, bad: str) -> None:
    assert anna.refusal(f"/markets/{bad}/{name}") == (404, "market_not_found")


def test_a_market_carries_every_required_field(anna: Caller) -> None:
    required = {
        "ticker market_id event_ticker project_market_id name outcome_label state min_price "
        "max_price tick_size maker_fee_rate taker_fee_rate open_interest created_at updated_at"
    }
    for row in anna.walk("/markets", "markets"):
        assert set(" ".join(required).split()) <= row.keys()
        assert (row["min_price"], row["max_price"], row["tick_size"]) == (1, 99, 1)
        assert row["state"] in ("active", "halted", "resolved")
        assert ("strike_value" in row) == (not row["ticker"].endswith("-YES"))
        assert DECIMAL.fullmatch(row["maker_fee_rate"])


def test_a_market_that_never_traded_has_no_last_price(anna: Caller, market) -> None:
    snapshot = anna.get(f"/markets/{market['ticker']}/snapshot")
    assert "last_price" not in snapshot["market"]
    assert "last_price" not in snapshot["stats"]
    assert "last_trade" not in snapshot
    assert snapshot["stats"] == {"volume_usd": snapshot["stats"]["volume_usd"], "open_interest": 0}
    assert float(snapshot["stats"]["volume_usd"]) == 0


def test_a_market_that_never_traded_reports_the_zero_instant_even_with_orders(
    anna: Caller, market
) -> None:
    ticker = market["ticker"]
    order = anna.placed(ticker=ticker, outcome="yes", side="buy", price=5, qty=1)
    anna.order_read(order["order_id"], status="open")
    book = anna.get(f"/markets/{ticker}/orderbook")
    assert ZERO_INSTANT.fullmatch(book["as_of"])
    assert book["bids"] == book["asks"] == []
    assert anna.get(f"/markets/{ticker}/snapshot")["orderbook"] == book


def test_events_list_their_rungs_in_strike_order(anna: Caller) -> None:
    for event in anna.walk("/events", "events"):
        strikes = [float(row["strike_value"]) for row in event["markets"] if "strike_value" in row]
        assert strikes == sorted(strikes)
        assert event["status"] in ("unopened", "open", "closed", "settled")
        assert isinstance(event["mutually_exclusive"], bool)
        assert UUID.fullmatch(event["project_id"])


def test_optional_event_fields_are_left_out_when_unset(anna: Caller) -> None:
    events = anna.walk("/events", "events", series_ticker="LINDEN-VAL")
    assert [("sub_title" in e, "resolution_source" in e) for e in events].count((True, True)) == 1
    assert [("sub_title" in e, "resolution_source" in e) for e in events].count((False, False)) == 2


def test_instants_have_nanoseconds(anna: Caller, market) -> None:
    order = anna.placed(ticker=market["ticker"], outcome="yes", side="buy", price=5, qty=1)
    assert NANOSECONDS.fullmatch(order["created_at"])
    assert NANOSECONDS.fullmatch(market["created_at"])


def test_enums_are_accepted_in_any_case_and_emitted_in_lower_case(anna: Caller, market) -> None:
    order = anna.placed(
        ticker=market["ticker"], outcome="YES", side="Buy", price=5, qty=1, time_in_force="GtC"
    )
    assert (order["outcome"], order["side"], order["time_in_force"]) == ("yes", "buy", "gtc")


@pytest.mark.parametrize(
    ("field", "accepted"),
    [
        ("outcome", ["yes", "no"]),
        ("side", ["buy", "sell"]),
        ("time_in_force", ["gtc", "ioc", "fok"]),
    ],
)
def test_a_refused_enum_lists_what_is_accepted(anna: Caller, market, field, accepted) -> None:
    body = {"ticker": market["ticker"], "outcome": "yes", "side": "buy", "price": 5, "qty": 1}
    reply = anna.place(**{**body, field: "maybe"})
    assert (reply.status_code, reply.json()["code"]) == (400, "invalid_enum_value")
    assert all(word in reply.json()["error"] for word in accepted)


@pytest.mark.parametrize(
    ("path", "params", "accepted"),
    [
        ("/orders", {"status": "working"}, ["resting", "filled", "canceled", "all", "open"]),
        ("/events", {"status": "running"}, ["unopened", "open", "closed", "settled"]),
        ("/markets/{}/candles", {"interval": "2h"}, ["30s", "1m", "1h", "4h", "12h", "1d"]),
    ],
)
def test_a_refused_query_enum_lists_what_is_accepted(
    anna: Caller, market, path: str, params: dict[str, str], accepted: list[str]
) -> None:
    reply = anna.ask("GET", path.format(market["ticker"]), params=params)
    assert (reply.status_code, reply.json()["code"]) == (400, "invalid_enum_value")
    assert all(word in reply.json()["error"] for word in accepted)


def test_an_unknown_path_is_answered_in_the_error_shape(anna: Caller) -> None:
    for method, path in [("GET", "/nothing"), ("PATCH", "/orders"), ("DELETE", "/markets")]:
        assert anna.ask(method, path).status_code == 404


def test_order_ids_beyond_2_to_the_53_stay_text(anna: Caller, market) -> None:
    ids = [
        anna.placed(ticker=market["ticker"], outcome="yes", side="buy", price=1, qty=1)["order_id"]
        for _ in range(8)
    ]
    assert max(int(order_id) for order_id in ids) > 2**53
    assert all(str(int(order_id)) == order_id for order_id in ids)
    assert len(set(ids)) == len(ids)


def test_no_reply_of_a_read_names_a_counterparty(anna: Caller, bruno: Caller, market) -> None:
    ticker = market["ticker"]
    anna.placed(ticker=ticker, outcome="yes", side="buy", price=50, qty=1)
    taken = bruno.placed(ticker=ticker, outcome="no", side="buy", price=50, qty=1)
    bruno.order_read(taken["order_id"], status="filled")
    trade = anna.get(f"/markets/{ticker}/trades")["trades"][0]
    assert trade.keys() == {"trade_id", "ticker", "market_id", "price", "qty", "created_at"}
    for path in (f"/markets/{ticker}/snapshot", f"/markets/{ticker}/trades"):
        text = httpx.Response(200, json=anna.get(path)).text
        assert "bruno" not in text
        assert taken["order_id"] not in text


def test_every_accepted_client_order_id_may_have_64_printable_characters(
    anna: Caller, market
) -> None:
    body = {"ticker": market["ticker"], "outcome": "yes", "side": "buy", "price": 1, "qty": 1}
    longest = (fresh_id() + " ~!").ljust(64, "x")
    assert anna.placed(**body, client_order_id=longest)["client_order_id"] == longest
    for bad in (longest + "x", "tab\t", "naïve", "\x7f"):
        assert anna.refused(**body, client_order_id=bad) == (400, "invalid_request_body")
