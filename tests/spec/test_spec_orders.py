"""Orders, matching and their refusals as the interface states them, judged from outside."""

import pytest

from tests.spec.api import Caller, buy, fresh_id

ORDER_FIELDS = {
    *("order_id", "ticker", "market_id", "event_ticker", "outcome", "side", "price", "qty"),
    *("remaining_qty", "filled_qty", "status", "time_in_force", "created_at", "updated_at"),
}


def test_a_create_answers_201_and_its_re_send_200_with_the_same_order(anna: Caller, market) -> None:
    body = {**buy(market), "client_order_id": fresh_id()}
    first, second = anna.place(**body), anna.place(**body)
    assert (first.status_code, second.status_code) == (201, 200)
    assert first.json()["order_id"] == second.json()["order_id"]
    assert first.json()["created_at"] < second.json()["created_at"]
    anna.order_read(first.json()["order_id"], status="open")
    assert len(anna.get("/orders", ticker=market["ticker"])["orders"]) == 1


def test_a_re_send_with_another_body_is_a_duplicate(anna: Caller, market) -> None:
    body = {**buy(market), "client_order_id": fresh_id()}
    anna.placed(**body)
    assert anna.refused(**{**body, "price": 41}) == (422, "duplicate_order_id")
    assert anna.refused(**{**body, "qty": 11}) == (422, "duplicate_order_id")


def test_a_re_send_shows_the_order_as_it_is_now(anna: Caller, market) -> None:
    body = {**buy(market), "client_order_id": fresh_id()}
    order = anna.placed(**body)
    assert anna.cancel(order["order_id"]).status_code == 200
    assert anna.placed(**body)["status"] == "canceled"


def test_the_reply_to_a_create_and_a_read_differ_in_the_fields_the_interface_says(
    anna: Caller, market
) -> None:
    key = fresh_id()
    order = anna.placed(**buy(market), client_order_id=key)
    assert order.keys() == ORDER_FIELDS | {"client_order_id"}
    assert order["client_order_id"] == key
    read = anna.order_read(order["order_id"], status="open")
    assert read.keys() == ORDER_FIELDS | {"reserved_cents"}
    listed = anna.get("/orders", ticker=market["ticker"])["orders"]
    assert listed == [read]
    resting = anna.get(f"/markets/{market['ticker']}/snapshot")["resting_orders"]
    assert resting == [read]
    amended = anna.amend(order["order_id"], qty=9).json()
    assert amended.keys() == ORDER_FIELDS


def test_a_resting_buy_reserves_its_price_and_the_fee_it_may_incur(anna: Caller, market) -> None:
    before = anna.balance()
    order = anna.placed(**buy(market, price=40, qty=10))
    # 0.0175 x 10 x 0.40 x 0.60 dollars = 4.2 cents, rounded up to 5.
    reserve = 40 * 10 + 5
    assert anna.order_read(order["order_id"], status="open")["reserved_cents"] == reserve
    after = anna.balance()
    assert after["reserved_cents"] == before["reserved_cents"] + reserve
    assert after["total_cents"] == before["total_cents"]
    assert after["available_cents"] + after["reserved_cents"] == after["total_cents"]
    anna.cancel(order["order_id"])
    assert anna.balance() == before


def test_buys_of_both_outcomes_match_and_issue_pairs(anna: Caller, bruno: Caller, market) -> None:
    maker = anna.placed(**buy(market, "yes", 40, 10))
    taker = bruno.placed(**buy(market, "no", 65, 4))
    assert (taker["status"], taker["filled_qty"], taker["remaining_qty"]) == ("filled", 4, 0)
    read = anna.order_read(maker["order_id"], filled_qty=4)
    assert (read["status"], read["remaining_qty"]) == ("partially_filled", 6)
    bruno.order_read(taker["order_id"], status="filled")
    stats = anna.get(f"/markets/{market['ticker']}/snapshot")["stats"]
    assert (stats["open_interest"], stats["last_price"]) == (4, 40)
    assert float(stats["volume_usd"]) == 4 * 0.40
    assert anna.holdings(market["ticker"]) == {"yes": 4}
    assert bruno.holdings(market["ticker"]) == {"no": 4}


