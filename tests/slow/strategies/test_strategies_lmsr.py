"""Claims about the scoring-rule strategy: its prices, its order, its bound."""

import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.strategy.api import EventView, Quote
from strategies.lmsr import Lmsr, cost, owed_by, prior_masses, start_of, whole
from tests.builders.scale import cases
from tests.builders.strategies.scenes import changed
from tests.builders.strategies.views import FREE, prices, rung, view
from venue.wire.money import BookSide, FeeRate, FeeUnits, Price, Qty, fill_fee

BID, ASK = BookSide.BID, BookSide.ASK


def make(**params: Any) -> Lmsr:
    return Lmsr(Lmsr.Params.model_validate(params))


# --- prices ---------------------------------------------------------------------------------------


def test_a_lone_even_rung_is_quoted_as_worked_out_by_hand() -> None:
    # cost of 5 more: 50 ln((1 + e^0.1) / 2) = 2.5625, 51.25 cents a share; the next 7 move it on
    # from 0.525 to 0.560: 54.2; a cent is added, rounded up. The bids mirror it.
    quotes = make(levels=2).quote(view(rung(0, 50.0)))["m0"]
    assert [(q.side, q.price, q.qty) for q in quotes] == [
        (BID, 47, 5),
        (BID, 44, 7),
        (ASK, 53, 5),
        (ASK, 56, 7),
    ]


def test_inventory_moves_the_prices_along_the_scoring_rule() -> None:
    strategy = make(levels=1, extra_spread_cents=0)
    strategy.quote(view(rung(0, 50.0)))
    for net in (40, -40):
        quotes = strategy.quote(view(rung(0, 70.0, net=net)))
        chance = 1 / (1 + math.exp(net / 50))
        low, high = prices(quotes, 0, BID)[0], prices(quotes, 0, ASK)[0]
        assert low < 100 * chance < high
        assert high - low <= 6


def test_pairs_of_yes_and_no_do_not_move_the_prices() -> None:
    strategy = make()
    flat = strategy.quote(view(rung(0, 50.0), rung(1, 30.0)))
    paired = changed(rung(0, 50.0), yes_qty=70, no_qty=70)
    assert strategy.quote(view(paired, rung(1, 30.0))) == flat


def test_the_first_complete_curve_is_the_prior_unless_it_is_followed() -> None:
    strategy = make()
    assert strategy.quote(view(rung(0, 50.0), rung(1, None))) == {}
    first = strategy.quote(view(rung(0, 50.0), rung(1, 30.0)))
    moved = strategy.quote(view(rung(0, 80.0), rung(1, 60.0)))
    assert moved["m0"] is first["m0"]
    following = make(prior="follow")
    following.quote(view(rung(0, 50.0), rung(1, 30.0)))
    assert prices(following.quote(view(rung(0, 80.0), rung(1, 60.0))), 0, BID)[0] > 60


@pytest.mark.parametrize("prior", ["first", "follow"])
@pytest.mark.parametrize(("over", "left"), [(0, (1, 2)), (1, (0, 2)), (2, (0, 1))])
def test_remaining_rungs_are_quoted_after_one_resolves(
    prior: str, over: int, left: tuple[int, ...]
) -> None:
    rungs = [rung(0, 70.0), rung(1, 50.0), rung(2, 20.0)]
    before = make(prior=prior).quote(view(*rungs))
    rungs[over] = changed(rung(over, None), quotable=False)
    after = make(prior=prior).quote(view(*rungs))
    for at in left:
        for side in (BID, ASK):
            there = prices(before, at, side)
            assert prices(after, at, side) == pytest.approx(there, abs=1)
    nothing = [changed(rung(at, None), quotable=False) for at in range(3)]
    assert make(prior=prior).quote(view(*nothing)) == {}


