"""`bot init` and `bot new-strategy`: files to begin with, which run as they are written."""

import json
import keyword
import re
from pathlib import Path
from typing import Annotated, Final

import typer

from bot.cli.common import EXIT_CONFIGURATION, fail, fail_unwritten
from bot.cli.options import Json

_SHIPPED: Final = Path(__file__).parents[1] / "starter"
_STRATEGY: Final = "around_fair"
_CLASS: Final = "AroundFair"
_NAME: Final = re.compile(r"[a-z][a-z0-9_]*", re.ASCII)

_WRITTEN: Final = """\
{at}/bot.yaml        the configuration, with every limit
{at}/around_fair.py  the strategy that it names
{at}/venue.yaml      what the embedded venue opens with
{at}/tape            20 minutes of such a venue, recorded

bot run {at}/bot.yaml                # quotes until Ctrl-C
bot backtest --data {at}/tape --config {at}/bot.yaml --save {at}/result.json
bot report {at}/result.json --html {at}/report.html
"""


def init(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A new folder, or an empty one.")],
    json_line: Json = False,
) -> None:
    """Writes a configuration, a strategy, the content of an embedded venue, and a recorded tape.

    Ends with 2 if the folder has any of these files, or cannot be written.

    Example: bot init mine
    """
    files = {
        folder / path.relative_to(_SHIPPED): path
        for path in sorted(_SHIPPED.rglob("*"))
        if path.is_file() and path.parent.name != "__pycache__"
    }
    for path in files:
        if path.exists():
            fail(EXIT_CONFIGURATION, f"{path}: is there already; name a new folder")
    try:
        for path, shipped in files.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(shipped.read_bytes())
    except OSError as fault:
        fail_unwritten(fault, folder)
    if json_line:
        typer.echo(json.dumps({"written": [str(path) for path in files]}))
    else:
        typer.echo(_WRITTEN.format(at=folder), nl=False)


def new_strategy(
    path: Annotated[
        Path, typer.Argument(metavar="NAME", help="Such as wide, or mine/wide for its folder.")
    ],
    json_line: Json = False,
) -> None:
    """Writes NAME.py: a strategy of 30 lines that quotes around the fair value.

    Ends with 2 if NAME is no lower-case word, if the file exists, or cannot be written.

    Example: bot new-strategy mine/wide
    """
    name = path.name.removesuffix(".py")
    if not _NAME.fullmatch(name) or keyword.iskeyword(name):
        fail(
            EXIT_CONFIGURATION,
            f"{name}: not the name of a strategy; accepted: small letters, digits and _, such as "
            "wide_2",
        )
    file = path.with_name(f"{name}.py")
    text = (_SHIPPED / f"{_STRATEGY}.py").read_text(encoding="utf-8")
    text = text.replace(_CLASS, name.title().replace("_", "")).replace(_STRATEGY, name)
    try:
        with file.open("x", encoding="utf-8") as out:
            out.write(text)
    except FileExistsError:
        fail(EXIT_CONFIGURATION, f"{file}: is there already; name another")
    except OSError as fault:
        fail_unwritten(fault, file)
    if json_line:
        typer.echo(json.dumps({"written": [str(file)]}))
        return
    typer.echo(
        f"{file} written; a configuration in its folder names it so:\n"
        f"strategy: {{name: ./{file.name}}}\n"
        f"its parameters: bot strategies {file}"
    )
