"""Plans: how wanted quotes become creates, amends and cancels, to the last share, tick and cent."""

import pytest

from bot.core.orders.order import OrderEvent, State
from bot.core.planning.actions import AmendAction, CancelAction, CreateAction, crosses, free_shares
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
    siblings,
)
from venue.wire.money import Outcome, Price, Qty, Side
from venue.wire.requests import Amend


@BOTH
def test_a_create_has_the_value_of_its_expected_fills(side):
    (wish,) = plan([quote(side, 10)], [], worth=Ruler()).actions
    assert isinstance(wish, CreateAction)
    level = 40 if side is BID else 60
    outcome = Outcome.YES if side is BID else Outcome.NO
    assert wish == CreateAction(
        side, Price(level), outcome, Side.BUY, Qty(10), f"quote {side} {level}", 50.0
    )


@BOTH
def test_two_routes_share_the_value_of_a_quote_by_size(side):
    sale, purchase = plan([quote(side, 10)], [], 4, 4, worth=Ruler()).actions
    level = 40 if side is BID else 60
    held, other = (Outcome.NO, Outcome.YES) if side is BID else (Outcome.YES, Outcome.NO)
    text = f"quote {side} {level}"
    assert sale == CreateAction(
        side, Price(level), held, Side.SELL, Qty(4), f"{text} from shares held", 20.0
    )
    assert purchase == CreateAction(side, Price(level), other, Side.BUY, Qty(6), text, 30.0)


@BOTH
def test_a_move_gains_the_value_at_the_new_price_less_that_at_the_old(side):
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
def test_a_step_back_also_gains_a_cent_a_share_for_each_tick_too_bold(side):
    own = order(side, 7)
    (wish,) = plan([quote(side, 10)], [own], now_ns=T0, worth=Ruler()).actions
    assert isinstance(wish, AmendAction)
    assert wish.value == 10 * 10 / 2 + 10 * 3


@BOTH
def test_a_reduction_keeps_its_place_and_is_worth_a_cent_a_share(side):
    own = order(side, 10)
    (wish,) = plan([quote(side, 10, 6)], [own], worth=Ruler()).actions
    assert wish == AmendAction(own, Amend(qty=Qty(6)), True, "less wanted at this price", 4.0)


@BOTH
def test_a_cancel_of_an_unwanted_order_is_worth_a_cent_a_share(side):
    own = order(side, 10, 7)
    assert plan([], [own], worth=Ruler()).actions == (CancelAction(own, "no longer wanted", 7.0),)


def test_an_order_to_be_cancelled_is_cancelled_for_its_reason_when_it_is_due():
    orders = [rests(40 - number, 7, number=number) for number in (1, 2, 3)]
    for own, wait_ns in zip(orders, (7, 3, 5), strict=True):
        own.cancel_requested, own.why, own.due_ns = True, f"reason {wait_ns}", LATER + wait_ns
    early = plan([], orders)
    assert (early.actions, early.again_ns) == ((), LATER + 3)
    due = plan([], orders, now_ns=LATER + 3, worth=Ruler())
    assert due.actions == (CancelAction(orders[1], "reason 3", 7.0),)


def test_an_order_with_a_cancel_in_flight_is_left_alone():
    own = rests(40, state=State.PENDING_CANCEL)
    own.cancel_requested, own.due_ns = True, LATER
    assert plan([], [own]) == plan([], [])


@BOTH
@pytest.mark.parametrize(("away", "kept"), [(10, True), (11, True), (12, True), (13, False)])
def test_an_order_stays_up_to_the_tolerance_behind_its_price(side, away, kept):
    dear = Ruler(move=100.0)
    wishes = plan([quote(side, 10)], [order(side, away)], pace=pace(2), worth=dear).actions
    assert (wishes == ()) is kept


@BOTH
@pytest.mark.parametrize(("away", "kept"), [(9, True), (8, True), (7, False)])
def test_a_bolder_order_stays_up_to_the_price_limit_of_its_quote(side, away, kept):
    wishes = plan([quote(side, 10, limit=8)], [order(side, away)], worth=Ruler()).actions
    assert (wishes == ()) is kept


@BOTH
def test_a_price_limit_ends_a_tick_before_the_quote_of_the_other_side(side):
    other = ASK if side is BID else BID
    wanted = [quote(side, 10, limit=2), quote(other, -6)]
    for away, kept in ((7, True), (6, False)):
        plans = plan(wanted, [order(side, away)], worth=Ruler()).actions
        assert (not [wish for wish in plans if isinstance(wish, AmendAction)]) is kept


