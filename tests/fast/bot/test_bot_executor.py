"""Which actions the executor sends first, which a limit holds back, and which none does."""

import msgspec
import pytest

from bot.core import messages as m
from bot.core.orders.order import OwnOrder, State
from bot.core.planning.actions import CancelAction
from tests.builders.bot import made
from tests.builders.bot.account import (
    MS,
    SECOND,
    Account,
    create,
    decided_at,
    kinds,
    move,
    offer,
    prices,
    show_book,
    show_touch,
    step_back,
)
from tests.builders.bot.made import LAG_NS, T0
from tests.builders.bot.planned import bid, plan
from venue.wire import model
from venue.wire.money import Cents, Outcome, Price, Qty
from venue.wire.names import Ticker
from venue.wire.requests import Amend

NO_MORE = "no room left for more: exposure"


@pytest.mark.parametrize(("tokens", "sent"), [(400, [20, 30, 10, 11]), (61, [20])])
def test_the_most_valuable_action_is_sent_first_and_of_equals_the_first_planned(tokens, sent):
    of = Account()
    of.leave_tokens(tokens)
    actions = create(10, value=1), create(20, value=3), create(30, value=2), create(11)
    assert prices(of.spend(*actions)) == sent
    assert of.denied == []


def test_a_read_of_an_order_that_may_have_filled_is_valued_by_its_shares():
    of = Account()
    own = of.rests(45)
    print_ = m.Trade(made.MARKET, 1, "t", Price(45), Qty(5), False)
    of.hints.on_frame(print_, [own], T0 - SECOND)
    sent = of.spend(create(20, value=6), create(30, value=4))
    assert kinds(sent) == ["Create", "ReadOrder", "Create"]
    assert sent[1] == m.ReadOrder(own.order_id)
    assert of.spend() == []


def test_a_read_is_sent_though_no_write_may_be():
    of = Account()
    of.sending.venue.on_reject("venue_halted", T0)
    own = of.rests(45)
    of.hints.on_frame(m.Trade(made.MARKET, 1, "t", Price(45), Qty(5), False), [own], T0 - SECOND)
    assert of.spend(create()) == [m.ReadOrder(own.order_id)]


@pytest.mark.parametrize("quote", [create(55), offer(45)])
def test_a_quote_waits_for_the_strategy_if_the_market_moved_to_its_price(quote):
    of = Account()
    decided_at(of, 40, 60)
    show_touch(of, 45, 55)
    assert of.spend(quote) == []
    assert of.rung.ladder.needs_decision
    assert "after the strategy ran" in of.sending.held_back(of.rung, quote, T0)
    decided_at(of, 45, 55)
    assert len(of.spend(quote)) == 1


def test_an_order_does_not_move_to_a_price_that_the_market_reached_after_the_strategy_ran():
    of = Account()
    own = of.rests(30)
    decided_at(of, 40, 60)
    show_touch(of, 40, 50)
    assert of.spend(move(own, 50)) == []
    assert len(of.spend(move(own, 49))) == 1


def test_an_own_order_at_its_price_does_not_hold_a_quote_back():
    of = Account()
    decided_at(of, 40, 60)
    of.rests(50, outcome=Outcome.NO)
    show_book(of, ((Price(40), Qty(5)),), ((Price(50), Qty(10)), (Price(60), Qty(5))))
    assert len(of.spend(create(50))) == 1


def test_a_suspect_rung_sends_nothing():
    of = Account()
    of.rung.state.suspect_since_ns = T0
    assert of.spend(create()) == []


def test_writes_in_flight_stay_within_their_limit():
    of = Account(pace={"requests_in_flight": 2})
    assert prices(of.spend(*(create(price) for price in (10, 20, 30)))) == [10, 20]
    assert of.denied == []


def test_the_rung_learns_of_an_action_that_a_limit_denies():
    of = Account(risk={"rung_position_qty": 100})
    of.rests(40, qty=100)
    wish = create(41)
    assert of.spend(wish) == []
    assert of.denied == [wish]


