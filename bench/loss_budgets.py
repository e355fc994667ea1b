"""Loss budgets by the venue's ledger: by how much a day's loss exceeds its budget.

500 seeds of the simulator's profile `process`: kills after any effect of the bot, a strategy that
at times takes at random, fees of 7 %, and a budget of 10 to 250 cents. The loss is that of the
engine's fills and payouts, with shares at the bot's fair values, at each decision, kill and end.
Anchor: what was live as the budget was spent, orders and shares, could lose that much more in the
worst case; the simulator's invariant B3 demands that no seed exceeds it.
"""

from dataclasses import replace
from statistics import median
from typing import Final, NamedTuple

from bot.lab.pool import in_order
from bot.lab.sim import run as simulator
from bot.lab.sim.exposure_rules import SpentBudget
from bot.lab.sim.scenario import SECOND, SimScenario, draw, often
from bot.lab.sim.truth import Broken
from bot.lab.sim.world import SimulatedWorld

_SEEDS: Final = 500
_QUICK_SEEDS: Final = 20
_JOBS: Final = 2
_BUDGETS_CENTS: Final = (10, 50, 250)
_KILLS: Final = ("crash", "crashed_at_effect", "quiet_restart")


class Lived(NamedTuple):
    """One seed. spent: by budget. broken: the invariant that did not hold, or empty."""

    kills: int
    spent: dict[int, SpentBudget]
    broken: str


def scenario(seed: int) -> SimScenario:
    """One that keeps its journal, is killed often, and loses."""
    drawn = often(draw(seed, "process"), ("crash", "crash_at_effect", "taken", "greed", "jump"))
    budget = str(_BUDGETS_CENTS[seed % len(_BUDGETS_CENTS)])
    return replace(
        drawn,
        variants={**drawn.variants, "maker_fee": "0.0700", "loss_budget": budget},
        without=("lost_journal",),
        fee_rate="0.0700",
        cash_cents=1_000_000,
        safety_ns=40 * SECOND,
    )


def lived(seed: int) -> Lived:
    broken = ""
    try:
        world = simulator.run(scenario(seed))
    except Broken as fault:
        assert isinstance(fault.world, SimulatedWorld)
        world, broken = fault.world, str(fault)
    counts = world.coverage.counts
    return Lived(sum(counts[name] for name in _KILLS), world.auditor.ledger_loss.spent, broken)


def run(quick: bool) -> list[tuple[str, str]]:
    seeds = range(_QUICK_SEEDS if quick else _SEEDS)
    found = [result for _, result in in_order(lived, seeds, _JOBS)]
    broken = [each.broken for each in found if each.broken]
    rows = [
        ("seeds", f"{len(found)}, with {sum(each.kills for each in found)} kills"),
        ("broken", f"{len(broken)}{', first: ' if broken else ''}{''.join(broken[:1])}"),
    ]
    for budget in _BUDGETS_CENTS:
        spent = [each.spent[budget] for each in found if budget in each.spent]
        if not spent:
            continue
        excess = [each.excess_cents for each in spent]
        used = max(each.excess_cents / each.live_cents for each in spent)
        text = (
            f"spent in {len(spent)} seeds; exceeded by {median(excess):.0f} cents in the median, "
            f"by {max(excess):.0f} at most, and by at most {used:.0%} of what was live"
        )
        rows.append((f"{budget} cents", text))
    return rows