@BOTH
def test_a_price_limit_behind_its_quote_changes_nothing(side):
    wanted = quote(side, 10, limit=12)
    assert plan([wanted], [order(side, 10)], worth=Ruler()).actions == ()


@BOTH
@pytest.mark.parametrize(("move", "moves"), [(2.25, False), (2.24, True)])
def test_a_move_within_the_tolerance_must_gain_more_than_its_request_costs(side, move, moves):
    # It gains 50 - 27.5 = 22.5 cents with ten shares.
    wishes = plan([quote(side, 10)], [order(side, 11)], pace=pace(1), worth=Ruler(move)).actions
    assert bool(wishes) is moves


@BOTH
@pytest.mark.parametrize(
    ("rests_qty", "wanted_qty", "kept"),
    [(10, 10, True), (12, 8, False), (10, 19, True), (10, 20, False), (14, 10, True)],
)
def test_an_order_near_its_price_stays_only_at_about_the_wanted_size(
    side, rests_qty, wanted_qty, kept
):
    own = order(side, 11, rests_qty)
    dear = Ruler(move=100.0)
    wishes = plan([quote(side, 10, wanted_qty)], [own], pace=pace(1, resize=50), worth=dear).actions
    assert (wishes == ()) is kept


@BOTH
@pytest.mark.parametrize(
    ("rests_qty", "creates", "amends"),
    [(4, [6], []), (5, [5], []), (6, [], []), (14, [], []), (15, [], [Amend(qty=Qty(10))])],
)
def test_a_level_is_filled_up_or_reduced_when_half_of_its_size_is_off(
    side, rests_qty, creates, amends
):
    wishes = plan([quote(side, 10)], [order(side, 10, rests_qty)], pace=pace(resize=50)).actions
    assert [wish.qty for wish in wishes if isinstance(wish, CreateAction)] == creates
    assert [wish.amend for wish in wishes if isinstance(wish, AmendAction)] == amends


@BOTH
@pytest.mark.parametrize("field", ["placed_ns", "last_write_ns"])
def test_the_dwell_of_a_move_toward_the_touch_counts_from_the_last_write(side, field):
    own = order(side, 15)
    setattr(own, field, T0 + 500)
    slow = pace(dwell=LAG_NS)
    ripe_ns = T0 + 500 + LAG_NS
    early = plan([quote(side, 10)], [own], pace=slow, now_ns=ripe_ns - 1)
    assert (early.actions, early.again_ns) == ((), ripe_ns)
    ripe = plan([quote(side, 10)], [own], pace=slow, now_ns=ripe_ns)
    assert ([type(wish) for wish in ripe.actions], ripe.again_ns) == ([AmendAction], None)


@BOTH
def test_the_size_of_an_order_waiting_to_move_counts_for_its_level(side):
    own = order(side, 15, 4)
    step = plan([quote(side, 10)], [own], pace=pace(dwell=LAG_NS), now_ns=T0)
    (wish,) = step.actions
    assert isinstance(wish, CreateAction)
    assert wish.qty == 6


@BOTH
def test_a_move_that_would_cross_an_own_order_waits_for_that_order(side):
    other = ASK if side is BID else BID
    own, in_the_way = order(side, 15), order(other, -10, number=2, state=State.NEW_UNKNOWN)
    step = plan([quote(side, 10)], [own, in_the_way])
    assert (step.actions, step.again_ns) == ((), None)


@BOTH
def test_a_move_also_reduces_the_size_but_never_enlarges_it(side):
    (wish,) = plan([quote(side, 10, 6)], [order(side, 15)]).actions
    assert wish.amend == Amend(price=Price(40), qty=Qty(6))
    moved, added = plan([quote(side, 10, 16)], [order(side, 15)]).actions
    assert moved.amend == Amend(price=Price(40))
    assert (added.price, added.qty) == (50 + (-10 if side is BID else 10), 6)


@BOTH
def test_the_largest_and_then_the_oldest_order_of_a_price_moves(side):
    orders = [order(side, 15, qty, number) for number, qty in ((1, 4), (2, 6), (3, 6))]
    orders[0].placed_ns, orders[1].placed_ns, orders[2].placed_ns = T0 - 9, T0 - 1, T0 - 2
    wishes = plan([quote(side, 10, 6)], orders, worth=Ruler()).actions
    assert [wish.order for wish in wishes if isinstance(wish, AmendAction)] == [orders[2]]
    cancels = [wish for wish in wishes if isinstance(wish, CancelAction)]
    assert {id(wish.order) for wish in cancels} == {id(orders[0]), id(orders[1])}


