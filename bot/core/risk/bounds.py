"""What a venue takes: prices on a market's own grid, and sizes below a ceiling that it keeps.

A strategy speaks whole cents and any size. Bids are moved down and asks up to the next price that
the market takes, so that no quote becomes bolder, and no order is larger than the venue was seen
to take. Readings: docs/assumptions.md#S25, #S46.
"""

import msgspec

from bot.strategy.api import Quote, Take
from venue.wire.model import Market
from venue.wire.money import PRICE_MAX, PRICE_MIN, TICK_CENTS, BookSide, Price, Qty

_USUAL = (PRICE_MIN, PRICE_MAX, TICK_CENTS)


def grid_of(market: Market) -> tuple[int, int, int]:
    """Least and greatest price, and tick, in cents: what a market's prices hang on."""
    return market.min_price, market.max_price, market.tick_size


def takes_any(market: Market) -> bool:
    """Whether every price of 1..99 is one of this market's."""
    return grid_of(market) == _USUAL


def taken(quotes: tuple[Quote, ...], market: Market, ceiling: Qty | None) -> tuple[Quote, ...]:
    """The quotes as this market takes them: the same tuple where nothing is to be changed.

    ceiling: the most shares of one order, None while none is known. A quote that has no price
    within the bounds is left out; of several that meet on one price the sizes are added.
    """
    if takes_any(market) and (ceiling is None or all(quote.qty <= ceiling for quote in quotes)):
        return quotes
    met: dict[tuple[BookSide, Price], Quote] = {}
    for quote in quotes:
        price = _on_grid(quote.side, quote.price, market)
        if price is None:
            continue
        before = met.get((quote.side, price))
        qty = quote.qty if before is None else before.qty + quote.qty
        limit = None if quote.limit is None else _on_grid(quote.side, quote.limit, market)
        met[quote.side, price] = msgspec.structs.replace(
            quote, price=price, qty=Qty(qty if ceiling is None else min(qty, ceiling)), limit=limit
        )
    return tuple(met.values())


def takable(take: Take, market: Market, ceiling: Qty | None) -> Take | None:
    """A take as this market takes it: no bolder, no larger than the ceiling; None where there is no
    price for it, or where it was to be filled whole and is too large."""
    price = _on_grid(take.side, take.price, market)
    too_large = ceiling is not None and take.qty > ceiling
    if price is None or (take.whole and too_large):
        return None
    if price == take.price and not too_large:
        return take
    qty = take.qty if ceiling is None else min(take.qty, ceiling)
    return msgspec.structs.replace(take, price=price, qty=Qty(qty))


def _on_grid(side: BookSide, price: Price, market: Market) -> Price | None:
    """The next price of 1..99 that the market takes, on the safe side; None where there is none."""
    low, tick = market.min_price, max(1, market.tick_size)
    # In ticks from its least price, which may lie outside what any order can have.
    least = max(0, -(-(PRICE_MIN - low) // tick))
    most = (min(market.max_price, PRICE_MAX) - low) // tick
    steps, rest = divmod(price - low, tick)
    if side is BookSide.ASK:
        steps = max(least, steps + (rest > 0))
        return Price(low + steps * tick) if steps <= most else None
    steps = min(steps, most)
    return Price(low + steps * tick) if steps >= least else None


def lowered(ceiling: Qty | None, refused: Qty) -> Qty:
    """The ceiling after an order of `refused` shares was too large: half of that at most."""
    half = Qty(max(1, refused // 2))
    return half if ceiling is None else min(half, ceiling)
