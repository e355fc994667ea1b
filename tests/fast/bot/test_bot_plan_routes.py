"""Plans with several orders at one price, or two routes to it: selling held shares and buying."""

import pytest

from bot.core.orders.cancel_reasons import CancelReason
from bot.core.orders.order import OwnOrder, State
from bot.core.planning.actions import AmendAction, CancelAction, CreateAction
from tests.builders.bot import made
from tests.builders.bot.planned import BID, BOTH, Ruler, order, pace, plan, quote, siblings
from venue.wire.money import BookSide, Outcome, Qty, Side

SOLD = "shares held now: sold instead"


def sells(side: BookSide, away: int, qty: int) -> OwnOrder:
    """An order of ours so many ticks from the fair value that sells shares held."""
    outcome = Outcome.NO if side is BID else Outcome.YES
    return made.own(side=Side.SELL, outcome=outcome, price=50 + away, qty=qty)


def merge_of(own: OwnOrder, value: float, qty: int) -> CancelAction:
    """The wish that an order gives way to one that is so many shares larger."""
    more = CreateAction(
        own.book_side, own.yes_price, own.outcome, own.side, Qty(qty), CancelReason.MERGED
    )
    return CancelAction(own, CancelReason.MERGED, value, more)


@BOTH
@pytest.mark.parametrize(("place", "gives_way"), [(0.2, True), (0.21, False)])
def test_the_newest_of_two_orders_is_merged_if_its_place_is_worth_no_more_than_a_request(
    side, place, gives_way
):
    orders = siblings(side, 2)
    here = Ruler(move=0.1, places={orders[1].client_order_id: place})
    (wish,) = plan([quote(side, 10)], orders, pace=pace(resize=50), worth=here).actions
    if gives_way:
        assert wish == merge_of(orders[1], 30.0, 6)
    else:
        assert isinstance(wish, CreateAction)
    short = plan([quote(side, 10)], orders, pace=pace(resize=50), worth=here, short=(side,)).actions
    assert [type(wish) for wish in short] == [CreateAction]


@BOTH
@pytest.mark.parametrize(
    ("held", "left", "wanted", "is_cancelled"),
    [
        (1, 1, 5, False),  # one share is too few to be worth a sale
        (3, 3, 5, True),  # the two beside them are too few for a purchase
        (6, 5, 12, False),  # the six beside them are not
        (6, 5, 6, True),
        (4, 5, 5, False),
    ],
)
def test_a_purchase_that_must_move_is_cancelled_only_if_no_purchase_replaces_it(
    side, held, left, wanted, is_cancelled
):
    own = order(side, 15, left)
    yes, no = (0, held) if side is BID else (held, 0)
    wishes = plan([quote(side, 10, wanted)], [own], yes, no, pace=pace(resize=50)).actions
    assert isinstance(wishes[0], CancelAction) is is_cancelled
    if is_cancelled:
        assert len(wishes) == 1
        created = plan([quote(side, 10, wanted)], [], yes, no, pace=pace(resize=50)).actions
        assert [wish.side for wish in created] == [Side.SELL]


@BOTH
@pytest.mark.parametrize(
    ("aways", "wanted", "cancels"),
    [
        ((15, 14), (19, 18), 1),  # the other is moved: nothing is sold in its stead
        ((15, 15), (18,), 2),  # both of one stand give way to the one sale
    ],
)
def test_held_shares_replace_only_as_many_purchases_that_must_move_as_they_cover(
    side, aways, wanted, cancels
):
    orders = [order(side, away, 5, number=number) for number, away in enumerate(aways, 1)]
    yes, no = (0, 5) if side is BID else (5, 0)
    quotes = [quote(side, away, 5) for away in wanted]
    wishes = plan(quotes, orders, yes, no).actions
    gone = [wish.order for wish in wishes if isinstance(wish, CancelAction)]
    assert len(gone) == cancels
    assert not any(isinstance(wish, CreateAction) for wish in wishes)
    left = [order(side, wanted[-1], 5, number=own) for own in range(len(orders) - cancels)]
    created = plan(quotes, left, yes, no).actions
    assert [wish.side for wish in created] == [Side.SELL]


