"""Pure market making as hummingbot does it: fixed spreads, placed together, replaced on a clock.

Differs from hummingbot: a quote is rounded outward, and stays a tick off the touch of others
instead of being dropped if it would cross. A NO share counts as a short YES share and a dollar.
There is no budget step. An unfilled order at its maximum age keeps its queue place.
"""

from typing import Any

from pydantic import Field

from bot.strategy.api import EventView, Levels, Quotes, RungView, Strategy
from bot.strategy.pricing.cycle import Cycle, CycleRules, NewOrder, Wanted
from bot.strategy.pricing.price import Source, inside, outward, placed, value_of
from bot.strategy.pricing.sizes import base_and_cash, cash_in_all
from venue.wire.money import PRICE_MAX, PRICE_MIN, BookSide

_PERCENT = 100.0


class PureMM(Strategy):
    """Levels of bids and asks at fixed percentages of the value, refreshed by the clock."""

    name = "pure_mm"

    class Params(Strategy.Params):
        """Hummingbot's names with a unit added. Percentages are of the value; -1 is off."""

        bid_spread_pct: float = Field(
            gt=0, le=100, description="percent of the value from it to the first bid"
        )
        ask_spread_pct: float = Field(
            gt=0, le=100, description="percent of the value from it to the first ask"
        )
        order_refresh_time_s: float = Field(
            gt=0, le=86_400, description="seconds until orders are replaced"
        )
        order_amount_qty: int = Field(ge=1, le=100_000, description="shares of the first level")
        minimum_spread_pct: float = Field(
            -100, ge=-100, le=100, description="percent: an order nearer to the value is cancelled"
        )
        max_order_age_s: float = Field(
            1_800, gt=0, le=86_400, description="seconds after which an order is renewed in full"
        )
        order_refresh_tolerance_pct: float = Field(
            0,
            ge=-1,
            le=100,
            description="percent of the price that orders may be off and stay; -1 never",
        )
        order_levels: int = Field(1, ge=1, le=10, description="orders a side")
        order_level_amount_qty: int = Field(
            0, ge=0, le=100_000, description="shares more on each further level"
        )
        order_level_spread_pct: float = Field(
            1, ge=0, le=100, description="percent of the value between levels"
        )
        inventory_skew: bool = Field(False, description="scale sizes toward the target")
        inventory_target_base_pct: float = Field(
            50, ge=0, le=100, description="percent of YES value and cash that should be YES"
        )
        inventory_range_multiplier: float = Field(
            1, gt=0, le=1_000, description="range around the target, in total order sizes"
        )
        ping_pong: bool = Field(False, description="after a fill wait for one on the other side")
        hanging_orders: bool = Field(False, description="keep the other side after a fill")
        hanging_orders_cancel_pct: float = Field(
            10, gt=0, le=100, description="percent off the value at which kept orders are cancelled"
        )
        filled_order_delay_s: float = Field(
            60, ge=0, le=86_400, description="seconds without new orders after a whole fill"
        )
        price_ceiling_cents: float = Field(
            -1, ge=-1, le=99, description="cents: no bids while the value is at or above it"
        )
        price_floor_cents: float = Field(
            -1, ge=-1, le=99, description="cents: no asks while the value is at or below it"
        )
        order_optimization: bool = Field(
            False, description="at most a tick better than the best order of others"
        )
        order_optimization_depth_qty: int = Field(
            0, ge=0, le=100_000, description="shares of others skipped to find that best order"
        )
        take_if_crossed: bool = Field(False, description="trade at once if a quote would cross")
        around: Source = Field("fair", description="the price that quotes are centred on")

    def __init__(self, params: Any) -> None:
        super().__init__(params)
        self._cycles: dict[str, Cycle] = {}
        self._rules = CycleRules(
            refresh_s=params.order_refresh_time_s,
            tolerance=params.order_refresh_tolerance_pct / _PERCENT,
            filled_delay_s=params.filled_order_delay_s,
            max_age_s=params.max_order_age_s,
            renews_aged=True,
            cancels_while_waiting=True,
            hanging_away=(
                params.hanging_orders_cancel_pct / _PERCENT if params.hanging_orders else None
            ),
            min_spread=params.minimum_spread_pct / _PERCENT,
            takes=params.take_if_crossed,
        )

    def quote(self, view: EventView) -> Quotes:
        """The orders of every market; new ones if the clock allows them."""
        cycles: dict[str, Cycle] = {}
        wanted: dict[Any, Wanted] = {}
        cash = cash_in_all(view) if self.params.inventory_skew else None
        for rung in view.rungs:
            cycle = cycles[rung.market_id] = self._cycles.get(rung.market_id) or Cycle(self._rules)
            cycle.book_fills(rung.fills, view.now_s, view.size_part)
            value = value_of(rung, self.params.around)
            if value is None:
                wanted[rung.market_id] = cycle.drop_orders()
                continue
            proposal = None
            if cycle.may_create(view.now_s):
                proposal = self._proposal(rung, value, cycle, cash)
            wanted[rung.market_id] = cycle.step(proposal, value, rung, view.now_s)
        self._cycles = cycles
        return wanted

    def _proposal(
        self, rung: RungView, value: float, cycle: Cycle, cash: int | None
    ) -> list[NewOrder]:
        """The orders to place now: levels, price bounds, ping-pong, optimization, skew."""
        bids, asks = self._levels(value, 1), self._levels(value, -1)
        ceiling, floor = self.params.price_ceiling_cents, self.params.price_floor_cents
        if 0 < ceiling <= value:
            bids = []
        if floor > 0 and value <= floor:
            asks = []
        if self.params.ping_pong:
            bids = bids[cycle.filled_whole(BookSide.BID) :]
            asks = asks[cycle.filled_whole(BookSide.ASK) :]
        if self.params.order_optimization:
            bids = self._optimized(bids, rung.bids, 1)
            asks = self._optimized(asks, rung.asks, -1)
        bid_ratio, ask_ratio = self._ratios(rung, value, cash)
        return [
            *self._orders(BookSide.BID, bids, bid_ratio, rung),
            *self._orders(BookSide.ASK, asks, ask_ratio, rung),
        ]

    def _levels(self, value: float, sign: int) -> list[tuple[float, int]]:
        """(real price, shares) of one side, first level first. sign: +1 bids, -1 asks."""
        p = self.params
        spread = p.bid_spread_pct if sign > 0 else p.ask_spread_pct
        return [
            (
                value * (1 - sign * (spread + level * p.order_level_spread_pct) / _PERCENT),
                p.order_amount_qty + level * p.order_level_amount_qty,
            )
            for level in range(p.order_levels)
        ]

    def _optimized(
        self, levels: list[tuple[float, int]], others: Levels, sign: int
    ) -> list[tuple[float, int]]:
        """The first level moved back to a tick better than the best order of others, the further
        ones spread from there. Unchanged if nobody else quotes the side."""
        best = _price_at_depth(others, self.params.order_optimization_depth_qty)
        if best is None or not levels:
            return levels
        better = best + sign
        first = min(levels[0][0], better) if sign > 0 else max(levels[0][0], better)
        step = self.params.order_level_spread_pct / _PERCENT
        return [(first * (1 - sign * step * level), qty) for level, (_, qty) in enumerate(levels)]

    def _ratios(self, rung: RungView, value: float, cash: int | None) -> tuple[float, float]:
        """The scale of bid and ask sizes: 1 without the skew, 0 while the cash is unknown, because
        the side of the target is unknown then."""
        p = self.params
        if not p.inventory_skew:
            return (1.0, 1.0)
        if cash is None:
            return (0.0, 0.0)
        base, quote = base_and_cash(rung, cash)
        total = total_order_size(p.order_amount_qty, p.order_level_amount_qty, p.order_levels)
        return inventory_skew_ratios(
            base,
            quote,
            value,
            p.inventory_target_base_pct / _PERCENT,
            total * p.inventory_range_multiplier,
        )

    def _orders(
        self, side: BookSide, levels: list[tuple[float, int]], ratio: float, rung: RungView
    ) -> list[NewOrder]:
        orders: list[NewOrder] = []
        for price, qty in levels:
            scaled = int(qty * ratio)
            at = self._whole(side, price, rung)
            if scaled > 0 and at is not None:
                orders.append(NewOrder(side, at, scaled))
        return orders

    def _whole(self, side: BookSide, price: float, rung: RungView) -> int | None:
        if not self.params.take_if_crossed:
            return placed(side, price, rung)
        whole = outward(side, price)
        if side is BookSide.BID:
            return None if whole < PRICE_MIN else inside(whole, PRICE_MIN, PRICE_MAX - 1)
        return None if whole > PRICE_MAX else inside(whole, PRICE_MIN + 1, PRICE_MAX)


