"""`bot export`: the journal of a bot as tables: books, prints, requests and fills.

Source: docs/lab.md.
"""

from pathlib import Path
from typing import Annotated, Final

import typer

from bot.commands.common import EXIT_CONFIGURATION, EXIT_VENUE, fail, faults_told

_EXAMPLE: Final = "Example: bot export state/demo --csv tables"


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("export", epilog=_EXAMPLE)(export)


def export(
    journal: Annotated[
        Path, typer.Argument(metavar="STATE_DIR|JOURNAL", help="A state directory, or a segment.")
    ],
    csv: Annotated[
        Path,
        typer.Option("--csv", metavar="DIR", help="The folder for the tables, made if absent."),
    ],
    json_line: Annotated[bool, typer.Option("--json", help="One line of JSON on stdout.")] = False,
) -> None:
    """Write what the journal holds as books.csv, prints.csv, requests.csv and fills.csv.

    Every run that is kept is told, over or still going on; nothing of it is touched. Prices are
    canonical YES cents, times nanoseconds. Files of these names in the folder are replaced.

    Ends with 2 when the folder cannot be written; with 3 when there is no journal, and when it is
    damaged: the tables then have what stands before the damage.
    """
    import msgspec

    from bot.lab.export import COLUMNS, export_csv, segments_meant

    with faults_told():
        paths = segments_meant(journal)
        try:
            found = export_csv(paths, csv)
        except OSError as fault:
            fail(EXIT_CONFIGURATION, f"{csv}: {fault.strerror}")
    if json_line:
        typer.echo(msgspec.json.encode(found).decode())
    else:
        for name in COLUMNS:
            typer.echo(f"{csv / name}.csv: {getattr(found, name)} rows")
    if found.damage:
        fail(EXIT_VENUE, "\n".join(found.damage))