def test_a_transfer_leaves_the_open_interest_and_a_sale_to_a_seller_retires_it(
    anna: Caller, bruno: Caller, clara: Caller, market
) -> None:
    def open_interest() -> int:
        interest: int = anna.get(f"/markets/{market['ticker']}/snapshot")["stats"]["open_interest"]
        return interest

    anna.placed(**buy(market, "yes", 50, 10))
    bruno.placed(**buy(market, "no", 50, 10))
    anna.eventually(open_interest, lambda value: value == 10)
    clara.placed(**buy(market, "yes", 55, 4))
    sold = anna.placed(**{**buy(market, "yes", 55, 4), "side": "sell"})
    assert sold["status"] == "filled"
    assert anna.holdings(market["ticker"])["yes"] == 6
    assert open_interest() == 10
    bruno.placed(**{**buy(market, "no", 45, 3), "side": "sell"})
    retired = anna.placed(**{**buy(market, "yes", 55, 3), "side": "sell"})
    assert retired["status"] == "filled"
    anna.eventually(open_interest, lambda value: value == 7)


def test_a_fill_carries_the_own_and_the_tape_price(anna: Caller, bruno: Caller, market) -> None:
    anna.placed(**buy(market, "yes", 40, 10))
    taken = bruno.placed(**buy(market, "no", 65, 4))
    rows = bruno.eventually(
        lambda: bruno.get("/portfolio/fills", ticker=market["ticker"])["fills"], len
    )
    assert [(row["outcome_price"], row["trade_price"], row["qty"]) for row in rows] == [(60, 40, 4)]
    assert rows[0]["order_id"] == taken["order_id"]
    # 0.0175 x 4 x 0.6 x 0.4 dollars = 1.68 cents as taker; the maker's 0.0100 makes 0.96 cents.
    assert (rows[0]["liquidity"], rows[0]["fee_cents"]) == ("taker", 2)
    makers = anna.get("/portfolio/fills", ticker=market["ticker"])["fills"]
    assert (makers[0]["liquidity"], makers[0]["fee_cents"]) == ("maker", 1)
    assert makers[0]["trade_id"] == rows[0]["trade_id"]


def test_the_book_is_canonical(anna: Caller, bruno: Caller, market) -> None:
    ticker = market["ticker"]
    anna.placed(**buy(market, "yes", 50, 1))
    bruno.placed(**buy(market, "no", 50, 1))
    anna.placed(**buy(market, "yes", 30, 7))
    anna.placed(**buy(market, "yes", 31, 2))
    bruno.placed(**buy(market, "no", 60, 5))
    bruno.placed(**buy(market, "no", 58, 3))
    book = anna.eventually(
        lambda: anna.get(f"/markets/{ticker}/orderbook"), lambda book: len(book["asks"]) == 2
    )
    assert book["bids"] == [{"price": 31, "size": 2}, {"price": 30, "size": 7}]
    assert book["asks"] == [{"price": 40, "size": 5}, {"price": 42, "size": 3}]


def test_orders_at_one_price_fill_in_the_order_of_their_arrival(
    anna: Caller, bruno: Caller, clara: Caller, market
) -> None:
    first = anna.placed(**buy(market, "yes", 40, 5))
    second = clara.placed(**buy(market, "yes", 40, 5))
    bruno.placed(**buy(market, "no", 60, 6))
    assert anna.order_read(first["order_id"], filled_qty=5)["status"] == "filled"
    assert clara.order_read(second["order_id"], filled_qty=1)["status"] == "partially_filled"


@pytest.mark.parametrize(
    ("change", "first_again"),
    [({"qty": 4}, True), ({"qty": 5}, True), ({"price": 40}, True), ({"qty": 6}, False)],
)
def test_a_place_in_the_queue_is_kept_unless_price_or_size_rises(
    anna: Caller, bruno: Caller, clara: Caller, market, change, first_again
) -> None:
    first = anna.placed(**buy(market, "yes", 40, 5))
    second = clara.placed(**buy(market, "yes", 40, 5))
    assert anna.amend(first["order_id"], **change).status_code == 200
    bruno.placed(**buy(market, "no", 60, 1))
    anna.order_read(first["order_id"], filled_qty=int(first_again))
    clara.order_read(second["order_id"], filled_qty=int(not first_again))


