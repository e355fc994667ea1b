"""The levels of one side of a rung, each priced as if those before it had filled; and the levels of
all rungs brought into order.

Source: strategy, 1(c) and 1(d).
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import Final, NamedTuple

import msgspec

from bot.core.pricing.price import best_edge, best_price, boldest, inside
from bot.core.pricing.skew import cara_worth
from venue.wire.money import PAYOUT_CENTS, PRICE_MAX, PRICE_MIN

Levels = tuple[tuple[int, int, int], ...]
"""(price, size, limit) of one side, best first; see `Quote`. Size 0: there is no room for it. It is
priced all the same, so that what there is room for on one rung moves no price of another."""

LEAST_EDGE: Final = 1 / 3
"""The part of the best edge that an order must keep to be left where it is."""


class Terms(msgspec.Struct, frozen=True):
    """All that the prices of one side of a rung hang on, cents of canonical YES and per share.

    sign: +1 bids, -1 asks. fair: where the flow is. value: the reservation value. own: what one
    share more held moves it by. cost: all but the fee. fees: of each level. low, high: legal prices
    (`legal`). sizes: shares of each level, 1 or more, by which it is priced. room: shares that may
    stand on the side.
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


class Pricing(NamedTuple):
    """How prices are made of terms.

    decay: by how much the log of the fill rate falls per cent of distance. risk_aversion: per cent,
    as `best_price`. cara: the skew is that of `cara_worth`, with c of this many cents a share; None
    where it is linear.
    """

    decay: float
    risk_aversion: float
    cara: float | None


def near_price(sign: int, fair: float, decay: float) -> int:
    """About where a side is quoted: what does not hang on the price chosen is reckoned there."""
    return inside(round(fair - sign / decay), PRICE_MIN, PRICE_MAX)


@lru_cache(maxsize=2_048)  # the arguments are all that the levels hang on
def side_levels(terms: Terms, gap: int, how: Pricing) -> Levels:
    """One side of a rung, best first, at least a tick between levels; those with an edge.

    gap: ticks to leave to the touch of others beyond `terms.low` and `terms.high`, 0 or more: what
    stands already takes nothing by an old book, and may stay nearer.
    """
    sign, fair, value, own, cost = terms.sign, terms.fair, terms.value, terms.own, terms.cost
    low, high, room = terms.low, terms.high, terms.room
    decay, aversion, cara = how
    is_bid = sign > 0
    widest_low, widest_high = low, high
    if is_bid:
        high -= gap
    else:
        low += gap
    edge = best_edge(decay, aversion)
    least = LEAST_EDGE * edge
    before = 0
    out: list[tuple[int, int, int]] = []
    for size, fee in zip(terms.sizes, terms.fees, strict=True):
        if low > high:
            break
        if cara is None:
            worth = value - sign * (own * (before + 0.5 * size) + cost + fee)
        else:
            worth = cara_worth(value, sign, cara, before, size) - sign * (cost + fee)
        chosen = inside(best_price(sign, worth, fair, edge, decay, aversion), low, high)
        if sign * (worth - chosen) <= 0:
            break
        bold = inside(boldest(sign, worth, least), widest_low, widest_high)
        limit = bold if (bold > chosen if is_bid else bold < chosen) else chosen
        standing_qty = size if size < room else room
        out.append((chosen, standing_qty, limit))
        room -= standing_qty
        before += size
        # Limits keep a tick between them too, or an order of one level would serve the next one.
        if is_bid:
            high, widest_high = chosen - 1, limit - 1
        else:
            low, widest_low = chosen + 1, limit + 1
    return tuple(out)


def in_order(behind: Levels | None, ahead: Levels | None, sign: int) -> bool:
    """Whether the levels of a rung need no stepping back from those of its neighbour.

    `ahead` is that of the rung whose levels come first: the lower strike for bids (sign +1), the
    higher one for asks (-1). What is in order between all neighbours is in order everywhere. None:
    no price is legal there.
    """
    if behind is None:
        return True
    if ahead is None or len(behind) > len(ahead):
        return False
    for level, before in zip(behind, ahead, strict=False):
        if sign * (level[0] - before[0]) > 0:
            return False
    return True


def stepped_back(sides: Sequence[Levels | None], sign: int) -> list[Levels | None]:
    """The sides with quotes stepped back until no level rises with the strike.

    Bids come by rising strikes and step down; asks by falling strikes and step up (sign -1).
    Levels keep a tick between them. One that has no price left is dropped, and so is one that a
    rung before has no edge for: none is worth more there. A side of None binds no other. A side
    that stays as it is comes back as the same object.
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


def standing(levels: Levels | None, far_price: int, far_qty: int) -> Levels:
    """What of a side is quoted: the levels that have room, or `far_qty` shares at `far_price` where
    there are none; nothing where no price is legal."""
    if levels is None:
        return ()
    for _, size, _ in levels:
        if not size:
            levels = tuple(level for level in levels if level[1])
            break
    return levels if levels or not far_qty else ((far_price, far_qty, far_price),)
