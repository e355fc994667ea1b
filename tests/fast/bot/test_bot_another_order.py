"""Claims about answers that show another order, and about orders that come back from their end."""

from collections.abc import Callable

import msgspec
import pytest

from bot.core import messages as m
from bot.core.inconsistency import Inconsistency
from bot.core.orders.order import OwnOrder, State
from tests.builders.bot.meddled import Held, Meddled, over, quoted
from venue.wire import model
from venue.wire.money import Qty
from venue.wire.names import OrderId
from venue.wire.requests import Amend


@pytest.fixture
def venue() -> Meddled:
    """A venue on which the bot quotes two rungs."""
    return quoted(Meddled())


def once(of: type, answer: Callable[[m.Request], m.Answer]) -> Callable[[m.Request], m.Answer]:
    """Meddle with the first request of a kind alone."""
    met: list[m.Request] = []

    def meddle(request: m.Request) -> m.Answer | None:
        if isinstance(request, of) and not met:
            met.append(request)
            return answer(request)
        return None

    return meddle


def creates_of(venue: Meddled, since: int) -> list[m.Create]:
    return [one for one in venue.writes()[since:] if isinstance(one, m.Create)]


def ends_and_is_made_by_two_sendings(venue: Meddled, since: int) -> None:
    """An order ends; the create in its stead is sent again as it was, and every order is known."""
    venue.end_one()
    venue.go(15)
    made = creates_of(venue, since)
    assert [one.again for one in made] == [False, True]
    assert made[0].body == made[1].body
    assert {own.order_id for own in venue.trader.desk.live_orders} == set(venue.orders)


@pytest.mark.parametrize("lost", [False, True], ids=["first answer", "answer to the re-send"])
def test_a_create_that_is_answered_with_another_order_is_sent_again_as_it_was(venue, lost):
    other = list(venue.orders.values())[-1]
    answers = [m.Unknown("lost")] * lost + [m.Ok(m.OrderBody(other))]
    before = len(venue.writes())

    def meddle(request: m.Request) -> m.Answer | None:
        if isinstance(request, m.Create) and answers:
            venue.answer(request)  # it is carried out
            return answers.pop(0)
        return None

    venue.meddle = meddle
    venue.end_one()
    venue.go(15)
    made = creates_of(venue, before)
    assert not answers
    assert len(made) == 2 + lost
    assert {one.body for one in made} == {made[0].body}
    known = {own.order_id for own in venue.trader.desk.live_orders}
    assert known == set(venue.orders)
    assert venue.stop() == m.DrainComplete((), ())
    assert not venue.orders


def test_a_create_that_is_answered_by_its_name_and_the_id_of_another_order_is_a_contradiction(
    venue,
):
    living = list(venue.orders)[-1]

    def under_another_id(request: m.Create) -> m.Answer:
        answer = venue.answer(request)  # it is carried out
        assert isinstance(answer, m.Ok)
        assert isinstance(answer.body, m.OrderBody)
        name = request.order.client_order_id
        shown = msgspec.structs.replace(answer.body.order, order_id=living, client_order_id=name)
        return m.Ok(m.OrderBody(shown))

    venue.meddle = once(m.Create, under_another_id)
    venue.end_one()
    venue.go(10)
    found = venue.trader.out.inconsistencies.contradiction
    assert found is not None
    assert found.kind is Inconsistency.ORDER_ID_REUSED


def test_a_second_answer_that_shows_another_order_is_a_contradiction(venue):
    other = list(venue.orders.values())[-1]
    answers = [m.Ok(m.OrderBody(other))] * 2

    def meddle(request: m.Request) -> m.Answer | None:
        if isinstance(request, m.Create) and answers:
            venue.answer(request)  # it is carried out
            return answers.pop()
        return None

    venue.meddle = meddle
    venue.end_one()
    venue.go_until(lambda: len(answers) == 1)
    assert venue.trader.out.inconsistencies.contradiction is None
    venue.go_until(lambda: not answers)
    found = venue.trader.out.inconsistencies.contradiction
    assert found is not None
    assert found.kind is Inconsistency.FOREIGN_RESPONSE


