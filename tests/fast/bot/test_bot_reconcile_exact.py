"""Plans to the last share, tick and cent, with a worth that can be checked by hand."""

import pytest

from bot.core.orders.order import State
from bot.core.planning.actions import AmendAction, CancelAction, CreateAction, crosses
from tests.builders.bot import made
from tests.builders.bot.made import LAG_NS, T0
from tests.builders.bot.planned import (
    ASK,
    BID,
    BOTH,
    LATER,
    Ruler,
    ask,
    bid,
    order,
    pace,
    plan,
    quote,
    rests,
)
from venue.wire.money import Outcome, Price, Qty, Side
from venue.wire.requests import Amend

# --- what a wish says -----------------------------------------------------------------------------


@BOTH
def test_a_create_says_what_it_is_and_what_it_gains(side):
    (wish,) = plan([quote(side, 10)], [], worth=Ruler()).actions
    assert isinstance(wish, CreateAction)
    level = 40 if side is BID else 60
    outcome = Outcome.YES if side is BID else Outcome.NO
    assert wish == CreateAction(
        side, Price(level), outcome, Side.BUY, Qty(10), f"quote {side} {level}", 50.0
    )


@BOTH
def test_by_two_routes_each_has_its_part_of_the_gain(side):
    sale, purchase = plan([quote(side, 10)], [], 4, 4, worth=Ruler()).actions
    level = 40 if side is BID else 60
    held, other = (Outcome.NO, Outcome.YES) if side is BID else (Outcome.YES, Outcome.NO)
    text = f"quote {side} {level}"
    assert sale == CreateAction(
        side, Price(level), held, Side.SELL, Qty(4), f"{text} from shares held", 20.0
    )
    assert purchase == CreateAction(side, Price(level), other, Side.BUY, Qty(6), text, 30.0)


@BOTH
def test_a_move_gains_the_back_of_the_new_price_less_what_the_old_one_gave(side):
    own = order(side, 11)
    (wish,) = plan([quote(side, 10)], [own], worth=Ruler()).actions
    price = own.yes_price + (1 if side is BID else -1)
    assert wish == AmendAction(
        own,
        Amend(price=Price(40)),
        False,
        f"moved from {own.yes_price} to {price}",
        10 * 10 / 2 - 10 * 11 / 4,
    )


@BOTH
def test_a_step_back_also_gains_a_tick_a_share_for_each_tick_it_was_too_bold(side):
    own = order(side, 7)
    (wish,) = plan([quote(side, 10)], [own], now_ns=T0, worth=Ruler()).actions
    assert isinstance(wish, AmendAction)
    assert wish.value == 10 * 10 / 2 + 10 * 3


@BOTH
def test_a_shrink_says_how_much_less_is_wanted(side):
    own = order(side, 10)
    (wish,) = plan([quote(side, 10, 6)], [own], worth=Ruler()).actions
    assert wish == AmendAction(own, Amend(qty=Qty(6)), True, "less wanted at this price", 4.0)


@BOTH
def test_a_cancel_of_what_is_not_wanted_is_worth_a_cent_a_share(side):
    own = order(side, 10, 7)
    assert plan([], [own], worth=Ruler()).actions == (CancelAction(own, "no longer wanted", 7.0),)


def test_a_doomed_order_is_cancelled_for_the_reason_it_was_doomed_for():
    own = rests(40, 7)
    own.cancel_requested, own.why, own.due_ns = True, "a fill raced it", LATER
    assert plan([], [own], worth=Ruler()).actions == (CancelAction(own, "a fill raced it", 7.0),)


def test_a_plan_is_looked_at_again_when_the_first_doomed_order_is_due():
    orders = [rests(40 - number, number=number) for number in (1, 2, 3)]
    for own, wait_ns in zip(orders, (7, 3, 5), strict=True):
        own.cancel_requested, own.due_ns = True, LATER + wait_ns
    told = plan([], orders)
    assert (told.actions, told.again_ns) == ((), LATER + 3)


def test_a_doomed_order_whose_answer_is_awaited_is_left_alone():
    own = rests(40, state=State.PENDING_CANCEL)
    own.cancel_requested, own.due_ns = True, LATER
    assert plan([], [own]) == plan([], [])


# --- near enough ----------------------------------------------------------------------------------


@BOTH
@pytest.mark.parametrize(("away", "kept"), [(10, True), (11, True), (12, True), (13, False)])
def test_an_order_stays_up_to_the_tolerance_behind_its_price(side, away, kept):
    dear = Ruler(move=100.0)
    wishes = plan([quote(side, 10)], [order(side, away)], pace=pace(2), worth=dear).actions
    assert (wishes == ()) is kept


