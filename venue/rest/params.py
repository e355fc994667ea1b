"""Path and query values, decoded strictly and clamped where the interface clamps. Raises `Refusal`.
Unknown parameters are ignored; a known one given twice is invalid_parameter, as no choice is safe.
Only an empty cursor counts as absent. Reading: docs/assumptions.md#S36."""

import enum
import re
from typing import Final, TypeVar
from urllib.parse import unquote_to_bytes

from venue.views.account import Scope
from venue.views.catalog import Catalog
from venue.wire import instant, limits, names
from venue.wire.codec import Refusal
from venue.wire.errors import Code
from venue.wire.model import RESTING, STATUS_GROUPS, TERMINAL, OrderStatus
from venue.wire.names import MarketId, OrderId, ProjectId, Ticker

E = TypeVar("E", bound=enum.StrEnum)

_BAD_ESCAPE: Final = re.compile(rb"%(?![0-9A-Fa-f]{2})")
_INTEGER: Final = re.compile(r"-?[0-9]+", re.ASCII)
_ACCEPTED_STATUSES: Final = ", ".join(
    dict.fromkeys([*STATUS_GROUPS, *(s.value for s in OrderStatus if s in RESTING | TERMINAL)])
)


def percent_decoded(raw: bytes) -> str | None:
    """The text of a percent-encoded part of an address; None when it is not well-formed UTF-8."""
    try:
        if b"%" not in raw:
            return raw.decode()
        return None if _BAD_ESCAPE.search(raw) else unquote_to_bytes(raw).decode()
    except UnicodeDecodeError:
        return None


def market_in_path(catalog: Catalog, segment: str | None) -> MarketId:
    """The market that a path segment names; None is a segment not decodable. Raises Refusal:
    invalid_market_identifier by shape, market_not_found by name."""
    if segment is None or not names.is_market_path(segment):
        raise Refusal(Code.INVALID_MARKET_IDENTIFIER, "market_id: not well formed")
    market_id = catalog.find_market(segment)
    if market_id is None:
        raise Refusal(Code.MARKET_NOT_FOUND, "no such market")
    return market_id


def event_in_path(segment: str | None) -> str:
    """The event or series ticker of a path segment. Raises Refusal(invalid_market_identifier)."""
    if segment is None or not names.is_market_path(segment):
        raise Refusal(Code.INVALID_MARKET_IDENTIFIER, "event_ticker: not well formed")
    return segment


def order_in_path(segment: str | None) -> OrderId:
    """The order id of a path segment. Raises Refusal(invalid_order_id)."""
    if segment is None or not names.is_order_id(segment):
        raise Refusal(Code.INVALID_ORDER_ID, "order_id: 1 to 20 digits")
    return OrderId(segment)


