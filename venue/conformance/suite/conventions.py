"""Checks of the global conventions: numbers, enums, instants, pages, empty and optional things."""

from typing import Final

from venue.conformance.api import buy, fresh_id, refusal_of
from venue.conformance.bench import Bench
from venue.conformance.judge import CODES, DECIMAL, INSTANT, UUID, holds, same
from venue.conformance.registry import Needs, check
from venue.conformance.shapes import EVENT_STATUSES, INTERVALS

LISTS: Final = ("/markets", "/events", "/orders")
NOBODY: Final = "00000000-0000-4000-8000-000000000000"


@check(needs=Needs.KEY)
def check_every_read_answers_200_in_the_shape_of_its_resource(bench: Bench) -> None:
    """Endpoints | Reads and the snapshot succeed with 200."""
    path = f"/markets/{bench.some_market['ticker']}"
    for name in ("", "/snapshot", "/orderbook", "/candles"):
        bench.anna.get(path + name if name else "/markets", limit=5)
    for name in ("/events", "/orders", *_PORTFOLIO):
        bench.anna.get(name)


_PORTFOLIO: Final = ("/portfolio/balance", "/portfolio/positions", "/portfolio/fills")


@check()
def check_every_resource_keeps_the_conventions_after_a_trade(bench: Bench) -> None:
    """Global conventions | Money is integer cents everywhere but in volume_usd.
    Global conventions | volume_usd is a decimal string of dollars.
    Global conventions | Fee rates are decimal strings, fractions, never JSON floats.
    Global conventions | Timestamps are RFC3339 in UTC, suffixed Z.
    """
    market = bench.market()
    _, taken = bench.trade(market, 40, 2, of=3)
    bench.bruno.order_read(taken["order_id"], status="filled")
    bench.bruno.balance()
    path = f"/markets/{market['ticker']}"
    snapshot = bench.anna.get(path + "/snapshot")
    same(snapshot["stats"]["volume_usd"], "0.80", "dollars of 2 shares at 40 cents")
    same(snapshot["market"]["taker_fee_rate"], "0.0175", "taker_fee_rate")
    holds(DECIMAL.fullmatch(snapshot["market"]["maker_fee_rate"]), "maker_fee_rate")
    for name in ("/orderbook", "/candles"):
        bench.anna.get(path + name)
    for name in ("/events", "/orders", "/markets", *_PORTFOLIO):
        bench.anna.get(name, limit=3)


@check()
def check_prices_of_1_and_99_are_accepted(bench: Bench) -> None:
    """Global conventions | Prices are whole cents, 1 to 99."""
    market = bench.market()
    for price in (1, 99):
        order = bench.anna.placed(**buy(market, price=price, qty=1))
        same((order["status"], order["price"]), ("open", price))
        bench.anna.cancelled(order["order_id"])


@check()
def check_an_order_id_is_a_text_of_decimal_digits(bench: Bench) -> None:
    """Global conventions | order_id is a string of 1 to 20 decimal digits."""
    _, order = bench.resting(price=1, qty=1)
    read = bench.anna.order_read(order["order_id"], status="open")
    same(read["order_id"], order["order_id"])


@check(readings="S15")
def check_an_order_id_may_exceed_2_to_the_53(bench: Bench) -> None:
    """Global conventions | order_id may exceed 2^53."""
    market = bench.market()
    ids = [bench.anna.placed(**buy(market, price=1, qty=1))["order_id"] for _ in range(12)]
    holds(max(map(int, ids)) > 2**53, f"order ids {ids}")
    same([str(int(order_id)) for order_id in ids], ids, "ids without leading zeros")
    same(len(set(ids)), len(ids), "distinct ids")


@check()
def check_request_enums_are_taken_in_any_case_and_answered_in_lower_case(bench: Bench) -> None:
    """Global conventions | Requests accept enums case-insensitively; responses emit lower case."""
    order = bench.anna.placed(
        **{**buy(bench.market(), "YES", 5, 1), "side": "Buy", "time_in_force": "GtC"}
    )
    same((order["outcome"], order["side"], order["time_in_force"]), ("yes", "buy", "gtc"))


@check(needs=Needs.KEY)
def check_query_enums_are_taken_in_any_case(bench: Bench) -> None:
    """Global conventions | Query enums are case-insensitive too."""
    path = f"/markets/{bench.some_market['ticker']}/candles"
    for interval in INTERVALS:
        same(bench.anna.get(path, interval=interval.upper())["interval"], interval)
    bench.anna.get("/orders", status="Resting,FILLED")


