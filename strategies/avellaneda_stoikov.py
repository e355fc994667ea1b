"""Avellaneda and Stoikov's dealer, by the paper or as hummingbot runs it, on each market alone.

`hummingbot` differs from the original: it waits for full buffers only with `wait_for_buffers`;
until its own decay can be fitted it uses the learned one, and until the value has moved half the
market's spread, or the learned volatility. A quote is rounded outward and stays a tick off the
touch of others. A session, if there is one, ends with the event. A NO share counts as a short YES
share and a dollar. Levels at one price are one quote.
"""

import math
from typing import Any, Final, Literal

from pydantic import Field

from bot.strategy.api import EventView, Quote, Quotes, RungView, Strategy
from bot.strategy.pricing import avellaneda
from bot.strategy.pricing.cycle import Cycle, CycleRules, NewOrder, Wanted
from bot.strategy.pricing.price import LastQuotes, Source, gap_of, placed, value_of
from bot.strategy.pricing.samples import TickVolatility, TradeDistances
from bot.strategy.pricing.sizes import base_and_cash, cash_in_all
from venue.wire.money import BookSide, Price, Qty

_PERCENT: Final = 100.0
_PRIOR_DECAY: Final = 0.6


class AvellanedaStoikov(Strategy):
    """One bid and one ask a market, or levels of them, around a price that falls with inventory.

    A market without a value is not quoted; in mode hummingbot nothing is while the cash is unknown.
    """

    name = "avellaneda_stoikov"

    class Params(Strategy.Params):
        """The first block serves mode paper, the second mode hummingbot."""

        mode: Literal["paper", "hummingbot"] = Field("paper", description="whose rules to follow")
        around: Source = Field("fair", description="the price that quotes are centred on")
        order_amount_qty: int = Field(
            10,
            ge=1,
            le=100_000,
            description="shares of a quote; the unit of inventory in mode paper",
        )

        risk_aversion: float = Field(
            0.1, gt=0, le=100, description="paper: gamma, per cent and lot of inventory"
        )
        decay_per_cent: float = Field(
            0, ge=0, le=10, description="paper: k, per cent of distance; 0 is the learned one"
        )
        volatility_cents: float = Field(
            0, ge=0, le=100, description="paper: sigma, cents per root second; 0 is the learned one"
        )
        horizon_s: float = Field(
            3_600,
            gt=0,
            le=31_536_000,
            description="paper: T - t, seconds, or what the event has left; dates of the "
            "calendar in it add what they are worth",
        )

        risk_factor: float = Field(
            1, gt=0, le=1_000, description="gamma, a number: part of a tick's volatility to skew by"
        )
        order_amount_shape: float = Field(
            0, ge=0, le=100, description="eta: sizes that add to the excess shrink by exp(-eta q)"
        )
        min_spread_pct: float = Field(
            0, ge=0, le=200, description="percent of the value from bid to ask at least"
        )
        volatility_buffer_ticks: int = Field(
            200, ge=2, le=10_000, description="ticks of the value over which volatility is measured"
        )
        intensity_buffer_ticks: int = Field(
            200, ge=1, le=10_000, description="ticks with a trade that the decay is fitted to"
        )
        tick_s: float = Field(1, gt=0, le=3_600, description="seconds of one tick of the buffers")
        wait_for_buffers: bool = Field(
            False, description="quote nothing until both buffers are full, as hummingbot does"
        )
        session_s: float = Field(
            0,
            ge=0,
            le=31_536_000,
            description="seconds of a session that ends with the event; 0 none",
        )
        order_refresh_time_s: float = Field(
            30, gt=0, le=86_400, description="seconds until orders are replaced"
        )
        max_order_age_s: float = Field(
            1_800, gt=0, le=86_400, description="seconds after which an order is cancelled"
        )
        order_refresh_tolerance_pct: float = Field(
            0,
            ge=0,
            le=100,
            description="percent of the price that orders may be off and stay",
        )
        filled_order_delay_s: float = Field(
            60, ge=0, le=86_400, description="seconds without new orders after a whole fill"
        )
        inventory_target_base_pct: float = Field(
            50, ge=0, le=100, description="percent of YES value and cash that should be YES"
        )
        order_levels: int = Field(1, ge=1, le=10, description="orders a side")
        level_distances_pct: float = Field(
            0, ge=0, le=1_000, description="percent of half the spread between levels"
        )
        order_optimization: bool = Field(
            True, description="at most a tick better than the best order of others"
        )

    def __init__(self, params: Any) -> None:
        super().__init__(params)
        self._last = LastQuotes()
        self._rungs: dict[str, _Ticking] = {}
        self._rules = CycleRules(
            refresh_s=params.order_refresh_time_s,
            tolerance=params.order_refresh_tolerance_pct / _PERCENT,
            filled_delay_s=params.filled_order_delay_s,
            max_age_s=params.max_order_age_s,
            renews_aged=False,
            cancels_while_waiting=False,
        )

    def quote(self, view: EventView) -> Quotes:
        """The quotes of the chosen mode on every rung."""
        if self.params.mode == "hummingbot":
            return self._on_the_clock(view)
        left_s = view.variance_s(self.params.horizon_s)
        decay = self.params.decay_per_cent or _learned_decay(view)
        wanted: dict[Any, tuple[Quote, ...]] = {}
        for rung in view.rungs:
            value = value_of(rung, self.params.around)
            if value is not None:
                quotes = self._both_sides(rung, value, left_s, decay)
                wanted[rung.market_id] = self._last.reuse(rung.market_id, quotes)
        return wanted

    def _both_sides(
        self, rung: RungView, value: float, left_s: float, decay: float
    ) -> tuple[Quote, ...]:
        p = self.params
        volatility = p.volatility_cents or rung.volatility_cents
        lots = rung.net_qty / p.order_amount_qty
        middle = avellaneda.reservation_price(value, lots, p.risk_aversion, volatility, left_s)
        half = avellaneda.optimal_spread(p.risk_aversion, volatility, left_s, decay) / 2
        gap = gap_of(rung.book_age_s)
        quotes = []
        for side, price in ((BookSide.BID, middle - half), (BookSide.ASK, middle + half)):
            at = placed(side, price, rung, gap=gap)
            if at is not None:
                quotes.append(Quote(side, Price(at), Qty(p.order_amount_qty)))
        return tuple(quotes)

    def _on_the_clock(self, view: EventView) -> Quotes:
        p = self.params
        rungs: dict[str, _Ticking] = {}
        wanted: dict[Any, Wanted] = {}
        cash = cash_in_all(view)
        left = 1.0
        if p.session_s:
            left = min(1.0, max(0.0, view.seconds_to_resolution) / p.session_s)
        learned = _learned_decay(view)
        for rung in view.rungs:
            own = rungs[rung.market_id] = self._rungs.get(rung.market_id) or _Ticking(
                p, self._rules
            )
            own.cycle.book_fills(rung.fills, view.now_s, view.size_part)
            value = value_of(rung, p.around)
            if value is None or cash is None:
                wanted[rung.market_id] = own.cycle.drop_orders()
                continue
            own.sample(rung, value, view.now_s)
            proposal = None
            if own.cycle.may_create(view.now_s) and (own.is_full or not p.wait_for_buffers):
                proposal = self._proposal(rung, value, own, cash, left, learned)
            wanted[rung.market_id] = own.cycle.step(proposal, value, rung, view.now_s)
        self._rungs = rungs
        return wanted

    def _proposal(
        self,
        rung: RungView,
        value: float,
        own: "_Ticking",
        cash: int,
        left: float,
        learned: float,
    ) -> list[NewOrder] | None:
        """The orders to place now, or None if the rule has no answer."""
        p = self.params
        base, quote = base_and_cash(rung, cash)
        excess = avellaneda.excess_fraction(
            base, quote, value, p.inventory_target_base_pct / _PERCENT
        )
        volatility = own.volatility.cents_per_tick() or _volatility_before_any_move(rung, p.tick_s)
        if excess is None or volatility <= 0:
            return None
        fit = own.trades.fit()
        decay = learned if fit is None else fit.decay
        middle = avellaneda.tick_reservation_price(value, excess, p.risk_factor, volatility, left)
        spread = avellaneda.tick_spread(p.risk_factor, volatility, left, decay)
        least = value * p.min_spread_pct / _PERCENT
        step = spread / 2 * p.level_distances_pct / _PERCENT
        first = {
            BookSide.BID: min(middle - spread / 2, value - least / 2),
            BookSide.ASK: max(middle + spread / 2, value + least / 2),
        }
        if first[BookSide.BID] <= 0:
            return None
        orders: list[NewOrder] = []
        for side, sign in ((BookSide.BID, 1), (BookSide.ASK, -1)):
            adds = sign * excess > 0
            shrunk = math.exp(-p.order_amount_shape * abs(excess)) if adds else 1.0
            qty = int(p.order_amount_qty * shrunk)
            for level in range(p.order_levels):
                price = first[side] - sign * step * level
                if p.order_optimization:
                    price = _optimized(side, price, rung)
                at = placed(side, price, rung)
                if at is not None and qty > 0:
                    orders.append(NewOrder(side, at, qty))
        return orders


