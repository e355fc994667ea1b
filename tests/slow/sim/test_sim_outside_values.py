"""Values from outside, right, wrong, absurd, expired and malformed, in worlds full of faults."""

import random

import pytest

from bot.core import messages as m
from bot.lab.sim.phases import run_phases
from bot.lab.sim.scenario import SECOND, draw
from bot.lab.sim.world import SimulatedWorld
from venue.wire.names import Ticker

EVERY_S = (0.1, 1.5)
SOURCES = (*["operator"] * 9, "nobody")
OFF = (0.99, 1.0, 1.01, 1.2, 0.5, 20.0, -1.0, float("nan"))
LASTS_S = (-5, 1, 20, 300)


class Advised:
    """A world whose trader gets random values for as long as it runs."""

    def __init__(self, seed: int) -> None:
        self.world = SimulatedWorld(draw(seed))
        self.values = 0
        self.used: set[bool] = set()
        self._rng = random.Random(seed)
        self._next()

    def _next(self) -> None:
        self.world.schedule_after(int(self._rng.uniform(*EVERY_S) * SECOND), self._state)

    def _state(self) -> None:
        process = self.world.process
        ladders = process.trader.quoting.ladders
        if ladders and not self.world.stopping:
            ladder = self._rng.choice(ladders)
            self.used |= {
                not row.unused
                for each in ladders
                if each.outside is not None
                for row in each.outside.rows(self.world.now_ns)
            }
            self.world.deliver(process, self._event(ladder))
            self.world.coverage.hit("outside_value")
            self.values += 1
        self._next()

    def _event(self, ladder) -> m.Event:
        rng, now_ns = self._rng, self.world.now_ns
        source = rng.choice(SOURCES)
        if rng.random() < 0.1:
            return m.OutsideValueCleared(source)
        if rng.random() < 0.1:
            return m.OutsideSourceRead(source, rng.choice(("", "half written")))
        about, unit = rng.choice((ladder.event.event_ticker, ladder.event.series_ticker)), "dollars"
        value = (ladder.rungs[0].strike or 1e9) * rng.choice(OFF)
        sd = abs(value) * rng.choice((0.001, 0.02, 0.3))
        if rng.random() < 0.4:
            about, unit = rng.choice(ladder.rungs).market.ticker, "chance"
            value, sd = rng.uniform(-0.1, 1.1), rng.choice((0.005, 0.05))
        observed_ns = now_ns - rng.randint(0, 120) * SECOND
        until_ns = now_ns + rng.choice(LASTS_S) * SECOND
        return m.OutsideValue(
            source, Ticker(about), m.ValueUnit(unit), value, sd, observed_ns, until_ns
        )


@pytest.mark.parametrize("seed", (8_100, 8_103, 8_104))
def test_no_value_from_outside_breaks_an_invariant_or_a_replay(seed):
    advised = Advised(seed)
    run_phases(advised.world)
    assert advised.values > 10
    assert advised.used == {True, False}
    for process in advised.world.processes:
        process.replay()
