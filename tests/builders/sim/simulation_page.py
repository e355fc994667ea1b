"""Draws the page docs/simulation.md from the tables; run it to rewrite the page."""

from pathlib import Path

from bot.lab.sim import scenario as odds
from tests.mutants.hunt import BUGS, CANARY, EVENTS_MAX, ROTATING

PAGE = Path(__file__).resolve().parents[3] / "docs" / "simulation.md"

_PROFILES = ", ".join(f"`{name}`" for name in odds.ROWS)
_KINDS = ", ".join(f"`{name}`" for name in odds.CONTRADICTIONS)
_VARIANTS = ", ".join(f"`{name}`" for name in odds.VARIANTS)

_HEAD = f"""# The simulator

`python -m tests.builders.sim.simulation_page` makes this page from `bot/lab/sim/coverage.py` and
`tests/mutants/hunt.py`; a test keeps it current.

`bot simulate` runs the real trader, with the real journal format, against the real venue engine and
its reads, in one thread of virtual time. A seed draws the world; the same seed gives the same world
to the byte, in any process and under any hash seed.

| part | what a seed may draw |
|---|---|
| network | latency, loss before or after the venue acts, duplicates, garbling, stale reads |
| channel | stalls, closes, reorders |
| host | torn disk writes, a wrong clock, crashes |
| venue | halts, throttling, rungs listed late, other ids for amended orders, maker fees |
| operator | configuration changes, flatten, a start that adopts or refuses resting orders |
| account | a second series in the same process, a foreign trader |
| strategy | raises and nonsense |
| crowd | counterparties, who at times take every quote |

An auditor checks every step with arithmetic of its own (B1-B14 of
[failure-modes.md](failure-modes.md)); `tests/core` and `tests/laws` audit the venue's books. After
a phase with faults come

1. a calm phase: resting orders must reach the targets and stay there;
2. an end: nothing may rest, and the books must agree to the cent.

Each eighth seed is replayed from its log and must give the same effects (B10).

## Running it

    bot simulate --seeds 0-99 --jobs 2            # a hundred seeds
    bot simulate --seed 7 --events 1_000_000 --profile brutal
    bot simulate --for 8h --jobs 2 --quiet        # as `make soak` does
    bot simulate --strategy ./mine.py --seeds 0-9 # your own strategy in every one of them
    bot simulate --fault-model --seeds 0-1999 --b-seeds 200 --jobs 2
    python -m tests.mutants fill-missed           # plant one bug and find it
    python -m tests.mutants --jobs 2              # all of them, with a table

| profile | faults |
|---|---|
| `calm` | none |
| `swarm` | each left out of most seeds and frequent in others, so that none hides behind another |
| `brutal` | all |
| {_PROFILES} | those of one row of model A in [fault-model.md](fault-model.md) alone, often |
| `lag` | reads up to 5 s late; stops nothing |
| {_KINDS} | one kind of model B: calm until the venue contradicts itself and goes on to |

In a profile of model B, nothing may rest a minute of virtual time after the first sign. The bot
must be latched with the sentence of that kind (B15), and send nothing that adds exposure after the
latch. In all other profiles such a latch breaks B15. `--fault-model` runs all of these and prints
seeds, events, faults, how many stopped, the median and longest seconds from the first sign to the
stop, and broken invariants.

Exit code 0: every invariant held; 1: one broke. A failure prints its seed and draw, the last 200
events and effects, the invariant, and a command that repeats it. Then it is made smaller: fewer
faults, less time, fewer rungs. The last line counts errors of the strategy that no fault drew;
they break no invariant if it quotes again before the end.

`--without` leaves out faults and these variants, which change nothing else of a world:
{_VARIANTS}.

Some worlds are checked further, when all is calm:

- **flatten** is asked once more, with trades: positions may only shrink.
- **Configuration changes**: one more change. **A start that adopts or refuses orders, or an event
  that ends**: a crash, half the time as another event ends. The targets must be reached again.
- **A lowered limit**: exposure above it may not grow, and no order may rest beyond it for long.
- **Trades during a start** may or may not be in the opening balances: the end must agree.
- **Two series** have ladders, limits, an auditor and some faults each; crashes, outages and halts
  hit both. Together they stay within the account's loss limit, drawn near, and one request bucket.
  Neither writes about an order of the other. At the end each one's books hold the cash of both, to
  the cent, and its own shares. Both are replayed together.

## What the coverage table means

Each run ends with the rows of the failure catalogue, groups A to H, and how often each befell the
bot or the venue. A row at 0 was not tried. The run of the tests meets every row at least 6 times,
except those that begin before the trader's events:

| rows | of | tests |
|---|---|---|
| 3 cancelled HTTP task; 11 a task dies | HTTP client; shell | `tests/slow/io`, `tests/slow/shell` |
| 6 ambient proxy or CA | HTTP client | `tests/slow/io` |
| 21 identity guessed by equal fields | orders | `tests/fast/bot` |
| 50 nanoseconds cut; 51 ticker case and dots | parser | `tests/fast/wire` |
| 56 cost_basis used | parser | `tests/slow/silences` |
| 64 host dies | reaper | `tests/slow/io`, `tests/slow/e2e` |
| 66 crash loop; 67 journal of another version | the shell's latch; journal | `tests/slow/io` |
| 68 misspelt key; 69 YAML 1.1; 70 dollars for cents | configuration | `tests/slow/io` |
| 72 wrong environment; 73 old code, reused flag | probe; metrics | `tests/slow/io` |
| 80 skew sign | strategies | `tests/slow/strategies` |
"""

_BUGS = """
## Planted bugs

{count} classic mistakes show that the simulator is not blind. Each is a patch of a few lines in the
process of a simulated world, and never ships. Each must be found within {events_max:,} simulated
events, and the same world must hold without it. `python -m tests.mutants` hunts all and exits with
0 only if it finds every one; a run of the tests hunts {rotating}, others after every change of the
trader. `{canary}`, planted in every run, must be found at once: it proves the alarm.

The world of a hunt has the faults that its mistake needs, even rare ones, as often as any seed.
*Breaks* lists the invariants that may break first. `findings`: findings that outlive every fault;
`raises`: an uncaught exception.

| Bug | Rows | The mistake | Breaks |
|---|---|---|---|
"""


def page() -> str:
    """The page as the tables have it now."""
    text = _BUGS.format(
        count=len(BUGS), events_max=EVENTS_MAX, rotating=ROTATING, canary=CANARY.name
    )
    bugs = [
        f"| `{bug.name}` | {', '.join(map(str, bug.rows))} | {bug.mistake} "
        f"| {', '.join(bug.breaks)} |\n"
        for bug in BUGS
    ]
    return _HEAD + text + "".join(bugs)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
