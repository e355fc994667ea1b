"""The limits in force, and the prices and sizes that a venue takes.

A configured limit of 0 is replaced by what follows from the others. An event gets what the other
events of its series and the other series of the account leave. A strategy quotes whole cents and
any size: a bid moves down and an ask up to the next price of the market's grid, and no order is
larger than the venue was seen to take. Readings: docs/assumptions.md#S25, #S46.
"""

from typing import Final, TypeVar

import msgspec

from bot.core.risk.breakers import limits_of
from bot.core.risk.loss_budgets import stricter_budgets
from bot.core.settings import BreakerSettings, RiskSettings, TraderSettings
from bot.strategy.api import Quote, Take
from venue.wire.model import Market
from venue.wire.money import PRICE_MAX, PRICE_MIN, TICK_CENTS, BookSide, Cents, Price, Qty

_Limits = TypeVar("_Limits", RiskSettings, BreakerSettings)

_NET_RUNGS: Final = 10
_GROSS_RUNGS: Final = 20
_GROSS_TIMES: Final = 10
_RESTING_TIMES: Final = 10
"""The multiples of the other limits that replace a 0: far above the use of a sound strategy, near
enough to stop one that leans on hedges between rungs."""


def limits_in_force(limits: RiskSettings) -> RiskSettings:
    """The settings with every 0 but the account's derived from the others."""
    return msgspec.structs.replace(
        limits,
        event_net_qty=limits.event_net_qty or Qty(_NET_RUNGS * limits.rung_position_qty),
        event_gross_qty=limits.event_gross_qty or Qty(_GROSS_RUNGS * limits.rung_position_qty),
        event_gross_cents=limits.event_gross_cents or Cents(_GROSS_TIMES * limits.event_loss_cents),
        resting_cents=limits.resting_cents or Cents(_RESTING_TIMES * limits.series_loss_cents),
    )


def no_looser(wanted: TraderSettings, than: TraderSettings) -> TraderSettings:
    """`wanted` with no limit of loss, size or rate above that of `than`, and with every date of its
    calendar: a rollback never loosens what an operator has tightened. The very `wanted` where no
    limit of it is looser."""
    # The correlation of events is no limit, so it goes back.
    limits = msgspec.structs.replace(than.risk, event_correlation=wanted.risk.event_correlation)
    risk = _stricter((wanted.risk, limits_in_force(wanted.risk)), (limits, limits_in_force(limits)))
    breakers = _stricter(
        (wanted.breakers, limits_of(wanted.breakers, wanted.risk)),
        (than.breakers, limits_of(than.breakers, than.risk)),
    )
    budgets = stricter_budgets(wanted.loss_budgets, than.loss_budgets)
    missing = tuple(each for each in than.calendar if each not in wanted.calendar)
    are_same = risk is wanted.risk and breakers is wanted.breakers
    if are_same and budgets is wanted.loss_budgets and not missing:
        return wanted
    return msgspec.structs.replace(
        wanted,
        risk=risk,
        breakers=breakers,
        loss_budgets=budgets,
        calendar=(*wanted.calendar, *missing),
    )


def _stricter(wanted: tuple[_Limits, _Limits], than: tuple[_Limits, _Limits]) -> _Limits:
    """The lesser of each limit; each pair: as configured, and in force. A configuration that has
    the lesser of all comes back as it is, so that its zeros stay zeros."""
    least = {}
    for name in wanted[1].__struct_fields__:
        limits = (getattr(wanted[1], name), getattr(than[1], name))
        # Of the account alone 0 is no limit.
        is_none = name == "account_loss_cents" and not min(limits)
        least[name] = max(limits) if is_none else min(limits)
    stricter = msgspec.structs.replace(wanted[1], **least)
    for configured, in_force in (wanted, than):
        if stricter == in_force:
            return configured
    return stricter


# --- prices and sizes that a venue takes ----------------------------------------------------------

_USUAL = (PRICE_MIN, PRICE_MAX, TICK_CENTS)


def grid_of(market: Market) -> tuple[int, int, int]:
    """Least and greatest price, and tick, in cents: what a market's prices hang on."""
    return market.min_price, market.max_price, market.tick_size


def takes_any(market: Market) -> bool:
    """True if every price of 1..99 is one of this market's."""
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
