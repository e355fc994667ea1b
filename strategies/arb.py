"""Arbitrage on a ladder: sell a higher strike whose bid is above a lower strike's ask, buy the
lower.

One pair at a time: first the leg with the thinner touch, all or nothing; after its fill the other
leg for as many shares, with a tick of slack. If that leg misses, its inventory is left to the skew.
"""

from collections.abc import Sequence
from typing import Any

import msgspec
from pydantic import Field

from bot.strategy.api import EventView, Quotes, RungView, Strategy, Take
from bot.strategy.pricing.arbitrage import arbitrages
from bot.strategy.pricing.costs import capital
from bot.strategy.pricing.price import inside
from venue.wire.money import (
    PRICE_MAX,
    PRICE_MIN,
    TICK_CENTS,
    BookSide,
    FeeUnits,
    Price,
    Qty,
    complement,
    fee_cents,
    reserve_cents,
)

_BID = BookSide.BID
_ASK = BookSide.ASK
_SECONDS_A_DAY = 86_400


class Pair(msgspec.Struct, frozen=True):
    """An arbitrage: `low` can be bought at `ask`, `high` sold at `bid` above it.

    qty: shares at both touches, at most. profit_cents: the least gain over all outcomes after both
    fees. locked_cents: the cash that both legs may lock.
    """

    low: RungView
    high: RungView
    ask: Price
    bid: Price
    qty: Qty
    profit_cents: int
    locked_cents: int


def contradicts(rungs: Sequence[RungView]) -> bool:
    """True if no survival curve fits between the bids and the asks of a ladder, lowest first."""
    return bool(arbitrages([rung.best_bid for rung in rungs], [rung.best_ask for rung in rungs]))