@check(needs=Needs.KEY)
def check_a_refused_enum_of_a_create_lists_what_is_accepted(bench: Bench) -> None:
    """Global conventions | A rejected value: 400 invalid_enum_value, whose message lists the
    accepted ones.
    """
    market = bench.some_market
    sets = {"outcome": ("yes", "no"), "side": ("buy", "sell"), "time_in_force": TIMES}
    for field, accepted in sets.items():
        reply = bench.anna.place(**{**buy(market, price=1, qty=1), field: "maybe"})
        same(refusal_of(reply), "invalid_enum_value", field)
        missing = [word for word in accepted if word not in reply.json()["error"]]
        same(missing, [], f"accepted values of {field} that the message leaves out")


TIMES: Final = ("gtc", "ioc", "fok")


@check(needs=Needs.KEY)
def check_unknown_is_no_value_to_send(bench: Bench) -> None:
    """Order | unknown appears only for a stored value; a request cannot send it."""
    market = bench.some_market
    for field in ("outcome", "side", "time_in_force"):
        body = {**buy(market, price=1, qty=1), field: "unknown"}
        same(bench.anna.refused(**body), "invalid_enum_value", field)


@check(needs=Needs.KEY)
def check_a_refused_query_enum_lists_what_is_accepted(bench: Bench) -> None:
    """Global conventions | A rejected query enum names its set."""
    candles = f"/markets/{bench.some_market['ticker']}/candles"
    groups = ("resting", "filled", "canceled", "all", "open", "partially_filled", "expired")
    for path, field, value, accepted in (
        ("/orders", "status", "working", groups),
        ("/orders", "status", "open,working", groups),
        (candles, "interval", "2h", INTERVALS),
    ):
        reply = bench.anna.ask("GET", path, params={field: value})
        same(refusal_of(reply), "invalid_enum_value", f"{field}={value}")
        missing = [word for word in accepted if word not in reply.json()["error"]]
        same(missing, [], f"accepted values of {field} that the message leaves out")


@check(needs=Needs.KEY, readings="S2")
def check_a_refused_event_status_lists_what_is_accepted(bench: Bench) -> None:
    """GET /events | An unknown lifecycle state is 400 naming the set."""
    reply = bench.anna.ask("GET", "/events", params={"status": "running"})
    same(refusal_of(reply), "invalid_enum_value")
    holds(all(word in reply.json()["error"] for word in EVENT_STATUSES), reply.text)


@check()
def check_instants_have_nanoseconds(bench: Bench) -> None:
    """Global conventions | Timestamps have nanosecond precision."""
    market = bench.market()
    order, taken = bench.trade(market, 40, 2, of=3)
    bench.bruno.order_read(taken["order_id"], status="filled")
    bench.bruno.balance()
    path = f"/markets/{market['ticker']}"
    snapshot = bench.anna.get(path + "/snapshot")
    event = bench.event_shown(market)
    rows = [market, order, snapshot["market"], snapshot["last_trade"], *snapshot["resting_orders"]]
    rows += [*event["markets"], *bench.anna.get("/orders")["orders"]]
    instants = [row[name] for row in rows for name in ("created_at", "updated_at") if name in row]
    instants += [event["resolution_date"], snapshot["orderbook"]["as_of"]]
    instants += [row["timestamp"] for row in bench.anna.get(path + "/candles")["candles"]]
    for value in instants:
        holds(INSTANT.fullmatch(value), value)


@check(needs=Needs.KEY)
def check_a_limit_outside_its_range_is_clamped(bench: Bench) -> None:
    """Global conventions | limit outside 1 to 1000 is clamped, never rejected."""
    for path, name in (("/markets", "markets"), ("/events", "events")):
        for limit in ("0", "-5", "1"):
            same(len(bench.anna.get(path, limit=limit)[name]), 1, f"{path} limit {limit}")
        most = [len(bench.anna.get(path, limit=limit)[name]) for limit in (1000, 1001, 999999)]
        same(len(set(most)), 1, f"{path}, rows at limits 1000, 1001 and 999999: {most}")


