"""The component schemas of the description: resources from their Structs, bodies from the limits.
They say what the venue emits: an optional field is never null."""

import enum
from types import NoneType
from typing import Any, Final, get_args

import msgspec

from venue.wire import limits, model, names
from venue.wire.errors import Code
from venue.wire.instant import Instant
from venue.wire.money import PRICE_MAX, PRICE_MIN, Outcome, Price, Qty, Side
from venue.wire.names import ClientOrderId, MarketId, OrderId, ProjectId
from venue.wire.requests import TimeInForce

Schema = dict[str, Any]

NEW_ORDER: Final = "NewOrder"
AMEND: Final = "Amend"
_ERROR_CODE: Final = "ErrorCode"
_REF: Final = "#/components/schemas/{name}"

RESOURCES: Final[tuple[type[msgspec.Struct], ...]] = (
    model.MarketsPage,
    model.Snapshot,
    model.Orderbook,
    model.CandleSeries,
    model.TradesPage,
    model.EventsPage,
    model.OrdersPage,
    model.Order,
    model.Cancelled,
    model.Balance,
    model.PositionsPage,
    model.FillsPage,
    model.ErrorBody,
)

_WITH_UNKNOWN: Final = (model.ShownOutcome, model.ShownSide, model.ShownTimeInForce)
"""Enums whose `unknown` is a value of the interface, not only of a tolerant reader."""

PRICE: Final[Schema] = {"type": "integer", "minimum": PRICE_MIN, "maximum": PRICE_MAX}
UUID: Final[Schema] = {"type": "string", "format": "uuid"}
INSTANT: Final[Schema] = {"type": "string", "format": "date-time"}
ORDER_ID: Final[Schema] = {"type": "string", "pattern": names.ORDER_ID_PATTERN}
MARKET_PATH: Final[Schema] = {"type": "string", "pattern": names.MARKET_PATH_PATTERN}
_CLIENT_ORDER_ID: Final[Schema] = {
    "type": "string",
    "pattern": names.CLIENT_ORDER_ID_PATTERN,
    "minLength": 1,
    "maxLength": limits.CLIENT_ORDER_ID_LENGTH_MAX,
}
_QTY_ASKED: Final[Schema] = {"type": "integer", "minimum": 1, "maximum": limits.QTY_MAX}
_NOT_NEGATIVE: Final[Schema] = {"type": "integer", "minimum": 0}
_DECIMAL: Final[Schema] = {"type": "string", "format": "decimal"}

_BY_TYPE: Final[dict[object, Schema]] = {
    Price: PRICE,
    Qty: _NOT_NEGATIVE,
    MarketId: UUID,
    ProjectId: UUID,
    Instant: INSTANT,
    OrderId: ORDER_ID,
    ClientOrderId: _CLIENT_ORDER_ID,
}
_BY_NAME: Final[dict[str, Schema]] = {
    "project_market_id": UUID,
    "strike_value": _DECIMAL,
    "maker_fee_rate": _DECIMAL,
    "taker_fee_rate": _DECIMAL,
    "volume_usd": _DECIMAL,
    "trade_count": _NOT_NEGATIVE,
    "reserved_cents": _NOT_NEGATIVE,
    "fee_cents": _NOT_NEGATIVE,
    "spent_cents": {"type": "integer", "minimum": 1},
    "cursor": {"type": "string", "description": "Opaque; empty on the last page."},
    "code": {"$ref": _REF.format(name=_ERROR_CODE)},
}
"""Facts about these fields that their wider types leave out, in any resource."""


def ref(name: str) -> Schema:
    return {"$ref": _REF.format(name=name)}


def one_of(kind: type[enum.StrEnum], *left_out: str) -> Schema:
    return {"type": "string", "enum": [m.value for m in kind if m.value not in left_out]}


def component_schemas() -> dict[str, Schema]:
    _, found = msgspec.json.schema_components(RESOURCES, ref_template=_REF)
    schemas = {name: _tidied(name, schema) for name, schema in found.items()}
    schemas[_ERROR_CODE] = {
        "description": "A code of this version, or one that a later version has added: treat that "
        "as a generic failure of its HTTP status class.",
        "anyOf": [one_of(Code), {"type": "string"}],
    }
    schemas[NEW_ORDER] = _new_order()
    schemas[AMEND] = _amend()
    return dict(sorted(schemas.items()))


