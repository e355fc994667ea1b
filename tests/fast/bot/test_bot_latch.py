"""The latched trader: what trips it, what it still does, and how it comes back."""

from types import SimpleNamespace

import pytest
from msgspec.structs import replace

from bot.core import messages as m
from bot.core.orders.request_budget import Priority
from bot.core.quoting.event_quoter import MarketQuoter
from bot.core.report import Phase
from bot.core.settings import BreakerSettings, RiskSettings, TraderSettings
from bot.core.trader import Trader
from bot.lab.sim.scenario import SECOND
from bot.lab.sim.venue import SERIES
from bot.lab.sim.world import SimulatedWorld
from bot.strategy.api import EventView, Quote, Quotes, Strategy
from tests.builders.bot import made
from tests.builders.bot.made import T0
from tests.builders.bot.thin import Thin
from tests.builders.bot.worlds import assert_replayed, creates, opened, place, quoting, resting
from venue.engine import messages as v
from venue.wire.errors import Code
from venue.wire.instant import from_ns
from venue.wire.model import VenueState
from venue.wire.money import BookSide, Cents, Price, Qty
from venue.wire.names import OrderId

RISK = RiskSettings(
    event_loss_cents=Cents(20_000),
    series_loss_cents=Cents(40_000),
    rung_position_qty=Qty(100),
    order_qty=Qty(10),
    resting_orders=20,
)


def latched_effects(world: SimulatedWorld, *events: m.Event) -> list[str]:
    """The reasons that the shell must save after these events."""
    return [
        effect.reason
        for event in events
        for effect in world.process.process_event(event, world.now_ns)
        if isinstance(effect, m.Latched)
    ]


class Mad(Strategy):
    """Wants three bids at one decision and three asks at the next, for ever."""

    def __init__(self, params: object) -> None:
        super().__init__(params)
        self._turn = 0

    def quote(self, view: EventView) -> Quotes:
        self._turn += 1
        side, first = (BookSide.BID, 1) if self._turn % 2 else (BookSide.ASK, 97)
        levels = tuple(Quote(side, Price(first + step), Qty(1)) for step in (2, 1, 0))
        return {rung.market_id: levels[:: 1 if side is BookSide.BID else -1] for rung in view.rungs}


class Fat(Strategy):
    """Bids 99 for everything."""

    def quote(self, view: EventView) -> Quotes:
        return {rung.market_id: (Quote(BookSide.BID, Price(99), Qty(1)),) for rung in view.rungs}


def test_a_mad_strategy_is_latched_within_a_second_and_sixty_creates():
    """A thousand decisions a second, each of which turns everything over."""
    world = opened(strategy=Mad, risk=RISK)
    world.start_process(world.process)
    trader = world.process.trader
    assert world.driver.run_until(world.now_ns + 20 * SECOND, lambda: creates(world) > 0)
    began_ns = world.now_ns
    assert world.driver.run_until(began_ns + 60 * SECOND, lambda: trader.phase is Phase.LATCHED)
    tripped_ns = world.now_ns
    assert "per_minute" in trader.guard.latched or "per_second" in trader.guard.latched
    sent = creates(world)
    assert sent <= 60
    assert world.driver.run_until(tripped_ns + 8 * SECOND, lambda: resting(world) == 0)
    world.driver.run_until(tripped_ns + 70 * SECOND)
    assert creates(world) == sent, "not one more, however long it waits"
    assert tripped_ns - began_ns <= SECOND
    assert_replayed(world)


def test_a_loss_beyond_its_limit_latches_once_with_its_reason(monkeypatch):
    world = quoting()
    trader = world.process.trader
    limit = trader.guard.breakers.limits.loss_cents
    world.driver.run_until(world.now_ns + SECOND)
    monkeypatch.setattr(trader.ledgers.book, "pnl_cents", lambda _marks: -limit - 1)
    trader.guard.breakers.judge(0, 0, world.now_ns)
    trader.guard.schedule_judgement()
    world.driver.now_ns += SECOND // 5
    reasons = latched_effects(world, m.Tick(), m.Tick())
    assert reasons == [f"loss_cents: {limit + 1}, at most {limit}"]
    assert trader.phase is Phase.LATCHED


