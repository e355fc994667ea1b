"""A failure as a person sees it: its last events, the command that repeats it, and the smallest
world of its seed that still breaks.

Faults and episodes go one by one, then the safety phase is cut, then rungs. Every step is a whole
run, so the result is as certain as the first failure; the same failure gives the same result.
"""

import shlex
from collections.abc import Callable, Sequence
from typing import Final

from bot.lab.sim.judge.broken import Broken
from bot.lab.sim.odds import SECOND, Odds, draw, narrowed
from bot.lab.sim.run import Patch, run
from bot.lab.sim.world import START_NS, World

RUNS_MAX: Final = 80
"""Whole runs that shrinking may take."""


def last_events(world: World) -> str:
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


def invariant_of(broken: Broken) -> str:
    """The name of the invariant that does not hold: `B3`."""
    text = str(broken)
    if text.startswith("seed "):
        text = text.partition(": ")[2]
    return text.partition(":")[0]


def shrink(
    odds: Odds,
    broken: Broken,
    progress: Callable[[str], None],
    patches: Sequence[Patch] = (),
    runs_max: int = RUNS_MAX,
) -> tuple[Odds, Broken]:
    """The smallest odds in which the same invariant breaks, and how. progress: of each step."""
    wanted, runs = invariant_of(broken), 0

    def takes(smaller: Odds, what: str) -> bool:
        nonlocal odds, broken, runs
        if runs >= runs_max:
            return False
        runs += 1
        try:
            run(smaller, patches)
        except Broken as still:
            if invariant_of(still) == wanted:
                progress(f"still {wanted}: {what}")
                odds, broken = smaller, still
                return True
        return False

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