@BOTH
@pytest.mark.parametrize(("away", "kept"), [(9, True), (8, True), (7, False)])
def test_a_bolder_order_stays_up_to_the_limit_of_its_quote(side, away, kept):
    wishes = plan([quote(side, 10, limit=8)], [order(side, away)], worth=Ruler()).actions
    assert (wishes == ()) is kept


@BOTH
def test_a_limit_beyond_the_other_sides_quote_counts_up_to_the_tick_before_it(side):
    other = ASK if side is BID else BID
    wanted = [quote(side, 10, limit=2), quote(other, -6)]
    for away, kept in ((7, True), (6, False)):
        plans = plan(wanted, [order(side, away)], worth=Ruler()).actions
        assert (not [wish for wish in plans if isinstance(wish, AmendAction)]) is kept


@BOTH
def test_a_limit_less_bold_than_its_quote_takes_nothing_from_it(side):
    wanted = quote(side, 10, limit=12)
    assert plan([wanted], [order(side, 10)], worth=Ruler()).actions == ()


@BOTH
@pytest.mark.parametrize(("move", "moves"), [(2.25, False), (2.24, True)])
def test_a_move_within_the_tolerance_must_gain_more_than_its_request(side, move, moves):
    # It gains 50 - 27.5 = 22.5 cents with ten shares.
    wishes = plan([quote(side, 10)], [order(side, 11)], pace=pace(1), worth=Ruler(move)).actions
    assert bool(wishes) is moves


@BOTH
@pytest.mark.parametrize(
    ("rests_qty", "wanted_qty", "kept"),
    [(10, 10, True), (12, 8, False), (10, 19, True), (10, 20, False), (14, 10, True)],
)
def test_an_order_near_its_price_stays_only_with_about_the_size_wanted(
    side, rests_qty, wanted_qty, kept
):
    own = order(side, 11, rests_qty)
    dear = Ruler(move=100.0)
    wishes = plan([quote(side, 10, wanted_qty)], [own], pace=pace(1, resize=50), worth=dear).actions
    assert (wishes == ()) is kept


@BOTH
@pytest.mark.parametrize(("rests_qty", "made_qty"), [(6, None), (5, 5), (4, 6)])
def test_a_level_is_filled_up_when_it_lacks_the_part_that_is_worth_a_request(
    side, rests_qty, made_qty
):
    wishes = plan([quote(side, 10)], [order(side, 10, rests_qty)], pace=pace(resize=50)).actions
    assert [wish.qty for wish in wishes] == ([] if made_qty is None else [made_qty])


@BOTH
@pytest.mark.parametrize(("rests_qty", "shrinks"), [(14, False), (15, True)])
def test_an_order_is_shrunk_when_it_has_that_part_too_much(side, rests_qty, shrinks):
    wishes = plan([quote(side, 10)], [order(side, 10, rests_qty)], pace=pace(resize=50)).actions
    assert [wish.amend for wish in wishes] == ([Amend(qty=Qty(10))] if shrinks else [])


def test_where_any_difference_is_worth_a_request_no_difference_is_still_none():
    assert plan([bid(40)], [rests(40)], pace=pace(resize=0)).actions == ()


# --- moving ---------------------------------------------------------------------------------------


@BOTH
@pytest.mark.parametrize("field", ["placed_ns", "last_write_ns"])
def test_a_move_toward_the_touch_waits_from_the_later_of_placing_and_writing(side, field):
    own = order(side, 15)
    setattr(own, field, T0 + 500)
    slow = pace(dwell=LAG_NS)
    ripe_ns = T0 + 500 + LAG_NS
    early = plan([quote(side, 10)], [own], pace=slow, now_ns=ripe_ns - 1)
    assert (early.actions, early.again_ns) == ((), ripe_ns)
    ripe = plan([quote(side, 10)], [own], pace=slow, now_ns=ripe_ns)
    assert ([type(wish) for wish in ripe.actions], ripe.again_ns) == ([AmendAction], None)


@BOTH
def test_an_order_that_waits_to_move_serves_its_level_with_its_size(side):
    own = order(side, 15, 4)
    told = plan([quote(side, 10)], [own], pace=pace(dwell=LAG_NS), now_ns=T0)
    (wish,) = told.actions
    assert isinstance(wish, CreateAction)
    assert wish.qty == 6


