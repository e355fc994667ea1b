"""One world from its odds to its end: planted bugs go in before it and come out after it."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from bot.lab.sim.judge.broken import Broken, only
from bot.lab.sim.odds import SECOND, Odds, draw
from bot.lab.sim.phases import live_through
from bot.lab.sim.world import START_NS, World

REPLAYED_EVERY = 8
"""B10 is checked on every so many seeds: a replay costs as much as the life did."""


class Patch(NamedTuple):
    """A planted bug: `home.name` is `value` while a world runs, in this process only."""

    home: Any
    name: str
    value: Any


@contextmanager
def planted(patches: Sequence[Patch]) -> Iterator[None]:
    before = [(patch, patch.home.__dict__[patch.name]) for patch in patches]
    try:
        for patch in patches:
            setattr(patch.home, patch.name, patch.value)
        yield
    finally:
        for patch, was in before:
            setattr(patch.home, patch.name, was)


def run(odds: Odds | int, patches: Sequence[Patch] = (), *, replays: bool = False) -> World:
    """Live through one seed, of the swarm profile when only its number is given.

    replays: have every life replayed (B10), not only those of some seeds. Raises `Broken`, with the
    seed, the world's time and the world (`world`), when a claim fails.
    """
    if isinstance(odds, int):
        odds = draw(odds)
    some = odds.seed % REPLAYED_EVERY == 0 and not patches
    with planted(patches):
        world = World(odds, replays=replays or some)
        live(world)
    return world


def live(world: World) -> None:
    """Live through a world that has just been made. Raises `Broken` as `run` does."""
    try:
        with only(*(("B13", "B15") if world.odds.contradiction else ())):
            live_through(world)
        for life in world.lives:
            if life.keeps_effects and life.first is None:
                world.seen.hit("replayed")
                life.replay()
    except Broken as fault:
        at_s = (world.now_ns - START_NS) / SECOND
        broken = Broken(f"seed {world.odds.seed} at {at_s:.3f} s: {fault}")
        broken.world = world
        raise broken from fault
