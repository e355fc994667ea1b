"""Depth of a concentrated-liquidity pool around the fair value, as resting orders.

The size of a level is the amount that moves the pool's price to the next level; the cash is split
so that the first levels of both sides are equally deep.

Source: Polymarket/poly-market-maker.
"""

import math
from typing import Any, Self

import pydantic
from pydantic import Field

from bot.strategy.api import EventView, Quote, Quotes, RungView, Strategy
from bot.strategy.pricing.price import LastQuotes, gap_of, legal, quotes_of
from bot.strategy.pricing.sizes import cash_in_all
from venue.wire.money import PAYOUT_CENTS, BookSide, Price, complement

_BID = BookSide.BID
_ASK = BookSide.ASK

_GRID = 8
"""Steps a cent to which the value is rounded, so that sizes do not flicker with it."""

_BUDGET_STEP = 0.1
"""The budget changes once it is off by this part of itself."""


def buy_depth(cash_cents: float, price: float, low: float, at: float) -> float:
    """Shares that a pool has bought by the time its price has fallen from `price` to `at`.

    The pool spends `cash_cents` on the way to `low`; low < price, low <= at <= price, all cents.
    """
    liquidity = cash_cents / (math.sqrt(price) - math.sqrt(low))
    return liquidity * (1 / math.sqrt(at) - 1 / math.sqrt(price))


def sell_depth(shares: float, price: float, high: float, at: float) -> float:
    """Shares that a pool has sold by the time its price has risen from `price` to `at`.

    The pool sells `shares` on the way to `high`; price < high, price <= at <= high, all cents.
    """
    liquidity = shares / (1 / math.sqrt(price) - 1 / math.sqrt(high))
    return liquidity * (1 / math.sqrt(price) - 1 / math.sqrt(at))


def split_cash(
    cash_cents: float, sold: tuple[float, float], bought_per_cent: tuple[float, float]
) -> tuple[float, float]:
    """The cash of the YES and of the NO pool, so that the first levels of both sides are equally
    deep (YES bought and NO sold = YES sold and NO bought), as nearly as the cash allows.

    sold: shares of YES and NO that the first level sells. bought_per_cent: shares of YES and NO
    that the first level buys per cent of cash in its pool; 0 for a pool that cannot buy.
    """
    total = sum(bought_per_cent)
    if total <= 0:
        return 0.0, 0.0
    yes = (sold[0] - sold[1] + cash_cents * bought_per_cent[1]) / total
    yes = min(max(yes, 0.0), cash_cents)
    if bought_per_cent[0] <= 0:
        yes = 0.0
    elif bought_per_cent[1] <= 0:
        yes = cash_cents
    return yes, cash_cents - yes


