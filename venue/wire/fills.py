"""Fills off the wire, whatever their shape: the interface shows two prices only."""

import hashlib
from typing import Any, Final

import msgspec

from venue.wire.codec import Garbled, decode
from venue.wire.model import Fill, FillsPage
from venue.wire.money import Outcome, Price, canonical
from venue.wire.names import ID_LENGTH_MAX

_QTY_NAMES: Final = ("qty", "size", "quantity", "filled_qty", "shares")

_INT64_MAX: Final = 2**63 - 1


def decode_fills(data: bytes) -> FillsPage:
    """A page of fills: the form of S4, else what follows from the rest. A fill must show its order,
    outcome, side, own price, size and time. Missing ids are made from everything shown, the same on
    every read. Raises Garbled, for an integer beyond 64 bits too."""
    try:
        return decode(data, FillsPage)
    except Garbled:
        page = decode(data, _LoosePage)
    return FillsPage(tuple(_fill(row) for row in page.fills), page.cursor)


class _LoosePage(msgspec.Struct, frozen=True):
    fills: list[dict[str, Any]]
    cursor: str = ""


def _fill(row: dict[str, Any]) -> Fill:
    fields = {key: value for key, value in row.items() if value is not None}
    shown = _made_id(":".join(str(fields[key]) for key in sorted(fields)))
    for name in _QTY_NAMES:
        if name in fields:
            fields.setdefault("qty", fields[name])
    for name in ("trade_id", "fill_id"):
        number = fields.get(name)
        if type(number) is int and 0 < number <= _INT64_MAX:
            fields[name] = str(number)
    fields.setdefault("trade_id", shown)
    fields.setdefault("fill_id", _made_id(f"{fields['trade_id']}:{fields.get('order_id')}"))
    for name in ("ticker", "market_id", "event_ticker"):
        fields.setdefault(name, "")
    try:
        outcome, price = Outcome(str(fields["outcome"]).lower()), int(fields["outcome_price"])
        fields.setdefault("trade_price", canonical(outcome, Price(price)))
        fill = msgspec.convert(fields, type=Fill, strict=False)
        msgspec.msgpack.encode(fill)  # numbers written as strings know no 64 bits
    except (msgspec.ValidationError, KeyError, ValueError, TypeError, OverflowError) as fault:
        raise Garbled(f"not a fill: {fault}") from None
    return fill


def _made_id(text: str) -> str:
    """An id that is made up; of what would be too long for one it is the digest."""
    if len(text) <= ID_LENGTH_MAX:
        return text
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
