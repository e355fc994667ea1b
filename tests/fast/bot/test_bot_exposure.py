"""The worst case of an event, and the room that its limits leave an order."""

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.core.risk.exposure import (
    Bounds,
    Exposure,
    OpenExposure,
    RungTerms,
    bounds_of,
    event_limit_cents,
    live_of,
    loss_cents,
    series_loss_cents,
)
from bot.core.risk.limits import limits_in_force
from bot.core.risk.trim import QuoteTrimmer
from bot.strategy.api import Quote
from tests.builders.bot.exposures import (
    COUNT,
    FLAT,
    M0,
    M1,
    RATES,
    bounds,
    flat,
    held,
    holding,
    ids,
    limits,
    lives,
    some_bounds,
    some_rates,
    terms,
    with_quotes,
)
from tests.builders.bot.planned import ask, bid
from venue.wire.money import BookSide, Cents, FeeRate, Outcome, Price, Qty, Side, fee_cents
from venue.wire.names import MarketId


def sums(exposure: Exposure) -> tuple[object, ...]:
    return (
        exposure.worst_by_outcome(),
        exposure.net_qty,
        exposure.gross_qty,
        exposure.gross_cents,
        exposure.resting_cents,
    )


def test_a_purchase_loses_its_price_and_fee_in_outcomes_that_pay_nothing():
    rung = OpenExposure(M1, Outcome.YES, Side.BUY, Price(40), Qty(10))
    exposure = Exposure(terms(["0.0175"] * 3), Cents(0), [FLAT] * 3, [rung])
    assert tuple(exposure.worst_by_outcome()) == (-410, -410, 0, 0)


@pytest.mark.parametrize("rate", RATES)
def test_selling_yes_and_buying_no_have_the_same_worst_case_at_every_price(rate):
    for price in range(1, 100):
        by_sale = OpenExposure(M0, Outcome.YES, Side.SELL, Price(price), Qty(3))
        by_purchase = OpenExposure(M0, Outcome.NO, Side.BUY, Price(100 - price), Qty(3))
        ends = [
            tuple(Exposure(terms([rate]), Cents(0), [(5, 0)], [live]).worst_by_outcome())
            for live in (by_sale, by_purchase)
        ]
        assert ends[0] == ends[1]


def test_rungs_hedge_each_other_only_in_the_outcomes_in_which_both_pay():
    assert holding(0, (10, 0), (0, 10)).outcome_cents == (1_000, 2_000, 1_000)
    assert holding(0, (0, 10), (10, 0)).outcome_cents == (1_000, 0, 1_000)


def test_the_worst_case_fills_several_rungs_at_once():
    assert with_quotes(flat(6), {key: (bid(50, 10),) for key in ids(6)}).worst_cents == -3_000


def test_an_exposure_rejects_an_order_of_another_event_and_too_few_holdings():
    with pytest.raises(KeyError):
        Exposure(terms(["0"]), Cents(0), [FLAT], [live_of(MarketId("m7"), bid(50, 1))])
    with pytest.raises(ValueError, match="2 rungs with 1 holdings"):
        Exposure(terms(["0"] * 2), Cents(0), [FLAT])


@pytest.mark.parametrize(
    ("held", "live", "side", "room"),
    [
        ((0, 0), None, BookSide.BID, 20),
        ((15, 0), None, BookSide.BID, 5),
        ((15, 10), None, BookSide.BID, 15),
        ((15, 0), bid(40, 4), BookSide.BID, 1),
        ((15, 0), ask(60, 4), BookSide.BID, 5),
        ((15, 0), None, BookSide.ASK, 35),
        ((50, 0), None, BookSide.BID, 0),
        ((50, 0), None, BookSide.ASK, 70),
        ((0, 20), None, BookSide.ASK, 0),
    ],
)
def test_the_position_limit_counts_holdings_and_live_orders_of_the_same_side(
    held, live, side, room
):
    exposure = holding(0, held)
    if live is not None:
        exposure.add_order(live_of(M0, live))
    candidate = live_of(M0, Quote(side, Price(50), Qty(1_000)))
    assert max(0, exposure.rooms(candidate, bounds(position_qty=20)).position_qty) == room


def test_losses_of_events_add_up_and_gains_do_not_offset_them():
    assert series_loss_cents([Cents(-300), Cents(200), Cents(-50)]) == 350
    assert (loss_cents(Cents(-3)), loss_cents(Cents(3))) == (3, 0)


