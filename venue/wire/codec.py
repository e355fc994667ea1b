"""JSON bytes to and from the types of the contract. A caller's bytes are parsed strictly: `Refusal`
with the first failing row of the errors table. The venue's are decoded tolerantly (the column "the
bot also survives"), else `Garbled`. Readings: docs/assumptions.md#S10, #S12, #S13, #S26, #S32."""

import json
import re
from collections.abc import Callable
from typing import Annotated, Any, Final, TypeVar, cast, get_args

import msgspec

from venue.wire import frames, limits, names
from venue.wire.errors import ChannelCode, Code
from venue.wire.jsonnumber import (
    NoInteger,
    WrittenInteger,
    WrittenOtherwise,
    integer_of,
    no_integer_of,
)
from venue.wire.money import (
    PRICE_MAX,
    PRICE_MIN,
    Cents,
    Outcome,
    Price,
    Qty,
    Side,
    complement,
    is_price,
)
from venue.wire.names import ClientOrderId, MarketId
from venue.wire.requests import Amend, BudgetOrder, NewOrder, QtyOrder, RequestBody, TimeInForce

T = TypeVar("T")


class Refusal(Exception):
    """The caller's request is at fault: the code of the answer and a text for a human."""

    def __init__(self, code: Code, message: str) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message


class FrameRefusal(Exception):
    """A client frame is at fault: the channel's error code and a text for a human."""

    def __init__(self, code: ChannelCode, message: str) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message


class Garbled(Exception):
    """The venue sent bytes that cannot be read as what they should be."""


def why(fault: BaseException) -> str:
    """Why bytes cannot be read: too deep a nesting in our own words."""
    return "nested too deep" if isinstance(fault, RecursionError) else str(fault)


_ENCODER: Final = msgspec.json.Encoder()


def encode(value: object) -> bytes:
    return _ENCODER.encode(value)


def encode_new_order(order: NewOrder) -> RequestBody:
    """The body of POST /orders, the market named by its UUID."""
    body: dict[str, object] = {
        "market_id": order.market_id,
        "outcome": order.outcome,
        "side": order.side if isinstance(order, QtyOrder) else Side.BUY,
        "price": order.price,
    }
    if isinstance(order, QtyOrder):
        body["qty"] = order.qty
    else:
        body["budget_cents"] = order.budget_cents
    body["time_in_force"] = order.time_in_force
    body["client_order_id"] = order.client_order_id
    return RequestBody(_ENCODER.encode(body))


def encode_amend(amend: Amend) -> RequestBody:
    body: dict[str, int] = {}
    if amend.price is not None:
        body["price"] = amend.price
    if amend.qty is not None:
        body["qty"] = amend.qty
    return RequestBody(_ENCODER.encode(body))


def refuse_constant(text: str) -> object:
    raise ValueError(f"{text} is not JSON")


def unique_pairs(pairs: list[tuple[str, object]]) -> dict[str, object]:
    fields = dict(pairs) if pairs else {}
    if len(fields) != len(pairs):
        raise ValueError("a key occurs twice")
    return fields


_STRICT: Final = json.JSONDecoder(
    object_pairs_hook=unique_pairs,
    parse_int=WrittenInteger,
    parse_float=WrittenOtherwise,
    parse_constant=refuse_constant,
)


_IN_QUOTES: Final = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"?', re.DOTALL)
"""Also without its end: the search would restart at each quote that was skipped inside."""
_BRACKETS_ALIKE: Final = bytes.maketrans(b"{}", b"[]")
_NO_BRACKETS: Final = bytes(set(range(256)) - set(b"[]{}"))


def _too_deep(body: bytes) -> bool:
    """True if JSON is nested deeper than may be; the reader refuses all but JSON."""
    left = _IN_QUOTES.sub(b"", body).translate(None, _NO_BRACKETS).translate(_BRACKETS_ALIKE)
    for _ in range(limits.BODY_DEPTH_MAX):
        # Each time the innermost pairs go, and those alone.
        left = left.replace(b"[]", b"")
    return b"[]" in left


