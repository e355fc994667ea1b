"""Checks of creates that are carried out: matching, statuses, idempotency, own orders."""

from concurrent.futures import ThreadPoolExecutor
from typing import Final

from venue.conformance.api import buy, fresh_id, refusal_of, sell
from venue.conformance.bench import Bench
from venue.conformance.judge import Json, holds, same
from venue.conformance.registry import Needs, check

_AT_ONCE: Final = 10


@check()
def check_a_create_says_what_matching_did(bench: Bench) -> None:
    """POST /orders | Matching precedes the response.
    Order status | create: open, partially_filled if part traded, filled if all traded.
    """
    market = bench.market()

    def outcome(order: dict[str, object]) -> tuple[object, ...]:
        return tuple(order[name] for name in ("status", "filled_qty", "remaining_qty", "qty"))

    same(outcome(bench.anna.placed(**buy(market, "yes", 40, 5))), ("open", 0, 5, 5))
    same(outcome(bench.bruno.placed(**buy(market, "no", 60, 2))), ("filled", 2, 0, 2))
    same(outcome(bench.bruno.placed(**buy(market, "no", 61, 7))), ("partially_filled", 3, 4, 7))
    same(outcome(bench.clara.placed(**buy(market, "yes", 39, 4))), ("filled", 4, 0, 4))


@check(readings="S1")
def check_a_new_order_answers_201_and_everything_else_200(bench: Bench) -> None:
    """GET /portfolio/positions and GET /portfolio/fills | Success: 201 for a new order; 200
    for re-send, amend, cancel.
    """
    body = {**buy(bench.market()), "client_order_id": fresh_id()}
    first, second = bench.anna.place(**body), bench.anna.place(**body)
    order_id = first.json()["order_id"]
    third, fourth = bench.anna.amend(order_id, qty=3), bench.anna.cancel(order_id)
    statuses = [reply.status_code for reply in (first, second, third, fourth)]
    same(statuses, [201, 200, 200, 200])


@check()
def check_a_re_send_returns_the_order_and_makes_no_second(bench: Bench) -> None:
    """Order | order_id is derived deterministically from client_order_id.
    Order | A re-send returns the same order with a fresh created_at.
    """
    market = bench.market()
    body = {**buy(market), "client_order_id": fresh_id()}
    first = bench.anna.placed(**body)
    second = bench.anna.placed(**body)
    same(second["order_id"], first["order_id"])
    same(second["client_order_id"], body["client_order_id"], "echoed by the re-send")
    holds(first["created_at"] < second["created_at"], "created_at of the re-send is not fresh")
    bench.anna.order_read(first["order_id"], status="open")
    same(len(bench.anna.get("/orders", ticker=market["ticker"])["orders"]), 1)
    same(bench.anna.balance()["reserved_cents"], 40 * 10 + 5, "reserved once")


@check()
def check_many_re_sends_at_once_make_one_order(bench: Bench) -> None:
    """result_unknown handling | The engine deduplicates on the identity of client_order_id."""
    market = bench.market()
    body = {**buy(market, price=3, qty=1), "client_order_id": fresh_id()}
    caller = bench.anna
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        ids = {*pool.map(lambda _: caller.placed(**body)["order_id"], range(30))}
    same(len(ids), 1, "orders of 30 sends")


@check(needs=Needs.KEYS)
def check_two_users_may_use_one_client_order_id(bench: Bench) -> None:
    """POST /orders | The idempotency key is scoped to the user."""
    market = bench.some_market
    name = fresh_id("shared")
    mine = bench.anna.placed(**buy(market, price=1, qty=1), client_order_id=name)
    theirs = bench.bruno.placed(**buy(market, price=1, qty=1), client_order_id=name)
    bench.anna.cancelled(mine["order_id"])
    bench.bruno.cancelled(theirs["order_id"])
    holds(mine["order_id"] != theirs["order_id"], "one id for two users' orders")