@settings(max_examples=150)
@given(some_rates, held, st.lists(lives(), min_size=1, max_size=6), st.data())
def test_a_fill_of_a_live_order_raises_no_sum_of_the_exposure(rates, holdings, orders, data):
    rungs = terms(rates)
    before = Exposure(rungs, Cents(-900), holdings, orders)
    filled, *rest = orders
    part = data.draw(st.integers(1, filled.qty_max))
    rung = int(filled.market_id[1:])
    sign = 1 if filled.side is Side.BUY else -1
    # Selling short of what is held would be a purchase of the other outcome.
    side = 0 if filled.outcome is Outcome.YES else 1
    if sign < 0 and holdings[rung][side] < part:
        return
    after_held = [list(pair) for pair in holdings]
    after_held[rung][side] += sign * part
    rate = FeeRate.parse(rates[rung])
    paid = sign * part * filled.price + fee_cents(rate, Qty(part), filled.price)
    left = OpenExposure(
        filled.market_id, filled.outcome, filled.side, filled.price, Qty(filled.qty_max - part)
    )
    pairs = [(yes, no) for yes, no in after_held]
    after = Exposure(rungs, Cents(-900 - paid), pairs, [left, *rest])
    for was, now in zip(before.worst_by_outcome(), after.worst_by_outcome(), strict=True):
        assert now >= was
    assert after.gross_cents <= before.gross_cents
    assert after.gross_qty <= before.gross_qty
    assert after.net_qty <= before.net_qty
    assert after.resting_cents <= before.resting_cents


@settings(max_examples=100)
@given(some_rates, held, st.lists(lives(), max_size=6), lives(largest=60), some_bounds)
def test_an_admitted_order_breaks_no_bound_and_worsens_none_already_broken(
    rates, holdings, orders, wanted, bounds
):
    exposure = Exposure(terms(rates), Cents(-300), holdings, orders)
    was = list(exposure.worst_by_outcome()), exposure.gross_qty, exposure.gross_cents
    room = exposure.largest(wanted, bounds)
    if not room:
        return
    exposure.add_order(msgspec.structs.replace(wanted, qty_max=room))
    for now, before in zip(exposure.worst_by_outcome(), was[0], strict=True):
        assert now >= min(-bounds.loss_cents, before)
    assert exposure.gross_qty <= max(bounds.gross_qty, was[1])
    assert exposure.gross_cents <= max(bounds.gross_cents, was[2])
    assert exposure.resting_cents <= bounds.resting_cents


@given(some_rates, held, st.lists(lives(), max_size=6), lives())
def test_the_gross_loss_is_never_below_the_loss_of_the_ladder(rates, holdings, orders, wanted):
    exposure = Exposure(terms(rates), Cents(-300), holdings, orders)
    assert exposure.gross_cents >= -exposure.worst_cents
    exposure.add_order(wanted)
    assert exposure.gross_cents >= -exposure.worst_cents


@given(some_rates, held, st.lists(lives(), max_size=6), st.lists(lives(), max_size=3))
def test_sums_after_orders_left_equal_those_of_a_new_exposure(rates, holdings, orders, gone):
    kept = Exposure(terms(rates), Cents(-300), holdings, [*orders, *gone])
    for each in gone:
        kept = kept.without(each)
    fresh = Exposure(terms(rates), Cents(-300), holdings, orders)
    assert sums(kept) == sums(fresh)


def test_a_bare_copy_of_an_exposure_is_independent_of_it():
    exposure = Exposure(terms(["0"]), Cents(0), [(5, 0)])
    bare = exposure.bare()
    bare.add_order(live_of(M0, bid(40, 10)))
    assert (exposure.worst_cents, exposure.resting_cents, exposure.gross_qty) == (0, 0, 5)
    assert exposure.bare().worst_cents == 0


def test_net_adds_the_rungs_up_and_takes_each_side_alone():
    exposure = holding(0, (10, 0), (0, 4))
    exposure.add_order(live_of(M0, bid(40, 5)))
    exposure.add_order(live_of(M1, ask(40, 20)))
    assert exposure.net_qty == 14  # 6 held, less 20 asked; with the bids alone 11
    assert exposure.largest(live_of(M1, bid(40, 99)), bounds(net_qty=15)) == 4
    assert exposure.largest(live_of(M1, ask(40, 99)), bounds(net_qty=15)) == 1


