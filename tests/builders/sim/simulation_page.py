"""Draws the page docs/simulation.md from the tables; run it to rewrite the page."""

from pathlib import Path

from bot.lab.sim import scenario as odds
from tests.mutants.hunt import BUGS, CANARY, EVENTS_MAX, ROTATING

PAGE = Path(__file__).resolve().parents[3] / "docs" / "simulation.md"

_PROFILES = ", ".join(f"`{name}`" for name in odds.ROWS)
_KINDS = ", ".join(f"`{name}`" for name in odds.CONTRADICTIONS)
_VARIANTS = ", ".join(f"`{name}`" for name in odds.VARIANTS)

_HEAD = f"""# The simulator

`bot simulate` runs the real trader against the real venue engine in one thread of virtual time. A
seed draws the world; the same seed gives the same world to the byte. `make pages` makes this page.

| part | what a seed may draw |
|---|---|
| network | latency, loss before or after the venue acts, duplicates, garbling, stale reads |
| channel | stalls, closes, reorders |
| host | torn disk writes, a wrong clock, crashes |
| venue | halts, throttling, rungs listed late, other ids for amended orders, maker fees |
| operator | configuration changes, dates of the calendar, flatten, exits, a start that adopts or \
refuses resting orders |
| account | a second series in the same process, a foreign trader |
| strategy | exceptions and invalid quotes |
| crowd | counterparties that at times take every quote |

An auditor checks every step with arithmetic of its own (invariants B1-B15 of
[failure-modes.md](failure-modes.md#invariants-of-the-bot)). After the faults a calm phase follows,
in which resting orders must reach the targets and stay there. At the end no order may rest, and the
books must agree to the cent. Each eighth seed is replayed from its log and must give the same
effects (B10).

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
| `swarm` | each is absent from most seeds and frequent in others, so that none hides another |
| `brutal` | all |
| {_PROFILES} | often, those of one row of model A in [fault-model.md](fault-model.md) |
| `lag` | reads up to 5 s late, which must not stop the bot |
| {_KINDS} | one kind of model B: calm until the venue contradicts itself repeatedly |

In a profile of model B the bot must latch with the sentence of that kind (B15), send nothing that
adds exposure afterwards, and have no order left a minute after the first sign. In other profiles
such a latch breaks B15. `--fault-model` runs all of these.

Exit code 0: every invariant held; 1: one broke. A failure prints its seed and draw, the last 200
events and effects, the invariant, and a command that repeats it. Then it is reduced: fewer faults,
less time, fewer rungs. The last line counts strategy errors that no fault caused; they do not break
an invariant if the strategy quotes again before the end.

`--without` leaves out faults and these variants, without another change of the world:
{_VARIANTS}.

Further checks, most of them after the faults:

| world with | check |
|---|---|
| flatten | asked once more: positions may only shrink |
| exits | one more; by the engine's fills each costs no more than its cap, or than what was live \
as it began could cost |
| configuration changes, adopted or refused orders, an ended event | one more change, or a crash: \
the targets must be reached again |
| a lowered limit | exposure above it may not grow; no order rests beyond it for long |
| trades during a start | they may or may not be in the opening balances: the end must agree |
| a loss budget | by the venue's fills and payouts, at every decision, kill and end, the loss \
exceeds it by no more than what was live as it was spent could lose |
| two series | they share the account's loss limit and request bucket; neither writes about an \
order of the other; the books of each end with the cash of both and its own shares |

## What the coverage table means

Each run ends with a count per row of the [failure modes](failure-modes.md), groups A to H; a row at
0 was not tried. The project's tests meet every row at least 6 times. Excepted are rows that begin
before the trader's events, which other tests cover:

| rows | tests |
|---|---|
| 3, 6, 11, 64, 66-70, 72, 73 | `tests/slow/io`, `tests/slow/shell`, `tests/slow/e2e` |
| 21 | `tests/fast/bot` |
| 50, 51, 56 | `tests/fast/wire`, `tests/slow/silences` |
| 80 | `tests/slow/strategies` |
"""

_BUGS = """
## Planted bugs

{count} classic mistakes (`tests/mutants`, each with its rows of the failure modes) show that the
simulator is not blind. It must find each within {events_max:,} events, and the same world must hold
without the bug. `python -m tests.mutants` hunts all; `make test` hunts {rotating} of them, which
change with the trader, and always `{canary}`, which must be found at once.
"""


def page() -> str:
    return _HEAD + _BUGS.format(
        count=len(BUGS), events_max=EVENTS_MAX, rotating=ROTATING, canary=CANARY.name
    )


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
