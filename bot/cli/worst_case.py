"""`bot worst-case`: the exposure of an event, outcome by outcome, and the room left."""

from pathlib import Path
from typing import Annotated

import msgspec
import typer

from bot.cli.common import (
    EXIT_CONFIGURATION,
    EXIT_VENUE,
    exit_on_fault,
    fail,
    read_config,
    stdout_to_stderr,
)
from bot.cli.options import ConfigPath, Json, StatusUrl
from bot.cli.running_bot import base_of, find_bot
from bot.config.bot_config import Draft, finish
from bot.io.run.terminal import risk_line
from bot.lab import worst_case as lab
from bot.page.text import text_table
from venue.wire.money import dollars


def worst_case(
    config: ConfigPath,
    file: Annotated[
        Path | None,
        typer.Option(help="Start from this YAML of rungs and orders, or a saved status.json."),
    ] = None,
    rungs: Annotated[
        str, typer.Option(metavar="A,B,C", help="Start from nothing: rungs, lowest first.")
    ] = "",
    hold: Annotated[
        list[str] | None,
        typer.Option(
            metavar="RUNG=yes:10@45,no:5",
            help="Inventory, traded at the price, else the book's; may be repeated.",
        ),
    ] = None,
    order: Annotated[
        list[str] | None,
        typer.Option(metavar="RUNG:bid:45:10", help="One more order; may be repeated."),
    ] = None,
    event: Annotated[
        str, typer.Option(metavar="TICKER", help="Only this event; a label then means its rung.")
    ] = "",
    at: Annotated[
        int | None,
        typer.Option(help="YES price for which room is computed; else fair value or 50."),
    ] = None,
    fee_rate: Annotated[
        str, typer.Option(help="With --rungs: the higher of the two fee rates, such as 0.0175.")
    ] = "0",
    status: StatusUrl = "",
    json_line: Json = False,
) -> None:
    r"""The loss if every order that may be live fills as badly as it can there. Starts from the
    running bot, from --file or from --rungs, and adds --hold and --order. Nothing is sent. The
    limits are those of the configuration.

    Ends with 3 if no bot answers.

    Example: bot worst-case configs/demo.yaml --rungs 175B,200B \
        --order 200B:bid:45:100
    """
    if file is not None and rungs:
        fail(EXIT_CONFIGURATION, "--file and --rungs: one of them says where to start")
    with exit_on_fault(), stdout_to_stderr():
        draft = read_config(config)
        risk = finish(draft).trader.risk
        try:
            events = _events(draft, file, rungs, fee_rate, status)
            if event and event not in [each.event for each in events]:
                known = ", ".join(each.event for each in events)
                raise lab.WhatIfFault(f"--event {event}: there is {known}")
            assumed = [each for text in hold or () for each in lab.add_holding(events, text, event)]
            for text in order or ():
                lab.add_order(events, text, event)
            if at is not None:
                lab.ask_at(events, at)
            every = lab.answers(events, risk, assumed)
            found = [each for each in every if event in ("", each.event)]
        except lab.WhatIfFault as fault:
            fail(EXIT_CONFIGURATION, str(fault))
    if json_line:
        typer.echo(msgspec.json.encode({"events": found}).decode())
    else:
        typer.echo("\n\n".join(map(_text, found)))


def _events(
    draft: Draft, file: Path | None, rungs: str, fee_rate: str, status: str
) -> list[lab.GivenEvent]:
    """Where to start. Raises WhatIfFault; ends with 3 if no bot answers."""
    if rungs:
        labels = [label.strip() for label in rungs.split(",")]
        if not all(labels) or len(dict.fromkeys(labels)) < len(labels):
            raise lab.WhatIfFault(f"--rungs {rungs}: names by comma, each once, lowest first")
        given = [lab.GivenRung(label=each) for each in labels]
        return [lab.GivenEvent(fee_rate=fee_rate, rungs=given)]
    if file is not None and file.suffix == ".json":
        try:
            return lab.events_of_status(file.read_bytes(), str(file))
        except OSError as fault:
            raise lab.WhatIfFault(f"{file}: cannot be read: {fault.strerror}") from None
    if file is not None:
        return [lab.event_of_file(file)]
    page = find_bot(draft, status)
    if page is None:
        fail(
            EXIT_VENUE,
            f"{base_of(draft, status)}: no bot answers there; start one, name its page with "
            "--status, or start from --file or --rungs",
        )
    return lab.events_of_status(page.fetch_path("/status.json"), page.base)


def _text(answer: lab.EventAnswer) -> str:
    outcomes = [("if the outcome is", "nothing fills", "at worst", "")]
    for each in answer.outcomes:
        mark = "<- worst" if each.worst_cents == answer.worst_cents else ""
        amounts = dollars(each.nothing_fills_cents), dollars(each.worst_cents)
        outcomes.append((each.name, *amounts, mark))
    limits = [
        f"  {each.name}: {each.used} of {each.limit}"
        + ("  EXCEEDED" if each.used > each.limit else "")
        for each in answer.limits
    ]
    rungs: list[tuple[object, ...]] = [
        ("rung", "yes", "no", "bid", "ask", "at", "room bid", "room ask")
    ]
    for rung in answer.rungs:
        held = rung.label, rung.yes_qty, rung.no_qty, rung.bid_qty, rung.ask_qty
        rungs.append((*held, rung.at, rung.bid_room_qty, rung.ask_room_qty))
    risk = [] if answer.risk is None else [f"  {risk_line(answer.risk)}"]
    tables = [text_table(outcomes, indent="  "), *risk, *limits, text_table(rungs, indent="  ")]
    assumed = [f"  {each}" for each in answer.assumed]
    return "\n".join([f"event {answer.event}", *assumed, *tables])
