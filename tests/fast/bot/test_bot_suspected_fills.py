"""Suspected fills: which orders, the value of a read, and when a read ends one."""

import pytest

from bot.core import messages as m
from bot.core.execution.suspected_fills import FIRST_READ_NS, RETRY_NS, SETTLED_NS, SuspectedFills
from bot.core.orders.order import OwnOrder, State
from bot.core.orders.outbox import NEVER_NS
from bot.core.settings import StalenessSettings
from tests.builders.bot import made
from tests.builders.bot.made import LAG_NS, MARKET, T0
from venue.wire.money import Outcome, Price, Qty

NOW = T0 + 3 * LAG_NS


def suspected() -> SuspectedFills:
    return SuspectedFills(StalenessSettings(read_lag_ns=LAG_NS))


def suspected_bid() -> tuple[SuspectedFills, OwnOrder]:
    """A bid of ten of which a trade may have filled four."""
    of, own = suspected(), bid(40)
    of.on_frame(trade(40, 4), [own], NOW)
    return of, own


def bid(price: int, qty: int = 10, number: int = 1, placed_ns: int = T0) -> OwnOrder:
    """An order to buy YES that rests since long ago."""
    return made.own(State.OPEN, placed_ns, number, price=price, qty=qty)


def ask(price: int, qty: int = 10, number: int = 5) -> OwnOrder:
    """An order that buys NO, shown as an ask at this canonical price."""
    return made.own(State.OPEN, T0, number, outcome=Outcome.NO, price=100 - price, qty=qty)


def trade(price: int, size: int) -> m.Trade:
    return m.Trade(MARKET, 1, "t", Price(price), Qty(size), False)


def book(*bids: tuple[int, int]) -> m.BookUpdate:
    return m.BookUpdate(MARKET, 1, tuple((Price(price), Qty(size)) for price, size in bids), ())


def shares_of(of: SuspectedFills) -> dict[str, int]:
    """Shares that may have filled, by order id."""
    return {each.own.order_id: each.shares for each in of.due(2**61)}


OLDER, NEWER = bid(40), bid(40, number=2, placed_ns=T0 + 5)
THREE = [bid(40), bid(39, number=2), ask(60)]


@pytest.mark.parametrize(
    ("frame", "orders", "shares"),
    [
        (trade(41, 50), THREE, {}),
        (trade(40, 4), THREE, {"1001": 4}),
        (trade(40, 50), THREE, {"1001": 10}),
        (trade(39, 4), THREE, {"1001": 10, "1002": 4}),
        (trade(38, 25), THREE, {"1001": 10, "1002": 10}),
        (trade(60, 3), THREE, {"1005": 3}),
        (trade(62, 1), THREE, {"1005": 10}),
        (trade(40, 12), [NEWER, OLDER], {"1001": 10, "1002": 2}),
        (book((40, 6), (39, 30)), THREE[:2], {"1001": 4}),
        (book((40, 8)), [OLDER, NEWER], {"1001": 10, "1002": 2}),
    ],
)
def test_a_trade_or_a_smaller_level_makes_fills_likely_of_the_oldest_orders_it_reached(
    frame, orders, shares
):
    of = suspected()
    of.on_frame(frame, orders, NOW)
    assert shares_of(of) == shares


def test_trades_add_up_to_no_more_than_the_order():
    of, own = suspected(), bid(40)
    for _ in range(4):
        of.on_frame(trade(40, 4), [own], NOW)
    assert shares_of(of) == {"1001": 10}


@pytest.mark.parametrize(("age_ns", "count"), [(SETTLED_NS - 1, 0), (SETTLED_NS, 1)])
def test_a_book_too_soon_after_our_write_suggests_no_fill(age_ns, count):
    of = suspected()
    of.on_frame(book(), [bid(40)], T0 + age_ns)
    assert len(shares_of(of)) == count


def test_an_order_without_an_id_is_not_read():
    of = suspected()
    of.on_frame(trade(40, 4), [made.own(State.PENDING_NEW)], NOW)
    assert of.next_due_ns == NEVER_NS


def test_a_read_is_worth_its_shares_and_due_after_a_moment_and_again_after_the_lag():
    of, _ = suspected_bid()
    assert of.due(NOW + FIRST_READ_NS - 1) == []
    assert of.next_due_ns == NOW + FIRST_READ_NS
    [fill] = of.due(NOW + FIRST_READ_NS)
    assert fill.value == 4.0
    of.on_read_sent([fill], NOW + FIRST_READ_NS)
    assert of.next_due_ns == NOW + LAG_NS


def test_a_second_trade_is_read_a_quarter_second_later():
    of, own = suspected_bid()
    of.on_read_sent(of.due(NOW + FIRST_READ_NS), NOW + FIRST_READ_NS)
    of.on_frame(trade(40, 4), [own], NOW + 2 * FIRST_READ_NS)
    assert of.next_due_ns == NOW + 2 * FIRST_READ_NS + RETRY_NS


@pytest.mark.parametrize(("begun_ns", "over"), [(LAG_NS - 1, False), (LAG_NS, True)])
@pytest.mark.parametrize("by_list", [False, True])
def test_only_a_read_begun_a_lag_after_the_trade_ends_a_suspicion(begun_ns, over, by_list):
    of, own = suspected_bid()
    of.on_read(NOW + begun_ns, None if by_list else own)
    assert (of.next_due_ns == NEVER_NS) is over


def test_a_read_of_one_order_leaves_another_suspected():
    of = suspected()
    of.on_frame(trade(39, 50), [bid(40), bid(39, number=2)], NOW)
    of.on_read(NOW + LAG_NS, of.due(2**61)[0].own)
    assert shares_of(of) == {"1002": 10}


def test_a_known_fill_ends_the_suspicion():
    of, own = suspected_bid()
    own.on_fills_shown(made.shown(own, filled=4))
    of.on_read(NOW, own)
    assert of.next_due_ns == NEVER_NS


def test_a_closed_order_is_no_longer_suspected():
    of = suspected()
    orders = [bid(40), bid(39, number=2)]
    of.on_frame(trade(38, 4), orders, NOW)
    orders[0].state = State.CLOSED
    assert not of.prefers_lists(NOW + FIRST_READ_NS)
    assert shares_of(of) == {"1002": 10}


@pytest.mark.parametrize(("count", "lists"), [(1, False), (2, False), (3, True)])
def test_three_suspected_orders_are_read_by_lists(count, lists):
    of = suspected()
    own = [bid(40 - number, number=number) for number in range(count)]
    of.on_frame(trade(30, 100), own, NOW)
    assert of.prefers_lists(NOW + FIRST_READ_NS) is lists
    assert len(of.due(NOW + FIRST_READ_NS)) == (0 if lists else count)


@pytest.mark.parametrize(("age_ns", "lists"), [(LAG_NS - 1, True), (LAG_NS, False)])
def test_an_order_written_a_moment_ago_is_read_by_lists(age_ns, lists):
    """A read by id could say that there is no such order, because it lags."""
    of = suspected()
    now_ns = T0 + age_ns
    of.on_frame(trade(40, 4), [bid(40)], now_ns - FIRST_READ_NS)
    assert of.prefers_lists(now_ns) is lists


def test_the_rest_of_an_order_with_a_booked_fill_is_read_at_once():
    of, _ = suspected_bid()
    of.on_read_sent(of.due(2**61), NOW)
    of.on_fills_booked(lambda _: 4, NOW + 5)
    assert of.next_due_ns == NOW + 5
