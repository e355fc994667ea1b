"""Claims about the estimated place in a queue: what eats from the front, what is behind, bounds."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.core.market_data.queue_position import QueueAhead, Queues
from bot.core.orders.order import OwnOrder, State
from bot.core.orders.snapshot import OrderSnapshot
from tests.builders.bot import made
from tests.builders.bot.made import T0
from venue.wire import model
from venue.wire.money import BookSide, Outcome, Price, Qty
from venue.wire.names import OrderId

POWER = 1.0
MS = 1_000_000


def placed(ahead: int = 100, others: int | None = None) -> QueueAhead:
    """An order that came at 10 behind `ahead` shares; a book of 20 shows `others` beside it."""
    queue = QueueAhead(ahead, 0, 10, POWER)
    queue.on_book(ahead, 20)
    if others is not None:
        queue.on_book(others, 30)
    return queue


def bounds(queue: QueueAhead) -> tuple[float, float, float]:
    return queue.at_least, queue.likely, queue.at_most


def test_what_stood_there_on_arrival_is_ahead():
    assert bounds(placed(100)) == (100, 100, 100)


def test_nothing_is_placed_before_a_book_that_knows_of_the_order():
    queue = QueueAhead(100, 0, 10, POWER)
    queue.on_book(130, 9)
    assert not queue.is_placed
    queue.on_book(130, 10)
    assert queue.is_placed


def test_what_comes_later_stands_behind():
    queue = placed(100, others=160)
    assert bounds(queue) == (100, 100, 100)


def test_what_came_between_the_last_book_and_the_first_is_split_by_time():
    queue = QueueAhead(100, 0, 30, POWER)
    queue.on_book(140, 120)
    assert bounds(queue) == (0, 110, 140)


def test_an_order_whose_arrival_was_not_seen_may_have_everything_ahead():
    queue = QueueAhead(None, 0, 10, POWER)
    queue.on_book(70, 20)
    assert bounds(queue) == (0, 70, 70)


def test_prints_eat_from_the_front():
    queue = placed(100, others=150)
    assert queue.on_trade(30, 40, own_qty=10) == 0
    assert bounds(queue) == (70, 70, 70)


def test_a_print_larger_than_what_is_ahead_reaches_the_order_for_the_rest():
    queue = placed(20, others=50)
    assert queue.on_trade(26, 40, own_qty=10) == 6
    assert bounds(queue) == (0, 0, 0)


def test_a_print_reaches_no_more_than_the_order_has():
    assert placed(5).on_trade(100, 40, own_qty=8) == 8


def test_a_print_from_before_the_order_came_is_none_of_it():
    queue = placed(50)
    assert queue.on_trade(20, 10, own_qty=5) == 0
    assert queue.likely == 50


@pytest.mark.parametrize("print_first", [True, False])
def test_a_decrease_is_counted_once_whichever_comes_first(print_first):
    queue = placed(100, others=100)
    if print_first:
        queue.on_trade(30, 40, own_qty=10)
        queue.on_book(70, 40)
    else:
        queue.on_book(70, 40)
        queue.on_trade(30, 40, own_qty=10)
    assert bounds(queue) == (70, 70, 70)


@pytest.mark.parametrize("print_first", [True, False])
def test_what_traded_before_the_first_book_is_counted_once_whichever_comes_first(print_first):
    queue = QueueAhead(100, 0, 10, POWER)
    if print_first:
        queue.on_trade(30, 15, own_qty=10)
    queue.on_book(70, 20)
    if not print_first:
        queue.on_trade(30, 15, own_qty=10)
    assert bounds(queue) == (70, 70, 70)


@pytest.mark.parametrize(("before", "likely"), [(None, 70), (50, 45)])
def test_a_late_print_takes_nothing_of_what_the_first_book_shows(before, likely):
    # Of fifty that stood thirty traded, and half of the fifty that came had come before us.
    queue = QueueAhead(before, 0, 10, POWER)
    queue.on_book(70, 20)
    queue.on_trade(30, 15, own_qty=10)
    assert (queue.likely, queue.at_most) == (likely, 70)


def test_at_most_those_stand_before_us_that_no_cancel_behind_us_can_have_been():
    queue = placed(11, others=12)
    queue.on_book(2, 40)  # one of twelve traded, nine were cancelled, the one behind us among them
    queue.on_trade(1, 35, own_qty=10)
    assert queue.at_most == 2


def test_what_a_very_late_print_took_is_not_taken_once_more_for_cancels_of_after_it():
    queue = placed(11, others=11)
    queue.on_book(8, 40)  # eight of eleven traded, five came behind us
    queue.on_book(5, 50)  # and now all but three of those are gone
    queue.on_trade(8, 35, own_qty=10)
    assert queue.at_most == 3


def test_a_late_print_turns_cancels_into_trades():
    queue = placed(100, others=200)
    queue.on_book(160, 40)
    assert queue.likely == 80  # half of forty cancels stood before us
    queue.on_trade(40, 35, own_qty=10)
    assert queue.likely == 60
    assert queue.at_most == 60


def test_a_late_print_that_the_book_had_made_up_for_eats_from_the_front_too():
    queue = placed(100, others=100)
    queue.on_book(100, 40)  # thirty traded, thirty came
    queue.on_trade(30, 35, own_qty=10)
    assert bounds(queue) == (70, 70, 70)


def test_a_print_newer_than_the_book_is_taken_out_of_the_next_one_only():
    queue = placed(100, others=100)
    queue.on_trade(30, 50, own_qty=10)
    queue.on_book(100, 40)
    assert queue.likely == 70
    queue.on_book(70, 50)
    assert queue.likely == 70


@pytest.mark.parametrize(
    ("power", "expected"), [(0.0, 80.0), (1.0, 70.0), (2.0, 64.0), (3.0, 61.43)]
)
def test_cancels_fall_on_either_part_by_a_power_of_its_length(power, expected):
    queue = QueueAhead(100, 0, 10, power)
    queue.on_book(100, 20)
    queue.on_book(150, 30)
    queue.on_book(110, 40)  # forty left, a hundred before us and fifty behind
    assert queue.likely == pytest.approx(100 - 40 * 100**power / (100**power + 50**power), abs=0.01)
    assert queue.at_most == 100
    assert queue.at_least == 60


def test_cancels_beyond_what_is_behind_were_ahead():
    queue = placed(100, others=110)
    queue.on_book(30, 40)
    assert (queue.at_least, queue.at_most) == (20, 30)
    assert 20 <= queue.likely <= 30


def test_a_level_that_is_gone_leaves_nobody_ahead():
    queue = placed(100, others=0)
    assert bounds(queue) == (0, 0, 0)


def test_a_fill_proves_the_front():
    queue = placed(100)
    queue.reach_front()
    assert bounds(queue) == (0, 0, 0)


@given(
    st.integers(0, 200),
    st.lists(
        st.tuples(st.sampled_from(["came", "left", "traded"]), st.integers(1, 60), st.booleans()),
        max_size=30,
    ),
    st.floats(0, 4),
)
def test_the_bounds_hold_the_truth_and_the_estimate_whatever_happens(stood, acts, power):
    """A queue of whole shares, ours between `before` and `behind`; books conflate some acts, and
    what came and left between two of them no book can tell."""
    queue = QueueAhead(stood, 0, 1, power)
    queue.on_book(stood, 2)
    before, behind, now, is_hidden = stood, 0, 2, False
    for act, size, is_shown in acts:
        now += 1
        if act == "came":
            behind += size
        elif act == "left":
            first = min(before, size // 2)
            before -= first
            behind -= min(behind, size - first)
        elif size <= before:
            before -= size
            queue.on_trade(size, now, own_qty=1_000)
        if is_shown:
            queue.on_book(before + behind, now)
            assert 0 <= queue.at_least <= queue.likely <= queue.at_most <= before + behind
            assert before <= queue.at_most
            assert queue.at_least <= before or is_hidden
        is_hidden |= not is_shown


# --- the queues of a rung -------------------------------------------------------------------------


def wrote(own: OwnOrder, at_ns: int, queues: Queues, orders: list[OwnOrder], **other) -> None:
    shown = msgspec.structs.replace(made.shown(own), **other)
    queues.on_own_write(shown, at_ns, orders, T0)


def became(own: OwnOrder, remaining: int, filled: int = 0, price: int = 40) -> None:
    """The venue has said that an order of ours is now this."""
    epoch = own.known.epoch + 1
    own._set_known(OrderSnapshot(epoch, Price(price), Qty(filled + remaining), Qty(filled)))


def rung(others: int = 50, qty: int = 10) -> tuple[Queues, OwnOrder]:
    """A bid of ours at 40 that came behind `others`, and whose book was seen."""
    own = made.own(State.OPEN, price=40, qty=qty)
    queues = Queues(POWER)
    queues.on_book(((Price(40), Qty(others)),), (), 10, [], T0)
    wrote(own, 20, queues, [own])
    queues.on_book(((Price(40), Qty(others + qty)),), (), 20, [own], T0)
    return queues, own


def ahead(queues: Queues, own: OwnOrder) -> float | None:
    queue = queues.queue_of(own)
    return None if queue is None else queue.likely


def test_our_own_shares_are_not_ahead_of_us():
    queues, own = rung()
    assert ahead(queues, own) == 50


@pytest.mark.parametrize(
    "strange",
    [{"outcome": model.ShownOutcome.UNKNOWN}, {"side": model.ShownSide.UNKNOWN}],
)
def test_an_order_that_is_shown_on_a_side_of_a_later_version_has_no_place_any_more(strange):
    queues, own = rung()
    wrote(own, 30, queues, [own], **strange)
    assert ahead(queues, own) is None


def test_a_book_that_comes_before_the_answer_is_used_when_the_answer_is_there():
    own = made.own(State.PENDING_NEW, price=40, qty=10)
    queues = Queues(POWER)
    queues.on_book(((Price(40), Qty(50)),), (), 10, [], T0)
    queues.on_book(((Price(40), Qty(60)),), (), 20, [own], T0)
    assert queues.queue_of(own) is None
    own.state, own.order_id = State.OPEN, OrderId("1001")
    wrote(own, 20, queues, [own])
    assert ahead(queues, own) == 50


def test_a_print_from_the_time_of_the_create_counts_from_its_arrival_on():
    own = made.own(State.OPEN, price=40, qty=10)
    queues = Queues(POWER)
    queues.on_book(((Price(40), Qty(50)),), (), 10, [], T0)
    queues.on_trade(Price(40), 5, 15, BookSide.ASK, [], T0)
    queues.on_trade(Price(40), 7, 25, BookSide.ASK, [], T0)
    wrote(own, 20, queues, [own])
    assert ahead(queues, own) == 38
    queues.on_book(((Price(40), Qty(48)),), (), 25, [own], T0)
    assert ahead(queues, own) == 38


@pytest.mark.parametrize(("price", "is_ask_taken"), [(41, False), (39, False), (40, True)])
def test_prints_elsewhere_or_against_the_other_side_do_not_touch_the_queue(price, is_ask_taken):
    queues, own = rung()
    queues.on_trade(Price(price), 20, 30, BookSide.BID if is_ask_taken else BookSide.ASK, [own], T0)
    assert ahead(queues, own) == 50


def test_a_smaller_size_keeps_the_place_and_a_larger_or_another_price_loses_it():
    queues, own = rung()
    queues.on_book(((Price(40), Qty(80)),), (), 25, [own], T0)
    became(own, 4)
    wrote(own, 30, queues, [own], remaining_qty=Qty(4))
    assert ahead(queues, own) == 50
    queues.on_book(((Price(40), Qty(74)),), (), 30, [own], T0)
    became(own, 9)
    wrote(own, 40, queues, [own], remaining_qty=Qty(9))
    assert ahead(queues, own) == 70
    became(own, 9, price=41)
    wrote(own, 50, queues, [own], price=Price(41), remaining_qty=Qty(9))
    assert ahead(queues, own) == 0


def test_an_order_whose_amend_shows_a_fill_stays_in_front_when_it_shrinks_again():
    queues, own = rung()
    queues.on_book(((Price(40), Qty(60)),), (), 25, [own], T0)
    became(own, 6, filled=2)
    wrote(own, 30, queues, [own], filled_qty=Qty(2), remaining_qty=Qty(6))
    queues.on_book(((Price(40), Qty(56)),), (), 35, [own], T0)
    became(own, 5, filled=2)
    wrote(own, 40, queues, [own], filled_qty=Qty(2), remaining_qty=Qty(5))
    queues.on_book(((Price(40), Qty(55)),), (), 45, [own], T0)
    assert ahead(queues, own) == 0


def test_an_amend_to_more_than_a_fill_had_left_goes_to_the_back():
    queues, own = rung()
    became(own, 4, filled=7)
    wrote(own, 30, queues, [own], filled_qty=Qty(7), remaining_qty=Qty(4))
    queues.on_book(((Price(40), Qty(54)),), (), 35, [own], T0)
    assert ahead(queues, own) == 50


def test_frames_are_no_news_while_a_write_at_the_price_is_under_way():
    queues, own = rung()
    own.state = State.PENDING_REPLACE
    queues.on_book(((Price(40), Qty(20)),), (), 30, [own], T0)
    assert ahead(queues, own) == 50
    own.state = State.OPEN
    queues.on_book(((Price(40), Qty(20)),), (), 30, [own], T0)
    assert ahead(queues, own) == 10


def test_a_frame_older_than_our_last_write_is_no_news():
    queues, own = rung()
    wrote(own, 40, queues, [own])
    queues.on_book(((Price(40), Qty(20)),), (), 39, [own], T0)
    assert ahead(queues, own) == 50


def test_a_sibling_gets_what_the_first_leaves_of_a_print():
    queues, first = rung(others=20)
    second = made.own(State.OPEN, price=40, qty=10, number=2)
    both = [first, second]
    queues.on_book(((Price(40), Qty(60)),), (), 30, [first], T0)
    wrote(second, 40, queues, both)
    queues.on_book(((Price(40), Qty(70)),), (), 40, both, T0)
    assert ahead(queues, second) == 50
    queues.on_trade(
        Price(40), 24, 50, BookSide.ASK, both, T0
    )  # twenty of others, four of our first
    assert ahead(queues, first) == 0
    assert ahead(queues, second) == 30


def test_what_we_expect_to_have_filled_is_not_taken_for_a_cancel_of_others():
    queues, own = rung(others=20)
    queues.on_book(((Price(40), Qty(60)),), (), 30, [own], T0)
    queues.on_trade(Price(40), 26, 40, BookSide.ASK, [own], T0)
    queues.on_book(((Price(40), Qty(34)),), (), 40, [own], T0)
    became(own, 4, filled=6)
    queues.on_book(((Price(40), Qty(34)),), (), 41, [own], T0)
    queue = queues.queue_of(own)
    assert queue is not None
    assert queue.likely == 0


def test_a_fill_that_is_known_puts_the_order_at_the_front():
    queues, own = rung()
    became(own, 9, filled=1)
    queues.on_book(((Price(40), Qty(59)),), (), 30, [own], T0)
    assert ahead(queues, own) == 0


def test_an_order_that_rested_before_we_looked_is_taken_to_stand_last():
    own = made.own(State.OPEN, price=40, qty=10)
    queues = Queues(POWER)
    queues.on_book(((Price(40), Qty(35)),), (), 10, [own], T0)
    assert ahead(queues, own) == 25


def test_ended_orders_are_forgotten():
    queues, own = rung()
    wrote(own, 30, queues, [own], status=model.OrderStatus.CANCELED)
    assert queues.queue_of(own) is None


def test_a_no_order_stands_on_the_ask_side():
    own = made.own(State.OPEN, outcome=Outcome.NO, price=40, qty=10)
    queues = Queues(POWER)
    queues.on_book((), ((Price(60), Qty(50)),), 10, [], T0)
    wrote(own, 20, queues, [own])
    queues.on_book((), ((Price(60), Qty(60)),), 20, [own], T0)
    queues.on_trade(Price(60), 30, 30, BookSide.BID, [own], T0)
    assert ahead(queues, own) == 20


def test_after_an_outage_the_queue_is_no_longer_than_the_level():
    queues, own = rung()
    queues.forget_book()
    queues.on_book(((Price(40), Qty(25)),), (), 90, [own], T0)
    assert ahead(queues, own) == 15
