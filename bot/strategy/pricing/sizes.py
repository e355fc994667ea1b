"""Order sizes: a base lot whose fee is not mostly rounding, smaller if fair is uncertain, larger at
further levels; capped by the position limit and the cash.

Formulas: docs/pricing.md#section-1d.
"""

from typing import Final, NamedTuple

from bot.strategy.api import EventView, RungView
from bot.strategy.pricing import fees
from bot.strategy.pricing.levels import near_price
from bot.strategy.pricing.price import fee_per_share, inside
from venue.wire.money import (
    PAYOUT_CENTS,
    PRICE_MAX,
    PRICE_MIN,
    BookSide,
    FeeRate,
    FeeUnits,
    Price,
    Qty,
    complement,
    notional,
    reserve_cents,
)

PLENTY: Final = 10**9
"""Room for shares without any bound."""

SURE_SD_CENTS: Final = 1.5
"""At this standard deviation of the fair value sizes are halved (judgement)."""

_LEAST_MAX: Final = 100
"""Rounding up wastes a cent an order at most, a hundredth of a cent a share here: a larger lot is
not worth its risk, however small the fee (judgement)."""


def confidence(sd_cents: float) -> float:
    """The factor of a size for a fair value of this standard deviation: 1 / (1 + (sd / 1.5)^2)."""
    doubt = sd_cents / SURE_SD_CENTS
    return 1 / (1 + doubt * doubt)


def level_sizes(lot_qty: float, levels: int, growth: float, sd_cents: float) -> list[int]:
    """Shares of each level: the lot, each next one `growth` times as large, all times the
    `confidence` in fair; one share at least."""
    scale = lot_qty * confidence(sd_cents)
    return [max(1, int(scale * growth**level)) for level in range(levels)]


class Lots(NamedTuple):
    """shares: of each level, the first one first. bid_fees, ask_fees: of each level, cents per
    share. near_bid, near_ask: roughly the price of each side, cents."""

    shares: tuple[int, ...]
    bid_fees: tuple[float, ...]
    ask_fees: tuple[float, ...]
    near_bid: int
    near_ask: int


class LotSizer:
    """Computes the lots of a market.

    lot_qty, levels, level_growth: as `level_sizes`. basis: see `FeeBasis`; by fill, lots depend on
    the sizes in which our orders fill. full_qty: shares of all levels of one side. most_qty: the
    largest such sum so far, grown for its fee.
    """

    def __init__(
        self, lot_qty: int, levels: int, level_growth: float, basis: fees.FeeBasis
    ) -> None:
        self.full_qty = self.most_qty = sum(level_sizes(lot_qty, levels, level_growth, 0))
        self._lot_qty, self._levels, self._growth = lot_qty, levels, level_growth
        self._by_order = basis is fees.FeeBasis.ORDER
        self._fill_sizes = fees.FillSizes()

    def on_own_fill(self, qty: int) -> bool:
        """qty: shares, 1 or more. True if lots must be computed again."""
        self._fill_sizes.on_own_fill(qty)
        return not self._by_order

    def lots_at(self, rate: FeeRate, fair: float, sd_cents: float, decay: float) -> Lots:
        """fair, sd_cents: value and standard deviation, cents. decay: as in `near_price`, above
        0."""
        # A lot no smaller than its fee's rounding allows, at about the price of the quote.
        least = fees.least_size(rate, inside(round(fair), PRICE_MIN, PRICE_MAX))
        lot = max(self._lot_qty, min(least, _LEAST_MAX))
        shares = tuple(level_sizes(lot, self._levels, self._growth, sd_cents))
        self.most_qty = max(self.most_qty, sum(shares))
        bid, ask = near_price(1, fair, decay), near_price(-1, fair, decay)
        bid_fees = tuple(self._fee(rate, qty, bid) for qty in shares)
        ask_fees = tuple(self._fee(rate, qty, ask) for qty in shares)
        return Lots(shares, bid_fees, ask_fees, bid, ask)

    def _fee(self, rate: FeeRate, qty: int, price: int) -> float:
        if self._by_order:
            return fee_per_share(rate, qty, price)
        return fees.expected_fee(rate, self._fill_sizes.of_order(qty), price)


# --- cash -----------------------------------------------------------------------------------------


def payable(cash_cents: float, price: Price, held_qty: int, rate: FeeRate) -> int:
    """Shares of one side that inventory and cash allow. Inventory of the other outcome is sold
    without cash; the rest is bought at `price` of its own outcome, plus the fee reserve of each
    share. rate: the higher of the market's two (S17)."""
    share_cents = reserve_cents(rate, Qty(1), price, FeeUnits(0))
    return held_qty + max(0, int(cash_cents // share_cents))


def rooms(
    rung: RungView,
    fair: float,
    edge_cents: float,
    cash_cents: int | None,
    near_bid: int,
    near_ask: int,
) -> tuple[int, int]:
    """Shares that may be bid and offered in a market.

    fair: its value, cents; within edge_cents of 0 or 100, only shares that reduce the inventory.
    cash_cents: free for new orders, None if it is ample; inventory and cash then bound each side,
    and resting orders are paid for. near_bid, near_ask: about the prices of the quotes.
    """
    bid_room = ask_room = PLENTY
    if fair < edge_cents or fair > PAYOUT_CENTS - edge_cents:
        net = rung.net_qty
        bid_room, ask_room = max(0, -net), max(0, net)
    if cash_cents is not None:
        bid_cents, ask_cents = held_back(rung)
        rate = max(rung.maker_fee_rate, rung.taker_fee_rate)
        yes_price, no_price = Price(near_bid), complement(Price(near_ask))
        bid_room = min(bid_room, payable(cash_cents + bid_cents, yes_price, rung.no_qty, rate))
        ask_room = min(ask_room, payable(cash_cents + ask_cents, no_price, rung.yes_qty, rate))
    return bid_room, ask_room


def cash_in_all(view: EventView) -> int | None:
    """Cash in cents plus the reserve of the event's own orders; None while it is unknown.

    A bid sells held NO before it buys YES, an ask sells YES before it buys NO; sales reserve no
    cash. Reserved fees, less than a cent a share, are ignored.
    """
    if view.cash_cents is None:
        return None
    return view.cash_cents + sum(sum(held_back(rung)) for rung in view.rungs if rung.own)


def held_back(rung: RungView) -> tuple[int, int]:
    """The cash that the venue reserves for our bids and our asks in a market, cents."""
    to_sell = {BookSide.BID: int(rung.no_qty), BookSide.ASK: int(rung.yes_qty)}
    cents = {BookSide.BID: 0, BookSide.ASK: 0}
    for own in rung.own:
        sold = min(to_sell[own.side], own.qty)
        to_sell[own.side] -= sold
        price = own.price if own.side is BookSide.BID else complement(own.price)
        cents[own.side] += notional(price, Qty(own.qty - sold))
    return cents[BookSide.BID], cents[BookSide.ASK]


def base_and_cash(rung: RungView, cash_cents: int) -> tuple[int, int]:
    """Our inventory as in a spot market with base YES: net shares of the base, and cash in cents. A
    NO share counts as a dollar less a YES share, which is exact at every price."""
    return rung.net_qty, cash_cents + PAYOUT_CENTS * rung.no_qty
