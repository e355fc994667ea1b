"""`bot statement`: what a day brought, from the records, closing to the cent."""

import datetime
import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bot.cli.common import (
    EXIT_CONFIGURATION,
    EXIT_VENUE,
    ConfigPath,
    fail,
    fail_unwritten,
    faults_told,
    places_for,
    read,
    state_dir_option,
)

if TYPE_CHECKING:
    from bot.records.day import Day

_FIRST_DAY = datetime.date(1970, 1, 1)
_EXAMPLE = "Example: bot statement configs/demo.yaml --csv day.csv --html day.html"


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("statement", epilog=_EXAMPLE)(statement)


def statement(
    config: ConfigPath,
    day: Annotated[
        str, typer.Option(metavar="YYYY-MM-DD", help="A day of UTC; today if none is named.")
    ] = "",
    csv_file: Annotated[
        Path | None, typer.Option("--csv", metavar="FILE", help="Every row of it as CSV.")
    ] = None,
    html: Annotated[
        Path | None, typer.Option(metavar="FILE", help="One page with tables and pictures.")
    ] = None,
    account: Annotated[
        str, typer.Option(metavar="LABEL", help="Which account, where the day has several.")
    ] = "",
    state_dir: Annotated[
        Path | None, state_dir_option("Where the records stand, instead of ./state/<name>.")
    ] = None,
    json_line: Annotated[bool, typer.Option("--json", help="One line of JSON on stdout.")] = False,
) -> None:
    """State a day: fills, positions, cash, fees, profit and its sources, markouts, rung by rung.

    Nothing is asked of the venue, and a running bot is not touched. Ends with 3 when there are no
    records, and when the statement does not close: then it says what differs. A day that is still
    to come is refused with 2.
    """
    date = _date(day)
    places_for(csv_file, html, read=(config,))
    with faults_told():
        found, others = _gathered(config, date, account, state_dir)
    from bot.io.state.atomic_file import replace_named
    from bot.records.page import page
    from bot.records.shown import as_csv, as_text, plain
    from bot.records.statement import state

    told = state(found)
    try:
        if csv_file is not None:
            replace_named(csv_file, as_csv(told).encode())
        if html is not None:
            replace_named(html, page(told, found.profits).encode())
    except OSError as fault:
        fail_unwritten(fault, csv_file, html)
    typer.echo(json.dumps(plain(told)) if json_line else as_text(told))
    if others and not json_line:
        have = "account has" if others == 1 else "accounts have"
        typer.echo(f"{others} more {have} records of that day; name one with --account")
    raise typer.Exit(0 if told.closes else EXIT_VENUE)


def _date(text: str) -> datetime.date:
    """The day that is meant; ends with 2 for anything that is none, or that is still to come."""
    today = _today()
    if not text:
        return today
    try:
        day = datetime.date.fromisoformat(text)
    except ValueError:
        fail(EXIT_CONFIGURATION, f"--day {text}: a day such as 2026-11-20")
    if day > today:
        fail(EXIT_CONFIGURATION, f"--day {text}: still to come; accepted: up to {today}, today")
    if day < _FIRST_DAY:
        fail(EXIT_CONFIGURATION, f"--day {text}: accepted: {_FIRST_DAY} up to {today}, today")
    return day


def _today() -> datetime.date:
    return datetime.datetime.now(datetime.UTC).date()


def _gathered(
    config: Path, date: datetime.date, account: str, state_dir: Path | None
) -> "tuple[Day, int]":
    """What the records have of the day, and how many other accounts have something of it."""
    from bot.cli.sidecars import existing_store, password_of
    from bot.records.day import choose, gather

    draft = read(config)
    state = state_dir or draft.state.directory
    store = existing_store(draft.records, draft.name, state, password_of(draft.records))
    try:
        row, others = choose(store, date, account)
        return gather(store, row, date, time.time_ns()), others
    finally:
        store.close()
