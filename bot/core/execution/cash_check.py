"""What the free cash bears of the orders that are to leave.

What sells shares held needs no cash, so what shrinks a position never waits for any. A purchase
locks its price and fee whatever is held of the other outcome: a pair stays until the rung resolves.
"""

from collections.abc import Sequence
from typing import Final

from bot.core.orders.order import OwnOrder
from bot.core.planning.actions import CreateAction
from bot.core.quoting.market_quoter import MarketQuoter
from bot.core.risk.buying_power import BuyingPower
from bot.core.risk.exposure import OpenExposure
from venue.wire.money import (
    PAYOUT_CENTS,
    Cents,
    FeeRate,
    FeeUnits,
    Price,
    Qty,
    Side,
    canonical,
    notional,
    qty_within,
    reserve_cents,
)
from venue.wire.requests import Amend, TimeInForce

_BUY: Final = Side.BUY


class CashCheck:
    """Asks the free cash of the account what it bears, and tells it what has left."""

    def __init__(self, cash: BuyingPower) -> None:
        self.cash = cash

    def qty(self, rung: MarketQuoter, wish: CreateAction, qty: int) -> int:
        """So many of `qty` shares of a wanted order the cash bears now. Of one that rests none
        where that is a part too small to be worth a request."""
        if wish.side is not _BUY:
            return qty
        rate, price = _rate(rung), canonical(wish.outcome, wish.price)
        if self.cash.suffices(_locked(rate, qty, price)):
            return qty
        fits = min(qty, qty_within(rate, price, self.cash.cents))
        rests = wish.time_in_force is TimeInForce.GTC
        return 0 if rests and not rung.ladder.pace.resizes(fits, wish.qty) else fits

    def amend(
        self, rung: MarketQuoter, own: OwnOrder, amend: Amend, *, sizes: bool
    ) -> Amend | None:
        """A change of an order as the cash bears it: of fewer shares where it does not bear all,
        None where it bears too few. sizes: whether sizes may be amended."""
        more = _growth(rung, own, amend)
        if more <= 0 or self.cash.suffices(more):
            return amend
        rate, price, qty = _rate(rung), amend.price or own.price, amend.qty or own.remaining
        fits = qty_within(rate, price, _resting(rate, own) + max(0, self.cash.cents))
        if not (sizes and fits and rung.ladder.pace.resizes(fits, qty)):
            return None
        return Amend(price=amend.price, qty=fits)

    def bears_all(self, wishes: Sequence[tuple[MarketQuoter, CreateAction]]) -> bool:
        """Whether the cash suffices for all these together."""
        if not wishes or self.cash.suffices(_SHARE_CENTS * sum([wish.qty for _, wish in wishes])):
            return True
        return self.cash.suffices(
            sum(
                _locked(_rate(rung), wish.qty, canonical(wish.outcome, wish.price))
                for rung, wish in wishes
                if wish.side is _BUY
            )
        )

    def room(self, rung: MarketQuoter, candidate: OpenExposure, own: OwnOrder | None = None) -> Qty:
        """The largest such order that the cash bears, no more than the candidate. own: the one that
        it is a change of."""
        if candidate.side is not _BUY:
            return candidate.qty_max
        rate = _rate(rung)
        cents = self.cash.cents + (0 if own is None else _resting(rate, own))
        return min(candidate.qty_max, qty_within(rate, candidate.price, cents))

    # --- what has left ----------------------------------------------------------------------------

    def created(self, rung: MarketQuoter, own: OwnOrder, now_ns: int) -> None:
        """The create of an order has left."""
        if own.side is _BUY:
            cents = _locked(_rate(rung), own.qty, own.price)
            self.cash.created(own, cents, cents - notional(own.price, own.qty), now_ns)

    def amended(self, rung: MarketQuoter, own: OwnOrder, amend: Amend, now_ns: int) -> None:
        """A change of an order has left, and has no answer yet."""
        if own.side is _BUY:
            share_cents = _locked(_rate(rung), 1, own.price)
            self.cash.amended(own, _growth(rung, own, amend), now_ns, amend.qty, share_cents)

    def cancelled(self, own: OwnOrder, now_ns: int) -> None:
        """A cancel of an order has left; what an undecided change of it locks is not known."""
        if own.side is _BUY and own.amend is None:
            self.cash.cancelled(own, notional(own.price, own.remaining), now_ns)


def _rate(rung: MarketQuoter) -> FeeRate:
    """The rate at which a resting order reserves its fee (S17)."""
    return max(rung.maker_rate, rung.taker_rate)


def _locked(rate: FeeRate, qty: int, price: Price) -> Cents:
    """What a buy order of so many shares locks at most."""
    return reserve_cents(rate, Qty(qty), price, _NO_FEES)


def _resting(rate: FeeRate, own: OwnOrder) -> int:
    """What an order that rests locks at least: beside what has filled already its fee may come to
    a cent less (S16)."""
    return _locked(rate, own.remaining, own.price) - bool(rate.e8)


def _growth(rung: MarketQuoter, own: OwnOrder, amend: Amend) -> int:
    """What a change of an order locks more than the order does; below zero where it locks less."""
    if own.side is not _BUY:
        return 0
    rate, price, qty = _rate(rung), amend.price or own.price, amend.qty or own.remaining
    return _locked(rate, qty, price) - _resting(rate, own)


_NO_FEES: Final = FeeUnits(0)

_SHARE_CENTS: Final = PAYOUT_CENTS + 1
"""More than a share of any order locks, whatever its fee."""
