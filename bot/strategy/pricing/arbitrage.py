"""Arbitrage on a ladder: pairs of rungs whose prices pay in every outcome. If a rung pays, every
lower one pays, so a higher rung's bid above a lower one's ask is free money.

Formulas: docs/pricing.md#section-1h.
"""

from collections.abc import Sequence

import msgspec

from venue.wire.money import Price


class Arbitrage(msgspec.Struct, frozen=True):
    """Buying YES of rung `low` at `ask` and selling YES of the higher rung `high` at `bid` pays
    at least nothing in every outcome and brings `bid - ask` cents a share before fees."""

    low: int
    high: int
    ask: Price
    bid: Price


def arbitrages(
    best_bids: Sequence[Price | None], best_asks: Sequence[Price | None]
) -> tuple[Arbitrage, ...]:
    """For each rung whose bid is above a lower rung's ask, the best such pair.

    None for an empty side. A non-increasing curve inside all bid-ask intervals exists if and only
    if there is no such pair, so pairs are the complete test.
    """
    found: list[Arbitrage] = []
    cheapest: tuple[Price, int] | None = None
    for index, (bid, ask) in enumerate(zip(best_bids, best_asks, strict=True)):
        if bid is not None and cheapest is not None and bid > cheapest[0]:
            found.append(Arbitrage(cheapest[1], index, cheapest[0], bid))
        if ask is not None and (cheapest is None or ask < cheapest[0]):
            cheapest = (ask, index)
    return tuple(found)
