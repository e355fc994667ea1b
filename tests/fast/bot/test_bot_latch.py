"""Claims about the latched trader: what trips it, what it still does, and how it comes back."""

from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace

import msgspec
import pytest

from bot.core import messages as m
from bot.core.account.poller import PagedRead, Resource
from bot.core.execution.pre_trade_checks import HeldBack
from bot.core.orders.request_budget import Priority
from bot.core.report import Phase
from bot.core.settings import BreakerSettings, PaceSettings, RiskSettings, TraderSettings
from bot.core.trader import Trader
from bot.lab.exchange.exchange import MAKER
from bot.lab.sim.scenario import SECOND, SimScenario, draw, narrowed
from bot.lab.sim.venue import SERIES
from bot.lab.sim.world import SimulatedWorld
from bot.strategy.api import EventView, Quote, Quotes, Strategy
from tests.builders.bot import made
from tests.builders.bot.made import T0
from venue.engine import messages as v
from venue.wire import codec
from venue.wire.errors import Code
from venue.wire.instant import from_ns
from venue.wire.model import VenueState
from venue.wire.money import BookSide, Cents, Outcome, Price, Qty, Side
from venue.wire.names import ClientOrderId, OrderId
from venue.wire.requests import QtyOrder, TimeInForce

RISK = RiskSettings(
    event_loss_cents=Cents(20_000),
    series_loss_cents=Cents(40_000),
    rung_position_qty=Qty(100),
    order_qty=Qty(10),
    resting_orders=20,
)
UNHURRIED = PaceSettings(
    decide_ns=1_000_000,
    dwell_ns=0,
    market_writes_per_second=250,
    market_writes_burst=500,
    writes_per_second=250,
    writes_burst=500,
)
"""No pace of our own holds anything back: the breakers stand alone."""


def calm() -> SimScenario:
    """A scenario without faults and without a crowd that moves."""
    return replace(
        narrowed(draw(0), without=("ticks_through",)),
        strategy="fixed_spread",
        rungs=(2, 1),
        one_way_ns=(1_000_000, 2_000_000),
        rates={},
        slow_read=0.0,
        trust_lag_ns=SECOND,
        slow_lag_ns=SECOND // 2,
        fast_lag_ns=1_000_000,
        cash_cents=1_000_000,
        event_loss_cents=20_000,
        rung_position_qty=200,
    )


def opened(strategy: type[Strategy] | None = None, **other: object) -> SimulatedWorld:
    """A world whose trader has not begun; with a strategy, it runs that one unhurried."""
    world = SimulatedWorld(calm())
    # Nobody takes a latch away but the test itself.
    world._latched = lambda _reason: None
    world.crowd.place_floors(world.now_ns)
    world.driver.run_until(world.now_ns + SECOND)
    if strategy is not None:
        settings = TraderSettings(
            **{"series_ticker": SERIES, "risk": RISK, "pace": UNHURRIED, **other}
        )
        world.process.settings = settings
        world.process.traffic.rates.on_settings(
            settings, world.process.clock.to_host_ns(world.now_ns)
        )
        world.process.trader = Trader(settings, lambda: strategy(None))
        world.process._remake = lambda _choice: lambda: strategy(None)
    return world


def quoting() -> SimulatedWorld:
    """A world in which the trader quotes both sides of every rung."""
    world = opened()
    world.start_process(world.process)
    trader = world.process.trader
    assert world.driver.run_until(world.now_ns + 8 * SECOND, lambda: trader.quoting.all_two_sided())
    return world


def creates(world: SimulatedWorld) -> int:
    """First and repeated creates sent so far."""
    return world.process.trader.out.counters.requests["create"]


def resting(world: SimulatedWorld) -> int:
    """Orders of ours in the engine's book."""
    return len(world.auditor.truth.working)


def make_of(world: SimulatedWorld) -> Callable[[], Strategy]:
    """What makes the strategies that the world's trader began with."""
    return world.process._remake(world.process.configured.strategy)


def assert_replayed(world: SimulatedWorld) -> None:
    """The same events into a fresh trader give the same effects, to the byte (B10)."""
    fresh = Trader(world.process.settings, make_of(world))
    for event, now_ns, effects in world.process.log:
        again = msgspec.msgpack.encode(fresh.receive(event, now_ns))
        assert again == msgspec.msgpack.encode(list(effects))