def pair_of(
    low: RungView,
    high: RungView,
    most_qty: int,
    cash_cents: int | None,
    slack_ticks: int = 0,
) -> Pair | None:
    """The pair of two rungs, the lower strike first; None without an arbitrage.

    most_qty: shares at most. cash_cents: for both legs, None for no limit. slack_ticks: how much
    worse the second leg may be.
    """
    if not low.asks or not high.bids or high.bids[0][0] <= low.asks[0][0]:
        return None
    (ask, ask_qty), (bid, bid_qty) = low.asks[0], high.bids[0]
    qty = min(ask_qty, bid_qty, most_qty)
    # The cash that the venue locks (S17), for the second leg at its price with the slack.
    buys, sells = ask, bid
    if _buys_first(ask_qty, bid_qty):
        sells = _slackened(_ASK, bid, slack_ticks)
    else:
        buys = _slackened(_BID, ask, slack_ticks)
    each_cents = _share_cents(low, buys) + _share_cents(high, complement(sells))
    if cash_cents is not None:
        qty = min(qty, max(0, cash_cents) // each_cents)
    if qty < 1:
        return None
    size = Qty(qty)
    fees = fee_cents(low.taker_fee_rate, size, ask) + fee_cents(high.taker_fee_rate, size, bid)
    return Pair(low, high, ask, bid, size, qty * (bid - ask) - fees, qty * each_cents)


def _share_cents(rung: RungView, price: Price) -> int:
    """The cash that the venue locks for one share bought at `price` of its own outcome."""
    rate = max(rung.maker_fee_rate, rung.taker_fee_rate)
    return reserve_cents(rate, Qty(1), price, FeeUnits(0))


def _buys_first(ask_qty: int, bid_qty: int) -> bool:
    """True if the purchase is the first leg: the one with the thinner touch."""
    return ask_qty <= bid_qty


def _slackened(side: BookSide, price: Price, slack_ticks: int) -> Price:
    """The worst price of a second leg."""
    slack = slack_ticks * TICK_CENTS
    return Price(inside(price + (slack if side is _BID else -slack), PRICE_MIN, PRICE_MAX))


class Arb(Strategy):
    """Takes arbitrage pairs; rests nothing."""

    name = "arb"

    class Params(Strategy.Params):
        """Money in cents, sizes in shares, times in seconds."""

        min_profit_cents: float = Field(
            1.0, ge=0, le=50, description="cents a share, after fees, that a missed leg would cost"
        )
        leg_risk: float = Field(
            0.5,
            ge=0,
            le=1,
            description="chance of a missed leg: the profit must exceed the product of both",
        )
        max_legs: int = Field(
            2, ge=2, le=2, description="legs of one trade; pairs find every arbitrage"
        )
        size_cap_qty: int = Field(50, ge=1, le=100_000, description="shares of one pair, at most")
        slack_ticks: int = Field(
            1, ge=0, le=10, description="ticks by which the second leg may be worse"
        )
        kappa_cents: float = Field(
            0.002, ge=0, le=1, description="cents that a locked dollar costs a day"
        )
        book_age_s: float = Field(
            2.0, ge=0, le=60, description="seconds since a book was confirmed, at most"
        )
        wait_s: float = Field(
            10.0, gt=0, le=600, description="seconds to wait for the fills of a leg"
        )
        pause_s: float = Field(
            1.0, ge=0, le=600, description="seconds between a whole pair and the next one"
        )

    def __init__(self, params: Any) -> None:
        super().__init__(params)
        self._trade: _Trade | None = None
        self._idle_until_s = 0.0
        # The newest cash, and what pairs have locked of it since.
        self._cash_cents: int | None = None
        self._spent_cents = 0

    def quote(self, view: EventView) -> Quotes:
        """A leg to trade now, or nothing."""
        if self._trade is not None:
            take = self._second_leg(self._trade, view)
            return {} if take is None else {self._trade.second.rung.market_id: (take,)}
        if view.now_s < self._idle_until_s:
            return {}
        pair = self._best(view)
        if pair is None:
            return {}
        buy = _Leg(pair.low, _BID, pair.ask, pair.low.asks[0][1])
        sell = _Leg(pair.high, _ASK, pair.bid, pair.high.bids[0][1])
        buys_first = _buys_first(buy.touch_qty, sell.touch_qty)
        first, second = (buy, sell) if buys_first else (sell, buy)
        self._trade = _Trade(first, second, pair.qty, view.now_s, pair.locked_cents)
        self._spent_cents += pair.locked_cents
        return {first.rung.market_id: (Take(first.side, first.price, pair.qty, whole=True),)}

    def _best(self, view: EventView) -> Pair | None:
        """The pair with the highest profit of those that pay; the first of equal ones."""
        rungs = [
            rung
            for rung in view.rungs
            if rung.quotable and rung.book_age_s <= self.params.book_age_s
        ]
        if not view.is_ladder or not contradicts(rungs):
            return None
        cash_cents = self._free_cents(view)
        best: Pair | None = None
        for number, high in enumerate(rungs):
            for low in rungs[:number]:
                pair = pair_of(
                    low,
                    high,
                    self.params.size_cap_qty,
                    cash_cents,
                    self.params.slack_ticks,
                )
                if pair is None or not self.pays(pair, view.seconds_to_resolution):
                    continue
                if best is None or pair.profit_cents > best.profit_cents:
                    best = pair
        return best

    def _free_cents(self, view: EventView) -> int | None:
        """The free cash: the newest, less what pairs have locked since."""
        if view.cash_cents != self._cash_cents:
            self._cash_cents, self._spent_cents = view.cash_cents, 0
        return None if view.cash_cents is None else view.cash_cents - self._spent_cents

    def pays(self, pair: Pair, seconds_to_resolution: float) -> bool:
        """True if a pair earns more than the risk of a missed leg and than its locked cash
        costs."""
        params = self.params
        risk: float = params.min_profit_cents * pair.qty * params.leg_risk
        dollar = params.kappa_cents * seconds_to_resolution / _SECONDS_A_DAY
        # Inventory is sold first, and ties up nothing.
        low = capital(pair.ask, pair.qty, pair.low.no_qty, dollar)
        high = capital(complement(pair.bid), pair.qty, pair.high.yes_qty, dollar)
        tied_up = pair.qty * (low + high)
        return pair.profit_cents > max(risk, tied_up)

    def _second_leg(self, trade: "_Trade", view: EventView) -> Take | None:
        """Continue a pair: the other leg for the fills of the first one, or its end."""
        first = _filled_qty(trade.first, view)
        second = _filled_qty(trade.second, view)
        trade.first_qty += first
        trade.second_qty += second
        if first or second:
            trade.at_s = view.now_s
        missing = trade.first_qty - trade.wanted_qty
        if missing > 0 and _is_quotable(trade.second, view):
            trade.wanted_qty += missing
            leg = trade.second
            price = _slackened(leg.side, leg.price, self.params.slack_ticks)
            # Near the end of the event the trader divides sizes.
            return Take(leg.side, price, Qty(missing * view.size_part))
        if min(trade.first_qty, trade.second_qty) >= trade.qty:
            self._trade = None
            self._idle_until_s = view.now_s + self.params.pause_s
        elif view.now_s - trade.at_s >= self.params.wait_s:
            # A later fill is inventory like any other: no leg follows it.
            self._trade = None
            if not trade.first_qty:
                self._spent_cents = max(0, self._spent_cents - trade.locked_cents)
        return None


class _Leg(msgspec.Struct, frozen=True):
    """One leg, with the shares at its touch."""

    rung: RungView
    side: BookSide
    price: Price
    touch_qty: Qty


class _Trade(msgspec.Struct):
    """A pair in flight: shares filled of both legs and wanted of the second. at_s: of the newest
    request or fill."""

    first: _Leg
    second: _Leg
    qty: Qty
    at_s: float
    locked_cents: int
    first_qty: int = 0
    second_qty: int = 0
    wanted_qty: int = 0


def _is_quotable(leg: _Leg, view: EventView) -> bool:
    """True if a take in a leg's market would leave now; else the trader drops it."""
    return any(rung.quotable for rung in view.rungs if rung.market_id == leg.rung.market_id)


def _filled_qty(leg: _Leg, view: EventView) -> int:
    """Shares of a leg that have filled since the last view."""
    for rung in view.rungs:
        if rung.market_id == leg.rung.market_id:
            return sum(fill.qty for fill in rung.fills if fill.side is leg.side)
    return 0


STRATEGY = Arb
