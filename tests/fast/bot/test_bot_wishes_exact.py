"""What may be sold, what must not be crossed, what is wished for: to the last share and tick."""

import pytest

from bot.core.orders.order import State
from bot.core.planning.actions import (
    AmendAction,
    CancelAction,
    CreateAction,
    crosses,
    free_shares,
)
from tests.builders.bot import made
from tests.builders.bot.made import LAG_NS, T0
from tests.builders.bot.planned import (
    ASK,
    BID,
    BOTH,
    LATER,
    Ruler,
    order,
    pace,
    plan,
    quote,
    rests,
    siblings,
)
from venue.wire.money import Outcome, Price, Qty, Side


def test_what_our_sales_may_still_sell_is_not_free_and_purchases_take_nothing():
    orders = [
        made.own(State.OPEN, side=Side.SELL, qty=4, number=1),
        made.own(State.NEW_UNKNOWN, side=Side.SELL, qty=2, number=2),
        made.own(State.OPEN, outcome=Outcome.NO, side=Side.SELL, qty=7, number=3),
        made.own(State.OPEN, outcome=Outcome.NO, side=Side.BUY, qty=90, number=4),
    ]
    assert free_shares(Qty(10), Qty(5), orders) == (4, -2)


@pytest.mark.parametrize(("price", "meets"), [(59, False), (60, True), (61, True)])
def test_a_bid_crosses_our_asks_at_and_below_its_price(price, meets):
    own = rests(60, side=ASK)
    assert crosses(BID, Price(price), [own, rests(30)]) == ([own] if meets else [])


@pytest.mark.parametrize(("price", "meets"), [(41, False), (40, True), (39, True)])
def test_an_ask_crosses_our_bids_at_and_above_its_price(price, meets):
    own = rests(40)
    assert crosses(ASK, Price(price), [own, rests(70, side=ASK)]) == ([own] if meets else [])


# --- what a plan wishes for -----------------------------------------------------------------------


@BOTH
def test_an_order_that_gives_way_twice_is_cancelled_once_for_the_first_reason(side):
    """It is to move for a share held, and a larger one comes to its price, where one may be."""
    own, comes, spare = order(side, 8, 1), order(side, 9, 3, 2), order(side, 9, 1, 3)
    here = Ruler(places={comes.client_order_id: 99.0})
    wanted, tight = [quote(side, 10, 1), quote(side, 8, 5)], pace(1, resize=25, siblings=1)
    wishes = plan(wanted, [own, comes, spare], 1, 1, pace=tight, worth=here).actions
    assert wishes[0] == CancelAction(own, "shares held now: sold instead", 7.0)
    assert [wish.order for wish in wishes] == [own, spare, comes]


@BOTH
def test_two_prices_that_lack_shares_sell_what_is_held_beside_their_purchases(side):
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
def test_all_orders_that_an_older_one_leaves_no_room_for_are_cancelled(side):
    oldest, *others = siblings(side, 3, 10)
    wishes = plan([quote(side, 10)], [oldest, *others], worth=Ruler()).actions
    assert [(type(wish), wish.order) for wish in wishes] == [(CancelAction, own) for own in others]


@BOTH
@pytest.mark.parametrize("is_doomed", [True, False])
def test_the_newest_at_a_price_does_not_give_way_while_it_is_under_way_or_going(side, is_doomed):
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
def test_a_move_that_is_ripe_this_instant_and_would_cross_waits_for_no_time(side):
    other = ASK if side is BID else BID
    own, in_the_way = order(side, 15), order(other, -10, number=2, state=State.NEW_UNKNOWN)
    told = plan([quote(side, 10)], [own, in_the_way], pace=pace(dwell=LAG_NS), now_ns=T0 + LAG_NS)
    assert (told.actions, told.again_ns) == ((), None)


@BOTH
def test_only_shares_of_the_outcome_that_the_purchase_pairs_with_can_be_sold_instead(side):
    own = order(side, 11)
    yes, no = (0, 10) if side is BID else (10, 0)
    (cancel,) = plan([quote(side, 10)], [own], yes, no, worth=Ruler()).actions
    assert cancel == CancelAction(own, "shares held now: sold instead", 22.5, instead=True)
    (create,) = plan([quote(side, 10)], [], yes, no, worth=Ruler()).actions
    assert (create.side, create.qty) == (Side.SELL, 10)
    (wish,) = plan([quote(side, 10)], [own], no, yes, worth=Ruler()).actions
    assert isinstance(wish, AmendAction)


@BOTH
def test_an_order_to_spare_goes_to_the_empty_price_nearest_to_the_touch(side):
    orders = [order(side, 20, number=number) for number in (1, 2)]
    wishes = plan([quote(side, away) for away in (8, 10, 12)], orders, worth=Ruler()).actions
    amended = {wish.amend.price for wish in wishes if isinstance(wish, AmendAction)}
    made_new = [abs(wish.price - 50) for wish in wishes if isinstance(wish, CreateAction)]
    assert (amended, made_new) == ({42, 38}, [10])


@BOTH
def test_the_rest_of_a_stand_at_a_price_that_is_wanted_too_waits_for_no_time(side):
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
