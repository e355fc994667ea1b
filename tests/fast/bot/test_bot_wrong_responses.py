"""Responses that show another order, and closed orders that rest again."""

from collections.abc import Callable

import msgspec
import pytest

from bot.core import messages as m
from bot.core.inconsistency import Inconsistency
from bot.io.journal.recovery import Intents
from tests.builders.bot.meddled import Held, Meddled, named, over
from venue.wire import model
from venue.wire.money import Price, Qty
from venue.wire.names import OrderId
from venue.wire.requests import Amend


def once_for(of: type, answer: Callable[[m.Request], m.Answer]) -> Callable[[m.Request], m.Answer]:
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


def created_by_a_resend(venue: Meddled, since: int) -> bool:
    """An order ends; True if the create that replaces it was resent with the same bytes."""
    venue.end_one()
    venue.go(15)
    creates = creates_of(venue, since)
    assert creates[0].order == creates[1].order
    return [one.again for one in creates] == [False, True]


@pytest.mark.parametrize("lost", [False, True], ids=["first answer", "answer to the re-send"])
def test_a_create_answered_with_another_order_is_resent(venue, lost):
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
    assert {one.order for one in made} == {made[0].order}
    assert venue.knows_its_orders()
    assert venue.stops_clean()


def test_a_create_answered_with_the_id_of_another_live_order_is_a_contradiction(venue):
    living = list(venue.orders)[-1]

    def under_another_id(request: m.Create) -> m.Answer:
        answer = venue.answer(request)  # it is carried out
        name = request.order.client_order_id
        shown = msgspec.structs.replace(answer.body.order, order_id=living, client_order_id=name)
        return m.Ok(m.OrderBody(shown))

    venue.meddle = once_for(m.Create, under_another_id)
    venue.end_one()
    venue.go(10)
    found = venue.trader.out.inconsistencies.contradiction
    assert found.kind is Inconsistency.ORDER_ID_REUSED


def test_a_second_response_about_another_order_is_a_contradiction(venue):
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
    assert found.kind is Inconsistency.FOREIGN_RESPONSE


def test_a_cancel_answered_with_another_order_is_resent(venue):
    def another(request: m.CancelResting) -> m.Answer:
        other = next(one for one in venue.orders.values() if one.order_id != request.order_id)
        return m.Ok(m.CancelBody(over(other), Qty(10)))

    venue.meddle = once_for(m.CancelResting, another)
    assert venue.stops_clean()
    assert "answer_not_credible" in venue.notes


@pytest.mark.parametrize(
    "change", ["id of a live order", "id of a closed order", "another rung", "another name"]
)
def test_a_response_to_an_amend_that_shows_another_order_counts_as_unknown(venue, change):
    desk = venue.trader.desk
    closed = over(next(iter(venue.orders.values())))
    venue.end_one()
    venue.go(15)
    own, other = list(desk.live_orders)[:2]
    shown = venue.orders[own.order_id]
    elsewhere = next(each.market_id for each in venue.markets if each.market_id != own.market_id)
    changed = {
        "id of a live order": venue.orders[other.order_id],
        "id of a closed order": closed,
        "another rung": msgspec.structs.replace(shown, order_id="77", market_id=elsewhere),
        "another name": msgspec.structs.replace(shown, order_id="77", client_order_id="another"),
    }
    assert desk.send_amend(own, Amend(price=own.price), "a test", venue.now_ns)
    pending = list(venue.trader.out.pending.values())[-1]
    assert isinstance(desk.check_response(pending, m.Ok(m.OrderBody(changed[change]))), m.Unknown)
    right = m.Ok(m.OrderBody(shown))
    assert desk.check_response(pending, right) is right


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
def test_an_order_that_a_lost_amend_gave_another_id_is_found_by_its_old_id(venue, ends):
    old, new = lost_amend(venue, ends=ends)
    venue.go(10)
    assert new
    desk = venue.trader.desk
    assert desk.live_order(old) is None
    assert "amends_off" in venue.notes
    assert len(venue.orders) == 4
    assert venue.knows_its_orders()
    assert not venue.trader.out.findings
    assert venue.stops_clean()