@BOTH
@pytest.mark.parametrize(("held", "is_cancelled"), [(9, False), (10, True)])
def test_a_purchase_that_must_move_is_cancelled_if_all_of_it_can_be_sold_instead(
    side, held, is_cancelled
):
    own = order(side, 11)
    wishes = plan([quote(side, 10)], [own], held, held, worth=Ruler()).actions
    if not is_cancelled:
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


@BOTH
def test_of_two_orders_the_one_of_the_right_size_moves(side):
    far, near = order(side, 20, 10, 1), order(side, 15, 4, 2)
    wishes = plan([quote(side, 10)], [near, far], worth=Ruler(move=1.0)).actions
    assert {type(wish): wish.order for wish in wishes} == {CancelAction: near, AmendAction: far}


@BOTH
def test_of_two_orders_of_a_size_the_nearer_moves(side):
    far, near = order(side, 20, 10, 1), order(side, 15, 10, 2)
    for orders in ([far, near], [near, far]):
        wishes = plan([quote(side, 10)], orders, worth=Ruler(move=1.0)).actions
        assert {type(wish): wish.order for wish in wishes} == {CancelAction: far, AmendAction: near}


@BOTH
def test_an_order_that_may_stay_serves_its_level_before_one_that_would_move(side):
    stays, moves = order(side, 11, 10, 1), order(side, 8, 10, 2)
    wishes = plan([quote(side, 10)], [moves, stays], pace=pace(1), worth=Ruler(move=5.0)).actions
    assert [(type(wish), wish.order) for wish in wishes] == [(CancelAction, moves)]


@BOTH
def test_spare_orders_move_to_the_empty_levels_from_the_touch_outward(side):
    first, second = order(side, 20, 6, 1), order(side, 20, 4, 2)
    third = order(side, 25, 3, 3)
    wanted = [quote(side, away, qty) for away, qty in ((8, 6), (10, 4), (12, 3))]
    wishes = plan(wanted, [third, second, first], worth=Ruler()).actions
    assert {wish.order.remaining: wish.amend.price for wish in wishes} == {6: 42, 4: 40, 3: 38}


@BOTH
def test_an_order_with_an_amend_in_flight_serves_its_new_price(side):
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
def test_size_that_may_still_rest_elsewhere_is_not_created_again(side, state):
    own = order(side, 15, 10)
    if state is State.PENDING_NEW:
        own = order(side, 15, 10, state=state)
    elif state is State.PENDING_REPLACE:
        own.on_amend_sent(Amend(price=Price(40), qty=Qty(7)))
    elif state is State.PENDING_CANCEL:
        own.on_cancel_sent()
    else:  # its cancel was rejected or timed out, and is sent again later
        own.cancel_requested, own.due_ns = True, 2 * LATER
    assert plan([quote(side, 20)], [own]).actions == ()
    for wanted, away, qty in (
        ([quote(side, 20, 16)], 20, 6),
        ([quote(side, 20, 4), quote(side, 30, 16)], 30, 10),
    ):
        (wish,) = plan(wanted, [own]).actions
        assert isinstance(wish, CreateAction)
        assert (abs(wish.price - 50), wish.qty) == (away, qty)


@BOTH
@pytest.mark.parametrize(("away", "serves"), [(11, True), (12, False)])
def test_a_create_in_flight_near_a_price_serves_all_of_it(side, away, serves):
    own, resting = order(side, away, state=State.PENDING_NEW), order(side, 20, number=2)
    wanted = [quote(side, 10, 11)]
    assert plan(wanted, [own], pace=pace(1, resize=10)).actions == ()
    (wish,) = plan(wanted, [own, resting], pace=pace(1, resize=10)).actions
    assert isinstance(wish, CancelAction) is serves


@BOTH
def test_a_create_in_flight_between_two_prices_serves_the_nearer(side):
    own = order(side, 12, state=State.PENDING_NEW)
    wanted = [quote(side, 10), quote(side, 11)]
    (wish,) = plan(wanted, [own], pace=pace(2)).actions
    assert abs(wish.price - 50) == 10


@BOTH
def test_an_order_is_reduced_by_the_size_of_a_create_in_flight_at_its_price(side):
    sent, resting = order(side, 10, 4, 1, state=State.PENDING_NEW), order(side, 10, 9, 2)
    (wish,) = plan([quote(side, 10)], [sent, resting]).actions
    assert wish == AmendAction(resting, Amend(qty=Qty(6)), True, "less wanted at this price", 3.0)


