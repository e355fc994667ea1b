"""Claims about what a journal remembers: creates without an answer, and orders that rest."""

import msgspec
import pytest

from bot.core import messages as m
from bot.io.journal.records import Entry, Head
from bot.io.journal.recovery import (
    OPEN_MAX,
    WINNERS_MAX,
    WORKING_MAX,
    Intents,
    OpenOrderIndex,
    RunningState,
)
from tests.builders.io.samples import ORDER_ID, ORDER_JSON, create, sent
from venue.wire import codec, model
from venue.wire.money import Outcome, Price, Qty
from venue.wire.names import ClientOrderId, MarketId, OrderId
from venue.wire.requests import Amend

SHOWN = codec.decode(ORDER_JSON, model.Order)
DONE = m.Ok(m.OrderBody(SHOWN))
REFUSED = m.Rejected(422, "market_halted", "no")
UNKNOWN = m.Unknown("502")
NAME = ClientOrderId("a-1")
FIRST, AGAIN = sent(create("a-1"), 1), sent(create("a-1", again=True), 2)
AMEND = sent(m.AmendResting(ORDER_ID, Amend(price=Price(41))), 3)
CANCEL = sent(m.CancelResting(ORDER_ID), 4)
LOOK = sent(m.ReadOrder(ORDER_ID), 5)


def intent(name: str) -> m.UnconfirmedCreate:
    made = create(name)
    return m.UnconfirmedCreate(made.order, made.body)


def reply(answer: m.Answer, number: int = 1) -> m.Response:
    return m.Response(m.RequestId(number), answer)


def shown(**other) -> m.Ok:
    return m.Ok(m.OrderBody(msgspec.structs.replace(SHOWN, **other)))


# --- creates --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("messages", "is_open"),
    [
        ([FIRST], True),
        ([FIRST, reply(DONE)], False),
        ([FIRST, reply(REFUSED)], False),
        ([FIRST, reply(UNKNOWN)], True),
        ([FIRST, reply(UNKNOWN), AGAIN], True),
        ([FIRST, reply(UNKNOWN), AGAIN, reply(REFUSED, 2)], True),
        ([FIRST, reply(UNKNOWN), AGAIN, reply(DONE, 2)], False),
        ([FIRST, reply(REFUSED), AGAIN, reply(REFUSED, 2)], False),
        ([FIRST, reply(REFUSED), AGAIN], True),
        ([FIRST, reply(m.Rejected(0, "", "connect"))], False),
        ([FIRST, reply(m.Rejected(503, "result_unknown", ""))], True),
        ([FIRST, reply(m.Rejected(500, "of a later version", ""))], True),
        ([FIRST, reply(m.Rejected(422, "duplicate_order_id", ""))], True),
        ([FIRST, reply(UNKNOWN), AGAIN, reply(m.Rejected(422, "market_resolved", ""), 2)], False),
        ([FIRST, reply(UNKNOWN), m.CreateResolved(NAME)], False),
        ([FIRST, reply(UNKNOWN), m.CreateResolved(ClientOrderId("a-2"))], True),
        ([FIRST, m.Started("b", ()), AGAIN, reply(REFUSED, 2)], True),
        ([FIRST, m.Started("b", ()), reply(DONE)], True),
        ([FIRST, m.Started("b", (), new_account=True)], False),
        ([FIRST, m.DrainComplete((), ())], False),
        ([FIRST, m.DrainComplete((ORDER_ID,), ())], True),
        ([FIRST, m.DrainComplete((), (NAME,))], True),
        ([FIRST, m.DrainComplete((), (), unshown=True)], True),
        ([CANCEL, reply(UNKNOWN, 4)], False),
    ],
)
def test_a_create_is_open_until_something_explains_it(messages, is_open):
    intents = Intents()
    for each in messages:
        intents.follow(each)
    assert intents.open_creates() == ((intent("a-1"),) if is_open else ())


def test_an_intent_of_an_earlier_run_is_not_closed_by_a_refusal():
    intents = Intents((intent("a-1"),))
    intents.follow(AGAIN)
    intents.follow(reply(REFUSED, 2))
    assert intents.open_creates() == (intent("a-1"),)


@pytest.mark.parametrize("answer", [DONE, REFUSED])
def test_an_answer_in_the_next_segment_closes_a_create_of_the_one_before(answer):
    intents = Intents((intent("a-1"),), (FIRST,))
    intents.follow(reply(answer))
    assert intents.open_creates() == ()


def test_a_refused_re_send_in_the_next_segment_closes_nothing():
    intents = Intents((intent("a-1"),), (AGAIN,))
    intents.follow(reply(REFUSED, 2))
    assert intents.open_creates() == (intent("a-1"),)


