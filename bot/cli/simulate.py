"""`bot simulate`: the trader against the real engine, in virtual time, under seeded faults."""

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from bot.cli.common import (
    EXIT_CONFIGURATION,
    EXIT_LEFT_OVER,
    duration_ns,
    fail,
    interruptible,
    printed_aside,
)
from venue.wire.instant import NS_PER_SECOND

if TYPE_CHECKING:
    from bot.lab.sim.run import SeedResult
    from bot.lab.sim.scenario import SimScenario

_EXAMPLE = "Example: bot simulate --seed 7 --events 20_000 --profile brutal"
_ENDING = "ending: seeds that have begun are lived to their end"
_DIED = "ended early: a process died; is there enough memory for so many?"


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("simulate", epilog=_EXAMPLE)(simulate)


def simulate(
    seed: Annotated[int | None, typer.Option(min=0, help="The one seed to live through.")] = None,
    seeds: Annotated[
        str | None, typer.Option(metavar="A-B", help="Seeds A to B, both included; default 0-9.")
    ] = None,
    profile: Annotated[
        str, typer.Option(help="calm, swarm, brutal, a row of the fault model, or lag.")
    ] = "swarm",
    events: Annotated[
        str, typer.Option(metavar="N", help="Go on in each seed until so many events, 1_000_000.")
    ] = "0",
    for_: Annotated[
        str | None, typer.Option("--for", metavar="TIME", help="Seed after seed for 60s, 5m, 8h.")
    ] = None,
    jobs: Annotated[int, typer.Option(min=1, max=256, help="Processes.")] = 1,
    without: Annotated[
        str, typer.Option(metavar="NAMES", help="Faults and episodes to leave out, by comma.")
    ] = "",
    until: Annotated[
        str | None, typer.Option(metavar="TIME", help="Length of the phase with faults: 3200ms.")
    ] = None,
    rungs: Annotated[
        str, typer.Option(metavar="N,N", help="Rungs of each event, instead of those drawn.")
    ] = "",
    strategy: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="In every seed: a name, package:Class or ./file.py."),
    ] = None,
    shrink: Annotated[
        bool, typer.Option(help="Make the first failure smaller before it is told.")
    ] = True,
    fault_model: Annotated[
        bool,
        typer.Option(
            "--fault-model", help="Every row of docs/fault-model.md in a profile of its own."
        ),
    ] = False,
    b_seeds: Annotated[
        int, typer.Option(min=1, help="Of so many seeds, each row of B, with --fault-model.")
    ] = 200,
    quiet: Annotated[bool, typer.Option("--quiet", help="Tell only of seeds that fail.")] = False,
    json_line: Annotated[
        bool, typer.Option("--json", help="End with the summary as one line of JSON on stdout.")
    ] = False,
) -> None:
    """Live through seeds with faults drawn from each; exit code 1 when an invariant broke.

    Prints each seed with its draw, what it came to, and in the end how often each row of the
    failure catalogue was met. A failure prints its last events and the command that repeats it.
    Ctrl-C lives to its end what has begun, tells what there is, and ends with 4 if nothing broke;
    so it ends when a process died.
    """
    if fault_model:
        _fault_model(seed, seeds, b_seeds, jobs, json_line=json_line)
    from bot.lab.sim.coverage import table
    from bot.lab.sim.run import Summary, many

    draws = _draws(seed, seeds, profile, events, for_, without, until, rungs, strategy)
    summary = Summary()
    aside = printed_aside if json_line else nullcontext[None]
    first_broken: SimScenario | None = None
    drawn: dict[int, SimScenario] = {}
    with interruptible(_ENDING) as wanted, aside(), _death_told() as died:
        for outcome in many(_noted(draws, drawn, quiet=quiet, err=json_line), jobs, wanted):
            odds = drawn.pop(outcome.seed)
            summary.add_summary(outcome.summary)
            _tell(odds, outcome, quiet=quiet, err=json_line)
            if outcome.summary.broken and first_broken is None:
                first_broken = odds
    whole = wanted() and not died
    if first_broken is not None and shrink and whole:
        with aside():
            _tell_smallest(first_broken, err=json_line)
    if json_line:
        typer.echo(json.dumps(summary.plain()))
    else:
        typer.echo(f"rows of the failure catalogue met:\n{table(summary.counts)}")
        typer.echo(summary.line())
    raise typer.Exit(1 if summary.broken else 0 if whole else EXIT_LEFT_OVER)


@contextmanager
def _death_told() -> Iterator[list[str]]:
    """Where a process dies, that is told on stderr and what came before stands; the list is then
    not empty."""
    from concurrent.futures.process import BrokenProcessPool

    died: list[str] = []
    try:
        yield died
    except BrokenProcessPool:
        died.append(_DIED)
        typer.echo(_DIED, err=True)


def _noted(
    draws: "Iterator[SimScenario]", drawn: "dict[int, SimScenario]", *, quiet: bool, err: bool
) -> "Iterator[SimScenario]":
    """The draws as they are taken, each kept by its seed, and told before it is lived through."""
    for odds in draws:
        drawn[odds.seed] = odds
        if not quiet:
            typer.echo(f"seed {odds.seed}\n{odds.lines()}", err=err)
        yield odds


