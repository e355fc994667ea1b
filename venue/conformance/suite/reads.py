"""Checks of the market reads: lists, search, books, prints, statistics, candles, snapshots."""

from venue.conformance.api import buy, eventually, sell
from venue.conformance.bench import Bench
from venue.conformance.judge import ZERO_INSTANT, Json, holds, instant_ns, same
from venue.conformance.registry import Needs, check
from venue.conformance.shapes import EVENT_STATUSES

_INTERVALS_S = {"30s": 30, "1m": 60, "1h": 3600, "4h": 14400, "12h": 43200, "1d": 86400}


def _trade(bench: Bench, market: Json, price: int = 40, qty: int = 1) -> None:
    """One print of a market, arrived on the read side."""
    _, taken = bench.trade(market, price, qty)
    bench.bruno.order_read(taken["order_id"], status="filled")
    bench.wait(bench.settle_s)


@check()
def check_the_unfiltered_list_holds_active_markets_and_no_resolved_one(bench: Bench) -> None:
    """GET /markets | Without a filter: no resolved market."""
    active, resolved = bench.markets(2)
    bench.set_market(resolved, "resolve", winner="no")
    ids = {row["market_id"] for row in bench.anna.walk("/markets", "markets", limit=1000)}
    holds(active["market_id"] in ids, "an active market is missing")
    holds(resolved["market_id"] not in ids, "a resolved market is listed")


@check(readings="S34")
def check_the_unfiltered_list_holds_halted_markets_too(bench: Bench) -> None:
    """GET /markets | Active catalog: every unresolved market."""
    market = bench.market()
    bench.set_market(market, "halt")
    ids = {row["market_id"] for row in bench.anna.walk("/markets", "markets", limit=1000)}
    holds(market["market_id"] in ids, "a halted market is missing")


@check()
def check_a_search_is_literal_and_case_insensitive(bench: Bench) -> None:
    """GET /markets | q matches company name, symbol and event title.
    GET /markets | q: prefix of an event or market ticker.
    GET /markets | q is literal (percent and underscore are no wildcards), case-insensitive.
    """
    company = bench.company()
    number = company["name"].rpartition(" ")[2]
    series = f"{bench.symbol}-Q{number}"
    title = f"Sure 100%_true {bench.run_id}{number}x"
    event = bench.event(company, series, title=title)
    rungs = {bench.rung(event, label)["market_id"] for label in ("1B", "2B")}

    def found(term: str) -> set[str]:
        return {row["market_id"] for row in bench.anna.get("/markets", q=term)["markets"]} & rungs

    for term in (company["name"], company["symbol"], title, series, event["event_ticker"]):
        for q in (term, term.lower(), term.upper()):
            same(found(q), rungs, f"q={q}")
    same(len(found(event["event_ticker"] + "-1")), 1, "prefix of a market ticker")
    same(found(f"100%_true {bench.run_id}{number}"), rungs, "percent and underscore")
    for term in ("S%true", "Sure_100", "S__e", series[1:], "%%"):
        same(found(term), set(), f"q={term}")


@check(needs=Needs.KEY)
def check_a_search_term_below_two_characters_is_refused(bench: Bench) -> None:
    """GET /markets | q shorter than 2 characters: 400 invalid_parameter."""
    for q in ("x", "%", "é"):
        same(bench.anna.refusal("/markets", q=q), "invalid_parameter", f"q={q}")


@check(needs=Needs.KEY, readings="S38")
def check_an_empty_search_term_is_too_short(bench: Bench) -> None:
    """GET /markets | An empty q counts as too short."""
    same(bench.anna.refusal("/markets", q=""), "invalid_parameter")


