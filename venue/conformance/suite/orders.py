"""Checks of what one does with an order once it is there: read, list, amend, cancel."""

from venue.conformance.api import buy, refusal_of, sell
from venue.conformance.bench import Bench
from venue.conformance.judge import CODES, holds, same
from venue.conformance.registry import Needs, check


@check()
def check_the_order_list_filters_by_status_groups_and_statuses(bench: Bench) -> None:
    """GET /orders | status: groups and statuses, comma-separated; default all.
    Order status | Groups: resting = accepted, open, partially_filled; canceled = canceled, expired.
    GET /orders | Newest first.
    """
    market, gone = bench.markets(2)
    anna = bench.anna
    expired = anna.placed(**buy(gone, "yes", 5, 1))["order_id"]
    bench.set_market(gone, "resolve", winner="no")
    ids = {"open": anna.placed(**buy(market, "yes", 10, 2))["order_id"], "expired": expired}
    ids["partially_filled"] = anna.placed(**buy(market, "yes", 40, 5))["order_id"]
    bench.bruno.placed(**buy(market, "no", 60, 3))
    ids["filled"] = anna.placed(**buy(market, "yes", 45, 1))["order_id"]
    bench.bruno.placed(**buy(market, "no", 55, 1))
    ids["canceled"] = anna.placed(**buy(market, "yes", 5, 1, time_in_force="ioc"))["order_id"]
    anna.order_read(ids["canceled"], status="canceled")
    anna.order_read(ids["filled"], status="filled")
    wanted = {
        "resting": ["open", "partially_filled"],
        "OPEN": ["open"],
        "partially_filled": ["partially_filled"],
        "filled": ["filled"],
        "canceled": ["canceled", "expired"],
        "expired": ["expired"],
        "open,filled": ["open", "filled"],
        "resting,Canceled": ["open", "partially_filled", "canceled", "expired"],
        "all": list(ids),
        "accepted": [],
    }
    for status, names in wanted.items():
        rows = anna.get("/orders", status=status)["orders"]
        same({row["order_id"] for row in rows}, {ids[name] for name in names}, status)
    rows = anna.get("/orders")["orders"]
    newest = [ids[name] for name in ("canceled", "filled", "partially_filled", "open", "expired")]
    same([row["order_id"] for row in rows], newest, "newest first")


@check()
def check_the_order_list_filters_by_market(bench: Bench) -> None:
    """GET /orders | ticker: one market, by ticker or UUID.
    GET /orders | Lists the caller's orders only.
    """
    first, second = bench.markets(2)
    order = bench.anna.placed(**buy(first, price=1, qty=1))
    bench.anna.placed(**buy(second, price=1, qty=1))
    bench.bruno.placed(**buy(first, price=1, qty=1))
    bench.anna.rows("/orders", "orders", 2)
    for handle in (first["ticker"], first["ticker"].lower(), first["market_id"]):
        rows = bench.anna.get("/orders", ticker=handle)["orders"]
        same([row["order_id"] for row in rows], [order["order_id"]], handle)


@check(needs=Needs.KEY)
def check_an_unknown_market_filter_is_400_not_an_empty_page(bench: Bench) -> None:
    """GET /orders | An unknown ticker is 400, not an empty page."""
    for handle in ("NOBODY", "a_b", "00000000-0000-4000-8000-000000000000"):
        code = bench.anna.refusal("/orders", ticker=handle)
        holds(code in CODES[400], f"{handle}: {code}")


@check(readings="S3")
def check_the_order_list_filters_by_event(bench: Bench) -> None:
    """GET /orders | Event scope: every market under one event.
    GET /orders | An unknown event: 400; with ticker: 400 conflicting_identifiers.
    """
    markets = bench.markets(2)
    for market in [*markets, bench.market()]:
        bench.anna.placed(**buy(market, price=1, qty=1))
    event = markets[0]["event_ticker"]
    rows = bench.anna.rows("/orders", "orders", 2, event_ticker=event.lower())
    same({row["ticker"] for row in rows}, {market["ticker"] for market in markets})
    both = bench.anna.refusal("/orders", event_ticker=event, ticker=markets[0]["ticker"])
    same(both, "conflicting_identifiers")
    same(bench.anna.refusal("/orders", event_ticker="NOBODY"), "invalid_parameter")
    same(bench.anna.refusal("/orders", ticker="NOBODY"), "invalid_parameter")
    same(bench.anna.refusal("/orders", ticker="a_b"), "invalid_market_identifier")


