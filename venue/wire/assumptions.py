"""Every spec gap of the interface, numbered, and our reading of it: the only place that states it.

Code that follows a reading names its number in a comment or docstring (`S13`). `switch` says where
to change when the truth is learned. The numbers are permanent. docs/assumptions.md is generated
from this table.
"""

from typing import Final

import msgspec


class Assumption(msgspec.Struct, frozen=True):
    """One spec gap, what this venue does, and what a client must survive."""

    gap: str
    reading: str
    switch: str
    """Dotted module, or module and name, that follows the reading; several parted by commas."""
    survives: str = ""
    """Other plausible answers that a client copes with; empty where none depends on it."""


ASSUMPTIONS: Final[dict[str, Assumption]] = {
    "S1": Assumption(
        "success status of a write",
        "201 for a create that made a new order; 200 for every other write and for a retry",
        "venue.rest.trade",
        "any 2xx",
    ),
    "S2": Assumption(
        "filters of GET /events",
        "`series_ticker`, `project_id`, `status`",
        "venue.rest.market",
    ),
    "S3": Assumption(
        "event filter of GET /orders, codes of bad filter values",
        "`event_ticker`; unknown value: invalid_parameter; malformed: invalid_market_identifier",
        "venue.rest.account",
        "any 400",
    ),
    "S4": Assumption(
        "GET /portfolio/fills: query and reply",
        "`limit`, `cursor`, `ticker`, `event_ticker`, `order_id` in; `{fills, cursor}` out, "
        "newest first, each with ids, outcome, side, both prices, qty, fee_cents, liquidity, "
        "created_at",
        "venue.wire.model.Fill, venue.views.account",
        "missing or extra fields, another name for qty, numeric ids",
    ),
    "S5": Assumption(
        "GET /portfolio/positions: query, reply, three money fields",
        "0 shares: not listed; cost_basis: cents paid for the shares held, without fees; "
        "avg_entry_price: cost_basis / qty, half up; realized_pnl: proceeds less cost of "
        "shares sold less all fees of the position",
        "venue.engine.ledger, venue.views.account",
        "any meaning: no decision uses them",
    ),
    "S6": Assumption(
        "path of public trades",
        "GET /markets/{market_id}/trades with `limit`, `cursor`, `from`, `to`; `{trades, "
        "cursor}`, newest first",
        "venue.wire.routes.TRADES, venue.views.market",
        "no such endpoint",
    ),
    "S7": Assumption(
        "candles: default interval, volume unit, empty buckets",
        "1h; shares; omitted",
        "venue.views.candles, venue.rest.market",
    ),
    "S8": Assumption(
        "address of the subscription channel",
        "`/stream` under the base URL; ws for http, wss for https",
        "venue.wire.routes.STREAM_PATH",
        "a configured address",
    ),
    "S9": Assumption(
        "answer to a subscribe",
        "a `subscribed` frame with the number of targets, then a whole book per event-market "
        "target",
        "venue.stream.channel, venue.wire.frames.Subscribed",
        "no acknowledgement, no first book",
    ),
    "S10": Assumption(
        "fields of update frames",
        "camelCase; `ticker`, `eventMarketId`, `ts` in each; whole YES and NO bid ladders, best "
        "first, conflated per market; prints with `tradeId`, maker and taker; implied value and "
        "confidence as decimal strings",
        "venue.wire.frames, venue.wire.codec.decode_frame",
        "unknown frame types and fields, no ticker or symbol, levels as pairs, numbers as "
        "strings, numeric tradeId",
    ),
    "S11": Assumption(
        "push of order and fill events",
        "none: write responses and reads show own fills",
        "venue.wire.frames",
    ),
    "S12": Assumption(
        "a create that names no market",
        "invalid_request_body",
        "venue.wire.codec.parse_new_order",
    ),
    "S13": Assumption(
        "meaning of qty in an amend",
        "the new REMAINING size; then qty = filled + remaining; below 1: invalid_qty; order_id "
        "stays; a price that crosses trades at once, as taker",
        "venue.engine.engine, venue.wire.codec.parse_amend",
        "another order_id after an amend; qty read as the total, seen in the reply",
    ),
    "S14": Assumption(
        "duplicate_order_id and idempotency",
        "same body: the existing order, before any halt, balance or limit check; other body: "
        "duplicate_order_id; ids are kept for ever",
        "venue.engine.engine",
        "duplicate_order_id for an identical retry: the order exists",
    ),
    "S15": Assumption(
        "derivation of order_id",
        "keyed hash of user and client_order_id, as an unsigned 64-bit decimal",
        "venue.engine.identity",
        "any: the client never derives or compares one",
    ),
    "S16": Assumption(
        "fee rounding over several fills of an order",
        "per order the ceiling of the sum of all exact fees so far, each at its role's rate; the "
        "reserve of the remainder follows this sum",
        "venue.wire.money.reserve_cents, venue.engine.ledger",
        "a ceiling per fill: cash is reconciled with the balance, a lasting difference reported",
    ),
    "S17": Assumption(
        "fee rate of a reserve",
        "the larger of maker and taker, at the limit price",
        "venue.wire.money.reserve_cents, venue.engine.ledger",
        "either rate",
    ),
    "S18": Assumption(
        "status of a partly filled ioc",
        "canceled, with filled_qty above 0",
        "venue.engine.engine",
        "any terminal status",
    ),
    "S19": Assumption(
        "a fok that meets an own resting order",
        "if met before the fok is complete: canceled, and neither order changes",
        "venue.engine.matching",
    ),
    "S20": Assumption(
        "course of self-trade prevention",
        "in price-time order: both sides shrink by the overlap, the rest goes on",
        "venue.engine.matching",
    ),
    "S21": Assumption(
        "cause of status expired",
        "the order rested when its market resolved; its reserve is released",
        "venue.engine.engine",
        "any cause",
    ),
    "S22": Assumption(
        "settlement",
        "a winning share pays 100 cents, no fee; positions leave the list; open interest is 0; the "
        "event settles with its last rung",
        "venue.engine.ledger",
        "positions that vanish",
    ),
    "S23": Assumption(
        "effect of a halted market",
        "creates and amends: market_halted; cancels work; resting orders stay",
        "venue.engine.admission",
        "rejected cancels",
    ),
    "S24": Assumption(
        "extent of venue_halted",
        "409 for every write, also cancels; reads continue",
        "venue.engine.admission",
    ),
    "S25": Assumption(
        "per-order ceilings",
        "1,000,000 shares and 100,000,000 cents of notional; above: invalid_qty, for budgets "
        "invalid_budget",
        "venue.wire.limits.QTY_MAX, venue.wire.limits.NOTIONAL_CENTS_MAX",
        "smaller ceilings, learned from the reject",
    ),
    "S26": Assumption(
        "hostile bodies: long, deep, not UTF-8, repeated key, NaN, `true` or `1.0` for an integer",
        "invalid_request_body; at most 16 KiB and 8 deep",
        "venue.wire.codec.parse_new_order, venue.wire.limits.BODY_BYTES_MAX",
    ),
    "S27": Assumption(
        "bearer scope of each endpoint",
        "markets:read: markets, events, books, candles, trades; account:read: orders, "
        "portfolio, snapshot; orders:write: POST, PUT, DELETE; orders:bulk-cancel: DELETE",
        "venue.wire.routes.ROUTES",
    ),
    "S28": Assumption(
        "a book that never traded",
        "REST shows the zero instant and empty sides even while orders rest; the channel shows the "
        "true ladders",
        "venue.views.market",
        "an empty REST book is no information, never a loss of own orders",
    ),
    "S29": Assumption(
        "order of rejections",
        "credential, bucket, scope, path, body shape, field values, idempotent retry, venue "
        "state, market state, funds",
        "venue.rest.app, venue.engine.admission, venue.wire.errors.PRECEDENCE",
        "any order",
    ),
    "S30": Assumption(
        "identity on the channel",
        "unknown UUID: no frames; a halted market's ticker is refused, its UUID works",
        "venue.views.directory, venue.stream.channel",
        "a silent target is not quoted after 10 s",
    ),
    "S31": Assumption(
        "second cancel: the text says both 0 and order_not_cancelable",
        "after a cancel: 200 with reduced_by 0; after any other end: order_not_cancelable",
        "venue.engine.engine",
        "either answer",
    ),
    "S32": Assumption(
        "create: unknown fields, null for an optional one",
        "ignored; null is absent",
        "venue.wire.codec.parse_new_order",
    ),
    "S33": Assumption(
        "when an event is closed",
        "from its first resolved rung, or by the operator",
        "venue.engine.listings",
        "any time",
    ),
    "S34": Assumption(
        'unfiltered market list, "the full active catalog"',
        "all markets that are not resolved, also halted ones",
        "venue.views.catalog",
    ),
    "S35": Assumption(
        "a budget too small for one share",
        "budget_not_fillable",
        "venue.engine.budget",
        "any 422, or canceled with nothing filled",
    ),
    "S36": Assumption(
        "a non-integer limit",
        "invalid_parameter; any integer is clamped",
        "venue.rest.params",
    ),
    "S37": Assumption(
        "binding of a cursor",
        "user, route, filters; authenticated; survives a restart; from another list: "
        "invalid_cursor",
        "venue.views.cursor",
    ),
    "S38": Assumption(
        "search",
        "literal substring of company name, symbol, event title; prefix of tickers; empty is too "
        "short",
        "venue.views.catalog",
    ),
    "S39": Assumption(
        "headers of 429 engine_overloaded",
        "Retry-After as for rate_limited; the bucket need not be empty",
        "venue.rest.app",
        "no such header",
    ),
    "S40": Assumption(
        "GET /openapi.yaml with a bad credential",
        "served",
        "venue.wire.routes.OPENAPI",
    ),
    "S41": Assumption(
        "volume_usd",
        "sum of qty x canonical YES price, in dollars",
        "venue.views.market",
        "any meaning: display only",
    ),
    "S42": Assumption(
        "failed authentication and the bucket",
        "costs no token; a 403 costs one and carries rate limit headers",
        "venue.rest.gate",
        "either",
    ),
    "S43": Assumption(
        "an amend of a finished order",
        "order_not_cancelable",
        "venue.engine.engine",
        "404, 409 or 422",
    ),
    "S44": Assumption(
        "a budget order that meets an own resting order",
        "its liquidity ends there, no own order shrinks; a fok is not fillable",
        "venue.engine.budget",
    ),
    "S45": Assumption(
        "case and spaces in client_order_id",
        "case matters; spaces are allowed",
        "venue.wire.names.is_client_order_id",
    ),
    "S46": Assumption(
        "min_price, max_price and tick_size",
        "1, 99 and 1 on all markets",
        "venue.views.catalog",
        "other values, obeyed",
    ),
    "S47": Assumption(
        "empty target set; repeated target",
        "no subscription; delivered once",
        "venue.stream.channel",
    ),
    "S48": Assumption(
        "an unparsable client frame",
        "error frame invalid_frame, subscriptions stay; three in a row close the connection",
        "venue.stream.channel, venue.wire.limits.UNPARSED_FRAMES_MAX",
        "any",
    ),
    "S49": Assumption(
        "unknown path or method",
        "404 market_not_found in the Error shape",
        "venue.rest.app",
        "any status and code",
    ),
    "S50": Assumption(
        "amends under venue_cancel_only",
        "all rejected, also shrinking ones",
        "venue.engine.admission",
        "either",
    ),
    "S51": Assumption(
        "unit of X-RateLimit-Reset",
        "Unix seconds, rounded up, when the bucket is full again",
        "venue.rest.gate",
        "any: the bot waits for Retry-After",
    ),
    "S52": Assumption(
        "candles per answer",
        "the newest 10,000 of the window; 4h and 12h from the newest 10,000 hours",
        "venue.views.candles",
    ),
    "S53": Assumption(
        "an order shrunk by self-trade prevention, then traded out",
        "canceled: not all of it traded",
        "venue.engine.matching",
        "any terminal status",
    ),
    "S54": Assumption(
        "candles of a window",
        "those that overlap it, each whole; the first may begin before it",
        "venue.views.candles",
    ),
    "S55": Assumption(
        "a fractional price or qty",
        "invalid_price or invalid_qty; in budget_cents: wrong type",
        "venue.wire.jsonnumber",
    ),
    "S56": Assumption(
        "a fok budget when the book ends before its cash",
        "filled if the rest buys no further share at the last price taken; otherwise "
        "budget_not_fillable",
        "venue.engine.budget",
    ),
}
