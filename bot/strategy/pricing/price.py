"""From the worth of a share to a price: the legal range, the best whole cent, quotes of levels.

Prices are canonical YES cents. A side is a BookSide, or a sign where arithmetic wants one: +1 a
bid, -1 an ask.

Formulas: docs/pricing.md#section-1c.
"""

import math
from collections.abc import Iterable
from functools import lru_cache
from math import ceil, exp, floor
from typing import Final, Literal

from bot.strategy.api import Quote, RungView
from venue.wire.money import (
    PRICE_MAX,
    PRICE_MIN,
    BookSide,
    FeeRate,
    Price,
    Qty,
    fee_cents,
)

Level = tuple[int, int] | tuple[int, int, int]
"""(price, size) or (price, size, limit) of one level of a side; see `Quote` for the limit."""

STALE_BOOK_S: Final = 2.0
"""A book that was last confirmed longer ago than this may have moved: one more tick is left."""

_BID: Final = BookSide.BID
_ASK: Final = BookSide.ASK


def legal(
    side: BookSide, best_bid: Price | None, best_ask: Price | None, *, gap: int = 1
) -> tuple[int, int] | None:
    """The lowest and the highest price that a side may stand at without touching the book of
    others; None if there is none.

    best_bid, best_ask: of others, None where a side is empty. gap: ticks left to the other side,
    1 or more (`gap_of`). A bid leaves 99 and an ask leaves 1 to the other side, so that our own
    two never have to meet.
    """
    if side is _BID:
        top = PRICE_MAX - 1
        if best_ask is not None and best_ask - gap < top:
            top = best_ask - gap
        return (PRICE_MIN, top) if top >= PRICE_MIN else None
    bottom = PRICE_MIN + 1
    if best_bid is not None and best_bid + gap > bottom:
        bottom = best_bid + gap
    return (bottom, PRICE_MAX) if bottom <= PRICE_MAX else None


def gap_of(book_age_s: float) -> int:
    """Ticks to leave to the touch of others: one, and one more when the book is old, for the venue
    takes no order that only rests."""
    return 1 if book_age_s <= STALE_BOOK_S else 2


def inside(price: int, low: int, high: int) -> int:
    """The price nearest to `price` in low..high."""
    if price > high:
        price = high
    return low if price < low else price


def best_edge(decay: float, risk_aversion: float = 0.0) -> float:
    """The edge in cents that earns most where fills fall off by exp(-decay * distance).

    1/decay for a trader who counts money; ln(1 + gamma/decay)/gamma, a little less, for one whose
    utility of a gain E is (1 - exp(-gamma E))/gamma. decay: per cent of distance, above 0.
    risk_aversion: gamma, per cent, 0 or more.
    """
    if risk_aversion <= 0:
        return 1 / decay
    return math.log1p(risk_aversion / decay) / risk_aversion


def enough_edge(decay: float, risk_aversion: float = 0.0) -> float:
    """The edge in cents that a price on the safe side of fair must be left with to be better than
    the cent behind it; arguments as `best_edge`.

    One cent bolder is exp(decay) times the flow, for a gain of an edge E in the place of E + 1.
    """
    if risk_aversion <= 0:
        return 1 / math.expm1(decay)
    return math.log1p(-math.expm1(-risk_aversion) / math.expm1(decay)) / risk_aversion