def test_gross_adds_up_the_largest_position_of_each_rung():
    exposure = holding(0, (10, 0), (0, 4))
    assert exposure.gross_qty == 14
    exposure.add_order(live_of(M0, bid(40, 5)))
    exposure.add_order(live_of(M0, ask(40, 26)))
    assert exposure.gross_qty == 16 + 4
    # A bid of the first rung has room up to what its ask reaches already, and two shares beyond.
    assert exposure.largest(live_of(M0, bid(40, 99)), bounds(gross_qty=22)) == 3
    assert exposure.largest(live_of(M1, bid(40, 99)), bounds(gross_qty=20)) == 8


def test_past_a_gross_bound_only_the_smaller_side_of_a_rung_has_room():
    exposure = holding(0, FLAT)
    exposure.add_order(live_of(M0, ask(60, 8)))
    exposure.add_order(live_of(M0, bid(40, 1)))
    # The asks may be on their way out, or have filled unseen: with the bids alone there is 1 of 2.
    assert exposure.largest(live_of(M0, bid(40, 99)), bounds(gross_qty=2)) == 1
    assert exposure.largest(live_of(M0, bid(40, 99)), bounds(gross_cents=80)) == 1
    assert exposure.largest(live_of(M0, ask(60, 99)), bounds(gross_qty=2)) == 0


def test_past_a_gross_bound_a_position_can_be_reduced_and_reversed_up_to_the_bound():
    exposure = holding(0, (0, 10))
    assert exposure.largest(live_of(M0, bid(40, 99)), bounds(gross_qty=2)) == 12
    assert exposure.largest(live_of(M0, ask(60, 99)), bounds(gross_qty=2)) == 0
    # Ten at 90 lose more than the bound in cents allows: no more is bought than is worked off.
    dear = holding(-950, (0, 10))
    assert dear.largest(live_of(M0, bid(90, 99)), bounds(gross_cents=900)) == 10
    assert dear.largest(live_of(M0, bid(10, 99)), bounds(gross_cents=900)) == 95


def test_another_rung_does_not_hedge_the_gross_loss():
    # Long the lower rung and short the upper one: the ladder cannot lose, the rungs apart can.
    exposure = holding(-1_000, (10, 0), (0, 10))
    assert (exposure.worst_cents, exposure.gross_cents) == (0, 1_000)
    order = live_of(M0, bid(50, 99))
    assert exposure.largest(order, bounds(gross_cents=1_100)) == 2
    assert exposure.largest(order, bounds(gross_cents=1_099)) == 1
    # An ask works the position off: it has room until the other outcome is as bad.
    assert exposure.largest(live_of(M0, ask(50, 99)), bounds(gross_cents=1_000)) == 20


def test_resting_cents_add_up_the_possible_loss_of_both_sides():
    exposure = holding(0, FLAT)
    exposure.add_order(live_of(M0, bid(40, 5)))
    exposure.add_order(live_of(M0, ask(70, 10)))
    assert exposure.resting_cents == 200 + 300
    assert exposure.largest(live_of(M0, bid(50, 99)), bounds(resting_cents=600)) == 2
    assert exposure.largest(live_of(M0, bid(50, 99)), bounds(resting_cents=599)) == 1


def test_past_every_bound_a_position_can_still_be_reduced():
    exposure = holding(-2_000, (40, 0), FLAT)
    tight = bounds(net_qty=10, gross_qty=10, gross_cents=100, loss_cents=100)
    assert exposure.largest(live_of(M0, ask(50, 99)), tight) > 0
    assert exposure.largest(live_of(M0, bid(50, 99)), tight) == 0


def test_limits_left_at_zero_are_derived_from_the_others():
    given_ = msgspec.structs.replace(limits(3_000, 100, 10), series_loss_cents=Cents(9_000))
    found = limits_in_force(given_)
    assert (found.event_net_qty, found.event_gross_qty) == (1_000, 2_000)
    assert (found.event_gross_cents, found.resting_cents) == (30_000, 90_000)
    assert found.account_loss_cents == 0
    named = msgspec.structs.replace(
        given_,
        event_net_qty=Qty(1),
        event_gross_qty=Qty(2),
        event_gross_cents=Cents(3),
        resting_cents=Cents(4),
    )
    assert limits_in_force(named) == named


