"""From the worth of a share to a price: the legal range, the best whole cent, quotes of levels.

Prices are canonical YES cents. A side is a BookSide, or in arithmetic a sign: +1 a bid, -1 an ask.

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
"""A book confirmed longer ago is stale: it may have moved, so one more tick is left to it."""

_BID: Final = BookSide.BID
_ASK: Final = BookSide.ASK


def legal(
    side: BookSide, best_bid: Price | None, best_ask: Price | None, *, gap: int = 1
) -> tuple[int, int] | None:
    """The lowest and the highest price of a side that does not touch the book of others; None if
    there is none.

    best_bid, best_ask: of others, None if the side is empty. gap: ticks left to the other side, 1
    or more (`gap_of`). No bid is at 99 and no ask at 1, so that our own two never have to meet.
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
    """Ticks to leave to the touch of others: one, or two if the book is stale, because the venue
    has no post-only order."""
    return 1 if book_age_s <= STALE_BOOK_S else 2


def inside(price: int, low: int, high: int) -> int:
    if price > high:
        price = high
    return low if price < low else price


def best_edge(decay: float, risk_aversion: float = 0.0) -> float:
    """The edge in cents that earns most where fills fall off by exp(-decay * distance).

    1/decay for a risk-neutral trader; ln(1 + gamma/decay)/gamma, a little less, for the utility
    (1 - exp(-gamma E))/gamma of a gain E. decay: per cent of distance, above 0. risk_aversion:
    gamma, per cent, 0 or more.
    """
    if risk_aversion <= 0:
        return 1 / decay
    return math.log1p(risk_aversion / decay) / risk_aversion


def enough_edge(decay: float, risk_aversion: float = 0.0) -> float:
    """The edge in cents above which a price on the safe side of fair is better than the cent behind
    it; arguments as `best_edge`.

    One cent bolder is exp(decay) times the flow, for a gain of an edge E instead of E + 1.
    """
    if risk_aversion <= 0:
        return 1 / math.expm1(decay)
    return math.log1p(-math.expm1(-risk_aversion) / math.expm1(decay)) / risk_aversion


def best_price(
    sign: int, worth: float, fair: float, enough: float, decay: float, risk_aversion: float
) -> int:
    """The whole cent that maximises exp(-decay |fair - p|) times the gain of the edge.

    sign: +1 a bid, -1 an ask. worth: the value of a share after all costs, cents; the edge is
    sign * (worth - p), its gain the edge itself or, with a risk_aversion (per cent) above 0,
    (1 - exp(-risk_aversion * edge))/risk_aversion. decay: per cent of distance, above 0. enough:
    `enough_edge` of these two.

    Up to fair the best cent is the boldest one that leaves more than `enough`. Past fair no more
    flow is gained: the better of the two cents around fair is the best. Ties go to the safer side.
    The answer may be outside 1..99; the nearest legal price is then the best one.
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
    # Unpacked as it is, because this is hot.
    quotes: list[Quote] = [Quote(_BID, *level) for level in bids]
    quotes += [Quote(_ASK, *level) for level in asks]
    return tuple(quotes)


class LastQuotes:
    """Returns the quotes of before if new ones are equal: the trader skips an object it knows."""

    def __init__(self) -> None:
        self._last: dict[str, tuple[Quote, ...]] = {}

    def reuse(self, market_id: str, quotes: tuple[Quote, ...]) -> tuple[Quote, ...]:
        """The quotes of a market, as the last object if they are equal."""
        last = self._last.get(market_id)
        if last == quotes:
            return last
        self._last[market_id] = quotes
        return quotes


# --- rules of real numbers ------------------------------------------------------------------------
#
# The rules of other systems quote a real distance from one price. Prices are rounded away from it:
# a bid down, an ask up.

Source = Literal["fair", "mid", "micro", "last"]
"""The price that quotes are centred on: fitted curve, mid, microprice, or last trade."""

_NOISE_CENTS: Final = 1e-9
"""A real price this close to a whole cent is that cent: the distance is the arithmetic's."""


def value_of(rung: RungView, source: Source) -> float | None:
    """The price in cents that quotes of a market are centred on. A missing source is replaced by
    the fitted curve, then by the mid; None if those are missing too."""
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
    """The mid of others in cents, None on a one-sided or empty book."""
    if not (rung.bids and rung.asks):
        return None
    return (rung.bids[0][0] + rung.asks[0][0]) / 2


def outward(side: BookSide, price: float) -> int:
    """A real price as a whole cent, away from the other side; it may be outside 1..99."""
    return floor(price + _NOISE_CENTS) if side is _BID else ceil(price - _NOISE_CENTS)


def placed(side: BookSide, price: float, rung: RungView, *, gap: int = 1) -> int | None:
    """The whole cent of a resting quote: rounded outward, and at least `gap` ticks from the touch
    of others. None if it is outside the price range, or no cent is left."""
    allowed = legal(side, rung.best_bid, rung.best_ask, gap=gap)
    if allowed is None:
        return None
    low, high = allowed
    whole = outward(side, price)
    if side is _BID:
        return None if whole < low else min(whole, high)
    return None if whole > high else max(whole, low)
