"""Who serves what, exactly: the assignment by itself, and the costs that a plan gives it."""

import pytest

from bot.core.orders.order import OwnOrder, State
from bot.core.planning.actions import AmendAction, CancelAction, CreateAction
from bot.core.planning.diff import assign
from tests.builders.bot import made
from tests.builders.bot.planned import BID, BOTH, LATER, Ruler, order, pace, plan, quote
from venue.wire.money import BookSide, Qty
from venue.wire.requests import Amend

# --- the assignment -------------------------------------------------------------------------------


def test_what_is_dearer_by_less_than_rounding_to_one_would_keep_is_still_dearer():
    assert assign([[1e-17]], [0.0], [0.0]) == [None]
    assert assign([[1e-17, 0.0]], [1.0], [0.0, 0.0]) == [1]


# --- what serving a price costs -------------------------------------------------------------------


def away(own: OwnOrder) -> int:
    """Ticks from the fair value."""
    return abs(own.yes_price - 50)


def moved(wishes) -> list[int]:
    """From how far the orders come that move."""
    return [away(wish.order) for wish in wishes if isinstance(wish, AmendAction)]


def cancelled(wishes) -> list[int]:
    """How far from the fair value the orders stand that are cancelled."""
    return [away(wish.order) for wish in wishes if isinstance(wish, CancelAction)]


class Still(Ruler):
    """A worth by which a new order gives nothing, and one that stands loses what it is told to."""

    def __init__(self, losses: dict[str, float]) -> None:
        super().__init__()
        self._losses = losses

    def joining(self, side: BookSide, price: int, qty: int, edge: float) -> float:
        return 0.0

    def staying(self, own: OwnOrder, edge: float) -> float:
        return -self._losses.get(own.client_order_id, 0.0)


@BOTH
@pytest.mark.parametrize(("near_place", "far_place"), [(5.0, 0.0), (0.0, 5.0)])
def test_places_that_are_lost_either_way_do_not_choose_who_moves(side, near_place, far_place):
    near, far = order(side, 15, number=1), order(side, 20, number=2)
    here = Ruler(
        move=0.1, places={near.client_order_id: near_place, far.client_order_id: far_place}
    )
    wishes = plan([quote(side, 10)], [far, near], worth=here).actions
    assert (moved(wishes), cancelled(wishes)) == ([15], [20])


@BOTH
def test_a_stand_of_several_that_is_dear_to_cancel_moves_before_a_nearer_single_one(side):
    first, second = order(side, 20, number=1), order(side, 20, number=2)
    single = order(side, 15, number=3)
    wishes = plan([quote(side, 10)], [single, first, second], worth=Ruler(move=1.0)).actions
    assert (moved(wishes), sorted(cancelled(wishes))) == ([20], [15, 20])


@BOTH
def test_the_size_that_a_mover_is_off_by_is_paid_for_once(side):
    # Ten to eight: twelve cents to move; twelve to eight: sixteen. Alone: ten, and twelve.
    small, large = order(side, 20, 10, 1), order(side, 15, 12, 2)
    wishes = plan([quote(side, 10, 8)], [large, small], worth=Ruler(move=1.0)).actions
    assert (moved(wishes), cancelled(wishes)) == ([20], [15])


@BOTH
def test_a_move_that_costs_more_than_cancel_and_create_still_goes_the_shorter_way(side):
    bolder, nearer = order(side, 5, number=1), order(side, 8, number=2)
    wishes = plan([quote(side, 10, 4)], [bolder, nearer], worth=Ruler(move=1.0)).actions
    assert (moved(wishes), cancelled(wishes)) == ([8], [5])


@BOTH
@pytest.mark.parametrize(("move", "moves_from"), [(0.0004, 15), (0.0006, 20)])
def test_a_way_must_save_more_than_half_of_the_least_request_to_be_preferred(
    side, move, moves_from
):
    # From seven to four by a move rather than by two requests saves one share's request: four, or
    # six, parts in ten of the least one. From ten to four nothing is saved.
    saves, nearer = order(side, 20, 7, 1), order(side, 15, 10, 2)
    wishes = plan([quote(side, 10, 4)], [nearer, saves], worth=Ruler(move)).actions
    assert moved(wishes) == [moves_from]


@BOTH
@pytest.mark.parametrize(("nearer_loses", "stays"), [(0.0, 11), (4e-7, 11), (6e-7, 12), (1e-6, 12)])
def test_a_tick_nearer_weighs_half_a_millionth_of_a_cent_among_those_that_may_stay(
    side, nearer_loses, stays
):
    nearer, farther = order(side, 11, number=1), order(side, 12, number=2)
    here = Still({nearer.client_order_id: nearer_loses})
    wishes = plan([quote(side, 10)], [farther, nearer], pace=pace(2), worth=here).actions
    assert (moved(wishes), cancelled(wishes)) == ([], [23 - stays])