@check()
def check_a_walk_over_orders_is_stable_while_new_ones_arrive(bench: Bench) -> None:
    """GET /orders | Keyset-paged: new orders neither repeat nor displace rows of a walk."""
    market = bench.market()
    ids = [bench.anna.placed(**buy(market, price=1, qty=1))["order_id"] for _ in range(9)]
    bench.anna.order_read(ids[-1], status="open")
    page = bench.anna.get("/orders", limit=4)
    seen = [row["order_id"] for row in page["orders"]]
    while page["cursor"]:
        bench.anna.placed(**buy(market, price=1, qty=1))
        page = bench.anna.get("/orders", limit=4, cursor=page["cursor"])
        seen += [row["order_id"] for row in page["orders"]]
    same(seen, ids[::-1])


@check()
def check_a_page_of_orders_has_100_rows_by_default_and_1000_at_most(bench: Bench) -> None:
    """Global conventions | The default limit is 100; a page has at most 1000 rows."""
    market, caller = bench.market(), bench.trader()
    more = {"time_in_force": "ioc"}
    ids = [caller.placed(**buy(market, "yes", 1, 1, **more))["order_id"] for _ in range(1001)]
    caller.order_read(ids[-1], status="canceled")
    for params, rows in (({}, 100), ({"limit": 1001}, 1000), ({"limit": 0}, 1)):
        page = caller.get("/orders", **params)
        same(len(page["orders"]), rows, f"rows with {params}")
        holds(page["cursor"], f"a page of {rows} of 1001 has a cursor")
    walked = [row["order_id"] for row in caller.walk("/orders", "orders", limit=999999)]
    same(walked, ids[::-1], "a walk over 1001 orders")


@check(needs=Needs.KEYS)
def check_another_users_order_looks_like_no_order(bench: Bench) -> None:
    """GET /orders/{order_id} | 404 order_not_found (GET, PUT, DELETE): no such order, or someone
    else's.
    """
    order = bench.anna.placed(**buy(bench.some_market, price=1, qty=1))
    bench.anna.order_read(order["order_id"], status="open")
    for method, body in (("GET", None), ("PUT", {"qty": 1}), ("DELETE", None)):
        theirs = bench.bruno.ask(method, f"/orders/{order['order_id']}", body)
        nobodys = bench.bruno.ask(method, "/orders/1", body)
        same(refusal_of(theirs), "order_not_found", method)
        same(theirs.json(), nobodys.json(), f"{method}: hers and nobody's")
    same(bench.anna.order_read(order["order_id"])["status"], "open")
    bench.anna.cancelled(order["order_id"])


@check()
def check_price_and_sizes_of_an_order_are_its_own_outcomes(bench: Bench) -> None:
    """Order | price: limit in cents for the order's own outcome.
    Order | qty: original size in shares; remaining_qty and filled_qty split it.
    Order | A read has the create's status, side, outcome, time_in_force.
    """
    market, order = bench.resting("no", 65, 9)
    bench.bruno.placed(**buy(market, "yes", 35, 4))
    read = bench.anna.order_read(order["order_id"], filled_qty=4)
    fields = ("outcome", "side", "price", "qty", "remaining_qty", "status", "time_in_force")
    wanted = ("no", "buy", 65, 9, 5, "partially_filled", "gtc")
    same(tuple(read[name] for name in fields), wanted)