@check()
def check_the_default_page_size_is_100_and_a_walk_lists_every_market_once(bench: Bench) -> None:
    """Global conventions | The default limit is 100.
    Global conventions | The cursor is opaque, and empty on the last page.
    GET /markets | Without a filter: the full active catalog, cursor-paged.
    """
    bench.markets(101)
    page = bench.anna.get("/markets")
    same(len(page["markets"]), 100)
    holds(page["cursor"], "a first page of 100 has a cursor")
    ids = [row["market_id"] for row in bench.anna.walk("/markets", "markets", limit=37)]
    same(len(set(ids)), len(ids), "markets listed twice")
    at_once = bench.anna.walk("/markets", "markets", limit=1000)
    same(ids, [row["market_id"] for row in at_once], "two walks")


@check(needs=Needs.KEY)
def check_a_cursor_the_service_did_not_issue_is_refused(bench: Bench) -> None:
    """Global conventions | A cursor not issued by the service: 400 invalid_cursor.
    Global conventions | A bad cursor never restarts from page one.
    """
    for path in (*LISTS, "/portfolio/positions", "/portfolio/fills"):
        for cursor in ("bogus", "0", "AAAA", "%00", "é", "a" * 500):
            same(bench.anna.refusal(path, cursor=cursor), "invalid_cursor", path + cursor)


@check()
def check_a_cursor_with_any_character_changed_is_refused(bench: Bench) -> None:
    """Global conventions | A constructed or changed cursor: invalid_cursor."""
    bench.markets(2)
    cursor = bench.anna.get("/markets", limit=1)["cursor"]
    holds(cursor, "a first page of several has a cursor")
    for place in range(0, len(cursor), 5):
        other = "A" if cursor[place] != "A" else "B"
        changed = cursor[:place] + other + cursor[place + 1 :]
        same(
            bench.anna.refusal("/markets", limit=1, cursor=changed),
            "invalid_cursor",
            f"character {place} changed",
        )


@check(readings="S37")
def check_a_cursor_is_bound_to_its_list_its_filters_and_its_user(bench: Bench) -> None:
    """Global conventions | A cursor of another list, filter or user: not issued."""
    market = bench.market()
    ids = [bench.anna.placed(**buy(market, price=1, qty=1))["order_id"] for _ in range(3)]
    bench.anna.order_read(ids[-1], status="open")
    cursor = bench.anna.get("/orders", limit=1)["cursor"]
    same(bench.bruno.refusal("/orders", cursor=cursor), "invalid_cursor", "another user")
    for path in ("/markets", "/events", "/portfolio/fills"):
        same(bench.anna.refusal(path, cursor=cursor), "invalid_cursor", path)
    filtered = bench.anna.refusal("/orders", cursor=cursor, status="open")
    same(filtered, "invalid_cursor", "another filter")


@check(needs=Needs.KEY, readings="S36")
def check_a_limit_that_is_no_integer_is_invalid(bench: Bench) -> None:
    """Global conventions | limit: a non-integer is invalid_parameter, a huge one is clamped."""
    for limit in ("ten", "1.5", "", "１０", "0x10"):
        same(bench.anna.refusal("/markets", limit=limit), "invalid_parameter", limit)
    bench.anna.get("/markets", limit="9" * 40)


@check()
def check_collections_without_rows_are_empty_arrays(bench: Bench) -> None:
    """Global conventions | Empty collections are always [] and never null."""
    ticker = bench.market()["ticker"]
    anna = bench.anna
    same(anna.get("/orders"), {"orders": [], "cursor": ""})
    same(anna.get("/portfolio/positions")["positions"], [])
    same(anna.get("/portfolio/fills")["fills"], [])
    same(anna.get(f"/markets/{ticker}/candles")["candles"], [])
    book = anna.get(f"/markets/{ticker}/orderbook")
    same((book["bids"], book["asks"]), ([], []))
    snapshot = anna.get(f"/markets/{ticker}/snapshot")
    same((snapshot["positions"], snapshot["resting_orders"]), ([], []))
    same(anna.get("/markets", q="zzzzzz"), {"markets": [], "cursor": ""})


@check(readings="S6")
def check_a_market_without_trades_lists_none(bench: Bench) -> None:
    """Global conventions | trades is [] when there are none."""
    ticker = bench.market()["ticker"]
    same(bench.anna.get(f"/markets/{ticker}/trades"), {"trades": [], "cursor": ""})


