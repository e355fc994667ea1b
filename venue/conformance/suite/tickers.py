"""Checks of tickers: how they nest, which names a market has, and malformed names."""

import re

from venue.conformance.api import buy, refusal_of
from venue.conformance.bench import Bench, this_quarter
from venue.conformance.judge import MARKET_PATH, holds, same
from venue.conformance.registry import Needs, check

READS = ("snapshot", "orderbook", "candles")


@check(needs=Needs.KEY)
def check_tickers_nest_by_prefix(bench: Bench) -> None:
    """Ticker structure | A market ticker begins with its event's, an event's with its series'.
    Ticker structure | Every market carries event_ticker.
    """
    events = bench.anna.get("/events", limit=20)["events"]
    holds(events, "no event is listed")
    for event in events:
        holds(event["event_ticker"].startswith(event["series_ticker"] + "-"), f"{event!r}")
        for market in event["markets"]:
            holds(market["ticker"].startswith(event["event_ticker"] + "-"), market["ticker"])
            same(market["event_ticker"], event["event_ticker"])


@check()
def check_an_event_ticker_is_its_series_and_the_quarter_it_resolves_in(bench: Bench) -> None:
    """Ticker structure | event: <series>-<YY>Q<n>, quarter-granular.
    Event | Required: event_ticker, series_ticker, title, category, status,
    mutually_exclusive, resolution_date, markets.
    """
    quarter = this_quarter(ahead=1)
    event = bench.event(bench.scratch_company, quarter=quarter, mutually_exclusive=True)
    shown = bench.event_shown(event)
    same(shown["event_ticker"], f"{event['series_ticker']}-{quarter}")
    same(shown["mutually_exclusive"], True)
    same((shown["category"], shown["status"]), ("valuation", "open"))
    holds(event["series_ticker"] in shown["title"], shown["title"])
    year, month = shown["resolution_date"][2:4], int(shown["resolution_date"][5:7])
    same(f"{year}Q{(month + 2) // 3}", quarter)


@check()
def check_a_rung_is_named_by_its_strike_and_a_binary_market_by_yes(bench: Bench) -> None:
    """Ticker structure | market (ladder rung): <event>-<strike>.
    Ticker structure | market (binary): <event>-YES.
    Market | strike_value: present on every ladder rung, absent on binary markets.
    """
    ladder, single = bench.event(bench.scratch_company), bench.event(bench.scratch_company)
    rung, binary = bench.rung(ladder, "7B"), bench.rung(single, "YES")
    same(rung["ticker"], ladder["event_ticker"] + "-7B")
    same(rung["strike_value"], "7")
    same(binary["ticker"], single["event_ticker"] + "-YES")
    holds("strike_value" not in binary, f"{binary!r}")


@check()
def check_dots_in_a_ticker_are_significant(bench: Bench) -> None:
    """Ticker structure | Strike labels may contain dots; 212.5B and 2125B are different rungs.
    Ticker structure | Dots are never stripped from a ticker.
    """
    event = bench.event(bench.scratch_company)
    rungs = [bench.rung(event, label) for label in ("212.5B", "2125B", "21.25B")]
    same(len({rung["market_id"] for rung in rungs}), 3)
    for rung, strike in zip(rungs, ("212.5", "2125", "21.25"), strict=True):
        same(bench.anna.get(f"/markets/{rung['ticker']}/snapshot")["market"], rung)
        same(rung["strike_value"], strike)


@check(needs=Needs.KEY)
def check_tickers_are_case_insensitive_and_a_uuid_does_as_well(bench: Bench) -> None:
    """Ticker structure | Tickers are case-insensitive.
    Ticker structure | Every market_id in a path: ticker or UUID.
    """
    market = bench.some_market
    for name in READS:
        for handle in (market["ticker"].lower(), market["ticker"].title(), market["market_id"]):
            body = bench.anna.get(f"/markets/{handle}/{name}")
            shown = body["market"] if name == "snapshot" else body
            same((shown["ticker"], shown["market_id"]), (market["ticker"], market["market_id"]))


