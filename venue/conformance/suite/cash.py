"""Checks of money: fees, reserves and cash in exact fractions, budgets, and a day of trading."""

import random

from venue.conformance.api import Caller, buy, eventually, fresh_id, sell
from venue.conformance.bench import Bench
from venue.conformance.judge import Json, holds, same
from venue.conformance.money import (
    cash_flow,
    exact_fee,
    fee_cents,
    fees_by_order,
    mirror,
    reserve_cents,
)
from venue.conformance.registry import check

RATES = (("0", "0"), ("0.0100", "0.0175"), ("0.0700", "0.0700"), ("0.0001", "0.3333"))


@check()
def check_the_fee_of_a_fill_is_the_formula_ceiled(bench: Bench) -> None:
    """Market | Fee: rate x qty x p x (1-p), ceiled to whole cents.
    Market | maker_fee_rate and taker_fee_rate: decimal fractions, per market.
    Market | The fee is computed on the original economic price.
    """
    for maker_rate, taker_rate in RATES:
        market = bench.market(maker_fee_rate=maker_rate, taker_fee_rate=taker_rate)
        maker, taker = bench.anna, bench.bruno
        for price, qty in ((1, 1), (50, 1), (37, 13), (99, 7)):
            held = [who.balance()["total_cents"] for who in (maker, taker)]
            maker.placed(**buy(market, "yes", price, qty))
            taker.placed(**buy(market, "no", mirror(price), qty))
            paid = [
                before - who.balance()["total_cents"]
                for before, who in zip(held, (maker, taker), strict=True)
            ]
            case = f"{qty} shares at {price} with rates {maker_rate} and {taker_rate}"
            wanted = price * qty + fee_cents(maker_rate, price, qty)
            same(paid[0], wanted, f"paid by the maker, {case}")
            wanted = mirror(price) * qty + fee_cents(taker_rate, mirror(price), qty)
            same(paid[1], wanted, f"paid by the taker, {case}")


@check()
def check_a_resting_order_reserves_what_it_could_cost(bench: Bench) -> None:
    """Market | A resting order reserves its highest cost, fee included.
    Balance | reserved_cents: cash against resting orders, price plus fee.
    """
    # Equal rates, so that every reading of the reserve agrees.
    market = bench.market(maker_fee_rate="0.0333", taker_fee_rate="0.0333")
    for price, qty in ((1, 1), (40, 10), (50, 33), (99, 101)):
        before = bench.anna.balance()
        order = bench.anna.placed(**buy(market, "yes", price, qty))
        reserve = reserve_cents(market, price, qty)
        read = bench.anna.order_read(order["order_id"], status="open")
        same(read["reserved_cents"], reserve, f"{qty} at {price}")
        after = bench.anna.balance()
        same(after["reserved_cents"] - before["reserved_cents"], reserve, f"{qty} at {price}")
        same(after["total_cents"], before["total_cents"])
        bench.anna.cancelled(order["order_id"])
        same(bench.anna.balance(), before)


@check(readings="S17")
def check_a_reserve_uses_the_dearer_rate(bench: Bench) -> None:
    """Market | A reserve's fee uses the higher of the two rates."""
    for maker_rate, taker_rate in (("0.01", "0.09"), ("0.09", "0.01")):
        market = bench.market(maker_fee_rate=maker_rate, taker_fee_rate=taker_rate)
        order = bench.anna.placed(**buy(market, "yes", 40, 10))
        read = bench.anna.order_read(order["order_id"], status="open")
        same(read["reserved_cents"], reserve_cents(market, 40, 10), f"{maker_rate}, {taker_rate}")


