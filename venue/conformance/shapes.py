"""The fields of every resource and what they may say. A venue may add fields."""

import re
from collections.abc import Callable
from typing import Any, Final

from venue.conformance.judge import DECIMAL, UUID, ZERO_INSTANT, Json, holds, same

MARKET: Final = {
    *("ticker", "market_id", "event_ticker", "project_market_id", "name", "outcome_label"),
    *("state", "min_price", "max_price", "tick_size", "maker_fee_rate", "taker_fee_rate"),
    *("open_interest", "created_at", "updated_at"),
}
ORDER: Final = {
    *("order_id", "ticker", "market_id", "event_ticker", "outcome", "side", "price", "qty"),
    *("remaining_qty", "filled_qty", "status", "time_in_force", "created_at", "updated_at"),
}
EVENT: Final = {
    *("event_ticker", "series_ticker", "project_market_id", "project_id", "title", "category"),
    *("status", "mutually_exclusive", "resolution_date", "markets"),
}
TRADE: Final = {"trade_id", "ticker", "market_id", "price", "qty", "created_at"}
POSITION: Final = {
    *("ticker", "market_id", "event_ticker", "outcome", "qty"),
    *("cost_basis", "avg_entry_price", "realized_pnl"),
}
CANDLE: Final = {"timestamp", "open", "high", "low", "close", "volume", "trade_count"}
BALANCE: Final = {"available_cents", "reserved_cents", "total_cents"}

OUTCOMES: Final = {"yes", "no", "unknown"}
SIDES: Final = {"buy", "sell", "unknown"}
TIMES_IN_FORCE: Final = {"gtc", "ioc", "fok", "unknown"}
REPLY_STATUSES: Final = {"open", "partially_filled", "filled", "canceled"}
STATUSES: Final = {"accepted", "expired", *REPLY_STATUSES}
RESTING: Final = {"accepted", "open", "partially_filled"}
MARKET_STATES: Final = {"active", "halted", "resolved"}
EVENT_STATUSES: Final = ("unopened", "open", "closed", "settled")
INTERVALS: Final = ("30s", "1m", "1h", "4h", "12h", "1d")


def _needs(body: Json, fields: set[str], what: str) -> None:
    missing = fields - body.keys()
    holds(not missing, f"{what} without {sorted(missing)}: {body!r}")


def judge_market(body: Json) -> None:
    _needs(body, MARKET, "market")
    holds(body["state"] in MARKET_STATES, f"market state {body['state']!r}")
    holds(body["min_price"] <= body["max_price"], "min_price above max_price")
    holds(body["ticker"].startswith(body["event_ticker"] + "-"), f"ticker {body['ticker']!r}")


def judge_order(body: Json) -> None:
    _needs(body, ORDER, "order")
    holds(body["outcome"] in OUTCOMES, f"outcome {body['outcome']!r}")
    holds(body["side"] in SIDES, f"side {body['side']!r}")
    holds(body["time_in_force"] in TIMES_IN_FORCE, f"time_in_force {body['time_in_force']!r}")
    holds(body["status"] in STATUSES, f"order status {body['status']!r}")
    filled, left, status = body["filled_qty"], body["remaining_qty"], body["status"]
    holds(filled + left <= body["qty"], f"filled and remaining exceed qty: {body!r}")
    if status == "open":
        holds(filled == 0 and left > 0, f"open, yet {body!r}")
    if status == "partially_filled":
        holds(filled > 0 and left > 0, f"partially_filled, yet {body!r}")
    if status == "filled":
        holds(left == 0 and filled > 0, f"filled, yet {body!r}")


def judge_read_order(body: Json) -> None:
    judge_order(body)
    holds("reserved_cents" in body, f"a read order without reserved_cents: {body!r}")
    _judge_not_created(body)


def judge_written_order(body: Json) -> None:
    judge_order(body)
    holds(body["status"] in REPLY_STATUSES, f"a write answered {body['status']!r}")
    holds("reserved_cents" not in body, "a write's answer carries reserved_cents")


