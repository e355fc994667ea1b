"""Bodies of the operator's requests, read strictly. A fault names the field, its value and the
accepted ones; no body carries a secret."""

import enum
import json
import types
from typing import Annotated, Any, Final, TypeVar, Union, get_args, get_origin

import msgspec
from msgspec import Meta

from venue import derived
from venue.derived import Quarter
from venue.rest.faults import SHARE_SCALE, Replies, Verb
from venue.wire import instant
from venue.wire.codec import refuse_constant, unique_pairs
from venue.wire.limits import RATE_BURST
from venue.wire.model import EventStatus, VenueState
from venue.wire.money import FeeRate, Outcome
from venue.wire.names import is_uuid
from venue.wire.routes import KeyScope, TokenScope

LAG_MS_MAX: Final = 60_000
DELAY_MS_MAX: Final = 60_000
LIFETIME_S_MAX: Final = 10 * 366 * 86_400
COUNT_MAX: Final = 1_000_000_000
_CENTS_MAX: Final = 2**62
_SHOWN_MAX: Final = 80


class BadRequest(Exception):
    """The request is wrong; `str()` says which field and why."""


def _text(pattern: str, accepted: str) -> Meta:
    """pattern: of the whole text."""
    return Meta(pattern=rf"\A(?:{pattern})\Z", description=accepted)


def _whole(low: int, high: int, unit: str = "") -> Meta:
    return Meta(ge=low, le=high, description=f"{unit}{low} to {high}")


Words = Annotated[str, _text(derived.NAME_PATTERN, derived.NAME_ACCEPTED)]
Symbol = Annotated[
    str,
    _text(
        r"[A-Z0-9](?:[A-Z0-9.-]{0,38}[A-Z0-9])?",
        "capitals, digits, and dots and hyphens inside, 40 at most",
    ),
]
Label = Annotated[
    str,
    _text(
        r"[A-Z0-9](?:[A-Z0-9.]{0,18}[A-Z0-9])?",
        "a rung's label of capitals, digits and inner dots, 20 at most, or YES",
    ),
]
QuarterText = Annotated[str, Meta(description="two digits of the year, Q and 1 to 4, like 26Q4")]
Uuid = Annotated[str, Meta(description="a UUID")]
InstantText = Annotated[str, Meta(description="an RFC3339 instant")]
Rate = Annotated[str, Meta(description="a decimal fraction of 0 to 1, 8 places at most")]
Decimal = Annotated[
    str,
    _text(
        r"[0-9]{1,15}(?:\.[0-9]{1,8})?",
        "a decimal as text, not negative, 15 digits and 8 places at most",
    ),
]
Probability = Annotated[
    str,
    _text(
        r"0(?:\.[0-9]{1,8})?|1(?:\.0{1,8})?",
        "a decimal number of 0 to 1 as text, 8 places at most",
    ),
]
ShareText = Annotated[
    str,
    _text(
        r"0(?:\.[0-9]{1,6})?|1(?:\.0{1,6})?",
        "a decimal share of 0 to 1 as text, 6 places at most",
    ),
]
UserName = Annotated[
    str,
    _text(r"[A-Za-z0-9][A-Za-z0-9._:@-]{0,63}", "letters, digits and . _ : @ - inside, 64 at most"),
]
Amount = Annotated[int, _whole(1, _CENTS_MAX, "whole cents, ")]
LagMs = Annotated[int, _whole(0, LAG_MS_MAX)]
DelayMs = Annotated[int, _whole(1, DELAY_MS_MAX)]
Lifetime = Annotated[int, _whole(1, LIFETIME_S_MAX)]
RetryAfter = Annotated[int, _whole(1, 3_600)]
BucketLimit = Annotated[int, _whole(1, RATE_BURST)]
Count = Annotated[int, _whole(1, COUNT_MAX)]
Entries = Annotated[tuple[dict[str, Any], ...], Meta(description="a list of objects")]
SeedNumber = Annotated[int, Meta(ge=0, le=2**62, description="a whole number, not negative")]


class Settable(enum.StrEnum):
    """What the operator may make of an event; `settled` comes from resolving every market."""

    UNOPENED = EventStatus.UNOPENED.value
    OPEN = EventStatus.OPEN.value
    CLOSED = EventStatus.CLOSED.value


class Empty(msgspec.Struct, frozen=True):
    """Nothing is asked for beyond the path."""


class VenueStateBody(msgspec.Struct, frozen=True):
    state: VenueState


class ProjectionBody(msgspec.Struct, frozen=True):
    lag_ms: LagMs


class CompanyBody(msgspec.Struct, frozen=True):
    name: Words
    symbol: Symbol
    project_id: Uuid | None = None


class SymbolBody(msgspec.Struct, frozen=True):
    symbol: Symbol


class ImpliedValueBody(msgspec.Struct, frozen=True):
    value_dollars: Decimal
    confidence: Probability


class EventBody(msgspec.Struct, frozen=True):
    company: Words
    series_ticker: Symbol
    quarter: QuarterText
    title: Words
    category: Words
    status: Settable = Settable.OPEN
    mutually_exclusive: bool = False
    resolution_date: InstantText | None = None
    sub_title: Words | None = None
    resolution_source: Words | None = None
    project_market_id: Uuid | None = None


class EventStatusBody(msgspec.Struct, frozen=True):
    status: Settable


class MarketBody(msgspec.Struct, frozen=True):
    """Absent fields are derived: strike_value is the number that a rung's label begins with,
    strike_unit the one that the event's other rungs share; the binary market has neither."""

    event_ticker: Words
    label: Label
    maker_fee_rate: Rate
    taker_fee_rate: Rate
    strike_value: Decimal | None = None
    strike_unit: Words | None = None
    name: Words | None = None
    outcome_label: Words | None = None
    description: Words | None = None
    market_id: Uuid | None = None


