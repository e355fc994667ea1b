"""Money counted two ways from outside: by what each fill says, and by what the balances say."""

import random

from tests.spec.api import Caller, Json

DEPOSIT_CENTS = 100_000_000


def _walk_fills(caller: Caller, tickers: set[str]) -> list[Json]:
    return [row for row in caller.walk("/portfolio/fills", "fills") if row["ticker"] in tickers]


def _trade_at_random(callers: list[Caller], tickers: list[str], seed: int) -> None:
    draw = random.Random(seed)
    live: list[tuple[Caller, str]] = []
    for _ in range(250):
        caller = draw.choice(callers)
        kind = draw.random()
        if kind < 0.12 and live:
            owner, order_id = live.pop(draw.randrange(len(live)))
            owner.cancel(order_id)
            continue
        if kind < 0.22 and live:
            owner, order_id = draw.choice(live)
            owner.amend(order_id, price=draw.randint(42, 58), qty=draw.randint(1, 9))
            continue
        reply = caller.place(
            ticker=draw.choice(tickers),
            outcome=draw.choice(["yes", "no"]),
            side=draw.choice(["buy", "buy", "sell"]),
            price=draw.randint(42, 58),
            qty=draw.randint(1, 9),
            time_in_force=draw.choice(["gtc", "gtc", "gtc", "ioc", "fok"]),
        )
        if reply.status_code == 201:
            live.append((caller, reply.json()["order_id"]))


def test_cash_and_open_interest_account_for_every_cent(
    anna: Caller, bruno: Caller, clara: Caller, markets
) -> None:
    callers, tickers = [anna, bruno, clara], [market["ticker"] for market in markets]
    before = [caller.balance()["total_cents"] for caller in callers]
    _trade_at_random(callers, tickers, seed=20)
    after = [caller.balance()["total_cents"] for caller in callers]
    fills = [_walk_fills(caller, set(tickers)) for caller in callers]

    # First way: every fill's own words explain its owner's cash.
    for caller_fills, old, new in zip(fills, before, after, strict=True):
        flow = sum(
            (row["outcome_price"] * row["qty"]) * (1 if row["side"] == "sell" else -1)
            - row["fee_cents"]
            for row in caller_fills
        )
        assert new - old == flow

    # Second way: what left the accounts is fees and 100 cents for each pair issued.
    interest = sum(
        anna.get(f"/markets/{ticker}/snapshot")["stats"]["open_interest"] for ticker in tickers
    )
    fees = sum(row["fee_cents"] for rows in fills for row in rows)
    assert sum(before) - sum(after) == 100 * interest + fees
    assert interest > 0
    assert fees > 0

    # Shares: as many YES as NO, as many as pairs are outstanding, in every market.
    for ticker in tickers:
        held = [caller.holdings(ticker) for caller in callers]
        pairs = anna.get(f"/markets/{ticker}/snapshot")["stats"]["open_interest"]
        assert sum(row.get("yes", 0) for row in held) == pairs
        assert sum(row.get("no", 0) for row in held) == pairs


def test_reserved_cash_is_what_the_resting_orders_say(anna: Caller, bruno: Caller, clara) -> None:
    for caller in (anna, bruno, clara):
        resting = caller.walk("/orders", "orders", status="resting")
        assert caller.balance()["reserved_cents"] == sum(row["reserved_cents"] for row in resting)


def test_the_tape_explains_the_lifetime_volume_and_the_candles(
    anna: Caller, bruno: Caller, market
) -> None:
    ticker = market["ticker"]
    for price, qty in ((40, 3), (44, 5), (41, 2)):
        anna.placed(ticker=ticker, outcome="yes", side="buy", price=price, qty=qty)
        order = bruno.placed(ticker=ticker, outcome="no", side="buy", price=100 - price, qty=qty)
        bruno.order_read(order["order_id"], status="filled")
    trades = anna.get(f"/markets/{ticker}/trades")["trades"]
    assert [(row["price"], row["qty"]) for row in trades] == [(41, 2), (44, 5), (40, 3)]
    snapshot = anna.get(f"/markets/{ticker}/snapshot")
    volume_cents = sum(row["price"] * row["qty"] for row in trades)
    assert round(float(snapshot["stats"]["volume_usd"]) * 100) == volume_cents
    assert snapshot["last_trade"] == trades[0]
    assert snapshot["stats"]["last_price"] == snapshot["market"]["last_price"] == 41
    for interval in ("1h", "4h", "12h", "1d"):
        series = anna.get(f"/markets/{ticker}/candles", interval=interval)
        assert series["interval"] == interval
        if len(series["candles"]) == 1:  # the three prints may straddle two buckets
            candle = series["candles"][0]
            assert [candle[name] for name in ("open", "high", "low", "close")] == [40, 44, 40, 41]
            assert (candle["volume"], candle["trade_count"]) == (10, 3)


def test_one_market_can_yield_two_positions(
    anna: Caller, bruno: Caller, clara: Caller, market
) -> None:
    ticker = market["ticker"]
    anna.placed(ticker=ticker, outcome="yes", side="buy", price=40, qty=2)
    bruno.placed(ticker=ticker, outcome="no", side="buy", price=60, qty=2)
    clara.placed(ticker=ticker, outcome="yes", side="buy", price=45, qty=3)
    anna.placed(ticker=ticker, outcome="no", side="buy", price=55, qty=3)
    assert anna.holdings(ticker) == {"yes": 2, "no": 3}
    rows = anna.get(f"/markets/{ticker}/snapshot")["positions"]
    assert {row["outcome"]: row["cost_basis"] for row in rows} == {"yes": 80, "no": 165}
    assert {row["outcome"]: row["avg_entry_price"] for row in rows} == {"yes": 40, "no": 55}
