"""Claims about the whole trader: its phases, what stops new orders, what never stops cancels."""

from dataclasses import replace
from random import Random

import pytest

from bot.core import messages as m
from bot.core.report import Phase
from bot.core.settings import RiskSettings, StalenessSettings, TraderSettings
from bot.core.trader import Trader
from bot.lab.exchange.exchange import MAKER
from bot.lab.sim.scenario import SECOND, SimScenario, draw, narrowed
from bot.lab.sim.venue import SERIES
from bot.lab.sim.world import SimulatedWorld
from bot.strategy.api import Strategy
from tests.builders.bot import made
from tests.builders.bot.made import T0
from venue.engine import messages as v
from venue.wire import codec
from venue.wire.model import VenueState
from venue.wire.money import Cents, Outcome, Price, Qty, Side
from venue.wire.names import ClientOrderId
from venue.wire.requests import QtyOrder, TimeInForce

RISK = RiskSettings(
    event_loss_cents=Cents(1_000),
    series_loss_cents=Cents(1_000),
    rung_position_qty=Qty(10),
    order_qty=Qty(10),
)


def calm() -> SimScenario:
    """A scenario without faults and without a crowd that moves."""
    return replace(
        narrowed(draw(0), without=("ticks_through",)),
        strategy="fixed_spread",
        rungs=(2, 1),
        rates={},
        slow_read=0.0,
        trust_lag_ns=SECOND,
        slow_lag_ns=SECOND // 2,
        fast_lag_ns=1_000_000,
        cash_cents=1_000_000,
        skew_ns=0,
        drift_ppm=0,
        turn_ns=0,
        acks=True,
        dead_rung=False,
        budget=(200, 400, 60),
        series_loss_cents=0,
        event_loss_cents=20_000,
        rung_position_qty=200,
    )


def quoting(odds: SimScenario | None = None) -> SimulatedWorld:
    """A world in which the trader quotes both sides of every rung."""
    world = SimulatedWorld(odds or calm())
    world.crowd.place_floors(world.now_ns)
    world.driver.run_until(world.now_ns + SECOND)
    world.start_process(world.process)
    assert world.driver.run_until(
        world.now_ns + 8 * SECOND, lambda: world.process.trader.quoting.all_two_sided()
    )
    return world


def resting(world: SimulatedWorld) -> int:
    """Orders of ours in the engine's book."""
    return len(world.auditor.truth.working)


def creates(world: SimulatedWorld) -> int:
    """Creates sent so far."""
    return world.process.trader.out.counters.requests["create"]


def test_both_sides_of_every_rung_are_quoted():
    world = quoting()
    world.driver.run_until(world.now_ns + SECOND)
    assert resting(world) == 6
    assert world.process.trader.report(world.now_ns).first_two_sided_ns is not None


def test_orders_that_a_life_before_left_on_both_sides_are_no_quotes_of_this_one():
    """More of them than cancels are sent at once: some are open yet while the start goes on."""
    world = SimulatedWorld(replace(calm(), rungs=(1,)))
    world.crowd.place_floors(world.now_ns)
    market = world.exchange.markets["ACME-VAL-27Q1"][0]
    for number in range(80):
        outcome = (Outcome.YES, Outcome.NO)[number % 2]
        cid = ClientOrderId(f"earlier-{number}")
        order = QtyOrder(market, outcome, Side.BUY, Price(5), Qty(1), TimeInForce.GTC, cid)
        world.exchange.execute(v.PlaceOrder(MAKER, order), world.now_ns)
    world.driver.run_until(world.now_ns + SECOND)
    world.start_process(world.process)
    trader = world.process.trader
    assert world.driver.run_until(world.now_ns + 9 * SECOND, lambda: trader.quoting.all_two_sided())
    assert trader.phase is Phase.STARTING
    assert world.driver.run_until(
        world.now_ns + 9 * SECOND, lambda: trader.first_two_sided_ns is not None
    )
    assert trader.report(world.now_ns).ledger_difference_cents == 0