@check()
def check_an_amend_changes_price_or_size_and_leaves_the_rest(bench: Bench) -> None:
    """PUT /orders/{order_id} | Amends a resting order's price and/or remaining size.
    PUT /orders/{order_id} | Omitted fields keep their value; others are ignored.
    """
    order = bench.anna.placed(**buy(bench.market(), "yes", 40, 10))
    amended = bench.anna.amended(order["order_id"], price=41)
    same((amended["price"], amended["remaining_qty"]), (41, 10))
    more = {"side": "sell", "outcome": "no", "ticker": "X", "colour": 1}
    amended = bench.anna.amended(order["order_id"], qty=7, **more)
    same((amended["price"], amended["remaining_qty"]), (41, 7))
    same((amended["side"], amended["outcome"], amended["status"]), ("buy", "yes", "open"))
    amended = bench.anna.amended(order["order_id"], price=39, qty=3)
    same((amended["price"], amended["remaining_qty"]), (39, 3))


@check(readings="S13")
def check_an_amended_qty_is_the_new_remaining_size(bench: Bench) -> None:
    """PUT /orders/{order_id} | qty is the new remaining size; order_id stays.
    PUT /orders/{order_id} | An amend to a crossing price trades at once.
    """
    market = bench.market()
    order, _ = bench.trade(market, 40, 4, of=10)
    amended = bench.anna.amended(order["order_id"], qty=3)
    same([amended[name] for name in ("remaining_qty", "filled_qty", "qty")], [3, 4, 7])
    same((amended["status"], amended["order_id"]), ("partially_filled", order["order_id"]))
    bench.bruno.placed(**buy(market, "no", 50, 2))
    amended = bench.anna.amended(order["order_id"], price=55)
    same((amended["filled_qty"], amended["remaining_qty"]), (6, 1))


@check()
def check_an_amend_to_a_crossing_price_says_what_matching_did(bench: Bench) -> None:
    """PUT /orders/{order_id} | Matching precedes an amend's response: the engine's
    filled_qty, remaining_qty, status.
    """
    market, _ = bench.resting("yes", 40, 4)
    for qty, price, wanted in ((3, 60, ("filled", 3, 0)), (2, 65, ("partially_filled", 1, 1))):
        order = bench.bruno.placed(**buy(market, "no", 50, qty))
        amended = bench.bruno.amended(order["order_id"], price=price)
        same(tuple(amended[name] for name in ("status", "filled_qty", "remaining_qty")), wanted)


@check()
def check_a_place_is_kept_unless_the_price_changes_or_the_size_rises(bench: Bench) -> None:
    """PUT /orders/{order_id} | Queue priority is kept only at the same price without more qty.
    PUT /orders/{order_id} | A price change or size increase goes to the back.
    """
    for changes, kept in (
        ([{"qty": 4}], True),
        ([{"qty": 5}], True),
        ([{"price": 40}], True),
        ([{"qty": 6}], False),
        ([{"price": 39}, {"price": 40}], False),
        ([{"qty": 3}, {"qty": 5}], False),
    ):
        market, first = bench.resting("yes", 40, 5)
        second = bench.clara.placed(**buy(market, "yes", 40, 5))
        for change in changes:
            bench.anna.amended(first["order_id"], **change)
        bench.bruno.placed(**buy(market, "no", 60, 1))
        ahead, behind = (bench.anna, first), (bench.clara, second)
        if not kept:
            ahead, behind = behind, ahead
        ahead[0].order_read(ahead[1]["order_id"], filled_qty=1)
        behind[0].order_read(behind[1]["order_id"], filled_qty=0)


@check()
def check_a_cancel_reports_what_it_removed(bench: Bench) -> None:
    """DELETE /orders/{order_id} | reduced_by: by the engine; smaller after a fill.
    Order status | cancel with working quantity: canceled; reserve released.
    """
    market = bench.market()
    before = bench.anna.balance()
    order = bench.anna.placed(**buy(market, "yes", 40, 10))
    whole = bench.anna.cancelled(order["order_id"])
    same(whole["reduced_by"], 10)
    same(bench.anna.balance(), before, "the balance after a cancel")
    order, _ = bench.trade(market, 40, 4, of=10)
    same(bench.anna.cancelled(order["order_id"])["reduced_by"], 6, "reduced_by")
    read = bench.anna.order_read(order["order_id"], status="canceled")
    same((read["filled_qty"], read["reserved_cents"]), (4, 0))


