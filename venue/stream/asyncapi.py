"""The machine-readable description of the channel: AsyncAPI 3.0, made from the types of its frames.
It speaks as the venue does: it receives what a client sends."""

from typing import Any, Final, get_args

import msgspec
import yaml

from venue.wire import codec, frames, limits, routes
from venue.wire.errors import ChannelCode
from venue.wire.money import PRICE_MAX, PRICE_MIN, Outcome, Price, Qty, Side
from venue.wire.names import MarketId, ProjectId, Ticker

_ASYNCAPI_VERSION: Final = "3.0.0"
_CHANNEL: Final = "stream"
_JSON: Final = "application/json"
_SCHEMA: Final = "#/components/schemas/{name}"

Node = dict[str, Any]

_RUNG_ID: Final = MarketId("535f8cf1-d563-51af-981a-daa189d3129d")
_RUNG: Final = (Ticker("AURELIA-VAL-26Q4-200B"), _RUNG_ID)
_COMPANY_ID: Final = ProjectId("5f2bcff6-061d-5aff-9126-70a1ecc17910")
_BOOK_NS, _TRADE_NS, _VALUE_NS = 1795450972143358016, 1795450980092468001, 1795450976907234108
_PRICE: Final = Price(69)

_UPDATES: Final[tuple[tuple[frames.Update, str], ...]] = (
    (
        frames.BookUpdate(
            *_RUNG,
            _BOOK_NS,
            (frames.BookLevel(_PRICE, Qty(110)),),
            (frames.BookLevel(Price(26), Qty(36)),),
        ),
        "The whole book of a rung: right after a subscribe, and after each change, at most once in "
        "the venue's flush interval. It replaces what was known. `yes` holds bids for YES at "
        "prices of YES, `no` bids for NO at prices of NO, best first.",
    ),
    (
        frames.TradeUpdate(
            *_RUNG,
            _TRADE_NS,
            "b11f51ddd86cc345",
            _PRICE,
            Qty(5),
            frames.TradeParty(Outcome.YES, Side.BUY),
            frames.TradeParty(Outcome.NO, Side.BUY),
        ),
        "Every match: price in canonical YES cents, and what each side did, without identity. "
        "`tradeId` is that of the tape.",
    ),
    (
        frames.TickerUpdate(*_RUNG, _TRADE_NS, _PRICE, Qty(5)),
        "The last matched price and the quantity of the trade that set it.",
    ),
    (
        frames.ImpliedValueUpdate("AURELIA", _COMPANY_ID, _VALUE_NS, "214224512711.83", "1.000"),
        "The implied value of a company in dollars, with a confidence of 0 to 1.",
    ),
)
"""An example of each update, and what the update says."""

_SUBSCRIBE: Final[Node] = {
    "type": "subscribe",
    "data": {
        "targets": [
            {"target": frames.EVENT_MARKET, "data": {"ticker": _RUNG[0]}},
            {"target": frames.MARKET, "data": {"symbol": "AURELIA"}},
        ]
    },
}

_BY_TYPE: Final[dict[object, Node]] = {
    Price: {"type": "integer", "minimum": PRICE_MIN, "maximum": PRICE_MAX},
    Qty: {"type": "integer", "minimum": 0},
    MarketId: {"type": "string", "format": "uuid"},
    ProjectId: {"type": "string", "format": "uuid"},
}
_BY_NAME: Final[dict[str, Node]] = {
    "ts": {"type": "integer", "minimum": 0, "description": "Nanoseconds since 1970."},
    "implied_value": {"type": "string", "format": "decimal"},
    "confidence": {"type": "string", "format": "decimal"},
    "code": {
        "type": "string",
        "description": f"{', '.join(ChannelCode)}, or one that a later version has added.",
    },
}


def document() -> str:
    """The description as YAML."""
    text: str = yaml.safe_dump(description(), sort_keys=False, allow_unicode=True, width=100)
    return text


def description() -> Node:
    messages = _messages()
    return {
        "asyncapi": _ASYNCAPI_VERSION,
        "info": {
            "title": "Prediction-Market Trading Service: market data",
            "version": routes.INTERFACE_VERSION,
            "description": "Market data of the rungs and companies that a client subscribes to. "
            "Frames are JSON texts. Prices are whole cents, sizes shares.",
        },
        "defaultContentType": _JSON,
        "servers": {
            "loopback": {
                "host": "127.0.0.1:8080",
                "pathname": routes.API_PREFIX,
                "protocol": "ws",
                "description": "Where `venue serve` listens by default; wss on another host. "
                "No credential.",
            }
        },
        "channels": {
            _CHANNEL: {
                "address": routes.STREAM_PATH,
                "description": f"A message above {limits.MESSAGE_BYTES_MAX:,} bytes closes the "
                f"connection with 1009. {limits.UNPARSED_FRAMES_MAX} frames in a row that do not "
                "parse close it with 1008, a stopping venue with 1012. A reader too slow for the "
                "prints is cut off, so an open connection has no gaps. The venue pings.",
                "messages": {name: _ref("components", "messages", name) for name in messages},
            }
        },
        "operations": {
            "subscribe": {
                "action": "receive",
                "summary": "The client subscribes to exactly these targets.",
                "channel": _ref("channels", _CHANNEL),
                "messages": [_of_channel("subscribe")],
                "reply": {
                    "channel": _ref("channels", _CHANNEL),
                    "messages": [_of_channel("subscribed"), _of_channel("error")],
                },
            },
            "publish": {
                "action": "send",
                "summary": "The venue sends what changed about the targets.",
                "channel": _ref("channels", _CHANNEL),
                "messages": [_of_channel(_tag(update)) for update, _ in _UPDATES],
            },
        },
        "components": {"messages": messages, "schemas": _schemas()},
    }