def test_the_picture_tells_up_to_when_the_fills_are_known():
    world = quoting()
    trader = world.process.trader
    first_ns = trader.report(world.now_ns).fills_from_ns
    assert first_ns is not None
    world.driver.run_until(world.now_ns + 9 * SECOND)
    last_ns = trader.report(world.now_ns).fills_from_ns
    assert first_ns < last_ns <= world.now_ns


@pytest.mark.parametrize("code", ["insufficient_balance", "insufficient_shares"])
def test_a_create_left_behind_may_be_refused_before_its_rung_is_known(code):
    """Found by seed 75 of the simulation."""
    settings = TraderSettings(series_ticker=SERIES, risk=RISK)
    trader = Trader(settings, lambda: Strategy(None))
    order = made.intent()
    left = m.UnconfirmedCreate(order, codec.encode_new_order(order))
    trader.receive(m.Started("0" * 20, (left,)), T0)
    sent = next(
        effect
        for effect in trader.receive(m.Tick(), T0)
        if isinstance(effect, m.Send) and isinstance(effect.request, m.Create)
    )
    trader.receive(m.Response(sent.request_id, m.Rejected(422, code, "")), T0)
    assert len(trader.desk.unknown) == 1


def test_nothing_is_sent_before_the_start():
    world = SimulatedWorld(calm())
    assert world.process.process_event(m.Tick(), world.now_ns) == []


def test_a_pause_pulls_every_quote_and_a_resume_brings_them_back():
    world = quoting()
    world.deliver(world.process, m.PauseRequested("lunch"))
    assert world.driver.run_until(world.now_ns + 2 * SECOND, lambda: resting(world) == 0)
    world.driver.run_until(world.now_ns + 2 * SECOND)
    assert resting(world) == 0
    world.deliver(world.process, m.ResumeRequested())
    assert world.driver.run_until(world.now_ns + 2 * SECOND, lambda: resting(world) == 6)


def test_the_worst_case_follows_what_rests():
    world = quoting()
    of = world.process.trader.quoting
    assert of.weighing.worst_cents(of.ladders[0]) < 0 < of.weighing.worst_case_cents
    world.deliver(world.process, m.PauseRequested("lunch"))
    assert world.driver.run_until(world.now_ns + 2 * SECOND, lambda: resting(world) == 0)
    world.driver.run_until(world.now_ns + SECOND)
    assert of.weighing.worst_cents(of.ladders[0]) == of.weighing.worst_case_cents == 0


@pytest.mark.parametrize("end", [m.StopRequested("done"), m.JournalFailed("disk full")])
def test_a_stop_and_a_failed_journal_cancel_everything_and_make_nothing_new(end):
    world = quoting()
    before = creates(world)
    world.deliver(world.process, end)
    assert world.driver.run_until(
        world.now_ns + 8 * SECOND, lambda: world.process.finished is not None
    )
    assert resting(world) == 0
    assert creates(world) == before
    assert world.process.finished == m.DrainComplete((), ())


def test_a_finished_trader_is_silent():
    world = quoting()
    world.deliver(world.process, m.StopRequested("done"))
    world.driver.run_until(world.now_ns + 8 * SECOND, lambda: world.process.finished is not None)
    assert world.process.process_event(m.Tick(), world.now_ns + 1) == []


def test_a_closed_channel_pulls_every_quote():
    world = quoting()
    world.channel.close(3 * SECOND)
    assert world.driver.run_until(world.now_ns + SECOND, lambda: resting(world) == 0)


def test_a_silent_channel_pulls_every_quote_in_time():
    world = quoting()
    world.channel.stall(20 * SECOND)
    assert world.driver.run_until(world.now_ns + 6 * SECOND, lambda: resting(world) == 0)


def test_a_halted_venue_is_asked_once_in_five_seconds():
    world = quoting()
    world.exchange.execute(v.SetVenueState(VenueState.HALTED), world.now_ns)
    world.deliver(world.process, m.PauseRequested("so that there is something to cancel"))
    world.driver.run_until(world.now_ns + SECOND)
    before = dict(world.process.trader.out.counters.requests)
    world.driver.run_until(world.now_ns + 30 * SECOND)
    after = world.process.trader.out.counters.requests
    assert 4 <= after["cancel"] - before["cancel"] <= 7
    assert after["create"] == before["create"]


