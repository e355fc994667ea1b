"""The estimated queue position: trades take from the front, cancels from both parts, bounds."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.core.market_data.queue_position import QueueAhead, Queues
from bot.core.orders.order import OwnOrder, State
from tests.builders.bot import made
from tests.builders.bot.made import T0
from venue.wire import model
from venue.wire.money import BookSide, Outcome, Price, Qty
from venue.wire.names import OrderId
from venue.wire.requests import Amend

POWER = 1.0


def placed(ahead: int = 100, others: int | None = None) -> QueueAhead:
    """An order that came at 10 behind `ahead` shares; a book of 20 shows `others` beside it."""
    queue = QueueAhead(ahead, 0, 10, POWER)
    queue.on_book(ahead, 20)
    if others is not None:
        queue.on_book(others, 30)
    return queue


def bounds(queue: QueueAhead) -> tuple[float, float, float]:
    return queue.at_least, queue.likely, queue.at_most


def trade(qty: int, ts: int):
    return lambda queue: queue.on_trade(qty, ts, own_qty=10)


def book(size: int, ts: int):
    return lambda queue: queue.on_book(size, ts)


# (ahead, others in the first book, events, bounds): every order came at 10, its book is of 20.
CASES = {
    "shares there on arrival are ahead": (100, None, [], (100, 100, 100)),
    "shares that came later are behind": (100, 160, [], (100, 100, 100)),
    "trades take from the front": (100, 150, [trade(30, 40)], (70, 70, 70)),
    "a trade beyond the shares ahead": (20, 50, [trade(26, 40)], (0, 0, 0)),
    "a trade before the order came": (50, None, [trade(20, 10)], (50, 50, 50)),
    "a trade before its book": (100, 100, [trade(30, 40), book(70, 40)], (70, 70, 70)),
    "a trade after its book": (100, 100, [book(70, 40), trade(30, 40)], (70, 70, 70)),
    # Thirty traded, thirty came.
    "a late trade made up for": (100, 100, [book(100, 40), trade(30, 35)], (70, 70, 70)),
    "an emptied level": (100, 0, [], (0, 0, 0)),
    "a fill of ours": (100, None, [lambda queue: queue.reach_front()], (0, 0, 0)),
}


@pytest.mark.parametrize("case", CASES)
def test_the_shares_ahead_follow_from_books_and_trades(case):
    ahead, others, events, expected = CASES[case]
    queue = placed(ahead, others)
    for event in events:
        event(queue)
    assert bounds(queue) == expected


def test_an_order_is_placed_by_the_first_book_after_its_arrival():
    queue = QueueAhead(100, 0, 10, POWER)
    queue.on_book(130, 9)
    assert not queue.is_placed
    queue.on_book(130, 10)
    assert queue.is_placed


def test_shares_that_came_around_the_arrival_are_split_by_time():
    queue = QueueAhead(100, 0, 30, POWER)
    queue.on_book(140, 120)
    assert bounds(queue) == (0, 110, 140)


def test_an_order_with_unknown_arrival_may_have_all_shares_ahead():
    queue = QueueAhead(None, 0, 10, POWER)
    queue.on_book(70, 20)
    assert bounds(queue) == (0, 70, 70)


@pytest.mark.parametrize(
    ("ahead", "size", "own_qty", "reaches"), [(100, 30, 10, 0), (20, 26, 10, 6), (5, 100, 8, 8)]
)
def test_a_trade_beyond_the_shares_ahead_reaches_the_order(ahead, size, own_qty, reaches):
    assert placed(ahead).on_trade(size, 40, own_qty=own_qty) == reaches


@pytest.mark.parametrize("print_first", [True, False])
def test_a_trade_before_the_first_book_counts_once(print_first):
    queue = QueueAhead(100, 0, 10, POWER)
    if print_first:
        queue.on_trade(30, 15, own_qty=10)
    queue.on_book(70, 20)
    if not print_first:
        queue.on_trade(30, 15, own_qty=10)
    assert bounds(queue) == (70, 70, 70)


@pytest.mark.parametrize(("before", "likely"), [(None, 70), (50, 45)])
def test_a_late_trade_takes_nothing_of_the_first_book(before, likely):
    # Of fifty that stood thirty traded, and half of the fifty that came had come before us.
    queue = QueueAhead(before, 0, 10, POWER)
    queue.on_book(70, 20)
    queue.on_trade(30, 15, own_qty=10)
    assert (queue.likely, queue.at_most) == (likely, 70)


# One of twelve traded, nine were cancelled, the one behind us among them. Eight of eleven traded,
# five came behind us; then all but three of those left.
@pytest.mark.parametrize(
    ("others", "events", "at_most"),
    [
        (12, [book(2, 40), trade(1, 35)], 2),
        (11, [book(8, 40), book(5, 50), trade(8, 35)], 3),
    ],
)
def test_a_late_trade_does_not_count_twice_with_cancels(others, events, at_most):
    queue = placed(11, others=others)
    for event in events:
        event(queue)
    assert queue.at_most == at_most


def test_a_late_trade_turns_cancels_into_trades():
    queue = placed(100, others=200)
    queue.on_book(160, 40)
    assert queue.likely == 80  # half of forty cancels stood before us
    queue.on_trade(40, 35, own_qty=10)
    assert queue.likely == 60
    assert queue.at_most == 60


def test_a_trade_newer_than_the_book_is_taken_out_of_the_next_book_only():
    queue = placed(100, others=100)
    queue.on_trade(30, 50, own_qty=10)
    queue.on_book(100, 40)
    assert queue.likely == 70
    queue.on_book(70, 50)
    assert queue.likely == 70


@pytest.mark.parametrize(
    ("power", "expected"), [(0.0, 80.0), (1.0, 70.0), (2.0, 64.0), (3.0, 61.43)]
)
def test_cancels_are_split_by_a_power_of_the_length_ahead_and_behind(power, expected):
    queue = QueueAhead(100, 0, 10, power)
    queue.on_book(100, 20)
    queue.on_book(150, 30)
    queue.on_book(110, 40)  # forty left, a hundred before us and fifty behind
    assert queue.likely == pytest.approx(100 - 40 * 100**power / (100**power + 50**power), abs=0.01)
    assert queue.at_most == 100
    assert queue.at_least == 60


def test_cancels_beyond_the_shares_behind_were_ahead():
    queue = placed(100, others=110)
    queue.on_book(30, 40)
    assert (queue.at_least, queue.at_most) == (20, 30)
    assert 20 <= queue.likely <= 30


@given(
    st.integers(0, 200),
    st.lists(
        st.tuples(st.sampled_from(["came", "left", "traded"]), st.integers(1, 60), st.booleans()),
        max_size=30,
    ),
    st.floats(0, 4),
)
def test_the_bounds_contain_the_true_queue_position(stood, acts, power):
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


def wrote(own: OwnOrder, at_ns: int, queues: Queues, orders: list[OwnOrder], **other) -> None:
    shown = msgspec.structs.replace(made.shown(own), **other)
    queues.on_own_write(shown, at_ns, orders, T0)


def change(own: OwnOrder, remaining: int, filled: int = 0, price: int = 40) -> None:
    """An amend of our order is answered: it is this now."""
    own.on_amend_sent(Amend(price=Price(price), qty=Qty(remaining)))
    row = made.shown(own, price=price, filled=filled, remaining=remaining)
    own.on_write_body(row, T0)


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
def test_an_order_shown_on_an_unknown_side_has_no_queue_position(strange):
    queues, own = rung()
    wrote(own, 30, queues, [own], **strange)
    assert ahead(queues, own) is None


def test_a_book_before_the_response_counts_once_the_response_is_there():
    own = made.own(State.PENDING_NEW, price=40, qty=10)
    queues = Queues(POWER)
    queues.on_book(((Price(40), Qty(50)),), (), 10, [], T0)
    queues.on_book(((Price(40), Qty(60)),), (), 20, [own], T0)
    assert queues.queue_of(own) is None
    own.state, own.order_id = State.OPEN, OrderId("1001")
    wrote(own, 20, queues, [own])
    assert ahead(queues, own) == 50


def test_trades_count_from_the_arrival_of_the_order_on():
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
def test_trades_at_other_prices_or_sides_do_not_change_the_queue(price, is_ask_taken):
    queues, own = rung()
    queues.on_trade(Price(price), 20, 30, BookSide.BID if is_ask_taken else BookSide.ASK, [own], T0)
    assert ahead(queues, own) == 50


def test_only_a_smaller_size_keeps_the_queue_position():
    queues, own = rung()
    queues.on_book(((Price(40), Qty(80)),), (), 25, [own], T0)
    change(own, 4)
    wrote(own, 30, queues, [own], remaining_qty=Qty(4))
    assert ahead(queues, own) == 50
    queues.on_book(((Price(40), Qty(74)),), (), 30, [own], T0)
    change(own, 9)
    wrote(own, 40, queues, [own], remaining_qty=Qty(9))
    assert ahead(queues, own) == 70
    change(own, 9, price=41)
    wrote(own, 50, queues, [own], price=Price(41), remaining_qty=Qty(9))
    assert ahead(queues, own) == 0


def test_a_filled_order_stays_in_front_when_it_shrinks():
    queues, own = rung()
    queues.on_book(((Price(40), Qty(60)),), (), 25, [own], T0)
    change(own, 6, filled=2)
    wrote(own, 30, queues, [own], filled_qty=Qty(2), remaining_qty=Qty(6))
    queues.on_book(((Price(40), Qty(56)),), (), 35, [own], T0)
    change(own, 5, filled=2)
    wrote(own, 40, queues, [own], filled_qty=Qty(2), remaining_qty=Qty(5))
    queues.on_book(((Price(40), Qty(55)),), (), 45, [own], T0)
    assert ahead(queues, own) == 0


def test_an_amend_above_the_remaining_size_goes_to_the_back():
    queues, own = rung()
    change(own, 4, filled=7)
    wrote(own, 30, queues, [own], filled_qty=Qty(7), remaining_qty=Qty(4))
    queues.on_book(((Price(40), Qty(54)),), (), 35, [own], T0)
    assert ahead(queues, own) == 50


def test_books_are_ignored_while_a_write_at_the_price_is_in_flight():
    queues, own = rung()
    own.state = State.PENDING_REPLACE
    queues.on_book(((Price(40), Qty(20)),), (), 30, [own], T0)
    assert ahead(queues, own) == 50
    own.state = State.OPEN
    queues.on_book(((Price(40), Qty(20)),), (), 30, [own], T0)
    assert ahead(queues, own) == 10


def test_a_book_older_than_our_last_write_is_ignored():
    queues, own = rung()
    wrote(own, 40, queues, [own])
    queues.on_book(((Price(40), Qty(20)),), (), 39, [own], T0)
    assert ahead(queues, own) == 50


def test_a_second_order_gets_what_the_first_leaves_of_a_trade():
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


def test_a_suspected_fill_is_not_taken_for_a_cancel_of_others():
    queues, own = rung(others=20)
    queues.on_book(((Price(40), Qty(60)),), (), 30, [own], T0)
    queues.on_trade(Price(40), 26, 40, BookSide.ASK, [own], T0)
    queues.on_book(((Price(40), Qty(34)),), (), 40, [own], T0)
    change(own, 4, filled=6)
    queues.on_book(((Price(40), Qty(34)),), (), 41, [own], T0)
    queue = queues.queue_of(own)
    assert queue is not None
    assert queue.likely == 0


def test_a_known_fill_puts_the_order_at_the_front():
    queues, own = rung()
    change(own, 9, filled=1)
    queues.on_book(((Price(40), Qty(59)),), (), 30, [own], T0)
    assert ahead(queues, own) == 0


def test_an_order_that_rested_before_the_first_book_counts_as_last():
    own = made.own(State.OPEN, price=40, qty=10)
    queues = Queues(POWER)
    queues.on_book(((Price(40), Qty(35)),), (), 10, [own], T0)
    assert ahead(queues, own) == 25


def test_closed_orders_are_forgotten():
    queues, own = rung()
    wrote(own, 30, queues, [own], status=model.OrderStatus.CANCELED)
    assert queues.queue_of(own) is None


def test_a_no_order_is_in_the_ask_queue():
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
