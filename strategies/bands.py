"""Bands of depth around a target: each keeps its size between a minimum and a maximum.

A band below its minimum is filled up to its average at its average margin; one above its maximum
cancels orders. Between two checks quotes change only if the target is gone.

Source: Polymarket/poly-market-maker.
"""

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple, Self

import pydantic
from pydantic import Field

from bot.strategy.api import EventView, Quote, Quotes, RungView, Strategy
from bot.strategy.pricing.price import LastQuotes, gap_of, legal, quotes_of
from venue.wire.money import BookSide, FeeUnits, Price, Qty, complement, reserve_cents

_BID = BookSide.BID
_ASK = BookSide.ASK

Resting = dict[int, int]
"""Shares by price, of one side."""


class Band(pydantic.BaseModel):
    """One band: margins in cents from the target, sizes in shares."""

    model_config = pydantic.ConfigDict(frozen=True, extra="forbid")

    min_margin_cents: int = Field(ge=1, le=98, description="nearest to the target, included")
    avg_margin_cents: int = Field(ge=1, le=98, description="where new orders are placed")
    max_margin_cents: int = Field(ge=2, le=99, description="furthest from it, not included")
    min_qty: int = Field(ge=0, le=100_000, description="below this it is filled up")
    avg_qty: int = Field(ge=1, le=100_000, description="shares that it is filled up to")
    max_qty: int = Field(ge=1, le=100_000, description="above this orders are cancelled")

    @pydantic.model_validator(mode="after")
    def _in_order(self) -> Self:
        if not self.min_margin_cents <= self.avg_margin_cents < self.max_margin_cents:
            raise ValueError("margins must be min <= avg < max")
        if not self.min_qty <= self.avg_qty <= self.max_qty:
            raise ValueError("sizes must be min <= avg <= max")
        return self

    def holds(self, distance_cents: float) -> bool:
        """True if an order this far from the target, away from the other side, is in the band."""
        return self.min_margin_cents <= distance_cents < self.max_margin_cents

    def excess_of(
        self, resting: Sequence[tuple[int, int]], target: float, *, first: bool, last: bool
    ) -> list[tuple[int, int]]:
        """The (price, shares) of the band to cancel so that at most `max_qty` is left.

        resting: the orders in the band. The first band cancels those nearest to the target first,
        the last one the furthest, any other the largest; a band that is both counts as first.
        """
        if first:
            order = sorted(resting, key=lambda each: abs(each[0] - target), reverse=True)
        elif last:
            order = sorted(resting, key=lambda each: abs(each[0] - target))
        else:
            order = sorted(resting, key=lambda each: each[1])
        cancelled: list[tuple[int, int]] = []
        amount = sum(qty for _, qty in order)
        while amount > self.max_qty:
            cancelled.append(order.pop())
            amount -= cancelled[-1][1]
        return cancelled

    def price(self, target: float, sign: int) -> int | None:
        """The price of a new order of the band, whole cents away from the target; None if the band
        is outside 1..99. A price beyond is moved to the last one there is."""
        if sign > 0:
            price = max(1, math.floor(target - self.avg_margin_cents))
        else:
            mirror = complement(Price(math.ceil(target + self.avg_margin_cents)))
            price = complement(Price(max(1, mirror)))
        return price if self.holds(sign * (target - price)) else None


