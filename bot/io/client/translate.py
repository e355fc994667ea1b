"""From a frame of the channel to an event of the trader: NO bids become YES asks; no I/O.

Readings: docs/assumptions.md#S9, #S10.
"""

from bot.core import messages as m
from bot.io.client.answers import plain
from bot.io.client.normalize_ids import folded_id
from venue.wire import codec, frames
from venue.wire.money import BookSide, Outcome, Side, book_side, complement
from venue.wire.names import MarketId, ProjectId


def event_of(data: bytes | str) -> m.Event | None:
    """The event that a frame is, or None for one that tells nothing new.

    A ticker frame repeats its print and is passed over. What cannot be read, or is of a type that
    is not known, becomes FrameGarbled. Raises nothing.
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
                tuple((level.price, level.size) for level in update.yes if level.size),
                # Best NO bid first is best YES ask first: the highest price mirrors to the lowest.
                tuple((complement(level.price), level.size) for level in update.no if level.size),
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
    """Decimal text of dollars and of 0..1; anything else is garbled, infinity included."""
    try:
        dollars, confidence = float(update.implied_value), float(update.confidence)
    except ValueError:
        return m.MalformedFrame("an implied value that is no number", known=True)
    if not (0 < dollars < float("inf") and 0 <= confidence <= 1):
        return m.MalformedFrame("an implied value out of range", known=True)
    company = ProjectId(folded_id(update.market_id))
    return m.ImpliedValueSeen(company, update.ts, dollars, confidence)