def test_a_cancel_that_is_answered_with_another_order_is_sent_again(venue):
    def another(request: m.CancelResting) -> m.Answer:
        other = next(one for one in venue.orders.values() if one.order_id != request.order_id)
        return m.Ok(m.CancelBody(over(other), Qty(10)))

    venue.meddle = once(m.CancelResting, another)
    assert venue.stop() == m.DrainComplete((), ())
    assert not venue.orders
    assert "answer_not_credible" in venue.notes


@pytest.mark.parametrize("change", ["id of a living order", "another rung", "another name"])
def test_an_amend_is_not_carried_on_under_the_id_of_another_order(venue, change):
    desk = venue.trader.desk
    own, other = list(desk.live_orders)[:2]
    assert own.order_id is not None
    shown = venue.orders[other.order_id]
    if change == "another rung":
        shown = msgspec.structs.replace(
            venue.orders[own.order_id], order_id="77", market_id=venue.markets[1].market_id
        )
        assert own.market_id == venue.markets[0].market_id
    elif change == "another name":  # a create that nobody has seen answered
        shown = msgspec.structs.replace(
            venue.orders[own.order_id], order_id="77", client_order_id="another"
        )
    amend = Amend(price=own.price)
    assert desk.send_amend(own, amend, "a test", venue.now_ns)
    pending = list(venue.trader.out.pending.values())[-1]
    answer = desk.check_response(pending, m.Ok(m.OrderBody(shown)))
    assert isinstance(answer, m.Unknown)
    right = m.Ok(m.OrderBody(venue.orders[own.order_id]))
    assert desk.check_response(pending, right) is right


def test_an_amend_is_not_carried_on_under_the_id_of_an_order_that_is_over(venue):
    desk = venue.trader.desk
    ended = over(next(iter(venue.orders.values())))
    venue.end_one()

    def in_its_stead() -> list[OwnOrder]:
        slot = (ended.market_id, ended.outcome.value)
        return [
            each
            for each in desk.live_orders
            if (each.market_id, each.outcome.value) == slot and each.state is State.OPEN
        ]

    venue.go_until(lambda: desk.live_order(ended.order_id) is None and in_its_stead())
    [own] = in_its_stead()
    venue.meddle = once(m.AmendResting, lambda _request: m.Ok(m.OrderBody(ended)))
    venue.trader.out.effects = []
    assert desk.send_amend(own, Amend(price=own.price), "a test", venue.now_ns)
    venue.ask(venue.trader.out.effects[-1])
    venue.go(3)
    assert {each.order_id for each in desk.live_orders} >= set(venue.orders)
    assert "answer_not_credible" in venue.notes
    assert venue.stop() == m.DrainComplete((), ())
    assert not venue.orders


def lost_amend(venue, *, ends: bool) -> tuple[OrderId, list[OrderId]]:
    """An amend without an answer gave an order another id. The venue shows the new order under the
    old id, too, and cancels it under either (S13). The old id and the new one."""
    desk = venue.trader.desk
    own = next(iter(desk.live_orders))
    old = own.order_id
    assert old is not None
    new: list[OrderId] = []
    shown: list[model.Order] = []

    def alias(request: m.Request) -> m.Answer | None:
        if isinstance(request, m.AmendResting) and request.order_id == old:
            new.append(OrderId("77000000000000000077"))
            moved = msgspec.structs.replace(venue.orders.pop(old), order_id=new[0])
            venue.orders[new[0]] = moved
            shown.append(moved)
            if ends:
                shown.append(over(venue.orders.pop(new[0])))
            return m.Unknown("lost")
        if isinstance(request, m.ReadOrder | m.CancelResting) and request.order_id == old and new:
            rests = venue.orders.get(new[0])
            if isinstance(request, m.ReadOrder):
                return m.Ok(m.OrderBody(rests or shown[-1]))
            if rests is None:
                return m.Rejected(422, "order_not_cancelable", "")
            shown.append(over(venue.orders.pop(new[0])))
            return m.Ok(m.CancelBody(shown[-1], rests.remaining_qty))
        return None

    venue.meddle = alias
    venue.trader.out.effects = []
    assert desk.send_amend(own, Amend(price=own.price), "a test", venue.now_ns)
    venue.ask(venue.trader.out.effects[-1])
    return old, new


