"""Reasons of orders and cancels in the report."""

import re

import msgspec
import pytest

from bot.core import messages as m
from bot.core.build_report import reason_of
from bot.core.orders.order import State
from bot.core.orders.transitions import OrderFinding
from bot.core.planning.actions import AmendAction
from bot.core.preview import Act
from bot.core.settings import PaceSettings
from bot.strategy.api import Quote
from tests.builders.bot.thin import Thin
from venue.wire.money import BookSide, Price, Qty
from venue.wire.requests import Amend


@pytest.fixture
def resting():
    """A quoting trader, a rung, and the bid that rests there."""
    thin = Thin([60, 40], pace=PaceSettings(decide_ns=0))
    thin.start()
    thin.run(3.0)
    rung = thin.rung(0)
    own = next(
        own for own in thin.trader.desk.live(rung.market_id) if own.book_side is BookSide.BID
    )
    return thin, rung, own


def test_the_reason_of_an_order_names_its_level_size_and_edge(resting):
    _, rung, own = resting
    away = rung.fair.value_cents - own.yes_price
    want = next(quote for quote in rung.planned if quote.side is BookSide.BID)
    said = f"wanted here: level 1 of 1, {want.qty} shares, {away:.1f} below fair"
    assert reason_of(own, rung) == said


def test_the_reason_of_an_order_near_a_wanted_price_names_that_price(resting):
    _, rung, own = resting
    rung.wishes = ()
    rung.planned = (Quote(BookSide.BID, Price(own.yes_price + 1), Qty(10)),)
    assert reason_of(own, rung).startswith(
        f"wanted at {own.yes_price + 1}: near enough to keep its place, "
    )


def test_an_order_without_a_quote_or_with_an_action_due_says_so(resting):
    _, rung, own = resting
    amend = Amend(price=Price(50))
    rung.wishes = (AmendAction(own, amend, False, "moved from 57 to 50", 1.0),)
    assert reason_of(own, rung) == "kept until a request may leave: moved from 57 to 50"
    rung.wishes, rung.planned, rung.blocked = (), (), "book too old"
    assert reason_of(own, rung) == "nothing is wanted on this side: book too old"


@pytest.mark.parametrize("state", [state for state in State if state is not State.OPEN])
def test_the_reason_of_an_order_with_a_write_in_flight_names_that_write(resting, state):
    _, rung, own = resting
    own.state = state
    assert reason_of(own, rung).endswith(f"({own.why})")


def test_the_reason_names_a_cancel_and_a_suspicion_first(resting):
    _, rung, own = resting
    own.cancel_requested = True
    assert reason_of(own, rung) == f"to be cancelled: {own.why}"
    own.mark_suspect(OrderFinding.MISSING, "404 to a read", 0)
    assert reason_of(own, rung) == "not trusted, order_missing: 404 to a read"


def test_the_report_has_reason_and_queue_position_of_every_order_and_the_budget(resting):
    thin, _, _ = resting
    thin.show(0)
    thin.run(1.0)
    report = thin.trader.report(thin.now_ns)
    orders = [order for rung in report.events[0].rungs for order in rung.orders]
    assert len(orders) == 4
    assert all(re.match(r"wanted here: level 1 of 1", order.reason) for order in orders)
    placed = [order for order in orders if order.ahead_qty is not None]
    assert placed
    for order in placed:
        assert 0 <= order.ahead_at_least <= order.ahead_qty <= order.ahead_at_most
    budget = report.budget
    assert budget is not None
    assert (budget.burst, budget.reserve, budget.rate_per_second) == (400, 60, 200)
    assert 0 <= budget.tokens <= budget.burst


def test_clearing_a_latch_twice_changes_nothing_the_second_time(resting):
    thin, _, _ = resting
    thin.give(m.LatchSet("somebody"))
    thin.give(m.LatchCleared("looked at"))
    thin.run(1.0)
    before = thin.trader.report(thin.now_ns)
    assert thin.give(m.LatchCleared()) == []
    assert msgspec.json.encode(thin.trader.report(thin.now_ns)) == msgspec.json.encode(before)


@pytest.mark.parametrize(
    ("event", "why"), [(m.StopRequested("asked"), "the run ends"), (m.LatchSet("asked"), "latched")]
)
def test_a_cancel_of_everything_names_its_cause(resting, event, why):
    thin, _, own = resting
    made_for = own.why
    sends = [each for each in thin.give(event) if isinstance(each, m.Send)]
    cancels = [each for each in sends if isinstance(each.request, m.CancelResting)]
    assert made_for.startswith("quote bid")
    assert [each.why for each in cancels] == [why] * 4


def test_during_a_stop_the_report_shows_no_wanted_quotes(resting):
    thin, _, _ = resting
    answer = thin.answer

    def deaf(request: m.Request) -> m.Answer:
        return m.Unknown("cut") if isinstance(request, m.CancelResting) else answer(request)

    thin.answer = deaf
    thin.give(m.StopRequested("asked"))
    thin.run(3.0)
    assert len(thin.orders) == 4
    rungs = thin.trader.report(thin.now_ns).events[0].rungs
    assert [(each.wanted_bids, each.wanted_asks, each.on_target) for each in rungs] == [
        ((), (), ())
    ] * 2
    acts = [each.act for _, each in thin.trader.plan(thin.now_ns).requests]
    assert set(acts) <= {Act.CANCEL}
