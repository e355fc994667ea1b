"""The operator's command line, for `venue.cli` to mount: one group per noun, and the venue itself.

Values are checked by the venue alone, which says what it accepts; nothing is listed twice here.
"""

from typing import Annotated

import typer

from venue.admin.cli_ask import (
    DEFAULT_CONTROL,
    DEFAULT_TOKEN_FILE,
    AdminTarget,
    Control,
    Json,
    TokenFile,
    given,
    noun,
    parts,
    quoted,
)
from venue.admin.cli_listing import company, event, market
from venue.admin.cli_people import key, token, user

lag = noun("lag", "How far reads and the channel lag behind.", "set 250")
fault = noun("fault", "Faults of the REST interface, for developing clients against.", "list")


def mount(app: typer.Typer) -> None:
    """Add every operator's command to the venue's command line."""
    for group in (company, event, market, user, key, token, lag, fault):
        app.add_typer(group)
    app.command("status", epilog="Example: venue status --json")(status)
    app.command("hash", epilog="Example: venue hash")(state_hash)
    app.command("state", epilog="Example: venue state cancel-only")(state)


def status(
    control: Control = DEFAULT_CONTROL,
    token_file: TokenFile = DEFAULT_TOKEN_FILE,
    as_json: Json = False,
) -> None:
    """Show the running venue at a glance."""
    AdminTarget(control, token_file, as_json).run("GET", "status")


def state_hash(
    control: Control = DEFAULT_CONTROL,
    token_file: TokenFile = DEFAULT_TOKEN_FILE,
    as_json: Json = False,
) -> None:
    """Show the hash of the exchange's state and the command it stands after."""
    AdminTarget(control, token_file, as_json).run("GET", "state-hash")


def state(
    wanted: Annotated[str, typer.Argument(metavar="STATE", help="open, cancel-only or halted.")],
    control: Control = DEFAULT_CONTROL,
    token_file: TokenFile = DEFAULT_TOKEN_FILE,
    as_json: Json = False,
) -> None:
    """Stop the whole venue, let it take cancels only, or open it again."""
    body = {"state": wanted.replace("-", "_")}
    AdminTarget(control, token_file, as_json).run("PUT", "venue-state", body)


@lag.command("set", epilog="Example: venue lag set 250")
def lag_set(
    lag_ms: Annotated[int, typer.Argument(metavar="MS", help="Milliseconds.")],
    control: Control = DEFAULT_CONTROL,
    token_file: TokenFile = DEFAULT_TOKEN_FILE,
    as_json: Json = False,
) -> None:
    """Let reads and the channel lag this far behind the engine."""
    AdminTarget(control, token_file, as_json).run("PUT", "projection", {"lag_ms": lag_ms})


@fault.command("list", epilog="Example: venue fault list")
def fault_list(
    control: Control = DEFAULT_CONTROL,
    token_file: TokenFile = DEFAULT_TOKEN_FILE,
    as_json: Json = False,
) -> None:
    """List the faults in force."""
    AdminTarget(control, token_file, as_json).run("GET", "faults")


@fault.command("add", epilog="Example: venue fault add drop_after --share 0.25 --verbs create")
def fault_add(
    kind: Annotated[str, typer.Argument(help="Such as result_unknown_after or reply_delay.")],
    count: Annotated[int | None, typer.Option(help="The next so many requests.")] = None,
    share: Annotated[str | None, typer.Option(help="A share of the requests, 0 to 1.")] = None,
    verbs: Annotated[
        str | None, typer.Option(help="create, amend, cancel, with commas; all otherwise.")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="What the share is drawn from.")] = None,
    delay_ms: Annotated[int | None, typer.Option(help="Of reply_delay: milliseconds.")] = None,
    on: Annotated[str | None, typer.Option(help="Of reply_delay: writes, reads or all.")] = None,
    retry_after_s: Annotated[
        int | None, typer.Option("--retry-after", help="Of rate_limited: seconds.")
    ] = None,
    limit: Annotated[
        int | None, typer.Option(help="Of rate_limit_lowered: tokens in a bucket.")
    ] = None,
    control: Control = DEFAULT_CONTROL,
    token_file: TokenFile = DEFAULT_TOKEN_FILE,
    as_json: Json = False,
) -> None:
    """Put a fault in force, instead of the one of its kind if there is one."""
    body = {
        "kind": kind,
        "count": count,
        "share": share,
        "verbs": None if verbs is None else parts(verbs),
        "seed": seed,
        "delay_ms": delay_ms,
        "on": on,
        "retry_after_s": retry_after_s,
        "limit": limit,
    }
    AdminTarget(control, token_file, as_json).run("POST", "faults", given(body))


@fault.command("clear", epilog="Example: venue fault clear drop_after")
def fault_clear(
    kind: Annotated[str | None, typer.Argument(help="One kind; all of them otherwise.")] = None,
    control: Control = DEFAULT_CONTROL,
    token_file: TokenFile = DEFAULT_TOKEN_FILE,
    as_json: Json = False,
) -> None:
    """Take one fault, or all of them, out of force."""
    path = "faults" if kind is None else f"faults/{quoted(kind)}"
    AdminTarget(control, token_file, as_json).run("DELETE", path)