def test_more_open_creates_than_can_be_are_seen():
    intents = Intents(tuple(intent(f"a-{number}") for number in range(OPEN_MAX)))
    assert not intents.too_many
    intents.follow(sent(create("one-more"), 1))
    assert intents.too_many


# --- orders ---------------------------------------------------------------------------------------

RESTS = [FIRST, reply(DONE)]
KNOWN = m.JournaledOrder(
    NAME, ORDER_ID, SHOWN.market_id, create().order.outcome, create().order.side,
    Price(40), Qty(10), Qty(0), placed_ns=1,
)  # fmt: skip


def followed(messages, working: OpenOrderIndex | None = None) -> tuple[m.JournaledOrder, ...]:
    working = working or OpenOrderIndex()
    for at_ns, each in enumerate(messages):
        working.follow(each, at_ns)
    return working.orders()


def test_an_order_is_known_as_the_answer_to_its_create_shows_it():
    assert followed(RESTS) == (KNOWN,)


@pytest.mark.parametrize(
    "end",
    [
        [CANCEL, reply(m.Ok(m.CancelBody(SHOWN, Qty(10))), 4)],
        [CANCEL, reply(m.Rejected(422, "order_not_cancelable", ""), 4)],
        [AMEND, reply(shown(status=model.OrderStatus.FILLED), 3)],
        [LOOK, reply(shown(status=model.OrderStatus.FILLED), 5)],
        [m.OrdersAdopted(())],
        [m.OrdersAdopted((OrderId("7"),))],
        [m.DrainComplete((), ())],
        [m.Started("b", (), new_account=True)],
    ],
)
def test_an_order_is_forgotten_at_its_end(end):
    assert followed([*RESTS, *end]) == ()


def test_an_answer_that_shows_anothers_order_names_no_order():
    others = shown(order_id=OrderId("7"), client_order_id=ClientOrderId("b-2"))
    assert followed([FIRST, reply(others)]) == ()


def test_an_order_stays_known_when_an_answer_about_it_shows_anothers():
    elsewhere = shown(order_id=OrderId("7"), market_id=MarketId("elsewhere"))
    assert followed([*RESTS, LOOK, reply(elsewhere, 5)]) == (KNOWN,)
    doubtful = msgspec.structs.replace(KNOWN, settled=False)
    assert followed([*RESTS, AMEND, reply(elsewhere, 3)]) == (doubtful,)


def test_a_create_that_fills_at_once_is_never_known():
    assert followed([FIRST, reply(shown(status=model.OrderStatus.FILLED))]) == ()


@pytest.mark.parametrize(
    "other",
    [
        [m.OrdersAdopted((ORDER_ID,))],
        [m.DrainComplete((ORDER_ID,), ())],
        [m.DrainComplete((), (), unshown=True)],
        [m.Started("b", ())],
        [CANCEL, reply(m.Rejected(429, "rate_limited", ""), 4)],
        [CANCEL, reply(m.Rejected(404, "order_not_found", ""), 4)],
        [LOOK, reply(UNKNOWN, 5)],
        [LOOK, reply(DONE, 5)],
    ],
)
def test_an_order_stays_known_and_settled(other):
    assert followed([*RESTS, *other]) == (KNOWN,)


@pytest.mark.parametrize(
    "write",
    [
        [AMEND],
        [AMEND, reply(UNKNOWN, 3)],
        [AMEND, m.Started("b", ())],
        [CANCEL],
        [CANCEL, reply(UNKNOWN, 4)],
        [CANCEL, reply(m.Rejected(503, "result_unknown", ""), 4)],
        [AMEND, reply(UNKNOWN, 3), LOOK, reply(DONE, 5)],
    ],
)
def test_an_order_with_an_undecided_write_is_not_settled(write):
    [order] = followed([*RESTS, *write])
    assert not order.settled


def test_an_amend_that_is_answered_settles_its_order_at_the_new_price():
    changed = shown(price=Price(41), remaining_qty=Qty(8), filled_qty=Qty(2))
    [order] = followed([*RESTS, AMEND, reply(UNKNOWN, 3), AMEND, reply(changed, 3)])
    assert order == msgspec.structs.replace(KNOWN, price=Price(41), remaining=Qty(8), filled=Qty(2))


def test_an_amend_may_give_an_order_another_id():
    [order] = followed([*RESTS, AMEND, reply(shown(order_id=OrderId("77")), 3)])
    assert order.order_id == "77"
    assert order.client_order_id == NAME
    assert order.previous_ids == ((ORDER_ID, 0),)


