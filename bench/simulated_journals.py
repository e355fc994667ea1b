"""Simulated worlds whose every life leaves a journal behind, as a bot's state directory has it."""

from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

import msgspec

import bot.lab.sim.world
from bot.core import messages as m
from bot.io.journal.records import OPENING, Entry, Head, framed
from bot.lab.sim.configured import make_strategy
from bot.lab.sim.phases import run_phases
from bot.lab.sim.process import Process
from bot.lab.sim.scenario import VARIANTS, SimScenario, draw, narrowed
from bot.lab.sim.world import SimulatedWorld

STRATEGY_FAULTS = ("tantrum", "fat_finger", "mad_strategy", "greed")
"""What befalls a strategy from outside: no journal says it."""


class RecordedWorld(SimulatedWorld):
    """A world whose runs say what they were configured with."""

    def deliver(self, process: Process, event: m.Event) -> None:
        if isinstance(event, m.Started):
            params = make_strategy(self.scenario).params.model_dump_json()
            choice = m.StrategyChoice(self.scenario.strategy, params)
            configured = m.Configuration(process.settings, choice, "0" * 32)
            event = msgspec.structs.replace(event, configured=configured)
        super().deliver(process, event)

    def write_journals(self, state: Path) -> None:
        """The journals of its lives so far, one segment each."""
        for number, life in enumerate((life for life in self.processes if life.log), 1):
            written(life, state / f"journal-{number:08d}.log")


def written(life: Process, path: Path) -> None:
    """One life as a segment."""
    frames = [OPENING, framed(Head(life.log[0][1], ()))]
    for event, at_ns, effects in life.log:
        frames += [framed(Entry(at_ns, each)) for each in (event, *effects)]
    path.write_bytes(b"".join(frames))


def brutal(seed: int, until_ns: int, crowd: int = 80) -> SimScenario:
    """A world with every fault that a journal can tell of, quoted by the whole curve. crowd: its
    acts a second; 0: as many as drawn."""
    # Files of a change name parameters that a replay refuses; an exit asks no strategy.
    changes = ("reload", "calendar", "exit")
    odds = narrowed(
        draw(seed, "brutal"), without=(*STRATEGY_FAULTS, *changes, *VARIANTS), until_ns=until_ns
    )
    pace = float(crowd) or odds.crowd_per_second
    return replace(odds, strategy="ladder_joint", crowd_per_second=pace)


def recorded(odds: SimScenario, state: Path) -> None:
    """Live through a world, its strategy never spoilt, and write the journals of its lives."""
    state.mkdir()
    with patch.object(bot.lab.sim.world, "FaultyStrategy", lambda inner, *_: inner):
        world = RecordedWorld(odds)
        run_phases(world)
    world.write_journals(state)
