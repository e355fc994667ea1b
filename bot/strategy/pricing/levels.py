"""The levels of one side of a market, each priced as if those before it had filled, and the order
of the levels across a ladder.

See docs/pricing.md#section-1d.
"""

from collections.abc import Sequence
from typing import Final

import msgspec

from bot.strategy.api import Quote
from bot.strategy.pricing.cara import cara_worth
from bot.strategy.pricing.price import best_edge, best_price, boldest, enough_edge, inside, legal
from venue.wire.money import PAYOUT_CENTS, PRICE_MAX, PRICE_MIN, BookSide, Price

_BID: Final = BookSide.BID
_ASK: Final = BookSide.ASK

Levels = tuple[tuple[int, int, int], ...]
"""(price, size, limit) of one side, best first; see `Quote`. A level without room has size 0. It is
priced anyway, so that the room of one market changes no price of another."""

LEAST_EDGE: Final = 1 / 3
"""An order keeps its price and queue place while it has this part of the best edge."""


class SideInputs(msgspec.Struct, frozen=True):
    """The inputs of one side's prices, cents of canonical YES and per share.

    sign: +1 bids, -1 asks. fair: the centre of the flow. value: the reservation value. own: its
    change per share held. cost: without the fee. fees: of each level. low, high: legal prices
    (`legal`). sizes: shares of each level, 1 or more. room: shares allowed on the side.
    """

    sign: int
    fair: float
    value: float
    own: float
    cost: float
    fees: tuple[float, ...]
    low: int
    high: int
    sizes: tuple[int, ...]
    room: int


class Pricing:
    """The rule from inputs to prices.

    decay: how much the log of the fill rate falls per cent of distance. risk_aversion: per cent, as
    `best_edge`. cara: c in cents a share of the skew by `cara_worth`; None for a linear skew.
    enough: `enough_edge` of the first two. least: see `LEAST_EDGE`, cents.
    """

    __slots__ = ("cara", "decay", "enough", "least", "risk_aversion")

    def __init__(self, decay: float, risk_aversion: float, cara: float | None) -> None:
        self.decay, self.risk_aversion, self.cara = decay, risk_aversion, cara
        self.enough = enough_edge(decay, risk_aversion)
        self.least = LEAST_EDGE * best_edge(decay, risk_aversion)


def near_price(sign: int, fair: float, decay: float) -> int:
    """About the price of a side's quote, for costs that depend on it only weakly."""
    return inside(round(fair - sign / decay), PRICE_MIN, PRICE_MAX)


def side_levels(terms: SideInputs, gap: int, how: Pricing) -> Levels:
    """One side of a market, best first, at least a tick between levels; those with an edge.

    gap: ticks to leave to the touch of others beyond `terms.low` and `terms.high`, 0 or more. It
    does not apply to limits: an order that rests already takes nothing on a stale book.
    """
    sign, fair, value, own, cost = terms.sign, terms.fair, terms.value, terms.own, terms.cost
    low, high, room = terms.low, terms.high, terms.room
    decay, aversion, cara, enough, least = (
        how.decay,
        how.risk_aversion,
        how.cara,
        how.enough,
        how.least,
    )
    is_bid = sign > 0
    widest_low, widest_high = low, high
    if is_bid:
        high -= gap
    else:
        low += gap
    before = 0
    out: list[tuple[int, int, int]] = []
    for size, fee in zip(terms.sizes, terms.fees, strict=True):
        if low > high:
            break
        if cara is None:
            worth = value - sign * (own * (before + 0.5 * size) + cost + fee)
        else:
            worth = cara_worth(value, sign, cara, before, size) - sign * (cost + fee)
        chosen = inside(best_price(sign, worth, fair, enough, decay, aversion), low, high)
        if sign * (worth - chosen) <= 0:
            break
        bold = inside(boldest(sign, worth, least), widest_low, widest_high)
        limit = bold if (bold > chosen if is_bid else bold < chosen) else chosen
        standing_qty = size if size < room else room
        out.append((chosen, standing_qty, limit))
        room -= standing_qty
        before += size
        # Limits keep a tick between them too, or one order would match two levels.
        if is_bid:
            high, widest_high = chosen - 1, limit - 1
        else:
            low, widest_low = chosen + 1, limit + 1
    return tuple(out)


def reach(levels: Levels, sign: int) -> int:
    """The boldest price at which the levels of a side leave an order; of none the first legal one.

    Levels computed without any others are right if the touch of others leaves this price and the
    gap free: only the first level is ever constrained by it.
    """
    if levels:
        return levels[0][2]
    return PRICE_MIN if sign > 0 else PRICE_MAX