@BOTH
def test_a_move_that_would_cross_an_own_order_waits_for_it_and_for_no_time(side):
    other = ASK if side is BID else BID
    own, in_the_way = order(side, 15), order(other, -10, number=2, state=State.NEW_UNKNOWN)
    told = plan([quote(side, 10)], [own, in_the_way])
    assert (told.actions, told.again_ns) == ((), None)


@BOTH
def test_a_move_takes_off_what_is_too_much_and_leaves_the_size_otherwise(side):
    (wish,) = plan([quote(side, 10, 6)], [order(side, 15)]).actions
    assert wish.amend == Amend(price=Price(40), qty=Qty(6))
    moved, added = plan([quote(side, 10, 16)], [order(side, 15)]).actions
    assert moved.amend == Amend(price=Price(40))
    assert (added.price, added.qty) == (50 + (-10 if side is BID else 10), 6)


@BOTH
def test_of_several_at_a_price_the_largest_moves_and_of_equal_ones_the_oldest(side):
    orders = [order(side, 15, qty, number) for number, qty in ((1, 4), (2, 6), (3, 6))]
    orders[0].placed_ns, orders[1].placed_ns, orders[2].placed_ns = T0 - 9, T0 - 1, T0 - 2
    wishes = plan([quote(side, 10, 6)], orders, worth=Ruler()).actions
    assert [wish.order for wish in wishes if isinstance(wish, AmendAction)] == [orders[2]]
    cancels = [wish for wish in wishes if isinstance(wish, CancelAction)]
    assert {id(wish.order) for wish in cancels} == {id(orders[0]), id(orders[1])}


@BOTH
@pytest.mark.parametrize(("held", "gives_way"), [(9, False), (10, True)])
def test_a_purchase_that_must_move_is_cancelled_where_all_of_it_can_be_sold_instead(
    side, held, gives_way
):
    own = order(side, 11)
    wishes = plan([quote(side, 10)], [own], held, held, worth=Ruler()).actions
    if not gives_way:
        assert [type(wish) for wish in wishes] == [AmendAction]
        return
    assert wishes == (CancelAction(own, "shares held now: sold instead", 22.5, instead=True),)
    own.on_cancel_sent()
    assert plan([quote(side, 10)], [own], held, held, worth=Ruler()).actions == ()
    (create,) = plan([quote(side, 10)], [], held, held, worth=Ruler()).actions
    assert (create.side, create.qty) == (Side.SELL, 10)


@BOTH
def test_a_sale_moves_by_an_amend_whatever_is_held(side):
    outcome, price = (Outcome.NO, 61) if side is BID else (Outcome.YES, 61)
    own = made.own(State.OPEN, outcome=outcome, side=Side.SELL, price=price, qty=10)
    assert own.book_side is side
    (wish,) = plan([quote(side, 10)], [own], 40, 40, worth=Ruler()).actions
    assert isinstance(wish, AmendAction)
    assert wish.amend == Amend(price=Price(60))


# --- who serves what ------------------------------------------------------------------------------


@BOTH
def test_of_two_that_could_move_the_one_of_the_right_size_does(side):
    far, near = order(side, 20, 10, 1), order(side, 15, 4, 2)
    wishes = plan([quote(side, 10)], [near, far], worth=Ruler(move=1.0)).actions
    assert {type(wish): wish.order for wish in wishes} == {CancelAction: near, AmendAction: far}


@BOTH
def test_of_two_of_a_size_the_nearer_one_moves_however_they_are_listed(side):
    far, near = order(side, 20, 10, 1), order(side, 15, 10, 2)
    for orders in ([far, near], [near, far]):
        wishes = plan([quote(side, 10)], orders, worth=Ruler(move=1.0)).actions
        assert {type(wish): wish.order for wish in wishes} == {CancelAction: far, AmendAction: near}


@BOTH
def test_a_stand_that_may_stay_serves_its_level_before_one_that_would_move(side):
    stays, moves = order(side, 11, 10, 1), order(side, 8, 10, 2)
    wishes = plan([quote(side, 10)], [moves, stays], pace=pace(1), worth=Ruler(move=5.0)).actions
    assert [(type(wish), wish.order) for wish in wishes] == [(CancelAction, moves)]


@BOTH
def test_orders_to_spare_go_to_the_empty_levels_from_the_touch_outward(side):
    first, second = order(side, 20, 6, 1), order(side, 20, 4, 2)
    third = order(side, 25, 3, 3)
    wanted = [quote(side, away, qty) for away, qty in ((8, 6), (10, 4), (12, 3))]
    wishes = plan(wanted, [third, second, first], worth=Ruler()).actions
    assert {wish.order.remaining: wish.amend.price for wish in wishes} == {
        6: 42,
        4: 40,
        3: 38,
    }


