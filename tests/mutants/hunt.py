"""The planted bugs together, and the hunt: how many simulated events it takes to find each.

Each is one classic mistake of the failure catalogue, put into the process of a simulated world and
nowhere else. One more, the canary, is not counted: unless it is found at once, the alarm is broken.
"""

import hashlib
import statistics
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

import msgspec

import bot.core
from bot.core.quoting.portfolio_risk import PortfolioRisk
from bot.lab.pool import in_order
from bot.lab.sim.run import run
from bot.lab.sim.scenario import VARIANTS, SimScenario, draw, narrowed, often
from bot.lab.sim.truth import Broken
from bot.lab.sim.world import SimulatedWorld
from tests.mutants.books import ACCOUNTS, LIMITS
from tests.mutants.bug import Bug, Patch, planted
from tests.mutants.changes import CHANGES
from tests.mutants.market import MARKET
from tests.mutants.orders import ORDERS
from tests.mutants.restart import OPERATOR, RESTART
from tests.mutants.together import TOGETHER
from tests.mutants.transport import PACE, TRANSPORT

EVENTS_MAX: Final = 200_000
"""Simulated events within which each planted bug must be found."""

ROTATING: Final = 10
"""How many are hunted in the run that belongs to the tests; which ones, the core's text decides."""

_GROUPS = (TRANSPORT, PACE, ORDERS, MARKET, ACCOUNTS, RESTART, OPERATOR, LIMITS, CHANGES, TOGETHER)
BUGS: Final[tuple[Bug, ...]] = tuple(
    sorted((bug for group in _GROUPS for bug in group), key=lambda bug: bug.rows[0])
)


CANARY: Final = Bug(
    "canary",
    (75,),
    "No limit of any kind holds a new order back.",
    ("B3", "B12"),
    (Patch(PortfolioRisk, "admits_create", lambda self, rung, wish, now_ns: wish.qty),),
)


def named(name: str) -> Bug:
    """The bug, or the canary, of this name. Raises ValueError when there is none."""
    for bug in (*BUGS, CANARY):
        if bug.name == name:
            return bug
    raise ValueError(f"no planted bug is called {name!r}")


def source_digest() -> bytes:
    whole = hashlib.blake2b(digest_size=16)
    for folder in bot.core.__path__:
        for path in sorted(Path(folder).rglob("*.py")):
            whole.update(path.read_bytes())
    return whole.digest()


def rotating(count: int = ROTATING) -> tuple[Bug, ...]:
    seed = source_digest()
    drawn = sorted(BUGS, key=lambda bug: hashlib.blake2b(seed + bug.name.encode()).digest())
    chosen = {bug.name for bug in drawn[:count]}
    return tuple(bug for bug in BUGS if bug.name in chosen)


class Found(msgspec.Struct, frozen=True):
    """What came of the hunt for one bug.

    invariant: the first that did not hold, empty when none within the bound. events: simulated
    until then, of every seed tried. seed: where it was found. text: what did not hold.
    """

    name: str
    rows: tuple[int, ...]
    events: int
    seed: int = 0
    invariant: str = ""
    text: str = ""

    @property
    def is_found(self) -> bool:
        return bool(self.invariant)


def odds_of(bug: Bug, seed: int, profile: str = "") -> SimScenario:
    shape = dict(bug.shape)
    needed = shape.get("variants", ())
    # An hour without a write takes many events, and shows no mistake of these.
    without = ("maintenance", *(name for name in VARIANTS if name not in needed))
    drawn = often(draw(seed, profile or bug.profile), bug.likely)
    return replace(narrowed(drawn, without=without), **shape)


def hunt(bug: Bug, events_max: int = EVENTS_MAX) -> Found:
    """Live through seed after seed with the bug planted, until an invariant breaks.

    The world in which it is found must hold without the bug. Raises AssertionError when it does
    not, and when the world ends by an exception that this bug does not stand for: then the patch no
    longer fits what it is put into.
    """
    events = 0
    seed = 0
    while events < events_max:
        found, _ = hunt_in(bug, seed)
        events += found.events
        if found.is_found:
            _holds_without(bug, seed)
            return msgspec.structs.replace(found, events=events)
        seed += 1
    return Found(bug.name, bug.rows, events)


def hunt_in(bug: Bug, seed: int, profile: str = "") -> tuple[Found, SimulatedWorld]:
    """Live through one seed with the bug planted, and the world as it is then.

    Raises AssertionError as `hunt` does for an exception.
    """
    try:
        with planted(bug.patches):
            world = run(odds_of(bug, seed, profile), replays=bug.replays)
    except Broken as fault:
        assert isinstance(fault.world, SimulatedWorld)
        expected = fault.invariant != "raises" or "raises" in bug.breaks
        assert expected, f"{bug.name}: {fault}"
        steps = fault.world.driver.steps
        return Found(bug.name, bug.rows, steps, seed, fault.invariant, str(fault)), fault.world
    return Found(bug.name, bug.rows, world.driver.steps, seed), world


def _holds_without(bug: Bug, seed: int) -> None:
    try:
        run(odds_of(bug, seed), replays=bug.replays)
    except Broken as fault:
        raise AssertionError(f"without {bug.name} too: {fault}") from fault


def hunt_all(
    bugs: Sequence[Bug], jobs: int, wanted: Callable[[], bool] = lambda: True
) -> Iterator[Found]:
    for _, found in in_order(_hunt_named, [bug.name for bug in bugs], jobs, wanted):
        yield found


def _hunt_named(name: str) -> Found:
    return hunt(named(name))


def median(found: Sequence[Found]) -> int:
    taken = [each.events for each in found if each.is_found]
    return round(statistics.median(taken)) if taken else 0


HEAD: Final = f"  {'bug':32s} {'rows':8s} {'events':>8s} {'seed':>5s}  invariant"


def line(found: Found) -> str:
    rows = ",".join(str(row) for row in found.rows)
    end = f"{found.seed:5d}  {found.invariant}" if found.is_found else "    -  NOT FOUND"
    return f"  {found.name:32s} {rows:8s} {found.events:8d} {end}"


def summary(found: Sequence[Found]) -> str:
    taken = [each.events for each in found if each.is_found]
    return (
        f"{len(taken)} of {len(found)} planted bugs found; "
        f"median {median(found)} events, at most {max(taken, default=0)}"
    )