def _messages() -> dict[str, Node]:
    subscribed = frames.Subscribed(frames.SubscribedCount(2))
    refused = frames.ChannelError("NOPE is not in the directory", ChannelCode.UNKNOWN_TARGET)
    return {
        "subscribe": _message(
            "Replaces the whole set of targets; there is no unsubscribe. One target that cannot be "
            "resolved refuses the frame, and the old set stays.",
            _schema_ref("Subscribe"),
            _SUBSCRIBE,
        ),
        "subscribed": _message(
            "The set was accepted; the book of every rung in it follows.",
            _schema_ref("Subscribed"),
            _plain(subscribed),
        ),
        "error": _message(
            "The frame was refused; subscriptions are untouched.",
            _schema_ref("ChannelError"),
            _plain(refused),
        ),
        **{
            _tag(update): _message(
                text,
                {
                    "type": "object",
                    "required": ["type", "data"],
                    "properties": {
                        "type": {"const": "market-update"},
                        "data": _schema_ref(type(update).__name__),
                    },
                },
                _plain(frames.MarketUpdate(update)),
            )
            for update, text in _UPDATES
        },
    }


def _message(text: str, payload: Node, example: object) -> Node:
    return {"description": text, "payload": payload, "examples": [{"payload": example}]}


def _tag(update: frames.Update) -> str:
    return str(type(update).__struct_config__.tag)


def _plain(frame: frames.ServerFrame) -> object:
    return msgspec.json.decode(codec.encode(frame))


def _ref(*path: str) -> Node:
    return {"$ref": "/".join(("#", *path))}


def _of_channel(message: str) -> Node:
    return _ref("channels", _CHANNEL, "messages", message)


def _schema_ref(name: str) -> Node:
    return {"$ref": _SCHEMA.format(name=name)}


def _schemas() -> dict[str, Node]:
    sent = (frames.Subscribed, frames.ChannelError, *get_args(frames.Update))
    _, found = msgspec.json.schema_components(sent, ref_template=_SCHEMA)
    schemas = {name: _tidied(name, schema) for name, schema in found.items()}
    return {"Subscribe": _subscribe(), **dict(sorted(schemas.items()))}


def _tidied(name: str, schema: Node) -> Node:
    if "enum" in schema:
        return {"type": "string", "enum": schema["enum"]}
    fields = msgspec.structs.fields(getattr(frames, name))
    by_name = {field.encode_name: field for field in fields}
    about = {"description": schema["description"]} if "description" in schema else {}
    return {
        **about,
        "type": "object",
        "required": schema["required"],
        "properties": {
            key: _field(by_name[key], value) if key in by_name else {"const": value["enum"][0]}
            for key, value in schema["properties"].items()
        },
    }


def _field(field: msgspec.structs.FieldInfo, schema: Node) -> Node:
    narrowed = _BY_NAME.get(field.name) or _BY_TYPE.get(field.type)
    return schema if narrowed is None else dict(narrowed)


def _subscribe() -> Node:
    target = {
        "type": "object",
        "required": ["target", "data"],
        "oneOf": [
            _target(frames.EVENT_MARKET, "ticker", "eventMarketId"),
            _target(frames.MARKET, "symbol", "marketId"),
        ],
    }
    targets = {"type": "array", "maxItems": limits.SUBSCRIPTION_TARGETS_MAX, "items": target}
    return {
        "description": "Exactly these targets from now on. A handle is a market's ticker or a "
        "company's current symbol, in any case; a UUID always resolves, and stays.",
        "type": "object",
        "required": ["type", "data"],
        "properties": {
            "type": {"const": "subscribe"},
            "data": {"type": "object", "required": ["targets"], "properties": {"targets": targets}},
        },
    }


def _target(kind: str, handle: str, uuid: str) -> Node:
    """A target names what it means by exactly one of two keys."""
    keys = {handle: {"type": "string"}, uuid: {"type": "string", "format": "uuid"}}
    return {
        "properties": {
            "target": {"const": kind},
            "data": {
                "type": "object",
                "properties": keys,
                "oneOf": [{"required": [key]} for key in keys],
            },
        }
    }