class Query:
    """The known parameters of a query string. Raises Refusal: invalid_parameter, invalid_cursor."""

    def __init__(self, raw: bytes, known: tuple[str, ...]) -> None:
        self._values: dict[str, str] = {}
        for pair in raw.split(b"&") if raw else ():
            raw_name, _, raw_value = pair.partition(b"=")
            name = percent_decoded(raw_name.replace(b"+", b" "))
            if name not in known:
                continue
            if name in self._values:
                raise _bad(name, "given twice")
            value = percent_decoded(raw_value.replace(b"+", b" "))
            if value is None and name == "cursor":
                raise Refusal(Code.INVALID_CURSOR, "not a cursor of ours")
            if value is None:
                raise _bad(name, "not percent-encoded UTF-8")
            self._values[name] = value

    def limit(self) -> int:
        """Page size: 100 when absent, an integer of any size clamped to 1..1000 (S36)."""
        text = self._values.get("limit")
        if text is None:
            return limits.PAGE_LIMIT_DEFAULT
        if _INTEGER.fullmatch(text) is None:
            raise _bad("limit", "an integer is wanted")
        if text.startswith("-"):
            return limits.PAGE_LIMIT_MIN
        digits = text.lstrip("0")
        # Longer than any limit there is: int() itself refuses some thousands of digits.
        if len(digits) > len(str(limits.PAGE_LIMIT_MAX)):
            return limits.PAGE_LIMIT_MAX
        return min(max(int(digits or "0"), limits.PAGE_LIMIT_MIN), limits.PAGE_LIMIT_MAX)

    def cursor(self) -> str | None:
        """The cursor as sent, not yet opened; None when absent or empty."""
        return self._values.get("cursor") or None

    def text(self, name: str) -> str | None:
        """A ticker-like filter, or None when absent; empty is invalid_parameter."""
        value = self._values.get(name)
        if value == "":
            raise _bad(name, "empty")
        return value

    def search(self) -> str | None:
        """The search term `q`, at least two characters (S38), or None when absent."""
        q = self._values.get("q")
        if q is not None and len(q) < limits.SEARCH_LENGTH_MIN:
            raise _bad("q", f"at least {limits.SEARCH_LENGTH_MIN} characters")
        return q

    def project_id(self) -> ProjectId | None:
        """A company's UUID, or None when absent; anything else is invalid_parameter."""
        value = self._values.get("project_id")
        if value is None:
            return None
        if not names.is_uuid(value):
            raise _bad("project_id", "a UUID is wanted")
        return ProjectId(names.fold_uuid(value))

    def instant_ns(self, name: str) -> int | None:
        """An RFC3339 instant in nanoseconds, or None when absent."""
        value = self._values.get(name)
        if value is None:
            return None
        try:
            # An unescaped `+` of an offset has become a space, which RFC3339 has no use for here.
            return instant.to_ns(value.replace(" ", "+"))
        except ValueError:
            raise _bad(name, "an RFC3339 instant is wanted") from None

    def enum(self, name: str, kind: type[E], accepted: tuple[E, ...]) -> E | None:
        """One of `accepted` in any ASCII case, or None when absent; else invalid_enum_value."""
        value = self._values.get(name)
        if value is None:
            return None
        folded = value.lower() if value.isascii() else value
        if folded not in [member.value for member in accepted]:
            listed = ", ".join(member.value for member in accepted)
            raise Refusal(Code.INVALID_ENUM_VALUE, f"{name}: accepted are {listed}")
        return kind(folded)

    def statuses(self) -> frozenset[OrderStatus]:
        """The order statuses asked for: groups and single ones, parted by commas; default all."""
        value = self._values.get("status")
        if value is None:
            return STATUS_GROUPS["all"]
        wanted: frozenset[OrderStatus] = frozenset()
        for text in (value.lower() if value.isascii() else value).split(","):
            part = text.strip(" ")
            group = STATUS_GROUPS.get(part)
            if group is None and part not in (RESTING | TERMINAL):
                raise Refusal(Code.INVALID_ENUM_VALUE, f"status: accepted are {_ACCEPTED_STATUSES}")
            wanted |= group if group is not None else {OrderStatus(part)}
        return wanted

    def order_id(self) -> OrderId | None:
        """The filter by order, or None when absent; a malformed one is invalid_order_id."""
        value = self._values.get("order_id")
        return None if value is None else order_in_path(value)

    def scope(self, catalog: Catalog) -> Scope:
        """The rows of `ticker` (ticker or UUID) or of `event_ticker` (S3). Raises Refusal:
        conflicting_identifiers for both, invalid_market_identifier by shape, invalid_parameter for
        what names nothing."""
        if {"ticker", "event_ticker"} <= self._values.keys():
            raise Refusal(
                Code.CONFLICTING_IDENTIFIERS, "ticker and event_ticker exclude each other"
            )
        ticker, event_ticker = self._shaped("ticker"), self._shaped("event_ticker")
        if ticker is None and event_ticker is None:
            return Scope()
        market_id = None if ticker is None else catalog.find_market(ticker)
        if ticker is not None and market_id is None:
            raise _bad("ticker", "no such market")
        event = None if event_ticker is None else catalog.event(event_ticker)
        if event_ticker is not None and event is None:
            raise _bad("event_ticker", "no such event")
        return Scope(market_id, None if event is None else event.event_ticker)

    def _shaped(self, name: str) -> Ticker | None:
        value = self._values.get(name)
        if value is not None and not names.is_market_path(value):
            raise Refusal(Code.INVALID_MARKET_IDENTIFIER, f"{name}: not well formed")
        return None if value is None else Ticker(value)


def _bad(name: str, fault: str) -> Refusal:
    return Refusal(Code.INVALID_PARAMETER, f"{name}: {fault}")
