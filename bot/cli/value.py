"""`bot value`: state the operator's own value to the running bot, withdraw it, show all of them."""

import json
import re
from typing import Annotated, Any, Final

import msgspec
import typer

from bot.cli.common import EXIT_CONFIGURATION, exit_on_fault, fail, read_lenient, warn_on_interrupt
from bot.cli.options import ConfigPath, Json, Reason, StateDir, StatusUrl, duration_ns
from bot.cli.running_bot import NO_ANSWER, require_action, require_bot
from venue.cli.groups import NonBlankGroup
from venue.wire.instant import NS_PER_MS
from venue.wire.names import fold_ticker

_SET = "Example: bot value set configs/paper.yaml AURELIA-VAL 213.5B --sd 2B"
_AMOUNT: Final = re.compile(r"\$?([0-9]{1,18}(?:\.[0-9]{1,9})?)([KMBT]?)", re.ASCII)
_CHANCE: Final = re.compile(r"([0-9]{1,3}(?:\.[0-9]{1,9})?)%", re.ASCII)
_SIZES: Final = {"": 1.0, "K": 1e3, "M": 1e6, "B": 1e9, "T": 1e12}
_ASKED: Final = "asked for at the command line"

app = typer.Typer(
    name="value",
    cls=NonBlankGroup,
    no_args_is_help=True,
    rich_markup_mode=None,
    add_completion=False,
    help="Set, clear and show values from outside that move the fair curve.",
    epilog=_SET,
)

Sd = Annotated[
    str, typer.Option("--sd", metavar="AMOUNT", help="Standard deviation: 2B, or 3% of a chance.")
]
Ttl = Annotated[str, typer.Option("--ttl", metavar="TIME", help="How long it holds: 90s, 5m, 1h.")]


@app.command(name="set", epilog=_SET, short_help="State a value to the running bot.")
def set_(
    config: ConfigPath,
    about: Annotated[str, typer.Argument(metavar="ABOUT", help="Ticker: series, event or market.")],
    amount: Annotated[
        str,
        typer.Argument(
            metavar="AMOUNT", help="Dollars of the company (213.5B), or a market's chance (42%)."
        ),
    ],
    sd: Sd,
    ttl: Ttl = "1h",
    reason: Reason = _ASKED,
    status: StatusUrl = "",
    state_dir: StateDir = None,
    json_line: Json = False,
) -> None:
    """State a value; it takes the place of your former one about the same ticker.

    Dollars are about a series or an event, a chance about a market. Needs `status.control: true`.
    Ends with 0 once the bot has accepted, with 3 if none answers or its token cannot be read, with
    4 if it refuses.
    """
    unit, value = _parsed("AMOUNT", amount)
    sd_unit, sd_value = _parsed("--sd", sd)
    if unit != sd_unit:
        fail(EXIT_CONFIGURATION, f"--sd {sd}: of the unit of {amount}")
    stated: dict[str, Any] = {
        "about": fold_ticker(about),
        "unit": unit,
        "value": value,
        "sd": sd_value,
        "ttl_ms": duration_ns("--ttl", ttl) // NS_PER_MS,
    }
    with exit_on_fault(), warn_on_interrupt(NO_ANSWER):
        page = require_action(
            "set-value", read_lenient(config), reason, status, state_dir, {"value": stated}
        )
    done = {"done": "set-value", "series": page.series, **stated}
    said = f"{stated['about']}: {amount}, sd {sd}, for {ttl}; bot value show says if it is used"
    typer.echo(json.dumps(done) if json_line else said)


@app.command(
    epilog="Example: bot value clear configs/paper.yaml AURELIA-VAL",
    short_help="Withdraw values that were stated to the running bot.",
)
def clear(
    config: ConfigPath,
    about: Annotated[str, typer.Argument(metavar="[ABOUT]", help="Ticker; all without one.")] = "",
    reason: Reason = _ASKED,
    status: StatusUrl = "",
    state_dir: StateDir = None,
    json_line: Json = False,
) -> None:
    """Withdraw your value about a ticker, or all of them. Exit codes as of `bot value set`."""
    stated = {"about": fold_ticker(about)} if about else {}
    with exit_on_fault(), warn_on_interrupt(NO_ANSWER):
        page = require_action(
            "clear-value", read_lenient(config), reason, status, state_dir, {"value": stated}
        )
    done = {"done": "clear-value", "series": page.series, **stated}
    typer.echo(json.dumps(done) if json_line else f"{about or 'every value'}: withdrawn")


@app.command(
    epilog="Example: bot value show configs/paper.yaml",
    short_help="Show the values of every source, and whether they are used.",
)
def show(
    config: ConfigPath, status: StatusUrl = "", state_dir: StateDir = None, json_line: Json = False
) -> None:
    """Print each value with its age, weight and what the market says, or why it is not used.

    Ends with 3 if no bot answers.
    """
    with exit_on_fault():
        shown, _ = require_bot(read_lenient(config), status, state_dir).fetch_status()
    events = () if shown.report is None else shown.report.events
    rows = [(event.event_ticker, row) for event in events for row in event.outside_values]
    if json_line:
        values = [{"event": event, **msgspec.structs.asdict(row)} for event, row in rows]
        typer.echo(json.dumps({"values": values}))
        return
    for event, row in rows:
        typer.echo(f"{event}  {row.text()}")
    if not rows:
        typer.echo("no value from outside", err=True)


def _parsed(option: str, text: str) -> tuple[str, float]:
    """The unit of an amount, and its value; ends with 2 for a text that is none."""
    amount, chance = _AMOUNT.fullmatch(text.upper()), _CHANCE.fullmatch(text)
    if chance is not None:
        return "chance", float(chance[1]) / 100
    if amount is None:
        fail(EXIT_CONFIGURATION, f"{option} {text}: dollars such as 213.5B, or a chance: 42%")
    return "dollars", float(amount[1]) * _SIZES[amount[2]]
