"""Claims about answers to a create that do not say whose name the order has that they show."""

import msgspec
import pytest

from bot.core import messages as m
from bot.io.journal.recovery import Intents
from tests.builders.bot.meddled import Meddled, named, over, quoted
from tests.fast.bot.test_bot_another_order import creates_of
from venue.wire.money import Price


@pytest.fixture
def venue() -> Meddled:
    """A venue on which the bot quotes two rungs."""
    return quoted(Meddled())


def test_a_create_whose_name_comes_back_empty_is_believed_as_one_without(venue):
    before = len(venue.writes())

    def unnamed(request: m.Request) -> m.Answer | None:
        return named(venue.answer(request), "") if isinstance(request, m.Create) else None

    venue.meddle = unnamed
    venue.end_one()
    venue.go(15)
    assert len(creates_of(venue, before)) == 1
    assert {own.order_id for own in venue.trader.desk.live_orders} == set(venue.orders)


@pytest.mark.parametrize(
    "shown", ["another rung's", "one that is over", "one that is over, at its slot"]
)
def test_a_create_that_is_answered_with_anothers_order_and_no_name_is_sent_again(venue, shown):
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
        assert isinstance(made, m.Ok) and isinstance(made.body, m.OrderBody)
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
    assert len({one.body for one in creates_of(venue, before)}) == 1
    assert "answer_not_credible" in venue.notes
    assert {own.order_id for own in venue.trader.desk.live_orders} == set(venue.orders)
    assert venue.stop() == m.DrainComplete((), ())
    assert not venue.orders


# --- what the journal keeps -----------------------------------------------------------------------


def test_an_intent_is_not_settled_by_an_answer_that_shows_another_order(venue):
    create = next(one for one in venue.writes() if isinstance(one, m.Create))
    shown = next(iter(venue.orders.values()))
    own = create.order.client_order_id
    for name, is_settled in (("somebody-else", False), (own, True), ("", True), (None, True)):
        intents = Intents()
        intents.follow(m.Send(m.RequestId(1), create, "a test"))
        order = msgspec.structs.replace(shown, client_order_id=name)
        intents.follow(m.Response(m.RequestId(1), m.Ok(m.OrderBody(order)), None))
        assert (intents.open_creates() == ()) is is_settled


@pytest.mark.parametrize("what", ["another market", "another price"])
def test_an_intent_is_not_settled_by_a_nameless_answer_about(venue, what):
    create = next(one for one in venue.writes() if isinstance(one, m.Create))
    is_elsewhere = what == "another market"
    other = next(
        each
        for each in venue.orders.values()
        if (each.market_id != create.order.market_id) is is_elsewhere
    )
    price = other.price if is_elsewhere else Price(create.order.price - 1)
    intents = Intents()
    intents.follow(m.Send(m.RequestId(1), create, "a test"))
    order = msgspec.structs.replace(other, client_order_id=None, price=price)
    intents.follow(m.Response(m.RequestId(1), m.Ok(m.OrderBody(order)), None))
    assert [each.order for each in intents.open_creates()] == [create.order]