@BOTH
def test_a_purchase_that_must_move_is_moved_where_a_limit_has_cut_what_would_be_created(side):
    """The sale might not be admitted either, and nothing would stand there."""
    own = order(side, 15, 5)
    yes, no = (0, 5) if side is BID else (5, 0)
    (wish,) = plan([quote(side, 18, 5)], [own], yes, no, short=(side,)).actions
    assert isinstance(wish, AmendAction)


@BOTH
@pytest.mark.parametrize(
    "state", [State.PENDING_CANCEL, State.REPLACE_UNKNOWN, State.CLOSED_UNCONFIRMED]
)
def test_no_sale_is_created_until_the_purchase_it_replaces_is_closed(side, state):
    """Its cancel may be lost: both would rest for seconds, and both might fill."""
    own = order(side, 15, 5)
    yes, no = (0, 5) if side is BID else (5, 0)
    (wish,) = plan([quote(side, 18, 5)], [own], yes, no).actions
    assert isinstance(wish, CancelAction)
    own.state, own.cancel_requested = state, True
    wishes = plan([quote(side, 18, 5)], [own], yes, no).actions
    created = [wish for wish in wishes if isinstance(wish, CreateAction)]
    assert bool(created) is (state is State.CLOSED_UNCONFIRMED)  # nothing of it works any more


@BOTH
def test_held_shares_are_sold_at_an_empty_price_before_they_replace_a_purchase(side):
    """Else the one is cancelled to be sold instead, and the other is bought: for nothing."""
    own, here = order(side, 12, 5), Ruler(capital=1.0)
    yes, no = (0, 5) if side is BID else (5, 0)
    wishes = plan([quote(side, 10, 5), quote(side, 12, 5)], [own], yes, no, worth=here).actions
    assert [(type(wish), wish.side) for wish in wishes] == [(CreateAction, Side.SELL)]


@BOTH
def test_shares_for_one_purchase_replace_only_one_of_two(side):
    """While its cancel is on its way, and once it is over, the shares are its own still."""
    gives_way, stays = order(side, 10, 5), order(side, 12, 5, 2)
    wanted, here = [quote(side, 10, 5), quote(side, 12, 5)], Ruler(capital=1.0)
    yes, no = (0, 5) if side is BID else (5, 0)
    (wish,) = plan(wanted, [gives_way, stays], yes, no, worth=here).actions
    assert (type(wish), wish.order) == (CancelAction, gives_way)
    gives_way.on_cancel_sent()
    assert plan(wanted, [gives_way, stays], yes, no, worth=here).actions == ()
    (wish,) = plan(wanted, [stays], yes, no, worth=here).actions
    assert (type(wish), wish.side, abs(wish.price - 50)) == (CreateAction, Side.SELL, 10)


@BOTH
@pytest.mark.parametrize("to", [12, 14])
def test_held_shares_that_another_price_lacks_replace_no_purchase(side, to):
    """Else the one price would be bought at and the other would lack as many, by turns for ever."""
    lacks, other = order(side, 10, 3), order(side, 12, 2, 2)
    wanted, here = [quote(side, 10, 5), quote(side, to, 2)], Ruler(capital=1.0)
    yes, no = (0, 2) if side is BID else (2, 0)
    *moves, wish = plan(wanted, [lacks, other], yes, no, worth=here).actions
    assert (type(wish), wish.side, wish.qty) == (CreateAction, Side.SELL, 2)
    assert abs(wish.price - 50) == 10
    assert [type(each) for each in moves] == ([] if to == 12 else [AmendAction])
    yes, no = 2 * yes, 2 * no
    gives_way, _ = plan(wanted, [lacks, other], yes, no, worth=here).actions
    assert (type(gives_way), gives_way.order) == (CancelAction, other)  # there are enough for both


@BOTH
def test_held_shares_go_to_the_same_prices_whether_one_has_a_purchase_or_not(side):
    """Else what was bought first lacks them, and comes back in a larger order, for ever."""
    yes, no = (0, 6) if side is BID else (6, 0)
    wanted = [quote(side, 10, 5), quote(side, 12, 10), quote(side, 15, 5)]
    creates = plan(wanted, [], yes, no, pace=pace(siblings=1)).actions
    bought = order(side, 12, 9)
    sold = {(w.price, w.qty) for w in creates if w.side is Side.SELL}
    assert {(abs(price - 50), qty) for price, qty in sold} == {(10, 5), (12, 1)}
    left = plan(wanted, [bought], yes, no, pace=pace(siblings=1)).actions
    assert {(w.price, w.qty) for w in left if w.side is Side.SELL} == sold
    assert all(type(wish) is CreateAction for wish in left)


