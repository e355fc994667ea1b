"""Claims about orders that want cash: what leaves of them, in which order, and what is told."""

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.core import messages as m
from bot.core.orders.order import OrderEvent
from bot.core.planning.actions import AmendAction, CancelAction, CreateAction
from bot.core.preview import affordable
from bot.core.risk.buying_power import BuyingPower
from tests.builders.bot import made
from tests.builders.bot.made import LAG_NS, T0
from tests.fast.bot.test_bot_sending import Account, asked, create, move, offer, prices
from venue.wire import model
from venue.wire.money import (
    BookSide,
    Cents,
    FeeRate,
    FeeUnits,
    Outcome,
    Price,
    Qty,
    Side,
    qty_within,
    reserve_cents,
)
from venue.wire.requests import Amend, TimeInForce


def with_cash(cents: int, **limits) -> Account:
    """An account with so much free cash, as a balance showed just now."""
    of = Account(**limits)
    shows(of, cents)
    return of


def shows(of: Account, cents: int, now_ns: int = T0) -> None:
    """A balance shows so much free cash, as of now."""
    balance = model.Balance(Cents(cents), Cents(0), Cents(cents))
    of.sending.balance_read(balance, now_ns, now_ns)


def sale(price: int = 60, qty: int = 10) -> CreateAction:
    """A wanted ask that sells shares held."""
    yes, sell = Outcome.YES, Side.SELL
    return CreateAction(BookSide.ASK, Price(price), yes, sell, Qty(qty), "sold", 0.001)


def paid(requests: list[m.Request]) -> int:
    """What the creates among requests lock, without fees."""
    creates = [each.order for each in requests if isinstance(each, m.Create)]
    return sum(each.price * each.qty for each in creates if each.side is Side.BUY)


wanted = st.builds(
    lambda make, price, qty: make(price, qty),
    st.sampled_from([create, offer, sale]),
    st.integers(1, 99),
    st.integers(1, 100),
)


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 20_000), st.lists(wanted, max_size=12))
def test_one_plan_never_locks_more_than_is_free_and_is_carried_out_once(cents, wishes):
    of = with_cash(cents, risk={"event_loss_cents": 10**7, "series_loss_cents": 10**7})
    of.rung.blocked = ""
    of.cancel()
    sent = of.spend(*wishes)
    assert paid(sent) <= cents
    of.cancel()
    later = of.spend(*of.denied)
    assert paid(sent) + paid(later) <= cents
    of.cancel()
    kept = [wish for wish in of.denied if wish.side is Side.BUY]
    assert of.spend(*kept) == [] or later  # asked once more, nothing is otherwise


@settings(max_examples=300, deadline=None)
@given(st.integers(0, 10**8), st.integers(1, 99), st.integers(0, 10**5))
def test_the_most_shares_within_an_amount_are_the_most(e8, price, cents):
    rate, price = FeeRate(e8), Price(price)
    qty = qty_within(rate, price, cents)
    assert reserve_cents(rate, qty, price, FeeUnits(0)) <= cents
    assert reserve_cents(rate, Qty(qty + 1), price, FeeUnits(0)) > cents


def test_what_sells_shares_held_leaves_without_any_cash():
    of = with_cash(0)
    assert len(of.spend(sale(), create(40))) == 1
    assert of.out.counters.held_back == {"cash": 1}


def test_as_much_leaves_as_the_cash_bears_and_no_part_too_small_to_be_worth_a_request():
    of = with_cash(405)
    [sent] = of.spend(create(40, qty=20))
    assert sent.order.qty == 10
    assert of.spend(create(30, qty=10)) == []
    assert of.sending.held_back(of.rung, create(30), T0) == "no room left: cash"


def test_a_take_that_is_all_or_none_waits_for_the_cash_of_all():
    of = with_cash(400)
    fok = msgspec.structs.replace(create(40, qty=11), time_in_force=TimeInForce.FOK)
    ioc = msgspec.structs.replace(create(40, qty=11), time_in_force=TimeInForce.IOC)
    assert of.sending.checks.may_send(of.rung, fok, T0).qty < 11
    [sent] = of.spend(ioc)
    assert sent.order.qty == 10


def test_short_of_cash_a_side_without_any_comes_first_and_of_equals_the_nearest_to_the_touch():
    of = with_cash(2_000)
    asked(of, 40, 60)
    sent = of.spend(
        create(20, qty=50, value=9), create(38, qty=25, value=3), offer(60, qty=25), create(39)
    )
    assert prices(sent) == [40, 39, 38]  # the offer, which costs 40; then the nearest bids
    assert sent[2].order.qty == 16