def latched_effects(world: SimulatedWorld, *events: m.Event) -> list[str]:
    """The reasons that the shell is told to keep when these events come."""
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
        """Never the same twice."""
        self._turn += 1
        side, first = (BookSide.BID, 1) if self._turn % 2 else (BookSide.ASK, 97)
        levels = tuple(Quote(side, Price(first + step), Qty(1)) for step in (2, 1, 0))
        return {rung.market_id: levels[:: 1 if side is BookSide.BID else -1] for rung in view.rungs}


class Fat(Strategy):
    """Bids 99 for everything."""

    def quote(self, view: EventView) -> Quotes:
        """The dearest there is."""
        return {rung.market_id: (Quote(BookSide.BID, Price(99), Qty(1)),) for rung in view.rungs}


# --- tripping -------------------------------------------------------------------------------------


def test_a_mad_strategy_is_stopped_after_at_most_sixty_creates_and_within_a_second():
    """A thousand decisions a second, each of which turns everything over."""
    world = opened(Mad)
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


def test_a_loss_beyond_its_limit_latches_once_and_the_reason_is_kept(monkeypatch):
    world = quoting()
    trader = world.process.trader
    limit = trader.guard.breakers.limits.loss_cents
    world.driver.run_until(world.now_ns + SECOND)
    monkeypatch.setattr(trader.ledgers.book, "pnl_cents", lambda _marks: -limit - 1)
    trader.guard.breakers.judge(0, 0, world.now_ns)
    world.driver.now_ns += SECOND // 5
    reasons = latched_effects(world, m.Tick(), m.Tick())
    assert reasons == [f"loss_cents: {limit + 1}, at most {limit}"]
    assert trader.phase is Phase.LATCHED


@pytest.mark.parametrize(("looked", "used"), [(True, 0), (False, 700)])
def test_a_loss_is_forgotten_when_a_person_has_looked_and_not_because_a_latch_was_feared(
    monkeypatch, looked, used
):
    world = quoting()
    guard = world.process.trader.guard
    guard.breakers.rearm()
    guard.breakers.judge(0, 0, world.now_ns)
    world.deliver(world.process, m.LatchSet("unseen: latch.json cannot be read"))
    world.deliver(world.process, m.LatchCleared(looked=looked))
    guard.breakers.judge(-700, 0, world.now_ns)
    levels = {level.name: level.used for level in guard.breakers.levels(world.now_ns)}
    assert levels["loss_cents"] == used


def test_a_belief_that_goes_missing_is_no_loss():
    world = quoting()
    guard = world.process.trader.guard
    rungs = [rung for ladder in world.process.trader.quoting.ladders for rung in ladder.rungs]
    book = world.process.trader.ledgers.book
    order = made.own()
    order.market_id = rungs[0].market_id
    book.book_fill(made.fill(order, number=1, qty=50))
    before = guard._pnl_cents()
    for rung in rungs:
        rung.fair = None
        rung.state.last_price = None
    assert guard._pnl_cents() == before


def test_the_first_belief_in_a_rung_is_neither_loss_nor_gain():
    world = quoting()
    guard = world.process.trader.guard
    rungs = [rung for ladder in world.process.trader.quoting.ladders for rung in ladder.rungs]
    order = made.own()
    order.market_id = rungs[0].market_id
    world.process.trader.ledgers.book.book_fill(made.fill(order, number=1, qty=50))
    guard._marks.pop(rungs[0].market_id, None)
    unmarked = world.process.trader.ledgers.book.pnl_cents(guard._marks)
    guard.breakers.rearm()
    guard.breakers.judge(unmarked, 0, world.now_ns)
    guard.breakers.judge(guard._pnl_cents(), 0, world.now_ns)
    used = {level.name: level.used for level in guard.breakers.levels(world.now_ns)}
    assert (used["loss_cents"], used["drawdown_cents"]) == (0, 0)
    assert guard.breakers._peak_cents == guard.breakers._opening_cents


