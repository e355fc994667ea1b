"""Options that several commands share, and how their values are read."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, Literal, TypeVar

import typer

from bot.cli.common import EXIT_CONFIGURATION, fail, warn_renamed
from bot.lab.progress import duration_of
from bot.lab.session import UNTIL_HELP
from venue.wire import instant

if TYPE_CHECKING:
    from bot.lab.exchange.queue_model import QueueModel

V = TypeVar("V")

_JOURNAL_HELP: Final = "A state directory (its newest run), or one journal segment."
_MAKERS_HELP: Final = "The configuration of that run, if its strategy is a file next to it."

ConfigPath = Annotated[Path, typer.Argument(metavar="CONFIG", help="YAML file of one series.")]
ConfigFile = Annotated[
    Path, typer.Option("--config", metavar="FILE", help="YAML file of one series.")
]
RunConfig = Annotated[Path | None, typer.Option("--config", metavar="FILE", help=_MAKERS_HELP)]
JournalPath = Annotated[Path, typer.Argument(metavar="STATE_DIR|JOURNAL", help=_JOURNAL_HELP)]
StateDir = Annotated[
    Path | None,
    typer.Option("--state-dir", metavar="DIR", help="State directory, if not ./state/<name>."),
]
StatusUrl = Annotated[
    str,
    typer.Option("--status", metavar="URL", help="The bot's status page, if not the configured."),
]
EventAsked = Annotated[
    str,
    typer.Option("--event", metavar="TICKER", help="Of this event alone, not of the whole series."),
]
Reason = Annotated[
    str, typer.Option(help="Why, in 1 to 200 characters; the bot writes it into its journal.")
]
Sets = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="A key of the YAML; may be repeated."),
]
Json = Annotated[bool, typer.Option("--json", help="Print one line of JSON on stdout.")]
Logs = Annotated[
    Literal["auto", "json", "text"],
    typer.Option("--logs", help="Log lines: JSON, or text in human units; auto: as a terminal is."),
]
Quiet = Annotated[bool, typer.Option("--quiet", help="Show no progress on stderr.")]
Html = Annotated[
    Path | None, typer.Option("--html", metavar="FILE", help="Write an HTML page here.")
]
Results = Annotated[
    Path | None,
    typer.Option(
        "--results",
        metavar="FILE",
        help="Save each result here, if not in ./state; rerun to continue.",
    ),
]
RunFor = Annotated[
    str | None, typer.Option("--for", metavar="TIME", help="Stop after 500ms, 60s, 5m or 1h.")
]
VenueTape = Annotated[
    Path | None,
    typer.Option(
        "--tape", metavar="DIR", help="The embedded venue replays the tape of this folder."
    ),
]
VenueSeed = Annotated[
    int | None,
    typer.Option("--seed", min=0, max=2**63 - 1, help="Seed of the embedded venue's crowd."),
]
Jobs = Annotated[int, typer.Option("--jobs", min=1, max=256, help="Processes to run in.")]
AllCores = Annotated[
    int | None,
    typer.Option(
        "--jobs",
        min=1,
        max=256,
        help="Processes to run in; as many as the cores that this one may use, unless given.",
    ),
]
Until = Annotated[str, typer.Option("--until", metavar="TIME|ENTRY", help=f"Stop at {UNTIL_HELP}")]
Latency = Annotated[
    str,
    typer.Option(
        "--latency", help="Round trip of a request: 30ms, lognormal:30ms:0.5, empirical:FILE."
    ),
]
ReadLag = Annotated[
    str, typer.Option("--read-lag", help="How stale the account is that reads show.")
]
MakerFee = Annotated[str, typer.Option("--maker-fee", help="Maker fee rate.")]
TakerFee = Annotated[str, typer.Option("--taker-fee", help="Taker fee rate.")]
WithIndex = Annotated[
    bool, typer.Option("--index", help="Use the recorded index as the implied value of the feed.")
]
QueuePower = Annotated[
    float,
    typer.Option("--power", min=0.1, max=20, help="Exponent n of the expected queue model."),
]
Events = Annotated[
    int, typer.Option("--events", min=1, help="Events of each tape, from the first.")
]

# --- values ---------------------------------------------------------------------------------------


def parsed(option: str, text: str, parse: Callable[[str], V]) -> V:
    """The value of an option's text; ends with 2, naming the option, where `parse` raises."""
    try:
        return parse(text)
    except ValueError as fault:
        fail(EXIT_CONFIGURATION, f"{option} {fault}")


def duration_ns(option: str, text: str) -> int:
    """Nanoseconds of a text such as 60s; ends with 2, naming the option, for anything else."""
    return parsed(option, text, duration_of)


def moment_ns(option: str, text: str, of: Callable[[int], int], example: str) -> int:
    """Nanoseconds since 1970 of a text such as 2026-11-21T21:38:43Z, or of a duration such as 30m,
    which `of` turns into such a time. Ends with 2 for any other text, naming `example` as a
    duration that is accepted."""
    if text[:1].isdigit() and text[-1:] in "smh" and "T" not in text:
        return of(duration_ns(option, text))
    try:
        return instant.to_ns(text)
    except ValueError:
        such = f"a time such as 2026-11-21T21:38:43Z, or {example}"
        fail(EXIT_CONFIGURATION, f"{option} {text}: {such}")


def queue_models(text: str) -> "tuple[QueueModel, ...]":
    """The queue models that a comma-separated text names; ends with 2 for any other name.

    The names of version 0.1 (averse, likely, kind) still work and print a deprecation line.
    """
    from bot.lab.exchange.queue_model import OLD_QUEUE_MODELS, QueueModel

    named = [part.strip() for part in text.split(",")]
    for old in named:
        if old in OLD_QUEUE_MODELS:
            warn_renamed(old, OLD_QUEUE_MODELS[old])
    try:
        wanted = {QueueModel(name) for name in named}
    except ValueError:
        fail(EXIT_CONFIGURATION, f"--queue-model {text}: some of {', '.join(QueueModel)}")
    return tuple(model for model in QueueModel if model in wanted)
