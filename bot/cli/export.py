"""`bot export`: the journal of a bot as tables, or as a tape."""

from pathlib import Path
from typing import Annotated, Final

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
from bot.lab.backtest.tapes import TapeFault, write_tape
from bot.lab.export import COLUMNS, Exported, LibraryFault
from bot.lab.export import export as exported
from bot.lab.session import segments_meant

_TAPE_LEVEL: Final = 9
"""Of gzip: the smallest file, for it is kept."""


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
    tape: Annotated[
        Path | None,
        typer.Option("--tape", metavar="DIR", help="New folder: the newest run, as a tape."),
    ] = None,
    json_line: Json = False,
) -> None:
    """One table each of rungs, books, prints, requests and fills, of every run that the journal
    holds, finished or not; the journal is only read. Prices are canonical YES cents, times
    nanoseconds. Files of the same names in the folder are replaced. Parquet needs
    `pip install laddermaker[lab]`. A tape is the market without us, for `bot backtest` and --tape
    of other commands.

    Ends with 2 if a folder cannot be written, or that of the tape exists; with 3 if there is no
    journal, or if it is damaged: the tables then end at the damage.

    Example: bot export state/demo --parquet tables
    """
    folders = {kind: at for kind, at in (("csv", csv), ("parquet", parquet)) if at is not None}
    if not folders and tape is None:
        fail(EXIT_CONFIGURATION, "name a folder with --csv, --parquet or --tape")
    with exit_on_fault():
        notes = () if tape is None else _write_tape(journal, tape)
        found = _write_tables(journal, folders) if folders else None
    if json_line:
        answer = {} if found is None else msgspec.to_builtins(found)
        answer |= {} if tape is None else {"tape": notes}
        typer.echo(msgspec.json.encode(answer).decode())
    else:
        for kind, folder in folders.items():
            for name in COLUMNS:
                typer.echo(f"{folder / f'{name}.{kind}'}: {getattr(found, name)} rows")
        for note in notes:
            typer.echo(f"{tape}: {note}")
    if found is not None and found.damage:
        fail(EXIT_VENUE, "\n".join(found.damage))


def _write_tape(journal: Path, into: Path) -> tuple[str, ...]:
    try:
        return write_tape(journal, into, _TAPE_LEVEL)
    except TapeFault as fault:
        fail(EXIT_VENUE, str(fault))
    except OSError as fault:
        fail_unwritten(fault, into)


def _write_tables(journal: Path, folders: dict[str, Path]) -> Exported:
    paths = segments_meant(journal)
    try:
        with progress("entries") as show:
            return exported(paths, folders, show)
    except LibraryFault as fault:
        fail(EXIT_CONFIGURATION, str(fault))
    except OSError as fault:
        fail_unwritten(fault, *folders.values())
