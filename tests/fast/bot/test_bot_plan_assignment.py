"""Which resting order serves which wanted price: the assignment of least cost, and its costs."""

import itertools
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.core.orders.order import OwnOrder, State
from bot.core.planning.actions import AmendAction, CancelAction, CreateAction
from bot.core.planning.diff import assign
from tests.builders.bot import made
from tests.builders.bot.planned import BID, BOTH, LATER, Ruler, order, pace, plan, quote
from venue.wire.money import BookSide, Qty
from venue.wire.requests import Amend


def total(costs, row_alone, column_alone, chosen) -> float:
    used = {column for column in chosen if column is not None}
    rows = sum(
        row_alone[row] if column is None else costs[row][column]
        for row, column in enumerate(chosen)
    )
    return rows + sum(cost for column, cost in enumerate(column_alone) if column not in used)


def least(costs, row_alone, column_alone) -> float:
    """The least cost by trying everything."""
    rows, columns = len(row_alone), len(column_alone)
    options: list[Any] = [*range(columns), *(None for _ in range(rows))]
    return min(
        total(costs, row_alone, column_alone, chosen)
        for chosen in itertools.permutations(options, rows)
    )


@st.composite
def cases(draw):
    rows, columns = draw(st.integers(0, 4)), draw(st.integers(0, 4))
    cost = st.one_of(st.integers(0, 5).map(float), st.floats(0, 9, allow_nan=False))
    line = st.lists(cost, min_size=columns, max_size=columns)
    return (
        draw(st.lists(line, min_size=rows, max_size=rows)),
        draw(st.lists(cost, min_size=rows, max_size=rows)),
        draw(line),
    )


@settings(max_examples=80, deadline=None)
@given(cases())
def test_no_assignment_costs_less(case):
    chosen = assign(*case)
    given_away = [column for column in chosen if column is not None]
    assert len(given_away) == len(set(given_away))
    assert abs(total(*case, chosen) - least(*case)) < 1e-9


@pytest.mark.parametrize(
    ("costs", "row_alone", "column_alone", "chosen"),
    [
        ([[5.0]], [1.0], [1.0], [None]),
        ([[1.5]], [1.0], [1.0], [0]),
        ([[0.0, 1.0], [1.0, 9.0]], [20.0, 20.0], [20.0, 20.0], [1, 0]),
        ([], [], [3.0], []),
        ([[], []], [1.0, 1.0], [], [None, None]),
        # Dearer by less than rounding to one would keep.
        ([[1e-17]], [0.0], [0.0], [None]),
        ([[1e-17, 0.0]], [1.0], [0.0, 0.0], [1]),
    ],
)
def test_rows_and_columns_are_paired_where_that_is_cheaper(costs, row_alone, column_alone, chosen):
    assert assign(costs, row_alone, column_alone) == chosen


def away(own: OwnOrder) -> int:
    return abs(own.yes_price - 50)


def moved(wishes) -> list[int]:
    return [away(wish.order) for wish in wishes if isinstance(wish, AmendAction)]


def cancelled(wishes) -> list[int]:
    return [away(wish.order) for wish in wishes if isinstance(wish, CancelAction)]


class Still(Ruler):
    """A worth: a new order gives nothing, and a resting one loses what the table says."""

    def __init__(self, losses: dict[str, float]) -> None:
        super().__init__()
        self._losses = losses

    def joining(self, side: BookSide, price: int, qty: int, edge: float) -> float:
        return 0.0

    def staying(self, own: OwnOrder, edge: float) -> float:
        return -self._losses.get(own.client_order_id, 0.0)


@BOTH
@pytest.mark.parametrize(("near_place", "far_place"), [(5.0, 0.0), (0.0, 5.0)])
def test_places_that_are_lost_either_way_do_not_decide_which_order_moves(
    side, near_place, far_place
):
    near, far = order(side, 15, number=1), order(side, 20, number=2)
    here = Ruler(
        move=0.1, places={near.client_order_id: near_place, far.client_order_id: far_place}
    )
    wishes = plan([quote(side, 10)], [far, near], worth=here).actions
    assert (moved(wishes), cancelled(wishes)) == ([15], [20])