@check()
def check_a_filtered_list_is_one_page_and_filters_are_anded(bench: Bench) -> None:
    """GET /markets | With a filter: the whole matching set in one page, cursor empty.
    GET /markets | series_ticker: every rung of every quarter of a series, case-insensitive.
    GET /markets | project_id: every market for one company.
    GET /markets | Combined filters are ANDed.
    """
    company = bench.company()
    one, two = bench.event(company), bench.event(company)
    first = [bench.rung(one, f"{number}B")["market_id"] for number in (1, 2, 3)]
    second = bench.rung(two, "1B")["market_id"]

    def ids(**filters: str) -> list[str]:
        page = bench.anna.get("/markets", limit=1, **filters)
        same(page["cursor"], "", f"cursor with {filters}")
        return sorted(row["market_id"] for row in page["markets"])

    for name in (one["series_ticker"], one["series_ticker"].lower()):
        same(ids(series_ticker=name), sorted(first))
    same(ids(project_id=company["project_id"]), sorted([*first, second]))
    both = {"project_id": company["project_id"], "series_ticker": two["series_ticker"]}
    same(ids(**both), [second])
    same(ids(**both, q=one["series_ticker"]), [])
    same(ids(q=one["event_ticker"], series_ticker=one["series_ticker"]), sorted(first))


@check(readings="S2")
def check_events_filter_by_series_company_and_status(bench: Bench) -> None:
    """GET /events | Filters: one series (case-insensitive), one company, one lifecycle state.
    Event | project_id identifies the company.
    """
    company = bench.company()
    one, two = bench.event(company), bench.event(company, status="unopened")

    def tickers(**filters: str) -> set[str]:
        rows = bench.anna.walk("/events", "events", **filters)
        return {row["event_ticker"] for row in rows}

    same(tickers(series_ticker=one["series_ticker"].lower()), {one["event_ticker"]})
    both = {one["event_ticker"], two["event_ticker"]}
    same(tickers(project_id=company["project_id"]), both)
    of_company = {"project_id": company["project_id"]}
    rows = bench.anna.walk("/events", "events", **of_company)
    same({row["project_id"] for row in rows}, {company["project_id"]})
    same(tickers(**of_company, status="UNOPENED"), {two["event_ticker"]})
    same(tickers(**of_company, status="open"), {one["event_ticker"]})
    for status in EVENT_STATUSES:
        for row in bench.anna.get("/events", status=status, limit=10)["events"]:
            same(row["status"], status)


@check()
def check_events_page_like_every_list(bench: Bench) -> None:
    """GET /events | limit and cursor page over all events with their rungs."""
    events = [bench.event(bench.scratch_company) for _ in range(3)]
    rung = bench.rung(events[0], "1B")
    walked = [row["event_ticker"] for row in bench.anna.walk("/events", "events", limit=2)]
    same(len(set(walked)), len(walked), "events listed twice")
    whole = [row["event_ticker"] for row in bench.anna.walk("/events", "events", limit=1000)]
    same(walked, whole, "two walks")
    rows = [row for row in bench.anna.walk("/events", "events") if row["markets"]]
    holds(rung in [market for row in rows for market in row["markets"]], "a rung is not listed")


@check()
def check_the_book_is_canonical_best_first_and_added_up_per_price(bench: Bench) -> None:
    """Orderbook | In canonical YES terms: a buy of no at p is an ask at 100-p.
    Orderbook | bids and asks are best first, with price and size in shares.
    Orderbook | Level: price 1 to 99, size in shares.
    """
    market = bench.market()
    _trade(bench, market, 50)
    for price, qty in ((30, 7), (31, 2), (30, 4)):
        bench.anna.placed(**buy(market, "yes", price, qty))
    for price, qty in ((60, 5), (58, 3)):
        bench.bruno.placed(**buy(market, "no", price, qty))
    # The shares of the first trade: an offer of yes at 45, among the mirrored ones.
    bench.anna.placed(**sell(market, "yes", 45, 1))
    path = f"/markets/{market['ticker']}/orderbook"
    book = eventually(lambda: bench.anna.get(path), lambda book: len(book["asks"]) == 3)
    same(book["bids"], [{"price": 31, "size": 2}, {"price": 30, "size": 11}])
    asks = [{"price": 40, "size": 5}, {"price": 42, "size": 3}, {"price": 45, "size": 1}]
    same(book["asks"], asks)
    snapshot = bench.clara.snapshot(market)["orderbook"]
    same((snapshot["bids"], snapshot["asks"]), (book["bids"], book["asks"]))