@BOTH
def test_shares_that_replace_a_purchase_are_sold_at_its_price_only(side):
    own = order(side, 15, 5)
    yes, no = (0, 5) if side is BID else (5, 0)
    quotes = [quote(side, away, qty) for away, qty in ((10, 10), (18, 5))]
    comes = order(side, 8, 5, number=2)
    cancel, amend, create = plan(quotes, [own, comes], yes, no).actions
    assert (cancel.order, amend.order) == (own, comes)
    assert (create.side, abs(create.price - 50), create.qty) == (Side.BUY, 10, 5)
    better = [order(side, 10, 5, number) for number in (2, 3)]
    here = Ruler(places={better[0].client_order_id: 99.0})
    (wish,) = plan(quotes, better, yes, no, worth=here).actions
    assert (wish.side, abs(wish.price - 50), wish.qty) == (Side.SELL, 18, 5)


@BOTH
def test_at_the_limit_of_orders_per_level_the_newest_is_merged(side):
    orders = siblings(side, 3)
    here = Ruler(places={own.client_order_id: 99.0 for own in orders})
    (wish,) = plan([quote(side, 10)], orders, pace=pace(siblings=3), worth=here).actions
    assert wish == merge_of(orders[2], 20.0, 4)
    (wish,) = plan([quote(side, 10)], orders, pace=pace(siblings=4), worth=here).actions
    assert isinstance(wish, CreateAction)
    assert plan([quote(side, 10)], orders, pace=pace(siblings=3), short=(side,)).actions == ()


@BOTH
def test_a_single_order_is_merged_only_if_no_second_is_allowed(side):
    (own,) = siblings(side, 1)
    assert isinstance(
        plan([quote(side, 10)], [own], pace=pace(siblings=2)).actions[0], CreateAction
    )
    (wish,) = plan([quote(side, 10)], [own], pace=pace(siblings=1), worth=Ruler()).actions
    assert wish == merge_of(own, 40.0, 8)


@BOTH
def test_with_one_order_per_level_nothing_is_created_where_another_is_moving_to(side):
    """Else what is made serves that price, the other goes elsewhere, and both by turns for ever."""
    comes, wanted = order(side, 10, 1), [quote(side, 7)]
    (moves,) = plan(wanted, [comes], pace=pace(siblings=1)).actions
    assert isinstance(moves, AmendAction)
    assert plan(wanted, [comes], 9, 9, pace=pace(siblings=1)).actions == (moves,)
    _, more = plan(wanted, [comes], pace=pace(siblings=2)).actions
    assert isinstance(more, CreateAction)


@BOTH
def test_nothing_is_created_until_a_merged_order_is_cancelled(side):
    stays, goes = order(side, 10, 5), order(side, 10, 3, 2)
    goes.placed_ns += 1
    (wish,) = plan([quote(side, 10)], [stays, goes], worth=Ruler(move=0.1)).actions
    assert isinstance(wish, CancelAction)
    goes.state, goes.cancel_requested, goes.why = State.PENDING_CANCEL, True, wish.why
    assert plan([quote(side, 10)], [stays, goes]).actions == ()
    (larger,) = plan([quote(side, 10)], [stays]).actions
    assert isinstance(larger, CreateAction)
    assert larger.qty == 5


@BOTH
def test_while_a_sale_is_being_cancelled_nothing_is_bought_instead(side):
    sale = sells(side, 10, 6)
    sale.state, sale.cancel_requested = State.PENDING_CANCEL, True
    (wish,) = plan([quote(side, 10)], [sale], 10, 10).actions
    assert isinstance(wish, CreateAction)
    assert (wish.side, wish.qty) == (Side.SELL, 4)


