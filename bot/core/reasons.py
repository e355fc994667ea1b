"""Why an order of ours stands where it does, in a few words for a person. Decides nothing."""

from typing import Final

from bot.core.event.rung import Rung
from bot.core.orders.order import OwnOrder, State
from bot.core.plan.wishes import WantCreate
from bot.core.strategy import Quote
from venue.wire.money import BookSide

_UNDER_WAY: Final = {
    State.SENT: "its create is on its way",
    State.LOST: "its create has no answer: it counts in full until the venue's word",
    State.AMENDING: "its change is on its way",
    State.BLURRED: "its change has no answer: it is read back",
    State.CANCELLING: "its cancel is on its way",
    State.CLOSING: "over, by the venue's word; its fills are being read",
    State.DONE: "over",
}


def reason_of(own: OwnOrder, rung: Rung) -> str:
    """Why it stands: what is under way, what is wished for it, or which quote it serves."""
    if own.suspicion is not None:
        return f"not trusted, {own.suspicion.finding}: {own.suspicion.why}"
    if own.state is not State.OPEN:
        return f"{_UNDER_WAY[own.state]} ({own.why})"
    if own.doomed:
        return f"to be cancelled: {own.why}"
    for wish in rung.wishes:
        if not isinstance(wish, WantCreate) and wish.order is own:
            return f"kept until a request may leave: {wish.why}"
    return _serves(own, rung)


def _serves(own: OwnOrder, rung: Rung) -> str:
    """Which wanted quote an order that nothing is wished for serves."""
    planned = [quote for quote in rung.planned if quote.side is own.side]
    if not planned:
        return f"nothing is wanted on this side: {rung.blocked or 'see the limits'}"
    planned.sort(key=_boldest_first)
    prices = [quote.price for quote in planned]
    if own.level in prices:
        level = prices.index(own.level)
        return f"wanted here: level {level + 1} of {len(prices)}, {planned[level].qty} shares" + (
            _to_fair(own, rung)
        )
    nearest = min(planned, key=lambda quote: abs(quote.price - own.level))
    return f"wanted at {nearest.price}: near enough to keep its place" + _to_fair(own, rung)


def _to_fair(own: OwnOrder, rung: Rung) -> str:
    """How far from the fair value it stands, on which side of it."""
    if rung.fair is None:
        return ""
    away = rung.fair.value_cents - own.level
    if own.side is BookSide.ASK:
        away = -away
    side = "below" if own.side is BookSide.BID else "above"
    return f", {away:.1f} {side} fair" if away >= 0 else f", {-away:.1f} through fair"


def _boldest_first(quote: Quote) -> int:
    return -quote.price if quote.side is BookSide.BID else quote.price