@check()
def check_as_of_advances_while_trades_print(bench: Bench) -> None:
    """Orderbook | as_of: capture of the depth; advances while trades print."""
    market = bench.market()
    seen = []
    for price in (40, 41, 42):
        _trade(bench, market, price)
        seen.append(bench.anna.get(f"/markets/{market['ticker']}/orderbook")["as_of"])
    same(seen, sorted(set(seen)), "as_of of three books, a trade between each")
    # The instant of the request would be another one at every look.
    looks = {bench.anna.get(f"/markets/{market['ticker']}/orderbook")["as_of"] for _ in range(9)}
    holds(len(looks) < 9, "as_of is another at every look at an unchanged book")


@check()
def check_a_market_that_never_traded_reports_the_zero_instant(bench: Bench) -> None:
    """Orderbook | A never-traded market: zero instant, empty sides."""
    book = bench.anna.get(f"/markets/{bench.market()['ticker']}/orderbook")
    holds(ZERO_INSTANT.fullmatch(book["as_of"]), book["as_of"])
    same((book["bids"], book["asks"]), ([], []))


@check(readings="S28")
def check_a_market_that_never_traded_hides_its_resting_orders(bench: Bench) -> None:
    """Orderbook | Zero instant and empty sides even while orders rest."""
    market, order = bench.resting(price=5, qty=1)
    bench.anna.order_read(order["order_id"], status="open")
    book = bench.anna.get(f"/markets/{market['ticker']}/orderbook")
    holds(ZERO_INSTANT.fullmatch(book["as_of"]), book["as_of"])
    same((book["bids"], book["asks"]), ([], []))
    same(bench.anna.snapshot(market)["orderbook"], book)


@check()
def check_a_market_that_never_traded_has_no_last_price(bench: Bench) -> None:
    """Market | last_price is absent when the market has never traded.
    Snapshot | last_trade: absent if never traded, not zero-valued.
    """
    snapshot = bench.anna.snapshot(bench.market())
    for part in (snapshot["market"], snapshot["stats"]):
        holds("last_price" not in part, f"{part!r}")
    holds("last_trade" not in snapshot, "last_trade of a market without trades")
    same(snapshot["stats"]["open_interest"], 0)
    same(float(snapshot["stats"]["volume_usd"]), 0.0)
    same((snapshot["positions"], snapshot["resting_orders"]), ([], []))


@check()
def check_a_market_carries_its_fields_and_they_change_with_it(bench: Bench) -> None:
    """Market | Every required field is there; state is active, halted or resolved.
    Market | created_at and updated_at are instants.
    """
    market = bench.market(name="A name", outcome_label="A label")
    same((market["name"], market["outcome_label"]), ("A name", "A label"))
    same((market["state"], market["open_interest"]), ("active", 0))
    holds(market["created_at"] <= market["updated_at"], f"{market!r}")
    bench.set_market(market, "halt")
    shown = bench.shown(market["market_id"])
    same(shown["state"], "halted")
    same(shown["created_at"], market["created_at"], "created_at")


@check()
def check_a_market_reads_the_same_in_lists_events_and_its_snapshot(bench: Bench) -> None:
    """Market | open_interest and last_price always equal those of the stats."""
    market = bench.market()
    _trade(bench, market, 30, 2)
    stats = bench.anna.snapshot(market)["stats"]
    wanted = (stats["open_interest"], stats["last_price"])
    same(wanted, (2, 30), "of the stats")

    def rows() -> list[Json]:
        listed = bench.anna.get("/markets", q=market["ticker"])["markets"]
        (event,) = bench.anna.get(f"/events/{market['event_ticker']}")["events"]
        return [r for r in (*listed, *event["markets"]) if r["market_id"] == market["market_id"]]

    def shown() -> list[tuple[object, object]]:
        return [(row["open_interest"], row.get("last_price")) for row in rows()]

    eventually(shown, lambda pairs: pairs == [wanted] * 2)