def test_a_price_change_and_back_loses_the_place(
    anna: Caller, bruno: Caller, clara: Caller, market
) -> None:
    first = anna.placed(**buy(market, "yes", 40, 5))
    second = clara.placed(**buy(market, "yes", 40, 5))
    for price in (39, 40):
        reply = anna.amend(first["order_id"], price=price)
        assert (reply.status_code, reply.json()["price"]) == (200, price)
        assert reply.json()["order_id"] == first["order_id"]
    bruno.placed(**buy(market, "no", 60, 1))
    clara.order_read(second["order_id"], filled_qty=1)


def test_an_amended_qty_is_the_new_remaining_size(anna: Caller, bruno: Caller, market) -> None:
    order = anna.placed(**buy(market, "yes", 40, 10))
    bruno.placed(**buy(market, "no", 60, 4))
    amended = anna.amend(order["order_id"], qty=3).json()
    assert (amended["remaining_qty"], amended["filled_qty"], amended["qty"]) == (3, 4, 7)
    assert amended["status"] == "partially_filled"


def test_an_amend_to_a_crossing_price_trades_at_once(anna: Caller, bruno: Caller, market) -> None:
    bruno.placed(**buy(market, "no", 50, 4))
    order = anna.placed(**buy(market, "yes", 40, 10))
    amended = anna.amend(order["order_id"], price=55).json()
    assert (amended["filled_qty"], amended["remaining_qty"]) == (4, 6)


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({}, "invalid_request_body"),
        ({"side": "buy"}, "invalid_request_body"),
        ({"price": 0}, "invalid_price"),
        ({"price": 100}, "invalid_price"),
        ({"qty": 0}, "invalid_qty"),
        ({"qty": -1}, "invalid_qty"),
        ({"qty": 1_000_001}, "invalid_qty"),
        ({"price": "5"}, "invalid_request_body"),
        ({"price": 5.5}, "invalid_request_body"),
        ({"qty": True}, "invalid_request_body"),
    ],
)
def test_a_malformed_amend_is_refused(anna: Caller, market, body, code: str) -> None:
    order = anna.placed(**buy(market, price=1, qty=1))
    reply = anna.amend(order["order_id"], **body)
    assert (reply.status_code, reply.json()["code"]) == (400, code)


@pytest.mark.parametrize("order_id", ["abc", "1" * 21, "-1", "1.0", "%EF%BC%91"])
@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE"])
def test_a_malformed_order_id_is_refused(anna: Caller, method: str, order_id: str) -> None:
    reply = anna.ask(method, f"/orders/{order_id}", {"qty": 1} if method == "PUT" else None)
    assert (reply.status_code, reply.json()["code"]) == (400, "invalid_order_id")


def test_a_cancel_reports_what_it_removed_and_a_second_one_zero(
    anna: Caller, bruno: Caller, market
) -> None:
    order = anna.placed(**buy(market, "yes", 40, 10))
    bruno.placed(**buy(market, "no", 60, 4))
    reply = anna.cancel(order["order_id"])
    assert reply.status_code == 200
    assert reply.json().keys() == {"order", "reduced_by"}
    assert reply.json()["reduced_by"] == 6
    again = anna.cancel(order["order_id"])
    assert (again.status_code, again.json()["reduced_by"]) == (200, 0)
    read = anna.order_read(order["order_id"], status="canceled")
    assert (read["filled_qty"], read["reserved_cents"]) == (4, 0)


def test_a_filled_order_can_be_neither_cancelled_nor_amended(
    anna: Caller, bruno: Caller, market
) -> None:
    order = anna.placed(**buy(market, "yes", 40, 4))
    bruno.placed(**buy(market, "no", 60, 4))
    for reply in (anna.cancel(order["order_id"]), anna.amend(order["order_id"], qty=1)):
        assert (reply.status_code, reply.json()["code"]) == (422, "order_not_cancelable")


