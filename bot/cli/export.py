"""`bot export`: the journal of a bot as tables: books, prints, requests and fills."""

from pathlib import Path
from typing import Annotated, Final

import typer

from bot.cli.common import EXIT_CONFIGURATION, EXIT_VENUE, fail, fail_unwritten, faults_told
from bot.cli.progress import progress

_EXAMPLE: Final = "Example: bot export state/demo --parquet tables"


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("export", epilog=_EXAMPLE)(export)


def export(
    journal: Annotated[
        Path, typer.Argument(metavar="STATE_DIR|JOURNAL", help="A state directory, or a segment.")
    ],
    csv: Annotated[
        Path | None,
        typer.Option("--csv", metavar="DIR", help="A folder for tables of text, made if absent."),
    ] = None,
    parquet: Annotated[
        Path | None,
        typer.Option("--parquet", metavar="DIR", help="The same tables as Parquet, with types."),
    ] = None,
    json_line: Annotated[bool, typer.Option("--json", help="One line of JSON on stdout.")] = False,
) -> None:
    """Write what the journal holds as tables: rungs, books, prints, requests and fills.

    Every run that is kept is told, over or still going on; nothing of it is touched. Prices are
    canonical YES cents, times nanoseconds. Files of these names in the folder are replaced. Parquet
    needs `pip install laddermaker[lab]`.

    Ends with 2 when a folder cannot be written; with 3 when there is no journal, and when it is
    damaged: the tables then have what stands before the damage.
    """
    import msgspec

    from bot.lab import export as lab
    from bot.lab.export import COLUMNS, LibraryFault
    from bot.lab.session import segments_meant

    folders = {kind: at for kind, at in (("csv", csv), ("parquet", parquet)) if at is not None}
    if not folders:
        fail(EXIT_CONFIGURATION, "name a folder with --csv or --parquet, or both")
    with faults_told():
        paths = segments_meant(journal)
        try:
            with progress("entries") as meter:
                found = lab.export(paths, folders, meter.told)
        except LibraryFault as fault:
            fail(EXIT_CONFIGURATION, str(fault))
        except OSError as fault:
            fail_unwritten(fault, csv, parquet)
    if json_line:
        typer.echo(msgspec.json.encode(found).decode())
    else:
        for kind, folder in folders.items():
            for name in COLUMNS:
                place = folder / f"{name}.{kind}"
                typer.echo(f"{place}: {getattr(found, name)} rows")
    if found.damage:
        fail(EXIT_VENUE, "\n".join(found.damage))
