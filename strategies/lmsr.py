"""Hanson's market scoring rule over the buckets of a ladder: a price for every trade, and a loss
that is bounded in every outcome.

Bucket b means that exactly the b lowest rungs pay. The rule computes its debt in each bucket, Q_b,
from the inventory. A trade costs its change of cost(Q) = B ln sum exp(Q_b / B), in shares of a
dollar. No outcome can lose more than B ln(1 / prior of its bucket), fees included, as long as each
fill is answered before the next one; with `all_at_once`, however many rungs fill between two views.

Source: Hanson; Othman and others.
"""

import itertools
import math
from collections.abc import Sequence
from typing import Any, Literal

from pydantic import Field

from bot.strategy.api import EventView, Quote, Quotes, RungView, Strategy
from bot.strategy.pricing.price import LastQuotes, gap_of, legal, quotes_of
from venue.wire.money import (
    PAYOUT_CENTS,
    PRICE_MAX,
    PRICE_MIN,
    BookSide,
    FeeRate,
    Price,
    Qty,
    fee_cents,
)

_Range = tuple[int, int] | None

_EXACT_CENTS = 1e-9
"""Rounding error of the arithmetic: a price this close to a whole cent is that cent."""


def cost(owed: Sequence[float], liquidity: float, alpha: float = 0.0) -> float:
    """What the rule must have been paid for its debt of `owed` shares by bucket, in dollars.

    liquidity: B, shares, above 0; used if alpha is 0. alpha: above 0 makes B = alpha * the sum of
    the debt, which must be above 0 then.
    """
    scale = liquidity if alpha <= 0 else alpha * sum(owed)
    most = max(owed)
    return most + scale * math.log(sum([math.exp((each - most) / scale) for each in owed]))


def chances_of(rungs: Sequence[RungView]) -> list[float] | None:
    """The chance of each rung, 0..1, by the fair curve; None while part of it is unknown.

    A rung that is over has no fair value and is not quoted. It gets the chance of the rung below
    it, which moves the price of no other.
    """
    chances: list[float] = []
    for rung in rungs:
        if rung.fair_cents is not None:
            chances.append(rung.fair_cents / PAYOUT_CENTS)
        elif rung.quotable:
            return None
        else:
            chances.append(chances[-1] if chances else 1.0)
    return chances if any(rung.fair_cents is not None for rung in rungs) else None


def prior_masses(chances: Sequence[float], least: float) -> list[float]:
    """The chance of every bucket of a non-increasing curve, each at least about `least`.

    chances: of each rung, 0..1; a rising one is lowered to the one before it. Returns n + 1 masses
    that add up to one.
    """
    falling = list(itertools.accumulate([1.0, *chances, 0.0], min))
    masses = [max(high - low, least) for high, low in itertools.pairwise(falling)]
    total = sum(masses)
    return [mass / total for mass in masses]


def start_of(masses: Sequence[float], liquidity: float, alpha: float = 0.0) -> list[float]:
    """The debt before the first trade, at which the prices are the masses.

    With alpha above 0 each price is higher by alpha times the entropy of all, and no debt may be
    below 0: a bucket far below the others starts at 0, at a higher price still.
    """
    owed = [liquidity * math.log(mass) for mass in masses]
    if alpha > 0:
        each = (liquidity / alpha - sum(owed)) / len(owed)
        owed = [max(0.0, bucket + each) for bucket in owed]
    return owed


class Book:
    """The rule with its debt: prices of sizes, one trade after the other."""

    def __init__(self, owed: Sequence[float], liquidity: float, alpha: float = 0.0) -> None:
        self._owed = list(owed)
        self._liquidity = liquidity
        self._alpha = alpha
        self._cost = cost(self._owed, liquidity, alpha)

    def trade(self, sign: int, rung: int, qty: int) -> float:
        """Trade `qty` more shares of a rung (0 the lowest). Returns the price in cents a share: the
        least to ask (sign -1), or the most to pay (+1).

        Priced as if no held share were returned. With alpha 0 that is the same; else a return costs
        less than the price, so the rule is never paid too little.
        """
        pays, not_pays = (0, qty) if sign > 0 else (qty, 0)
        owed = self._owed
        self._owed = [
            *[each + not_pays for each in owed[: rung + 1]],
            *[each + pays for each in owed[rung + 1 :]],
        ]
        before, self._cost = self._cost, cost(self._owed, self._liquidity, self._alpha)
        share = PAYOUT_CENTS * (self._cost - before) / qty
        # A bought share is YES, or debt as NO: a pair of both is worth a dollar.
        return PAYOUT_CENTS - share if sign > 0 else share


def whole(sign: int, cents: float, extra_cents: int, rate: FeeRate) -> int:
    """The whole cent nearest to `cents` on the safe side that leaves `extra_cents` and any fee.

    sign: +1 a bid, -1 an ask. The fee is that of single shares, the highest possible. The result
    may be outside 1..99.
    """
    edge = cents - sign * extra_cents
    price = math.floor(edge + _EXACT_CENTS) if sign > 0 else math.ceil(edge - _EXACT_CENTS)
    while PRICE_MIN <= price <= PRICE_MAX:
        fee = fee_cents(rate, Qty(1), Price(price))
        if sign * (cents - price) + _EXACT_CENTS >= fee:
            break
        price -= sign
    return price


