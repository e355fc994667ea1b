"""Every row of the fault model in a profile of its own, as the table of `--fault-model`."""

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from statistics import median_low
from typing import Any, Final

import msgspec

from bot.lab.sim.odds import CONTRADICTIONS, LAG, ROWS, SECOND, draw
from bot.lab.sim.simulate import Outcome, Summary, many

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


class Row(msgspec.Struct):
    """What came of one profile. wanted: so many seeds. stopped_s: of each of them, from the first
    sign to the stop."""

    profile: str
    wanted: int
    summary: Summary = msgspec.field(default_factory=Summary)
    stopped_s: list[float] = msgspec.field(default_factory=list)
    first_broken: str = ""
    replay: str = ""

    def add(self, outcome: Outcome) -> None:
        self.summary.add(outcome)
        if outcome.stopped_ns >= 0:
            self.stopped_s.append(outcome.stopped_ns / SECOND)
        if outcome.broken and not self.first_broken:
            self.first_broken, self.replay = outcome.broken, outcome.replay

    @property
    def is_whole(self) -> bool:
        return self.summary.seeds == self.wanted

    @property
    def median_s(self) -> float | None:
        return median_low(self.stopped_s) if self.stopped_s else None

    @property
    def most_s(self) -> float | None:
        return max(self.stopped_s, default=None)

    def plain(self) -> dict[str, Any]:
        return {
            "profile": self.profile,
            "seeds": self.summary.seeds,
            "events": self.summary.events,
            "faults": self.summary.faults,
            "broken": self.summary.broken,
            "first_broken": self.first_broken,
            "stopped": len(self.stopped_s),
            "median_s": self.median_s,
            "most_s": self.most_s,
        }

    def line(self) -> str:
        done, name = self.summary, _NAMES[self.profile]
        stopped = f"{len(self.stopped_s)}/{done.seeds}" if self.profile in CONTRADICTIONS else "-"
        took = [f"{s:.1f}" if s is not None else "-" for s in (self.median_s, self.most_s)]
        broken = f"{len(done.broken)}  first: {self.first_broken[:90]}" if done.broken else "0"
        return (
            f"  {name:24s} {done.seeds:6d} {done.events:10d} {done.faults:8d} {stopped:>9s} "
            f"{took[0]:>8s} {took[1]:>8s}  {broken}"
        )


HEAD: Final = (
    f"  {'row':24s} {'seeds':>6s} {'events':>10s} {'faults':>8s} {'stopped':>9s} "
    f"{'median s':>8s} {'most s':>8s}  broken"
)


def rows(
    seeds: Sequence[int],
    stopped_seeds: Sequence[int],
    jobs: int,
    wanted: Callable[[], bool] = lambda: True,
) -> Iterator[Row]:
    """Every row of the table as soon as it is whole; the last one is not if no more is wanted.

    seeds: of each profile of model A. stopped_seeds: of late reads and of each of model B.
    """
    counts = {**dict.fromkeys(SURVIVED, seeds), **dict.fromkeys(STOPPED, stopped_seeds)}
    draws = (draw(seed, profile) for profile, each in counts.items() for seed in each)
    lived = many(draws, jobs, wanted)
    for profile, each in counts.items():
        row = Row(profile, len(each))
        for outcome in islice(lived, len(each)):
            row.add(outcome)
        yield row
