"""Claims about plans where places, edges and requests have a value: what is kept, moved, merged."""

import pytest

from bot.core.market_data.queue_position import Queues
from bot.core.orders.order import OwnOrder, State
from bot.core.planning.actions import AmendAction, CancelAction, CreateAction
from bot.core.planning.queue_value import QuoteEconomics, fills
from bot.core.settings import PaceSettings
from bot.strategy.api import Quote
from tests.builders.bot import made
from tests.builders.bot.made import LAG_NS, T0
from tests.builders.bot.planned import ASK, BID, ask, bid, plan, rests
from venue.wire.money import BookSide, Outcome, Price, Qty, Side
from venue.wire.requests import Amend

NEAR = PaceSettings(tolerance_ticks=1, dwell_ns=0, resize_pct=50)


def worth(
    *orders: OwnOrder,
    ahead: int = 0,
    behind: int = 0,
    others: dict[tuple[BookSide, int], int] | None = None,
    fair: float | None = 50.0,
    volume: float = 20.0,
    move: float = 0.05,
    capital: float = 0.0,
) -> QuoteEconomics:
    """Each order has `ahead` shares before it and `behind` behind; `others` rest elsewhere."""
    queues = Queues(1.0)
    at: dict[tuple[BookSide, int], int] = dict(others or {})
    for own in orders:
        at[own.book_side, own.yes_price] = ahead + behind

    def side(which: BookSide, sign: int):
        return tuple(
            (Price(price), Qty(size))
            for (there, price), size in sorted(at.items(), key=lambda row: sign * row[0][1])
            if there is which and size
        )

    def book(extra: int):
        mine: dict[tuple[BookSide, int], int] = {}
        for own in orders:
            mine[own.book_side, own.yes_price] = (
                mine.get((own.book_side, own.yes_price), 0) + own.remaining
            )
        shown = {key: ahead + extra + qty for key, qty in mine.items()}
        return tuple(
            tuple(
                (Price(price), Qty(size))
                for (there, price), size in sorted(shown.items(), key=lambda row: sign * row[0][1])
                if there is which
            )
            for which, sign in ((BID, -1), (ASK, 1))
        )

    empty = [(own.book_side, own.yes_price) for own in orders]
    first = tuple(
        tuple((Price(price), Qty(ahead)) for there, price in empty if there is which and ahead)
        for which in (BID, ASK)
    )
    queues.on_book(first[0], first[1], 10, [], T0)
    for own in orders:
        queues.on_own_write(made.shown(own), 20, list(orders), T0)
    queues.on_book(*book(0), 20, list(orders), T0)
    queues.on_book(*book(behind), 30, list(orders), T0)
    return QuoteEconomics(
        fair, (volume, volume), side(BID, -1), side(ASK, 1), queues, move, capital
    )


# --- near ones: stay or move ----------------------------------------------------------------------


def test_an_order_near_its_price_stays_while_moving_gains_less_than_a_request():
    own = rests(39)
    assert plan([bid(40)], [own], pace=NEAR, worth=worth(own, fair=45.0)).actions == ()


def test_an_order_near_its_price_moves_where_that_gains_more():
    own = rests(39)
    here = worth(own, fair=60.0, volume=8.0, others={(BID, 40): 1})
    (wish,) = plan([bid(40)], [own], pace=NEAR, worth=here).actions
    assert isinstance(wish, AmendAction)
    assert wish.amend == Amend(price=Price(40))
    gain = here.joining(BID, Price(40), 10, 20.0) - here.staying(own, 21.0)
    assert wish.value == pytest.approx(gain)
    assert gain > 10 * here.move_cents


def test_a_place_before_many_holds_an_order_that_would_move_from_behind_them():
    others = {(BID, 40): 5}
    front, back = rests(39), rests(39)
    known = {"fair": 60.0, "volume": 8.0, "others": others}
    assert plan([bid(40)], [back], pace=NEAR, worth=worth(back, ahead=60, **known)).actions
    assert not plan([bid(40)], [front], pace=NEAR, worth=worth(front, behind=60, **known)).actions


def test_a_bolder_order_that_still_has_an_edge_is_left_there_whatever_a_move_gains():
    own = rests(41)
    wanted = [Quote(BID, Price(40), Qty(10), Price(41))]
    assert plan(wanted, [own], pace=NEAR, worth=worth(own, fair=41.0, volume=90.0)).actions == ()


