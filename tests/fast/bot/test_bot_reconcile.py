"""Claims about turning wanted quotes into order changes: the table, and what all plans keep to."""

from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.core.orders.order import OrderEvent, OwnOrder, State
from bot.core.planning.actions import (
    AmendAction,
    CancelAction,
    CreateAction,
    crosses,
    free_shares,
)
from bot.core.settings import PaceSettings
from bot.strategy.api import Quote
from tests.builders.bot import made
from tests.builders.bot.made import LAG_NS, T0
from tests.builders.bot.planned import (
    ASK,
    BID,
    LATER,
    PACES,
    ask,
    bid,
    plan,
    rests,
)
from venue.wire.money import BookSide, Outcome, Price, Qty, Side
from venue.wire.names import OrderId
from venue.wire.requests import Amend

# --- the table ------------------------------------------------------------------------------------


def test_same_price_and_size_is_kept():
    assert plan([bid(40)], [rests(40)]).actions == ()


def test_same_price_less_is_an_amend_of_size_that_keeps_the_place():
    (wish,) = plan([bid(40, 6)], [rests(40)]).actions
    assert isinstance(wish, AmendAction)
    assert (wish.amend, wish.keeps_priority) == (Amend(qty=Qty(6)), True)


def test_same_price_more_keeps_the_order_and_adds_a_second_one():
    (wish,) = plan([bid(40, 15)], [rests(40)]).actions
    assert isinstance(wish, CreateAction)
    assert (wish.price, wish.qty) == (40, 5)


def test_a_size_that_is_hardly_off_is_kept():
    pace = PaceSettings(resize_pct=40)
    assert plan([bid(40, 13)], [rests(40)], pace=pace).actions == ()
    assert plan([bid(40, 8)], [rests(40)], pace=pace).actions == ()


@pytest.mark.parametrize(("side", "level", "target"), [(BID, 39, 40), (ASK, 61, 60)])
def test_an_order_a_tick_behind_its_price_keeps_its_place(side, level, target):
    pace = PaceSettings(tolerance_ticks=1, dwell_ns=0)
    wanted = [bid(target) if side is BID else ask(target)]
    assert plan(wanted, [rests(level, side=side)], pace=pace).actions == ()


@pytest.mark.parametrize(("side", "level", "target"), [(BID, 41, 40), (ASK, 59, 60)])
def test_an_order_a_tick_too_near_the_touch_steps_back(side, level, target):
    pace = PaceSettings(tolerance_ticks=1)
    wanted = [bid(target) if side is BID else ask(target)]
    (wish,) = plan(wanted, [rests(level, side=side)], pace=pace, now_ns=T0).actions
    assert isinstance(wish, AmendAction)


def test_another_price_is_one_amend_of_price_only():
    (wish,) = plan([bid(45)], [rests(40)]).actions
    assert isinstance(wish, AmendAction)
    assert (wish.amend, wish.keeps_priority) == (Amend(price=Price(45)), False)


def test_a_no_order_is_amended_in_its_own_prices():
    (wish,) = plan([ask(65)], [rests(60, side=ASK)]).actions
    assert isinstance(wish, AmendAction)
    assert wish.amend == Amend(price=Price(35))


def test_a_move_toward_the_touch_waits_for_the_dwell():
    pace = PaceSettings(tolerance_ticks=0, dwell_ns=LAG_NS)
    early = plan([bid(45)], [rests(40)], pace=pace, now_ns=T0 + LAG_NS - 1)
    assert early.actions == ()
    assert early.again_ns == T0 + LAG_NS
    assert len(plan([bid(45)], [rests(40)], pace=pace, now_ns=T0 + LAG_NS).actions) == 1


def test_what_is_not_wanted_is_cancelled():
    (wish,) = plan([], [rests(40)]).actions
    assert isinstance(wish, CancelAction)


def test_cancels_come_first():
    orders = [rests(40), rests(70, side=ASK, number=2)]
    wishes = plan([bid(40, 20)], orders).actions
    assert isinstance(wishes[0], CancelAction)
    assert isinstance(wishes[-1], CreateAction)


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


def test_a_purchase_that_must_move_gives_way_to_shares_held():
    (cancel,) = plan([bid(45)], [rests(40)], no=10).actions
    assert isinstance(cancel, CancelAction)
    (create,) = plan([bid(45)], [], no=10).actions
    assert isinstance(create, CreateAction)
    assert (create.outcome, create.side) == (Outcome.NO, Side.SELL)