@pytest.mark.parametrize(
    ("others", "other_series", "limit"),
    [
        (0, 0, 3_000),
        (0, 11_000, 1_000),
        (500, 11_000, 500),
        (8_000, 0, 2_000),
        (9_999, 0, 1),
        (20_000, 0, 0),
        (0, 50_000, 0),
    ],
)
def test_an_event_may_lose_the_least_of_what_its_own_series_and_account_limits_leave(
    others, other_series, limit
):
    of = msgspec.structs.replace(
        limits(event=3_000), series_loss_cents=Cents(10_000), account_loss_cents=Cents(12_000)
    )
    assert event_limit_cents(of, Cents(others), Cents(other_series)) == limit


def test_without_an_account_limit_losses_of_other_series_do_not_count():
    assert event_limit_cents(limits(event=3_000), Cents(0), Cents(50_000)) == 3_000


def test_resting_orders_of_other_events_use_up_the_resting_limit_of_the_series():
    found = limits_in_force(msgspec.structs.replace(limits(), resting_cents=Cents(1_000)))
    assert bounds_of(found, Cents(1), Cents(300)).resting_cents == 700
    assert bounds_of(found, Cents(1), Cents(1_300)).resting_cents == 0


@settings(deadline=None)
@given(
    held,
    some_rates,
    st.integers(-9_000, 0),
    st.tuples(*[st.integers(1, 99)] * (2 * COUNT)),
    st.tuples(*[st.integers(1, 40)] * (2 * COUNT)),
    st.builds(
        Bounds,
        loss_cents=st.integers(0, 9_000).map(Cents),
        position_qty=st.integers(1, 200).map(Qty),
        net_qty=st.integers(1, 400).map(Qty),
        gross_qty=st.integers(1, 400).map(Qty),
        gross_cents=st.integers(1, 9_000).map(Cents),
        resting_cents=st.integers(1, 9_000).map(Cents),
    ),
)
def test_every_trimmed_quote_may_be_sent_even_with_holdings_past_a_bound(
    holdings, rates, cash, prices, sizes, bounds
):
    quotes = {
        key: (bid(prices[2 * rung], sizes[2 * rung]), ask(prices[2 * rung + 1], sizes[rung]))
        for rung, key in enumerate(ids(COUNT))
    }
    exposure = Exposure(terms(rates), Cents(cash), holdings)
    in_force = limits_in_force(limits(position=bounds.position_qty))
    wanted = QuoteTrimmer(in_force).trim(quotes, exposure, bounds)
    for key, mine in wanted.items():
        for quote in mine:
            live = live_of(key, quote)
            assert exposure.largest(live, bounds) == quote.qty
            exposure.add_order(live)


@pytest.mark.parametrize(
    ("bound", "reached"),
    [
        ("loss_cents", 600),
        ("net_qty", 20),
        ("gross_qty", 20),
        ("gross_cents", 600),
        ("resting_cents", 500),
    ],
)
def test_a_bound_may_be_reached_and_not_passed_by_a_cent_or_share(bound, reached):
    exposure = holding(-100, (10, 0))
    exposure.add_order(live_of(M0, bid(50, 10)))
    assert exposure.is_within(bounds(**{bound: reached}))
    assert not exposure.is_within(bounds(**{bound: reached - 1}))


@pytest.mark.parametrize("asked", [False, True])
def test_setting_a_rung_replaces_all_orders_counted_there(asked):
    exposure, other = holding(-7, (10, 4), (0, 3)), holding(-7, (10, 4), (0, 3))
    exposure.add_order(live_of(M0, bid(50, 9)))
    if asked:
        assert exposure.gross_qty and exposure.worst_cents
    exposure.set_rung(0, (3, 150), (16, 800))
    other.add_order(live_of(M0, bid(50, 3)))
    other.add_order(live_of(M0, ask(50, 16)))
    assert sums(exposure) == sums(other)


def test_gross_grows_only_by_shares_beyond_the_largest_position():
    exposure = with_quotes(holding(0, (10, 0)), {M0: (bid(50, 3), ask(50, 16))})
    # With the bid 13, with the ask -6: the largest is 13.
    assert [exposure.gross_growth(0, qty, is_bid=True) for qty in (0, 4)] == [0, 4]
    assert [exposure.gross_growth(0, qty, is_bid=False) for qty in (7, 9)] == [0, 2]