@BOTH
@pytest.mark.parametrize(
    ("resting", "wanted", "moves"),
    [
        ([(10, 10), (11, 10), (12, 10)], [(9, 10), (10, 10), (11, 10)], {(12, 10): 9}),
        ([(20, 10), (13, 10)], [(9, 10), (15, 10)], {(13, 10): 9, (20, 10): 15}),
        ([(20, 4), (20, 6)], [(9, 6), (15, 4)], {(20, 6): 9, (20, 4): 15}),
        ([(20, 4), (20, 6)], [(9, 6)], {(20, 6): 9}),
    ],
    ids=["a shift of all levels", "two levels", "two orders of a price", "one to spare"],
)
def test_levels_are_served_with_the_least_movement(side, resting, wanted, moves):
    orders = [order(side, *each, number=number) for number, each in enumerate(resting, 1)]
    wishes = plan([quote(side, *each) for each in wanted], orders).actions
    amends = [wish for wish in wishes if isinstance(wish, AmendAction)]
    # A bid is bought as YES and an ask as NO, so that the prices of both are 50 less the distance.
    assert {
        (away(each.order), each.order.remaining): 50 - each.amend.price for each in amends
    } == moves
    assert len(cancelled(wishes)) == len(resting) - len(wanted)


@BOTH
def test_a_price_with_several_orders_moves_before_a_nearer_single_order(side):
    first, second = order(side, 20, number=1), order(side, 20, number=2)
    single = order(side, 15, number=3)
    wishes = plan([quote(side, 10)], [single, first, second], worth=Ruler(move=1.0)).actions
    assert (moved(wishes), sorted(cancelled(wishes))) == ([20], [15, 20])


@BOTH
def test_the_size_difference_of_a_moving_order_costs_once(side):
    # Ten to eight: twelve cents to move; twelve to eight: sixteen. Alone: ten, and twelve.
    small, large = order(side, 20, 10, 1), order(side, 15, 12, 2)
    wishes = plan([quote(side, 10, 8)], [large, small], worth=Ruler(move=1.0)).actions
    assert (moved(wishes), cancelled(wishes)) == ([20], [15])


@BOTH
def test_of_two_expensive_moves_the_shorter_is_made(side):
    bolder, nearer = order(side, 5, number=1), order(side, 8, number=2)
    wishes = plan([quote(side, 10, 4)], [bolder, nearer], worth=Ruler(move=1.0)).actions
    assert (moved(wishes), cancelled(wishes)) == ([8], [5])


@BOTH
@pytest.mark.parametrize(("move", "moves_from"), [(0.0004, 15), (0.0006, 20)])
def test_a_move_must_save_more_than_half_of_the_smallest_request_to_be_preferred(
    side, move, moves_from
):
    # From seven to four by a move rather than by two requests saves one share's request: four, or
    # six, parts in ten of the least one. From ten to four nothing is saved.
    saves, nearer = order(side, 20, 7, 1), order(side, 15, 10, 2)
    wishes = plan([quote(side, 10, 4)], [nearer, saves], worth=Ruler(move)).actions
    assert moved(wishes) == [moves_from]


@BOTH
@pytest.mark.parametrize(("nearer_loses", "stays"), [(0.0, 11), (4e-7, 11), (6e-7, 12), (1e-6, 12)])
def test_of_orders_that_may_stay_the_nearer_does_unless_it_loses_more(side, nearer_loses, stays):
    nearer, farther = order(side, 11, number=1), order(side, 12, number=2)
    here = Still({nearer.client_order_id: nearer_loses})
    wishes = plan([quote(side, 10)], [farther, nearer], pace=pace(2), worth=here).actions
    assert (moved(wishes), cancelled(wishes)) == ([], [23 - stays])


@BOTH
def test_an_order_serves_its_own_price_before_one_is_created_there(side):
    # Left for the price of a hundred it would be joined by the one, and then be taken for too much.
    own = order(side, 11, 100)
    wanted = [quote(side, 10, 100), quote(side, 11, 1)]
    wishes = plan(wanted, [own], pace=pace(1), worth=Ruler(move=5.0)).actions
    shrunk = next(wish for wish in wishes if isinstance(wish, AmendAction))
    assert (shrunk.order, shrunk.amend) == (own, Amend(qty=1))
    (made_new,) = [wish for wish in wishes if isinstance(wish, CreateAction)]
    assert (abs(made_new.price - 50), made_new.qty) == (10, 100)