def test_a_stop_cancels_an_order_under_its_old_id_after_a_lost_amend(venue):
    _, new = lost_amend(venue, ends=False)
    assert venue.stop() == m.DrainComplete((), ())
    assert new
    assert not venue.orders
    assert "answer_not_credible" not in venue.notes


def test_a_create_that_a_list_shows_before_its_response_counts_once(venue):
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
    return answer.body.order.order_id


@pytest.mark.parametrize("stops", [False, True], ids=["paused", "stopping"])
def test_an_order_that_rests_after_its_end_is_cancelled(venue, stops):
    order = next(iter(venue.orders.values()))
    venue.give(m.PauseRequested("asked"))
    venue.go(5)
    assert not venue.orders
    venue.orders[order.order_id] = order
    if stops:
        assert venue.stops_clean()
        return
    venue.go(15)
    assert not venue.orders
    assert "closed_order_listed" in venue.notes
    assert not venue.trader.out.inconsistencies.signs, "it is listed no more"


def show_closed_order(venue: Meddled, lists: int) -> OrderId:
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


def test_one_stale_list_does_not_revive_a_closed_order(venue):
    show_closed_order(venue, 1)
    writes = len(venue.writes())
    venue.go(60)
    assert len(venue.writes()) == writes + 1, "a cancel that changes nothing"
    assert venue.trader.out.inconsistencies.contradiction is None
    assert not venue.trader.out.inconsistencies.signs


def test_a_closed_order_that_lists_keep_showing_is_a_contradiction(venue):
    ghost = show_closed_order(venue, 1_000)
    writes = len(venue.writes())
    venue.go_until(lambda: "closed_order_listed" in venue.notes)
    assert venue.trader.out.inconsistencies.blocks(venue.markets[0].market_id)
    venue.go(30)
    assert len(venue.writes()) == writes + 1, "the venue has answered that it is over"
    found = venue.trader.out.inconsistencies.contradiction
    assert found.kind is Inconsistency.CLOSED_ORDER_WORKING
    assert ghost in found.evidence


def ignore_cancels(order: model.Order, times: int) -> Callable[[m.Request], m.Answer | None]:
    """So many cancels of an order are said to be done, and are not."""
    left = [times]

    def meddle(request: m.Request) -> m.Answer | None:
        if request == m.CancelResting(order.order_id) and left[0]:
            left[0] -= 1
            return m.Ok(m.CancelBody(over(order), order.remaining_qty))
        return None

    return meddle


def test_an_order_that_still_rests_is_cancelled_again_though_the_venue_confirmed_the_cancel(venue):
    order = next(iter(venue.orders.values()))
    venue.meddle = ignore_cancels(order, 5)
    venue.give(m.PauseRequested("asked"))
    venue.go(60)
    assert not venue.orders
    assert venue.stop() == m.DrainComplete((), ())


def test_a_stop_names_an_order_that_rests_though_the_venue_confirmed_its_cancel(venue):
    order = next(iter(venue.orders.values()))
    venue.meddle = ignore_cancels(order, 1_000)
    venue.give(m.PauseRequested("asked"))
    venue.go(60)
    assert venue.stop() is None
    for _ in range(100):
        venue.go(0.1)
        assert venue.trader.left_over().left == (order.order_id,)


def test_a_stop_cancels_an_order_placed_by_hand_though_the_run_wrote_nothing(venue, monkeypatch):
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
def test_a_create_answered_with_the_rejection_of_another_write_is_resent(venue, code):
    def mixed_up(request: m.Create) -> m.Answer:
        venue.answer(request)  # it is carried out
        return m.Rejected(422, code, "")

    before = len(venue.writes())
    venue.meddle = once_for(m.Create, mixed_up)
    assert created_by_a_resend(venue, before)
    assert venue.knows_its_orders()
    assert "answer_not_credible" in venue.notes