def test_a_create_is_sent_with_the_size_that_the_limits_allow():
    of = Account(risk={"rung_position_qty": 100})
    of.rests(40, qty=95)
    [sent] = of.spend(create(41, qty=10))
    assert sent.order.qty == 5


def test_the_number_of_resting_orders_is_limited():
    of = Account(risk={"resting_orders": 2})
    of.rests(40)
    assert prices(of.spend(create(30, value=2), create(20))) == [30]
    assert len(of.denied) == 1


@pytest.mark.parametrize(
    ("most", "rests", "leave"),
    [(3, (), [40, 39, 40]), (2, (), [40, 40]), (2, (38,), [40]), (1, (), [40])],
    ids=["room for all", "for two of three", "for one next to a bid", "for one"],
)
def test_near_the_limit_of_orders_a_side_without_any_comes_first(most, rests, leave):
    of = Account(risk={"resting_orders": most})
    for price in rests:
        of.rests(price)
    sent = of.spend(create(40, value=5), create(39, value=4), offer(60))
    assert prices(sent) == leave
    sides = [request.order.outcome for request in sent]
    assert (sides[-1] is Outcome.NO) is (most > 1)  # the offer, at 40 cents of NO


def near_time_to_flat(flat_ms: int) -> Account:
    """100 tokens are left and 195 orders rest: 475 ms; each create adds one, and takes a token."""
    of = Account(risk={"flat_ns": flat_ms * MS})
    of.leave_tokens(100)
    for number in range(195):
        of.rests(10, number, qty=1)
    return of


@pytest.mark.parametrize(("flat_ms", "count"), [(484, 0), (485, 1), (494, 1), (495, 2)])
def test_no_create_makes_the_time_to_flat_longer_than_allowed(flat_ms, count):
    of = near_time_to_flat(flat_ms)
    sent = of.spend(*(create(20 + price, qty=1) for price in range(5)))
    assert of.out.flat_ns(len(of.desk.live_orders), T0) <= flat_ms * MS
    assert len(sent) == count


def test_close_to_the_longest_time_to_flat_a_side_without_orders_comes_first():
    of = near_time_to_flat(495)
    sent = of.spend(create(40, qty=1, value=5), create(39, qty=1, value=4), offer(60, qty=1))
    assert [request.order.outcome for request in sent] == [Outcome.NO, Outcome.YES]


def test_orders_of_other_series_on_the_key_count_for_the_time_to_flat():
    of = Account(risk={"flat_ns": 500 * MS})
    other = of.out.purse.join()
    of.out.purse.rests(497, other)
    assert prices(of.spend(create(30), create(20))) == [30]