@pytest.mark.parametrize("ends", [False, True], ids=["it rests on", "it ended meanwhile"])
def test_what_a_lost_amend_made_under_another_id_is_found_by_its_old_one(venue, ends):
    old, new = lost_amend(venue, ends=ends)
    venue.go(10)
    assert new
    desk = venue.trader.desk
    assert desk.live_order(old) is None
    assert "amends_off" in venue.notes
    assert len(venue.orders) == 4
    assert {each.order_id for each in desk.live_orders} == set(venue.orders)
    assert not venue.trader.out.findings
    assert venue.stop() == m.DrainComplete((), ())
    assert not venue.orders


def test_a_stop_cancels_under_its_old_id_what_a_lost_amend_made_under_another(venue):
    _, new = lost_amend(venue, ends=False)
    assert venue.stop() == m.DrainComplete((), ())
    assert new
    assert not venue.orders
    assert "answer_not_credible" not in venue.notes


def test_a_create_that_a_list_showed_before_its_answer_is_counted_once_to_the_end(venue):
    made: list[m.Answer] = []

    def hold(request: m.Request) -> m.Answer | None:
        if isinstance(request, m.Create) and not made:
            made.append(venue.answer(request))
            raise Held
        if isinstance(request, m.CancelResting) and made and request.order_id == _id(made[0]):
            raise Held
        return None

    venue.meddle = hold
    venue.end_one()
    venue.go_until(lambda: made)
    venue.give(m.StopRequested("asked"))
    venue.go_until(lambda: len(venue.held) == 2)
    create, cancel = venue.held
    venue.let(create, made[0])
    venue.let(cancel, venue.answer(cancel.request))
    venue.go(8)
    assert venue.finished == m.DrainComplete((), ())


def _id(answer: m.Answer) -> str:
    assert isinstance(answer, m.Ok)
    assert isinstance(answer.body, m.OrderBody)
    return answer.body.order.order_id


# --- back from their end --------------------------------------------------------------------------


def test_an_order_that_rests_after_its_end_is_cancelled_and_told(venue):
    order = next(iter(venue.orders.values()))
    venue.give(m.PauseRequested("asked"))
    venue.go(5)
    assert not venue.orders
    venue.orders[order.order_id] = order
    venue.go(15)
    assert not venue.orders
    assert "closed_order_listed" in venue.notes
    assert not venue.trader.out.inconsistencies.signs, "it is listed no more"


def test_a_drain_does_not_end_while_an_order_rests_after_its_end(venue):
    order = next(iter(venue.orders.values()))
    venue.give(m.PauseRequested("asked"))
    venue.go(5)
    venue.orders[order.order_id] = order
    assert venue.stop() == m.DrainComplete((), ())
    assert not venue.orders


def haunted(venue: Meddled, lists: int) -> OrderId:
    """Pause; so many lists show an order that is over, and that nothing else shows to rest."""
    ghost = next(iter(venue.orders.values()))
    left = [lists]

    def meddle(request: m.Request) -> m.Answer | None:
        if isinstance(request, m.ReadResting) and left[0]:
            left[0] -= 1
            return m.Ok(m.OrdersBody((ghost,), ""))
        if isinstance(request, m.ReadOrder):
            return m.Ok(m.OrderBody(over(ghost)))
        return None

    venue.give(m.PauseRequested("asked"))
    venue.go(5)
    venue.meddle = meddle
    return ghost.order_id


