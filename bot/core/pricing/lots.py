"""The lots of a rung: shares of each level, their fees, and about where they stand; kept by
state.
"""

from typing import Final, NamedTuple

from bot.core.pricing import fees, sizes
from bot.core.pricing.levels import near_price
from bot.core.pricing.price import fee_per_share, inside
from venue.wire.money import PRICE_MAX, PRICE_MIN, FeeRate

_KNOWN_MAX: Final = 4_096
"""States of rungs whose lots are kept."""

_LEAST_MAX: Final = 100
"""Rounding up wastes a cent an order at most: of so many shares a hundredth of a cent each, however
small the fee is, and no larger lot is worth what it risks (judgement)."""


class Lots(NamedTuple):
    """shares: of each level, the first one first. bid_fees, ask_fees: of each level, cents per
    share. near_bid, near_ask: about where the sides stand, cents."""

    shares: tuple[int, ...]
    bid_fees: tuple[float, ...]
    ask_fees: tuple[float, ...]
    near_bid: int
    near_ask: int


class LotsOf:
    """Lots by fee rate, fair value and its doubt; made anew when anything else they hang on moves.

    lot_qty, levels, level_growth: as `sizes.level_sizes`. basis: what the venue rounds fees up on;
    on fills, they hang on the sizes in which our orders fill. full_qty: shares of all levels of one
    side, and most_qty: where they were the most so far, grown for their fees.
    """

    def __init__(
        self, lot_qty: int, levels: int, level_growth: float, basis: fees.FeeBasis
    ) -> None:
        self.full_qty = self.most_qty = sum(sizes.level_sizes(lot_qty, levels, level_growth, 0))
        self._lot_qty, self._levels, self._growth = lot_qty, levels, level_growth
        self._by_order = basis is fees.FeeBasis.ORDER
        self._fill_sizes = fees.FillSizes()
        self._decay = 0.0
        self._known: dict[tuple[FeeRate, float, float], Lots] = {}

    def filled(self, qty: int) -> bool:
        """A fill of ours, of `qty` shares (1 or more). Whether fees hang on it."""
        self._fill_sizes.filled(qty)
        if not self._by_order:
            self._known.clear()
        return not self._by_order

    def of(self, rate: FeeRate, fair: float, sd_cents: float, decay: float) -> Lots:
        """Those of a rung. fair, sd_cents: its value and the doubt in it, cents. decay: as in
        `near_price`, above 0."""
        if decay != self._decay:
            self._decay = decay
            self._known.clear()
        key = (rate, fair, sd_cents)
        known = self._known.get(key)
        if known is None:
            if len(self._known) >= _KNOWN_MAX:
                self._known.clear()
            known = self._known[key] = self._made(rate, fair, sd_cents)
        return known

    def _made(self, rate: FeeRate, fair: float, sd_cents: float) -> Lots:
        # A lot no smaller than its fee's rounding allows, at the price about which it will stand.
        least = fees.least_size(rate, inside(round(fair), PRICE_MIN, PRICE_MAX))
        lot = max(self._lot_qty, min(least, _LEAST_MAX))
        shares = sizes.level_sizes(lot, self._levels, self._growth, sd_cents)
        self.most_qty = max(self.most_qty, sum(shares))
        bid, ask = near_price(1, fair, self._decay), near_price(-1, fair, self._decay)
        return Lots(
            tuple(shares),
            tuple(self._fee(rate, qty, bid) for qty in shares),
            tuple(self._fee(rate, qty, ask) for qty in shares),
            bid,
            ask,
        )

    def _fee(self, rate: FeeRate, qty: int, price: int) -> float:
        if self._by_order:
            return fee_per_share(rate, qty, price)
        return fees.expected_fee(rate, self._fill_sizes.of_order(qty), price)
