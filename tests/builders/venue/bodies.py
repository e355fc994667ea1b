"""Bodies of a market, an order and a book as the interface has them."""

INSTANT = "2026-01-02T03:04:05.000000006Z"
MARKET = {
    "ticker": "ACME-26Q4-212.5B",
    "market_id": "0b9f3c1e-5a2d-4c7b-9e8f-001122aabbcc",
    "event_ticker": "ACME-26Q4",
    "project_market_id": "1b9f3c1e-5a2d-4c7b-9e8f-001122aabbcc",
    "name": "Acme above 212.5B",
    "outcome_label": "Above 212.5B",
    "state": "active",
    "min_price": 1,
    "max_price": 99,
    "tick_size": 1,
    "maker_fee_rate": "0.0100",
    "taker_fee_rate": "0.0175",
    "open_interest": 0,
    "created_at": INSTANT,
    "updated_at": INSTANT,
}
ORDER = {
    "order_id": "18446744073709551615",
    "ticker": MARKET["ticker"],
    "market_id": MARKET["market_id"],
    "event_ticker": MARKET["event_ticker"],
    "outcome": "yes",
    "side": "buy",
    "price": 41,
    "qty": 10,
    "remaining_qty": 10,
    "filled_qty": 0,
    "status": "open",
    "time_in_force": "gtc",
    "created_at": INSTANT,
    "updated_at": INSTANT,
}
BOOK = {
    "ticker": MARKET["ticker"],
    "market_id": MARKET["market_id"],
    "as_of": "0001-01-01T00:00:00Z",
    "bids": [],
    "asks": [],
}