@check()
def check_every_response_that_names_a_market_has_ticker_and_uuid(bench: Bench) -> None:
    """Ticker structure | Every response about a market carries ticker and market_id.
    Ticker structure | Every order and position carries event_ticker.
    Order | Shown: order_id, ticker, market_id, event_ticker, outcome, side, price.
    """
    market = bench.market()
    names = (market["ticker"], market["market_id"], market["event_ticker"])
    order, taken = bench.trade(market, 40, 1, of=2)
    bench.bruno.order_read(taken["order_id"], status="filled")
    bench.bruno.balance()
    path = f"/markets/{market['ticker']}"
    shown = [order, taken, *bench.anna.get("/orders")["orders"]]
    shown += bench.anna.get("/portfolio/positions")["positions"]
    snapshot = bench.anna.get(path + "/snapshot")
    shown += [*snapshot["positions"], *snapshot["resting_orders"], snapshot["market"]]
    shown.append(bench.anna.cancelled(order["order_id"])["order"])
    same(len(shown), 8)
    for row in shown:
        same((row["ticker"], row["market_id"], row["event_ticker"]), names)
    for row in (snapshot["last_trade"], snapshot["orderbook"], bench.anna.get(path + "/candles")):
        same((row["ticker"], row["market_id"]), names[:2])


@check(needs=Needs.KEY)
def check_a_malformed_market_identifier_is_refused_as_such(bench: Bench) -> None:
    """Endpoints | A malformed market_id is 400 invalid_market_identifier."""
    for name in READS:
        for bad in ("a_b", "-a", "a-", "a b", "-", "%C5%BF", "%EF%BC%91", "a%00", "a%25b"):
            holds(not MARKET_PATH.fullmatch(bad), bad)
            found = bench.anna.refusal(f"/markets/{bad}/{name}")
            same(found, "invalid_market_identifier", f"{bad}/{name}")


@check(needs=Needs.KEY)
def check_an_unknown_market_is_not_found(bench: Bench) -> None:
    """Errors | 404 market_not_found: no market, event or series of that name."""
    for name in READS:
        for handle in ("Z", "NOBODY-99Q1-1.5B", "00000000-0000-0000-0000-000000000000", ".a."):
            found = bench.anna.refusal(f"/markets/{handle}/{name}")
            same(found, "market_not_found", f"{handle}/{name}")


@check()
def check_a_series_or_event_ticker_is_no_market(bench: Bench) -> None:
    """Errors | 404 market_not_found: an event instead of a market."""
    event = bench.event(bench.scratch_company)
    bench.rung(event, "1B")
    for handle in (event["event_ticker"], event["series_ticker"]):
        same(bench.anna.refusal(f"/markets/{handle}/snapshot"), "market_not_found", handle)
        found = bench.anna.refused(**buy({"ticker": handle}, price=1, qty=1))
        same(found, "market_not_found", handle)


@check()
def check_a_market_is_named_by_ticker_in_any_case_or_by_uuid_on_create(bench: Bench) -> None:
    """POST /orders | One of ticker or market_id names the market."""
    market = bench.market()
    body = buy(market, price=1, qty=1)
    first = bench.anna.placed(**{**body, "ticker": market["ticker"].lower()})
    del body["ticker"]
    second = bench.anna.placed(**body, market_id=market["market_id"])
    third = bench.anna.placed(**body, market_id=market["market_id"].upper())
    for order in (first, second, third):
        same((order["ticker"], order["market_id"]), (market["ticker"], market["market_id"]))


@check(needs=Needs.KEY)
def check_naming_the_market_twice_conflicts(bench: Bench) -> None:
    """POST /orders | ticker and market_id together are 400 conflicting_identifiers."""
    market = bench.some_market
    found = bench.anna.refused(**buy(market, price=1, qty=1), market_id=market["market_id"])
    same(found, "conflicting_identifiers")


@check(needs=Needs.KEY, readings="S12")
def check_naming_no_market_is_a_bad_body(bench: Bench) -> None:
    """POST /orders | Neither ticker nor market_id is a refusal."""
    body = {"outcome": "yes", "side": "buy", "price": 1, "qty": 1}
    same(bench.anna.refused(**body), "invalid_request_body")


@check(needs=Needs.KEY)
def check_a_malformed_market_in_a_create_is_refused_as_such(bench: Bench) -> None:
    """POST /orders | 400 invalid_market_identifier: malformed market."""
    body = {"outcome": "yes", "side": "buy", "price": 1, "qty": 1}
    for name, value in (("ticker", "a_b"), ("ticker", "-"), ("market_id", "not a uuid")):
        same(bench.anna.refused(**body, **{name: value}), "invalid_market_identifier", value)
    same(bench.anna.refused(**body, ticker="NOBODY-99Q1-1B"), "market_not_found")


