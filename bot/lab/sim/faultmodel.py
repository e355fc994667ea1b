"""Every row of the fault model in a profile of its own, as the table of `--fault-model`."""

from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import Any, Final

import msgspec

from bot.lab.sim.odds import CONTRADICTIONS, LAG, ROWS, SECOND, Odds, draw
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
    """What came of one profile. stopped_s: of each seed, from the first sign to the stop."""

    profile: str
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
    def median_s(self) -> float | None:
        taken = sorted(self.stopped_s)
        return taken[(len(taken) - 1) // 2] if taken else None

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
    lived = many(chain(_draws(SURVIVED, seeds), _draws(STOPPED, stopped_seeds)), jobs, wanted)
    for profile, count in (
        *((name, len(seeds)) for name in SURVIVED),
        *((name, len(stopped_seeds)) for name in STOPPED),
    ):
        row = Row(profile)
        for _ in range(count):
            outcome = next(lived, None)
            if outcome is None:
                break
            row.add(outcome)
        yield row


def _draws(profiles: Sequence[str], seeds: Sequence[int]) -> Iterator[Odds]:
    return (draw(seed, profile) for profile in profiles for seed in seeds)


def is_whole(row: Row, seeds: Sequence[int], stopped_seeds: Sequence[int]) -> bool:
    count = len(seeds) if row.profile in SURVIVED else len(stopped_seeds)
    return row.summary.seeds == count