def judge_amended_order(body: Json) -> None:
    judge_written_order(body)
    _judge_not_created(body)


def _judge_not_created(body: Json) -> None:
    for name in ("client_order_id", "spent_cents"):
        holds(name not in body, f"an order carries {name} where it was not created")


def judge_event(body: Json) -> None:
    _needs(body, EVENT, "event")
    holds(body["status"] in EVENT_STATUSES, f"event status {body['status']!r}")
    holds(type(body["mutually_exclusive"]) is bool, "mutually_exclusive is a boolean")
    quarter = re.escape(body["series_ticker"]) + r"-[0-9]{2}Q[1-4]"
    holds(re.fullmatch(quarter, body["event_ticker"]), f"event ticker {body['event_ticker']!r}")
    for market in body["markets"]:
        judge_market(market)


def judge_book(body: Json) -> None:
    _needs(body, {"ticker", "market_id", "as_of", "bids", "asks"}, "orderbook")
    bids = [level["price"] for level in body["bids"]]
    asks = [level["price"] for level in body["asks"]]
    same(bids, sorted(set(bids), reverse=True), "bids, best first")
    same(asks, sorted(set(asks)), "asks, best first")
    for level in body["bids"] + body["asks"]:
        same(level.keys() >= {"price", "size"}, True, f"level {level!r}")
        holds(level["size"] > 0, f"level {level!r}")
    if bids and asks:
        holds(bids[0] < asks[0], f"crossed book: {bids[0]} bid, {asks[0]} asked")
    if ZERO_INSTANT.fullmatch(body["as_of"]):
        same([bids, asks], [[], []], "sides of a book at the zero instant")


def judge_trade(body: Json) -> None:
    _needs(body, TRADE, "trade")
    for name in body:
        identity = re.search(r"user|order|maker|taker|account|counterparty", name)
        holds(identity is None, f"a public trade carries {name}")


def judge_position(body: Json) -> None:
    _needs(body, POSITION, "position")
    holds(body["outcome"] in OUTCOMES, f"outcome {body['outcome']!r}")


def judge_stats(body: Json) -> None:
    _needs(body, {"volume_usd", "open_interest"}, "stats")
    daily = [name for name in body if re.search("24|day", name)]
    holds(not daily, f"a 24-hour figure: {body!r}")


def judge_snapshot(body: Json) -> None:
    _needs(body, {"market", "orderbook", "stats", "positions", "resting_orders"}, "snapshot")
    judge_market(body["market"])
    judge_book(body["orderbook"])
    judge_stats(body["stats"])
    same(body["market"]["open_interest"], body["stats"]["open_interest"], "open_interest")
    if "last_trade" in body:
        judge_trade(body["last_trade"])
    for position in body["positions"]:
        judge_position(position)
    for order in body["resting_orders"]:
        judge_read_order(order)
        holds(order["status"] in RESTING, f"a resting order is {order['status']}")
    holds(not BALANCE & body.keys(), "a snapshot carries cash")


def judge_candles(body: Json) -> None:
    _needs(body, {"ticker", "market_id", "interval", "candles"}, "candle series")
    holds(body["interval"] in INTERVALS, f"interval {body['interval']!r}")
    for candle in body["candles"]:
        _needs(candle, CANDLE, "candle")
        middle = sorted((candle["open"], candle["close"]))
        holds(candle["low"] <= middle[0] <= middle[1] <= candle["high"], f"candle {candle!r}")
        holds(candle["trade_count"] > 0, f"a candle without a trade: {candle!r}")
    stamps = [candle["timestamp"] for candle in body["candles"]]
    same(stamps, sorted(set(stamps)), "candles, oldest first")


def judge_balance(body: Json) -> None:
    _needs(body, BALANCE, "balance")
    same(body["available_cents"] + body["reserved_cents"], body["total_cents"], "total_cents")
    holds(body["available_cents"] >= 0, f"available_cents {body['available_cents']}")