@check(readings="S16")
def check_the_fees_of_several_fills_are_one_ceiled_sum(bench: Bench) -> None:
    """Market | Ceiled once per order, over the sum of its fills."""
    market, order = bench.resting("yes", 50, 40)
    exact = exact_fee("0.0100", 50, 1)
    worst = exact_fee("0.0175", 50, 1)
    for filled in range(1, 9):
        bench.bruno.placed(**buy(market, "no", 50, 1))
        read = bench.anna.order_read(order["order_id"], filled_qty=filled)
        left = 40 - filled
        paid = -(-exact * filled // 1)
        later = -(-(exact * filled + worst * left) // 1)
        same(read["reserved_cents"], 50 * left + later - paid, f"reserve after {filled} fills")
    bench.wait(bench.settle_s)
    rows = bench.anna.get("/portfolio/fills")["fills"]
    same(sum(row["fee_cents"] for row in rows), -(-exact * 8 // 1), "fees of 8 fills")


@check()
def check_a_sale_brings_its_price_less_the_fee(bench: Bench) -> None:
    """Fill | Cash reconciles with outcome_price: a sale brings price x qty less fee."""
    market = bench.market()
    bench.trade(market, 50, 10)
    before = bench.anna.balance()["total_cents"]
    bench.clara.placed(**buy(market, "yes", 70, 10))
    bench.anna.placed(**sell(market, "yes", 61, 10))
    wanted = 70 * 10 - fee_cents("0.0175", 70, 10)
    same(bench.anna.balance()["total_cents"] - before, wanted)


def _budget(market: Json, price: int, cents: int, time_in_force: str) -> Json:
    body = buy(market, "no", price)
    del body["qty"]
    return {**body, "budget_cents": cents, "time_in_force": time_in_force}


@check()
def check_a_budget_buys_what_it_can_fees_included(bench: Bench) -> None:
    """POST /orders | A budget is sized by the live book with fees; never rests.
    POST /orders | qty = filled_qty = executed size; spent_cents / qty: average cost.
    Order | spent_cents: exact cash cost, only on a budget order's create response.
    POST /orders | fok fills the full affordable size.
    """
    for time_in_force in ("ioc", "fok"):
        market, buyer = bench.market(), bench.trader()
        bench.anna.placed(**buy(market, "yes", 40, 100))
        before = buyer.balance()["total_cents"]
        name = fresh_id()
        order = buyer.placed(**_budget(market, 70, 1000, time_in_force), client_order_id=name)
        # At 60 cents and 0.0175 x q x 0.24 dollars of fee, 16 shares cost 960 + 7, 17 cost 1020.
        same((order["status"], order["qty"], order["filled_qty"]), ("filled", 16, 16))
        same(order["spent_cents"], 960 + fee_cents("0.0175", 60, 16))
        same(order["client_order_id"], name)
        same(before - buyer.balance()["total_cents"], order["spent_cents"])
        again = buyer.placed(**_budget(market, 70, 1000, time_in_force), client_order_id=name)
        same((again["order_id"], again["spent_cents"]), (order["order_id"], order["spent_cents"]))
        holds("spent_cents" not in buyer.order_read(order["order_id"], status="filled"), "a read")
        same(buyer.balance()["reserved_cents"], 0)


@check()
def check_a_budget_is_capped_at_the_available_cash(bench: Bench) -> None:
    """POST /orders | A budget spends at most min(budget_cents, available cash)."""
    market, poor = bench.market(), bench.trader(cents=500)
    bench.anna.placed(**buy(market, "yes", 40, 100))
    order = poor.placed(**_budget(market, 70, 90_000, "ioc"))
    qty = max(q for q in range(1, 9) if 60 * q + fee_cents("0.0175", 60, q) <= 500)
    same((order["qty"], order["spent_cents"]), (qty, 60 * qty + fee_cents("0.0175", 60, qty)))
    same(poor.balance()["available_cents"], 500 - order["spent_cents"])


@check()
def check_a_budget_walks_the_book_within_its_bound(bench: Bench) -> None:
    """POST /orders | A budget's price: the worst acceptable per share; ioc executes what
    qualifies.
    """
    market = bench.market()
    for price, qty in ((40, 2), (35, 3), (20, 50)):
        bench.anna.placed(**buy(market, "yes", price, qty))
    order = bench.bruno.placed(**_budget(market, 65, 10_000, "ioc"))
    fee = exact_fee("0.0175", 60, 2) + exact_fee("0.0175", 65, 3)
    same((order["status"], order["qty"]), ("filled", 5))
    cost = 60 * 2 + 65 * 3
    # Ceiled once or per fill: two readings, one cent apart at most.
    holds(0 <= order["spent_cents"] - cost - fee < 2, f"spent {order['spent_cents']} of {cost}")


@check()
def check_a_fok_budget_beyond_the_book_trades_nothing(bench: Bench) -> None:
    """POST /orders | fok: rejected 422 budget_not_fillable, nothing traded."""
    market, _ = bench.resting("yes", 40, 5)
    before = bench.bruno.balance()
    same(bench.bruno.refused(**_budget(market, 70, 1000, "fok")), "budget_not_fillable")
    same(bench.bruno.balance(), before)
    same(bench.bruno.holdings(market["ticker"]), {})


@check()
def check_a_budget_that_meets_nothing_is_refused(bench: Bench) -> None:
    """POST /orders | Nothing resting within the price bound is 422 no_executable_liquidity."""
    market = bench.market()
    same(bench.bruno.refused(**_budget(market, 59, 1000, "ioc")), "no_executable_liquidity")
    bench.anna.placed(**buy(market, "yes", 40, 5))
    for time_in_force in ("ioc", "fok"):
        found = bench.bruno.refused(**_budget(market, 59, 1000, time_in_force))
        same(found, "no_executable_liquidity", time_in_force)


@check(readings="S35")
def check_a_budget_below_one_share_is_not_fillable(bench: Bench) -> None:
    """POST /orders | A budget below one share: 422 budget_not_fillable."""
    market, _ = bench.resting("yes", 40, 5)
    for time_in_force in ("ioc", "fok"):
        found = bench.bruno.refused(**_budget(market, 70, 60, time_in_force))
        same(found, "budget_not_fillable", time_in_force)


@check(readings="S44")
def check_a_budget_ends_at_an_own_order(bench: Bench) -> None:
    """POST /orders | A budget stops before an own resting order."""
    market, _ = bench.resting("yes", 41, 2)
    own = bench.bruno.placed(**buy(market, "yes", 40, 5))
    bench.anna.placed(**buy(market, "yes", 39, 9))
    same(bench.bruno.refused(**_budget(market, 70, 500, "fok")), "budget_not_fillable")
    order = bench.bruno.placed(**_budget(market, 70, 500, "ioc"))
    same((order["qty"], order["status"]), (2, "filled"))
    same(bench.bruno.order_read(own["order_id"], status="open")["remaining_qty"], 5)


def _trade_at_random(bench: Bench, callers: list[Caller], markets: list[Json]) -> None:
    draw = random.Random(bench.run_id)
    live: list[tuple[Caller, str]] = []
    for _ in range(160):
        caller, kind = draw.choice(callers), draw.random()
        if kind < 0.12 and live:
            owner, order_id = live.pop(draw.randrange(len(live)))
            owner.cancel(order_id)
        elif kind < 0.22 and live:
            owner, order_id = draw.choice(live)
            owner.amend(order_id, price=draw.randint(42, 58), qty=draw.randint(1, 9))
        else:
            order = buy(draw.choice(markets), draw.choice(["yes", "no"]), draw.randint(42, 58))
            order["side"] = draw.choice(["buy", "buy", "sell"])
            order["qty"] = draw.randint(1, 9)
            order["time_in_force"] = draw.choice(["gtc", "gtc", "gtc", "ioc", "fok"])
            reply = caller.place(**order)
            if reply.status_code < 300:
                live.append((caller, reply.json()["order_id"]))


@check(readings="S4 S16")
def check_cash_and_open_interest_account_for_every_cent(bench: Bench) -> None:
    """Balance | Cash moves by the fills, fees included, to the cent.
    MarketStats | YES held = NO held = pairs outstanding.
    Market | Every fee of a random session equals the formula, in exact fractions.
    Balance | Reserved cash is what the resting orders say.
    """
    callers, markets = [bench.anna, bench.bruno, bench.clara], bench.markets(3)
    before = [caller.balance()["total_cents"] for caller in callers]
    _trade_at_random(bench, callers, markets)
    after = [caller.balance()["total_cents"] for caller in callers]
    fills = [caller.walk("/portfolio/fills", "fills") for caller in callers]

    # First way: every fill's own words explain its owner's cash, and its fee is the formula's.
    for rows, old, new in zip(fills, before, after, strict=True):
        same(new - old, cash_flow(rows), "cash moved")
        for market in markets:
            of_market = [row for row in rows if row["ticker"] == market["ticker"]]
            for order_id, (charged, wanted) in fees_by_order(market, of_market).items():
                same(charged, wanted, f"fees of order {order_id}")

    # Second way: what left the accounts is fees and 100 cents for each pair issued.
    interest = {m["ticker"]: bench.anna.interest(m["ticker"]) for m in markets}
    fees = sum(row["fee_cents"] for rows in fills for row in rows)
    same(sum(before) - sum(after), 100 * sum(interest.values()) + fees, "what left the accounts")
    holds(fees > 0 and sum(interest.values()) > 0, "a session without trades proves nothing")

    for ticker, pairs in interest.items():
        held = [caller.holdings(ticker) for caller in callers]
        for outcome in ("yes", "no"):
            same(sum(row.get(outcome, 0) for row in held), pairs, f"{outcome} of {ticker}")
    for caller in callers:
        resting = caller.walk("/orders", "orders", status="resting")
        reserved = sum(row["reserved_cents"] for row in resting)
        same(caller.balance()["reserved_cents"], reserved, "reserved_cents")


@check()
def check_a_price_improvement_is_given_back(bench: Bench) -> None:
    """POST /orders | A fill below the limit costs its own price; the excess reserve is freed."""
    market, _ = bench.resting("yes", 40, 10)
    order = bench.bruno.placed(**buy(market, "no", 90, 12))
    same((order["filled_qty"], order["remaining_qty"]), (10, 2))
    read = bench.bruno.order_read(order["order_id"], filled_qty=10)
    balance = eventually(bench.bruno.balance, lambda body: body["reserved_cents"])
    same(balance["reserved_cents"], read["reserved_cents"])
    holds(read["reserved_cents"] < 90 * 2 + 5, f"reserved {read['reserved_cents']} for 2 at 90")