@pytest.mark.parametrize(("side", "level", "target"), [(BID, 43, 40), (ASK, 57, 60)])
def test_a_step_back_is_worth_the_loss_it_avoids(side, level, target):
    own = rests(level, side=side)
    wanted = [bid(target) if side is BID else ask(target)]
    here = worth(own, fair=41.0 if side is BID else 59.0, behind=50)
    (wish,) = plan(wanted, [own], pace=NEAR, now_ns=T0, worth=here).actions
    assert isinstance(wish, AmendAction)
    assert wish.value >= 10 * 3  # three ticks too bold on ten shares


def test_a_step_back_ignores_the_dwell_and_a_step_forward_does_not():
    pace = PaceSettings(tolerance_ticks=0, dwell_ns=LAG_NS)
    assert plan([bid(39)], [rests(40)], pace=pace, now_ns=T0).actions
    assert not plan([bid(41)], [rests(40)], pace=pace, now_ns=T0).actions


# --- several at once ------------------------------------------------------------------------------


def moved(wishes) -> dict[int, int]:
    """From which level to which price, for amends of price."""
    return {
        wish.order.yes_price: wish.amend.price
        for wish in wishes
        if isinstance(wish, AmendAction) and wish.amend.price is not None
    }


def test_a_shift_of_all_levels_moves_the_one_that_is_left_over():
    orders = [rests(40, number=1), rests(39, number=2), rests(38, number=3)]
    assert moved(plan([bid(41), bid(40), bid(39)], orders).actions) == {38: 41}


def test_a_shift_of_a_tick_within_the_tolerance_moves_nothing():
    orders = [rests(40, number=1), rests(39, number=2)]
    pace = PaceSettings(tolerance_ticks=1, dwell_ns=0)
    assert plan([bid(41), bid(40)], orders, pace=pace, worth=worth(*orders)).actions == ()


def test_one_that_is_near_serves_its_price_before_one_that_would_have_to_move():
    near, far = rests(39, number=1), rests(30, number=2)
    wishes = plan([bid(40)], [far, near], pace=NEAR, worth=worth(near, far)).actions
    assert [type(wish) for wish in wishes] == [CancelAction]
    assert wishes[0].order is far


def test_of_equal_ones_the_nearest_moves():
    orders = [rests(30, number=1), rests(37, number=2)]
    wishes = plan([bid(40)], orders, worth=worth(*orders)).actions
    assert moved(wishes) == {37: 40}


def test_two_levels_are_served_with_the_least_movement():
    orders = [rests(30, number=1), rests(37, number=2)]
    assert moved(plan([bid(41), bid(35)], orders).actions) == {37: 41, 30: 35}


def test_of_orders_at_one_price_the_largest_moves_and_another_serves_the_next_level():
    orders = [rests(30, 4, number=1), rests(30, 6, number=2)]
    wishes = plan([bid(41, 6), bid(35, 4)], orders).actions
    assert {wish.order.remaining: wish.amend.price for wish in wishes} == {6: 41, 4: 35}


def test_orders_to_spare_are_cancelled():
    orders = [rests(30, 4, number=1), rests(30, 6, number=2)]
    wishes = plan([bid(41, 6)], orders).actions
    assert [type(wish) for wish in wishes] == [CancelAction, AmendAction]
    assert wishes[0].order.remaining == 4


# --- siblings -------------------------------------------------------------------------------------

SIBLINGS = PaceSettings(resize_pct=50, orders_per_level_max=3, dwell_ns=0)


def two(behind: int) -> tuple[list[OwnOrder], QuoteEconomics]:
    orders = [rests(40, 2, number=1), rests(40, 2, number=2)]
    orders[1].placed_ns = T0 + 1
    return orders, worth(*orders, behind=behind)


def test_the_newest_of_two_whose_place_is_worth_little_is_made_anew_larger():
    orders, here = two(behind=0)
    (wish,) = plan([bid(40, 10)], orders, pace=SIBLINGS, worth=here).actions
    assert isinstance(wish, CancelAction)
    assert wish.order is orders[1]
    (create,) = plan([bid(40, 10)], orders[:1], pace=SIBLINGS, worth=here).actions
    assert isinstance(create, CreateAction)
    assert create.qty == 8


def test_the_newest_of_two_whose_place_is_worth_more_than_a_request_gets_a_sibling():
    orders, here = two(behind=80)
    assert here.queue_value_cents(orders[1], here.edge(BID, Price(40))) > 2 * here.move_cents
    (wish,) = plan([bid(40, 10)], orders, pace=SIBLINGS, worth=here).actions
    assert isinstance(wish, CreateAction)
    assert wish.qty == 6


