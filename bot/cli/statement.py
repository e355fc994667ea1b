"""`bot statement`: one day from the records, closing to the cent."""

import datetime
import json
import time
from pathlib import Path
from typing import Annotated

import typer

from bot.cli.common import (
    EXIT_CONFIGURATION,
    EXIT_VENUE,
    exit_on_fault,
    fail,
    read_config,
    require_writable,
    write_files,
)
from bot.cli.options import ConfigPath, Html, Json, StateDir
from bot.cli.sidecars import open_store
from bot.records.day import choose, gather
from bot.records.output import as_csv, as_text, page, plain
from bot.records.statement import state

_FIRST_DAY = datetime.date(1970, 1, 1)


def statement(
    config: ConfigPath,
    day: Annotated[
        str, typer.Option(metavar="YYYY-MM-DD", help="A day of UTC, if not today.")
    ] = "",
    csv_file: Annotated[
        Path | None, typer.Option("--csv", metavar="FILE", help="Write every row as CSV here.")
    ] = None,
    html: Html = None,
    account: Annotated[
        str, typer.Option(metavar="LABEL", help="The account, if the day has several.")
    ] = "",
    state_dir: StateDir = None,
    json_line: Json = False,
) -> None:
    """Fills, positions, cash, fees, profit and its sources, markouts, market by market. It reads
    the records alone: not the venue, and no running bot.

    Ends with 3 if there are no records, or if the statement does not close: the difference is
    printed. Ends with 2 for a day in the future.

    Example: bot statement configs/demo.yaml --csv day.csv --html day.html
    """
    date = _date(day)
    require_writable(csv_file, html, read=(config,))
    with exit_on_fault():
        draft = read_config(config)
        store = open_store(draft.records, draft.name, state_dir or draft.state.directory)
        try:
            row, others = choose(store, date, account)
            found = gather(store, row, date, time.time_ns())
        finally:
            store.close()
    stated = state(found)
    write_files((csv_file, lambda: as_csv(stated)), (html, lambda: page(stated, found.profits)))
    typer.echo(json.dumps(plain(stated)) if json_line else as_text(stated))
    if others and not json_line:
        have = "account has" if others == 1 else "accounts have"
        typer.echo(f"{others} more {have} records of that day; name one with --account")
    raise typer.Exit(0 if stated.closes else EXIT_VENUE)


def _date(text: str) -> datetime.date:
    now = today()
    if not text:
        return now
    try:
        day = datetime.date.fromisoformat(text)
    except ValueError:
        fail(EXIT_CONFIGURATION, f"--day {text}: a day such as 2026-11-20")
    if day > now:
        fail(EXIT_CONFIGURATION, f"--day {text}: still to come; accepted: up to {now}, today")
    if day < _FIRST_DAY:
        fail(EXIT_CONFIGURATION, f"--day {text}: accepted: {_FIRST_DAY} up to {now}, today")
    return day


def today() -> datetime.date:
    return datetime.datetime.now(datetime.UTC).date()