@check(readings="S14")
def check_a_re_send_with_another_body_is_a_duplicate(bench: Bench) -> None:
    """POST /orders | A client_order_id with another body: 422 duplicate_order_id."""
    market = bench.market()
    body = {**buy(market), "client_order_id": fresh_id()}
    first = bench.anna.placed(**body)
    for change in ({"price": 41}, {"qty": 11}, {"outcome": "no"}, {"time_in_force": "ioc"}):
        same(bench.anna.refused(**{**body, **change}), "duplicate_order_id", f"{change}")
    bench.anna.balance()
    rows = bench.anna.get("/orders", ticker=market["ticker"])["orders"]
    same([row["order_id"] for row in rows], [first["order_id"]], "orders of one client_order_id")


@check(readings="S14")
def check_a_re_send_shows_the_order_as_it_is_now(bench: Bench) -> None:
    """POST /orders | A re-send is answered in any state of order, cash or market."""
    market = bench.market()
    body = {**buy(market), "client_order_id": fresh_id()}
    order = bench.anna.placed(**body)
    bench.set_market(market, "halt")
    same(bench.anna.placed(**body)["order_id"], order["order_id"], "while the market is halted")
    bench.anna.cancelled(order["order_id"])
    same(bench.anna.placed(**body)["status"], "canceled", "after its cancel")
    with bench.venue_state("halted"):
        same(bench.anna.placed(**body)["order_id"], order["order_id"], "while the venue is halted")


@check()
def check_writes_and_reads_of_an_order_carry_their_own_fields(bench: Bench) -> None:
    """Order | client_order_id: on the create response alone.
    Order | reserved_cents: on reads only.
    Order | spent_cents: absent on orders by qty and on reads.
    """
    market = bench.market()
    name = fresh_id()
    order = bench.anna.placed(**buy(market), client_order_id=name)
    holds("spent_cents" not in order, "spent_cents of an order by qty")
    same(order["client_order_id"], name)
    read = bench.anna.order_read(order["order_id"], status="open")
    same(bench.anna.get("/orders", ticker=market["ticker"])["orders"], [read])
    snapshot = bench.anna.snapshot(market)
    same(snapshot["resting_orders"], [read])
    # What reads and amends may not carry is judged of every one of them.
    bench.anna.amended(order["order_id"], qty=9)


@check()
def check_created_at_of_a_read_stays_and_updated_at_moves(bench: Bench) -> None:
    """Order | created_at: on a read, when the engine sequenced the order.
    Order | created_at of a create or amend response: the gateway's submit instant.
    """
    _, order = bench.resting()
    read = bench.anna.order_read(order["order_id"], status="open")
    holds(order["created_at"] <= read["created_at"], "sequenced before it was submitted")
    amended = bench.anna.amended(order["order_id"], qty=5)
    holds(amended["created_at"] > read["created_at"], "an amend's own submit instant")
    later = bench.anna.order_read(order["order_id"], remaining_qty=5)
    same(later["created_at"], read["created_at"], "created_at of two reads")
    holds(later["updated_at"] > read["updated_at"], "updated_at after an amend")


@check()
def check_time_in_force_is_gtc_unless_told(bench: Bench) -> None:
    """POST /orders | time_in_force: gtc, ioc or fok; default gtc."""
    market = bench.market()
    for sent, wanted in ((None, "gtc"), ("gtc", "gtc"), ("ioc", "ioc"), ("fok", "fok")):
        more: Json = {} if sent is None else {"time_in_force": sent}
        same(bench.anna.placed(**buy(market, **more))["time_in_force"], wanted)


@check()
def check_orders_match_at_the_resting_price(bench: Bench) -> None:
    """POST /orders | Fills are at resting prices, maybe better than the limit.
    Fill | outcome_price: the caller's; trade_price: the tape's, in YES cents.
    """
    market, _ = bench.resting("yes", 40, 10)
    before = bench.bruno.balance()["total_cents"]
    bench.bruno.placed(**buy(market, "no", 75, 4))
    rows = bench.bruno.rows("/portfolio/fills", "fills", 1)
    same((rows[0]["outcome_price"], rows[0]["trade_price"]), (60, 40))
    # 4 x 60 cents and a fee of 0.0175 x 4 x 0.6 x 0.4 dollars, rounded up to 2 cents.
    same(before - bench.bruno.balance()["total_cents"], 4 * 60 + 2)


