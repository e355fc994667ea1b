"""Every error code in one table, in the order in which the venue's guards run within one status
(S29 orders the stages): status, culprit, what a first send of a write has come to, what a client
may do. See docs/venue.md#errors. Reading: docs/assumptions.md#S29."""

import enum
from typing import Final

import msgspec


class Culprit(enum.StrEnum):
    CALLER = "caller"  # the request is wrong and stays wrong
    CREDENTIAL = "credential"  # the key or token is
    STATE = "state"  # funds, the order, the market or the venue stand in the way
    PACE = "pace"  # beyond the rate limit
    SERVICE = "service"  # the venue's own fault


class Sequenced(enum.StrEnum):
    """The fate of a write by its answer, if it was sent without a retry."""

    NEVER = "never"  # it never reaches the engine: safe to retry with the same bytes
    DECIDED = "decided"  # the engine or the gateway decided against it
    UNKNOWN = "unknown"  # it may have been carried out


class Advice(enum.StrEnum):
    """The client's options after an answer, such as a retry."""

    FIX = "fix"  # a bug of ours: never retry the same request
    STOP_KEY = "stop_key"  # nothing more on this credential; wake a person
    WAIT = "wait"  # retry the same request after a backoff
    READ_BACK = "read_back"  # re-send a create byte-identical, repeat a cancel, read an amend
    REREAD_FUNDS = "reread_funds"  # balance and positions first, then a new size
    PARK_MARKET = "park_market"  # no orders here until a read shows it active
    PARK_VENUE = "park_venue"  # no orders anywhere until a probe succeeds
    EXISTS = "exists"  # the order is there already: find it
    ENDED = "ended"  # the order is over: read how
    LOOK_AGAIN = "look_again"  # named thing not found: read once more before believing it
    GIVE_UP = "give_up"  # nothing traded, nothing rests; no automatic retry
    FRESH_WALK = "fresh_walk"  # drop the stale part of a page walk and restart it


class Code(enum.StrEnum):
    """The closed set, in the order in which the interface's table lists it."""

    INVALID_REQUEST_BODY = "invalid_request_body"
    INVALID_PARAMETER = "invalid_parameter"
    INVALID_MARKET_IDENTIFIER = "invalid_market_identifier"
    INVALID_ORDER_ID = "invalid_order_id"
    INVALID_PRICE = "invalid_price"
    INVALID_QTY = "invalid_qty"
    INVALID_BUDGET = "invalid_budget"
    INVALID_ENUM_VALUE = "invalid_enum_value"
    INVALID_CURSOR = "invalid_cursor"
    CONFLICTING_IDENTIFIERS = "conflicting_identifiers"
    CONFLICTING_CREDENTIALS = "conflicting_credentials"
    MISSING_IDEMPOTENCY_KEY = "missing_idempotency_key"
    UNAUTHENTICATED = "unauthenticated"
    FORBIDDEN_SCOPE = "forbidden_scope"
    API_KEY_MISCONFIGURED = "api_key_misconfigured"
    MARKET_NOT_FOUND = "market_not_found"
    ORDER_NOT_FOUND = "order_not_found"
    VENUE_HALTED = "venue_halted"
    VENUE_CANCEL_ONLY = "venue_cancel_only"
    INSUFFICIENT_BALANCE = "insufficient_balance"
    INSUFFICIENT_SHARES = "insufficient_shares"
    MARKET_HALTED = "market_halted"
    MARKET_RESOLVED = "market_resolved"
    DUPLICATE_ORDER_ID = "duplicate_order_id"
    ORDER_NOT_CANCELABLE = "order_not_cancelable"
    BUDGET_NOT_FILLABLE = "budget_not_fillable"
    NO_EXECUTABLE_LIQUIDITY = "no_executable_liquidity"
    INVALID_REQUEST = "invalid_request"
    RATE_LIMITED = "rate_limited"
    ENGINE_OVERLOADED = "engine_overloaded"
    INTERNAL_ERROR = "internal_error"
    ENGINE_UNAVAILABLE = "engine_unavailable"
    RESULT_UNKNOWN = "result_unknown"


class Row(msgspec.Struct, frozen=True):
    """One code's meaning. `sequenced` and `advice` speak of the first send of a write."""

    status: int
    culprit: Culprit
    sequenced: Sequenced
    advice: Advice


def _caller(status: int, advice: Advice = Advice.FIX) -> Row:
    return Row(status, Culprit.CALLER, Sequenced.DECIDED, advice)