class Lmsr(Strategy):
    """Prices of a market scoring rule on every rung of the event, further ones for larger sizes."""

    name = "lmsr"

    class Params(Strategy.Params):
        """The subsidy in dollars, sizes in shares, costs in cents a share."""

        b_dollars: float = Field(
            50.0,
            gt=0,
            le=1_000_000,
            description="depth of the rule: the loss is at most b ln(1 / least prior), in dollars",
        )
        extra_spread_cents: int = Field(
            1, ge=0, le=20, description="cents a share added to each side; the fee at least"
        )
        prior: Literal["first", "follow"] = Field(
            "first",
            description="the first fair curve, which bounds the loss, or the current one",
        )
        least_mass: float = Field(
            0.005, gt=0, le=0.05, description="the chance that any bucket has at least, 0..1"
        )
        ls_alpha: float = Field(
            0.0,
            ge=0,
            le=1,
            description="above 0: depth per share owed, the liquidity-sensitive rule",
        )
        lot_qty: int = Field(5, ge=1, le=100_000, description="shares of the first level")
        levels: int = Field(3, ge=1, le=10, description="levels a side, each priced after the last")
        level_growth: float = Field(
            1.5, ge=1, le=4, description="size of a level to the one before it"
        )
        all_at_once: bool = Field(
            False,
            description="price each rung as if the quotes of the others had filled before it: the "
            "bound then holds however many fill between two views",
        )

    def __init__(self, params: Any) -> None:
        super().__init__(params)
        self._sizes = [
            math.floor(params.lot_qty * params.level_growth**level)
            for level in range(params.levels)
        ]
        self._start: tuple[tuple[str, ...], list[float]] | None = None
        self._owed: list[float] = []
        self._worth: list[tuple[list[float], list[float]]] = []
        self._last = LastQuotes()

    def quote(self, view: EventView) -> Quotes:
        """Both sides of every rung, once the whole fair curve is known."""
        rungs = view.rungs
        start = self._prior(rungs)
        if start is None:
            return {}
        owed = [each + more for each, more in zip(start, owed_by(rungs), strict=True)]
        if owed != self._owed:
            self._owed = owed
            self._worth = [(self._levels(1, at), self._levels(-1, at)) for at in range(len(rungs))]
        return {rung.market_id: self._both_sides(rung, at) for at, rung in enumerate(rungs)}

    def _levels(self, sign: int, index: int) -> list[float]:
        """The price of a share of each level of a rung, cents, best first. sign: +1 bids, -1
        asks."""
        book = Book(self._owed, self.params.b_dollars, self.params.ls_alpha)
        if self.params.all_at_once:
            # Asks of higher strikes and bids of lower ones move the rung's price the most.
            rungs = len(self._owed) - 1
            for other in range(rungs - 1, index, -1) if sign < 0 else range(index):
                book.trade(sign, other, sum(self._sizes))
        return [book.trade(sign, index, size) for size in self._sizes]

    def _both_sides(self, rung: RungView, index: int) -> tuple[Quote, ...]:
        gap, rate = gap_of(rung.book_age_s), rung.maker_fee_rate
        sides = [
            self._side(sign, worth, legal(side, rung.best_bid, rung.best_ask, gap=gap), rate)
            for sign, side, worth in zip((1, -1), BookSide, self._worth[index], strict=True)
        ]
        return self._last.reuse(rung.market_id, quotes_of(*sides))

    def _prior(self, rungs: tuple[RungView, ...]) -> list[float] | None:
        """The debt before the first trade; None while the curve is unknown."""
        ids = tuple(rung.market_id for rung in rungs)
        kept = self._start
        if kept is not None and kept[0] == ids and self.params.prior == "first":
            return kept[1]
        chances = chances_of(rungs)
        if chances is None:
            return None
        masses = prior_masses(chances, self.params.least_mass)
        start = start_of(masses, self.params.b_dollars, self.params.ls_alpha)
        self._start = (ids, start)
        return start

    def _side(
        self, sign: int, worth: list[float], open_to: _Range, rate: FeeRate
    ) -> list[tuple[int, int]]:
        """(price, size) of one side of a rung, best first; levels at one price are one."""
        if open_to is None:
            return []
        out: dict[int, int] = {}
        for cents, size in zip(worth, self._sizes, strict=True):
            price = whole(sign, cents, self.params.extra_spread_cents, rate)
            # A price that would touch the book of others moves to the safe side.
            price = min(price, open_to[1]) if sign > 0 else max(price, open_to[0])
            if not open_to[0] <= price <= open_to[1]:
                break
            out[price] = out.get(price, 0) + size
        return list(out.items())


def owed_by(rungs: Sequence[RungView]) -> list[float]:
    """The debt of the inventory in each bucket: a pair of YES and NO owes one everywhere."""
    out = [float(sum(rung.yes_qty for rung in rungs))]
    for rung in rungs:
        out.append(out[-1] + rung.no_qty - rung.yes_qty)
    return out


STRATEGY = Lmsr