class Amm(Strategy):
    """Always-on depth around the fair value of every market."""

    name = "amm"

    class Params(Strategy.Params):
        """Prices in cents, money in cents."""

        p_min_cents: int = Field(5, ge=1, le=98, description="no price of either outcome below it")
        p_max_cents: int = Field(95, ge=2, le=99, description="no price of either outcome above it")
        spread_cents: int = Field(1, ge=1, le=49, description="from the value to the first level")
        delta_cents: int = Field(1, ge=1, le=49, description="from one level to the next")
        depth_cents: int = Field(10, ge=2, le=98, description="from the value to the last level")
        max_collateral_cents: int = Field(
            20_000, ge=1, le=1_000_000_000, description="cash of one market, both pools"
        )

        @pydantic.model_validator(mode="after")
        def _sound(self) -> Self:
            if self.spread_cents >= self.depth_cents:
                raise ValueError("depth_cents must be above spread_cents")
            if self.p_min_cents >= self.p_max_cents:
                raise ValueError("p_max_cents must be above p_min_cents")
            return self

    def __init__(self, params: Any) -> None:
        super().__init__(params)
        self._budget = float(params.max_collateral_cents)
        # The newest cash, the same with the reserves of our orders then, and the inventory then.
        self._cash_cents: int | None = None
        self._total_cents = 0
        self._held: tuple[tuple[int, int], ...] = ()
        self._last = LastQuotes()

    def quote(self, view: EventView) -> Quotes:
        """The levels of every market with a fair value, in whole shares, none touching the book."""
        self._refresh_budget(view)
        return {
            rung.market_id: self._rung(rung, rung.fair_cents)
            for rung in view.rungs
            if rung.fair_cents is not None
        }

    def _refresh_budget(self, view: EventView) -> None:
        """The cash of one market: the most allowed, or an even share for each that is quoted."""
        most = float(self.params.max_collateral_cents)
        if view.cash_cents is None:
            self._budget = most
            return
        in_all = cash_in_all(view) or 0
        held = tuple((int(rung.yes_qty), int(rung.no_qty)) for rung in view.rungs)
        if view.cash_cents != self._cash_cents:
            # The reserve of our own orders is ours too. Orders sent since are still in the cash.
            self._cash_cents, self._total_cents = view.cash_cents, in_all
        elif held != self._held:
            # A fill spends what its order had reserved, and leaves the free cash unchanged.
            self._total_cents = min(self._total_cents, in_all)
        self._held = held
        quoted = sum(rung.fair_cents is not None for rung in view.rungs)
        budget = min(most, max(0.0, self._total_cents / max(1, quoted)))
        if abs(budget - self._budget) > _BUDGET_STEP * self._budget or budget == most:
            self._budget = budget

    def _rung(self, rung: RungView, fair: float) -> tuple[Quote, ...]:
        gap = gap_of(rung.book_age_s)
        value = round(fair * _GRID) / _GRID
        bids, asks = self.levels(value, int(rung.yes_qty), int(rung.no_qty), self._budget)
        quotes = quotes_of(
            _inside(bids, legal(_BID, rung.best_bid, rung.best_ask, gap=gap)),
            _inside(asks, legal(_ASK, rung.best_bid, rung.best_ask, gap=gap)),
        )
        return self._last.reuse(rung.market_id, quotes)

    def levels(
        self, value: float, yes_qty: int, no_qty: int, cash_cents: float
    ) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
        """(price, shares) of the bids and of the asks, best first, canonical YES.

        value: of YES, cents. cash_cents: for the buys of both outcomes.
        """
        yes, no = _Pool(value, self.params), _Pool(PAYOUT_CENTS - value, self.params)
        cash_yes, cash_no = split_cash(
            cash_cents,
            (yes.sold(yes_qty, yes.sells[:1])[0], no.sold(no_qty, no.sells[:1])[0]),
            (yes.bought(1.0, yes.buys[:1])[0], no.bought(1.0, no.buys[:1])[0]),
        )
        bids = _sizes(
            yes.buys,
            yes.bought(cash_yes, yes.buys),
            [int(complement(Price(price))) for price in no.sells],
            no.sold(no_qty, no.sells),
        )
        asks = _sizes(
            yes.sells,
            yes.sold(yes_qty, yes.sells),
            [int(complement(Price(price))) for price in no.buys],
            no.bought(cash_no, no.buys),
        )
        return sorted(bids.items(), reverse=True), sorted(asks.items())


_Range = tuple[int, int] | None


class _Pool:
    """The pool of one outcome around its value. buys, sells: its prices, best first."""

    def __init__(self, value: float, params: Amm.Params) -> None:
        self._value = value
        self._low = max(value - params.depth_cents, float(params.p_min_cents))
        self._high = min(value + params.depth_cents, float(params.p_max_cents))
        step = params.delta_cents
        first_buy = math.floor(value - params.spread_cents)
        first_sell = math.ceil(value + params.spread_cents)
        # Outside its range a pool only buys or only sells, at prices inside it.
        lowest, highest = math.ceil(self._low), math.floor(self._high)
        most, least = params.p_max_cents, params.p_min_cents
        self.buys = [price for price in range(first_buy, lowest - 1, -step) if price <= most]
        self.sells = [price for price in range(first_sell, highest + 1, step) if price >= least]

    def bought(self, cash_cents: float, prices: list[int]) -> list[float]:
        """Shares bought at each of the falling prices; [0] without any price."""
        ends = [buy_depth(cash_cents, self._value, self._low, price) for price in prices]
        return _differences(ends)

    def sold(self, shares: float, prices: list[int]) -> list[float]:
        """Shares sold at each of the rising prices; [0] without any price."""
        ends = [sell_depth(shares, self._value, self._high, price) for price in prices]
        return _differences(ends)


def _differences(ends: list[float]) -> list[float]:
    return [end - start for start, end in zip([0.0, *ends], ends, strict=False)] or [0.0]


def _sizes(
    prices: list[int], sizes: list[float], others: list[int], other_sizes: list[float]
) -> dict[int, int]:
    """Whole shares by price of two pools on one side, without empty levels."""
    both: dict[int, float] = {}
    for price, size in (*zip(prices, sizes, strict=False), *zip(others, other_sizes, strict=False)):
        both[price] = both.get(price, 0.0) + size
    return {price: math.floor(size) for price, size in both.items() if size >= 1}


def _inside(levels: list[tuple[int, int]], allowed: _Range) -> list[tuple[int, int]]:
    if allowed is None:
        return []
    return [(price, size) for price, size in levels if allowed[0] <= price <= allowed[1]]


STRATEGY = Amm