def _parse_object(body: bytes) -> dict[str, object]:
    """A strict JSON object: at most 16 KiB and 8 deep, UTF-8, no key twice, no NaN (S26)."""
    if len(body) > limits.BODY_BYTES_MAX:
        raise ValueError(f"longer than {limits.BODY_BYTES_MAX} bytes")
    text = body.decode("utf-8")
    # Few bodies have this many brackets; only those pay for the exact depth.
    if text.count("{") + text.count("[") > limits.BODY_DEPTH_MAX and _too_deep(body):
        raise ValueError(f"nested deeper than {limits.BODY_DEPTH_MAX}")
    value = _STRICT.decode(text)
    if not isinstance(value, dict):
        raise ValueError("not a JSON object")
    return value


def _body_fields(body: bytes) -> dict[str, object]:
    try:
        return _parse_object(body)
    except (ValueError, RecursionError) as fault:
        raise Refusal(Code.INVALID_REQUEST_BODY, f"request body: {why(fault)}") from None


def _integer(fields: dict[str, object], key: str) -> int | None:
    value = fields.get(key)
    if isinstance(value, WrittenInteger):
        return integer_of(value.text)
    if value is None:
        return None
    raise Refusal(Code.INVALID_REQUEST_BODY, f"{key}: an integer is wanted")


def _number(fields: dict[str, object], key: str) -> int | NoInteger | None:
    """An integer, or a number between two, which its own code refuses (S55); 1.0 and 1e2 are of the
    wrong type (S26)."""
    value = fields.get(key)
    if isinstance(value, WrittenOtherwise) and no_integer_of(value.text) is NoInteger.PART:
        return NoInteger.PART
    return _integer(fields, key)


def _strings(fields: dict[str, object], keys: tuple[str, ...]) -> list[str | None]:
    """The texts of these keys, None where there is none."""
    texts: list[str | None] = []
    for key in keys:
        value = fields.get(key)
        if value is not None and not isinstance(value, str):
            raise Refusal(Code.INVALID_REQUEST_BODY, f"{key}: a string is wanted")
        texts.append(value)
    return texts


def _missing(what: str) -> Refusal:
    return Refusal(Code.INVALID_REQUEST_BODY, f"{what}: missing")


E_ = TypeVar("E_", Outcome, Side, TimeInForce)


_OUTCOMES: Final = {outcome.value: outcome for outcome in Outcome}
_SIDES: Final = {side.value: side for side in Side}
_TIMES_IN_FORCE: Final = {time.value: time for time in TimeInForce}


def _member(accepted: dict[str, E_], text: str, name: str) -> E_:
    """The member that `text` names in any ASCII case. Raises Refusal that lists all values."""
    member = accepted.get(text.lower() if text.isascii() else text)
    if member is None:
        raise Refusal(Code.INVALID_ENUM_VALUE, f"{name}: accepted are {', '.join(accepted)}")
    return member


def _checked_price(value: int | NoInteger) -> Price:
    if isinstance(value, NoInteger) or not is_price(value):
        raise Refusal(Code.INVALID_PRICE, "price: whole cents, 1 to 99")
    return Price(value)


def _checked_qty(value: int | NoInteger) -> Qty:
    if isinstance(value, NoInteger) or not 1 <= value <= limits.QTY_MAX:
        raise Refusal(Code.INVALID_QTY, f"qty: whole shares, 1 to {limits.QTY_MAX}")
    return Qty(value)


_ORDER_STRINGS: Final = (
    *("ticker", "market_id", "outcome", "side"),
    *("time_in_force", "client_order_id"),
)
_DEFAULT_TIME_IN_FORCE: Final = TimeInForce.GTC.value