def _tidied(name: str, schema: Schema) -> Schema:
    kind = getattr(model, name)
    if issubclass(kind, enum.StrEnum):
        left_out = () if kind in _WITH_UNKNOWN else ("unknown",)
        return {"description": schema["description"], **one_of(kind, *left_out)}
    shown = {
        field.encode_name: _field(field, schema["properties"][field.encode_name])
        for field in msgspec.structs.fields(kind)
    }
    return {
        "description": schema["description"],
        "type": "object",
        "required": schema["required"],
        "properties": shown,
    }


def _field(field: msgspec.structs.FieldInfo, schema: Schema) -> Schema:
    parts = [part for part in schema.get("anyOf", [schema]) if part != {"type": "null"}]
    narrowed = _BY_NAME.get(field.name) or _BY_TYPE.get(_present(field.type))
    if narrowed is not None:
        return dict(narrowed)
    return {key: value for key, value in parts[0].items() if key != "default"}


def _present(kind: object) -> object:
    """The type of a field when it is there: `X` of `X | None`."""
    parts = get_args(kind)
    return next(part for part in parts if part is not NoneType) if NoneType in parts else kind


def _or_null(schema: Schema) -> Schema:
    """An optional field of a request: null counts as absent (S32)."""
    nullable = {**schema, "type": [schema["type"], "null"]}
    if "enum" in schema:
        nullable["enum"] = [*schema["enum"], None]
    return nullable


def _one_without_the_other(there: str, absent: str, **more: Schema) -> Schema:
    given = {there: {"not": {"type": "null"}}, absent: {"type": "null"}}
    return {"required": [there], "properties": {**given, **more}}


def _new_order() -> Schema:
    return {
        "description": "An order by size or, to buy only and never to rest, by budget. Enums in "
        "any case. Unknown fields are ignored; null counts as absent. No key occurs twice. At most "
        f"{limits.BODY_BYTES_MAX} bytes, nested at most {limits.BODY_DEPTH_MAX} deep. The notional "
        f"of an order, price x qty, is at most {limits.NOTIONAL_CENTS_MAX} cents.",
        "type": "object",
        "required": ["outcome", "side", "price", "client_order_id"],
        "properties": {
            "ticker": _or_null(MARKET_PATH),
            "market_id": _or_null(UUID),
            "outcome": one_of(Outcome),
            "side": one_of(Side),
            "price": {
                **PRICE,
                "description": "Limit in cents for the named outcome; on a budget order the "
                "worst acceptable price per share.",
            },
            "qty": {**_or_null(_QTY_ASKED), "description": "Whole shares."},
            "budget_cents": _or_null(
                {
                    "type": "integer",
                    "minimum": 1,
                    "maximum": limits.NOTIONAL_CENTS_MAX,
                    "description": "Cash to spend at most, fees included.",
                }
            ),
            "time_in_force": {**_or_null(one_of(TimeInForce)), "default": TimeInForce.GTC.value},
            "client_order_id": {
                **_CLIENT_ORDER_ID,
                "description": "Idempotency key of the user; case matters.",
            },
        },
        "allOf": [
            {
                "oneOf": [
                    _one_without_the_other("ticker", "market_id"),
                    _one_without_the_other("market_id", "ticker"),
                ]
            },
            {"oneOf": [_one_without_the_other("qty", "budget_cents"), _by_budget()]},
        ],
    }


def _by_budget() -> Schema:
    # The time in force is required here, for its default is the one a budget order cannot have.
    by_budget = _one_without_the_other(
        "budget_cents",
        "qty",
        side={"const": Side.BUY.value},
        time_in_force=one_of(TimeInForce, TimeInForce.GTC.value),
    )
    return {**by_budget, "required": ["budget_cents", "time_in_force"]}


def _amend() -> Schema:
    return {
        "description": "A new price, a new remaining size, or both; a field left out or null stays "
        "as it is. Other fields are ignored.",
        "type": "object",
        "properties": {
            "price": _or_null(PRICE),
            "qty": {**_or_null(_QTY_ASKED), "description": "The new REMAINING size, whole shares."},
        },
        "anyOf": [
            {"required": [name], "properties": {name: {"type": "integer"}}}
            for name in ("price", "qty")
        ],
    }