def side_at_touch(terms: SideInputs, touch: Price, gap: int, how: Pricing) -> Levels | None:
    """`side_levels` with the opposite side of others at `touch`; None if no price is legal then."""
    span = legal(_BID, None, touch) if terms.sign > 0 else legal(_ASK, touch, None)
    if span is None:
        return None
    return side_levels(msgspec.structs.replace(terms, low=span[0], high=span[1]), gap, how)


class PricedMarket:
    """The levels of a market without any others, and their `reach`: they are right if others leave
    it free. quotes: of these levels, None until computed."""

    __slots__ = ("ask_reach", "ask_terms", "asks", "bid_reach", "bid_terms", "bids", "quotes")

    def __init__(self, bid_terms: SideInputs, ask_terms: SideInputs, how: Pricing) -> None:
        self.bid_terms, self.ask_terms = bid_terms, ask_terms
        self.bids, self.asks = side_levels(bid_terms, 0, how), side_levels(ask_terms, 0, how)
        self.bid_reach, self.ask_reach = reach(self.bids, 1), reach(self.asks, -1)
        self.quotes: tuple[Quote, ...] | None = None


def in_order(behind: Levels | None, ahead: Levels | None, sign: int) -> bool:
    """True if the levels of a rung need no stepping back from those of its neighbour.

    ahead: of the rung that comes first, the lower strike for bids (sign +1), the higher one for
    asks (-1). Order between all neighbours is order everywhere. None: no price is legal there.
    """
    if not behind:
        return True
    if ahead is None or len(behind) > len(ahead):
        return False
    if sign * (behind[0][0] - ahead[-1][0]) <= 0:
        return True  # the usual case: their prices do not overlap
    pairs = zip(behind, ahead, strict=False)
    return all(sign * (level[0] - before[0]) <= 0 for level, before in pairs)


def stepped_back(sides: Sequence[Levels | None], sign: int) -> list[Levels | None]:
    """The sides with quotes stepped back until no level rises with the strike.

    Bids are given by rising strikes and step down; asks by falling strikes and step up (sign -1).
    Levels keep a tick between them. A level without a legal price is dropped, and so is one that a
    rung before has no edge for. Where a side is None, its neighbours are not constrained by it. An
    unchanged side is returned as the same object.
    """
    out: list[Levels | None] = []
    edges = [PAYOUT_CENTS] * max((len(side) for side in sides if side is not None), default=0)
    for side in sides:
        if side is None:
            out.append(None)
            continue
        kept: list[tuple[int, int, int]] = []
        behind = PAYOUT_CENTS
        for (price, size, limit), edge in zip(side, edges, strict=False):
            signed = min(sign * price, behind, edge)
            stepped = sign * signed
            if not PRICE_MIN <= stepped <= PRICE_MAX:
                break
            behind = signed - 1
            kept.append((stepped, size, limit if stepped == price else stepped))
        edges = [sign * price for price, _, _ in kept]
        out.append(side if tuple(kept) == side else tuple(kept))
    return out


def quoted_levels(levels: Levels | None, far_price: int, far_qty: int) -> Levels:
    """The levels of a side that have room, or `far_qty` shares at `far_price` if none has; nothing
    if no price is legal."""
    if levels is None:
        return ()
    if levels and not levels[-1][1]:  # room is used up by the first ones first
        levels = tuple(level for level in levels if level[1])
    return levels if levels or not far_qty else ((far_price, far_qty, far_price),)


class LadderSide:
    """One side of all rungs, the lowest strike first: as each was priced alone, and in order.

    levels: as priced. changed: the places whose levels were replaced since `ordered`; at first all.
    is_stepped: True if `ordered` stepped any back.
    """

    def __init__(self, sign: int, rungs: int) -> None:
        self._sign = sign
        self.levels: list[Levels | None] = [()] * rungs
        self.changed = list(range(rungs))
        self.is_stepped = False
        # The places of rungs that are out of order with the next one.
        self._out_of_order: set[int] = set()

    def ordered(self) -> list[Levels | None]:
        """The levels of all rungs, stepped back where needed; do not modify them."""
        levels, sign, marks = self.levels, self._sign, self._out_of_order
        last = len(levels) - 1
        for at in self.changed:
            for low in (at - 1, at):
                if 0 <= low < last:
                    below, above = levels[low], levels[low + 1]
                    is_fine = in_order(above, below, 1) if sign > 0 else in_order(below, above, -1)
                    (marks.discard if is_fine else marks.add)(low)
        self.changed = []
        self.is_stepped = bool(marks)
        if not self.is_stepped:
            return levels
        return stepped_back(levels, 1) if sign > 0 else stepped_back(levels[::-1], -1)[::-1]