def test_one_list_of_a_stale_replica_brings_nothing_back(venue):
    haunted(venue, 1)
    writes = len(venue.writes())
    venue.go(60)
    assert len(venue.writes()) == writes + 1, "a cancel that changes nothing"
    assert venue.trader.out.inconsistencies.contradiction is None
    assert not venue.trader.out.inconsistencies.signs


def test_an_order_that_lists_go_on_to_show_after_its_end_is_a_contradiction(venue):
    ghost = haunted(venue, 1_000)
    writes = len(venue.writes())
    venue.go_until(lambda: "closed_order_listed" in venue.notes)
    assert venue.trader.out.inconsistencies.blocks(venue.markets[0].market_id)
    venue.go(30)
    assert len(venue.writes()) == writes + 1, "the venue has answered that it is over"
    found = venue.trader.out.inconsistencies.contradiction
    assert found is not None
    assert found.kind is Inconsistency.CLOSED_ORDER_WORKING
    assert ghost in found.evidence


def lied_about(order: model.Order, times: int) -> Callable[[m.Request], m.Answer | None]:
    """So many cancels of an order are said to be done, and are not."""
    left = [times]

    def meddle(request: m.Request) -> m.Answer | None:
        if request == m.CancelResting(order.order_id) and left[0]:
            left[0] -= 1
            return m.Ok(m.CancelBody(over(order), order.remaining_qty))
        return None

    return meddle


def test_an_order_whose_cancels_are_said_to_be_done_is_cancelled_until_one_is(venue):
    order = next(iter(venue.orders.values()))
    venue.meddle = lied_about(order, 5)
    venue.give(m.PauseRequested("asked"))
    venue.go(60)
    assert not venue.orders
    assert venue.stop() == m.DrainComplete((), ())


def test_a_drain_does_not_end_well_while_an_order_is_said_to_be_cancelled_and_rests(venue):
    order = next(iter(venue.orders.values()))
    venue.meddle = lied_about(order, 1_000)
    venue.give(m.PauseRequested("asked"))
    venue.go(60)
    assert venue.stop() is None
    for _ in range(100):
        venue.go(0.1)
        assert venue.trader.left_over().left == (order.order_id,)


# --- placed by somebody else ----------------------------------------------------------------------


def test_an_order_placed_by_hand_is_cancelled_at_the_end_of_a_run_that_wrote_nothing(
    venue, monkeypatch
):
    monkeypatch.setattr("tests.builders.bot.meddled.TwoSided.quote", lambda _self, _view: {})
    quiet = Meddled()
    quiet.start()
    quiet.go(6)
    assert not quiet.writes()
    by_hand = msgspec.structs.replace(next(iter(venue.orders.values())), order_id=OrderId("999"))
    quiet.orders[by_hand.order_id] = by_hand
    assert quiet.stop() == m.DrainComplete((), ())
    assert not quiet.orders


@pytest.mark.parametrize("code", ["order_not_cancelable", "order_not_found"])
def test_a_create_that_is_answered_with_the_refusal_of_another_write_is_sent_again(venue, code):
    def mixed_up(request: m.Create) -> m.Answer:
        venue.answer(request)  # it is carried out
        return m.Rejected(422, code, "")

    before = len(venue.writes())
    venue.meddle = once(m.Create, mixed_up)
    ends_and_is_made_by_two_sendings(venue, before)
    assert "answer_not_credible" in venue.notes


def test_an_amend_that_is_answered_with_the_refusal_of_a_create_is_undecided(venue):
    desk = venue.trader.desk
    own = next(iter(desk.live_orders))
    assert desk.send_amend(own, Amend(price=own.price), "a test", venue.now_ns)
    pending = list(venue.trader.out.pending.values())[-1]
    mixed_up = m.Rejected(422, "duplicate_order_id", "")
    assert isinstance(desk.check_response(pending, mixed_up), m.Unknown)
    of_its_own = m.Rejected(422, "order_not_cancelable", "")
    assert desk.check_response(pending, of_its_own) is of_its_own
