"""Checks of the subscription channel: frames in, frames out, whole sets, books and prints."""

import json
from typing import Any, Final

from venue.conformance.api import Listener, buy, by_id, by_ticker
from venue.conformance.bench import Bench
from venue.conformance.judge import Json, holds, instant_ns, same
from venue.conformance.registry import Needs, check

NOBODY: Final = "00000000-0000-4000-8000-000000000000"
BOOK: Final = "prediction-orderbook"


def _unheld(count: int) -> list[tuple[str, str, str]]:
    """So many well-formed targets that name nothing."""
    ids = [f"00000000-0000-4000-8000-{number:012d}" for number in range(count)]
    return [("event-market", "eventMarketId", each) for each in ids]


@check(needs=Needs.KEY, readings="S8")
def check_the_channel_needs_no_credential(bench: Bench) -> None:
    """Authentication | Market-data subscriptions need no credential."""
    same(bench.listener().accepted(), 0)


@check(readings="S8 S9 S10")
def check_a_subscribe_is_acknowledged_and_followed_by_the_book(bench: Bench) -> None:
    """Client frame: subscribe | A subscribe is acknowledged, then the books come.
    Handle rules | Units: integer cents, whole shares, ts in Unix nanoseconds.
    """
    market, order = bench.resting("yes", 30, 7)
    bench.anna.placed(**buy(market, "no", 60, 5))
    bench.anna.order_read(order["order_id"], status="open")
    bench.wait(bench.settle_s)
    listener = bench.listener()
    same(listener.accepted(by_id(market)), 1)
    data = listener.frame()["data"]
    same(data.keys(), {"type", "ticker", "eventMarketId", "ts", "yes", "no"})
    same(data["type"], BOOK)
    same((data["ticker"], data["eventMarketId"]), (market["ticker"], market["market_id"]))
    # The channel carries the true ladders, also of a market that never traded.
    same(data["yes"], [{"price": 30, "size": 7}])
    same(data["no"], [{"price": 60, "size": 5}])
    # By the venue's own clock: the judge's may be set otherwise.
    apart_ns = data["ts"] - instant_ns(order["created_at"])
    holds(abs(apart_ns) < 60 * 10**9, f"ts {data['ts']} of what was ordered {order['created_at']}")


@check(readings="S8 S10")
def check_every_match_is_a_trade_and_a_ticker_frame(bench: Bench) -> None:
    """Target types | prediction-trade carries every match: price, size, maker, taker.
    Target types | prediction-ticker carries the last matched price and the trade's quantity.
    """
    market, listener = bench.followed_market()
    bench.anna.placed(**buy(market, "yes", 40, 3))
    bench.anna.placed(**buy(market, "yes", 39, 2))
    bench.bruno.placed(**buy(market, "no", 61, 5))
    seen: list[Json] = []
    while len(seen) < 4:
        data = listener.frame()["data"]
        if data["type"] != BOOK:
            seen.append(data)
    for kind in ("prediction-trade", "prediction-ticker"):
        rows = [(row["price"], row["size"]) for row in seen if row["type"] == kind]
        same(rows, [(40, 3), (39, 2)], kind)
    trades = [row for row in seen if row["type"] == "prediction-trade"]
    same(len({row["tradeId"] for row in trades}), 2)
    for row in trades:
        same(row["maker"], {"outcome": "yes", "side": "buy"})
        same(row["taker"], {"outcome": "no", "side": "buy"})


@check(readings="S6 S8 S10")
def check_prints_of_the_channel_and_of_the_tape_are_the_same(bench: Bench) -> None:
    """MarketTrade (one print on the public tape) | trade_id is an equality key across page and
    channel.
    """
    market, listener = bench.followed_market()
    for price in (40, 41):
        bench.anna.placed(**buy(market, "yes", price, 1))
        bench.bruno.placed(**buy(market, "no", 60, 1))
    updates = listener.updates("prediction-trade")
    ids = {next(updates)["tradeId"] for _ in range(2)}
    rows = bench.anna.get(f"/markets/{market['ticker']}/trades")["trades"]
    same({row["trade_id"] for row in rows}, ids)