class ListingsBody(msgspec.Struct, frozen=True):
    """Bodies of companies, events and markets, in the order in which they are to be listed."""

    companies: Entries = ()
    events: Entries = ()
    markets: Entries = ()


class ResolveBody(msgspec.Struct, frozen=True):
    winner: Outcome


class UserBody(msgspec.Struct, frozen=True):
    user_id: UserName


class AmountBody(msgspec.Struct, frozen=True):
    amount_cents: Amount


class KeyBody(msgspec.Struct, frozen=True):
    user_id: UserName | None
    scopes: tuple[KeyScope, ...]


class TokenBody(msgspec.Struct, frozen=True):
    user_id: UserName
    application: Words
    scopes: tuple[TokenScope, ...]
    lifetime_s: Lifetime


class CommandFaultBody(msgspec.Struct, frozen=True):
    kind: str
    count: Count | None = None
    share: ShareText | None = None
    verbs: tuple[Verb, ...] = tuple(Verb)
    seed: SeedNumber = 0


class DelayFaultBody(msgspec.Struct, frozen=True):
    kind: str
    delay_ms: DelayMs
    on: Replies
    count: Count | None = None
    share: ShareText | None = None
    seed: SeedNumber = 0


class ThrottleFaultBody(msgspec.Struct, frozen=True):
    kind: str
    retry_after_s: RetryAfter
    count: Count | None = None
    share: ShareText | None = None
    seed: SeedNumber = 0


class LimitFaultBody(msgspec.Struct, frozen=True):
    kind: str
    limit: BucketLimit


class OutageFaultBody(msgspec.Struct, frozen=True):
    kind: str


Body = TypeVar("Body", bound=msgspec.Struct)


def read_fields(raw: bytes) -> dict[str, object]:
    """The fields of a body as they came, nulls too; an empty body has none. Raises BadRequest
    unless it is a JSON object in UTF-8 with every key once."""
    if not raw:
        return {}
    try:
        fields = json.loads(
            raw.decode(), object_pairs_hook=unique_pairs, parse_constant=refuse_constant
        )
        if not isinstance(fields, dict):
            raise ValueError("not a JSON object")
        for name, value in fields.items():
            if not _is_utf8((name, value)):
                raise bad(ascii(name)[1:-1], value, "text in UTF-8")
    except (ValueError, RecursionError) as fault:
        raise BadRequest(f"request body: {fault}") from None
    return fields


def _is_utf8(value: object) -> bool:
    """True if it could be sent back: in JSON half a surrogate pair can be escaped."""
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True


def as_body(kind: type[Body], fields: dict[str, object]) -> Body:
    """The fields as a body of a kind. Raises BadRequest at the first unknown, then bad field."""
    known = {field.name: field for field in msgspec.structs.fields(kind)}
    for name, value in fields.items():
        if name not in known:
            accepted = ", ".join(known) or "no field at all"
            raise BadRequest(f"{name!r:.{_SHOWN_MAX}}: unknown field; accepted are {accepted}")
        field = known[name]
        try:
            msgspec.convert(value, field.type)
        except msgspec.ValidationError:
            raise bad(name, value, accepted_values(field.type)) from None
    for name, field in known.items():
        if field.required and name not in fields:
            raise BadRequest(f"{name}: missing; accepted is {accepted_values(field.type)}")
    return msgspec.convert(fields, kind)


def as_entry(kind: type[Body], name: str, place: int, fields: dict[str, object]) -> Body:
    """One entry of a list as a body of a kind. Raises BadRequest with the entry's place."""
    try:
        return as_body(kind, fields)
    except BadRequest as fault:
        raise BadRequest(f"{name}[{place}].{fault}") from None


def bad(name: str, value: object, accepted: str) -> BadRequest:
    shown = json.dumps(value)
    if len(shown) > _SHOWN_MAX:
        shown = f"{shown[:_SHOWN_MAX]}..."
    return BadRequest(f"{name}: {shown}; accepted is {accepted}")


def accepted_values(kind: Any) -> str:
    """The values of a field's type, in words."""
    if get_origin(kind) is Annotated:
        described = [meta.description for meta in get_args(kind)[1:] if meta.description]
        return described[0] if described else accepted_values(get_args(kind)[0])
    if get_origin(kind) in (Union, types.UnionType):
        return " or ".join(accepted_values(part) for part in get_args(kind))
    if get_origin(kind) is tuple:
        return f"a list of {accepted_values(get_args(kind)[0])}"
    if isinstance(kind, type) and issubclass(kind, enum.StrEnum):
        return ", ".join(member.value for member in kind)
    return {bool: "true or false", str: "text", int: "a whole number"}.get(kind, "null")


def uuid_of(name: str, value: str) -> str:
    if not is_uuid(value):
        raise bad(name, value, "a UUID")
    return value.lower()


def quarter_of(value: str) -> Quarter:
    try:
        return Quarter.parse(value)
    except ValueError:
        raise bad("quarter", value, accepted_values(QuarterText)) from None


def instant_of(name: str, value: str) -> int:
    try:
        ns = instant.to_ns(value)
        instant.from_ns(ns)
    except (ValueError, OverflowError):
        raise bad(name, value, accepted_values(InstantText)) from None
    return ns


def rate_of(name: str, value: str) -> FeeRate:
    try:
        return FeeRate.parse(value)
    except ValueError:
        raise bad(name, value, accepted_values(Rate)) from None


def millionths_of(share: str) -> int:
    whole, _, fraction = share.partition(".")
    return int(whole) * SHARE_SCALE + int(fraction.ljust(6, "0"))