def test_a_fifth_order_at_a_price_is_not_made():
    pace = PaceSettings(orders_per_level_max=3, resize_pct=1)
    orders = [rests(40, 3, number=number) for number in (1, 2, 3)]
    wishes = plan([bid(40, 20)], orders, pace=pace).actions
    assert not [wish for wish in wishes if isinstance(wish, CreateAction)]


# --- what is undecided ----------------------------------------------------------------------------


@pytest.mark.parametrize("state", [State.NEW_UNKNOWN, State.REPLACE_UNKNOWN])
def test_no_order_is_made_beside_an_unknown_one_of_its_side(state):
    orders = [rests(30, state=state)]
    assert plan([bid(40)], orders).actions == ()


def test_an_order_whose_amend_has_no_answer_is_cancelled():
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
def test_an_order_under_way_is_left_alone(state):
    own = rests(40, state=state)
    assert not [w for w in plan([], [own]).actions if not isinstance(w, CreateAction)]


def test_a_doomed_order_is_cancelled_when_due_and_not_before():
    own = rests(40)
    own.cancel_requested, own.due_ns = True, LATER + 5
    early = plan([bid(40)], [own])
    assert not [wish for wish in early.actions if isinstance(wish, CancelAction)]
    assert early.again_ns == LATER + 5
    due = plan([bid(40)], [own], now_ns=LATER + 5)
    assert [wish for wish in due.actions if isinstance(wish, CancelAction)]


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
def test_nothing_is_made_that_would_cross_an_own_order_in_any_state(state):
    own = rests(42, side=ASK, state=state)
    wishes = plan([bid(42), ask(60)], [own]).actions
    assert not [wish for wish in wishes if isinstance(wish, CreateAction) and wish.book_side is BID]


def test_both_prices_of_an_amend_under_way_count_as_crossed():
    own = rests(60, side=ASK)
    own.on_amend_sent(Amend(price=Price(55)))  # NO at 55 is YES at 45
    assert crosses(BID, Price(45), [own]) == [own]
    assert crosses(BID, Price(44), [own]) == []


def test_sells_under_way_are_not_free_to_sell_again():
    sale = made.own(State.NEW_UNKNOWN, side=Side.SELL, price=60, qty=7)
    assert free_shares(Qty(10), Qty(0), [sale]) == (3, 0)


# --- a toy book -----------------------------------------------------------------------------------


@dataclass
class Toy:
    """A book that carries out every wish at once, and watches what must never be wished for."""

    yes: int
    no: int
    orders: list[OwnOrder] = field(default_factory=list)
    made: int = 100

    def carry_out(self, wishes, now_ns: int, pace: PaceSettings) -> None:
        """Cancels, then amends and creates in the order given."""
        for wish in wishes:
            if isinstance(wish, CancelAction):
                self.orders.remove(wish.order)
            elif isinstance(wish, AmendAction):
                own, amend = wish.order, wish.amend
                own.on_amend_sent(amend)
                own.on_write_body(
                    made.shown(
                        own,
                        price=own.price if amend.price is None else amend.price,
                        remaining=own.remaining if amend.qty is None else amend.qty,
                    ),
                    now_ns,
                )
            else:
                self.create(wish, now_ns, pace)
            self.holds()

    def create(self, wish: CreateAction, now_ns: int, pace: PaceSettings) -> None:
        """A new order rests."""
        self.made += 1
        price = wish.price if wish.outcome is Outcome.YES else 100 - wish.price
        own = made.own(
            State.OPEN,
            now_ns,
            self.made,
            outcome=wish.outcome,
            side=wish.side,
            price=price,
            qty=wish.qty,
        )
        own.order_id = OrderId(str(self.made))
        self.orders.append(own)
        # One plan may bring an order here and make another beside the siblings there.
        here = [each for each in self.orders if each.yes_price == own.yes_price]
        for route in Side:
            assert sum(each.side is route for each in here) <= pace.orders_per_level_max + 1

    def holds(self) -> None:
        """No own orders cross, and no share is for sale twice."""
        bids = [own.yes_price for own in self.orders if own.book_side is BID]
        asks = [own.yes_price for own in self.orders if own.book_side is ASK]
        assert not bids or not asks or max(bids) < min(asks)
        assert min(free_shares(self.yes, self.no, self.orders)) >= 0

    def resting(self) -> dict[tuple[BookSide, int], int]:
        """Shares by side and canonical price."""
        out: dict[tuple[BookSide, int], int] = {}
        for own in self.orders:
            out[own.book_side, own.yes_price] = (
                out.get((own.book_side, own.yes_price), 0) + own.remaining
            )
        return out


