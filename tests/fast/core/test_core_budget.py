"""Claims about budgets: how much is bought, spent, and when nothing is (S35, S44, S56)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders.core.world import CASH, FOK, IOC, NO, YES, World
from venue.engine.budget import Offer, size_for_budget
from venue.wire.errors import Code
from venue.wire.money import Cents, FeeRate, FeeUnits, Price, Qty, ceil_cents, fee_units

EITHER = pytest.mark.parametrize("tif", [IOC, FOK])
NEL, BNF = Code.NO_EXECUTABLE_LIQUIDITY, Code.BUDGET_NOT_FILLABLE


def offered(*rows, rates=("0", "0"), cash=CASH):
    """A world in which YES is offered: (user, price, qty), oldest first."""
    world = World(rates, cash)
    for user, price, qty in rows:
        world.buy(user, NO, 100 - price, qty)
    return world


@EITHER
def test_a_budget_covers_the_fees(tif):
    world = offered(("b", 50, 100), rates=("0", "0.08"))
    placed = world.spend("a", YES, 50, 1_000, tif)
    # 19 shares are 950 cents and a fee of 38; a twentieth would need 1000 and 40.
    assert (placed.order.qty, placed.spent_cents) == (19, 988)
    assert world.balance("a") == (CASH - 988, 0)


@EITHER
def test_a_budget_without_cash_is_not_fillable(tif):
    world = offered(("b", 40, 25), cash=1_500)
    world.buy("a", YES, 30, 50)
    assert world.spend("a", YES, 50, 1_000, tif).code is BNF


def test_a_fok_budget_is_filled_by_the_last_share_but_not_beyond_it():
    assert offered(("b", 40, 5)).spend("a", YES, 50, 239, FOK).order.qty == 5
    assert offered(("b", 40, 5)).spend("a", YES, 50, 240, FOK).code is BNF


@pytest.mark.parametrize(("tif", "code"), [(IOC, NEL), (FOK, BNF)])
def test_a_budget_does_not_pass_an_own_order_first_in_line(tif, code):
    world = offered(("a", 40, 5), ("b", 40, 5))
    assert world.spend("a", YES, 50, 1_000, tif).code is code


@EITHER
def test_a_budget_is_sized_by_price_level_not_by_order(tif, monkeypatch):
    world = offered(*[("b", price, 1) for price in (40, 41) for _ in range(100)])
    looked_at = []

    def record(offers, *others):
        looked_at.extend(offers)
        return size_for_budget(iter(looked_at), *others)

    monkeypatch.setattr("venue.engine.engine.size_for_budget", record)
    placed = world.spend("a", YES, 50, 100 * 40 + 100 * 41 + 5, tif)
    assert looked_at == [Offer(Price(40), Qty(100), False), Offer(Price(41), Qty(100), False)]
    assert placed.order.filled_qty == 200


def test_an_ioc_budget_stops_at_an_own_order_within_a_price_level():
    world = offered(("b", 40, 3), ("c", 40, 4), ("a", 40, 5), ("b", 40, 6))
    placed = world.spend("a", YES, 50, 10_000, IOC)
    assert (placed.order.qty, placed.spent_cents) == (7, 280)


def test_a_fok_budget_that_would_reach_an_own_order_is_rejected():
    world = offered(("b", 40, 5), ("a", 41, 7))
    assert world.spend("a", YES, 50, 241, FOK).code is BNF
    assert world.spend("a", YES, 50, 240, FOK).order.qty == 5


def by_hand(offers, budget, rate, all_or_nothing):
    """The same, share by share."""
    shares = []
    own_at = None
    for offer in offers:
        if offer.own:
            own_at = offer.price
            break
        shares += [offer.price] * offer.size
    if not shares:
        return BNF if own_at is not None and all_or_nothing else NEL
    cash, units = 0, 0
    for bought, price in enumerate([*shares, shares[-1] if own_at is None else own_at]):
        cash += price
        units += fee_units(rate, Qty(1), price)
        if cash + ceil_cents(FeeUnits(units)) > budget:
            return bought if bought else BNF
    return BNF if all_or_nothing else len(shares)


offer_rows = st.lists(
    st.builds(
        Offer,
        st.integers(1, 99).map(Price),
        st.integers(1, 30).map(Qty),
        st.sampled_from([False] * 5 + [True]),
    ),
    max_size=6,
).map(lambda offers: sorted(offers, key=lambda offer: offer.price))


@given(offer_rows, st.integers(1, 5_000), st.integers(0, 10**8), st.booleans())
def test_a_budget_buys_the_size_found_share_by_share(offers, budget, e8, all_or_nothing):
    rate = FeeRate(e8)
    found = size_for_budget(offers, Cents(budget), rate, all_or_nothing)
    assert found == by_hand(offers, budget, rate, all_or_nothing)
