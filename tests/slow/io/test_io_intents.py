"""Claims about what a journal remembers: unconfirmed creates, working orders and winners."""

import msgspec
import pytest

from bot.core import messages as m
from bot.io.journal.records import Entry, Head
from bot.io.journal.recovery import (
    MEMORIES_MAX,
    OPEN_MAX,
    WINNERS_MAX,
    WORKING_MAX,
    Intents,
    OpenOrderIndex,
    RunningState,
)
from tests.builders.io.samples import ORDER_ID, ORDER_JSON, create, intent, reply, sent
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
def test_a_create_is_open_until_its_outcome_is_known(messages, is_open):
    intents = Intents()
    for each in messages:
        intents.follow(each)
    assert intents.open_creates() == ((intent("a-1"),) if is_open else ())


@pytest.mark.parametrize(
    ("under_way", "messages", "is_open"),
    [
        ((), [AGAIN, reply(REFUSED, 2)], True),
        ((FIRST,), [reply(DONE)], False),
        ((FIRST,), [reply(REFUSED)], False),
        ((AGAIN,), [reply(REFUSED, 2)], True),
    ],
    ids=["resend rejected", "answered", "rejected", "resend of the last segment rejected"],
)
def test_a_create_of_an_earlier_segment_stays_open_when_its_resend_is_rejected(
    under_way, messages, is_open
):
    intents = Intents((intent("a-1"),), under_way)
    for each in messages:
        intents.follow(each)
    assert intents.open_creates() == ((intent("a-1"),) if is_open else ())


def test_more_unconfirmed_creates_than_allowed_are_reported():
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


def test_an_order_is_known_as_the_response_to_its_create_shows_it():
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


def test_a_response_about_a_foreign_order_adds_no_order():
    others = shown(order_id=OrderId("7"), client_order_id=ClientOrderId("b-2"))
    assert followed([FIRST, reply(others)]) == ()


def test_an_order_stays_known_when_a_response_shows_a_foreign_order():
    elsewhere = shown(order_id=OrderId("7"), market_id=MarketId("elsewhere"))
    assert followed([*RESTS, LOOK, reply(elsewhere, 5)]) == (KNOWN,)
    doubtful = msgspec.structs.replace(KNOWN, settled=False)
    assert followed([*RESTS, AMEND, reply(elsewhere, 3)]) == (doubtful,)


def test_a_create_that_fills_at_once_is_no_working_order():
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
def test_an_order_with_an_unconfirmed_write_is_not_settled(write):
    [order] = followed([*RESTS, *write])
    assert not order.settled


def test_an_answered_amend_settles_its_order_at_the_new_price():
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
def test_an_order_under_a_new_id_knows_the_fills_of_its_previous_ids(shows, unshown):
    named = shown(order_id=OrderId("77"), remaining_qty=Qty(8), filled_qty=Qty(2))
    again = shown(order_id=OrderId("78"), remaining_qty=Qty(7), filled_qty=Qty(shows))
    amend = m.Send(m.RequestId(6), m.AmendResting(OrderId("77"), Amend(price=Price(43))), "")
    [order] = followed([*RESTS, AMEND, reply(named, 3), amend, reply(again, 6)])
    assert list(order.previous_ids) == unshown


def test_an_order_read_as_cancelled_during_an_amend_may_have_a_new_id():
    """S13: it is known until that answer names it, and to a start as one in doubt."""
    read = [*RESTS, AMEND, LOOK, reply(shown(status=model.OrderStatus.CANCELED), 5)]
    [order] = followed(read)
    assert (order.order_id, order.settled) == (ORDER_ID, False)
    [order] = followed([*read, reply(shown(order_id=OrderId("77")), 3)])
    assert (order.order_id, order.settled) == ("77", True)


def test_a_read_adds_fills_and_never_removes_one():
    more = shown(remaining_qty=Qty(6), filled_qty=Qty(4))
    [order] = followed([*RESTS, LOOK, reply(more, 5), LOOK, reply(DONE, 5)])
    assert (order.remaining, order.filled) == (6, 4)


