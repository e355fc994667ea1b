"""Free cash: orders are sent within it, and it is never counted twice."""

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
from tests.builders.bot.account import Account, create, decided_at, move, offer, prices
from tests.builders.bot.cash_world import FREE, RATE, Order, cost, run_of
from tests.builders.bot.made import LAG_NS, T0
from venue.wire import model
from venue.wire.money import (
    BookSide,
    Cents,
    Outcome,
    Price,
    Qty,
    Side,
)
from venue.wire.requests import Amend, TimeInForce


def with_cash(cents: int, **limits) -> Account:
    """An account with so much free cash, as a balance showed just now."""
    of = Account(**limits)
    of.show_balance(cents)
    return of


def sale(price: int = 60, qty: int = 10) -> CreateAction:
    yes, sell = Outcome.YES, Side.SELL
    return CreateAction(BookSide.ASK, Price(price), yes, sell, Qty(qty), "sold", 0.001)


def locked_by(requests: list[m.Request]) -> int:
    """Cents that the creates among requests lock, without fees."""
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
def test_a_plan_never_locks_more_cash_than_is_free(cents, wishes):
    of = with_cash(cents, risk={"event_loss_cents": 10**7, "series_loss_cents": 10**7})
    of.rung.blocked = ""
    of.cancel()
    sent = of.spend(*wishes)
    assert locked_by(sent) <= cents
    of.cancel()
    later = of.spend(*of.denied)
    assert locked_by(sent) + locked_by(later) <= cents
    of.cancel()
    kept = [wish for wish in of.denied if wish.side is Side.BUY]
    assert of.spend(*kept) == [] or later  # a second request changes nothing


def test_a_sale_of_held_shares_needs_no_cash():
    of = with_cash(0)
    assert len(of.spend(sale(), create(40))) == 1
    assert of.out.counters.held_back == {"cash": 1}


def test_a_create_is_sent_at_the_size_that_the_cash_pays_unless_that_is_too_small():
    of = with_cash(405)
    [sent] = of.spend(create(40, qty=20))
    assert sent.order.qty == 10
    assert of.spend(create(30, qty=10)) == []
    assert of.sending.held_back(of.rung, create(30), T0) == "no room left: cash"


def test_a_fill_or_kill_take_waits_for_the_cash_of_its_whole_size():
    of = with_cash(400)
    fok = msgspec.structs.replace(create(40, qty=11), time_in_force=TimeInForce.FOK)
    ioc = msgspec.structs.replace(create(40, qty=11), time_in_force=TimeInForce.IOC)
    assert of.sending.checks.may_send(of.rung, fok, T0).qty < 11
    [sent] = of.spend(ioc)
    assert sent.order.qty == 10


def test_short_of_cash_a_side_without_orders_and_then_the_nearest_to_the_touch_come_first():
    of = with_cash(2_000)
    decided_at(of, 40, 60)
    sent = of.spend(
        create(20, qty=50, value=9), create(38, qty=25, value=3), offer(60, qty=25), create(39)
    )
    assert prices(sent) == [40, 39, 38]  # the offer, which costs 40; then the nearest bids
    assert sent[2].order.qty == 16


def test_of_equally_near_creates_the_one_with_the_most_value_for_its_cost_comes_first():
    of = with_cash(500)
    decided_at(of, 20, 60)
    sent = of.spend(offer(60), create(20, value=0.6))
    assert prices(sent) == [20, 40]  # 0.6 for 200 cents, 1 for 400
    assert [request.order.qty for request in sent] == [10, 7]


def test_with_cash_for_all_the_most_valuable_create_comes_first():
    of = with_cash(1_000 + 380 + 400)
    decided_at(of, 40, 60)
    assert prices(of.spend(create(20, qty=50, value=9), create(38, value=3), offer(60))) == [
        *(20, 38, 40)
    ]


def test_an_amend_gets_cash_before_a_create():
    of = with_cash(20)
    own = of.rests(30)
    sent = of.spend(create(39, qty=1, value=9), move(own, 32))
    assert [type(each) for each in sent] == [m.AmendResting]


def test_an_order_moves_with_the_size_that_the_cash_pays():
    of = with_cash(0)
    own = of.rests(30, qty=10)
    [sent] = of.spend(move(own, 33))
    assert sent.amend == Amend(price=Price(33), qty=Qty(9))


def test_an_order_stays_if_the_cash_pays_no_part_of_its_move():
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


def test_an_order_is_merged_only_if_the_cash_pays_the_additional_size():
    more = msgspec.structs.replace(create(40, qty=5))
    for cents, count in ((199, 1), (30, 0)):
        of = with_cash(cents)
        own = of.rests(40)
        merged = CancelAction(own, "merged", 1.0, more)
        assert len(of.cancel(merged)) == count
    assert of.out.counters.held_back == {"cash": 1}
    assert of.sending.held_back(of.rung, merged, T0) == "no room left for more: cash"


def test_cash_that_a_cancel_frees_pays_for_the_replacement():
    of = with_cash(200)
    own = of.rests(40)
    of.cancel(CancelAction(own, "to come back larger"), now_ns=T0 + 1)
    assert of.spend(create(41, qty=10), now_ns=T0 + 1) == []
    own.on_cancel_body(made.over(own, model.OrderStatus.CANCELED, 0), Qty(10), T0 + 2)
    of.cancel(now_ns=T0 + 2)
    assert of.spend(create(41, qty=20), now_ns=T0 + 2)[0].order.qty == 600 // 41


