"""The venue's program. Exit codes of `serve`: 0 ended as asked, 1 a bug, 2 bad configuration or
options, 3 the address cannot be bound or too few files may be open, 4 the state directory cannot be
used."""

import asyncio
import gc
import importlib.metadata
import json
import os
import socket
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from venue.admin.listener import is_loopback
from venue.cli import check, operator
from venue.cli.groups import CommandGroup, Version, end, opt
from venue.cli.operator import DEFAULT_TOKEN_FILE

if TYPE_CHECKING:
    from venue.process import ControlPlan, Ready

EXIT_CONFIGURATION: Final = 2
EXIT_ADDRESS: Final = 3
EXIT_STATE: Final = 4

DEFAULT_CONFIG: Final = Path("configs/venue.yaml")
_COMPACT_NICENESS: Final = 10

SECTIONS: Final = {
    "Serve": ("serve", "check", "compact"),
    "A running venue": ("status", "state", "hash", "lag", "fault"),
    "Its markets": ("company", "event", "market", "listing"),
    "Its users": ("user", "key", "token"),
    "This program": ("asyncapi", "version"),
}


class VenueCommands(CommandGroup):
    def sections(self) -> Mapping[str, Sequence[tuple[str, str]]]:
        return {
            title: [(name, self.summary(name)) for name in names]
            for title, names in SECTIONS.items()
        }


