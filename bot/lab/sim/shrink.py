"""From a world that breaks to the smallest one of its seed that still does.

Faults and episodes go one by one, then the safety phase is cut, then rungs. Every step is a whole
run, so the result is as certain as the first failure; the same failure gives the same result.
"""

from collections.abc import Callable, Sequence

from bot.lab.sim.judge.broken import Broken
from bot.lab.sim.odds import SECOND, Odds, narrowed
from bot.lab.sim.run import Patch, run

RUNS_MAX = 80
"""Whole runs that shrinking may take."""


def invariant_of(broken: Broken) -> str:
    """The name of the invariant that does not hold: `B3`."""
    text = str(broken)
    if text.startswith("seed "):
        text = text.partition(": ")[2]
    return text.partition(":")[0]


class Shrinker:
    """Tries smaller odds as long as the same invariant still breaks."""

    def __init__(
        self, patches: Sequence[Patch], told: Callable[[str], None], runs_max: int = RUNS_MAX
    ) -> None:
        self._patches = patches
        self._told = told
        self._runs_left = runs_max

    def shrink(self, odds: Odds, broken: Broken) -> tuple[Odds, Broken]:
        wanted = invariant_of(broken)
        # All at once first: a failure without any fault is the simplest of all.
        for names in (tuple(odds.faults()), *((name,) for name in odds.faults())):
            if all(name in odds.without for name in names):
                continue
            odds, broken = self._try(
                wanted, odds, broken, narrowed(odds, without=names), f"without {', '.join(names)}"
            )
        for part in (8, 4, 2):
            shorter = narrowed(odds, until_ns=odds.safety_ns // part)
            before = odds
            odds, broken = self._try(
                wanted, odds, broken, shorter, f"until {shorter.safety_ns / SECOND} s"
            )
            if odds is not before:
                break
        for rungs in ((1,), (2,), (3,)):
            if sum(rungs) < sum(odds.rungs):
                odds, broken = self._try(
                    wanted, odds, broken, narrowed(odds, rungs=rungs), f"rungs {rungs[0]}"
                )
        return odds, broken

    def _try(
        self, wanted: str, odds: Odds, broken: Broken, smaller: Odds, what: str
    ) -> tuple[Odds, Broken]:
        if self._runs_left <= 0:
            return odds, broken
        self._runs_left -= 1
        try:
            run(smaller, self._patches)
        except Broken as still:
            if invariant_of(still) == wanted:
                self._told(f"still {wanted}: {what}")
                return smaller, still
        return odds, broken
