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
    survives: str
    """Other plausible answers that a client copes with; empty where none depends on it."""
    switch: str
    """Dotted module, or module and name, that follows the reading; several parted by commas."""


ASSUMPTIONS: Final[dict[str, Assumption]] = {
    "S1": Assumption(
        "success status of a write",
        "201 for a create that made a new order; 200 for every other write, a re-send included",
        "any 2xx",
        "venue.rest.trade",
    ),
    "S2": Assumption(
        "names of the filters of GET /events",
        "`series_ticker`, `project_id`, `status`",
        "",
        "venue.rest.market",
    ),
    "S3": Assumption(
        "event filter of GET /orders, and the codes of bad filter values",
        "`event_ticker`; a value naming nothing is invalid_parameter, a malformed one is "
        "invalid_market_identifier",
        "any 400",
        "venue.rest.account",
    ),
    "S4": Assumption(
        "query and reply of GET /portfolio/fills",
        "`limit`, `cursor`, `ticker`, `event_ticker`, `order_id` in; `{fills, cursor}` out, newest "
        "first, each with ids, outcome, side, both prices, qty, fee_cents, liquidity, created_at",
        "missing or extra fields, another name for qty, ids that are numbers",
        "venue.wire.model.Fill, venue.views.account",
    ),
    "S5": Assumption(
        "query and reply of GET /portfolio/positions, and its three money fields",
        "a position of 0 shares is not listed; cost_basis is cents paid for the shares held, fees "
        "excluded; avg_entry_price is cost_basis / qty, half up; realized_pnl is proceeds less "
        "cost of the shares sold less every fee of the position",
        "any meaning: none of the three is used for a decision",
        "venue.engine.ledger, venue.views.account",
    ),
    "S6": Assumption(
        "path of the public trades",
        "GET /markets/{market_id}/trades with `limit`, `cursor`, `from`, `to`; `{trades, cursor}`, "
        "newest first",
        "no such endpoint",
        "venue.wire.routes.TRADES, venue.views.market",
    ),
    "S7": Assumption(
        "candles: default interval, unit of volume, buckets without a trade",
        "1h; shares; left out",
        "",
        "venue.views.candles, venue.rest.market",
    ),
    "S8": Assumption(
        "address of the subscription channel",
        "`/stream` under the base URL, ws for http and wss for https",
        "an address given by configuration",
        "venue.wire.routes.STREAM_PATH",
    ),
    "S9": Assumption(
        "answer to a subscribe",
        "a `subscribed` frame with the number of targets, then at once a whole book for every "
        "event-market target",
        "no acknowledgement, no first book",
        "venue.stream.channel, venue.wire.frames.Subscribed",
    ),
    "S10": Assumption(
        "fields of the update frames",
        "camelCase; `ticker`, `eventMarketId`, `ts` in each; books are whole YES and NO bid "
        "ladders of `{price, size}`, best first, conflated per market; prints carry `tradeId` and "
        "what maker and taker did; implied value and confidence are decimal strings",
        "unknown frame types and fields, no ticker or symbol, levels as pairs, numbers as strings, "
        "tradeId as a number",
        "venue.wire.frames, venue.wire.codec.decode_frame",
    ),
    "S11": Assumption(
        "push of order and fill events",
        "none: own fills are learned from the replies of writes and from reads",
        "",
        "venue.wire.frames",
    ),
    "S12": Assumption(
        "a create that names no market",
        "invalid_request_body",
        "",
        "venue.wire.codec.parse_new_order",
    ),
    "S13": Assumption(
        "meaning of qty in an amend",
        "the new REMAINING size; afterwards qty is filled + remaining; below 1 is invalid_qty; "
        "the order_id stays; a new price that crosses trades at once, as taker",
        "another order_id after an amend; qty read as the total, seen from the reply",
        "venue.engine.engine, venue.wire.codec.parse_amend",
    ),
    "S14": Assumption(
        "duplicate_order_id against idempotency",
        "the same body again gives the existing order whatever its status, looked up before any "
        "halt, balance or limit; the same id with another body is duplicate_order_id; ids are "
        "remembered for ever",
        "duplicate_order_id for an identical re-send: the order exists",
        "venue.engine.engine",
    ),
    "S15": Assumption(
        "derivation of order_id",
        "a keyed hash of user and client_order_id, as an unsigned 64-bit decimal",
        "any: the client never derives or compares one",
        "venue.engine.identity",
    ),
    "S16": Assumption(
        "rounding of the fees of several fills of one order",
        "a running sum per order: after each fill it has paid the ceiling of all exact fees so "
        "far, each at the rate of its role; the reserve of the remainder follows the same sum, so "
        "it always suffices",
        "a ceiling per fill: cash is compared with the balance and a lasting difference reported",
        "venue.wire.money.reserve_cents, venue.engine.ledger",
    ),
    "S17": Assumption(
        "which fee rate a reserve uses",
        "the larger of maker and taker at the limit price, for the check of a new order and for "
        "its resting remainder",
        "either rate",
        "venue.wire.money.reserve_cents, venue.engine.ledger",
    ),
    "S18": Assumption(
        "status of an ioc that was filled in part",
        "canceled, with filled_qty above 0",
        "any terminal status",
        "venue.engine.engine",
    ),
    "S19": Assumption(
        "a fok that meets an own resting order",
        "met before the fok is complete it makes it unfillable: canceled, and nothing changes on "
        "either order",
        "",
        "venue.engine.matching",
    ),
    "S20": Assumption(
        "course of self-trade prevention",
        "in price-time order as met: both sides shrink by the overlap, what is left of the "
        "incoming order goes on",
        "",
        "venue.engine.matching",
    ),
    "S21": Assumption(
        "cause of the status expired",
        "the order rested when its market resolved; its reserve is released",
        "any cause",
        "venue.engine.engine",
    ),
    "S22": Assumption(
        "settlement",
        "a winning share pays 100 cents, a losing one nothing, without fee; positions leave the "
        "list; open interest reads 0; the event is settled when its last rung resolves",
        "positions that vanish",
        "venue.engine.ledger",
    ),
    "S23": Assumption(
        "what a halted market still does",
        "creates and amends are market_halted, cancels work, resting orders stay; the operator "
        "makes it active again",
        "refused cancels",
        "venue.engine.admission",
    ),
    "S24": Assumption(
        "extent of venue_halted",
        "409 for every write, cancels too; reads go on",
        "",
        "venue.engine.admission",
    ),
    "S25": Assumption(
        "per-order ceilings",
        "1,000,000 shares and 100,000,000 cents of notional; beyond them invalid_qty, for budgets "
        "invalid_budget",
        "smaller ceilings, learned from the refusal",
        "venue.wire.limits.QTY_MAX, venue.wire.limits.NOTIONAL_CENTS_MAX",
    ),
    "S26": Assumption(
        "hostile bodies: too long, too deep, not UTF-8, a key twice, NaN, `true` or `1.0` for an "
        "integer",
        "invalid_request_body; at most 16 KiB and 8 deep",
        "",
        "venue.wire.codec.parse_new_order, venue.wire.limits.BODY_BYTES_MAX",
    ),
    "S27": Assumption(
        "bearer scope of each endpoint",
        "markets:read for markets, events, books, candles, trades; account:read for orders, "
        "portfolio, snapshot; orders:write for POST, PUT, DELETE; orders:bulk-cancel for DELETE "
        "alone; tokens are minted by the operator",
        "",
        "venue.wire.routes.ROUTES",
    ),
    "S28": Assumption(
        "a book that never traded",
        "REST book and snapshot report the zero instant and empty sides even while orders rest; "
        "the channel carries the true ladders",
        "an empty REST book is no information, never a loss of own orders",
        "venue.views.market",
    ),
    "S29": Assumption(
        "order of refusals",
        "credential, bucket, scope, path, body shape, field values, idempotent re-send, venue "
        "state, market state, funds",
        "any order",
        "venue.rest.app, venue.engine.admission, venue.wire.errors.PRECEDENCE",
    ),
    "S30": Assumption(
        "identity on the channel",
        "an unrecognised UUID yields no frames; the ticker of a halted market is refused, its UUID "
        "works",
        "a silent target cannot be quoted after 10 s",
        "venue.views.directory, venue.stream.channel",
    ),
    "S31": Assumption(
        "a second cancel: the text says both 0 and order_not_cancelable",
        "an order that a cancel ended answers 200 with reduced_by 0; one that filled, expired or "
        "was ended by ioc, fok or self-trade prevention answers order_not_cancelable",
        "either answer",
        "venue.engine.engine",
    ),
    "S32": Assumption(
        "unknown fields of a create, and null for an optional one",
        "ignored; null counts as absent",
        "",
        "venue.wire.codec.parse_new_order",
    ),
    "S33": Assumption(
        "when an event is closed",
        "from its first resolved rung on, or by the operator",
        "any time",
        "venue.engine.listings",
    ),
    "S34": Assumption(
        'the unfiltered market list, "the full active catalog"',
        "every market that is not resolved, halted ones included",
        "",
        "venue.views.catalog",
    ),
    "S35": Assumption(
        "a budget that buys not one share",
        "budget_not_fillable",
        "any 422, or canceled with nothing filled",
        "venue.engine.budget",
    ),
    "S36": Assumption(
        "a limit that is no integer",
        "invalid_parameter; an integer of any size is clamped",
        "",
        "venue.rest.params",
    ),
    "S37": Assumption(
        "what binds a cursor",
        "user, route and filters, authenticated; it survives a restart; one from another list is "
        "invalid_cursor",
        "",
        "venue.views.cursor",
    ),
    "S38": Assumption(
        "what a search matches",
        "a literal substring of company name, symbol and event title; a prefix of event and "
        "market ticker; empty counts as too short",
        "",
        "venue.views.catalog",
    ),
    "S39": Assumption(
        "headers of 429 engine_overloaded",
        "Retry-After as for rate_limited; it does not say that the bucket is empty",
        "no such header",
        "venue.rest.app",
    ),
    "S40": Assumption(
        "GET /openapi.yaml with a bad credential",
        "served",
        "",
        "venue.wire.routes.OPENAPI",
    ),
    "S41": Assumption(
        "volume_usd",
        "sum of qty x canonical YES price, in dollars",
        "any meaning: display only",
        "venue.views.market",
    ),
    "S42": Assumption(
        "a failed authentication and the bucket",
        "it costs no token; a 403 costs one and carries the limit headers",
        "either",
        "venue.rest.gate",
    ),
    "S43": Assumption(
        "an amend of a finished order",
        "order_not_cancelable",
        "404, 409 or 422",
        "venue.engine.engine",
    ),
    "S44": Assumption(
        "a budget order that meets an own resting order",
        "the liquidity it may take ends there and no own order shrinks; a fok is then not fillable",
        "",
        "venue.engine.budget",
    ),
    "S45": Assumption(
        "case and spaces in client_order_id",
        "case matters; the space is printable and allowed",
        "",
        "venue.wire.names.is_client_order_id",
    ),
    "S46": Assumption(
        "min_price, max_price and tick_size",
        "1, 99 and 1 on every market",
        "other values, obeyed",
        "venue.views.catalog",
    ),
    "S47": Assumption(
        "an empty target set, and a target named twice",
        "subscribes to nothing; delivered once",
        "",
        "venue.stream.channel",
    ),
    "S48": Assumption(
        "a client frame that cannot be parsed",
        "an error frame with code invalid_frame, subscriptions untouched; three in a row close "
        "the connection",
        "any",
        "venue.stream.channel, venue.wire.limits.UNPARSED_FRAMES_MAX",
    ),
    "S49": Assumption(
        "an unknown path or method",
        "404 with the Error shape and market_not_found, for nothing in the closed set fits better",
        "any status and code",
        "venue.rest.app",
    ),
    "S50": Assumption(
        "amends under venue_cancel_only",
        "every one is refused, a shrinking one too",
        "either",
        "venue.engine.admission",
    ),
    "S51": Assumption(
        "the unit of X-RateLimit-Reset",
        "Unix time in whole seconds, rounded up, at which the bucket is full again",
        "any: Retry-After is what is waited",
        "venue.rest.gate",
    ),
    "S52": Assumption(
        "how many candles one answer may hold",
        "the newest 10,000 of the window; 4h and 12h are made of the newest 10,000 hours",
        "",
        "venue.views.candles",
    ),
    "S53": Assumption(
        "the status of an order that self-trade prevention made smaller and that then traded out",
        "canceled, for not all of it was traded",
        "any terminal status",
        "venue.engine.matching",
    ),
    "S54": Assumption(
        "which candles a window holds",
        "those that share an instant with it, each whole; the first may begin before it",
        "",
        "venue.views.candles",
    ),
    "S55": Assumption(
        "a number between two integers for price or qty",
        "invalid_price or invalid_qty, as their conditions say; in budget_cents of the wrong type",
        "",
        "venue.wire.jsonnumber",
    ),
    "S56": Assumption(
        "the full affordable size of a fok budget where the book ends before its cash does",
        "filled when no more cash could have been spent: what is left buys no further share at the "
        "last price taken; budget_not_fillable when it does",
        "",
        "venue.engine.budget",
    ),
}