@check()
def check_an_event_lists_its_rungs_in_strike_order(bench: Bench) -> None:
    """Event | markets are the rungs, in strike order.
    What the service does | An event is a survival ladder (a market per strike) or one binary
    market.
    """
    event = bench.event(bench.scratch_company)
    for label in ("100B", "20B", "3B", "21.5B", "0.5B"):
        bench.rung(event, label)
    strikes = [row["strike_value"] for row in bench.event_shown(event)["markets"]]
    same(strikes, ["0.5", "3", "20", "21.5", "100"])


@check()
def check_an_event_is_found_by_its_ticker_or_by_its_series(bench: Bench) -> None:
    """GET /events/{event_ticker} | Accepts an event or a series ticker, case-insensitive.
    GET /events/{event_ticker} | Event form: one element; limit and cursor ignored.
    GET /events/{event_ticker} | Series form: every quarter, paged by cursor.
    """
    series = f"{bench.symbol}-ROLL"
    quarters = [this_quarter(ahead) for ahead in range(3)]
    events = [bench.event(bench.scratch_company, series, quarter) for quarter in quarters]
    bench.rung(events[-1], "1.5B")
    for name in (series, series.lower()):
        rows = bench.anna.get(f"/events/{name}")["events"]
        same({row["event_ticker"] for row in rows}, {e["event_ticker"] for e in events})
    walked = bench.anna.walk(f"/events/{series}", "events", limit=1)
    same(sorted(row["event_ticker"] for row in walked), sorted(e["event_ticker"] for e in events))
    bad = bench.anna.refusal(f"/events/{series}", cursor="bogus")
    same(bad, "invalid_cursor", "a bad cursor of the series form")
    one = events[0]["event_ticker"]
    page = bench.anna.get(f"/events/{one.lower()}", limit=0, cursor="bogus")
    same([row["event_ticker"] for row in page["events"]], [one])
    same(page["cursor"], "")


@check(needs=Needs.KEY)
def check_an_unknown_event_or_series_is_not_found(bench: Bench) -> None:
    """GET /events/{event_ticker} | An unknown event or series: 404 market_not_found."""
    for handle in ("NOBODY", "NOBODY-26Q4", "N.O.B"):
        same(bench.anna.refusal(f"/events/{handle}"), "market_not_found", handle)


@check()
def check_dots_in_an_event_path_are_significant(bench: Bench) -> None:
    """GET /events/{event_ticker} | Dots are significant."""
    series = f"{bench.symbol}.X"
    event = bench.event(bench.scratch_company, series)
    bench.anna.get(f"/events/{event['event_ticker']}")
    plain = event["event_ticker"].replace(".", "")
    same(bench.anna.refusal(f"/events/{plain}"), "market_not_found")


@check()
def check_a_ticker_stays_with_its_market(bench: Bench) -> None:
    """Handle rules | ticker is permanent and never reassigned."""
    market = bench.market()
    label = market["ticker"].rpartition("-")[2]
    body = {"event_ticker": market["event_ticker"], "label": label}
    rates = {"maker_fee_rate": "0", "taker_fee_rate": "0"}
    reply = bench.attempt("POST", "/markets", {**body, **rates, "strike_value": "1"})
    holds(reply.status_code >= 400, f"the ticker was given away: {reply.text[:200]}")
    same(bench.shown(market["market_id"])["ticker"], market["ticker"])


@check(needs=Needs.KEY)
def check_an_order_id_that_is_no_number_of_20_digits_is_malformed(bench: Bench) -> None:
    """GET /orders/{order_id} | order_id matches ^[0-9]{1,20}$; else 400 invalid_order_id."""
    for bad in ("abc", "1" * 21, "-1", "1.0", "%EF%BC%91", "1%0A", "%201"):
        for method in ("GET", "PUT", "DELETE"):
            body = {"qty": 1} if method == "PUT" else None
            found = refusal_of(bench.anna.ask(method, f"/orders/{bad}", body))
            same(found, "invalid_order_id", f"{method} {bad}")
    holds(re.fullmatch("[0-9]{1,20}", "1" * 20), "the longest well formed")
    same(bench.anna.refusal("/orders/" + "9" * 20), "order_not_found")