@check()
def check_an_absent_optional_field_is_left_out(bench: Bench) -> None:
    """Global conventions | An absent optional field is omitted, not null.
    Market | description, strike_unit and strike_value are optional.
    Event | sub_title and resolution_source are optional.
    """
    event = bench.event(bench.scratch_company)
    bare = bench.rung(event, "1B")
    full = bench.rung(event, "2B", description="What it is", strike_unit="USD billions")
    holds(not {"description", "strike_unit", "last_price"} & bare.keys(), f"{bare!r}")
    same((full["description"], full["strike_unit"]), ("What it is", "USD billions"))
    shown = bench.event_shown(event)
    holds(not {"sub_title", "resolution_source"} & shown.keys(), f"{shown!r}")
    given = {"sub_title": "A line", "resolution_source": "A register"}
    other = bench.event_shown(bench.event(bench.scratch_company, **given))
    same({name: other[name] for name in given}, given)


@check(needs=Needs.KEY, readings="S49")
def check_an_unknown_path_or_method_is_answered_in_the_error_shape(bench: Bench) -> None:
    """Error body | An unknown path or method has the Error shape too."""
    for method, path in (("GET", "/nothing"), ("PATCH", "/orders"), ("DELETE", "/markets")):
        same(refusal_of(bench.anna.ask(method, path)), "market_not_found", path)


@check(needs=Needs.KEY, readings="S36")
def check_a_query_parameter_sent_twice_is_refused(bench: Bench) -> None:
    """Errors | 400 invalid_parameter: a malformed query, such as one parameter twice."""
    reply = bench.anna.ask("GET", "/markets", params=[("limit", "1"), ("limit", "2")])
    same(refusal_of(reply), "invalid_parameter")


@check(needs=Needs.KEY)
def check_every_failure_has_the_error_shape(bench: Bench) -> None:
    """Error body | Always: code of the closed set, and a free text.
    Error body | details is a string, usually absent.
    """
    market = bench.some_market
    replies = [
        bench.anna.ask("GET", "/markets", params={"q": "x"}),
        bench.anna.ask("GET", "/orders/abc"),
        bench.anna.ask("GET", "/orders/1"),
        bench.anna.ask("GET", f"/markets/{NOBODY}/snapshot"),
        bench.anna.ask("GET", "/markets", headers={}),
        bench.anna.place(**buy(market, price=100)),
    ]
    statuses = [reply.status_code for reply in replies]
    same(statuses, [400, 400, 404, 404, 401, 400])
    holds(all(reply.json()["error"] for reply in replies), "an empty error text")


@check(needs=Needs.KEY)
def check_client_order_ids_have_1_to_64_printable_characters(bench: Bench) -> None:
    """POST /orders | client_order_id: 1 to 64 printable ASCII characters."""
    market = bench.some_market
    stem = f"{bench.run_id}{fresh_id()}!~"
    longest = stem.ljust(64, "x")
    order = bench.anna.placed(**buy(market, price=1, qty=1), client_order_id=longest)
    bench.anna.cancelled(order["order_id"])
    same(order["client_order_id"], longest)
    for bad in ("", longest + "x", "tab\t", "naïve", "\x7f"):
        code = bench.anna.refused(**buy(market, price=1, qty=1), client_order_id=bad)
        holds(code in CODES[400], f"client_order_id {bad!r}: {code}")


@check(readings="S45")
def check_client_order_ids_may_have_spaces_and_case_matters(bench: Bench) -> None:
    """POST /orders | Case of client_order_id matters; the space is printable."""
    market = bench.market()
    names = ["a b", "A b", "A B", " "]
    ids = {
        bench.anna.placed(**buy(market, price=1, qty=1), client_order_id=name)["order_id"]
        for name in names
    }
    same(len(ids), len(names), "four ids, four orders")


@check(needs=Needs.KEY)
def check_ids_of_markets_events_and_companies_are_uuids(bench: Bench) -> None:
    """Market | market_id, project_market_id and project_id are UUIDs."""
    events = bench.anna.get("/events", limit=5)["events"]
    holds(events, "no event is listed")
    for event in events:
        for value in (event["project_id"], event["project_market_id"]):
            holds(UUID.fullmatch(value), value)
        for market in event["markets"]:
            holds(UUID.fullmatch(market["market_id"]), market["market_id"])
            same(market["project_market_id"], event["project_market_id"])
