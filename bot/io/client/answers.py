"""From HTTP bodies and channel frames to the trader's answers and events; no I/O.

UUIDs are compared as text, so market and company ids are turned to lower case here. See
docs/failure-modes.md#codes. Readings: docs/assumptions.md#S1, #S9, #S10.
"""

import email.utils
import json
import re
from collections.abc import Mapping
from operator import is_
from typing import Final, TypeVar

import msgspec

from bot.core import messages as m
from bot.io.client import sane
from venue.wire import codec, frames, model, routes
from venue.wire.errors import Sequenced, row_for
from venue.wire.fills import decode_fills
from venue.wire.instant import NS_PER_SECOND
from venue.wire.money import (
    PRICE_MAX,
    PRICE_MIN,
    BookSide,
    Outcome,
    Price,
    Side,
    book_side,
    complement,
)
from venue.wire.names import MarketId, ProjectId, fold_uuid, is_uuid

_MIRROR: Final = [Price(0), *map(complement, map(Price, range(PRICE_MIN, PRICE_MAX + 1)))]
"""By price, that of the other outcome."""

_Named = TypeVar("_Named", model.Order, model.Fill, model.Position, model.Market, model.Orderbook)


def folded_id(text: str) -> str:
    """A UUID in lower case; any other text as it is."""
    lower = fold_uuid(text)
    return lower if lower != text and is_uuid(text) else text


def folded(body: m.Body) -> m.Body:
    """The same body with lower-case ids; unchanged rows stay the same objects."""
    match body:
        case m.OrderBody():
            return m.OrderBody(_named(body.order))
        case m.CancelBody():
            return m.CancelBody(_named(body.order), body.reduced_by)
        case m.OrdersBody():
            return m.OrdersBody(tuple(map(_named, body.orders)), body.cursor)
        case m.FillsBody():
            return m.FillsBody(tuple(map(_named, body.fills)), body.cursor)
        case m.PositionsBody():
            return m.PositionsBody(tuple(map(_named, body.positions)), body.cursor)
        case m.BookBody():
            return m.BookBody(_named(body.book))
        case m.SeriesBody():
            return m.SeriesBody(tuple(map(_event, body.events)), body.cursor)
        case m.BalanceBody():
            return body


def _named(row: _Named) -> _Named:
    if row.market_id is None or (market_id := folded_id(row.market_id)) == row.market_id:
        return row
    return msgspec.structs.replace(row, market_id=MarketId(market_id))


def _event(event: model.Event) -> model.Event:
    markets = tuple(map(_named, event.markets))
    project_id = ProjectId(folded_id(event.project_id))
    if project_id == event.project_id and all(map(is_, markets, event.markets)):
        return event
    return msgspec.structs.replace(event, project_id=project_id, markets=markets)


RETRY_AFTER_NS_MAX: Final = 60 * NS_PER_SECOND
_TEXT_MAX: Final = 200
_WHOLE: Final = re.compile(r"[0-9]{1,12}", re.ASCII)
# Group 2 is there where a part of a second is named.
_SECONDS: Final = re.compile(r"([0-9]{1,12})(?:\.(?:0*|([0-9]{1,20})))?", re.ASCII)


T = TypeVar("T")


class _LooseError(msgspec.Struct, frozen=True):
    """An error body; missing fields are empty."""

    code: str = ""
    error: str = ""


def is_write(request: m.Request) -> bool:
    """True if a request may change something at the venue."""
    return isinstance(request, m.Create | m.AmendResting | m.CancelResting)


def answer_of(request: m.Request, status: int, body: bytes, *, sane_only: bool = True) -> m.Answer:
    """The meaning of a complete HTTP answer for a request, by the errors table.

    2xx with a body of the request's kind is Ok; with any other body Unknown, for it may have been
    carried out. Else codes that the table calls unknown (500, 502, result_unknown, any 3xx, an
    unreadable 5xx) are Unknown, the rest Rejected. A write rejected without a code is Unknown: the
    venue gives one with each failure, so an intermediary answered that may have passed the write
    on. Only 429 needs none: a rate limit comes before everything.

    sane_only: a body with an absurd value (`sane.check`) is unreadable. False is for a caller that
    only cancels what a list names.
    """
    if 200 <= status < 300:
        try:
            shown = _body_of(request, body)
            if sane_only:
                sane.check(shown)
            return m.Ok(folded(shown))
        except codec.Garbled as fault:
            return m.Unknown(f"{status} with an unreadable body: {str(fault)[:_TEXT_MAX]}")
    code, text = _error_of(body)
    sequenced = row_for(status, code).sequenced
    if sequenced is Sequenced.UNKNOWN:
        return m.Unknown(f"{status} {code}".rstrip())
    if sequenced is Sequenced.DECIDED and not code and is_write(request):
        return m.Unknown(f"{status} without a code")
    return m.Rejected(status, code, text)