def _draws(
    seed: int | None,
    seeds: str | None,
    profile: str,
    events: str,
    for_: str | None,
    without: str,
    until: str | None,
    rungs: str,
    strategy: str | None,
) -> "Iterator[SimScenario]":
    """The odds asked for, one by one; ends with 2 for a wrong option."""
    from dataclasses import replace

    from bot.lab.sim.scenario import draw, narrowed

    names = tuple(name.strip() for name in without.split(",") if name.strip())
    wanted = _count(events, "--events")
    until_ns = None if until is None else duration_ns("--until", until)
    counts = tuple(_count(each, "--rungs") for each in rungs.split(",")) if rungs else None
    for number in _numbers(seed, seeds, for_):
        try:
            odds = draw(number, profile)
            odds = narrowed(odds, without=names, until_ns=until_ns, rungs=counts)
        except ValueError as fault:
            fail(EXIT_CONFIGURATION, str(fault))
        if strategy is not None:
            odds = replace(odds, strategy=strategy)
            _check_strategy(odds)
        yield replace(odds, events=wanted)


def _check_strategy(odds: "SimScenario") -> None:
    """End with 2 when there is no such strategy, or when it cannot be made from its defaults."""
    import pydantic

    from bot.config.plugins import StrategyFault
    from bot.config.validation import told
    from bot.lab.sim.configured import make_strategy

    try:
        make_strategy(odds)
    except pydantic.ValidationError as fault:
        fail(EXIT_CONFIGURATION, f"--strategy {odds.strategy}: {told(fault)}")
    except StrategyFault as fault:
        fail(EXIT_CONFIGURATION, f"--strategy {odds.strategy}: {fault}")


def _numbers(seed: int | None, seeds: str | None, for_: str | None) -> Iterator[int]:
    """The seeds asked for: one, a range, or as many as the time allows."""
    if seed is not None and seeds is not None:
        fail(EXIT_CONFIGURATION, "--seed and --seeds: one of them")
    first, last = (seed, seed) if seed is not None else _range(seeds or "0-9")
    if for_ is None:
        yield from range(first, last + 1)
        return
    end_s = time.monotonic() + duration_ns("--for", for_) / NS_PER_SECOND
    number = first
    while time.monotonic() < end_s:
        yield number
        number += 1


def _range(text: str) -> tuple[int, int]:
    first, dash, last = text.partition("-")
    low, high = (_count(each, "--seeds") for each in (first, last if dash else first))
    if high < low:
        fail(EXIT_CONFIGURATION, f"--seeds {text}: two numbers, the smaller first, such as 0-99")
    return low, high


def _count(text: str, option: str) -> int:
    """The number that an option was given; ends with 2, naming the option, for anything else."""
    from bot.lab.progress import is_whole

    digits = text.replace("_", "").strip()
    if not is_whole(digits):
        such = "1_000_000" if option == "--events" else "10"
        fail(EXIT_CONFIGURATION, f"{option} {text!r}: accepted: a whole number, such as {such}")
    return int(digits)


def _tell(odds: "SimScenario", outcome: "SeedResult", *, quiet: bool, err: bool) -> None:
    """What one seed came to; a failure with its draw, its last events and how to repeat it."""
    done = outcome.summary
    if done.broken:
        typer.echo(f"seed {odds.seed}\n{odds.lines()}\n{outcome.last_events}", err=True)
        typer.echo(f"BROKEN {done.first_broken}\nreplay: {done.replay}", err=True)
    elif not quiet:
        held = f"{done.events} events, {done.faults} faults, effect log {outcome.log}"
        typer.echo(f"seed {odds.seed} held: {held}", err=err)


def _tell_smallest(odds: "SimScenario", *, err: bool) -> None:
    """The smallest odds that fail in the same way, and the command that repeats them."""
    from bot.lab.sim.run import replay_command
    from bot.lab.sim.run import shrink as made_smaller

    smallest, broken = made_smaller(odds, lambda step: typer.echo(f"shrinking: {step}", err=err))
    if broken is not None:
        typer.echo(f"smallest:\n{smallest.lines()}\nBROKEN {broken}", err=err)
        typer.echo(f"replay: {replay_command(smallest)}", err=True)


# --- the fault model ------------------------------------------------------------------------------


def _fault_model(
    seed: int | None, seeds: str | None, b_seeds: int, jobs: int, *, json_line: bool
) -> NoReturn:
    """Every row of the fault model as a line of a table; ends with 1 when an invariant broke."""
    from bot.lab.sim.run import HEAD, rows

    numbers = list(_numbers(seed, seeds, None))
    stopped = range(numbers[0], numbers[0] + b_seeds)
    typer.echo(HEAD, err=json_line)
    done = []
    aside = printed_aside if json_line else nullcontext[None]
    with interruptible(_ENDING) as wanted, aside(), _death_told() as died:
        for row in rows(numbers, stopped, jobs, wanted):
            done.append(row)
            typer.echo(row.line(), err=json_line)
            if row.summary.replay:
                typer.echo(f"    replay: {row.summary.replay}", err=json_line)
    if json_line:
        typer.echo(json.dumps([row.plain() for row in done]))
    if any(row.summary.broken for row in done):
        raise typer.Exit(1)
    whole = not died and all(row.is_whole for row in done)
    raise typer.Exit(0 if whole else EXIT_LEFT_OVER)