@check(readings="S46")
def check_prices_of_every_market_run_from_1_to_99_by_1(bench: Bench) -> None:
    """Market | min_price 1, max_price 99, tick_size 1."""
    market = bench.market()
    same([market[name] for name in ("min_price", "max_price", "tick_size")], [1, 99, 1])


@check(readings="S6")
def check_a_print_is_canonical_and_names_nobody(bench: Bench) -> None:
    """MarketTrade (one print on the public tape) | Price in canonical YES cents, the same for both.
    MarketTrade (one print on the public tape) | No counterparty or order identity is published.
    MarketTrade (one print on the public tape) | trade_id is opaque; created_at gives the order.
    """
    market = bench.market()
    for price, qty in ((40, 3), (44, 5), (41, 2)):
        _trade(bench, market, price, qty)
    path = f"/markets/{market['ticker']}"
    rows = bench.clara.get(path + "/trades")["trades"]
    same([(row["price"], row["qty"]) for row in rows], [(41, 2), (44, 5), (40, 3)])
    stamps = [row["created_at"] for row in rows]
    same(stamps, sorted(stamps, reverse=True), "newest first")
    same(len({row["trade_id"] for row in rows}), 3)
    for row in rows:
        same(row.keys(), {"trade_id", "ticker", "market_id", "price", "qty", "created_at"})
    same(bench.clara.get(path + "/snapshot")["last_trade"], rows[0])
    same(len(bench.clara.walk(path + "/trades", "trades", limit=1)), 3)
    middle = rows[1]["created_at"]
    between = bench.clara.get(path + "/trades", from_=middle, to=middle)["trades"]
    holds(between in ([rows[1]], []), f"a window of one instant of the tape: {between!r}")


@check()
def check_the_last_trade_is_told_in_yes_cents_to_everybody(bench: Bench) -> None:
    """MarketTrade (one print on the public tape) | trade_id, ticker, market_id, price, qty,
    created_at.
    MarketStats | last_price is canonical YES cents.
    Snapshot | last_trade is the newest print.
    """
    market = bench.market()
    _trade(bench, market, 30, 2)
    ticker = market["ticker"]
    shown = [who.get(f"/markets/{ticker}/snapshot") for who in (bench.anna, bench.bruno)]
    for snapshot in shown:
        same((snapshot["last_trade"]["price"], snapshot["last_trade"]["qty"]), (30, 2))
        same((snapshot["stats"]["last_price"], snapshot["market"]["last_price"]), (30, 30))
    same(shown[0]["last_trade"], shown[1]["last_trade"])


@check(readings="S41")
def check_the_volume_is_the_notional_of_a_lifetime(bench: Bench) -> None:
    """MarketStats | volume_usd is the lifetime traded notional: qty x canonical YES price."""
    market = bench.market()
    for price, qty in ((40, 3), (44, 5), (99, 1)):
        _trade(bench, market, price, qty)
    stats = bench.anna.snapshot(market)["stats"]
    same(stats["volume_usd"], f"{(40 * 3 + 44 * 5 + 99) / 100:.2f}")


@check()
def check_volume_only_grows_and_has_no_24_hour_figure(bench: Bench) -> None:
    """MarketStats | volume_usd is cumulative; no 24-hour volume field exists."""
    market = bench.market()
    seen = []
    for price in (40, 45, 35):
        _trade(bench, market, price)
        stats = bench.anna.snapshot(market)["stats"]
        seen.append(float(stats["volume_usd"]))
    same(seen, sorted(set(seen)), "volume after each of three trades")


