"""What holds of every reply whatever was asked: status, code, headers, and the form of values."""

import datetime
import re
from pathlib import Path
from typing import Any, Final

import httpx

Json = dict[str, Any]

_TABLE: Final = [
    line.split()
    for line in Path(__file__).with_name("codes.txt").read_text("utf-8").splitlines()
    if not line.startswith("#")
]

CODES: Final[dict[int, frozenset[str]]] = {
    int(status): frozenset(row[1] for row in _TABLE if row[0] == status)
    for status in dict.fromkeys(row[0] for row in _TABLE)
}

UNPROVOKED: Final = frozenset(row[1] for row in _TABLE if row[3:] == ["unprovoked"])
"""Codes that no check can bring about: a trader always meets a more specific one."""

INSTANT: Final = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{9}Z", re.ASCII
)
ZERO_INSTANT: Final = re.compile(r"0001-01-01T00:00:00(\.0+)?Z", re.ASCII)
ORDER_ID: Final = re.compile(r"[0-9]{1,20}", re.ASCII)
UUID: Final = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.ASCII)
DECIMAL: Final = re.compile(r"-?[0-9]+(\.[0-9]+)?", re.ASCII)
MARKET_PATH: Final = re.compile(r"[A-Za-z0-9.](?:[A-Za-z0-9.-]*[A-Za-z0-9.])?", re.ASCII)

BURST: Final = 500

_UUID_FIELDS: Final = {"market_id", "project_market_id", "project_id"}
_INSTANT_FIELDS: Final = {"created_at", "updated_at", "as_of", "timestamp", "resolution_date"}
_DECIMAL_FIELDS: Final = {"maker_fee_rate", "taker_fee_rate", "strike_value", "volume_usd"}
_COUNTS: Final = {
    *("size", "qty", "remaining_qty", "filled_qty", "reduced_by", "open_interest"),
    *("reserved_cents", "spent_cents", "fee_cents", "volume", "trade_count"),
}
_PRICES: Final = {
    *("price", "last_price", "min_price", "max_price", "outcome_price", "trade_price"),
    *("open", "high", "low", "close"),
}
_INTEGERS: Final = {
    *("available_cents", "total_cents", "cost_basis", "avg_entry_price", "realized_pnl"),
    *("tick_size", *_COUNTS, *_PRICES),
}
_LISTS: Final = {
    *("bids", "asks", "candles", "trades", "markets", "events", "orders", "positions", "fills"),
    "resting_orders",
}


class Broken(Exception):
    """A statement of the interface does not hold; the text says which value broke it."""


class Unjudged(Exception):
    """What a statement is about could not be brought about; the text says why."""


def holds(condition: object, what: str) -> None:
    if not condition:
        raise Broken(what)


def same(got: object, wanted: object, what: str = "") -> None:
    if got != wanted:
        raise Broken(f"{what or 'value'}: got {got!r}, wanted {wanted!r}")


def instant_ns(text: str) -> int:
    """Nanoseconds since 1970 of an instant with nine decimal places. Raises ValueError."""
    moment = datetime.datetime.fromisoformat(f"{text[:19]}+00:00")
    return int(moment.timestamp()) * 10**9 + int(text[20:29])


def judge_value(value: object, field: str = "") -> None:
    """What the conventions say of any value by the name of its field. Raises Broken."""
    holds(value is not None, f"{field} is null: an absent optional field is left out")
    holds(not isinstance(value, float), f"{field} is a JSON float: {value!r}")
    if field in _LISTS:
        holds(isinstance(value, list), f"{field} is no array: {value!r}")
    if isinstance(value, dict):
        for name, inner in value.items():
            judge_value(inner, name)
    elif isinstance(value, list):
        for inner in value:
            judge_value(inner, "" if field in _LISTS else field)
    else:
        _judge_scalar(value, field)


def _judge_scalar(value: object, field: str) -> None:
    if field in _INTEGERS:
        holds(type(value) is int, f"{field} is no integer: {value!r}")
        holds(field not in _COUNTS or (isinstance(value, int) and value >= 0), f"{field} < 0")
        in_range = isinstance(value, int) and 1 <= value <= 99
        holds(field not in _PRICES or in_range, f"{field} is no price: {value!r}")
    for fields, form in (
        (_DECIMAL_FIELDS, DECIMAL),
        (_INSTANT_FIELDS, INSTANT),
        (_UUID_FIELDS, UUID),
        ({"order_id"}, ORDER_ID),
    ):
        if field in fields:
            fits = isinstance(value, str) and form.fullmatch(value) is not None
            # The zero instant is a mark rather than a time: it needs no decimal places.
            fits = fits or (field == "as_of" and ZERO_INSTANT.fullmatch(str(value)) is not None)
            holds(fits, f"{field} has not its form: {value!r}")


def judge_reply(reply: httpx.Response) -> None:
    kind = reply.headers.get("content-type", "").split(";")[0]
    same(kind, "application/json", f"content-type of {reply.status_code}")
    body = reply.json()
    holds(isinstance(body, dict), "a reply is a JSON object")
    judge_value(body)
    if reply.status_code >= 400:
        judge_failure(reply.status_code, body)
    judge_headers(reply, str(body.get("code", "")))


def judge_failure(status: int, body: Json) -> None:
    holds(body.get("code") in CODES.get(status, ()), f"{status} with {body!r}")
    holds(isinstance(body.get("error"), str), "error is a text")
    holds(isinstance(body.get("details", ""), str), "details is a text")
    holds(set(body) <= {"code", "error", "details"}, f"fields besides the Error shape: {body!r}")


def judge_headers(reply: httpx.Response, code: str) -> None:
    limiter = [name for name in reply.headers if name.lower().startswith("x-ratelimit")]
    if reply.status_code == 401:
        same(limiter, [], "rate limit headers of a 401")
    elif code != "conflicting_credentials":
        same(reply.headers.get("x-ratelimit-limit"), str(BURST), "X-RateLimit-Limit")
        left = reply.headers.get("x-ratelimit-remaining", "")
        holds(left.isascii() and left.isdigit(), f"X-RateLimit-Remaining: {left!r}")
        holds(int(left) <= BURST, f"X-RateLimit-Remaining: {left}")
    for name in ("retry-after", "x-ratelimit-reset"):
        carried, throttled = name in reply.headers, reply.status_code == 429
        same(carried, throttled, f"{name} on a {reply.status_code}")