def _state(status: int, advice: Advice) -> Row:
    return Row(status, Culprit.STATE, Sequenced.DECIDED, advice)


_KEY_401: Final = Row(401, Culprit.CREDENTIAL, Sequenced.DECIDED, Advice.STOP_KEY)
_KEY_403: Final = Row(403, Culprit.CREDENTIAL, Sequenced.DECIDED, Advice.STOP_KEY)

CODES: Final[dict[Code, Row]] = {
    Code.INVALID_REQUEST_BODY: _caller(400),
    Code.INVALID_PARAMETER: _caller(400),
    Code.INVALID_MARKET_IDENTIFIER: _caller(400),
    Code.INVALID_ORDER_ID: _caller(400),
    Code.INVALID_PRICE: _caller(400),
    Code.INVALID_QTY: _caller(400),
    Code.INVALID_BUDGET: _caller(400),
    Code.INVALID_ENUM_VALUE: _caller(400),
    Code.INVALID_CURSOR: _caller(400, Advice.FRESH_WALK),
    Code.CONFLICTING_IDENTIFIERS: _caller(400),
    Code.CONFLICTING_CREDENTIALS: _caller(400, Advice.STOP_KEY),
    Code.MISSING_IDEMPOTENCY_KEY: _caller(400),
    Code.UNAUTHENTICATED: _KEY_401,
    Code.FORBIDDEN_SCOPE: _KEY_403,
    Code.API_KEY_MISCONFIGURED: _KEY_403,
    Code.MARKET_NOT_FOUND: _state(404, Advice.PARK_MARKET),
    Code.ORDER_NOT_FOUND: _state(404, Advice.LOOK_AGAIN),
    Code.VENUE_HALTED: _state(409, Advice.PARK_VENUE),
    Code.VENUE_CANCEL_ONLY: _state(409, Advice.PARK_VENUE),
    Code.INSUFFICIENT_BALANCE: _state(422, Advice.REREAD_FUNDS),
    Code.INSUFFICIENT_SHARES: _state(422, Advice.REREAD_FUNDS),
    Code.MARKET_HALTED: _state(422, Advice.PARK_MARKET),
    Code.MARKET_RESOLVED: _state(422, Advice.PARK_MARKET),
    Code.DUPLICATE_ORDER_ID: _state(422, Advice.EXISTS),
    Code.ORDER_NOT_CANCELABLE: _state(422, Advice.ENDED),
    Code.BUDGET_NOT_FILLABLE: _state(422, Advice.GIVE_UP),
    Code.NO_EXECUTABLE_LIQUIDITY: _state(422, Advice.GIVE_UP),
    Code.INVALID_REQUEST: _caller(422),
    Code.RATE_LIMITED: Row(429, Culprit.PACE, Sequenced.NEVER, Advice.WAIT),
    Code.ENGINE_OVERLOADED: Row(429, Culprit.SERVICE, Sequenced.NEVER, Advice.WAIT),
    Code.INTERNAL_ERROR: Row(500, Culprit.SERVICE, Sequenced.UNKNOWN, Advice.READ_BACK),
    Code.ENGINE_UNAVAILABLE: Row(503, Culprit.SERVICE, Sequenced.NEVER, Advice.WAIT),
    Code.RESULT_UNKNOWN: Row(503, Culprit.SERVICE, Sequenced.UNKNOWN, Advice.READ_BACK),
}

PRECEDENCE: Final[dict[Code, int]] = {code: place for place, code in enumerate(Code)}
"""A code's place in the table: among faults of one stage the lowest place is the answer."""


def row_for(status: int, code: str) -> Row:
    """What an answer means. An unrecognised code is a generic failure of its status class: 429 was
    not carried out, every other 4xx was decided against, all else may have been."""
    try:
        return CODES[Code(code)]
    except ValueError:
        pass
    if status == 429:
        return Row(status, Culprit.PACE, Sequenced.NEVER, Advice.WAIT)
    if status in (401, 403):
        return Row(status, Culprit.CREDENTIAL, Sequenced.DECIDED, Advice.STOP_KEY)
    if 400 <= status < 500:
        return Row(status, Culprit.CALLER, Sequenced.DECIDED, Advice.FIX)
    return Row(status, Culprit.SERVICE, Sequenced.UNKNOWN, Advice.READ_BACK)


class ChannelCode(enum.StrEnum):
    """Codes of the subscription channel's error frame; `invalid_frame` is ours (S48)."""

    UNKNOWN_TARGET = "unknown_target"
    TOO_MANY_TARGETS = "too_many_targets"
    INVALID_FRAME = "invalid_frame"
