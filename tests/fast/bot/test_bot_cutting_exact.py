"""Cuts to the last share and cent: what stands, what it is called, and what is counted of it."""

import pytest

from bot.core.risk.exposure import Bounds, Exposure, bounds_of
from bot.core.risk.limits import limits_in_force
from bot.core.risk.trim import QuoteTrimmer, TrimReason
from bot.strategy.api import Quote, Resting
from tests.fast.bot.test_bot_risk import ask, bid, limits
from tests.fast.bot.test_bot_risk_rules import bounds, two
from venue.wire.money import Cents
from venue.wire.names import MarketId

M0, M1, M2 = MarketId("m0"), MarketId("m1"), MarketId("m2")
NONE = (0, 0)


def cutter(order: int = 10**6) -> QuoteTrimmer:
    """One that has seen nothing yet."""
    return QuoteTrimmer(limits_in_force(limits(order=order)))


def kept(quotes: Resting, held: Exposure, of: Bounds) -> dict[MarketId, tuple[Quote, ...]]:
    """What stands of the quotes."""
    return cutter().trim(quotes, held, of)


def reasons(cut: QuoteTrimmer) -> dict[MarketId, set[TrimReason]]:
    """Why quotes of each rung were cut."""
    out: dict[MarketId, set[TrimReason]] = {}
    for each in cut.trims:
        out.setdefault(each.market_id, set()).add(each.reason)
    return out


# --- one that is used again -----------------------------------------------------------------------


def test_before_anything_was_cut_nothing_rests_and_nothing_is_told() -> None:
    fresh = cutter()
    assert (fresh.resting_cents, fresh.trims) == (0, ())


def test_what_rests_is_counted_whether_all_fits_or_is_shared() -> None:
    quotes = {M0: (bid(50, 16), ask(60, 10)), M1: (bid(50, 16),)}
    cut, held = cutter(), two(0, NONE, NONE)
    cut.trim(quotes, held, bounds())
    assert cut.resting_cents == 800 + 400 + 800
    cut.trim({M0: (bid(50, 16),), M1: (bid(50, 16),)}, held, bounds(loss_cents=960))
    assert cut.resting_cents == 400 + 400


def test_the_worst_case_is_told_whether_all_fits_or_is_shared() -> None:
    cut, held = cutter(), two(-100, NONE)
    assert cut.worst_cents == 0
    cut.trim({M0: (bid(50, 16),)}, held, bounds())
    assert cut.worst_cents == -900
    cut.trim({M0: (bid(50, 16),)}, held, bounds(loss_cents=500))
    assert cut.worst_cents == -500


def test_a_rung_that_is_wanted_no_more_is_left_out_though_nothing_else_changed() -> None:
    quotes = {M0: (bid(50, 16),), M1: (bid(40, 16),)}
    cut, held = cutter(), two(0, NONE, NONE)
    assert cut.trim(quotes, held, bounds()) == quotes
    assert cut.trim({M0: quotes[M0]}, held, bounds()) == {M0: quotes[M0]}
    assert cut.resting_cents == 800


def test_the_same_shares_at_a_dearer_price_are_counted_anew() -> None:
    cut, held = cutter(), two(0, NONE)
    assert cut.trim({M0: (bid(50, 16),)}, held, bounds(loss_cents=800)) == {M0: (bid(50, 16),)}
    assert cut.trim({M0: (bid(60, 16),)}, held, bounds(loss_cents=800)) == {M0: (bid(60, 12),)}


def test_more_shares_that_lose_the_same_are_counted_anew() -> None:
    cut, held = cutter(), two(0, NONE)
    assert cut.trim({M0: (bid(50, 16),)}, held, bounds(net_qty=16)) == {M0: (bid(50, 16),)}
    assert cut.trim({M0: (bid(40, 20),)}, held, bounds(net_qty=16)) == {M0: (bid(40, 15),)}


def test_a_share_beyond_a_bound_of_shares_is_one_too_many() -> None:
    assert kept({M0: (bid(50, 16),)}, two(0, NONE), bounds(net_qty=16)) == {M0: (bid(50, 16),)}
    assert kept({M0: (bid(50, 16),)}, two(0, NONE), bounds(net_qty=15)) == {M0: (bid(50, 14),)}