def test_an_only_order_is_not_given_up_to_come_back_larger():
    own = rests(40, 4)
    (wish,) = plan([bid(40, 10)], [own], pace=SIBLINGS, worth=worth(own)).actions
    assert isinstance(wish, CreateAction)


def test_where_a_limit_cuts_new_orders_nothing_is_given_up_to_be_made_anew():
    orders, here = two(behind=0)
    wishes = plan([bid(40, 10)], orders, pace=SIBLINGS, worth=here, short=(BID,)).actions
    assert [type(wish) for wish in wishes] == [CreateAction]
    assert plan([bid(40, 10)], orders, pace=SIBLINGS, worth=here, short=(ASK,)).actions != wishes


def test_at_the_bound_of_siblings_the_newest_gives_way_even_with_a_good_place():
    orders = [rests(40, 1, number=number) for number in (1, 2, 3)]
    orders[2].placed_ns = T0 + 5
    here = worth(*orders, behind=90, fair=60.0)
    (wish,) = plan([bid(40, 10)], orders, pace=SIBLINGS, worth=here).actions
    assert isinstance(wish, CancelAction)
    assert wish.order is orders[2]


# --- routes ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("capital", "behind", "no", "gives_way"),
    [
        (0.11, 0, 10, True),
        (0.10, 0, 10, False),  # two requests cost as much
        (0.11, 0, 9, False),  # not all of it could be sold instead
        (0.11, 60, 10, False),  # the place is worth more
        (9.00, 60, 10, True),
    ],
)
def test_a_purchase_gives_way_to_shares_held_where_what_it_locks_is_worth_more_than_its_place(
    capital, behind, no, gives_way
):
    own = rests(40)
    here = worth(own, behind=behind, capital=capital)
    wishes = plan([bid(40)], [own], no=no, worth=here).actions
    assert [type(wish) for wish in wishes] == ([CancelAction] if gives_way else [])


def test_a_sale_is_left_where_it_is():
    own = made.own(State.OPEN, outcome=Outcome.NO, side=Side.SELL, price=60, qty=10)
    assert own.yes_price == 40
    here = worth(own, capital=9.0)
    assert plan([bid(40)], [own], no=20, yes=20, worth=here).actions == ()


def test_shares_for_one_purchase_only_make_one_give_way():
    orders = [rests(40, number=1), rests(39, number=2)]
    here = worth(*orders, capital=1.0)
    wishes = plan([bid(40), bid(39)], orders, no=10, worth=here).actions
    assert len(wishes) == 1


# --- values ---------------------------------------------------------------------------------------


def test_a_new_order_is_worth_the_edge_it_is_expected_to_gain():
    here = worth(others={(BID, 40): 5})
    (wish,) = plan([bid(40)], [], worth=here).actions
    assert wish.value == pytest.approx(10.0 * fills(20, 5, 10))


def test_by_two_routes_the_worth_is_shared_by_size():
    here = worth(others={(BID, 40): 5})
    sale, purchase = plan([bid(40)], [], no=4, worth=here).actions
    assert sale.value + purchase.value == pytest.approx(10.0 * fills(20, 5, 10))
    assert sale.value / purchase.value == pytest.approx(4 / 6)


def test_cancels_are_worth_the_shares_they_take_off():
    big, small = plan([], [rests(40, 9, number=1), rests(39, 2, number=2)]).actions
    assert (big.value, small.value) == (9.0, 2.0)


def test_a_shrink_is_worth_the_shares_it_takes_off():
    (wish,) = plan([bid(40, 4)], [rests(40)]).actions
    assert wish.value == 6.0


@pytest.mark.parametrize(
    ("held", "routes"),
    [
        (4, [(Outcome.YES, Side.BUY, 10)]),  # too little to be worth an order of its own
        (5, [(Outcome.NO, Side.SELL, 5), (Outcome.YES, Side.BUY, 5)]),
        (6, [(Outcome.NO, Side.SELL, 6)]),  # what is left is too little
        (10, [(Outcome.NO, Side.SELL, 10)]),
    ],
)
def test_a_part_of_a_level_too_small_for_a_request_makes_no_order_of_its_own(held, routes):
    wishes = plan([bid(40)], [], no=held, pace=SIBLINGS).actions
    assert [(wish.outcome, wish.side, wish.qty) for wish in wishes] == routes
