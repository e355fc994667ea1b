"""`bot worst-case`: what an event may lose, outcome by outcome, and the room that is left."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bot.cli.asking import base_of, running
from bot.cli.common import (
    EXIT_CONFIGURATION,
    EXIT_VENUE,
    ConfigPath,
    fail,
    faults_told,
    printed_aside,
    read,
)

if TYPE_CHECKING:
    from bot.config.bot_config import Draft
    from bot.lab.worst_case import EventAnswer, GivenEvent

_EXAMPLE = (
    "\b\nExample: bot worst-case configs/demo.yaml --rungs 175B,200B \\\n"
    "    --order 200B:bid:45:100"
)


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("worst-case", epilog=_EXAMPLE)(worst_case)


def worst_case(
    config: ConfigPath,
    file: Annotated[
        Path | None,
        typer.Option(help="Begin from this YAML of rungs and orders, or a saved status.json."),
    ] = None,
    rungs: Annotated[
        str,
        typer.Option(metavar="A,B,C", help="Begin from nothing: rungs, lowest first."),
    ] = "",
    hold: Annotated[
        list[str] | None, typer.Option(metavar="RUNG=yes:10@45,no:5", help="Shares held; repeat.")
    ] = None,
    order: Annotated[
        list[str] | None, typer.Option(metavar="RUNG:bid:45:10", help="One more order; repeat.")
    ] = None,
    event: Annotated[
        str,
        typer.Option(
            metavar="TICKER", help="Tell of this event only; a label means its rung of that name."
        ),
    ] = "",
    at: Annotated[
        int | None,
        typer.Option(help="YES price at which room is asked; else fair value or 50."),
    ] = None,
    fee_rate: Annotated[
        str, typer.Option(help="With --rungs: the dearer of the two fee rates, such as 0.0175.")
    ] = "0",
    status: Annotated[
        str,
        typer.Option(metavar="URL", help="The bot's status page, if not the configured one."),
    ] = "",
    json_line: Annotated[
        bool, typer.Option("--json", help="Print the answer as one line of JSON, money in cents.")
    ] = False,
) -> None:
    """Show what each event may lose if everything that may be live fills as badly as it can.

    Begins from what the running bot holds and has live, as its status page tells it; or from --file
    or --rungs. --hold and --order are added to that: nothing is sent. The limits are those of the
    configuration. Ends with 3 when no bot answers there.
    """
    if file is not None and rungs:
        fail(EXIT_CONFIGURATION, "--file and --rungs: one of them says where to begin")
    with faults_told(), printed_aside():
        draft = read(config)
        from bot.config.bot_config import finish
        from bot.lab import worst_case as lab

        risk = finish(draft).trader.risk
        try:
            events = _events(draft, file, rungs, fee_rate, status)
            if event and event not in [each.event for each in events]:
                known = ", ".join(each.event for each in events)
                raise lab.WhatIfFault(f"--event {event}: there is {known}")
            for text in hold or ():
                lab.add_holding(events, text, event)
            for text in order or ():
                lab.add_order(events, text, event)
            if at is not None:
                lab.ask_at(events, at)
            found = [each for each in lab.answers(events, risk) if event in ("", each.event)]
        except lab.WhatIfFault as fault:
            fail(EXIT_CONFIGURATION, str(fault))
    if json_line:
        import msgspec

        typer.echo(msgspec.json.encode({"events": found}).decode())
    else:
        typer.echo("\n\n".join(_told(each) for each in found))


def _events(
    draft: "Draft", file: Path | None, rungs: str, fee_rate: str, status: str
) -> "list[GivenEvent]":
    """Where to begin. Raises WhatIfFault; ends with 3 when nobody answers."""
    from bot.lab.worst_case import (
        GivenEvent,
        GivenRung,
        WhatIfFault,
        event_of_file,
        events_of_status,
    )

    if rungs:
        labels = [label.strip() for label in rungs.split(",")]
        if not all(labels) or len(dict.fromkeys(labels)) < len(labels):
            raise WhatIfFault(f"--rungs {rungs}: names by comma, each once, lowest first")
        return [GivenEvent(fee_rate=fee_rate, rungs=[GivenRung(label=each) for each in labels])]
    if file is not None and file.suffix == ".json":
        try:
            return events_of_status(file.read_bytes(), str(file))
        except OSError as fault:
            raise WhatIfFault(f"{file}: cannot be read: {fault.strerror}") from None
    if file is not None:
        return [event_of_file(file)]
    body, where = _page(draft, status)
    return events_of_status(body, where)


def _page(draft: "Draft", status: str) -> tuple[bytes, str]:
    """What the status page says, and its address; ends with 3 when it does not answer."""
    page = running(draft, status)
    if page is None:
        fail(
            EXIT_VENUE,
            f"{base_of(draft, status)}: no bot answers there; start one, name its page with "
            "--status, or begin from --file or --rungs",
        )
    return page.get("/status.json"), page.base


def _told(answer: "EventAnswer") -> str:
    """An answer for a person; money in dollars."""
    widest = max(len(each.name) for each in answer.outcomes)
    lines = [
        f"event {answer.event}",
        f"  {'if the outcome is':{max(widest, 17)}}  {'nothing fills':>14}  {'at worst':>12}",
    ]
    for each in answer.outcomes:
        mark = "  <- worst" if each.worst_cents == answer.worst_cents else ""
        lines.append(
            f"  {each.name:{max(widest, 17)}}  {_dollars(each.nothing_fills_cents):>14}"
            f"  {_dollars(each.worst_cents):>12}{mark}"
        )
    for limit in answer.limits:
        over = "  EXCEEDED" if limit.used > limit.limit else ""
        lines.append(f"  {limit.name}: {limit.used} of {limit.limit}{over}")
    widest = max(4, *(len(each.label) for each in answer.rungs))
    lines.append(f"  {'rung':{widest}}     yes      no     bid     ask   at  room bid  room ask")
    for rung in answer.rungs:
        lines.append(
            f"  {rung.label:{widest}} {rung.yes_qty:7} {rung.no_qty:7} {rung.bid_qty:7}"
            f" {rung.ask_qty:7} {rung.at:4} {rung.bid_room_qty:9} {rung.ask_room_qty:9}"
        )
    return "\n".join(lines)


def _dollars(cents: int) -> str:
    """Cents as dollars, such as -12.05."""
    sign = "-" if cents < 0 else ""
    return f"{sign}{abs(cents) // 100}.{abs(cents) % 100:02d}"