@check(readings="S8 S10")
def check_the_last_book_frame_is_the_book(bench: Bench) -> None:
    """Target types | However frames are joined, the last is the book."""
    market, listener = bench.followed_market()
    # Downwards, so that no book on the way looks like the last one.
    for price in range(39, 9, -1):
        bench.anna.placed(**buy(market, "yes", price, 1))
    bench.bruno.placed(**buy(market, "no", 65, 4))
    books = [listener.next_book()]
    while [level["price"] for level in books[-1]["yes"]] != list(range(35, 9, -1)):
        books.append(listener.next_book())
    same(books[-1]["no"], [])
    listener.quiet()
    stamps = [book["ts"] for book in books]
    same(stamps, sorted(stamps), "ts of the books")


@check(readings="S8 S10")
def check_trades_carry_nothing_of_identity(bench: Bench) -> None:
    """Target types | maker and taker: outcome and side, never who or which order."""
    market, listener = bench.followed_market()
    mine = bench.anna.placed(**buy(market, "yes", 50, 2))
    hers = bench.bruno.placed(**buy(market, "no", 50, 2))
    trade = next(listener.updates("prediction-trade"))
    fields = {"type", "ticker", "eventMarketId", "ts", "tradeId", "price", "size"}
    same(trade.keys(), fields | {"maker", "taker"})
    said = json.dumps(trade)
    for secret in (mine["order_id"], hers["order_id"], bench.anna.user_id, bench.bruno.user_id):
        holds(secret not in said, said)


@check(readings="S8 S10 S11")
def check_order_events_are_not_pushed(bench: Bench) -> None:
    """Events | Pushed: market data only; no order events, fills, webhooks."""
    market, other = bench.markets(2)
    listener = bench.listener()
    listener.accepted(by_id(other))
    listener.frame()
    order = bench.anna.placed(**buy(market, "yes", 50, 2))
    bench.anna.cancelled(order["order_id"])
    listener.quiet()


@check(readings="S8 S9 S10")
def check_a_subscribe_replaces_the_whole_set(bench: Bench) -> None:
    """Client frame: subscribe | subscribe replaces the entire set.
    Client frame: subscribe | No unsubscribe frame: send the set without the target.
    """
    first, second, third = bench.markets(3)
    listener = bench.listener()
    same(listener.accepted(by_id(first), by_id(second)), 2)
    same(listener.accepted(by_id(third)), 1)
    same(listener.frame()["data"]["eventMarketId"], third["market_id"])
    bench.anna.placed(**buy(first, "yes", 10, 1))
    listener.quiet()
    bench.anna.placed(**buy(third, "yes", 10, 1))
    same(listener.frame()["data"]["eventMarketId"], third["market_id"])


@check(readings="S9")
def check_every_accepted_subscribe_is_followed_by_the_books(bench: Bench) -> None:
    """Client frame: subscribe | Sending the same set again brings the books again."""
    markets = bench.markets(3)
    wanted = sorted(market["market_id"] for market in markets)
    listener = bench.listener()
    for _ in range(3):
        same(listener.accepted(*map(by_id, markets)), 3)
        same(sorted(listener.frame()["data"]["eventMarketId"] for _ in markets), wanted)


@check(readings="S47")
def check_an_empty_set_subscribes_to_nothing(bench: Bench) -> None:
    """Client frame: subscribe | An empty target set subscribes to nothing."""
    market, listener = bench.followed_market()
    same(listener.accepted(), 0)
    bench.anna.placed(**buy(market, "yes", 10, 1))
    listener.quiet()


@check(readings="S47")
def check_a_market_named_twice_is_delivered_once(bench: Bench) -> None:
    """Client frame: subscribe | Duplicates in a set are delivered once."""
    market = bench.market()
    upper = ("event-market", "eventMarketId", market["market_id"].upper())
    listener = bench.listener()
    same(listener.accepted(by_id(market), upper, by_id(market)), 1)
    same(listener.frame()["data"]["type"], BOOK)
    listener.quiet()


@check(needs=Needs.KEY, readings="S8 S9")
def check_200_targets_are_accepted_and_201_refused(bench: Bench) -> None:
    """Client frame: subscribe | At most 200 targets a message; more is too_many_targets."""
    listener = bench.listener()
    same(listener.accepted(*_unheld(200)), 200)
    same(listener.refused(*_unheld(201))["code"], "too_many_targets")


