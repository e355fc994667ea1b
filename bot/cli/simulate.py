"""`bot simulate`: the trader against the real engine, in virtual time, under seeded faults."""

import json
import time
from collections.abc import Iterator
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from typing import Annotated, Final, NoReturn

import pydantic
import typer

from bot.cli.common import (
    EXIT_CONFIGURATION,
    EXIT_LEFT_OVER,
    fail,
    interruptible,
    stdout_to_stderr,
)
from bot.cli.options import Jobs, Json, duration_ns
from bot.cli.progress import announce
from bot.config.plugins import StrategyFault
from bot.config.validation import refusal_text
from bot.lab.progress import is_whole
from bot.lab.sim.configured import make_strategy
from bot.lab.sim.coverage import table
from bot.lab.sim.run import (
    HEAD,
    STOPPED,
    SURVIVED,
    SeedResult,
    Summary,
    many,
    replay_command,
    rows,
    shrink,
)
from bot.lab.sim.scenario import SimScenario, draw, narrowed
from venue.wire.instant import NS_PER_SECOND

_ENDING = "ending: seeds that have begun are finished"
_SEED_S: Final = 0.5
_SIMULATED_EVENTS_PER_S: Final = 15_000
"""How long one core takes for a seed as it is drawn, and for more events of it."""

_DIED = "ended early: a process died; is there enough memory for so many?"


def simulate(
    seed: Annotated[int | None, typer.Option(min=0, help="One seed.")] = None,
    seeds: Annotated[
        str | None, typer.Option(metavar="A-B", help="Seeds A to B, both included; default 0-9.")
    ] = None,
    profile: Annotated[
        str, typer.Option(help="calm, swarm, brutal, a row of the fault model, or lag.")
    ] = "swarm",
    events: Annotated[
        str, typer.Option(metavar="N", help="Events of each seed at least, such as 1_000_000.")
    ] = "0",
    for_: Annotated[
        str | None, typer.Option("--for", metavar="TIME", help="Seed after seed for 60s, 5m, 8h.")
    ] = None,
    jobs: Jobs = 1,
    without: Annotated[
        str, typer.Option(metavar="NAMES", help="Faults and episodes to leave out, by comma.")
    ] = "",
    until: Annotated[
        str | None, typer.Option(metavar="TIME", help="Length of the phase with faults: 3200ms.")
    ] = None,
    rungs: Annotated[
        str, typer.Option(metavar="N,N", help="Rungs of each event, instead of drawn numbers.")
    ] = "",
    strategy: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Of every seed: a name, package:Class or ./file.py."),
    ] = None,
    reduce: Annotated[
        bool,
        typer.Option("--shrink/--no-shrink", help="Reduce the first failure before printing it."),
    ] = True,
    fault_model: Annotated[
        bool,
        typer.Option("--fault-model", help="Run each row of docs/fault-model.md as a profile."),
    ] = False,
    b_seeds: Annotated[
        int, typer.Option(min=1, help="With --fault-model: seeds of each row of class B.")
    ] = 200,
    quiet: Annotated[
        bool, typer.Option("--quiet", help="Print seeds that fail, and the sum.")
    ] = False,
    json_line: Json = False,
) -> None:
    """Faults are drawn from each seed. Prints each seed with its draw and its result, and at the
    end how often each row of the failure catalogue was met. For a failure it prints the last events
    and the command that repeats it.

    Ends with 1 if an invariant broke. Ctrl-C finishes the seeds that have begun, prints their
    results and ends with 4 if nothing broke, as does a process that died.

    Example: bot simulate --seed 7 --events 20_000 --profile brutal
    """
    if fault_model:
        _simulate_fault_model(seed, seeds, b_seeds, jobs, json_line=json_line)
    numbers, least = _range(seed, seeds), _count(events, "--events")
    if for_ is None:
        one_s = max(_SEED_S, least / _SIMULATED_EVENTS_PER_S)
        announce(len(numbers) * one_s / jobs, "fewer --seeds, more --jobs")
    draws = _draws(
        _numbers(numbers, for_),
        profile,
        least,
        tuple(name.strip() for name in without.split(",") if name.strip()),
        None if until is None else duration_ns("--until", until),
        tuple(_count(each, "--rungs") for each in rungs.split(",")) if rungs else None,
        strategy,
    )
    summary = Summary()
    aside = stdout_to_stderr if json_line else nullcontext[None]
    first_broken: SimScenario | None = None
    drawn: dict[int, SimScenario] = {}

    def announced() -> Iterator[SimScenario]:
        for odds in draws:
            drawn[odds.seed] = odds
            if not quiet:
                typer.echo(f"seed {odds.seed}\n{odds.lines()}", err=json_line)
            yield odds

    with interruptible(_ENDING) as wanted, aside(), _process_deaths() as died:
        for outcome in many(announced(), jobs, wanted):
            odds = drawn.pop(outcome.seed)
            summary.add_summary(outcome.summary)
            _print_seed(odds, outcome, quiet=quiet, err=json_line)
            if outcome.summary.broken and first_broken is None:
                first_broken = odds
    whole = wanted() and not died
    if first_broken is not None and reduce and whole:
        with aside():
            _print_smallest(first_broken, err=json_line)
    if json_line:
        typer.echo(json.dumps(summary.plain()))
    else:
        if not quiet:
            typer.echo(f"rows of the failure catalogue met:\n{table(summary.counts)}")
        typer.echo(summary.line())
    raise typer.Exit(1 if summary.broken else 0 if whole else EXIT_LEFT_OVER)