def test_a_halted_market_is_left_alone_and_the_others_are_quoted():
    world = quoting()
    market = world.exchange.markets["ACME-VAL-27Q1"][0]
    world.exchange.execute(v.HaltMarket(market), world.now_ns)
    world.driver.run_until(world.now_ns + 8 * SECOND)
    rungs = [r for ladder in world.process.trader.quoting.ladders for r in ladder.rungs]
    assert [rung.blocked != "" for rung in rungs] == [rung.market_id == market for rung in rungs]


def foreign(world: SimulatedWorld) -> None:
    """Somebody else places an order on the account."""
    market = world.exchange.markets["ACME-VAL-27Q1"][0]
    cid = ClientOrderId("somebody-else")
    order = QtyOrder(market, Outcome.YES, Side.BUY, Price(1), Qty(1), TimeInForce.GTC, cid)
    world.exchange.execute(v.PlaceOrder(MAKER, order), world.now_ns)


def test_where_somebody_else_has_an_order_ours_are_cancelled_and_it_is_told():
    world = quoting()
    market = world.exchange.markets["ACME-VAL-27Q1"][0]
    foreign(world)
    world.driver.run_until(world.now_ns + 10 * SECOND)
    trader = world.process.trader
    assert "foreign_orders" in trader.out.findings
    assert not trader.desk.live(market)
    assert len(trader.desk.live_orders) > 0, "other rungs are quoted on"


def test_what_rests_at_the_start_is_cancelled_before_the_first_quote():
    world = SimulatedWorld(calm())
    world.crowd.place_floors(world.now_ns)
    foreign(world)
    world.driver.run_until(world.now_ns + SECOND)
    world.start_process(world.process)
    trader = world.process.trader
    assert world.driver.run_until(world.now_ns + 8 * SECOND, lambda: trader.phase is Phase.QUOTING)
    assert resting(world) == 0


def test_orders_of_an_earlier_run_are_found_however_late_the_series_is_read():
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


def test_an_open_intent_is_settled_before_anything_is_quoted():
    world = SimulatedWorld(calm())
    world.crowd.place_floors(world.now_ns)
    market = world.exchange.markets["ACME-VAL-27Q1"][0]
    cid = ClientOrderId("earlier-1")
    order = QtyOrder(market, Outcome.YES, Side.BUY, Price(5), Qty(1), TimeInForce.GTC, cid)
    world.exchange.execute(v.PlaceOrder(MAKER, order), world.now_ns)
    body = codec.encode_new_order(order)
    world.disk.plant(m.UnconfirmedCreate(order, body))
    world.auditor.flight.bodies[cid] = body
    world.driver.run_until(world.now_ns + SECOND)
    world.start_process(world.process)
    trader = world.process.trader
    assert world.driver.run_until(world.now_ns + 9 * SECOND, lambda: trader.phase is Phase.QUOTING)
    assert resting(world) == 0
    left = world.disk.open_intents(world.process.log)
    assert cid not in [intent.order.client_order_id for intent in left]


def test_a_lost_create_that_the_cash_does_not_reach_for_does_not_keep_a_restart_waiting():
    odds = replace(calm(), cash_cents=100)
    world = SimulatedWorld(odds)
    world.crowd.place_floors(world.now_ns)
    market = world.exchange.markets["ACME-VAL-27Q1"][0]
    for cid, price in (("rests", 60), ("lost", 55)):
        order = QtyOrder(
            market,
            Outcome.YES,
            Side.BUY,
            Price(price),
            Qty(1),
            TimeInForce.GTC,
            ClientOrderId(cid),
        )
        answer = world.exchange.execute(v.PlaceOrder(MAKER, order), world.now_ns)
    assert isinstance(answer, v.Refused)
    body = codec.encode_new_order(order)
    world.disk.plant(m.UnconfirmedCreate(order, body))
    world.auditor.flight.bodies[order.client_order_id] = body
    world.driver.run_until(world.now_ns + SECOND)
    world.start_process(world.process)
    trader = world.process.trader
    assert world.driver.run_until(world.now_ns + 12 * SECOND, lambda: trader.phase is Phase.QUOTING)


