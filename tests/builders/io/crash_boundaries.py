"""Crash before and after everything that leaves the trader.

One life is lived through and photographed at every door. Then, for every photograph and every state
of the disk, a new life begins from what the crash left, quotes, is stopped, and is judged from the
engine's own events: no order twice, none unmanaged, no create without an answer forgotten.
"""

from collections import Counter
from collections.abc import Iterable
from functools import cache

from bot.core import messages as m
from bot.core.report import Phase
from bot.core.settings import Strangers
from bot.io.journal.records import Segment
from bot.io.journal.recovery import recall
from bot.lab.sim.scenario import MS, SECOND
from tests.builders.io.crash_world import DISKS, RUNG, START_NS, Photograph, World
from venue.wire.money import Outcome

LIVED_NS = START_NS + 900 * MS
_WITHIN_NS = 4 * SECOND
_QUOTED_NS = 30 * MS
_LATER_NS = 60 * MS


class Broken(AssertionError):
    """A crash was not survived."""


def first_life() -> list[Photograph]:
    """Photographs of a life at every door, oldest first."""
    album: list[Photograph] = []
    world = World(listener=lambda door, world: album.append(world.photograph(door)))
    world.run_until(LIVED_NS)
    world.deliver(m.StopRequested("the end"))
    world.run_until(world.now_ns + _WITHIN_NS, lambda: world.finished is not None)
    return album


def worth_it(album: list[Photograph], wanted: int) -> list[Photograph]:
    """Every photograph of a write or an answer, and of the others as many, evenly spread, as make
    `wanted` of all."""
    loud = ("Create", "AmendResting", "CancelResting", "Response")
    quiet = [place for place, each in enumerate(album) if each.door.split()[-1] not in loud]
    spare = max(0, wanted - (len(album) - len(quiet)))
    step = max(1, len(quiet) // spare) if spare else len(album)
    left_out = set(quiet) - set(quiet[::step][:spare])
    return [each for place, each in enumerate(album) if place not in left_out]


def survive(
    photograph: Photograph,
    disk: str,
    strangers: Strangers = Strangers.CANCEL,
    crash_again_at: int | None = None,
) -> World:
    """Live on from a crash and be judged; crash_again_at: at which door of it to crash once more.

    Raises Broken.
    """
    again: list[Photograph] = []

    def listener(door: str, world: World) -> None:
        if crash_again_at is not None and len(again) <= crash_again_at:
            again.append(world.photograph(door))

    world = World(photograph, disk, strangers, listener)
    _check_memory(world, photograph, disk)
    opened = world.run_until(
        world.now_ns + _WITHIN_NS,
        lambda: world.trader.phase is Phase.QUOTING or _reached(again, crash_again_at),
    )
    if _reached(again, crash_again_at):
        return survive(again[-1], disk, strangers)
    _check(opened, f"never quoted: {world.trader.out.findings}")
    world.run_until(world.now_ns + _QUOTED_NS)
    _check(not world.strangers(), f"unmanaged while quoting: {world.strangers()}")
    _end(world)
    return world


def _reached(again: list[Photograph], at: int | None) -> bool:
    return at is not None and len(again) > at


def _check(holds: bool, text: object) -> None:
    if not holds:
        raise Broken(str(text))


def _check_memory(world: World, photograph: Photograph, disk: str) -> None:
    """B6: every create that left and whose answer the trader never had is known to be open."""
    known = {intent.order.client_order_id for intent in world.disk.memory.open_intents}
    forgotten = photograph.departed - photograph.answered - known
    _check(not forgotten, f"forgotten: {forgotten}")
    if disk == "all":
        settled = known & photograph.answered
        _check(not settled, f"open although answered: {settled}")


def _end(world: World) -> None:
    world.deliver(m.StopRequested("the end"))
    world.run_until(world.now_ns + _WITHIN_NS, lambda: world.finished is not None)
    trader, truth = world.trader, world.truth
    _check(world.finished == m.DrainComplete((), ()), f"ended with {world.finished}")
    world.run_until(world.now_ns + _LATER_NS)
    _check(not truth.resting(), f"left resting: {truth.resting()}")
    _check(not truth.broken, truth.broken)
    _check(not trader.out.findings, trader.out.findings)
    _check(trader.report(world.now_ns).ledger_difference_cents == 0, "cash differs")
    held = tuple(truth.held.get(outcome, 0) for outcome in (Outcome.YES, Outcome.NO))
    _check(trader.ledgers.holdings(RUNG) == held, f"{trader.ledgers.holdings(RUNG)}, held {held}")
    left = recall(
        Segment(data, str(number))
        for number, data in reversed(list(enumerate(world.disk.states()["all"])))
    )
    _check(left.open_intents == () and left.working == (), f"a clean end leaves {left}")


Place = tuple[int, Photograph]
"""A photograph and its number, by which it can be found again."""


@cache
def places(wanted: int) -> tuple[Place, ...]:
    """Where to crash: see `worth_it`."""
    return tuple(enumerate(worth_it(first_life(), wanted)))


def campaign(
    chosen: Iterable[Place], again_every: int, strangers: Strangers = Strangers.CANCEL
) -> Counter[str]:
    """Crash everywhere; how many runs of which kind. Raises Broken with the place of the first."""
    counted: Counter[str] = Counter()
    for number, photograph in chosen:
        for disk in DISKS:
            again = number % 40 if again_every and number % again_every == 0 else None
            try:
                world = survive(photograph, disk, strangers, again)
            except Broken as fault:
                where = f"{number}: {photograph.door} at {photograph.now_ns - START_NS} ns"
                raise Broken(f"{where}, disk {disk}, again {again}: {fault}") from fault
            counted["runs"] += 1
            counted[photograph.door.split()[0]] += 1
            counted["crashed twice"] += world.life > 2
            counted["with intents left open"] += bool(world.disk.memory.open_intents)
            counted["with orders kept"] += world.kept > 0
    return counted