@pytest.mark.parametrize(
    ("shows", "unshown"), [(3, [(ORDER_ID, 0), ("77", 0)]), (0, [("77", 2)])], ids=str
)
def test_an_order_under_another_id_tells_which_fills_of_the_ids_before_it_shows(shows, unshown):
    named = shown(order_id=OrderId("77"), remaining_qty=Qty(8), filled_qty=Qty(2))
    again = shown(order_id=OrderId("78"), remaining_qty=Qty(7), filled_qty=Qty(shows))
    amend = m.Send(m.RequestId(6), m.AmendResting(OrderId("77"), Amend(price=Price(43))), "")
    [order] = followed([*RESTS, AMEND, reply(named, 3), amend, reply(again, 6)])
    assert list(order.previous_ids) == unshown


def test_an_order_that_reads_cancelled_while_an_amend_has_no_answer_may_have_another_id():
    """S13: it is known until that answer names it, and to a start as one in doubt."""
    read = [*RESTS, AMEND, LOOK, reply(shown(status=model.OrderStatus.CANCELED), 5)]
    [order] = followed(read)
    assert (order.order_id, order.settled) == (ORDER_ID, False)
    [order] = followed([*read, reply(shown(order_id=OrderId("77")), 3)])
    assert (order.order_id, order.settled) == ("77", True)


def test_a_read_tells_of_fills_and_never_takes_one_back():
    more = shown(remaining_qty=Qty(6), filled_qty=Qty(4))
    [order] = followed([*RESTS, LOOK, reply(more, 5), LOOK, reply(DONE, 5)])
    assert (order.remaining, order.filled) == (6, 4)


def test_an_answer_in_the_next_segment_settles_an_order_of_the_one_before():
    waiting = msgspec.structs.replace(KNOWN, settled=False)
    working = OpenOrderIndex((waiting,), (AMEND,))
    assert followed([reply(shown(price=Price(41)), 3)], working)[0].settled


def test_no_more_orders_are_remembered_than_the_bound():
    working = OpenOrderIndex()
    for number in range(WORKING_MAX + 5):
        working.follow(sent(create(f"a-{number}"), 1), number)
        working.follow(reply(shown(order_id=OrderId(str(number)))), number)
    names = [order.order_id for order in working.orders()]
    assert names == [str(number) for number in range(5, WORKING_MAX + 5)]


def test_a_create_found_by_a_list_is_known_from_there_on():
    trail = RunningState()
    for at_ns, each in enumerate([FIRST, reply(UNKNOWN), m.CreateResolved(NAME, ORDER_ID)]):
        trail.follow(Entry(at_ns, each))
    assert trail.head(9) == Head(9, (), (msgspec.structs.replace(KNOWN, placed_ns=2),), ())


def test_a_head_names_the_writes_that_wait_for_an_answer():
    trail = RunningState()
    for each in (FIRST, LOOK, AMEND, reply(UNKNOWN, 3)):
        trail.follow(Entry(1, each))
    assert trail.head(2).under_way == (FIRST,)
    trail.follow(Entry(2, m.Started("b", ())))
    assert trail.head(3).under_way == ()


# --- winners --------------------------------------------------------------------------------------

MARKET = MarketId("m")
WON = (MARKET, Outcome.YES)
TOLD = m.Noted("debug", "winner_told", {"market_id": MARKET, "winner": "yes"})


def test_a_winner_that_was_told_is_in_the_next_head_and_in_what_a_run_begins_with():
    trail = RunningState()
    trail.follow(Entry(1, m.Noted("info", "rung_settled", TOLD.fields)))
    assert trail.memory().winners == ()
    trail.follow(Entry(2, TOLD))
    trail.follow(Entry(3, m.Started("0" * 20, ())))
    assert trail.memory().winners == trail.head(4).winners == (WON,)
    assert RunningState(trail.head(4)).memory().winners == (WON,)


def test_the_winners_of_an_account_that_is_gone_are_forgotten():
    trail = RunningState(Head(0, (), winners=(WON,)))
    trail.follow(Entry(1, m.Started("0" * 20, (), new_account=True)))
    assert trail.memory().winners == ()


def test_no_more_winners_are_remembered_than_a_series_can_have():
    trail = RunningState()
    for number in range(WINNERS_MAX + 1):
        trail.follow(
            Entry(1, m.Noted("debug", "winner_told", TOLD.fields | {"market_id": str(number)}))
        )
    assert len(trail.memory().winners) == WINNERS_MAX
    assert trail.memory().winners[0] == ("1", Outcome.YES)
