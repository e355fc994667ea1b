"""Claims about what a person is told of our orders, and of our fills and what became of them."""

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
from strategies.fixed_spread import FixedSpread
from tests.builders.bot.thin import Thin
from venue.wire.money import BookSide, Price, Qty
from venue.wire.names import MarketId
from venue.wire.requests import Amend

RUNG = MarketId("m0")


@pytest.fixture
def standing():
    """A rung of a quoting trader and the bid that rests there."""
    thin = Thin([60, 40], lambda: FixedSpread(FixedSpread.Params()), PaceSettings(decide_ns=0))
    thin.start()
    thin.run(3.0)
    rung = thin.rung(0)
    own = next(
        own for own in thin.trader.desk.live(rung.market_id) if own.book_side is BookSide.BID
    )
    return thin, rung, own


def test_an_order_at_a_wanted_price_names_its_level_its_size_and_its_distance_from_fair(standing):
    _, rung, own = standing
    away = rung.fair.value_cents - own.yes_price
    want = next(quote for quote in rung.planned if quote.side is BookSide.BID)
    said = f"wanted here: level 1 of 1, {want.qty} shares, {away:.1f} below fair"
    assert reason_of(own, rung) == said


def test_an_order_near_a_wanted_price_says_which(standing):
    _, rung, own = standing
    rung.wishes = ()
    rung.planned = (Quote(BookSide.BID, Price(own.yes_price + 1), Qty(10)),)
    assert reason_of(own, rung).startswith(
        f"wanted at {own.yes_price + 1}: near enough to keep its place, "
    )


def test_an_order_of_which_nothing_is_wanted_says_what_blocks_the_rung(standing):
    _, rung, own = standing
    rung.planned, rung.blocked = (), "book too old"
    assert reason_of(own, rung) == "nothing is wanted on this side: book too old"


def test_an_order_that_is_to_be_changed_says_how(standing):
    _, rung, own = standing
    amend = Amend(price=Price(50))
    rung.wishes = (AmendAction(own, amend, False, "moved from 57 to 50", 1.0),)
    assert reason_of(own, rung) == "kept until a request may leave: moved from 57 to 50"


@pytest.mark.parametrize("state", [state for state in State if state is not State.OPEN])
def test_an_order_with_something_under_way_says_what(standing, state):
    _, rung, own = standing
    own.state = state
    assert reason_of(own, rung).endswith(f"({own.why})")


def test_doom_and_suspicion_come_first(standing):
    _, rung, own = standing
    own.cancel_requested = True
    assert reason_of(own, rung) == f"to be cancelled: {own.why}"
    own.mark_suspect(OrderFinding.MISSING, "404 to a read", 0)
    assert reason_of(own, rung) == "not trusted, order_missing: 404 to a read"


def test_the_report_has_reason_and_place_of_every_order_and_the_budget(standing):
    thin, _, _ = standing
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


def test_a_resume_and_a_reset_say_why(standing):
    thin, _, _ = standing
    thin.give(m.PauseRequested("x"))
    notes = thin.give(m.ResumeRequested("all is well"))
    assert m.Noted("info", "resumed", {"reason": "all is well"}) in notes


def test_a_latch_that_is_cleared_twice_counts_anew_once(standing):
    thin, _, _ = standing
    thin.give(m.LatchSet("somebody"))
    thin.give(m.LatchCleared("looked at"))
    thin.run(1.0)
    before = thin.trader.report(thin.now_ns)
    assert thin.give(m.LatchCleared()) == []
    assert msgspec.json.encode(thin.trader.report(thin.now_ns)) == msgspec.json.encode(before)


@pytest.mark.parametrize(
    ("event", "why"), [(m.StopRequested("asked"), "the run ends"), (m.LatchSet("asked"), "latched")]
)
def test_a_cancel_of_everything_says_why_and_not_what_the_order_was_made_for(standing, event, why):
    thin, _, own = standing
    made_for = own.why
    sends = [each for each in thin.give(event) if isinstance(each, m.Send)]
    cancels = [each for each in sends if isinstance(each.request, m.CancelResting)]
    assert made_for.startswith("quote bid")
    assert [each.why for each in cancels] == [why] * 4


def test_while_a_stop_waits_for_its_cancels_nothing_is_said_to_be_wanted(standing):
    thin, _, _ = standing
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