def test_an_amend_answered_with_the_rejection_of_a_create_counts_as_unknown(venue):
    desk = venue.trader.desk
    own = next(iter(desk.live_orders))
    assert desk.send_amend(own, Amend(price=own.price), "a test", venue.now_ns)
    pending = list(venue.trader.out.pending.values())[-1]
    mixed_up = m.Rejected(422, "duplicate_order_id", "")
    assert isinstance(desk.check_response(pending, mixed_up), m.Unknown)
    of_its_own = m.Rejected(422, "order_not_cancelable", "")
    assert desk.check_response(pending, of_its_own) is of_its_own


def test_a_response_with_an_empty_client_order_id_confirms_its_create(venue):
    before = len(venue.writes())

    def unnamed(request: m.Request) -> m.Answer | None:
        return named(venue.answer(request), "") if isinstance(request, m.Create) else None

    venue.meddle = unnamed
    venue.end_one()
    venue.go(15)
    assert len(creates_of(venue, before)) == 1
    assert venue.knows_its_orders()


@pytest.mark.parametrize(
    "shown", ["another rung's", "one that is over", "one that is over, at its slot"]
)
def test_a_create_answered_with_another_order_without_a_client_order_id_is_resent(venue, shown):
    ended = over(next(iter(venue.orders.values())))
    venue.end_one()
    venue.go(15)
    assert venue.trader.desk.live_order(ended.order_id) is None
    before = len(venue.writes())
    met: list[m.Request] = []

    def meddle(request: m.Request) -> m.Answer | None:
        if not isinstance(request, m.Create) or met:
            return None
        met.append(request)
        made = venue.answer(request)  # it is carried out
        other = msgspec.structs.replace(ended, price=Price(ended.price + 5))
        if shown == "one that is over, at its slot":
            other = msgspec.structs.replace(
                over(made.body.order), order_id=ended.order_id, qty=ended.qty
            )
        elif shown != "one that is over":
            elsewhere = next(
                each.market_id
                for each in venue.markets
                if each.market_id != made.body.order.market_id
            )
            other = msgspec.structs.replace(made.body.order, order_id="77", market_id=elsewhere)
        return named(m.Ok(m.OrderBody(other)), "")

    venue.meddle = meddle
    venue.end_one()
    venue.go(15)
    assert len(creates_of(venue, before)) == 2
    assert len({one.order for one in creates_of(venue, before)}) == 1
    assert "answer_not_credible" in venue.notes
    assert venue.knows_its_orders()
    assert venue.stops_clean()


@pytest.mark.parametrize(
    ("name", "price_off", "is_elsewhere", "confirms"),
    [
        ("somebody-else", 0, False, False),
        ("own", 0, False, True),
        ("", 0, False, True),
        (None, 0, False, True),
        (None, 0, True, False),
        (None, -1, False, False),
    ],
)
def test_a_create_is_confirmed_in_the_journal_only_by_a_response_about_its_own_order(
    venue, name, price_off, is_elsewhere, confirms
):
    create = next(one for one in venue.writes() if isinstance(one, m.Create))
    shown = next(
        each
        for each in venue.orders.values()
        if (each.market_id != create.order.market_id) is is_elsewhere
    )
    name = create.order.client_order_id if name == "own" else name
    shown = msgspec.structs.replace(
        shown, client_order_id=name, price=Price(shown.price + price_off)
    )
    intents = Intents()
    intents.follow(m.Send(m.RequestId(1), create, "a test"))
    intents.follow(m.Response(m.RequestId(1), m.Ok(m.OrderBody(shown)), None))
    assert [each.order for each in intents.open_creates()] == ([] if confirms else [create.order])
