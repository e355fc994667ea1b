"""Claims about orders of an earlier run that rest under another id than a list has shown (S13)."""

from itertools import count

import msgspec

from bot.core import messages as m
from bot.core.report import Phase
from tests.builders.bot import made
from tests.builders.bot.meddled import Meddled, over
from venue.wire import codec, model
from venue.wire.money import Qty
from venue.wire.names import OrderId


def left_behind(*numbers: int) -> tuple[Meddled, list[model.Order]]:
    """A venue where bids of ours rest from before the start, and they."""
    venue = Meddled()
    for number in numbers:
        order = msgspec.structs.replace(
            made.intent(number=number, price=10 + number), market_id=venue.markets[0].market_id
        )
        venue.answer(m.Create(order, codec.encode_new_order(order), False))
    return venue, list(venue.orders.values())


def test_a_start_ends_though_what_its_first_list_showed_is_cancelled_under_another_id():
    venue, [old] = left_behind(1)
    new = msgspec.structs.replace(old, order_id=OrderId("77"))
    venue.orders = {new.order_id: new}
    lists = count()

    def alias(request: m.Request) -> m.Answer | None:
        if isinstance(request, m.ReadResting) and not next(lists):
            return m.Ok(m.OrdersBody((old,), ""))  # it lags behind an amend
        if isinstance(request, m.CancelResting) and request.order_id == old.order_id:
            left = Qty(10) if venue.orders.pop(new.order_id, None) else Qty(0)
            return m.Ok(m.CancelBody(over(new), left))
        if isinstance(request, m.ReadOrder) and request.order_id == old.order_id:
            return m.Ok(m.OrderBody(over(new)))
        return None

    venue.meddle = alias
    venue.start()
    venue.go(5)
    assert venue.trader.phase is Phase.QUOTING
    assert len(venue.orders) == 4
    assert "answer_not_credible" not in venue.notes


def test_an_order_left_behind_whose_cancel_was_answered_with_another_one_s_is_cancelled_too():
    venue, [first, second] = left_behind(1, 2)
    answers = [m.Ok(m.CancelBody(over(second), Qty(10)))]

    def mix_up(request: m.Request) -> m.Answer | None:
        mixes = isinstance(request, m.CancelResting) and request.order_id == first.order_id
        return answers.pop() if mixes and answers else None

    venue.meddle = mix_up
    venue.start()
    venue.go(10)
    assert not answers
    assert venue.trader.phase is Phase.QUOTING
    assert not {first.order_id, second.order_id} & venue.orders.keys()
    assert {own.order_id for own in venue.trader.desk.live_orders} == set(venue.orders)