app = typer.Typer(
    name="venue",
    cls=VenueCommands,
    help="A trading venue for strike ladders of binary contracts, with paper money.",
    epilog="Example: venue serve --config configs/venue.yaml",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


@app.callback()
def _begin(version: Version = False) -> None: ...


@app.command(epilog="Example: venue version")
def version() -> None:
    """Print the version."""
    typer.echo(f"venue {importlib.metadata.version('laddermaker')}")


@app.command(epilog="Example: venue asyncapi")
def asyncapi() -> None:
    """Print the description of the channel (AsyncAPI 3.0, YAML); GET /openapi.yaml has the rest."""
    from venue.stream.asyncapi import document

    typer.echo(document(), nl=False)


@app.command(epilog="Example: venue compact --state state/venue")
def compact(
    state: Annotated[Path, opt("The state directory of a venue, running or not.")],
    as_json: Annotated[bool, opt("One JSON object.", "--json")] = False,
) -> None:
    """Replay the sealed part of a command log into a snapshot, and remove what it makes needless.

    A running venue does this by itself. Exit codes: 0 done, 4 the state cannot be used.
    """
    import msgspec

    from venue.storage.record import StateFault
    from venue.storage.recovery import compact as compact_directory

    os.nice(_COMPACT_NICENESS)
    try:
        done = compact_directory(state)
    except StateFault as fault:
        end(EXIT_STATE, str(fault))
    if as_json:
        typer.echo(json.dumps(msgspec.to_builtins(done)))
        return
    for notice in done.notices:
        typer.echo(notice)
    if not done.sequence:
        typer.echo("nothing to do: no segment of the log is sealed yet")
    elif not done.replayed:
        typer.echo(f"nothing to do: the newest snapshot includes sequence {done.sequence}")
    else:
        typer.echo(
            f"snapshot of sequence {done.sequence} written: {done.replayed} commands replayed, "
            f"{done.snapshot_bytes} bytes, state {done.state_hash}"
        )


@app.command(epilog="Example: venue serve --state state/venue --control 127.0.0.1:8091")
def serve(
    config: Annotated[
        Path | None, opt(f"What the venue opens with (YAML); {DEFAULT_CONFIG} otherwise.")
    ] = None,
    empty: Annotated[
        bool,
        opt("Open with nothing listed, nobody known and no crowd, without --config.", "--empty"),
    ] = False,
    host: Annotated[str, opt("Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, opt("Port to listen on; 0 takes a free one.", min=0, max=65_535)] = 8080,
    keys_file: Annotated[
        Path,
        opt(
            "Where generated keys are written, for the owner only; by the first start on a "
            "state, no later one."
        ),
    ] = Path("state/venue-keys.json"),
    state: Annotated[
        Path | None,
        opt(
            "Directory of the command log: acknowledged commands outlive the process. "
            "Without it the venue forgets everything when it ends."
        ),
    ] = None,
    control: Annotated[
        str | None,
        opt(
            "Offer the operator's interface here: unix:PATH, or a loopback address like "
            "127.0.0.1:8091."
        ),
    ] = None,
    control_token_file: Annotated[
        Path, opt("Holds the token of the operator's interface; made when absent.")
    ] = DEFAULT_TOKEN_FILE,
    seed: Annotated[
        int | None,
        opt("Seed of the crowd, instead of its own.", min=0, max=2**63 - 1),
    ] = None,
    tape: Annotated[
        Path | None, opt("Let the crowd follow the recorded tape in this folder.")
    ] = None,
    no_crowd: Annotated[
        bool,
        opt("Open without a crowd; what an earlier one left resting is cancelled.", "--no-crowd"),
    ] = False,
    json_line: Annotated[bool, opt("When ready, say so in one line of JSON.", "--json")] = False,
    exit_with_stdin: Annotated[
        bool, opt("End when standard input ends.", "--exit-with-stdin")
    ] = False,
    allow_remote: Annotated[
        bool, opt("Allow a host that is not loopback.", "--allow-remote")
    ] = False,
) -> None:
    """Open the venue and serve its REST interface and its channel until stopped.

    Exit codes: 0 ended as asked, 2 bad configuration, 3 the address is taken or too few files may
    be open, 4 the state cannot be used.
    """
    if empty and (config or tape):
        end(EXIT_CONFIGURATION, "--empty: not with --config or --tape")
    listener = _listen(host, port, allow_remote)
    # Half a second of imports makes nothing that the collector could free, and it would spend a
    # seventh of that time looking.
    gc.disable()
    # Imported here so that --help and version stay instant.
    import uvloop

    from venue.listen import AddressTaken, TooFewFiles, check_file_limit
    from venue.logs import configure_logs
    from venue.plan import Options, make_plan
    from venue.process import Ready
    from venue.process import serve as serve_plan
    from venue.seedfile import SeedFault
    from venue.server import OpeningRefused
    from venue.storage.log import LogBroken, LogFull
    from venue.storage.record import StateFault

    configure_logs()

    unwritten: list[OSError] = []

    def announce(ready: Ready) -> None:
        say = _ready_json if json_line else _ready_text
        try:
            typer.echo(say(ready, state, control_token_file))
        except OSError as fault:
            unwritten.append(fault)
            raise
        # What exists now stays: later collections need not walk over it.
        gc.freeze()
        gc.enable()

    try:
        check_file_limit()
        options = Options(
            config=None if empty else config or DEFAULT_CONFIG,
            keys_file=keys_file,
            crowd_seed=seed,
            tape=tape,
            no_crowd=no_crowd,
            exit_with_stdin=exit_with_stdin,
            state=state,
            control=_control(control, control_token_file),
        )
        plan = make_plan(options, listener)
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(serve_plan(plan, announce))
    except (SeedFault, OpeningRefused) as fault:
        end(EXIT_CONFIGURATION, str(fault))
    except TooFewFiles as fault:
        end(EXIT_ADDRESS, str(fault))
    except AddressTaken as fault:
        end(EXIT_ADDRESS, f"{fault}; try another port")
    except (StateFault, LogFull, LogBroken) as fault:
        end(EXIT_STATE, str(fault))
    except BaseExceptionGroup:  # of the tasks that were running
        if unwritten:
            raise unwritten[0] from None
        raise


app.command("check", epilog=check.EPILOG)(check.check)
operator.mount(app)


def _control(text: str | None, token_file: Path) -> "ControlPlan | None":
    """A bound listener and the token's hash; None if not asked for."""
    if text is None:
        return None
    from venue.admin.listener import AddressFault, ControlFault, control_listener, token_sha256
    from venue.process import ControlPlan

    try:
        return ControlPlan(control_listener(text), token_sha256(token_file))
    except AddressFault as fault:
        end(EXIT_ADDRESS, str(fault))
    except ControlFault as fault:
        end(EXIT_CONFIGURATION, str(fault))


def _ready_json(ready: "Ready", _state: Path | None, token_file: Path) -> str:
    shown: dict[str, object] = {
        "ready": True,
        "base_url": ready.base_url,
        "stream_url": ready.stream_url,
        "series": ready.series,
        "keys_file": None if ready.keys_file is None else str(ready.keys_file),
        "pid": os.getpid(),
    }
    if ready.control is not None:
        shown |= {"control": ready.control, "control_token_file": str(token_file)}
    return json.dumps(shown)


def _ready_text(ready: "Ready", state: Path | None, _token_file: Path) -> str:
    lines = [f"venue ready at {ready.base_url}, channel {ready.stream_url}"]
    if ready.keys_file is not None:
        lines.append(f"keys in {ready.keys_file}")
    if state is None:
        lines.append("in memory: nothing outlives this process; --state DIR keeps it")
    else:
        lines.append(f"state in {state}")
    if ready.control is not None:
        lines.append(f"operator's interface at {ready.control}")
    return "\n".join(lines)


def _listen(host: str, port: int, allow_remote: bool) -> socket.socket:
    if not allow_remote and not is_loopback(host):
        end(EXIT_CONFIGURATION, f"--host {host}: not loopback; add --allow-remote to mean it")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
    except OSError as fault:
        listener.close()
        end(EXIT_ADDRESS, f"{host}:{port} cannot be bound: {fault.strerror}; try another --port")
    return listener


def main() -> None:
    app()