@check(readings="S8 S9")
def check_too_many_targets_leave_the_old_set(bench: Bench) -> None:
    """Client frame: subscribe | A refused frame leaves existing subscriptions untouched."""
    market, listener = bench.followed_market()
    listener.frame()
    listener.refused(*_unheld(201))
    bench.anna.placed(**buy(market, "yes", 10, 1))
    same(listener.frame()["data"]["eventMarketId"], market["market_id"])


@check(readings="S8 S9")
def check_one_unknown_target_refuses_the_frame_and_leaves_the_old_set(bench: Bench) -> None:
    """Client frame: subscribe | If any target cannot be resolved: unknown_target, old set stays.
    Server error frame | Shape: type error, message, code; code unknown_target.
    """
    first, second = bench.markets(2)
    listener = bench.listener()
    listener.accepted(by_id(first))
    listener.frame()
    nobody = ("event-market", "ticker", "NOBODY-26Q4-1B")
    same(listener.refused(by_id(second), nobody)["code"], "unknown_target")
    bench.anna.placed(**buy(second, "yes", 10, 1))
    listener.quiet()
    bench.anna.placed(**buy(first, "yes", 10, 1))
    same(listener.frame()["data"]["eventMarketId"], first["market_id"])


@check(needs=Needs.KEY, readings="S8 S9 S30")
def check_an_unknown_uuid_is_accepted_in_silence(bench: Bench) -> None:
    """Handle rules | An unrecognised UUID is accepted silently."""
    listener = bench.listener()
    targets = [("event-market", "eventMarketId", NOBODY), ("market", "marketId", NOBODY)]
    same(listener.accepted(*targets), 2)
    listener.quiet()


@check(needs=Needs.KEY, readings="S8")
def check_a_handle_with_other_characters_is_rejected(bench: Bench) -> None:
    """Handle rules | Characters other than letters, digits, dot and hyphen: rejected, never
    cleaned up.
    """
    listener = bench.listener()
    for bad in ("A_B", "A B", "ＬＩＮＤＥＮ", "LINDE\u212a", "", "a/b", "A\u0000", "%41"):
        for kind, key in (("event-market", "ticker"), ("market", "symbol")):
            same(listener.refused((kind, key, bad))["code"], "unknown_target", f"{kind} {bad!r}")


@check(needs=Needs.KEY, readings="S8")
def check_what_is_no_uuid_cannot_be_resolved(bench: Bench) -> None:
    """Client frame: subscribe | A malformed UUID: unknown_target."""
    listener = bench.listener()
    for bad in ("not-a-uuid", "", NOBODY.replace("-", "")):
        for key in (("event-market", "eventMarketId"), ("market", "marketId")):
            same(listener.refused((*key, bad))["code"], "unknown_target", f"{key} {bad!r}")


@check(readings="S8 S9")
def check_companies_and_rungs_are_separate_id_spaces(bench: Bench) -> None:
    """Target types | The two target types are separate id spaces."""
    market = bench.market()
    company = bench.scratch_company["project_id"]
    listener = bench.listener()
    rung = market["market_id"]
    swapped = [("event-market", "eventMarketId", company), ("market", "marketId", rung)]
    same(listener.accepted(*swapped), 2)
    bench.anna.placed(**buy(market, "yes", 10, 1))
    listener.quiet()


@check(readings="S8 S9 S10")
def check_an_implied_value_reaches_who_subscribed_to_the_company(bench: Bench) -> None:
    """Target types | market by symbol or marketId delivers prediction-implied-value.
    Target types | prediction-implied-value carries implied value and confidence.
    """
    company = bench.company()
    listener = bench.listener()
    same(listener.accepted(("market", "marketId", company["project_id"])), 1)
    body = {"value_dollars": "12500000000", "confidence": "0.75"}
    bench.act("POST", f"/companies/{company['project_id']}/implied-value", body)
    data = next(listener.updates("prediction-implied-value"))
    same((data["symbol"], data["marketId"]), (company["symbol"], company["project_id"]))
    same((float(data["impliedValue"]), float(data["confidence"])), (12.5e9, 0.75))