@contextmanager
def _process_deaths() -> Iterator[list[str]]:
    """Print that a process died and keep what came before; the list is then not empty."""
    died: list[str] = []
    try:
        yield died
    except BrokenProcessPool:
        died.append(_DIED)
        typer.echo(_DIED, err=True)


def _draws(
    numbers: Iterator[int],
    profile: str,
    events: int,
    without: tuple[str, ...],
    until_ns: int | None,
    rungs: tuple[int, ...] | None,
    strategy: str | None,
) -> Iterator[SimScenario]:
    """The odds of each seed; ends with 2 for a wrong option."""
    for number in numbers:
        try:
            odds = draw(number, profile)
            odds = narrowed(odds, without=without, until_ns=until_ns, rungs=rungs)
        except ValueError as fault:
            fail(EXIT_CONFIGURATION, str(fault))
        if strategy is not None:
            odds = replace(odds, strategy=strategy)
            try:
                make_strategy(odds)
            except pydantic.ValidationError as fault:
                fail(EXIT_CONFIGURATION, f"--strategy {strategy}: {refusal_text(fault)}")
            except StrategyFault as fault:
                fail(EXIT_CONFIGURATION, f"--strategy {strategy}: {fault}")
        yield replace(odds, events=events)


def _numbers(seeds: range, for_: str | None) -> Iterator[int]:
    """The seeds, or from the first one on as many as there is time for."""
    if for_ is None:
        yield from seeds
        return
    end_s = time.monotonic() + duration_ns("--for", for_) / NS_PER_SECOND
    number = seeds[0]
    while time.monotonic() < end_s:
        yield number
        number += 1


def _range(seed: int | None, seeds: str | None) -> range:
    if seed is not None and seeds is not None:
        fail(EXIT_CONFIGURATION, "--seed and --seeds: one of them")
    if seed is not None:
        return range(seed, seed + 1)
    text = seeds or "0-9"
    first, dash, last = text.partition("-")
    low, high = (_count(each, "--seeds") for each in (first, last if dash else first))
    if high < low:
        fail(EXIT_CONFIGURATION, f"--seeds {text}: two numbers, the smaller first, such as 0-99")
    return range(low, high + 1)


def _count(text: str, option: str) -> int:
    """The number of an option; ends with 2, naming the option, for anything else."""
    digits = text.replace("_", "").strip()
    if not is_whole(digits):
        such = "1_000_000" if option == "--events" else "10"
        fail(EXIT_CONFIGURATION, f"{option} {text!r}: accepted: a whole number, such as {such}")
    return int(digits)


def _print_seed(odds: SimScenario, outcome: SeedResult, *, quiet: bool, err: bool) -> None:
    done = outcome.summary
    if done.broken:
        typer.echo(f"seed {odds.seed}\n{odds.lines()}\n{outcome.last_events}", err=True)
        typer.echo(f"BROKEN {done.first_broken}\nreplay: {done.replay}", err=True)
    elif not quiet:
        held = f"{done.events} events, {done.faults} faults, effect log {outcome.log}"
        typer.echo(f"seed {odds.seed} held: {held}", err=err)


def _print_smallest(odds: SimScenario, *, err: bool) -> None:
    smallest, broken = shrink(odds, lambda step: typer.echo(f"shrinking: {step}", err=err))
    if broken is not None:
        typer.echo(f"smallest:\n{smallest.lines()}\nBROKEN {broken}", err=err)
        typer.echo(f"replay: {replay_command(smallest)}", err=True)


def _simulate_fault_model(
    seed: int | None, seeds: str | None, b_seeds: int, jobs: int, *, json_line: bool
) -> NoReturn:
    """Each row of the fault model as a line of a table; ends with 1 if an invariant broke."""
    numbers = _range(seed, seeds)
    stopped = range(numbers[0], numbers[0] + b_seeds)
    drawn = len(SURVIVED) * len(numbers) + len(STOPPED) * len(stopped)
    announce(drawn * _SEED_S / jobs, "fewer --seeds and --b-seeds, more --jobs")
    typer.echo(HEAD, err=json_line)
    done = []
    aside = stdout_to_stderr if json_line else nullcontext[None]
    with interruptible(_ENDING) as wanted, aside(), _process_deaths() as died:
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
