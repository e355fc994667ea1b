"""Lives through many seeds in several processes and says what came of each."""

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import msgspec

from bot.lab.pool import in_order
from bot.lab.sim import coverage
from bot.lab.sim.judge.broken import Broken
from bot.lab.sim.odds import Odds
from bot.lab.sim.run import run
from bot.lab.sim.shrink import last_events, replay_command, shrink
from bot.lab.sim.world import World


class Outcome(msgspec.Struct, frozen=True):
    """What came of one seed. broken: the text of the invariant that did not hold, else empty.

    log: a digest of every effect. cpu_s: seconds of processor time. events: the last ones, replay:
    the command that repeats it, both empty unless it broke. own_faults: answers of the strategy
    that raised or were nonsense of themselves, by no fault drawn; own_fault: the first, else empty.
    stopped_ns: from the first sign of a contradiction to the stop; -1 without one.
    """

    seed: int
    steps: int
    faults: int
    counts: dict[str, int]
    log: str
    cpu_s: float
    broken: str = ""
    events: str = ""
    replay: str = ""
    own_faults: int = 0
    own_fault: str = ""
    stopped_ns: int = -1


class Summary(msgspec.Struct):
    """What came of many seeds."""

    seeds: int = 0
    events: int = 0
    faults: int = 0
    cpu_s: float = 0.0
    counts: Counter[str] = msgspec.field(default_factory=Counter)
    broken: list[int] = msgspec.field(default_factory=list)
    own_faults: int = 0
    own_fault: str = ""

    def add(self, outcome: Outcome) -> None:
        self.seeds += 1
        self.events += outcome.steps
        self.faults += outcome.faults
        self.cpu_s += outcome.cpu_s
        self.counts.update(outcome.counts)
        self.own_faults += outcome.own_faults
        self.own_fault = self.own_fault or outcome.own_fault
        if outcome.broken:
            self.broken.append(outcome.seed)

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


def lived(odds: Odds) -> Outcome:
    began_s = time.process_time()
    broken = events = replay = ""
    try:
        world = run(odds)
    except Broken as fault:
        assert isinstance(fault.world, World)
        world = fault.world
        broken, events, replay = str(fault), last_events(world), replay_command(odds)
    return Outcome(
        odds.seed,
        world.driver.steps,
        world.seen.faults,
        world.seen.counts,
        world.effect_log(),
        time.process_time() - began_s,
        broken,
        events,
        replay,
        world.seen.own_faults,
        world.seen.own_fault,
        -1 if world.contradictor is None else world.contradictor.took_ns,
    )


def many(
    draws: Iterable[Odds], jobs: int, wanted: Callable[[], bool] = lambda: True
) -> Iterator[Outcome]:
    """Live through many seeds, in `jobs` processes; in the order in which they are drawn.

    A draw is taken only when a process is free for it, so that draws may end by the clock, and none
    once no more are wanted.
    """
    for _, outcome in in_order(lived, draws, jobs, wanted):
        yield outcome


def shrunk(odds: Odds, told: Callable[[str], None]) -> tuple[Odds, str]:
    """The smallest odds of a failing seed that still fail, and how. Told of each step.

    The odds as they were, with an empty text, when they do not fail.
    """
    try:
        run(odds)
    except Broken as fault:
        smallest, still = shrink(odds, fault, told)
        return smallest, str(still)
    return odds, ""