@BOTH
@pytest.mark.parametrize(
    ("capital", "held", "place", "gives_way"),
    [
        (2.1, 10, 0.0, True),
        (2.0, 10, 0.0, False),  # two requests at ten cents each
        (2.1, 9, 0.0, False),
        (2.1, 10, 1.0, False),
        (2.2, 10, 1.0, True),
    ],
)
def test_a_purchase_is_replaced_if_its_capital_costs_more_than_its_place_and_the_requests(
    side, capital, held, place, gives_way
):
    own = order(side, 10)
    here = Ruler(move=1.0, capital=capital, places={own.client_order_id: place})
    wishes = plan([quote(side, 10)], [own], held, held, worth=here).actions
    if gives_way:
        (wish,) = wishes
        assert wish == CancelAction(own, SOLD, capital * 10, instead=True)
    else:
        assert wishes == ()
    short = plan([quote(side, 10)], [own], held, held, worth=here, short=(side,))
    assert short.actions == ()


@BOTH
@pytest.mark.parametrize(("held", "gives_way"), [(4, False), (9, False), (10, True)])
def test_held_shares_fill_up_a_level_before_they_replace_its_purchase(side, held, gives_way):
    """It would be bought again at once, and where a limit has no room for the sale for ever."""
    own = order(side, 10, qty=6)
    wishes = plan([quote(side, 10)], [own], held, held, worth=Ruler(capital=9.0)).actions
    creates = [(wish.side, wish.qty) for wish in wishes if isinstance(wish, CreateAction)]
    assert creates == [(Side.SELL, 4)]
    assert any(isinstance(wish, CancelAction) for wish in wishes) is gives_way


@BOTH
def test_a_purchase_is_replaced_if_its_missing_size_is_not_worth_a_request(side):
    own = order(side, 10, qty=10)
    resizes = pace(resize=50)
    wishes = plan(
        [quote(side, 10, 14)], [own], 12, 12, pace=resizes, worth=Ruler(capital=9.0)
    ).actions
    assert any(isinstance(wish, CancelAction) for wish in wishes)


@BOTH
@pytest.mark.parametrize(("held", "gives_way"), [(9, False), (10, True)])
def test_a_purchase_is_not_replaced_by_a_sale_too_small_for_a_request(side, held, gives_way):
    """A share bought beside five that are sold, of ten: a limit may have left no more of it."""
    sale, own = sells(side, 10, 5), order(side, 10, qty=1, number=2)
    here, resizes = Ruler(capital=9.0), pace(resize=50)
    wishes = plan([quote(side, 10)], [sale, own], held, held, pace=resizes, worth=here).actions
    assert any(isinstance(wish, CancelAction) for wish in wishes) is gives_way


@BOTH
def test_shares_replace_a_second_purchase_only_if_they_cover_both(side):
    first, second = order(side, 10, number=1), order(side, 9, number=2)
    here = Ruler(capital=1.0)
    wanted = [quote(side, 10), quote(side, 9)]
    assert len(plan(wanted, [first, second], 19, 19, worth=here).actions) == 1
    assert len(plan(wanted, [first, second], 20, 20, worth=here).actions) == 2


@BOTH
@pytest.mark.parametrize(
    ("held", "routes"),
    [(0, [10]), (4, [10]), (5, [5, 5]), (6, [6]), (10, [10]), (99, [10])],
)
def test_a_part_too_small_for_a_request_is_left_to_the_other_route(side, held, routes):
    wishes = plan([quote(side, 10)], [], held, held, pace=pace(resize=50)).actions
    assert [wish.qty for wish in wishes] == routes


@BOTH
def test_held_shares_are_sold_at_another_price_if_an_order_moves_to_the_first(side):
    orders = [order(side, 14, 10, 1), order(side, 14, 15, 2)]
    wanted = [quote(side, 4, 15), quote(side, 5, 10), quote(side, 11, 15)]
    yes, no = (0, 8) if side is BID else (8, 0)
    wishes = plan(wanted, orders, yes, no, pace=pace(resize=50)).actions
    made_new = [wish for wish in wishes if isinstance(wish, CreateAction)]
    assert [(wish.side, wish.qty) for wish in made_new] == [(Side.SELL, 8)]


@BOTH
def test_a_sale_at_its_price_is_left_there_whatever_is_held(side):
    sale = sells(side, 10, 10)
    assert plan([quote(side, 10)], [sale], 20, 20, worth=Ruler(capital=9.0)).actions == ()