@check(readings="S31")
def check_a_second_cancel_removes_nothing(bench: Bench) -> None:
    """DELETE /orders/{order_id} | reduced_by is 0 on an idempotent duplicate."""
    order = bench.anna.placed(**buy(bench.market(), "yes", 40, 10))
    bench.anna.cancelled(order["order_id"])
    for _ in range(2):
        again = bench.anna.cancelled(order["order_id"])
        same((again["reduced_by"], again["order"]["status"]), (0, "canceled"))


@check()
def check_filled_qty_of_a_cancel_is_a_floor(bench: Bench) -> None:
    """DELETE /orders/{order_id} | order.filled_qty: from the projection, a floor."""
    market, order = bench.resting("yes", 40, 10)
    bench.anna.order_read(order["order_id"], status="open")
    bench.bruno.balance()
    with bench.projection(300):
        bench.bruno.placed(**buy(market, "no", 60, 4))
        body = bench.anna.cancelled(order["order_id"])
        same(body["reduced_by"], 6, "reduced_by is the engine's")
        holds(body["order"]["filled_qty"] <= 4, f"filled_qty {body['order']['filled_qty']} of 4")
    same(bench.anna.order_read(order["order_id"], status="canceled")["filled_qty"], 4)


@check()
def check_a_filled_order_can_be_cancelled_no_more(bench: Bench) -> None:
    """Order status | cancel of a filled order: 422 order_not_cancelable.
    Order status | filled: fully traded, terminal.
    """
    market = bench.market()
    order, _ = bench.trade(market, 40, 4)
    same(refusal_of(bench.anna.cancel(order["order_id"])), "order_not_cancelable")
    same(bench.anna.order_read(order["order_id"], filled_qty=4)["status"], "filled")


@check(readings="S43")
def check_a_finished_order_can_be_amended_no_more(bench: Bench) -> None:
    """PUT /orders/{order_id} | An amend of a finished order: 422 order_not_cancelable."""
    market = bench.market()
    filled, _ = bench.trade(market, 40, 4)
    ended = bench.anna.placed(**buy(market, "yes", 40, 4))
    bench.anna.cancelled(ended["order_id"])
    for order in (filled, ended):
        same(refusal_of(bench.anna.amend(order["order_id"], qty=1)), "order_not_cancelable")


@check()
def check_cancelling_a_sale_frees_its_shares(bench: Bench) -> None:
    """DELETE /orders/{order_id} | A cancelled sale frees its committed shares."""
    market = bench.market()
    bench.trade(market, 50, 3)
    first = bench.anna.placed(**sell(market, "yes", 90, 3))
    same(bench.anna.refused(**sell(market, "yes", 90, 1)), "insufficient_shares")
    bench.anna.cancelled(first["order_id"])
    same(bench.anna.placed(**sell(market, "yes", 90, 3))["status"], "open")


@check()
def check_an_amend_offers_no_more_than_is_held(bench: Bench) -> None:
    """PUT /orders/{order_id} | A sale beyond the shares held: 422 insufficient_shares, order
    unchanged.
    """
    market = bench.market()
    bench.trade(market, 50, 5)
    sale = bench.anna.placed(**sell(market, "yes", 90, 2))
    bench.anna.placed(**sell(market, "yes", 95, 1))
    for changes in ({"qty": 5}, {"qty": 5, "price": 91}):
        found = refusal_of(bench.anna.amend(sale["order_id"], **changes))
        same(found, "insufficient_shares", f"{changes} with 4 shares left to it")
    read = bench.anna.order_read(sale["order_id"], status="open")
    same((read["price"], read["remaining_qty"]), (90, 2), "the sale after that")
    same(bench.anna.amended(sale["order_id"], qty=4)["remaining_qty"], 4)


def _traded_elsewhere(bench: Bench) -> None:
    """A share of anna's and one of bruno's in a market of another event: filters leave it out."""
    (other,) = bench.markets(1)
    bench.trade(other, 30, 1)