@BOTH
def test_an_order_is_cancelled_if_a_create_in_flight_covers_its_price(side):
    sent, resting = order(side, 10, 10, 1, state=State.PENDING_NEW), order(side, 10, 9, 2)
    (wish,) = plan([quote(side, 10)], [sent, resting]).actions
    assert wish == CancelAction(resting, "no longer wanted", 9.0)


@BOTH
def test_a_closed_order_crosses_nothing_and_serves_no_quote(side):
    other = ASK if side is BID else BID
    over = order(other, -10, state=State.CLOSED)
    price = 40 if side is BID else 60
    assert crosses(side, Price(price), [over]) == []
    assert len(plan([quote(side, 10)], [over]).actions) == 1


def test_a_plan_of_both_sides_has_its_cancels_first():
    orders = [rests(30, number=1), rests(70, side=ASK, number=2), rests(41, 1, number=3)]
    orders[2].cancel_requested, orders[2].due_ns = True, LATER
    wishes = plan([bid(35), bid(34), ask(65), ask(66)], orders).actions
    kinds = [type(wish) for wish in wishes]
    assert kinds == [CancelAction, AmendAction, CreateAction, AmendAction, CreateAction]


@pytest.mark.parametrize(
    ("quote", "yes", "no", "routes"),
    [
        (bid(40), 0, 0, [(Outcome.YES, Side.BUY, 10)]),
        (bid(40), 0, 4, [(Outcome.NO, Side.SELL, 4), (Outcome.YES, Side.BUY, 6)]),
        (bid(40), 9, 10, [(Outcome.NO, Side.SELL, 10)]),
        (ask(60), 0, 0, [(Outcome.NO, Side.BUY, 10)]),
        (ask(60), 4, 0, [(Outcome.YES, Side.SELL, 4), (Outcome.NO, Side.BUY, 6)]),
        (ask(60), 10, 9, [(Outcome.YES, Side.SELL, 10)]),
    ],
)
def test_held_shares_are_sold_before_the_other_outcome_is_bought(quote, yes, no, routes):
    wishes = plan([quote], [], yes, no).actions
    assert [(wish.outcome, wish.side, wish.qty) for wish in wishes] == routes


@pytest.mark.parametrize("state", [State.NEW_UNKNOWN, State.REPLACE_UNKNOWN])
def test_no_order_is_created_while_one_of_its_side_is_unknown(state):
    orders = [rests(30, state=state)]
    assert plan([bid(40)], orders).actions == ()


def test_an_order_whose_amend_timed_out_is_cancelled():
    own = rests(45)
    own.on_amend_sent(Amend(price=Price(40)))
    assert plan([bid(40)], [own]).actions == ()
    own.on_answer(OrderEvent.TIMEOUT, LATER)
    wishes = plan([bid(40)], [own]).actions
    assert [wish.order for wish in wishes] == [own]
    assert all(isinstance(wish, CancelAction) for wish in wishes)


@pytest.mark.parametrize(
    "state", [State.PENDING_NEW, State.PENDING_REPLACE, State.NEW_UNKNOWN, State.REPLACE_UNKNOWN]
)
def test_an_order_with_a_write_in_flight_or_unknown_is_left_alone(state):
    own = rests(40, state=state)
    assert not [w for w in plan([], [own]).actions if not isinstance(w, CreateAction)]


@pytest.mark.parametrize(
    "state",
    [
        State.PENDING_NEW,
        State.NEW_UNKNOWN,
        State.OPEN,
        State.REPLACE_UNKNOWN,
        State.PENDING_CANCEL,
        State.CLOSED_UNCONFIRMED,
    ],
)
def test_no_order_is_created_that_would_cross_an_own_order_in_any_state(state):
    own = rests(42, side=ASK, state=state)
    wishes = plan([bid(42), ask(60)], [own]).actions
    assert not [wish for wish in wishes if isinstance(wish, CreateAction) and wish.book_side is BID]


def test_both_prices_of_an_amend_in_flight_count_as_crossed():
    own = rests(60, side=ASK)
    own.on_amend_sent(Amend(price=Price(55)))  # NO at 55 is YES at 45
    assert crosses(BID, Price(45), [own]) == [own]
    assert crosses(BID, Price(44), [own]) == []


def test_shares_that_resting_sales_may_sell_are_not_free():
    orders = [
        made.own(State.OPEN, side=Side.SELL, qty=4, number=1),
        made.own(State.NEW_UNKNOWN, side=Side.SELL, qty=2, number=2),
        made.own(State.OPEN, outcome=Outcome.NO, side=Side.SELL, qty=7, number=3),
        made.own(State.OPEN, outcome=Outcome.NO, side=Side.BUY, qty=90, number=4),
    ]
    assert free_shares(Qty(10), Qty(5), orders) == (4, -2)


