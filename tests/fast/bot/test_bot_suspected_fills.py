"""Claims about suspected fills: which orders, the value of a read, and when a read ends one."""

import pytest

from bot.core import messages as m
from bot.core.execution.suspected_fills import (
    FIRST_READ_NS,
    RETRY_NS,
    SETTLED_NS,
    SuspectedFills,
)
from bot.core.orders.order import OwnOrder, State
from bot.core.orders.outbox import NEVER_NS
from bot.core.settings import StalenessSettings
from tests.builders.bot import made
from tests.builders.bot.made import LAG_NS, MARKET, T0
from venue.wire.money import Outcome, Price, Qty

NOW = T0 + 3 * LAG_NS


def suspected() -> SuspectedFills:
    """No order is suspected yet."""
    return SuspectedFills(StalenessSettings(read_lag_ns=LAG_NS))


def bid(price: int, qty: int = 10, number: int = 1, placed_ns: int = T0) -> OwnOrder:
    """An order to buy YES that rests since long ago."""
    return made.own(State.OPEN, placed_ns, number, price=price, qty=qty)


def ask(price: int, qty: int = 10, number: int = 5) -> OwnOrder:
    """An order that buys NO, shown as an ask at this canonical price."""
    return made.own(State.OPEN, T0, number, outcome=Outcome.NO, price=100 - price, qty=qty)


def trade(price: int, size: int) -> m.Trade:
    """A print."""
    return m.Trade(MARKET, 1, "t", Price(price), Qty(size), False)


def book(*bids: tuple[int, int]) -> m.BookUpdate:
    """A frame with these bids."""
    return m.BookUpdate(MARKET, 1, tuple((Price(price), Qty(size)) for price, size in bids), ())


def shares_of(of: SuspectedFills) -> dict[str, int]:
    """Shares that may have filled, by order id."""
    return {each.own.order_id: each.shares for each in of.due(2**61)}


@pytest.mark.parametrize(
    ("price", "size", "shares"),
    [
        (41, 50, {}),
        (40, 4, {"1001": 4}),
        (40, 50, {"1001": 10}),
        (39, 4, {"1001": 10, "1002": 4}),
        (38, 25, {"1001": 10, "1002": 10}),
        (60, 3, {"1005": 3}),
        (62, 1, {"1005": 10}),
    ],
)
def test_a_print_makes_fills_likely_of_the_orders_it_reached(price, size, shares):
    of = suspected()
    of.on_frame(trade(price, size), [bid(40), bid(39, number=2), ask(60)], NOW)
    assert shares_of(of) == shares


def test_of_orders_at_one_price_the_oldest_filled_first():
    of = suspected()
    of.on_frame(trade(40, 12), [bid(40, number=2, placed_ns=T0 + 5), bid(40)], NOW)
    assert shares_of(of) == {"1001": 10, "1002": 2}


def test_prints_add_up_to_no_more_than_the_order():
    of, own = suspected(), bid(40)
    for _ in range(4):
        of.on_frame(trade(40, 4), [own], NOW)
    assert shares_of(of) == {"1001": 10}


def test_a_level_with_less_than_ours_has_lost_some_of_ours():
    of = suspected()
    of.on_frame(book((40, 6), (39, 30)), [bid(40), bid(39, number=2)], NOW)
    assert shares_of(of) == {"1001": 4}


def test_what_is_left_of_a_level_is_the_newest_of_ours():
    of = suspected()
    of.on_frame(book((40, 8)), [bid(40), bid(40, number=2, placed_ns=T0 + 5)], NOW)
    assert shares_of(of) == {"1001": 10, "1002": 2}


@pytest.mark.parametrize(("age_ns", "count"), [(SETTLED_NS - 1, 0), (SETTLED_NS, 1)])
def test_a_book_too_soon_after_our_own_write_makes_no_fill_likely(age_ns, count):
    of = suspected()
    of.on_frame(book(), [bid(40)], T0 + age_ns)
    assert len(shares_of(of)) == count


def test_an_order_without_an_id_cannot_be_read():
    of = suspected()
    of.on_frame(trade(40, 4), [made.own(State.PENDING_NEW)], NOW)
    assert of.next_due_ns == NEVER_NS


