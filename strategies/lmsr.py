"""Hanson's market scoring rule over the buckets of a ladder: a known price for every trade, and a
loss that is bounded whatever happens.

Bucket b is: exactly the b lowest rungs pay. The rule keeps what it owes in each bucket, Q_b, worked
out from the shares held: a NO share of rung i owes where the rung pays, a YES share where it does
not. A trade costs what it moves cost(Q) = B ln sum exp(Q_b / B), in shares of a dollar. It starts
where its prices are a prior, the fair curve as it was first seen. From there on no outcome can
lose more than B ln(1 / prior of that bucket), fees included, as long as each fill is answered
before the next one; with `all_at_once`, however many rungs fill between two looks.

With `ls_alpha` above zero it is the liquidity-sensitive rule: B = alpha * sum Q_b grows with what
is traded, and its prices add up to a little more than one, its profit.

Source: Hanson; Othman and others.
"""

import itertools
import math
from collections.abc import Sequence
from typing import Any, Literal

from pydantic import Field

from bot.strategy.api import EventView, Quote, Quotes, RungView, Strategy
from bot.strategy.pricing.price import gap_of, legal, quotes_of
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
_Inputs = tuple[_Range, _Range, FeeRate, int]

_EXACT_CENTS = 1e-9
"""What rounding in the last place may be off by: a price that is whole to it is whole."""


def cost(owed: Sequence[float], liquidity: float, alpha: float = 0.0) -> float:
    """What the rule has to have been paid for owing `owed` shares bucket by bucket, in dollars.

    liquidity: B, shares, above 0; used where alpha is 0. alpha: above 0 makes B = alpha * the sum
    of all that is owed, which must be above 0 then.
    """
    scale = liquidity if alpha <= 0 else alpha * sum(owed)
    most = max(owed)
    return most + scale * math.log(sum([math.exp((each - most) / scale) for each in owed]))


def chances_of(rungs: Sequence[RungView]) -> list[float] | None:
    """The chance of each rung, 0..1, by the fair curve; None while that is not known whole.

    A rung that is over has no fair value any more, and nothing is quoted there. It is left with the
    chance of the rung below it, which moves the price of no other.
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

    chances: of each rung, 0..1. A rising one is taken down to the one before it. n + 1 masses
    that add up to one.
    """
    falling = list(itertools.accumulate([1.0, *chances, 0.0], min))
    masses = [max(high - low, least) for high, low in itertools.pairwise(falling)]
    total = sum(masses)
    return [mass / total for mass in masses]


def start_of(masses: Sequence[float], liquidity: float, alpha: float = 0.0) -> list[float]:
    """What is owed before the first trade, so that the prices are the masses.

    With alpha above 0 each is dearer by alpha times the entropy of them all, and nothing owed may
    be below 0: a bucket far below the others starts at 0, dearer still.
    """
    owed = [liquidity * math.log(mass) for mass in masses]
    if alpha > 0:
        each = (liquidity / alpha - sum(owed)) / len(owed)
        owed = [max(0.0, bucket + each) for bucket in owed]
    return owed


class Book:
    """The rule with what it owes: prices of sizes, one trade after the other."""

    def __init__(self, owed: Sequence[float], liquidity: float, alpha: float = 0.0) -> None:
        self._owed = list(owed)
        self._liquidity = liquidity
        self._alpha = alpha
        self._cost = cost(self._owed, liquidity, alpha)

    def trade(self, sign: int, rung: int, qty: int) -> float:
        """Cents a share that `qty` more shares of a rung (0 the lowest) are worth to the rule: to
        ask at least (sign -1), or to pay at most (+1). What it owes then is kept.

        Priced as if nothing held were given back. With alpha 0 that is the same; else giving back
        costs less than what is asked, so the rule is never paid too little.
        """
        pays, not_pays = (0, qty) if sign > 0 else (qty, 0)
        owed = self._owed
        self._owed = [
            *[each + not_pays for each in owed[: rung + 1]],
            *[each + pays for each in owed[rung + 1 :]],
        ]
        before, self._cost = self._cost, cost(self._owed, self._liquidity, self._alpha)
        share = PAYOUT_CENTS * (self._cost - before) / qty
        # What is bought is YES, or owed as NO: a pair of both is worth a dollar.
        return PAYOUT_CENTS - share if sign > 0 else share