@pytest.mark.parametrize("time_in_force", ["ioc", "fok"])
def test_ioc_and_fok_without_a_match_end_canceled(anna: Caller, market, time_in_force) -> None:
    order = anna.placed(**buy(market, time_in_force=time_in_force))
    assert (order["status"], order["filled_qty"]) == ("canceled", 0)
    reply = anna.cancel(order["order_id"])
    assert (reply.status_code, reply.json()["code"]) == (422, "order_not_cancelable")


def test_an_ioc_takes_what_is_there_and_a_fok_all_or_nothing(
    anna: Caller, bruno: Caller, market
) -> None:
    anna.placed(**buy(market, "yes", 40, 5))
    fok = bruno.placed(**buy(market, "no", 60, 6, time_in_force="fok"))
    assert (fok["status"], fok["filled_qty"]) == ("canceled", 0)
    ioc = bruno.placed(**buy(market, "no", 60, 6, time_in_force="ioc"))
    assert (ioc["status"], ioc["filled_qty"]) == ("canceled", 5)


def test_orders_of_one_caller_never_trade_with_each_other(anna: Caller, market) -> None:
    resting = anna.placed(**buy(market, "yes", 40, 10))
    incoming = anna.placed(**buy(market, "no", 60, 4))
    assert (incoming["status"], incoming["filled_qty"]) == ("canceled", 0)
    read = anna.order_read(resting["order_id"], remaining_qty=6)
    assert (read["status"], read["filled_qty"]) == ("open", 0)
    assert anna.get(f"/markets/{market['ticker']}/trades")["trades"] == []
    assert anna.holdings(market["ticker"]) == {}


def test_a_sale_of_more_than_is_held_and_free_is_refused(
    anna: Caller, bruno: Caller, market
) -> None:
    sell = {**buy(market, "yes", 90, 1), "side": "sell"}
    assert anna.refused(**sell) == (422, "insufficient_shares")
    anna.placed(**buy(market, "yes", 50, 3))
    bruno.placed(**buy(market, "no", 50, 3))
    anna.placed(**{**sell, "qty": 2})
    assert anna.refused(**{**sell, "qty": 2}) == (422, "insufficient_shares")
    assert anna.placed(**sell)["status"] == "open"


def test_a_buy_beyond_the_cash_is_refused(caller, market) -> None:
    poor = caller("poor")
    # 10 dollars buy 10 shares at 99 cents with their fee of a cent, not 11.
    assert poor.refused(**buy(market, price=99, qty=11)) == (422, "insufficient_balance")
    order = poor.placed(**buy(market, price=99, qty=10))
    assert poor.refused(**buy(market, price=99, qty=1)) == (422, "insufficient_balance")
    reply = poor.amend(order["order_id"], qty=11)
    assert (reply.status_code, reply.json()["code"]) == (422, "insufficient_balance")
    assert poor.cancel(order["order_id"]).status_code == 200


@pytest.mark.parametrize("time_in_force", ["ioc", "fok"])
def test_a_budget_order_spends_at_most_its_budget_fees_included(
    anna: Caller, bruno: Caller, market, time_in_force: str
) -> None:
    anna.placed(**buy(market, "yes", 40, 100))
    before = bruno.balance()
    body = {"ticker": market["ticker"], "outcome": "no", "side": "buy", "price": 70}
    order = bruno.placed(**body, budget_cents=1000, time_in_force=time_in_force)
    # At 60 cents and 0.0175 x q x 0.24 dollars of fee, 16 shares cost 960 + 7, 17 cost 1020.
    assert (order["status"], order["qty"], order["filled_qty"]) == ("filled", 16, 16)
    assert order["spent_cents"] == 967
    assert order.keys() == ORDER_FIELDS | {"client_order_id", "spent_cents"}
    assert before["total_cents"] - bruno.balance()["total_cents"] == 967
    assert "spent_cents" not in bruno.order_read(order["order_id"], status="filled")


def test_a_fok_budget_beyond_the_book_trades_nothing_and_an_ioc_one_takes_it(
    anna: Caller, bruno: Caller, market
) -> None:
    anna.placed(**buy(market, "yes", 40, 5))
    body = {"ticker": market["ticker"], "outcome": "no", "side": "buy", "price": 70}
    body["budget_cents"] = 1000
    assert bruno.refused(**body, time_in_force="fok") == (422, "budget_not_fillable")
    order = bruno.placed(**body, time_in_force="ioc")
    assert (order["qty"], order["filled_qty"], order["status"]) == (5, 5, "filled")


