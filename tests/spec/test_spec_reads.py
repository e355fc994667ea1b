"""Lists, search, candles and events of the interface, judged from outside."""

import datetime

import pytest

from tests.spec.api import Caller


def _tickers(page) -> set[str]:
    return {row["ticker"] for row in page["markets"]}


def test_the_unfiltered_list_is_every_market_that_has_not_resolved(anna: Caller) -> None:
    rows = anna.walk("/markets", "markets", limit=150)
    assert {row["state"] for row in rows} == {"active", "halted"}


@pytest.mark.parametrize(
    ("q", "count"),
    [
        ("marram", 4),  # company name, resolved markets too
        ("LINDEN", 10),  # symbol and ticker prefix
        ("unopened", 1),  # event title
        ("linden-ipo", 1),
        ("100%_sure", 1),  # percent and underscore are not wildcards
        ("100%", 1),
        ("%%", 0),
        ("l_nden", 0),
        ("inden-val", 0),  # a ticker matches by prefix only
    ],
)
def test_a_search_is_literal_and_case_insensitive(anna: Caller, q: str, count: int) -> None:
    page = anna.get("/markets", q=q, limit=1)
    assert (len(page["markets"]), page["cursor"]) == (count, "")


@pytest.mark.parametrize("q", ["", "x", "%"])
def test_a_search_term_below_two_characters_is_refused(anna: Caller, q: str) -> None:
    assert anna.refusal("/markets", q=q) == (400, "invalid_parameter")


def test_filters_are_anded_and_come_in_one_page(anna: Caller) -> None:
    everything = anna.get("/markets", series_ticker="linden-val", limit=1)
    assert (len(everything["markets"]), everything["cursor"]) == (9, "")
    company = anna.get("/events/LINDEN-VAL")["events"][0]["project_id"]
    assert len(anna.get("/markets", project_id=company)["markets"]) == 10
    both = anna.get("/markets", project_id=company, series_ticker="LINDEN-IPO")
    assert len(both["markets"]) == 1
    assert anna.get("/markets", project_id=company, series_ticker="MARRAM-VAL")["markets"] == []
    assert len(anna.get("/markets", project_id=company, q="unopened")["markets"]) == 1


@pytest.mark.parametrize("name", ["linden-val", "LINDEN-VAL"])
def test_the_series_form_returns_every_quarter_and_pages(anna: Caller, name: str) -> None:
    assert len(anna.get(f"/events/{name}")["events"]) == 3
    rows = anna.walk(f"/events/{name}", "events", limit=1)
    assert len({row["event_ticker"] for row in rows}) == 3


def test_the_event_form_is_one_element_whatever_limit_and_cursor_say(anna: Caller, ladder) -> None:
    page = anna.get(f"/events/{ladder['event_ticker'].lower()}", limit=0, cursor="bogus")
    assert page == {"events": [anna.get("/events/LINDEN-VAL")["events"][0]], "cursor": ""}


def test_an_unknown_event_or_series_is_not_found(anna: Caller) -> None:
    assert anna.refusal("/events/NOBODY") == (404, "market_not_found")


@pytest.mark.parametrize(
    ("status", "tickers"), [("settled", 1), ("CLOSED", 1), ("unopened", 1), ("open", 5)]
)
def test_events_filter_by_lifecycle_state(anna: Caller, status: str, tickers: int) -> None:
    events = anna.get("/events", status=status)["events"]
    assert [event["status"] for event in events] == [status.lower()] * tickers


def test_events_filter_by_series_and_company(anna: Caller) -> None:
    series = anna.get("/events", series_ticker="marram-val")["events"]
    assert {event["series_ticker"] for event in series} == {"MARRAM-VAL"}
    assert len(series) == 2
    assert anna.get("/events", project_id=series[0]["project_id"])["events"] == series


def test_a_ladder_with_a_resolved_rung_is_closed_and_settled_after_the_last(anna: Caller) -> None:
    events = anna.get("/events/MARRAM-VAL")["events"]
    states = {event["status"]: sorted(row["state"] for row in event["markets"]) for event in events}
    assert states == {"closed": ["active", "halted", "resolved"], "settled": ["resolved"]}


@pytest.mark.parametrize(
    "window",
    [
        {"from": "yesterday"},
        {"to": "2026-01-01"},
        {"from": "2026-01-02T00:00:00Z", "to": "2026-01-01T00:00:00Z"},
        {"from": "2026-13-01T00:00:00Z"},
    ],
)
def test_a_bad_candle_window_is_refused(anna: Caller, market, window: dict[str, str]) -> None:
    reply = anna.ask("GET", f"/markets/{market['ticker']}/candles", params=window)
    assert (reply.status_code, reply.json()["code"]) == (400, "invalid_parameter")


def test_candles_cover_the_last_24_hours_unless_told(anna: Caller, bruno: Caller, market) -> None:
    ticker = market["ticker"]
    anna.placed(ticker=ticker, outcome="yes", side="buy", price=40, qty=1)
    taken = bruno.placed(ticker=ticker, outcome="no", side="buy", price=60, qty=1)
    bruno.order_read(taken["order_id"], status="filled")
    path = f"/markets/{ticker}/candles"
    assert len(anna.get(path)["candles"]) == 1
    assert len(anna.get(path, interval="30s")["candles"]) == 1
    past = datetime.datetime.now(datetime.UTC) - datetime.timedelta(days=2)
    assert anna.get(path, from_=past.isoformat(), to=past.isoformat())["candles"] == []


def test_a_snapshot_holds_the_callers_own_state_and_no_cash(
    anna: Caller, bruno: Caller, market
) -> None:
    ticker = market["ticker"]
    order = anna.placed(ticker=ticker, outcome="yes", side="buy", price=40, qty=1)
    anna.order_read(order["order_id"], status="open")
    mine, theirs = anna.get(f"/markets/{ticker}/snapshot"), bruno.get(f"/markets/{ticker}/snapshot")
    assert mine.keys() == {"market", "orderbook", "stats", "positions", "resting_orders"}
    assert [row["order_id"] for row in mine["resting_orders"]] == [order["order_id"]]
    assert theirs["resting_orders"] == theirs["positions"] == []


def test_a_query_parameter_sent_twice_is_refused(anna: Caller) -> None:
    reply = anna.ask("GET", "/markets", params=[("limit", "1"), ("limit", "2")])
    assert (reply.status_code, reply.json()["code"]) == (400, "invalid_parameter")
