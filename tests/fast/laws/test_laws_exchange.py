"""Claims: a refusal changes nothing at all, and the auditor of the laws does see a broken one."""

import msgspec
import pytest

from tests.builders.core.histories import History
from tests.builders.core.world import CASH, NO, YES, M, World
from tests.builders.laws.auditor import Auditor, Violation
from venue.engine import messages as m
from venue.engine.engine import Engine
from venue.wire.errors import Code
from venue.wire.model import OrderStatus
from venue.wire.money import BookSide, Side
from venue.wire.requests import Amend, BudgetOrder, QtyOrder, TimeInForce


@pytest.mark.parametrize("seed", range(1_000, 1_004))
def test_the_state_hash_changes_exactly_with_commands_that_have_events(
    seed,
):
    engine, history = Engine(b"key"), History(seed, 250)
    before = engine.state_hash()
    for now_ns, command in enumerate(history):
        answer, events = engine.apply(command, now_ns)
        history.learn(events)
        after = engine.state_hash()
        assert (after != before) is bool(events), (command, answer)
        before = after


class Tampered(Auditor):
    """An auditor that sees one event as `change` makes it; None drops it."""

    def __init__(self, kind, change):
        super().__init__()
        self._kind, self._change = kind, change
        self.armed = False

    def observe(self, command, answer, events):
        if self.armed:
            events = [
                self._change(event) if isinstance(event, self._kind) else event for event in events
            ]
            events = [event for event in events if event is not None]
        super().observe(command, answer, events)


def audited_world(auditor):
    """A world whose every command the auditor has seen."""
    world = World.__new__(World)
    plain = World.do

    def do(command):
        answer = plain(world, command)
        auditor.observe(command, answer, world.events)
        return answer

    world.do = do
    world.__init__(rates=("0.08", "0.08"))
    return world


def replaced(**fields):
    return lambda event: msgspec.structs.replace(event, **fields)


def order_with(**fields):
    return lambda event: msgspec.structs.replace(
        event, order=msgspec.structs.replace(event.order, **fields)
    )


TAMPERINGS = [
    ("V1", m.BalanceChanged, replaced(available_cents=CASH)),
    ("V3", m.BalanceChanged, lambda event: None),
    ("V2", m.PositionChanged, replaced(qty=6)),
    ("V2", m.OpenInterestChanged, replaced(open_interest=4)),
    ("V3", m.BalanceChanged, replaced(reserved_cents=1)),
    ("V3", m.OrderChanged, order_with(reserved_cents=1)),
    ("V5", m.OrderChanged, order_with(filled_qty=4)),
    (
        "V5",
        m.OrderChanged,
        order_with(status=OrderStatus.FILLED, remaining_qty=0, reserved_cents=0),
    ),
    ("V6", m.OrderChanged, order_with(status=OrderStatus.ACCEPTED)),
    ("V7", m.LevelChanged, lambda event: None),
    ("V7", m.LevelChanged, replaced(side=BookSide.BID)),
    ("V8", m.TradePrinted, replaced(price=49)),
    ("V8", m.FillBooked, replaced(outcome_price=49)),
    ("V10", m.FillBooked, replaced(user_id="a")),
    ("V14", m.FillBooked, replaced(fee_cents=11)),
]


@pytest.mark.parametrize(("number", "kind", "change"), TAMPERINGS)
def test_the_auditor_detects_a_broken_law(number, kind, change):
    auditor = Tampered(kind, change)
    world = audited_world(auditor)
    world.buy("a", YES, 50, 5)
    auditor.armed = True
    with pytest.raises(Violation) as broken:
        world.buy("b", NO, 50, 7)
        auditor.audit()
    assert broken.value.args[0] == number


def test_the_auditor_detects_an_order_filled_out_of_turn():
    auditor = Auditor()
    world = audited_world(auditor)
    first, second = world.buy("a", YES, 50, 5), world.buy("b", YES, 50, 5)
    auditor.orders[first.order.order_id].turn, auditor.orders[second.order.order_id].turn = 9, 8
    with pytest.raises(Violation, match="V8"):
        world.buy("c", NO, 50, 1)


def test_the_auditor_detects_a_wrong_payout():
    auditor = Tampered(m.BalanceChanged, replaced(available_cents=CASH))
    world = audited_world(auditor)
    world.give("a", YES, 10)
    auditor.armed = True
    with pytest.raises(Violation, match="V1"):
        world.do(m.ResolveMarket(M, YES))


def test_the_auditor_detects_an_event_that_does_not_settle():
    auditor = Tampered(m.EventStatusChanged, lambda event: None)
    world = audited_world(auditor)
    auditor.armed = True
    for market in (M, M.replace("101", "102")):
        world.do(m.ResolveMarket(market, YES))
    with pytest.raises(Violation, match="V18"):
        auditor.audit()


def first_seen(number, auditor, command, answer, events):
    with pytest.raises(Violation) as broken:
        auditor.observe(command, answer, events)
    assert broken.value.args[0] == number


def test_the_auditor_detects_a_short_sale():
    auditor = Auditor()
    world = audited_world(auditor)
    world.give("a", YES, 2)
    world.sell("a", YES, 60, 2)
    auditor.books[M].shares[("a", YES)][0] = 1
    auditor.books[M].shares[("d", NO)][0] = 1
    auditor.books[M].interest = 1
    with pytest.raises(Violation, match="V4"):
        auditor.audit()


def test_the_auditor_detects_queue_priority_kept_after_a_size_increase():
    auditor = Auditor()
    world = audited_world(auditor)
    order = world.buy("a", YES, 50, 5).order
    command = m.AmendOrder("a", order.order_id, Amend(qty=6))
    answer, events = world.engine.apply(command, 10**6)
    first_seen("V9", auditor, command, msgspec.structs.replace(answer, kept_place=True), events)


def test_the_auditor_detects_two_orders_of_one_client_order_id():
    auditor = Auditor()
    world = audited_world(auditor)
    placed = world.buy("a", YES, 50, 5, cid="x")
    command = m.PlaceOrder("a", QtyOrder(M, YES, Side.BUY, 50, 5, TimeInForce.GTC, "x"))
    first_seen("V11", auditor, command, placed, world.events)


def test_the_auditor_detects_a_rejection_with_events():
    world = World()
    world.buy("a", YES, 50, 5)
    first_seen("V12", Auditor(), None, m.Refused(Code.MARKET_HALTED, ""), world.events)


def test_the_auditor_detects_a_wrong_spent_cents():
    auditor = Auditor()
    world = audited_world(auditor)
    world.buy("b", NO, 50, 5)
    command = m.PlaceOrder("a", BudgetOrder(M, YES, 50, 200, TimeInForce.IOC, "x"))
    answer, events = world.engine.apply(command, 10**6)
    first_seen("V13", auditor, command, msgspec.structs.replace(answer, spent_cents=1), events)
