"""How many shares: a base lot whose fee is not mostly rounding, less where fair is in doubt, more
behind; and no more than is wanted or can be paid for.

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
"""Room for shares where nothing bounds them."""

SURE_SD_CENTS: Final = 1.5
"""A fair value no surer than this is worth half the size (judgement)."""


_LEAST_MAX: Final = 100
"""Rounding up wastes a cent an order at most: of so many shares a hundredth of a cent each, however
small the fee is, and no larger lot is worth what it risks (judgement)."""


def confidence(sd_cents: float) -> float:
    """The part of a size that a fair value of this standard deviation is worth: 1 / (1 + (sd /
    1.5)^2)."""
    doubt = sd_cents / SURE_SD_CENTS
    return 1 / (1 + doubt * doubt)


def level_sizes(lot_qty: float, levels: int, growth: float, sd_cents: float) -> list[int]:
    """Shares of each level, the first one first: the lot, each next one `growth` times as large,
    all by the `confidence` in fair; one share at least."""
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


class LotsOf:
    """Makes the lots of a rung.

    lot_qty, levels, level_growth: as `level_sizes`. basis: what the venue rounds fees up on; on
    fills, they hang on the sizes in which our orders fill. full_qty: shares of all levels of one
    side, and most_qty: where they were the most so far, grown for their fees.
    """

    def __init__(
        self, lot_qty: int, levels: int, level_growth: float, basis: fees.FeeBasis
    ) -> None:
        self.full_qty = self.most_qty = sum(level_sizes(lot_qty, levels, level_growth, 0))
        self._lot_qty, self._levels, self._growth = lot_qty, levels, level_growth
        self._by_order = basis is fees.FeeBasis.ORDER
        self._fill_sizes = fees.FillSizes()

    def filled(self, qty: int) -> bool:
        """A fill of ours, of `qty` >= 1 shares. True if lots depend on it: compute them again."""
        self._fill_sizes.filled(qty)
        return not self._by_order

    def of(self, rate: FeeRate, fair: float, sd_cents: float, decay: float) -> Lots:
        """Those of a rung. fair, sd_cents: its value and the doubt in it, cents. decay: as in
        `near_price`, above 0."""
        # A lot no smaller than its fee's rounding allows, at the price about which it will stand.
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


# --- what can be paid for -------------------------------------------------------------------------


def payable(cash_cents: float, price: Price, held_qty: int, rate: FeeRate) -> int:
    """Shares of one side that held shares and cash pay for: what is held of the other outcome is
    sold and needs no cash, the rest is bought at `price` of its own outcome, with what the venue
    locks for the fee of each by itself. rate: the dearer of the market's two (S17)."""
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
    """Shares that may be bid for and offered on a rung.

    fair: its value, cents; below edge_cents, and as near to 100, only what reduces the position.
    cash_cents: free for new orders, None where it suffices in any case; held shares and cash bound
    a side then, and what rests of ours is paid for. near_bid, near_ask: about where it is quoted.
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
    """Cash in cents, what the event's own orders hold back included; None while it is unknown.

    A bid sells NO that is held before it buys YES, an ask sells YES before it buys NO: what sells
    holds no cash back. Fees that are held back, less than a cent a share, are not counted.
    """
    if view.cash_cents is None:
        return None
    return view.cash_cents + sum(sum(held_back(rung)) for rung in view.rungs if rung.own)


def held_back(rung: RungView) -> tuple[int, int]:
    """The cash that the rung's own bids, and its own asks, hold back, in cents."""
    to_sell = {BookSide.BID: int(rung.no_qty), BookSide.ASK: int(rung.yes_qty)}
    cents = {BookSide.BID: 0, BookSide.ASK: 0}
    for own in rung.own:
        sold = min(to_sell[own.side], own.qty)
        to_sell[own.side] -= sold
        price = own.price if own.side is BookSide.BID else complement(own.price)
        cents[own.side] += notional(price, Qty(own.qty - sold))
    return cents[BookSide.BID], cents[BookSide.ASK]


def base_and_cash(rung: RungView, cash_cents: int) -> tuple[int, int]:
    """What is owned in the terms of a spot market whose base is YES: shares of the base, below zero
    where NO prevails, and cash in cents. A NO share is a dollar at the end less a YES share, and
    counted so the value of the whole is exact at every price."""
    return rung.net_qty, cash_cents + PAYOUT_CENTS * rung.no_qty
