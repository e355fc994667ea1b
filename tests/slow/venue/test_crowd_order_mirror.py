"""Resting orders brought to what is wanted."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.builders.venue.crowd_simulation import START_NS, ladder, market_id
from venue.crowd.order_mirror import NO_NEWS_NS, OrderMirror
from venue.engine import messages as m
from venue.engine.engine import Engine
from venue.wire.money import Cents, Outcome, Price, Qty, Side
from venue.wire.names import ClientOrderId, UserId
from venue.wire.requests import QtyOrder, TimeInForce

TAPE, OTHER = UserId("tape"), UserId("other")
MARKET = market_id(0)
BID_40 = (Outcome.YES, Price(40))


class MirrorBench:
    """An order mirror on an engine; events are held back until `hear`."""

    def __init__(self):
        self.engine, self.mirror = Engine(b"k" * 32), OrderMirror(TAPE, MARKET)
        self.events, self.levels, self.rounds = [], {}, 0
        for command in ladder():
            self.engine.apply(command, START_NS)
        for user in (TAPE, OTHER):
            self.do(m.AddUser(user))
            self.do(m.Deposit(user, Cents(10**9)))

    def do(self, command):
        answer, events = self.engine.apply(command, START_NS)
        assert not isinstance(answer, m.Refused), answer
        self.events += events
        for event in events:
            if isinstance(event, m.LevelChanged):
                self.levels[event.side, event.price] = event.size
        return answer

    def settle(self, wanted, now_ns=START_NS):
        self.rounds += 1
        return self.mirror.settle(wanted, now_ns, f"r{self.rounds}")

    def hear(self):
        for event in self.events:
            if isinstance(event, m.OrderChanged):
                self.mirror.observe(event)
        self.events = []

    def bring(self, wanted):
        commands = self.settle(wanted)
        for command in commands:
            self.do(command)
        self.hear()
        return commands

    def resting(self):
        return {level: size for level, size in self.levels.items() if size}


def kinds(commands):
    return [type(command).__name__ for command in commands]


def order(outcome, price, qty, time_in_force):
    key = ClientOrderId("x")
    body = QtyOrder(MARKET, outcome, Side.BUY, Price(price), Qty(qty), time_in_force, key)
    return m.PlaceOrder(OTHER, body)


@pytest.fixture
def bench():
    return MirrorBench()


def test_an_empty_book_is_filled_by_one_order_a_level(bench):
    assert kinds(bench.bring({BID_40: 5, (Outcome.NO, 50): 7})) == ["PlaceOrder", "PlaceOrder"]
    assert sorted(bench.resting().values()) == [5, 7]
    assert bench.bring({BID_40: 5, (Outcome.NO, 50): 7}) == []


def test_a_smaller_size_is_an_amend_that_keeps_queue_position(bench):
    bench.bring({BID_40: 5})
    (amend,) = bench.bring({BID_40: 3})
    assert isinstance(amend, m.AmendOrder)
    assert (amend.amend.qty, amend.amend.price) == (3, None)


def test_a_larger_size_is_a_second_order_which_shrinks_first(bench):
    bench.bring({BID_40: 5})
    (second,) = bench.bring({BID_40: 9})
    assert second.order.qty == 4
    assert kinds(bench.bring({BID_40: 4})) == ["CancelOrder", "AmendOrder"]
    assert list(bench.resting().values()) == [4]


def test_filled_size_is_placed_again(bench):
    bench.bring({BID_40: 5})
    bench.do(order(Outcome.NO, 60, 2, TimeInForce.IOC))
    bench.hear()
    (place,) = bench.bring({BID_40: 5})
    assert place.order.qty == 2


@pytest.mark.parametrize(
    ("resting", "wanted", "command"),
    [({}, {BID_40: 5}, "PlaceOrder"), ({BID_40: 5}, {}, "CancelOrder")],
)
def test_a_command_without_news_is_repeated_only_after_no_news_ns(bench, resting, wanted, command):
    bench.bring(resting)
    assert kinds(bench.settle(wanted)) == [command]
    assert bench.settle(wanted) == []
    assert kinds(bench.settle(wanted, START_NS + NO_NEWS_NS + 1)) == [command]


def test_orders_of_other_users_are_left_alone(bench):
    bench.do(order(Outcome.YES, 40, 2, TimeInForce.GTC))
    bench.hear()
    assert bench.settle({}) == []


levels = st.dictionaries(
    st.tuples(st.sampled_from(Outcome), st.integers(40, 49)), st.integers(1, 50), max_size=8
)


@settings(max_examples=40, deadline=None)
@given(st.lists(levels, max_size=6))
def test_after_any_sequence_of_books_the_last_one_rests(books):
    bench = MirrorBench()
    for book in [*books, {BID_40: 1}]:
        bench.bring(book)
        assert sorted(bench.resting().values()) == sorted(book.values())