@st.composite
def quotes(draw) -> list[Quote]:
    """Wanted quotes of one rung that a strategy may return."""
    prices = draw(st.lists(st.integers(30, 70), unique=True, max_size=5).map(sorted))
    split = draw(st.integers(0, len(prices)))
    sized = [(price, draw(st.integers(1, 20))) for price in prices]
    return [bid(*each) for each in sized[:split]] + [ask(*each) for each in sized[split:]]


def settle(toy: Toy, wanted: list[Quote], pace: PaceSettings, now_ns: int) -> int:
    """Plan and carry out until nothing is wished for. The instant after."""
    for _ in range(14):
        step = plan(wanted, toy.orders, toy.yes, toy.no, pace, now_ns)
        if not step.actions and step.again_ns is None:
            return now_ns
        toy.carry_out(step.actions, now_ns, pace)
        now_ns = max(now_ns + 1, step.again_ns or 0)
    raise AssertionError(f"not settled: {step.actions} for {wanted}")


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(st.lists(quotes(), min_size=1, max_size=4), st.integers(0, 15), st.integers(0, 15), PACES)
def test_plans_converge_fall_silent_and_never_cross_or_oversell(wishlists, yes, no, pace):
    toy, now_ns = Toy(yes, no), LATER
    for wanted in wishlists:
        now_ns = settle(toy, wanted, pace, now_ns) + 1
        have = toy.resting()
        for quote in wanted:
            back = -1 if quote.side is BID else 1
            near = [(quote.side, quote.price + back * away) for away in range(3)]
            there = max((have.get(key, 0) for key in near), default=0)
            assert 100 * (quote.qty - there) < max(pace.resize_pct * quote.qty, 1)
        assert plan(wanted, toy.orders, yes, no, pace, now_ns + LAG_NS).actions == ()


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(
    st.lists(quotes(), min_size=1, max_size=3),
    st.integers(0, 15),
    st.integers(0, 15),
    PACES,
    st.randoms(use_true_random=False),
)
def test_plans_converge_where_beside_the_cancels_only_one_wish_at_a_time_may_leave(
    wishlists, yes, no, pace, chance
):
    toy, now_ns = Toy(yes, no), LATER
    for wanted in wishlists:
        for _ in range(60):
            step = plan(wanted, toy.orders, toy.yes, toy.no, pace, now_ns)
            if not step.actions and step.again_ns is None:
                break
            cancels = [wish for wish in step.actions if isinstance(wish, CancelAction)]
            others = [wish for wish in step.actions if not isinstance(wish, CancelAction)]
            toy.carry_out([*cancels, *chance.sample(others, min(1, len(others)))], now_ns, pace)
            now_ns = max(now_ns + 1, step.again_ns or 0)
        else:
            raise AssertionError(f"not settled: {step.actions} for {wanted}")


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(
    quotes(),
    st.lists(
        st.tuples(st.integers(30, 70), st.integers(1, 12), st.sampled_from(list(State))),
        max_size=6,
    ),
    st.booleans(),
)
def test_no_plan_touches_what_is_under_way_or_wishes_twice_about_one_order(wanted, drawn, doomed):
    orders = []
    for number, (level, qty, state) in enumerate(drawn):
        side = BID if level < 50 else ASK
        own = rests(level, qty, side, number=number, state=state)
        own.cancel_requested = doomed and number % 2 == 0
        orders.append(own)
    live = [own for own in orders if own.is_live]
    wishes = plan(wanted, live).actions
    touched = [wish.order for wish in wishes if not isinstance(wish, CreateAction)]
    assert len(touched) == len({id(own) for own in touched})
    for wish in wishes:
        if isinstance(wish, AmendAction):
            assert wish.order.state is State.OPEN
            assert not wish.order.cancel_requested
        elif isinstance(wish, CancelAction):
            assert wish.order.can_cancel
        else:
            assert not crosses(wish.book_side, wish.price, live)
            assert wish.qty >= 1