@BOTH
def test_an_order_under_way_serves_the_price_it_goes_to(side):
    own = order(side, 15)
    own.on_amend_sent(Amend(price=Price(40)))
    assert plan([quote(side, 10)], [own]).actions == ()
    (wish,) = plan([quote(side, 10), quote(side, 15)], [own]).actions
    assert isinstance(wish, CreateAction)
    assert abs(wish.price - 50) == 15


@BOTH
@pytest.mark.parametrize(
    "state", [State.PENDING_NEW, State.PENDING_REPLACE, State.PENDING_CANCEL, State.OPEN]
)
def test_what_may_still_rest_elsewhere_is_not_made_anew_beside_it(side, state):
    own = order(side, 15, 10)
    if state is State.PENDING_NEW:
        own = order(side, 15, 10, state=state)
    elif state is State.PENDING_REPLACE:
        own.on_amend_sent(Amend(price=Price(40), qty=Qty(7)))
    elif state is State.PENDING_CANCEL:
        own.on_cancel_sent()
    else:  # its cancel was refused, or has no answer, and is sent again later
        own.cancel_requested, own.due_ns = True, 2 * LATER
    assert plan([quote(side, 20)], [own]).actions == ()
    (wish,) = plan([quote(side, 20, 16)], [own]).actions
    assert isinstance(wish, CreateAction)
    assert wish.qty == 6
    (wish,) = plan([quote(side, 20, 4), quote(side, 30, 16)], [own]).actions
    assert isinstance(wish, CreateAction)
    assert (abs(wish.price - 50), wish.qty) == (30, 10)


@BOTH
@pytest.mark.parametrize(("away", "serves"), [(11, True), (12, False)])
def test_an_order_under_way_near_a_price_serves_it_whole(side, away, serves):
    own, stands = order(side, away, state=State.PENDING_NEW), order(side, 20, number=2)
    wanted = [quote(side, 10, 11)]
    assert plan(wanted, [own], pace=pace(1, resize=10)).actions == ()
    (wish,) = plan(wanted, [own, stands], pace=pace(1, resize=10)).actions
    assert isinstance(wish, CancelAction) is serves


@BOTH
def test_an_order_under_way_between_two_prices_serves_the_nearer(side):
    own = order(side, 12, state=State.PENDING_NEW)
    wanted = [quote(side, 10), quote(side, 11)]
    (wish,) = plan(wanted, [own], pace=pace(2)).actions
    assert abs(wish.price - 50) == 10


@BOTH
def test_beside_one_under_way_at_a_price_an_order_there_stays_for_the_rest(side):
    sent, stands = order(side, 10, 4, 1, state=State.PENDING_NEW), order(side, 10, 9, 2)
    (wish,) = plan([quote(side, 10)], [sent, stands]).actions
    assert wish == AmendAction(stands, Amend(qty=Qty(6)), True, "less wanted at this price", 3.0)


@BOTH
def test_an_order_that_one_under_way_leaves_no_room_for_is_cancelled(side):
    sent, stands = order(side, 10, 10, 1, state=State.PENDING_NEW), order(side, 10, 9, 2)
    (wish,) = plan([quote(side, 10)], [sent, stands]).actions
    assert wish == CancelAction(stands, "no longer wanted", 9.0)


# --- both sides ---------------------------------------------------------------------------------


@BOTH
def test_an_order_that_is_over_crosses_nothing_and_counts_for_nothing(side):
    other = ASK if side is BID else BID
    over = order(other, -10, state=State.CLOSED)
    price = 40 if side is BID else 60
    assert crosses(side, Price(price), [over]) == []
    assert len(plan([quote(side, 10)], [over]).actions) == 1


def test_a_plan_of_nothing_for_nothing_is_nothing():
    told = plan([], [], pace=pace())
    assert (told.actions, told.again_ns) == ((), None)


def test_both_sides_are_planned_and_all_cancels_come_first():
    orders = [rests(30, number=1), rests(70, side=ASK, number=2), rests(41, 1, number=3)]
    orders[2].cancel_requested, orders[2].due_ns = True, LATER
    wishes = plan([bid(35), bid(34), ask(65), ask(66)], orders).actions
    kinds = [type(wish) for wish in wishes]
    assert kinds == [CancelAction, AmendAction, CreateAction, AmendAction, CreateAction]