def test_a_fee_above_the_extra_spread_widens_the_quotes() -> None:
    wide = rung(0, 50.0, rate=FeeRate.parse("0.07"))
    quotes = make(levels=1).quote(view(wide))
    assert (prices(quotes, 0, BID), prices(quotes, 0, ASK)) == ([46], [54])


@pytest.mark.parametrize("cents", [0.2, 30.0, 50.25, 99.7])
@pytest.mark.parametrize("rate", ["0", "0.0175", "0.07", "1"])
def test_a_rounded_price_covers_the_extra_spread_and_the_fee_of_one_share(
    cents: float, rate: str
) -> None:
    fees = FeeRate.parse(rate)
    for sign in (1, -1):
        price = whole(sign, cents, 1, fees)
        assert sign * (cents - price) >= 1 - 1e-9
        if 1 <= price <= 99:
            _, fee = fill_fee(FeeUnits(0), fees, Qty(1), Price(price))
            assert sign * (cents - price) >= fee - 1e-9


def test_the_liquidity_sensitive_rule_narrows_as_volume_grows() -> None:
    def width(pairs: int) -> int:
        strategy = make(ls_alpha=0.05, extra_spread_cents=0, levels=1, lot_qty=20)
        strategy.quote(view(rung(0, 50.0)))
        traded = changed(rung(0, 50.0), yes_qty=pairs, no_qty=pairs)
        quotes = strategy.quote(view(traded))
        return prices(quotes, 0, ASK)[0] - prices(quotes, 0, BID)[0]

    assert width(2_000) < width(0)


# --- order across rungs ---------------------------------------------------------------------------

curves = st.lists(st.floats(0.5, 99.5), min_size=1, max_size=8).map(
    lambda values: sorted(values, reverse=True)
)


@settings(deadline=None)
@given(curves, st.data(), st.booleans())
def test_no_price_of_a_level_rises_with_the_strike(
    values: list[float], data: st.DataObject, all_at_once: bool
) -> None:
    nets = data.draw(st.lists(st.integers(-200, 200), min_size=len(values), max_size=len(values)))
    strategy = make(all_at_once=all_at_once, levels=1)
    rungs = [rung(at, value, net=nets[at]) for at, value in enumerate(values)]
    quotes = strategy.quote(view(*rungs))
    for side, missing in ((BID, 0), (ASK, 100)):
        ladder = [(prices(quotes, at, side) or [missing])[0] for at in range(len(values))]
        assert ladder == sorted(ladder, reverse=True)


# --- the bound ------------------------------------------------------------------------------------


class Account:
    """What trades against the quotes leave: cash in cents and shares by rung."""

    def __init__(self, values: list[float], rate: FeeRate) -> None:
        self.values = values
        self.rate = rate
        self.cash = 0
        self.yes = [0] * len(values)
        self.no = [0] * len(values)

    def view(self) -> EventView:
        return view(
            *(
                changed(rung(at, value, rate=self.rate), yes_qty=self.yes[at], no_qty=self.no[at])
                for at, value in enumerate(self.values)
            )
        )

    def fill(self, at: int, quote: Quote, qty: int) -> None:
        """An order filled: shares of the other outcome that are held go first."""
        price = quote.price if quote.side is BID else 100 - quote.price
        bought, given = (self.yes, self.no) if quote.side is BID else (self.no, self.yes)
        sold = min(qty, given[at])
        given[at] -= sold
        bought[at] += qty - sold
        self.cash += sold * (100 - price) - (qty - sold) * price
        # Both routes pay the fee of their own order; share by share is the most it can be.
        for part in (sold, qty - sold):
            _, fee = fill_fee(FeeUnits(0), self.rate, Qty(part), quote.price)
            self.cash -= fee

    def loss_cents(self, bucket: int) -> int:
        paid = sum(self.yes[:bucket]) + sum(self.no[bucket:])
        return -(self.cash + 100 * paid)


