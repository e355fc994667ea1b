"""A simulated world whose every life leaves a journal behind, as a bot's state directory has it."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import msgspec

import bot.lab.sim.world
from bot.core import messages as m
from bot.io.journal.records import OPENING, Entry, Head, framed
from bot.lab.sim.configured import make_strategy
from bot.lab.sim.phases import run_phases
from bot.lab.sim.process import Process
from bot.lab.sim.scenario import VARIANTS, SimScenario, draw, narrowed
from bot.lab.sim.truth import Broken
from bot.lab.sim.world import SimulatedWorld
from tests.mutants.bug import Patch, planted

STRATEGY_FAULTS = ("tantrum", "fat_finger", "mad_strategy", "greed")
"""What befalls a strategy from outside: no journal says it."""

SANE = Patch(bot.lab.sim.world, "FaultyStrategy", lambda inner, *_: inner)


class Recorded(SimulatedWorld):
    """A world whose runs say what they were configured with."""

    def deliver(self, process: Process, event: m.Event) -> None:
        if isinstance(event, m.Started):
            params = make_strategy(self.scenario).params.model_dump_json()
            choice = m.StrategyChoice(self.scenario.strategy, params)
            configured = m.Configuration(process.settings, choice, "0" * 32)
            event = msgspec.structs.replace(event, configured=configured)
        super().deliver(process, event)


def brutal(seed: int, until_ns: int, crowd: int = 80) -> SimScenario:
    """A world with every fault that a journal can tell of, quoted by the whole curve. crowd: its
    acts a second; 0: as many as drawn."""
    odds = narrowed(
        draw(seed, "brutal"), without=(*STRATEGY_FAULTS, "reload", *VARIANTS), until_ns=until_ns
    )
    pace = float(crowd) or odds.crowd_per_second
    return replace(odds, strategy="ladder_joint", crowd_per_second=pace)


def recorded(odds: SimScenario, state: Path, patches: Sequence[Patch] = ()) -> SimulatedWorld:
    """Live through a world and write the journals of its lives, one segment each.

    Under planted bugs it goes on as far as its auditors let it.
    """
    state.mkdir()
    with planted((SANE, *patches)):
        world = Recorded(odds)
        try:
            run_phases(world)
        except Broken:
            assert patches
    for number, life in enumerate((life for life in world.processes if life.log), 1):
        written(life, state / f"journal-{number:08d}.log")
    return world


def written(life: Process, path: Path) -> None:
    """One life as a segment."""
    frames = [OPENING, framed(Head(life.log[0][1], ()))]
    for event, at_ns, effects in life.log:
        frames += [framed(Entry(at_ns, each)) for each in (event, *effects)]
    path.write_bytes(b"".join(frames))
