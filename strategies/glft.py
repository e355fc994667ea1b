"""GLFT: Gueant, Lehalle and Fernandez-Tapia's closed form, on each market alone.

A and k are fitted to the market's own trades, as in hftbacktest. Until there are enough arrivals
the event's pooled intensity is used, and before that the two prior parameters. Differs from
hftbacktest's notebook: the value is the fitted curve instead of the mid, unless `around` names
another; arrivals are counted per side; one quote a side without a grid, rounded outward.
"""

from typing import Any

from pydantic import Field

from bot.strategy.api import EventView, Quote, Quotes, RungView, Strategy
from bot.strategy.pricing import glft
from bot.strategy.pricing.price import LastQuotes, Source, gap_of, placed, value_of
from bot.strategy.pricing.samples import Arrivals, Fit
from venue.wire.money import BookSide, Price, Qty


class Glft(Strategy):
    """One bid and one ask a market, at the distances of the closed form for its inventory.

    A market without a value is not quoted. The side that adds to the inventory stops at
    `max_position_lots`.
    """

    name = "glft"

    class Params(Strategy.Params):
        """Aversion, the sizes, and how arrivals are measured."""

        risk_aversion: float = Field(
            0.05, ge=0, le=10, description="gamma, per cent and share: the price of inventory risk"
        )
        execution_risk: float = Field(
            0.0,
            ge=0,
            le=10,
            description="xi, per cent and share: gamma for the exact utility, 0 for its limit",
        )
        lot_qty: int = Field(
            10, ge=1, le=100_000, description="shares of a quote; delta of the formulas"
        )
        max_position_lots: float = Field(
            20, gt=0, le=10_000, description="lots of a rung, long or short, at which adding stops"
        )
        fit_window_s: float = Field(
            600, ge=60, le=86_400, description="seconds of trades that A and k are fitted to"
        )
        refit_s: float = Field(5, gt=0, le=3_600, description="seconds between two fits")
        fit_ticks: int = Field(
            70, ge=3, le=98, description="cents from the value within which arrivals are counted"
        )
        fit_arrivals_min: int = Field(
            20, ge=3, le=10_000, description="arrivals below which the prior serves"
        )
        prior_amplitude_per_s: float = Field(
            0.02, gt=0, le=1_000, description="A before anything is known: fills a second and side"
        )
        prior_decay_per_cent: float = Field(
            0.6, ge=0.1, le=3, description="k before anything is known, per cent of distance"
        )
        around: Source = Field("fair", description="the price that is quoted around")

    def __init__(self, params: Any) -> None:
        super().__init__(params)
        self._rungs: dict[str, _Measured] = {}
        self._last = LastQuotes()

    def quote(self, view: EventView) -> Quotes:
        """Both sides of every market that has a value, if a legal price and room are left."""
        prior = Fit(self.params.prior_amplitude_per_s, self.params.prior_decay_per_cent)
        if view.intensity is not None and view.intensity.prints:
            prior = Fit(view.intensity.amplitude_per_s, view.intensity.decay_per_cent)
        wanted = {}
        measured: dict[str, _Measured] = {}
        for rung in view.rungs:
            own = measured[rung.market_id] = self._rungs.get(rung.market_id) or _Measured(
                self.params
            )
            value = value_of(rung, self.params.around)
            if value is None:
                continue
            fit = own.fit(rung, value, view.now_s) or prior
            volatility = max(own.arrivals.volatility(), rung.volatility_cents)
            quotes = self._both_sides(rung, value, fit, volatility)
            wanted[rung.market_id] = self._last.reuse(rung.market_id, quotes)
        self._rungs = measured
        return wanted

    def _both_sides(
        self, rung: RungView, value: float, fit: Fit, volatility: float
    ) -> tuple[Quote, ...]:
        lot = self.params.lot_qty
        terms = glft.coefficients(
            self.params.risk_aversion, fit.amplitude, fit.decay, lot, self.params.execution_risk
        )
        held = rung.net_qty
        room = round(self.params.max_position_lots * lot)
        gap = gap_of(rung.book_age_s)
        quotes = []
        for side, price, left in (
            (BookSide.BID, value - glft.bid_distance(terms, volatility, lot, held), room - held),
            (BookSide.ASK, value + glft.ask_distance(terms, volatility, lot, held), room + held),
        ):
            at = placed(side, price, rung, gap=gap)
            qty = min(lot, left)
            if at is not None and qty > 0:
                quotes.append(Quote(side, Price(at), Qty(qty)))
        return tuple(quotes)


class _Measured:
    """One market: its arrivals, and the last credible fit."""

    def __init__(self, params: Any) -> None:
        self.arrivals = Arrivals(params.fit_window_s, params.fit_ticks)
        self._refit_s: float = params.refit_s
        self._arrivals_min: int = params.fit_arrivals_min
        self._fit: Fit | None = None
        self._fitted_s: float | None = None

    def fit(self, rung: RungView, value: float, now_s: float) -> Fit | None:
        """Sample a view of the market; A and k, or None while they cannot be fitted."""
        self.arrivals.add_view(value, rung.prints, now_s)
        if self._fitted_s is None or now_s - self._fitted_s >= self._refit_s:
            self._fitted_s = now_s
            self._fit = self.arrivals.fit(self._arrivals_min) or self._fit
        return self._fit


STRATEGY = Glft