@pytest.mark.parametrize(("looked", "used"), [(True, 0), (False, 700)])
def test_a_loss_counts_from_zero_only_after_a_person_has_reset_the_latch(monkeypatch, looked, used):
    world = quoting()
    guard = world.process.trader.guard
    guard.breakers.rearm()
    guard.breakers.judge(0, 0, world.now_ns)
    world.deliver(world.process, m.LatchSet("unseen: latch.json cannot be read"))
    world.deliver(world.process, m.LatchCleared(looked=looked))
    guard.breakers.judge(-700, 0, world.now_ns)
    levels = {level.name: level.used for level in guard.breakers.levels(world.now_ns)}
    assert levels["loss_cents"] == used


def losses(world: SimulatedWorld) -> tuple[int, int]:
    """Loss and drawdown that the breakers count after a judgement now."""
    guard = world.process.trader.guard
    guard.judge_due_ns = 0
    guard.judge(world.now_ns, opened=True)
    used = {level.name: level.used for level in guard.breakers.levels(world.now_ns)}
    return used["loss_cents"], used["drawdown_cents"]


def buy(world: SimulatedWorld) -> MarketQuoter:
    """Fifty shares at 40 of the first rung are booked; the rung."""
    rung = world.process.trader.quoting.ladders[0].rungs[0]
    order = made.own()
    order.market_id = rung.market_id
    world.process.trader.ledgers.book.book_fill(made.fill(order, number=1, qty=50))
    return rung


def test_a_fair_value_that_goes_missing_is_no_loss():
    world = quoting()
    rung = buy(world)
    before = losses(world)
    rung.fair = rung.state.last_price = None
    assert losses(world) == before


def test_the_first_fair_value_of_a_rung_is_no_gain_to_fall_from():
    world = quoting()
    rung = buy(world)
    guard = world.process.trader.guard
    rung.fair = rung.state.last_price = None
    guard.forget_marks([rung.market_id])
    guard.breakers.rearm()
    assert losses(world) == (0, 0)
    rung.fair = SimpleNamespace(value_cents=90.0)
    assert losses(world) == (0, 0)
    rung.fair = SimpleNamespace(value_cents=80.0)
    assert losses(world) == (500, 500)


def test_shares_bought_before_a_rung_has_a_fair_value_count_as_loss_at_their_mark_only():
    world = quoting()
    rung = world.process.trader.quoting.ladders[0].rungs[0]
    fair, rung.fair, rung.state.last_price = rung.fair, None, None
    world.process.trader.guard.forget_marks([rung.market_id])
    world.process.trader.guard.breakers.rearm()
    losses(world)
    buy(world)
    rung.fair = fair
    loss = max(0, 50 * 40 - round(50 * fair.value_cents))
    assert losses(world) == (loss, loss)
    assert loss < 25 * 40


def test_the_fills_breaker_counts_each_fill_of_this_run_once():
    world = quoting()
    world.driver.run_until(world.now_ns + 20 * SECOND)
    trader = world.process.trader
    used = {level.name: level.used for level in trader.guard.breakers.levels(world.now_ns)}
    assert used["fills_per_minute"] == trader.ledgers.fills