class Free:
    """Cash for new orders, cents, spent as their sizes are chosen. None: unknown, and then no limit
    here (the trader has its own)."""

    def __init__(self, cash_cents: int | None) -> None:
        self._cash = cash_cents

    def size(self, need: int, held: int, cost_cents: int, least: int) -> tuple[int, int]:
        """Shares to sell of the complement's inventory, and to buy with cash, for `need` shares.

        cost_cents: of one share bought. Each of the two is at least `least` shares, or none.
        """
        sold = min(need, held)
        sold = sold if sold >= least else 0
        bought = need - sold
        if self._cash is not None:
            bought = min(bought, max(0, self._cash) // cost_cents)
        bought = bought if bought >= max(1, least) else 0
        if self._cash is not None:
            self._cash -= bought * cost_cents
        return sold, bought


class Bands(Strategy):
    """Depth in bands on both sides of every market with a target."""

    name = "bands"

    class Params(Strategy.Params):
        """Margins in cents, sizes in shares; see `Band`."""

        bands: tuple[Band, ...] = Field(
            tuple(
                Band(
                    min_margin_cents=margin,
                    avg_margin_cents=margin,
                    max_margin_cents=margin + 1,
                    min_qty=10,
                    avg_qty=20,
                    max_qty=30,
                )
                for margin in (1, 2, 3)
            ),
            min_length=1,
            max_length=20,
            description="bands from the nearest to the furthest, apart from each other",
        )
        sync_s: float = Field(30.0, ge=0, le=3_600, description="seconds between two checks")
        min_order_qty: int = Field(
            15, ge=1, le=100_000, description="shares of the smallest order that is placed"
        )
        target: Literal["fair", "microprice"] = Field(
            "fair", description="the price that bands are centred on: fitted curve or microprice"
        )

        @pydantic.model_validator(mode="after")
        def _apart(self) -> Self:
            ends = [(band.min_margin_cents, band.max_margin_cents) for band in self.bands]
            if any(near < before for (_, before), (near, _) in itertools.pairwise(ends)):
                raise ValueError("bands must come nearest first and not overlap")
            return self

    def __init__(self, params: "Bands.Params") -> None:
        super().__init__(params)
        self._rungs: dict[str, _Synced] = {}
        self._last = LastQuotes()

    def quote(self, view: EventView) -> Quotes:
        """The quotes of the bands; nothing on a market without a target."""
        free, part = Free(view.cash_cents), view.size_part
        kept: dict[str, _Synced] = {}
        for rung in view.rungs:
            target = self._target(rung)
            if target is None:
                continue
            before = self._rungs.get(rung.market_id)
            if before is None or view.now_s - before.at_s >= self.params.sync_s:
                sides = tuple(self._synced(rung, sign, target, free, part) for sign in (1, -1))
                at_s = view.now_s
            elif before.rung is rung:
                kept[rung.market_id] = before
                continue
            else:
                sides = tuple(_less_fills(before.sides[at], rung, at, part) for at in range(2))
                at_s = before.at_s
            quotes = self._last.reuse(rung.market_id, _quotes(rung, sides))
            kept[rung.market_id] = _Synced(at_s, rung, sides, quotes)
        self._rungs = kept
        return {
            rung.market_id: kept[rung.market_id].quotes
            for rung in view.rungs
            if rung.market_id in kept
        }

    def _target(self, rung: RungView) -> float | None:
        return rung.fair_cents if self.params.target == "fair" else rung.microprice_cents

    def _synced(self, rung: RungView, sign: int, target: float, free: Free, part: int) -> Resting:
        """One side brought into its bands. sign: +1 bids, -1 asks. part: the divisor of sizes near
        the end, so resting sizes are multiplied by it."""
        side = _BID if sign > 0 else _ASK
        rests = [(int(each.price), int(each.qty)) for each in rung.own if each.side is side]
        own = [(at, qty * part) for at, qty in rests]
        held = max(0, (rung.no_qty if sign > 0 else rung.yes_qty) - sum(qty for _, qty in rests))
        bands = [
            (band, price)
            for band in self.params.bands
            if (price := band.price(target, sign)) is not None
        ]
        out: Resting = {}
        for number, (band, price) in enumerate(bands):
            inside = [each for each in own if band.holds(sign * (target - each[0]))]
            first, last = number == 0, number == len(bands) - 1
            cancelled = band.excess_of(inside, target, first=first, last=last)
            stays = {at: qty for at, qty in inside if (at, qty) not in cancelled}
            have = sum(stays.values())
            if have < band.min_qty:
                own_price = Price(price) if sign > 0 else complement(Price(price))
                rate = max(rung.maker_fee_rate, rung.taker_fee_rate)
                cost = reserve_cents(rate, Qty(1), own_price, FeeUnits(0))
                least = self.params.min_order_qty
                sold, bought = free.size(band.avg_qty - have, held, cost, least)
                held -= sold
                if sold + bought > 0:
                    stays[price] = stays.get(price, 0) + sold + bought
            out.update(stays)
        return out


class _Synced(NamedTuple):
    """A market: the time of its last check (seconds), its last view, its sizes by side and price,
    and their quotes."""

    at_s: float
    rung: RungView
    sides: tuple[Resting, ...]
    quotes: tuple[Quote, ...]


def _less_fills(resting: Resting, rung: RungView, side: int, part: int) -> Resting:
    """One side (0 bids, 1 asks) after the fills since the last view, which are not replaced before
    the next check. part: the divisor of sizes."""
    left = dict(resting)
    for fill in rung.fills:
        if fill.side is not (_BID, _ASK)[side] or not left:
            continue
        # A fill at a better price than any of ours is of the boldest order.
        boldest = max(left) if side == 0 else min(left)
        price = int(fill.price) if fill.price in left else boldest
        left[price] -= fill.qty * part
        if left[price] < part:
            del left[price]
    return left


def _quotes(rung: RungView, sides: Sequence[Mapping[int, int]]) -> tuple[Quote, ...]:
    """Both sides as quotes, best first, without those that would touch the book of others."""
    levels = []
    for side, resting in zip((_BID, _ASK), sides, strict=True):
        open_to = legal(side, rung.best_bid, rung.best_ask, gap=gap_of(rung.book_age_s))
        prices = sorted(resting, reverse=side is _BID)
        if open_to is None:
            prices = []
        else:
            prices = [price for price in prices if open_to[0] <= price <= open_to[1]]
        levels.append([(price, resting[price]) for price in prices])
    return quotes_of(*levels)


STRATEGY = Bands
