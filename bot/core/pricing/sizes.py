"""How many shares: a base lot whose fee is not mostly rounding, less where fair is in doubt, more
behind; and no more than is wanted or can be paid for.

Formulas: docs/pricing.md#section-1d.
"""

from typing import Final

from bot.core.pricing.wealth import held_back
from bot.core.strategy import RungView
from venue.wire.money import (
    PAYOUT_CENTS,
    FeeRate,
    FeeUnits,
    Price,
    Qty,
    complement,
    reserve_cents,
)

PLENTY: Final = 10**9
"""Room for shares where nothing bounds them."""

SURE_SD_CENTS: Final = 1.5
"""A fair value no surer than this is worth half the size (judgement)."""


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
