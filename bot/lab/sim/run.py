"""Runs worlds: one seed, many, every row of the fault model; and shrinks and shows a failure."""

import shlex
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import deepcopy
from itertools import islice
from statistics import median_low
from typing import Any, Final, NamedTuple

import msgspec

from bot.lab.pool import in_order
from bot.lab.sim import coverage
from bot.lab.sim.phases import run_phases
from bot.lab.sim.scenario import CONTRADICTIONS, LAG, ROWS, SECOND, SimScenario, draw, narrowed
from bot.lab.sim.truth import Broken, only
from bot.lab.sim.world import START_NS, SimulatedWorld

REPLAYED_EVERY: Final = 8
"""B10 is checked on every so many seeds: a replay costs as much as the life did."""

SHRINKING_RUNS_MAX: Final = 80


def run(scenario: SimScenario | int, *, replays: bool | None = None) -> SimulatedWorld:
    """Run one seed; a number alone means the swarm profile. replays: True to replay every process
    (B10); None: on some seeds. Raises `Broken` with seed, world time and world."""
    if isinstance(scenario, int):
        scenario = draw(scenario)
    if replays is None:
        replays = scenario.seed % REPLAYED_EVERY == 0
    world = SimulatedWorld(scenario)
    try:
        with only(*(("B13", "B15") if scenario.contradiction else ())):
            run_phases(world)
        if replays:
            world.coverage.hit("replayed", len(world.processes))
            # A replay makes new strategies, whose faults are not counted again.
            world.coverage = deepcopy(world.coverage)
            for life in world.processes:
                life.replay()
    except Broken as fault:
        at_s = (world.now_ns - START_NS) / SECOND
        fault.args = (f"seed {scenario.seed} at {at_s:.3f} s: {fault}",)
        fault.world = world
        raise
    return world