@check()
def check_the_best_price_fills_first_and_then_the_oldest_order(bench: Bench) -> None:
    """What the service does | Limit orders match by price, then by time."""
    market = bench.market()
    late_best = {**buy(market, "yes", 41, 2)}
    first = bench.anna.placed(**buy(market, "yes", 40, 5))
    second = bench.clara.placed(**buy(market, "yes", 40, 5))
    best = bench.clara.placed(**late_best)
    bench.bruno.placed(**buy(market, "no", 60, 8))
    same(bench.clara.order_read(best["order_id"], filled_qty=2)["status"], "filled")
    same(bench.anna.order_read(first["order_id"], filled_qty=5)["status"], "filled")
    left = bench.clara.order_read(second["order_id"], filled_qty=1)
    same((left["status"], left["remaining_qty"]), ("partially_filled", 4))


@check()
def check_ioc_and_fok_without_a_match_end_canceled(bench: Bench) -> None:
    """Order status | create, ioc or fok and nothing traded: canceled, never accepted.
    Order status | canceled: by the caller or by ioc/fok semantics; terminal.
    """
    market = bench.market()
    for time_in_force in ("ioc", "fok"):
        order = bench.anna.placed(**buy(market, time_in_force=time_in_force))
        same((order["status"], order["filled_qty"]), ("canceled", 0))
        same(refusal_of(bench.anna.cancel(order["order_id"])), "order_not_cancelable")
    same(bench.anna.balance()["reserved_cents"], 0, "nothing rests")


@check()
def check_a_fok_trades_all_or_nothing(bench: Bench) -> None:
    """POST /orders | time_in_force fok: all of it or nothing."""
    market, _ = bench.resting("yes", 40, 5)
    fok = bench.bruno.placed(**buy(market, "no", 60, 6, time_in_force="fok"))
    same((fok["status"], fok["filled_qty"]), ("canceled", 0))
    fok = bench.bruno.placed(**buy(market, "no", 60, 5, time_in_force="fok"))
    same((fok["status"], fok["filled_qty"]), ("filled", 5))


@check(readings="S18")
def check_a_partly_filled_ioc_is_canceled(bench: Bench) -> None:
    """Order status | ioc traded in part: canceled, filled_qty above 0."""
    market, _ = bench.resting("yes", 40, 5)
    ioc = bench.bruno.placed(**buy(market, "no", 60, 6, time_in_force="ioc"))
    same((ioc["status"], ioc["filled_qty"]), ("canceled", 5))


@check()
def check_orders_of_one_caller_never_trade_with_each_other(bench: Bench) -> None:
    """Order status | Self-trade prevention: both shrink by the overlap; no fill, no print.
    Order status | An order consumed by self-trade prevention: canceled.
    """
    market, resting = bench.resting("yes", 40, 10)
    incoming = bench.anna.placed(**buy(market, "no", 60, 4))
    same((incoming["status"], incoming["filled_qty"]), ("canceled", 0))
    read = bench.anna.order_read(resting["order_id"], remaining_qty=6)
    same((read["status"], read["filled_qty"]), ("open", 0))
    holds("last_trade" not in bench.anna.snapshot(market), "a print")
    same(bench.anna.holdings(market["ticker"]), {})
    bigger = bench.anna.placed(**buy(market, "no", 60, 9))
    same((bigger["status"], bigger["remaining_qty"]), ("open", 3))
    same(bench.anna.order_read(resting["order_id"], remaining_qty=0)["status"], "canceled")


@check(readings="S20")
def check_self_trade_prevention_works_in_price_time_order(bench: Bench) -> None:
    """Order status | Own orders meet in price-time order; the remainder goes on."""
    market = bench.market()
    ahead = bench.clara.placed(**buy(market, "yes", 41, 2))
    own = bench.anna.placed(**buy(market, "yes", 40, 3))
    behind = bench.clara.placed(**buy(market, "yes", 39, 4))
    order = bench.anna.placed(**buy(market, "no", 61, 8))
    # 2 traded at 41, 3 met by the own order, 3 traded at 39: over, and not fully traded.
    same((order["filled_qty"], order["remaining_qty"], order["status"]), (5, 0, "canceled"))
    bench.anna.order_read(own["order_id"], status="canceled")
    bench.clara.order_read(ahead["order_id"], filled_qty=2)
    bench.clara.order_read(behind["order_id"], filled_qty=3)