def test_a_read_is_worth_its_shares():
    of = suspected()
    of.on_frame(trade(40, 4), [bid(40)], NOW)
    [fill] = of.due(NOW + FIRST_READ_NS)
    assert fill.value == 4.0


def test_a_read_is_due_a_moment_after_the_print_and_once_more_after_the_lag():
    of = suspected()
    of.on_frame(trade(40, 4), [bid(40)], NOW)
    assert of.due(NOW + FIRST_READ_NS - 1) == []
    assert of.next_due_ns == NOW + FIRST_READ_NS
    of.on_read_sent(of.due(NOW + FIRST_READ_NS), NOW + FIRST_READ_NS)
    assert of.next_due_ns == NOW + LAG_NS


def test_a_further_print_is_read_no_sooner_than_a_quarter_second_later():
    of, own = suspected(), bid(40)
    of.on_frame(trade(40, 4), [own], NOW)
    of.on_read_sent(of.due(NOW + FIRST_READ_NS), NOW + FIRST_READ_NS)
    of.on_frame(trade(40, 4), [own], NOW + 2 * FIRST_READ_NS)
    assert of.next_due_ns == NOW + 2 * FIRST_READ_NS + RETRY_NS


@pytest.mark.parametrize(("begun_ns", "over"), [(LAG_NS - 1, False), (LAG_NS, True)])
@pytest.mark.parametrize("by_list", [False, True])
def test_only_a_read_begun_a_lag_after_the_print_ends_a_suspicion(begun_ns, over, by_list):
    of, own = suspected(), bid(40)
    of.on_frame(trade(40, 4), [own], NOW)
    of.on_read(NOW + begun_ns, None if by_list else own)
    assert (of.next_due_ns == NEVER_NS) is over


def test_a_read_of_one_order_says_nothing_of_another():
    of = suspected()
    of.on_frame(trade(39, 50), [bid(40), bid(39, number=2)], NOW)
    of.on_read(NOW + LAG_NS, of.due(2**61)[0].own)
    assert shares_of(of) == {"1002": 10}


def test_a_known_fill_ends_the_suspicion_however_soon_it_was_read():
    of, own = suspected(), bid(40)
    of.on_frame(trade(40, 4), [own], NOW)
    own.on_fills_shown(made.shown(own, filled=4))
    of.on_read(NOW, own)
    assert of.next_due_ns == NEVER_NS


def test_a_closed_order_is_suspected_no_more():
    of, own = suspected(), bid(40)
    of.on_frame(trade(40, 4), [own], NOW)
    own.state = State.CLOSED
    assert not of.prefers_lists(NOW)
    assert of.next_due_ns == NEVER_NS


def test_an_order_that_ended_without_an_answer_is_read_no_more():
    of = suspected()
    orders = [bid(40), bid(39, number=2)]
    of.on_frame(trade(38, 4), orders, NOW)
    orders[0].state = State.CLOSED
    assert not of.prefers_lists(NOW + FIRST_READ_NS)
    assert shares_of(of) == {"1002": 10}


@pytest.mark.parametrize(("count", "lists"), [(1, False), (2, False), (3, True)])
def test_two_lists_cost_less_than_three_reads(count, lists):
    of = suspected()
    own = [bid(40 - number, number=number) for number in range(count)]
    of.on_frame(trade(30, 100), own, NOW)
    assert of.prefers_lists(NOW + FIRST_READ_NS) is lists
    assert len(of.due(NOW + FIRST_READ_NS)) == (0 if lists else count)


@pytest.mark.parametrize(("age_ns", "lists"), [(LAG_NS - 1, True), (LAG_NS, False)])
def test_an_order_written_a_moment_ago_is_looked_for_in_the_lists(age_ns, lists):
    """A read by id could say that there is no such order, because it lags."""
    of = suspected()
    now_ns = T0 + age_ns
    of.on_frame(trade(40, 4), [bid(40)], now_ns - FIRST_READ_NS)
    assert of.prefers_lists(now_ns) is lists


def test_of_an_order_whose_fill_is_booked_the_rest_is_read_at_once():
    of, own = suspected(), bid(40)
    of.on_frame(trade(40, 4), [own], NOW)
    of.on_read_sent(of.due(2**61), NOW)
    of.on_fills_booked(lambda _: 4, NOW + 5)
    assert of.next_due_ns == NOW + 5
