"""Claims about which of several faults is the answer: the rows of precedence.txt (S29)."""

from pathlib import Path

import pytest

from tests.builders.core.histories import uuid
from tests.builders.core.world import BUY, GTC, IOC, NO, SELL, YES, M, World
from venue.engine import messages as m
from venue.wire.errors import PRECEDENCE, Code
from venue.wire.model import VenueState
from venue.wire.requests import Amend, BudgetOrder, QtyOrder


def table():
    """(command, answer, everything repaired so far) per row."""
    rows, repaired, last = [], (), None
    text = Path(__file__).with_name("precedence.txt").read_text(encoding="utf-8")
    for line in text.splitlines():
        if not line or line.startswith("#"):
            continue
        command, answer, repair = line.split()
        repaired = () if command != last else (*repaired, repair)
        last = command
        rows.append((command, answer, repaired))
    return rows


ROWS = table()


def faulty_world(kind, repaired):
    """A world with every fault of its own that is not repaired, and the order to be written to."""
    world = World()
    world.buy("b", NO, 55, 10)
    world.give("c", YES, 20)
    if "resend" not in repaired:
        world.buy("a", YES, 1, 1, cid="x")
    target = world.buy("a", YES, 30, 10)
    if kind == "late" or ("resolved" not in repaired and kind in ("buy", "sell", "spend")):
        world.do(m.ResolveMarket(M, YES))
    elif kind == "gone":
        world.buy("d", NO, 99, 10)
        assert world.now(target).remaining_qty == 0
    elif "halted" not in repaired:
        world.do(m.HaltMarket(M))
    if "venue_halted" not in repaired:
        world.do(m.SetVenueState(VenueState.HALTED))
    elif "venue_cancel_only" not in repaired:
        world.do(m.SetVenueState(VenueState.CANCEL_ONLY))
    return world, target.order.order_id


def faulty_command(kind, repaired, order_id):
    user = "a" if "user" in repaired else "nobody"
    price = 50 if "price" in repaired else 100
    key = "x" if "key" in repaired else ""
    market = M if "market" in repaired else uuid(7)
    if kind in ("buy", "sell"):
        qty = 0 if "qty" not in repaired else 5 if "funds" in repaired else 1_000_000
        if kind == "sell" and "funds" in repaired:
            user = "c"
        side = BUY if kind == "buy" else SELL
        return m.PlaceOrder(user, QtyOrder(market, YES, side, price, qty, GTC, key))
    if kind == "spend":
        budget = 0 if "qty" not in repaired else 500 if "funds" in repaired else 1
        return m.PlaceOrder(user, BudgetOrder(market, YES, price, budget, IOC, key))
    owner = "a" if "order" in repaired else "b"
    if kind == "gone":
        return m.CancelOrder(owner, order_id)
    qty = 0 if "qty" not in repaired else 5 if "funds" in repaired else 900_000
    return m.AmendOrder(owner, order_id, Amend(price if price == 100 else 30, qty))


@pytest.mark.parametrize(("kind", "expected", "repaired"), ROWS)
def test_the_answer_is_the_first_remaining_fault_by_precedence(kind, expected, repaired):
    world, order_id = faulty_world(kind, repaired)
    before = world.engine.state_hash()
    answer = world.do(faulty_command(kind, repaired, order_id))
    if isinstance(answer, m.Refused):
        assert answer.code.value == expected
        assert world.engine.state_hash() == before
    else:
        assert type(answer).__name__.lower() == expected


STAGES = (
    (Code.INVALID_PRICE, Code.INVALID_QTY, Code.INVALID_BUDGET),
    (Code.VENUE_HALTED, Code.VENUE_CANCEL_ONLY),
    (Code.INSUFFICIENT_BALANCE, Code.INSUFFICIENT_SHARES),
)


@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize("kind", sorted({row[0] for row in ROWS}))
def test_faults_of_one_stage_follow_the_error_table(kind, stage):
    answers = [Code(row[1]) for row in ROWS if row[0] == kind and row[1] in list(stage)]
    assert answers == sorted(answers, key=PRECEDENCE.__getitem__)