@BOTH
def test_an_order_serves_its_own_price_before_another_moves_there(side):
    near, far = order(side, 10, 4, 1), order(side, 11, 2, 2)
    wanted = [quote(side, 9, 4), quote(side, 10, 4)]
    move, rest = plan(wanted, [near, far], pace=pace(1, resize=5)).actions
    assert (move.order, move.amend) == (far, Amend(price=41))
    assert (abs(rest.price - 50), rest.qty) == (9, 2)


@BOTH
def test_orders_a_tick_behind_their_prices_all_stay(side):
    resting = [order(side, away, number=away) for away in (11, 12, 13)]
    wanted = [quote(side, away) for away in (10, 11, 12)]
    assert plan(wanted, resting, pace=pace(1), worth=Ruler(move=5.0)).actions == ()


def test_an_order_without_remaining_shares_is_cancelled():
    spent, near = order(BID, 20, number=1), order(BID, 15, number=2)
    spent.on_fills_shown(made.shown(spent, filled=10, remaining=0))
    assert (spent.state, spent.remaining) == (State.OPEN, 0)
    cancel, move = plan([quote(BID, 10, 1)], [spent, near], worth=Ruler()).actions
    assert cancel == CancelAction(spent, "no longer wanted", 0.0)
    assert moved([move]) == [15]


@BOTH
@pytest.mark.parametrize(("move", "moves"), [(2.25, False), (2.24, True)])
def test_a_move_of_two_orders_must_gain_more_than_its_request(side, move, moves):
    # Ten shares gain 22.5 cents, whether they are one order or two.
    orders = [order(side, 11, 5, number) for number in (1, 2)]
    wishes = plan([quote(side, 10)], orders, pace=pace(1), worth=Ruler(move)).actions
    assert bool(wishes) is moves


@BOTH
def test_a_step_back_from_the_price_limit_itself_avoids_no_loss(side):
    own = order(side, 8, 20)
    (wish,) = plan([quote(side, 10, limit=8)], [own], worth=Ruler()).actions
    assert isinstance(wish, AmendAction)
    assert wish.value == 20 * 10 / 2 - 20 * 8 / 4
    own = order(side, 7, 20)
    (wish,) = plan([quote(side, 10, limit=8)], [own], worth=Ruler()).actions
    assert wish.value == 20 * 10 / 2 + 20 * 3


@BOTH
def test_a_difference_below_one_percent_is_not_corrected(side):
    assert plan([quote(side, 10, 101)], [order(side, 10, 100)]).actions == ()
    (wish,) = plan([quote(side, 10, 100)], [order(side, 10, 99)]).actions
    assert isinstance(wish, CreateAction)


@BOTH
def test_orders_waiting_to_move_count_for_their_level_with_all_their_shares(side):
    orders = [order(side, 15, 4, number) for number in (1, 2)]
    (wish,) = plan([quote(side, 10)], orders, pace=pace(dwell=LATER), worth=Ruler()).actions
    assert isinstance(wish, CreateAction)
    assert wish.qty == 2


@BOTH
def test_an_order_to_be_cancelled_hides_no_other_order(side):
    doomed, resting = order(side, 15, number=1), order(side, 10, number=2)
    doomed.cancel_requested, doomed.due_ns = True, LATER + 1
    assert plan([quote(side, 10)], [doomed, resting]).actions == ()


@BOTH
def test_two_creates_in_flight_each_serve_their_price(side):
    orders = [order(side, far, number=far, state=State.PENDING_NEW) for far in (10, 11)]
    assert plan([quote(side, 10), quote(side, 11)], orders).actions == ()


@BOTH
def test_an_order_with_a_size_amend_in_flight_serves_its_price(side):
    own = order(side, 10)
    own.on_amend_sent(Amend(qty=Qty(6)))
    assert plan([quote(side, 10, 6)], [own]).actions == ()


@BOTH
def test_an_order_is_cancelled_if_a_create_in_flight_nearby_serves_its_price(side):
    sent, resting = order(side, 11, number=1, state=State.PENDING_NEW), order(side, 10, 9, 2)
    (wish,) = plan([quote(side, 10)], [sent, resting], pace=pace(1)).actions
    assert wish == CancelAction(resting, "no longer wanted", 9.0)