def test_the_gross_loss_grows_only_by_cents_beyond_the_worse_outcome():
    exposure = with_quotes(holding(0, (10, 4)), {M0: (bid(50, 3), ask(50, 16))})
    # YES leaves 1000 - 800, NO 400 - 150: the worse is 200.
    assert [exposure.gross_loss_growth(0, cents, is_bid=True) for cents in (50, 60)] == [0, 10]
    assert [exposure.gross_loss_growth(0, cents, is_bid=False) for cents in (0, 60)] == [0, 60]


def test_a_gross_loss_at_its_bound_leaves_no_room():
    exposure = holding(-99, FLAT)
    assert exposure.largest(live_of(M0, bid(1, 9)), bounds(gross_cents=99)) == 0
    assert exposure.largest(live_of(M0, bid(1, 9)), bounds(gross_cents=100)) == 1


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ((bid(50, 3), ask(60, 2)), (ask(60, 2), bid(40, 1))),
        ((bid(50, 3), bid(50, 3)), (bid(50, 3),)),
        ((bid(50, 3),), (bid(50, 3), bid(50, 3))),
        ((), (ask(60, 2),)),
        ((ask(60, 2),), ()),
    ],
)
def test_replaced_orders_no_longer_count(before, after):
    replaced, plain = (holding(0, (5, 0), FLAT) for _ in range(2))
    for quote in before:
        replaced.add_order(live_of(M0, quote))
    replaced.set_orders(M0, [(quote.side, quote.price, quote.qty) for quote in after])
    for quote in after:
        plain.add_order(live_of(M0, quote))
    assert sums(replaced) == sums(plain)


@pytest.mark.parametrize(("held", "is_bid"), [((10, 4), False), ((4, 10), True)])
@pytest.mark.parametrize(("loss", "room"), [(70, 6), (170, 3)])
def test_past_the_gross_loss_limit_a_reducing_order_has_room_for_whole_shares(
    held, is_bid, loss, room
):
    # The outcome that it hurts is better by 600 cents, and 6 shares are to be worked off.
    exposure = holding(-5_000, held)
    none = bounds(gross_cents=0)
    assert exposure.side_rooms(0, loss, none, is_bid=is_bid).gross_cents == room
    assert exposure.side_rooms(0, loss, none, is_bid=not is_bid).gross_cents <= 0


def test_without_fees_a_bid_may_lose_its_price_and_an_ask_the_rest_of_the_dollar():
    free_of_fees = RungTerms.at_rates(M0, FeeRate.parse("0"), FeeRate.parse("0"))
    assert free_of_fees.bid_loss_cents == tuple(range(100))
    assert free_of_fees.ask_loss_cents == (0, *range(99, 0, -1))


def test_the_higher_fee_rate_counts_at_the_fee_of_one_share():
    for rates in (("0.0175", "0.07"), ("0.07", "0.0175")):
        dear = RungTerms.at_rates(M0, *(FeeRate.parse(rate) for rate in rates))
        assert (dear.bid_loss_cents[50], dear.ask_loss_cents[50]) == (52, 52)
        assert (dear.bid_loss_cents[40], dear.ask_loss_cents[40]) == (42, 62)


# Outcomes at 0, -1000, -1000: a bid of the lowest rung loses in the first alone. Outcomes at
# -1000, -1000, 0: an ask of the upper rung loses in the last alone.
@pytest.mark.parametrize(
    ("held", "order", "room"),
    [
        (((0, 10), FLAT), (M0, bid(50, 99)), 20),
        (((0, 10), FLAT), (M1, bid(50, 99)), 0),
        ((FLAT, (10, 0)), (M1, ask(50, 99)), 20),
        ((FLAT, (10, 0)), (M0, ask(50, 99)), 0),
    ],
)
def test_outcomes_in_which_an_order_gains_do_not_narrow_its_room(held, order, room):
    rooms = holding(-1_000, *held).rooms(live_of(*order), bounds(loss_cents=1_000))
    assert rooms.loss_cents == room


def test_the_exposure_of_a_quote_is_that_of_its_yes_order():
    assert live_of(M0, bid(40, 3)) == OpenExposure(M0, Outcome.YES, Side.BUY, Price(40), Qty(3))
    assert live_of(M0, ask(60, 3)) == OpenExposure(M0, Outcome.YES, Side.SELL, Price(60), Qty(3))