def _price_at_depth(levels: Levels, depth_qty: int) -> int | None:
    """The price of the level at which cumulated shares exceed `depth_qty`, or of the last one; None
    without any."""
    seen = 0
    for price, qty in levels:
        seen += qty
        if seen > depth_qty:
            return price
    return levels[-1][0] if levels else None


def total_order_size(first_qty: float, step_qty: float, levels: int) -> float:
    """Shares of all levels of both sides together."""
    return 2 * (levels * first_qty + levels * (levels - 1) / 2 * step_qty)


def inventory_skew_ratios(
    base: float, cash: float, price: float, target: float, base_range: float
) -> tuple[float, float]:
    """The scale of bid and ask sizes that returns the base to its target: 0..2, together 2.

    base: shares. cash: in the unit of price times a share. price: above 0. target: the part of
    the whole value that should be base, 0..1. base_range: shares either side of the target at
    which one side stops, at most half of the whole, and never below zero shares. Both are 0 if the
    whole or the range is not above 0.
    """
    whole = base * price + cash
    if whole <= 0 or base_range <= 0:
        return (0.0, 0.0)
    excess = base * price - target * whole
    reach = min(base_range * price, whole / 2)
    if excess < 0:
        reach = min(reach, target * whole)
    bid = 1 - max(-1.0, min(1.0, excess / reach)) if reach > 0 else 2.0
    return (bid, 2 - bid)


STRATEGY = PureMM