@BOTH
def test_a_stand_serves_its_own_price_before_a_new_order_comes_there(side):
    # Left for the price of a hundred it would be joined by the one, and then be taken for too much.
    own = order(side, 11, 100)
    wanted = [quote(side, 10, 100), quote(side, 11, 1)]
    wishes = plan(wanted, [own], pace=pace(1), worth=Ruler(move=5.0)).actions
    shrunk = next(wish for wish in wishes if isinstance(wish, AmendAction))
    assert (shrunk.order, shrunk.amend) == (own, Amend(qty=1))
    (made_new,) = [wish for wish in wishes if isinstance(wish, CreateAction)]
    assert (abs(made_new.price - 50), made_new.qty) == (10, 100)


@BOTH
def test_a_stand_serves_its_own_price_before_another_moves_there(side):
    near, far = order(side, 10, 4, 1), order(side, 11, 2, 2)
    wanted = [quote(side, 9, 4), quote(side, 10, 4)]
    move, rest = plan(wanted, [near, far], pace=pace(1, resize=5)).actions
    assert (move.order, move.amend) == (far, Amend(price=41))
    assert (abs(rest.price - 50), rest.qty) == (9, 2)


@BOTH
def test_stands_all_a_tick_behind_their_prices_stay_though_each_has_the_price_of_another(side):
    stands = [order(side, away, number=away) for away in (11, 12, 13)]
    wanted = [quote(side, away) for away in (10, 11, 12)]
    assert plan(wanted, stands, pace=pace(1), worth=Ruler(move=5.0)).actions == ()


def test_an_order_with_nothing_left_is_not_taken_for_one_of_the_right_size():
    spent, near = order(BID, 20, number=1), order(BID, 15, number=2)
    spent.on_fills_shown(made.shown(spent, filled=10, remaining=0))
    assert (spent.state, spent.remaining) == (State.OPEN, 0)
    cancel, move = plan([quote(BID, 10, 1)], [spent, near], worth=Ruler()).actions
    assert cancel == CancelAction(spent, "no longer wanted", 0.0)
    assert moved([move]) == [15]


# --- near enough ----------------------------------------------------------------------------------


@BOTH
@pytest.mark.parametrize(("move", "moves"), [(2.25, False), (2.24, True)])
def test_a_move_of_several_must_gain_with_all_of_them_more_than_its_request(side, move, moves):
    # Ten shares gain 22.5 cents, whether they are one order or two.
    orders = [order(side, 11, 5, number) for number in (1, 2)]
    wishes = plan([quote(side, 10)], orders, pace=pace(1), worth=Ruler(move)).actions
    assert bool(wishes) is moves


@BOTH
def test_a_step_back_from_the_limit_itself_avoids_no_loss(side):
    own = order(side, 8, 20)
    (wish,) = plan([quote(side, 10, limit=8)], [own], worth=Ruler()).actions
    assert isinstance(wish, AmendAction)
    assert wish.value == 20 * 10 / 2 - 20 * 8 / 4
    own = order(side, 7, 20)
    (wish,) = plan([quote(side, 10, limit=8)], [own], worth=Ruler()).actions
    assert wish.value == 20 * 10 / 2 + 20 * 3


@BOTH
def test_a_share_in_a_hundred_and_one_is_less_than_the_hundredth_part(side):
    assert plan([quote(side, 10, 101)], [order(side, 10, 100)]).actions == ()
    (wish,) = plan([quote(side, 10, 100)], [order(side, 10, 99)]).actions
    assert isinstance(wish, CreateAction)


@BOTH
def test_several_at_a_price_that_wait_to_move_serve_their_level_with_all_their_shares(side):
    orders = [order(side, 15, 4, number) for number in (1, 2)]
    (wish,) = plan([quote(side, 10)], orders, pace=pace(dwell=LATER), worth=Ruler()).actions
    assert isinstance(wish, CreateAction)
    assert wish.qty == 2


# --- under way ------------------------------------------------------------------------------------


@BOTH
def test_a_doomed_order_hides_none_that_is_listed_after_it(side):
    doomed, stands = order(side, 15, number=1), order(side, 10, number=2)
    doomed.cancel_requested, doomed.due_ns = True, LATER + 1
    assert plan([quote(side, 10)], [doomed, stands]).actions == ()


@BOTH
def test_each_of_two_orders_under_way_serves_its_price(side):
    orders = [order(side, far, number=far, state=State.PENDING_NEW) for far in (10, 11)]
    assert plan([quote(side, 10), quote(side, 11)], orders).actions == ()


@BOTH
def test_an_order_whose_size_is_being_changed_serves_the_price_where_it_stands(side):
    own = order(side, 10)
    own.on_amend_sent(Amend(qty=Qty(6)))
    assert plan([quote(side, 10, 6)], [own]).actions == ()


@BOTH
def test_an_order_at_a_price_that_one_under_way_serves_from_near_is_to_spare(side):
    sent, stands = order(side, 11, number=1, state=State.PENDING_NEW), order(side, 10, 9, 2)
    (wish,) = plan([quote(side, 10)], [sent, stands], pace=pace(1)).actions
    assert wish == CancelAction(stands, "no longer wanted", 9.0)
