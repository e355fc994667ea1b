"""`bot export`: the journal of a bot as tables: books, prints, requests and fills."""

from pathlib import Path
from typing import Annotated

import msgspec
import typer

from bot.cli.common import (
    EXIT_CONFIGURATION,
    EXIT_VENUE,
    exit_on_fault,
    fail,
    fail_unwritten,
)
from bot.cli.options import JournalPath, Json
from bot.cli.progress import progress
from bot.lab.export import COLUMNS, LibraryFault
from bot.lab.export import export as exported
from bot.lab.session import segments_meant


def export(
    journal: JournalPath,
    csv: Annotated[
        Path | None,
        typer.Option("--csv", metavar="DIR", help="Folder for CSV files, created if missing."),
    ] = None,
    parquet: Annotated[
        Path | None,
        typer.Option("--parquet", metavar="DIR", help="Folder for Parquet files, with types."),
    ] = None,
    json_line: Json = False,
) -> None:
    """One table each of rungs, books, prints, requests and fills, of every run that the journal
    holds, finished or not; the journal is only read. Prices are canonical YES cents, times
    nanoseconds. Files of the same names in the folder are replaced. Parquet needs
    `pip install laddermaker[lab]`.

    Ends with 2 if a folder cannot be written; with 3 if there is no journal, or if it is damaged:
    the tables then end at the damage.

    Example: bot export state/demo --parquet tables
    """
    folders = {kind: at for kind, at in (("csv", csv), ("parquet", parquet)) if at is not None}
    if not folders:
        fail(EXIT_CONFIGURATION, "name a folder with --csv or --parquet, or both")
    with exit_on_fault():
        paths = segments_meant(journal)
        try:
            with progress("entries") as show:
                found = exported(paths, folders, show)
        except LibraryFault as fault:
            fail(EXIT_CONFIGURATION, str(fault))
        except OSError as fault:
            fail_unwritten(fault, csv, parquet)
    if json_line:
        typer.echo(msgspec.json.encode(found).decode())
    else:
        for kind, folder in folders.items():
            for name in COLUMNS:
                typer.echo(f"{folder / f'{name}.{kind}'}: {getattr(found, name)} rows")
    if found.damage:
        fail(EXIT_VENUE, "\n".join(found.damage))
