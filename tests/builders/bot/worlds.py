"""Simulated worlds without faults, for claims about the whole trader."""

from collections.abc import Callable
from dataclasses import replace

import msgspec

from bot.core.settings import PaceSettings, TraderSettings
from bot.core.trader import Trader
from bot.lab.exchange.exchange import MAKER
from bot.lab.sim.scenario import SECOND, SimScenario, draw, narrowed
from bot.lab.sim.venue import SERIES
from bot.lab.sim.world import SimulatedWorld
from bot.strategy.api import Strategy
from venue.engine import messages as v
from venue.wire.money import Outcome, Price, Qty, Side
from venue.wire.names import ClientOrderId, MarketId
from venue.wire.requests import QtyOrder, TimeInForce

UNHURRIED = PaceSettings(
    decide_ns=1_000_000,
    dwell_ns=0,
    market_writes_per_second=250,
    market_writes_burst=500,
    writes_per_second=250,
    writes_burst=500,
)
"""No throttle holds anything back: only the breakers do."""


def calm(**changes: object) -> SimScenario:
    """A scenario without faults and without a crowd that moves."""
    wanted = {
        "strategy": "fixed_spread",
        "rungs": (2, 1),
        "one_way_ns": (1_000_000, 2_000_000),
        "rates": {},
        "slow_read": 0.0,
        "trust_lag_ns": SECOND,
        "slow_lag_ns": SECOND // 2,
        "fast_lag_ns": 1_000_000,
        "cash_cents": 1_000_000,
        "skew_ns": 0,
        "drift_ppm": 0,
        "turn_ns": 0,
        "acks": True,
        "dead_rung": False,
        "budget": (200, 400, 60),
        "series_loss_cents": 0,
        "event_loss_cents": 20_000,
        "rung_position_qty": 200,
    }
    return replace(narrowed(draw(0), without=("ticks_through",)), **{**wanted, **changes})


def opened(
    odds: SimScenario | None = None, strategy: type[Strategy] | None = None, **settings: object
) -> SimulatedWorld:
    """A world whose trader has not started; with a strategy and settings, it uses those."""
    world = SimulatedWorld(odds or calm())
    # Only the test takes a latch away.
    world._latched = lambda _reason: None
    world.crowd.place_floors(world.now_ns)
    world.driver.run_until(world.now_ns + SECOND)
    if strategy is not None:
        of = TraderSettings(**{"series_ticker": SERIES, "pace": UNHURRIED, **settings})
        world.process.settings = of
        host_ns = world.process.clock.to_host_ns(world.now_ns)
        world.process.traffic.rates.on_settings(of, host_ns)
        world.process.trader = Trader(of, lambda: strategy(None))
        world.process._remake = lambda _choice: lambda: strategy(None)
    return world


def quoting(odds: SimScenario | None = None) -> SimulatedWorld:
    """A world in which the trader quotes both sides of every rung."""
    world = opened(odds)
    world.start_process(world.process)
    assert world.driver.run_until(
        world.now_ns + 8 * SECOND, lambda: world.process.trader.quoting.all_two_sided()
    )
    return world


def creates(world: SimulatedWorld) -> int:
    """First and repeated creates sent so far."""
    return world.process.trader.out.counters.requests["create"]


def resting(world: SimulatedWorld) -> int:
    """The number of our orders in the engine's book."""
    return len(world.auditor.truth.working)


def make_of(world: SimulatedWorld) -> Callable[[], Strategy]:
    """The factory of the strategies that the world's trader started with."""
    return world.process._remake(world.process.configured.strategy)


def first_market(world: SimulatedWorld) -> MarketId:
    """The lowest rung of the first event."""
    return world.exchange.markets["ACME-VAL-27Q1"][0]


def place(world: SimulatedWorld, name: str, outcome: Outcome = Outcome.YES, price: int = 1) -> None:
    """Somebody else places an order on the account."""
    order = QtyOrder(
        first_market(world),
        outcome,
        Side.BUY,
        Price(price),
        Qty(1),
        TimeInForce.GTC,
        ClientOrderId(name),
    )
    world.exchange.execute(v.PlaceOrder(MAKER, order), world.now_ns)


def assert_replayed(world: SimulatedWorld) -> None:
    """The same events into a new trader have the same effects, to the byte."""
    fresh = Trader(world.process.settings, make_of(world), remake=world.process._remake)
    for event, now_ns, effects in world.process.log:
        again = msgspec.msgpack.encode(fresh.receive(event, now_ns))
        assert again == msgspec.msgpack.encode(list(effects))
