"""Lives through worlds from their odds to their end: one seed, many, and every row of the fault
model; and what a person is shown of a failure."""

import shlex
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from statistics import median_low
from typing import Any, Final, NamedTuple

import msgspec

from bot.lab.pool import in_order
from bot.lab.sim import coverage
from bot.lab.sim.phases import live_through
from bot.lab.sim.scenario import CONTRADICTIONS, LAG, ROWS, SECOND, Odds, draw, narrowed
from bot.lab.sim.truth import Broken, only
from bot.lab.sim.world import START_NS, SimulatedWorld

REPLAYED_EVERY: Final = 8
"""B10 is checked on every so many seeds: a replay costs as much as the life did."""

SHRINKING_RUNS_MAX: Final = 80


def run(odds: Odds | int, *, replays: bool | None = None) -> SimulatedWorld:
    """Live through one seed, of the swarm profile when only its number is given.

    replays: whether every life is replayed (B10); None: on some seeds. Raises `Broken`, with the
    seed, the world's time and the world, when an invariant does not hold.
    """
    if isinstance(odds, int):
        odds = draw(odds)
    world = SimulatedWorld(
        odds, replays=odds.seed % REPLAYED_EVERY == 0 if replays is None else replays
    )
    try:
        with only(*(("B13", "B15") if odds.contradiction else ())):
            live_through(world)
        for life in world.lives:
            if life.keeps_effects and life.first is None:
                world.seen.hit("replayed")
                life.replay()
    except Broken as fault:
        at_s = (world.now_ns - START_NS) / SECOND
        fault.args = (f"seed {odds.seed} at {at_s:.3f} s: {fault}",)
        fault.world = world
        raise
    return world


# --- many seeds -----------------------------------------------------------------------------------


class Summary(msgspec.Struct):
    """What came of one seed or of many.

    broken: the seeds in which an invariant did not hold. first_broken: which did not in the first
    of them, replay: the command that repeats it. own_faults: answers of the strategy that raised or
    were nonsense of themselves, by no fault drawn; own_fault: the first, else empty. stopped_s:
    from the first sign of each contradiction to the stop.
    """

    seeds: int = 0
    events: int = 0
    faults: int = 0
    cpu_s: float = 0.0
    counts: dict[str, int] = {}
    broken: list[int] = msgspec.field(default_factory=list)
    first_broken: str = ""
    replay: str = ""
    own_faults: int = 0
    own_fault: str = ""
    stopped_s: list[float] = msgspec.field(default_factory=list)

    def add(self, other: "Summary") -> None:
        self.seeds += other.seeds
        self.events += other.events
        self.faults += other.faults
        self.cpu_s += other.cpu_s
        self.counts = dict(Counter(self.counts) + Counter(other.counts))
        self.broken += other.broken
        self.first_broken = self.first_broken or other.first_broken
        self.replay = self.replay or other.replay
        self.own_faults += other.own_faults
        self.own_fault = self.own_fault or other.own_fault
        self.stopped_s += other.stopped_s

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
    """What came of one seed. log: a digest of every effect. last_events: empty unless it broke."""

    seed: int
    log: str
    last_events: str
    summary: Summary


def lived(odds: Odds) -> SeedResult:
    began_s = time.process_time()
    summary, events = Summary(seeds=1), ""
    try:
        world = run(odds)
    except Broken as fault:
        assert isinstance(fault.world, SimulatedWorld)
        world, events = fault.world, last_events(fault.world)
        summary.broken = [odds.seed]
        summary.first_broken, summary.replay = str(fault), replay_command(odds)
    seen = world.seen
    summary.events, summary.faults, summary.counts = world.driver.steps, seen.faults, seen.counts
    summary.own_faults, summary.own_fault = seen.own_faults, seen.own_fault
    if world.contradictor is not None and world.contradictor.took_ns >= 0:
        summary.stopped_s = [world.contradictor.took_ns / SECOND]
    summary.cpu_s = time.process_time() - began_s
    return SeedResult(odds.seed, world.effect_log(), events, summary)


def many(
    draws: Iterable[Odds], jobs: int, wanted: Callable[[], bool] = lambda: True
) -> Iterator[SeedResult]:
    """Live through many seeds, in `jobs` processes; in the order in which they are drawn.

    A draw is taken only when a process is free for it, so that draws may end by the clock, and none
    once no more are wanted.
    """
    for _, outcome in in_order(lived, draws, jobs, wanted):
        yield outcome