def test_of_equally_near_ones_that_comes_first_which_is_worth_most_for_what_it_costs():
    of = with_cash(500)
    asked(of, 20, 60)
    sent = of.spend(offer(60), create(20, value=0.6))
    assert prices(sent) == [20, 40]  # 0.6 for 200 cents, 1 for 400
    assert [request.order.qty for request in sent] == [10, 7]


def test_with_cash_for_all_the_most_valuable_leaves_first_wherever_it_stands():
    of = with_cash(1_000 + 380 + 400)
    asked(of, 40, 60)
    assert prices(of.spend(create(20, qty=50, value=9), create(38, value=3), offer(60))) == [
        *(20, 38, 40)
    ]


def test_an_order_that_stands_moves_before_a_new_one_has_its_part():
    of = with_cash(20)
    own = of.rests(30)
    sent = of.spend(create(39, qty=1, value=9), move(own, 32))
    assert [type(each) for each in sent] == [m.AmendResting]


def test_an_order_moves_with_as_many_shares_as_the_cash_bears():
    of = with_cash(0)
    own = of.rests(30, qty=10)
    [sent] = of.spend(move(own, 33))
    assert sent.amend == Amend(price=Price(33), qty=Qty(9))


def test_an_order_stays_where_it_is_where_the_cash_bears_no_part_of_its_move():
    of = with_cash(0)
    own = of.rests(30, qty=1)
    wish = move(own, 33)
    assert of.spend(wish) == []
    assert of.denied == [wish]
    assert of.out.counters.held_back == {"cash": 1}
    assert of.sending.held_back(of.rung, wish, T0) == "no room left: cash"


def test_an_order_that_steps_back_or_shrinks_needs_no_cash():
    of = with_cash(0)
    own, other = of.rests(40, 1), of.rests(30, 2)
    less = AmendAction(other, Amend(qty=Qty(5)), True, "less")
    assert len(of.spend(move(own, 35), less)) == 2


def test_an_order_gives_way_to_a_larger_one_only_where_cash_bears_what_is_more():
    more = msgspec.structs.replace(create(40, qty=5))
    for cents, count in ((199, 1), (30, 0)):
        of = with_cash(cents)
        own = of.rests(40)
        merged = CancelAction(own, "merged", 1.0, more)
        assert len(of.cancel(merged)) == count
    assert of.out.counters.held_back == {"cash": 1}
    assert of.sending.held_back(of.rung, merged, T0) == "no room left for more: cash"


def test_what_a_cancel_has_let_go_is_there_for_what_takes_its_place():
    of = with_cash(200)
    own = of.rests(40)
    of.cancel(CancelAction(own, "to come back larger"), now_ns=T0 + 1)
    assert of.spend(create(41, qty=10), now_ns=T0 + 1) == []
    own.on_cancel_body(made.over(own, model.OrderStatus.CANCELED, 0), Qty(10), T0 + 2)
    of.cancel(now_ns=T0 + 2)
    assert of.spend(create(41, qty=20), now_ns=T0 + 2)[0].order.qty == 600 // 41


def test_an_order_is_free_again_once_it_is_refused():
    of = with_cash(400)
    of.spend(create(40))
    [own] = of.desk.live(made.MARKET)
    of.cancel()
    assert of.spend(create(39)) == []
    own.on_answer(OrderEvent.REJECTED, T0 + 1)
    of.cancel(now_ns=T0 + 2)
    assert len(of.spend(create(39), now_ns=T0 + 2)) == 1


def test_a_later_balance_counts_what_it_shows_and_what_left_since():
    of = with_cash(400)
    of.spend(create(40))
    [own] = of.desk.live(made.MARKET)
    own.on_write_body(made.shown(own, order_id="1"), T0 + 1)
    shows(of, 400, T0 + LAG_NS)  # it lags: the order need not be in it
    assert of.sending.checks.cash.cents == 0
    shows(of, 400, T0 + LAG_NS + 1)
    assert of.sending.checks.cash.cents == 400


def test_two_series_of_one_account_share_its_cash():
    cash = BuyingPower()
    cash.on_balance(Cents(400), 0, 1)
    of = Account()
    own, rate = made.own(price=40, qty=10), max(of.rung.maker_rate, of.rung.taker_rate)
    cash.on_create(own, rate, T0)
    assert cash.affordable(rate, Price(40), 10) == 0


@pytest.mark.parametrize(("cents", "qty"), [(0, 0), (399, 9), (10**7, 10_000)])
def test_a_person_is_told_how_many_shares_the_cash_bears(cents, qty):
    of = with_cash(cents)
    cash = of.sending.checks.cash
    assert affordable(cash, of.rung, of.rung.live(create(40), 10_000), None) == qty
    assert affordable(cash, of.rung, of.rung.live(sale(), 10_000), None) == 10_000
