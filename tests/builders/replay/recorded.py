"""A simulated world that leaves journals behind, with bugs planted in its bot."""

from collections.abc import Sequence
from pathlib import Path

import bot.lab.sim.world
from bench.simulated_journals import RecordedWorld
from bot.lab.sim.phases import run_phases
from bot.lab.sim.scenario import SimScenario
from bot.lab.sim.truth import Broken
from tests.mutants.bug import Patch, planted

SANE = Patch(bot.lab.sim.world, "FaultyStrategy", lambda inner, *_: inner)


def recorded(odds: SimScenario, state: Path, patches: Sequence[Patch] = ()) -> RecordedWorld:
    """Live through a world and write the journals of its lives, one segment each.

    Under planted bugs it goes on as far as its auditors let it.
    """
    state.mkdir()
    with planted((SANE, *patches)):
        world = RecordedWorld(odds)
        try:
            run_phases(world)
        except Broken:
            assert patches
    world.write_journals(state)
    return world