def test_a_rung_that_a_sharing_leaves_whole_keeps_its_quotes_and_its_reason() -> None:
    # A bid of the lowest rung and an ask of the highest never lose together.
    cut, held = cutter(order=10), two(0, NONE, NONE)
    quotes = {M0: (bid(50, 16),), M1: (ask(50, 8),)}
    first = cut.trim(quotes, held, bounds(loss_cents=500))
    assert (first[M0], reasons(cut)) == ((bid(50, 10),), {M0: {TrimReason.ORDER_QTY}})
    second = cut.trim({M0: quotes[M0], M1: (ask(20, 8),)}, held, bounds(loss_cents=500))
    assert second[M0] is first[M0]
    assert second[M1] == (ask(20, 6),)
    assert reasons(cut) == {M0: {TrimReason.ORDER_QTY}, M1: {TrimReason.EVENT_LOSS}}


def test_quotes_that_were_wanted_before_are_cut_to_what_is_held_now() -> None:
    cut = QuoteTrimmer(limits_in_force(limits(position=20)))
    quotes, others, holds = {M0: (bid(50, 16),)}, {M0: (bid(40, 16),)}, two(0, (12, 0))
    assert cut.trim(quotes, two(0, NONE), bounds()) == quotes
    assert cut.trim(others, holds, bounds()) == {M0: (bid(40, 8),)}
    assert cut.trim(quotes, holds, bounds()) == {M0: (bid(50, 8),)}
    assert cut.resting_cents == 400


def test_quotes_that_were_wanted_before_are_shared_by_the_bounds_of_now() -> None:
    cut, held = cutter(), two(0, NONE, NONE)
    quotes = {M0: (bid(50, 16),), M1: (bid(50, 16),)}
    assert cut.trim(quotes, held, bounds(loss_cents=800))[M0] == (bid(50, 8),)
    cut.trim({M0: (bid(49, 16),), M1: (bid(50, 16),)}, held, bounds())
    assert cut.trim(quotes, held, bounds(loss_cents=400))[M0] == (bid(50, 4),)
    assert cut.trim(quotes, held, bounds()) == quotes


@pytest.mark.parametrize(
    "then",
    [
        {M0: (bid(50, 16),), M1: (bid(50, 16),), M2: (bid(49, 4),)},
        {M0: (bid(50, 16),), M1: (bid(50, 16),)},
    ],
)
@pytest.mark.parametrize("of", [bounds(net_qty=31), bounds(loss_cents=1_500)])
def test_what_the_others_want_counts_when_one_rung_wants_something_else_or_no_more(
    then, of
) -> None:
    first = {M0: (bid(50, 16),), M1: (bid(50, 16),), M2: (bid(50, 4),)}
    cut, held = cutter(), two(0, NONE, NONE, NONE)
    assert cut.trim(first, held, bounds()) == first
    left = cut.trim(then, held, of)
    assert left == kept(then, held, of) != then


def test_a_rung_that_is_wanted_no_more_once_other_shares_are_held_is_left_out() -> None:
    cut, quotes = cutter(), {M0: (bid(50, 16),), M1: (bid(40, 16),)}
    cut.trim(quotes, two(0, NONE, NONE), bounds())
    assert cut.trim({M0: quotes[M0]}, two(0, (1, 0), NONE), bounds()) == {M0: quotes[M0]}


# --- levels ---------------------------------------------------------------------------------------


def test_three_levels_are_served_from_the_best_to_the_worst() -> None:
    # 400 and 320 cents leave 120 of the 240 that the third may lose.
    bids = {M0: (bid(50, 8), bid(40, 8), bid(30, 8))}
    assert kept(bids, two(0, NONE), bounds(loss_cents=840)) == {
        M0: (bid(50, 8), bid(40, 8), bid(30, 4))
    }
    asks = {M0: (ask(50, 8), ask(60, 8), ask(70, 8))}
    assert kept(asks, two(0, NONE), bounds(loss_cents=840)) == {
        M0: (ask(50, 8), ask(60, 8), ask(70, 4))
    }