@BOTH
@pytest.mark.parametrize(("away", "crosses_it"), [(9, True), (10, True), (11, False)])
def test_an_order_crosses_own_orders_of_the_other_side_at_or_beyond_its_price(
    side, away, crosses_it
):
    other = ASK if side is BID else BID
    own, behind = order(other, -10), order(side, 30)
    price = 50 - away if side is BID else 50 + away
    assert crosses(side, Price(price), [own, behind]) == ([own] if crosses_it else [])


@BOTH
def test_an_order_with_two_reasons_to_be_cancelled_is_cancelled_once_for_the_first(side):
    """It is to move for a share held, and a larger one comes to its price, where one may be."""
    own, comes, spare = order(side, 8, 1), order(side, 9, 3, 2), order(side, 9, 1, 3)
    here = Ruler(places={comes.client_order_id: 99.0})
    wanted, tight = [quote(side, 10, 1), quote(side, 8, 5)], pace(1, resize=25, siblings=1)
    wishes = plan(wanted, [own, comes, spare], 1, 1, pace=tight, worth=here).actions
    assert wishes[0] == CancelAction(own, "shares held now: sold instead", 7.0)
    assert [wish.order for wish in wishes] == [own, spare, comes]


@BOTH
def test_two_prices_that_lack_shares_both_sell_held_shares(side):
    """No purchase gives way to what both sell at once."""
    own, dear = order(side, 10, 5), order(side, 9, 5, 2)
    here = Ruler(capital=1.0, places={dear.client_order_id: 99.0})
    wanted, tight = [quote(side, 9), quote(side, 10)], pace(siblings=1)
    creates = plan(wanted, [own, dear], 10, 10, pace=tight, worth=here).actions
    assert [(type(wish), wish.side, wish.qty) for wish in creates] == [
        (CreateAction, Side.SELL, 5),
        (CreateAction, Side.SELL, 5),
    ]


@BOTH
def test_orders_that_an_older_one_leaves_no_size_for_are_cancelled(side):
    oldest, *others = siblings(side, 3, 10)
    wishes = plan([quote(side, 10)], [oldest, *others], worth=Ruler()).actions
    assert [(type(wish), wish.order) for wish in wishes] == [(CancelAction, own) for own in others]


@BOTH
@pytest.mark.parametrize("is_doomed", [True, False])
def test_the_newest_order_at_a_price_is_not_merged_while_a_write_or_cancel_of_it_is_due(
    side, is_doomed
):
    orders = siblings(side, 2)
    orders[1].due_ns = LATER + 1
    if is_doomed:
        orders[1].cancel_requested = True
    else:
        orders[1].state = State.PENDING_NEW
    (wish,) = plan([quote(side, 10)], orders, worth=Ruler()).actions
    assert isinstance(wish, CreateAction)
    assert wish.qty == 6


@BOTH
def test_only_shares_of_the_other_outcome_are_sold_instead_of_a_purchase(side):
    own = order(side, 11)
    yes, no = (0, 10) if side is BID else (10, 0)
    (cancel,) = plan([quote(side, 10)], [own], yes, no, worth=Ruler()).actions
    assert cancel == CancelAction(own, "shares held now: sold instead", 22.5, instead=True)
    (create,) = plan([quote(side, 10)], [], yes, no, worth=Ruler()).actions
    assert (create.side, create.qty) == (Side.SELL, 10)
    (wish,) = plan([quote(side, 10)], [own], no, yes, worth=Ruler()).actions
    assert isinstance(wish, AmendAction)


@BOTH
def test_the_remaining_orders_of_a_price_that_is_still_wanted_wait_for_no_time(side):
    # The older one moves a tick, which gains 11.25 cents and saves a larger new order.
    older, newer = order(side, 11, 5, 1), order(side, 11, 5, 2)
    newer.placed_ns = LATER
    wanted = [quote(side, 10, 19), quote(side, 11, 5)]
    slow = pace(1, dwell=LAG_NS, resize=50)
    told = plan(wanted, [older, newer], pace=slow, worth=Ruler(move=2.1))
    assert older in [wish.order for wish in told.actions if isinstance(wish, AmendAction)]
    assert newer not in [getattr(wish, "order", None) for wish in told.actions]
    created = [wish.price for wish in told.actions if isinstance(wish, CreateAction)]
    assert wanted[1].price not in created
    assert told.again_ns is None