def assert_bounded(account: Account, liquidity: float) -> None:
    masses = prior_masses([value / 100 for value in account.values], 0.005)
    for bucket, mass in enumerate(masses):
        assert account.loss_cents(bucket) <= 100 * liquidity * math.log(1 / mass) + 1e-6


@settings(deadline=None, max_examples=cases(2_000, quick=40))
@given(curves, st.data(), st.sampled_from(["0", "0.0175", "0.07"]))
def test_no_outcome_loses_more_than_the_bound_after_single_fills(
    values: list[float], data: st.DataObject, rate: str
) -> None:
    account = Account(values, FeeRate.parse(rate))
    strategy = make(b_dollars=10)
    # A trader with a mind of its own: mostly one rung and one side, which is what costs most.
    favourite = data.draw(st.tuples(st.integers(0, 20), st.sampled_from((BID, ASK))))
    for _ in range(data.draw(st.integers(1, 25))):
        quotes = strategy.quote(account.view())
        at, side = favourite
        if data.draw(st.integers(0, 3)) == 0:
            at, side = data.draw(st.integers(0, 20)), data.draw(st.sampled_from((BID, ASK)))
        at %= len(values)
        for quote in quotes[f"m{at}"]:
            if quote.side is side:
                qty = data.draw(st.integers(1, quote.qty))
                account.fill(at, quote, qty)
                if qty < quote.qty:
                    break
        assert_bounded(account, 10)


@settings(deadline=None, max_examples=cases(2_000, quick=40))
@given(curves, st.data(), st.sampled_from(["0", "0.0175"]))
def test_all_at_once_pricing_holds_the_loss_bound_for_simultaneous_fills(
    values: list[float], data: st.DataObject, rate: str
) -> None:
    account = Account(values, FeeRate.parse(rate))
    strategy = make(b_dollars=10, all_at_once=True)
    for _ in range(data.draw(st.integers(1, 8))):
        quotes = strategy.quote(account.view())
        for at in range(len(values)):
            for side in (BID, ASK):
                depth = data.draw(st.sampled_from([0, 0, 3, 5, 12, 100]))
                for quote in quotes[f"m{at}"]:
                    if quote.side is side and depth > 0:
                        account.fill(at, quote, min(depth, quote.qty))
                        depth -= quote.qty
        assert_bounded(account, 10)


@settings(deadline=None, max_examples=cases(1_000, quick=30))
@given(curves, st.data())
def test_the_liquidity_sensitive_rule_loses_at_most_its_initial_cost(
    values: list[float], data: st.DataObject
) -> None:
    account = Account(values, FREE)
    strategy = make(b_dollars=10, ls_alpha=0.05, extra_spread_cents=0)
    start = start_of(prior_masses([value / 100 for value in values], 0.005), 10, 0.05)
    for _ in range(data.draw(st.integers(1, 20))):
        quotes = strategy.quote(account.view())
        at, side = (
            data.draw(st.integers(0, len(values) - 1)),
            data.draw(st.sampled_from((BID, ASK))),
        )
        for quote in quotes[f"m{at}"]:
            if quote.side is side:
                account.fill(at, quote, quote.qty)
        for bucket, owed in enumerate(start):
            assert account.loss_cents(bucket) <= 100 * (cost(start, 10, 0.05) - owed) + 1e-6


def test_simultaneous_fills_can_exceed_the_bound_of_one_by_one_pricing() -> None:
    account = Account([50.0] * 8, FREE)
    quotes = make(b_dollars=10, extra_spread_cents=0).quote(account.view())
    for at in range(8):
        for quote in quotes[f"m{at}"]:
            if quote.side is ASK:
                account.fill(at, quote, quote.qty)
    start = start_of(prior_masses([0.5] * 8, 0.005), 10)
    owed = [each + more for each, more in zip(start, owed_by(account.view().rungs), strict=True)]
    pairs = sum(account.yes) + sum(account.no)
    assert account.cash + 100 * pairs < 100 * (cost(owed, 10) - cost(start, 10))