def best_price(
    sign: int, worth: float, fair: float, enough: float, decay: float, risk_aversion: float
) -> int:
    """The whole cent with the most of exp(-decay |fair - p|) times the gain of the edge.

    sign: +1 a bid, -1 an ask. worth: the value of a share after all costs, cents; the edge is
    sign * (worth - p), its gain the edge itself or, with a risk_aversion (per cent) above 0,
    (1 - exp(-risk_aversion * edge))/risk_aversion. decay: per cent of distance, above 0. enough:
    `enough_edge` of these two.

    Up to fair the best cent is the boldest one that is left more than `enough`. Past fair there is
    no more flow to gain: of the two about it the safe one is the best, or the bold one just past.
    Ties go to the safer side. The answer may lie outside 1..99: bring it inside the legal range,
    where the nearest price is again the best.
    """
    if sign > 0:
        price = ceil(worth - enough) - 1
        if price <= fair:
            return price
        safe = floor(fair)
    else:
        price = floor(worth + enough) + 1
        if price >= fair:
            return price
        safe = ceil(fair)
    bold = safe + sign
    gain_bold = sign * (worth - bold)
    flow = exp(decay * (abs(fair - safe) - abs(fair - bold)))
    gain_safe = sign * (worth - safe)
    if risk_aversion > 0:
        gain_bold = -math.expm1(-risk_aversion * gain_bold)
        gain_safe = -math.expm1(-risk_aversion * gain_safe)
    return bold if flow * gain_bold > gain_safe else safe


def boldest(sign: int, worth: float, edge: float) -> int:
    """The whole cent nearest to the other side that leaves at least `edge` cents to `worth`."""
    return floor(worth - edge) if sign > 0 else ceil(worth + edge)


@lru_cache(maxsize=2_048)  # half a megabyte
def fee_per_share(rate: FeeRate, size: int, price: int) -> float:
    """The fee in cents per share of an order of `size` shares (1 or more) filled whole at `price`
    (1..99), its ceiling included."""
    return fee_cents(rate, Qty(size), Price(price)) / size


def quotes_of(bids: Iterable[Level], asks: Iterable[Level]) -> tuple[Quote, ...]:
    """Levels of both sides as quotes, bids first, each side in the order given."""
    # A level is what follows the side in a quote; unpacked as it is, because this is hot.
    quotes: list[Quote] = [Quote(_BID, *level) for level in bids]
    quotes += [Quote(_ASK, *level) for level in asks]
    return tuple(quotes)


# --- rules of real numbers ------------------------------------------------------------------------
#
# The rules of other systems quote a real distance from one price. What they ask for is rounded away
# from that price: a bid down, an ask up, never in.

Source = Literal["fair", "mid", "micro", "last"]
"""What a rung is quoted around: the fitted curve, the middle of the touch, the middle weighted by
size, the last trade."""

_NOISE_CENTS: Final = 1e-9
"""A real price this close to a whole cent is that cent: the distance is the arithmetic's."""


def value_of(rung: RungView, source: Source) -> float | None:
    """The price in cents that a rung is quoted around, or None where nothing is known.

    A source that is missing gives way: first to the fitted curve, then to the middle of the touch.
    """
    value: float | None = None
    if source == "mid":
        value = middle(rung)
    elif source == "micro":
        value = rung.microprice_cents
    elif source == "last":
        value = rung.last_price
    if value is None:
        value = rung.fair_cents
    return middle(rung) if value is None else value


def middle(rung: RungView) -> float | None:
    """The middle of the touch of others in cents, None on a one-sided or empty book."""
    if not (rung.bids and rung.asks):
        return None
    return (rung.bids[0][0] + rung.asks[0][0]) / 2


def outward(side: BookSide, price: float) -> int:
    """A real price as a whole cent, away from the other side; it may lie outside 1..99."""
    return floor(price + _NOISE_CENTS) if side is _BID else ceil(price - _NOISE_CENTS)


def placed(side: BookSide, price: float, rung: RungView, *, gap: int = 1) -> int | None:
    """The whole cent a side rests at: rounded outward, then held `gap` ticks off the touch of
    others. None where the rule asks for more than the price range holds, or no cent is left."""
    allowed = legal(side, rung.best_bid, rung.best_ask, gap=gap)
    if allowed is None:
        return None
    low, high = allowed
    whole = outward(side, price)
    if side is _BID:
        return None if whole < low else min(whole, high)
    return None if whole > high else max(whole, low)