# --- the fault model ------------------------------------------------------------------------------

SURVIVED: Final = (*ROWS, "swarm")
"""Profiles of model A: no invariant breaks and nothing stops."""

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
    """What came of the seeds of one profile. is_whole: all of them were lived through."""

    profile: str
    is_whole: bool
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
        row = self.plain()
        stopped = f"{row['stopped']}/{row['seeds']}" if self.profile in CONTRADICTIONS else "-"
        took = ["-" if s is None else f"{s:.1f}" for s in (row["median_s"], row["most_s"])]
        broken = f"{len(row['broken'])}  first: {row['first_broken'][:90]}" if row["broken"] else 0
        return (
            f"  {_NAMES[self.profile]:24s} {row['seeds']:6d} {row['events']:10d} "
            f"{row['faults']:8d} {stopped:>9s} {took[0]:>8s} {took[1]:>8s}  {broken}"
        )


def rows(
    seeds: Sequence[int],
    stopped_seeds: Sequence[int],
    jobs: int,
    wanted: Callable[[], bool] = lambda: True,
) -> Iterator[ProfileResult]:
    """Every row of the table as soon as it is whole; the last one is not if no more is wanted.

    seeds: of each profile of model A. stopped_seeds: of late reads and of each of model B.
    """
    counts = {**dict.fromkeys(SURVIVED, seeds), **dict.fromkeys(STOPPED, stopped_seeds)}
    draws = (draw(seed, profile) for profile, each in counts.items() for seed in each)
    outcomes = many(draws, jobs, wanted)
    for profile, each in counts.items():
        summary = Summary()
        for outcome in islice(outcomes, len(each)):
            summary.add(outcome.summary)
        yield ProfileResult(profile, summary.seeds == len(each), summary)


# --- a failure ------------------------------------------------------------------------------------


def last_events(world: SimulatedWorld) -> str:
    return "\n".join(
        f"{(at_ns - START_NS) / SECOND:12.6f} {sign} {what}" for at_ns, sign, what in world.trace
    )


def replay_command(odds: Odds) -> str:
    drawn = draw(odds.seed, odds.profile)
    words = ["bot", "simulate", "--seed", str(odds.seed)]
    for option, value, usual in (
        ("--profile", odds.profile, "swarm"),
        ("--events", str(odds.events), "0"),
        ("--without", ",".join(odds.without), ""),
        ("--until", f"{odds.safety_ns / SECOND:g}s", f"{drawn.safety_ns / SECOND:g}s"),
        ("--rungs", ",".join(map(str, odds.rungs)), ",".join(map(str, drawn.rungs))),
        ("--strategy", odds.strategy, drawn.strategy),
    ):
        if value != usual:
            words += [option, shlex.quote(value)]
    return " ".join(words)


def shrink(
    odds: Odds, progress: Callable[[str], None], runs_max: int = SHRINKING_RUNS_MAX
) -> tuple[Odds, Broken | None]:
    """The smallest odds in which the invariant breaks that does in these, and how; None where none
    does. progress: of each step.

    Faults and episodes go one by one, then the safety phase is cut, then rungs. Every step is a
    whole run, so the result is as certain as the first failure.
    """
    broken, runs = _broken_in(odds), 0

    def takes(smaller: Odds, what: str) -> bool:
        nonlocal odds, broken, runs
        runs += 1
        still = _broken_in(smaller) if broken is not None and runs <= runs_max else None
        if broken is None or still is None or still.invariant != broken.invariant:
            return False
        progress(f"still {still.invariant}: {what}")
        odds, broken = smaller, still
        return True

    # All at once first: a failure without any fault is the simplest of all.
    for names in (tuple(odds.faults()), *((name,) for name in odds.faults())):
        if not set(names) <= set(odds.without):
            takes(narrowed(odds, without=names), f"without {', '.join(names)}")
    for part in (8, 4, 2):
        until_ns = odds.safety_ns // part
        if takes(narrowed(odds, until_ns=until_ns), f"until {until_ns / SECOND} s"):
            break
    for rungs in ((1,), (2,), (3,)):
        if sum(rungs) < sum(odds.rungs):
            takes(narrowed(odds, rungs=rungs), f"rungs {rungs[0]}")
    return odds, broken


def _broken_in(odds: Odds) -> Broken | None:
    try:
        run(odds)
    except Broken as fault:
        return fault
    return None