@check(readings="S8 S9")
def check_a_new_market_and_a_halted_one_resolve_by_uuid_at_once(bench: Bench) -> None:
    """Handle rules | A UUID resolves immediately."""
    event = bench.event(bench.scratch_company)
    market = bench.rung(event, "1B")
    listener = bench.listener()
    listener.accepted(by_id(market))
    same(listener.frame()["data"]["ticker"], market["ticker"])
    bench.set_market(market, "halt")
    listener.accepted(by_id(market))
    same(listener.frame()["data"]["ticker"], market["ticker"])


GOOD: Final = {"target": "event-market", "data": {"eventMarketId": NOBODY}}
BAD_TARGETS: Final[tuple[Any, ...]] = (
    {"target": "event-market", "data": {}},
    {"target": "event-market", "data": {"ticker": "A", "eventMarketId": NOBODY}},
    {"target": "event-market", "data": {"symbol": "A"}},
    {"target": "market", "data": {"ticker": "A"}},
    {"target": "market", "data": {"symbol": "A", "marketId": NOBODY}},
    {"target": "event", "data": {"ticker": "A"}},
    {"target": "event-market", "data": {"ticker": 7}},
    {"target": "event-market"},
    "LINDEN-VAL",
)


@check(needs=Needs.KEY, readings="S48")
def check_a_target_without_exactly_one_key_of_its_own_does_not_parse(bench: Bench) -> None:
    """Client frame: subscribe | One key per target, else it fails to parse: ticker or
    eventMarketId; symbol or marketId.
    """
    listener = bench.listener()
    for bad in BAD_TARGETS:
        listener.send_raw(json.dumps({"type": "subscribe", "data": {"targets": [GOOD, bad]}}))
        same(listener.error()["code"], "invalid_frame", f"{bad}")
        same(listener.accepted(), 0)


@check(readings="S48")
def check_a_frame_that_does_not_parse_leaves_the_old_set(bench: Bench) -> None:
    """Client frame: subscribe | A frame that fails to parse leaves subscriptions untouched."""
    market, listener = bench.followed_market()
    listener.frame()
    bad = {"target": "event-market", "data": {}}
    listener.send_raw(json.dumps({"type": "subscribe", "data": {"targets": [bad]}}))
    same(listener.error()["code"], "invalid_frame")
    bench.anna.placed(**buy(market, "yes", 10, 1))
    same(listener.frame()["data"]["ticker"], market["ticker"])


@check(needs=Needs.KEY, readings="S48")
def check_three_unparseable_frames_in_a_row_close_the_connection(bench: Bench) -> None:
    """Server error frame | An unparsable frame is answered; the third in a row closes."""
    texts = ("", "hello", "[]", "{}", '{"type": "unsubscribe"}', '{"type": "subscribe"}')
    for text in (*texts, "[" * 9999):
        listener: Listener = bench.listener()
        for _ in range(2):
            listener.send_raw(text)
            same(listener.error()["code"], "invalid_frame", text[:30])
        same(listener.accepted(), 0)
        for _ in range(3):
            listener.send_raw(text)
        same(listener.close_code(), 1008, text[:30])


@check(needs=Needs.KEY, readings="S48")
def check_an_oversize_message_closes_only_its_own_connection(bench: Bench) -> None:
    """Server error frame | A message above 262,144 bytes closes its connection."""
    good, bad = bench.listener(), bench.listener()
    bad.send_raw("x" * 2**18)
    same(bad.error()["code"], "invalid_frame")
    bad.send_raw("x" * (2**18 + 1))
    same(bad.close_code(), 1009)
    same(good.accepted(), 0)


@check(readings="S8")
def check_a_new_market_is_unknown_by_ticker_until_the_refresh(bench: Bench) -> None:
    """Handle rules | Handles are checked against a directory."""
    # The refresh may fall right between the making and the asking, but not five times.
    for _ in range(5):
        market, company = bench.market(), bench.company()
        listener = bench.listener()
        listener.subscribe(by_ticker(market))
        by_handle = listener.frame()
        listener.subscribe(("market", "symbol", company["symbol"]))
        by_symbol = listener.frame()
        if by_handle.get("code") == by_symbol.get("code") == "unknown_target":
            return
    holds(False, "new handles resolve at once")


