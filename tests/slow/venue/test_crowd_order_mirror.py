"""Resting orders brought to what is wanted."""

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


class Kept:
    """A keeper on an engine; events are held back until `hear`."""

    def __init__(self):
        self.engine, self.keeper = Engine(b"k" * 32), OrderMirror(TAPE, MARKET)
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
        return self.keeper.settle(wanted, now_ns, f"r{self.rounds}")

    def hear(self):
        for event in self.events:
            if isinstance(event, m.OrderChanged):
                self.keeper.observe(event)
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


def test_an_empty_book_is_filled_by_one_order_a_level():
    kept = Kept()
    assert kinds(kept.bring({BID_40: 5, (Outcome.NO, 50): 7})) == ["PlaceOrder", "PlaceOrder"]
    assert sorted(kept.resting().values()) == [5, 7]


def test_what_is_wanted_already_costs_nothing():
    kept = Kept()
    kept.bring({BID_40: 5})
    assert kept.bring({BID_40: 5}) == []


def test_less_is_an_amend_that_keeps_the_place():
    kept = Kept()
    kept.bring({BID_40: 5})
    (amend,) = kept.bring({BID_40: 3})
    assert isinstance(amend, m.AmendOrder)
    assert amend.amend.qty == 3
    assert amend.amend.price is None


def test_more_is_a_second_order():
    kept = Kept()
    kept.bring({BID_40: 5})
    (place,) = kept.bring({BID_40: 9})
    assert place.order.qty == 4


def test_the_newest_order_shrinks_first():
    kept = Kept()
    kept.bring({BID_40: 5})
    (second,) = kept.bring({BID_40: 9})
    commands = kept.bring({BID_40: 4})
    assert kinds(commands) == ["CancelOrder", "AmendOrder"]
    assert list(kept.resting().values()) == [4]
    assert second.order.qty == 4


def test_a_fill_by_another_is_placed_again():
    kept = Kept()
    kept.bring({BID_40: 5})
    body = QtyOrder(
        MARKET, Outcome.NO, Side.BUY, Price(60), Qty(2), TimeInForce.IOC, ClientOrderId("x")
    )
    kept.do(m.PlaceOrder(OTHER, body))
    kept.hear()
    (place,) = kept.bring({BID_40: 5})
    assert place.order.qty == 2


def test_an_order_under_way_is_not_sent_twice():
    kept = Kept()
    kept.settle({BID_40: 5})
    assert kept.settle({BID_40: 5}) == []


def test_an_order_that_is_never_heard_of_is_sent_again():
    kept = Kept()
    kept.settle({BID_40: 5})
    assert kinds(kept.settle({BID_40: 5}, START_NS + NO_NEWS_NS + 1)) == ["PlaceOrder"]


def test_a_cancel_that_is_never_heard_of_is_sent_again():
    kept = Kept()
    kept.bring({BID_40: 5})
    assert kinds(kept.settle({})) == ["CancelOrder"]
    assert kept.settle({}) == []
    assert kinds(kept.settle({}, START_NS + NO_NEWS_NS + 1)) == ["CancelOrder"]


def test_orders_of_others_are_none_of_its_business():
    kept = Kept()
    body = QtyOrder(
        MARKET, Outcome.YES, Side.BUY, Price(40), Qty(2), TimeInForce.GTC, ClientOrderId("x")
    )
    kept.do(m.PlaceOrder(OTHER, body))
    kept.hear()
    assert kept.settle({}) == []


levels = st.dictionaries(
    st.one_of(
        st.tuples(st.just(Outcome.YES), st.integers(40, 49)),
        st.tuples(st.just(Outcome.NO), st.integers(40, 49)),
    ),
    st.integers(1, 50),
    max_size=8,
)


@settings(max_examples=40, deadline=None)
@given(st.lists(levels, max_size=6))
def test_after_any_run_of_books_what_rests_is_the_last_one(books):
    kept = Kept()
    for book in [*books, {BID_40: 1}]:
        kept.bring(book)
        assert sorted(kept.resting().values()) == sorted(book.values())
