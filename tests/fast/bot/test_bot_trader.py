"""The whole trader: its phases, what stops new orders, what never stops cancels."""

from random import Random

import msgspec
import pytest

from bot.core import messages as m
from bot.core.report import Phase
from bot.core.settings import StalenessSettings, TraderSettings
from bot.core.trader import Trader
from bot.lab.sim.scenario import SECOND
from bot.lab.sim.venue import SERIES
from bot.strategy.api import Strategy
from tests.builders.bot import made
from tests.builders.bot.engines import RISK
from tests.builders.bot.made import T0
from tests.builders.bot.worlds import calm, creates, first_market, opened, place, quoting, resting
from venue.engine import messages as v
from venue.wire.money import BookSide, Cents, Outcome, Qty


def test_orders_of_an_earlier_run_on_both_sides_do_not_count_as_quotes():
    """More of them than cancels are sent at once: some are still open during the start."""
    world = opened(calm(rungs=(1,)))
    for number in range(80):
        place(world, f"earlier-{number}", (Outcome.YES, Outcome.NO)[number % 2], 5)
    world.driver.run_until(world.now_ns + SECOND)
    world.start_process(world.process)
    trader = world.process.trader
    assert world.driver.run_until(world.now_ns + 9 * SECOND, lambda: trader.quoting.all_two_sided())
    assert trader.phase is Phase.STARTING
    assert world.driver.run_until(
        world.now_ns + 9 * SECOND, lambda: trader.first_two_sided_ns is not None
    )
    assert trader.report(world.now_ns).ledger_difference_cents == 0


@pytest.mark.parametrize("code", ["insufficient_balance", "insufficient_shares"])
def test_an_unconfirmed_create_may_be_rejected_before_its_rung_is_known(code):
    settings = TraderSettings(series_ticker=SERIES, risk=RISK)
    trader = Trader(settings, lambda: Strategy(None))
    order = made.intent()
    left = m.UnconfirmedCreate(order)
    trader.receive(m.Started("0" * 20, (left,)), T0)
    sent = next(
        effect
        for effect in trader.receive(m.Tick(), T0)
        if isinstance(effect, m.Send) and isinstance(effect.request, m.Create)
    )
    trader.receive(m.Response(sent.request_id, m.Rejected(422, code, "")), T0)
    assert len(trader.desk.unknown) == 1


def test_the_worst_case_follows_the_resting_orders():
    world = quoting()
    of = world.process.trader.quoting
    assert of.weighing.worst_cents(of.ladders[0]) < 0 < of.weighing.worst_case_cents
    world.deliver(world.process, m.PauseRequested("lunch"))
    assert world.driver.run_until(world.now_ns + 2 * SECOND, lambda: resting(world) == 0)
    world.driver.run_until(world.now_ns + SECOND)
    assert of.weighing.worst_cents(of.ladders[0]) == of.weighing.worst_case_cents == 0


@pytest.mark.parametrize("end", [m.StopRequested("done"), m.JournalFailed("disk full")])
@pytest.mark.parametrize("latched", [False, True])
def test_a_stop_or_a_failed_journal_cancels_everything_and_creates_nothing(end, latched):
    world = quoting()
    if latched:
        world.deliver(world.process, m.LatchSet("reaper"))
        world.driver.run_until(world.now_ns + SECOND)
    before = creates(world)
    world.deliver(world.process, end)
    finished = world.driver.run_until(
        world.now_ns + 8 * SECOND, lambda: world.process.finished is not None
    )
    assert finished
    assert (resting(world), creates(world)) == (0, before)
    assert world.process.finished == m.DrainComplete((), ())
    assert world.process.process_event(m.Tick(), world.now_ns + 1) == []
    assert world.process.trader.report(world.now_ns).latched == ("reaper" if latched else "")


@pytest.mark.parametrize(("fault", "within_s"), [("close", 1), ("stall", 6)])
def test_a_closed_or_silent_channel_pulls_every_quote(fault, within_s):
    world = quoting()
    getattr(world.channel, fault)(20 * SECOND)
    assert world.driver.run_until(world.now_ns + within_s * SECOND, lambda: resting(world) == 0)


def test_a_halted_market_is_blocked_and_the_others_are_quoted():
    world = quoting()
    market = first_market(world)
    world.exchange.execute(v.HaltMarket(market), world.now_ns)
    world.driver.run_until(world.now_ns + 8 * SECOND)
    rungs = [r for ladder in world.process.trader.quoting.ladders for r in ladder.rungs]
    assert [rung.blocked != "" for rung in rungs] == [rung.market_id == market for rung in rungs]


def test_orders_of_an_earlier_run_are_found_though_the_series_is_read_late():
    world = quoting()
    world.replace(world.process, 0, Random(0))
    late = world.process
    real = world.deliver

    def deliver(process, event):
        if process is late and isinstance(event, m.Response):
            shown = getattr(event.answer, "body", None)
            if isinstance(shown, m.SeriesBody) and world.now_ns < hold_until_ns:
                event = m.Response(event.request_id, m.Unknown("held back"))
        real(process, event)

    hold_until_ns = world.now_ns + 4 * SECOND
    world.deliver = deliver
    assert world.driver.run_until(
        world.now_ns + 12 * SECOND, lambda: late.trader.phase is Phase.QUOTING
    )
    assert resting(world) == 0