def test_a_fill_that_cannot_be_booked_counts_for_no_breaker():
    class Unbookable(Thin):
        listed = False

        def answer(self, request: m.Request) -> m.Answer:
            if not (self.listed and isinstance(request, m.ReadFills)):
                return super().answer(request)
            order = made.own()
            order.market_id = self.markets[0].market_id
            fill = made.fill(order, number=1, qty=3, fee_cents=10**8)
            return m.Ok(m.FillsBody((replace(fill, created_at=from_ns(self.now_ns)),), ""))

    thin = Unbookable([50])
    thin.start()
    thin.listed = True
    thin.run(20)
    levels = thin.trader.guard.breakers.levels(thin.now_ns)
    used = {level.name: level.used for level in levels}
    assert "fill_unreadable" in thin.trader.out.findings
    assert (used["fills_per_minute"], used["filled_qty_per_minute"]) == (0, 0)


@pytest.mark.parametrize(
    ("status", "code", "counts"),
    [
        (400, "invalid_price", 1),
        (422, "invalid_request", 1),
        (418, "unheard_of", 1),
        (422, "insufficient_balance", 0),
        (422, "market_halted", 0),
        (409, "venue_halted", 0),
        (429, "rate_limited", 0),
        (0, "", 0),
    ],
)
def test_only_invalid_requests_count_for_the_rejects_breaker(status, code, counts):
    out = Trader(TraderSettings(series_ticker=SERIES, risk=RISK), lambda: Strategy(None)).out
    for request in (m.CancelResting(OrderId("1")), m.ReadBalance()):
        assert out.send(request, Priority.CANCEL, "", T0)
    for request_id in list(out.pending):
        out.answered(m.Response(request_id, m.Rejected(status, code, ""), None), T0)
    used = {level.name: level.used for level in out.breakers.levels(T0)}
    assert used["rejects_per_minute"] == counts