@check()
def check_open_interest_counts_pairs_issued_and_not_retired(bench: Bench) -> None:
    """MarketStats | open_interest: covered YES+NO pairs issued and not yet retired.
    MarketStats | It changes on issuance or retirement, not on transfers between holders.
    """
    market = bench.market()
    ticker = market["ticker"]
    _trade(bench, market, 50, 10)
    same(bench.anna.interest(ticker), 10, "after issuing 10")
    bench.clara.placed(**buy(market, "yes", 55, 4))
    same(bench.anna.placed(**sell(market, "yes", 55, 4))["status"], "filled")
    same(bench.anna.holdings(ticker), {"yes": 6})
    same(bench.anna.interest(ticker), 10, "after a transfer of 4")
    bench.bruno.placed(**sell(market, "no", 45, 3))
    same(bench.anna.placed(**sell(market, "yes", 55, 3))["status"], "filled")
    eventually(lambda: bench.anna.interest(ticker), lambda pairs: pairs == 7)


@check()
def check_candles_cover_the_last_24_hours_unless_told(bench: Bench) -> None:
    """GET /markets/{market_id}/candles | from: default 24 hours before now; to: default now.
    GET /markets/{market_id}/candles | from, to: the window; without trades an empty series.
    """
    market = bench.market()
    _trade(bench, market)
    path = f"/markets/{market['ticker']}/candles"
    whole = bench.anna.get(path, interval="1d")["candles"]
    same(len(whole), 1)
    # Windows far enough apart that nobody's clock matters.
    old, later, never = (f"{year}-01-01T00:00:00Z" for year in (2001, 2002, 2199))
    for window in ({"from_": old}, {"to": never, "from_": old}):
        same(bench.anna.get(path, interval="1d", **window)["candles"], whole, f"{window}")
    same(bench.anna.get(path, from_=old, to=later)["candles"], [])


@check()
def check_candles_of_every_interval_tell_the_tape(bench: Bench) -> None:
    """Candle and candle series | timestamp, open, high, low, close, volume and trade_count.
    Candle and candle series | interval is one of 30s, 1m, 1h, 4h, 12h, 1d.
    GET /markets/{market_id}/candles | Oldest first, built from the tape in canonical YES cents.
    GET /markets/{market_id}/candles | 4h and 12h are aggregated from hourly.
    """
    market = bench.market()
    for price, qty in ((40, 3), (44, 5), (38, 1), (41, 2)):
        _trade(bench, market, price, qty)
    last = bench.anna.snapshot(market)["last_trade"]["created_at"]
    for interval, length_s in _INTERVALS_S.items():
        series = bench.anna.get(f"/markets/{market['ticker']}/candles", interval=interval)
        same(series["interval"], interval)
        rows = series["candles"]
        holds(rows, f"no candle of {interval}")
        # The prints may straddle two buckets; what holds of them together holds all the same.
        same((rows[0]["open"], rows[-1]["close"]), (40, 41), interval)
        same(max(row["high"] for row in rows), 44, interval)
        same(min(row["low"] for row in rows), 38, interval)
        same(sum(row["trade_count"] for row in rows), 4, interval)
        # Whichever end of a bucket it names, it is no further from a print than the bucket is long.
        apart_ns = abs(instant_ns(rows[-1]["timestamp"]) - instant_ns(last))
        holds(apart_ns <= length_s * 10**9, f"{interval} at {rows[-1]['timestamp']} of {last}")


@check(readings="S7")
def check_candles_are_hourly_by_default_and_count_shares(bench: Bench) -> None:
    """GET /markets/{market_id}/candles | The default interval is 1h.
    Candle and candle series | volume is in shares; empty buckets are left out.
    """
    market = bench.market()
    _trade(bench, market, 40, 3)
    series = bench.anna.get(f"/markets/{market['ticker']}/candles")
    same(series["interval"], "1h")
    same([row["volume"] for row in series["candles"]], [3])
    holds(series["candles"][0]["timestamp"][14:19] == "00:00", "a bucket starts on the hour")