# --- the limit of loss ----------------------------------------------------------------------------


def test_quotes_that_lose_together_may_use_the_same_cents_and_leave_what_they_do_not_need() -> None:
    # 1,000 cents for three: 160 suffice for the cheap one, and 420 are left to each of the others.
    quotes = {M0: (bid(90, 16),), M1: (bid(50, 16),), M2: (bid(10, 16),)}
    held = two(0, NONE, NONE, NONE)
    assert kept(quotes, held, bounds(loss_cents=1_000)) == {
        M0: (bid(90, 4),),
        M1: (bid(50, 8),),
        M2: (bid(10, 16),),
    }


def test_quotes_that_lose_in_other_outcomes_share_with_those_they_lose_with() -> None:
    # Between the two rungs three lose together, and 333 cents are left to each: three eighths of
    # 800, and half of 640.
    quotes = {M0: (ask(50, 16),), M1: (bid(50, 16), ask(60, 16)), M2: (bid(40, 16),)}
    held = two(0, NONE, NONE, NONE)
    assert kept(quotes, held, bounds(loss_cents=1_000)) == {
        M0: (ask(50, 6),),
        M1: (bid(50, 6), ask(60, 8)),
        M2: (bid(40, 8),),
    }


# --- bounds that do not hang on the outcome -------------------------------------------------------


def test_net_leaves_what_is_held_out_of_the_room_of_its_own_side() -> None:
    of = bounds(net_qty=18)
    assert kept({M0: (bid(50, 16),)}, two(0, (10, 0)), of) == {M0: (bid(50, 8),)}
    assert kept({M0: (ask(50, 16),)}, two(0, (0, 10)), of) == {M0: (ask(50, 8),)}
    assert kept({M0: (ask(50, 16),)}, two(0, (10, 0)), of) == {M0: (ask(50, 16),)}


def test_where_a_bound_leaves_no_room_not_a_single_share_stands() -> None:
    for none_left in ({"net_qty": 0}, {"gross_qty": 0}, {"gross_cents": 0}, {"resting_cents": 0}):
        assert kept({M0: (bid(1, 1),)}, two(0, NONE), bounds(**none_left)) == {M0: ()}
    past = two(0, (5, 0))
    assert kept({M0: (bid(1, 1),)}, past, bounds(net_qty=4)) == {M0: ()}


def test_net_that_one_side_exceeds_leaves_the_other_whole() -> None:
    quotes = {M0: (bid(40, 32), ask(60, 16))}
    assert kept(quotes, two(0, NONE), bounds(net_qty=16)) == {M0: (bid(40, 16), ask(60, 16))}


def test_gross_counts_what_enlarges_a_position_and_not_what_works_it_off() -> None:
    of = bounds(gross_qty=18)
    assert kept({M0: (bid(50, 16),)}, two(0, (10, 0)), of) == {M0: (bid(50, 8),)}
    assert kept({M0: (ask(50, 16),)}, two(0, (0, 10)), of) == {M0: (ask(50, 8),)}
    both = {M0: (bid(50, 16), ask(60, 20))}
    assert kept(both, two(0, (10, 0)), of) == {M0: (bid(50, 8), ask(60, 20))}


@pytest.mark.parametrize(("limit", "qty"), [(8, 18), (9, 19), (10, 20), (11, 20), (12, 21)])
def test_shares_that_turn_a_position_around_use_up_gross_only_beyond_its_size(limit, qty) -> None:
    quotes = {M0: (ask(60, 25),)}
    assert kept(quotes, two(0, (10, 0)), bounds(gross_qty=limit)) == {M0: (ask(60, qty),)}


@pytest.mark.parametrize(("limit", "qty"), [(500, 22), (599, 24), (600, 25), (700, 26), (750, 28)])
def test_shares_that_turn_a_position_around_lose_apart_only_beyond_what_it_pays(limit, qty) -> None:
    # 600 cents are lost in NO; in YES 1000 are left, and an ask at 60 loses 40 of them a share.
    quotes = {M0: (ask(60, 40),)}
    assert kept(quotes, two(-600, (10, 0)), bounds(gross_cents=limit)) == {M0: (ask(60, qty),)}