class Mad(Strategy):
    """A strategy that fails for one event and quotes the other."""

    def quote(self, view):
        if view.event_ticker.endswith("Q1"):
            raise ZeroDivisionError
        return {}


def test_a_strategy_that_fails_pulls_its_event_and_is_counted():
    settings = TraderSettings(
        series_ticker=SERIES,
        risk=RiskSettings(
            event_loss_cents=Cents(1_000),
            series_loss_cents=Cents(2_000),
            rung_position_qty=Qty(10),
            order_qty=Qty(5),
        ),
    )
    world = SimulatedWorld(calm())
    world.crowd.place_floors(world.now_ns)
    world.driver.run_until(world.now_ns + SECOND)
    world.process.trader = Trader(settings, lambda: Mad(None))
    world.start_process(world.process)
    world.driver.run_until(world.now_ns + 8 * SECOND)
    trader = world.process.trader
    assert trader.out.counters.strategy_errors >= 1
    assert trader.phase is Phase.QUOTING
    assert creates(world) == 0


def test_an_answer_to_no_request_is_told_and_changes_nothing():
    world = quoting()
    trader = world.process.trader
    before = trader.report(world.now_ns)
    effects = trader.receive(m.Response(m.RequestId(10**9), m.Unknown("")), world.now_ns)
    assert [effect.name for effect in effects if isinstance(effect, m.Noted)] == [
        "answer_without_request"
    ]
    assert trader.report(world.now_ns).counters == before.counters


def test_a_process_that_stood_still_sends_nothing_before_its_books_are_confirmed():
    world = quoting()
    trader = world.process.trader
    world.driver.now_ns += 30 * SECOND
    effects = trader.receive(m.Tick(), world.now_ns)
    sent = [effect.request for effect in effects if isinstance(effect, m.Send)]
    assert not [request for request in sent if isinstance(request, m.Create | m.AmendResting)]
    assert [effect for effect in effects if isinstance(effect, m.SubscribeTo)]


def test_what_a_drain_leaves_behind_is_named():
    world = quoting()
    left = world.process.trader.left_over()
    assert sorted(left.left) == sorted(world.auditor.truth.working)
    assert left.unknown == ()


@pytest.mark.parametrize("then", ["nothing", "503"])
def test_a_page_of_resting_orders_tells_of_fills_though_its_list_goes_on_or_breaks_off(then):
    """Found by seed 13 of a hunt: an order of 18 shares, 16 of them shown filled on a first page
    whose second one never came, was amended to 6."""
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


def test_of_a_rung_that_has_resolved_no_age_of_its_book_is_told_and_of_those_beside_it_one_is():
    world = quoting()
    ladder = world.process.trader.report(world.now_ns).events[0]
    gone = ladder.rungs[0].market_id
    world.exchange.execute(v.ResolveMarket(gone, Outcome.YES), world.now_ns)
    world.driver.run_until(world.now_ns + 20 * SECOND)
    events = world.process.trader.report(world.now_ns).events
    told = {rung.market_id: rung.book_age_ns for event in events for rung in event.rungs}
    assert told.pop(gone) is None
    assert told
    assert all(age_ns is not None for age_ns in told.values())


@pytest.mark.parametrize(("trusted_s", "told_s"), [(5, 10), (60, 60)])
def test_a_silence_of_the_channel_that_is_trusted_is_not_told_to_a_person(trusted_s, told_s):
    staleness = StalenessSettings(feed_silence_ns=trusted_s * SECOND)
    settings = TraderSettings(series_ticker=SERIES, risk=RISK, staleness=staleness)
    assert (
        Trader(settings, lambda: Strategy(None)).report(0).feed_silent_after_ns == told_s * SECOND
    )
