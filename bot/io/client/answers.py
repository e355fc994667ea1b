"""From an HTTP status and a body to Done, Refused or Unknown, by the errors table; no I/O.

See docs/failure-modes.md#codes. Reading: docs/assumptions.md#S1.
"""

import email.utils
import json
import re
from collections.abc import Mapping
from typing import Final, TypeVar

import msgspec

from bot.core import messages as m
from bot.core import sane
from bot.io.client.normalize_ids import folded
from venue.wire import codec, model, routes
from venue.wire.errors import Sequenced, row_for
from venue.wire.fills import decode_fills
from venue.wire.instant import NS_PER_SECOND

RETRY_AFTER_NS_MAX: Final = 60 * NS_PER_SECOND
_TEXT_MAX: Final = 200
_WHOLE: Final = re.compile(r"[0-9]{1,12}", re.ASCII)
# Group 2 is there where a part of a second is named.
_SECONDS: Final = re.compile(r"([0-9]{1,12})(?:\.(?:0*|([0-9]{1,20})))?", re.ASCII)


T = TypeVar("T")


class _LooseError(msgspec.Struct, frozen=True):
    """An error body of which only what is there is taken."""

    code: str = ""
    error: str = ""


def is_write(request: m.Request) -> bool:
    """Whether a request may change something at the venue."""
    return isinstance(request, m.Create | m.AmendResting | m.CancelResting)


def answer_of(request: m.Request, status: int, body: bytes, *, sane_only: bool = True) -> m.Answer:
    """What a complete HTTP answer says about a request.

    2xx with a body of the request's own kind is Done, the market ids in it folded; with any other
    body Unknown, for it may well have been carried out. Otherwise the errors table decides: what
    it calls unknown (500, 502, result_unknown, any 3xx, an unreadable 5xx) is Unknown, the rest
    Refused with the code, "" when the body gives none. A read has no effect, but is answered by the
    same rule.

    A refusal of a write without a code is not the venue's word, for every failure of its own has
    one: whoever stands between may have let the write through before it said so. Only 429 needs
    none: it is a limiter's, and a limiter stands before everything.

    sane_only: a body with a value that cannot be meant (`bot.core.sane`) is of no kind either, and
    of a list nothing is believed. False is for who reckons with nothing and only cancels whatever a
    list names: one absurd row must not keep the others from it.
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
    """What an order hangs on. Raises Garbled, too, where a key stands twice with two values, for
    then nobody knows which of them was meant."""
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
                raise ValueError(f"{key!r} stands twice, with two values")
    return fields


_AGREEING: Final = json.JSONDecoder(object_pairs_hook=_agreeing_pairs)


def _error_of(body: bytes) -> tuple[str, str]:
    """Code and text of an error body; both "" when it is HTML, cut, or anything else."""
    try:
        shown = codec.decode(body, _LooseError)
    except codec.Garbled:
        return "", ""
    return plain(shown.code), plain(shown.error)


def plain(text: str, longest: int = _TEXT_MAX) -> str:
    """Foreign text made fit for a log line or a terminal: printable, at most 200 characters, or as
    many as `longest` says."""
    return "".join(sign if sign.isprintable() else "?" for sign in text[:longest])


def tokens_left(headers: Mapping[str, str], name: str = routes.REMAINING_HEADER) -> int | None:
    """X-RateLimit-Remaining, or the other header of that name; None when it is absent, negative or
    no whole number."""
    text = headers.get(name, "").strip()
    return int(text) if _WHOLE.fullmatch(text) else None


def retry_after_ns(headers: Mapping[str, str], wall_s: float) -> int | None:
    """Retry-After, seconds or an HTTP date, clamped to 0..60 s; None when unreadable.

    A part of a second counts as a whole one: "seconds to wait" does not say that they are whole.
    wall_s: the machine's own time, seconds since 1970; a date can be compared with nothing else.
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
