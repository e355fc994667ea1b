"""Claims about budgets: how much is bought, spent, and when nothing is (S35, S44, S56)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders.core.world import CASH, FOK, IOC, NO, YES, World
from venue.engine.budget import Offer, size_for_budget
from venue.engine.messages import TradePrinted
from venue.wire.errors import Code
from venue.wire.model import OrderStatus
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
def test_as_many_shares_are_bought_as_the_budget_holds(tif):
    world = offered(("b", 40, 100))
    placed = world.spend("a", YES, 50, 1_000, tif)
    assert (placed.order.qty, placed.spent_cents) == (25, 1_000)


@EITHER
def test_a_rest_too_small_for_a_share_is_not_spent(tif):
    placed = offered(("b", 40, 100)).spend("a", YES, 50, 1_039, tif)
    assert (placed.order.qty, placed.spent_cents) == (25, 1_000)


@EITHER
def test_fees_are_paid_out_of_the_budget(tif):
    world = offered(("b", 50, 100), rates=("0", "0.08"))
    placed = world.spend("a", YES, 50, 1_000, tif)
    # 19 shares are 950 cents and a fee of 38; a twentieth would need 1000 and 40.
    assert (placed.order.qty, placed.spent_cents) == (19, 988)
    assert world.balance("a") == (CASH - 988, 0)


@EITHER
def test_it_ends_filled_with_its_executed_size(tif):
    order = offered(("b", 40, 100)).spend("a", YES, 50, 1_000, tif).order
    assert (order.status, order.filled_qty, order.remaining_qty) == (OrderStatus.FILLED, 25, 0)


@EITHER
def test_better_prices_are_taken_first(tif):
    world = offered(("b", 45, 10), ("c", 40, 10))
    placed = world.spend("a", YES, 50, 400 + 5 * 45, tif)
    assert [(trade.price, trade.qty) for trade in world.told(TradePrinted)] == [(40, 10), (45, 5)]
    assert placed.spent_cents == 625


@EITHER
def test_available_cash_bounds_the_budget(tif):
    world = offered(("b", 40, 15), cash=1_000)
    world.buy("a", YES, 10, 60)
    assert world.spend("a", YES, 50, 5_000, tif).spent_cents == 400


@EITHER
def test_nothing_within_the_bound_is_no_liquidity(tif):
    assert offered(("b", 51, 100)).spend("a", YES, 50, 1_000, tif).code is NEL


@EITHER
def test_an_empty_book_is_no_liquidity(tif):
    assert World().spend("a", YES, 50, 1_000, tif).code is NEL


@EITHER
def test_a_budget_below_one_share_is_not_fillable(tif):
    assert offered(("b", 40, 100)).spend("a", YES, 50, 39, tif).code is BNF


@EITHER
def test_no_cash_at_all_is_not_fillable(tif):
    world = offered(("b", 40, 25), cash=1_500)
    world.buy("a", YES, 30, 50)
    assert world.spend("a", YES, 50, 1_000, tif).code is BNF


def test_an_ioc_buys_what_is_there():
    placed = offered(("b", 40, 5)).spend("a", YES, 50, 1_000, IOC)
    assert (placed.order.qty, placed.spent_cents) == (5, 200)


def test_a_fok_whose_liquidity_runs_out_first_is_refused_and_trades_nothing():
    world = offered(("b", 40, 5), ("b", 51, 100))
    assert world.spend("a", YES, 50, 1_000, FOK).code is BNF
    assert world.asks() == [(40, 5), (51, 100)]


def test_a_fok_that_spends_its_budget_on_the_last_share_there_is_filled():
    assert offered(("b", 40, 5)).spend("a", YES, 50, 239, FOK).order.qty == 5
    assert offered(("b", 40, 5)).spend("a", YES, 50, 240, FOK).code is BNF


@pytest.mark.parametrize(("tif", "code"), [(IOC, NEL), (FOK, BNF)])
def test_an_own_order_first_in_line_leaves_nothing_to_take(tif, code):
    world = offered(("a", 40, 5), ("b", 40, 5))
    assert world.spend("a", YES, 50, 1_000, tif).code is code


def test_an_ioc_stops_before_an_own_order_and_leaves_it_whole():
    world = offered(("b", 40, 5), ("a", 41, 7), ("b", 42, 5))
    assert world.spend("a", YES, 50, 1_000, IOC).order.qty == 5
    assert world.asks() == [(41, 7), (42, 5)]


@EITHER
def test_a_budget_is_sized_price_by_price_however_many_orders_rest_there(tif, monkeypatch):
    world = offered(*[("b", price, 1) for price in (40, 41) for _ in range(100)])
    looked_at = []

    def seen(offers, *others):
        looked_at.extend(offers)
        return size_for_budget(iter(looked_at), *others)

    monkeypatch.setattr("venue.engine.engine.size_for_budget", seen)
    placed = world.spend("a", YES, 50, 100 * 40 + 100 * 41 + 5, tif)
    assert looked_at == [Offer(Price(40), Qty(100), False), Offer(Price(41), Qty(100), False)]
    assert placed.order.filled_qty == 200


def test_an_ioc_stops_before_an_own_order_amid_others_at_its_price():
    world = offered(("b", 40, 3), ("c", 40, 4), ("a", 40, 5), ("b", 40, 6))
    placed = world.spend("a", YES, 50, 10_000, IOC)
    assert (placed.order.qty, placed.spent_cents) == (7, 280)


def test_a_fok_with_cash_for_a_share_of_an_own_order_is_refused():
    world = offered(("b", 40, 5), ("a", 41, 7))
    assert world.spend("a", YES, 50, 241, FOK).code is BNF
    assert world.spend("a", YES, 50, 240, FOK).order.qty == 5


def test_a_no_budget_is_spent_in_prices_of_no():
    world = World()
    world.buy("b", YES, 70, 100)
    placed = world.spend("a", NO, 30, 300)
    assert (placed.order.qty, placed.spent_cents) == (10, 300)


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
def test_the_size_is_the_one_found_share_by_share(offers, budget, e8, all_or_nothing):
    rate = FeeRate(e8)
    found = size_for_budget(offers, Cents(budget), rate, all_or_nothing)
    assert found == by_hand(offers, budget, rate, all_or_nothing)