@pytest.mark.parametrize("time_in_force", ["ioc", "fok"])
def test_a_budget_that_meets_nothing_within_its_bound_is_refused(
    anna: Caller, bruno: Caller, market, time_in_force: str
) -> None:
    anna.placed(**buy(market, "yes", 40, 5))
    body = {"ticker": market["ticker"], "outcome": "no", "side": "buy", "price": 59}
    code = bruno.refused(**body, budget_cents=1000, time_in_force=time_in_force)
    assert code == (422, "no_executable_liquidity")


def test_a_budget_below_one_share_is_not_fillable(anna: Caller, bruno: Caller, market) -> None:
    anna.placed(**buy(market, "yes", 40, 5))
    body = {"ticker": market["ticker"], "outcome": "no", "side": "buy", "price": 70}
    code = bruno.refused(**body, budget_cents=60, time_in_force="ioc")
    assert code == (422, "budget_not_fillable")


def test_the_status_filter_takes_groups_and_statuses_in_any_case(
    anna: Caller, bruno: Caller, market
) -> None:
    open_order = anna.placed(**buy(market, "yes", 10, 2))
    part = anna.placed(**buy(market, "yes", 40, 5))
    bruno.placed(**buy(market, "no", 60, 3))
    filled = anna.placed(**buy(market, "yes", 45, 1))
    bruno.placed(**buy(market, "no", 55, 1))
    canceled = anna.placed(**buy(market, "yes", 5, 1, time_in_force="ioc"))
    wanted = {
        "resting": {open_order["order_id"], part["order_id"]},
        "OPEN": {open_order["order_id"]},
        "partially_filled": {part["order_id"]},
        "filled": {filled["order_id"]},
        "canceled": {canceled["order_id"]},
        "expired": set(),
        "open,filled": {open_order["order_id"], filled["order_id"]},
        "resting,Canceled": {open_order["order_id"], part["order_id"], canceled["order_id"]},
        "all": {order["order_id"] for order in (open_order, part, filled, canceled)},
    }
    anna.order_read(canceled["order_id"], status="canceled")
    anna.order_read(filled["order_id"], status="filled")
    for status, ids in wanted.items():
        rows = anna.get("/orders", ticker=market["ticker"], status=status)["orders"]
        assert {row["order_id"] for row in rows} == ids, status
    rows = anna.get("/orders", ticker=market["ticker"])["orders"]
    assert [row["order_id"] for row in rows] == [
        order["order_id"] for order in (canceled, filled, part, open_order)
    ]


def test_the_order_list_filters_by_event_and_refuses_bad_filters(anna: Caller, markets) -> None:
    for market in markets:
        anna.placed(**buy(market, price=1, qty=1))
    event = markets[0]["event_ticker"]
    anna.eventually(
        lambda: {
            row["ticker"] for row in anna.walk("/orders", "orders", event_ticker=event.lower())
        },
        lambda tickers: {market["ticker"] for market in markets} <= tickers,
    )
    both = {"event_ticker": event, "ticker": markets[0]["ticker"]}
    assert anna.refusal("/orders", **both) == (400, "conflicting_identifiers")
    assert anna.refusal("/orders", ticker="NOBODY")[0] == 400
    assert anna.refusal("/orders", event_ticker="NOBODY")[0] == 400
    assert anna.refusal("/orders", ticker="a_b")[0] == 400


def test_a_walk_over_orders_is_stable_while_new_ones_arrive(anna: Caller, market) -> None:
    ids = [anna.placed(**buy(market, price=1, qty=1))["order_id"] for _ in range(9)]
    anna.order_read(ids[-1], status="open")
    page = anna.get("/orders", ticker=market["ticker"], limit=4)
    seen = [row["order_id"] for row in page["orders"]]
    while page["cursor"]:
        anna.placed(**buy(market, price=1, qty=1))
        page = anna.get("/orders", ticker=market["ticker"], limit=4, cursor=page["cursor"])
        seen += [row["order_id"] for row in page["orders"]]
    assert seen == ids[::-1]