@check(needs=Needs.KEY)
def check_a_bad_candle_window_is_refused(bench: Bench) -> None:
    """GET /markets/{market_id}/candles | from after to, or an unparseable timestamp: 400
    invalid_parameter.
    """
    path = f"/markets/{bench.some_market['ticker']}/candles"
    for window in (
        {"from_": "yesterday"},
        {"to": "2026-01-01"},
        {"from_": "2026-01-02T00:00:00Z", "to": "2026-01-01T00:00:00Z"},
        {"from_": "2026-13-01T00:00:00Z"},
        {"to": "2026-01-01T25:00:00Z"},
    ):
        same(bench.anna.refusal(path, **window), "invalid_parameter", f"{window}")


@check()
def check_a_snapshot_holds_the_callers_own_state_and_nobody_elses(bench: Bench) -> None:
    """Snapshot | positions and resting_orders are the caller's own.
    Snapshot | market, orderbook, stats, positions and resting_orders are required.
    GET /markets/{market_id}/snapshot | A snapshot excludes cash and sibling rungs.
    """
    market = bench.market()
    _trade(bench, market, 50, 2)
    order = bench.anna.placed(**buy(market, "yes", 40, 1))
    bench.anna.order_read(order["order_id"], status="open")
    path = f"/markets/{market['ticker']}/snapshot"
    mine, hers = bench.anna.get(path), bench.clara.get(path)
    same([row["order_id"] for row in mine["resting_orders"]], [order["order_id"]])
    same([(row["outcome"], row["qty"]) for row in mine["positions"]], [("yes", 2)])
    same((hers["resting_orders"], hers["positions"]), ([], []))
    # Without these neither cash nor another rung could be recognised; the rest a venue may add.
    holds(not {"balance", "markets", "events"} & mine.keys(), f"{mine.keys()}")


@check()
def check_a_snapshot_lists_every_resting_order(bench: Bench) -> None:
    """Snapshot | resting_orders: all of the resting group, beyond a page too."""
    market = bench.market()
    ids = {bench.anna.placed(**buy(market, "yes", 1, 1))["order_id"] for _ in range(105)}
    path = f"/markets/{market['ticker']}/snapshot"
    resting = bench.anna.rows(path, "resting_orders", len(ids))
    same({row["order_id"] for row in resting}, ids, "resting orders")


@check()
def check_a_sale_that_rests_commits_its_shares_in_the_snapshot(bench: Bench) -> None:
    """Snapshot | A sell's remaining_qty: committed part of a position."""
    market = bench.market()
    _trade(bench, market, 50, 5)
    bench.anna.placed(**sell(market, "yes", 90, 3))

    def shown() -> tuple[list[int], int]:
        body = bench.anna.snapshot(market)
        committed = [row["remaining_qty"] for row in body["resting_orders"]]
        return committed, body["positions"][0]["qty"]

    eventually(shown, lambda now: now == ([3], 5))
    bench.clara.placed(**buy(market, "yes", 90, 1))
    eventually(shown, lambda now: now == ([2], 4))


@check()
def check_reads_may_lag_a_write_and_then_catch_up(bench: Bench) -> None:
    """What the service does | Reads are asynchronous and may briefly lag a write.
    What the service does | Writes are synchronous: the response has the result of matching.
    Order status | accepted is visible on reads only; treat it as open.
    """
    market = bench.market()
    anna = bench.anna
    anna.placed(**buy(market, "yes", 40, 3))
    with bench.projection(400):
        taken = bench.bruno.placed(**buy(market, "no", 60, 2))
        same((taken["status"], taken["filled_qty"]), ("filled", 2), "the reply at once")
        reply = bench.bruno.ask("GET", f"/orders/{taken['order_id']}")
        early = reply.json().get("status", reply.json().get("code"))
        holds(early in ("accepted", "order_not_found", "filled"), f"an early read: {early}")
        read = bench.bruno.order_read(taken["order_id"], status="filled")
        same(read["filled_qty"], 2, "the read in the end")