def test_the_loss_apart_counts_what_a_rung_loses_already() -> None:
    of = bounds(gross_cents=900)
    assert kept({M0: (bid(50, 16),)}, two(-500, (10, 0)), of) == {M0: (bid(50, 8),)}
    assert kept({M0: (ask(50, 16),)}, two(-500, (0, 10)), of) == {M0: (ask(50, 8),)}


def test_past_a_gross_bound_a_quote_keeps_what_may_be_sent_by_itself() -> None:
    both = {M0: (bid(80, 4), ask(84, 4)), M1: (ask(50, 2),)}
    cut = cutter()
    held = two(-271, (3, 2), NONE)  # 71 cents are lost in NO; 3 of the asks lose 19 in YES
    assert cut.trim(both, held, bounds(gross_cents=17)) == {M0: (ask(84, 2),), M1: ()}
    assert reasons(cut) == {M0: {TrimReason.EVENT_GROSS}, M1: {TrimReason.EVENT_GROSS}}
    wide = {M0: (bid(40, 9), ask(60, 25))}
    assert kept(wide, two(0, (10, 0)), bounds(gross_qty=4)) == {M0: (ask(60, 14),)}


def test_a_cent_short_of_what_may_rest_costs_a_whole_eighth_rounded_down() -> None:
    assert kept({M0: (bid(50, 10),)}, two(0, NONE), bounds(resting_cents=500)) == {
        M0: (bid(50, 10),)
    }
    (quote,) = kept({M0: (bid(50, 10),)}, two(0, NONE), bounds(resting_cents=499))[M0]
    assert (quote.qty, type(quote.qty)) == (8, int)


def test_where_nothing_may_be_lost_not_a_share_of_a_cent_stands() -> None:
    assert kept({M0: (bid(1, 8),)}, two(0, NONE), bounds(loss_cents=0)) == {M0: ()}


def test_a_quote_that_fits_a_passed_gross_bound_to_the_share_was_not_cut_by_it() -> None:
    cut = cutter(order=5)
    held = {M0: (ask(60, 8),)}
    assert cut.trim(held, two(0, (3, 0)), bounds(gross_qty=2)) == {M0: (ask(60, 5),)}
    assert reasons(cut) == {M0: {TrimReason.ORDER_QTY}}


# --- one share after all --------------------------------------------------------------------------


def test_one_share_stands_where_what_stands_leaves_its_loss_and_none_a_cent_below() -> None:
    quotes, held = {M0: (bid(50, 16),), M1: (bid(50, 1),)}, two(0, NONE, NONE)
    first = {M0: (bid(50, 1),)}
    for sums in ({}, {"resting_cents": 100}):
        whole = kept(quotes, held, bounds(loss_cents=100, **sums))
        assert whole == {**first, M1: (bid(50, 1),)}
        assert kept(quotes, held, bounds(loss_cents=99, **sums)) == {**first, M1: ()}


def test_one_share_is_barred_by_what_stands_already() -> None:
    quotes = {M0: (bid(10, 8),), M1: (bid(90, 1),)}
    assert kept(quotes, two(0, NONE, NONE), bounds(loss_cents=95)) == {M0: (bid(10, 4),), M1: ()}


def test_one_share_is_not_barred_by_outcomes_in_which_it_gains() -> None:
    of = bounds(loss_cents=50)
    # Outcomes at 0, -1000, -1000; and at -1000, -1000, 0.
    bids, asks = {M0: (bid(50, 3),)}, {M1: (ask(50, 3),)}
    assert kept(bids, two(-1_000, (0, 10), NONE), of) == {M0: (bid(50, 1),)}
    assert kept(asks, two(-1_000, NONE, (10, 0)), of) == {M1: (ask(50, 1),)}


