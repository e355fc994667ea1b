"""Draws the page docs/simulation.md from the tables; run it to write the page anew."""

from pathlib import Path

from bot.lab.sim import scenario as odds
from tests.mutants.hunt import BUGS, CANARY, EVENTS_MAX, ROTATING

PAGE = Path(__file__).resolve().parents[2] / "docs" / "simulation.md"

_PROFILES = ", ".join(f"`{name}`" for name in odds.ROWS)
_KINDS = ", ".join(f"`{name}`" for name in odds.CONTRADICTIONS)
_VARIANTS = ", ".join(f"`{name}`" for name in odds.VARIANTS)

_HEAD = f"""# The simulator

Drawn from `bot/lab/sim/coverage.py` and `tests/mutants/hunt.py` by
`python -m tests.sim.simulation_page`; a test keeps them equal.

`bot simulate` lives through whole lives of the bot in one thread of virtual time. The trader is the
real one, with the real journal format under it; the venue is the real engine with its real read
side. Between them is a made-up world, all of it drawn from a seed: a network that delays, loses
(before and after the venue has acted), duplicates and garbles; reads that lag; a channel that
stalls, closes and reorders; a disk that tears; a host whose clock is off; a venue that halts and
throttles, lists rungs late, gives amended orders other ids, and charges makers as it likes; an
operator, who changes the configuration in the midst of a life, wants everything flat, and has a
start keep or refuse what rests; a second series on the account, in one process; somebody else on
the same account; a strategy that loses its mind; and a crowd to trade with, which at times takes
whatever is quoted. The same seed gives the same world, to the byte, in any process and under any
hash seed.

An auditor judges every step of the bot with arithmetic of its own (B1-B14 of
[failure-modes.md](failure-modes.md)); the venue's own books are audited in `tests/core` and
`tests/laws`. A phase with faults is followed by one without, in which what rests must become
what is wanted and stay so, and by an end, in which nothing may rest and the books must agree to the
cent. Each eighth seed is replayed from its own log and must give the same effects (B10).

## Running it

    bot simulate --seeds 0-99 --jobs 2            # a hundred seeds
    bot simulate --seed 7 --events 1_000_000 --profile brutal
    bot simulate --for 8h --jobs 2 --quiet        # as `make soak` does
    bot simulate --strategy ./mine.py --seeds 0-9 # your own strategy in every one of them
    bot simulate --fault-model --seeds 0-1999 --b-seeds 200 --jobs 2
    python -m tests.mutants fill-missed           # plant one bug and find it
    python -m tests.mutants --jobs 2              # all of them, with a table

Profiles: `calm` has no faults; `swarm` leaves each fault out of most seeds and makes it frequent in
others, so that none always hides behind another; `brutal` has them all. Each row of model A in
[fault-model.md](fault-model.md) has a profile that draws its faults alone, and often: {_PROFILES}.
`lag` has reads that come up to 5 s late and stops nothing. Each kind of model B has one, too:
{_KINDS}. There all is calm until the venue contradicts itself, and goes on to. Within a
minute of virtual time from the first sign nothing may rest, and the bot must be latched with the
sentence of that kind (B15); nothing that adds exposure leaves after the latch. In all other
profiles such a latch breaks B15. `--fault-model` lives through all of these and prints a table:
seeds, events, faults, how many stopped, the median and the most seconds from the first sign to the
stop, and what broke.

Exit code 0 means that
every invariant held, 1 that one broke. A failure prints its seed and draw, the last 200 events and
effects, the invariant, and a command that repeats it; then it is made smaller: faults go one by
one, then time, then rungs. How often the strategy itself raised or answered nonsense stands in the
last line, by no fault drawn; that is no broken invariant where it quotes again before the end.

`--without` leaves out faults, and what some worlds have besides: the variants {_VARIANTS}; nothing
else of a world hangs on them. Where the operator wants everything flat, that is asked for once more
when all is quiet, amid trades: positions may only shrink. Where the configuration changes, another
change comes once all is quiet, and where a start keeps or refuses what rests, or an event ends, a
crash does, half the time just as another event ends: after either all must become what is wanted
once more. A limit that was lowered may be passed by what is there, which nothing that leaves may
raise; nothing may rest beyond it for long. Trades amid a start may be in its opening, or not: in
the end all must agree.

Where the account trades two series each has ladders, limits, and a judge of its own, and faults of
one alone; crashes, outages and halts befall both. Together they may lose no more than the account's
limit, which is drawn near; what both send keeps to one bucket; neither writes about an order of the
other; and in the end the books of each hold the cash of both, to the cent, and its own shares. Both
are replayed together.

## What the coverage table means

After a run each row of the failure catalogue, groups A to H, is printed with the number of times it
was met: how often what the row describes befell the bot or the venue. A row at 0 was not tried, and
says nothing. In the run that belongs to the tests every row is met at least 6 times, but for
those that cannot occur in a world that begins at the trader's events:

- 3, cancelled HTTP task: the HTTP client's; tests/io and tests/shell
- 6, ambient proxy or CA: the HTTP client's; tests/io
- 11, a task dies: the shell's tasks; tests/io and tests/shell
- 21, identity guessed by equal fields: the orders'; tests/bot
- 50, nanoseconds cut: the parser's; tests/wire
- 51, ticker case and dots: the parser's; tests/wire
- 56, cost_basis used: the parser's; tests/silences
- 64, host dies: the reaper's; tests/io and tests/e2e
- 66, crash loop: the shell's latch; tests/io
- 67, journal of another version: the journal's format; tests/io
- 68, misspelt key: the configuration's; tests/io
- 69, YAML 1.1: the configuration's; tests/io
- 70, dollars for cents: the configuration's; tests/io
- 72, wrong environment: the probe's; tests/io
- 73, old code, reused flag: version and file in the metrics; tests/io
- 80, skew sign: a strategy's; tests/strategies
"""

_BUGS = """
## Planted bugs

A simulator that finds nothing may be blind. So {count} classic mistakes can be planted, each a
patch of a few lines put into the process of a simulated world; they are no part of what ships.
Each must be found within {events_max:,} simulated events, and the very world in which it is found
must hold without it. {rotating} of them, others after every change of the trader, are hunted in
every run of the tests; all of them by `python -m tests.mutants`, which ends with 0 only when every
one is found. One more, `{canary}`, is planted in every run of the tests and must be found at once:
it shows that the alarm itself works.

A world in which a bug is hunted is drawn from its seed like any other, but has the faults that the
mistake needs as often as any seed has them, where they are rare. What a bug breaks is what may be
the first to be seen broken: one mistake often breaks several invariants. `findings` are findings
that outlive every fault; `raises` is an exception that nobody catches.

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