@check(readings="S4 S6")
def check_fills_say_who_traded_what_at_which_price_and_fee(bench: Bench) -> None:
    """Fill | Both prices, size, fee, liquidity and the ids of order and print.
    GET /portfolio/positions and GET /portfolio/fills | fills: newest first, paged, by ticker,
    event_ticker or order_id.
    """
    market = bench.market()
    _traded_elsewhere(bench)
    bench.anna.placed(**buy(market, "yes", 40, 10))
    orders = [bench.bruno.placed(**buy(market, "no", 65, qty)) for qty in (4, 1)]
    rows = bench.bruno.rows("/portfolio/fills", "fills", 2, ticker=market["ticker"])
    same([row["qty"] for row in rows], [1, 4], "newest first")
    fields = ["outcome_price", "trade_price", "order_id", "liquidity", "outcome", "side"]
    wanted = [60, 40, orders[0]["order_id"], "taker", "no", "buy"]
    for name in ("ticker", "market_id", "event_ticker"):
        fields.append(name)
        wanted.append(market[name])
    same([rows[1][name] for name in fields], wanted)
    # 0.0175 x 4 x 0.6 x 0.4 dollars = 1.68 cents as taker; the maker's 0.0100 makes 0.96 cents.
    same(rows[1]["fee_cents"], 2)
    makers = bench.anna.get("/portfolio/fills", ticker=market["ticker"])["fills"]
    same((makers[1]["liquidity"], makers[1]["fee_cents"]), ("maker", 1))
    same(makers[1]["trade_id"], rows[1]["trade_id"])
    tape = bench.anna.get(f"/markets/{market['ticker']}/trades")["trades"]
    same([row["trade_id"] for row in rows], [row["trade_id"] for row in tape], "ids of the prints")
    same(len({row["fill_id"] for row in rows}), 2, "ids of two fills")
    only = bench.bruno.get("/portfolio/fills", order_id=orders[1]["order_id"])["fills"]
    same(only, rows[:1])
    event = {"event_ticker": market["event_ticker"]}
    same(len(bench.bruno.walk("/portfolio/fills", "fills", limit=1, **event)), 2)


@check(readings="S5")
def check_positions_say_what_the_shares_held_have_cost(bench: Bench) -> None:
    """Position | cost_basis, avg_entry_price and realized_pnl, in cents.
    GET /portfolio/positions and GET /portfolio/fills | positions: by ticker or event_ticker; none
    of 0 shares.
    """
    market = bench.market()
    _traded_elsewhere(bench)
    bench.bruno.placed(**buy(market, "no", 60, 2))
    bench.bruno.placed(**buy(market, "no", 55, 3))
    bench.anna.placed(**buy(market, "yes", 45, 5))
    bench.anna.holdings(market["ticker"])
    (row,) = bench.anna.get("/portfolio/positions", ticker=market["ticker"])["positions"]
    # 2 at 40 and 3 at 45; taker fees of 0.84 + 1.299 cents in one order, ceiled to 3.
    wanted = {"qty": 5, "cost_basis": 215, "avg_entry_price": 43, "realized_pnl": -3}
    same({name: row[name] for name in wanted}, wanted)
    event = {"event_ticker": market["event_ticker"]}
    same(bench.anna.get("/portfolio/positions", **event)["positions"], [row])
    bench.bruno.placed(**buy(market, "no", 54, 1))
    bench.anna.placed(**buy(market, "yes", 46, 1))
    bench.anna.holdings(market["ticker"])
    (row,) = bench.anna.get("/portfolio/positions", ticker=market["ticker"])["positions"]
    same((row["cost_basis"], row["avg_entry_price"]), (261, 44), "261 cents for 6, half up")
    bench.bruno.placed(**sell(market, "no", 40, 6))
    bench.anna.placed(**sell(market, "yes", 60, 6))
    bench.anna.holdings(market["ticker"])
    same(bench.anna.get("/portfolio/positions", **event)["positions"], [], "0 shares held")


@check(needs=Needs.KEY)
def check_a_balance_is_the_sum_of_its_parts(bench: Bench) -> None:
    """Balance | total_cents is the sum of available_cents and reserved_cents.
    GET /portfolio/balance | Returns a Balance.
    """
    body = bench.anna.get("/portfolio/balance")
    same(body["available_cents"] + body["reserved_cents"], body["total_cents"])