def test_a_create_with_unknown_outcome_is_noted_after_half_a_minute_and_latches_after_its_limit():
    settings = TraderSettings(
        series_ticker=SERIES, risk=RISK, breakers=BreakerSettings(unknown_age_ns=60 * SECOND)
    )
    trader = Trader(settings, lambda: Strategy(None))
    order = made.intent()
    left = m.UnconfirmedCreate(order)
    trader.receive(m.Started("0" * 20, (left,)), T0)
    noted, latched = [], []
    for step in range(700):
        for effect in trader.receive(m.Tick(), T0 + step * SECOND // 10):
            if isinstance(effect, m.Noted) and effect.name == "unknown_old":
                noted.append(step)
            if isinstance(effect, m.Latched):
                latched.append(step)
    assert noted == [300]
    assert len(latched) == 1
    assert 600 <= latched[0] <= 602
    assert len(trader.desk.unknown) == 1, "no timer ends it (B7)"


def test_a_price_far_through_the_book_is_held_back_and_counted():
    world = opened(strategy=Fat, risk=RISK)
    world.start_process(world.process)
    world.driver.run_until(world.now_ns + 6 * SECOND)
    trader = world.process.trader
    assert trader.phase is Phase.QUOTING
    far = [
        rung.state.without_own(())[1][0][0]
        for rung in trader.quoting.active_rungs()
        if rung.state.without_own(())[1] and rung.state.without_own(())[1][0][0] < 89
    ]
    assert far, "the crowd asks for less than 89 somewhere"
    assert 1 <= trader.guard.beyond_caps <= 8 * len(trader.quoting.active_rungs())
    assert creates(world) == 0 or len(far) < len(trader.quoting.active_rungs())


def test_a_latch_pulls_every_quote_and_its_reset_brings_them_back():
    world = quoting()
    world.deliver(world.process, m.LatchSet("reaper: no heartbeat"))
    before = creates(world)
    assert world.driver.run_until(world.now_ns + 2 * SECOND, lambda: resting(world) == 0)
    world.driver.run_until(world.now_ns + 5 * SECOND)
    report = world.process.trader.report(world.now_ns)
    assert report.phase is Phase.LATCHED
    assert report.latched == "reaper: no heartbeat"
    assert any(text.startswith("latched: ") for text in report.findings)
    assert creates(world) == before
    world.deliver(world.process, m.LatchCleared())
    trader = world.process.trader
    assert world.driver.run_until(world.now_ns + 4 * SECOND, lambda: trader.quoting.all_two_sided())
    assert trader.report(world.now_ns).latched == ""
    assert_replayed(world)


def test_a_latch_keeps_its_first_reason_and_a_pause_outlives_it():
    world = quoting()
    world.deliver(world.process, m.LatchCleared())
    assert world.process.trader.phase is Phase.QUOTING
    world.deliver(world.process, m.LatchSet("first"))
    world.deliver(world.process, m.LatchSet("second"))
    assert world.process.trader.guard.latched == "first"
    world.deliver(world.process, m.PauseRequested("lunch"))
    world.driver.run_until(world.now_ns + SECOND)
    world.deliver(world.process, m.LatchCleared())
    assert world.process.trader.phase is Phase.PAUSED


def test_a_latched_start_cancels_what_rests_and_quotes_nothing_until_the_reset():
    world = opened()
    place(world, "somebody-else")
    world.driver.run_until(world.now_ns + SECOND)
    world.deliver(world.process, m.Started("0" * 20, (), latched="breaker: loss"))
    world.channel.connect(world.process)
    assert world.driver.run_until(world.now_ns + 8 * SECOND, lambda: resting(world) == 0)
    trader = world.process.trader
    world.driver.run_until(world.now_ns + 13 * SECOND)
    assert (trader.phase, creates(world)) == (Phase.LATCHED, 0)
    place(world, "somebody-else-again")
    assert resting(world) == 1
    assert world.driver.run_until(world.now_ns + 8 * SECOND, lambda: resting(world) == 0)
    world.deliver(world.process, m.LatchCleared())
    assert world.driver.run_until(world.now_ns + 8 * SECOND, lambda: trader.quoting.all_two_sided())


def test_a_latched_bot_names_orders_that_still_rest_after_eight_seconds():
    world = quoting()
    world.exchange.execute(v.SetVenueState(VenueState.HALTED), world.now_ns)
    world.deliver(world.process, m.LatchSet("reaper"))
    world.driver.run_until(world.now_ns + 9 * SECOND)
    findings = world.process.trader.out.findings
    left = world.process.trader.left_over().left
    assert left
    assert all(order_id in findings["latched_not_flat"] for order_id in left)
    world.exchange.execute(v.SetVenueState(VenueState.OPEN), world.now_ns)
    world.driver.run_until(world.now_ns + 16 * SECOND)
    assert resting(world) == 0
    assert "latched_not_flat" not in findings


@pytest.mark.parametrize("over", [0, 1, 2])
def test_a_cancel_answered_too_late_shows_that_a_halt_is_over(monkeypatch, over):
    world = quoting()
    exchange, left = world.exchange, [over]
    real = exchange.front.perform

    def perform(request: m.Request, now_ns: int, *, stale: bool = False) -> m.Answer:
        answer = real(request, now_ns, stale=stale)
        if not (left[0] and isinstance(request, m.CancelResting) and isinstance(answer, m.Ok)):
            return answer
        left[0] -= 1
        return m.Rejected(422, Code.ORDER_NOT_CANCELABLE, "")

    exchange.execute(v.SetVenueState(VenueState.HALTED), world.now_ns)
    world.driver.run_until(world.now_ns + SECOND // 2)
    world.deliver(world.process, m.StopRequested("SIGTERM"))
    world.driver.run_until(world.now_ns + SECOND)
    exchange.execute(v.SetVenueState(VenueState.OPEN), world.now_ns)
    monkeypatch.setattr(exchange.front, "perform", perform)
    assert world.driver.run_until(world.now_ns + 6 * SECOND, lambda: resting(world) == 0)


def test_a_report_changes_no_later_effect():
    world = quoting()
    world.driver.run_until(world.now_ns + SECOND)
    world.process.trader.report(world.now_ns + 3_600 * SECOND)
    world.driver.run_until(world.now_ns + 2 * SECOND)
    assert_replayed(world)