class _PlainOrder(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """An order by size without a fault, as nearly every caller writes it."""

    outcome: Outcome
    side: Side
    price: Annotated[int, msgspec.Meta(ge=PRICE_MIN, le=PRICE_MAX)]
    qty: Annotated[int, msgspec.Meta(ge=1, le=limits.QTY_MAX)]
    client_order_id: str
    ticker: str = ""
    market_id: str = ""
    time_in_force: TimeInForce | msgspec.UnsetType = msgspec.UNSET


_PLAIN_ORDER: Final = msgspec.json.Decoder(_PlainOrder)
_PLAIN_BYTES_MAX: Final = 1_024
_PLAIN_QUOTES: Final = 20
"""Of six keys, one of them ticker or market_id, and four strings; four more are of the time in
force. A key that occurs twice, which msgspec does not see, has more."""


def _plain_order(body: bytes) -> _PlainOrder | None:
    """The order of a body that is plain; None, and the strict reader decides, if anything about it
    is not. In a tenth of the strict reader's time: half of all that a write takes to be read."""
    if len(body) > _PLAIN_BYTES_MAX or b"\\" in body:
        return None
    try:
        plain = _PLAIN_ORDER.decode(body)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None
    quotes = _PLAIN_QUOTES if plain.time_in_force is msgspec.UNSET else _PLAIN_QUOTES + 4
    if body.count(b'"') != quotes or not names.is_client_order_id(plain.client_order_id):
        return None
    named = names.is_market_path(plain.ticker) if plain.ticker else names.is_uuid(plain.market_id)
    return plain if named else None


def _no_such_market() -> Refusal:
    return Refusal(Code.MARKET_NOT_FOUND, "no such market")


def parse_new_order(body: bytes, resolve: Callable[[str], MarketId | None]) -> NewOrder:
    """The order that the body of POST /orders names. resolve: the UUID of a market named by ticker
    or UUID, or None. Raises Refusal with the first failing row: types and missing fields, the shape
    of the market's name, price, size, budget, enums, double identifiers, the idempotency key,
    market_not_found. Unknown fields are ignored, null counts as absent (S32)."""
    plain = _plain_order(body)
    if plain is not None:
        listed = resolve(plain.ticker or plain.market_id)
        if listed is None:
            raise _no_such_market()
        return QtyOrder(
            listed,
            plain.outcome,
            plain.side,
            Price(plain.price),
            Qty(plain.qty),
            plain.time_in_force or TimeInForce.GTC,
            ClientOrderId(plain.client_order_id),
        )
    fields = _body_fields(body)
    ticker, market_id, outcome_text, side_text, tif_text, key = _strings(fields, _ORDER_STRINGS)
    price_value, qty_value = _number(fields, "price"), _number(fields, "qty")
    budget_value = _integer(fields, "budget_cents")
    if outcome_text is None:
        raise _missing("outcome")
    if side_text is None:
        raise _missing("side")
    if price_value is None:
        raise _missing("price")
    if tif_text is None:
        tif_text = _DEFAULT_TIME_IN_FORCE
    if ticker is None and market_id is None:
        raise _missing("ticker or market_id")
    if qty_value is None and budget_value is None:
        raise _missing("qty or budget_cents")

    # Of two names neither is the market's: the refusal is about there being two.
    if market_id is None and ticker is not None and not names.is_market_path(ticker):
        raise Refusal(Code.INVALID_MARKET_IDENTIFIER, "ticker: not well formed")
    if ticker is None and market_id is not None and not names.is_uuid(market_id):
        raise Refusal(Code.INVALID_MARKET_IDENTIFIER, "market_id: not a UUID")
    price = _checked_price(price_value)
    qty = None
    if qty_value is not None and budget_value is None:
        qty = _checked_qty(qty_value)
    if budget_value is not None:
        _check_budget(budget_value, qty_value, side_text, tif_text)
    outcome = _OUTCOMES.get(outcome_text) or _member(_OUTCOMES, outcome_text, "outcome")
    side = _SIDES.get(side_text) or _member(_SIDES, side_text, "side")
    tif = _TIMES_IN_FORCE.get(tif_text) or _member(_TIMES_IN_FORCE, tif_text, "time_in_force")
    if ticker is not None and market_id is not None:
        raise Refusal(Code.CONFLICTING_IDENTIFIERS, "ticker and market_id name the market twice")
    client_order_id = _checked_client_order_id(key)
    resolved = resolve(ticker or market_id or "")
    if resolved is None:
        raise _no_such_market()
    if qty is not None:
        return QtyOrder(resolved, outcome, side, price, qty, tif, client_order_id)
    assert budget_value is not None
    return BudgetOrder(resolved, outcome, price, Cents(budget_value), tif, client_order_id)


def _check_budget(budget: int, qty: int | NoInteger | None, side_text: str, tif_text: str) -> None:
    if qty is not None:
        raise Refusal(Code.INVALID_BUDGET, "qty and budget_cents exclude each other")
    if not 1 <= budget <= limits.NOTIONAL_CENTS_MAX:
        raise Refusal(Code.INVALID_BUDGET, f"budget_cents: 1 to {limits.NOTIONAL_CENTS_MAX} cents")
    if side_text.lower() == Side.SELL:
        raise Refusal(Code.INVALID_BUDGET, "budget_cents: side buy only")
    if tif_text.lower() == TimeInForce.GTC:
        raise Refusal(Code.INVALID_BUDGET, "budget_cents: time_in_force ioc or fok only")


def _checked_client_order_id(text: str | None) -> ClientOrderId:
    if not text:
        raise Refusal(Code.MISSING_IDEMPOTENCY_KEY, "client_order_id: missing")
    if not names.is_client_order_id(text):
        raise Refusal(
            Code.INVALID_REQUEST_BODY,
            f"client_order_id: 1 to {limits.CLIENT_ORDER_ID_LENGTH_MAX} printable ASCII characters",
        )
    return ClientOrderId(text)


def parse_amend(body: bytes) -> Amend:
    """The amend that the body of PUT /orders/{order_id} names. Raises Refusal: neither field is
    invalid_request_body; then invalid_price, invalid_qty."""
    fields = _body_fields(body)
    price_value, qty_value = _number(fields, "price"), _number(fields, "qty")
    if price_value is None and qty_value is None:
        raise Refusal(Code.INVALID_REQUEST_BODY, "price or qty: at least one is wanted")
    price = None if price_value is None else _checked_price(price_value)
    qty = None if qty_value is None else _checked_qty(qty_value)
    return Amend(price, qty)


def parse_subscribe(data: bytes) -> tuple[frames.Target, ...]:
    """The targets of a subscribe frame, in order, duplicates kept. Raises FrameRefusal:
    invalid_frame when it does not parse (exactly one known key per target), too_many_targets above
    200. Whether a target exists is not looked at."""
    try:
        fields = _parse_frame(data)
        if _word(fields.get("type")) != "subscribe":
            raise ValueError("type: only subscribe is known")
        inner = fields.get("data")
        if not isinstance(inner, dict) or not isinstance(inner.get("targets"), list):
            raise ValueError("data.targets: a list is wanted")
        targets = inner["targets"]
        if len(targets) > limits.SUBSCRIPTION_TARGETS_MAX:
            raise FrameRefusal(
                ChannelCode.TOO_MANY_TARGETS,
                f"{len(targets)} targets; at most {limits.SUBSCRIPTION_TARGETS_MAX} in one message",
            )
        return tuple(_parse_target(target) for target in targets)
    except (ValueError, RecursionError) as fault:
        raise FrameRefusal(ChannelCode.INVALID_FRAME, f"frame: {why(fault)}") from None


def _word(value: object) -> object:
    return value.lower() if isinstance(value, str) and value.isascii() else value


def _parse_frame(data: bytes) -> dict[str, Any]:
    value = _STRICT.decode(data.decode("utf-8"))
    if not isinstance(value, dict):
        raise ValueError("not a JSON object")
    return value


def _parse_target(value: object) -> frames.Target:
    if not isinstance(value, dict):
        raise ValueError("a target is an object")
    kind, data = _word(value.get("target")), value.get("data")
    if not isinstance(data, dict):
        raise ValueError("a target's data is an object")
    keys = {key: text for key, text in data.items() if text is not None}
    if kind == frames.EVENT_MARKET:
        key, text = _only_key(keys, "ticker", "eventMarketId")
        by_ticker = key == "ticker"
        return frames.RungTarget(
            frames.ByTicker(text) if by_ticker else frames.ByEventMarketId(text)
        )
    if kind == frames.MARKET:
        key, text = _only_key(keys, "symbol", "marketId")
        by_symbol = key == "symbol"
        return frames.CompanyTarget(frames.BySymbol(text) if by_symbol else frames.ByMarketId(text))
    raise ValueError(f"target: {frames.EVENT_MARKET} or {frames.MARKET}")


def _only_key(keys: dict[str, object], handle: str, uuid: str) -> tuple[str, str]:
    # A key of the other target type would be a second name of the target, not a stray field.
    present = [name for name in ("ticker", "eventMarketId", "symbol", "marketId") if name in keys]
    if present not in ([handle], [uuid]):
        raise ValueError(f"exactly one of {handle} and {uuid} is wanted")
    key = present[0]
    text = keys[key]
    if not isinstance(text, str):
        raise ValueError(f"{key}: a string is wanted")
    return key, text


_UNREADABLE: Final = (msgspec.DecodeError, UnicodeError, RecursionError)
_LONG_DIGITS: Final = re.compile(rb"[0-9]{19}")
_INT64_MAX: Final = 2**63 - 1


def decode(data: bytes, kind: type[T]) -> T:
    """A resource, page or error body off the wire; numbers may be strings. Raises Garbled
    otherwise, and for an integer beyond 64 bits: whatever is read can be written to a log."""
    try:
        try:
            value = msgspec.json.decode(data, type=kind)
        except msgspec.DecodeError:
            value = msgspec.convert(msgspec.json.decode(data), type=kind, strict=False)
        if _LONG_DIGITS.search(data) is not None:
            msgspec.msgpack.encode(value)
    except (*_UNREADABLE, OverflowError) as fault:
        raise Garbled(f"not a {kind.__name__}: {why(fault)}") from None
    return value


class Unrecognised(msgspec.Struct, frozen=True):
    """A frame of a type this version does not know: counted and passed over."""

    type: str


_FRAME_DECODER: Final = msgspec.json.Decoder(frames.ServerFrame)
_UPDATE_TYPES: Final = frozenset(get_args(frames.FrameType))


_NO_LADDER: Final = "a ladder has prices 1..99, each once, best first"


def decode_frame(data: bytes | str) -> frames.ServerFrame | Unrecognised:
    """A frame of the venue; its plausible variants on a slower path. Prices are 1..99 and sizes >=
    0. Raises Garbled."""
    try:
        frame: frames.ServerFrame | Unrecognised = _FRAME_DECODER.decode(data)
    except _UNREADABLE:
        frame = _decode_variant(data)
    if isinstance(frame, frames.MarketUpdate):
        _check_update(frame.data)
    return frame


def _decode_variant(data: bytes | str) -> frames.ServerFrame | Unrecognised:
    try:
        value = msgspec.json.decode(data)
        if not isinstance(value, dict):
            raise Garbled("a frame is an object")
        kind, inner = value.get("type"), value.get("data")
        if kind not in ("market-update", "subscribed", "error"):
            return Unrecognised(str(kind))
        if kind == "market-update" and isinstance(inner, dict):
            if str(inner.get("type")) not in _UPDATE_TYPES:
                return Unrecognised(str(inner.get("type")))
            for uuid, handle in (("eventMarketId", "ticker"), ("marketId", "symbol")):
                if uuid in inner:
                    inner.setdefault(handle, "")  # the UUID says which one it is
            if type(number := inner.get("tradeId")) is int and 0 < number <= _INT64_MAX:
                inner["tradeId"] = str(number)
            for side in ("yes", "no"):
                levels = inner.get(side)
                if isinstance(levels, list) and len(levels) > PRICE_MAX:
                    # Each would be looked at: of the longest frame there are a second's worth.
                    raise Garbled(_NO_LADDER)
                if isinstance(levels, list):
                    inner[side] = [_level_object(level) for level in levels]
        return cast(
            frames.ServerFrame, msgspec.convert(value, type=frames.ServerFrame, strict=False)
        )
    except _UNREADABLE as fault:
        raise Garbled(f"not a frame: {why(fault)}") from None


def _level_object(level: object) -> object:
    if isinstance(level, list) and len(level) == 2:
        return {"price": level[0], "size": level[1]}
    return level


def _check_update(update: frames.Update) -> None:
    if not 0 <= update.ts <= _INT64_MAX:
        raise Garbled("ts is nanoseconds since the epoch, in 63 bits")
    if isinstance(update, frames.BookUpdate):
        for ladder in (update.yes, update.no):
            # The hot loop of the feed: strictly falling from above the maximum, so written out.
            previous = PRICE_MAX + 1
            for level in ladder:
                price = level.price
                if not (previous > price >= PRICE_MIN and 0 <= level.size <= _INT64_MAX):
                    raise Garbled(_NO_LADDER)
                previous = price
        if update.yes and update.no and update.yes[0].price >= complement(update.no[0].price):
            raise Garbled("the ladders cross")
    elif isinstance(update, frames.TradeUpdate | frames.TickerUpdate):
        name = update.trade_id if isinstance(update, frames.TradeUpdate) else ""
        is_named = len(name) <= names.ID_LENGTH_MAX
        if not (is_named and is_price(update.price) and 0 <= update.size <= _INT64_MAX):
            raise Garbled("a print has a price of 1..99, a size of >= 0 and an id of <= 128 signs")