def test_the_writes_of_a_market_are_throttled():
    of = Account(pace={"market_writes_burst": 3, "market_writes_per_second": 2})
    wishes = [create(price) for price in (10, 20, 30, 35)]
    assert prices(of.spend(*wishes)) == [10, 20, 30]
    assert of.denied == [wishes[3]]
    assert prices(of.spend(wishes[3], now_ns=T0 + SECOND // 2)) == [35]


def test_the_write_throttle_holds_back_no_cancel():
    of = Account(pace={"market_writes_burst": 1, "writes_burst": 1})
    own = [of.rests(price, number) for number, price in enumerate((10, 20, 30))]
    assert len(of.cancel(*(CancelAction(each, "not wanted") for each in own))) == 3


@pytest.mark.parametrize(("loss_cents", "gives_way"), [(410, False), (439, False), (440, True)])
def test_an_order_is_merged_only_if_the_limits_allow_a_larger_one(loss_cents, gives_way):
    of = Account(risk={"event_loss_cents": loss_cents, "series_loss_cents": loss_cents})
    own = of.rests(40)
    wish = CancelAction(own, "to be merged", 1.0, create(40, 5))
    assert of.sending.held_back(of.rung, wish, T0) == ("" if gives_way else NO_MORE)
    assert of.cancel(wish) == ([m.CancelResting(own.order_id)] if gives_way else [])
    assert of.denied == ([] if gives_way else [wish])


def test_a_step_back_passes_the_write_throttle_and_an_improvement_waits():
    of = Account(pace={"market_writes_burst": 1, "market_writes_per_second": 1})
    too_bold, too_shy = of.rests(40, 1), of.rests(20, 2)
    of.spend(create(10))
    improvement = move(too_shy, 25)
    assert of.spend(improvement, step_back(too_bold, 30)) == [
        m.AmendResting(too_bold.order_id, Amend(price=Price(30)))
    ]
    assert of.denied == [improvement]


def test_a_step_back_counts_against_the_write_throttle():
    of = Account(pace={"market_writes_burst": 1, "market_writes_per_second": 1})
    assert kinds(of.spend(step_back(of.rests(40), 30))) == ["AmendResting"]
    assert of.spend(create(10)) == []


@pytest.mark.parametrize(("wanted", "left"), [(step_back, ["CancelResting"]), (move, [])])
def test_without_tokens_a_step_back_is_a_cancel_from_the_reserve(wanted, left):
    of = Account()
    bid, offered = of.rests(40, 1), of.rests(40, 2, outcome=Outcome.NO)  # an ask at 60
    of.leave_tokens(60)
    assert kinds(of.spend(wanted(bid, 30), wanted(offered, 30))) == 2 * left


def test_while_the_book_is_to_be_confirmed_a_step_back_is_a_cancel():
    of = Account()
    own = of.rests(40)
    of.rung.state.suspect_book(T0)
    wish = step_back(own, 30)
    assert of.sending.held_back(of.rung, wish, T0).endswith(": cancelled instead")
    assert of.spend(create(10), wish) == [m.CancelResting(own.order_id)]


@pytest.mark.parametrize("code", ["venue_cancel_only", "venue_halted"])
def test_in_cancel_only_a_step_back_is_a_cancel(code):
    of = Account()
    own = of.rests(40)
    of.sending.venue.on_reject(code, T0)
    wish = step_back(own, 30)
    reason = of.sending.held_back(of.rung, wish, T0)
    takes_cancels = code == "venue_cancel_only"
    assert reason.endswith(": cancelled instead") is takes_cancels
    assert of.spend(wish) == ([m.CancelResting(own.order_id)] if takes_cancels else [])


def test_an_order_whose_amend_a_limit_forbids_is_cancelled():
    of = Account(risk={"event_loss_cents": 410, "series_loss_cents": 410})
    own = of.rests(40)
    assert of.spend(move(own, 90)) == [m.CancelResting(own.order_id)]


def show_a_difference(of: Account, ours: int, theirs: int) -> None:
    """Make our books and the venue's differ about the YES shares of the rung."""
    cash = model.Balance(Cents(0), Cents(0), Cents(0))
    of.ledgers.on_series(T0)
    of.ledgers.on_balance(cash, T0, T0)
    of.ledgers.on_positions([], T0, T0)
    of.ledgers.open_books(T0)
    bought = msgspec.structs.replace(
        made.fill(made.own(State.OPEN, number=99), 1, ours), market_id=made.MARKET
    )
    of.ledgers.on_fills((bought,), T0, T0, [])
    held = model.Position(
        ticker=Ticker("x"), market_id=made.MARKET, outcome=model.ShownOutcome.YES, qty=Qty(theirs)
    )
    at_ns = T0 + 5 * LAG_NS
    of.ledgers.on_balance(cash, at_ns, at_ns)
    of.ledgers.on_positions([held], at_ns, at_ns)
    of.ledgers.on_fills((bought,), at_ns + 2 * LAG_NS, at_ns + 2 * LAG_NS, [])
    assert "position_differs" in of.out.findings


def test_while_positions_differ_only_reducing_orders_are_created():
    of = Account()
    show_a_difference(of, 20, 12)
    [sent] = of.spend(create(30), offer(60, qty=50), now_ns=T0 + 9 * LAG_NS)
    assert (sent.order.outcome, sent.order.qty) == (Outcome.NO, 12)


def test_resting_reductions_leave_less_to_create():
    of = Account()
    of.rests(62, qty=8, outcome=Outcome.NO)
    show_a_difference(of, 20, 12)
    [sent] = of.spend(offer(60, qty=50), now_ns=T0 + 9 * LAG_NS)
    assert sent.order.qty == 4


def test_while_positions_differ_orders_that_could_enlarge_one_are_pulled():
    of = Account()
    bid = of.rests(30, 1)
    oldest = of.rests(38, 2, qty=8, outcome=Outcome.NO)
    exact = of.rests(39, 3, qty=4, outcome=Outcome.NO)
    beyond = of.rests(40, 4, qty=1, outcome=Outcome.NO)
    of.sending.pull_growth()
    assert not any(own.cancel_requested for own in (bid, oldest, exact, beyond))
    show_a_difference(of, 20, 12)
    of.sending.pull_growth()
    assert bid.cancel_requested and beyond.cancel_requested
    assert not (oldest.cancel_requested or exact.cancel_requested)


@pytest.mark.parametrize(("stands_qty", "gives_way"), [(12, False), (11, True)])
def test_while_positions_differ_an_order_is_merged_only_into_a_larger_reduction(
    stands_qty, gives_way
):
    of = Account()
    own = of.rests(40, qty=stands_qty, outcome=Outcome.NO)
    show_a_difference(of, 20, 12)
    wish = CancelAction(own, "to be merged", 1.0, offer(60, qty=38))
    now_ns = T0 + 9 * LAG_NS
    assert of.sending.held_back(of.rung, wish, now_ns) == ("" if gives_way else NO_MORE)
    left = of.cancel(wish, now_ns=now_ns)
    assert left == ([m.CancelResting(own.order_id)] if gives_way else [])


def test_every_create_has_its_own_id_that_begins_with_the_boot_id():
    of = Account()
    sent = of.spend(create(10), create(20))
    assert [each.order.client_order_id for each in sent] == ["boot-1", "boot-2"]


def merged(own: OwnOrder) -> CancelAction:
    """An order that is to give way to a larger one."""
    return CancelAction(own, "to be merged", 1.0, create(40, 5))


def sold_instead(own: OwnOrder) -> CancelAction:
    """A purchase that is to give way to a sale of shares held."""
    return CancelAction(own, "shares held now: sold instead", 1.0, instead=True)


def test_a_purchase_is_not_replaced_by_a_sale_that_may_not_be_sent():
    of = Account()
    own = of.rests(40)
    of.rung.side_suspended_until_ns[own.book_side] = T0 + SECOND
    assert of.sending.held_back(of.rung, sold_instead(own), T0)
    assert of.cancel(sold_instead(own)) == []
    left = of.cancel(sold_instead(own), now_ns=T0 + SECOND)
    assert left == [m.CancelResting(own.order_id)]


@pytest.mark.parametrize(("wanted", "leaves"), [(41, False), (39, True)])
def test_a_purchase_stays_if_its_sale_may_not_be_sent_unless_it_steps_back(wanted, leaves):
    of = Account()
    own = of.rests(40)
    of.rung.side_suspended_until_ns[own.book_side] = T0 + SECOND
    (wish,) = plan([bid(wanted)], [own], no=10, now_ns=T0).actions
    assert isinstance(wish, CancelAction)
    assert of.cancel(wish) == ([m.CancelResting(own.order_id)] if leaves else [])


def test_a_throttled_order_is_not_merged():
    of = Account(pace={"market_writes_burst": 1, "market_writes_per_second": 2})
    own = of.rests(40)
    of.spend(create(10))
    assert of.cancel(merged(own)) == []
    assert of.cancel(merged(own), now_ns=T0 + SECOND // 2) == [m.CancelResting(own.order_id)]


@pytest.mark.parametrize("gives_way", [merged, sold_instead])
def test_an_order_is_not_replaced_if_the_throttle_allows_only_its_cancel(gives_way):
    of = Account(pace={"market_writes_burst": 2, "market_writes_per_second": 1})
    own = of.rests(40)
    of.spend(create(10))
    assert of.cancel(gives_way(own)) == []
    assert of.cancel(gives_way(own), now_ns=T0 + SECOND) == [m.CancelResting(own.order_id)]
    assert len(of.spend(create(39), now_ns=T0 + SECOND)) == 1


@pytest.mark.parametrize(("tokens", "gives_way"), [(61, False), (62, True)])
def test_an_order_is_not_replaced_without_tokens_for_both_requests(tokens, gives_way):
    of = Account()
    own = of.rests(40)
    of.leave_tokens(tokens)
    left = of.cancel(merged(own))
    assert left == ([m.CancelResting(own.order_id)] if gives_way else [])
    assert of.denied == []  # it is wished for again as it is


@pytest.mark.parametrize("kept", ["suspect", "parked"])
def test_no_order_is_replaced_while_nothing_new_may_be_sent(kept):
    of = Account()
    own = of.rests(40)
    if kept == "suspect":
        of.rung.state.suspect_since_ns = T0
    else:
        of.sending.venue.on_reject("venue_cancel_only", T0 - 9 * SECOND)
    reason = of.sending.held_back(of.rung, merged(own), T0)
    assert reason == "its replacement may not leave now"
    assert of.cancel(merged(own)) == []
    assert of.cancel(CancelAction(own, "not wanted")) == [m.CancelResting(own.order_id)]


def test_in_cancel_only_an_order_to_be_replaced_is_amended_as_a_probe():
    of = Account()
    own = of.rests(40)
    of.sending.venue.on_reject("venue_cancel_only", T0 - 9 * SECOND)
    (wish,) = plan([bid(41)], [own], no=10, now_ns=T0).actions
    assert of.cancel(wish) == []
    assert of.denied == [wish]  # so that its side is short
    wishes = plan([bid(41)], [own], no=10, now_ns=T0, short={own.book_side}).actions
    assert of.spend(*wishes) == [m.AmendResting(own.order_id, Amend(price=Price(41)))]


def test_a_halted_venue_is_probed_with_one_write_every_five_seconds():
    of = Account()
    own = [of.rests(price, number) for number, price in enumerate((10, 20))]
    cancels = [CancelAction(each, "not wanted") for each in own]
    of.sending.venue.on_reject("venue_halted", T0)
    assert of.cancel(*cancels, now_ns=T0 + 5 * SECOND - 1) == []
    assert len(of.cancel(*cancels, now_ns=T0 + 5 * SECOND)) == 1
    assert of.cancel(*cancels, now_ns=T0 + 5 * SECOND) == []


def test_a_venue_in_cancel_only_gets_all_cancels_and_one_create_as_a_probe():
    of = Account()
    own = [of.rests(price, number) for number, price in enumerate((10, 20))]
    of.sending.venue.on_reject("venue_cancel_only", T0)
    assert len(of.cancel(*(CancelAction(each, "") for each in own))) == 2
    assert of.spend(create(30)) == []
    assert of.spend(create(30), now_ns=T0 + 5 * SECOND) == []  # the cancels are under way
    for request_id in list(of.out.pending):
        of.out.answered(m.Response(request_id, m.Unknown("")), T0 + 5 * SECOND)
    assert prices(of.spend(create(30), create(31), now_ns=T0 + 5 * SECOND)) == [30]
    of.sending.venue.on_accept(m.AmendResting(own[0].order_id, Amend(qty=Qty(1))), T0 + 5 * SECOND)
    assert prices(of.spend(create(31), now_ns=T0 + 5 * SECOND)) == [31]


@pytest.mark.parametrize(
    ("again", "begun_ns", "is_open"),
    [(False, T0, True), (False, T0 - 1, False), (True, T0 + 1, False)],
)
def test_only_a_new_write_sent_after_a_reject_shows_that_the_venue_is_open(
    again, begun_ns, is_open
):
    of = Account()
    (sent,) = of.spend(create(10))
    of.sending.venue.on_reject("venue_cancel_only", T0)
    of.sending.venue.on_accept(msgspec.structs.replace(sent, again=again), begun_ns)
    for request_id in list(of.out.pending):
        of.out.answered(m.Response(request_id, m.Unknown("")), T0 + 1)
    assert prices(of.spend(create(30), now_ns=T0 + 1)) == ([30] if is_open else [])