def whole(sign: int, cents: float, extra_cents: int, rate: FeeRate) -> int:
    """The whole cent nearest to `cents` on the safe side that keeps `extra_cents` and any fee.

    sign: +1 a bid, -1 an ask. The fee is that of the shares one by one, the most that it can be.
    May lie outside 1..99.
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
    """Prices of a market scoring rule on every rung of the event, deeper ones for larger sizes."""

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
            description="the fair curve as first seen, which bounds the loss, or as it is now",
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
            "bound then holds however many fill between two looks",
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
        self._epoch = 0
        self._last: dict[str, tuple[_Inputs, tuple[Quote, ...]]] = {}

    def quote(self, view: EventView) -> Quotes:
        """Both sides of every rung, once the fair curve has been seen whole."""
        rungs = view.rungs
        start = self._prior(rungs)
        if start is None:
            return {}
        owed = [each + more for each, more in zip(start, owed_by(rungs), strict=True)]
        if owed != self._owed:
            self._owed = owed
            self._worth = [(self._levels(1, at), self._levels(-1, at)) for at in range(len(rungs))]
            self._epoch += 1
        return {rung.market_id: self._both_sides(rung, at) for at, rung in enumerate(rungs)}

    def _levels(self, sign: int, index: int) -> list[float]:
        """What a share of each level of a rung is worth to the rule, cents, best first. sign: +1
        bids, -1 asks."""
        book = Book(self._owed, self.params.b_dollars, self.params.ls_alpha)
        if self.params.all_at_once:
            # Asks of higher strikes and bids of lower ones move the rung's price the most.
            rungs = len(self._owed) - 1
            for other in range(rungs - 1, index, -1) if sign < 0 else range(index):
                book.trade(sign, other, sum(self._sizes))
        return [book.trade(sign, index, size) for size in self._sizes]

    def _both_sides(self, rung: RungView, index: int) -> tuple[Quote, ...]:
        gap = gap_of(rung.book_age_s)
        inputs = (
            legal(BookSide.BID, rung.best_bid, rung.best_ask, gap=gap),
            legal(BookSide.ASK, rung.best_bid, rung.best_ask, gap=gap),
            rung.maker_fee_rate,
            self._epoch,
        )
        before = self._last.get(rung.market_id)
        if before is not None and before[0] == inputs:
            return before[1]
        bids, asks = self._worth[index]
        quotes = quotes_of(self._side(1, bids, inputs), self._side(-1, asks, inputs))
        if before is not None and before[1] == quotes:
            quotes = before[1]
        self._last[rung.market_id] = (inputs, quotes)
        return quotes

    def _prior(self, rungs: tuple[RungView, ...]) -> list[float] | None:
        """What is owed before the first trade; None while the curve is not known."""
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

    def _side(self, sign: int, worth: list[float], inputs: _Inputs) -> list[tuple[int, int]]:
        """(price, size) of one side of a rung, best first; levels of one price are one."""
        bids_in, asks_in, rate, _ = inputs
        open_to = bids_in if sign > 0 else asks_in
        if open_to is None:
            return []
        out: dict[int, int] = {}
        for cents, size in zip(worth, self._sizes, strict=True):
            price = whole(sign, cents, self.params.extra_spread_cents, rate)
            # A price that would touch the book of others gives way, to the safe side only.
            price = min(price, open_to[1]) if sign > 0 else max(price, open_to[0])
            if not open_to[0] <= price <= open_to[1]:
                break
            out[price] = out.get(price, 0) + size
        return list(out.items())


def owed_by(rungs: Sequence[RungView]) -> list[float]:
    """What the shares held owe in each bucket: a pair of YES and NO owes one everywhere."""
    out = [float(sum(rung.yes_qty for rung in rungs))]
    for rung in rungs:
        out.append(out[-1] + rung.no_qty - rung.yes_qty)
    return out


STRATEGY = Lmsr