def test_what_is_bought_before_a_rung_is_first_valued_is_no_loss_of_all_that_it_cost():
    world = quoting()
    guard, book = world.process.trader.guard, world.process.trader.ledgers.book
    rung = world.process.trader.quoting.ladders[0].rungs[0]
    guard._marks.pop(rung.market_id, None)
    fair, rung.fair, rung.state.last_price = rung.fair, None, None
    guard.breakers.rearm()
    guard.breakers.judge(guard._pnl_cents(), 0, world.now_ns)
    order = made.own()
    order.market_id = rung.market_id
    book.book_fill(made.fill(order, number=1, qty=50))
    rung.fair = fair
    guard.breakers.judge(guard._pnl_cents(), 0, world.now_ns)
    used = {level.name: level.used for level in guard.breakers.levels(world.now_ns)}
    assert used["loss_cents"] == max(0, 50 * order.price - round(50 * fair.value_cents))
    assert used["loss_cents"] == used["drawdown_cents"] < 25 * order.price


def test_only_fills_of_this_run_count_and_each_once():
    world = quoting()
    world.driver.run_until(world.now_ns + 20 * SECOND)
    trader = world.process.trader
    used = {level.name: level.used for level in trader.guard.breakers.levels(world.now_ns)}
    assert used["fills_per_minute"] == trader.ledgers.fills


def test_a_fill_that_cannot_be_booked_counts_for_no_breaker_however_often_it_is_listed():
    world = quoting()
    trader = world.process.trader
    order = made.own()
    order.market_id = trader.quoting.ladders[0].rungs[0].market_id
    impossible = msgspec.structs.replace(
        made.fill(order, number=1, qty=3, fee_cents=10**8), created_at=from_ns(world.now_ns)
    )
    for _ in range(100):
        walk = PagedRead(Resource.FILLS, world.now_ns, rows=[impossible])
        trader._walked(walk)
    used = {level.name: level.used for level in trader.guard.breakers.levels(trader._now_ns)}
    assert "fill_unreadable" in trader.out.findings
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
def test_only_what_is_our_own_fault_counts_as_a_reject(status, code, counts):
    out = Trader(TraderSettings(series_ticker=SERIES, risk=RISK), lambda: Strategy(None)).out
    for request in (m.CancelResting(OrderId("1")), m.ReadBalance()):
        assert out.send(request, Priority.CANCEL, "", T0)
    for request_id in list(out.pending):
        out.answered(m.Response(request_id, m.Rejected(status, code, ""), None), T0)
    used = {level.name: level.used for level in out.breakers.levels(T0)}
    assert used["rejects_per_minute"] == counts