def judge_fill(body: Json) -> None:
    _needs(body, {"outcome_price", "trade_price"}, "fill")


def _page(name: str, judge: Callable[[Json], None]) -> Callable[[Json], None]:
    def judge_page(body: Json) -> None:
        _needs(body, {name, "cursor"}, f"page of {name}")
        holds(isinstance(body["cursor"], str), f"cursor {body['cursor']!r}")
        for row in body[name]:
            judge(row)

    return judge_page


def _judge_cancel(body: Json) -> None:
    _needs(body, {"order", "reduced_by"}, "cancel")
    judge_order(body["order"])
    _judge_not_created(body["order"])


_MARKET_ID: Final = r"/markets/[^/]+"
_ROUTES: Final[tuple[tuple[str, str, Callable[[Json], None]], ...]] = (
    ("GET", r"/markets", _page("markets", judge_market)),
    ("GET", _MARKET_ID + "/snapshot", judge_snapshot),
    ("GET", _MARKET_ID + "/orderbook", judge_book),
    ("GET", _MARKET_ID + "/candles", judge_candles),
    ("GET", _MARKET_ID + "/trades", _page("trades", judge_trade)),
    ("GET", r"/events(/[^/]+)?", _page("events", judge_event)),
    ("POST", r"/orders", judge_written_order),
    ("GET", r"/orders", _page("orders", judge_read_order)),
    ("GET", r"/orders/[^/]+", judge_read_order),
    ("PUT", r"/orders/[^/]+", judge_amended_order),
    ("DELETE", r"/orders/[^/]+", _judge_cancel),
    ("GET", r"/portfolio/balance", judge_balance),
    ("GET", r"/portfolio/positions", _page("positions", judge_position)),
    ("GET", r"/portfolio/fills", _page("fills", judge_fill)),
)


def judge_body(method: str, path: str, body: Any) -> None:
    for wanted_method, pattern, judge in _ROUTES:
        if method == wanted_method and re.fullmatch(pattern, path):
            judge(body)
            return


_FRAME_FIELDS: Final = {
    "prediction-orderbook": {"ticker", "eventMarketId", "ts", "yes", "no"},
    "prediction-trade": {
        *("ticker", "eventMarketId", "ts", "tradeId", "price", "size", "maker", "taker"),
    },
    "prediction-ticker": {"ticker", "eventMarketId", "ts", "price", "size"},
    "prediction-implied-value": {"symbol", "marketId", "ts", "impliedValue", "confidence"},
}


def judge_update(data: Json) -> None:
    kind = data.get("type")
    holds(kind in _FRAME_FIELDS, f"market-update of type {kind!r}")
    _needs(data, _FRAME_FIELDS[str(kind)], str(kind))
    holds(type(data["ts"]) is int and data["ts"] > 10**18, f"ts {data['ts']!r}")
    if kind == "prediction-implied-value":
        for name in ("impliedValue", "confidence"):
            fits = isinstance(data[name], str) and DECIMAL.fullmatch(data[name])
            holds(fits, f"{name} {data[name]!r}")
        holds(UUID.fullmatch(data["marketId"]), f"marketId {data['marketId']!r}")
        return
    holds(UUID.fullmatch(data["eventMarketId"]), f"eventMarketId {data['eventMarketId']!r}")
    if kind == "prediction-orderbook":
        for side in ("yes", "no"):
            prices = [level["price"] for level in data[side]]
            same(prices, sorted(set(prices), reverse=True), f"{side} bids, best first")
        levels = data["yes"] + data["no"]
    else:
        levels = [data]
    for level in levels:
        in_range = type(level["price"]) is int and 1 <= level["price"] <= 99
        holds(in_range, f"price of {level!r}")
        holds(type(level["size"]) is int and level["size"] > 0, f"size of {level!r}")
