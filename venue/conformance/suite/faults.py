"""Checks of the service's own failures: unknown results, an engine away, stores that are down."""

from venue.conformance.api import buy, fresh_id, refusal_of
from venue.conformance.bench import Bench
from venue.conformance.judge import ZERO_INSTANT, holds, same
from venue.conformance.registry import check


@check()
def check_an_unavailable_engine_sequenced_nothing(bench: Bench) -> None:
    """Errors | 503 engine_unavailable: not submitted, nothing sequenced, safe to retry."""
    market, order = bench.resting(price=30, qty=2)
    body = {**buy(market), "client_order_id": fresh_id()}
    with bench.fault("engine_unavailable", count=3):
        same(bench.anna.refused(**body), "engine_unavailable", "create")
        same(refusal_of(bench.anna.amend(order["order_id"], qty=1)), "engine_unavailable", "amend")
        same(refusal_of(bench.anna.cancel(order["order_id"])), "engine_unavailable", "cancel")
    bench.anna.balance()
    read = bench.anna.order_read(order["order_id"])
    same((read["status"], read["remaining_qty"]), ("open", 2))
    same(len(bench.anna.get("/orders", ticker=market["ticker"])["orders"]), 1)
    same(bench.anna.placed(**body)["status"], "open", "the retry")


@check()
def check_an_overloaded_engine_is_429_and_safe_to_retry(bench: Bench) -> None:
    """Errors | 429 engine_overloaded: refused before being sequenced, safe to retry."""
    body = {**buy(bench.market()), "client_order_id": fresh_id()}
    with bench.fault("engine_overloaded", count=1):
        reply = bench.anna.place(**body)
        same(refusal_of(reply), "engine_overloaded")
        holds(int(reply.headers["retry-after"]) >= 1, "Retry-After")
    holds("order_id" in bench.anna.placed(**body), "the retry")


@check(readings="S39")
def check_an_overloaded_engine_does_not_empty_the_bucket(bench: Bench) -> None:
    """Errors | engine_overloaded does not say that the bucket is empty."""
    with bench.fault("engine_overloaded", count=1):
        reply = bench.anna.place(**buy(bench.market()))
    same(reply.json()["code"], "engine_overloaded")
    holds(int(reply.headers["x-ratelimit-remaining"]) > 0, "the bucket reads empty")


@check()
def check_an_unknown_result_may_have_committed_or_not(bench: Bench) -> None:
    """Errors | 503 result_unknown: submitted, timeout; may have committed.
    result_unknown handling | Safe recovery: re-send the identical request, halted or not.
    """
    for when, there in (("before", 0), ("after", 1)):
        market = bench.market()
        body = {**buy(market), "client_order_id": fresh_id()}
        with bench.fault(f"result_unknown_{when}", count=1, verbs=["create"]):
            same(bench.anna.refused(**body), "result_unknown", when)
        bench.anna.balance()
        rows = bench.anna.get("/orders", ticker=market["ticker"])["orders"]
        same(len(rows), there, f"orders, the reply lost {when} the command")
        again = bench.anna.placed(**body)
        same(again["status"], "open", when)
        bench.anna.order_read(again["order_id"], status="open")
        rows = bench.anna.get("/orders", ticker=market["ticker"])["orders"]
        same([row["order_id"] for row in rows], [again["order_id"]], f"one order, {when}")


@check()
def check_an_amend_of_unknown_result_is_read_back(bench: Bench) -> None:
    """PUT /orders/{order_id} | No idempotency key: after 503 result_unknown, read the order back.
    result_unknown handling | Polling GET /orders/{order_id} is safe recovery.
    """
    order = bench.anna.placed(**buy(bench.market(), "yes", 40, 9))
    with bench.fault("result_unknown_after", count=1, verbs=["amend"]):
        same(refusal_of(bench.anna.amend(order["order_id"], qty=4)), "result_unknown")
    same(bench.anna.order_read(order["order_id"], remaining_qty=4)["status"], "open")
    with bench.fault("result_unknown_before", count=1, verbs=["amend"]):
        same(refusal_of(bench.anna.amend(order["order_id"], qty=2)), "result_unknown")
    bench.anna.balance()
    same(bench.anna.order_read(order["order_id"])["remaining_qty"], 4)


@check()
def check_a_cancel_of_unknown_result_can_be_repeated(bench: Bench) -> None:
    """DELETE /orders/{order_id} | 503: the cancel may have executed; read the order."""
    order = bench.anna.placed(**buy(bench.market(), "yes", 40, 9))
    with bench.fault("result_unknown_after", count=1, verbs=["cancel"]):
        same(refusal_of(bench.anna.cancel(order["order_id"])), "result_unknown")
    bench.anna.order_read(order["order_id"], status="canceled")


@check()
def check_an_internal_error_tells_no_detail(bench: Bench) -> None:
    """Errors | 500 internal_error: failure on the service side; detail is never returned."""
    market = bench.market()
    body = {**buy(market), "client_order_id": fresh_id()}
    for kind in ("internal_error_before", "internal_error_after"):
        with bench.fault(kind, count=1):
            reply = bench.anna.place(**body)
            same(refusal_of(reply), "internal_error", kind)
            holds("details" not in reply.json(), f"details of a 500: {reply.text}")
            shown = reply.json()["error"].lower()
            holds(not any(word in shown for word in ("traceback", "fault", ".py")), shown)
    same(bench.anna.placed(**body)["status"], "open")


@check()
def check_books_and_candles_need_the_market_data_store(bench: Bench) -> None:
    """GET /markets/{market_id}/orderbook | Order book and candles: 503 engine_unavailable without
    the market data store.
    GET /markets/{market_id}/snapshot | Book and trades degrade to an empty value; as_of shows it.
    """
    market = bench.market()
    bench.trade(market, 50, 2, of=4)
    bench.anna.balance()
    path = f"/markets/{market['ticker']}"
    whole = bench.anna.get(path + "/snapshot")
    holds(whole["orderbook"]["bids"] and "last_trade" in whole, "a book to lose")
    with bench.fault("market_data_down"):
        for name in ("orderbook", "candles"):
            same(bench.anna.refusal(f"{path}/{name}"), "engine_unavailable", name)
        poor = bench.anna.get(path + "/snapshot")
        holds("last_trade" not in poor, "last_trade without its store")
        holds(ZERO_INSTANT.fullmatch(poor["orderbook"]["as_of"]), poor["orderbook"]["as_of"])
        for name in ("market", "positions", "resting_orders", "stats"):
            same(poor[name], whole[name], name)
    same(bench.anna.get(path + "/snapshot"), whole, "the store is back")


@check()
def check_the_callers_own_state_never_degrades(bench: Bench) -> None:
    """GET /markets/{market_id}/snapshot | Own state never degrades: if unreadable, the call
    fails.
    Errors | internal_error is safe to retry for reads.
    """
    market = bench.market()
    path = f"/markets/{market['ticker']}/snapshot"
    anna = bench.anna
    with bench.fault("accounts_down"):
        for each in (path, "/orders", "/portfolio/balance", "/portfolio/positions"):
            same(anna.refusal(each), "internal_error", each)
        anna.get(f"/markets/{market['ticker']}/orderbook")
        anna.get("/markets")
    anna.get(path)