@check(readings="S19")
def check_a_fok_that_meets_an_own_order_changes_nothing(bench: Bench) -> None:
    """Order status | A fok that meets an own order: canceled, reduces neither."""
    market, own = bench.resting("yes", 40, 3)
    bench.clara.placed(**buy(market, "yes", 39, 9))
    fok = bench.anna.placed(**buy(market, "no", 61, 5, time_in_force="fok"))
    same((fok["status"], fok["filled_qty"]), ("canceled", 0))
    same(bench.anna.order_read(own["order_id"], status="open")["remaining_qty"], 3)


@check()
def check_a_bearish_view_is_bought_as_the_other_outcome(bench: Bench) -> None:
    """What the service does | No short positions: a bearish view buys the other outcome.
    Position | outcome yes or no, qty of shares held.
    """
    market = bench.market()
    bench.trade(market, 40, 4, of=10)
    same(bench.anna.holdings(market["ticker"]), {"yes": 4})
    same(bench.bruno.holdings(market["ticker"]), {"no": 4})


@check()
def check_one_market_can_yield_two_positions(bench: Bench) -> None:
    """Position | A market can yield two positions, yes and no."""
    market = bench.market()
    bench.trade(market, 40, 2)
    bench.clara.placed(**buy(market, "yes", 45, 3))
    bench.anna.placed(**buy(market, "no", 55, 3))
    same(bench.anna.holdings(market["ticker"]), {"yes": 2, "no": 3})
    rows = bench.anna.walk("/portfolio/positions", "positions")
    same({row["outcome"]: row["qty"] for row in rows}, {"yes": 2, "no": 3}, "the list of positions")
    same(bench.anna.walk("/portfolio/positions", "positions", limit=1), rows, "page by page")


@check()
def check_a_sale_of_more_than_is_held_is_refused(bench: Bench) -> None:
    """POST /orders | Selling more than held: 422 insufficient_shares."""
    market = bench.market()
    same(bench.anna.refused(**sell(market, "yes", 90, 1)), "insufficient_shares")
    bench.trade(market, 50, 3)
    bench.anna.placed(**sell(market, "yes", 90, 2))
    again = bench.anna.refused(**sell(market, "yes", 90, 2))
    same(again, "insufficient_shares", "2 held and free of 3")
    same(bench.anna.refused(**sell(market, "no", 90, 1)), "insufficient_shares")
    same(bench.anna.placed(**sell(market, "yes", 90, 1))["status"], "open")


@check()
def check_a_buy_beyond_the_cash_is_refused(bench: Bench) -> None:
    """Errors | 422 insufficient_balance: the required reserve exceeds available cash."""
    market = bench.market()
    poor = bench.trader(cents=1000)
    # 10 dollars buy 10 shares at 99 cents with their fee of a cent, not 11.
    same(poor.refused(**buy(market, price=99, qty=11)), "insufficient_balance")
    order = poor.placed(**buy(market, price=99, qty=10))
    same(poor.refused(**buy(market, price=99, qty=1)), "insufficient_balance")
    same(refusal_of(poor.amend(order["order_id"], qty=11)), "insufficient_balance")
    poor.cancelled(order["order_id"])
    same(poor.balance()["available_cents"], 1000)


@check()
def check_the_last_cent_can_be_reserved(bench: Bench) -> None:
    """Errors | A reserve equal to the cash is accepted."""
    market = bench.market()
    # 10 x 40 and a fee of 0.0175 x 10 x 0.24 dollars, rounded up to 5 cents.
    exact, short = bench.trader(cents=405), bench.trader(cents=404)
    same(exact.placed(**buy(market, "yes", 40, 10))["status"], "open")
    same(exact.balance()["available_cents"], 0)
    same(short.refused(**buy(market, "yes", 40, 10)), "insufficient_balance")
