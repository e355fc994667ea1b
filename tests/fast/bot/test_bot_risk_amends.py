"""Orders with an amend in flight: whatever happens to it, the limits have counted as much.

The venue takes an amend's size for the new remainder, and fills may come before it lands (S13)."""

import itertools

import numpy as np
import pytest

from bot.core.orders.order import OwnOrder, State
from bot.core.risk.exposure import Exposure, RungTerms
from tests.builders.bot import made
from tests.builders.bot.made import MARKET
from tests.builders.scale import cases
from venue.wire.money import Cents, FeeRate, Outcome, Price, Qty, Side, fee_cents
from venue.wire.requests import Amend

RATE = FeeRate.parse("0.07")
TERMS = RungTerms.at_rates(MARKET, RATE, RATE)


def fates(own: OwnOrder, price: int, qty: int, amend: Amend) -> list[list[tuple[int, int]]]:
    """Every way in which it may fill: (price, shares) of what trades before and after the change.

    The change lands only while something of the order is left; then its size is the remainder.
    """
    out = [[(price, filled)] for filled in range(qty + 1)]
    for before in range(qty):
        left = qty - before if amend.qty is None else amend.qty
        to = price if amend.price is None else amend.price
        out += [[(price, before), (to, after)] for after in range(left + 1)]
    return out


def end(own: OwnOrder, fills: list[tuple[int, int]], *, pays: bool) -> int:
    """What an order leaves if its own outcome pays, or does not, after these fills."""
    sign = 1 if own.side is Side.BUY else -1
    cents = 0
    for price, shares in fills:
        cents += sign * shares * ((100 if pays else 0) - price)
        cents -= shares * fee_cents(RATE, Qty(1), Price(price))
    return cents


def counted(own: OwnOrder) -> list[int]:
    """What the limits count, in the two outcomes of a binary market: NO first."""
    return Exposure([TERMS], Cents(0), [(0, 0)], [own.exposure(own.amend)]).worst_by_outcome()


def worst(own: OwnOrder, price: int, qty: int, amend: Amend) -> list[int]:
    """The worst of all fates in the same two outcomes."""
    ways = fates(own, price, qty, amend)
    return [
        min(end(own, fills, pays=(own.outcome is Outcome.YES) is yes) for fills in ways)
        for yes in (False, True)
    ]


def amended(outcome: Outcome, side: Side, price: int, qty: int, amend: Amend) -> OwnOrder:
    """An open order with a change on its way."""
    own = made.own(State.OPEN, outcome=outcome, side=side, price=price, qty=qty)
    own.on_amend_sent(amend)
    return own


KINDS = list(itertools.product(Outcome, Side))


@pytest.mark.parametrize(("outcome", "side"), KINDS)
@pytest.mark.parametrize("field", ["price", "qty"])
def test_an_amend_of_price_or_size_counts_at_exactly_its_worst(outcome, side, field):
    rng = np.random.default_rng(3)
    for _ in range(cases(5_000, quick=60)):
        price, qty, to = (int(each) for each in rng.integers(1, [100, 9, 9]))
        amend = Amend(qty=Qty(to))
        if field == "price":
            amend = Amend(price=Price(int(rng.integers(1, 100))))
        own = amended(outcome, side, price, qty, amend)
        assert counted(own) == worst(own, price, qty, amend)


@pytest.mark.parametrize(("outcome", "side"), KINDS)
def test_an_amend_of_price_and_size_counts_at_least_at_its_worst_and_hardly_above(
    outcome, side
) -> None:
    rng = np.random.default_rng(5)
    for _ in range(cases(5_000, quick=60)):
        price, to, qty, size = (int(each) for each in rng.integers(1, [100, 100, 7, 7]))
        amend = Amend(price=Price(to), qty=Qty(size))
        own = amended(outcome, side, price, qty, amend)
        truly = worst(own, price, qty, amend)
        shares = qty - 1 + size
        for limit, least in zip(counted(own), truly, strict=True):
            # At most as if every share went at the worse price.
            assert least - shares * (abs(price - to) + 7) <= limit <= least


@pytest.mark.parametrize(("outcome", "side"), KINDS)
def test_the_rest_of_a_partly_filled_order_counts_with_its_amend(outcome, side) -> None:
    own = amended(outcome, side, 40, 10, Amend(price=Price(45)))
    own.on_fills_shown(made.shown(own, filled=4))
    amend = Amend(price=Price(45))
    assert counted(own) == worst(own, 40, 6, amend)


@pytest.mark.parametrize(
    "state", [State.PENDING_NEW, State.NEW_UNKNOWN, State.PENDING_CANCEL, State.REPLACE_UNKNOWN]
)
def test_an_undecided_order_counts_at_its_full_size(state: State) -> None:
    own = made.own(state, price=40, qty=10)
    assert counted(own) == [-10 * (40 + 2), 0]