def test_one_share_that_does_not_fit_bars_none_that_does() -> None:
    quotes, held = {M0: (bid(50, 1),), M1: (bid(30, 1),)}, two(0, NONE, NONE)
    left = {M0: (), M1: (bid(30, 1),)}
    assert kept(quotes, held, bounds(loss_cents=40)) == left
    assert kept(quotes, held, bounds(resting_cents=40)) == left


def test_single_shares_count_on_their_own_side_one_after_the_other() -> None:
    held, of = two(0, NONE, NONE, NONE), bounds(net_qty=2)
    bids = {M0: (bid(50, 16),), M1: (bid(50, 1),), M2: (bid(50, 1),)}
    assert kept(bids, held, of) == {M0: (bid(50, 1),), M1: (bid(50, 1),), M2: ()}
    asks = {M0: (ask(50, 16),), M1: (ask(50, 1),), M2: (ask(50, 1),)}
    assert kept(asks, held, of) == {M0: (ask(50, 1),), M1: (ask(50, 1),), M2: ()}


def test_the_bounds_of_an_event_leave_what_the_other_events_have_resting() -> None:
    in_force = limits_in_force(limits())
    of = bounds_of(in_force, Cents(10**9), Cents(in_force.resting_cents - 400))
    assert kept({M0: (bid(50, 16),)}, two(0, NONE), of) == {M0: (bid(50, 8),)}


# --- what more room would do ----------------------------------------------------------------------

FAR = Cents(10**9)
ONE_BID = {M0: (bid(50, 16),)}
"""Of which 800 cents may be lost, and 800 rest."""


def gains(*asked: tuple[int, int], **cut_to: int) -> list[bool]:
    """Whether a cut of the bid to these bounds gains by each of these: loss, and what rests."""
    cut = cutter()
    cut.trim(ONE_BID, two(0, NONE), bounds(**cut_to))
    return [cut.gains_by(Cents(loss), Cents(rests)) for loss, rests in asked]


def test_nothing_is_gained_by_more_room_before_a_cut_or_where_all_fits() -> None:
    assert cutter().gains_by(FAR, FAR) is False
    assert gains((FAR, FAR), loss_cents=800, resting_cents=800) == [False]


def test_a_cut_short_of_loss_gains_by_a_cent_more_of_it_and_by_nothing_else() -> None:
    asked = (401, FAR), (400, FAR), (399, FAR)
    assert gains(*asked, loss_cents=400) == [True, False, False]


def test_a_cut_short_of_what_may_rest_gains_by_a_cent_more_of_it_and_by_nothing_else() -> None:
    asked = (FAR, 401), (FAR, 400), (FAR, 399)
    assert gains(*asked, resting_cents=400) == [True, False, False]
    assert gains((801, 400), (800, 401), loss_cents=800, resting_cents=400) == [False, True]
    assert gains((400, 801), (401, 800), loss_cents=400, resting_cents=800) == [False, True]


def test_more_of_one_room_is_no_gain_where_the_other_would_be_short_instead() -> None:
    # Of the other it need be no more than all that is wanted comes to, or than it was.
    assert gains((799, 401), (800, 401), resting_cents=400) == [False, True]
    assert gains((401, 799), (401, 800), loss_cents=400) == [False, True]
    both = {"loss_cents": 400, "resting_cents": 600}
    assert gains((401, 599), (401, 600), (399, 601), (400, 601), **both) == [
        False,
        True,
        False,
        True,
    ]


@pytest.mark.parametrize(
    ("name", "whole"), [("net_qty", 16), ("gross_qty", 16), ("gross_cents", 800)]
)
def test_more_to_lose_is_no_gain_where_all_that_is_wanted_is_too_much_besides(
    name: str, whole: int
) -> None:
    """Else what is shared anew may be less, and two events may give way to each other for ever."""
    assert gains((401, FAR), loss_cents=400, **{name: whole}) == [True]
    assert gains((401, FAR), loss_cents=400, **{name: whole - 1}) == [False]


def test_a_cut_short_of_shares_alone_gains_by_no_cents() -> None:
    assert gains((FAR, FAR), net_qty=8, loss_cents=800, resting_cents=800) == [False]