class Summary(msgspec.Struct):
    """The result of one seed or of many. own_faults: answers of the strategy that raised or were
    nonsense by no fault drawn."""

    seeds: int = 0
    events: int = 0
    faults: int = 0
    cpu_s: float = 0.0
    counts: dict[str, int] = {}
    broken: list[int] = []  # the seeds in which an invariant did not hold
    first_broken: str = ""  # the invariant, in the first of them
    replay: str = ""  # the command that repeats that one
    own_faults: int = 0
    own_fault: str = ""  # the first, else empty
    stopped_s: list[float] = []  # from the first sign of each contradiction to the stop

    def add_summary(self, other: "Summary") -> None:
        for name in ("seeds", "events", "faults", "cpu_s", "broken", "own_faults", "stopped_s"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        for name in ("first_broken", "replay", "own_fault"):
            setattr(self, name, getattr(self, name) or getattr(other, name))
        self.counts = dict(Counter(self.counts) + Counter(other.counts))

    def line(self) -> str:
        pace = self.events / self.cpu_s if self.cpu_s else 0.0
        own = f"; the strategy was at fault {self.own_faults} times, first {self.own_fault}"
        return (
            f"{self.seeds} seeds, {self.events} events, {self.faults} faults in {self.cpu_s:.1f} s "
            f"of processor time ({pace:,.0f} events/s/core); broken: {len(self.broken)}"
            f"{own if self.own_faults else ''}"
        )

    def plain(self) -> dict[str, Any]:
        return {
            "seeds": self.seeds,
            "events": self.events,
            "faults": self.faults,
            "events_per_second": round(self.events / self.cpu_s) if self.cpu_s else 0,
            "broken": self.broken,
            "strategy_errors": self.own_faults,
            "strategy_fault": self.own_fault,
            "rows": {str(row): count for row, count in coverage.by_row(self.counts).items()},
            "counts": dict(sorted(self.counts.items())),
        }


class SeedResult(NamedTuple):
    seed: int
    log: str  # a digest of every effect
    last_events: str  # empty unless it broke
    summary: Summary


def run_seed(scenario: SimScenario) -> SeedResult:
    began_s = time.process_time()
    summary, events = Summary(seeds=1), ""
    try:
        world = run(scenario)
    except Broken as fault:
        assert isinstance(fault.world, SimulatedWorld)
        world, events = fault.world, last_events(fault.world)
        summary.broken = [scenario.seed]
        summary.first_broken, summary.replay = str(fault), replay_command(scenario)
    found = world.coverage
    summary.events, summary.faults, summary.counts = world.driver.steps, found.faults, found.counts
    summary.own_faults, summary.own_fault = found.own_faults, found.own_fault
    if world.contradictor is not None and world.contradictor.took_ns >= 0:
        summary.stopped_s = [world.contradictor.took_ns / SECOND]
    summary.cpu_s = time.process_time() - began_s
    return SeedResult(scenario.seed, world.effect_log(), events, summary)


def many(
    draws: Iterable[SimScenario], jobs: int, wanted: Callable[[], bool] = lambda: True
) -> Iterator[SeedResult]:
    """Run many seeds in `jobs` processes, in order. A draw is taken only when a process is free,
    and none once no more are wanted."""
    for _, outcome in in_order(run_seed, draws, jobs, wanted):
        yield outcome


# --- the fault model ------------------------------------------------------------------------------

SURVIVED: Final = (*ROWS, "swarm")  # profiles of model A: no invariant breaks and nothing stops
STOPPED: Final = (LAG, *CONTRADICTIONS)
"""The profile of late reads, which stops nothing, and those of model B, each of which stops."""

_NAMES: Final = {
    **{name: f"A{number} {name}" for number, name in enumerate(ROWS, 1)},
    "swarm": "A  swarm",
    LAG: "A3 lag",
    **{name: f"{name[:2].upper()} {name[3:]}" for name in CONTRADICTIONS},
}
HEAD: Final = (
    f"  {'row':24s} {'seeds':>6s} {'events':>10s} {'faults':>8s} {'stopped':>9s} "
    f"{'median s':>8s} {'most s':>8s}  broken"
)


class ProfileResult(NamedTuple):
    profile: str
    is_whole: bool  # True if every seed ran
    summary: Summary

    def plain(self) -> dict[str, Any]:
        done = self.summary
        return {
            "profile": self.profile,
            "seeds": done.seeds,
            "events": done.events,
            "faults": done.faults,
            "broken": done.broken,
            "first_broken": done.first_broken,
            "stopped": len(done.stopped_s),
            "median_s": median_low(done.stopped_s) if done.stopped_s else None,
            "most_s": max(done.stopped_s, default=None),
        }

    def line(self) -> str:
        row, done = self.plain(), self.summary
        stopped = f"{row['stopped']}/{done.seeds}" if self.profile in CONTRADICTIONS else "-"
        took = ["-" if s is None else f"{s:.1f}" for s in (row["median_s"], row["most_s"])]
        broken = f"{len(done.broken)}  first: {done.first_broken[:90]}" if done.broken else 0
        return (
            f"  {_NAMES[self.profile]:24s} {done.seeds:6d} {done.events:10d} "
            f"{done.faults:8d} {stopped:>9s} {took[0]:>8s} {took[1]:>8s}  {broken}"
        )


def rows(
    seeds: Sequence[int],
    stopped_seeds: Sequence[int],
    jobs: int,
    wanted: Callable[[], bool] = lambda: True,
) -> Iterator[ProfileResult]:
    """Every row of the table once it is complete. seeds: of each profile of model A. stopped_seeds:
    of the lag profile and each of model B."""
    counts = {**dict.fromkeys(SURVIVED, seeds), **dict.fromkeys(STOPPED, stopped_seeds)}
    draws = (draw(seed, profile) for profile, each in counts.items() for seed in each)
    outcomes = many(draws, jobs, wanted)
    for profile, each in counts.items():
        summary = Summary()
        for outcome in islice(outcomes, len(each)):
            summary.add_summary(outcome.summary)
        yield ProfileResult(profile, summary.seeds == len(each), summary)


def last_events(world: SimulatedWorld) -> str:
    return "\n".join(
        f"{(at_ns - START_NS) / SECOND:12.6f} {sign} {what}" for at_ns, sign, what in world.trace
    )


def replay_command(scenario: SimScenario) -> str:
    drawn = draw(scenario.seed, scenario.profile)
    words = ["bot", "simulate", "--seed", str(scenario.seed)]
    for option, value, usual in (
        ("--profile", scenario.profile, "swarm"),
        ("--events", str(scenario.events), "0"),
        ("--without", ",".join(scenario.without), ""),
        ("--until", f"{scenario.safety_ns / SECOND:g}s", f"{drawn.safety_ns / SECOND:g}s"),
        ("--rungs", ",".join(map(str, scenario.rungs)), ",".join(map(str, drawn.rungs))),
        ("--strategy", scenario.strategy, drawn.strategy),
    ):
        if value != usual:
            words += [option, shlex.quote(value)]
    return " ".join(words)


def shrink(
    scenario: SimScenario, progress: Callable[[str], None], runs_max: int = SHRINKING_RUNS_MAX
) -> tuple[SimScenario, Broken | None]:
    """The smallest scenario that breaks the same invariant, and how; None if none breaks. Faults go
    one by one, then the safety phase is cut, then rungs. Every step is a whole run."""
    broken, runs = _broken_in(scenario), 0

    def takes(smaller: SimScenario, what: str) -> bool:
        nonlocal scenario, broken, runs
        runs += 1
        still = _broken_in(smaller) if broken is not None and runs <= runs_max else None
        if broken is None or still is None or still.invariant != broken.invariant:
            return False
        progress(f"still {still.invariant}: {what}")
        scenario, broken = smaller, still
        return True

    # All at once first: a failure without any fault is the simplest of all.
    for names in (tuple(scenario.rates), *((name,) for name in scenario.rates)):
        if not set(names) <= set(scenario.without):
            takes(narrowed(scenario, without=names), f"without {', '.join(names)}")
    for part in (8, 4, 2):
        until_ns = scenario.safety_ns // part
        if takes(narrowed(scenario, until_ns=until_ns), f"until {until_ns / SECOND} s"):
            break
    for rungs in ((1,), (2,), (3,)):
        if sum(rungs) < sum(scenario.rungs):
            takes(narrowed(scenario, rungs=rungs), f"rungs {rungs[0]}")
    return scenario, broken


def _broken_in(scenario: SimScenario) -> Broken | None:
    try:
        run(scenario)
    except Broken as fault:
        return fault
    return None