def test_cash_of_a_rejected_create_is_free_again():
    of = with_cash(400)
    of.spend(create(40))
    [own] = of.desk.live(made.MARKET)
    of.cancel()
    assert of.spend(create(39)) == []
    own.on_answer(OrderEvent.REJECTED, T0 + 1)
    of.cancel(now_ns=T0 + 2)
    assert len(of.spend(create(39), now_ns=T0 + 2)) == 1


def test_a_balance_counts_less_the_creates_that_it_may_not_show_yet():
    of = with_cash(400)
    of.spend(create(40))
    [own] = of.desk.live(made.MARKET)
    own.on_write_body(made.shown(own, order_id="1"), T0 + 1)
    of.show_balance(400, T0 + LAG_NS)  # it lags: the order need not be in it
    assert of.sending.checks.cash.cents == 0
    of.show_balance(400, T0 + LAG_NS + 1)
    assert of.sending.checks.cash.cents == 400


def test_two_series_of_one_account_share_its_cash():
    cash = BuyingPower()
    cash.on_balance(Cents(400), 0, 1)
    of = Account()
    own, rate = made.own(price=40, qty=10), max(of.rung.maker_rate, of.rung.taker_rate)
    cash.on_create(own, rate, T0)
    assert cash.affordable(rate, Price(40), 10) == 0


@pytest.mark.parametrize(("cents", "qty"), [(0, 0), (399, 9), (10**7, 10_000)])
def test_the_preview_shows_how_many_shares_the_cash_pays(cents, qty):
    of = with_cash(cents)
    cash = of.sending.checks.cash
    assert affordable(cash, of.rung, of.rung.live(create(40), 10_000), None) == qty
    assert affordable(cash, of.rung, of.rung.live(sale(), 10_000), None) == 10_000


def test_most_of_the_free_cash_is_available():
    sums = [(0, 0)]

    def after_each(world):
        sums.append((sums[-1][0] + max(0, world.cash.cents), sums[-1][1] + max(0, world.truth())))

    for seed in range(40):
        run_of(seed, after_each)
    free, there = sums[-1]
    assert free > there / 2


def resting(cash, qty, price, at):
    """An order whose create was answered by `at`."""
    own = Order(qty, price, pending="", last_write_ns=at)
    cash.on_create(own, RATE, at)
    return own


def test_without_a_balance_cash_is_unlimited():
    assert BuyingPower().suffices(10**12)


def with_balance(cents: int, begun: int = 0, answered: int = 1) -> BuyingPower:
    cash = BuyingPower()
    cash.on_balance(cents, begun, answered)
    return cash


def test_a_sale_needs_no_cash_though_the_balance_is_negative():
    cash = with_balance(-5)
    assert cash.suffices(0)
    assert not cash.suffices(1)


def test_a_balance_includes_only_orders_answered_before_it_was_requested():
    cash = with_balance(1_000)
    resting(cash, 10, 40, 100)
    resting(cash, 10, 30, 101)
    cash.on_balance(600, 100, 150)
    assert cash.cents == 600 - cost(10, 30)


def test_a_rejected_create_locks_no_cash():
    cash = with_balance(1_000)
    own = resting(cash, 10, 40, 100)
    own.is_live = False
    assert cash.cents == 1_000


def test_a_closed_order_has_spent_only_its_fills():
    cash = with_balance(1_000)
    own = resting(cash, 10, 40, 100)
    own.is_live, own.filled = False, 3
    assert 1_000 - cash.cents == 3 * 40 + cost(10, 40) - 400


def test_a_cancel_sent_after_the_balance_frees_its_cash():
    cash = with_balance(1_000, 0, 100)
    own = Order(10, 40, pending="cancel", remaining=10)
    cash.on_cancel(own, 101)
    assert cash.cents == 1_000
    own.is_live, own.pending = False, ""
    assert cash.cents == 1_400
    cash.on_balance(1_200, 50, 150)
    assert cash.cents == 1_200  # it may be in that one, or not


def test_fills_before_a_size_amend_are_locked_once_they_are_known():
    """Ten at 40 rest and are to become five: four fill first, of six that remain five do."""
    cash = BuyingPower()
    own = Order(10, 40)
    own.pending, own.remaining = "", 10
    cash.on_balance(600, 100, 150)
    own.last_write_ns, own.pending = 200, "amend"
    cash.on_amend(own, FREE, Amend(qty=Qty(5)), 200)
    assert cash.suffices(600)
    own.filled, own.remaining = 4, 6  # this news may arrive before the response
    assert (cash.cents, cash.suffices(600)) == (600 - 4 * 40, False)
    own.remaining, own.pending, own.last_write_ns = 5, "", 210
    assert cash.cents == 600 - 4 * 40
    cash.on_balance(800, 300, 350)
    assert cash.cents == 800


def test_fills_after_a_size_amend_lock_nothing_more():
    for remaining, filled in ((5, 0), (3, 2), (10, 0), (8, 2)):
        cash = BuyingPower()
        own = Order(10, 40)
        own.pending, own.remaining = "", 10
        cash.on_balance(600, 100, 150)
        cash.on_amend(own, FREE, Amend(qty=Qty(5)), 200)
        own.remaining, own.filled, own.last_write_ns = remaining, filled, 210
        refused_cents = 2 * 40 if remaining == 8 else 0  # it cannot be distinguished from a fill
        assert cash.cents == 600 - refused_cents


def test_a_balance_older_than_the_newest_is_ignored():
    cash = with_balance(1_000, 100, 200)
    cash.on_balance(5_000, 99, 300)
    assert cash.cents == 1_000