class _Ticking:
    """One market in mode hummingbot: two buffers and the cycle of its orders."""

    def __init__(self, params: Any, rules: CycleRules) -> None:
        self.cycle = Cycle(rules)
        self.volatility = TickVolatility(params.volatility_buffer_ticks, params.tick_s)
        self.trades = TradeDistances(params.intensity_buffer_ticks)
        self._value: float | None = None

    @property
    def is_full(self) -> bool:
        return self.volatility.has_enough and self.trades.has_enough

    def sample(self, rung: RungView, value: float, now_s: float) -> None:
        self.volatility.add_price(value, now_s)
        if self._value is not None and rung.prints:
            self.trades.add_prints(rung.prints, self._value)
        self._value = value


def _learned_decay(view: EventView) -> float:
    return _PRIOR_DECAY if view.intensity is None else view.intensity.decay_per_cent


def _volatility_before_any_move(rung: RungView, tick_s: float) -> float:
    """Cents per tick while the value has not moved: hummingbot's half spread of the market, else
    the learned volatility."""
    if rung.bids and rung.asks:
        return (rung.asks[0][0] - rung.bids[0][0]) / 2
    return rung.volatility_cents * math.sqrt(tick_s)


def _optimized(side: BookSide, price: float, rung: RungView) -> float:
    """A price moved back to a tick better than the best order of others, if there is one."""
    if side is BookSide.BID:
        return price if rung.best_bid is None else min(price, rung.best_bid + 1)
    return price if rung.best_ask is None else max(price, rung.best_ask - 1)


STRATEGY = AvellanedaStoikov