class Mad(Strategy):
    """A strategy that fails for one event and quotes the other."""

    def quote(self, view):
        if view.event_ticker.endswith("Q1"):
            raise ZeroDivisionError
        return {}


def test_a_strategy_that_fails_pulls_its_event_and_is_counted():
    risk = msgspec.structs.replace(RISK, series_loss_cents=Cents(2_000), order_qty=Qty(5))
    world = opened(strategy=Mad, risk=risk)
    world.start_process(world.process)
    world.driver.run_until(world.now_ns + 8 * SECOND)
    trader = world.process.trader
    assert trader.out.counters.strategy_errors >= 1
    assert trader.phase is Phase.QUOTING
    assert creates(world) == 0


def test_a_response_to_no_request_is_noted_and_changes_nothing():
    world = quoting()
    trader = world.process.trader
    before = trader.report(world.now_ns)
    effects = trader.receive(m.Response(m.RequestId(10**9), m.Unknown("")), world.now_ns)
    assert [effect.name for effect in effects if isinstance(effect, m.Noted)] == [
        "answer_without_request"
    ]
    assert trader.report(world.now_ns).counters == before.counters


def test_a_process_that_was_paused_sends_no_quotes_before_its_books_are_confirmed():
    world = quoting()
    trader = world.process.trader
    world.driver.now_ns += 30 * SECOND
    effects = trader.receive(m.Tick(), world.now_ns)
    sent = [effect.request for effect in effects if isinstance(effect, m.Send)]
    assert not [request for request in sent if isinstance(request, m.Create | m.AmendResting)]
    assert [effect for effect in effects if isinstance(effect, m.SubscribeTo)]


def test_orders_left_over_are_named():
    world = quoting()
    left = world.process.trader.left_over()
    assert sorted(left.left) == sorted(world.auditor.truth.working)
    assert left.unknown == ()


@pytest.mark.parametrize("then", ["nothing", "503"])
def test_a_page_of_resting_orders_shows_fills_though_its_list_breaks_off(then):
    """Otherwise an order with fills on a first page is amended too low."""
    world = quoting()
    trader = world.process.trader
    at_ns = world.now_ns

    def asked(kind: type[m.Request]) -> m.Send:
        nonlocal at_ns
        while True:
            at_ns += SECOND // 10
            for effect in trader.receive(m.Tick(), at_ns):
                if isinstance(effect, m.Send) and isinstance(effect.request, kind):
                    return effect

    own = trader.desk.live(trader.quoting.ladders[0].rungs[0].market_id)[0]
    row = made.shown(own, filled=1, remaining=own.qty - 1)
    page = m.Ok(m.OrdersBody((row,), "1"))
    trader.receive(m.Response(asked(m.ReadResting).request_id, page), at_ns)
    if then == "503":
        failed = m.Rejected(503, "result_unknown", "")
        trader.receive(m.Response(asked(m.ReadResting).request_id, failed), at_ns)
    assert own.filled == 1
    assert own.remaining == own.qty - 1


def test_the_report_shows_no_book_age_for_a_resolved_rung():
    world = quoting()
    gone = world.process.trader.report(world.now_ns).events[0].rungs[0].market_id
    world.exchange.execute(v.ResolveMarket(gone, Outcome.YES), world.now_ns)
    world.driver.run_until(world.now_ns + 20 * SECOND)
    events = world.process.trader.report(world.now_ns).events
    ages = {rung.market_id: rung.book_age_ns for event in events for rung in event.rungs}
    assert ages.pop(gone) is None
    assert ages
    assert None not in ages.values()


@pytest.mark.parametrize(("silence_s", "alert_s"), [(5, 10), (60, 60)])
def test_a_silent_channel_raises_an_alert_after_its_allowed_silence(silence_s, alert_s):
    staleness = StalenessSettings(feed_silence_ns=silence_s * SECOND)
    settings = TraderSettings(series_ticker=SERIES, risk=RISK, staleness=staleness)
    report = Trader(settings, lambda: Strategy(None)).report(0)
    assert report.feed_silent_after_ns == alert_s * SECOND


def test_a_suspended_side_stays_suspended_after_it_was_short_of_funds():
    world = quoting()
    trader = world.process.trader
    own = next(own for own in trader.desk.live_orders if own.book_side is BookSide.BID)
    now_ns, rung = world.now_ns, trader.quoting.rung(own.market_id)
    minute_ns = 60 * SECOND
    trader.quoting.suspend_side(own.market_id, BookSide.BID, "invalid_request", minute_ns, now_ns)
    trader.quoting.suspend_for_funds(own, "insufficient_balance", now_ns + SECOND)
    assert rung.is_side_suspended(BookSide.BID, now_ns + 59 * SECOND)
    assert not rung.is_side_suspended(BookSide.BID, now_ns + 61 * SECOND)