@check(patient=True, readings="S8 S9")
def check_handles_resolve_after_the_refresh_trimmed_and_in_any_case(bench: Bench) -> None:
    """Handle rules | A new market or company resolves by its handle within about a minute.
    Handle rules | Handles are trimmed and case-folded, then matched literally.
    Handle rules | Open and resolved markets: by handle and by UUID.
    """
    made = bench.listed_handles()
    listener = bench.listener()
    ticker = made["active"]["ticker"]
    for written in (ticker, ticker.lower(), f" {ticker} ", f"\t{ticker.title()}\n"):
        same(listener.accepted(("event-market", "ticker", written)), 1)
        same(listener.frame()["data"]["ticker"], ticker)
    symbol = made["company"]["symbol"]
    for written in (symbol, f" {symbol.lower()} "):
        same(listener.accepted(("market", "symbol", written)), 1)
    same(listener.accepted(by_id(made["active"])), 1)
    for target in (by_ticker(made["resolved"]), by_id(made["resolved"])):
        same(listener.accepted(target), 1)


@check(patient=True, readings="S8 S9")
def check_a_halted_market_does_not_resolve_by_ticker(bench: Bench) -> None:
    """Handle rules | halted market: does not resolve by ticker, resolves by eventMarketId."""
    made = bench.listed_handles()
    listener = bench.listener()
    same(listener.refused(by_ticker(made["halted"]))["code"], "unknown_target")
    same(listener.accepted(by_id(made["halted"])), 1)
    same(listener.frame()["data"]["ticker"], made["halted"]["ticker"])


@check(patient=True, readings="S8 S9")
def check_an_archived_company_does_not_resolve_by_handle(bench: Bench) -> None:
    """Handle rules | Archived company: not by symbol nor by its market tickers; by UUID."""
    made = bench.listed_handles()
    listener = bench.listener()
    symbol = ("market", "symbol", made["archived"]["symbol"])
    for target in (symbol, by_ticker(made["orphan"])):
        same(listener.refused(target)["code"], "unknown_target", f"{target}")
    by_uuid = [by_id(made["orphan"]), ("market", "marketId", made["archived"]["project_id"])]
    same(listener.accepted(*by_uuid), 2)


@check(patient=True, readings="S8 S9")
def check_dots_in_a_handle_are_significant(bench: Bench) -> None:
    """Handle rules | Handles are matched literally: 21.25B is not 2125B."""
    made = bench.listed_handles()
    listener = bench.listener()
    for name in ("dotted", "undotted"):
        same(listener.accepted(by_ticker(made[name])), 1)
        same(listener.frame()["data"]["eventMarketId"], made[name]["market_id"])


@check(patient=True, readings="S8")
def check_a_series_or_event_ticker_is_rejected_with_a_pointer(bench: Bench) -> None:
    """Handle rules | event-market: market tickers only; a series or event ticker is
    rejected, naming GET /events/<ticker>.
    """
    event = bench.listed_handles()["event"]
    listener = bench.listener()
    for level in ("series_ticker", "event_ticker"):
        error = listener.refused(("event-market", "ticker", event[level]))
        same(error["code"], "unknown_target")
        holds(f"/events/{event[level]}" in error["message"], error["message"])


@check(readings="S8 S9 S10")
def check_a_symbol_may_change_and_be_reused(bench: Bench) -> None:
    """Handle rules | symbol is a company's current handle; it may change and be reused.
    Handle rules | A long-term reference should store the UUID: it stays.
    """
    company = bench.company()
    old = company["symbol"]
    body = {"symbol": f"{old}-NEW"}
    bench.act("POST", f"/companies/{company['project_id']}/symbol", body)
    heir = bench.act("POST", "/companies", {"name": f"Heir of {old}", "symbol": old})
    holds(heir["project_id"] != company["project_id"], "the heir is the same company")
    for owner, symbol in ((company, f"{old}-NEW"), (heir, old)):
        listener = bench.listener()
        same(listener.accepted(("market", "marketId", owner["project_id"])), 1)
        # The other's first: a UUID that had moved with the symbol would deliver it.
        for publisher in (heir if owner is company else company, owner):
            body = {"value_dollars": "1000000", "confidence": "0.5"}
            bench.act("POST", f"/companies/{publisher['project_id']}/implied-value", body)
        data = next(listener.updates("prediction-implied-value"))
        same((data["symbol"], data["marketId"]), (symbol, owner["project_id"]))