def test_a_create_without_an_answer_is_told_after_half_a_minute_and_latches_in_the_end():
    settings = TraderSettings(
        series_ticker=SERIES, risk=RISK, breakers=BreakerSettings(unknown_age_ns=60 * SECOND)
    )
    trader = Trader(settings, lambda: Strategy(None))
    order = made.intent()
    left = m.UnconfirmedCreate(order, codec.encode_new_order(order))
    trader.receive(m.Started("0" * 20, (left,)), T0)
    told, latched = [], []
    for step in range(700):
        for effect in trader.receive(m.Tick(), T0 + step * SECOND // 10):
            if isinstance(effect, m.Noted) and effect.name == "unknown_old":
                told.append(step)
            if isinstance(effect, m.Latched):
                latched.append(step)
    assert told == [300]
    assert len(latched) == 1
    assert 600 <= latched[0] <= 602
    assert len(trader.desk.unknown) == 1, "no timer ends it (B7)"


# --- caps -----------------------------------------------------------------------------------------


def test_a_price_far_through_the_book_is_held_back_and_counted():
    world = opened(Fat)
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


# --- latched --------------------------------------------------------------------------------------


def test_a_latch_found_pulls_every_quote_and_a_cleared_one_brings_them_back():
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


def test_the_first_reason_of_a_latch_stands():
    world = quoting()
    world.deliver(world.process, m.LatchSet("first"))
    world.deliver(world.process, m.LatchSet("second"))
    assert world.process.trader.guard.latched == "first"


def test_a_latched_start_cancels_what_rests_shows_it_gone_and_quotes_nothing():
    world = opened()
    foreign(world)
    world.driver.run_until(world.now_ns + SECOND)
    world.deliver(world.process, m.Started("0" * 20, (), latched="breaker: loss"))
    world.channel.connect(world.process)
    assert world.driver.run_until(world.now_ns + 8 * SECOND, lambda: resting(world) == 0)
    trader = world.process.trader
    assert world.driver.run_until(world.now_ns + 8 * SECOND, lambda: trader.guard._seen_flat)
    world.driver.run_until(world.now_ns + 5 * SECOND)
    assert trader.phase is Phase.LATCHED
    assert creates(world) == 0
    world.deliver(world.process, m.LatchCleared())
    assert world.driver.run_until(world.now_ns + 8 * SECOND, lambda: trader.quoting.all_two_sided())


def test_a_latched_trader_cancels_whatever_appears_in_its_rungs():
    world = quoting()
    world.deliver(world.process, m.LatchSet("reaper"))
    assert world.driver.run_until(
        world.now_ns + 8 * SECOND, lambda: world.process.trader.guard._seen_flat
    )
    foreign(world)
    assert resting(world) == 1
    assert world.driver.run_until(world.now_ns + 8 * SECOND, lambda: resting(world) == 0)


@pytest.mark.parametrize("end", [m.StopRequested("SIGTERM"), m.JournalFailed("disk full")])
def test_a_latched_trader_that_is_stopped_ends_and_stays_latched(end):
    world = quoting()
    world.deliver(world.process, m.LatchSet("reaper"))
    world.driver.run_until(world.now_ns + SECOND)
    world.deliver(world.process, end)
    assert world.driver.run_until(
        world.now_ns + 8 * SECOND, lambda: world.process.finished is not None
    )
    assert world.process.finished == m.DrainComplete((), ())
    assert world.process.trader.report(world.now_ns).latched == "reaper"


def test_a_pause_outlives_a_latch():
    world = quoting()
    world.deliver(world.process, m.LatchSet("reaper"))
    world.deliver(world.process, m.PauseRequested("lunch"))
    world.driver.run_until(world.now_ns + SECOND)
    world.deliver(world.process, m.LatchCleared())
    assert world.process.trader.phase is Phase.PAUSED


def test_a_word_that_clears_nothing_changes_nothing():
    world = quoting()
    world.deliver(world.process, m.LatchCleared())
    assert world.process.trader.phase is Phase.QUOTING


def test_what_still_rests_after_eight_seconds_is_named_and_then_taken_back():
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
def test_an_order_that_ended_by_itself_shows_that_a_halt_is_over(monkeypatch, over):
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


def test_a_latched_door_lets_only_cancels_reads_and_resends_out():
    trader = Trader(TraderSettings(series_ticker=SERIES, risk=RISK), lambda: Strategy(None))
    trader.receive(m.Started("0" * 20, (), latched="breaker: loss"), T0)
    own = made.own()
    again = m.Create(own.intent.order, own.intent.body, True)
    checks, rung = trader._sending.checks, SimpleNamespace()
    verdict = checks.within_caps(rung, own.book_side, own.outcome, own.price, own.remaining)
    assert verdict.reason is HeldBack.LATCHED
    assert trader.out.send(again, Priority.RECOVER, "", T0, own)
    assert trader.out.send(m.CancelResting(OrderId("1001")), Priority.CANCEL, "", T0, own)
    assert trader.out.send(m.ReadBalance(), Priority.READ, "", T0)


def test_a_picture_in_between_changes_no_later_effect():
    world = quoting()
    world.driver.run_until(world.now_ns + SECOND)
    world.process.trader.report(world.now_ns + 3_600 * SECOND)
    world.driver.run_until(world.now_ns + 2 * SECOND)
    assert_replayed(world)


def foreign(world: SimulatedWorld) -> None:
    """Somebody else places an order on the account."""
    market = world.exchange.markets["ACME-VAL-27Q1"][0]
    cid = ClientOrderId("somebody-else")
    order = QtyOrder(market, Outcome.YES, Side.BUY, Price(1), Qty(1), TimeInForce.GTC, cid)
    world.exchange.execute(v.PlaceOrder(MAKER, order), world.now_ns)