def test_a_response_in_the_next_segment_settles_an_order():
    waiting = msgspec.structs.replace(KNOWN, settled=False)
    working = OpenOrderIndex((waiting,), (AMEND,))
    assert followed([reply(shown(price=Price(41)), 3)], working)[0].settled


def test_the_number_of_remembered_orders_is_bounded():
    working = OpenOrderIndex()
    for number in range(WORKING_MAX + 5):
        working.follow(sent(create(f"a-{number}"), 1), number)
        working.follow(reply(shown(order_id=OrderId(str(number)))), number)
    names = [order.order_id for order in working.orders()]
    assert names == [str(number) for number in range(5, WORKING_MAX + 5)]


def test_a_create_found_in_a_list_becomes_a_working_order():
    trail = RunningState()
    for at_ns, each in enumerate([FIRST, reply(UNKNOWN), m.CreateResolved(NAME, ORDER_ID)]):
        trail.follow(Entry(at_ns, each))
    assert trail.head(9) == Head(9, (), (msgspec.structs.replace(KNOWN, placed_ns=2),), ())


def test_the_head_of_a_segment_has_the_writes_in_flight():
    trail = RunningState()
    for each in (FIRST, LOOK, AMEND, reply(UNKNOWN, 3)):
        trail.follow(Entry(1, each))
    assert trail.head(2).under_way == (FIRST,)
    trail.follow(Entry(2, m.Started("b", ())))
    assert trail.head(3).under_way == ()


# --- winners --------------------------------------------------------------------------------------

MARKET = MarketId("m")
WON = (MARKET, Outcome.YES)
WINNER_NOTE = m.Noted("debug", "winner_told", {"market_id": MARKET, "winner": "yes"})


def test_a_winner_is_remembered_until_the_account_changes():
    trail = RunningState()
    trail.follow(Entry(1, m.Noted("info", "rung_settled", WINNER_NOTE.fields)))
    assert trail.memory().winners == ()
    trail.follow(Entry(2, WINNER_NOTE))
    trail.follow(Entry(3, m.Started("0" * 20, ())))
    assert trail.memory().winners == trail.head(4).winners == (WON,)
    next_run = RunningState(trail.head(4))
    assert next_run.memory().winners == (WON,)
    next_run.follow(Entry(5, m.Started("0" * 20, (), new_account=True)))
    assert next_run.memory().winners == ()


def test_the_number_of_remembered_winners_is_bounded():
    trail = RunningState()
    for number in range(WINNERS_MAX + 1):
        fields = WINNER_NOTE.fields | {"market_id": str(number)}
        trail.follow(Entry(1, m.Noted("debug", "winner_told", fields)))
    assert len(trail.memory().winners) == WINNERS_MAX
    assert trail.memory().winners[0] == ("1", Outcome.YES)


# --- memories of strategies -----------------------------------------------------------------------


def memory_note(event: str, values: str = '{"n":1}') -> Entry:
    fields: dict[str, str | int] = {"event": event, "strategy": "mine", "values": values}
    return Entry(1, m.Noted("debug", "strategy_memory", fields))


def test_the_memory_of_a_strategy_is_kept_until_its_event_leaves_or_the_account_changes():
    trail = RunningState()
    for entry in (memory_note("E1"), memory_note("E2"), memory_note("E1", '{"n":2}')):
        trail.follow(entry)
    kept = {each.event_ticker: each.values for each in trail.memory().memories}
    assert kept == {"E1": '{"n":2}', "E2": '{"n":1}'}
    started = trail.memory().started("0" * 20, False)
    assert started.memories == trail.head(2).memories == trail.memory().memories
    trail.follow(Entry(2, m.Noted("info", "event_left", {"event": "E1"})))
    next_run = RunningState(trail.head(3))
    assert [each.event_ticker for each in next_run.memory().memories] == ["E2"]
    next_run.follow(Entry(4, m.Started("0" * 20, (), new_account=True)))
    assert next_run.memory().memories == ()


def test_the_number_of_remembered_memories_is_bounded():
    trail = RunningState()
    for number in range(MEMORIES_MAX + 1):
        trail.follow(memory_note(f"E{number}"))
    kept = trail.memory().memories
    assert (len(kept), kept[0].event_ticker) == (MEMORIES_MAX, "E1")