def _body_of(request: m.Request, body: bytes) -> m.Body:
    match request:
        case m.Create() | m.AmendResting() | m.ReadOrder():
            return m.OrderBody(_unambiguous(body, model.Order))
        case m.CancelResting():
            cancelled = _unambiguous(body, model.Cancelled)
            return m.CancelBody(cancelled.order, cancelled.reduced_by)
        case m.ReadResting():
            orders = codec.decode(body, model.OrdersPage)
            return m.OrdersBody(orders.orders, orders.cursor)
        case m.ReadFills():
            fills = decode_fills(body)
            return m.FillsBody(fills.fills, fills.cursor)
        case m.ReadPositions():
            positions = codec.decode(body, model.PositionsPage)
            return m.PositionsBody(positions.positions, positions.cursor)
        case m.ReadBalance():
            return m.BalanceBody(codec.decode(body, model.Balance))
        case m.ReadSeries():
            events = codec.decode(body, model.EventsPage)
            return m.SeriesBody(events.events, events.cursor)
        case m.ReadBook():
            return m.BookBody(codec.decode(body, model.Orderbook))


def _unambiguous(body: bytes, kind: type[T]) -> T:
    """Decode an order. Raises Garbled also where a key is there twice with two values."""
    try:
        _AGREEING.decode(body.decode("utf-8"))
    except (ValueError, RecursionError) as fault:
        raise codec.Garbled(f"not a {kind.__name__}: {codec.why(fault)}") from None
    return codec.decode(body, kind)


def _agreeing_pairs(pairs: list[tuple[str, object]]) -> dict[str, object]:
    fields = dict(pairs)
    if len(fields) != len(pairs):
        for key, value in pairs:
            if fields[key] != value:
                raise ValueError(f"{key!r} is there twice, with two values")
    return fields


_AGREEING: Final = json.JSONDecoder(object_pairs_hook=_agreeing_pairs)


def _error_of(body: bytes) -> tuple[str, str]:
    """Code and text of an error body; both "" when it is HTML, cut, or anything else."""
    try:
        shown = codec.decode(body, _LooseError)
    except codec.Garbled:
        return "", ""
    return plain(shown.code), plain(shown.error)


def plain(text: str, longest: int | None = _TEXT_MAX) -> str:
    """Foreign text made printable, at most `longest` characters; None for all of it."""
    return "".join(sign if sign.isprintable() else "?" for sign in text[:longest])


def tokens_left(headers: Mapping[str, str], name: str = routes.REMAINING_HEADER) -> int | None:
    """X-RateLimit-Remaining, or the header `name`; None when absent or no whole number."""
    text = headers.get(name, "").strip()
    return int(text) if _WHOLE.fullmatch(text) else None


def retry_after_ns(headers: Mapping[str, str], wall_s: float) -> int | None:
    """Retry-After, seconds or an HTTP date, clamped to 0..60 s; None when unreadable. Fractions
    round up.

    wall_s: the machine's time, seconds since 1970, to compare a date with.
    """
    text = headers.get(routes.RETRY_AFTER_HEADER, "").strip()
    if seconds := _SECONDS.fullmatch(text):
        whole = int(seconds[1]) + (seconds[2] is not None)
        return min(whole * NS_PER_SECOND, RETRY_AFTER_NS_MAX)
    try:
        until_s = email.utils.parsedate_to_datetime(text).timestamp()
    except (ValueError, OverflowError):
        return None
    return min(max(0, int((until_s - wall_s) * NS_PER_SECOND)), RETRY_AFTER_NS_MAX)


def event_of(data: bytes | str) -> m.Event | None:
    """The event of a frame; None for a ticker frame, which repeats its print.

    What cannot be read, or is of an unknown type, becomes MalformedFrame. Raises nothing.
    """
    try:
        frame = codec.decode_frame(data)
    except codec.Garbled as fault:
        return m.MalformedFrame(str(fault)[:200], known=True)
    match frame:
        case frames.MarketUpdate():
            return _update(frame.data)
        case frames.Subscribed():
            return m.SubscriptionAccepted()
        case frames.ChannelError():
            return m.SubscriptionRefused(plain(frame.code), plain(frame.message))
        case codec.Unrecognised():
            return m.MalformedFrame(f"unknown type {frame.type[:80]!r}", known=False)


def _update(update: frames.Update) -> m.Event | None:
    match update:
        case frames.BookUpdate():
            return m.BookUpdate(
                MarketId(folded_id(update.event_market_id)),
                update.ts,
                tuple([(level.price, level.size) for level in update.yes if level.size]),
                # Best NO bid first is best YES ask first: the highest price mirrors to the lowest.
                tuple([(_MIRROR[level.price], level.size) for level in update.no if level.size]),
            )
        case frames.TradeUpdate():
            taker = book_side(Outcome(update.taker.outcome), Side(update.taker.side))
            return m.Trade(
                MarketId(folded_id(update.event_market_id)),
                update.ts,
                update.trade_id,
                update.price,
                update.size,
                taker is BookSide.BID,
            )
        case frames.TickerUpdate():
            return None
        case frames.ImpliedValueUpdate():
            return _implied(update)


def _implied(update: frames.ImpliedValueUpdate) -> m.Event:
    """Decimal text of dollars and of 0..1; anything else is malformed, infinity included."""
    try:
        dollars, confidence = float(update.implied_value), float(update.confidence)
    except ValueError:
        return m.MalformedFrame("an implied value that is no number", known=True)
    if not (0 < dollars < float("inf") and 0 <= confidence <= 1):
        return m.MalformedFrame("an implied value out of range", known=True)
    company = ProjectId(folded_id(update.market_id))
    return m.ImpliedValueSeen(company, update.ts, dollars, confidence)
